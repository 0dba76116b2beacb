/*
 * The demo round, whole: each candidate ends with the verdict and the reason of the attribution table, the counts
 * sum up, the log's chain holds, and nothing of ours is left on the host.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "tests/end-to-end/driver.h"
#include "tests/end-to-end/events.h"
#include "tests/support/scratch.h"

#define ROUND PROCTOR_SOURCE "/docs/examples/smoke/smoke.round.json"
#define MOST_SECONDS 15

/* "" is null. `words` stands somewhere in the reason or the violations. */
static const struct {
	const char *task, *verdict, *status, *cause, *charged_to, *words;
} EXPECTED[] = {
	{ "fix", "pass", "ok", "", "", "" },
	{ "no-fix", "fail", "ok", "", "candidate", "patched: command 1 exited with 1, not as declared" },
	{ "daemon", "pass", "ok", "", "", "" },
	{ "flood", "invalid", "invalid", "", "candidate", "/resource-limit.v1:stdout_too_large" },
	{ "leak", "invalid", "invalid", "", "candidate", "/resource-limit.v1:symlink" },
	{ "sleeper", "fail", "ok", "wall_clock", "candidate's run", "wall clock" },
	{ "forker", "pass", "ok", "", "", "" },
	{ "broken-baseline", "error", "error", "", "fixture", "baseline: command 1 exited with 1, not as declared" },
	{ "exit-three", "error", "error", "", "candidate's run", "exited with 3, which is not allowed" },
};

static struct driver driver;
static struct events events;
static double seconds;
static int exit_code;

static struct json_object *verdict_of(const char *task)
{
	struct json_object *verdict = events_find(&events, "task.verdict", task, 0);
	if (!verdict)
		fail_msg("no task.verdict of %s", task);
	return verdict;
}

static int run_round(void **state)
{
	(void)state;
	driver_open(&driver);
	_cleanup_process_ struct process process = PROCESS_INIT;
	int64_t start = clock_mono_ns();
	exit_code = driver_run(&driver, &process, 90000, ARGUMENTS("run", ROUND, "--yes", "--display", "json"));
	seconds = (double)(clock_mono_ns() - start) / (double)NS_PER_S;
	if (exit_code != 0)
		fprintf(stderr, "exit code %d\n%s%s", exit_code, process.output.data, process.error.data);
	events = events_read(process.output.data);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	events_release(&events);
	driver_close(&driver);
	return 0;
}

static void test_it_ends_well_and_in_time(void **state)
{
	(void)state;
	assert_int_equal(exit_code, 0);
	assert_int_equal(events.broken, 0);
	print_message("%.1f s\n", seconds);
	assert_true(seconds < MOST_SECONDS);
}

static void test_each_candidate_gets_its_verdict(void **state)
{
	(void)state;
	int wrong = 0;
	for (size_t i = 0; i < ELEMENTS(EXPECTED); i++) {
		struct json_object *verdict = verdict_of(EXPECTED[i].task);
		const char *text = json_object_to_json_string_ext(verdict, JSON_C_TO_STRING_PLAIN);
		if (strcmp(member_text(verdict, "verdict"), EXPECTED[i].verdict) == 0 &&
		    strcmp(member_text(verdict, "status"), EXPECTED[i].status) == 0 &&
		    strcmp(member_text(verdict, "cause"), EXPECTED[i].cause) == 0 &&
		    strcmp(member_text(verdict, "charged_to"), EXPECTED[i].charged_to) == 0 &&
		    strstr(text, EXPECTED[i].words))
			continue;
		print_error("%s: not %s/%s, cause %s, charged to %s, words %s: %s\n", EXPECTED[i].task, EXPECTED[i].verdict,
			    EXPECTED[i].status, EXPECTED[i].cause, EXPECTED[i].charged_to, EXPECTED[i].words, text);
		wrong++;
	}
	assert_int_equal(wrong, 0);
	assert_int_equal(events_count(&events, "task.verdict", NULL), ELEMENTS(EXPECTED));
}

/* A reward is a double where there is one, and null where nothing was judged. */
static void test_rewards(void **state)
{
	(void)state;
	for (size_t i = 0; i < ELEMENTS(EXPECTED); i++) {
		struct json_object *reward = member(verdict_of(EXPECTED[i].task), "reward");
		if (strcmp(EXPECTED[i].status, "error") == 0) {
			assert_null(reward);
			continue;
		}
		assert_true(json_object_is_type(reward, json_type_double));
		double want = strcmp(EXPECTED[i].verdict, "pass") == 0 ? 1.0 : 0.0;
		assert_true(json_object_get_double(reward) >= want && json_object_get_double(reward) <= want);
	}
}

static void test_the_counts_sum_to_the_tasks(void **state)
{
	(void)state;
	struct json_object *finished = events_find(&events, "round.finished", NULL, 0);
	assert_non_null(finished);
	assert_ptr_equal(finished, events.list[events.count - 1]);
	static const char *const verdicts[] = { "pass", "fail", "invalid", "error", "stopped" };
	int64_t sum = 0;
	for (size_t v = 0; v < ELEMENTS(verdicts); v++) {
		int64_t want = 0;
		for (size_t i = 0; i < ELEMENTS(EXPECTED); i++)
			want += strcmp(EXPECTED[i].verdict, verdicts[v]) == 0;
		assert_int_equal(member_number(finished, verdicts[v], -1), want);
		sum += want;
	}
	assert_int_equal(member_number(finished, "tasks", -1), sum);
	assert_string_equal(member_text(finished, "state"), "finished");
}

/* K1, K3 in the round's own words: the daemon was killed with its boundary, and each boundary closed empty. */
static void test_boundaries_close_empty(void **state)
{
	(void)state;
	int64_t killed_of_daemon = 0;
	size_t closed = 0;
	for (size_t i = 0; i < events.count; i++) {
		struct json_object *event = events.list[i];
		if (strcmp(member_text(event, "type"), "boundary.closed") != 0)
			continue;
		closed++;
		assert_int_equal(member_number(event, "remaining", -1), 0);
		assert_string_equal(member_text(event, "cleanup"), "ok");
		if (strcmp(member_text(event, "task"), "daemon") == 0 && strcmp(member_text(event, "phase"), "agent") == 0)
			killed_of_daemon = member_number(event, "killed", 0);
	}
	assert_true(closed >= ELEMENTS(EXPECTED));
	assert_true(killed_of_daemon >= 1);
}

static void test_the_refused_fork_is_recorded(void **state)
{
	(void)state;
	bool found = false;
	for (size_t i = 0; i < events.count; i++) {
		struct json_object *event = events.list[i];
		found = found || (strcmp(member_text(event, "type"), "refusal") == 0 &&
				  strcmp(member_text(event, "task"), "forker") == 0 &&
				  strcmp(member_text(event, "layer"), "limits") == 0 && member_number(event, "count", 0) >= 1);
	}
	assert_true(found);
	assert_true(member_number(verdict_of("forker"), "refusals", 0) >= 1);
}

static void test_the_cut_output_is_told(void **state)
{
	(void)state;
	struct json_object *cut = events_find(&events, "task.output.cut", "flood", 0);
	assert_non_null(cut);
	assert_string_equal(member_text(cut, "stream"), "stdout");
	assert_int_equal(member_number(cut, "limit_bytes", 0), 4194304);
}

static void test_each_verdict_says_how_it_was_contained(void **state)
{
	(void)state;
	for (size_t i = 0; i < ELEMENTS(EXPECTED); i++) {
		struct json_object *verdict = verdict_of(EXPECTED[i].task);
		assert_true(member_text(verdict, "process_containment.profile")[0] != '\0');
		assert_int_equal(member_number(verdict, "process_containment.remaining_processes", -1), 0);
	}
}

static void test_the_log_is_what_was_printed_and_its_chain_holds(void **state)
{
	(void)state;
	_cleanup_free_ char *log = driver_read(&driver, "events.jsonl");
	assert_non_null(log);
	size_t lines = 0;
	assert_int_equal(chain_check(log, &lines), 0);
	assert_true(lines > 2 * ELEMENTS(EXPECTED));
	struct events logged = events_read(log);
	assert_int_equal(logged.count, lines);
	struct json_object *last = logged.list[logged.count - 1];
	assert_string_equal(member_text(last, "type"), "round.finished");
	/* The head on the last line is the digest of the line before. */
	assert_string_equal(member_text(last, "head"), member_text(last, "prev"));
	events_release(&logged);

	/* The check can fail: one changed byte in the middle breaks the chain. */
	log[strlen(log) / 2] ^= 1;
	assert_int_not_equal(chain_check(log, NULL), 0);
}

static void test_nothing_is_left(void **state)
{
	(void)state;
	assert_int_equal(driver_left(&driver, 10000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_ends_well_and_in_time),
		cmocka_unit_test(test_each_candidate_gets_its_verdict),
		cmocka_unit_test(test_rewards),
		cmocka_unit_test(test_the_counts_sum_to_the_tasks),
		cmocka_unit_test(test_boundaries_close_empty),
		cmocka_unit_test(test_the_refused_fork_is_recorded),
		cmocka_unit_test(test_the_cut_output_is_told),
		cmocka_unit_test(test_each_verdict_says_how_it_was_contained),
		cmocka_unit_test(test_the_log_is_what_was_printed_and_its_chain_holds),
		cmocka_unit_test(test_nothing_is_left),
	};
	return cmocka_run_group_tests_name("smoke", tests, run_round, tear_down);
}
