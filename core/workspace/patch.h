/*
 * Patches: the strict form (residency.patch.v1) and its rendering.
 *
 * The applier is our own and works on trees alone (libgit2 1.5 cannot read back all that it writes);
 * rendering is libgit2's, and every rendering is applied to a fresh tree and compared before it is taken.
 */
#ifndef CORE_WORKSPACE_PATCH_H
#define CORE_WORKSPACE_PATCH_H

#include "core/workspace/tree.h"

/*
 * Renders the difference as a unified diff into `diff` (appended). `*ret_partial` is true where the
 * strict form cannot say all of it (binary content, a mode, a link, an empty directory does not count):
 * what can be said is in the diff, and the paths that cannot are listed in `unsaid`, NUL-separated.
 */
int patch_render(struct store *store, const struct tree *before, const struct tree *after, struct buffer *diff,
		 bool *ret_partial, struct buffer *unsaid, struct pr_error *error);

/*
 * Applies a diff by the strict rules (formats, Signals: patch). 0: `ret_tree` is the caller's.
 * -EBADMSG: it does not apply; the message says the line and why (safe to show: no bytes of the diff in it
 * that are not printable ASCII). Other negative errnos are errors of ours.
 */
int patch_apply(struct store *store, const struct tree *before, const char *diff, size_t length,
		struct tree *ret_tree, struct pr_error *error);

#endif
