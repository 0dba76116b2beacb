/*
 * The themes that ship: whole, readable, and told apart by the eyes that they are for.
 *
 * Contrast is WCAG 2.2's ratio in sRGB. Colour blindness is simulated by the matrices of Machado, Oliveira and
 * Fernandes (2009) for full severity, in linear RGB; a difference is the Euclidean one of CIE L*a*b* (1976), of which
 * 2.3 is just noticeable and 17 is plain in a word of text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "tests/support/scratch.h"
#include "tui/full/theme.h"

#define THEMES_DIRECTORY PROCTOR_SOURCE "/themes"

#define TEXT_RATIO 4.5		/* WCAG 2.2, 1.4.3 (AA) */
#define MARK_RATIO 3.0		/* 1.4.11: what is no text */
#define STRONG_RATIO 7.0	/* 1.4.6 (AAA) */
/*
 * Where the background is the terminal's own, it may be black or white. No colour of each hue reaches 4.5 on both:
 * the product of both ratios is 21 at most, and the palette has steps.
 */
#define EITHER_RATIO 4.3

#define PLAIN_DIFFERENCE 17.0

struct rgb {
	double red, green, blue;	/* linear light, 0 to 1 */
};

static double linear(int level)
{
	double value = level / 255.0;
	return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
}

/* Of the palette of 256 the part that no terminal's owner changes: 16 to 255. */
static struct rgb palette(int colour)
{
	static const int levels[] = { 0, 95, 135, 175, 215, 255 };
	assert_in_range(colour, 16, 255);
	if (colour >= 232) {
		double grey = linear(8 + 10 * (colour - 232));
		return (struct rgb){ grey, grey, grey };
	}
	colour -= 16;
	return (struct rgb){ linear(levels[colour / 36]), linear(levels[colour / 6 % 6]), linear(levels[colour % 6]) };
}

static double luminance(struct rgb c)
{
	return 0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue;
}

static double contrast(struct rgb a, struct rgb b)
{
	double one = luminance(a) + 0.05, other = luminance(b) + 0.05;
	return one > other ? one / other : other / one;
}

enum eyes { ORDINARY, PROTANOPIA, DEUTERANOPIA, TRITANOPIA };

static struct rgb seen(struct rgb c, enum eyes eyes)
{
	static const double matrices[][9] = {
		[ORDINARY] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 },
		[PROTANOPIA] = { 0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998 },
		[DEUTERANOPIA] = { 0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881 },
		[TRITANOPIA] = { 1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900 },
	};
	const double *m = matrices[eyes];
	double out[3];
	for (int i = 0; i < 3; i++) {
		double value = m[3 * i] * c.red + m[3 * i + 1] * c.green + m[3 * i + 2] * c.blue;
		out[i] = value < 0 ? 0 : value > 1 ? 1 : value;
	}
	return (struct rgb){ out[0], out[1], out[2] };
}

static double bend(double t)
{
	return t > 216.0 / 24389 ? cbrt(t) : (24389.0 / 27 * t + 16) / 116;
}

static double difference(struct rgb a, struct rgb b)
{
	struct rgb colours[] = { a, b };
	double lab[2][3];
	for (int i = 0; i < 2; i++) {
		struct rgb c = colours[i];
		double x = bend((0.4124 * c.red + 0.3576 * c.green + 0.1805 * c.blue) / 0.95047);
		double y = bend(luminance(c));
		double z = bend((0.0193 * c.red + 0.1192 * c.green + 0.9505 * c.blue) / 1.08883);
		lab[i][0] = 116 * y - 16;
		lab[i][1] = 500 * (x - y);
		lab[i][2] = 200 * (y - z);
	}
	return sqrt(pow(lab[0][0] - lab[1][0], 2) + pow(lab[0][1] - lab[1][1], 2) + pow(lab[0][2] - lab[1][2], 2));
}

/* Lines and bars: no text, so that less contrast will do. */
static bool is_mark(enum role role)
{
	return role == ROLE_RULE || role == ROLE_BAR || role == ROLE_BAR_LATE || role == ROLE_BAR_REST;
}

static struct theme read_theme(const char *name)
{
	struct theme theme;
	struct pr_error error = { 0 };
	_cleanup_free_ char *path = scratch_text("%s/%s.theme", THEMES_DIRECTORY, name);
	if (theme_read(path, NULL, &theme, &error) < 0)
		fail_msg("%s", error.message);
	return theme;
}

static const char *const NAMES[] = { "default", "dark", "light", "deuteranopia", "tritanopia", "high-contrast", "mono" };

static void test_these_ship_and_no_others(void **state)
{
	(void)state;
	_cleanup_closedir_ DIR *directory = opendir(THEMES_DIRECTORY);
	assert_non_null(directory);
	size_t found = 0;
	for (struct dirent *entry; (entry = readdir(directory));) {
		char *end = strrchr(entry->d_name, '.');
		if (!end || strcmp(end, ".theme") != 0)
			continue;
		*end = '\0';
		size_t i = 0;
		while (i < ELEMENTS(NAMES) && strcmp(NAMES[i], entry->d_name) != 0)
			i++;
		if (i == ELEMENTS(NAMES))
			fail_msg("%s.theme is not tested here", entry->d_name);
		found++;
	}
	assert_int_equal(found, ELEMENTS(NAMES));
}

static void test_each_role_is_set(void **state)
{
	(void)state;
	for (size_t i = 0; i < ELEMENTS(NAMES); i++) {
		struct theme theme = read_theme(NAMES[i]);
		assert_string_equal(theme.name, NAMES[i]);
		for (int role = 0; role < ROLE_COUNT; role++)
			if (!theme.set[role])
				fail_msg("%s.theme does not set %s", NAMES[i], role_name(role));
	}
}

/* A stranger who has no file and one who has all of them see the same in 16 colours and in mono. */
static void test_the_default_is_the_builtin_one(void **state)
{
	(void)state;
	struct theme file = read_theme("default"), builtin;
	theme_builtin(&builtin);
	for (int role = 0; role < ROLE_COUNT; role++) {
		static const enum theme_depth depths[] = { THEME_16, THEME_MONO };
		for (size_t i = 0; i < ELEMENTS(depths); i++) {
			const struct style *one = &file.styles[depths[i]][role], *other = &builtin.styles[depths[i]][role];
			if (one->foreground != other->foreground || one->background != other->background ||
			    one->attributes != other->attributes)
				fail_msg("default.theme and roles.h differ in %s", role_name(role));
		}
	}
}

static void expect_ratio(const char *theme, int role, struct rgb foreground, struct rgb background, double least)
{
	double ratio = contrast(foreground, background);
	if (ratio < least)
		fail_msg("%s.theme: %s has a contrast of %.2f, less than %.1f", theme, role_name(role), ratio, least);
}

static void test_contrast(void **state)
{
	(void)state;
	const struct rgb black = { 0, 0, 0 }, white = { 1, 1, 1 };
	for (size_t i = 0; i < ELEMENTS(NAMES); i++) {
		struct theme theme = read_theme(NAMES[i]);
		int screen = theme.styles[THEME_256][ROLE_TEXT].background;
		double text = strcmp(NAMES[i], "high-contrast") == 0 ? STRONG_RATIO : TEXT_RATIO;
		for (int role = 0; role < ROLE_COUNT; role++) {
			const struct style *style = &theme.styles[THEME_256][role];
			/* The terminal's own on the terminal's own: its owner's choice. */
			if (style->foreground < 0 && style->background < 0 && screen < 0)
				continue;
			double least = is_mark(role) ? MARK_RATIO : text;
			if (style->foreground < 0)
				fail_msg("%s.theme: %s takes the terminal's text colour on a background of its own", NAMES[i],
					 role_name(role));
			struct rgb foreground = palette(style->foreground);
			if (style->background >= 0) {
				expect_ratio(NAMES[i], role, foreground, palette(style->background), least);
			} else if (screen >= 0) {
				fail_msg("%s.theme: %s has a hole in the background", NAMES[i], role_name(role));
			} else {
				least = least > EITHER_RATIO ? EITHER_RATIO : least;
				expect_ratio(NAMES[i], role, foreground, black, least);
				expect_ratio(NAMES[i], role, foreground, white, least);
			}
		}
	}
}

/* With 16 colours only the names are known; what is the same or next to the background can still be refused. */
static void test_sixteen_colours(void **state)
{
	(void)state;
	for (size_t i = 0; i < ELEMENTS(NAMES); i++) {
		struct theme theme = read_theme(NAMES[i]);
		bool own = theme.styles[THEME_16][ROLE_TEXT].background >= 0;
		assert_int_equal(own, theme.styles[THEME_256][ROLE_TEXT].background >= 0);
		for (int role = 0; role < ROLE_COUNT; role++) {
			const struct style *style = &theme.styles[THEME_16][role];
			assert_true(style->foreground < 16 && style->background < 16);
			if (style->foreground >= 0 && style->background >= 0)
				assert_int_not_equal(style->foreground % 8, style->background % 8);
			else if (own || style->background >= 0)
				fail_msg("%s.theme: %s has a hole in its 16 colours", NAMES[i], role_name(role));
			else if (style->foreground == 0 || style->foreground == 7 || style->foreground > 7)
				fail_msg("%s.theme: %s would vanish on a terminal that is black, or one that is white", NAMES[i],
					 role_name(role));
		}
	}
}

static void test_told_apart_by_their_eyes(void **state)
{
	(void)state;
	static const struct {
		const char *theme;
		enum eyes eyes;
	} cases[] = {
		{ "dark", ORDINARY }, { "light", ORDINARY }, { "high-contrast", ORDINARY }, { "default", ORDINARY },
		{ "deuteranopia", ORDINARY }, { "deuteranopia", DEUTERANOPIA }, { "deuteranopia", PROTANOPIA },
		{ "tritanopia", ORDINARY }, { "tritanopia", TRITANOPIA },
	};
	static const enum role pairs[][2] = {
		{ ROLE_PASS, ROLE_FAIL }, { ROLE_PASS, ROLE_INVALID }, { ROLE_PASS, ROLE_ERROR }, { ROLE_PASS, ROLE_STOPPED },
		{ ROLE_PASS, ROLE_RUNNING }, { ROLE_FAIL, ROLE_INVALID }, { ROLE_FAIL, ROLE_ERROR }, { ROLE_FAIL, ROLE_STOPPED },
		{ ROLE_FAIL, ROLE_RUNNING }, { ROLE_INVALID, ROLE_ERROR }, { ROLE_INVALID, ROLE_RUNNING },
		{ ROLE_ERROR, ROLE_RUNNING }, { ROLE_ADDED, ROLE_REMOVED }, { ROLE_BAR, ROLE_BAR_LATE },
		{ ROLE_BAR, ROLE_BAR_REST }, { ROLE_BAR_LATE, ROLE_BAR_REST },
	};
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		struct theme theme = read_theme(cases[i].theme);
		const struct style *styles = theme.styles[THEME_256];
		for (size_t j = 0; j < ELEMENTS(pairs); j++) {
			double apart = difference(seen(palette(styles[pairs[j][0]].foreground), cases[i].eyes),
						  seen(palette(styles[pairs[j][1]].foreground), cases[i].eyes));
			if (apart < PLAIN_DIFFERENCE)
				fail_msg("%s.theme, eyes %d: %s and %s are only %.1f apart", cases[i].theme, (int)cases[i].eyes,
					 role_name(pairs[j][0]), role_name(pairs[j][1]), apart);
		}
		/* Two lines that stand in the same place: frozen, and stopped with its proof. */
		double apart = difference(seen(palette(styles[ROLE_ALERT].background), cases[i].eyes),
					  seen(palette(styles[ROLE_PROOF].background), cases[i].eyes));
		if (apart < PLAIN_DIFFERENCE)
			fail_msg("%s.theme: alert and proof are only %.1f apart", cases[i].theme, apart);
	}
}

/* The measure can fail: what the ordinary colours are to eyes that take red for green. */
static void test_the_measure_sees_blindness(void **state)
{
	(void)state;
	struct rgb red = palette(167), green = palette(107);
	assert_true(difference(seen(red, ORDINARY), seen(green, ORDINARY)) > 3 * PLAIN_DIFFERENCE);
	assert_true(difference(seen(red, DEUTERANOPIA), seen(green, DEUTERANOPIA)) < PLAIN_DIFFERENCE);
	assert_true(contrast(palette(16), palette(231)) > 20.9);
	assert_true(contrast(palette(243), palette(231)) < 4.6);
}

static void test_mono(void **state)
{
	(void)state;
	for (size_t i = 0; i < ELEMENTS(NAMES); i++) {
		struct theme theme = read_theme(NAMES[i]);
		bool mono = strcmp(NAMES[i], "mono") == 0;
		for (int role = 0; role < ROLE_COUNT; role++)
			for (int depth = 0; depth < THEME_DEPTH_COUNT; depth++)
				if (mono || depth == THEME_MONO) {
					assert_int_equal(theme.styles[depth][role].foreground, -1);
					assert_int_equal(theme.styles[depth][role].background, -1);
				}
		/* What became of a task, by attributes alone: each has a word too. */
		const struct style *styles = theme.styles[THEME_MONO];
		assert_int_not_equal(styles[ROLE_PASS].attributes, styles[ROLE_FAIL].attributes);
		assert_int_not_equal(styles[ROLE_PASS].attributes, styles[ROLE_INVALID].attributes);
		assert_int_not_equal(styles[ROLE_FAIL].attributes, styles[ROLE_INVALID].attributes);
		assert_int_not_equal(styles[ROLE_PASS].attributes, styles[ROLE_ERROR].attributes);
		assert_int_not_equal(styles[ROLE_ALERT].attributes, styles[ROLE_PROOF].attributes);
		assert_true(styles[ROLE_SELECTED].attributes & ATTRIBUTE_REVERSE);
	}
}

/* A file of somebody's own: what is wrong with it is told by its line. */
static void expect_fault(const char *text, const char *place)
{
	struct theme theme;
	struct pr_error error = { 0 };
	assert_true(theme_parse("own.theme", text, strlen(text), NULL, &theme, &error) < 0);
	if (strncmp(error.message, place, strlen(place)) != 0)
		fail_msg("'%s' does not begin with %s", error.message, place);
}

static void test_faults_are_named_by_line(void **state)
{
	(void)state;
	struct theme theme;
	struct pr_error error = { 0 };
	static const char whole[] = "# mine\n\npass | bright-green - bold | 114 234 bold | bold\n";
	assert_int_equal(theme_parse("own.theme", whole, strlen(whole), NULL, &theme, &error), 0);
	assert_true(theme.set[ROLE_PASS]);
	assert_false(theme.set[ROLE_FAIL]);
	assert_int_equal(theme.styles[THEME_256][ROLE_PASS].foreground, 114);

	expect_fault("pass | green -\n\nglory | green -\n", "own.theme:3");
	expect_fault("# a\npass | mauve -\n", "own.theme:2");
	expect_fault("pass | green - | 256 -\n", "own.theme:1");
	expect_fault("pass | green - blink\n", "own.theme:1");
	expect_fault("pass | green\n", "own.theme:1");
	expect_fault("pass | green -\npass | red -\n", "own.theme:2");
	expect_fault("pass | green - | | | |\n", "own.theme:1");
	expect_fault("inherit nobody\n", "own.theme:1");
	expect_fault("pass | green -\n\x1b[31mfail | red -\n", "own.theme:2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_these_ship_and_no_others),
		cmocka_unit_test(test_each_role_is_set),
		cmocka_unit_test(test_the_default_is_the_builtin_one),
		cmocka_unit_test(test_contrast),
		cmocka_unit_test(test_sixteen_colours),
		cmocka_unit_test(test_told_apart_by_their_eyes),
		cmocka_unit_test(test_the_measure_sees_blindness),
		cmocka_unit_test(test_mono),
		cmocka_unit_test(test_faults_are_named_by_line),
	};
	return cmocka_run_group_tests_name("themes", tests, NULL, NULL);
}
