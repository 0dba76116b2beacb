/*
 * Where on the unified hierarchy a round's cgroups may be made.
 *
 *   root              its own cgroup, or the one above where its own is a leaf called "shell". On a host without a manager
 *                     of cgroups its own is the root of the hierarchy.
 *   an ordinary user  its own cgroup, or the nearest one above that it owns and that holds no process: an administrator
 *                     delegates a subtree and puts the user's shell into a leaf of it.
 *   with systemd      what systemd delegated, by its mark, or an administrator by hand: it takes every cgroup below a unit
 *                     without Delegate= for its own, and that mkdir works there proves nothing (its CGROUP_DELEGATION).
 */
#include "core/containment/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <linux/magic.h>

#include "core/base/io.h"
#include "core/containment/host.h"

#define LEVELS_MAX 32
#define MOVES_MAX 4096

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);
	return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* The root of the hierarchy has no type. */
static bool is_top(const char *path)
{
	char file[4096 + 16];
	snprintf(file, sizeof file, "%s/cgroup.type", path);
	return access(file, F_OK) < 0;
}

static bool is_unit(const char *path)
{
	return is_top(path) || ends_with(path, ".scope") || ends_with(path, ".service") || ends_with(path, ".slice");
}

/* systemd's mark on what it delegated: user.* from 251 on; trusted.* before, which only root reads. */
static bool is_marked(const char *path)
{
	static const char *const marks[] = { "user.delegate", "trusted.delegate" };
	char value[4];
	for (size_t i = 0; i < ELEMENTS(marks); i++)
		if (getxattr(path, marks[i], value, sizeof value) == 1 && value[0] == '1')
			return true;
	return false;
}

/* 0, or why not: another user's, read-only, no cgroup at all. */
static int check_ours(const char *path)
{
	char procs[4096 + 16];
	struct stat directory, file;
	struct statfs type;
	snprintf(procs, sizeof procs, "%s/cgroup.procs", path);
	if (statfs(path, &type) < 0 || stat(path, &directory) < 0 || stat(procs, &file) < 0)
		return -errno;
	if (type.f_type != CGROUP2_SUPER_MAGIC)
		return -ENOTDIR;
	if (directory.st_uid != geteuid() || file.st_uid != geteuid())
		return -EACCES;
	return access(path, W_OK) < 0 ? -errno : 0;
}

/* Without a process of its own but this one. */
static bool is_free(const char *path)
{
	_cleanup_buffer_ struct buffer procs = BUFFER_INIT;
	char file[4096 + 32];

	snprintf(file, sizeof file, "%s/cgroup.procs", path);
	return io_read_file(AT_FDCWD, file, 1u << 16, &procs) == 0 &&
	       (procs.length == 0 || (strtol(procs.data, NULL, 10) == getpid() && !strchr(procs.data, '\n')[1]));
}

static int check_type(const char *path, struct pr_error *error)
{
	_cleanup_buffer_ struct buffer type = BUFFER_INIT;
	char file[4096 + 16];
	snprintf(file, sizeof file, "%s/cgroup.type", path);
	if (io_read_file(AT_FDCWD, file, 64, &type) < 0 || !type.data || strcmp(type.data, "domain\n") == 0)
		return 0;
	pr_error_set(error, EOPNOTSUPP, "no boundary: our cgroup %s is of type %.*s, not domain", path,
		     (int)strcspn(type.data, "\n"), type.data);
	return cgroup_remedy(CGROUP_ENTER, error);
}

/*
 * From our own cgroup up: the first that has controllers to hand down and can, else the first that is to be had at all:
 * whole where none of them has any (a hybrid host), so that nothing is missed.
 */
static int climb(const char *own, bool scoped, struct cgroup_base *base)
{
	bool systemd = !scoped && host_has_systemd(), root = geteuid() == 0 && host_own_uid() == 0, missed = false;
	int why = 0;
	char path[4096];

	snprintf(path, sizeof path, "%s", own);
	for (int level = 0; level < LEVELS_MAX; level++) {
		int r = check_ours(path);
		bool marked = scoped || is_marked(path), some = r == 0 && cgroup_has_controllers(path);
		if (r == 0 && systemd && is_unit(path) && !marked)
			r = -EACCES;
		why = why ? why : r;
		if (r == -ENOTDIR)
			break;
		bool good = r == 0 && some && (is_top(path) || is_free(path) || marked);
		if (good || (r == 0 && !base->path[0]))
			memcpy(base->path, path, sizeof path);
		if (good) {
			base->whole = true;
			base->crowded = !is_top(path) && !is_free(path);
			return 0;
		}
		missed |= some;
		/*
		 * Root does not climb, what its own cgroup is bounded by would not bound the round any more; but out of a leaf
		 * that was made for that (docs/hosts.md). Nobody climbs out of a unit: what was delegated above it
		 * (user@UID.service) was to a manager, and is that one's.
		 */
		char *slash = strrchr(path, '/');
		if ((root && !ends_with(path, "/shell")) || (systemd && is_unit(path)) || !slash || slash == path)
			break;
		*slash = '\0';
	}
	base->whole = !missed;
	return base->path[0] ? 0 : why;
}

int cgroup_base_find(bool scoped, struct cgroup_base *ret_base, struct pr_error *error)
{
	struct cgroup_base base = { .path = "" };
	int r = host_own_cgroup(NULL, base.own, sizeof base.own, error);
	if (r < 0)
		return pr_error_prefix(error, "no boundary: ");
	if (access(base.own, F_OK) < 0) {
		pr_error_errno(error, errno, "no boundary: looking at our own cgroup %s", base.own);
		return cgroup_remedy(CGROUP_FIND, error);
	}
	r = check_type(base.own, error);
	if (r < 0)
		return r;
	r = climb(base.own, scoped, &base);
	if (r < 0) {
		pr_error_errno(error, -r, "no boundary: cannot make a cgroup below %s, our own", base.own);
		return cgroup_remedy(CGROUP_MAKE, error);
	}
	*ret_base = base;
	return 0;
}

int cgroup_base_empty(const char *path, struct pr_error *error)
{
	char leaf[4096 + 16], from[4096 + 32], to[4096 + 32];

	snprintf(leaf, sizeof leaf, "%s/supervisor", path);
	snprintf(from, sizeof from, "%s/cgroup.procs", path);
	snprintf(to, sizeof to, "%s/cgroup.procs", leaf);
	if (mkdir(leaf, 0755) < 0 && errno != EEXIST)
		return pr_error_errno(error, errno, "making the cgroup %s", leaf);
	for (int i = 0; i < MOVES_MAX; i++) {
		_cleanup_buffer_ struct buffer procs = BUFFER_INIT;
		int r = io_read_file(AT_FDCWD, from, 1u << 16, &procs);
		if (r < 0 || procs.length == 0)
			return r < 0 ? pr_error_errno(error, -r, "reading %s", from) : 0;
		procs.data[strcspn(procs.data, "\n")] = '\0';
		r = io_write_file(AT_FDCWD, to, procs.data);
		/* It may have ended meanwhile. */
		if (r < 0 && r != -ESRCH)
			return pr_error_errno(error, -r, "moving process %s to %s", procs.data, leaf);
	}
	return pr_error_set(error, EBUSY, "processes come to %s faster than they are moved away", path);
}
