/* The store of workspace.h, and the driver that lets a normal test run replay a corpus: PROGRAM FILE|DIRECTORY... */
#include "tests/fuzz/workspace.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "tests/support/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static struct store *store;
static char *place;

static void remove_place(void)
{
	store_free(store);
	scratch_remove(place);
	free(place);
}

struct store *fuzz_store(void)
{
	struct pr_error error = { 0 };
	if (store)
		return store;
	place = scratch_directory("fuzz");
	if (store_open(place, &store, &error) < 0) {
		fprintf(stderr, "%s\n", error.message);
		abort();
	}
	atexit(remove_place);
	return store;
}

#ifndef PROCTOR_LIBFUZZER
static int replay(const char *path, int *count)
{
	struct stat status;
	if (stat(path, &status) < 0) {
		perror(path);
		return 1;
	}
	if (S_ISDIR(status.st_mode)) {
		_cleanup_closedir_ DIR *directory = opendir(path);
		int failed = !directory;
		for (struct dirent *entry; directory && (entry = readdir(directory));) {
			if (entry->d_name[0] == '.')
				continue;
			_cleanup_free_ char *below = scratch_text("%s/%s", path, entry->d_name);
			failed |= replay(below, count);
		}
		return failed;
	}
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
	if (io_read_file(AT_FDCWD, path, 64 << 20, &bytes) < 0) {
		perror(path);
		return 1;
	}
	++*count;
	return LLVMFuzzerTestOneInput((const uint8_t *)(bytes.data ? bytes.data : ""), bytes.length);
}

int main(int argc, char **argv)
{
	int failed = 0, count = 0;
	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i], &count);
	printf("%d inputs\n", count);
	return failed || count == 0;
}
#endif
