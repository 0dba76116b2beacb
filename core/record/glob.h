/*
 * Globs as Python's fnmatchcase reads them (formats, 1), not fnmatch(3): matched against the whole
 * relative path; `*` crosses `/` and newlines; `?` is one character; `[!x]` negates, `[^x]` is a set of
 * `^` and `x`; a backslash is itself; a `[` that is never closed is itself.
 *
 * A character is a UTF-8 character, or one byte where the bytes are no valid UTF-8. No heap, no locale,
 * no libc state, no recursion: the static program inside the boundary compiles this file too. The time is
 * bounded by length of the pattern times length of the path.
 */
#ifndef CORE_RECORD_GLOB_H
#define CORE_RECORD_GLOB_H

#include <stdbool.h>

bool glob_match(const char *pattern, const char *path);

#endif
