/* Which run a word on the command line means, and the state of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "core/base/cleanup.h"
#include "tests/support/scratch.h"
#include "tui/rounds.h"

static char *root;

static const char *const RUNS[] = {
	"smoke-20260101-000000", "smoke-20260301-120000", "smoke-20260201-000000",
	"nightly-20260115-000000", "smoke-test-20260401-000000",
};

static int set_up(void **state)
{
	(void)state;
	root = scratch_directory("rounds");
	setenv("XDG_STATE_HOME", root, 1);
	for (size_t i = 0; i < ELEMENTS(RUNS); i++) {
		_cleanup_free_ char *path = scratch_text("%s/proctor/rounds/%s/events.jsonl", root, RUNS[i]);
		assert_int_equal(scratch_write(path, 0600, ""), 0);
	}
	/* What is no run: a temporary directory, a name without a stamp, a file. */
	_cleanup_free_ char *temporary = scratch_text("%s/proctor/rounds/.smoke-20270101-000000/events.jsonl", root);
	_cleanup_free_ char *odd = scratch_text("%s/proctor/rounds/notes/events.jsonl", root);
	scratch_write(temporary, 0600, "");
	scratch_write(odd, 0600, "");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	scratch_remove(root);
	free(root);
	return 0;
}

static void test_words(void **state)
{
	(void)state;
	static const struct {
		const char *word, *name;
	} cases[] = {
		{ "smoke", "smoke-20260301-120000" },			/* the newest run of that round alone */
		{ "smoke-test", "smoke-test-20260401-000000" },
		{ "smoke-20260101-000000", "smoke-20260101-000000" },
		{ "nightly", "nightly-20260115-000000" },
		{ NULL, "smoke-test-20260401-000000" },			/* the newest of all */
	};
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		struct round_place place;
		struct pr_error error = { 0 };
		if (rounds_resolve(cases[i].word, &place, &error) < 0)
			fail_msg("%s", error.message);
		assert_string_equal(place.name, cases[i].name);
		assert_false(place.elsewhere);
	}
}

static void test_paths(void **state)
{
	(void)state;
	struct round_place place;
	struct pr_error error = { 0 };
	_cleanup_free_ char *path = scratch_text("%s/proctor/rounds/../rounds/%s/", root, RUNS[0]);
	assert_int_equal(rounds_resolve(path, &place, &error), 0);
	assert_string_equal(place.name, RUNS[0]);
	assert_true(place.elsewhere);
	assert_int_equal(rounds_resolve("/", &place, &error), -ENOENT);
	assert_int_equal(rounds_resolve("./absent", &place, &error), -ENOENT);
}

static void test_near_names(void **state)
{
	(void)state;
	struct round_place place = { .name = "untouched" };
	struct pr_error error = { 0 };
	assert_int_equal(rounds_resolve("smokee", &place, &error), -ENOENT);
	assert_non_null(strstr(error.remedy, "smoke-20260301-120000"));
	assert_null(strstr(error.remedy, "nightly"));
	/* A wrong stamp finds the runs of its round. */
	assert_int_equal(rounds_resolve("nightly-20260115-000001", &place, &error), -ENOENT);
	assert_non_null(strstr(error.remedy, "nightly-20260115-000000"));
	assert_int_equal(rounds_resolve("unlike", &place, &error), -ENOENT);
	assert_non_null(strstr(error.remedy, "proctor list"));
	/* A part of the name is not the name: "smok" must not stop a round. */
	assert_int_equal(rounds_resolve("smok", &place, &error), -ENOENT);
	assert_string_equal(place.name, "untouched");
}

static void test_order(void **state)
{
	(void)state;
	_cleanup_rounds_ struct rounds rounds = { 0 };
	assert_int_equal(rounds_read(&rounds, NULL), 0);
	assert_int_equal(rounds.count, ELEMENTS(RUNS));
	assert_string_equal(rounds.list[0].name, "smoke-test-20260401-000000");
	assert_string_equal(rounds.list[rounds.count - 1].name, "smoke-20260101-000000");
}

static void test_a_live_core_holds_the_lock(void **state)
{
	(void)state;
	struct round_place place;
	assert_int_equal(rounds_resolve("nightly", &place, NULL), 0);
	assert_false(round_is_live(&place));
	_cleanup_free_ char *path = scratch_text("%s/lock", place.dir);
	scratch_write(path, 0600, "");
	assert_false(round_is_live(&place));
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_true(round_is_live(&place));
	assert_int_equal(flock(fd, LOCK_UN), 0);
	assert_false(round_is_live(&place));
}

static void test_states(void **state)
{
	(void)state;
	static const struct {
		struct pr_model model;
		bool live;
		const char *name;
	} cases[] = {
		{ { .gate = PR_GATE_WAITING }, true, "waiting" },
		{ { .gate = PR_GATE_OPEN, .started = true }, true, "running" },
		{ { .gate = PR_GATE_NONE }, true, "running" },
		{ { .started = true, .frozen = true }, true, "frozen" },
		{ { .started = true, .draining = true }, true, "draining" },
		{ { .finished = true, .state = "finished" }, false, "finished" },
		{ { .finished = true, .state = "stopped" }, true, "stopped" },
		{ { .finished = true, .state = "drained" }, false, "stopped" },
		{ { .finished = true, .state = "refused" }, false, "refused" },
		{ { .finished = true, .state = "failed" }, false, "failed" },
		{ { .started = true, .held = true }, true, "held" },
		{ { .started = true, .frozen = true }, false, "interrupted" },
	};
	for (size_t i = 0; i < ELEMENTS(cases); i++)
		assert_string_equal(round_state_name(round_state_of(&cases[i].model, cases[i].live)), cases[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_near_names),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_a_live_core_holds_the_lock),
		cmocka_unit_test(test_states),
	};
	return cmocka_run_group_tests_name("tui_rounds", tests, set_up, tear_down);
}
