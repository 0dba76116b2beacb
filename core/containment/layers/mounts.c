/*
 * mounts: the run's own root. The read-only part was put together once by the worker (template.h) and is in
 * the mount namespace that the child got a copy of; here it is cloned, given its writable places and
 * entered, and the host's tree is left behind (pivot_root(2)).
 */
#include "core/containment/layers/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/guard.h"

#define STEP(name, call) \
	do { \
		if ((call) < 0) { \
			*ret_step = (name); \
			return -errno; \
		} \
	} while (0)

/* A copy of a mount that came from a more privileged namespace is locked; a clone of it may be the new root. */
static int clone_template(const char *path, const char **ret_step)
{
	_cleanup_close_ int tree = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	STEP("open_tree root", tree);
	STEP("move_mount root", move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH));
	STEP("chdir root", chdir(path));
	return 0;
}

/* pivot_root(".", ".") stacks the old root on the new one, and the topmost is what umount takes off. */
static int enter_root(const char **ret_step)
{
	STEP("pivot_root", syscall(SYS_pivot_root, ".", "."));
	STEP("umount the host's tree", umount2(".", MNT_DETACH));
	STEP("chdir /", chdir("/"));
	return 0;
}

static int cover(const char *target, int flags, const char *options, const char **ret_step)
{
	STEP(target, mount("tmpfs", target, "tmpfs", (unsigned long)(MS_NOSUID | MS_NODEV | flags), options));
	return 0;
}

static int read_only(int tree, const char **ret_step)
{
	struct mount_attr attributes = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };
	/* Recursive, or a writable submount would stay writable; fails closed where the kernel cannot (5.12). */
	STEP("mount_setattr read-only",
	     mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes));
	return 0;
}

/*
 * Below the workspace a command of before may have put something in a bind's way. A link above all: the host's tree
 * is still there for it to lead to. So nothing is followed, and what is in the way is taken away.
 */
static int clear_way(int parent, const char *name, mode_t type, const char **ret_step)
{
	struct stat status;
	if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && (status.st_mode & S_IFMT) != type)
		STEP("clearing the way of a read-only path", unlinkat(parent, name, S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0));
	return 0;
}

static int enter_directory(int parent, const char *name, const char **ret_step)
{
	int r = clear_way(parent, name, S_IFDIR, ret_step);
	if (r < 0)
		return r;
	if (mkdirat(parent, name, 0755) < 0 && errno != EEXIST)
		STEP("mkdir for a read-only path", -1);
	int fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	STEP("opening the way of a read-only path", fd);
	return fd;
}

static int make_file(int parent, const char *name, const char **ret_step)
{
	int r = clear_way(parent, name, S_IFREG, ret_step);
	if (r < 0)
		return r;
	int fd = openat(parent, name, O_CREAT | O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0644);
	STEP("creating a read-only file", fd);
	return fd;
}

/* The path becomes one below the new root, which is the working directory. */
static int bind_late(const struct late_bind *bind, const char **ret_step)
{
	char path[4096], *name = path;
	size_t length = strlen(bind->path);
	if (length > sizeof path)
		return -ENAMETOOLONG;
	memcpy(path, bind->path + 1, length);
	_cleanup_close_ int parent = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	STEP("opening the root", parent);
	for (char *slash; (slash = strchr(name, '/')); name = slash + 1) {
		*slash = '\0';
		int next = *name ? enter_directory(parent, name, ret_step) : dup(parent);
		if (next < 0)
			return next;
		close(parent);
		parent = next;
	}
	_cleanup_close_ int point = bind->directory ? enter_directory(parent, name, ret_step) : make_file(parent, name, ret_step);
	if (point < 0)
		return point;
	STEP("move_mount a read-only path", move_mount(bind->tree, "", parent, name, MOVE_MOUNT_F_EMPTY_PATH));
	return 0;
}

/*
 * What a user namespace counts for the user who made it as well: used up inside, it is used up for the owner on the
 * host (user_namespaces(7), namespaces(7) "/proc/sys/user"). The limits are this namespace's, the host's stay.
 */
static const struct {
	const char *file, *limit;
} user_limits[] = {
	{ "proc/sys/user/max_user_namespaces", "0" },	/* none below this one, whatever the filter says */
	{ "proc/sys/user/max_inotify_instances", "16" },
	{ "proc/sys/user/max_inotify_watches", "8192" },
};

/* Of the terminals that the host has for all but its own /dev/pts (kernel.pty.max less the reserve: 3,072). */
#define PTY_OPTIONS "newinstance,ptmxmode=0666,mode=0620,max=64"

static int mount_proc(bool whole_host, const char **ret_step)
{
	/* Files that tell of the host or act on it; a kernel may lack any of them. */
	static const char *const masked[] = { "proc/kcore", "proc/keys", "proc/key-users", "proc/timer_list",
					      "proc/sysrq-trigger", "proc/kmsg", "proc/latency_stats" };

	/* Of a pid namespace that is not ours proc cannot be mounted: a deletion probe gets the host's. */
	bool own = guard_holds(GUARD_PROCESSES) && guard_holds(GUARD_KILL_BOUNDARY);
	STEP("mount proc", mount(own ? "proc" : "/proc", "proc", own ? "proc" : NULL,
				 own ? MS_NOSUID | MS_NODEV | MS_NOEXEC : MS_BIND | MS_REC, NULL));
	for (size_t i = 0; i < ELEMENTS(user_limits); i++) {
		if (i == 0 && (whole_host || !guard_holds(GUARD_USER_NAMESPACES)))
			continue;
		_cleanup_close_ int limit = open(user_limits[i].file, O_WRONLY | O_CLOEXEC);
		if (limit >= 0)
			STEP(user_limits[i].file, write(limit, user_limits[i].limit, strlen(user_limits[i].limit)));
	}
	for (size_t i = 0; i < ELEMENTS(masked); i++)
		if (mount("dev/null", masked[i], NULL, MS_BIND, NULL) < 0 && errno != ENOENT)
			STEP("masking a proc file", -1);
	_cleanup_close_ int tree = open_tree(AT_FDCWD, "proc/sys", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	STEP("open_tree proc/sys", tree);
	int r = read_only(tree, ret_step);
	if (r < 0)
		return r;
	STEP("move_mount proc/sys", move_mount(tree, "", AT_FDCWD, "proc/sys", MOVE_MOUNT_F_EMPTY_PATH));
	return 0;
}

static int mount_workspace(const struct mounts_plan *plan, int *ret_keep, const char **ret_step)
{
	if (plan->workspace_fd >= 0)
		STEP("move_mount workspace", move_mount(plan->workspace_fd, "", AT_FDCWD, "workspace",
							MOVE_MOUNT_F_EMPTY_PATH));
	else if (cover("workspace", 0, plan->workspace, ret_step) < 0)
		return -errno;
	int keep = open_tree(AT_FDCWD, "workspace", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	STEP("open_tree workspace", keep);
	*ret_keep = keep;
	return 0;
}

int mounts_enter(const struct mounts_plan *plan, int *ret_keep, const char **ret_step)
{
	int r = clone_template(plan->template_path, ret_step);
	if (r == 0)
		r = mount_proc(plan->whole_host, ret_step);
	if (r == 0)
		r = mount_workspace(plan, ret_keep, ret_step);
	if (r == 0)
		r = cover("tmp", 0, plan->tmp, ret_step);
	if (r == 0)
		r = cover("home/candidate", 0, plan->home, ret_step);
	if (r == 0)
		r = cover("dev/shm", MS_NOEXEC, plan->shm, ret_step);
	if (r < 0)
		return r;
	STEP("mount devpts", mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, PTY_OPTIONS));
	for (unsigned i = 0; r == 0 && i < plan->late_count; i++)
		r = bind_late(&plan->late[i], ret_step);
	return r < 0 ? r : enter_root(ret_step);
}

int mounts_enter_bare(const char *template_path, const char **ret_step)
{
	int r = clone_template(template_path, ret_step);
	return r < 0 ? r : enter_root(ret_step);
}
