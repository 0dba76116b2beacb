/*
 * Ids (formats, 1): PREFIX "-" hex(sha256(canonical(what counts of the object))).
 *
 * One table says for each artefact its prefix and what counts: everything but the id's own member
 * (snapshot, finding, patch, reward, task), or a list of members alone (episode, trace and its events,
 * test command). Members beside a list do not move the id; a listed one that is missing is left out, as in the
 * reference evaluator (whether it may be missing is the caller's to know).
 */
#ifndef CORE_RECORD_IDENTITY_H
#define CORE_RECORD_IDENTITY_H

#include "core/record/json.h"

/* X(identifier, "kind", "prefix", "the id's own member") */
#define IDENTITIES(X) \
	X(IDENTITY_SNAPSHOT, "snapshot", "snap-", "snapshot_id") \
	X(IDENTITY_FINDING, "finding", "finding-", "finding_id") \
	X(IDENTITY_PATCH, "patch", "patch-", "patch_id") \
	X(IDENTITY_TRACE, "trace", "trace-", "trace_id") \
	X(IDENTITY_REWARD, "reward", "rew-", "reward_id") \
	X(IDENTITY_TASK, "task", "task-", "task_id") \
	X(IDENTITY_EPISODE, "episode", "episode-", "episode_id") \
	X(IDENTITY_COMMAND, "command", "cmd-", "command_id")

enum identity {
#define X(identifier, kind, prefix, member) identifier,
	IDENTITIES(X)
#undef X
	IDENTITY_COUNT
};

#define IDENTITY_SIZE 80	/* the longest id and its NUL ("episode-" and 64 digits: 73) */

/* The name in "kind", the prefix with its dash, the member that holds the id. */
const char *identity_kind(enum identity identity);
const char *identity_prefix(enum identity identity);
const char *identity_member(enum identity identity);

/*
 * The id of an object. -EBADMSG: not an object, or a member that the id needs is missing or of the wrong
 * kind (error names it); -ELOOP, -ENOMEM as canonical_write().
 */
int identity_of(enum identity identity, const struct json *object, char ret_id[static IDENTITY_SIZE],
		struct pr_error *error);

/* 0 where the object's own id member is what identity_of() says; -EBADMSG otherwise. */
int identity_check(enum identity identity, const struct json *object, struct pr_error *error);

/* Computes the id and sets the object's id member. `ret_id` may be NULL. */
int identity_seal(enum identity identity, struct json *object, char ret_id[IDENTITY_SIZE], struct pr_error *error);

/* True for PREFIX and 64 lower case hexadecimal digits. */
bool identity_well_formed(enum identity identity, const char *id);

/* The token as it counts in `command` of a trace and in a V1 test command: an absolute one is its base name. */
const char *identity_token(const char *token);

#endif
