/*
 * Plain mode: one line of text for each event of the log, with a clock, never wrapped, without colour and
 * without control characters; after the last event a summary.
 *
 *     00:42  clamp        FAIL 0.0: patched: command 1 exited with 1, not as declared (0); charged to candidate
 *
 * No line of its own has a boundary that was found empty and was removed, and the end of a phase without a command
 * (prepare, collect) that took less than a second.
 *
 * The clock is minutes and seconds since the round was opened; time in which no core lived is not in it.
 * Pure: what is printed depends on the events alone.
 */
#ifndef TUI_PLAIN_H
#define TUI_PLAIN_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

#include <proctor/model.h>
#include <proctor/wire.h>

struct plain {
	int64_t base_ns;	/* mono of the last round.opened */
	int64_t before_ns;	/* what the clock showed then */
	int64_t now_ns;		/* what it shows */
	unsigned subject_width;	/* columns of what a line is about; 0: not known yet */
	uint64_t quiet_until;	/* events up to this number have no line: they were shown before */
};

#define PLAIN_INIT { 0, 0, 0, 0, 0 }

/*
 * Appends the lines of one event: `model` is the fold up to and with it, `line` its text as it stands in
 * the log (for the head of the chain).
 */
int plain_event(struct plain *plain, const struct pr_message *event, const char *line, size_t length,
		const struct pr_model *model, struct buffer *out);

#endif
