/*
 * What the keys do to the round: commands to its core, their answers, and the worker where no core answers.
 */
#ifndef TUI_FULL_STEER_H
#define TUI_FULL_STEER_H

#include <sys/types.h>

#include "tui/feed.h"
#include "tui/full/screen.h"
#include "tui/rounds.h"

#define STEER_ASKED 16
#define STEER_SILENCE_NS (2 * INT64_C(1000000000))	/* a command without an answer for so long: the core is silent */

struct steer {
	struct feed *feed;			/* lent */
	const struct round_place *place;	/* lent */
	struct screen *screen;			/* lent */
	unsigned sent;				/* commands so far; the newest is asked[(sent - 1) % STEER_ASKED] */
	struct asked {
		char id[PR_COMMAND_ID];		/* empty: none, or answered */
		enum pr_verb verb;
		char task[PR_TASK_ID];		/* empty: the round */
		int64_t at_ns;
	} asked[STEER_ASKED];
	enum verb unconfirmed;			/* asked about once; VERB_NONE: nothing */
	char task[PR_TASK_ID];			/* of an unconfirmed VERB_STOP_TASK */
	pid_t worker;				/* proctor-worker --stop; 0: none */
	int worker_fd;				/* poll it; -1: none */
	struct buffer proof;
};

#define STEER_INIT { .unconfirmed = VERB_NONE, .worker_fd = -1 }

void steer_release(struct steer *steer);

/* True where the verb was one of those that steer; a notice says what came of it, or why it is not done. */
bool steer_verb(struct steer *steer, enum verb verb);
/* Esc: false where nothing of the round's waited for it. */
bool steer_escape(struct steer *steer);
/* Answers, and control events; `news` where the event is none of the round's past. */
void steer_message(struct steer *steer, const struct pr_message *message, bool news);
/* The round took a turn, or its core came or went: what was said of it before is over, and so is what was asked. */
void steer_turned(struct steer *steer);
bool steer_waits(const struct steer *steer);	/* for an answer */
/* Time has passed, or the core came or went. True: something else is to be shown. */
bool steer_tick(struct steer *steer);
int64_t steer_due_ns(const struct steer *steer);	/* when it is worth a call; 0: never */
/* A core that was not connected is so again: what it has not answered is sent once more, which does no harm twice. */
void steer_reached(struct steer *steer);
void steer_worker_spoke(struct steer *steer);	/* worker_fd is readable */
/* Asks once: true the second time in a row. */
bool steer_confirm(struct steer *steer, enum verb verb, const char *question);
int steer_stop_round(struct steer *steer);	/* without asking */

#endif
