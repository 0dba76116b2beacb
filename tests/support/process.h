/*
 * A program as a user starts it: arguments, a few variables more, standard input empty, output captured.
 *
 * Life cycle: process_start, then process_wait (or process_await for a line first), then process_release,
 * which kills what is still running. No call waits longer than it was told.
 */
#ifndef TESTS_SUPPORT_PROCESS_H
#define TESTS_SUPPORT_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/buffer.h"

struct process {
	pid_t pid;
	int output_fd;			/* read ends; -1 after their end of file */
	int error_fd;
	struct buffer output;		/* what came so far, NUL-terminated */
	struct buffer error;
	bool ended;
	int status;			/* of waitpid(2), once ended */
};

struct process_start {
	const char *const *argv;	/* argv[0] is looked up on PATH */
	const char *const *environment;	/* "NAME=value", over the test's own variables; "NAME" alone takes one away */
	const char *directory;		/* NULL: the test's own */
	int (*before_exec)(void *);	/* in the child; a non-zero return ends it with code 126. May be NULL */
	void *argument;
};

/* 0, or a negative errno where nothing was started. */
int process_start(struct process *process, const struct process_start *how);

/*
 * Reads until the program has ended and its output is at its end, or for a second more where a
 * descendant of it holds the output. Returns the exit code, 128 + the signal, or -ETIMEDOUT (it then
 * still runs).
 */
int process_wait(struct process *process, int timeout_ms);

/* Reads until `text` stands in the output, and says whether it did within the time. */
bool process_await(struct process *process, const char *text, int timeout_ms);

/* Reads for so long, whatever comes. */
void process_listen(struct process *process, int ms);

/* Kills it where it has not ended, reaps it, frees. */
void process_release(struct process *process);

/* All of it in one: start, wait, kill on time-out. Output in `process`, to be released by the caller. */
int process_run(struct process *process, const struct process_start *how, int timeout_ms);

#define _cleanup_process_ _cleanup_(process_release)
#define PROCESS_INIT { .pid = -1, .output_fd = -1, .error_fd = -1, .output = BUFFER_INIT, .error = BUFFER_INIT }

#endif
