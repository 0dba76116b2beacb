/*
 * A commit of a git repository as a subject (source.h). The repository is the owner's; libgit2 opens it by its very path
 * (no search upwards, no environment, no working directory, no configuration but its own), reads objects and
 * nothing else. What is copied is the files of one tree: no history, no references.
 */
#include "core/workspace/source.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <proctor/text.h>

#include "core/base/cleanup.h"
#include "core/workspace/git.h"
#include "core/workspace/limits.h"
#include "core/workspace/stream.h"

struct import {
	struct store *store;
	const char *repository_path;
	git_repository *repository;
	git_odb *odb;
	struct workspace_account account;
	struct tree *tree;
	struct buffer path;
	struct pr_error *error;
};

static int refuse(struct import *import, const char *why)
{
	struct pr_safe_text path;
	pr_safe_text_from(&path, import->path.data, import->path.length, 200, PR_CHARSET_LOCALE);
	return pr_error_set(import->error, EINVAL, "%s is no subject: %s (at %s)", import->repository_path, why,
			    pr_safe_text_str(&path));
}

static int refuse_reason(struct import *import, enum workspace_reason reason)
{
	refuse(import, workspace_reason_name(reason));
	return pr_error_remedy(import->error, "a subject keeps the bounds of a collection; commit a smaller tree for this task");
}

static int take_content(struct import *import, const git_tree_entry *entry, enum tree_type type, uint32_t mode)
{
	size_t size;
	git_object_t kind;
	const git_oid *oid = git_tree_entry_id(entry);
	int r = git_odb_read_header(&size, &kind, import->odb, oid);
	if (r < 0) {
		git_failed(import->error, r, "reading %s from %s", git_oid_tostr_s(oid), import->repository_path);
		return pr_error_remedy(import->error, "the repository lacks an object of this commit: if it is a partial clone, "
				       "`git fetch --refetch` it whole");
	}
	if (kind != GIT_OBJECT_BLOB)
		return refuse(import, "an entry that is no file");
	enum workspace_reason reason = type == TREE_LINK ? workspace_charge_bytes(&import->account, size) :
							   workspace_charge_file(&import->account, size);
	if (reason != REASON_NONE)
		return refuse_reason(import, reason);
	if (type == TREE_LINK && (size == 0 || size > STREAM_TARGET_MAX))
		return refuse(import, "a symbolic link without a target that a link can have");

	git_odb_object *object = NULL;
	char id[STORE_ID], sha256[DIGEST_HEX];
	r = git_odb_read(&object, import->odb, oid);
	if (r < 0)
		return git_failed(import->error, r, "reading %s from %s", git_oid_tostr_s(oid), import->repository_path);
	const void *bytes = git_odb_object_data(object);
	if (git_odb_object_size(object) != size || (type == TREE_LINK && memchr(bytes, '\0', size))) {
		r = refuse(import, "a damaged object");
	} else {
		digest_bytes(bytes, size, sha256);
		r = store_write(import->store, bytes, size, id, import->error);
	}
	git_odb_object_free(object);
	return r < 0 ? r : tree_add(import->tree, import->path.data, type, mode, size, id, sha256);
}

static int take_tree(struct import *import, const git_oid *id, uint64_t depth);

static int take_entry(struct import *import, const git_tree_entry *entry, uint64_t depth)
{
	const char *name = git_tree_entry_name(entry);
	enum workspace_reason reason = workspace_charge_name(&import->account, import->path.length, depth);

	if (reason != REASON_NONE)
		return refuse_reason(import, reason);
	if (!stream_name_stands(name, strlen(name)) || strchr(name, '/') || git_name_is_repository(name, strlen(name)))
		return refuse(import, "a name that no file may have");
	switch (git_tree_entry_filemode(entry)) {
	case GIT_FILEMODE_TREE:
		reason = workspace_charge_directory(&import->account);
		if (reason != REASON_NONE)
			return refuse_reason(import, reason);
		int r = tree_add(import->tree, import->path.data, TREE_DIRECTORY, 0755, 0, NULL, NULL);
		return r < 0 ? r : take_tree(import, git_tree_entry_id(entry), depth + 1);
	case GIT_FILEMODE_BLOB:
		return take_content(import, entry, TREE_FILE, 0644);
	case GIT_FILEMODE_BLOB_EXECUTABLE:
		return take_content(import, entry, TREE_FILE, 0755);
	case GIT_FILEMODE_LINK:
		return take_content(import, entry, TREE_LINK, 0777);
	case GIT_FILEMODE_COMMIT:
		refuse(import, "a submodule");
		return pr_error_remedy(import->error, "submodules are not fetched; use a commit that holds the files themselves");
	case GIT_FILEMODE_UNREADABLE:
		break;
	}
	return refuse(import, "an entry of an unknown kind");
}

static int take_tree(struct import *import, const git_oid *id, uint64_t depth)
{
	git_tree *tree = NULL;
	size_t length = import->path.length;
	/* The guard of the bounds may be out; the stack stays ours. */
	int r = depth > 512 ? GIT_ERROR : git_tree_lookup(&tree, import->repository, id);
	if (r < 0)
		return git_failed(import->error, r, "reading the tree %s of %s", git_oid_tostr_s(id), import->repository_path);
	for (size_t i = 0; i < git_tree_entrycount(tree) && r == 0; i++) {
		const git_tree_entry *entry = git_tree_entry_byindex(tree, i);
		if (length > 0)
			r = buffer_add_byte(&import->path, '/');
		if (r == 0)
			r = buffer_add_text(&import->path, git_tree_entry_name(entry));
		if (r == 0)
			r = take_entry(import, entry, depth);
		if (import->path.data) {
			import->path.length = length;
			import->path.data[length] = '\0';
		}
	}
	git_tree_free(tree);
	return r;
}

static int open_repository(const char *path, git_repository **ret_repository, struct pr_error *error)
{
	struct stat status;
	int r = git_repository_open_ext(ret_repository, path, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL);
	if (r == 0)
		return 0;
	const git_error *last = git_error_last();
	/* 1.5 has no code of its own for this, and says what it missed in the (empty) configuration; newer ones say it. */
	bool owner = last && last->message && (strstr(last->message, "safe.directory") || strstr(last->message, "not owned by"));
	if (stat(path, &status) < 0) {
		pr_error_errno(error, errno, "opening the repository %s", path);
		return pr_error_remedy(error, "name a directory with a git repository in it");
	}
	if (owner) {
		pr_error_set(error, EPERM, "the repository %s belongs to another user (uid %u; ours is %u)", path,
			     (unsigned)status.st_uid, (unsigned)geteuid());
		return pr_error_remedy(error, "run as its owner, or clone it: git clone --bare %s", path);
	}
	if (r == GIT_ENOTFOUND) {
		pr_error_set(error, ENOENT, "there is no git repository in %s", path);
		return pr_error_remedy(error, "name the directory that holds `.git`, or a bare repository itself");
	}
	return git_failed(error, r, "opening the repository %s", path);
}

static int find_commit(git_repository *repository, const char *path, const char *name, git_commit **ret_commit,
		       struct pr_error *error)
{
	git_object *object = NULL;
	int r = git_revparse_single(&object, repository, name);
	if (r == 0)
		r = git_object_peel((git_object **)ret_commit, object, GIT_OBJECT_COMMIT);
	git_object_free(object);
	if (r == 0)
		return 0;
	struct pr_safe_text safe;
	pr_safe_text_from_str(&safe, name, 200);
	if (r == GIT_EAMBIGUOUS)
		return pr_error_set(error, ENOENT, "`%s` names more than one commit in %s", pr_safe_text_str(&safe), path);
	pr_error_set(error, ENOENT, "there is no commit `%s` in %s", pr_safe_text_str(&safe), path);
	return pr_error_remedy(error, "see what is there: git -C %s log --oneline --all", path);
}

int source_git(struct store *store, const char *repository, const char *commit, struct tree *ret_tree,
	       char ret_commit[static STORE_ID], struct pr_error *error)
{
	struct pr_error here = { 0 };
	struct tree tree = { 0 };
	struct import import = {
		.store = store, .repository_path = repository, .account = { .limits = WORKSPACE_LIMITS_E1 }, .tree = &tree,
		.path = BUFFER_INIT, .error = &here,
	};
	git_commit *found = NULL;

	int r = git_start(&here);
	if (r == 0)
		r = open_repository(repository, &import.repository, &here);
	if (r == 0)
		r = find_commit(import.repository, repository, commit, &found, &here);
	if (r == 0) {
		r = git_repository_odb(&import.odb, import.repository);
		if (r < 0)
			r = git_failed(&here, r, "reading the objects of %s", repository);
	}
	if (r == 0)
		r = take_tree(&import, git_commit_tree_id(found), 1);
	if (r == 0)
		r = tree_sort(&tree, &here);
	if (r == 0) {
		git_oid_tostr(ret_commit, STORE_ID, git_commit_id(found));
		*ret_tree = tree;
		tree_init(&tree);
	} else {
		if (here.code == 0)
			pr_error_errno(&here, -r, "importing a commit of %s", repository);
		if (error)
			*error = here;
	}
	tree_release(&tree);
	buffer_release(&import.path);
	git_commit_free(found);
	git_odb_free(import.odb);
	git_repository_free(import.repository);
	return r;
}
