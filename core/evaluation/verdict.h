/*
 * The verdict on one task, from its facts. A pure function: no clock, no files, no allocation; the caller
 * gathers the facts, and what is not a fact here cannot sway a verdict.
 *
 * A git or directory task's reward is the signal `tests` with weight 1.0, required. Precedence, the first
 * that holds: a violation (invalid, 0.0) - the owner's stop or the round's clock - a failure of the host -
 * a subject that cannot be used - an agent that could not be executed - its wall clock where that is an
 * error - an end by a limit, an exit code that is not allowed - the baseline (the fixture's error) - the
 * patch - the patched tests.
 */
#ifndef CORE_EVALUATION_VERDICT_H
#define CORE_EVALUATION_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/evaluation/attribution.h"
#include "core/workspace/limits.h"
#include <proctor/event.h>

/* How one command in a boundary ended. X(identifier, "termination, as events and records name it") */
#define RUN_OUTCOMES(X) \
	X(RUN_ABSENT, "not_executed")		/* it was never asked for */ \
	X(RUN_EXITED, "exited") \
	X(RUN_SIGNALLED, "signalled") \
	X(RUN_TIMED_OUT, "timed_out")		/* we ended it at its wall clock */ \
	X(RUN_KILLED, "killed")			/* we ended it for another reason: its output, a stop */ \
	X(RUN_NOT_EXECUTED, "not_executed")	/* exec failed: nothing ran */ \
	X(RUN_LOST, "killed")			/* a process of ours died, or the boundary could not be made */

enum run_outcome {
#define X(identifier, name) identifier,
	RUN_OUTCOMES(X)
#undef X
};

const char *run_outcome_name(enum run_outcome outcome);

struct run_facts {
	enum run_outcome outcome;
	int code;			/* of RUN_EXITED; the signal of RUN_SIGNALLED; the errno of RUN_NOT_EXECUTED */
	bool stdout_cut, stderr_cut;
	uint64_t remaining;		/* processes that outlived the boundary */
	uint64_t forks_refused;		/* at the limit of processes */
	uint64_t oom_kills;		/* by the boundary's own memory limit */
	const char *why;		/* of RUN_LOST: what died; may be NULL */
};

/* -N for signal N. False where there is no exit code: cut output, a run that we ended, nothing run. */
bool run_exit_code(const struct run_facts *run, int *ret_code);

struct test_facts {
	struct run_facts run;
	const int *expected;		/* exit codes; -N for signal N */
	size_t expected_count;
};

/* One test met its declared expectation. */
bool test_met(const struct test_facts *test);

struct set_facts {
	const struct test_facts *tests;	/* in order; the set ends at the first that could not be judged */
	size_t count;
	size_t commands;		/* of one pass, where the set ran several times; 0: count */
};

enum verdict_interruption {
	INTERRUPTED_NOT,
	INTERRUPTED_BY_OWNER,
	INTERRUPTED_BY_ROUND_LIMIT,
	INTERRUPTED_BY_HOST,		/* ours died, disk, memory, descriptors */
	INTERRUPTED_BY_SUBJECT,		/* the subject cannot be used */
	INTERRUPTED_BY_PROVIDER,
	INTERRUPTED_BEFORE_START,	/* the host failed, and this one had not started */
};

enum verdict_patch {
	PATCH_UNKNOWN,	/* it did not come to that */
	PATCH_RENDERED,	/* from the difference of the trees */
	PATCH_APPLIED,	/* the agent's own candidate.patch */
	PATCH_REFUSED,	/* the agent's own, and it does not apply */
};

struct task_facts {
	enum verdict_interruption interruption;
	const char *interruption_words;		/* one line, or NULL */
	bool wall_clock_is_error;		/* on_wall_clock: error */
	const int *allowed_exit_codes;
	size_t allowed_count;
	uint64_t process_limit;			/* for the words alone; 0: unknown */

	struct run_facts agent;
	bool collection_refused;		/* the collector refused at first proof */
	enum workspace_reason collection_reason;
	const char *collection_path;		/* safe text, or NULL */

	enum verdict_patch patch;
	const char *patch_words;		/* why it does not apply; or NULL */
	size_t protected_restored;
	struct set_facts baseline, patched;
};

#define VERDICT_VIOLATIONS 8

struct verdict {
	enum attribution event;			/* the deciding row */
	enum attribution_status status;		/* ok, invalid, error or stopped: never scored or refused */
	enum pr_verdict verdict;
	const char *validity;			/* "valid", "invalid", or NULL */
	bool has_reward;
	double reward;
	const char *cause;			/* of the list of causes, or NULL */
	const char *charged_to;			/* or NULL */
	enum workspace_reason violations[VERDICT_VIOLATIONS];	/* each once, in the order of limits.h */
	size_t violation_count;
	char reason[384];			/* one line */
};

/* True as soon as a violation is proved: what is left of the task need not run. */
bool verdict_tampered(const struct task_facts *facts);
void verdict_decide(const struct task_facts *facts, struct verdict *ret_verdict);

#endif
