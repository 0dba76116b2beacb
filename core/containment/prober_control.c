/*
 * What the prober tries on the control plane: to leave its cgroups for the parent, a sibling or any other, and to make a
 * cgroup of its own (K12). Each way is one that an attacker of this very sandbox would take: paths, the same paths
 * through /proc, through descriptors, through file systems in view or mounted anew, out of other namespaces,
 * and births into a cgroup. No attempt but a write of its own pid and mkdir changes anything.
 */
#include "core/containment/prober.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/containment/layers/layers.h"

#ifndef CGROUP_SUPER_MAGIC
#define CGROUP_SUPER_MAGIC 0x27e0eb
#endif
#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif
#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP)
#define DESCRIPTORS 16		/* looked at, ours and init's */
#define MOUNT_POINT WORKSPACE_PATH "/proctor-mount"
#define PATH_SIZE 4400
#define LISTED 64		/* cgroups of one directory that are looked at */

struct control {
	struct prober_result *result;
	char *const *directories;
	int count;
	char pid[16];
};

static bool note(struct control *control, const char *what, bool worked)
{
	control->result->tried++;
	if (!worked)
		return false;
	if (control->result->worked++ == 0) {
		size_t length = strnlen(what, sizeof control->result->first - 1);
		memcpy(control->result->first, what, length);
	}
	return true;
}

/* A step on the way there; by itself it leads nowhere. */
static bool note_step(struct control *control, bool worked)
{
	control->result->tried++;
	return worked;
}

static const char *join(char path[PATH_SIZE], const char *first, const char *second, const char *third)
{
	const char *parts[] = { first, second, third };
	size_t used = 0;
	for (size_t i = 0; i < ELEMENTS(parts); i++) {
		size_t length = strlen(parts[i]);
		if (used + length + 1 > PATH_SIZE)
			length = PATH_SIZE - 1 - used;
		memcpy(path + used, parts[i], length);
		used += length;
	}
	path[used] = '\0';
	return path;
}

static void write_pid(char text[16], pid_t pid)
{
	char digits[16];
	int count = 0;
	do
		digits[count++] = (char)('0' + pid % 10);
	while ((pid /= 10) > 0);
	for (int i = 0; i < count; i++)
		text[i] = digits[count - 1 - i];
	text[count] = '\0';
}

/* --- one directory ---------------------------------------------------------------------------------- */

static bool is_cgroup(int fd)
{
	struct statfs type;
	return fstatfs(fd, &type) == 0 && (type.f_type == CGROUP2_SUPER_MAGIC || type.f_type == CGROUP_SUPER_MAGIC);
}

/* clone3 straight into it: by a descriptor, so that no file of it need be opened for writing. */
static void be_born_in(struct control *control, int fd)
{
	struct clone_args arguments = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)fd };
	long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
	if (pid == 0) {
		/* It stays, for the worker to count. */
		alarm(60);
		for (;;)
			pause();
	}
	note(control, "clone3 into a cgroup", pid > 0);
}

/*
 * Below the descriptor `at`, or for AT_FDCWD the path as it stands. Of the directories that it was told of the worker looks
 * itself for what was made there, and takes it away; elsewhere (`found`) that is ours to do.
 */
static void try_directory(struct control *control, int at, const char *way, const char *directory, bool found)
{
	static const char *const files[] = { "/cgroup.procs", "/tasks", "/cgroup.threads" };
	char path[PATH_SIZE];

	for (size_t i = 0; i < ELEMENTS(files); i++) {
		_cleanup_close_ int fd = openat(at, join(path, way, directory, files[i]), O_WRONLY | O_CLOEXEC);
		bool entered = fd >= 0 && write(fd, control->pid, strlen(control->pid)) > 0;
		note(control, "entering a cgroup by writing to a file of it", entered);
	}
	bool made = mkdirat(at, join(path, way, directory, "/" PROBER_DIRECTORY), 0755) == 0;
	_cleanup_close_ int fd = openat(at, join(path, way, directory, "/"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool here = fd >= 0 && is_cgroup(fd);
	/* A directory elsewhere is no cgroup: where it could be made, the path was one of the candidate's own places. */
	note(control, "making a cgroup", made && here);
	if (made && found)
		unlinkat(at, join(path, way, directory, "/" PROBER_DIRECTORY), AT_REMOVEDIR);
	if (here)
		be_born_in(control, fd);
}

/* Is it the cgroup of a round? Only there may all that is found be tried: elsewhere it may be others'. */
static bool is_round(const char *directory)
{
	return strncmp(strrchr(directory, '/'), "/proctor-", strlen("/proctor-")) == 0;
}

/* A directory, and the runs' cgroups in a round's, our own among them. */
static void try_listed(struct control *control, const char *way, const char *directory)
{
	char path[PATH_SIZE];
	try_directory(control, AT_FDCWD, way, directory, false);
	if (!is_round(directory))
		return;
	_cleanup_closedir_ DIR *stream = opendir(join(path, way, directory, ""));
	unsigned listed = 0;
	for (struct dirent *entry; stream && listed < LISTED && (entry = readdir(stream));) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || strcmp(entry->d_name, PROBER_DIRECTORY) == 0)
			continue;
		listed++;
		try_directory(control, AT_FDCWD, join(path, way, directory, "/"), entry->d_name, false);
	}
}

static void try_all_directories(struct control *control, const char *way)
{
	for (int i = 0; i < control->count; i++)
		try_listed(control, way, control->directories[i]);
}

/* From the root of a cgroup file system whose place on the host is not known: each tail of each path. */
static void try_tails(struct control *control, int at, const char *root)
{
	try_directory(control, at, root, ".", true);
	try_directory(control, at, root, "..", true);
	for (int i = 0; i < control->count; i++)
		for (const char *tail = strchr(control->directories[i] + 1, '/'); tail; tail = strchr(tail + 1, '/'))
			try_directory(control, at, root, tail, true);
}

/* --- ways to a directory ---------------------------------------------------------------------------- */

static void try_paths(struct control *control)
{
	static const char *const ways[] = {
		"", "/proc/self/root", "/proc/thread-self/root", "/proc/1/root", "/proc/self/cwd/../../../../..",
		"/proc/1/cwd/../../../../..", "../../../../../..",
	};
	for (size_t i = 0; i < ELEMENTS(ways); i++) {
		_cleanup_close_ int seen = ways[i][0] ? open(ways[i], O_PATH | O_CLOEXEC) : -1;
		/* What cannot even be walked to is one attempt, not one for each directory behind it. */
		if (ways[i][0] && seen < 0)
			note_step(control, false);
		else
			try_all_directories(control, ways[i]);
	}
}

static void try_descriptor(struct control *control, int fd)
{
	if (is_cgroup(fd))
		try_tails(control, fd, "./");
	else
		note_step(control, false);
}

/* Our own, init's through /proc and, by pidfd_getfd, init's by number. */
static void try_descriptors(struct control *control)
{
	char path[PATH_SIZE], number[16];
	long init = syscall(SYS_pidfd_open, 1, 0);

	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		if (fd != init)
			try_descriptor(control, fd);
		write_pid(number, fd);
		_cleanup_close_ int linked = open(join(path, "/proc/1/fd/", number, ""), O_PATH | O_CLOEXEC);
		try_descriptor(control, linked);
		_cleanup_close_ int taken = init < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, init, fd, 0);
		try_descriptor(control, taken);
	}
	if (init >= 0)
		close((int)init);
}

static ssize_t read_text(const char *path, char *text, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n;
	while (fd >= 0 && used + 1 < size && (n = read(fd, text + used, size - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	return fd < 0 ? -1 : (ssize_t)used;
}

/* The cgroup file systems of our mount namespace (proc(5), mountinfo: field 5 is the mount point). */
static unsigned try_mounts_in_view(struct control *control)
{
	static char text[65536];
	unsigned seen = 0;
	char *next;

	if (read_text("/proc/self/mountinfo", text, sizeof text) < 0)
		return 0;
	for (char *line = text; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!strstr(line, " - cgroup"))
			continue;
		char *point = line;
		for (int field = 1; point && field < 5; field++)
			point = strchr(point, ' ') ? strchr(point, ' ') + 1 : NULL;
		if (!point)
			continue;
		point[strcspn(point, " ")] = '\0';
		seen++;
		try_tails(control, AT_FDCWD, point);
	}
	return seen;
}

/* --- a view of one's own ---------------------------------------------------------------------------- */

static void try_mount(struct control *control, const char *type, const char *options)
{
	bool mounted = mount("none", MOUNT_POINT, type, MS_NOSUID | MS_NODEV | MS_NOEXEC, options) == 0;
	note_step(control, mounted);
	if (!mounted)
		return;
	try_tails(control, AT_FDCWD, MOUNT_POINT "/");
	umount2(MOUNT_POINT, MNT_DETACH);
}

/* The same by the calls that need no mount point. */
static void try_fsmount(struct control *control, const char *type)
{
	_cleanup_close_ int context = (int)syscall(SYS_fsopen, type, 1 /* FSOPEN_CLOEXEC */);
	note_step(control, context >= 0);
	if (context < 0 || syscall(SYS_fsconfig, context, 6 /* FSCONFIG_CMD_CREATE */, NULL, NULL, 0) < 0)
		return;
	_cleanup_close_ int tree = (int)syscall(SYS_fsmount, context, 1 /* FSMOUNT_CLOEXEC */, 0);
	if (note_step(control, tree >= 0))
		try_tails(control, tree, "./");
}

/* Each hierarchy that exists, by the controllers that /proc/self/cgroup names ("4:memory:/"). None is made. */
static void try_new_mounts(struct control *control)
{
	char text[PATH_SIZE], *next;

	mkdir(MOUNT_POINT, 0755);
	try_mount(control, "cgroup2", NULL);
	try_fsmount(control, "cgroup2");
	read_text("/proc/self/cgroup", text, sizeof text);
	for (char *line = text; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		if (controllers[1] != '\0' && strncmp(controllers + 1, "name=", 5) != 0)
			try_mount(control, "cgroup", controllers + 1);
	}
	rmdir(MOUNT_POINT);
}

static void try_view(struct control *control)
{
	try_mounts_in_view(control);
	try_new_mounts(control);
}

/* --- other namespaces ------------------------------------------------------------------------------- */

static void try_joining(struct control *control)
{
	static const char *const files[] = { "/proc/1/ns/user", "/proc/1/ns/mnt", "/proc/1/ns/cgroup" };
	long init = syscall(SYS_pidfd_open, 1, 0);
	bool joined = note_step(control, init >= 0 && setns((int)init, NAMESPACES) == 0);

	for (size_t i = 0; i < ELEMENTS(files); i++) {
		_cleanup_close_ int fd = open(files[i], O_RDONLY | O_CLOEXEC);
		joined |= note_step(control, fd >= 0 && setns(fd, 0) == 0);
	}
	if (init >= 0)
		close((int)init);
	if (joined)
		try_view(control);
}

static void try_unsharing(struct control *control)
{
	static const int flags[] = { CLONE_NEWCGROUP, CLONE_NEWNS, CLONE_NEWUSER, NAMESPACES, CLONE_NEWNS | CLONE_NEWCGROUP };
	bool made = false;
	for (size_t i = 0; i < ELEMENTS(flags); i++)
		made |= note_step(control, unshare(flags[i]) == 0);
	if (made)
		try_view(control);
}

/* By clone, the flags in a register, and by clone3, where no filter can see them. The child moves us, not itself. */
static void try_cloning(struct control *control)
{
	struct clone_args arguments = { .flags = NAMESPACES, .exit_signal = SIGCHLD };
	for (int way = 0; way < 2; way++) {
		struct prober_result own = { 0 };
		struct control inner = *control;
		long pid = way == 0 ? syscall(SYS_clone, NAMESPACES | SIGCHLD, NULL, NULL, NULL, NULL) :
				      syscall(SYS_clone3, &arguments, sizeof arguments);
		if (pid == 0) {
			inner.result = &own;
			try_view(&inner);
			_exit(own.worked > 0);
		}
		int status = 0;
		while (pid > 0 && waitpid((pid_t)pid, &status, 0) < 0 && errno == EINTR)
			;
		note_step(control, pid > 0);
		note(control, "a cgroup file system in namespaces of its own", pid > 0 && status != 0);
	}
}

static unsigned count_paths(void)
{
	char text[PATH_SIZE];
	unsigned count = 0;
	read_text("/proc/self/cgroup", text, sizeof text);
	for (char *line = text; *line;) {
		size_t length = strcspn(line, "\n");
		count += length > 0 && !(length >= 2 && line[length - 1] == '/' && line[length - 2] == ':');
		line += length + (line[length] != '\0');
	}
	return count;
}

void prober_control(char *const *directories, int count, struct prober_result *result)
{
	struct control control = { .result = result, .directories = directories, .count = count };

	write_pid(control.pid, result->pid);
	result->paths_seen = count_paths();
	try_paths(&control);
	try_descriptors(&control);
	result->mounts_seen = try_mounts_in_view(&control);
	try_new_mounts(&control);
	try_joining(&control);
	try_cloning(&control);
	try_unsharing(&control);
}
