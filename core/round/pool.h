/*
 * A pool: memory that lives and dies together (what a round file says). Nothing is freed singly.
 *
 * A round file is the owner's and small (1 MiB at most), and it is read before anything runs: where even
 * that does not fit into memory the program says so and ends, so no caller needs to check.
 */
#ifndef CORE_ROUND_POOL_H
#define CORE_ROUND_POOL_H

#include <stddef.h>

struct pool_block;

struct pool {
	struct pool_block *blocks;
};

void pool_release(struct pool *pool);
/* Zeroed; never NULL. */
void *pool_new(struct pool *pool, size_t size);
void *pool_array(struct pool *pool, size_t count, size_t size);
char *pool_text(struct pool *pool, const char *text);
char *pool_text_n(struct pool *pool, const char *bytes, size_t length);
char *pool_printf(struct pool *pool, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
