/* The worker's dry run: a boundary is born, filled with daemons, killed, waited for and removed (K14). */
#ifndef CORE_CONTAINMENT_DRYRUN_H
#define CORE_CONTAINMENT_DRYRUN_H

#include "core/containment/run.h"

/*
 * Sets the worker's *_shown and *_tried. A boundary that cannot be born at all is an error: no run may then
 * be started. `*ret_ms` is the time from birth to removal.
 */
int dryrun(struct worker *worker, double *ret_ms, struct pr_error *error);

#endif
