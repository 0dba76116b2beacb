/*
 * ids: host uids and gids of the run's own, one for init and another for the candidate. With one id for
 * both, a candidate could open a dumpable init's memory and forge the exit status (user_namespaces(7)).
 */
#include "core/containment/layers/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/guard.h"
#include "core/base/io.h"

/*
 * The map of one id that needs no newuidmap (outer.h) is given only where setgroups is denied for good (user_namespaces(7)).
 * The bare calls: glibc's wrappers would signal the threads of a process whose memory we share.
 */
int ids_enter(uid_t candidate)
{
	if (syscall(SYS_setresgid, 0, 0, 0) < 0 || (candidate != CANDIDATE_ID_SHARED && syscall(SYS_setgroups, 0, NULL) < 0) ||
	    syscall(SYS_setresuid, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

static int write_map(pid_t pid, const char *file, uid_t base, uid_t candidate, struct pr_error *error)
{
	char path[64], text[128];
	snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, file);
	/* 0 of the worker's user namespace is the owner: root, or in the outer namespace the ordinary user. */
	uid_t outside = guard_holds(GUARD_IDS) ? base + 1 : 0;
	int length = snprintf(text, sizeof text, "0 %" PRIu32 " 1\n", base);
	if (candidate != CANDIDATE_ID_SHARED)
		snprintf(text + length, sizeof text - (size_t)length, "%" PRIu32 " %" PRIu32 " 1\n", candidate, outside);
	int r = io_write_file(AT_FDCWD, path, text);
	if (r < 0)
		return pr_error_errno(error, -r, "writing %s of the newborn process", file);
	return 0;
}

int ids_map(pid_t pid, uid_t base, uid_t candidate, struct pr_error *error)
{
	int r = write_map(pid, "uid_map", base, candidate, error);
	return r < 0 ? r : write_map(pid, "gid_map", base, candidate, error);
}
