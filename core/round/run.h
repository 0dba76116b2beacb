/*
 * One run in a boundary: from the request to `closed`, as the core sees it. It owns the pipes' read ends,
 * the wall clock and the facts; what the run is for is its caller's (task.c).
 *
 * Life cycle: run_command() or run_collect() -> `done` exactly once, when the boundary is closed (or the worker
 * would not or could no longer tell) -> run_free(). A run that could not be asked for has no `done`.
 */
#ifndef CORE_ROUND_RUN_H
#define CORE_ROUND_RUN_H

#include "core/evaluation/verdict.h"
#include "core/round/engine.h"
#include "core/round/output.h"

enum run_kill_reason { KILL_NOT, KILL_CLOCK, KILL_OUTPUT, KILL_SETUP, KILL_STOP };

enum { RUN_STDOUT, RUN_STDERR, RUN_STREAMS };

struct run {
	struct run *next;
	struct engine *engine;
	uint64_t number;
	const char *task;		/* its id */
	enum pr_phase phase;
	void (*done)(struct run *run);
	void *context;

	struct output output[RUN_STREAMS];
	bool has_output;
	uv_timer_t *timer;
	int64_t limit_ns;		/* of the command */
	int64_t asked_ns, started_ns, ended_ns;	/* by engine_clock_ns(); 0: not yet */
	bool started, exited;		/* the command */
	bool closed;			/* nothing more can be done to it */
	enum run_kill_reason killed_for;

	/* From `closed`. */
	struct run_facts facts;
	char why[200];
	uint64_t killed, memory_refused;
	double close_ms;
	bool removed, has_workspace;
	struct json_object *containment;	/* or NULL */

	/* The last sample. */
	uint64_t processes, memory_bytes;
};

struct run_request {
	const char *task;
	enum pr_phase phase;
	struct json_object *spec;	/* taken over in every case */
	int subject_fd;			/* -1: none */
	int64_t limit_ns;
	int dirfd;			/* where the outputs go */
	const char *name;		/* NAME.stdout, NAME.stderr; NULL: no outputs (a collection) */
	uint64_t of;			/* of a collection: the run whose workspace is walked */
	int stream_fd;			/* of a collection: the write end for the collector */
	void (*done)(struct run *run);
	void *context;
};

int run_command(struct engine *engine, const struct run_request *request, struct run **ret_run, struct pr_error *error);
int run_collect(struct engine *engine, const struct run_request *request, struct run **ret_run, struct pr_error *error);
void run_free(struct run *run);

/* Ends it; `done` comes when it is closed. The first reason counts. */
void run_kill(struct run *run, enum run_kill_reason reason);
/* Marks it as ended by the worker's own `stop`. */
void run_mark_stopped(struct run *run);

/* What the worker says about runs. False: it was about none that is live. */
bool runs_event(struct engine *engine, const char *event, struct json_object *message);
/* The worker is gone: each live run is lost, and done. */
void runs_lost(struct engine *engine, const char *why);
/* Every wall clock stops, or goes on. Call after `engine->frozen` has changed. */
void runs_freeze(struct engine *engine);
void runs_thaw(struct engine *engine);

int64_t run_wall_ms(const struct run *run);

#endif
