/*
 * as_ordinary [--bare] COMMAND...: runs a test as an ordinary user on a host where root has delegated a cgroup subtree.
 *
 * As root, in the words of README: makes a subtree and gives it to a user that exists for this run alone, puts the
 * command into a leaf of it, and gives the user a range of subordinate ids. The user and the range stand in copies of
 * /etc/passwd, /etc/group, /etc/subuid and /etc/subgid that only a mount namespace of the command's own shows: the
 * host's files are not touched. Afterwards the subtree is removed. Exit code: the command's; 77 where root, newuidmap
 * or a writable hierarchy is missing, with the reason. --bare delegates the unified hierarchy alone: on a hybrid host
 * that is a kill boundary without a controller.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
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
#include "core/containment/host.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"

#define USER_ID 65321
#define USER_NAME "proctor-ordinary"
#define RANGE "300000:65536"

static const char *const hierarchies[] = { NULL, "pids", "memory", "cpu" };	/* NULL: the unified one */
static char *subtrees[ELEMENTS(hierarchies)];

static void give(const char *directory, const char *file)
{
	char *path = scratch_text("%s%s%s", directory, file ? "/" : "", file ? file : "");
	if (chown(path, USER_ID, USER_ID) < 0 && errno != ENOENT)
		fprintf(stderr, "chown %s: %s\n", path, strerror(errno));
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
	char *path = scratch_text("%s/ordinary-%d", own, getpid());
	if (mkdir(path, 0755) < 0)
		skip_program("no delegated subtree: %s: %s", path, strerror(errno));
	subtrees[i] = path;
	give(path, NULL);
	give(path, "cgroup.procs");
	give(path, "cgroup.threads");
	give(path, "cgroup.subtree_control");
	give(path, "tasks");
	if (hierarchies[i])
		return;
	char *leaf = scratch_text("%s/shell", path);
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
		char *procs = scratch_text("%s%s/cgroup.procs", subtrees[i], hierarchies[i] ? "" : "/shell");
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

static _Noreturn void become(const char *scratch, char *const *argv)
{
	join();
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		skip_program("no mount namespace: %s", strerror(errno));
	show_with(scratch, "/etc/passwd", USER_NAME ":x:65321:65321::/nonexistent:/bin/sh");
	show_with(scratch, "/etc/group", USER_NAME ":x:65321:");
	show_with(scratch, "/etc/subuid", USER_NAME ":" RANGE);
	show_with(scratch, "/etc/subgid", USER_NAME ":" RANGE);
	if (setgroups(0, NULL) < 0 || setresgid(USER_ID, USER_ID, USER_ID) < 0 || setresuid(USER_ID, USER_ID, USER_ID) < 0)
		skip_program("cannot become an ordinary user: %s", strerror(errno));
	char *home = scratch_text("%s/home", scratch);
	setenv("HOME", home, 1);
	setenv("PROCTOR_TEST_DELEGATED", "1", 1);
	unsetenv("XDG_RUNTIME_DIR");
	unsetenv("XDG_STATE_HOME");
	if (access(argv[0], X_OK) < 0)
		skip_program("an ordinary user cannot reach %s: %s", argv[0], strerror(errno));
	execv(argv[0], argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static void remove_subtree(const char *path, bool leaf)
{
	char *shell = scratch_text("%s/shell", path);
	for (int tries = 0; tries < 200; tries++) {
		if (leaf)
			rmdir(shell);
		if (rmdir(path) == 0 || errno == ENOENT)
			break;
		clock_sleep_ns(10 * NS_PER_MS);
	}
	free(shell);
}

int main(int argc, char **argv)
{
	bool bare = argc > 1 && strcmp(argv[1], "--bare") == 0;
	argv += bare;
	if (argc - bare < 2) {
		fprintf(stderr, "usage: as_ordinary [--bare] COMMAND...\n");
		return 64;
	}
	if (geteuid() != 0)
		skip_program("only root can delegate a subtree to an ordinary user");
	if (access("/usr/bin/newuidmap", X_OK) < 0)
		skip_program("newuidmap is not installed (package uidmap)");
	for (size_t i = 0; i < (bare ? 1 : ELEMENTS(hierarchies)); i++)
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
			remove_subtree(subtrees[i], !hierarchies[i]);
	scratch_remove(scratch);
	free(home);
	free(scratch);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
