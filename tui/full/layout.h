/*
 * The layout: a pure function from the size of the terminal and what is to be shown to rectangles.
 *
 *     header                          what round, how it goes
 *     status                          counts
 *     rule                            from 18 rows on
 *     heading                         names of columns, where the view has some
 *     body
 *     rule
 *     message                         1 to 4 rows: the stop key, words to the owner, or counts
 *     footer                          keys
 *
 * Below 40 columns or 12 rows: a summary, whatever fits of it, and nothing else. An area that is not there has no rows. All
 * others lie inside, overlap nothing, and hold at least one cell; so do the columns within the body.
 */
#ifndef TUI_FULL_LAYOUT_H
#define TUI_FULL_LAYOUT_H

#include <stdbool.h>

#include "tui/full/canvas.h"

#define LAYOUT_COLUMNS_MIN 40
#define LAYOUT_ROWS_MIN 12
#define LAYOUT_MESSAGE_ROWS 4

enum area {
	AREA_SUMMARY,
	AREA_HEADER,
	AREA_STATUS,
	AREA_RULE_ABOVE,
	AREA_HEADING,
	AREA_BODY,
	AREA_RULE_BELOW,
	AREA_MESSAGE,
	AREA_FOOTER,
	AREA_COUNT
};

/* The columns of the tasks. X(identifier, "heading", aligned to the right) */
#define COLUMNS(X) \
	X(COLUMN_MARK, "", false) \
	X(COLUMN_TASK, "task", false) \
	X(COLUMN_PHASE, "phase", false) \
	X(COLUMN_BAR, "wall clock", false) \
	X(COLUMN_CLOCK, "", true) \
	X(COLUMN_SPEND_BAR, "spend", false) \
	X(COLUMN_SPEND, "", true) \
	X(COLUMN_IDLE, "idle", true) \
	X(COLUMN_REFUSED, "refused", true) \
	X(COLUMN_VERDICT, "verdict", false)

enum column {
#define X(identifier, heading, right) identifier,
	COLUMNS(X)
#undef X
	COLUMN_COUNT
};

struct layout_wants {
	bool heading;
	int task_width;		/* of the longest name of a task */
	bool metered;		/* there are figures of spend */
	int message_rows;	/* 1 ... LAYOUT_MESSAGE_ROWS */
};

struct layout {
	struct rect areas[AREA_COUNT];
	struct {
		int x, columns;	/* in the screen's coordinates; columns 0: not there */
	} column[COLUMN_COUNT];
};

void layout_of(int columns, int rows, const struct layout_wants *wants, struct layout *ret_layout);

static inline bool layout_has(const struct layout *layout, enum area area)
{
	return layout->areas[area].rows > 0;
}

#endif
