/*
 * The stop key: `S` freezes at once, `S` again stops and shows the proof, `Esc` thaws. A state machine without
 * a terminal and without a socket: it says what to send, and is told what came of it.
 *
 *     none --S--> freezing --answer--> frozen --S--> stopping --answer--> stopped
 *       ^             |   (silence)------^  |            |  (silence, or no core)
 *       +----Esc------+---------------------+            +--> by the worker --> stopped, or failed
 *       +-- thawed by another, core gone ---+
 *
 * Stopped is the end of it: no key leads away from a proof that nothing remains. Another's stop leads there too, and
 * another's freeze leaves its figures.
 */
#ifndef TUI_FULL_STOPKEY_H
#define TUI_FULL_STOPKEY_H

#include <stdbool.h>
#include <stdint.h>

#include "tui/full/canvas.h"

#include <proctor/model.h>

#define STOPKEY_FREEZE_NS (2 * INT64_C(1000000000))	/* silence after which the core is said not to answer; since the first S */
#define STOPKEY_STOP_NS (10 * INT64_C(1000000000))	/* of a core that answered; as the stop command has it: a stop can rightly take long */

struct json_object;

/* How it stands with the core. */
enum stop_core {
	STOP_CORE_AWAY,		/* no connection */
	STOP_CORE_THERE,	/* connected, as far as is known */
	STOP_CORE_DEAD,		/* its process has ended, and with it all that it ran */
};

enum stop_stage {
	STOP_NONE,
	STOP_FREEZING,
	STOP_FROZEN,
	STOP_STOPPING,
	STOP_BY_WORKER,
	STOP_STOPPED,
	STOP_FAILED,
};

struct stopkey {
	enum stop_stage stage;
	int64_t asked_ns;
	int64_t due_ns;		/* when patience with the core ends; of STOP_FREEZING and STOP_STOPPING */
	bool silent;		/* the core did not answer in time, or there is none */
	bool sent;		/* a freeze of ours is on its way, or was answered */
	bool alone;		/* stopped without the core, which has said nothing since */
	bool figures;		/* of freeze or stop, below; of STOP_NONE: of a freeze by another */
	double ms;
	int64_t processes, runs, killed, remaining, removed;
	int64_t core;		/* pid of a core that was still there after a stop without it; told while `alone` */
	char why[512];		/* of STOP_FAILED */
};

#define STOPKEY_INIT { .stage = STOP_NONE }

/* What the caller is to do. */
enum stop_action { STOP_DO_NOTHING, STOP_DO_FREEZE, STOP_DO_THAW, STOP_DO_STOP, STOP_DO_WORKER };

enum stop_action stopkey_press(struct stopkey *key, const struct pr_model *model, enum stop_core core, int64_t now_ns);	/* S */
enum stop_action stopkey_escape(struct stopkey *key, const struct pr_model *model, enum stop_core core);
/* Time has passed, the model changed, or the core came or went. */
enum stop_action stopkey_tick(struct stopkey *key, const struct pr_model *model, enum stop_core core, int64_t now_ns);
/* It is stopped, nothing remains, and the proof stands. */
bool stopkey_is_proven(const struct stopkey *key);
/* The round goes on by a resume: what was proven is over. */
void stopkey_resumed(struct stopkey *key);
/* The core has said something, whatever it was. */
void stopkey_heard(struct stopkey *key);
/* An answer of the core to a freeze or stop of ours, or a control event of the log: a first one without figures, then one with. */
void stopkey_figures(struct stopkey *key, const char *verb, bool answer, struct json_object *figures);
void stopkey_refused(struct stopkey *key, const char *verb, const char *message);
/* proctor-worker has ended. */
void stopkey_worker_done(struct stopkey *key, int exit_code, struct json_object *proof);

/* When stopkey_tick() is worth a call, monotonic; 0: never. */
int64_t stopkey_due_ns(const struct stopkey *key);

/* "FROZEN", with the figures where they are known. */
void stopkey_frozen(const struct stopkey *key, char *ret_words, size_t size);

/*
 * What is shown, its role, and the keys that go with it (a constant, may be empty). Empty words: nothing. `round` is its
 * full name.
 */
void stopkey_words(const struct stopkey *key, const struct pr_model *model, const char *round, char *ret_words, size_t size,
		   enum role *ret_role, const char **ret_keys);

#endif
