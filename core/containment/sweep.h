/* What owners that no longer live left behind: cgroups named proctor-PID-START-NS (K9). */
#ifndef CORE_CONTAINMENT_SWEEP_H
#define CORE_CONTAINMENT_SWEEP_H

#include <stdbool.h>
#include <stddef.h>

#include <proctor/error.h>

/* Writes the name that a round of this process's has. */
int sweep_own_name(char *ret_name, size_t size);

/* Is `name` of the form above, of this pid namespace, and its owner dead? Never true for a live owner. */
bool sweep_is_dead(const char *name);

/* Kills, waits for and removes dead owners' cgroups below `base`; returns how many names were removed. */
unsigned sweep_base(int base);

/*
 * `proctor-worker --sweep [--dry-run]`: the same in every hierarchy that is mounted, wherever below it (bounded: 20,000
 * directories, depth 16), printed as {"items":[{"kind":"cgroup","path","owner","killed","removed"}...]}. With `dry_run` it
 * only looks: "killed" is then what lives there.
 */
int sweep_everywhere(bool dry_run, struct pr_error *error);

#endif
