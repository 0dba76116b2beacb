/* The worker's loop: requests of the core in, reports out, until the core's socket closes (docs/architecture.md). */
#ifndef CORE_CONTAINMENT_SERVE_H
#define CORE_CONTAINMENT_SERVE_H

#include "core/containment/run.h"

/* Serves until the peer closes or a termination signal comes; then kills, waits for and removes every run. */
int serve(struct worker *worker, int socket, unsigned swept, struct pr_error *error);

/* The one message of a worker that cannot serve. */
void serve_refusal(int socket, const struct pr_error *error);

#endif
