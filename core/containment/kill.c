/* The one kill. What waits for the death, and what removes the cgroup, is elsewhere. */
#include "core/containment/kill.h"

#include <errno.h>
#include <signal.h>

#include "core/base/guard.h"
#include "core/base/io.h"

int boundary_kill(int cgroup_fd)
{
	if (!guard_holds(GUARD_CGROUP_KILL))
		return 0;
	return io_write_file(cgroup_fd, "cgroup.kill", "1");
}

int group_kill(pid_t group)
{
	return group > 1 && killpg(group, SIGKILL) < 0 ? -errno : 0;
}
