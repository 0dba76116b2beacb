/*
 * The one-commit repository of a subject : one root commit on refs/heads/main with an author and a date that
 * never change, so that equal subjects give equal commit ids. It holds no remote, hook, reflog or earlier history.
 */
#ifndef CORE_WORKSPACE_REPOSITORY_H
#define CORE_WORKSPACE_REPOSITORY_H

#include "core/workspace/store.h"
#include "core/workspace/tree.h"

#define REPOSITORY_TIME_S INT64_C(946684800)	/* 2000-01-01T00:00:00Z */

/*
 * Writes what belongs into a `.git` (HEAD, config, refs, one pack, an index without stat data) to `path`, an absolute path
 * of an empty directory of ours that no candidate can reach; the caller removes it, on failure too. The tree is sorted.
 */
int repository_write(struct store *store, const struct tree *tree, const char *path, char ret_commit[static STORE_ID],
		     struct pr_error *error);

#endif
