/* What the files of this room that call libgit2 share. No other room includes this. */
#ifndef CORE_WORKSPACE_GIT_H
#define CORE_WORKSPACE_GIT_H

#include <git2.h>
#include <pthread.h>
#include <stdbool.h>

#include "core/workspace/store.h"

/*
 * Starts libgit2 once a process, without any configuration but a repository's own: every search path and the
 * home directory are emptied, object creation is strict. Owner validation stays on. Negative errno on failure.
 */
int git_start(struct pr_error *error);

/* Sets the error from libgit2's last one; `result` is what the call answered. Returns a negative errno. */
int git_failed(struct pr_error *error, int result, const char *format, ...) __attribute__((format(printf, 3, 4)));

/*
 * A name that a git client might take for a repository, on any file system: `.git` in any case, with HFS+'s ignorable
 * characters or NTFS's trailing dots, spaces and streams, or as a short name (git~1). One path component.
 */
bool git_name_is_repository(const char *component, size_t length);

/* Any component of a path is one. */
bool git_path_holds_repository(const char *path);

struct store {
	git_repository *repository;
	git_odb *odb;
	pthread_mutex_t lock;	/* held over every call on the two above */
};

/* Writes one object of any kind; takes the lock. */
int store_write_object(struct store *store, git_object_t kind, const void *bytes, size_t length,
		       char ret_id[static STORE_ID], struct pr_error *error);

/* A blob as libgit2 holds it: no copy and one look-up less than store_read, for ids that we wrote ourselves. */
struct store_object {
	git_odb_object *object;
	const void *bytes;
	size_t length;
};
int store_open_object(struct store *store, const char *id, struct store_object *ret_object, struct pr_error *error);
void store_close_object(struct store_object *object);

#define _cleanup_store_object_ __attribute__((cleanup(store_close_object)))

#endif
