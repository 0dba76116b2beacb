/*
 * Attribution: whose fault is it. One executable table with a row for every event that can end or spoil
 * a run (rulings, "Attribution"); the enum comes from the table, so an event without a row does not exist.
 *
 * Rows of features that this version does not deliver (spend, provider, bundles' verifiers) stand here
 * too: a reader of old and new logs finds one list. `verdict.c` is the only place that picks a row.
 */
#ifndef CORE_EVALUATION_ATTRIBUTION_H
#define CORE_EVALUATION_ATTRIBUTION_H

#include <stddef.h>

/* What an episode's status becomes. SCORED: the row marks the run, and the tests decide. X(identifier, "name") */
#define ATTRIBUTION_STATUSES(X) \
	X(STATUS_OK, "ok") \
	X(STATUS_INVALID, "invalid") \
	X(STATUS_ERROR, "error") \
	X(STATUS_STOPPED, "stopped") \
	X(STATUS_REFUSED, "refused") \
	X(STATUS_SCORED, "scored")

enum attribution_status {
#define X(identifier, name) identifier,
	ATTRIBUTION_STATUSES(X)
#undef X
};

enum attribution_reward {
	REWARD_ZERO,	/* 0.0 */
	REWARD_NULL,	/* not judged */
	REWARD_SIGNAL,	/* the signal fails: the sum of what passes, 0.0 where `tests` is all there is */
	REWARD_SCORED,	/* as the tests say */
};

/* Who answers for it. X(identifier, "name"); NOBODY has no name (null in JSON). */
#define ATTRIBUTION_PARTIES(X) \
	X(CHARGED_NOBODY, NULL) \
	X(CHARGED_CANDIDATE, "candidate") \
	X(CHARGED_CANDIDATE_RUN, "candidate's run") \
	X(CHARGED_FIXTURE, "fixture") \
	X(CHARGED_VERIFIER, "verifier") \
	X(CHARGED_HOST, "host") \
	X(CHARGED_OWNER, "owner") \
	X(CHARGED_PROVIDER, "provider")

enum attribution_party {
#define X(identifier, name) identifier,
	ATTRIBUTION_PARTIES(X)
#undef X
};

/*
 * X(identifier, "id", status, reward, validity (NULL: none), charged to, cause (NULL: none of the list),
 *   "words: the event, as the rulings say it", "the reason where nothing more exact is known")
 */
#define ATTRIBUTIONS(X) \
	X(ATTRIBUTED_PASS, "pass", STATUS_OK, REWARD_SCORED, "valid", CHARGED_NOBODY, NULL, \
	  "every signal holds", "all tests as declared") \
	X(ATTRIBUTED_WORKSPACE, "workspace", STATUS_INVALID, REWARD_ZERO, "invalid", CHARGED_CANDIDATE, NULL, \
	  "candidate left a symlink, FIFO, socket, device; crossed a bound of E1", \
	  "the workspace holds what no workspace may hold") \
	X(ATTRIBUTED_AGENT_OUTPUT, "agent_output", STATUS_INVALID, REWARD_ZERO, "invalid", CHARGED_CANDIDATE, NULL, \
	  "candidate's stdout or stderr over the cap", "output over its cap") \
	X(ATTRIBUTED_OUTSIDE_WRITE, "outside_write", STATUS_INVALID, REWARD_ZERO, "invalid", CHARGED_CANDIDATE, NULL, \
	  "candidate wrote outside its writable paths", "wrote outside its writable paths") \
	X(ATTRIBUTED_ESCAPED, "processes_escaped", STATUS_INVALID, REWARD_ZERO, "invalid", CHARGED_CANDIDATE, NULL, \
	  "processes outlived an established boundary", "processes outlived the boundary") \
	X(ATTRIBUTED_SOURCE_SIZE, "source_size", STATUS_OK, REWARD_SIGNAL, "valid", CHARGED_CANDIDATE, NULL, \
	  "patched source over the source-size profile", "the patched source is over the source-size profile") \
	X(ATTRIBUTED_PATCHED_OUTPUT, "patched_output", STATUS_OK, REWARD_SIGNAL, "valid", CHARGED_CANDIDATE, NULL, \
	  "patched test command over the output cap", "patched output over its cap") \
	X(ATTRIBUTED_PATCHED_MISS, "patched_miss", STATUS_OK, REWARD_SIGNAL, "valid", CHARGED_CANDIDATE, NULL, \
	  "patched test command not as expected", "patched did not meet its declared expectation") \
	X(ATTRIBUTED_PATCHED_RUN, "patched_run", STATUS_ERROR, REWARD_NULL, "invalid", CHARGED_CANDIDATE_RUN, NULL, \
	  "patched test command timed out or could not start", "patched run failed") \
	X(ATTRIBUTED_PATCH, "patch", STATUS_OK, REWARD_SIGNAL, "valid", CHARGED_CANDIDATE, NULL, \
	  "patch does not apply", "no patched tree: the patch does not apply") \
	X(ATTRIBUTED_QUOTE, "quote", STATUS_OK, REWARD_SIGNAL, "valid", CHARGED_CANDIDATE, NULL, \
	  "quote does not match", "a citation's quote does not match") \
	X(ATTRIBUTED_BASELINE_MISS, "baseline_miss", STATUS_ERROR, REWARD_NULL, "invalid", CHARGED_FIXTURE, NULL, \
	  "baseline test command not as the fixture declares", "baseline did not meet its declared expectation") \
	X(ATTRIBUTED_BASELINE_OUTPUT, "baseline_output", STATUS_ERROR, REWARD_NULL, "invalid", CHARGED_FIXTURE, NULL, \
	  "baseline test command over the cap", "baseline output over its cap") \
	X(ATTRIBUTED_BASELINE_RUN, "baseline_run", STATUS_ERROR, REWARD_NULL, "invalid", CHARGED_FIXTURE, NULL, \
	  "baseline test command timed out, could not start, or left processes behind", "baseline run failed") \
	X(ATTRIBUTED_SUBJECT, "subject", STATUS_ERROR, REWARD_NULL, "invalid", CHARGED_FIXTURE, NULL, \
	  "the subject cannot be read, or a collection would refuse it", "the subject cannot be used") \
	X(ATTRIBUTED_VERIFIER, "verifier", STATUS_ERROR, REWARD_NULL, "invalid", CHARGED_VERIFIER, NULL, \
	  "external verifier over its wall clock, or absent", "the external verifier did not answer") \
	X(ATTRIBUTED_WALL_CLOCK, "wall_clock", STATUS_ERROR, REWARD_NULL, "invalid", CHARGED_CANDIDATE_RUN, "wall_clock", \
	  "agent over its wall clock, where the task says error", "the agent ran over its wall clock") \
	X(ATTRIBUTED_WALL_CLOCK_SCORED, "wall_clock_scored", STATUS_SCORED, REWARD_SCORED, "valid", CHARGED_CANDIDATE_RUN, \
	  "wall_clock", "agent over its wall clock, scored on what it left", \
	  "the agent ran over its wall clock and was scored on what it left") \
	X(ATTRIBUTED_EXIT_CODE, "exit_code", STATUS_ERROR, REWARD_NULL, "invalid", CHARGED_CANDIDATE_RUN, NULL, \
	  "agent's exit code not allowed", "the agent's exit code is not allowed") \
	X(ATTRIBUTED_NO_BOUNDARY, "no_boundary", STATUS_REFUSED, REWARD_NULL, NULL, CHARGED_HOST, NULL, \
	  "no boundary could be established", "no boundary could be established: nothing was started") \
	X(ATTRIBUTED_HOST, "host", STATUS_ERROR, REWARD_NULL, "invalid", CHARGED_HOST, NULL, \
	  "a process of ours died, the disk, descriptors or memory of the host ran out", "the host failed") \
	X(ATTRIBUTED_NOT_EXECUTABLE, "not_executable", STATUS_ERROR, REWARD_NULL, "invalid", CHARGED_OWNER, NULL, \
	  "the agent's argv[0] could not be executed", "the agent could not be executed") \
	X(ATTRIBUTED_SPEND_SCORED, "spend_limit_scored", STATUS_SCORED, REWARD_SCORED, "valid", CHARGED_CANDIDATE, \
	  "spend_limit", "spend cap reached, ended with an allowed exit code", "spend cap reached; scored on what it left") \
	X(ATTRIBUTED_SPEND, "spend_limit", STATUS_ERROR, REWARD_NULL, "invalid", CHARGED_CANDIDATE, "spend_limit", \
	  "spend cap reached, not ended with an allowed exit code", "spend cap reached") \
	X(ATTRIBUTED_MEMORY_LIMIT, "memory_limit", STATUS_ERROR, REWARD_NULL, "invalid", CHARGED_CANDIDATE, "memory_limit", \
	  "memory limit met: the run was ended by it", "ended by the memory limit") \
	X(ATTRIBUTED_PROCESS_LIMIT, "process_limit", STATUS_ERROR, REWARD_NULL, "invalid", CHARGED_CANDIDATE, "process_limit", \
	  "pids limit met: the run ended over it", "ended after forks were refused at the process limit") \
	X(ATTRIBUTED_WORKSPACE_QUOTA, "workspace_quota", STATUS_ERROR, REWARD_NULL, "invalid", CHARGED_CANDIDATE, \
	  "workspace_quota", "workspace limit met: the run ended over it", "ended after the workspace was full") \
	X(ATTRIBUTED_LIMIT_MET, "limit_met", STATUS_SCORED, REWARD_SCORED, "valid", CHARGED_CANDIDATE, NULL, \
	  "memory, pids or workspace limit met: scored as it ended, recorded as a refusal", "a limit was met") \
	X(ATTRIBUTED_ROUND_LIMIT, "round_limit", STATUS_STOPPED, REWARD_NULL, NULL, CHARGED_OWNER, "round_limit", \
	  "round's spend or wall clock used up", "the round's wall clock was used up") \
	X(ATTRIBUTED_PROTECTED, "protected", STATUS_SCORED, REWARD_SCORED, "valid", CHARGED_NOBODY, NULL, \
	  "a protected path was changed", "protected paths were restored before the tests") \
	X(ATTRIBUTED_PROVIDER, "provider", STATUS_ERROR, REWARD_NULL, "invalid", CHARGED_PROVIDER, "provider", \
	  "provider failed (5xx, 429 after retries)", "the provider failed") \
	X(ATTRIBUTED_NOT_STARTED, "not_started", STATUS_STOPPED, REWARD_NULL, NULL, CHARGED_HOST, NULL, \
	  "the host failed before the task was started", "not started: the round had to end") \
	X(ATTRIBUTED_OWNER_STOP, "owner_stop", STATUS_STOPPED, REWARD_NULL, NULL, CHARGED_OWNER, "owner_stop", \
	  "owner pressed stop", "stopped by the owner")

enum attribution {
#define X(identifier, ...) identifier,
	ATTRIBUTIONS(X)
#undef X
	ATTRIBUTION_COUNT
};

struct attribution_row {
	const char *id;
	enum attribution_status status;
	enum attribution_reward reward;
	const char *validity;
	enum attribution_party charged;
	const char *cause;
	const char *words;
	const char *reason;
};

/* The row; never NULL for a value of the enum. */
const struct attribution_row *attribution_row(enum attribution event);

const char *attribution_status_name(enum attribution_status status);
/* NULL for nobody. */
const char *attribution_party_name(enum attribution_party party);

#endif
