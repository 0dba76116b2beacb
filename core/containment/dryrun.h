/* The worker's dry run: a boundary is born, probed from inside, killed, waited for and removed (K14). */
#ifndef CORE_CONTAINMENT_DRYRUN_H
#define CORE_CONTAINMENT_DRYRUN_H

#include "core/containment/run.h"

/*
 * Sets the worker's axes by what two runs on the real path showed: the prober (prober.h) and its neighbour, a live
 * sibling for it to try to enter. A boundary that cannot be born at all is an error: no run may then be
 * started. `*ret_ms` is the time from the first birth to the last removal.
 */
int dryrun(struct worker *worker, double *ret_ms, struct pr_error *error);

#endif
