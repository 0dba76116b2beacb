/* The one-commit repository: what is in it, by libgit2 and, where it is installed, by git itself. */
#include "tests/unit/test_workspace.h"

#include <git2.h>
#include <stdio.h>
#include <sys/wait.h>

#include "core/workspace/repository.h"
#include "core/base/io.h"
#include "tests/support/skip.h"

static void make_subject(struct place *place, struct tree *tree)
{
	struct pr_error error;
	add_file(place, tree, "run.sh", 0755, "#!/bin/sh\n");
	add_file(place, tree, "src/a b", 0644, "one\n");
	add_link(place, tree, "link", "src/a b");
	assert_fine(tree_complete(tree, NULL, &error));
}

static char *make(struct place *place, const struct tree *tree, const char *name, char *commit)
{
	struct pr_error error;
	char *path = scratch_text("%s/w/%s", place->path, name);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_fine(repository_write(place->store, tree, path, commit, &error));
	return path;
}

static int count_object(const git_oid *id, void *data)
{
	(void)id;
	++*(size_t *)data;
	return 0;
}

static void test_holds_one_commit(void **state)
{
	struct place *place = *state;
	_cleanup_tree_ struct tree tree = { 0 };
	char commit[STORE_ID], again[STORE_ID];
	struct pr_error error;

	/* What the store holds besides does not follow. */
	char other[STORE_ID];
	assert_fine(store_write(place->store, "earlier", 7, other, &error));
	make_subject(place, &tree);
	_cleanup_free_ char *path = make(place, &tree, ".git", commit);
	_cleanup_free_ char *second = make(place, &tree, "second", again);
	assert_string_equal(commit, again);
	assert_string_equal(commit, "8500fb875f1af51b367a6d04c10cc5e82f08ad3a");	/* git commit's own, of the same files and names */

	git_repository *repository = NULL;
	git_odb *odb = NULL;
	git_commit *root = NULL;
	git_oid id;
	_cleanup_buffer_ struct buffer config = BUFFER_INIT;
	size_t objects = 0;
	assert_int_equal(git_repository_open(&repository, path), 0);
	assert_int_equal(git_reference_name_to_id(&id, repository, "HEAD"), 0);
	assert_string_equal(git_oid_tostr_s(&id), commit);
	assert_int_equal(git_commit_lookup(&root, repository, &id), 0);
	assert_int_equal(git_commit_parentcount(root), 0);
	/* git_remote_list() of libgit2 1.5 leaks. */
	_cleanup_free_ char *config_path = scratch_text("%s/config", path);
	assert_int_equal(io_read_file(AT_FDCWD, config_path, 4096, &config), 0);
	assert_null(strstr(config.data, "remote"));
	assert_int_equal(git_repository_odb(&odb, repository), 0);
	assert_int_equal(git_odb_foreach(odb, count_object, &objects), 0);
	assert_int_equal(objects, 6);	/* a commit, two trees, three blobs */
	git_odb_free(odb);
	git_commit_free(root);
	git_repository_free(repository);

	static const char *const absent[] = { "logs", "packed-refs", "hooks", "refs/tags", "refs/remotes", "objects/info" };
	for (size_t i = 0; i < ELEMENTS(absent); i++) {
		_cleanup_free_ char *name = scratch_text("%s/%s", path, absent[i]);
		assert_int_equal(access(name, F_OK), -1);
	}
}

/* Runs git in `directory`; its exit code, -1 where it is not installed. What it prints goes to `output`. */
static int git(const char *directory, const char *const *words, int output)
{
	pid_t child = fork();
	if (child == 0) {
		setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
		setenv("HOME", directory, 1);
		if (chdir(directory) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0)
			_exit(126);
		execvp("git", (char *const *)words);
		_exit(127);
	}
	int status = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) == 127 ? -1 : WEXITSTATUS(status);
}

static void test_git_finds_it_clean(void **state)
{
	struct place *place = *state;
	_cleanup_tree_ struct tree tree = { 0 };
	_cleanup_close_ int output = memory_file();
	char commit[STORE_ID];

	make_subject(place, &tree);
	put_file(place->fd, "run.sh", 0755, "#!/bin/sh\n");
	assert_int_equal(mkdirat(place->fd, "src", 0755), 0);
	put_file(place->fd, "src/a b", 0644, "one\n");
	assert_int_equal(symlinkat("src/a b", place->fd, "link"), 0);
	_cleanup_free_ char *path = make(place, &tree, ".git", commit);
	_cleanup_free_ char *work = scratch_text("%s/w", place->path);

	int r = git(work, (const char *const[]){ "git", "fsck", "--full", "--strict", NULL }, output);
	if (r < 0)
		skip_test("git is not installed");
	assert_int_equal(r, 0);
	assert_int_equal(ftruncate(output, 0), 0);
	assert_int_equal(git(work, (const char *const[]){ "git", "status", "--porcelain", NULL }, output), 0);
	struct stat what;
	assert_int_equal(fstat(output, &what), 0);
	assert_int_equal(what.st_size, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		place_test(test_holds_one_commit),
		place_test(test_git_finds_it_clean),
	};
	return cmocka_run_group_tests_name("workspace_repository", tests, NULL, NULL);
}
