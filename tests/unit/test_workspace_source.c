/* Subjects from git repositories and plain directories. */
#include "tests/unit/test_workspace.h"

#include <git2.h>

#include "core/workspace/source.h"
#include "tests/support/skip.h"

#define GIT(call) do { \
		if ((call) < 0) \
			fail_msg("%s: %s", #call, git_error_last() ? git_error_last()->message : "?"); \
	} while (0)

struct entry {
	const char *path;
	git_filemode_t mode;
	const char *content;	/* of a gitlink: none */
};

static git_repository *repository(struct place *place, const char *name, bool bare)
{
	git_repository *made;
	_cleanup_free_ char *path = scratch_text("%s/%s", place->path, name);
	GIT(git_repository_init(&made, path, bare));
	return made;
}

/* One commit on `branch` with these entries alone. */
static void commit(git_repository *made, const char *branch, const struct entry *entries, size_t count)
{
	git_index *index;
	git_oid id, tree_id, parent_id;
	git_tree *tree;
	git_signature *who;
	git_commit *parent = NULL;

	GIT(git_index_new(&index));
	for (size_t i = 0; i < count; i++) {
		git_index_entry entry = { .path = entries[i].path, .mode = entries[i].mode };
		GIT(git_blob_create_from_buffer(&entry.id, made, entries[i].content ? entries[i].content : "x",
						entries[i].content ? strlen(entries[i].content) : 1));
		GIT(git_index_add(index, &entry));
	}
	GIT(git_index_write_tree_to(&tree_id, index, made));
	GIT(git_tree_lookup(&tree, made, &tree_id));
	GIT(git_signature_new(&who, "a", "a@b", 1700000000, 0));
	if (git_reference_name_to_id(&parent_id, made, branch) == 0)
		GIT(git_commit_lookup(&parent, made, &parent_id));
	const git_commit *parents[] = { parent };
	GIT(git_commit_create(&id, made, branch, who, who, NULL, "m", tree, parent ? 1 : 0, parents));
	git_commit_free(parent);
	git_signature_free(who);
	git_tree_free(tree);
	git_index_free(index);
}

static int import(struct place *place, const char *name, const char *revision, struct tree *tree, char *id,
		  struct pr_error *error)
{
	_cleanup_free_ char *path = scratch_text("%s/%s", place->path, name);
	*error = (struct pr_error){ 0 };
	return source_git(place->store, path, revision, tree, id, error);
}

static const struct entry first[] = {
	{ "README", GIT_FILEMODE_BLOB, "one\n" },
	{ "bin/run", GIT_FILEMODE_BLOB_EXECUTABLE, "#!/bin/sh\n" },
	{ "bin/link", GIT_FILEMODE_LINK, "run" },
	{ "deep/er/\xc3\xa9", GIT_FILEMODE_BLOB, "" },
};
static const struct entry second[] = { { "README", GIT_FILEMODE_BLOB, "two\n" } };

static void test_commits(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	char id[STORE_ID], full[STORE_ID];
	static const bool shapes[] = { true, false };

	for (size_t i = 0; i < ELEMENTS(shapes); i++) {
		const char *name = shapes[i] ? "bare.git" : "worktree";
		git_repository *made = repository(place, name, shapes[i]);
		commit(made, "refs/heads/main", first, ELEMENTS(first));
		commit(made, "refs/heads/main", second, ELEMENTS(second));
		git_repository_free(made);

		_cleanup_tree_ struct tree tree = { 0 }, old = { 0 }, want = { 0 }, same = { 0 };
		assert_fine(import(place, name, "main", &tree, full, &error));
		assert_int_equal(tree.count, 1);
		assert_fine(import(place, name, "main~1", &old, id, &error));
		assert_string_not_equal(full, id);
		add_file(place, &want, "README", 0644, "one\n");
		add_file(place, &want, "bin/run", 0755, "#!/bin/sh\n");
		add_link(place, &want, "bin/link", "run");
		add_file(place, &want, "deep/er/\xc3\xa9", 0644, "");
		assert_fine(tree_complete(&want, NULL, &error));
		assert_trees_equal(&old, &want);
		full[10] = '\0';	/* an abbreviated id */
		assert_fine(import(place, name, full, &same, id, &error));
		assert_trees_equal(&same, &tree);
		/* and the content is in the store */
		_cleanup_free_ char *bytes = NULL;
		size_t length;
		assert_fine(store_read(place->store, tree.entries[0].blob, &bytes, &length, &error));
		assert_string_equal(bytes, "two\n");
	}
}

static void test_faults_are_told_apart(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	char id[STORE_ID] = "untouched";
	_cleanup_tree_ struct tree tree = { 0 };
	git_repository *made = repository(place, "r", false);
	commit(made, "refs/heads/main", second, 1);
	git_repository_free(made);

	assert_int_equal(import(place, "nowhere", "main", &tree, id, &error), -ENOENT);
	assert_non_null(strstr(error.message, "opening the repository"));
	assert_int_equal(import(place, "w", "main", &tree, id, &error), -ENOENT);
	assert_non_null(strstr(error.message, "no git repository"));
	assert_true(error.remedy[0] != '\0');
	static const char *const revisions[] = { "topic", "main~7", "main..main", "deadbeefdeadbeef", "", "\x1b[2J", "main:README" };
	for (size_t i = 0; i < ELEMENTS(revisions); i++) {
		assert_int_equal(import(place, "r", revisions[i], &tree, id, &error), -ENOENT);
		if (!strstr(error.message, "no commit"))
			fail_msg("%s: %s", revisions[i], error.message);
		assert_null(strchr(error.message, '\x1b'));
	}
	/* never a repository further up */
	assert_int_equal(mkdirat(place->fd, "sub", 0755), 0);
	_cleanup_free_ char *inner = scratch_text("%s/r/inner", place->path);
	assert_int_equal(mkdir(inner, 0755), 0);
	assert_int_equal(import(place, "r/inner", "main", &tree, id, &error), -ENOENT);
	assert_string_equal(id, "untouched");
	assert_int_equal(tree.count, 0);
}

static void test_submodule(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	char id[STORE_ID];
	_cleanup_tree_ struct tree tree = { 0 };
	const struct entry entries[] = { { "a", GIT_FILEMODE_BLOB, "a" }, { "vendor/lib", GIT_FILEMODE_COMMIT, NULL } };
	git_repository *made = repository(place, "r", true);
	git_libgit2_opts(GIT_OPT_ENABLE_STRICT_OBJECT_CREATION, 0);	/* the gitlink's commit is not there */
	commit(made, "refs/heads/main", entries, ELEMENTS(entries));
	git_libgit2_opts(GIT_OPT_ENABLE_STRICT_OBJECT_CREATION, 1);
	git_repository_free(made);
	assert_int_equal(import(place, "r", "main", &tree, id, &error), -EINVAL);
	assert_non_null(strstr(error.message, "submodule"));
	assert_non_null(strstr(error.message, "vendor/lib"));
}

/* A tree object by hand, as no client makes it. */
static void test_hostile_names(void **state)
{
	static const char *const names[] = {
		"..", ".", ".git", ".GIT", ".Git ", ".git.", ".git. . ", "GIT~1", "git~2", ".g\xe2\x80\x8cit", ".git:x",
	};
	struct place *place = *state;
	struct pr_error error;
	git_repository *made = repository(place, "r", true);
	git_odb *odb;
	GIT(git_repository_odb(&odb, made));
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		git_oid blob, tree_id, commit_id;
		_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
		_cleanup_buffer_ struct buffer text = BUFFER_INIT;
		_cleanup_tree_ struct tree tree = { 0 };
		char id[STORE_ID];
		GIT(git_odb_write(&blob, odb, "x", 1, GIT_OBJECT_BLOB));
		buffer_printf(&bytes, "100644 %s", names[i]);
		buffer_add_byte(&bytes, '\0');
		buffer_add(&bytes, blob.id, sizeof blob.id);
		GIT(git_odb_write(&tree_id, odb, bytes.data, bytes.length, GIT_OBJECT_TREE));
		buffer_printf(&text, "tree %s\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nm\n", git_oid_tostr_s(&tree_id));
		GIT(git_odb_write(&commit_id, odb, text.data, text.length, GIT_OBJECT_COMMIT));
		git_oid_tostr(id, sizeof id, &commit_id);
		if (import(place, "r", id, &tree, id, &error) == 0)
			fail_msg("`%s` was taken", names[i]);
	}
	static const char *const fine[] = { ".gitignore", ".github", "git", "...", ".git-x", "git~", "git~x", ".gitx", "a.git" };
	for (size_t i = 0; i < ELEMENTS(fine); i++) {
		_cleanup_tree_ struct tree tree = { 0 };
		char id[STORE_ID];
		const struct entry entry = { fine[i], GIT_FILEMODE_BLOB, "x" };
		commit(made, "refs/heads/fine", &entry, 1);
		assert_fine(import(place, "r", "refs/heads/fine", &tree, id, &error));
		assert_string_equal(tree.entries[0].path, fine[i]);
	}
	git_odb_free(odb);
	git_repository_free(made);
}

static void test_too_deep(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	char id[STORE_ID];
	_cleanup_tree_ struct tree tree = { 0 };
	_cleanup_buffer_ struct buffer path = BUFFER_INIT;
	for (int i = 0; i < 32; i++)
		buffer_add_text(&path, "d/");
	buffer_add_text(&path, "f");
	git_repository *made = repository(place, "r", true);
	commit(made, "refs/heads/main", &(struct entry){ path.data, GIT_FILEMODE_BLOB, "x" }, 1);
	commit(made, "refs/heads/edge", &(struct entry){ path.data + 2, GIT_FILEMODE_BLOB, "x" }, 1);
	git_repository_free(made);
	assert_int_equal(import(place, "r", "main", &tree, id, &error), -EINVAL);
	assert_non_null(strstr(error.message, "workspace_too_deep"));
	assert_fine(import(place, "r", "edge", &tree, id, &error));
}

static void test_missing_object(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	char id[STORE_ID];
	_cleanup_tree_ struct tree tree = { 0 };
	git_repository *made = repository(place, "r", true);
	commit(made, "refs/heads/main", second, 1);
	git_oid blob;
	git_odb_hash(&blob, "two\n", 4, GIT_OBJECT_BLOB);
	const char *hex = git_oid_tostr_s(&blob);
	_cleanup_free_ char *path = scratch_text("%s/r/objects/%.2s/%s", place->path, hex, hex + 2);
	assert_int_equal(unlink(path), 0);
	git_repository_free(made);
	assert_true(import(place, "r", "main", &tree, id, &error) < 0);
	assert_non_null(strstr(error.remedy, "partial clone"));
}

static void test_another_users_repository(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	char id[STORE_ID];
	_cleanup_tree_ struct tree tree = { 0 };
	if (geteuid() != 0)
		skip_test("only root can give a repository to another user");
	git_repository *made = repository(place, "r", true);
	commit(made, "refs/heads/main", second, 1);
	git_repository_free(made);
	_cleanup_free_ char *path = scratch_text("%s/r", place->path);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(import(place, "r", "main", &tree, id, &error), -EPERM);
	assert_non_null(strstr(error.message, "another user"));
	assert_true(error.remedy[0] != '\0');
}

static void test_directory(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	_cleanup_free_ char *path = scratch_text("%s/w", place->path);
	_cleanup_tree_ struct tree tree = { 0 }, want = { 0 };

	put_file(place->fd, "a", 0640, "a");
	assert_int_equal(mkdirat(place->fd, "d", 0755), 0);
	put_file(place->fd, "d/run", 0755, "");
	assert_int_equal(symlinkat("a", place->fd, "link"), 0);
	assert_int_equal(mkdirat(place->fd, ".git", 0755), 0);
	put_file(place->fd, ".git/HEAD", 0644, "x");
	assert_fine(source_directory(place->store, path, &tree, &error));
	add_file(place, &want, "a", 0640, "a");
	add_file(place, &want, "d/run", 0755, "");
	add_link(place, &want, "link", "a");
	assert_fine(tree_complete(&want, NULL, &error));
	assert_trees_equal(&tree, &want);

	_cleanup_tree_ struct tree none = { 0 };
	assert_int_equal(mkfifoat(place->fd, "d/pipe", 0644), 0);
	assert_int_equal(source_directory(place->store, path, &none, &error), -EINVAL);
	assert_non_null(strstr(error.message, "irregular_file"));
	assert_non_null(strstr(error.message, "d/pipe"));
	assert_true(error.remedy[0] != '\0');
	assert_int_equal(unlinkat(place->fd, "d/pipe", 0), 0);
	_cleanup_close_ int fd = openat(place->fd, "sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(ftruncate(fd, 67108865), 0);
	assert_int_equal(source_directory(place->store, path, &none, &error), -EINVAL);
	assert_non_null(strstr(error.message, "workspace_file_too_large"));
	_cleanup_free_ char *absent = scratch_text("%s/absent", place->path);
	assert_int_equal(source_directory(place->store, absent, &none, &error), -ENOENT);
	assert_int_equal(none.count, 0);
}

/* A file over one megabyte comes in pieces. */
static void test_directory_with_a_large_file(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	_cleanup_free_ char *path = scratch_text("%s/w", place->path);
	_cleanup_tree_ struct tree tree = { 0 };
	_cleanup_free_ char *large = malloc(5000001);
	char sha256[DIGEST_HEX];
	for (size_t i = 0; i < 5000000; i++)
		large[i] = (char)('a' + i * 7 % 23);
	large[5000000] = '\0';
	put_file(place->fd, "large", 0644, large);
	digest_bytes(large, 5000000, sha256);
	assert_fine(source_directory(place->store, path, &tree, &error));
	assert_int_equal(tree.entries[0].size, 5000000);
	assert_string_equal(tree.entries[0].sha256, sha256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		place_test(test_commits), place_test(test_faults_are_told_apart), place_test(test_submodule),
		place_test(test_hostile_names), place_test(test_too_deep), place_test(test_missing_object),
		place_test(test_another_users_repository), place_test(test_directory),
		place_test(test_directory_with_a_large_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
