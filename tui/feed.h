/*
 * The events of a round in order, each once, from wherever they are to be had: what happened before we
 * came from the log, what happens from the core, and what the core dropped because we were slow from the
 * log again (an event is in the log before it is on the wire).
 */
#ifndef TUI_FEED_H
#define TUI_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/record/log.h"
#include "tui/link.h"
#include "tui/rounds.h"

struct feed {
	struct link link;	/* fd -1: there is no core, the log is all */
	struct log_reader *log;
	uint64_t next;		/* the event to hand out next */
	uint64_t known;		/* the log holds events up to here, at least */
	unsigned waited;	/* how often the log did not hold what it should */
	bool over;		/* nothing more will come */
	bool greeting;		/* connected by feed_reach(); the core has not said hello yet */
	bool ephemeral;		/* hand out progress and tail too, once all that happened was handed out */
};

#define FEED_INIT { .link = LINK_INIT, .next = 1 }

/*
 * Opens the log, and the connection where a core is live. A core that goes away in between is no fault:
 * the log is then all there is.
 */
int feed_open(struct feed *feed, const struct round_place *place, struct pr_error *error);
void feed_release(struct feed *feed);

/*
 * The same for those who must not wait: the log alone; then a connection, which may be tried again at any time, also
 * after the core was silent or has cut us off; and, whenever it is readable, whether the core has said hello: 1 once it
 * has (the events go on from where they were, `over` or not), 0 not yet. A failure leaves no link.
 */
int feed_open_log(struct feed *feed, const struct round_place *place, struct pr_error *error);
int feed_reach(struct feed *feed, const struct round_place *place, struct pr_error *error);
int feed_greeted(struct feed *feed, const struct round_place *place, struct pr_error *error);

/*
 * 1: the next event of the log, or an answer to a command of ours (pr_message_release), its line lent until the next call; 0: none yet (poll the link, see
 * feed_wait_ms), or none any more (`over`).
 */
int feed_next(struct feed *feed, struct pr_message *ret_event, const char **ret_line, size_t *ret_length,
	      struct pr_error *error);

/* Events are known that were not handed out yet. */
bool feed_is_behind(const struct feed *feed);

/* How long to poll before feed_next() is worth another call, in ms; -1: until the link has something. */
int feed_wait_ms(const struct feed *feed);

#define _cleanup_feed_ __attribute__((cleanup(feed_release)))

#endif
