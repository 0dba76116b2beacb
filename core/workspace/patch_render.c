/*
 * The difference of two trees as a strict patch (patch.h). libgit2 finds the hunks of one file; headers and lines are
 * written here, because libgit2 1.5's own text cannot be read back for some names. The result is applied to the
 * tree before and compared: a rendering that says something else is an error of ours and never leaves here.
 */
#include "core/workspace/patch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/record/path.h"
#include "core/record/utf8.h"
#include "core/workspace/git.h"
#include "core/workspace/limits.h"

#define RENDERED_LINES 1000000	/* of both sides of a file */

#define _cleanup_tree_ _cleanup_(tree_release)

/* A path whose two sides differ; directories are none. */
struct change {
	const struct tree_entry *old, *new;	/* NULL: not there */
	char *section;				/* heap; NULL where there is nothing to say or no way to say it */
	size_t length;
	bool unsaid;
};

struct render {
	struct store *store;
	struct change *changes;	/* by path */
	size_t count, allocated;
	size_t length;		/* of all sections so far */
	struct pr_error *error;
};

static const char *change_path(const struct change *change)
{
	return change->old ? change->old->path : change->new->path;
}

/* The bytes of one side; none for a side that is not there. */
struct side {
	const struct tree_entry *entry;	/* NULL: /dev/null */
	char *bytes;
	size_t length;
};

static void side_release(struct side *side)
{
	free(side->bytes);
}

/* Would the strict form read exactly this path back from a header line? */
static bool path_can_be_said(const char *path)
{
	size_t length = strlen(path);
	return utf8_valid(path, length) && path_is_normal(path) && !strpbrk(path, "\t\n") && path[length - 1] != ' ' &&
	       !git_path_holds_repository(path);
}

static int open_side(struct render *render, const struct tree_entry *entry, struct side *side)
{
	side->entry = entry;
	return entry ? store_read(render->store, entry->blob, &side->bytes, &side->length, render->error) : 0;
}

static bool content_can_be_said(const struct side *side)
{
	return !side->bytes || (!memchr(side->bytes, '\0', side->length) && utf8_valid(side->bytes, side->length));
}

/* A line costs the comparison some hundred bytes: eight MiB of line feeds took 800 MB and seconds of the core's. */
static bool has_too_many_lines(const struct side *old, const struct side *new)
{
	size_t lines = 0;
	for (size_t i = 0; i < old->length; i++)
		lines += old->bytes[i] == '\n';
	for (size_t i = 0; i < new->length; i++)
		lines += new->bytes[i] == '\n';
	return lines > RENDERED_LINES;
}

static int put_range(struct buffer *out, char sign, int start, int count)
{
	return count == 1 ? buffer_printf(out, "%c%d", sign, start) : buffer_printf(out, "%c%d,%d", sign, start, count);
}

static int put_line(struct buffer *out, const git_diff_line *line)
{
	/* The marks of a missing newline come as lines of their own: '=' '>' '<', with their text. */
	bool mark = line->origin == GIT_DIFF_LINE_CONTEXT_EOFNL || line->origin == GIT_DIFF_LINE_ADD_EOFNL ||
		    line->origin == GIT_DIFF_LINE_DEL_EOFNL;
	if (mark)
		return buffer_add_text(out, "\n\\ No newline at end of file\n");
	int r = buffer_add_byte(out, line->origin);
	return r < 0 ? r : buffer_add(out, line->content, line->content_len);
}

static int put_hunk(struct buffer *out, git_patch *patch, size_t index)
{
	const git_diff_hunk *hunk;
	size_t lines;
	int r = git_patch_get_hunk(&hunk, &lines, patch, index);
	if (r < 0)
		return -EIO;
	r = buffer_add_text(out, "@@ ");
	if (r == 0)
		r = put_range(out, '-', hunk->old_start, hunk->old_lines);
	if (r == 0)
		r = buffer_add_byte(out, ' ');
	if (r == 0)
		r = put_range(out, '+', hunk->new_start, hunk->new_lines);
	if (r == 0)
		r = buffer_add_text(out, " @@\n");
	for (size_t i = 0; i < lines && r == 0; i++) {
		const git_diff_line *line;
		if (git_patch_get_line_in_hunk(&line, patch, index, i) < 0)
			return -EIO;
		r = put_line(out, line);
	}
	return r;
}

static int put_section(struct render *render, const char *path, const struct side *old, const struct side *new,
		       struct buffer *out)
{
	git_diff_options options;
	git_patch *patch = NULL;

	git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
	options.flags = GIT_DIFF_FORCE_TEXT;
	int r = git_patch_from_buffers(&patch, old->bytes, old->length, NULL, new->bytes, new->length, NULL, &options);
	if (r < 0)
		return git_failed(render->error, r, "comparing two contents");
	r = old->entry ? buffer_printf(out, "--- a/%s\n", path) : buffer_add_text(out, "--- /dev/null\n");
	if (r == 0)
		r = new->entry ? buffer_printf(out, "+++ b/%s\n", path) : buffer_add_text(out, "+++ /dev/null\n");
	size_t hunks = git_patch_num_hunks(patch);
	/* A file without a line comes or goes: a hunk of nothing says so. */
	if (r == 0 && hunks == 0)
		r = buffer_add_text(out, "@@ -0,0 +0,0 @@\n");
	for (size_t i = 0; i < hunks && r == 0; i++)
		r = put_hunk(out, patch, i);
	git_patch_free(patch);
	return r;
}

static bool side_can_be_said(const struct tree_entry *entry)
{
	return !entry || (entry->type == TREE_FILE && entry->size <= WORKSPACE_RESULT_BYTES);
}

/* Fills in the change's section, or marks it unsaid. */
static int render_change(struct render *render, struct change *change)
{
	const struct tree_entry *old = change->old, *new = change->new;
	__attribute__((cleanup(side_release))) struct side a = { 0 }, b = { 0 };
	_cleanup_buffer_ struct buffer section = BUFFER_INIT;

	change->unsaid = true;
	if (!path_can_be_said(change_path(change)) || !side_can_be_said(old) || !side_can_be_said(new))
		return 0;
	bool same_mode = !new || new->mode == (old ? old->mode : 0644);
	if (old && new && strcmp(old->sha256, new->sha256) == 0) {
		change->unsaid = !same_mode;
		return 0;
	}
	int r = open_side(render, old, &a);
	if (r == 0)
		r = open_side(render, new, &b);
	if (r < 0)
		return r;
	if (!content_can_be_said(&a) || !content_can_be_said(&b) || has_too_many_lines(&a, &b))
		return 0;
	r = put_section(render, change_path(change), &a, &b, &section);
	if (r < 0 || render->length + section.length > WORKSPACE_RESULT_BYTES)
		return r;
	render->length += section.length;
	change->length = section.length;
	change->section = buffer_take(&section);
	change->unsaid = !same_mode;
	return 0;
}

static const struct tree_entry *next_content(const struct tree *tree, size_t *at)
{
	while (*at < tree->count && tree->entries[*at].type == TREE_DIRECTORY)
		++*at;
	return *at < tree->count ? &tree->entries[*at] : NULL;
}

static int add_change(struct render *render, const struct tree_entry *old, const struct tree_entry *new)
{
	if (render->count == render->allocated) {
		size_t allocated = render->allocated ? render->allocated * 2 : 64;
		struct change *changes = reallocarray(render->changes, allocated, sizeof *changes);
		if (!changes)
			return -ENOMEM;
		render->changes = changes;
		render->allocated = allocated;
	}
	render->changes[render->count++] = (struct change){ .old = old, .new = new };
	return 0;
}

/* Walks both trees side by side. */
static int find_changes(struct render *render, const struct tree *before, const struct tree *after)
{
	size_t i = 0, k = 0;

	for (;;) {
		const struct tree_entry *old = next_content(before, &i), *new = next_content(after, &k);
		if (!old && !new)
			return 0;
		int order = !old ? 1 : !new ? -1 : strcmp(old->path, new->path);
		i += order <= 0;
		k += order >= 0;
		if (order == 0 && tree_entry_equal(old, new))
			continue;
		int r = add_change(render, order <= 0 ? old : NULL, order >= 0 ? new : NULL);
		if (r < 0)
			return r;
	}
}

/* Does something that the patch cannot take away stand where this new file needs a directory, or below it? */
static bool is_blocked(const struct tree *leftover, const char *path)
{
	if (leftover->count == 0)
		return false;
	if (tree_has_below(leftover, path))
		return true;
	char *above = strdup(path);
	bool blocked = !above;
	for (char *slash; !blocked && (slash = strrchr(above, '/'));) {
		*slash = '\0';
		blocked = tree_find(leftover, above) != NULL;
	}
	free(above);
	return blocked;
}

/* What goes comes first: a new file can be said only where nothing is left in its way. */
static int render_changes(struct render *render)
{
	_cleanup_tree_ struct tree leftover = { 0 };
	int r = 0;

	for (size_t i = 0; i < render->count && r == 0; i++) {
		struct change *change = &render->changes[i];
		if (!change->old)
			continue;
		r = render_change(render, change);
		if (r == 0 && !change->new && change->unsaid)
			r = tree_add(&leftover, change->old->path, TREE_DIRECTORY, 0, 0, NULL, NULL);
	}
	for (size_t i = 0; i < render->count && r == 0; i++) {
		struct change *change = &render->changes[i];
		if (change->old)
			continue;
		if (is_blocked(&leftover, change->new->path))
			change->unsaid = true;
		else
			r = render_change(render, change);
	}
	return r;
}

/* Does `got` hold the contents of `after`, but for the paths that were left unsaid? */
static bool same_contents(const struct render *render, const struct tree *got, const struct tree *after)
{
	size_t i = 0, k = 0, c = 0;

	for (;;) {
		const struct tree_entry *one = next_content(got, &i), *other = next_content(after, &k);
		if (!one && !other)
			return true;
		int order = !one ? 1 : !other ? -1 : strcmp(one->path, other->path);
		i += order <= 0;
		k += order >= 0;
		if (order == 0 && tree_entry_equal(one, other))
			continue;
		const char *path = order <= 0 ? one->path : other->path;
		while (c < render->count && strcmp(change_path(&render->changes[c]), path) < 0)
			c++;
		if (c == render->count || strcmp(change_path(&render->changes[c]), path) != 0 || !render->changes[c].unsaid)
			return false;
	}
}

static int verify(struct render *render, const struct tree *before, const struct tree *after, const char *diff,
		  size_t length)
{
	_cleanup_tree_ struct tree got = { 0 };
	int r = length == 0 ? tree_copy(before, &got) :
			      patch_apply(render->store, before, diff, length, &got, render->error);
	if (r == -EBADMSG) {
		pr_error_prefix(render->error, "a patch that we rendered: ");
		return r;
	}
	if (r == 0 && !same_contents(render, &got, after))
		return pr_error_set(render->error, EPROTO, "a patch that we rendered makes another tree than the one it is of");
	return r;
}

static int put_changes(const struct render *render, struct buffer *diff, struct buffer *unsaid, bool *partial)
{
	int r = 0;
	for (size_t i = 0; i < render->count && r == 0; i++) {
		const struct change *change = &render->changes[i];
		if (change->section)
			r = buffer_add(diff, change->section, change->length);
		if (r == 0 && change->unsaid) {
			*partial = true;
			r = buffer_add(unsaid, change_path(change), strlen(change_path(change)) + 1);
		}
	}
	return r;
}

int patch_render(struct store *store, const struct tree *before, const struct tree *after, struct buffer *diff,
		 bool *ret_partial, struct buffer *unsaid, struct pr_error *error)
{
	struct pr_error here = { 0 };
	struct render render = { .store = store, .error = &here };
	size_t diff_start = diff->length, unsaid_start = unsaid->length;
	bool partial = false;

	int r = git_start(&here);
	if (r == 0)
		r = find_changes(&render, before, after);
	if (r == 0)
		r = render_changes(&render);
	if (r == 0)
		r = put_changes(&render, diff, unsaid, &partial);
	if (r == 0)
		r = verify(&render, before, after, diff->data ? diff->data + diff_start : "", diff->length - diff_start);
	for (size_t i = 0; i < render.count; i++)
		free(render.changes[i].section);
	free(render.changes);
	if (r < 0) {
		if (here.code == 0)
			pr_error_errno(&here, -r, "rendering a patch");
		if (error)
			*error = here;
		diff->length = diff_start;
		unsaid->length = unsaid_start;
		return r;
	}
	*ret_partial = partial;
	return 0;
}
