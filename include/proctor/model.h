/*
 * The model: what a round looks like after so many events. A fold over the log and nothing else, the same
 * in the core (for snapshots), in a front (for the screen) and in a review a year later.
 *
 *     struct pr_model model = PR_MODEL_INIT;
 *     pr_model_apply(&model, event)          for each event in order, and each ephemeral one as it comes
 *     pr_model_release(&model);
 *
 * Source of every field: docs/events.md. Texts are cut to their arrays at a whole character and are NOT safe
 * to draw: they go through proctor/text.h first. A number that nothing has told yet is 0, or -1 where 0
 * means something (said at the field). Members that are missing, of the wrong kind or out of range are
 * passed over; nothing an event holds can make the fold fail but lack of memory.
 */
#ifndef PROCTOR_MODEL_H
#define PROCTOR_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <proctor/error.h>
#include <proctor/event.h>

struct json_object;

#define PR_MODEL_TASKS 4096	/* most tasks (repeats counted); more are not folded, a round file with more is refused */
#define PR_TASK_ID 72		/* bytes of a task's id, its NUL included */
#define PR_WORD 48		/* bytes of a word: a cause, a status, a profile */
#define PR_LINE 256		/* bytes of a line of prose: a reason, a source */
#define PR_NAME 128		/* bytes of a round's name */
#define PR_DIGEST 65
#define PR_EPISODE 80

enum pr_truth {
	PR_UNKNOWN,		/* "unknown", or not told */
	PR_FALSE,
	PR_TRUE,
};

/* process_containment, as docs/events.md has it. */
struct pr_containment {
	bool known;			/* the event had one */
	char profile[PR_WORD];
	enum pr_truth enforced;
	enum pr_truth kill_boundary_enforced, control_plane_isolated, resource_controllers_enforced, cleanup_closed;
	enum pr_truth certifiable;
	int64_t remaining_processes;	/* -1: not told */
	char why_not[PR_LINE];		/* uncertifiable_reasons, joined by ", " */
};

/* One phase of one task. */
struct pr_phase_record {
	enum { PR_PHASE_NOT_YET, PR_PHASE_RUNNING, PR_PHASE_ENDED } state;
	int64_t wall_ms;
	char termination[16];		/* exited signalled timed_out killed not_executed; empty: not told */
	bool has_exit_code;
	int64_t exit_code;
};

struct pr_task {
	char id[PR_TASK_ID];
	char source[PR_LINE];

	enum pr_phase phase;		/* queued until a phase starts, done once there is a verdict */
	bool running;			/* a phase has started, no verdict yet */
	struct pr_phase_record phases[PR_PHASE_COUNT];

	enum pr_verdict verdict;	/* PR_VERDICT_NONE: none yet */
	char status[PR_WORD], validity[PR_WORD];
	bool has_reward;		/* false: null */
	double reward;
	char cause[PR_WORD], charged_to[PR_WORD];
	char reason[PR_LINE];
	char episode[PR_EPISODE];	/* id; empty: none */
	unsigned violations;		/* how many the verdict lists */

	uint64_t refusals;		/* sum of counts so far; the verdict's own figure once it is there; a lower bound */
	bool stdout_cut, stderr_cut;	/* in any phase */

	int64_t spend_usd_micro, reserved_usd_micro;

	int64_t wall_ms;		/* of the phase under way by progress; of the whole task after the verdict */
	int64_t limit_ms;		/* of the phase under way; 0: none */

	/* By progress, of the phase under way; 0 once the task is done. */
	int64_t processes;
	int64_t memory_bytes, output_bytes;
	int64_t idle_ms;		/* since its last activity; -1: not told */

	/* The last boundary.closed. */
	bool closed_known;
	int64_t killed, remaining, closed_us;	/* closed_us: from kill to removed, in microseconds */
	bool removed;
	char cleanup[PR_WORD];		/* "ok", or what was left */

	struct pr_containment containment;
};

/* All tasks, always: queued + running + done == tasks, and done is the sum of the five verdicts. */
struct pr_counts {
	uint32_t tasks, queued, running, done;
	uint32_t pass, fail, invalid, error, stopped;
};

enum pr_gate { PR_GATE_NONE, PR_GATE_WAITING, PR_GATE_OPEN };

struct pr_model {
	uint64_t seq;			/* of the last event folded; 0: none */
	char head[PR_DIGEST];		/* digest of the line before the last one folded, as it says; of round.finished its head */

	char round[PR_NAME], name[PR_NAME], kind[PR_WORD];
	char dir[1024];			/* the round's directory */
	char version[PR_WORD], agent[PR_LINE], profile[PR_WORD];
	int64_t parallel;
	int64_t wall_clock_ms, tests_wall_clock_ms;	/* caps of the agent and of each test command, unless a task has its own */
	int64_t longest_ms;				/* of all clocks of all tasks; 0: not known */
	bool resumed;

	int64_t opened_at_ms, started_at_ms, last_at_ms;	/* since the epoch, of the last run of the core; 0: not yet */
	int64_t started_mono_ns, last_mono_ns;		/* CLOCK_MONOTONIC of the core's host, same run of the core */

	struct {
		bool known;
		int64_t ok, warn, fail, unknown;
	} preflight;

	enum pr_gate gate;
	char gate_by[PR_WORD];		/* --yes, baseline, command */
	bool started;			/* round.started */

	bool frozen, draining, held, stopping;
	char held_why[PR_LINE];

	/* The last control event. */
	struct {
		bool known;
		int verb;		/* enum pr_verb; -1: one we do not know (hold) */
		int64_t uid, pid;	/* -1: not told */
		char task[PR_TASK_ID];	/* empty: the round */
		int64_t us;		/* freeze: until frozen; stop: until removed; microseconds; -1: not told */
		int64_t processes, runs;		/* freeze; -1: not told */
		int64_t killed, remaining, removed;	/* stop; -1: not told */
	} control;

	bool finished;
	char state[PR_WORD];		/* of round.finished: finished, stopped, drained; else empty */
	int64_t wall_ms;		/* of round.finished */
	int64_t spend_usd_micro;	/* of the tasks so far; of round.finished its own */

	uint64_t refusals;		/* of all tasks */
	uint64_t faults;		/* how many fault events */
	char last_fault[PR_LINE];

	struct pr_counts counts;
	struct pr_task *tasks;		/* counts.tasks of them, in the round's order; owned */

	/* Of the fold alone. */
	uint32_t room_, *index_, index_room_, last_;
};

#define PR_MODEL_INIT { .last_ = 0 }

void pr_model_release(struct pr_model *model);

/*
 * Folds one event. Events of the log with seq <= model->seq are passed over (they are in the model), so are
 * unknown types and what is no object. 1: the model changed; 0: it did not; -ENOMEM.
 */
int pr_model_apply(struct pr_model *model, struct json_object *event);

/* The task of that id, lent until the next apply; NULL: none. */
struct pr_task *pr_model_task(struct pr_model *model, const char *id);

/*
 * A snapshot as an object (a new reference, the caller's; NULL: out of memory), and back. Members at their
 * first value are left out. `reason_bytes` bounds each reason and source (PR_LINE: whole).
 * pr_model_from_json() fills a fresh model: -EBADMSG where it is no object, -ENOMEM; robust as apply.
 */
struct json_object *pr_model_to_json(const struct pr_model *model, size_t reason_bytes);
int pr_model_from_json(struct json_object *object, struct pr_model *ret_model, struct pr_error *error);

const char *pr_gate_name(enum pr_gate gate);	/* "none", "waiting", "open" */

#endif
