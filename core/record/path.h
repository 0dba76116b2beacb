/*
 * The path rule (formats, 1: Paths) and the rule of writable paths. Static-safe, as glob.h.
 */
#ifndef CORE_RECORD_PATH_H
#define CORE_RECORD_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Why a path is refused. X(identifier, "words") */
#define PATH_FAULTS(X) \
	X(PATH_FAULT_NONE, "no fault") \
	X(PATH_FAULT_NUL, "holds a NUL") \
	X(PATH_FAULT_ABSOLUTE, "is absolute") \
	X(PATH_FAULT_DRIVE, "begins with a drive") \
	X(PATH_FAULT_PARENT, "holds a `..`") \
	X(PATH_FAULT_EMPTY, "names nothing") \
	X(PATH_FAULT_LONG, "is too long")

enum path_fault {
#define X(identifier, words) identifier,
	PATH_FAULTS(X)
#undef X
	PATH_FAULT_COUNT
};

const char *path_fault_words(enum path_fault fault);

/*
 * Normalises `path` (length bytes) into `ret_path`, NUL-terminated: a backslash is read as `/`, `.` and
 * empty segments fall away. The result is never longer than the path, so size = length + 1 always does.
 * PATH_FAULT_NONE, or why it is refused; `ret_path` is then undefined.
 */
enum path_fault path_normalise(const char *path, size_t length, char *ret_path, size_t size);

/* True where the path is what path_normalise() makes of it. */
bool path_is_normal(const char *path);

/*
 * May `path` (normalised) be written under these patterns? `.` and `./` are all; else a glob that
 * matches; else a prefix, where the pattern ends in `/`.
 */
bool path_writable(const char *const *patterns, size_t count, const char *path);

#endif
