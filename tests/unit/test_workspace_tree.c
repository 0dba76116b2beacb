/* Trees, the store, protected paths. */
#include "tests/unit/test_workspace.h"

#include <git2.h>

static void test_store_keeps_bytes(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	char id[STORE_ID], again[STORE_ID];
	_cleanup_free_ char *bytes = NULL;
	size_t length;

	assert_fine(store_write(place->store, "a\0b", 3, id, &error));
	/* git's own id of these bytes, so that any git can read the record */
	git_oid oid;
	git_odb_hash(&oid, "a\0b", 3, GIT_OBJECT_BLOB);
	assert_string_equal(id, git_oid_tostr_s(&oid));
	assert_fine(store_write(place->store, "a\0b", 3, again, &error));
	assert_string_equal(id, again);
	assert_fine(store_read(place->store, id, &bytes, &length, &error));
	assert_int_equal(length, 3);
	assert_memory_equal(bytes, "a\0b\0", 4);

	char none[STORE_ID] = "1234567890123456789012345678901234567890";
	assert_int_equal(store_read(place->store, none, &bytes, &length, &error), -ENOENT);
	assert_true(store_read(place->store, "no id", &bytes, &length, &error) < 0);
	assert_fine(store_write(place->store, NULL, 0, id, &error));
	free(bytes);
	bytes = NULL;
	assert_fine(store_read(place->store, id, &bytes, &length, &error));
	assert_int_equal(length, 0);
}

static void test_store_opens_again(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	char id[STORE_ID];
	_cleanup_free_ char *path = scratch_text("%s/store.git", place->path);
	_cleanup_free_ char *bytes = NULL;
	size_t length;

	assert_fine(store_write(place->store, "kept", 4, id, &error));
	store_free(place->store);
	place->store = NULL;
	assert_fine(store_open(path, &place->store, &error));
	assert_fine(store_read(place->store, id, &bytes, &length, &error));
	assert_string_equal(bytes, "kept");
}

static void test_find_and_sort(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	_cleanup_tree_ struct tree tree = { 0 };

	add_file(place, &tree, "b/x", 0644, "x");
	add_file(place, &tree, "a-b", 0644, "y");
	add_directory(&tree, "a", 0755);
	add_file(place, &tree, "a/z", 0644, "z");
	add_file(place, &tree, "\xff\n", 0644, "w");
	assert_fine(tree_sort(&tree, &error));
	assert_string_equal(tree.entries[0].path, "a");
	assert_string_equal(tree.entries[1].path, "a-b");
	assert_string_equal(tree.entries[4].path, "\xff\n");
	assert_non_null(tree_find(&tree, "a/z"));
	assert_null(tree_find(&tree, "a/"));
	assert_true(tree_has_below(&tree, "a"));
	assert_true(tree_has_below(&tree, "b"));
	assert_false(tree_has_below(&tree, "a-b"));
	assert_false(tree_has_below(&tree, "a/z"));

	assert_fine(tree_complete(&tree, NULL, &error));
	assert_non_null(tree_find(&tree, "b"));
	assert_int_equal(tree.count, 6);
	add_file(place, &tree, "a-b", 0644, "y");
	assert_int_equal(tree_sort(&tree, &error), -EEXIST);
}

static void test_complete_refuses_file_above(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	_cleanup_tree_ struct tree tree = { 0 };

	add_file(place, &tree, "a", 0644, "x");
	add_file(place, &tree, "a/b/c", 0644, "x");
	assert_int_equal(tree_complete(&tree, NULL, &error), -ENOTDIR);
}

static void test_object_is_gits(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	_cleanup_tree_ struct tree tree = { 0 };
	char id[STORE_ID], commit[STORE_ID], second[STORE_ID];

	assert_fine(tree_write_object(place->store, &tree, id, &error));
	assert_string_equal(id, "4b825dc642cb6eb9a060e54bf8d69288fbee4904");	/* git's empty tree */

	add_file(place, &tree, "lib/a.txt", 0644, "1");
	add_file(place, &tree, "lib-x", 0755, "2");
	add_file(place, &tree, "lib.c", 0600, "3");
	add_link(place, &tree, "z", "lib/a.txt");
	add_directory(&tree, "empty", 0755);
	assert_fine(tree_complete(&tree, NULL, &error));
	assert_fine(tree_write_object(place->store, &tree, id, &error));

	/* The same by libgit2's own index. */
	git_index *index;
	git_repository *repository;
	git_oid oid;
	_cleanup_free_ char *path = scratch_text("%s/store.git", place->path);
	assert_int_equal(git_repository_open_bare(&repository, path), 0);
	assert_int_equal(git_index_new(&index), 0);
	for (size_t i = 0; i < tree.count; i++) {
		git_index_entry entry = { .path = tree.entries[i].path };
		if (tree.entries[i].type == TREE_DIRECTORY)
			continue;
		entry.mode = tree.entries[i].type == TREE_LINK ? GIT_FILEMODE_LINK :
			     tree.entries[i].mode & 0100 ? GIT_FILEMODE_BLOB_EXECUTABLE : GIT_FILEMODE_BLOB;
		git_oid_fromstr(&entry.id, tree.entries[i].blob);
		assert_int_equal(git_index_add(index, &entry), 0);
	}
	assert_int_equal(git_index_write_tree_to(&oid, index, repository), 0);
	assert_string_equal(id, git_oid_tostr_s(&oid));
	git_index_free(index);

	assert_fine(store_commit(place->store, id, "refs/heads/main", "one", 1700000000, commit, &error));
	assert_fine(store_commit(place->store, id, "refs/heads/main", "two", 1700000001, second, &error));
	git_commit *found;
	git_oid_fromstr(&oid, second);
	assert_int_equal(git_commit_lookup(&found, repository, &oid), 0);
	assert_int_equal(git_commit_parentcount(found), 1);
	assert_string_equal(git_oid_tostr_s(git_commit_parent_id(found, 0)), commit);
	git_commit_free(found);
	git_repository_free(repository);
}

static void test_object_of_nested_repository(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	_cleanup_tree_ struct tree tree = { 0 };
	char id[STORE_ID];

	add_file(place, &tree, "sub/.git/config", 0644, "x");
	assert_fine(tree_write_object(place->store, &tree, id, &error));
}

static void test_protect(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	_cleanup_tree_ struct tree subject = { 0 }, tree = { 0 };
	const char *const globs[] = { "test/**", "conf" };
	size_t changed = 99;

	add_file(place, &subject, "src/a", 0644, "a");
	add_file(place, &subject, "test/kept", 0644, "k");
	add_file(place, &subject, "test/changed", 0644, "c");
	add_file(place, &subject, "test/mode", 0755, "m");
	add_file(place, &subject, "test/deep/gone", 0644, "g");
	add_file(place, &subject, "conf", 0644, "conf");
	assert_fine(tree_complete(&subject, NULL, &error));

	add_file(place, &tree, "src/a", 0644, "changed, and may be");
	add_file(place, &tree, "src/new", 0644, "n");
	add_file(place, &tree, "test/kept", 0644, "k");
	add_file(place, &tree, "test/changed", 0644, "other");
	add_file(place, &tree, "test/mode", 0644, "m");
	add_file(place, &tree, "test/deep", 0644, "a file where a directory was");
	add_file(place, &tree, "test/added/x", 0644, "x");
	add_file(place, &tree, "conf/below", 0644, "a directory where a file was");
	assert_fine(tree_complete(&tree, NULL, &error));

	assert_fine(tree_protect(&subject, &tree, globs, ELEMENTS(globs), &changed, &error));
	_cleanup_tree_ struct tree want = { 0 };
	add_file(place, &want, "src/a", 0644, "changed, and may be");
	add_file(place, &want, "src/new", 0644, "n");
	add_file(place, &want, "test/kept", 0644, "k");
	add_file(place, &want, "test/changed", 0644, "c");
	add_file(place, &want, "test/mode", 0755, "m");
	add_file(place, &want, "test/deep/gone", 0644, "g");
	add_file(place, &want, "conf", 0644, "conf");
	assert_fine(tree_complete(&want, NULL, &error));
	assert_trees_equal(&tree, &want);
	/* changed, mode, deep (became a file), deep/gone, conf; added test/added/x */
	assert_int_equal(changed, 6);

	assert_fine(tree_protect(&subject, &tree, globs, ELEMENTS(globs), &changed, &error));
	assert_int_equal(changed, 0);
}

static void test_mark_protected(void **state)
{
	static const char *const globs[] = { "a/b/*", "top" };
	struct place *place = *state;
	struct pr_error error;
	_cleanup_tree_ struct tree tree = { 0 };
	_cleanup_buffer_ struct buffer marked = BUFFER_INIT;

	add_file(place, &tree, "a-x", 0644, "1");
	add_file(place, &tree, "a/b-x", 0644, "2");
	add_file(place, &tree, "a/b/c/d", 0644, "3");
	add_file(place, &tree, "a/z", 0644, "4");
	add_file(place, &tree, "other/b/c", 0644, "5");
	add_file(place, &tree, "top", 0644, "6");
	assert_fine(tree_mark_protected(&tree, globs, ELEMENTS(globs), &error));
	for (size_t i = 0; i < tree.count; i++)
		if (tree.entries[i].protected)
			buffer_printf(&marked, "%s ", tree.entries[i].path);
	assert_string_equal(marked.data, "a a/b a/b/c a/b/c/d top ");
}

static void test_misfit(void **state)
{
	const struct workspace_limits limits = WORKSPACE_LIMITS_E1;
	struct place *place = *state;
	_cleanup_tree_ struct tree tree = { 0 };

	add_file(place, &tree, "one", 0644, "1");
	add_file(place, &tree, "two", 0644, "2");
	/* A byte takes a block, the root an inode. */
	assert_int_equal(tree_misfit(&tree, &limits, 8192, 3), REASON_NONE);
	assert_int_equal(tree_misfit(&tree, &limits, 4096, 3), REASON_WORKSPACE_TOO_LARGE);
	assert_int_equal(tree_misfit(&tree, &limits, 8192, 2), REASON_TOO_MANY_ENTRIES);
	_cleanup_buffer_ struct buffer path = BUFFER_INIT;
	for (int i = 0; i < 32; i++)
		buffer_add_text(&path, "d/");
	buffer_add_text(&path, "f");
	add_file(place, &tree, path.data, 0644, "");
	assert_int_equal(tree_misfit(&tree, &limits, 1 << 20, 100), REASON_WORKSPACE_TOO_DEEP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		place_test(test_store_keeps_bytes), place_test(test_store_opens_again), place_test(test_find_and_sort),
		place_test(test_complete_refuses_file_above), place_test(test_object_is_gits),
		place_test(test_object_of_nested_repository), place_test(test_protect), place_test(test_mark_protected),
		place_test(test_misfit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
