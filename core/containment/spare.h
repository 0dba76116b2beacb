/*
 * The spare: one boundary that is born ahead, while the worker has nothing else to do, like that of the last run: its
 * leaf with its limits, ids, namespaces, root, filter, and an init that waits for an order. No candidate was ever in
 * it, and one run gets it. A run that is unlike the last one is born as it is asked for, and what was ready goes.
 *
 * There is never more than one. It is no live run: it is told of to nobody, it is in no count, and a freeze holds it as
 * everything below the round's parent; stop and the worker's end take it down. Where the worker dies, init sees the
 * end of its socket, and the sweep removes the leaf as any other.
 */
#ifndef CORE_CONTAINMENT_SPARE_H
#define CORE_CONTAINMENT_SPARE_H

#include "core/containment/run.h"

/* The next spare is to be like this run (whose own has no late binds). Where memory is short there is none. */
void spare_remember(struct worker *worker, const struct run_request *request);

/* Is there one to be made? */
bool spare_is_due(const struct worker *worker);
/* Makes it; blocks as long as a birth. Where that fails none is made until the next run. */
void spare_prepare(struct worker *worker);

/* The spare, the caller's now, where it fits this request and lives; NULL else. */
struct run *spare_take(struct worker *worker, const struct run_request *request);

/* Processes of ours in it: 1 or 0. */
unsigned spare_count(const struct worker *worker);

/* Takes down what is ready and forgets what it was like. False where something of it is left. */
bool spare_drop(struct worker *worker);

#endif
