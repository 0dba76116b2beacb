/* The stop that does not depend on a core or a worker being alive: `proctor-worker --stop DIRECTORY`. */
#ifndef CORE_CONTAINMENT_STOP_H
#define CORE_CONTAINMENT_STOP_H

#include <proctor/error.h>

/*
 * Stops the round whose directory this is: reads the cgroup's path from its boundary.json, freezes the round's
 * parent, kills leaf by leaf, waits until it is empty, and prints {"killed", "remaining", "removed", "ms"}.
 * A run's leaf that is gone afterwards counts as removed, also where a live worker removed it. A round without a cgroup is
 * stopped already: zeros.
 */
int stop_round(const char *directory, struct pr_error *error);

#endif
