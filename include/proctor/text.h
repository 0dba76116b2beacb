/*
 * Safe text: the one form in which untrusted bytes are drawn or printed.
 *
 * Bytes of a candidate (names, paths, arguments, output) may hold anything: escape sequences, bidirectional
 * overrides, invalid UTF-8, a flood of combining marks. pr_safe_text_from() is the only function that makes
 * `struct pr_safe_text` of them, and only that type goes to a terminal. The result is one line, printable,
 * of known width and bounded length.
 *
 *   stands as itself      printable characters with a width of 1 or 2 columns
 *   \n \t \r              those
 *   \x1b                  other control bytes, and bytes that are no valid UTF-8
 *   \u202e, \U000e0001    C1 controls, bidirectional and zero-width characters, combining marks, spaces
 *                         other than U+0020, fillers, private use, unassigned: everything that could hide,
 *                         move or look like nothing
 *
 * A backslash stands as itself, so that making safe text of safe text changes nothing. What is too long is
 * cut at a whole unit and ends in "...".
 */
#ifndef PROCTOR_TEXT_H
#define PROCTOR_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define PR_SAFE_TEXT_BYTES 2048		/* most bytes of one safe text, its NUL included */

struct pr_safe_text {
	char bytes_[PR_SAFE_TEXT_BYTES];	/* read it by pr_safe_text_str() */
	unsigned length_;
	unsigned width_;
	bool cut_;
};

enum pr_charset {
	PR_CHARSET_LOCALE,	/* UTF-8 where the locale (LC_CTYPE) is a UTF-8 one, else ASCII: for terminals */
	PR_CHARSET_UTF8,	/* UTF-8 whatever the locale: for JSON and files */
	PR_CHARSET_ASCII,
};

/* `max_width` is in columns; 0: bounded by PR_SAFE_TEXT_BYTES alone. Never fails; `bytes` may be NULL with length 0. */
void pr_safe_text_from(struct pr_safe_text *ret_text, const void *bytes, size_t length, unsigned max_width,
		       enum pr_charset charset);

/* The same for a NUL-terminated string in the locale's charset; NULL is the empty text. */
void pr_safe_text_from_str(struct pr_safe_text *ret_text, const char *text, unsigned max_width);

/* NUL-terminated, one line, printable. */
const char *pr_safe_text_str(const struct pr_safe_text *text);
unsigned pr_safe_text_length(const struct pr_safe_text *text);	/* bytes */
unsigned pr_safe_text_width(const struct pr_safe_text *text);	/* columns of a terminal */
bool pr_safe_text_cut(const struct pr_safe_text *text);		/* something was left out */

/* A json-c string (a new reference, the caller's) of bytes made safe in UTF-8. NULL: out of memory. */
struct json_object;
struct json_object *pr_safe_text_json(const void *bytes, size_t length);

#endif
