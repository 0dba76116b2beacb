/*
 * Canonical JSON (formats, 1): the one byte form of a value, from which ids are hashed.
 *
 * UTF-8, keys sorted by code point, `,` and `:` without spaces. Strings escape only `"`, `\` and
 * U+0000 ... U+001F (\b \t \n \f \r, else \u00xx in lower case). Doubles are the shortest text that
 * reads back the same, of the shortest ones the nearest, in Python's layout. Independent of the locale.
 */
#ifndef CORE_RECORD_CANONICAL_H
#define CORE_RECORD_CANONICAL_H

#include "core/base/buffer.h"
#include "core/base/digest.h"
#include "core/record/json.h"

#define CANONICAL_DOUBLE 32	/* bytes that the longest double takes, its NUL included */

/* Appends the canonical form. -ENOMEM, -E2BIG (the buffer's bound), -ELOOP: deeper than JSON_DEPTH. */
int canonical_write(const struct json *value, struct buffer *out);

/* "sha256:..." over the canonical form. Errors as above. */
int canonical_digest(const struct json *value, char ret_tagged[static DIGEST_TAGGED]);

/* One finite double, as repr() of Python writes it ("1.0", "1e+16", "-0.0"). Returns its length. */
size_t canonical_double(double number, char ret_text[static CANONICAL_DOUBLE]);

/* Appends a string in its quotes, escaped as above. The bytes are valid UTF-8 (the caller's word). */
int canonical_string(const char *bytes, size_t length, struct buffer *out);

#endif
