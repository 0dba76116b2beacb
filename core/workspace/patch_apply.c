/*
 * The strict applier (patch.h; formats, Signals: patch). A patch is a candidate's text: it applies exactly or not at
 * all, and nothing in it is guessed. Works on a tree and a store; opens no file.
 *
 *     patch    = ignored* section+
 *     section  = git-header* "--- " side "+++ " side hunk+        (git-header: from the second section on)
 *     side     = "/dev/null" | "a/" path (old) | "b/" path (new)
 *     hunk     = "@@ -N[,N] +N[,N] @@" [" " heading] line*        (its counts say where it ends)
 *     line     = (" " | "-" | "+") text, and "\ No newline..." after the last line of a side
 */
#include "core/workspace/patch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/record/path.h"
#include "core/workspace/git.h"

#define _cleanup_tree_ _cleanup_(tree_release)

struct apply {
	struct store *store;
	const struct tree *before;
	const char *at, *end;	/* what is left of the diff */
	size_t number;		/* of the line at `at`, from 1 */
	struct tree touched;	/* all paths with a section; only the path counts */
	struct tree written;	/* what the sections made */
	struct pr_error *error;
};

struct line {
	const char *text;	/* without its newline */
	size_t length;
	bool newline;		/* it had one */
};

/* The line at `at`; false at the end. */
static bool line_at(const char *at, const char *end, struct line *ret_line)
{
	if (at == end)
		return false;
	const char *newline = memchr(at, '\n', (size_t)(end - at));
	*ret_line = (struct line){
		.text = at, .length = (size_t)((newline ? newline : end) - at), .newline = newline != NULL,
	};
	return true;
}

static bool peek(const struct apply *apply, struct line *ret_line)
{
	return line_at(apply->at, apply->end, ret_line);
}

static void next(struct apply *apply, const struct line *line)
{
	apply->at += line->length + line->newline;
	apply->number++;
}

static bool starts(const struct line *line, const char *prefix)
{
	size_t length = strlen(prefix);
	return line->length >= length && memcmp(line->text, prefix, length) == 0;
}

static int refuse_at(struct apply *apply, size_t number, const char *why)
{
	return pr_error_set(apply->error, EBADMSG, "the patch does not apply: line %zu: %s", number, why);
}

/* At the line that comes next. */
static int refuse(struct apply *apply, const char *why)
{
	return refuse_at(apply, apply->number, why);
}

/* Header lines that git writes before a section; those of renames and copies are none that we take. */
static const struct { const char *prefix; bool refused; } git_headers[] = {
	{ "diff --git ", false }, { "index ", false }, { "old mode ", false }, { "new mode ", false },
	{ "new file mode ", false }, { "deleted file mode ", false }, { "similarity index ", false },
	{ "dissimilarity index ", false }, { "rename from ", true }, { "rename to ", true }, { "copy from ", true },
	{ "copy to ", true },
};

static bool is_git_header(const struct line *line, bool *ret_refused)
{
	for (size_t i = 0; i < ELEMENTS(git_headers); i++) {
		if (!starts(line, git_headers[i].prefix))
			continue;
		*ret_refused = git_headers[i].refused;
		return true;
	}
	return false;
}

/* Skips what may stand before a section. 1: a section is next; 0: the patch is at its end. */
static int find_section(struct apply *apply, bool first)
{
	struct line line;
	bool in_header = false, refused = false;
	size_t began = apply->number;

	while (peek(apply, &line) && !starts(&line, "--- ")) {
		in_header = (in_header || !first || starts(&line, "diff --git ")) && is_git_header(&line, &refused);
		if (!in_header && !first)
			return refuse(apply, "neither a hunk nor the header of a file");
		if (in_header && refused)
			return refuse(apply, "renames and copies are not taken");
		next(apply, &line);
	}
	if (apply->at != apply->end)
		return 1;
	if (first)
		return refuse(apply, "there is no file section in it");
	return began == apply->number ? 0 : refuse(apply, "a git header without a file section");
}

/* One side of a header: NULL in `ret_path` for /dev/null, else a heap path that keeps the path rule. */
static int read_side(struct apply *apply, const char *marker, const char *prefix, char **ret_path)
{
	struct line line;
	if (!peek(apply, &line) || !starts(&line, marker))
		return refuse(apply, "a `--- ` line without a `+++ ` line after it");
	const char *rest = line.text + strlen(marker);
	size_t length = line.length - strlen(marker);
	if (length == strlen("/dev/null") && memcmp(rest, "/dev/null", length) == 0) {
		*ret_path = NULL;
		next(apply, &line);
		return 0;
	}
	if (memchr(rest, '\t', length) || (length > 0 && rest[length - 1] == ' '))
		return refuse(apply, "there is something after the path");
	if (length < 2 || memcmp(rest, prefix, 2) != 0)
		return refuse(apply, "a path without its `a/` or `b/`");
	_cleanup_free_ char *path = malloc(length);
	if (!path)
		return -ENOMEM;
	enum path_fault fault = path_normalise(rest + 2, length - 2, path, length - 1);
	if (fault != PATH_FAULT_NONE)
		return pr_error_set(apply->error, EBADMSG, "the patch does not apply: line %zu: the path %s", apply->number,
				    path_fault_words(fault));
	if (git_path_holds_repository(path))
		return refuse(apply, "the path leads into a repository's own files");
	*ret_path = take_ptr(path);
	next(apply, &line);
	return 0;
}

/* One file while its hunks are applied. */
struct section {
	const char *at, *end;	/* what is left of the old content */
	uint64_t taken;		/* lines of it that are behind us */
	struct buffer out;
	bool closed;		/* `out` ends without a newline: nothing may follow */
};

static int emit(struct apply *apply, struct section *section, const char *text, size_t length, bool newline)
{
	if (section->closed)
		return refuse(apply, "a line without its newline would not be the last");
	section->closed = !newline;
	int r = buffer_add(&section->out, text, length);
	return r == 0 && newline ? buffer_add_byte(&section->out, '\n') : r;
}

/* Takes the next old line; false at the end. */
static bool take_old(struct section *section, struct line *ret_line)
{
	if (!line_at(section->at, section->end, ret_line))
		return false;
	section->at += ret_line->length + ret_line->newline;
	section->taken++;
	return true;
}

struct hunk {
	uint64_t old_start, old_count, new_count;
};

/* Digits up to 10^15; more is no line of a file of ours. */
static bool read_number(const char **at, const char *end, uint64_t *ret_number)
{
	const char *start = *at;
	uint64_t number = 0;

	for (; *at < end && **at >= '0' && **at <= '9'; ++*at) {
		if (*at - start >= 15)
			return false;
		number = number * 10 + (uint64_t)(**at - '0');
	}
	*ret_number = number;
	return *at > start;
}

static bool read_range(const char **at, const char *end, char sign, uint64_t *ret_start, uint64_t *ret_count)
{
	if (*at == end || *(*at)++ != sign || !read_number(at, end, ret_start))
		return false;
	*ret_count = 1;
	if (*at == end || **at != ',')
		return true;
	++*at;
	return read_number(at, end, ret_count);
}

static bool skip_text(const char **at, const char *end, const char *text)
{
	size_t length = strlen(text);
	if ((size_t)(end - *at) < length || memcmp(*at, text, length) != 0)
		return false;
	*at += length;
	return true;
}

static bool read_hunk_header(const struct line *line, struct hunk *ret_hunk)
{
	const char *at = line->text, *end = line->text + line->length;
	uint64_t new_start;	/* not checked: it follows from the rest */

	return skip_text(&at, end, "@@ ") && read_range(&at, end, '-', &ret_hunk->old_start, &ret_hunk->old_count) &&
	       skip_text(&at, end, " ") && read_range(&at, end, '+', &new_start, &ret_hunk->new_count) &&
	       skip_text(&at, end, " @@") && (at == end || *at == ' ');
}

/* Copies old lines up to where the hunk starts. */
static int go_to_hunk(struct apply *apply, struct section *section, const struct hunk *hunk)
{
	if (hunk->old_count > 0 && hunk->old_start == 0)
		return refuse(apply, "a hunk that starts before the first line");
	uint64_t start = hunk->old_count > 0 ? hunk->old_start - 1 : hunk->old_start;
	if (start < section->taken)
		return refuse(apply, "a hunk out of order");
	while (section->taken < start) {
		struct line old;
		if (!take_old(section, &old))
			return refuse(apply, "a hunk that starts behind the last line");
		int r = emit(apply, section, old.text, old.length, old.newline);
		if (r < 0)
			return r;
	}
	return 0;
}

/* One line of a hunk, with the mark that may follow it; counts down what the hunk still owes. */
static int apply_line(struct apply *apply, struct section *section, uint64_t *old_left, uint64_t *new_left)
{
	struct line line, mark, old;
	if (!peek(apply, &line))
		return refuse(apply, "the patch ends within a hunk");
	bool is_old = line.length > 0 && (line.text[0] == ' ' || line.text[0] == '-');
	bool is_new = line.length > 0 && (line.text[0] == ' ' || line.text[0] == '+');
	if (!is_old && !is_new)
		return refuse(apply, "neither context, removal nor addition, and the hunk's counts are not met");
	if ((is_old && *old_left == 0) || (is_new && *new_left == 0))
		return refuse(apply, "more lines than the hunk's counts say");
	size_t number = apply->number;
	next(apply, &line);
	*old_left -= is_old;
	*new_left -= is_new;

	bool newline = true;
	if (peek(apply, &mark) && starts(&mark, "\\ ")) {
		if ((is_old && *old_left > 0) || (is_new && *new_left > 0))
			return refuse(apply, "a mark of a missing newline that is not after the last line of its side");
		newline = false;
		next(apply, &mark);
	}
	if (is_old && (!take_old(section, &old) || old.length != line.length - 1 ||
		       memcmp(old.text, line.text + 1, old.length) != 0 || old.newline != newline))
		return refuse_at(apply, number, "it does not match the file");
	return is_new ? emit(apply, section, line.text + 1, line.length - 1, newline) : 0;
}

static int apply_hunk(struct apply *apply, struct section *section)
{
	struct line line;
	struct hunk hunk;

	peek(apply, &line);
	if (!read_hunk_header(&line, &hunk))
		return refuse(apply, "not the header of a hunk");
	int r = go_to_hunk(apply, section, &hunk);
	if (r < 0)
		return r;
	next(apply, &line);
	while (r == 0 && (hunk.old_count > 0 || hunk.new_count > 0))
		r = apply_line(apply, section, &hunk.old_count, &hunk.new_count);
	return r;
}

static int apply_hunks(struct apply *apply, struct section *section)
{
	struct line line;
	int r = 0;

	if (!peek(apply, &line) || !starts(&line, "@@"))
		return refuse(apply, "a file section without a hunk");
	while (r == 0 && peek(apply, &line) && starts(&line, "@@"))
		r = apply_hunk(apply, section);
	while (r == 0 && take_old(section, &line))
		r = emit(apply, section, line.text, line.length, line.newline);
	return r;
}

static int write_result(struct apply *apply, const char *path, uint32_t mode, const struct buffer *out)
{
	const char *bytes = out->length > 0 ? out->data : "";
	char id[STORE_ID], sha256[DIGEST_HEX];

	digest_bytes(bytes, out->length, sha256);
	int r = store_write(apply->store, bytes, out->length, id, apply->error);
	return r < 0 ? r : tree_add(&apply->written, path, TREE_FILE, mode, out->length, id, sha256);
}

static int apply_section(struct apply *apply)
{
	_cleanup_free_ char *old_path = NULL, *new_path = NULL, *content = NULL;
	size_t length = 0, header = apply->number;
	int r = read_side(apply, "--- ", "a/", &old_path);
	if (r == 0)
		r = read_side(apply, "+++ ", "b/", &new_path);
	if (r < 0)
		return r;
	if (!old_path && !new_path)
		return refuse_at(apply, header, "both sides are /dev/null");
	if (old_path && new_path && strcmp(old_path, new_path) != 0)
		return refuse_at(apply, header, "renames and copies are not taken");
	const char *path = old_path ? old_path : new_path;
	const struct tree_entry *before = tree_find(apply->before, path);
	if (!old_path && before && before->type != TREE_DIRECTORY)
		return refuse_at(apply, header, "the file that it creates is there");
	if (old_path && (!before || before->type != TREE_FILE))
		return refuse_at(apply, header, "the file that it changes is not there");
	r = tree_add(&apply->touched, path, TREE_DIRECTORY, 0, 0, NULL, NULL);
	if (r == 0 && old_path)
		r = store_read(apply->store, before->blob, &content, &length, apply->error);
	if (r < 0)
		return r;

	struct section section = { .at = content ? content : "", .out = BUFFER_INIT };
	section.end = section.at + length;
	r = apply_hunks(apply, &section);
	if (r == 0 && new_path)
		r = write_result(apply, path, old_path ? before->mode : 0644, &section.out);
	else if (r == 0 && section.out.length > 0)
		r = refuse_at(apply, header, "the file that it deletes has more lines");
	buffer_release(&section.out);
	return r;
}

/* What no section names stays; the result must still be a tree. */
static int assemble(struct apply *apply, struct tree *tree)
{
	int r = tree_sort(&apply->touched, NULL);
	if (r < 0)
		return refuse(apply, "two sections for one file");
	tree_sort(&apply->written, NULL);
	for (size_t i = 0; i < apply->before->count; i++) {
		const struct tree_entry *entry = &apply->before->entries[i];
		if (tree_find(&apply->touched, entry->path))
			continue;
		/* A directory that nothing stands in any more is in no file's way: a patch has no words for it. */
		if (entry->type == TREE_DIRECTORY && tree_is_below_file(&apply->written, entry->path))
			continue;
		r = tree_add(tree, entry->path, entry->type, entry->mode, entry->size, entry->blob, entry->sha256);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < apply->written.count; i++) {
		const struct tree_entry *entry = &apply->written.entries[i];
		r = tree_add(tree, entry->path, entry->type, entry->mode, entry->size, entry->blob, entry->sha256);
		if (r < 0)
			return r;
	}
	r = tree_complete(tree, apply->before, NULL);
	return r == -ENOTDIR ? refuse(apply, "a file would stand where another needs a directory") : r;
}

int patch_apply(struct store *store, const struct tree *before, const char *diff, size_t length,
		struct tree *ret_tree, struct pr_error *error)
{
	struct pr_error here = { 0 };
	_cleanup_tree_ struct tree tree = { 0 };
	struct apply apply = {
		.store = store, .before = before, .at = diff, .end = diff + length, .number = 1, .error = &here,
	};
	int r = find_section(&apply, true);

	while (r > 0) {
		r = apply_section(&apply);
		if (r == 0)
			r = find_section(&apply, false);
	}
	if (r == 0)
		r = assemble(&apply, &tree);
	tree_release(&apply.touched);
	tree_release(&apply.written);
	if (r < 0) {
		if (here.code == 0)
			pr_error_errno(&here, -r, "applying a patch");
		if (error)
			*error = here;
		return r;
	}
	*ret_tree = tree;
	tree_init(&tree);
	return 0;
}
