/*
 * A terminal that a test holds: a program under a pty, what it wrote, and (where libvterm is there) the screen that
 * comes of it.
 *
 *     struct terminal terminal = TERMINAL_INIT;
 *     terminal_start(&terminal, &(struct terminal_start){ .argv = ..., .term = "xterm-256color", .rows = 24, ... });
 *     terminal_await(&terminal, "Tasks", 5000);
 *     terminal_type(&terminal, "q");
 *     terminal_wait(&terminal, 5000);
 *     terminal_release(&terminal);
 *
 * The program is the leader of a session of its own whose controlling terminal this is, as a login has it. Nothing
 * here asserts. No call waits longer than it was told.
 */
#ifndef TESTS_TERMINAL_TERMINAL_H
#define TESTS_TERMINAL_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

#include "core/base/buffer.h"

struct VTerm;

struct terminal {
	pid_t pid;
	int fd;				/* the master; -1 once hung up */
	int slave;			/* kept open where the modes are to be looked at after the end; else -1 */
	int rows, columns;
	bool closed;			/* read to its end */
	bool ended;
	int status;			/* of waitpid(2), once ended */
	struct buffer bytes;		/* all that was written, as it came */
	uint64_t written;		/* how many, also past what `bytes` keeps */
	int64_t last_ns;		/* monotonic, of the last byte */
	struct VTerm *vterm;		/* NULL: no libvterm in this build */
	bool alternate;			/* the alternate screen is shown */
	bool cursor_hidden;
	unsigned bells;
	struct termios before;		/* modes of the line before the program was there */
};

#define TERMINAL_INIT { .pid = -1, .fd = -1, .slave = -1, .bytes = BUFFER_INIT }

struct terminal_start {
	const char *const *argv;
	const char *const *environment;	/* "NAME=value" over the test's own; "NAME" alone takes one away */
	const char *directory;		/* NULL: the test's own */
	const char *term;		/* NULL: no TERM at all */
	const char *locale;		/* LC_ALL; NULL: C.UTF-8 */
	int rows, columns;		/* 0: 24, 80 */
};

/* 0, or a negative errno where nothing was started. */
int terminal_start(struct terminal *terminal, const struct terminal_start *how);

/* Reads for so long, whatever comes. */
void terminal_listen(struct terminal *terminal, int ms);
/* Reads until nothing has come for `quiet_ms`, at most so long. False where it never was quiet. */
bool terminal_settle(struct terminal *terminal, int quiet_ms, int timeout_ms);
/* Reads until the text stands on the screen (in what was written, where there is no libvterm). */
bool terminal_await(struct terminal *terminal, const char *text, int timeout_ms);
/* The same until it does not stand there any more. */
bool terminal_await_gone(struct terminal *terminal, const char *text, int timeout_ms);
/* Until the program ends: its exit code, 128 + the signal, or -ETIMEDOUT (it then still runs). */
int terminal_wait(struct terminal *terminal, int timeout_ms);
/* Until it is stopped by a signal (as by Ctrl-Z). */
bool terminal_await_stopped(struct terminal *terminal, int timeout_ms);

void terminal_type(struct terminal *terminal, const char *keys);
void terminal_resize(struct terminal *terminal, int rows, int columns);
/* The line drops: the master is closed. */
void terminal_hang_up(struct terminal *terminal);
void terminal_release(struct terminal *terminal);

/* What stands on the screen: rows with a line feed each, trailing spaces left out; heap. "" without libvterm. */
char *terminal_screen(const struct terminal *terminal);
char *terminal_row(const struct terminal *terminal, int row);
bool terminal_shows(const struct terminal *terminal, const char *text);
/* A program may be judged by its screen in this build. */
bool terminal_has_screen(void);

/* The modes of the line are what they were before the program. */
bool terminal_modes_restored(const struct terminal *terminal);
/* In what was written, the last of these came after the last of those: "leave" after "enter". */
bool terminal_wrote_after(const struct terminal *terminal, const char *leave, const char *enter);

/* CPU of a process's threads in ns and their voluntary context switches so far; false where it is not there. */
bool process_cost(pid_t pid, int64_t *ret_cpu_ns, int64_t *ret_switches);

#define _cleanup_terminal_ _cleanup_(terminal_release)

#endif
