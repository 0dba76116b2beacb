/* Verdicts, row by row, and which of two rows has the word where both hold. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/cleanup.h"
#include "core/evaluation/verdict.h"

static const int zero[] = { 0 }, one[] = { 1 };

#define EXITED(n) { .outcome = RUN_EXITED, .code = (n) }
#define TESTS(name, expected_, ...) \
	static const struct test_facts name[] = { { .run = __VA_ARGS__, .expected = (expected_), .expected_count = 1 } }

TESTS(baseline_fine, one, EXITED(1));
TESTS(baseline_miss, one, EXITED(0));
TESTS(baseline_cut, one, { .outcome = RUN_KILLED, .stdout_cut = true });
TESTS(baseline_late, one, { .outcome = RUN_TIMED_OUT });
TESTS(baseline_absent, one, { .outcome = RUN_NOT_EXECUTED, .code = ENOENT });
TESTS(baseline_left, one, { .outcome = RUN_EXITED, .code = 1, .remaining = 2 });
TESTS(patched_fine, zero, EXITED(0));
TESTS(patched_miss, zero, EXITED(1));
TESTS(patched_signal, zero, { .outcome = RUN_SIGNALLED, .code = SIGSEGV });
TESTS(patched_memory, zero, { .outcome = RUN_SIGNALLED, .code = SIGKILL, .oom_kills = 1 });
TESTS(patched_init_memory, zero, { .outcome = RUN_LOST, .oom_kills = 1 });
TESTS(patched_cut, zero, { .outcome = RUN_KILLED, .stderr_cut = true });
TESTS(patched_cut_but_exited, zero, { .outcome = RUN_EXITED, .code = 0, .stdout_cut = true });
TESTS(patched_late, zero, { .outcome = RUN_TIMED_OUT });
TESTS(patched_absent, zero, { .outcome = RUN_NOT_EXECUTED, .code = EACCES });
TESTS(patched_lost, zero, { .outcome = RUN_LOST, .why = "the worker died" });
TESTS(patched_left, zero, { .outcome = RUN_EXITED, .code = 0, .remaining = 1 });

#define SET(tests) { (tests), 1, 0 }
#define FACTS(...) { .allowed_exit_codes = zero, .allowed_count = 1, __VA_ARGS__ }
#define FINE_TESTS .baseline = SET(baseline_fine), .patched = SET(patched_fine)
#define NO_REWARD (-1.0)

struct example {
	const char *name;
	struct task_facts facts;
	enum attribution event;
	const char *status;
	enum pr_verdict verdict;
	double reward;
	const char *charged_to, *cause, *violation;
};

#define FAIL "ok", PR_VERDICT_FAIL, 0.0
#define ERROR "error", PR_VERDICT_ERROR, NO_REWARD
#define INVALID "invalid", PR_VERDICT_INVALID, 0.0
#define STOPPED "stopped", PR_VERDICT_STOPPED, NO_REWARD
#define PASS "ok", PR_VERDICT_PASS, 1.0

static const struct example examples[] = {
	{ "all as declared", FACTS(.agent = EXITED(0), FINE_TESTS), ATTRIBUTED_PASS, PASS, NULL, NULL, NULL },
	{ "protected paths restored", FACTS(.agent = EXITED(0), FINE_TESTS, .protected_restored = 2), ATTRIBUTED_PASS, PASS, NULL, NULL, NULL },

	{ "a symlink", FACTS(.agent = EXITED(0), .collection_refused = true, .collection_reason = REASON_SYMLINK, .collection_path = "out"),
	  ATTRIBUTED_WORKSPACE, INVALID, "candidate", NULL, "symlink" },
	{ "too many entries", FACTS(.agent = EXITED(0), .collection_refused = true, .collection_reason = REASON_TOO_MANY_ENTRIES),
	  ATTRIBUTED_WORKSPACE, INVALID, "candidate", NULL, "too_many_entries" },
	{ "stdout over its cap", FACTS(.agent = { .outcome = RUN_KILLED, .stdout_cut = true }), ATTRIBUTED_AGENT_OUTPUT, INVALID,
	  "candidate", NULL, "stdout_too_large" },
	{ "stderr over its cap, the kill lost the race", FACTS(.agent = { .outcome = RUN_EXITED, .stderr_cut = true }, FINE_TESTS),
	  ATTRIBUTED_AGENT_OUTPUT, INVALID, "candidate", NULL, "stderr_too_large" },
	{ "processes escaped", FACTS(.agent = { .outcome = RUN_EXITED, .remaining = 1 }, FINE_TESTS), ATTRIBUTED_ESCAPED, INVALID,
	  "candidate", NULL, "processes_escaped" },
	{ "processes of a patched test escaped", FACTS(.agent = EXITED(0), .baseline = SET(baseline_fine), .patched = SET(patched_left)),
	  ATTRIBUTED_ESCAPED, INVALID, "candidate", NULL, "processes_escaped" },

	{ "exit code 3", FACTS(.agent = EXITED(3), FINE_TESTS), ATTRIBUTED_EXIT_CODE, ERROR, "candidate's run", NULL, NULL },
	{ "an end by signal", FACTS(.agent = { .outcome = RUN_SIGNALLED, .code = SIGSEGV }, FINE_TESTS), ATTRIBUTED_EXIT_CODE, ERROR,
	  "candidate's run", NULL, NULL },
	{ "an end by the memory limit", FACTS(.agent = { .outcome = RUN_SIGNALLED, .code = SIGKILL, .oom_kills = 1 }, FINE_TESTS),
	  ATTRIBUTED_MEMORY_LIMIT, ERROR, "candidate", "memory_limit", NULL },
	{ "the memory limit took our init", FACTS(.agent = { .outcome = RUN_LOST, .oom_kills = 1 }), ATTRIBUTED_MEMORY_LIMIT, ERROR,
	  "candidate", "memory_limit", NULL },
	{ "memory limit met, handled", FACTS(.agent = { .outcome = RUN_EXITED, .oom_kills = 1 }, FINE_TESTS), ATTRIBUTED_PASS, PASS, NULL,
	  NULL, NULL },
	{ "forks refused, handled", FACTS(.agent = { .outcome = RUN_EXITED, .forks_refused = 9 }, FINE_TESTS), ATTRIBUTED_PASS, PASS, NULL,
	  NULL, NULL },
	{ "forks refused, and it ended over that", FACTS(.agent = { .outcome = RUN_EXITED, .code = 2, .forks_refused = 9 }, FINE_TESTS),
	  ATTRIBUTED_PROCESS_LIMIT, ERROR, "candidate", "process_limit", NULL },
	{ "not executable", FACTS(.agent = { .outcome = RUN_NOT_EXECUTED, .code = ENOENT }), ATTRIBUTED_NOT_EXECUTABLE, ERROR, "owner",
	  NULL, NULL },
	{ "our init died", FACTS(.agent = { .outcome = RUN_LOST, .why = "init died" }), ATTRIBUTED_HOST, ERROR, "host", NULL, NULL },

	{ "wall clock, scored, passes", FACTS(.agent = { .outcome = RUN_TIMED_OUT }, FINE_TESTS), ATTRIBUTED_WALL_CLOCK_SCORED, PASS,
	  "candidate's run", "wall_clock", NULL },
	{ "wall clock, scored, fails", FACTS(.agent = { .outcome = RUN_TIMED_OUT }, .baseline = SET(baseline_fine), .patched = SET(patched_miss)),
	  ATTRIBUTED_PATCHED_MISS, FAIL, "candidate's run", "wall_clock", NULL },
	{ "wall clock, an error", FACTS(.agent = { .outcome = RUN_TIMED_OUT }, .wall_clock_is_error = true, FINE_TESTS),
	  ATTRIBUTED_WALL_CLOCK, ERROR, "candidate's run", "wall_clock", NULL },
	{ "wall clock, but the fixture is broken", FACTS(.agent = { .outcome = RUN_TIMED_OUT }, .baseline = SET(baseline_miss)),
	  ATTRIBUTED_BASELINE_MISS, ERROR, "fixture", NULL, NULL },

	{ "baseline miss", FACTS(.agent = EXITED(0), .baseline = SET(baseline_miss)), ATTRIBUTED_BASELINE_MISS, ERROR, "fixture", NULL, NULL },
	{ "baseline over its cap", FACTS(.agent = EXITED(0), .baseline = SET(baseline_cut)), ATTRIBUTED_BASELINE_OUTPUT, ERROR, "fixture",
	  NULL, NULL },
	{ "baseline timed out", FACTS(.agent = EXITED(0), .baseline = SET(baseline_late)), ATTRIBUTED_BASELINE_RUN, ERROR, "fixture", NULL, NULL },
	{ "baseline could not start", FACTS(.agent = EXITED(0), .baseline = SET(baseline_absent)), ATTRIBUTED_BASELINE_RUN, ERROR, "fixture",
	  NULL, NULL },
	{ "baseline left processes", FACTS(.agent = EXITED(0), .baseline = SET(baseline_left)), ATTRIBUTED_BASELINE_RUN, ERROR, "fixture",
	  NULL, NULL },

	{ "patch does not apply", FACTS(.agent = EXITED(0), .baseline = SET(baseline_fine), .patch = PATCH_REFUSED), ATTRIBUTED_PATCH, FAIL,
	  "candidate", NULL, NULL },
	{ "patched miss", FACTS(.agent = EXITED(0), .baseline = SET(baseline_fine), .patched = SET(patched_miss)), ATTRIBUTED_PATCHED_MISS,
	  FAIL, "candidate", NULL, NULL },
	{ "patched by signal", FACTS(.agent = EXITED(0), .baseline = SET(baseline_fine), .patched = SET(patched_signal)),
	  ATTRIBUTED_PATCHED_MISS, FAIL, "candidate", NULL, NULL },
	{ "patched by the memory limit", FACTS(.agent = EXITED(0), .baseline = SET(baseline_fine), .patched = SET(patched_memory)),
	  ATTRIBUTED_PATCHED_MISS, FAIL, "candidate", "memory_limit", NULL },
	{ "the memory limit took a test's init", FACTS(.agent = EXITED(0), .baseline = SET(baseline_fine), .patched = SET(patched_init_memory)),
	  ATTRIBUTED_PATCHED_MISS, FAIL, "candidate", "memory_limit", NULL },
	{ "patched over its cap", FACTS(.agent = EXITED(0), .baseline = SET(baseline_fine), .patched = SET(patched_cut)),
	  ATTRIBUTED_PATCHED_OUTPUT, FAIL, "candidate", NULL, NULL },
	{ "patched over its cap, exit code 0 is none", FACTS(.agent = EXITED(0), .baseline = SET(baseline_fine),
							      .patched = SET(patched_cut_but_exited)),
	  ATTRIBUTED_PATCHED_OUTPUT, FAIL, "candidate", NULL, NULL },
	{ "patched timed out", FACTS(.agent = EXITED(0), .baseline = SET(baseline_fine), .patched = SET(patched_late)), ATTRIBUTED_PATCHED_RUN,
	  ERROR, "candidate's run", NULL, NULL },
	{ "patched could not start", FACTS(.agent = EXITED(0), .baseline = SET(baseline_fine), .patched = SET(patched_absent)),
	  ATTRIBUTED_PATCHED_RUN, ERROR, "candidate's run", NULL, NULL },
	{ "patched was lost", FACTS(.agent = EXITED(0), .baseline = SET(baseline_fine), .patched = SET(patched_lost)), ATTRIBUTED_HOST, ERROR,
	  "host", NULL, NULL },
	{ "no patched test ran", FACTS(.agent = EXITED(0), .baseline = SET(baseline_fine)), ATTRIBUTED_HOST, ERROR, "host", NULL, NULL },

	{ "the owner's stop", FACTS(.agent = { .outcome = RUN_KILLED }, .interruption = INTERRUPTED_BY_OWNER), ATTRIBUTED_OWNER_STOP, STOPPED,
	  "owner", "owner_stop", NULL },
	{ "never started", FACTS(.agent = { .outcome = RUN_ABSENT }, .interruption = INTERRUPTED_BEFORE_START), ATTRIBUTED_NOT_STARTED, STOPPED,
	  "host", NULL, NULL },
	{ "the round's clock", FACTS(.agent = { .outcome = RUN_KILLED }, .interruption = INTERRUPTED_BY_ROUND_LIMIT), ATTRIBUTED_ROUND_LIMIT,
	  STOPPED, "owner", "round_limit", NULL },
	{ "the host failed", FACTS(.agent = EXITED(0), .interruption = INTERRUPTED_BY_HOST), ATTRIBUTED_HOST, ERROR, "host", NULL, NULL },
	{ "the subject cannot be used", FACTS(.agent = { .outcome = RUN_ABSENT }, .interruption = INTERRUPTED_BY_SUBJECT), ATTRIBUTED_SUBJECT,
	  ERROR, "fixture", NULL, NULL },
	{ "the provider failed", FACTS(.agent = EXITED(0), .interruption = INTERRUPTED_BY_PROVIDER), ATTRIBUTED_PROVIDER, ERROR, "provider",
	  "provider", NULL },

	/* Precedence: a candidate's proven violation has no way out. */
	{ "violation before a stop", FACTS(.agent = { .outcome = RUN_KILLED, .stdout_cut = true }, .interruption = INTERRUPTED_BY_OWNER),
	  ATTRIBUTED_AGENT_OUTPUT, INVALID, "candidate", NULL, "stdout_too_large" },
	{ "violation before a failure of the host", FACTS(.agent = EXITED(0), .collection_refused = true,
							   .collection_reason = REASON_IRREGULAR_FILE, .interruption = INTERRUPTED_BY_HOST),
	  ATTRIBUTED_WORKSPACE, INVALID, "candidate", NULL, "irregular_file" },
	{ "violation before a baseline miss", FACTS(.agent = { .outcome = RUN_EXITED, .remaining = 3 }, .baseline = SET(baseline_miss)),
	  ATTRIBUTED_ESCAPED, INVALID, "candidate", NULL, "processes_escaped" },
	{ "violation before its exit code", FACTS(.agent = EXITED(9), .collection_refused = true, .collection_reason = REASON_SYMLINK),
	  ATTRIBUTED_WORKSPACE, INVALID, "candidate", NULL, "symlink" },
	{ "exit code before a baseline miss", FACTS(.agent = EXITED(9), .baseline = SET(baseline_miss)), ATTRIBUTED_EXIT_CODE, ERROR,
	  "candidate's run", NULL, NULL },
	{ "baseline miss before a patch that does not apply", FACTS(.agent = EXITED(0), .baseline = SET(baseline_miss), .patch = PATCH_REFUSED),
	  ATTRIBUTED_BASELINE_MISS, ERROR, "fixture", NULL, NULL },
};

static void same_text(const char *name, const char *what, const char *is, const char *should)
{
	if ((is == NULL) != (should == NULL) || (is && strcmp(is, should) != 0))
		fail_msg("%s: %s is %s, not %s", name, what, is ? is : "null", should ? should : "null");
}

static void each_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < ELEMENTS(examples); i++) {
		const struct example *example = &examples[i];
		struct verdict verdict;
		verdict_decide(&example->facts, &verdict);
		same_text(example->name, "event", attribution_row(verdict.event)->id, attribution_row(example->event)->id);
		same_text(example->name, "status", attribution_status_name(verdict.status), example->status);
		same_text(example->name, "verdict", pr_verdict_name(verdict.verdict), pr_verdict_name(example->verdict));
		same_text(example->name, "charged_to", verdict.charged_to, example->charged_to);
		same_text(example->name, "cause", verdict.cause, example->cause);
		same_text(example->name, "validity", verdict.validity, verdict.status == STATUS_OK ? "valid" :
			  verdict.status == STATUS_STOPPED ? NULL : "invalid");
		same_text(example->name, "violation", verdict.violation_count ? workspace_reason_name(verdict.violations[0]) : NULL,
			  example->violation);
		if (verdict.has_reward != (example->reward >= 0) || (verdict.has_reward && verdict.reward != example->reward))
			fail_msg("%s: reward", example->name);
		if (!verdict.reason[0] || strchr(verdict.reason, '\n'))
			fail_msg("%s: reason", example->name);
	}
}

static void several_violations_are_listed_once_each(void **state)
{
	const struct task_facts facts = FACTS(.agent = { .outcome = RUN_KILLED, .stdout_cut = true, .stderr_cut = true, .remaining = 1 },
					      .patched = SET(patched_left));
	struct verdict verdict;
	(void)state;
	assert_true(verdict_tampered(&facts));
	verdict_decide(&facts, &verdict);
	assert_int_equal(verdict.violation_count, 3);
	assert_int_equal(verdict.violations[0], REASON_STDOUT_TOO_LARGE);
	assert_int_equal(verdict.violations[1], REASON_STDERR_TOO_LARGE);
	assert_int_equal(verdict.violations[2], REASON_PROCESSES_ESCAPED);
}

static void exit_codes(void **state)
{
	int code = 99;
	(void)state;
	assert_true(run_exit_code(&(struct run_facts)EXITED(7), &code));
	assert_int_equal(code, 7);
	assert_true(run_exit_code(&(struct run_facts){ .outcome = RUN_SIGNALLED, .code = 15 }, &code));
	assert_int_equal(code, -15);
	assert_false(run_exit_code(&(struct run_facts){ .outcome = RUN_EXITED, .stdout_cut = true }, &code));
	assert_false(run_exit_code(&(struct run_facts){ .outcome = RUN_TIMED_OUT }, &code));
	assert_false(run_exit_code(&(struct run_facts){ .outcome = RUN_NOT_EXECUTED, .code = ENOENT }, &code));
}

static void reasons_name_the_path_and_the_command(void **state)
{
	struct verdict verdict;
	const struct task_facts link = FACTS(.agent = EXITED(0), .collection_refused = true, .collection_reason = REASON_SYMLINK,
					     .collection_path = "out\\x1b");
	(void)state;
	verdict_decide(&link, &verdict);
	assert_string_equal(verdict.reason, "left a symbolic link: out\\x1b (workspace)");

	/* The third run of two commands is the first command's second pass. */
	const struct test_facts runs[] = {
		{ .run = EXITED(1), .expected = one, .expected_count = 1 }, { .run = EXITED(1), .expected = one, .expected_count = 1 },
		{ .run = EXITED(0), .expected = one, .expected_count = 1 },
	};
	const struct task_facts flaky = FACTS(.agent = EXITED(0), .baseline = { runs, 3, 2 });
	verdict_decide(&flaky, &verdict);
	assert_string_equal(verdict.reason, "baseline: command 1 exited with 0, not as declared (1)");

	/* Why nothing ran is in the words; so is all that was declared, or that there is more. */
	const struct test_facts absent[] = { { .run = { .outcome = RUN_NOT_EXECUTED, .code = ENOENT }, .expected = one, .expected_count = 1 } };
	const struct task_facts missing = FACTS(.agent = EXITED(0), .baseline = { absent, 1, 1 });
	verdict_decide(&missing, &verdict);
	assert_string_equal(verdict.reason, "baseline run failed: command 1 could not be executed: No such file or directory");
	static const int two[] = { 0, -9 };
	static int all[300];
	const struct test_facts misses[] = { { .run = EXITED(1), .expected = two, .expected_count = 2 },
					     { .run = EXITED(1), .expected = all, .expected_count = ELEMENTS(all) } };
	const struct task_facts miss = FACTS(.agent = EXITED(0), .baseline = { &misses[0], 1, 1 });
	verdict_decide(&miss, &verdict);
	assert_string_equal(verdict.reason, "baseline: command 1 exited with 1, not as declared (0, -9)");
	const struct task_facts many = FACTS(.agent = EXITED(0), .baseline = { &misses[1], 1, 1 });
	verdict_decide(&many, &verdict);
	assert_string_equal(verdict.reason + strlen(verdict.reason) - 4, "...)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row),
		cmocka_unit_test(several_violations_are_listed_once_each),
		cmocka_unit_test(exit_codes),
		cmocka_unit_test(reasons_name_the_path_and_the_command),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
