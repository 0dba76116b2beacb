/* The outside stop of stop.h: the same kill, the same waiting, from another process. */
#include "core/containment/stop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <string.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/base/io.h"
#include "core/containment/cgroup.h"
#include "core/containment/kill.h"

#define STOP_NS (30 * NS_PER_S)
#define AGAIN_NS (100 * NS_PER_MS)	/* a live worker may start one more meanwhile: it is killed too */
#define LEAVES_MAX 4096			/* as many are told of; all are killed */

/* What was there when it was killed. A live worker removes what is empty at the same time. */
struct stopped {
	unsigned killed, remaining, removed;
	struct buffer names;	/* of the leaves: a mark, the name, NUL */
	unsigned leaves;
};

/* The path, from the round's own record; only a name of ours on a cgroup2 file system is ever killed. */
static int open_parent(const char *directory, int *ret_fd, struct pr_error *error)
{
	char path[4096];
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	snprintf(path, sizeof path, "%s/boundary.json", directory);
	int r = io_read_file(AT_FDCWD, path, 65536, &text);
	if (r < 0)
		return pr_error_errno(error, -r, "reading %s", path);
	struct json_object *object = json_tokener_parse(text.data ? text.data : "");
	struct json_object *member;
	const char *cgroup = object && json_object_object_get_ex(object, "cgroup", &member) ? json_object_get_string(member) : NULL;
	const char *name = cgroup ? strrchr(cgroup, '/') : NULL;
	r = 0;
	if (!name || strncmp(name, "/proctor-", 9) != 0) {
		r = pr_error_set(error, EBADMSG, "%s names no cgroup of a round", path);
	} else {
		struct statfs type;
		*ret_fd = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (*ret_fd < 0 && errno != ENOENT)
			r = pr_error_errno(error, errno, "opening the cgroup %s", cgroup);
		else if (*ret_fd >= 0 && (fstatfs(*ret_fd, &type) < 0 || type.f_type != CGROUP2_SUPER_MAGIC))
			r = pr_error_set(error, EBADMSG, "%s is no cgroup2 directory", cgroup);
	}
	json_object_put(object);
	return r;
}

#define OF_A_RUN 'r'		/* something was in it beside its init */
#define PREPARED 'p'		/* a boundary that waited for a run; nothing that the owner asks about */

static bool is_known(const struct stopped *stopped, const char *name)
{
	const char *at = stopped->names.data;
	for (unsigned i = 0; i < stopped->leaves; i++, at += strlen(at) + 1)
		if (strcmp(at + 1, name) == 0)
			return true;
	return false;
}

static void kill_leaf(int parent, const char *name, struct stopped *stopped)
{
	_cleanup_close_ int leaf = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (leaf < 0)
		return;
	if (!is_known(stopped, name) && stopped->leaves < LEAVES_MAX) {
		/* The init of each run is ours, and is not counted. */
		unsigned processes = cgroup_count(leaf);
		stopped->killed += processes > 0 ? processes - 1 : 0;
		if (buffer_printf(&stopped->names, "%c%s", processes > 1 ? OF_A_RUN : PREPARED, name) >= 0 &&
		    buffer_add_byte(&stopped->names, '\0') >= 0)
			stopped->leaves++;
	}
	boundary_kill(leaf);
}

static void kill_leaves(int parent, struct stopped *stopped)
{
	int copy = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	for (struct dirent *entry; stream && (entry = readdir(stream));)
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			kill_leaf(parent, entry->d_name, stopped);
}

static void kill_until_empty(int parent, struct stopped *stopped)
{
	_cleanup_close_ int events = cgroup_open_events(parent);
	int64_t end = clock_mono_ns() + STOP_NS;
	do {
		kill_leaves(parent, stopped);
		if (events < 0 || cgroup_wait_empty(events, AGAIN_NS) == 0)
			return;
	} while (clock_mono_ns() < end);
	stopped->remaining = cgroup_count(parent);
}

/* One that is gone is removed, by whomever; cgroup_remove() waits for one that is busy, a bounded time (law K9). */
static void remove_leaves(int parent, struct stopped *stopped)
{
	const char *name = stopped->names.data;
	for (unsigned i = 0; i < stopped->leaves; i++, name += strlen(name) + 1) {
		unsigned nested;
		if (cgroup_remove(parent, name + 1, &nested) == 0)
			stopped->removed += name[0] == OF_A_RUN;
	}
}

int stop_round(const char *directory, struct pr_error *error)
{
	_cleanup_close_ int parent = -1;
	struct stopped stopped = { .names = BUFFER_INIT };
	int64_t begin = clock_mono_ns();
	int r = open_parent(directory, &parent, error);
	if (r < 0)
		return r;
	if (parent >= 0) {
		cgroup_freeze(parent, true);
		kill_until_empty(parent, &stopped);
		remove_leaves(parent, &stopped);
		cgroup_freeze(parent, false);
	}
	printf("{\"killed\":%u,\"remaining\":%u,\"removed\":%u,\"ms\":%.3f}\n", stopped.killed, stopped.remaining,
	       stopped.removed, (double)(clock_mono_ns() - begin) / NS_PER_MS);
	buffer_release(&stopped.names);
	return 0;
}
