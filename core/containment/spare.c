/* The spare of spare.h; the worker's loop and run_start use it. */
#include "core/containment/spare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct spare {
	struct run_request like;	/* root and read_only are our own; nothing to be executed */
	struct run *ready;		/* NULL: none */
	bool failed;			/* not tried again until the next run */
};

static void forget(struct run_request *like)
{
	free(like->root);
	for (size_t i = 0; i < like->read_only_count; i++)
		free(like->read_only[i]);
	free(like->read_only);
	*like = (struct run_request){ 0 };
}

static bool equal_texts(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool equal_limits(const struct cgroup_limits *a, const struct cgroup_limits *b)
{
	/* Exactly as written: a limit that is near is another one. */
	return a->processes == b->processes && a->memory_bytes == b->memory_bytes && !(a->cpus < b->cpus) && !(a->cpus > b->cpus) &&
	       a->as_a_whole == b->as_a_whole;
}

static bool is_like(const struct run_request *like, const struct run_request *request)
{
	if (request->kind != BIRTH_RUN || request->of || request->dry || !equal_texts(like->root, request->root) ||
	    !equal_limits(&like->limits, &request->limits) || like->workspace_bytes != request->workspace_bytes ||
	    like->workspace_inodes != request->workspace_inodes || like->read_only_count != request->read_only_count)
		return false;
	for (size_t i = 0; i < like->read_only_count; i++)
		if (strcmp(like->read_only[i], request->read_only[i]) != 0)
			return false;
	return true;
}

static int copy(const struct run_request *request, struct run_request *ret_like)
{
	struct run_request like = {
		.kind = BIRTH_RUN, .limits = request->limits, .workspace_bytes = request->workspace_bytes,
		.workspace_inodes = request->workspace_inodes, .output = { -1, -1 }, .stream = -1,
	};
	like.root = request->root ? strdup(request->root) : NULL;
	like.read_only = calloc(request->read_only_count + 1, sizeof *like.read_only);
	bool whole = like.read_only && (like.root || !request->root);
	for (size_t i = 0; whole && i < request->read_only_count; i++) {
		like.read_only[i] = strdup(request->read_only[i]);
		whole = like.read_only[i] != NULL;
		like.read_only_count += whole;
	}
	if (!whole) {
		forget(&like);
		return -ENOMEM;
	}
	*ret_like = like;
	return 0;
}

void spare_remember(struct worker *worker, const struct run_request *request)
{
	struct run_request like;
	struct spare *spare = worker->spare;
	if (request->of)
		return;
	if (spare && is_like(&spare->like, request)) {
		spare->failed = false;
		return;
	}
	spare_drop(worker);
	if (copy(request, &like) < 0)
		return;
	worker->spare = calloc(1, sizeof *worker->spare);
	if (worker->spare)
		worker->spare->like = like;
	else
		forget(&like);
}

bool spare_is_due(const struct worker *worker)
{
	const struct spare *spare = worker->spare;
	return spare && !spare->ready && !spare->failed && !worker->frozen;
}

void spare_prepare(struct worker *worker)
{
	struct pr_error error = { 0 };
	struct spare *spare = worker->spare;
	struct run *run;
	char name[32];
	snprintf(name, sizeof name, "spare%" PRIu64, worker->spares++);
	spare->failed = run_prepare(worker, &spare->like, name, &run, &error) < 0;
	if (spare->failed)
		return;
	/* It was born and did not come to its exec. */
	spare->failed = run->outcome != OUTCOME_NONE;
	if (spare->failed)
		run_discard(worker, run);
	else
		spare->ready = run;
}

struct run *spare_take(struct worker *worker, const struct run_request *request)
{
	struct spare *spare = worker->spare;
	if (!spare || !spare->ready || !is_like(&spare->like, request))
		return NULL;
	struct run *run = spare->ready;
	spare->ready = NULL;
	if (!run_is_dead(run))
		return run;
	run_discard(worker, run);
	return NULL;
}

unsigned spare_count(const struct worker *worker)
{
	return worker->spare && worker->spare->ready ? 1 : 0;
}

bool spare_drop(struct worker *worker)
{
	struct spare *spare = worker->spare;
	bool clean = true;
	if (!spare)
		return true;
	if (spare->ready)
		clean = run_discard(worker, spare->ready);
	forget(&spare->like);
	free(spare);
	worker->spare = NULL;
	return clean;
}
