/*
 * The content store of store.h: one bare repository, its object database, and a lock around both.
 * Objects are loose and not synced: what an episode rests on is synced by whoever commits it.
 */
#include "core/workspace/store.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/workspace/git.h"

static int open_repository(const char *path, git_repository **ret_repository)
{
	int r = git_repository_open_bare(ret_repository, path);
	if (r != GIT_ENOTFOUND)
		return r;
	git_repository_init_options options;
	git_repository_init_options_init(&options, GIT_REPOSITORY_INIT_OPTIONS_VERSION);
	options.flags = GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_NO_REINIT | GIT_REPOSITORY_INIT_MKDIR;
	options.mode = GIT_REPOSITORY_INIT_SHARED_UMASK;
	options.initial_head = "main";
	return git_repository_init_ext(ret_repository, path, &options);
}

int store_open(const char *path, struct store **ret_store, struct pr_error *error)
{
	int r = git_start(error);
	if (r < 0)
		return r;
	struct store *store = calloc(1, sizeof *store);
	if (!store)
		return pr_error_errno(error, ENOMEM, "opening the content store %s", path);
	pthread_mutex_init(&store->lock, NULL);
	r = open_repository(path, &store->repository);
	if (r == 0)
		r = git_repository_odb(&store->odb, store->repository);
	if (r < 0) {
		r = git_failed(error, r, "opening the content store %s", path);
		store_free(store);
		return r;
	}
	*ret_store = store;
	return 0;
}

void store_free(struct store *store)
{
	if (!store)
		return;
	git_odb_free(store->odb);
	git_repository_free(store->repository);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

int store_write_object(struct store *store, git_object_t kind, const void *bytes, size_t length,
		       char ret_id[static STORE_ID], struct pr_error *error)
{
	git_oid id;

	pthread_mutex_lock(&store->lock);
	int r = git_odb_write(&id, store->odb, length ? bytes : "", length, kind);
	if (r < 0)
		r = git_failed(error, r, "writing %zu bytes to the content store", length);
	pthread_mutex_unlock(&store->lock);
	if (r < 0)
		return r;
	git_oid_tostr(ret_id, STORE_ID, &id);
	return 0;
}

int store_write(struct store *store, const void *bytes, size_t length, char ret_id[static STORE_ID], struct pr_error *error)
{
	return store_write_object(store, GIT_OBJECT_BLOB, bytes, length, ret_id, error);
}

static int id_from_text(const char *id, git_oid *ret_id, struct pr_error *error)
{
	if (strlen(id) != STORE_ID - 1 || git_oid_fromstr(ret_id, id) < 0)
		return pr_error_set(error, EINVAL, "not an id of the content store");
	return 0;
}

int store_open_object(struct store *store, const char *id, struct store_object *ret_object, struct pr_error *error)
{
	git_oid oid;
	git_odb_object *object = NULL;
	int r = id_from_text(id, &oid, error);
	if (r < 0)
		return r;
	pthread_mutex_lock(&store->lock);
	r = git_odb_read(&object, store->odb, &oid);
	if (r < 0)
		r = git_failed(error, r, "reading %s from the content store", id);
	pthread_mutex_unlock(&store->lock);
	if (r < 0)
		return r;
	if (git_odb_object_type(object) != GIT_OBJECT_BLOB) {
		git_odb_object_free(object);
		return pr_error_set(error, EINVAL, "%s in the content store is no file's content", id);
	}
	*ret_object = (struct store_object){
		.object = object, .bytes = git_odb_object_data(object), .length = git_odb_object_size(object),
	};
	return 0;
}

void store_close_object(struct store_object *object)
{
	if (object->object)
		git_odb_object_free(object->object);
	object->object = NULL;
}

static int check_length(struct store *store, const char *id, struct pr_error *error)
{
	git_oid oid;
	size_t length = 0;
	git_object_t kind;
	int r = id_from_text(id, &oid, error);
	if (r < 0)
		return r;
	pthread_mutex_lock(&store->lock);
	r = git_odb_read_header(&length, &kind, store->odb, &oid);
	if (r < 0)
		r = git_failed(error, r, "reading %s from the content store", id);
	pthread_mutex_unlock(&store->lock);
	if (r == 0 && length > STORE_BLOB_MAX)
		r = pr_error_set(error, EFBIG, "%s in the content store has %zu bytes; the most is %llu", id, length,
				 (unsigned long long)STORE_BLOB_MAX);
	return r;
}

int store_read(struct store *store, const char *id, char **ret_bytes, size_t *ret_length, struct pr_error *error)
{
	int r = check_length(store, id, error);
	if (r < 0)
		return r;
	_cleanup_store_object_ struct store_object object = { 0 };
	r = store_open_object(store, id, &object, error);
	if (r < 0)
		return r;
	char *bytes = malloc(object.length + 1);
	if (!bytes)
		return pr_error_errno(error, ENOMEM, "reading %s from the content store", id);
	if (object.length > 0)
		memcpy(bytes, object.bytes, object.length);
	bytes[object.length] = '\0';
	*ret_bytes = bytes;
	*ret_length = object.length;
	return 0;
}

/* The commit that `reference` names, or NULL in `ret_parent` where there is no such reference. */
static int find_parent(struct store *store, const char *reference, git_commit **ret_parent)
{
	git_oid id;
	int r = git_reference_name_to_id(&id, store->repository, reference);
	if (r == GIT_ENOTFOUND) {
		*ret_parent = NULL;
		return 0;
	}
	return r < 0 ? r : git_commit_lookup(ret_parent, store->repository, &id);
}

static int write_commit(struct store *store, const git_oid *tree_id, const char *reference, const char *message,
			int64_t at_s, git_oid *ret_id)
{
	git_tree *tree = NULL;
	git_commit *parent = NULL;
	git_signature *who = NULL;

	int r = git_tree_lookup(&tree, store->repository, tree_id);
	if (r == 0)
		r = find_parent(store, reference, &parent);
	if (r == 0)
		r = git_signature_new(&who, "proctor", "proctor@localhost", at_s, 0);
	if (r == 0) {
		const git_commit *parents[] = { parent };
		r = git_commit_create(ret_id, store->repository, reference, who, who, "UTF-8", message, tree, parent ? 1 : 0,
				      parents);
	}
	git_signature_free(who);
	git_commit_free(parent);
	git_tree_free(tree);
	return r;
}

int store_commit(struct store *store, const char *tree, const char *reference, const char *message, int64_t at_s,
		 char ret_id[static STORE_ID], struct pr_error *error)
{
	git_oid tree_id, id;
	int r = id_from_text(tree, &tree_id, error);
	if (r < 0)
		return r;
	pthread_mutex_lock(&store->lock);
	r = write_commit(store, &tree_id, reference, message, at_s, &id);
	if (r < 0)
		r = git_failed(error, r, "committing to %s in the content store", reference);
	pthread_mutex_unlock(&store->lock);
	if (r < 0)
		return r;
	git_oid_tostr(ret_id, STORE_ID, &id);
	return 0;
}
