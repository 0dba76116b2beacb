/* Programs started by tests (process.h). */
#include "tests/support/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"

#define OUTPUT_MAX_BYTES ((size_t)256 << 20)
#define HELD_OUTPUT_NS NS_PER_S

static void set_variables(const char *const *environment)
{
	for (; environment && *environment; environment++) {
		const char *equals = strchr(*environment, '=');
		if (!equals) {
			unsetenv(*environment);
			continue;
		}
		char *name = strndup(*environment, (size_t)(equals - *environment));
		if (name)
			setenv(name, equals + 1, 1);
		free(name);
	}
}

_Noreturn static void become(const struct process_start *how, int output, int error)
{
	/* A test that dies must not leave its programs behind. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int empty = open("/dev/null", O_RDONLY);
	if (empty < 0 || dup2(empty, 0) < 0 || dup2(output, 1) < 0 || dup2(error, 2) < 0)
		_exit(125);
	if (how->directory && chdir(how->directory) < 0)
		_exit(125);
	set_variables(how->environment);
	if (how->before_exec && how->before_exec(how->argument) != 0)
		_exit(126);
	execvp(how->argv[0], (char *const *)how->argv);
	_exit(127);
}

int process_start(struct process *process, const struct process_start *how)
{
	*process = (struct process)PROCESS_INIT;
	buffer_init(&process->output, OUTPUT_MAX_BYTES);
	buffer_init(&process->error, OUTPUT_MAX_BYTES);
	/* An empty text rather than NULL, so that strstr can be called on what is not there yet. */
	if (buffer_add_text(&process->output, "") < 0 || buffer_add_text(&process->error, "") < 0)
		return -ENOMEM;

	int output[2], error[2];
	if (pipe2(output, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(error, O_CLOEXEC) < 0) {
		int failed = errno;
		close(output[0]);
		close(output[1]);
		return -failed;
	}
	fflush(NULL);
	pid_t pid = fork();
	int failed = errno;
	if (pid == 0)
		become(how, output[1], error[1]);
	close(output[1]);
	close(error[1]);
	if (pid < 0) {
		close(output[0]);
		close(error[0]);
		return -failed;
	}
	fcntl(output[0], F_SETFL, O_NONBLOCK);
	fcntl(error[0], F_SETFL, O_NONBLOCK);
	process->pid = pid;
	process->output_fd = output[0];
	process->error_fd = error[0];
	return 0;
}

static void read_some(int *fd, struct buffer *buffer)
{
	char bytes[65536];
	for (;;) {
		ssize_t n = read(*fd, bytes, sizeof bytes);
		if (n > 0) {
			buffer_add(buffer, bytes, (size_t)n);
			continue;
		}
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		close(*fd);
		*fd = -1;
		return;
	}
}

/* One turn of at most `ms`: what can be read is read, an end is seen. */
static void turn(struct process *process, int ms)
{
	struct pollfd fds[2];
	nfds_t count = 0;
	if (process->output_fd >= 0)
		fds[count++] = (struct pollfd){ .fd = process->output_fd, .events = POLLIN };
	if (process->error_fd >= 0)
		fds[count++] = (struct pollfd){ .fd = process->error_fd, .events = POLLIN };
	poll(fds, count, ms);
	if (process->output_fd >= 0)
		read_some(&process->output_fd, &process->output);
	if (process->error_fd >= 0)
		read_some(&process->error_fd, &process->error);
	if (!process->ended && waitpid(process->pid, &process->status, WNOHANG) == process->pid)
		process->ended = true;
}

int process_wait(struct process *process, int timeout_ms)
{
	int64_t end = clock_mono_ns() + timeout_ms * NS_PER_MS;
	int64_t ended_at = -1;
	for (;;) {
		turn(process, 20);
		int64_t now = clock_mono_ns();
		if (process->ended) {
			if (ended_at < 0)
				ended_at = now;
			if ((process->output_fd < 0 && process->error_fd < 0) || now - ended_at > HELD_OUTPUT_NS)
				return WIFEXITED(process->status) ? WEXITSTATUS(process->status) :
								    128 + WTERMSIG(process->status);
		} else if (now >= end) {
			return -ETIMEDOUT;
		}
	}
}

bool process_await(struct process *process, const char *text, int timeout_ms)
{
	int64_t end = clock_mono_ns() + timeout_ms * NS_PER_MS;
	for (;;) {
		if (memmem(process->output.data, process->output.length, text, strlen(text)))
			return true;
		if (clock_mono_ns() >= end || (process->ended && process->output_fd < 0))
			return false;
		turn(process, 20);
	}
}

void process_listen(struct process *process, int ms)
{
	int64_t end = clock_mono_ns() + ms * NS_PER_MS;
	while (clock_mono_ns() < end)
		turn(process, 10);
}

void process_release(struct process *process)
{
	if (process->pid > 0 && !process->ended) {
		kill(process->pid, SIGKILL);
		while (waitpid(process->pid, &process->status, 0) < 0 && errno == EINTR)
			;
		process->ended = true;
	}
	cleanup_close(&process->output_fd);
	cleanup_close(&process->error_fd);
	process->output_fd = process->error_fd = -1;
	buffer_release(&process->output);
	buffer_release(&process->error);
	process->pid = -1;
}

int process_run(struct process *process, const struct process_start *how, int timeout_ms)
{
	int r = process_start(process, how);
	if (r < 0)
		return r;
	return process_wait(process, timeout_ms);
}
