/* Reading the source tree (sources.h). */
#include "tests/house/sources.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "tests/support/scratch.h"

#define SOURCE_MAX_BYTES ((size_t)8 << 20)

static void add(struct sources *sources, char *path, char *text, size_t length)
{
	struct source *files = reallocarray(sources->files, sources->count + 1, sizeof *files);
	if (!files || !path || !text)
		abort();
	files[sources->count++] = (struct source){ path, text, length };
	sources->files = files;
}

static bool ends_in(const char *name, const char *const *endings)
{
	if (!endings)
		return true;
	for (; *endings; endings++) {
		size_t length = strlen(name), tail = strlen(*endings);
		if (length > tail && strcmp(name + length - tail, *endings) == 0)
			return true;
	}
	return false;
}

static void read_file(struct sources *sources, const char *path)
{
	_cleanup_free_ char *full = scratch_text("%s/%s", PROCTOR_SOURCE, path);
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	if (io_read_file(AT_FDCWD, full, SOURCE_MAX_BYTES, &text) < 0)
		return;
	size_t length = text.length;
	if (buffer_add_byte(&text, '\0') < 0)
		abort();
	add(sources, strdup(path), buffer_take(&text), length);
}

static int compare_names(const struct dirent **one, const struct dirent **other)
{
	return strcmp((*one)->d_name, (*other)->d_name);
}

void sources_read(struct sources *sources, const char *folder, const char *const *endings)
{
	_cleanup_free_ char *full = scratch_text("%s/%s", PROCTOR_SOURCE, folder);
	struct stat status;
	if (stat(full, &status) < 0)
		return;
	if (S_ISREG(status.st_mode)) {
		if (ends_in(folder, endings))
			read_file(sources, folder);
		return;
	}
	struct dirent **entries;
	int count = scandir(full, &entries, NULL, compare_names);
	for (int i = 0; i < count; i++) {
		if (entries[i]->d_name[0] != '.') {
			_cleanup_free_ char *path = scratch_text("%s/%s", folder, entries[i]->d_name);
			sources_read(sources, path, endings);
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

void sources_plant(struct sources *sources, const char *path, const char *text)
{
	add(sources, strdup(path), strdup(text), strlen(text));
}

void sources_release(struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		free(sources->files[i].path);
		free(sources->files[i].text);
	}
	free(sources->files);
	*sources = (struct sources){ 0 };
}
