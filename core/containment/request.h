/*
 * The core's requests, read: bounded, typed, every member checked. The core is ours, but a worker that trusts
 * a number it did not check is one fault away from a candidate's number.
 */
#ifndef CORE_CONTAINMENT_REQUEST_H
#define CORE_CONTAINMENT_REQUEST_H

#include <json-c/json.h>

#include "core/containment/run.h"

/* X(identifier, "op") */
#define WORKER_OPS(X) \
	X(OP_RUN, "run") \
	X(OP_COLLECT, "collect") \
	X(OP_KILL, "kill") \
	X(OP_RELEASE, "release") \
	X(OP_FREEZE, "freeze") \
	X(OP_THAW, "thaw") \
	X(OP_STOP, "stop") \
	X(OP_SAMPLE, "sample")

enum worker_op {
#define X(identifier, name) identifier,
	WORKER_OPS(X)
#undef X
	OP_COUNT
};
const char *worker_op_name(enum worker_op op);

struct request {
	enum worker_op op;
	uint64_t run;		/* 0 where the op has none */
	uint64_t of;		/* `of` or the spec's workspace_of; 0 none */
};

/* -EBADMSG with what is wrong. */
int request_read(const char *text, size_t length, struct request *ret_request, struct pr_error *error);

/*
 * Reads the spec of `run` or `collect` from its memory file into `ret_run` (the members that the spec gives;
 * number, kind and descriptors stay the caller's) and its workspace_of into `ret_of`. The strings live until spec_release.
 */
int spec_read(int fd, bool collect, struct run_request *ret_run, uint64_t *ret_of, struct pr_error *error);
void spec_release(struct run_request *run);

#endif
