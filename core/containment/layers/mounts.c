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

/* Makes the directories above `path` (relative to the new root, which is the working directory) and the point itself. */
static int make_point(const char *path, bool directory, const char **ret_step)
{
	char partial[4096];
	size_t length = strlen(path);
	if (length >= sizeof partial)
		return -ENAMETOOLONG;
	memcpy(partial, path, length + 1);
	for (size_t i = 1; i < length; i++) {
		if (partial[i] != '/')
			continue;
		partial[i] = '\0';
		if (mkdir(partial, 0755) < 0 && errno != EEXIST)
			STEP("mkdir for a read-only path", -1);
		partial[i] = '/';
	}
	if (directory && mkdir(partial, 0755) < 0 && errno != EEXIST)
		STEP("mkdir for a read-only path", -1);
	if (!directory) {
		_cleanup_close_ int fd = open(partial, O_CREAT | O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0644);
		STEP("creating a read-only file", fd);
	}
	return 0;
}

static int bind_late(const struct late_bind *bind, const char **ret_step)
{
	int r = make_point(bind->path + 1, bind->directory, ret_step);
	if (r < 0)
		return r;
	STEP("move_mount a read-only path", move_mount(bind->tree, "", AT_FDCWD, bind->path + 1, MOVE_MOUNT_F_EMPTY_PATH));
	return 0;
}

static int mount_proc(const char **ret_step)
{
	/* Files that tell of the host or act on it; a kernel may lack any of them. */
	static const char *const masked[] = { "proc/kcore", "proc/keys", "proc/key-users", "proc/timer_list",
					      "proc/sysrq-trigger", "proc/kmsg", "proc/latency_stats" };

	STEP("mount proc", mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL));
	/* No further user namespaces, whatever the filter says: the count of this one, the host's stays. */
	_cleanup_close_ int limit = open("proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);
	if (limit >= 0)
		STEP("max_user_namespaces", write(limit, "0", 1));
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
		r = mount_proc(ret_step);
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
	STEP("mount devpts", mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"));
	for (unsigned i = 0; r == 0 && i < plan->late_count; i++)
		r = bind_late(&plan->late[i], ret_step);
	return r < 0 ? r : enter_root(ret_step);
}

int mounts_enter_bare(const char *template_path, const char **ret_step)
{
	int r = clone_template(template_path, ret_step);
	return r < 0 ? r : enter_root(ret_step);
}
