/* The strict applier against the vectors, and renderings of random trees against the applier. */
#include "tests/unit/test_workspace.h"

#include <json-c/json.h>

#include "core/workspace/patch.h"

#define VECTORS PROCTOR_SOURCE "/tests/vectors/vectors.json"

static void tree_of_files(struct place *place, struct json_object *files, struct tree *tree)
{
	struct pr_error error;
	json_object_object_foreach(files, path, text)
		add_content(place, tree, path, TREE_FILE, 0644, json_object_get_string(text),
			    (size_t)json_object_get_string_len(text));
	assert_fine(tree_complete(tree, NULL, &error));
}

/* Files alone: a directory that lost its last file may stay. */
static bool same_files(const struct tree *one, const struct tree *other)
{
	size_t i = 0, k = 0;
	for (;;) {
		while (i < one->count && one->entries[i].type == TREE_DIRECTORY)
			i++;
		while (k < other->count && other->entries[k].type == TREE_DIRECTORY)
			k++;
		if (i == one->count || k == other->count)
			return i == one->count && k == other->count;
		if (!tree_entry_equal(&one->entries[i++], &other->entries[k++]))
			return false;
	}
}

static void test_vectors(void **state)
{
	struct place *place = *state;
	struct json_object *vectors = json_object_from_file(VECTORS), *family;
	assert_non_null(vectors);
	assert_true(json_object_object_get_ex(vectors, "patch", &family));
	size_t count = json_object_array_length(family), wrong = 0;
	assert_true(count >= 40);
	for (size_t i = 0; i < count; i++) {
		struct json_object *vector = json_object_array_get_idx(family, i), *files, *result = NULL;
		struct json_object *diff = json_object_object_get(vector, "diff");
		const char *name = json_object_get_string(json_object_object_get(vector, "name"));
		struct pr_error error = { 0 };
		_cleanup_tree_ struct tree before = { 0 }, got = { 0 }, want = { 0 };

		tree_of_files(place, json_object_object_get(vector, "files"), &before);
		json_object_object_get_ex(vector, "result", &result);
		int r = patch_apply(place->store, &before, json_object_get_string(diff),
				    (size_t)json_object_get_string_len(diff), &got, &error);
		if (!json_object_object_get_ex(result, "files", &files)) {
			if (r != -EBADMSG) {
				print_message("%s: not refused (%d)\n", name, r);
				wrong++;
			}
			continue;
		}
		tree_of_files(place, files, &want);
		if (r < 0 || !same_files(&got, &want)) {
			print_message("%s: %d, %s\n", name, r, error.message);
			wrong++;
		}
	}
	json_object_put(vectors);
	assert_int_equal(wrong, 0);
}

static int apply(struct place *place, const struct tree *before, const char *diff, struct tree *tree, struct pr_error *error)
{
	*error = (struct pr_error){ 0 };
	return patch_apply(place->store, before, diff, strlen(diff), tree, error);
}

/* Beyond the vectors. */
static void test_refused(void **state)
{
	static const struct { const char *why, *diff; } patches[] = {
		{ "a hunk that is cut", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-1\n+x\n" },
		{ "no hunk", "--- a/f\n+++ b/f\n" },
		{ "no second header", "--- a/f\n@@ -1 +1 @@\n-1\n+x\n" },
		{ "a blank line after a hunk", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+x\n\n" },
		{ "an old range that starts at 0", "--- a/f\n+++ b/f\n@@ -0,1 +1 @@\n-1\n+x\n" },
		{ "an insertion behind the end", "--- a/f\n+++ b/f\n@@ -4,0 +5 @@\n+x\n" },
		{ "a number without an end", "--- a/f\n+++ b/f\n@@ -1,99999999999999999999999999 +1 @@\n-1\n" },
		{ "a line behind one without a newline", "--- a/open\n+++ b/open\n@@ -1,0 +2 @@\n+x\n" },
		{ "context with a newline that is not there", "--- a/open\n+++ b/open\n@@ -1 +1,2 @@\n o\n+x\n" },
		{ "a new line without a newline in the middle", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+x\n\\ No newline at end of file\n" },
		{ "a mark without a line", "--- a/f\n+++ b/f\n@@ -1,0 +1,0 @@\n\\ No newline at end of file\n" },
		{ "a mark twice", "--- a/open\n+++ b/open\n@@ -1 +0,0 @@\n-o\n\\ No newline\n\\ No newline\n" },
		{ "a file over a directory", "--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+x\n" },
		{ "a file below a file", "--- /dev/null\n+++ b/f/x\n@@ -0,0 +1 @@\n+x\n" },
		{ "a file below a link", "--- /dev/null\n+++ b/l/x\n@@ -0,0 +1 @@\n+x\n" },
		{ "a link", "--- a/l\n+++ b/l\n@@ -1 +1 @@\n-f\n\\ No newline at end of file\n+g\n" },
		{ "a repository's own file", "--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+x\n" },
		{ "the same in another case", "--- /dev/null\n+++ b/d/.GIT/x\n@@ -0,0 +1 @@\n+x\n" },
		{ "two spellings of one path", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+x\n--- a/./f\n+++ b/./f\n@@ -2 +2 @@\n-2\n+y\n" },
		{ "a rename beside a change", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+x\ndiff --git a/d/x b/d/y\nrename from d/x\nrename to d/y\n--- a/d/x\n+++ b/d/x\n@@ -1 +1 @@\n-x\n+y\n" },
		{ "a rename before a change", "diff --git a/d/x b/d/y\nsimilarity index 90%\nrename from d/x\nrename to d/y\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+x\n" },
		{ "a header at the end", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+x\ndiff --git a/d/x b/d/x\nold mode 100644\nnew mode 100755\n" },
		{ "a binary file after a hunk", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+x\ndiff --git a/d/x b/d/x\nBinary files a/d/x and b/d/x differ\n" },
		{ "an addition to what it deletes", "--- a/f\n+++ /dev/null\n@@ -1,3 +1 @@\n-1\n-2\n-3\n+x\n" },
		{ "a name with a space at its end", "--- /dev/null\n+++ b/x \n@@ -0,0 +1 @@\n+x\n" },
		{ "a quoted name", "--- \"a/f\"\n+++ \"b/f\"\n@@ -1 +1 @@\n-1\n+x\n" },
		{ "a hunk header run together", "--- a/f\n+++ b/f\n@@ -1 +1 @@x\n-1\n+x\n" },
	};
	struct place *place = *state;
	struct pr_error error;
	_cleanup_tree_ struct tree before = { 0 };

	add_file(place, &before, "f", 0755, "1\n2\n3\n");
	add_file(place, &before, "open", 0644, "o");
	add_file(place, &before, "d/x", 0644, "x\n");
	add_link(place, &before, "l", "f");
	assert_fine(tree_complete(&before, NULL, &error));
	for (size_t i = 0; i < ELEMENTS(patches); i++) {
		_cleanup_tree_ struct tree tree = { 0 };
		if (apply(place, &before, patches[i].diff, &tree, &error) != -EBADMSG)
			fail_msg("%s: not refused", patches[i].why);
		assert_non_null(strstr(error.message, "line "));
		for (const char *at = error.message; *at; at++)
			assert_true(*at >= ' ' && *at < 127);
	}
}

static void test_applied(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	_cleanup_tree_ struct tree before = { 0 }, tree = { 0 }, want = { 0 };
	static const char diff[] =
		"From somebody\n\ndiff --git a/run b/run\nindex 1..2 100755\n--- a/run\n+++ b/run\n@@ -1,3 +1,4 @@ heading\n 1\n-2\n+two\n+three\n 3\n"
		"@@ -5 +6 @@\n-5\n+five\n"
		"diff --git a/d/only b/d/only\ndeleted file mode 100644\nindex 1..0\n--- a/d/only\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
		"--- /dev/null\n+++ b/d/only/now/a/directory\n@@ -0,0 +1 @@\n+new\n\\ No newline at end of file\n"
		"--- /dev/null\n+++ b/nothing\n@@ -0,0 +0,0 @@\n"
		"--- a/gone\n+++ /dev/null\n@@ -0,0 +0,0 @@\n";

	add_file(place, &before, "run", 0755, "1\n2\n3\n4\n5\n6\n");
	add_file(place, &before, "d/only", 0644, "x\n");
	add_file(place, &before, "gone", 0644, "");
	add_link(place, &before, "l", "run");
	assert_fine(tree_complete(&before, NULL, &error));
	assert_fine(apply(place, &before, diff, &tree, &error));
	add_file(place, &want, "run", 0755, "1\ntwo\nthree\n3\n4\nfive\n6\n");
	add_file(place, &want, "d/only/now/a/directory", 0644, "new");
	add_file(place, &want, "nothing", 0644, "");
	add_link(place, &want, "l", "run");
	assert_fine(tree_complete(&want, NULL, &error));
	assert_trees_equal(&tree, &want);
}

static void render(struct place *place, const struct tree *before, const struct tree *after, struct buffer *diff,
		   struct buffer *unsaid, bool *partial)
{
	struct pr_error error;
	assert_fine(patch_render(place->store, before, after, diff, partial, unsaid, &error));
}

static bool lists(const struct buffer *unsaid, const char *path)
{
	for (size_t at = 0; at < unsaid->length; at += strlen(unsaid->data + at) + 1)
		if (strcmp(unsaid->data + at, path) == 0)
			return true;
	return false;
}

static void test_what_can_be_said(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	_cleanup_tree_ struct tree before = { 0 }, after = { 0 }, got = { 0 };
	_cleanup_buffer_ struct buffer diff = BUFFER_INIT, unsaid = BUFFER_INIT;
	bool partial = true;

	add_file(place, &before, "same", 0644, "s");
	add_file(place, &before, "edit", 0755, "1\n2\n3\n");
	add_file(place, &before, "to/file", 0644, "x");
	add_file(place, &before, "to/deep/er", 0644, "y");
	add_directory(&before, "to/empty", 0755);
	add_file(place, &before, "was-empty", 0644, "");
	add_file(place, &after, "same", 0644, "s");
	add_file(place, &after, "edit", 0755, "1\n2\n3");
	add_file(place, &after, "to", 0644, "a directory became a file");
	add_file(place, &after, "name with spaces", 0644, "libgit2 1.5 cannot read its own text of this\n");
	add_file(place, &after, "\xc3\xa9 \"quoted\"", 0644, "or this\r\nwith CR\r\n");
	add_file(place, &after, "now-empty", 0644, "");
	add_file(place, &after, "-- a", 0644, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n");
	assert_fine(tree_complete(&before, NULL, &error));
	assert_fine(tree_complete(&after, NULL, &error));
	render(place, &before, &after, &diff, &unsaid, &partial);
	assert_false(partial);
	assert_int_equal(unsaid.length, 0);
	assert_fine(patch_apply(place->store, &before, diff.data, diff.length, &got, &error));
	assert_true(same_files(&got, &after));

	buffer_clear(&diff);
	render(place, &after, &after, &diff, &unsaid, &partial);
	assert_int_equal(diff.length, 0);
	assert_false(partial);
}

static void test_what_cannot_be_said(void **state)
{
	static const char *const unsayable[] = {
		"binary", "latin1", "mode", "mode-and-text", "new-mode", "link", "gone-link", "back\\slash", "tab\there", "nl\nhere",
		"sub/.git/config", "\xff", "c:drive", "end ", "blocked", "was/bin",
	};
	struct place *place = *state;
	struct pr_error error;
	_cleanup_tree_ struct tree before = { 0 }, after = { 0 };
	_cleanup_buffer_ struct buffer diff = BUFFER_INIT, unsaid = BUFFER_INIT;
	bool partial = false;
	size_t count = 0;

	add_content(place, &before, "binary", TREE_FILE, 0644, "a\0b", 3);
	add_file(place, &before, "mode", 0644, "m");
	add_file(place, &before, "mode-and-text", 0644, "m");
	add_link(place, &before, "gone-link", "x");
	add_file(place, &before, "text", 0644, "1\n");
	add_content(place, &before, "was/bin", TREE_FILE, 0644, "\0", 1);
	add_content(place, &before, "blocked/bin", TREE_FILE, 0644, "\0", 1);

	add_content(place, &after, "binary", TREE_FILE, 0644, "a\0c", 3);
	add_file(place, &after, "latin1", 0644, "\xe9\n");
	add_file(place, &after, "mode", 0755, "m");
	add_file(place, &after, "mode-and-text", 0755, "n");
	add_file(place, &after, "new-mode", 0755, "n");
	add_link(place, &after, "link", "text");
	for (size_t i = 7; i < 14; i++)
		add_file(place, &after, unsayable[i], 0644, "x\n");
	add_file(place, &after, "text", 0644, "2\n");
	add_file(place, &after, "blocked", 0644, "a binary file cannot be said to go, so this cannot come\n");
	assert_fine(tree_complete(&before, NULL, &error));
	assert_fine(tree_complete(&after, NULL, &error));
	render(place, &before, &after, &diff, &unsaid, &partial);
	assert_true(partial);
	for (size_t i = 0; i < ELEMENTS(unsayable); i++)
		if (!lists(&unsaid, unsayable[i]))
			fail_msg("%s is not listed", unsayable[i]);
	assert_true(lists(&unsaid, "blocked/bin"));
	for (size_t at = 0; at < unsaid.length; at += strlen(unsaid.data + at) + 1)
		count++;
	assert_int_equal(count, ELEMENTS(unsayable) + 1);
	/* what can be said is there */
	assert_non_null(strstr(diff.data, "--- a/text\n+++ b/text\n@@ -1 +1 @@\n-1\n+2\n"));
	assert_non_null(strstr(diff.data, "+++ b/mode-and-text\n"));
	assert_non_null(strstr(diff.data, "+++ b/new-mode\n"));
	assert_null(strstr(diff.data, "+++ b/mode\n"));
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* `plain`: nothing that the strict form cannot say. */
static void random_text(uint64_t *seed, bool plain, struct buffer *text)
{
	static const char *const lines[] = { "", "a", "b", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "\\ No newline", " ", "-", "+", "\r", "c\r" };
	size_t count = next_random(seed) % 12;
	buffer_clear(text);
	buffer_add(text, "", 0);
	for (size_t i = 0; i < count; i++) {
		buffer_add_text(text, lines[next_random(seed) % ELEMENTS(lines)]);
		if (i + 1 < count || next_random(seed) % 3)
			buffer_add_byte(text, '\n');
	}
	if (!plain && next_random(seed) % 12 == 0)
		buffer_add(text, "\0", 1);
}

static void random_tree(struct place *place, uint64_t *seed, bool plain, struct tree *tree)
{
	static const char *const names[] = { "a", "b c", "d/e", "d/f", "g/h/i", "x\ty", "z " };
	struct pr_error error;
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		if (next_random(seed) % 3 == 0)
			continue;
		if (plain && i >= 5)
			break;
		random_text(seed, plain, &text);
		uint32_t mode = plain || next_random(seed) % 6 ? 0644 : 0755;
		/* now and then a file where others have a directory */
		if (i >= 2 && i <= 3 && next_random(seed) % 5 == 0) {
			if (i == 2) {
				add_content(place, tree, "d", TREE_FILE, mode, text.data, text.length);
				i++;
			}
			continue;
		}
		if (!plain && next_random(seed) % 15 == 0)
			add_link(place, tree, names[i], "a");
		else
			add_content(place, tree, names[i], TREE_FILE, mode, text.data, text.length);
	}
	assert_fine(tree_complete(tree, NULL, &error));
}

static void test_random_trees(void **state)
{
	struct place *place = *state;
	uint64_t seed = 88172645463325252u;
	int whole = 0;

	for (int round = 0; round < 1000; round++) {
		struct pr_error error;
		_cleanup_tree_ struct tree before = { 0 }, after = { 0 }, got = { 0 };
		_cleanup_buffer_ struct buffer diff = BUFFER_INIT, unsaid = BUFFER_INIT;
		bool partial = false;
		random_tree(place, &seed, round % 2, &before);
		random_tree(place, &seed, round % 2, &after);
		/* patch_render verifies itself; a whole one is applied here again and compared without its help */
		render(place, &before, &after, &diff, &unsaid, &partial);
		assert_int_equal(partial, unsaid.length > 0);
		if (partial || diff.length == 0)
			continue;
		whole++;
		assert_fine(patch_apply(place->store, &before, diff.data, diff.length, &got, &error));
		assert_true(same_files(&got, &after));
	}
	assert_true(whole > 300);
}

/* Damaged patches: never a crash; what applies is a tree. */
static void test_damaged_patches(void **state)
{
	struct place *place = *state;
	uint64_t seed = 1234567;
	int applied = 0;

	for (int round = 0; round < 1000; round++) {
		struct pr_error error;
		_cleanup_tree_ struct tree before = { 0 }, after = { 0 }, got = { 0 };
		_cleanup_buffer_ struct buffer diff = BUFFER_INIT, unsaid = BUFFER_INIT;
		bool partial;
		random_tree(place, &seed, round % 2, &before);
		random_tree(place, &seed, round % 2, &after);
		render(place, &before, &after, &diff, &unsaid, &partial);
		for (uint64_t changes = 1 + next_random(&seed) % 3; changes > 0 && diff.length > 0; changes--)
			diff.data[next_random(&seed) % diff.length] = "\n-+ @\\,/0123ab\xff"[next_random(&seed) % 16];
		int r = patch_apply(place->store, &before, diff.data ? diff.data : "", diff.length, &got, &error);
		assert_true(r == 0 || r == -EBADMSG);
		applied += r == 0;
		if (r == 0)
			assert_fine(tree_complete(&got, NULL, &error));
	}
	print_message("          1,000 damaged patches, %d still apply\n", applied);
}

static void test_large_patch_is_cut_to_what_fits(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	_cleanup_tree_ struct tree before = { 0 }, after = { 0 };
	_cleanup_buffer_ struct buffer diff = BUFFER_INIT, unsaid = BUFFER_INIT, text = BUFFER_INIT;
	bool partial = false;
	while (text.length < 5000000)
		buffer_printf(&text, "line %zu\n", text.length);
	add_content(place, &after, "one", TREE_FILE, 0644, text.data, text.length);
	add_content(place, &after, "two", TREE_FILE, 0644, text.data, text.length);
	memset(text.data, '\n', text.length);
	add_content(place, &after, "lines", TREE_FILE, 0644, text.data, text.length);
	add_file(place, &after, "z", 0644, "small\n");
	assert_fine(tree_sort(&after, &error));
	render(place, &before, &after, &diff, &unsaid, &partial);
	assert_true(partial);
	assert_true(lists(&unsaid, "two"));
	assert_true(lists(&unsaid, "lines"));
	assert_false(lists(&unsaid, "one"));
	assert_false(lists(&unsaid, "z"));
	assert_true(diff.length <= 8388608);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		place_test(test_vectors), place_test(test_refused), place_test(test_applied), place_test(test_what_can_be_said),
		place_test(test_what_cannot_be_said), place_test(test_random_trees), place_test(test_damaged_patches),
		place_test(test_large_patch_is_cut_to_what_fits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
