/*
 * A collector that somebody took over, in the test build's proctor-init alone: asked for by the scratch glob TRIAL, it
 * tries what a collector has no need of, after its filter is in. The answer is the number of the first call below that
 * the filter let through (from 1), which is the collector's exit status; 0: all of them were refused.
 *
 * None of them is EPERM by another layer: without the filter each works, or is ENOENT or EACCES.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/containment/birth.h"
#include "tests/laws/collector_trial.h"

static long try_socket(void) { return syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0); }

static long try_socketpair(void)
{
	int fds[2];
	return syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, fds);
}

static long try_execve(void) { return syscall(SYS_execve, "/nowhere", NULL, NULL); }
static long try_execveat(void) { return syscall(SYS_execveat, INIT_WORKSPACE, "nowhere", NULL, NULL, 0); }

static long try_clone(void)
{
	long pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
	if (pid == 0)
		syscall(SYS_exit_group, 0);
	return pid;
}

static long try_kill(void) { return syscall(SYS_kill, 1, 0); }
static long try_ptrace(void) { return syscall(SYS_ptrace, PTRACE_TRACEME, 0, NULL, NULL); }
static long try_memfd(void) { return syscall(SYS_memfd_create, "x", 0); }
static long try_mmap(void) { return syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
static long try_open_to_write(void) { return syscall(SYS_openat, INIT_WORKSPACE, "file", O_WRONLY); }
static long try_create(void) { return syscall(SYS_openat, INIT_WORKSPACE, "new", O_RDONLY | O_CREAT, 0600); }
static long try_unnamed(void) { return syscall(SYS_openat, INIT_WORKSPACE, ".", O_TMPFILE | O_RDWR, 0600); }
static long try_mkdir(void) { return syscall(SYS_mkdirat, INIT_WORKSPACE, "new", 0700); }
static long try_unlink(void) { return syscall(SYS_unlinkat, INIT_WORKSPACE, "nowhere", 0); }
static long try_write_elsewhere(void) { return syscall(SYS_write, 1, "", 0); }

static long (*const trials[])(void) = {
	try_socket, try_socketpair, try_execve, try_execveat, try_clone, try_kill, try_ptrace, try_memfd, try_mmap,
	try_open_to_write, try_create, try_unnamed, try_mkdir, try_unlink, try_write_elsewhere,
};

int collector_trial(const char *glob)
{
	if (strcmp(glob, COLLECTOR_TRIAL) != 0)
		return 0;
	for (size_t i = 0; i < ELEMENTS(trials); i++)
		if (trials[i]() != -1 || errno != EPERM)
			return (int)i + 1;
	return 0;
}
