/*
 * proctor-init: our program inside a boundary; static, pid 1 of its pid namespace, behind every layer.
 *
 *   proctor-init init                               waits for its order (report.h), unpacks the subject, starts the
 *                                                   command as the candidate's id, reports its end, and stays until it
 *                                                   is killed where anything else lives: its own exit would kill the
 *                                                   rest before it was counted
 *   proctor-init collect GLOB...                    walks the workspace at INIT_WORKSPACE into INIT_STREAM
 *   proctor-init prober ...                         the worker's dry run, in a candidate's place (prober.h)
 *
 * It trusts its arguments and its order (the worker's) and nothing else. It keeps no descriptor and no capability that the
 * candidate could get at, installs no signal handler (a pid 1 without one cannot be signalled from inside) and is
 * not dumpable.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/guard.h"
#include "core/containment/birth.h"
#include "core/containment/prober.h"
#include "core/containment/report.h"
#include "core/workspace/inside/collect.h"
#include "core/workspace/inside/unpack.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"
#define OPEN_FILES 65536
#define PENDING_SIGNALS 1024
#define COLLECT_FAILED 70	/* exit status: the stream could not be written whole */
#define CHILD_STACK 65536

struct command {
	const char *directory;	/* relative to the workspace */
	char **arguments;
	char **environment;	/* the candidate's, whole */
	bool subject;		/* there is one at INIT_STREAM */
	uid_t candidate;	/* its id inside */
};

static void send_report(const struct report *report)
{
	while (send(INIT_REPORT, report, sizeof *report, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static void tell(enum report_kind kind, int value, const char *step)
{
	struct report report = { .kind = kind, .value = value };
	if (step) {
		size_t length = strlen(step);
		memcpy(report.step, step, length < sizeof report.step ? length : sizeof report.step - 1);
	}
	send_report(&report);
}

static _Noreturn void wait_to_be_killed(void)
{
	/* Reaps what is reparented to us meanwhile; with nothing left to reap it sleeps. */
	for (;;)
		if (waitpid(-1, NULL, 0) < 0 && errno == ECHILD)
			pause();
}

static _Noreturn void give_up(int code, const char *step)
{
	tell(REPORT_SETUP_FAILED, code, step);
	wait_to_be_killed();
}

/* What the worker blocks and ignores would be so over exec: it blocks some and ignores SIGPIPE (worker_main.c). */
static void reset_signals(void)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
}

static int set_limit(int resource, rlim_t wanted)
{
	struct rlimit limit;
	if (getrlimit(resource, &limit) < 0)
		return -errno;
	if (limit.rlim_max != RLIM_INFINITY && wanted > limit.rlim_max)
		wanted = limit.rlim_max;
	limit = (struct rlimit){ wanted, wanted };
	return setrlimit(resource, &limit) < 0 ? -errno : 0;
}

/*
 * No core files; enough descriptors for what agents run; processes are the cgroup's business. Queued signals and
 * timers count for the owner on the host too (mounts.c, user_limits): all of them here, and the owner has none.
 */
static int set_limits(void)
{
	static const struct {
		int resource;
		rlim_t limit;
	} limits[] = { { RLIMIT_CORE, 0 }, { RLIMIT_NOFILE, OPEN_FILES }, { RLIMIT_SIGPENDING, PENDING_SIGNALS } };
	int r = 0;
	for (size_t i = 0; r == 0 && i < sizeof limits / sizeof limits[0]; i++)
		r = set_limit(limits[i].resource, limits[i].limit);
	return r;
}

/*
 * The ids, which clears the capabilities (capabilities(7), "Effect of user ID changes"); then by hand, in case it did not, and
 * for an id that is shared with us. Supplementary groups are gone but there, where they cannot be (ids.c).
 */
static int enter_candidate_id(uid_t id)
{
	if (syscall(SYS_setresgid, id, id, id) < 0 || (id != CANDIDATE_ID_SHARED && syscall(SYS_setgroups, 0, NULL) < 0) ||
	    syscall(SYS_setresuid, id, id, id) < 0)
		return -errno;
	return privileges_limit(0);
}

/*
 * A change of ids, of those for files too, clears the death signal that birth set (commit_creds in the kernel);
 * a worker that died meanwhile shows as the end of its socket.
 */
static void die_with_worker(void)
{
	char byte;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (recv(INIT_REPORT, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
		_exit(1);
}

/* --- the subject ------------------------------------------------------------------------------------ */

/*
 * What the candidate may not change becomes ours: with the ids of 0 for files the capability to change an owner is
 * there (capabilities(7), "Effect of user ID changes"), with the candidate's it is not. Where both are one id it
 * stays the candidate's.
 */
static int take_ownership(int fd)
{
	int candidate = setfsuid(0);
	int r = fchownat(fd, "", 0, (gid_t)-1, AT_EMPTY_PATH) < 0 ? -errno : 0;
	setfsuid((uid_t)candidate);
	return r;
}

static void unpack_subject(uid_t candidate)
{
	const char *step = "opening the workspace";
	mode_t mask = umask(0);
	/* With the candidate's file-system ids what is made belongs to it; ours may not even enter. */
	setfsgid(candidate);
	setfsuid(candidate);
	int workspace = open(WORKSPACE_PATH, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int home = open(HOME_PATH, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = workspace < 0 || home < 0 ? -errno : 0;
	if (r == 0)
		r = unpack(INIT_STREAM, workspace, home, take_ownership, &step);
	setfsuid(0);
	setfsgid(0);
	umask(mask);
	die_with_worker();
	if (r < 0)
		give_up(-r, step);
	close(workspace);
	close(home);
}

/* --- the command ------------------------------------------------------------------------------------ */

static const char *search_path(char *const *environment)
{
	for (; *environment; environment++)
		if (strncmp(*environment, "PATH=", 5) == 0)
			return *environment + 5;
	return DEFAULT_PATH;
}

/* execvp(3) without its shell for scripts that have no first line: ENOEXEC is told as it is. */
static int exec_command(const struct command *command)
{
	char *const *argv = command->arguments;
	char path[4096];
	int kept = ENOENT;

	if (strchr(argv[0], '/')) {
		execve(argv[0], argv, command->environment);
		return -errno;
	}
	const char *at = search_path(command->environment);
	for (;;) {
		size_t length = strcspn(at, ":");
		/* An empty member is the working directory: the candidate's, so it is not looked at. */
		if (length > 0 && length + 1 + strlen(argv[0]) < sizeof path) {
			memcpy(path, at, length);
			path[length] = '/';
			memcpy(path + length + 1, argv[0], strlen(argv[0]) + 1);
			execve(path, argv, command->environment);
			if (errno != ENOENT && errno != ENOTDIR)
				kept = errno;
		}
		if (at[length] == '\0')
			return -kept;
		at += length + 1;
	}
}

struct child {
	const struct command *command;
	int status;		/* the write end of the status pipe */
};

/* In the child, which shares our memory: what it changes there is on its own stack. */
static int run_command(void *argument)
{
	const struct child *child = argument;
	/* A session of its own, and no terminal to take (setsid(2)). */
	if (guard_holds(GUARD_SESSION) && guard_holds(GUARD_KILL_BOUNDARY))
		setsid();
	int r = dup2(child->status, INIT_REPORT) < 0 ? -errno : 0;
	if (r == 0)
		fcntl(INIT_REPORT, F_SETFD, FD_CLOEXEC);
	if (r == 0 && guard_holds(GUARD_DESCRIPTORS) && syscall(SYS_close_range, INIT_REPORT + 1, ~0u, 0) < 0)
		r = -errno;
	if (r == 0)
		r = enter_candidate_id(child->command->candidate);
	umask(022);
	if (r == 0 && (chdir(WORKSPACE_PATH) < 0 || chdir(child->command->directory) < 0))
		r = -errno;
	if (r == 0)
		r = exec_command(child->command);
	int code = -r;
	if (guard_holds(GUARD_EXEC_STATUS))
		while (write(INIT_REPORT, &code, sizeof code) < 0 && errno == EINTR)
			;
	_exit(127);
}

/*
 * Starts the command and learns over a close-on-exec pipe whether its exec worked (K6). Until then the child shares our
 * memory and we stand still (CLONE_VFORK): nothing is copied that the exec would throw away.
 */
static pid_t start_command(const struct command *command)
{
	static char stack[CHILD_STACK] __attribute__((aligned(64)));
	int status[2];
	if (pipe2(status, O_CLOEXEC) < 0)
		give_up(errno, "pipe");
	struct child child = { .command = command, .status = status[1] };
	pid_t pid = clone(run_command, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
	if (pid < 0)
		give_up(errno, "clone");
	close(status[1]);
	/* From here on there is nothing left to be had from us. */
	int r = privileges_limit(0);
	if (r < 0)
		give_up(-r, "dropping capabilities");
	int code;
	ssize_t n;
	do
		n = read(status[0], &code, sizeof code);
	while (n < 0 && errno == EINTR);
	close(status[0]);
	if (n == sizeof code) {
		tell(REPORT_EXEC_FAILED, code, NULL);
		wait_to_be_killed();
	}
	tell(REPORT_STARTED, 0, NULL);
	return pid;
}

/*
 * The command ended. Whoever lives in our pid namespace has us for a parent, or one that lives: where we have no child,
 * nobody is left, and there is nothing to wait for. __WALL: children of every kind (wait(2)).
 */
static _Noreturn void end_command(int status)
{
	pid_t pid;
	do
		pid = waitpid(-1, NULL, WNOHANG | __WALL);
	while (pid > 0 || (pid < 0 && errno == EINTR));
	struct report report = { .kind = REPORT_EXITED, .value = status, .alone = pid < 0 && errno == ECHILD };
	send_report(&report);
	if (report.alone)
		_exit(0);
	wait_to_be_killed();
}

/* Waits for it; the worker's end is ours. */
static ssize_t receive_order(struct order *order, int fds[static ORDER_DESCRIPTORS])
{
	union {
		char bytes[CMSG_SPACE(ORDER_DESCRIPTORS * sizeof(int))];
		struct cmsghdr header;
	} control;
	struct iovec part = { .iov_base = order, .iov_len = sizeof *order };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
	ssize_t n;
	do
		n = recvmsg(INIT_REPORT, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		_exit(1);
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if (n != sizeof *order || !header || header->cmsg_type != SCM_RIGHTS)
		return -1;
	size_t bytes = header->cmsg_len - CMSG_LEN(0);
	memcpy(fds, CMSG_DATA(header), bytes);
	return (ssize_t)(bytes / sizeof(int));
}

/* The vector of `count` texts from `*at` on, which moves behind them. */
static char **take_texts(char **at, uint32_t count)
{
	char **texts = calloc((size_t)count + 1, sizeof *texts);
	if (!texts)
		give_up(ENOMEM, "reading the command");
	for (uint32_t i = 0; i < count; i++) {
		texts[i] = *at;
		*at += strlen(*at) + 1;
	}
	return texts;
}

/* With it come the standard streams, and with them the subject, to the places where init wants them. */
static void take_order(struct command *ret_command)
{
	struct order order;
	int fds[ORDER_DESCRIPTORS];
	ssize_t count = receive_order(&order, fds);
	if (count < ORDER_SUBJECT)
		give_up(EPROTO, "reading the order");
	char *texts = mmap(NULL, order.bytes, PROT_READ, MAP_PRIVATE, fds[ORDER_TEXTS], 0);
	if (texts == MAP_FAILED)
		give_up(errno, "reading the command");
	ret_command->directory = texts;
	texts += strlen(texts) + 1;
	ret_command->arguments = take_texts(&texts, order.arguments);
	ret_command->environment = take_texts(&texts, order.environment);
	ret_command->subject = count > ORDER_SUBJECT;
	ret_command->candidate = order.candidate;
	if (dup2(fds[ORDER_STDOUT], STDOUT_FILENO) < 0 || dup2(fds[ORDER_STDERR], STDERR_FILENO) < 0 ||
	    (ret_command->subject && fds[ORDER_SUBJECT] != INIT_STREAM && dup2(fds[ORDER_SUBJECT], INIT_STREAM) < 0))
		give_up(errno, "placing the streams");
}

static _Noreturn void run_init(void)
{
	struct command command;
	/* Forced down to a process group, it is ours that the command is in (K15). */
	if (!guard_holds(GUARD_KILL_BOUNDARY))
		setsid();
	int r = set_limits();
	if (r < 0)
		give_up(-r, "limits");
	/* The bounding set, while CAP_SETPCAP is there: what init holds stays until it is let go of, nobody gains any. */
	r = privileges_bound(KEEP_FOR_INIT, 0);
	if (r < 0)
		give_up(-r, "dropping capabilities");
	take_order(&command);
	if (command.subject)
		unpack_subject(command.candidate);
	if (guard_holds(GUARD_DESCRIPTORS))
		syscall(SYS_close_range, INIT_STREAM, ~0u, 0);
	pid_t pid = start_command(&command);
	/* Its output must end when the candidate's does, so init lets go of it. */
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	for (;;) {
		int ended;
		pid_t gone = waitpid(-1, &ended, 0);
		if (gone == pid)
			end_command(ended);
		if (gone < 0 && errno != EINTR)
			give_up(errno, "waiting for the command");
	}
}

/* --- the collector ---------------------------------------------------------------------------------- */

#ifdef PROCTOR_TEST_BUILD
/* tests/laws/collector_trial.c: asked for by a scratch glob of its own, tries what a collector has no need of. */
int collector_trial(const char *glob);
#else
static int collector_trial(const char *glob)
{
	(void)glob;
	return 0;
}
#endif

static int run_collect(const char *const *scratch, size_t count)
{
	struct workspace_limits limits = WORKSPACE_LIMITS_E1;
	/* What came is a detached mount's root, opened for its path only. */
	int root = openat(INIT_WORKSPACE, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || seccomp_enter_collector(INIT_STREAM) < 0)
		return COLLECT_FAILED;
	int passed = count > 0 ? collector_trial(scratch[0]) : 0;
	if (passed > 0)
		return passed;
	return collect(root, INIT_STREAM, &limits, scratch, count) < 0 ? COLLECT_FAILED : 0;
}

int main(int argc, char **argv)
{
	if (argc >= 3 && strcmp(argv[1], "prober") == 0)
		return prober_main(argc - 2, argv + 2);
	reset_signals();
	/* exec made us dumpable again: /proc/1/mem must not open for the candidate (prctl(2)). */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (argc == 2 && strcmp(argv[1], "init") == 0)
		run_init();
	if (argc >= 2 && strcmp(argv[1], "collect") == 0)
		return run_collect((const char *const *)argv + 2, (size_t)argc - 2);
	return 64;
}
