/*
 * Showing a round: the loop of `run`, `watch` and `wait`. It folds the events of a feed, displays them,
 * asks at the gate where it was told to, and knows what to do when it is cut off.
 */
#ifndef TUI_SHOW_H
#define TUI_SHOW_H

#include <stdbool.h>
#include <stdint.h>

#include <proctor/error.h>

#include "tui/display.h"
#include "tui/rounds.h"

/* What this program is to the round. */
enum show_role {
	SHOW_WATCHER,		/* looks on; when cut off it ends, as any program does */
	SHOW_STARTER,		/* started the round and leaves it running when cut off */
	SHOW_ATTACHED,		/* started the round and ends it when cut off */
};

struct show_settings {
	enum display_mode display;
	enum show_role role;
	bool control;		/* the keys of the screen act on the round */
	uint64_t quiet_until;	/* plain lines begin after the event of this number: a resume shows what is new */
	bool asks;		/* the owner is to be asked when the round waits at its gate */
};

/*
 * Shows a round until it is over. Returns the exit code of docs/commands.md: by the round's end, EXIT_DONE
 * where it detached, EXIT_REFUSED (with `error` set) where the round is not going to end.
 */
int show_round(const struct round_place *place, const struct show_settings *settings, struct pr_error *error);

/* There is a terminal to ask the owner on. */
bool show_can_ask(void);

/* The exit code for a round that is over. */
int show_exit_code(const struct pr_model *model);

#endif
