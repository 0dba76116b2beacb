/*
 * The program inside a boundary walks a workspace and writes it as a collection stream (../stream.h).
 * Static-safe. The laws E1 to E5: bounded per entry, refused at first proof, descriptors only, no name
 * used twice, the type check is fstat on the descriptor that is then read.
 */
#ifndef CORE_WORKSPACE_INSIDE_COLLECT_H
#define CORE_WORKSPACE_INSIDE_COLLECT_H

#include <stddef.h>

#include "core/workspace/limits.h"

/*
 * Walks from `root_fd` (a directory) and writes to `out_fd`. `scratch` globs (Python's fnmatchcase, whole
 * relative path) are skipped unread and count for nothing; a directory entry that matches is skipped with
 * all below it; so is `.git` at the top. 0 when the stream is complete (a refusal record is a complete stream),
 * else a negative errno of writing it.
 */
int collect(int root_fd, int out_fd, const struct workspace_limits *limits, const char *const *scratch,
	    size_t scratch_count);

#endif
