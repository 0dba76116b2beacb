/*
 * A tree: what a workspace holds, as sorted paths with digests; the bytes are in a store.
 *
 * Entries are sorted by path (bytes). Regular files and symbolic links carry a blob; directories are
 * listed too, so that an empty one is not lost. Paths are relative, '/'-separated, of any bytes but NUL.
 * Life cycle: tree_init, use, tree_release. A tree owns its entries' memory.
 */
#ifndef CORE_WORKSPACE_TREE_H
#define CORE_WORKSPACE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/digest.h"
#include "core/workspace/limits.h"
#include "core/workspace/store.h"
#include <proctor/error.h>

enum tree_type { TREE_FILE, TREE_DIRECTORY, TREE_LINK };

struct tree_entry {
	char *path;
	enum tree_type type;
	uint32_t mode;			/* permission bits, 07777; of a link 0777 */
	uint64_t size;			/* bytes of the content or of the link's target; 0 for a directory */
	char blob[STORE_ID];		/* empty for a directory */
	char sha256[DIGEST_HEX];	/* of the raw content (for a link: of its target); empty for a directory */
	bool protected;			/* for the stream alone (tree_mark_protected); no part of what a tree is */
};

struct tree {
	struct tree_entry *entries;
	size_t count;
	size_t allocated;
};

void tree_init(struct tree *tree);
void tree_release(struct tree *tree);
int tree_copy(const struct tree *from, struct tree *ret_tree);

/* Appends without sorting (tree_sort when done); takes a copy of the path. -EEXIST is found by tree_sort. */
int tree_add(struct tree *tree, const char *path, enum tree_type type, uint32_t mode, uint64_t size,
	     const char *blob, const char *sha256);
int tree_sort(struct tree *tree, struct pr_error *error);
const struct tree_entry *tree_find(const struct tree *tree, const char *path);

/* Of a sorted tree: is there an entry below this path, whatever stands at the path itself? */
bool tree_has_below(const struct tree *tree, const char *path);

/* Of a sorted tree: does the path stand below an entry that is no directory? */
bool tree_is_below_file(const struct tree *tree, const char *path);

/*
 * Sorts, and adds the directories that entries need and that are not listed: with the mode that `like` (may be NULL)
 * has there, else 0755. -EEXIST: a path twice; -ENOTDIR: an entry below a file or a link.
 */
int tree_complete(struct tree *tree, const struct tree *like, struct pr_error *error);

/* Same path, type, mode and content. */
bool tree_entry_equal(const struct tree_entry *one, const struct tree_entry *other);

/*
 * Writes the tree as a subject stream (stream.h) to an fd, from where it stands, for the program inside a boundary to
 * unpack: first the workspace's entries, then each of `extra`: beside them, where no entry of the tree may be, or below HOME
 * (directories on their way there are 0700). Ends with the end record. The tree is sorted; directories that are not
 * listed are 0755.
 */
struct tree_extra_file {
	const char *path;	/* relative to HOME, or to the workspace */
	uint32_t mode;
	const void *bytes;
	size_t length;
	bool in_workspace;
};
int tree_write_stream(struct store *store, const struct tree *tree, const struct tree_extra_file *extra,
		      size_t extra_count, int fd, struct pr_error *error);

/*
 * Restores the entries of `subject` that match one of `globs` (glob.h) into `tree`: changed ones are
 * put back, added ones that match are removed. `*ret_changed` counts them. What matches nothing stays, but for what
 * stands where a restored entry needs a directory, or below a restored file. Both trees are sorted.
 */
int tree_protect(const struct tree *subject, struct tree *tree, const char *const *globs, size_t glob_count,
		 size_t *ret_changed, struct pr_error *error);

/* Marks what matches one of `globs`, and the directories above it, as PROTECTED in streams (stream.h). */
int tree_mark_protected(struct tree *tree, const char *const *globs, size_t glob_count, struct pr_error *error);

/*
 * REASON_NONE where a workspace of so many bytes and inodes takes the tree and no bound of `limits` is crossed; else
 * what is. A tree too large for the file system, whatever the bounds, is REASON_WORKSPACE_TOO_LARGE or
 * REASON_TOO_MANY_ENTRIES.
 */
enum workspace_reason tree_misfit(const struct tree *tree, const struct workspace_limits *limits, uint64_t bytes,
				  uint64_t inodes);

/* The store's tree object for these entries (git's own layout), for the record. */
int tree_write_object(struct store *store, const struct tree *tree, char ret_id[static STORE_ID], struct pr_error *error);

#endif
