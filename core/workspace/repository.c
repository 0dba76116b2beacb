/* Makes the one-commit repository of repository.h, by libgit2, from objects of the store and nothing else. */
#include "core/workspace/repository.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/workspace/git.h"

static int write_file(const char *path, const char *name, const char *text, struct pr_error *error)
{
	char file[PATH_MAX];

	snprintf(file, sizeof file, "%s/%s", path, name);
	int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return pr_error_errno(error, errno, "creating %s", file);
	size_t length = strlen(text);
	ssize_t n = write(fd, text, length);
	int code = n < 0 ? errno : EIO;
	close(fd);
	return n == (ssize_t)length ? 0 : pr_error_errno(error, code, "writing %s", file);
}

static int make_directories(const char *path, struct pr_error *error)
{
	static const char *const names[] = { "objects", "objects/pack", "refs", "refs/heads" };

	for (size_t i = 0; i < ELEMENTS(names); i++) {
		char directory[PATH_MAX];
		snprintf(directory, sizeof directory, "%s/%s", path, names[i]);
		if (mkdir(directory, 0755) < 0)
			return pr_error_errno(error, errno, "creating %s", directory);
	}
	return 0;
}

static int write_commit(struct store *store, git_tree *tree, git_oid *ret_id)
{
	git_signature *who = NULL;
	int r = git_signature_new(&who, "proctor", "proctor@localhost", REPOSITORY_TIME_S, 0);
	if (r == 0)
		r = git_commit_create(ret_id, store->repository, NULL, who, who, NULL, "Subject\n", tree, 0, NULL);
	git_signature_free(who);
	return r;
}

static int write_pack(struct store *store, const git_oid *commit, const char *path)
{
	char directory[PATH_MAX];
	git_packbuilder *pack = NULL;

	snprintf(directory, sizeof directory, "%s/objects/pack", path);
	int r = git_packbuilder_new(&pack, store->repository);
	if (r == 0) {
		git_packbuilder_set_threads(pack, 1);
		r = git_packbuilder_insert_commit(pack, commit);
	}
	if (r == 0)
		r = git_packbuilder_write(pack, directory, 0644, NULL, NULL);
	git_packbuilder_free(pack);
	return r;
}

/* Sizes of 0 in an index make git compare contents at its first look. */
static int write_index(git_tree *tree, const char *path)
{
	char file[PATH_MAX];
	git_index *index = NULL;

	snprintf(file, sizeof file, "%s/index", path);
	int r = git_index_open(&index, file);
	if (r == 0)
		r = git_index_read_tree(index, tree);
	if (r == 0)
		r = git_index_write(index);
	git_index_free(index);
	return r;
}

static int write_objects(struct store *store, const char *tree_id, const char *path, git_oid *ret_commit)
{
	git_oid id;
	git_tree *tree = NULL;
	int r = git_oid_fromstr(&id, tree_id);
	if (r == 0)
		r = git_tree_lookup(&tree, store->repository, &id);
	if (r == 0)
		r = write_commit(store, tree, ret_commit);
	if (r == 0)
		r = write_pack(store, ret_commit, path);
	if (r == 0)
		r = write_index(tree, path);
	git_tree_free(tree);
	return r;
}

int repository_write(struct store *store, const struct tree *tree, const char *path, char ret_commit[static STORE_ID],
		     struct pr_error *error)
{
	char tree_id[STORE_ID], id[STORE_ID], line[STORE_ID + 1];
	git_oid commit;

	if (strlen(path) > PATH_MAX - 64)
		return pr_error_errno(error, ENAMETOOLONG, "making a repository");
	int r = tree_write_object(store, tree, tree_id, error);
	if (r == 0)
		r = make_directories(path, error);
	if (r < 0)
		return r;
	pthread_mutex_lock(&store->lock);
	r = write_objects(store, tree_id, path, &commit);
	if (r < 0)
		r = git_failed(error, r, "making the repository of a subject");
	pthread_mutex_unlock(&store->lock);
	if (r < 0)
		return r;
	git_oid_tostr(id, sizeof id, &commit);
	snprintf(line, sizeof line, "%s\n", id);
	r = write_file(path, "refs/heads/main", line, error);
	if (r == 0)
		r = write_file(path, "HEAD", "ref: refs/heads/main\n", error);
	if (r == 0)
		r = write_file(path, "config", "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n", error);
	if (r == 0)
		memcpy(ret_commit, id, sizeof id);
	return r;
}
