/*
 * A live round: it holds the engine, the tasks and the control socket, decides what starts when, and ends
 * when every task has its verdict.
 *
 *     round_serve() runs the loop from the open directory to round.finished, and returns the exit code.
 *
 * Inside, by file: round.c setting up, gate, dispatch, finish - round_control.c the verbs - round_worker.c what
 * the worker says, its death and its successor.
 */
#ifndef CORE_ROUND_ROUND_H
#define CORE_ROUND_ROUND_H

#include "core/evaluation/attribution.h"
#include "core/round/control.h"
#include "core/round/engine.h"
#include "core/round/task.h"

#define ROUND_EQUAL_ERRORS 5	/* in a row, of the host's, the fixtures' or the provider's: dispatch holds */
#define ROUND_WORKER_DEATHS 5	/* within ROUND_WORKER_DEATHS_NS: no further worker is started */
#define ROUND_WORKER_DEATHS_NS (60 * NS_PER_S)
#define ROUND_WAITERS 8		/* commands that wait for one answer of the worker's */

enum exit_code { EXIT_FINE = 0, EXIT_FAULT = 1, EXIT_REFUSED = 2, EXIT_STOPPED = 3, EXIT_USAGE = 64 };

struct round_options {
	bool yes;		/* the gate is open */
	bool nobody;		/* nobody is there to open it: a round that would wait is refused before it is made */
	bool resumed;
	int announce_fd;	/* -1: none, the announcement goes to standard output and the core stays as it is */
	int attached_fd;	/* -1: none; its end stops the round */
};

struct who {
	uid_t uid;
	pid_t pid;
};

/* Ids of commands that are answered when the worker has. */
struct waiters {
	char ids[ROUND_WAITERS][PR_COMMAND_ID + 1];
	size_t count;
	struct who who;
	bool under_way;
};

/* Freezes and thaws that came while another was under way: done in their order, so that the last word holds. */
struct deferred {
	struct {
		char id[PR_COMMAND_ID + 1];
		int verb;
		struct who who;
	} list[ROUND_WAITERS];
	size_t count;
};

struct round {
	struct engine engine;
	struct control control;
	struct round_options options;
	uv_loop_t loop;
	uv_timer_t tick, clock, expiry, later;
	uv_signal_t signals[2];
	uv_poll_t attached;
	bool attached_watched;
	char socket_path[128];
	int log_fd;			/* core.log */
	bool stillborn;			/* it ended before its first event: a new directory is removed again */

	struct task *tasks;
	size_t count;
	size_t next;			/* the first that may be queued */
	size_t running, done;

	enum { BOUNDARY_AWAITED, BOUNDARY_READY, BOUNDARY_REFUSED } boundary;
	struct pr_error refusal;	/* of BOUNDARY_REFUSED */
	bool gate_open, draining, stopping, over_limit, held, failing, finished;
	struct who who;			/* who stopped or drained it */
	int64_t opened_ns, started_ns;	/* by engine_clock_ns() */
	struct waiters freezes, thaws, stops;
	struct deferred deferred;

	enum attribution last_error;
	unsigned equal_errors;
	int64_t deaths[ROUND_WORKER_DEATHS];
	size_t death_count;

	struct {
		char id[PR_COMMAND_ID + 1];
		bool asked;
		struct who who;
	} *task_stops;			/* one a task */
};

/*
 * Everything of `engine` that outlives a start must be there: the directory (locked, published), spec, subjects,
 * store. `engine->journal` is opened here. Takes the engine over.
 */
int round_serve(struct engine *engine, const struct round_options *options, struct pr_error *error);

/* ------- inside ------- */

void round_dispatch(struct round *round);
void round_open_gate(struct round *round, const char *by);
void round_fault(struct round *round, const char *what, const char *charged_to, const char *message);
/* The fault of `refusal`, with its remedy. */
void round_refused(struct round *round);
/* Every task that has not started gets its verdict; then the running ones are interrupted too where `running`. */
void round_interrupt(struct round *round, enum verdict_interruption by, const char *words, bool running);
void round_finish_if_done(struct round *round);
void round_tick_update(struct round *round);
void round_resume_tasks(struct round *round);
struct json_object *round_control_event(const char *verb, const struct who *who, const char *task);

void round_command(void *context, const struct control_command *command);
/* Nothing will be frozen or thawed any more: those who asked are told. */
void round_forget_deferred(struct round *round);
void round_stop(struct round *round, const struct who *who, const char *id);
void round_stopped_figures(struct round *round, struct json_object *message);
void round_task_stopped(struct round *round, struct task *task);
void round_frozen(struct round *round, struct json_object *message);
void round_thawed(struct round *round);
void round_request_failed(struct round *round, const char *op, const char *words);

int round_start_worker(struct round *round, struct pr_error *error);
void round_on_worker(void *context, const char *event, struct json_object *message);
void round_on_worker_death(void *context, const char *why);

#endif
