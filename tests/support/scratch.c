/* Scratch directories and files of tests. */
#include "tests/support/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"

#define FILE_MAX_BYTES ((size_t)256 << 20)

char *scratch_text(const char *format, ...)
{
	char *text = NULL;
	va_list arguments;
	va_start(arguments, format);
	int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0) {
		perror("vasprintf");
		exit(1);
	}
	return text;
}

char *scratch_directory(const char *name)
{
	const char *base = getenv("TMPDIR");
	char *path = scratch_text("%s/proctor-test-%s-XXXXXX", base && base[0] == '/' ? base : "/tmp", name);
	if (!mkdtemp(path)) {
		perror(path);
		exit(1);
	}
	return path;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)place;
	if (type == FTW_DP || type == FTW_DNR)
		rmdir(path);
	else
		unlink(path);
	return 0;
}

void scratch_remove(const char *path)
{
	nftw(path, remove_entry, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

int scratch_write(const char *path, mode_t mode, const char *text)
{
	_cleanup_free_ char *parent = strdup(path);
	char *slash = parent ? strrchr(parent, '/') : NULL;
	if (slash && slash != parent) {
		*slash = '\0';
		int r = io_mkdir_p(parent, 0755, NULL);
		if (r < 0)
			return r;
	}
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, mode) < 0)
		return -errno;
	return io_write_all(fd, text, strlen(text));
}

char *scratch_read(const char *path)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	if (io_read_file(AT_FDCWD, path, FILE_MAX_BYTES, &text) < 0)
		return NULL;
	buffer_add_byte(&text, '\0');
	return buffer_take(&text);
}

bool scratch_exists(const char *path)
{
	struct stat status;
	return lstat(path, &status) == 0;
}

int scratch_count(const char *path)
{
	_cleanup_closedir_ DIR *directory = opendir(path);
	if (!directory)
		return -1;
	int count = 0;
	for (struct dirent *entry; (entry = readdir(directory));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			count++;
	return count;
}
