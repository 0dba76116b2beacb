/* The pool of pool.h: one allocation a block, in a list. */
#include "core/round/pool.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pool_block {
	struct pool_block *next;
	max_align_t bytes[];
};

static void out_of_memory(void)
{
	fputs("proctor-core: out of memory while reading a round file\n", stderr);
	exit(2);
}

void pool_release(struct pool *pool)
{
	while (pool->blocks) {
		struct pool_block *next = pool->blocks->next;
		free(pool->blocks);
		pool->blocks = next;
	}
}

void *pool_new(struct pool *pool, size_t size)
{
	struct pool_block *block = calloc(1, sizeof *block + (size > 0 ? size : 1));
	if (!block)
		out_of_memory();
	block->next = pool->blocks;
	pool->blocks = block;
	return block->bytes;
}

void *pool_array(struct pool *pool, size_t count, size_t size)
{
	if (size > 0 && count > SIZE_MAX / 2 / size)
		out_of_memory();
	return pool_new(pool, count * size);
}

char *pool_text_n(struct pool *pool, const char *bytes, size_t length)
{
	char *copy = pool_new(pool, length + 1);
	memcpy(copy, bytes, length);
	return copy;
}

char *pool_text(struct pool *pool, const char *text)
{
	return pool_text_n(pool, text, strlen(text));
}

char *pool_printf(struct pool *pool, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	char *text = pool_new(pool, (size_t)(length < 0 ? 0 : length) + 1);
	va_start(arguments, format);
	vsnprintf(text, (size_t)(length < 0 ? 0 : length) + 1, format, arguments);
	va_end(arguments);
	return text;
}
