/*
 * Subjects: where a task's files come from. Both sources are the owner's, and bounded all the same
 * (rulings, E1): a subject that a collection would refuse is refused here, with the reason and the path.
 * `scratch` globs name what is left out of a directory subject.
 */
#ifndef CORE_WORKSPACE_SOURCE_H
#define CORE_WORKSPACE_SOURCE_H

#include "core/workspace/tree.h"

/*
 * The tree of one commit of a git repository, bare or not. `commit` is any revision git understands
 * (main~2, a tag, an abbreviated id); `ret_commit` is its full id. Nothing of the history is copied.
 * Submodules (gitlinks) are refused, by name; a Git LFS pointer is taken as the small file that it is.
 * -ENOENT: no repository there, or no such commit, told apart in the message, with a remedy.
 */
int source_git(struct store *store, const char *repository, const char *commit, struct tree *ret_tree,
	       char ret_commit[static STORE_ID], struct pr_error *error);

/* The files of a plain directory, read by descriptors (E3). A `.git` at its top is left out. */
int source_directory(struct store *store, const char *directory, struct tree *ret_tree, struct pr_error *error);

#endif
