/*
 * What is left of us on this host: processes whose executable is one of a build's, and cgroups that bear our
 * name in any hierarchy that is mounted. Others may run rounds of their own beside a test, from another build:
 * a cgroup that holds one of their processes, or stands in `before`, is not counted against this one.
 */
#ifndef TESTS_SUPPORT_SURVIVORS_H
#define TESTS_SUPPORT_SURVIVORS_H

#include <sys/types.h>

#include "core/base/buffer.h"

struct survivors {
	int processes;
	int cgroups;
	struct buffer list;	/* one a line, "process PID EXE" or "cgroup PATH" */
};

/* Counts now, this process aside. Release what it returned. */
struct survivors survivors_count(const char *build);
void survivors_release(struct survivors *survivors);

/*
 * Waits until nothing of this build is left that was not there `before`, at most so long. 0, or how much
 * is left, with the list printed to standard error.
 */
int survivors_settle(const char *build, const struct survivors *before, int timeout_ms);

/*
 * Processes of the executable `build`/`program` that descend from `ancestor` (0: all). Returns how many, and the
 * first `size` of them.
 */
int survivors_find(const char *build, const char *program, pid_t ancestor, pid_t *ret_pids, int size);

/* The parent of a process, or -1 where there is none. */
pid_t survivors_parent(pid_t pid);

#define _cleanup_survivors_ _cleanup_(survivors_release)

#endif
