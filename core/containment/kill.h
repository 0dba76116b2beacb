/* The one function that kills a boundary (K8), for the worker's loop, the sweep and `--stop` alike. */
#ifndef CORE_CONTAINMENT_KILL_H
#define CORE_CONTAINMENT_KILL_H

#include <sys/types.h>

/*
 * Kills every process in the cgroup and below it (cgroup.kill, Linux 5.14: transitive over sessions,
 * process groups and reparenting; no birth escapes it), frozen or not. Never give it a cgroup that has a
 * later birth below it (see cgroup.h). Returns 0 or a negative errno; -ENODEV and -ENOENT: it is gone.
 */
int boundary_kill(int cgroup_fd);

/*
 * The weak profile's end (traaviis.process-group.v1): kills a process group, which setsid(2) escapes. Of no boundary; a
 * run is forced down to it by a deletion probe alone (K15).
 */
int group_kill(pid_t group);

#endif
