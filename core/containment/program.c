/* Programs of the host's (program.h). Used while the worker starts, never after. */
#include "core/containment/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"

#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define RUN_S 20

int program_find(const char *name, char *ret_path, char *ret_unreadable, size_t size)
{
	const char *at = getenv("PATH");
	char path[4096];
	size_t used = 0;

	ret_unreadable[0] = '\0';
	for (at = at && at[0] ? at : PATH_DEFAULT;;) {
		size_t length = strcspn(at, ":");
		snprintf(path, sizeof path, "%.*s/%s", (int)length, at, name);
		if (length > 0 && access(path, X_OK) == 0) {
			snprintf(ret_path, size, "%s", path);
			return 0;
		}
		if (length > 0 && errno == EACCES && used + length + 3 < size)
			used += (size_t)snprintf(ret_unreadable + used, size - used, "%s%.*s", used ? ", " : "", (int)length, at);
		if (at[length] == '\0')
			return -ENOENT;
		at += length + 1;
	}
}

/* Another program's words, to be shown: its first line, without what a terminal could take for more than text. */
static void keep_first_line(char *text, size_t length)
{
	size_t used = 0;
	for (size_t i = 0; i < length && text[i] != '\n'; i++)
		if (text[i] >= ' ' && text[i] < 127)
			text[used++] = text[i];
	text[used] = '\0';
}

/* A moment longer than the program has: what it started may hold the pipe on. */
static int read_words(int fd, char *text, size_t size)
{
	int64_t deadline = clock_mono_ns() + (RUN_S + 1) * NS_PER_S;
	size_t used = 0;
	for (;;) {
		char rest[512];
		bool room = used + 1 < size;
		int64_t left = deadline - clock_mono_ns();
		struct pollfd one = { .fd = fd, .events = POLLIN };
		if (left <= 0 || poll(&one, 1, (int)(left / NS_PER_MS) + 1) == 0) {
			keep_first_line(text, used);
			return -ETIMEDOUT;
		}
		ssize_t n = read(fd, room ? text + used : rest, room ? size - 1 - used : sizeof rest);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		used += room ? (size_t)n : 0;
	}
	keep_first_line(text, used);
	return 0;
}

int program_run(char *const *argv, char *ret_said, size_t size)
{
	char path[4096], unreadable[4096];
	int words[2], status;

	ret_said[0] = '\0';
	int r = program_find(argv[0], path, unreadable, sizeof path);
	if (r < 0)
		return r;
	if (pipe2(words, O_CLOEXEC) < 0)
		return -errno;
	_cleanup_close_ int reading = words[0];
	pid_t pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(words[1], STDERR_FILENO);
		signal(SIGPIPE, SIG_DFL);
		/* Kept over exec (alarm(2)). */
		alarm(RUN_S);
		execv(path, argv);
		_exit(126);
	}
	r = pid < 0 ? -errno : 0;
	close(words[1]);
	if (r < 0)
		return r;
	r = read_words(reading, ret_said, size);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r < 0)
		return r;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
