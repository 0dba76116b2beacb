/*
 * The rounds of this machine's user: where they are, which one a word on the command line means, and what
 * state each is in. Reads directories and logs; writes nothing.
 */
#ifndef TUI_ROUNDS_H
#define TUI_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/digest.h"

#include <proctor/error.h>
#include <proctor/model.h>

/* One run of a round. */
struct round_place {
	char name[256];		/* its full name: NAME-YYYYMMDD-HHMMSS */
	char dir[4096];
	bool elsewhere;		/* given as a path outside of the rounds' directory */
};

/* Names, newest first: by the stamp at their end, then by name. Heap, rounds_release(). */
struct rounds {
	struct round_place *list;
	size_t count;
};

int rounds_read(struct rounds *ret_rounds, struct pr_error *error);
void rounds_release(struct rounds *rounds);

/*
 * The run that `word` means: a full name, a bare name for its newest run, or a path (what holds a `/`, or
 * is `.`). NULL: the newest of all. -ENOENT names what is near.
 */
int rounds_resolve(const char *word, struct round_place *ret_place, struct pr_error *error);

/* The same, among rounds at hand. */
int rounds_find(const struct rounds *rounds, const char *word, struct round_place *ret_place, struct pr_error *error);

/* The path of a run's control socket, and of its log. */
int round_socket(const struct round_place *place, char *ret_path, size_t size, struct pr_error *error);
int round_log(const struct round_place *place, char *ret_path, size_t size, struct pr_error *error);

/* A live core holds the run's lock. */
bool round_is_live(const struct round_place *place);

/* Folds the whole log of a run; the model is the caller's to release, also after a failure. `ret_head`: of its last line. */
int round_fold(const struct round_place *place, struct pr_model *ret_model, char ret_head[static DIGEST_HEX],
	       struct pr_error *error);

/* X(identifier, "name"): the state of a run, for its owner. */
#define ROUND_STATES(X) \
	X(ROUND_WAITING, "waiting") \
	X(ROUND_RUNNING, "running") \
	X(ROUND_HELD, "held") \
	X(ROUND_FROZEN, "frozen") \
	X(ROUND_DRAINING, "draining") \
	X(ROUND_FINISHED, "finished") \
	X(ROUND_STOPPED, "stopped") \
	X(ROUND_REFUSED, "refused") \
	X(ROUND_FAILED, "failed") \
	X(ROUND_INTERRUPTED, "interrupted")

enum round_state {
#define X(identifier, name) identifier,
	ROUND_STATES(X)
#undef X
	ROUND_STATE_COUNT
};

const char *round_state_name(enum round_state state);
enum round_state round_state_of(const struct pr_model *model, bool live);

#define _cleanup_rounds_ __attribute__((cleanup(rounds_release)))

#endif
