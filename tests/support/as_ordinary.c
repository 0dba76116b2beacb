/*
 * as_ordinary [OPTION...] COMMAND...: runs a test as an ordinary user on a host where root has delegated a cgroup subtree.
 *
 * As root, in the words of README: makes a subtree and gives it to a user that exists for this run alone, puts the
 * command into a leaf of it, and gives the user a range of subordinate ids. The user and the range stand in copies of
 * /etc/passwd, /etc/group, /etc/subuid and /etc/subgid that only a mount namespace of the command's own shows: the
 * host's files are not touched. Afterwards the subtree is removed. Exit code: the command's; 77 where root, newuidmap
 * or a writable hierarchy is missing, with the reason.
 *
 *   --bare            delegates the unified hierarchy alone: on a hybrid host a kill boundary without a controller
 *   --undelegated     delegates nothing
 *   --read-only       shows the unified hierarchy read-only, as containers do
 *   --range=N         N subordinate ids (65536); 0: no line in /etc/subuid and /etc/subgid
 *   --deny=WHAT       userns=ERRNO, mountns=ERRNO, mount=ERRNO, landlock=ERRNO (a number): that system call fails, by a seccomp
 *                     filter that is loaded before the user is become, so that newuidmap still works
 *   --systemd=bus     as on a host with systemd: /run/systemd/system is there, the shell is in a scope that was not delegated, and
 *   --systemd=no-bus  XDG_RUNTIME_DIR is set, or is not
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/base/io.h"
#include "core/containment/cgroup.h"
#include "core/containment/host.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"

#define USER_ID 65321
#define USER_NAME "proctor-ordinary"

struct options {
	bool bare, undelegated, read_only, systemd, bus;
	const char *range;
	const char *denied[4];
	size_t denied_count;
};
static struct options options = { .range = "65536" };

static const char *const hierarchies[] = { NULL, "pids", "memory", "cpu" };	/* NULL: the unified one */
static char *subtrees[ELEMENTS(hierarchies)];

static void give(const char *directory, const char *file)
{
	char *path = scratch_text("%s%s%s", directory, file ? "/" : "", file ? file : "");
	if (chown(path, USER_ID, USER_ID) < 0 && errno != ENOENT)
		fprintf(stderr, "chown %s: %s\n", path, strerror(errno));
	free(path);
}

static const char *leaf_name(void)
{
	return options.systemd ? "session-1.scope" : "shell";
}

/*
 * What this cgroup of the unified hierarchy has, its children get. That may fail where processes are in it (EBUSY), or for
 * a controller that is not there: the worker says what it has. It stays on, as an administrator's own would.
 */
static void hand_down(const char *own)
{
	char *path = scratch_text("%s/cgroup.subtree_control", own);
	for (size_t i = 1; i < ELEMENTS(hierarchies); i++) {
		char *text = scratch_text("+%s", hierarchies[i]);
		(void)io_write_file(AT_FDCWD, path, text);
		free(text);
	}
	free(path);
}

/* cgroups(7), "Delegating a hierarchy to a less privileged user": the directory and the files that move processes. */
static void delegate(size_t i)
{
	char own[4096];
	struct pr_error error = { 0 };
	if (host_own_cgroup(hierarchies[i], own, sizeof own, &error) < 0) {
		if (!hierarchies[i])
			skip_program("no delegated subtree: %s", error.message);
		return;
	}
	if (!hierarchies[i] && !options.bare)
		hand_down(own);
	char *path = scratch_text("%s/ordinary-%d%s", own, getpid(), options.systemd ? ".slice" : "");
	if (mkdir(path, 0755) < 0) {
		if (errno != EEXIST)
			skip_program("no delegated subtree: %s: %s", path, strerror(errno));
		/* Of one hierarchy with a controller before it. */
		free(path);
		return;
	}
	subtrees[i] = path;
	give(path, NULL);
	give(path, "cgroup.procs");
	give(path, "cgroup.threads");
	give(path, "cgroup.subtree_control");
	give(path, "tasks");
	if (hierarchies[i])
		return;
	char *leaf = scratch_text("%s/%s", path, leaf_name());
	mkdir(leaf, 0755);
	give(leaf, NULL);
	give(leaf, "cgroup.procs");
	free(leaf);
}

static void join(void)
{
	for (size_t i = 0; i < ELEMENTS(hierarchies); i++) {
		if (!subtrees[i])
			continue;
		char *procs = scratch_text("%s%s%s/cgroup.procs", subtrees[i], hierarchies[i] ? "" : "/", hierarchies[i] ? "" : leaf_name());
		if (io_write_file(AT_FDCWD, procs, "0") < 0)
			fprintf(stderr, "cannot enter %s\n", procs);
		free(procs);
	}
}

/* A copy of the host's file with one line more, shown in its place. */
static void show_with(const char *scratch, const char *file, const char *line)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	char *copy = scratch_text("%s/%s", scratch, strrchr(file, '/') + 1);
	io_read_file(AT_FDCWD, file, 1u << 20, &text);
	buffer_printf(&text, "%s\n", line);
	if (scratch_write(copy, 0644, text.data) < 0 || mount(copy, file, NULL, MS_BIND, NULL) < 0)
		skip_program("%s cannot be shown with another line: %s", file, strerror(errno));
	free(copy);
}

static void show_read_only(void)
{
	static struct host_hierarchy list[HOST_HIERARCHIES_MAX];
	_cleanup_buffer_ struct buffer mountinfo = BUFFER_INIT;
	io_read_file(AT_FDCWD, "/proc/self/mountinfo", 1u << 22, &mountinfo);
	size_t count = host_hierarchies(mountinfo.data ? mountinfo.data : "", list);
	for (size_t i = 0; i < count; i++)
		if (list[i].unified && mount(NULL, list[i].point, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0)
			skip_program("%s cannot be shown read-only: %s", list[i].point, strerror(errno));
}

static void show_systemd(const char *scratch)
{
	if (mount("tmpfs", "/run", "tmpfs", 0, "mode=0755") < 0 || mkdir("/run/systemd", 0755) < 0 || mkdir("/run/systemd/system", 0755) < 0)
		skip_program("a host with systemd cannot be played: %s", strerror(errno));
	if (options.bus)
		setenv("XDG_RUNTIME_DIR", scratch, 1);
}

static void deny(const char *what)
{
	const char *equals = strchr(what, '=');
	int code = equals ? atoi(equals + 1) : 0;
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	uint32_t act = SCMP_ACT_ERRNO((uint32_t)code);
	int r = -EINVAL;
	if (strncmp(what, "userns=", 7) == 0)
		r = seccomp_rule_add(filter, act, SCMP_SYS(unshare), 1, SCMP_A0_64(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER));
	else if (strncmp(what, "mountns=", 8) == 0)
		r = seccomp_rule_add(filter, act, SCMP_SYS(unshare), 1, SCMP_A0_64(SCMP_CMP_MASKED_EQ, CLONE_NEWNS, CLONE_NEWNS));
	else if (strncmp(what, "mount=", 6) == 0)
		r = seccomp_rule_add(filter, act, SCMP_SYS(mount), 0);
	else if (strncmp(what, "landlock=", 9) == 0)
		r = seccomp_rule_add(filter, act, SCMP_SYS(landlock_create_ruleset), 0);
	/* Root needs no no_new_privs for it, and newuidmap could not become root with it. */
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	if (r < 0)
		skip_program("%s cannot be denied: %s", what, strerror(-r));
}

static _Noreturn void become(const char *scratch, char *const *argv)
{
	if (!options.undelegated)
		join();
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		skip_program("no mount namespace: %s", strerror(errno));
	char *range = scratch_text("%s:300000:%s", USER_NAME, options.range);
	show_with(scratch, "/etc/passwd", USER_NAME ":x:65321:65321::/nonexistent:/bin/sh");
	show_with(scratch, "/etc/group", USER_NAME ":x:65321:");
	show_with(scratch, "/etc/subuid", strcmp(options.range, "0") == 0 ? "" : range);
	show_with(scratch, "/etc/subgid", strcmp(options.range, "0") == 0 ? "" : range);
	free(range);
	char *home = scratch_text("%s/home", scratch);
	unsetenv("XDG_RUNTIME_DIR");
	unsetenv("XDG_STATE_HOME");
	if (options.read_only)
		show_read_only();
	if (options.systemd)
		show_systemd(home);
	for (size_t i = 0; i < options.denied_count; i++)
		deny(options.denied[i]);
	if (setgroups(0, NULL) < 0 || setresgid(USER_ID, USER_ID, USER_ID) < 0 || setresuid(USER_ID, USER_ID, USER_ID) < 0)
		skip_program("cannot become an ordinary user: %s", strerror(errno));
	setenv("HOME", home, 1);
	setenv("PROCTOR_TEST_DELEGATED", "1", 1);
	if (access(argv[0], X_OK) < 0)
		skip_program("an ordinary user cannot reach %s: %s", argv[0], strerror(errno));
	execv(argv[0], argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* With what was made below it: a scope too, which systemd would remove. */
static void remove_subtree(const char *path)
{
	unsigned nested;
	for (int tries = 0; tries < 200 && cgroup_remove(AT_FDCWD, path, &nested) < 0; tries++)
		clock_sleep_ns(10 * NS_PER_MS);
}

static bool take_option(const char *text)
{
	if (strcmp(text, "--bare") == 0)
		options.bare = true;
	else if (strcmp(text, "--undelegated") == 0)
		options.undelegated = true;
	else if (strcmp(text, "--read-only") == 0)
		options.read_only = true;
	else if (strncmp(text, "--range=", 8) == 0)
		options.range = text + 8;
	else if (strncmp(text, "--deny=", 7) == 0 && options.denied_count < ELEMENTS(options.denied))
		options.denied[options.denied_count++] = text + 7;
	else if (strncmp(text, "--systemd=", 10) == 0)
		options.systemd = true, options.bus = strcmp(text + 10, "bus") == 0;
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	while (argc > 1 && take_option(argv[1]))
		argc--, argv++;
	if (argc < 2 || argv[1][0] == '-') {
		fprintf(stderr, "usage: as_ordinary [OPTION...] COMMAND... (see as_ordinary.c)\n");
		return 64;
	}
	if (geteuid() != 0)
		skip_program("only root can delegate a subtree to an ordinary user");
	if (access("/usr/bin/newuidmap", X_OK) < 0)
		skip_program("newuidmap is not installed (package uidmap)");
	for (size_t i = 0; !options.undelegated && i < (options.bare ? 1 : ELEMENTS(hierarchies)); i++)
		delegate(i);
	char *scratch = scratch_directory("ordinary");
	char *home = scratch_text("%s/home", scratch);
	chmod(scratch, 0755);
	mkdir(home, 0700);
	give(home, NULL);
	pid_t pid = fork();
	if (pid == 0)
		become(scratch, argv + 1);
	int status = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < ELEMENTS(hierarchies); i++)
		if (subtrees[i])
			remove_subtree(subtrees[i]);
	scratch_remove(scratch);
	free(home);
	free(scratch);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
