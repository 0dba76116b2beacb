/*
 * Python's fnmatchcase, without its regular expressions: one walk with a single place to return to (the
 * last `*`), which is enough since `*` takes anything.
 *
 * The set of `[...]` follows fnmatch.translate of Python 3.11 to the letter: a range with its ends the
 * wrong way round is dropped, and where that brings a `!` to the front, the set is negated by it.
 */
#include "core/record/glob.h"

#include <stddef.h>
#include <stdint.h>

#include "core/record/utf8.h"

/*
 * The character at *at, moved over. A byte that is no valid UTF-8 is U+DC80 ... U+DCFF, as Python's file
 * names have it. The terminating NUL ends every sequence, so four bytes may always be offered.
 */
static uint32_t next_character(const char **at)
{
	uint32_t character;
	size_t step = utf8_decode(*at, 4, &character);

	if (!step) {
		character = 0xdc00u + (unsigned char)**at;
		step = 1;
	}
	*at += step;
	return character;
}

/* The closing bracket of a set whose inside begins at `inside`, or NULL where it is never closed. */
static const char *set_end(const char *inside)
{
	const char *at = inside;

	if (*at == '!')
		at++;
	if (*at == ']')
		at++;
	while (*at && *at != ']')
		at++;
	return *at ? at : NULL;
}

/* One item of a set: a character (low == high) or a range. */
static const char *next_item(const char *at, const char *end, uint32_t *ret_low, uint32_t *ret_high)
{
	*ret_low = *ret_high = next_character(&at);
	if (at + 1 < end && *at == '-') {
		at++;
		*ret_high = next_character(&at);
	}
	return at;
}

static bool set_has(const char *inside, const char *end, uint32_t character)
{
	bool negated = *inside == '!', first = !negated, dropped = false, found = false;
	uint32_t low, high;

	for (const char *at = inside + negated; at < end;) {
		at = next_item(at, end, &low, &high);
		if (low > high) {
			dropped = true;
			continue;
		}
		if (first && dropped && low == '!') {
			negated = true;
			/* `!-x` became the negation of `-` and `x`. */
			if (high != low && (character == '-' || character == high))
				found = true;
		} else if (character >= low && character <= high) {
			found = true;
		}
		first = false;
	}
	return found != negated;
}

/*
 * Matches one element of the pattern (not `*`) against one character; moves over the element. False at
 * either end.
 */
static bool match_one(const char **pattern, uint32_t character)
{
	const char *end;

	if (**pattern == '?') {
		(*pattern)++;
		return true;
	}
	if (**pattern == '[' && (end = set_end(*pattern + 1))) {
		bool has = set_has(*pattern + 1, end, character);
		*pattern = end + 1;
		return has;
	}
	return **pattern && next_character(pattern) == character;
}

bool glob_match(const char *pattern, const char *path)
{
	const char *after_star = NULL, *star_path = NULL;

	while (*path) {
		if (*pattern == '*') {
			after_star = ++pattern;
			star_path = path;
			continue;
		}
		const char *next = path;
		uint32_t character = next_character(&next);
		if (match_one(&pattern, character)) {
			path = next;
			continue;
		}
		if (!after_star)
			return false;
		/* The star takes one character more. */
		next_character(&star_path);
		path = star_path;
		pattern = after_star;
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
