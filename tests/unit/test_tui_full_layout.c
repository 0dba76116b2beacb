/* The layout at every size: all areas and columns inside, none over another, none empty. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "tui/full/layout.h"

#define COLUMNS_MOST 300
#define ROWS_MOST 100

static void check_areas(int columns, int rows, const struct layout *layout)
{
	static unsigned char taken[ROWS_MOST];
	memset(taken, 0, sizeof taken);
	bool any = false;
	for (enum area area = 0; area < AREA_COUNT; area++) {
		const struct rect *rect = &layout->areas[area];
		if (!layout_has(layout, area)) {
			assert_int_equal(rect->columns, 0);
			continue;
		}
		any = true;
		assert_true(rect->columns >= 1 && rect->rows >= 1);
		assert_true(rect->x >= 0 && rect->y >= 0);
		assert_true(rect->x + rect->columns <= columns);
		assert_true(rect->y + rect->rows <= rows);
		/* Every area is as wide as the screen: rows alone can be shared. */
		assert_int_equal(rect->columns, columns);
		for (int y = rect->y; y < rect->y + rect->rows; y++) {
			assert_int_equal(taken[y], 0);
			taken[y] = 1;
		}
	}
	assert_true(any);
}

static void check_columns(const struct layout *layout)
{
	if (!layout_has(layout, AREA_BODY))
		return;
	const struct rect *body = &layout->areas[AREA_BODY];
	int end = body->x;
	for (enum column column = 0; column < COLUMN_COUNT; column++) {
		if (layout->column[column].columns == 0)
			continue;
		assert_true(layout->column[column].columns > 0);
		assert_true(layout->column[column].x >= end);
		end = layout->column[column].x + layout->column[column].columns;
		assert_true(end <= body->x + body->columns);
	}
	assert_true(layout->column[COLUMN_MARK].columns > 0);
	assert_true(layout->column[COLUMN_TASK].columns >= 8);
	assert_true(layout->column[COLUMN_PHASE].columns > 0);
}

static void test_every_size(void **state)
{
	(void)state;
	static const int widths[] = { 0, 1, 15, 36, 71 };
	for (int columns = 1; columns <= COLUMNS_MOST; columns++)
		for (int rows = 1; rows <= ROWS_MOST; rows++)
			for (int variant = 0; variant < 4 * (int)ELEMENTS(widths); variant++) {
				struct layout_wants wants = { .heading = variant & 1, .metered = variant & 2,
							      .task_width = widths[variant / 4], .message_rows = variant % 7 };
				struct layout layout;
				layout_of(columns, rows, &wants, &layout);
				check_areas(columns, rows, &layout);
				check_columns(&layout);
			}
}

static void test_small_is_a_summary(void **state)
{
	(void)state;
	static const int sizes[][2] = { { 1, 1 }, { 39, 12 }, { 40, 11 }, { 300, 11 }, { 39, 100 } };
	const struct layout_wants wants = { .heading = true, .message_rows = 1 };
	struct layout layout;
	for (size_t i = 0; i < ELEMENTS(sizes); i++) {
		layout_of(sizes[i][0], sizes[i][1], &wants, &layout);
		assert_true(layout_has(&layout, AREA_SUMMARY));
		assert_int_equal(layout.areas[AREA_SUMMARY].rows, sizes[i][1]);
		assert_false(layout_has(&layout, AREA_BODY));
	}
	layout_of(40, 12, &wants, &layout);
	assert_false(layout_has(&layout, AREA_SUMMARY));
	assert_true(layout_has(&layout, AREA_BODY) && layout_has(&layout, AREA_FOOTER) && layout_has(&layout, AREA_HEADER));
}

/* What a person reads first is there at the usual size, with a meter or without. */
static void test_usual_size_has_all(void **state)
{
	(void)state;
	struct layout_wants wants = { .heading = true, .message_rows = 1, .task_width = 15 };
	struct layout layout;
	layout_of(80, 24, &wants, &layout);
	for (enum column column = 0; column < COLUMN_COUNT; column++)
		assert_int_equal(layout.column[column].columns > 0, column != COLUMN_SPEND_BAR);
	wants.metered = true;
	layout_of(120, 40, &wants, &layout);
	for (enum column column = 0; column < COLUMN_COUNT; column++)
		assert_true(layout.column[column].columns > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_size),
		cmocka_unit_test(test_small_is_a_summary),
		cmocka_unit_test(test_usual_size_has_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
