/*
 * Content store: the round's bare git repository (episodes.git), by libgit2.
 *
 * Only buffers go in and come out; libgit2 never opens a path that a candidate could write, its search
 * paths are emptied, and no working directory exists. A store may be used from several threads at once
 * as long as each call's arguments are its own (an internal lock serialises the object database).
 */
#ifndef CORE_WORKSPACE_STORE_H
#define CORE_WORKSPACE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include <proctor/error.h>

#define STORE_ID 41	/* 40 hexadecimal digits of a git object id and a NUL */

struct store;

/* Opens, or creates where there is none, a bare repository at `path`. */
int store_open(const char *path, struct store **ret_store, struct pr_error *error);
void store_free(struct store *store);

/* Writes one blob. `ret_id` is untouched on failure. */
int store_write(struct store *store, const void *bytes, size_t length, char ret_id[static STORE_ID], struct pr_error *error);

/*
 * Reads one blob whole: heap bytes for the caller, NUL-terminated beyond `*ret_length`. -ENOENT: it is not there;
 * -EFBIG: larger than STORE_BLOB_MAX (no bytes are read then).
 */
#define STORE_BLOB_MAX UINT64_C(268435456)
int store_read(struct store *store, const char *id, char **ret_bytes, size_t *ret_length, struct pr_error *error);

/*
 * Writes a commit of `tree` (tree_write_object) and moves `reference` ("refs/heads/main") to it; the parent is where the
 * reference stood, none where it did not exist. Author and committer are "proctor", the time is `at_s` (seconds since
 * the epoch), so that equal input gives an equal id.
 */
int store_commit(struct store *store, const char *tree, const char *reference, const char *message, int64_t at_s,
		 char ret_id[static STORE_ID], struct pr_error *error);

#endif
