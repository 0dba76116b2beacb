/*
 * A plain directory as a subject (source.h). The walk is the collector's own (inside/collect.h), with its laws and its
 * guards; here is only where it goes to: blobs of the store instead of a stream.
 */
#include "core/workspace/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <proctor/text.h>

#include "core/base/cleanup.h"
#include "core/workspace/inside/collect.h"

struct import {
	struct store *store;
	const char *directory;
	struct tree tree;
	struct buffer content;
	struct pr_error error;	/* the walk carries only a number */
};

static int take_directory(void *context, const struct collect_entry *entry)
{
	struct import *import = context;
	return tree_add(&import->tree, entry->path, TREE_DIRECTORY, entry->mode, 0, NULL, NULL);
}

static int take_bytes(struct import *import, const struct collect_entry *entry, enum tree_type type, const void *bytes,
		      size_t length)
{
	char id[STORE_ID], sha256[DIGEST_HEX];

	digest_bytes(bytes, length, sha256);
	int r = store_write(import->store, bytes, length, id, &import->error);
	return r < 0 ? r : tree_add(&import->tree, entry->path, type, entry->mode, length, id, sha256);
}

static int take_file(void *context, const struct collect_entry *entry)
{
	struct import *import = context;
	struct collect_content content = { .fd = entry->fd, .left = entry->size };

	buffer_clear(&import->content);
	for (;;) {
		/* The byte beyond the size shows a file that grew. */
		int r = buffer_reserve(&import->content, content.left + 1 < 1 << 20 ? content.left + 1 : 1 << 20);
		if (r < 0)
			return r;
		size_t room = import->content.allocated - 1 - import->content.length;
		ssize_t n = collect_read(&content, import->content.data + import->content.length, room);
		if (n == -EIO && import->error.code == 0) {
			struct pr_safe_text path;
			pr_safe_text_from(&path, entry->path, entry->path_length, 200, PR_CHARSET_LOCALE);
			return pr_error_set(&import->error, EIO, "importing %s: %s changed while it was read, or cannot be read",
					    import->directory, pr_safe_text_str(&path));
		}
		if (n < 0)
			return (int)n;
		import->content.length += (size_t)n;
		if (n == 0 || content.ended)
			break;
	}
	return take_bytes(import, entry, TREE_FILE, import->content.data, import->content.length);
}

static int take_link(void *context, const struct collect_entry *entry)
{
	return take_bytes(context, entry, TREE_LINK, entry->target, (size_t)entry->size);
}

static int take_refusal(void *context, enum workspace_reason reason, const char *path, size_t path_length)
{
	struct import *import = context;
	struct pr_safe_text text;
	pr_safe_text_from(&text, path, path_length, 200, PR_CHARSET_LOCALE);
	pr_error_set(&import->error, EINVAL, "%s is no subject: %s (at %s)", import->directory,
		     workspace_reason_name(reason), pr_safe_text_str(&text));
	return pr_error_remedy(&import->error, "a subject holds regular files, directories and symbolic links that can be "
			       "read, within the bounds of a collection; take the rest out, or name a part of the directory");
}

int source_directory(struct store *store, const char *directory, struct tree *ret_tree, struct pr_error *error)
{
	static const struct collect_sink sink = {
		.directory = take_directory, .file = take_file, .link = take_link, .refusal = take_refusal,
	};
	_cleanup_close_ int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		pr_error_errno(error, errno, "opening the directory %s", directory);
		return pr_error_remedy(error, "name a directory that exists and that you may read");
	}
	_cleanup_free_ struct collect_walk *walk = malloc(sizeof *walk);
	struct import import = { .store = store, .directory = directory, .content = BUFFER_INIT };
	int r = -ENOMEM;
	if (walk)
		r = collect_walk(walk, fd, &WORKSPACE_LIMITS_E1, NULL, 0, &sink, &import);
	if (r == 0)
		r = tree_sort(&import.tree, &import.error);
	if (r < 0) {
		if (import.error.code == 0)
			pr_error_errno(&import.error, -r, "importing the directory %s", directory);
		if (error)
			*error = import.error;
	} else {
		*ret_tree = import.tree;
		tree_init(&import.tree);
	}
	tree_release(&import.tree);
	buffer_release(&import.content);
	return r;
}
