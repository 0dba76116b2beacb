/*
 * The pace of a screen: when the next frame is due, and until when the core's words are left in the socket. A machine
 * without a clock, a terminal or a socket of its own.
 *
 * After quiet, a change is painted at once. Where changes go on, they are taken and painted together: after 0.1 s, then
 * twice as long, up to half a second, and longer only where the budget of bytes is used up. Not one waking an event, and
 * none for what the line would not carry. What a core keeps for a watcher is bounded (core/round/control.h): the more
 * came at once, the sooner it is looked at again.
 */
#ifndef TUI_FULL_PACE_H
#define TUI_FULL_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACE_FRAME_NS INT64_C(100000000)	/* between two frames, at least */
#define PACE_REST_NS INT64_C(500000000)		/* between two looks at a core that goes on talking, at most; */
#define PACE_REST_MOST_NS INT64_C(1000000000)	/* and where a frame waits for its budget */
#define PACE_REST_LEAST_NS INT64_C(10000000)
#define PACE_REST_BYTES 131072			/* what may wait to be taken at once: half of what a core keeps */
#define PACE_BUDGET_BYTES 4000			/* of frames that no key asked for: at once, */
#define PACE_BUDGET_RATE 1900			/* and a second */

struct pace {
	int64_t painted_ns;		/* when; 0: never */
	int64_t taken_ns;		/* when the core's words were last taken */
	int64_t rest_ns;		/* how long it is left alone after that, */
	int64_t most_ns;		/* and at most */
	int64_t budget_ns;		/* when the budget was counted */
	double budget;
};

#define PACE_INIT { .rest_ns = PACE_FRAME_NS, .most_ns = PACE_FRAME_NS, .budget = PACE_BUDGET_BYTES }

/* So many bytes of the core's were taken now; 0: it had said nothing, and it is quiet again. */
void pace_took(struct pace *pace, size_t bytes, int64_t now_ns);
/* A frame of so many bytes was painted now; `asked`: for a key, which costs no budget. */
void pace_painted(struct pace *pace, long bytes, bool asked, int64_t now_ns);

/* When a frame that nobody asked for is due. */
int64_t pace_frame_ns(const struct pace *pace);
/* Until when the core is to be left alone; `waits`: there is something to paint already. 0: it is to be listened to. */
int64_t pace_rest_ns(const struct pace *pace, bool waits);

#endif
