/* A tree on its way into a boundary: the subject stream (stream.h) of tree_write_stream. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/workspace/git.h"
#include "core/workspace/stream.h"
#include "core/workspace/tree.h"

#define WRITE_AT (256 * 1024)	/* bytes gathered before a write */

struct writer {
	int fd;
	uint64_t records;
	enum stream_root root;
	bool protected;
	struct buffer out;
	struct buffer at;	/* the directory that the last record stands in or is */
};

static int flush(struct writer *writer)
{
	int r = io_write_all(writer->fd, writer->out.data, writer->out.length);
	buffer_clear(&writer->out);
	return r;
}

static int put(struct writer *writer, enum stream_type type, uint32_t mode, const char *name, size_t name_length,
	       const void *content, uint64_t size)
{
	struct stream_record record = {
		.type = type, .root = writer->root, .protected = writer->protected, .mode = mode,
		.name_length = (uint32_t)name_length, .size = size,
	};
	unsigned char header[STREAM_HEADER_BYTES];

	if (name_length > STREAM_NAME_MAX)
		return -ENAMETOOLONG;
	stream_put(&record, header);
	int r = buffer_add(&writer->out, header, sizeof header);
	if (r == 0)
		r = buffer_add(&writer->out, name, name_length);
	/* Large contents are not copied: what came before goes out first. */
	if (r == 0 && content && size >= WRITE_AT) {
		r = flush(writer);
		if (r == 0)
			r = io_write_all(writer->fd, content, size);
	} else if (r == 0 && content) {
		r = buffer_add(&writer->out, content, size);
	}
	writer->records++;
	return r == 0 && writer->out.length >= WRITE_AT ? flush(writer) : r;
}

static int enter(struct writer *writer, const char *path, size_t length)
{
	buffer_clear(&writer->at);
	return buffer_add(&writer->at, path, length);
}

/* Goes to the directory of `name`, writing those on the way that the stream has not seen. */
static int go_to_parent(struct writer *writer, const char *name, uint32_t mode)
{
	const char *last = strrchr(name, '/');
	size_t parent = last ? (size_t)(last - name) : 0;
	size_t known = 0;	/* how far the open directory's path is on the way */

	for (size_t i = 0; i <= parent && i <= writer->at.length; i++) {
		bool ends = (i == parent || name[i] == '/') && (i == writer->at.length || writer->at.data[i] == '/');
		if (ends)
			known = i;
		if (i < parent && (i == writer->at.length || writer->at.data[i] != name[i]))
			break;
	}
	for (size_t i = known + 1; i <= parent; i++) {
		if (i != parent && name[i] != '/')
			continue;
		int r = put(writer, STREAM_DIRECTORY, mode, name, i, NULL, 0);
		if (r < 0)
			return r;
	}
	return enter(writer, name, parent);
}

static int put_entry(struct writer *writer, struct store *store, const struct tree_entry *entry, struct pr_error *error)
{
	size_t length = strlen(entry->path);
	writer->protected = entry->protected;
	int r = go_to_parent(writer, entry->path, 0755);
	if (r < 0)
		return r;
	if (entry->type == TREE_DIRECTORY) {
		r = put(writer, STREAM_DIRECTORY, entry->mode & 07777, entry->path, length, NULL, 0);
		return r < 0 ? r : enter(writer, entry->path, length);
	}
	_cleanup_store_object_ struct store_object object = { 0 };
	r = store_open_object(store, entry->blob, &object, error);
	if (r < 0)
		return r;
	if (object.length != entry->size)
		return pr_error_set(error, EIO, "%s in the content store has %zu bytes, the tree says %llu", entry->blob,
				    object.length, (unsigned long long)entry->size);
	return put(writer, entry->type == TREE_LINK ? STREAM_LINK : STREAM_FILE,
		   entry->type == TREE_LINK ? 0777 : entry->mode & 07777, entry->path, length, object.bytes, object.length);
}

/* Depth-first: as strcmp, with '/' before every other byte. */
static int compare_paths(const char *one, const char *other)
{
	while (*one && *one == *other) {
		one++;
		other++;
	}
	int a = *one == '/' ? 1 : *one ? (unsigned char)*one + 1 : 0;
	int b = *other == '/' ? 1 : *other ? (unsigned char)*other + 1 : 0;
	return a - b;
}

static int compare_entries(const void *one, const void *other)
{
	return compare_paths((*(const struct tree_entry *const *)one)->path, (*(const struct tree_entry *const *)other)->path);
}

static int compare_extra(const void *one, const void *other)
{
	return compare_paths((*(const struct tree_extra_file *const *)one)->path,
			     (*(const struct tree_extra_file *const *)other)->path);
}

static int put_workspace(struct writer *writer, struct store *store, const struct tree *tree, struct pr_error *error)
{
	_cleanup_free_ const struct tree_entry **order = calloc(tree->count + 1, sizeof(const struct tree_entry *));
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < tree->count; i++)
		order[i] = &tree->entries[i];
	qsort(order, tree->count, sizeof order[0], compare_entries);
	for (size_t i = 0; i < tree->count; i++) {
		int r = put_entry(writer, store, order[i], error);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Those of one root. */
static int put_extra(struct writer *writer, const struct tree_extra_file *extra, size_t count, enum stream_root root,
		     struct pr_error *error)
{
	bool home = root == STREAM_HOME;
	_cleanup_free_ const struct tree_extra_file **order = calloc(count + 1, sizeof(const struct tree_extra_file *));
	size_t used = 0;
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (extra[i].in_workspace != home)
			order[used++] = &extra[i];
	qsort(order, used, sizeof order[0], compare_extra);
	writer->root = root;
	writer->protected = false;
	int r = home ? enter(writer, "", 0) : 0;
	for (size_t i = 0; i < used && r == 0; i++) {
		const struct tree_extra_file *file = order[i];
		if (!stream_name_stands(file->path, strlen(file->path)))
			return pr_error_set(error, EINVAL, "`%s` is no path below %s", file->path, home ? "HOME" : "the workspace");
		r = go_to_parent(writer, file->path, home ? 0700 : 0755);
		if (r == 0)
			r = put(writer, STREAM_FILE, file->mode & 07777, file->path, strlen(file->path), file->bytes ? file->bytes : "",
				file->length);
	}
	return r;
}

int tree_write_stream(struct store *store, const struct tree *tree, const struct tree_extra_file *extra,
		      size_t extra_count, int fd, struct pr_error *error)
{
	struct pr_error here = { 0 };
	struct writer writer = { .fd = fd, .root = STREAM_WORKSPACE, .out = BUFFER_INIT, .at = BUFFER_INIT };

	int r = buffer_add(&writer.out, STREAM_MAGIC, STREAM_MAGIC_BYTES);
	if (r == 0)
		r = put_workspace(&writer, store, tree, &here);
	if (r == 0 && extra_count > 0)
		r = put_extra(&writer, extra, extra_count, STREAM_WORKSPACE, &here);
	if (r == 0 && extra_count > 0)
		r = put_extra(&writer, extra, extra_count, STREAM_HOME, &here);
	if (r == 0) {
		writer.root = STREAM_WORKSPACE;
		writer.protected = false;
		r = put(&writer, STREAM_END, 0, "", 0, NULL, writer.records);
	}
	if (r == 0)
		r = flush(&writer);
	buffer_release(&writer.out);
	buffer_release(&writer.at);
	if (r < 0 && here.code == 0)
		pr_error_errno(&here, -r, "writing the subject's stream");
	if (r < 0 && error)
		*error = here;
	return r;
}
