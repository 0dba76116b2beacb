/*
 * What rounds that no longer run left on this host, found and removed: `proctor-core sweep`.
 *
 *   cgroups      of workers that are dead, with what lives in them (proctor-worker --sweep does that)
 *   sockets      in the sockets' directory, of rounds whose lock is free and where nobody answers
 *   directories  that a start had not finished, with a free lock
 *   mounts       at or below such a directory: proctor makes none outside of its own mount namespaces, and what
 *                somebody else mounted there must not be emptied with the directory
 *
 * A round's own directory is evidence and stays, however the round ended.
 */
#ifndef CORE_ROUND_LEFTOVERS_H
#define CORE_ROUND_LEFTOVERS_H

#include <stdbool.h>

#include <proctor/error.h>

/*
 * Prints lines, or one JSON object. `dry_run`: nothing is killed or removed. Returns 0, 1 where something could not be
 * removed, or a negative errno.
 */
int leftovers_sweep(bool dry_run, bool json, struct pr_error *error);

#endif
