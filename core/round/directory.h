/*
 * A round's directory (docs/architecture.md, "Where a round lives"): made under a temporary name, given its
 * own by one rename once it is whole, so that a start that fails leaves nothing.
 *
 *     directory_make() ... fill it ... directory_publish()      or directory_discard()
 *     directory_open() takes one that is there (resume); -EBUSY where a live core holds it
 *     directory_release() closes; the directory stays
 *
 * A core that is killed before it is done leaves its temporary directory; directory_make() removes those of the
 * same parent whose lock is free.
 *
 * The lock (flock(2) on `lock`) is held as long as `lock_fd` is open: that is what "the round is live" means.
 */
#ifndef CORE_ROUND_DIRECTORY_H
#define CORE_ROUND_DIRECTORY_H

#include <limits.h>
#include <stdbool.h>

#include <proctor/error.h>

#define DIRECTORY_NAME 128

struct round_directory {
	char name[DIRECTORY_NAME];	/* NAME-YYYYMMDD-HHMMSS; empty until published */
	char path[PATH_MAX];
	int fd;
	int lock_fd;
};

#define ROUND_DIRECTORY_NONE ((struct round_directory){ .fd = -1, .lock_fd = -1 })

int directory_make(const char *name, struct round_directory *ret_directory, struct pr_error *error);
/* A temporary directory for a check of a round file, below $TMPDIR or /tmp: directory_discard() ends it. */
int directory_make_scratch(struct round_directory *ret_directory, struct pr_error *error);
int directory_publish(const char *name, struct round_directory *directory, struct pr_error *error);
void directory_discard(struct round_directory *directory);

/*
 * Removes what starts and checks that were killed left unfinished, here and below $TMPDIR. `ask`, with the path, before each
 * one: false leaves it. `tell` afterwards. Those of live cores are never among them.
 */
typedef bool directory_ask(void *context, const char *path);
typedef void directory_tell(void *context, const char *path, bool removed);
int directory_sweep(directory_ask *ask, directory_tell *tell, void *context, struct pr_error *error);

/* `round`: a full name, a bare name (its newest run), or a path. */
int directory_open(const char *round, struct round_directory *ret_directory, struct pr_error *error);
void directory_release(struct round_directory *directory);

/*
 * A reserve of space in the directory, given back when the disk is full, so that the last events of a
 * round still find room: directory_reserve() at start, directory_spend_reserve() once (0: there was one).
 */
int directory_reserve(const struct round_directory *directory);
int directory_spend_reserve(const struct round_directory *directory);

/* Removes a directory and all below it, without following links; errors are passed over. */
void directory_remove(const char *path);

#endif
