/*
 * The terminal, and the only file that knows curses.
 *
 * curses never touches the terminal itself: it composes into a file in memory, and what it composed goes out
 * by a descriptor of our own that does not block, one write a frame where the terminal takes it. So a stalled
 * or vanished terminal costs nothing, and the modes that are set are ours to restore, whatever ends us: a
 * return, exit(3), a fatal signal.
 *
 * No queries, no mouse, no title, no bell.
 */
#ifndef TUI_FULL_TERM_H
#define TUI_FULL_TERM_H

#include <stdbool.h>

#include "tui/full/canvas.h"
#include "tui/full/theme.h"

#include <proctor/error.h>

struct terminal;

/* Whether term_open() would work on standard input and output, without touching them. `error` says why not. */
bool term_is_capable(struct pr_error *error);

/*
 * Takes standard input and output. -ENOTTY: they are no terminal; -ENOTSUP: TERM is not known or cannot
 * address its cursor. One at a time.
 */
int term_open(struct terminal **ret_term, struct pr_error *error);
/* Restores the terminal. NULL is nothing. */
void term_close(struct terminal *term);

int term_fd(const struct terminal *term);		/* poll it for POLLIN, and POLLOUT where term_pending() or to paint */
int term_signal_fd(const struct terminal *term);	/* readable: call term_take_signals() */

void term_size(const struct terminal *term, int *ret_columns, int *ret_rows);
enum pr_charset term_charset(const struct terminal *term);
enum theme_depth term_depth(const struct terminal *term);
void term_set_theme(struct terminal *term, const struct theme *theme);

/*
 * Composes what differs from the last frame and begins to write it: bytes of the frame, 0 where nothing
 * differs. Call it where nothing is pending and poll(2) says POLLOUT. `whole`: everything anew (Ctrl-L).
 */
long term_paint(struct terminal *term, const struct canvas *canvas, bool whole);
bool term_pending(const struct terminal *term);
/* Goes on writing. -EIO: the terminal is gone. */
int term_push(struct terminal *term);

/* Reads what is there. -EIO: the terminal is gone (end of file, hang-up). */
int term_fill(struct terminal *term);
/* The next key press; PRESS_NONE: no more. An escape waits for what may follow it, at most term_wait_ms(). */
int term_press(struct terminal *term);
int term_wait_ms(const struct terminal *term);	/* -1: nothing is begun */

enum term_signal {
	TERM_RESIZED = 1,	/* paint anew */
	TERM_CONTINUED = 2,	/* paint anew: we stood still for a while */
};
unsigned term_take_signals(struct terminal *term);

/* Ctrl-Z: gives the terminal back, stops this process group, and takes the terminal again once it goes on. */
void term_suspend(struct terminal *term);
/* Not while another program has the terminal. */
bool term_is_ours(const struct terminal *term);

#endif
