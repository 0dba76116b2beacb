/*
 * The prober: our own program in a candidate's place. The worker's dry run (dryrun.h) starts proctor-init once more as
 * the command of an ordinary run, with the candidate's ids, view and layers, and lets it try what must not work:
 *
 *   proctor-init prober PLAN DIRECTORY...    PLAN "all": 1. to enter each cgroup DIRECTORY, a path of the host's, by every
 *                                            way it can think of, and to make a cgroup there; to mount the hierarchies anew;
 *                                            to join or make namespaces first; 2. to touch more memory than it is given;
 *                                            3. to start more processes than it is given, daemons that never end.
 *                                            PLAN "wait": nothing; it is there to be a neighbour.
 *
 * It then writes a `struct prober_result` to standard output and stays, to be looked at and killed. What it says is a
 * claim; the verdict is the worker's, by the state of the cgroups. Where an attempt succeeds it does no harm: it moves
 * itself, makes one empty directory, and dies with its pid namespace. Header only for the worker; static-safe.
 */
#ifndef CORE_CONTAINMENT_PROBER_H
#define CORE_CONTAINMENT_PROBER_H

#include <stdint.h>
#include <sys/types.h>

#define PROBER_DIRECTORY "proctor-probe"	/* the name of the cgroup that it tries to make */
#define PROBER_MEMORY_BYTES (32u << 20)		/* what it touches at most */
#define PROBER_DAEMONS 24			/* what it starts at most */

/* How its allocation ended. */
enum prober_memory { PROBER_MEMORY_UNTRIED, PROBER_MEMORY_TOUCHED, PROBER_MEMORY_KILLED, PROBER_MEMORY_REFUSED };

struct prober_result {
	int32_t pid;			/* its own, as it sees it */
	uint32_t tried;			/* attempts on the control plane */
	uint32_t worked;		/* of them, by its own account */
	uint32_t mounts_seen;		/* cgroup file systems in its view */
	uint32_t paths_seen;		/* lines of /proc/self/cgroup that are not "/" */
	char first[64];			/* the first that worked */
	uint32_t memory;		/* enum prober_memory */
	uint32_t daemons;		/* started */
	uint32_t forks_refused;
};

/* The subcommand; `arguments` are PLAN DIRECTORY... */
int prober_main(int count, char *const *arguments);

/* prober_control.c: the first part. Fills its members of `result`. */
void prober_control(char *const *directories, int count, struct prober_result *result);

#endif
