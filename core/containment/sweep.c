/*
 * The sweep. A name carries pid, start time and pid namespace of its owner: a pid that was given to
 * another process has another start time, and a cgroup of another pid namespace is not ours to judge.
 */
#include "core/containment/sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/base/guard.h"
#include "core/base/io.h"
#include "core/base/place.h"
#include "core/containment/cgroup.h"
#include "core/containment/kill.h"

#define SWEEP_WAIT_NS (5 * NS_PER_S)

static int pid_namespace(uint64_t *ret_inode)
{
	struct stat status;
	if (stat("/proc/self/ns/pid", &status) < 0)
		return -errno;
	*ret_inode = status.st_ino;
	return 0;
}

int sweep_own_name(char *ret_name, size_t size)
{
	uint64_t start, inode;
	int r = place_start_time(getpid(), &start);
	if (r < 0 || (r = pid_namespace(&inode)) < 0)
		return r;
	int length = snprintf(ret_name, size, "proctor-%ld-%" PRIu64 "-%" PRIu64, (long)getpid(), start, inode);
	return (size_t)length < size ? 0 : -ENAMETOOLONG;
}

/* The one live owner that a deletion probe names: a probe that took every owner for dead would end others' rounds. */
static bool taken_for_dead(long pid)
{
#ifdef PROCTOR_TEST_BUILD
	const char *owner = getenv("PROCTOR_SWEEP_OWNER");
	return !guard_holds(GUARD_SWEEP_OWNER) && owner && atol(owner) == pid;
#else
	(void)pid;
	return false;
#endif
}

bool sweep_is_dead(const char *name)
{
	long pid;
	uint64_t start, inode, own_inode = 0, now = 0;
	int used = 0;

	if (sscanf(name, "proctor-%ld-%" SCNu64 "-%" SCNu64 "%n", &pid, &start, &inode, &used) != 3 || pid <= 0)
		return false;
	if (name[used] != '\0' && strcmp(name + used, ".worker") != 0)
		return false;
	if (pid_namespace(&own_inode) < 0 || inode != own_inode)
		return false;
	int r = place_start_time((pid_t)pid, &now);
	if (taken_for_dead(pid))
		return true;
	return r == -ESRCH || (r == 0 && now != start);
}

/* The leaves first: a parent that was killed while a birth is under way would kill that birth only. */
static void empty(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	if (!stream)
		return;
	for (struct dirent *entry; (entry = readdir(stream));) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		_cleanup_close_ int leaf = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (leaf >= 0)
			boundary_kill(leaf);
	}
	boundary_kill(fd);
	_cleanup_close_ int events = cgroup_open_events(fd);
	if (events >= 0)
		cgroup_wait_empty(events, SWEEP_WAIT_NS);
}

unsigned sweep_base(int base)
{
	int copy = openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	unsigned swept = 0;

	if (!stream || !guard_holds(GUARD_SWEEP))
		return 0;
	for (struct dirent *entry; (entry = readdir(stream));) {
		unsigned nested;
		if (entry->d_type != DT_DIR || !sweep_is_dead(entry->d_name))
			continue;
		_cleanup_close_ int fd = openat(base, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		empty(fd);
		if (cgroup_remove(base, entry->d_name, &nested) == 0)
			swept++;
	}
	return swept;
}
