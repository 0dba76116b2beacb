/* The list of tree.h: entries with heap paths, sorted by bytes. Knows nothing of libgit2. */
#include "core/workspace/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <proctor/text.h>

#include "core/base/cleanup.h"
#include "core/record/glob.h"

void tree_init(struct tree *tree)
{
	*tree = (struct tree){ 0 };
}

void tree_release(struct tree *tree)
{
	for (size_t i = 0; i < tree->count; i++)
		free(tree->entries[i].path);
	free(tree->entries);
	tree_init(tree);
}

#define _cleanup_tree_ _cleanup_(tree_release)

static int add_entry(struct tree *tree, const struct tree_entry *entry)
{
	if (tree->count == tree->allocated) {
		size_t allocated = tree->allocated ? tree->allocated * 2 : 64;
		struct tree_entry *entries = reallocarray(tree->entries, allocated, sizeof *entries);
		if (!entries)
			return -ENOMEM;
		tree->entries = entries;
		tree->allocated = allocated;
	}
	char *path = strdup(entry->path);
	if (!path)
		return -ENOMEM;
	tree->entries[tree->count] = *entry;
	tree->entries[tree->count++].path = path;
	return 0;
}

int tree_add(struct tree *tree, const char *path, enum tree_type type, uint32_t mode, uint64_t size,
	     const char *blob, const char *sha256)
{
	struct tree_entry entry = { .path = (char *)path, .type = type, .mode = mode, .size = size };

	if (type != TREE_DIRECTORY) {
		snprintf(entry.blob, sizeof entry.blob, "%s", blob);
		snprintf(entry.sha256, sizeof entry.sha256, "%s", sha256);
	}
	return add_entry(tree, &entry);
}

int tree_copy(const struct tree *from, struct tree *ret_tree)
{
	_cleanup_tree_ struct tree tree = { 0 };
	for (size_t i = 0; i < from->count; i++) {
		int r = add_entry(&tree, &from->entries[i]);
		if (r < 0)
			return r;
	}
	*ret_tree = tree;
	tree_init(&tree);
	return 0;
}

static int compare_entries(const void *one, const void *other)
{
	return strcmp(((const struct tree_entry *)one)->path, ((const struct tree_entry *)other)->path);
}

static void sort(struct tree *tree)
{
	if (tree->count > 1)
		qsort(tree->entries, tree->count, sizeof tree->entries[0], compare_entries);
}

int tree_sort(struct tree *tree, struct pr_error *error)
{
	sort(tree);
	for (size_t i = 1; i < tree->count; i++) {
		if (strcmp(tree->entries[i - 1].path, tree->entries[i].path) != 0)
			continue;
		struct pr_safe_text path;
		pr_safe_text_from_str(&path, tree->entries[i].path, 200);
		return pr_error_set(error, EEXIST, "the path %s is there twice", pr_safe_text_str(&path));
	}
	return 0;
}

/* The first entry whose path is not before `path`. */
static size_t lower_bound(const struct tree *tree, const char *path)
{
	size_t low = 0, high = tree->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(tree->entries[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct tree_entry *tree_find(const struct tree *tree, const char *path)
{
	size_t at = lower_bound(tree, path);
	return at < tree->count && strcmp(tree->entries[at].path, path) == 0 ? &tree->entries[at] : NULL;
}

bool tree_has_below(const struct tree *tree, const char *path)
{
	/* Between "a" and "a/x" stand "a-x" and the like: look for where "a/" would be. */
	size_t length = strlen(path), low = 0, high = tree->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *there = tree->entries[middle].path;
		int order = strncmp(there, path, length);
		if (order == 0)
			order = (unsigned char)there[length] < '/' ? -1 : 1;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < tree->count && strncmp(tree->entries[low].path, path, length) == 0 &&
	       tree->entries[low].path[length] == '/';
}

bool tree_is_below_file(const struct tree *tree, const char *path)
{
	char *above = strdup(path);
	bool is = false;

	for (char *slash; above && !is && (slash = strrchr(above, '/'));) {
		*slash = '\0';
		const struct tree_entry *there = tree_find(tree, above);
		is = there && there->type != TREE_DIRECTORY;
	}
	free(above);
	return is;
}

bool tree_entry_equal(const struct tree_entry *one, const struct tree_entry *other)
{
	return one->type == other->type && one->mode == other->mode && one->size == other->size &&
	       strcmp(one->sha256, other->sha256) == 0 && strcmp(one->path, other->path) == 0;
}

static int find_missing(const struct tree *tree, const struct tree *like, struct tree *missing, struct pr_error *error)
{
	_cleanup_buffer_ struct buffer path = BUFFER_INIT;

	for (size_t i = 0; i < tree->count; i++) {
		buffer_clear(&path);
		int r = buffer_add_text(&path, tree->entries[i].path);
		if (r < 0)
			return r;
		for (char *slash; (slash = strrchr(path.data, '/'));) {
			*slash = '\0';
			/* Neighbours share their parents; what they do not share is found twice and dropped below. */
			if (missing->count > 0 && strcmp(missing->entries[missing->count - 1].path, path.data) == 0)
				break;
			const struct tree_entry *there = tree_find(tree, path.data);
			if (there && there->type == TREE_DIRECTORY)
				break;
			if (there) {
				struct pr_safe_text text;
				pr_safe_text_from_str(&text, path.data, 200);
				return pr_error_set(error, ENOTDIR, "%s is no directory, and there is an entry below it",
						    pr_safe_text_str(&text));
			}
			const struct tree_entry *model = like ? tree_find(like, path.data) : NULL;
			r = tree_add(missing, path.data, TREE_DIRECTORY,
				     model && model->type == TREE_DIRECTORY ? model->mode : 0755, 0, NULL, NULL);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int tree_complete(struct tree *tree, const struct tree *like, struct pr_error *error)
{
	int r = tree_sort(tree, error);
	if (r < 0)
		return r;
	_cleanup_tree_ struct tree missing = { 0 };
	r = find_missing(tree, like, &missing, error);
	sort(&missing);
	for (size_t i = 0; i < missing.count && r == 0; i++)
		if (i == 0 || strcmp(missing.entries[i - 1].path, missing.entries[i].path) != 0)
			r = add_entry(tree, &missing.entries[i]);
	if (r == -ENOMEM)
		pr_error_errno(error, ENOMEM, "completing a tree");
	if (r < 0)
		return r;
	sort(tree);
	return 0;
}

static bool matches(const char *const *globs, size_t glob_count, const char *path)
{
	for (size_t i = 0; i < glob_count; i++)
		if (glob_match(globs[i], path))
			return true;
	return false;
}

/* What stays of the tree: all that matches no glob and is in nothing's way. */
static int keep_unprotected(const struct tree *subject, const struct tree *tree, const struct tree *restored,
			    const char *const *globs, size_t glob_count, struct tree *kept, size_t *changed)
{
	for (size_t i = 0; i < tree->count; i++) {
		const struct tree_entry *entry = &tree->entries[i];
		bool keep;
		if (matches(globs, glob_count, entry->path)) {
			/* An added directory stays where something below it does; tree_complete brings it back. */
			keep = false;
			*changed += !tree_find(subject, entry->path) &&
				    !(entry->type == TREE_DIRECTORY && tree_has_below(tree, entry->path));
		} else {
			keep = !tree_is_below_file(restored, entry->path) &&
			       !(entry->type != TREE_DIRECTORY && tree_has_below(restored, entry->path));
		}
		int r = keep ? add_entry(kept, entry) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

int tree_protect(const struct tree *subject, struct tree *tree, const char *const *globs, size_t glob_count,
		 size_t *ret_changed, struct pr_error *error)
{
	_cleanup_tree_ struct tree restored = { 0 };
	_cleanup_tree_ struct tree result = { 0 };
	size_t changed = 0;
	int r = 0;

	for (size_t i = 0; i < subject->count && r == 0; i++) {
		const struct tree_entry *entry = &subject->entries[i];
		if (!matches(globs, glob_count, entry->path))
			continue;
		const struct tree_entry *there = tree_find(tree, entry->path);
		changed += !there || !tree_entry_equal(there, entry);
		r = add_entry(&restored, entry);
	}
	if (r == 0)
		r = keep_unprotected(subject, tree, &restored, globs, glob_count, &result, &changed);
	for (size_t i = 0; i < restored.count && r == 0; i++)
		r = add_entry(&result, &restored.entries[i]);
	if (r < 0)
		return pr_error_errno(error, -r, "restoring protected paths");
	r = tree_complete(&result, subject, error);
	if (r < 0)
		return r;
	tree_release(tree);
	*tree = result;
	tree_init(&result);
	*ret_changed = changed;
	return 0;
}

int tree_mark_protected(struct tree *tree, const char *const *globs, size_t glob_count, struct pr_error *error)
{
	int r = tree_complete(tree, NULL, error);
	if (r < 0)
		return r;
	/* A directory stands before what is below it: from the end, each entry can mark the one that holds it. */
	for (size_t i = tree->count; i-- > 0;) {
		struct tree_entry *entry = &tree->entries[i];
		entry->protected = entry->protected || matches(globs, glob_count, entry->path);
		char *slash = entry->protected ? strrchr(entry->path, '/') : NULL;
		if (!slash)
			continue;
		/* Cut, it sorts where its directory does: the search still finds that one first. */
		*slash = '\0';
		size_t above = lower_bound(tree, entry->path);
		if (above < tree->count && strcmp(tree->entries[above].path, entry->path) == 0)
			tree->entries[above].protected = true;
		*slash = '/';
	}
	return 0;
}

#define BLOCK_BYTES 4096	/* of a tmpfs; a short link's target has none (shmem, SHORT_SYMLINK_LEN) */
#define SHORT_LINK 128

enum workspace_reason tree_misfit(const struct tree *tree, const struct workspace_limits *limits, uint64_t bytes,
				  uint64_t inodes)
{
	struct workspace_account account = { .limits = *limits };
	uint64_t taken = 0;
	enum workspace_reason reason = REASON_NONE;

	for (size_t i = 0; i < tree->count && reason == REASON_NONE; i++) {
		const struct tree_entry *entry = &tree->entries[i];
		uint64_t depth = 1;
		for (const char *at = entry->path; (at = strchr(at, '/')); at++)
			depth++;
		reason = workspace_charge_name(&account, strlen(entry->path), depth);
		if (reason != REASON_NONE)
			break;
		reason = entry->type == TREE_DIRECTORY ? workspace_charge_directory(&account) :
			 entry->type == TREE_FILE ? workspace_charge_file(&account, entry->size) :
						    workspace_charge_bytes(&account, entry->size);
		if (entry->type == TREE_FILE || entry->size >= SHORT_LINK)
			taken += (entry->size + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
		if (reason == REASON_NONE && taken > (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES)
			reason = REASON_WORKSPACE_TOO_LARGE;
	}
	/* The root has an inode too. */
	if (reason == REASON_NONE && tree->count + 1 > inodes)
		reason = REASON_TOO_MANY_ENTRIES;
	return reason;
}
