/*
 * The signals that ask this program to end, as a descriptor to poll: SIGINT, SIGTERM and SIGHUP.
 *
 * A signal that was ignored when the program started (nohup(1), a shell's background jobs) stays so.
 */
#ifndef TUI_INTERRUPT_H
#define TUI_INTERRUPT_H

#include <proctor/error.h>

/* Blocks the signals and returns a non-blocking signalfd(2) for them. */
int interrupt_open(struct pr_error *error);
/* The signal that came, or 0. */
int interrupt_take(int fd);
/* Ends this program by the signal, so that its parent sees what happened; returns only if that fails. */
void interrupt_die(int signal);

#endif
