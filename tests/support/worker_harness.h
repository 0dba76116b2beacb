/*
 * A running proctor-worker, spoken to as the core speaks to it (docs/architecture.md, "Worker protocol").
 *
 * For tests of laws and for benchmarks: they judge the real worker by what the kernel and its events say,
 * never a helper beside it.
 *
 *     struct worker *worker = worker_start(&(struct worker_start){ 0 });
 *     int run = worker_run(worker, &(struct run_spec){ .argv = (const char *[]){ "true", NULL } });
 *     const struct run_result *result = worker_finish(worker, run, 10000);
 *     ... result->outcome, result->code, result->output ...
 *     worker_free(worker);
 *
 * While a call waits, the output of every live run is read, so that no candidate hangs on a full pipe.
 * Nothing here asserts; a caller looks at what it gets. Failures of the machinery are told on standard error.
 */
#ifndef TESTS_SUPPORT_WORKER_HARNESS_H
#define TESTS_SUPPORT_WORKER_HARNESS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buffer.h"

struct worker;		/* one worker, its socket and what it said */

struct worker_start {
	const char *program;	/* NULL: build/proctor-worker, or build/tests/guarded/proctor-worker where a guard is out */
	const char *without;	/* guard ids to take out, comma separated: PROCTOR_WITHOUT of the guarded build */
	const char *const *environment;	/* "NAME=value" for the worker itself, over the test's own */
	int ready_ms;		/* how long to wait for ready or refused; 0: 20 s */
};

/*
 * Starts a worker and waits for `ready` or `refused`. NULL where it said neither (it is then gone). A worker
 * that refused is returned too: worker_refused() has its event.
 */
struct worker *worker_start(const struct worker_start *how);

/* Closes the socket and waits for its end, killing it after 60 s. Frees all. NULL is fine. */
void worker_free(struct worker *worker);

pid_t worker_pid(const struct worker *worker);
struct json_object *worker_ready(const struct worker *worker);		/* borrowed; NULL where it refused */
struct json_object *worker_refused(const struct worker *worker);	/* borrowed; NULL where it is ready */

/* Closes our end and waits for its exit. Returns the exit code, 128 + signal, or -ETIMEDOUT. */
int worker_close(struct worker *worker, int timeout_ms);

/* SIGKILL to the worker itself, as a crash of it. It is reaped. */
void worker_kill(struct worker *worker);

struct run_spec {
	const char *const *argv;
	const char *const *environment;	/* "NAME=value"; NULL: none */
	const char *cwd;		/* NULL: "." */
	const char *root;		/* NULL: "host" */
	const char *const *read_only;	/* NULL: none */
	int workspace_of;		/* 0: none */
	uint64_t memory_bytes;		/* 0: 2 GiB */
	int processes;			/* 0: 256 */
	double cpus;			/* 0: 1 */
	uint64_t workspace_bytes;	/* 0: 1 GiB */
	uint64_t inodes;		/* 0: 200,000 */
	int subject_fd;			/* 0 or less: no subject. A subject stream (core/workspace/stream.h) */
	int output_fd, error_fd;	/* 0: a pipe that this harness reads; else the caller's (say /dev/null) */
	size_t output_limit;		/* bytes kept of each stream that is read here; 0: 64 MiB. The rest is dropped */
};

/*
 * Asks for a run and returns its number at once, or a negative errno where the request could not be
 * sent.
 */
int worker_run(struct worker *worker, const struct run_spec *spec);

/* Asks to collect what run `of` left. The stream is the output of the run that it returns. */
int worker_collect(struct worker *worker, int of, const char *const *scratch);

/* One request as it stands, with descriptors, for what the above do not say. 0 or a negative errno. */
int worker_send(struct worker *worker, const char *json, const int *fds, size_t fd_count);
int worker_send_op(struct worker *worker, const char *op, int run);	/* {"op":OP} with "run" where it is not 0 */

/*
 * Waits for an event by name, of this run (0: of any), among those not yet taken, and takes it. Borrowed until
 * worker_free. NULL: none came within the time, or the worker is gone.
 */
struct json_object *worker_await(struct worker *worker, const char *event, int run, int timeout_ms);

struct run_result {
	int run;
	bool closed;			/* false: no `closed` within the time, the rest says nothing */
	const char *outcome;		/* "exited", "signalled", ... ; "failed" where the request was not taken */
	int code, signal, error;	/* error: the errno of exec_failed and setup_failed */
	int killed, remaining;
	bool removed;
	double ms;
	struct json_object *event;	/* `closed` (or `failed`) whole; borrowed */
	const struct buffer *output;	/* what this harness read; NUL-terminated, never NULL data */
	const struct buffer *error_output;
};

/* Waits for the end of a run and its output. The result lives until worker_release_run or worker_free. */
const struct run_result *worker_finish(struct worker *worker, int run, int timeout_ms);

/* Waits until the output of a live run holds the text. */
bool worker_await_output(struct worker *worker, int run, const char *text, int timeout_ms);

/* Sends `release` and forgets the run here too. */
void worker_release_run(struct worker *worker, int run);

/* Run, finish, release in one, for a benchmark's inner loop: 0 where the command exited 0. */
int worker_run_once(struct worker *worker, const struct run_spec *spec, int timeout_ms);

/* Members of an event, with what stands in where they are absent. */
const char *event_text(struct json_object *event, const char *name);	/* "" */
int64_t event_number(struct json_object *event, const char *name);	/* -1 */

#endif
