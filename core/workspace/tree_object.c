/*
 * A tree as git's own objects. They are written as bytes, not by libgit2's tree builder: that one refuses names
 * which a candidate may well leave behind (a nested `.git`), and the record says what was there. Nothing of ours
 * ever checks such a tree out. git keeps neither empty directories nor modes other than the executable bit.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/workspace/git.h"
#include "core/workspace/stream.h"
#include "core/workspace/tree.h"

#define OBJECT_DEPTH 128	/* nested calls; E1 allows 32 levels */

static int add_child(struct buffer *object, const char *mode, const char *name, size_t length, const char *id)
{
	git_oid oid;
	int r = buffer_printf(object, "%s ", mode);
	if (r == 0)
		r = buffer_add(object, name, length);
	if (r == 0)
		r = buffer_add_byte(object, '\0');
	if (r == 0 && git_oid_fromstr(&oid, id) < 0)
		r = -EINVAL;
	return r < 0 ? r : buffer_add(object, oid.id, sizeof oid.id);
}

/*
 * Writes the object for the directory whose path is the first `prefix` bytes of all paths from `*at` on (0: the top);
 * leaves `*at` behind them. `ret_id` is empty where nothing but directories is there.
 */
static int write_directory(struct store *store, const struct tree *tree, size_t *at, const char *path, size_t prefix,
			   unsigned depth, char ret_id[static STORE_ID], struct pr_error *error)
{
	_cleanup_buffer_ struct buffer object = BUFFER_INIT;
	int r = 0;

	if (depth > OBJECT_DEPTH)
		return pr_error_set(error, ELOOP, "a tree of more than %d levels", OBJECT_DEPTH);
	/* Sorted by bytes, files alone stand as git wants them: a directory as if its name ended in '/'. */
	while (*at < tree->count && r == 0) {
		const struct tree_entry *entry = &tree->entries[*at];
		if (strncmp(entry->path, path, prefix) != 0)
			break;
		if (entry->type == TREE_DIRECTORY) {
			++*at;
			continue;
		}
		const char *name = entry->path + prefix;
		const char *slash = strchr(name, '/');
		if (slash) {
			char child[STORE_ID];
			r = write_directory(store, tree, at, entry->path, (size_t)(slash + 1 - entry->path), depth + 1, child, error);
			if (r == 0)
				r = add_child(&object, "40000", name, (size_t)(slash - name), child);
		} else {
			r = add_child(&object, entry->type == TREE_LINK ? "120000" : entry->mode & 0100 ? "100755" : "100644",
				      name, strlen(name), entry->blob);
			++*at;
		}
	}
	return r < 0 ? r : store_write_object(store, GIT_OBJECT_TREE, object.data, object.length, ret_id, error);
}

int tree_write_object(struct store *store, const struct tree *tree, char ret_id[static STORE_ID], struct pr_error *error)
{
	struct pr_error here = { 0 };
	size_t at = 0;
	int r = write_directory(store, tree, &at, "", 0, 0, ret_id, &here);
	if (r < 0 && here.code == 0)
		pr_error_errno(&here, -r, "writing a tree object");
	if (r < 0 && error)
		*error = here;
	return r;
}
