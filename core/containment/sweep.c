/*
 * The sweep. A name carries pid, start time and pid namespace of its owner: a pid that was given to
 * another process has another start time, and a cgroup of another pid namespace is not ours to judge.
 */
#include "core/containment/sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/base/guard.h"
#include "core/base/io.h"
#include "core/base/place.h"
#include "core/containment/cgroup.h"
#include "core/containment/host.h"
#include "core/containment/kill.h"

#define WALK_DIRECTORIES 20000
#define WALK_DEPTH 16
#define MOUNTINFO_MAX (4u << 20)
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

struct owner {
	long pid;
	uint64_t start, inode;
};

static bool read_owner(const char *name, struct owner *owner)
{
	int used = 0;
	if (sscanf(name, "proctor-%ld-%" SCNu64 "-%" SCNu64 "%n", &owner->pid, &owner->start, &owner->inode, &used) != 3 ||
	    owner->pid <= 0)
		return false;
	return name[used] == '\0' || strcmp(name + used, ".worker") == 0;
}

static bool is_ours(const char *name)
{
	struct owner owner;
	return read_owner(name, &owner);
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
	struct owner owner;
	uint64_t own_inode = 0, now = 0;

	if (!read_owner(name, &owner))
		return false;
	if (pid_namespace(&own_inode) < 0 || owner.inode != own_inode)
		return false;
	int r = place_start_time((pid_t)owner.pid, &now);
	if (taken_for_dead(owner.pid))
		return true;
	return r == -ESRCH || (r == 0 && now != owner.start);
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

struct found {
	char path[4096];
	long owner;
	unsigned killed;
	bool removed;
};

/* One dead owner's cgroup, `name` below `base`. */
static void take_one(int base, const char *name, bool dry_run, struct found *found)
{
	unsigned nested;
	_cleanup_close_ int fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	found->owner = strtol(name + strlen("proctor-"), NULL, 10);
	found->killed = cgroup_count(fd);
	if (dry_run)
		return;
	empty(fd);
	found->removed = cgroup_remove(base, name, &nested) == 0;
}

unsigned sweep_base(int base)
{
	int copy = openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	unsigned swept = 0;

	for (struct dirent *entry; stream && guard_holds(GUARD_SWEEP) && (entry = readdir(stream));) {
		struct found found = { .removed = false };
		if (entry->d_type != DT_DIR || !sweep_is_dead(entry->d_name))
			continue;
		take_one(base, entry->d_name, false, &found);
		swept += found.removed;
	}
	return swept;
}

/* --- everywhere ------------------------------------------------------------------------------------- */

struct walk {
	bool dry_run;
	unsigned directories;
	struct json_object *items;
};

static void note(struct walk *walk, const char *path, const char *name, const struct found *found)
{
	struct json_object *item = json_object_new_object();
	char whole[4096];
	snprintf(whole, sizeof whole, "%.3800s/%.255s", path, name);
	json_object_object_add(item, "kind", json_object_new_string("cgroup"));
	json_object_object_add(item, "path", json_object_new_string(whole));
	json_object_object_add(item, "owner", json_object_new_int64(found->owner));
	json_object_object_add(item, "killed", json_object_new_int64(found->killed));
	json_object_object_add(item, "removed", json_object_new_boolean(found->removed));
	json_object_array_add(walk->items, item);
}

/* What bears our name is taken whole or left whole: nothing below a live round's is looked at. */
static void walk_below(struct walk *walk, int parent, const char *path, unsigned depth)
{
	int copy = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	for (struct dirent *entry; stream && (entry = readdir(stream)) && walk->directories < WALK_DIRECTORIES;) {
		struct found found = { .removed = false };
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		walk->directories++;
		if (sweep_is_dead(entry->d_name)) {
			take_one(parent, entry->d_name, walk->dry_run, &found);
			note(walk, path, entry->d_name, &found);
			continue;
		}
		if (is_ours(entry->d_name) || depth == WALK_DEPTH)
			continue;
		char below[4096];
		snprintf(below, sizeof below, "%.3800s/%.255s", path, entry->d_name);
		_cleanup_close_ int fd = openat(parent, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			walk_below(walk, fd, below, depth + 1);
	}
}

/* The unified hierarchy first: only there can what lives be killed, and it is in the others' directories too. */
static void walk_hierarchies(struct walk *walk, const char *mountinfo)
{
	static struct host_hierarchy list[HOST_HIERARCHIES_MAX];
	size_t count = host_hierarchies(mountinfo, list);
	for (int unified = 1; unified >= 0; unified--)
		for (size_t i = 0; i < count; i++) {
			if (list[i].unified != (unified == 1))
				continue;
			_cleanup_close_ int fd = open(list[i].point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (fd >= 0)
				walk_below(walk, fd, list[i].point, 0);
		}
}

int sweep_everywhere(bool dry_run, struct pr_error *error)
{
	_cleanup_buffer_ struct buffer mountinfo = BUFFER_INIT;
	int r = io_read_file(AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_MAX, &mountinfo);
	if (r < 0)
		return pr_error_errno(error, -r, "reading /proc/self/mountinfo");
	struct walk walk = { .dry_run = dry_run, .items = json_object_new_array() };
	struct json_object *answer = json_object_new_object();
	walk_hierarchies(&walk, mountinfo.data ? mountinfo.data : "");
	json_object_object_add(answer, "items", walk.items);
	printf("%s\n", json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(answer);
	return 0;
}
