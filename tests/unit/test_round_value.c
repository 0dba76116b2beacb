/* The small languages of a round file, and its substitutions. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/round/spec.h"
#include "core/round/substitute.h"
#include "core/round/value.h"

#define UNTOUCHED INT64_C(-77)

static void sizes(void **state)
{
	static const struct { const char *text; int result; uint64_t bytes; } examples[] = {
		{ "2GiB", 0, UINT64_C(2) << 30 }, { "512MiB", 0, UINT64_C(512) << 20 }, { "64 KiB", 0, 65536 }, { "0B", 0, 0 },
		{ "1TiB", 0, UINT64_C(1) << 40 }, { "2GB", -EINVAL, 0 }, { "2", -EINVAL, 0 }, { "", -EINVAL, 0 }, { "-1GiB", -EINVAL, 0 },
		{ "1.5GiB", -EINVAL, 0 }, { "2GiB ", -EINVAL, 0 }, { " 2GiB", -EINVAL, 0 }, { "9999999999TiB", -ERANGE, 0 },
		{ "99999999999999999999B", -ERANGE, 0 },
	};
	(void)state;
	for (size_t i = 0; i < ELEMENTS(examples); i++) {
		uint64_t bytes = 0;
		assert_int_equal(value_size(examples[i].text, &bytes), examples[i].result);
		assert_true(bytes == examples[i].bytes);
	}
}

static void durations(void **state)
{
	static const struct { const char *text; int result; int64_t ms; } examples[] = {
		{ "10m", 0, 600000 }, { "90s", 0, 90000 }, { "1h", 0, 3600000 }, { "500ms", 0, 500 }, { "1h30m", 0, 5400000 },
		{ "1m500ms", 0, 60500 }, { "2d", 0, 172800000 }, { "0s", 0, 0 }, { "", -EINVAL, 0 }, { "10", -EINVAL, 0 }, { "m", -EINVAL, 0 },
		{ "1m1h", -EINVAL, 0 }, { "1s1s", -EINVAL, 0 }, { "1.5h", -EINVAL, 0 }, { "-1s", -EINVAL, 0 }, { "1 h", -EINVAL, 0 },
		{ "400d", -ERANGE, 0 }, { "99999999999999999999s", -ERANGE, 0 },
	};
	(void)state;
	for (size_t i = 0; i < ELEMENTS(examples); i++) {
		int64_t ns = UNTOUCHED;
		assert_int_equal(value_duration(examples[i].text, &ns), examples[i].result);
		assert_true(ns == (examples[i].result == 0 ? examples[i].ms * NS_PER_MS : UNTOUCHED));
	}
}

static void money(void **state)
{
	static const struct { const char *text; int result; int64_t micro; } examples[] = {
		{ "2 USD", 0, 2000000 }, { "0.25 USD", 0, 250000 }, { "0.000001USD", 0, 1 }, { "2", -EINVAL, 0 }, { "2 EUR", -EINVAL, 0 },
		{ "0.0000001 USD", -EINVAL, 0 }, { "1. USD", -EINVAL, 0 }, { ".5 USD", -EINVAL, 0 }, { "-1 USD", -EINVAL, 0 },
		{ "99999999999999 USD", -ERANGE, 0 },
	};
	(void)state;
	for (size_t i = 0; i < ELEMENTS(examples); i++) {
		int64_t micro = UNTOUCHED;
		assert_int_equal(value_money(examples[i].text, &micro), examples[i].result);
		assert_true(micro == (examples[i].result == 0 ? examples[i].micro : UNTOUCHED));
	}
}

static void names(void **state)
{
	(void)state;
	assert_true(value_is_name("a") && value_is_name("calc-1.2_x") && value_is_name("9"));
	assert_false(value_is_name("") || value_is_name(".x") || value_is_name("..") || value_is_name("-x") || value_is_name("a/b") ||
		     value_is_name("a#2") || value_is_name("a b") || value_is_name("\xc3\xa4"));
	char longest[SPEC_NAME_MAX + 2];
	memset(longest, 'a', sizeof longest);
	longest[SPEC_NAME_MAX] = '\0';
	assert_true(value_is_name(longest));
	longest[SPEC_NAME_MAX] = 'a';
	longest[SPEC_NAME_MAX + 1] = '\0';
	assert_false(value_is_name(longest));
	assert_true(value_is_variable("PATH") && value_is_variable("_x9"));
	assert_false(value_is_variable("9x") || value_is_variable("") || value_is_variable("a-b") || value_is_variable("a=b"));
}

static void nearest(void **state)
{
	static const char *const words[] = { "round", "tasks", "parallel", "budget" };
	(void)state;
	assert_string_equal(value_nearest("paralel", words, 4), "parallel");
	assert_string_equal(value_nearest("task", words, 4), "tasks");
	assert_string_equal(value_nearest("buget", words, 4), "budget");
	assert_null(value_nearest("xyzzy", words, 4));
	assert_null(value_nearest("", words, 4));
}

static void substitutions(void **state)
{
	const struct task_spec task = { .id = "t1", .prompt = "do ${task} $HOME" };
	_cleanup_buffer_ struct buffer out = BUFFER_INIT;
	char name[48];
	(void)state;
	assert_int_equal(substitute("$x ${task}: ${prompt}; ${workspace}$", &task, &out), 0);
	/* What a prompt holds is text: it is not replaced again. */
	assert_string_equal(out.data, "$x t1: do ${task} $HOME; /workspace$");
	assert_null(substitute_fault("plain $ {x} $$", name, sizeof name));
	assert_non_null(substitute_fault("${broker}", name, sizeof name));
	assert_string_equal(name, "broker");
	assert_non_null(substitute_fault("${token}", name, sizeof name));
	assert_non_null(substitute_fault("${HOME}", name, sizeof name));
	assert_non_null(substitute_fault("${task", name, sizeof name));
	assert_non_null(substitute_fault("${}", name, sizeof name));
	assert_int_equal(substitute("${nope}", &task, &out), -EINVAL);
}

static void durations_in_words(void **state)
{
	static const struct {
		int64_t ms;
		const char *words;
	} examples[] = { { 0, "0s" }, { 100, "100ms" }, { 1500, "1s500ms" }, { 90000, "1m30s" }, { 600000, "10m" }, { 5400000, "1h30m" },
			 { 129600000, "36h" } };
	(void)state;
	for (size_t i = 0; i < ELEMENTS(examples); i++) {
		char text[VALUE_DURATION];
		int64_t ns;
		assert_string_equal(value_duration_words(examples[i].ms * 1000000, text), examples[i].words);
		/* What is said can be written in a round file again. */
		assert_int_equal(value_duration(examples[i].words, &ns), 0);
		assert_true(ns == examples[i].ms * 1000000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_in_words),
		cmocka_unit_test(sizes), cmocka_unit_test(durations), cmocka_unit_test(money), cmocka_unit_test(names),
		cmocka_unit_test(nearest), cmocka_unit_test(substitutions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
