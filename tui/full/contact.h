/*
 * The contact with the core: whether it is there, whether it speaks, and reaching it again where it was not or has hung
 * up. A core that stands still (SIGSTOP, a machine that swaps) keeps its socket: we stay connected, say that it is
 * silent, and go on where we were once it speaks. Nothing here waits.
 */
#ifndef TUI_FULL_CONTACT_H
#define TUI_FULL_CONTACT_H

#include <stdbool.h>
#include <stdint.h>

#include "tui/feed.h"
#include "tui/full/screen.h"
#include "tui/rounds.h"

#define CONTACT_SILENCE_NS (5 * INT64_C(1000000000))	/* while tasks run, a core speaks once a second */
#define CONTACT_AWAY_NS (2 * INT64_C(1000000000))	/* a core that is there says hello at once */
#define CONTACT_RETRY_NS (INT64_C(1000000000) / 2)

struct contact {
	struct feed *feed;			/* lent */
	const struct round_place *place;	/* lent */
	struct screen *screen;			/* lent: live, silent, ended, heard_ns, core are kept there */
	int64_t away_ns;			/* since when it is not connected */
	int64_t tried_ns;			/* when it was last tried to reach it */
};

/* Opens the log and begins to reach the core, if there is one. */
int contact_open(struct contact *contact, struct pr_error *error);

/*
 * Something may have come or gone. 1: the core can be spoken to since just now; 0; a fault: it speaks another protocol.
 * `ret_changed` is set where something else is to be shown, else left.
 */
int contact_look(struct contact *contact, bool *ret_changed, struct pr_error *error);

/* It has said something. */
void contact_heard(struct contact *contact, int64_t now_ns);
/* It was listened to until now, and had said nothing. True: that is silence, since just now. */
bool contact_quiet(struct contact *contact, int64_t now_ns);

int64_t contact_due_ns(const struct contact *contact);	/* when contact_look() or _quiet() is worth a call; 0: never */

#endif
