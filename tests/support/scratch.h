/* Directories and files of a test's own, and what it needs to look at afterwards. */
#ifndef TESTS_SUPPORT_SCRATCH_H
#define TESTS_SUPPORT_SCRATCH_H

#include <stdbool.h>
#include <sys/types.h>

/* A fresh directory below $TMPDIR or /tmp; the caller's to free and to remove with scratch_remove. Exits on failure. */
char *scratch_directory(const char *name);

/*
 * Removes a tree. Symbolic links are not followed and another mounted file system is not entered, so
 * that a bind mount that was left behind cannot cost more than the scratch directory.
 */
void scratch_remove(const char *path);

/* "a/b" of printf arguments on the heap; exits where memory ends. */
char *scratch_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes a file (0 or a negative errno); directories on the way are created. */
int scratch_write(const char *path, mode_t mode, const char *text);

/* The whole file as a string on the heap, NULL where it cannot be read. */
char *scratch_read(const char *path);

bool scratch_exists(const char *path);

/* Entries of a directory, "." and ".." aside; -1 where it cannot be read. */
int scratch_count(const char *path);

#endif
