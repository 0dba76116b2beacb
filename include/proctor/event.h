/*
 * The events of a round's log (events.jsonl) and of the wire.
 *
 * One JSON object a line: {"seq", "prev", "at", "mono", "type", ...}. seq counts from 1; prev is the
 * SHA-256 of the line before, without its line feed (64 zeros for the first); at is ms since the epoch;
 * mono is ns of CLOCK_MONOTONIC. Ephemeral types travel on the wire only and have neither seq nor prev.
 * docs/events.md lists the members of each type.
 */
#ifndef PROCTOR_EVENT_H
#define PROCTOR_EVENT_H

/* X(identifier, "name", logged) */
#define PR_EVENTS(X) \
	X(PR_EVENT_ROUND_OPENED, "round.opened", 1) \
	X(PR_EVENT_PREFLIGHT_CHECK, "preflight.check", 1) \
	X(PR_EVENT_PREFLIGHT_VERDICT, "preflight.verdict", 1) \
	X(PR_EVENT_CONFIRMATION_ATTEMPT, "confirmation.attempt", 1) \
	X(PR_EVENT_CONFIRMATION_VERDICT, "confirmation.verdict", 1) \
	X(PR_EVENT_ROUND_GATE, "round.gate", 1) \
	X(PR_EVENT_ROUND_STARTED, "round.started", 1) \
	X(PR_EVENT_TASK_PHASE, "task.phase", 1) \
	X(PR_EVENT_REFUSAL, "refusal", 1) \
	X(PR_EVENT_SPEND_RESERVED, "spend.reserved", 1) \
	X(PR_EVENT_SPEND_SETTLED, "spend.settled", 1) \
	X(PR_EVENT_SPEND_REFUSED, "spend.refused", 1) \
	X(PR_EVENT_TASK_OUTPUT_CUT, "task.output.cut", 1) \
	X(PR_EVENT_TASK_VERDICT, "task.verdict", 1) \
	X(PR_EVENT_CONTROL, "control", 1) \
	X(PR_EVENT_BOUNDARY_CLOSED, "boundary.closed", 1) \
	X(PR_EVENT_ROUND_FINISHED, "round.finished", 1) \
	X(PR_EVENT_FAULT, "fault", 1) \
	X(PR_EVENT_PROGRESS, "progress", 0) \
	X(PR_EVENT_TAIL, "tail", 0)

enum pr_event {
#define X(identifier, name, logged) identifier,
	PR_EVENTS(X)
#undef X
	PR_EVENT_COUNT
};

/* The name as it stands in "type"; never NULL for a value of the enum. */
const char *pr_event_name(enum pr_event event);
/* -EINVAL for a name that is not in the list. */
int pr_event_from_name(const char *name);

/* The phases of a task, in order. X(identifier, "name") */
#define PR_PHASES(X) \
	X(PR_PHASE_QUEUED, "queued") \
	X(PR_PHASE_PREPARE, "prepare") \
	X(PR_PHASE_AGENT, "agent") \
	X(PR_PHASE_COLLECT, "collect") \
	X(PR_PHASE_BASELINE, "baseline") \
	X(PR_PHASE_PATCHED, "patched") \
	X(PR_PHASE_DONE, "done")

enum pr_phase {
#define X(identifier, name) identifier,
	PR_PHASES(X)
#undef X
	PR_PHASE_COUNT
};

const char *pr_phase_name(enum pr_phase phase);
int pr_phase_from_name(const char *name);

/* What became of a task. X(identifier, "name") */
#define PR_VERDICTS(X) \
	X(PR_VERDICT_NONE, "none") \
	X(PR_VERDICT_PASS, "pass") \
	X(PR_VERDICT_FAIL, "fail") \
	X(PR_VERDICT_INVALID, "invalid") \
	X(PR_VERDICT_ERROR, "error") \
	X(PR_VERDICT_STOPPED, "stopped")

enum pr_verdict {
#define X(identifier, name) identifier,
	PR_VERDICTS(X)
#undef X
	PR_VERDICT_COUNT
};

const char *pr_verdict_name(enum pr_verdict verdict);
int pr_verdict_from_name(const char *name);

/* The control verbs of the ladder. X(identifier, "name") */
#define PR_VERBS(X) \
	X(PR_VERB_START, "start") \
	X(PR_VERB_FREEZE, "freeze") \
	X(PR_VERB_THAW, "thaw") \
	X(PR_VERB_DRAIN, "drain") \
	X(PR_VERB_STOP, "stop")

enum pr_verb {
#define X(identifier, name) identifier,
	PR_VERBS(X)
#undef X
	PR_VERB_COUNT
};

const char *pr_verb_name(enum pr_verb verb);
int pr_verb_from_name(const char *name);

#endif
