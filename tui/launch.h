/*
 * Starting our own programs: proctor-core for what needs more than a log, and proctor-worker for the stop that
 * does not need a core. The front executes nothing else.
 */
#ifndef TUI_LAUNCH_H
#define TUI_LAUNCH_H

#include <stddef.h>
#include <sys/types.h>

#include "core/base/buffer.h"

#include <proctor/error.h>

/* Where a round that was just started can be reached. */
struct announced {
	char round[256];	/* the run's full name */
	char dir[4096];
	char socket[128];
};

/*
 * Executes `proctor-core ARGUMENTS...` (NULL-terminated, without the program's name), which shares our
 * standard output and standard error, and waits for it. Returns its exit code; EXIT_REFUSED where it did
 * not end by itself.
 */
int launch_and_wait(const char *const arguments[], struct pr_error *error);

/*
 * Executes `proctor-worker --stop DIRECTORY` and waits for it. `ret_proof` gets what it prints: {"killed",
 * "remaining", "removed", "ms"}. Returns its exit code, as above.
 */
int launch_stop(const char *directory, struct buffer *ret_proof, struct pr_error *error);

/*
 * The same without waiting: the caller reads the proof from `*ret_proof_fd` (which is its own, and does not block)
 * to the end of file, and then asks for the exit code.
 */
int launch_stop_begin(const char *directory, int *ret_proof_fd, pid_t *ret_worker, struct pr_error *error);
int launch_stop_end(pid_t worker, struct pr_error *error);

/*
 * Executes `proctor-core ARGUMENTS... --announce FD [--attached FD]` and waits until it announces its
 * round, or ends. 0: `ret_announced` is filled, and the core goes on without us. Else the core's exit
 * code, its faults being on standard error already. With `ret_attached`, the core gets the reading end
 * of a pipe and we keep the writing one there: the round ends when it is closed.
 */
int launch_round(const char *const arguments[], int *ret_attached, struct announced *ret_announced,
		 struct pr_error *error);

#endif
