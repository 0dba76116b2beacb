/*
 * The screen: everything that is shown beside the model, and how both become cells. A pure function of this
 * struct and a size: no terminal, no clock, no file.
 *
 *     screen_draw(&screen, columns, rows, charset, &canvas)
 *
 * A view is a table of functions (views/). What all views share, the header, the counts, the message and the
 * footer, is drawn here.
 */
#ifndef TUI_FULL_SCREEN_H
#define TUI_FULL_SCREEN_H

#include <proctor/model.h>

#include "tui/full/canvas.h"
#include "tui/full/evidence.h"
#include "tui/full/keys.h"
#include "tui/full/layout.h"
#include "tui/full/rows.h"
#include "tui/full/stopkey.h"

enum view_id { VIEW_TASKS, VIEW_TASK, VIEW_HELP, VIEW_COUNT };

struct screen {
	const struct pr_model *model;	/* lent */
	const char *round;		/* its full name, before the model knows it; lent */
	int64_t now_ns, frozen_ns;	/* the monotonic clock; how long of it the round stood still */
	char head[65];			/* digest of the last event's line; empty: not told */
	bool live;			/* a core has said hello, and has not hung up */
	bool silent;			/* it has said nothing for longer than it would; what is shown is as it was then */
	int64_t heard_ns;		/* when it last said something, monotonic */
	int64_t core;			/* its pid; 0: not known */
	char unanswered[160];		/* the verbs that were sent and wait for a core that is silent; empty: none */
	bool ended;			/* the core is gone, the log is read to its end */
	bool control;			/* may steer the round */
	struct stopkey stop;
	const struct evidence *evidence;	/* of the selected task, for VIEW_TASK; NULL: not read yet; lent */

	enum view_id view;
	char selected[PR_TASK_ID];	/* empty: none yet */
	bool on_fold;			/* the line of the folded queue is selected */
	bool moved;			/* by the owner; until then the first line is selected */
	bool unfolded;
	int scroll[VIEW_COUNT];		/* the first line shown */
	bool follow[VIEW_COUNT];	/* the end stays in sight, until the owner moves up */
	int page;			/* rows of the body when last drawn */
	/*
	 * Words to the owner; empty: none. A notice answers a key, or tells what became of it: the next key ends it, and so
	 * does a turn of the round by whomever. A fault of the owner's own files waits until it has been seen.
	 */
	char notice[1024], fault[1100];
	bool fault_seen;		/* when last drawn */
	struct rows rows;		/* as last drawn */
	struct layout layout;
};

#define SCREEN_INIT { .stop = STOPKEY_INIT }

void screen_release(struct screen *screen);

int screen_draw(struct screen *screen, int columns, int rows, enum pr_charset charset, struct canvas *canvas);

/* What moves in the screen alone: true where the verb was one of those. */
bool screen_verb(struct screen *screen, enum verb verb);

/* Where the keys work now: a set of enum scope. */
unsigned screen_scope(const struct screen *screen);

const struct pr_task *screen_task(const struct screen *screen);	/* the selected one, or NULL */
int64_t screen_elapsed_ms(const struct screen *screen);
bool screen_clock_runs(const struct screen *screen);
bool screen_at_gate(const struct screen *screen);
/* What ran does not run any more, and no verdict tells of it: the core is dead, or was passed over by the stop key. */
bool screen_cut_off(const struct screen *screen);
enum stop_core screen_core(const struct screen *screen);
/* A key was pressed: what stands there was read. */
void screen_read(struct screen *screen);
void screen_notice(struct screen *screen, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* How a task's state looks; the word stands wherever the colour does. */
struct state_look {
	const char *word, *mark;
	enum role role;
};
struct state_look task_look(const struct screen *screen, const struct pr_task *task, enum pr_charset charset);
/* "pass 1.0", "INVALID 0.0", "error -". */
void verdict_words(const struct pr_task *task, char *ret_words, size_t size);

struct view {
	unsigned scope;
	bool heading;
	void (*draw)(struct screen *screen, struct canvas *canvas);
	bool (*verb)(struct screen *screen, enum verb verb);
};

extern const struct view view_tasks, view_task, view_help;

/* Moves the scroll of a view without a selection. */
bool screen_scroll(struct screen *screen, enum verb verb);

#endif
