/* Cells: what is drawn stays in its rectangle and is printable, and two frames are told apart by what they show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <locale.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "tui/full/canvas.h"
#include "tui/full/glyphs.h"

static struct canvas fresh(int columns, int rows, enum pr_charset charset)
{
	struct canvas canvas = CANVAS_INIT;
	assert_int_equal(canvas_reset(&canvas, columns, rows, charset), 0);
	return canvas;
}

static void assert_row(const struct canvas *canvas, int row, const char *expected)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	assert_int_equal(canvas_text(canvas, &text), 0);
	const char *line = text.data;
	for (int i = 0; i < row; i++)
		line = strchr(line, '\n') + 1;
	size_t length = strcspn(line, "\n");
	if (length != strlen(expected) || memcmp(line, expected, length) != 0)
		fail_msg("row %d is \"%.*s\", not \"%s\"", row, (int)length, line, expected);
}

static void test_text_stays_in_its_rectangle(void **state)
{
	(void)state;
	struct canvas canvas = fresh(10, 3, PR_CHARSET_UTF8);
	for (int x = 0; x < 10; x++)
		for (int y = 0; y < 3; y++)
			canvas_cell(&canvas, x, y)->bytes[0] = '#';
	struct pen pen = pen_at(&canvas, (struct rect){ 2, 1, 5, 1 }, 0, ROLE_PASS);
	pen_text(&pen, "much too long", 0);
	pen_text(&pen, "more", 0);
	assert_row(&canvas, 0, "##########");
	assert_row(&canvas, 1, "##mu...###");
	assert_row(&canvas, 2, "##########");
	assert_int_equal(canvas_cell(&canvas, 2, 1)->role, ROLE_PASS);
	assert_int_equal(canvas_cell(&canvas, 7, 1)->role, ROLE_TEXT);
	/* A row that is not in the rectangle takes nothing. */
	pen = pen_at(&canvas, (struct rect){ 0, 0, 10, 1 }, 1, ROLE_PASS);
	pen_text(&pen, "x", 0);
	assert_row(&canvas, 1, "##mu...###");
	canvas_release(&canvas);
}

static void test_wide_characters_keep_their_columns(void **state)
{
	(void)state;
	struct canvas canvas = fresh(6, 2, PR_CHARSET_UTF8);
	struct pen pen = pen_at(&canvas, (struct rect){ 0, 0, 5, 2 }, 0, ROLE_TEXT);
	pen_text(&pen, "\u4e2d\u6587", 0);
	assert_int_equal(canvas_cell(&canvas, 0, 0)->width, 2);
	assert_int_equal(canvas_cell(&canvas, 1, 0)->width, 0);
	assert_string_equal(canvas_cell(&canvas, 2, 0)->bytes, "\u6587");
	/* One column is left: no half of a character. */
	pen_text(&pen, "\u4e2d", 0);
	assert_string_not_equal(canvas_cell(&canvas, 4, 0)->bytes, "\u4e2d");
	assert_int_equal(canvas_cell(&canvas, 5, 0)->width, 1);
	canvas_release(&canvas);
}

static void test_ascii_has_no_other(void **state)
{
	(void)state;
	struct canvas canvas = fresh(30, 1, PR_CHARSET_ASCII);
	struct rect all = { 0, 0, 30, 1 };
	struct pen pen = pen_at(&canvas, all, 0, ROLE_TEXT);
	draw_bar(&pen, 10, 5, 10, ROLE_BAR);
	pen_text(&pen, "\u4e2d", 0);
	assert_row(&canvas, 0, "#####.....\\u4e2d");
	canvas_release(&canvas);
}

static void test_bars(void **state)
{
	(void)state;
	static const struct {
		int64_t part, whole;
		const char *expected;
	} bars[] = {
		{ 0, 10, "...." }, { 1, 1000, "#..." }, { 5, 10, "##.." }, { 10, 10, "####" }, { 99, 10, "####" }, { 3, 0, "...." },
		{ -5, 10, "...." }, { INT64_MAX, INT64_MAX, "####" },
	};
	for (size_t i = 0; i < ELEMENTS(bars); i++) {
		struct canvas canvas = fresh(4, 1, PR_CHARSET_ASCII);
		struct pen pen = pen_at(&canvas, (struct rect){ 0, 0, 4, 1 }, 0, ROLE_TEXT);
		draw_bar(&pen, 4, bars[i].part, bars[i].whole, ROLE_BAR);
		assert_row(&canvas, 0, bars[i].expected);
		canvas_release(&canvas);
	}
}

static void test_frames_differ_by_what_they_show(void **state)
{
	(void)state;
	struct canvas one = fresh(20, 2, PR_CHARSET_UTF8), other = fresh(20, 2, PR_CHARSET_UTF8);
	struct rect all = { 0, 0, 20, 2 };
	assert_true(canvas_equal(&one, &other));
	struct pen pen = pen_at(&one, all, 1, ROLE_TEXT);
	pen_text(&pen, "0:01", 0);
	assert_false(canvas_equal(&one, &other));
	/* Drawn in another order, and over something else: the same. */
	pen = pen_at(&other, all, 1, ROLE_FAIL);
	pen_text(&pen, "\u4e2d9:59", 0);
	canvas_reset(&other, 20, 2, PR_CHARSET_UTF8);
	pen = pen_at(&other, all, 1, ROLE_TEXT);
	pen_text(&pen, "0:", 0);
	pen_text(&pen, "01", 0);
	assert_true(canvas_equal(&one, &other));
	canvas_role(&other, (struct rect){ 0, 1, 1, 1 }, ROLE_FAIL);
	assert_false(canvas_equal(&one, &other));
	canvas_reset(&other, 21, 2, PR_CHARSET_UTF8);
	assert_false(canvas_equal(&one, &other));
	canvas_release(&one);
	canvas_release(&other);
}

static void test_words_wrap(void **state)
{
	(void)state;
	struct canvas canvas = fresh(12, 4, PR_CHARSET_UTF8);
	struct rect rect = { 1, 0, 10, 3 };
	const char *words = "one two three four five";
	assert_int_equal(canvas_wrap(NULL, PR_CHARSET_UTF8, rect, ROLE_TEXT, words), 3);
	assert_int_equal(canvas_wrap(&canvas, PR_CHARSET_UTF8, rect, ROLE_TEXT, words), 3);
	assert_row(&canvas, 0, " one two");
	assert_row(&canvas, 1, " three four");
	assert_row(&canvas, 2, " five");
	assert_int_equal(canvas_wrap(NULL, PR_CHARSET_UTF8, rect, ROLE_TEXT, "longerthantencolumns"), 2);
	assert_int_equal(canvas_wrap(NULL, PR_CHARSET_UTF8, rect, ROLE_TEXT, ""), 1);
	assert_int_equal(canvas_wrap(NULL, PR_CHARSET_UTF8, (struct rect){ 0, 0, 1, 4 }, ROLE_TEXT, "\u4e2d\u4e2d"), 2);
	canvas_release(&canvas);
}

int main(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_stays_in_its_rectangle),
		cmocka_unit_test(test_wide_characters_keep_their_columns),
		cmocka_unit_test(test_ascii_has_no_other),
		cmocka_unit_test(test_bars),
		cmocka_unit_test(test_frames_differ_by_what_they_show),
		cmocka_unit_test(test_words_wrap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
