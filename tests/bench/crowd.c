/*
 * crowd sleep|spin|bomb COUNT SECONDS: becomes many processes, writes "ready" once they are there, and lasts until it is
 * killed. Static, so that it runs in any root.
 *
 * sleep, spin: COUNT processes that wait, or turn. bomb: after a second, in which others can be started, each forks as fast
 * as it can, until something refuses; it is ready then, and goes on trying. It is bounded twice beside the limit that it is to meet: past COUNT processes all end
 * (there was no limit), and after SECONDS each process of any kind ends by itself.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BOMB_AFTER_SECONDS 1

struct shared {
	atomic_int born;
	atomic_int ready;
	atomic_int over;	/* the bomb met no limit */
};

static struct shared *shared;

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(1);
}

static _Noreturn void last(int spin)
{
	for (;;)
		if (!spin)
			pause();
}

static int crowd(int count, unsigned seconds, int spin)
{
	for (int i = 1; i < count; i++) {
		pid_t pid = fork();
		if (pid < 0)
			return 1;
		if (pid > 0)
			continue;
		alarm(seconds);
		last(spin);
	}
	say("ready\n");
	last(spin);
}

static int bomb(int most, unsigned seconds)
{
	signal(SIGCHLD, SIG_IGN);
	sleep(BOMB_AFTER_SECONDS);
	while (!atomic_load(&shared->over)) {
		if (atomic_fetch_add(&shared->born, 1) >= most) {
			atomic_store(&shared->over, 1);
			break;
		}
		pid_t pid = fork();
		if (pid == 0)
			alarm(seconds);
		if (pid >= 0)
			continue;
		atomic_fetch_sub(&shared->born, 1);
		if (errno == EAGAIN && !atomic_exchange(&shared->ready, 1))
			say("ready\n");
	}
	return 1;
}

int main(int argc, char **argv)
{
	int count = argc == 4 ? atoi(argv[2]) : 0, seconds = argc == 4 ? atoi(argv[3]) : 0;
	if (count < 1 || count > 10000 || seconds < 1 || seconds > 600) {
		fprintf(stderr, "usage: crowd sleep|spin|bomb COUNT SECONDS\n");
		return 64;
	}
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	alarm((unsigned)seconds);
	if (strcmp(argv[1], "bomb") == 0)
		return bomb(count, (unsigned)seconds);
	return crowd(count, (unsigned)seconds, strcmp(argv[1], "spin") == 0);
}
