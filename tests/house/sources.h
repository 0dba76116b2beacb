/* The files of the source tree, for tests that read them. */
#ifndef TESTS_HOUSE_SOURCES_H
#define TESTS_HOUSE_SOURCES_H

#include <stddef.h>

struct source {
	char *path;	/* relative to the root of the tree */
	char *text;	/* NUL-terminated */
	size_t length;
};

struct sources {
	struct source *files;
	size_t count;
};

/*
 * Reads all files below `folder` (relative to the tree's root; a file's name is taken too) whose name ends in
 * one of `endings` (NULL: all). Sorted by path. Aborts the test program where memory ends; a folder that is not
 * there is empty. Adds to what `sources` holds.
 */
void sources_read(struct sources *sources, const char *folder, const char *const *endings);
/* A file that only the test knows: what a probe plants. */
void sources_plant(struct sources *sources, const char *path, const char *text);
void sources_release(struct sources *sources);

#endif
