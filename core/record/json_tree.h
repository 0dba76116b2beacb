/* What json.c and json_read.c share, and nobody else includes. */
#ifndef CORE_RECORD_JSON_TREE_H
#define CORE_RECORD_JSON_TREE_H

#include "core/record/json.h"

struct json *json_new_kind(enum json_kind kind);

/* Code point order of two keys. */
int json_key_compare(const char *one, size_t one_length, const char *other, size_t other_length);

/*
 * Puts a member last, without a look at its key: `sorted` is then out of order until the caller sorts it.
 * Takes key and value over on success alone.
 */
int json_put_last(struct json *object, char *key, size_t key_length, struct json *value);

#endif
