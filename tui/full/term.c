/*
 * curses, termios and signals of term.h.
 *
 * Tried and dropped: curses on the terminal itself. It writes with a blocking write(2), in pieces of 2,800
 * bytes, and initscr(3) ends the process where it does not know TERM.
 */
#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <term.h>
/* It has these as capabilities. */
#undef columns
#undef lines
#include <termios.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "tui/full/press.h"
#include "tui/full/term.h"

#define FAREWELL_NS (300 * NS_PER_MS)	/* how long a terminal may take to take our last words */

struct terminal {
	int fd;				/* ours alone, non-blocking */
	int signals;
	struct termios before, raw;
	sigset_t mask_before;
	FILE *composed, *no_input;	/* what curses writes to, and reads from: never anything */
	SCREEN *curses;
	int columns, rows;
	bool colours, default_colours;
	struct theme theme;
	struct canvas last;		/* what the terminal shows */
	struct buffer pending;
	struct presses presses;
};

/* What a dying process needs: set before the modes change, read by a signal handler. */
static struct {
	volatile sig_atomic_t active;
	int fd;
	struct termios before;
	char words[256];
	size_t length;
	struct sigaction actions[NSIG];
} farewell;

static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT, SIGSYS, SIGTRAP };

/* Async-signal-safe. */
static void say_farewell(void)
{
	if (!farewell.active)
		return;
	farewell.active = 0;
	ssize_t ignored = write(farewell.fd, farewell.words, farewell.length);
	(void)ignored;
	tcsetattr(farewell.fd, TCSANOW, &farewell.before);
}

static void on_fatal(int number)
{
	say_farewell();
	/* By its own action, so that a core is dumped, a sanitizer speaks, and the parent sees the signal. */
	sigaction(number, &farewell.actions[number], NULL);
	raise(number);
}

static void watch_fatal(bool on)
{
	static char stack[64 * 1024];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction action = { .sa_handler = on_fatal, .sa_flags = SA_ONSTACK | SA_RESETHAND };
	if (on)
		sigaltstack(&other, NULL);
	for (size_t i = 0; i < ELEMENTS(fatal); i++) {
		if (on)
			sigaction(fatal[i], &action, &farewell.actions[fatal[i]]);
		else
			sigaction(fatal[i], &farewell.actions[fatal[i]], NULL);
	}
}

static int no_terminal(struct pr_error *error, int code, const char *why)
{
	return pr_error_set(error, code, "the screen needs a terminal that can address its cursor: %s", why);
}

static const char *term_name(void)
{
	const char *name = getenv("TERM");
	return name && name[0] ? name : "unknown";
}

bool term_is_capable(struct pr_error *error)
{
	int status = 0;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		no_terminal(error, ENOTTY, "standard input and output are not both a terminal");
		return false;
	}
	TERMINAL *before = cur_term;
	bool known = setupterm(term_name(), STDOUT_FILENO, &status) == OK;
	bool addresses = known && cursor_address && clear_screen;
	if (known) {
		TERMINAL *ours = set_curterm(before);
		del_curterm(ours);
	}
	if (!addresses)
		no_terminal(error, ENOTSUP, known ? "this one cannot (TERM)" : "there is no description of this one (TERM)");
	return addresses;
}

/* ------- opening ------- */

/* A description of our own: O_NONBLOCK on the shell's would outlive us. */
static int open_terminal(void)
{
	char path[PATH_MAX];
	if (ttyname_r(STDOUT_FILENO, path, sizeof path) == 0) {
		int fd = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd >= 0)
			return fd;
	}
	/* Another user's terminal, as after su(1): writes are then gated by POLLOUT alone. */
	return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
}

static void read_size(struct terminal *term)
{
	struct winsize size = { 0 };
	bool told = ioctl(term->fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
	term->columns = told ? size.ws_col : 80;
	term->rows = told ? size.ws_row : 24;
	if (term->columns > CANVAS_COLUMNS_MAX)
		term->columns = CANVAS_COLUMNS_MAX;
	if (term->rows > CANVAS_ROWS_MAX)
		term->rows = CANVAS_ROWS_MAX;
}

/* curses asks the environment for the size, since what it writes to is no terminal; ours is left as it was. */
static void with_variable(const char *name, const char *value, char **kept)
{
	const char *before = getenv(name);
	*kept = before ? strdup(before) : NULL;
	setenv(name, value, 1);
}

static void restore_variable(const char *name, char *kept)
{
	if (kept)
		setenv(name, kept, 1);
	else
		unsetenv(name);
	free(kept);
}

static SCREEN *new_screen(struct terminal *term)
{
	char columns[16], rows[16], *kept[3];
	snprintf(columns, sizeof columns, "%d", term->columns);
	snprintf(rows, sizeof rows, "%d", term->rows);
	with_variable("COLUMNS", columns, &kept[0]);
	with_variable("LINES", rows, &kept[1]);
	with_variable("NCURSES_NO_PADDING", "1", &kept[2]);
	/* newterm(3) takes signals that are ours: interrupt.h ends us by them. */
	static const int ours[] = { SIGINT, SIGTERM, SIGTSTP, SIGWINCH };
	struct sigaction actions[ELEMENTS(ours)];
	for (size_t i = 0; i < ELEMENTS(ours); i++)
		sigaction(ours[i], NULL, &actions[i]);
	SCREEN *curses = newterm(term_name(), term->composed, term->no_input);
	for (size_t i = 0; i < ELEMENTS(ours); i++)
		sigaction(ours[i], &actions[i], NULL);
	restore_variable("COLUMNS", kept[0]);
	restore_variable("LINES", kept[1]);
	restore_variable("NCURSES_NO_PADDING", kept[2]);
	return curses;
}

static int compose_begin(struct terminal *term, struct pr_error *error)
{
	int fd = memfd_create("frame", MFD_CLOEXEC);
	term->composed = fd < 0 ? NULL : fdopen(fd, "w+");
	term->no_input = fopen("/dev/null", "re");
	if (!term->composed || !term->no_input)
		return pr_error_errno(error, errno, "a file in memory for the screen");
	term->curses = new_screen(term);
	if (!term->curses)
		return no_terminal(error, ENOTSUP, "there is no description of this one (TERM)");
	resizeterm(term->rows, term->columns);
	typeahead(-1);
	leaveok(stdscr, TRUE);
	curs_set(0);
	/* Where none are wanted, curses is not told of any: it would set them back at the end. */
	const char *no_color = getenv("NO_COLOR");
	term->colours = !(no_color && no_color[0]) && has_colors() && start_color() == OK && COLORS >= 8;
	term->default_colours = term->colours && use_default_colors() == OK;
	return 0;
}

/* What curses has written since the last call goes to `pending`. */
static int take_composed(struct terminal *term)
{
	int fd = fileno(term->composed);
	fflush(term->composed);
	off_t length = lseek(fd, 0, SEEK_CUR);
	int r = length > 0 ? buffer_reserve(&term->pending, (size_t)length) : 0;
	for (off_t at = 0; r >= 0 && at < length;) {
		char bytes[4096];
		ssize_t n = pread(fd, bytes, sizeof bytes, at);
		if (n <= 0)
			break;
		r = buffer_add(&term->pending, bytes, (size_t)n);
		at += n;
	}
	if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return r;
}

static void add_capability(const char *capability)
{
	/* Without what asks for padding, "$<20>": no terminal of today needs it. */
	for (; capability && capability != (char *)-1 && *capability && farewell.length + 1 < sizeof farewell.words; capability++) {
		if (capability[0] == '$' && capability[1] == '<' && strchr(capability, '>')) {
			capability = strchr(capability, '>');
			continue;
		}
		farewell.words[farewell.length++] = *capability;
	}
}

static void prepare_farewell(struct terminal *term)
{
	static bool registered;
	farewell.fd = term->fd;
	farewell.before = term->before;
	farewell.length = 0;
	add_capability(exit_attribute_mode);
	if (term->colours)
		add_capability(orig_pair);
	add_capability(cursor_normal);
	if (exit_ca_mode) {
		add_capability(exit_ca_mode);
	} else {
		/* No second screen to go back from: below everything. */
		add_capability(tiparm(cursor_address, term->rows - 1, 0));
		add_capability("\r\n");
	}
	if (!registered)
		atexit(say_farewell);
	registered = true;
}

static void make_raw(struct terminal *term)
{
	term->raw = term->before;
	cfmakeraw(&term->raw);
	term->raw.c_cc[VMIN] = 1;
	term->raw.c_cc[VTIME] = 0;
}

static int open_signals(struct terminal *term)
{
	sigset_t wanted;
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGWINCH);
	sigaddset(&wanted, SIGCONT);
	sigaddset(&wanted, SIGTSTP);
	/* A background process that writes is stopped by the kernel otherwise; we look before we write. */
	sigaddset(&wanted, SIGTTOU);
	sigprocmask(SIG_BLOCK, &wanted, &term->mask_before);
	sigdelset(&wanted, SIGTTOU);
	return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

int term_open(struct terminal **ret_term, struct pr_error *error)
{
	if (!term_is_capable(error))
		return -error->code;
	struct terminal *term = calloc(1, sizeof *term);
	if (!term)
		return pr_error_errno(error, ENOMEM, "the screen");
	*term = (struct terminal){ .signals = -1, .last = CANVAS_INIT };
	term->fd = open_terminal();
	if (term->fd < 0 || tcgetattr(term->fd, &term->before) < 0) {
		int r = pr_error_errno(error, errno, "opening the terminal");
		cleanup_close(&term->fd);
		free(term);
		return r;
	}
	read_size(term);
	int r = compose_begin(term, error);
	if (r < 0) {
		if (term->composed)
			fclose(term->composed);
		if (term->no_input)
			fclose(term->no_input);
		close(term->fd);
		free(term);
		return r;
	}
	prepare_farewell(term);
	make_raw(term);
	term->signals = open_signals(term);
	watch_fatal(true);
	farewell.active = 1;
	tcsetattr(term->fd, TCSANOW, &term->raw);
	theme_builtin(&term->theme);
	term_set_theme(term, &term->theme);
	*ret_term = term;
	return 0;
}

/* ------- writing ------- */

bool term_pending(const struct terminal *term)
{
	return term->pending.length > 0;
}

int term_push(struct terminal *term)
{
	if (term->pending.length == 0)
		return 0;
	ssize_t n = write(term->fd, term->pending.data, term->pending.length);
	if (n >= 0) {
		buffer_consume(&term->pending, (size_t)n);
		return 0;
	}
	return errno == EAGAIN || errno == EINTR ? 0 : -EIO;
}

/* Last words: as much of them as the terminal takes in a short time. */
static void push_all(struct terminal *term)
{
	for (int64_t until = clock_mono_ns() + FAREWELL_NS; term_pending(term) && clock_mono_ns() < until;) {
		struct pollfd wanted = { .fd = term->fd, .events = POLLOUT };
		if (poll(&wanted, 1, 50) > 0 && term_push(term) < 0)
			break;
	}
}

/* Gives the terminal back as it was. */
static void leave(struct terminal *term)
{
	/* A frame that is half out is finished first: its rest would be read as text. */
	push_all(term);
	buffer_clear(&term->pending);
	endwin();
	take_composed(term);
	buffer_clear(&term->pending);
	buffer_add(&term->pending, farewell.words, farewell.length);
	push_all(term);
	buffer_clear(&term->pending);
	farewell.active = 0;
	tcsetattr(term->fd, TCSANOW, &term->before);
}

void term_close(struct terminal *term)
{
	if (!term)
		return;
	leave(term);
	watch_fatal(false);
	delscreen(term->curses);
	fclose(term->composed);
	fclose(term->no_input);
	sigprocmask(SIG_SETMASK, &term->mask_before, NULL);
	cleanup_close(&term->signals);
	close(term->fd);
	canvas_release(&term->last);
	buffer_release(&term->pending);
	free(term);
}

/* Modes that another program may have changed while we stood still, and everything drawn. */
static void take_again(struct terminal *term)
{
	farewell.active = 1;
	tcsetattr(term->fd, TCSANOW, &term->raw);
	canvas_release(&term->last);
	buffer_clear(&term->pending);
	/* endwin() and what follows it make curses enter its screen again with the next frame. */
	endwin();
	take_composed(term);
	buffer_clear(&term->pending);
	curs_set(1);
	curs_set(0);
	clearok(curscr, TRUE);
}

/* ------- painting ------- */

static short pair_of(int role)
{
	return (short)(role + 1);
}

enum theme_depth term_depth(const struct terminal *term)
{
	if (!term->colours)
		return THEME_MONO;
	return COLORS >= 256 ? THEME_256 : THEME_16;
}

static attr_t attributes_of(const struct terminal *term, enum role role)
{
	const struct style *style = &term->theme.styles[term_depth(term)][role];
	attr_t attributes = A_NORMAL;
	if (style->attributes & ATTRIBUTE_BOLD)
		attributes |= A_BOLD;
	if (style->attributes & ATTRIBUTE_UNDERLINE)
		attributes |= A_UNDERLINE;
	if (style->attributes & ATTRIBUTE_REVERSE)
		attributes |= A_REVERSE;
	/* Eight colours and bold: bright, as such terminals have it. */
	if (term_depth(term) == THEME_16 && COLORS < 16 && style->foreground >= 8)
		attributes |= A_BOLD;
	return attributes;
}

static int colour_of(const struct terminal *term, int colour, int otherwise)
{
	if (colour < 0)
		return term->default_colours ? -1 : otherwise;
	return colour >= 8 && COLORS < 16 ? colour - 8 : colour;
}

void term_set_theme(struct terminal *term, const struct theme *theme)
{
	enum theme_depth depth = term_depth(term);
	term->theme = *theme;
	canvas_release(&term->last);
	if (depth == THEME_MONO)
		return;
	for (int role = 0; role < ROLE_COUNT && pair_of(role) < COLOR_PAIRS; role++) {
		const struct style *style = &theme->styles[depth][role];
		init_pair(pair_of(role), (short)colour_of(term, style->foreground, COLOR_WHITE),
			  (short)colour_of(term, style->background, COLOR_BLACK));
	}
}

static void put_cell(const struct terminal *term, int x, int y, const struct cell *cell)
{
	short pair = term_depth(term) == THEME_MONO ? 0 : pair_of(cell->role);
	attr_set(attributes_of(term, cell->role), pair, NULL);
	mvaddstr(y, x, cell->bytes);
}

static bool same_cell(const struct cell *one, const struct cell *other)
{
	return memcmp(one, other, sizeof *one) == 0;
}

static int keep_frame(struct terminal *term, const struct canvas *canvas)
{
	int r = canvas_reset(&term->last, canvas->columns, canvas->rows, canvas->charset);
	if (r >= 0)
		memcpy(term->last.cells, canvas->cells, (size_t)canvas->columns * (size_t)canvas->rows * sizeof *canvas->cells);
	return r;
}

long term_paint(struct terminal *term, const struct canvas *canvas, bool whole)
{
	bool anew = whole || !term->last.cells || term->last.columns != canvas->columns || term->last.rows != canvas->rows;
	if (!anew && canvas_equal(&term->last, canvas))
		return 0;
	if (whole)
		clearok(curscr, TRUE);
	for (int y = 0; y < canvas->rows; y++)
		for (int x = 0; x < canvas->columns; x++) {
			const struct cell *cell = canvas_cell(canvas, x, y);
			/* The right half of a wide character comes with its left one. */
			if (cell->width && (anew || !same_cell(cell, canvas_cell(&term->last, x, y))))
				put_cell(term, x, y, cell);
		}
	wnoutrefresh(stdscr);
	doupdate();
	int r = take_composed(term);
	if (r >= 0)
		r = keep_frame(term, canvas);
	long bytes = (long)term->pending.length;
	if (r >= 0)
		r = term_push(term);
	return r < 0 ? r : bytes;
}

/* ------- keys ------- */

int term_fill(struct terminal *term)
{
	char bytes[PRESSES_BYTES];
	ssize_t n = read(term->fd, bytes, presses_room(&term->presses));
	if (n > 0) {
		presses_feed(&term->presses, bytes, (size_t)n);
		return 0;
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -EIO;
}

int term_press(struct terminal *term)
{
	return presses_next(&term->presses);
}

int term_wait_ms(const struct terminal *term)
{
	return presses_wait_ms(&term->presses);
}

/* ------- size, stop and continue ------- */

int term_fd(const struct terminal *term)
{
	return term->fd;
}

int term_signal_fd(const struct terminal *term)
{
	return term->signals;
}

void term_size(const struct terminal *term, int *ret_columns, int *ret_rows)
{
	*ret_columns = term->columns;
	*ret_rows = term->rows;
}

enum pr_charset term_charset(const struct terminal *term)
{
	(void)term;
	/* The console's fonts lack our marks. */
	bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 && strcmp(term_name(), "linux") != 0;
	return utf8 ? PR_CHARSET_UTF8 : PR_CHARSET_ASCII;
}

bool term_is_ours(const struct terminal *term)
{
	pid_t foreground = tcgetpgrp(term->fd);
	/* Where it is not our controlling terminal, nobody can put us into its background. */
	return foreground < 0 || foreground == getpgrp();
}

static void resize(struct terminal *term)
{
	read_size(term);
	resizeterm(term->rows, term->columns);
	canvas_release(&term->last);
	clearok(curscr, TRUE);
}

void term_suspend(struct terminal *term)
{
	sigset_t stop;
	struct sigaction by_default = { .sa_handler = SIG_DFL }, before;
	leave(term);
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	sigaction(SIGTSTP, &by_default, &before);
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	/* The group, as the terminal does it: a script that runs us stops too, and its shell gets the terminal. */
	kill(0, SIGTSTP);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	sigaction(SIGTSTP, &before, NULL);
	if (term_is_ours(term)) {
		take_again(term);
		resize(term);
	}
}

unsigned term_take_signals(struct terminal *term)
{
	struct signalfd_siginfo info;
	unsigned seen = 0;
	while (read(term->signals, &info, sizeof info) == (ssize_t)sizeof info) {
		if (info.ssi_signo == SIGTSTP) {
			term_suspend(term);
			seen |= TERM_CONTINUED;
		} else if (info.ssi_signo == SIGCONT && term_is_ours(term)) {
			take_again(term);
			resize(term);
			seen |= TERM_CONTINUED;
		} else if (info.ssi_signo == SIGWINCH) {
			resize(term);
			seen |= TERM_RESIZED;
		}
	}
	return seen;
}
