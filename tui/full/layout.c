/* The rectangles of layout.h. Pure; draws nothing. */
#include "tui/full/layout.h"

#include "core/base/cleanup.h"

#define RULES_FROM_ROWS 18
#define TASK_LEAST 8
#define TASK_MOST 36
#define BAR_LEAST 6
#define BAR_MOST 20
#define MARK_COLUMNS 3		/* the selection, the state, a blank */

/*
 * What goes into a row, in the order in which room is given: the task's name always, then these, each with its gap.
 * The last ones are for wide terminals.
 */
static const struct step {
	enum column column;
	int columns, metered_columns;	/* 0: not without a meter, or not with one */
} steps[] = {
	{ COLUMN_PHASE, 8, 8 },
	{ COLUMN_CLOCK, 13, 13 },
	{ COLUMN_VERDICT, 11, 11 },
	{ COLUMN_REFUSED, 7, 7 },
	{ COLUMN_IDLE, 5, 5 },
	{ COLUMN_BAR, BAR_LEAST, BAR_LEAST },
	{ COLUMN_SPEND, 5, 13 },
	{ COLUMN_SPEND_BAR, 0, BAR_LEAST },
};

static int least(int one, int other)
{
	return one < other ? one : other;
}

static void place_columns(struct layout *layout, const struct layout_wants *wants)
{
	const struct rect *body = &layout->areas[AREA_BODY];
	int wanted = wants->task_width < TASK_LEAST ? TASK_LEAST : least(wants->task_width, TASK_MOST);
	int gap = body->columns >= 100 ? 2 : 1, widths[COLUMN_COUNT] = { [COLUMN_MARK] = MARK_COLUMNS };
	int room = body->columns - MARK_COLUMNS - TASK_LEAST;
	for (size_t i = 0; i < ELEMENTS(steps); i++) {
		int columns = wants->metered ? steps[i].metered_columns : steps[i].columns;
		/* A column of little worth does not stand where the names would be cut for it. */
		int need = columns + gap + (i > 1 ? wanted - TASK_LEAST : 0);
		if (columns == 0 || need > room)
			continue;
		widths[steps[i].column] = columns;
		room -= columns + gap;
	}
	widths[COLUMN_TASK] = least(wanted, TASK_LEAST + room);
	/* Bars grow with the room that is left. */
	room -= widths[COLUMN_TASK] - TASK_LEAST;
	int bars = (widths[COLUMN_BAR] > 0) + (widths[COLUMN_SPEND_BAR] > 0);
	int more = bars ? least(room / bars, BAR_MOST - BAR_LEAST) : 0;
	int x = body->x;
	for (enum column column = 0; column < COLUMN_COUNT; column++) {
		if (widths[column] && (column == COLUMN_BAR || column == COLUMN_SPEND_BAR))
			widths[column] += more;
		layout->column[column].x = x;
		layout->column[column].columns = widths[column];
		if (widths[column])
			x += widths[column] + (column == COLUMN_MARK ? 0 : gap);
	}
}

void layout_of(int columns, int rows, const struct layout_wants *wants, struct layout *ret_layout)
{
	*ret_layout = (struct layout){ 0 };
	struct rect *areas = ret_layout->areas;
	if (columns < LAYOUT_COLUMNS_MIN || rows < LAYOUT_ROWS_MIN) {
		areas[AREA_SUMMARY] = (struct rect){ 0, 0, columns, rows };
		return;
	}
	int message = wants->message_rows < 1 ? 1 : least(wants->message_rows, LAYOUT_MESSAGE_ROWS);
	int heights[AREA_COUNT] = {
		[AREA_HEADER] = 1,
		[AREA_STATUS] = 1,
		[AREA_RULE_ABOVE] = rows >= RULES_FROM_ROWS,
		[AREA_HEADING] = wants->heading,
		[AREA_RULE_BELOW] = rows >= RULES_FROM_ROWS,
		[AREA_MESSAGE] = message,
		[AREA_FOOTER] = 1,
	};
	int y = 0, used = 0;
	for (enum area area = 0; area < AREA_COUNT; area++)
		used += heights[area];
	heights[AREA_BODY] = rows - used;
	for (enum area area = 0; area < AREA_COUNT; area++) {
		areas[area] = (struct rect){ 0, y, heights[area] ? columns : 0, heights[area] };
		y += heights[area];
	}
	place_columns(ret_layout, wants);
}
