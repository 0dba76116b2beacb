/*
 * The core's end of the worker protocol (docs/architecture.md): the process, its socket, its messages.
 *
 * Life cycle: worker_start() ... `ready` or `refused` ... requests and events ... worker_stop(). Where the worker
 * dies, `died` is called once, after which worker_start() may be called again. The core never sends a signal:
 * closing the socket is what makes a worker kill every boundary, wait until each is empty, and exit.
 */
#ifndef CORE_ROUND_WORKER_H
#define CORE_ROUND_WORKER_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include <proctor/error.h>

#define WORKER_MESSAGE ((size_t)65536)
#define WORKER_FDS 4

struct worker_pending;

struct worker {
	uv_loop_t *loop;
	/* `message` is lent. */
	void (*event)(void *context, const char *event, struct json_object *message);
	void (*died)(void *context, const char *why);
	void *context;
	int stderr_fd;			/* what it has to say goes there; borrowed */
	bool allow_own_ids;		/* where the host has no id range */

	int socket;
	uv_poll_t *poll;
	uv_process_t *process;
	struct worker_pending *first, **last;	/* requests that the socket did not take yet */
	bool ready;
};

/* Zero the struct and set the six first members beforehand. `ready` comes as an event. */
int worker_start(struct worker *worker, struct pr_error *error);
/* Closes the socket; the worker ends by itself. `died` is not called. */
void worker_stop(struct worker *worker);
static inline bool worker_alive(const struct worker *worker)
{
	return worker->poll && worker->ready;
}

/* Takes the message over; the descriptors stay the caller's. -EPIPE where no worker is alive. */
int worker_send(struct worker *worker, struct json_object *message, const int *fds, size_t fd_count,
		struct pr_error *error);
/* {"op": op} with {"run": run} where run is not 0. */
int worker_tell(struct worker *worker, const char *op, uint64_t run);

#endif
