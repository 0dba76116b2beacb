/* Subject streams for a worker, and what comes out of a collection (core/workspace/stream.h). */
#ifndef TESTS_SUPPORT_SUBJECT_H
#define TESTS_SUPPORT_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/base/buffer.h"
#include "core/workspace/limits.h"
#include "core/workspace/stream.h"

struct subject_entry {
	const char *path;		/* NULL ends a list */
	mode_t mode;			/* 0: 0644, and 0755 for a directory */
	const char *content;		/* NULL: a directory */
	bool link;			/* content is a symbolic link's target */
};

/*
 * A stream with these entries in the order given (depth-first, directories named), all in the workspace, as a
 * sealed memfd at offset 0. Returns the descriptor or a negative errno.
 */
int subject_stream(const struct subject_entry *entries);

struct collected_entry {
	enum stream_type type;
	mode_t mode;
	char *name;
	char *content;			/* NUL-terminated */
	size_t size;
};

struct collected {
	struct collected_entry *entries;
	size_t count;
	bool whole;			/* the stream came to its end, or to a refusal */
	bool refused;
	enum workspace_reason reason;
	char *refused_name;
};

/* Reads a stream that is whole in memory. What is broken is said by `whole`. Aborts where memory ends. */
struct collected collected_read(const struct buffer *stream);
void collected_release(struct collected *collected);

/* NULL where it is not there. */
const struct collected_entry *collected_find(const struct collected *collected, const char *name);

#endif
