/*
 * Errors.
 *
 * A function that can fail returns 0 or more on success and a negative errno on failure, and takes a
 * `struct pr_error *error` last. The error is set once, where it happened, and printed only in a main
 * function. `error` may be NULL where the caller does not want the words.
 *
 * The message says what was being done, to what, and why it failed; the remedy, where there is one, is
 * a sentence or a command that the user can act on. Both are text of our own: bytes of a candidate come
 * in only as safe text (proctor/text.h).
 */
#ifndef PROCTOR_ERROR_H
#define PROCTOR_ERROR_H

struct pr_error {
	int code;		/* positive errno; 0 while nothing failed */
	char message[1024];	/* NUL-terminated, cut at a whole UTF-8 character where it is too long */
	char remedy[512];	/* empty where nothing can be done about it */
};

/* Sets code and message, clears the remedy. Returns -code, so that `return pr_error_set(...)` reads well. */
int pr_error_set(struct pr_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As pr_error_set, with ": " and strerror(code) appended. */
int pr_error_errno(struct pr_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds what the user can do. Returns -error->code (or 0 where error is NULL). */
int pr_error_remedy(struct pr_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Puts a context in front of the message ("reading FILE: " ...). Returns -error->code. */
int pr_error_prefix(struct pr_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
