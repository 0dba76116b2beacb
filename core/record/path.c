/* The path rule and the rule of writable paths, see path.h. Static-safe: no heap, no locale. */
#include "core/record/path.h"

#include <string.h>

#include "core/record/glob.h"
#include "core/record/utf8.h"

static const char *const fault_words[] = {
#define X(identifier, words) [identifier] = words,
	PATH_FAULTS(X)
#undef X
};

const char *path_fault_words(enum path_fault fault)
{
	return (unsigned)fault < PATH_FAULT_COUNT ? fault_words[fault] : "unknown fault";
}

static bool is_separator(char byte)
{
	return byte == '/' || byte == '\\';
}

/* Any one character and a colon: `C:`, but also `1:` and `é:`. */
static bool has_drive(const char *path, size_t length)
{
	uint32_t character;

	if (!length)
		return false;
	size_t step = utf8_decode(path, length, &character);
	if (!step)
		step = 1;
	return step < length && path[step] == ':';
}

enum path_fault path_normalise(const char *path, size_t length, char *ret_path, size_t size)
{
	size_t used = 0;

	if (length && memchr(path, '\0', length))
		return PATH_FAULT_NUL;
	if (length && is_separator(path[0]))
		return PATH_FAULT_ABSOLUTE;
	if (has_drive(path, length))
		return PATH_FAULT_DRIVE;
	for (size_t at = 0; at < length;) {
		size_t end = at;
		while (end < length && !is_separator(path[end]))
			end++;
		size_t segment = end - at;
		if (segment == 2 && path[at] == '.' && path[at + 1] == '.')
			return PATH_FAULT_PARENT;
		if (segment && !(segment == 1 && path[at] == '.')) {
			if (used + (used > 0) + segment >= size)
				return PATH_FAULT_LONG;
			if (used)
				ret_path[used++] = '/';
			memmove(ret_path + used, path + at, segment);
			used += segment;
		}
		at = end + 1;
	}
	if (!used)
		return PATH_FAULT_EMPTY;
	ret_path[used] = '\0';
	return PATH_FAULT_NONE;
}

bool path_is_normal(const char *path)
{
	size_t length = strlen(path), start = 0;

	if (!length || has_drive(path, length) || memchr(path, '\\', length))
		return false;
	for (size_t at = 0; at <= length; at++) {
		if (path[at] && path[at] != '/')
			continue;
		size_t segment = at - start;
		if (!segment || (segment == 1 && path[start] == '.') ||
		    (segment == 2 && path[start] == '.' && path[start + 1] == '.'))
			return false;
		start = at + 1;
	}
	return true;
}

bool path_writable(const char *const *patterns, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++) {
		const char *pattern = patterns[i];
		size_t length = strlen(pattern);

		if (!strcmp(pattern, ".") || !strcmp(pattern, "./") || glob_match(pattern, path))
			return true;
		if (length && pattern[length - 1] == '/' && !strncmp(path, pattern, length))
			return true;
	}
	return false;
}
