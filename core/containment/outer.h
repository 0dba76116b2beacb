/*
 * The outer user namespace of an ordinary user's worker: 0 is the user, 1 and up the subordinate range of
 * /etc/subuid and /etc/subgid. Entered once, at the start (newuidmap costs milliseconds); from there each run's
 * maps are written by the worker itself, on the same code path as root's.
 */
#ifndef CORE_CONTAINMENT_OUTER_H
#define CORE_CONTAINMENT_OUTER_H

#include <stdbool.h>

#include <proctor/error.h>

/*
 * As root: 0. As an ordinary user: enters the namespace and executes this program anew with `--outer COUNT`
 * put in front of its arguments (the memory of a program belongs to the user namespace it was executed in,
 * and the maps of its children are only writable from there), so it returns on failure alone. Where no range is to be had and
 * `allow_own` is set, the namespace maps the user's own id alone, and what is put in front is `--own-ids WHY
 * --own-ids-remedy REMEDY`: the words of the refusal that it takes the place of.
 */
int outer_enter(char **argv, bool allow_own, struct pr_error *error);

/* In the namespace: do its capabilities work? Leaves the caller in a mount namespace of its own. */
int outer_check(struct pr_error *error);

#endif
