/*
 * A growable byte buffer with an upper bound.
 *
 * Life cycle: `struct buffer b = BUFFER_INIT;` or `buffer_init`, use, `buffer_release`. `data` is always
 * NUL-terminated at `length` once something was added (the NUL is not counted), and NULL before.
 * A buffer never holds more than `limit` bytes (0: no bound beyond memory); an addition that would
 * cross it fails with -E2BIG and adds nothing. Memory: -ENOMEM.
 */
#ifndef CORE_BASE_BUFFER_H
#define CORE_BASE_BUFFER_H

#include <stdarg.h>
#include <stddef.h>

#include "core/base/cleanup.h"

struct buffer {
	char *data;
	size_t length;		/* bytes used */
	size_t allocated;	/* bytes owned, the NUL's included */
	size_t limit;		/* bytes; 0 is none */
};

#define BUFFER_INIT { NULL, 0, 0, 0 }

void buffer_init(struct buffer *buffer, size_t limit);
void buffer_release(struct buffer *buffer);
void buffer_clear(struct buffer *buffer);

/* Room for `more` bytes beyond length. */
int buffer_reserve(struct buffer *buffer, size_t more);
int buffer_add(struct buffer *buffer, const void *bytes, size_t length);
int buffer_add_text(struct buffer *buffer, const char *text);
int buffer_add_byte(struct buffer *buffer, char byte);
int buffer_printf(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
int buffer_vprintf(struct buffer *buffer, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* Drops `length` bytes from the front. */
void buffer_consume(struct buffer *buffer, size_t length);

/* The heap bytes, owned by the caller; the buffer is empty afterwards. NULL where nothing was added. */
char *buffer_take(struct buffer *buffer);

#define _cleanup_buffer_ _cleanup_(buffer_release)

#endif
