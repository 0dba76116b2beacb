/* The birth of birth.h. Called by the worker's loop alone; births are one after the other. */
#include "core/containment/birth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/base/guard.h"
#include "core/base/io.h"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#if !defined(__has_feature)
#define SHARED_BIRTH 1
#elif !__has_feature(address_sanitizer)
#define SHARED_BIRTH 1
#else
#define SHARED_BIRTH 0
#endif
#else
#define SHARED_BIRTH 0
#endif

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif

#define BIRTH_TIMEOUT_NS (10 * NS_PER_S)	/* from the go byte to exec; a hanging mount ends here */
#define CHILD_STACK (256u << 10)

/* What the child tells before its exec; end of file says that there was nothing to tell. */
struct complaint {
	int code;
	const char *stage;	/* points into the program's own text: valid in the worker, which is the same image */
};

struct child {
	struct birth *birth;
	int go;			/* read end */
	int status;		/* our end of the status socket */
};

static int send_mount(int status, int fd)
{
	return io_send_message(status, "m", 1, &fd, 1);
}

/* Puts descriptor `from` at `to`, or closes `to` where there is none. Sources are all above 15 (worker.c). */
static int place(int from, int to)
{
	if (from < 0) {
		close(to);
		return 0;
	}
	return dup2(from, to) < 0 ? -errno : 0;
}

static int place_descriptors(const struct birth *birth, int workspace)
{
	int r = 0;
	for (int i = 0; r == 0 && i < 3; i++)
		r = place(birth->standard[i], i);
	if (r == 0)
		r = place(birth->report, INIT_REPORT);
	if (r == 0)
		r = place(birth->stream, INIT_STREAM);
	if (r == 0)
		r = place(workspace, INIT_WORKSPACE);
	/* Everything else goes at exec, whoever forgot to mark it (CVE-2024-21626). */
	if (r == 0 && guard_holds(GUARD_DESCRIPTORS) && syscall(SYS_close_range, INIT_WORKSPACE + 1, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		r = -errno;
	return r;
}

static int keep_privileges(uint64_t keep)
{
	int r = privileges_no_new();
	if (r == 0)
		r = privileges_bound(HELD_ALL, keep);
	return r < 0 ? r : privileges_limit(keep);
}

/*
 * The ids are the run's own, so that the kernel's count for a user is the run's too: a second layer, and the only
 * one where no pids controller was delegated. One more than the cgroup lets in, which records what it refuses. A
 * shared id is the owner's, all of whose processes would count: none then.
 */
static int limit_processes(uint64_t processes, uid_t candidate)
{
	struct rlimit limit = { processes + 1, processes + 1 };
	struct rlimit now;
	if (processes == 0 || candidate == CANDIDATE_ID_SHARED || !guard_holds(GUARD_PIDS_LIMIT))
		return 0;
	if (syscall(SYS_prlimit64, 0, RLIMIT_NPROC, NULL, &now) < 0)
		return -errno;
	if (limit.rlim_max > now.rlim_max)
		return 0;
	return syscall(SYS_prlimit64, 0, RLIMIT_NPROC, &limit, NULL) < 0 ? -errno : 0;
}

static int become_run(struct child *child, const char **stage)
{
	struct birth *birth = child->birth;
	int keep = -1;

	*stage = "ids";
	int r = ids_enter(birth->candidate);
	if (r < 0)
		return r;
	*stage = "process limit";
	r = limit_processes(birth->processes, birth->candidate);
	if (r < 0)
		return r;
	/* After setresuid, which clears it; exec keeps it (prctl(2)). */
	*stage = "pdeathsig";
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	/* Now, not at clone: by now the v1 cgroups are joined as well, and each path reads "/" inside. */
	*stage = "cgroup namespace";
	if (guard_holds(GUARD_CGROUP_NAMESPACE) && unshare(CLONE_NEWCGROUP) < 0)
		return -errno;
	*stage = "network";
	if (!birth->mounts.whole_host && guard_holds(GUARD_NETWORK) && (r = network_loopback_up()) < 0)
		return r;
	*stage = "uts";
	if (guard_holds(GUARD_HOST_NAME) && sethostname("proctor", 7) < 0)
		return -errno;
	*stage = "mounts";
	r = mounts_enter(&birth->mounts, &keep, stage);
	if (r < 0)
		return r;
	*stage = "workspace";
	r = send_mount(child->status, keep);
	close(keep);
	if (r < 0)
		return r;
	*stage = "landlock";
	r = birth->mounts.whole_host ? 0 : landlock_enter(birth->landlock_abi);
	if (r < 0)
		return r;
	*stage = "privileges";
	return keep_privileges(KEEP_FOR_INIT);
}

static int become_collector(struct child *child, const char **stage)
{
	struct birth *birth = child->birth;

	*stage = "mounts";
	int r = mounts_enter_bare(birth->mounts.template_path, stage);
	if (r < 0)
		return r;
	*stage = "user namespace";
	if (setns(birth->user_namespace, CLONE_NEWUSER) < 0)
		return -errno;
	*stage = "ids";
	r = ids_enter(birth->candidate);
	if (r < 0)
		return r;
	*stage = "pdeathsig";
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	*stage = "landlock";
	r = landlock_enter_reader(birth->landlock_abi, birth->mounts.workspace_fd);
	if (r < 0)
		return r;
	*stage = "privileges";
	return keep_privileges(KEEP_FOR_COLLECTOR);
}

/* In the child: until exec, only bare calls and the layers. Never returns but on failure. */
static int child_main(void *argument)
{
	struct child *child = argument;
	struct birth *birth = child->birth;
	const char *stage = "go";
	char byte;

	/* End of file: the worker died before it could say go. */
	if (syscall(SYS_read, child->go, &byte, 1) != 1)
		return 1;
	stage = "v1 cgroups";
	int r = guard_holds(GUARD_KILL_BOUNDARY) ? cgroup_leaf_enter_v1(birth->leaf) : 0;
	if (r == 0)
		r = birth->kind == BIRTH_RUN ? become_run(child, &stage) : become_collector(child, &stage);
	if (r == 0) {
		stage = "seccomp";
		r = birth->mounts.whole_host ? 0 : seccomp_enter(birth->filter);
	}
	if (r == 0) {
		stage = "descriptors";
		r = place_descriptors(birth, birth->kind == BIRTH_COLLECTOR ? birth->mounts.workspace_fd : -1);
	}
	if (r == 0) {
		stage = "exec proctor-init";
		syscall(SYS_execveat, birth->image, "", birth->argv, birth->envp, AT_EMPTY_PATH);
		r = -errno;
	}
	struct complaint complaint = { .code = -r, .stage = stage };
	io_send_message(child->status, &complaint, sizeof complaint, NULL, 0);
	return 1;
}

#if SHARED_BIRTH
/*
 * clone3 with a stack: the child begins at the top of it and must not return into our frame, so it calls
 * the function from here and exits. Registers come through the system call but rax, rcx and r11.
 */
static long clone3_on_stack(struct clone_args *arguments, int (*function)(void *), void *argument)
{
	long result;
	register void *r8 __asm__("r8") = (void *)function;
	register void *r9 __asm__("r9") = argument;
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%r9, %%rdi\n\t"
			 "call *%%r8\n\t"
			 "mov %%eax, %%edi\n\t"
			 "mov %[exit], %%eax\n\t"
			 "syscall\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(result)
			 : "0"((long)SYS_clone3), "D"(arguments), "S"(sizeof *arguments), "r"(r8), "r"(r9),
			   [exit] "i"(SYS_exit)
			 : "rcx", "r11", "memory");
	return result;
}

static void *child_stack(void)
{
	static void *stack;
	if (!stack) {
		char *memory = mmap(NULL, CHILD_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
		if (memory == MAP_FAILED)
			return NULL;
		mprotect(memory, 4096, PROT_NONE);
		stack = memory;
	}
	return stack;
}

static long clone_child(struct clone_args *arguments, struct child *child)
{
	void *stack = child_stack();
	if (!stack)
		return -ENOMEM;
	arguments->flags |= CLONE_VM;
	arguments->stack = (uint64_t)(uintptr_t)stack;
	arguments->stack_size = CHILD_STACK;
	return clone3_on_stack(arguments, child_main, child);
}
#else
static long clone_child(struct clone_args *arguments, struct child *child)
{
	long pid = syscall(SYS_clone3, arguments, sizeof *arguments);
	if (pid == 0)
		_exit(child_main(child));
	return pid < 0 ? -errno : pid;
}
#endif

static uint64_t clone_flags(const struct birth *birth)
{
	bool bounded = guard_holds(GUARD_KILL_BOUNDARY);
	uint64_t flags = CLONE_PIDFD | CLONE_NEWNS;
	if (bounded && guard_holds(GUARD_PROCESSES))
		flags |= CLONE_NEWPID;
	if (guard_holds(GUARD_IPC))
		flags |= CLONE_NEWIPC;
	if (guard_holds(GUARD_HOST_NAME))
		flags |= CLONE_NEWUTS;
	if (!birth->mounts.whole_host && guard_holds(GUARD_NETWORK))
		flags |= CLONE_NEWNET;
	if (bounded && guard_holds(GUARD_CGROUP_BIRTH))
		flags |= CLONE_INTO_CGROUP;
	/* A collector joins the run's user namespace itself; what it gets here belongs to the worker's. */
	return birth->kind == BIRTH_RUN ? flags | CLONE_NEWUSER : flags;
}

/* Waits for what the child has to say. 0: end of file, the exec worked or the child died. */
static int await_exec(struct birth *birth, int status, struct pr_error *error)
{
	int64_t deadline = clock_mono_ns() + BIRTH_TIMEOUT_NS;
	for (;;) {
		struct pollfd one = { .fd = status, .events = POLLIN };
		int64_t left = deadline - clock_mono_ns();
		if (left <= 0) {
			birth->stage = "timeout";
			return pr_error_set(error, ETIMEDOUT, "a newborn process did not come to its exec within %d s",
					    (int)(BIRTH_TIMEOUT_NS / NS_PER_S));
		}
		if (poll(&one, 1, (int)(left / NS_PER_MS + 1)) <= 0)
			continue;
		union {
			struct complaint complaint;
			char mount;
		} message;
		int fds[IO_MESSAGE_FDS];
		size_t count = 0;
		ssize_t n = io_receive_message(status, &message, sizeof message, fds, &count);
		if (n == 0)
			return 0;
		if (n == 1 && count == 1 && birth->kept_workspace < 0) {
			birth->kept_workspace = fds[0];
			continue;
		}
		for (size_t i = 0; i < count; i++)
			close(fds[i]);
		if (n != sizeof message.complaint) {
			birth->stage = "status";
			return pr_error_set(error, EPROTO, "a newborn process sent what it should not");
		}
		birth->stage = message.complaint.stage;
		return pr_error_errno(error, message.complaint.code, "making the boundary: %s", birth->stage);
	}
}

static int open_namespace(pid_t pid, const char *name)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%ld/ns/%s", (long)pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Between clone and go: the child is our code and has not forked. */
static int prepare_child(struct birth *birth, struct pr_error *error)
{
	if (birth->kind == BIRTH_COLLECTOR)
		return 0;
	birth->stage = "ids";
	int r = ids_map(birth->pid, birth->ids, birth->candidate, error);
	if (r < 0)
		return r;
	birth->kept_namespace = open_namespace(birth->pid, "user");
	if (birth->kept_namespace < 0)
		return pr_error_errno(error, -birth->kept_namespace, "opening the newborn's user namespace");
	/* Without them all is well, only slower. */
	birth->slow[SLOW_MOUNTS] = open_namespace(birth->pid, "mnt");
	birth->slow[SLOW_NETWORK] = open_namespace(birth->pid, "net");
	return 0;
}

/* The kernel trap of cgroup.h: a child that is gone before its exec, by SIGKILL, is not the candidate's doing. */
static int check_alive(struct birth *birth, struct pr_error *error)
{
	siginfo_t info = { .si_pid = 0 };
	if (waitid(P_PIDFD, (id_t)birth->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
		return 0;
	if (info.si_code == CLD_EXITED)
		return 0;
	birth->stage = "killed at birth";
	return pr_error_set(error, ECHILD, "a newborn process was killed (signal %d) before its exec", info.si_status);
}

int birth_start(struct birth *birth, struct pr_error *error)
{
	int go[2], status[2];
	birth->pid = 0;
	birth->pidfd = birth->kept_workspace = birth->kept_namespace = -1;
	for (int i = 0; i < SLOW_NAMESPACES; i++)
		birth->slow[i] = -1;
	birth->stage = "clone3";
	if (pipe2(go, O_CLOEXEC) < 0)
		return pr_error_errno(error, errno, "making a pipe");
	_cleanup_close_ int go_read = go[0], go_write = go[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, status) < 0)
		return pr_error_errno(error, errno, "making a socket pair");
	_cleanup_close_ int status_ours = status[0], status_child = status[1];

	struct child child = { .birth = birth, .go = go_read, .status = status_child };
	struct clone_args arguments = {
		.flags = clone_flags(birth),
		.pidfd = (uint64_t)(uintptr_t)&birth->pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)birth->leaf->fd,
	};
	long pid = clone_child(&arguments, &child);
	if (pid < 0)
		return pr_error_errno(error, (int)-pid, "starting a process in its boundary (clone3)");
	birth->pid = (pid_t)pid;
	/* Its copies are the child's own: with ours closed, end of file means what it says. */
	close(take_fd(&status_child));
	close(take_fd(&go_read));
	int r = prepare_child(birth, error);
	if (r == 0 && write(go_write, "g", 1) != 1)
		r = pr_error_errno(error, errno, "letting a newborn process go");
	if (r == 0) {
		birth->stage = "exec";
		r = await_exec(birth, status_ours, error);
	}
	return r < 0 ? r : check_alive(birth, error);
}
