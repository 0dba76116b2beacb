/*
 * Peers (peers.h):
 *
 * - bwrap: all namespaces, own root, session and death of its own; no seccomp, no limits.
 * - crun: an OCI bundle made here with the same root, all namespaces but user, no new privileges; no seccomp, no limits. It
 *   takes no hybrid host: there it is run in a mount namespace that shows it the v1 hierarchies alone.
 * - bootstrap: python3 starts, moves itself into a cgroup and executes the command; afterwards the
 *   cgroup is killed, waited for and removed. A kill boundary only.
 */
#include "tests/bench/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/base/io.h"
#include "core/containment/host.h"
#include "tests/bench/report.h"
#include "tests/support/scratch.h"

#define REMOVE_NS (5 * NS_PER_S)
#define EMPTY_MS 30000

extern char **environ;

static int null_fd = -1;

/* `inherited` becomes descriptor 3 (-1: none). The pid, or a negative number. */
static pid_t start(const char *const *command, int inherited)
{
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_adddup2(&actions, null_fd, fd);
	if (inherited >= 0)
		posix_spawn_file_actions_adddup2(&actions, inherited, 3);
	pid_t pid;
	int r = posix_spawnp(&pid, command[0], &actions, NULL, (char *const *)command, environ);
	posix_spawn_file_actions_destroy(&actions);
	return r == 0 ? pid : -1;
}

static bool succeeds(pid_t pid)
{
	int status = -1;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && status == 0;
}

static double run_once(const char *const *command)
{
	int64_t begin = clock_mono_ns();
	bool whole = succeeds(start(command, -1));
	return whole ? bench_since_ms(begin) : -1;
}

static bool plain_prepare(void)
{
	null_fd = null_fd < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : null_fd;
	return null_fd >= 0;
}

static const char *not_installed(void)
{
	return "it is not installed, or does not work here";
}

/* ------- posix_spawn ------- */

static double plain_once(void)
{
	return run_once((const char *[]){ "/bin/true", NULL });
}

/* ------- bwrap ------- */

size_t peer_bwrap(const char *ret_argv[static PEER_BWRAP_ARGUMENTS], const char *shown)
{
	static const char *const start_of[] = {
		"bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin",
		"/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev",
		"--tmpfs", "/tmp", "--tmpfs", "/workspace", "--chdir", "/workspace"
	};
	size_t count = 0;
	for (size_t i = 0; i < ELEMENTS(start_of); i++)
		ret_argv[count++] = start_of[i];
	if (shown) {
		ret_argv[count++] = "--ro-bind";
		ret_argv[count++] = shown;
		ret_argv[count++] = shown;
	}
	return count;
}

static double bwrap_once(void)
{
	const char *argv[PEER_BWRAP_ARGUMENTS + 2];
	size_t length = peer_bwrap(argv, NULL);
	argv[length] = "/bin/true";
	argv[length + 1] = NULL;
	return run_once(argv);
}

static bool bwrap_prepare(void)
{
	return bench_installed("bwrap") && bwrap_once() >= 0;
}

/* ------- crun ------- */

static const char bundle_text[] =
	"{\"ociVersion\":\"1.0.0\",\"process\":{\"terminal\":false,\"user\":{\"uid\":0,\"gid\":0},\"args\":[\"/bin/true\"],"
	"\"env\":[\"PATH=/usr/bin:/bin\"],\"cwd\":\"/workspace\",\"noNewPrivileges\":true},"
	"\"root\":{\"path\":\"root\",\"readonly\":true},\"mounts\":["
	"{\"destination\":\"/usr\",\"type\":\"bind\",\"source\":\"/usr\",\"options\":[\"rbind\",\"ro\"]},"
	"{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\"},"
	"{\"destination\":\"/dev\",\"type\":\"tmpfs\",\"source\":\"tmpfs\",\"options\":[\"nosuid\",\"mode=755\"]},"
	"{\"destination\":\"/tmp\",\"type\":\"tmpfs\",\"source\":\"tmpfs\",\"options\":[\"nosuid\",\"nodev\"]},"
	"{\"destination\":\"/workspace\",\"type\":\"tmpfs\",\"source\":\"tmpfs\",\"options\":[\"nosuid\",\"nodev\"]}],"
	"\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"network\"},{\"type\":\"ipc\"},{\"type\":\"uts\"},"
	"{\"type\":\"mount\"},{\"type\":\"cgroup\"}]}}\n";

static struct {
	char *bundle, *state;
	int own, shown;		/* mount namespaces; -1: no other is needed */
	int runs;
} crun = { .own = -1, .shown = -1 };

static void make_bundle(void)
{
	static const char *const folders[] = { "root", "root/usr", "root/proc", "root/dev", "root/tmp", "root/workspace" };
	static const char *const links[][2] = { { "usr/bin", "bin" }, { "usr/lib", "lib" }, { "usr/lib64", "lib64" } };
	crun.bundle = scratch_directory("bundle");
	crun.state = scratch_text("%s/state", crun.bundle);
	for (size_t i = 0; i < ELEMENTS(folders); i++) {
		char *path = scratch_text("%s/%s", crun.bundle, folders[i]);
		mkdir(path, 0755);
		free(path);
	}
	for (size_t i = 0; i < ELEMENTS(links); i++) {
		char *path = scratch_text("%s/root/%s", crun.bundle, links[i][1]);
		if (symlink(links[i][0], path) < 0)
			perror(path);
		free(path);
	}
	char *path = scratch_text("%s/config.json", crun.bundle);
	scratch_write(path, 0644, bundle_text);
	free(path);
}

/* On a hybrid host: a mount namespace without the unified hierarchy. 0, or a negative number where it cannot be made. */
static int hide_unified(void)
{
	char own[4096];
	if (host_own_cgroup("memory", own, sizeof own, NULL) < 0 || host_own_cgroup(NULL, own, sizeof own, NULL) < 0)
		return 0;
	int ready[2];
	if (pipe2(ready, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		bool hidden = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
			      umount2("/sys/fs/cgroup/unified", MNT_DETACH) == 0;
		if (hidden && write(ready[1], "r", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	char byte, path[64];
	snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
	if (pid > 0 && read(ready[0], &byte, 1) == 1) {
		crun.shown = open(path, O_RDONLY | O_CLOEXEC);
		crun.own = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	}
	close(ready[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return crun.own >= 0 && crun.shown >= 0 ? 0 : -1;
}

static double crun_once(void)
{
	char id[64];
	snprintf(id, sizeof id, "bench-%d-%d", (int)getpid(), ++crun.runs);
	const char *argv[] = { "crun", "--root", crun.state, "run", "--bundle", crun.bundle, id, NULL };
	if (crun.shown >= 0 && setns(crun.shown, CLONE_NEWNS) < 0)
		return -1;
	double ms = run_once(argv);
	if (crun.own >= 0 && setns(crun.own, CLONE_NEWNS) < 0)
		abort();	/* all that follows would be measured elsewhere */
	return ms;
}

static bool crun_prepare(void)
{
	if (!bench_installed("crun") || geteuid() != 0)
		return false;
	make_bundle();
	return hide_unified() == 0 && crun_once() >= 0;
}

static const char *crun_missing(void)
{
	if (bench_installed("crun") && geteuid() != 0)
		return "its bundle needs root";
	return not_installed();
}

static void crun_release(void)
{
	if (crun.own >= 0)
		close(crun.own);
	if (crun.shown >= 0)
		close(crun.shown);
	if (crun.bundle)
		scratch_remove(crun.bundle);
	free(crun.bundle);
	free(crun.state);
	crun.bundle = crun.state = NULL;
	crun.own = crun.shown = -1;
}

/* ------- a bootstrap in Python ------- */

static const char bootstrap_source[] =
	"import os, sys\n"
	"os.set_inheritable(3, False)\n"
	"with open(os.path.join(sys.argv[1], 'cgroup.procs'), 'w') as procs:\n"
	"    procs.write(str(os.getpid()))\n"
	"try:\n"
	"    os.execv(sys.argv[2], sys.argv[2:])\n"
	"except OSError as error:\n"
	"    os.write(3, str(error.errno).encode())\n"
	"    os._exit(127)\n";

/* Not a wrapper on PATH that looks for an interpreter first. */
static const char *python(void)
{
	return access("/usr/bin/python3", X_OK) == 0 ? "/usr/bin/python3" : "python3";
}

/* "populated 0" of cgroup.events; each change of the file is told by POLLPRI (cgroups(7)). */
static bool await_empty(int cgroup)
{
	int events = openat(cgroup, "cgroup.events", O_RDONLY | O_CLOEXEC);
	bool empty = false;
	while (events >= 0 && !empty) {
		char text[128] = "";
		if (pread(events, text, sizeof text - 1, 0) <= 0)
			break;
		empty = strstr(text, "populated 0") != NULL;
		struct pollfd change = { .fd = events, .events = POLLPRI };
		if (!empty && poll(&change, 1, EMPTY_MS) <= 0)
			break;
	}
	close(events);
	return empty;
}

static double bootstrap_once(void)
{
	int64_t begin = clock_mono_ns();
	struct peer_cgroup cgroup;
	int status[2];
	if (!peer_cgroup_make(&cgroup, NULL))
		return -1;
	if (pipe2(status, O_CLOEXEC) < 0) {
		peer_cgroup_remove(&cgroup);
		return -1;
	}
	const char *argv[] = { python(), "-c", bootstrap_source, cgroup.path, "/bin/true", NULL };
	pid_t pid = start(argv, status[1]);
	close(status[1]);
	char said[16];
	bool executed = pid > 0 && read(status[0], said, sizeof said) == 0;
	close(status[0]);
	bool whole = succeeds(pid) && executed;
	whole = io_write_file(cgroup.fd, "cgroup.kill", "1") == 0 && await_empty(cgroup.fd) && whole;
	peer_cgroup_remove(&cgroup);
	return whole ? bench_since_ms(begin) : -1;
}

static bool bootstrap_prepare(void)
{
	return bootstrap_once() >= 0;
}

static const char *bootstrap_missing(void)
{
	return "no python3, or no cgroup that it may enter";
}

/* ------- cgroups ------- */

bool peer_cgroup_make(struct peer_cgroup *cgroup, const char *controller)
{
	static int made;
	char own[4096];
	cgroup->fd = -1;
	if ((!controller || host_own_cgroup(controller, own, sizeof own, NULL) < 0) && host_own_cgroup(NULL, own, sizeof own, NULL) < 0)
		return false;
	snprintf(cgroup->path, sizeof cgroup->path, "%s/bench-%d-%d", own, (int)getpid(), ++made);
	if (mkdir(cgroup->path, 0755) < 0)
		return false;
	cgroup->fd = open(cgroup->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cgroup->fd < 0)
		rmdir(cgroup->path);
	return cgroup->fd >= 0;
}

bool peer_cgroup_limit_processes(const struct peer_cgroup *cgroup, int processes)
{
	char text[16];
	snprintf(text, sizeof text, "%d", processes);
	return io_write_file(cgroup->fd, "pids.max", text) == 0;
}

bool peer_cgroup_limit_cpu(const struct peer_cgroup *cgroup)
{
	return io_write_file(cgroup->fd, "cpu.cfs_quota_us", "100000") == 0 ||
	       io_write_file(cgroup->fd, "cpu.max", "100000 100000") == 0;
}

/* What left it a moment ago may still be on its way out (EBUSY). */
void peer_cgroup_remove(struct peer_cgroup *cgroup)
{
	if (cgroup->fd < 0)
		return;
	close(cgroup->fd);
	cgroup->fd = -1;
	int64_t end = clock_mono_ns() + REMOVE_NS;
	while (rmdir(cgroup->path) < 0 && errno == EBUSY && clock_mono_ns() < end)
		clock_sleep_ns(NS_PER_MS / 5);
	if (access(cgroup->path, F_OK) == 0)
		fprintf(stderr, "left over: %s\n", cgroup->path);
}

static void nothing(void)
{
}

const struct peer peers[PEERS] = {
	{ "posix_spawn", plain_prepare, not_installed, plain_once, nothing },
	{ "bwrap", bwrap_prepare, not_installed, bwrap_once, nothing },
	{ "crun", crun_prepare, crun_missing, crun_once, crun_release },
	{ "python bootstrap", bootstrap_prepare, bootstrap_missing, bootstrap_once, nothing },
};
