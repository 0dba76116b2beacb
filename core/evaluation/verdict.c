/*
 * From facts to a verdict: the precedence of verdict.h, one question after the other; each answer is a row
 * of the attribution table. Called by the task's state machine and by tests; it must never look at anything
 * but its argument.
 */
#include "core/evaluation/verdict.h"

#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include "core/base/cleanup.h"

const char *run_outcome_name(enum run_outcome outcome)
{
	static const char *const names[] = {
#define X(identifier, name) [identifier] = name,
		RUN_OUTCOMES(X)
#undef X
	};
	return (unsigned)outcome < ELEMENTS(names) ? names[outcome] : "killed";
}

/* The kernel may take our init for the victim: to the candidate it is the same kill by its memory limit. */
static bool killed_by_memory(const struct run_facts *run)
{
	return run->oom_kills > 0 &&
	       (run->outcome == RUN_LOST || (run->outcome == RUN_SIGNALLED && run->code == SIGKILL));
}

static bool run_cut(const struct run_facts *run)
{
	return run->stdout_cut || run->stderr_cut;
}

bool run_exit_code(const struct run_facts *run, int *ret_code)
{
	if (run_cut(run))
		return false;
	if (run->outcome == RUN_EXITED)
		*ret_code = run->code;
	else if (run->outcome == RUN_SIGNALLED)
		*ret_code = -run->code;
	else if (killed_by_memory(run))
		*ret_code = -SIGKILL;
	else
		return false;
	return true;
}

static bool contains(const int *codes, size_t count, int code)
{
	for (size_t i = 0; i < count; i++)
		if (codes[i] == code)
			return true;
	return false;
}

bool test_met(const struct test_facts *test)
{
	int code;
	return run_exit_code(&test->run, &code) && contains(test->expected, test->expected_count, code);
}

static void __attribute__((format(printf, 2, 3))) say(struct verdict *verdict, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(verdict->reason, sizeof verdict->reason, format, arguments);
	va_end(arguments);
}

static void take_row(struct verdict *verdict, enum attribution event)
{
	const struct attribution_row *row = attribution_row(event);
	verdict->event = event;
	verdict->status = row->status;
	verdict->validity = row->validity;
	verdict->charged_to = attribution_party_name(row->charged);
	verdict->cause = row->cause;
	verdict->has_reward = row->reward == REWARD_ZERO || row->reward == REWARD_SIGNAL;
	verdict->reward = 0.0;
	say(verdict, "%s", row->reason);
}

static void add_violation(struct verdict *verdict, enum workspace_reason reason)
{
	for (size_t i = 0; i < verdict->violation_count; i++)
		if (verdict->violations[i] == reason)
			return;
	if (verdict->violation_count < VERDICT_VIOLATIONS)
		verdict->violations[verdict->violation_count++] = reason;
}

static bool set_escaped(const struct set_facts *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->tests[i].run.remaining > 0)
			return true;
	return false;
}

/* What each reason looks like to a reader; REASON_COUNT of them, and a missing one shows as the bare name. */
static const char *const reason_words[REASON_COUNT] = {
	[REASON_IRREGULAR_FILE] = "left what is no regular file",
	[REASON_SYMLINK] = "left a symbolic link",
	[REASON_UNREADABLE_ENTRY] = "left an entry that cannot be read",
	[REASON_TOO_MANY_ENTRIES] = "left too many entries",
	[REASON_TOO_MANY_DIRECTORIES] = "left too many directories",
	[REASON_WORKSPACE_TOO_DEEP] = "left directories that are too deep",
	[REASON_PATH_TOO_LONG] = "left a path that is too long",
	[REASON_WORKSPACE_PATHS_TOO_LARGE] = "left paths that are too long in sum",
	[REASON_TOO_MANY_FILES] = "left too many files",
	[REASON_WORKSPACE_FILE_TOO_LARGE] = "left a file that is too large",
	[REASON_WORKSPACE_TOO_LARGE] = "left more bytes than a workspace may hold",
	[REASON_RESULT_TOO_LARGE] = "left a result.json that is too large",
	[REASON_PATCH_TOO_LARGE] = "left a candidate.patch that is too large",
	[REASON_STDOUT_TOO_LARGE] = "standard output over its cap",
	[REASON_STDERR_TOO_LARGE] = "standard error over its cap",
	[REASON_PROCESSES_ESCAPED] = "processes outlived the boundary",
};

static void gather_violations(const struct task_facts *facts, struct verdict *verdict)
{
	if (facts->collection_refused)
		add_violation(verdict, facts->collection_reason);
	if (facts->agent.stdout_cut)
		add_violation(verdict, REASON_STDOUT_TOO_LARGE);
	if (facts->agent.stderr_cut)
		add_violation(verdict, REASON_STDERR_TOO_LARGE);
	/* No candidate code ran in the baseline: what is left of that is the fixture's (judge_set). */
	if (facts->agent.remaining > 0 || set_escaped(&facts->patched))
		add_violation(verdict, REASON_PROCESSES_ESCAPED);
}

bool verdict_tampered(const struct task_facts *facts)
{
	struct verdict scratch = { 0 };
	gather_violations(facts, &scratch);
	return scratch.violation_count > 0;
}

static bool judge_violations(const struct task_facts *facts, struct verdict *verdict)
{
	gather_violations(facts, verdict);
	if (verdict->violation_count == 0)
		return false;
	enum workspace_reason first = verdict->violations[0];
	if (facts->collection_refused)
		take_row(verdict, ATTRIBUTED_WORKSPACE);
	else
		take_row(verdict, first == REASON_PROCESSES_ESCAPED ? ATTRIBUTED_ESCAPED : ATTRIBUTED_AGENT_OUTPUT);
	const char *words = reason_words[first] ? reason_words[first] : workspace_reason_name(first);
	if (facts->collection_refused && facts->collection_path && facts->collection_path[0])
		say(verdict, "%s: %s (workspace)", words, facts->collection_path);
	else
		say(verdict, "%s", words);
	return true;
}

static bool judge_interruption(const struct task_facts *facts, struct verdict *verdict)
{
	static const enum attribution rows[] = {
		[INTERRUPTED_BY_OWNER] = ATTRIBUTED_OWNER_STOP,
		[INTERRUPTED_BY_ROUND_LIMIT] = ATTRIBUTED_ROUND_LIMIT,
		[INTERRUPTED_BY_HOST] = ATTRIBUTED_HOST,
		[INTERRUPTED_BY_SUBJECT] = ATTRIBUTED_SUBJECT,
		[INTERRUPTED_BY_PROVIDER] = ATTRIBUTED_PROVIDER,
		[INTERRUPTED_BEFORE_START] = ATTRIBUTED_NOT_STARTED,
	};
	if (facts->interruption == INTERRUPTED_NOT)
		return false;
	take_row(verdict, rows[facts->interruption]);
	if (facts->interruption_words)
		say(verdict, "%s", facts->interruption_words);
	return true;
}

static bool judge_lost(const struct run_facts *run, const char *what, struct verdict *verdict)
{
	if (run->outcome != RUN_LOST || killed_by_memory(run))
		return false;
	take_row(verdict, ATTRIBUTED_HOST);
	say(verdict, "the run of the %s was lost: %s", what, run->why ? run->why : "a process of ours died");
	return true;
}

static void say_exit(struct verdict *verdict, const char *what, int code, const char *rest)
{
	if (code < 0)
		say(verdict, "%s ended by signal %d (%s)%s", what, -code, strsignal(-code), rest);
	else
		say(verdict, "%s exited with %d%s", what, code, rest);
}

/* The agent's own end. True where that decides; false where the tests have the word. */
static bool judge_agent(const struct task_facts *facts, struct verdict *verdict)
{
	const struct run_facts *agent = &facts->agent;
	int code;

	if (judge_lost(agent, "agent", verdict))
		return true;
	if (agent->outcome == RUN_NOT_EXECUTED) {
		take_row(verdict, ATTRIBUTED_NOT_EXECUTABLE);
		say(verdict, "the agent could not be executed: %s", strerror(agent->code));
		return true;
	}
	if (agent->outcome == RUN_TIMED_OUT) {
		take_row(verdict, facts->wall_clock_is_error ? ATTRIBUTED_WALL_CLOCK : ATTRIBUTED_WALL_CLOCK_SCORED);
		return facts->wall_clock_is_error;
	}
	if (!run_exit_code(agent, &code)) {
		take_row(verdict, ATTRIBUTED_HOST);
		say(verdict, "the agent did not run to an end");
		return true;
	}
	if (contains(facts->allowed_exit_codes, facts->allowed_count, code))
		return false;
	if (killed_by_memory(agent)) {
		take_row(verdict, ATTRIBUTED_MEMORY_LIMIT);
	} else if (agent->forks_refused > 0) {
		take_row(verdict, ATTRIBUTED_PROCESS_LIMIT);
		say_exit(verdict, "the agent", code, " after forks were refused at the process limit");
	} else {
		take_row(verdict, ATTRIBUTED_EXIT_CODE);
		say_exit(verdict, "the agent", code, ", which is not allowed");
	}
	return true;
}

/* "not as declared (0, -9)". */
static void miss_words(const struct test_facts *test, char *ret_words, size_t size)
{
	size_t length = (size_t)snprintf(ret_words, size, ", not as declared (");
	for (size_t i = 0; i < test->expected_count && length < size; i++)
		length += (size_t)snprintf(ret_words + length, size - length, "%s%d", i ? ", " : "", test->expected[i]);
	/* Many are cut, and say so. */
	if (length + 1 < size)
		snprintf(ret_words + length, size - length, ")");
	else
		snprintf(ret_words + size - sizeof "...)", sizeof "...)", "...)");
}

struct set_rows {
	const char *name;
	enum attribution run, output, miss;
};

/* The number of a test's command, from 1, whichever pass it was. */
static size_t command_number(const struct set_facts *set, const struct test_facts *test)
{
	size_t number = (size_t)(test - set->tests);
	return (set->commands > 0 ? number % set->commands : number) + 1;
}

/* The first test that could not be judged decides, then an output over its cap, then a miss. */
static bool judge_set(const struct set_facts *set, const struct set_rows *rows, struct verdict *verdict)
{
	const struct test_facts *cut = NULL, *missed = NULL;

	for (size_t i = 0; i < set->count; i++) {
		const struct test_facts *test = &set->tests[i];
		int code;
		if (judge_lost(&test->run, rows->name, verdict))
			return true;
		if (run_cut(&test->run)) {
			cut = cut ? cut : test;
		} else if (!run_exit_code(&test->run, &code) || test->run.remaining > 0) {
			take_row(verdict, rows->run);
			say(verdict, "%s run failed: command %zu %s%s%s", rows->name, command_number(set, test),
			    test->run.outcome == RUN_TIMED_OUT ? "timed out" :
			    test->run.outcome == RUN_NOT_EXECUTED ? "could not be executed" :
			    test->run.remaining > 0 ? "left processes behind" : "did not run to an end",
			    test->run.outcome == RUN_NOT_EXECUTED ? ": " : "",
			    test->run.outcome == RUN_NOT_EXECUTED ? strerror(test->run.code) : "");
			return true;
		} else if (!test_met(test)) {
			missed = missed ? missed : test;
		}
	}
	if (cut) {
		take_row(verdict, rows->output);
		say(verdict, "%s output over its cap: command %zu", rows->name, command_number(set, cut));
		return true;
	}
	if (missed) {
		int code = 0;
		char what[64], miss[100];
		run_exit_code(&missed->run, &code);
		take_row(verdict, rows->miss);
		snprintf(what, sizeof what, "%s: command %zu", rows->name, command_number(set, missed));
		miss_words(missed, miss, sizeof miss);
		say_exit(verdict, what, code, miss);
		if (killed_by_memory(&missed->run))
			verdict->cause = attribution_row(ATTRIBUTED_MEMORY_LIMIT)->cause;
		return true;
	}
	return false;
}

static void judge_tests(const struct task_facts *facts, struct verdict *verdict)
{
	static const struct set_rows baseline = {
		"baseline", ATTRIBUTED_BASELINE_RUN, ATTRIBUTED_BASELINE_OUTPUT, ATTRIBUTED_BASELINE_MISS,
	}, patched = {
		"patched", ATTRIBUTED_PATCHED_RUN, ATTRIBUTED_PATCHED_OUTPUT, ATTRIBUTED_PATCHED_MISS,
	};

	if (judge_set(&facts->baseline, &baseline, verdict))
		return;
	if (facts->patch == PATCH_REFUSED) {
		take_row(verdict, ATTRIBUTED_PATCH);
		if (facts->patch_words)
			say(verdict, "no patched tree: %s", facts->patch_words);
		return;
	}
	if (judge_set(&facts->patched, &patched, verdict))
		return;
	/* No test in the patched set means that nothing was judged: never a pass. */
	if (facts->patched.count == 0) {
		take_row(verdict, ATTRIBUTED_HOST);
		say(verdict, "the patched tests did not run");
		return;
	}
	take_row(verdict, ATTRIBUTED_PASS);
	verdict->has_reward = true;
	verdict->reward = 1.0;
	if (facts->protected_restored > 0)
		say(verdict, "all tests as declared; %zu protected path%s restored before the tests",
		    facts->protected_restored, facts->protected_restored == 1 ? "" : "s");
}

static enum pr_verdict verdict_word(const struct verdict *verdict)
{
	switch (verdict->status) {
	case STATUS_OK:
		return verdict->reward == 1.0 ? PR_VERDICT_PASS : PR_VERDICT_FAIL;
	case STATUS_INVALID:
		return PR_VERDICT_INVALID;
	case STATUS_STOPPED:
		return PR_VERDICT_STOPPED;
	case STATUS_ERROR:
	case STATUS_REFUSED:
	case STATUS_SCORED:
		break;
	}
	return PR_VERDICT_ERROR;
}

void verdict_decide(const struct task_facts *facts, struct verdict *ret_verdict)
{
	struct verdict verdict = { 0 };

	if (!judge_violations(facts, &verdict) && !judge_interruption(facts, &verdict) &&
	    !judge_agent(facts, &verdict)) {
		bool over_clock = facts->agent.outcome == RUN_TIMED_OUT;
		judge_tests(facts, &verdict);
		/* Scored on what it left: the tests' verdict stands, marked with its cause. */
		if (over_clock && verdict.status == STATUS_OK) {
			const struct attribution_row *row = attribution_row(ATTRIBUTED_WALL_CLOCK_SCORED);
			char kept[sizeof verdict.reason];
			snprintf(kept, sizeof kept, "%s", verdict.reason);
			verdict.cause = row->cause;
			verdict.charged_to = attribution_party_name(row->charged);
			if (verdict.event == ATTRIBUTED_PASS)
				verdict.event = ATTRIBUTED_WALL_CLOCK_SCORED;
			say(&verdict, "%.250s (over its wall clock, scored on what it left)", kept);
		}
	}
	verdict.verdict = verdict_word(&verdict);
	*ret_verdict = verdict;
}
