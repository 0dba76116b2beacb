/*
 * What of the host bounds a boundary less than it could, and is no reason to refuse: lines of `ready` (facts.h), each found
 * by looking at what is in force now.
 *
 *   controllers  a limit that no controller of this host keeps, with what was tried
 *   swap         there is some, and no limit on it: memory is bounded, what is swapped out is not
 *   core dumps   core_pattern begins with a pipe: the program behind it runs as root outside of every boundary (core(5)), and
 *                RLIMIT_CORE does not bound it
 *   log-out      the cgroup is a user manager's, which ends with the last log-out where lingering is off
 */
#ifndef CORE_CONTAINMENT_HOST_CHECKS_H
#define CORE_CONTAINMENT_HOST_CHECKS_H

#include <json-c/json.h>

#include "core/containment/cgroup.h"

/* Adds {id, state: "warn", tried, remedy} for each. */
void host_checks_add(struct json_object *list, const struct cgroup_tree *tree);

/* The same from given texts, for tests. */
void host_checks_core_pattern(struct json_object *list, const char *pattern);
void host_checks_swap(struct json_object *list, const char *swaps, bool limited);

#endif
