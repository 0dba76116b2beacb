/*
 * One task: the state machine from its subject to its verdict.
 *
 *     prepare -> agent -> collect -> (patch) -> baseline -> patched -> verdict
 *
 * Every arrow is a step; a step is taken when the round is not frozen and a worker is alive, else it waits
 * (task_resume()). An interruption ends what runs, and the verdict follows when all of it has ended.
 * `finished` is called exactly once, after the verdict stands in the journal.
 */
#ifndef CORE_ROUND_TASK_H
#define CORE_ROUND_TASK_H

#include "core/evaluation/verdict.h"
#include "core/round/engine.h"
#include "core/round/evidence.h"
#include "core/round/run.h"

enum task_state { TASK_QUEUED, TASK_RUNNING, TASK_DONE };

/* What is kept of a command that ran. */
struct run_record {
	struct run_facts facts;
	char why[200];
	int64_t wall_ms;
	char digest[RUN_STREAMS][DIGEST_TAGGED];
	uint64_t number;
	struct json_object *containment;	/* or NULL */
};

struct set_record {
	struct run_record *runs;
	struct test_facts *tests;		/* beside each run; `run` is a copy of its facts */
	size_t count, room;
};

struct task {
	struct engine *engine;
	const struct task_spec *spec;
	const struct subject *subject;
	size_t number;				/* in the round's order */
	void (*finished)(struct task *task);
	void *context;

	enum task_state state;
	enum pr_phase phase;
	int64_t begun_ns, phase_ns;		/* by engine_clock_ns() */
	int dirfd;
	struct evidence evidence;

	uv_work_t work;
	bool working, collecting;
	int (*work_call)(struct task *task);	/* in a thread */
	int work_result;
	void (*then)(struct task *task);	/* after the work, in the loop */
	void (*pending)(struct task *task);	/* a step that waits for thaw or a worker */
	struct run *run;			/* the live one */
	uint64_t kept_run;			/* whose workspace the worker still holds; 0: none */

	enum verdict_interruption interruption;
	char interruption_words[300];

	bool agent_ran;
	struct run_record agent;
	struct set_record baseline, patched;
	size_t command;				/* of the set under way */
	unsigned pass;
	uint64_t refusals;
	bool finishing;
	/* What closing its boundaries came to, in sum: for who stops it. */
	uint64_t killed, remaining, removed;
	double close_ms;
	struct verdict verdict;
	int64_t wall_ms;
	struct json_object *result;
};

void task_init(struct task *task, struct engine *engine, size_t number);
void task_release(struct task *task);
void task_start(struct task *task);
/* Takes the step that waits, where there is one and it may be taken. */
void task_resume(struct task *task);
/*
 * Ends it: a running task gets its verdict when all that runs has ended, a queued one at once, without having
 * started. The first interruption counts. `words` may be NULL.
 */
void task_interrupt(struct task *task, enum verdict_interruption by, const char *words);
/* One element of `progress.tasks`; NULL where it is not running. */
struct json_object *task_progress(const struct task *task);

/* ------- inside (task.c, task_tests.c, task_record.c) ------- */

/* Takes the step now, or when it may be taken; an interrupted task goes to its verdict instead. */
void task_step(struct task *task, void (*step)(struct task *task));
void task_work(struct task *task, int (*call)(struct task *task), void (*then)(struct task *task));
void task_finish(struct task *task);
/* False where the event that announces an act does not stand: the act must not be, and round.c ends the task. */
static inline bool task_may_go_on(const struct task *task)
{
	return task->interruption == INTERRUPTED_NOT && !task->engine->journal.broken;
}
void task_phase_started(struct task *task, enum pr_phase phase);
void task_phase_ended(struct task *task, const struct run_facts *facts);
/* The host's fault: the verdict follows. */
void task_host_failed(struct task *task, const char *words);
/* Copies what is kept, counts refusals, releases the run. */
void task_take_run(struct task *task, struct run *run, struct run_record *record);
void task_release_kept(struct task *task);
/* The spec of a run: what all of this round's runs share. */
struct json_object *task_run_spec(struct task *task, const char *bind);
void task_begin_baseline(struct task *task);
void task_begin_patched(struct task *task);
void task_facts(const struct task *task, struct task_facts *ret_facts);
struct json_object *task_verdict_event(const struct task *task);
struct json_object *task_result(const struct task *task);

#endif
