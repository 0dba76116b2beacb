/*
 * json-c objects as lines and back, for what bears no identity (events, the wire). json-c serves the tree;
 * its own writer would print 0.55 as 0.55000000000000004, NaN as it stands, and pass invalid UTF-8 on.
 */
#ifndef CORE_RECORD_JSONC_H
#define CORE_RECORD_JSONC_H

#include <json-c/json.h>

#include "core/base/buffer.h"

/*
 * Appends the object as strict JSON: members in their order, doubles and strings as canonical.h writes
 * them. -EINVAL: a double that is not finite; -EILSEQ: a string that is no valid UTF-8; -ELOOP: deeper than
 * JSON_DEPTH; -E2BIG: the buffer's bound; -ENOMEM.
 */
int jsonc_write(struct json_object *object, struct buffer *out);

/* Reads one object (strict, UTF-8 checked, nothing after it). NULL: it is none, or no memory. The caller's reference. */
struct json_object *jsonc_read_object(const char *bytes, size_t length);

/* The member's string, or NULL: absent, not a string, or with a NUL within. Lent. */
const char *jsonc_text(struct json_object *object, const char *key);

/* 0, or -EINVAL where the member is absent or no integer, -ERANGE where it is negative (u64) or above INT64_MAX (i64). */
int jsonc_u64(struct json_object *object, const char *key, uint64_t *ret_number);
int jsonc_i64(struct json_object *object, const char *key, int64_t *ret_number);

static inline void jsonc_putp(struct json_object **object)
{
	json_object_put(*object);
}

#define _cleanup_jsonc_ _cleanup_(jsonc_putp)

#endif
