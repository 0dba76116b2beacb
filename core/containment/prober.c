/* The subcommand of prober.h: its parts in turn, then the wait. Runs as the candidate. */
#include "core/containment/prober.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define LIFE_S 60	/* of a daemon, where nothing kills it: the kill is what the dry run tries */

static _Noreturn void touch_memory(void)
{
	char *memory = mmap(NULL, PROBER_MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		_exit(PROBER_MEMORY_REFUSED);
	for (size_t i = 0; i < PROBER_MEMORY_BYTES; i += PAGE)
		memory[i] = 1;
	_exit(PROBER_MEMORY_TOUCHED);
}

/* In a child: the kernel may end whoever holds the most (memory.oom.group is 0). */
static enum prober_memory try_memory(void)
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		touch_memory();
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return PROBER_MEMORY_UNTRIED;
	if (pid < 0)
		return PROBER_MEMORY_UNTRIED;
	if (WIFSIGNALED(status))
		return PROBER_MEMORY_KILLED;
	return WEXITSTATUS(status) == PROBER_MEMORY_REFUSED ? PROBER_MEMORY_REFUSED : PROBER_MEMORY_TOUCHED;
}

static _Noreturn void be_daemon(void)
{
	close(STDOUT_FILENO);
	setsid();
	/* Refused by the limit, the parent stays in its child's place: somebody must be there to be killed. */
	if (fork() > 0)
		_exit(0);
	alarm(LIFE_S);
	for (;;)
		pause();
}

/* Double fork and setsid: what a group's or a session's kill does not reach (K2, K3). */
static void start_daemons(struct prober_result *result)
{
	for (int i = 0; i < PROBER_DAEMONS; i++) {
		pid_t pid = fork();
		if (pid == 0)
			be_daemon();
		if (pid > 0)
			result->daemons++;
		else
			result->forks_refused++;
	}
}

int prober_main(int count, char *const *arguments)
{
	struct prober_result result = { .pid = getpid() };

	if (count > 0 && strcmp(arguments[0], "all") == 0) {
		prober_control(arguments + 1, count - 1, &result);
		result.memory = try_memory();
		start_daemons(&result);
	}
	if (write(STDOUT_FILENO, &result, sizeof result) != sizeof result)
		return 1;
	alarm(LIFE_S);
	for (;;)
		pause();
}
