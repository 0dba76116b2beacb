/*
 * A slow line, to try a program over one by hand and in tests:
 *
 *     lag [--rate BYTES] [--delay MS] COMMAND [ARGUMENT...]
 *
 * The command runs under a pty of its own. What goes either way passes a line of so many bytes a second (8000), then
 * waits so long (150 ms). What the line has not taken yet is kept, as a connection keeps it in its buffers, up to
 * 64 KiB; then the command's terminal is full. Resizes are passed on at once. Ends with the command's exit code.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"

#define PIECE 64		/* bytes that travel together */
#define PIECES 1024		/* 64 KiB under way at most */

struct piece {
	int64_t due_ns;
	size_t length;
	char bytes[PIECE];
};

/* One direction: a ring of pieces. */
struct line {
	int from, to;
	struct piece pieces[PIECES];
	size_t first, count;
	int64_t free_ns;	/* when the line has sent what it was given */
	bool ended;		/* `from` is at its end */
};

static int64_t rate = 8000, delay_ns = 150 * NS_PER_MS;
static volatile sig_atomic_t resized;
static struct termios kept;
static bool raw;

static void on_resize(int number)
{
	(void)number;
	resized = 1;
}

static void restore(void)
{
	if (raw)
		tcsetattr(0, TCSADRAIN, &kept);
}

static void take(struct line *line)
{
	struct piece *piece = &line->pieces[(line->first + line->count) % PIECES];
	ssize_t length = read(line->from, piece->bytes, PIECE);
	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (length <= 0) {
		line->ended = true;
		return;
	}
	int64_t now = clock_mono_ns();
	line->free_ns = (line->free_ns > now ? line->free_ns : now) + length * NS_PER_S / rate;
	piece->due_ns = line->free_ns + delay_ns;
	piece->length = (size_t)length;
	line->count++;
}

/* Hands on what is due. How long until the next piece is, in ms; -1: there is none. */
static int give(struct line *line)
{
	while (line->count > 0) {
		struct piece *piece = &line->pieces[line->first];
		int64_t wait = piece->due_ns - clock_mono_ns();
		if (wait > 0)
			return (int)(wait / NS_PER_MS) + 1;
		ssize_t length = write(line->to, piece->bytes, piece->length);
		if (length < 0 && errno != EAGAIN && errno != EINTR)
			line->ended = true;
		if (length < 0)
			return 10;
		memmove(piece->bytes, piece->bytes + length, piece->length - (size_t)length);
		piece->length -= (size_t)length;
		if (piece->length > 0)
			continue;
		line->first = (line->first + 1) % PIECES;
		line->count--;
	}
	return -1;
}

static int sooner(int a, int b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

static void pass_on_size(int to)
{
	struct winsize size;
	if (ioctl(0, TIOCGWINSZ, &size) == 0)
		ioctl(to, TIOCSWINSZ, &size);
}

static int carry(int master, pid_t pid)
{
	static struct line keys, screen;
	keys.from = screen.to = 0;
	keys.to = screen.from = master;
	screen.to = 1;
	for (;;) {
		int ms = sooner(give(&keys), give(&screen));
		if (screen.ended && screen.count == 0)
			break;
		if (resized) {
			resized = 0;
			pass_on_size(master);
		}
		struct pollfd wanted[2] = {
			{ .fd = keys.ended || keys.count == PIECES ? -1 : keys.from, .events = POLLIN },
			{ .fd = screen.ended || screen.count == PIECES ? -1 : screen.from, .events = POLLIN },
		};
		if (poll(wanted, 2, ms) <= 0)
			continue;
		if (wanted[0].revents)
			take(&keys);
		if (wanted[1].revents)
			take(&screen);
		if (keys.ended && raw)	/* our own terminal has gone: so has that of the command */
			break;
	}
	close(master);
	int status;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int usage(void)
{
	fputs("usage: lag [--rate BYTES] [--delay MS] COMMAND [ARGUMENT...]\n", stderr);
	return 64;
}

int main(int argc, char *argv[])
{
	int at = 1;
	for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
		long long number = atoll(argv[at + 1]);
		if (strcmp(argv[at], "--rate") == 0 && number > 0)
			rate = number;
		else if (strcmp(argv[at], "--delay") == 0 && number >= 0)
			delay_ns = number * NS_PER_MS;
		else
			return usage();
	}
	if (at >= argc)
		return usage();

	int master;
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	ioctl(0, TIOCGWINSZ, &size);
	pid_t pid = forkpty(&master, NULL, NULL, &size);
	if (pid < 0) {
		perror("lag: a pty");
		return 1;
	}
	if (pid == 0) {
		execvp(argv[at], argv + at);
		perror(argv[at]);
		_exit(127);
	}
	fcntl(master, F_SETFL, O_NONBLOCK);
	signal(SIGPIPE, SIG_IGN);
	struct sigaction action = { .sa_handler = on_resize };
	sigaction(SIGWINCH, &action, NULL);
	if (tcgetattr(0, &kept) == 0) {
		struct termios modes = kept;
		cfmakeraw(&modes);
		raw = tcsetattr(0, TCSANOW, &modes) == 0;
		atexit(restore);
	}
	return carry(master, pid);
}
