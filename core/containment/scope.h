/*
 * On a host with systemd: a scope of the worker's own with Delegate=yes. systemd is asked by systemd-run(1), of the system
 * manager for root and of the user manager (user@UID.service) for an ordinary user.
 *
 *     proctor-worker ARGS            scope_enter(): tries systemd-run with `true`, so that its words are there to be told; then
 *       = systemd-run --scope ...    executes itself through it, keeping pid and descriptors
 *         = proctor-worker --scoped UNIT ARGS
 *                                    scope_check(): are we in UNIT, and which controllers are there? The exit code says neither
 */
#ifndef CORE_CONTAINMENT_SCOPE_H
#define CORE_CONTAINMENT_SCOPE_H

#include <stddef.h>

#include <proctor/error.h>

/* 0: there is no systemd here, nothing was done. Returns on failure otherwise, with a remedy. `argv` as main has it. */
int scope_enter(char **argv, struct pr_error *error);

/* 0 where our own cgroup is that of `unit`. */
int scope_check(const char *unit, struct pr_error *error);

/*
 * What ends a user manager ends the round: 0 where it stays over the last log-out (or none of it is used), -ENOENT where
 * lingering is off. `user` gets the login name, for the remedy.
 */
int scope_check_linger(char *ret_user, size_t size);

#endif
