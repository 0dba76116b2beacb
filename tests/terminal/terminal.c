/* Programs under a pty (terminal.h). */
#include "tests/terminal/terminal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>
#ifdef PROCTOR_HAVE_VTERM
#include <vterm.h>
#endif

#include "core/base/cleanup.h"
#include "core/base/clock.h"

#define KEEP_BYTES ((size_t)16 << 20)
#define TURN_MS 20

#ifdef PROCTOR_HAVE_VTERM
static int on_property(VTermProp property, VTermValue *value, void *context)
{
	struct terminal *terminal = context;
	if (property == VTERM_PROP_ALTSCREEN)
		terminal->alternate = value->boolean;
	if (property == VTERM_PROP_CURSORVISIBLE)
		terminal->cursor_hidden = !value->boolean;
	return 1;
}

static int on_bell(void *context)
{
	((struct terminal *)context)->bells++;
	return 1;
}

static const VTermScreenCallbacks SCREEN_CALLBACKS = { .settermprop = on_property, .bell = on_bell };

static void screen_open(struct terminal *terminal, bool utf8)
{
	terminal->vterm = vterm_new(terminal->rows, terminal->columns);
	vterm_set_utf8(terminal->vterm, utf8);
	VTermScreen *screen = vterm_obtain_screen(terminal->vterm);
	vterm_screen_set_callbacks(screen, &SCREEN_CALLBACKS, terminal);
	vterm_screen_enable_altscreen(screen, 1);
	vterm_screen_reset(screen, 1);
}

static void screen_feed(struct terminal *terminal, const char *bytes, size_t length)
{
	vterm_input_write(terminal->vterm, bytes, length);
	/* What the emulator would answer to a query goes nowhere: the program asks nothing. */
	char answer[256];
	while (vterm_output_read(terminal->vterm, answer, sizeof answer) > 0)
		;
}

static void screen_close(struct terminal *terminal)
{
	if (terminal->vterm)
		vterm_free(terminal->vterm);
	terminal->vterm = NULL;
}

bool terminal_has_screen(void)
{
	return true;
}

static void add_character(struct buffer *text, uint32_t c)
{
	char bytes[4];
	size_t length = 0;
	if (c < 0x80) {
		bytes[length++] = (char)c;
	} else if (c < 0x800) {
		bytes[length++] = (char)(0xc0 | c >> 6);
		bytes[length++] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		bytes[length++] = (char)(0xe0 | c >> 12);
		bytes[length++] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[length++] = (char)(0x80 | (c & 0x3f));
	} else {
		bytes[length++] = (char)(0xf0 | c >> 18);
		bytes[length++] = (char)(0x80 | (c >> 12 & 0x3f));
		bytes[length++] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[length++] = (char)(0x80 | (c & 0x3f));
	}
	buffer_add(text, bytes, length);
}

char *terminal_row(const struct terminal *terminal, int row)
{
	struct buffer text = BUFFER_INIT;
	size_t end = 0;
	buffer_add_text(&text, "");
	for (int column = 0; column < terminal->columns; column++) {
		VTermScreenCell cell;
		vterm_screen_get_cell(vterm_obtain_screen(terminal->vterm), (VTermPos){ row, column }, &cell);
		if (cell.chars[0] == (uint32_t)-1)	/* the second half of a wide character */
			continue;
		for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell.chars[i]; i++)
			add_character(&text, cell.chars[i]);
		if (!cell.chars[0])
			buffer_add(&text, " ", 1);
		else if (cell.chars[0] != ' ')
			end = text.length;
	}
	if (text.data)
		text.data[end] = '\0';
	return buffer_take(&text);
}
#else
static void screen_open(struct terminal *terminal, bool utf8)
{
	(void)terminal;
	(void)utf8;
}

static void screen_feed(struct terminal *terminal, const char *bytes, size_t length)
{
	(void)terminal;
	(void)bytes;
	(void)length;
}

static void screen_close(struct terminal *terminal)
{
	(void)terminal;
}

bool terminal_has_screen(void)
{
	return false;
}

char *terminal_row(const struct terminal *terminal, int row)
{
	(void)terminal;
	(void)row;
	return strdup("");
}
#endif

char *terminal_screen(const struct terminal *terminal)
{
	struct buffer text = BUFFER_INIT;
	buffer_add_text(&text, "");
	for (int row = 0; terminal->vterm && row < terminal->rows; row++) {
		_cleanup_free_ char *line = terminal_row(terminal, row);
		buffer_printf(&text, "%s\n", line);
	}
	return buffer_take(&text);
}

bool terminal_shows(const struct terminal *terminal, const char *text)
{
	if (!terminal->vterm)
		return terminal->bytes.data && memmem(terminal->bytes.data, terminal->bytes.length, text, strlen(text));
	_cleanup_free_ char *screen = terminal_screen(terminal);
	return screen && strstr(screen, text) != NULL;
}

static void set_variables(const struct terminal_start *how)
{
	/* What would tell a program more of this terminal than the test says. */
	static const char *const away[] = { "COLORTERM", "NO_COLOR", "COLUMNS", "LINES", "TMUX", "STY", "LANG", "LC_CTYPE", "TERMCAP" };
	for (size_t i = 0; i < ELEMENTS(away); i++)
		unsetenv(away[i]);
	setenv("LC_ALL", how->locale ? how->locale : "C.UTF-8", 1);
	setenv("TZ", "UTC", 1);
	if (how->term)
		setenv("TERM", how->term, 1);
	else
		unsetenv("TERM");
	for (const char *const *one = how->environment; one && *one; one++) {
		const char *equals = strchr(*one, '=');
		char name[64];
		if (!equals) {
			unsetenv(*one);
			continue;
		}
		snprintf(name, sizeof name, "%.*s", (int)(equals - *one), *one);
		setenv(name, equals + 1, 1);
	}
}

int terminal_start(struct terminal *terminal, const struct terminal_start *how)
{
	*terminal = (struct terminal)TERMINAL_INIT;
	terminal->rows = how->rows ? how->rows : 24;
	terminal->columns = how->columns ? how->columns : 80;
	buffer_init(&terminal->bytes, KEEP_BYTES);
	struct winsize size = { .ws_row = (unsigned short)terminal->rows, .ws_col = (unsigned short)terminal->columns };
	int master, slave;
	if (openpty(&master, &slave, NULL, NULL, &size) < 0)
		return -errno;
	tcgetattr(slave, &terminal->before);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		/* A test that dies must not leave its programs behind. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_DFL);
		close(master);
		if (login_tty(slave) < 0 || (how->directory && chdir(how->directory) < 0))
			_exit(125);
		set_variables(how);
		execvp(how->argv[0], (char *const *)how->argv);
		_exit(127);
	}
	int failed = errno;
	if (pid < 0) {
		close(master);
		close(slave);
		return -failed;
	}
	fcntl(master, F_SETFL, O_NONBLOCK);
	fcntl(master, F_SETFD, FD_CLOEXEC);
	fcntl(slave, F_SETFD, FD_CLOEXEC);
	terminal->pid = pid;
	terminal->fd = master;
	terminal->slave = slave;
	const char *locale = how->locale ? how->locale : "C.UTF-8";
	screen_open(terminal, strcasestr(locale, "utf") != NULL);
	return 0;
}

/* One turn of at most `ms`: what can be read is read, an end is seen. */
static void turn(struct terminal *terminal, int ms)
{
	struct pollfd wanted = { .fd = terminal->closed ? -1 : terminal->fd, .events = POLLIN };
	poll(&wanted, 1, ms);
	while (wanted.fd >= 0 && !terminal->closed) {
		char bytes[16384];
		ssize_t length = read(terminal->fd, bytes, sizeof bytes);
		if (length < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (length <= 0) {
			terminal->closed = true;
			break;
		}
		terminal->last_ns = clock_mono_ns();
		terminal->written += (uint64_t)length;
		if (terminal->bytes.length + (size_t)length < KEEP_BYTES)
			buffer_add(&terminal->bytes, bytes, (size_t)length);
		if (terminal->vterm)
			screen_feed(terminal, bytes, (size_t)length);
	}
	if (!terminal->ended && waitpid(terminal->pid, &terminal->status, WNOHANG) == terminal->pid)
		terminal->ended = true;
}

void terminal_listen(struct terminal *terminal, int ms)
{
	int64_t end = clock_mono_ns() + ms * NS_PER_MS, now;
	while ((now = clock_mono_ns()) < end)
		turn(terminal, (int)((end - now) / NS_PER_MS) < TURN_MS ? (int)((end - now) / NS_PER_MS) + 1 : TURN_MS);
}

bool terminal_settle(struct terminal *terminal, int quiet_ms, int timeout_ms)
{
	int64_t start = clock_mono_ns(), end = start + timeout_ms * NS_PER_MS;
	for (;;) {
		turn(terminal, 5);
		int64_t now = clock_mono_ns(), last = terminal->last_ns > start ? terminal->last_ns : start;
		if (now - last >= quiet_ms * NS_PER_MS)
			return true;
		if (now >= end)
			return false;
	}
}

static bool await(struct terminal *terminal, const char *text, bool shown, int timeout_ms)
{
	int64_t end = clock_mono_ns() + timeout_ms * NS_PER_MS;
	uint64_t looked_at = UINT64_MAX;
	for (;;) {
		if (looked_at != terminal->written && terminal_shows(terminal, text) == shown)
			return true;
		looked_at = terminal->written;
		if (clock_mono_ns() >= end)
			return false;
		turn(terminal, TURN_MS);
		if (terminal->ended && terminal->written == looked_at) {
			turn(terminal, TURN_MS);
			return terminal_shows(terminal, text) == shown;
		}
	}
}

bool terminal_await(struct terminal *terminal, const char *text, int timeout_ms)
{
	return await(terminal, text, true, timeout_ms);
}

bool terminal_await_gone(struct terminal *terminal, const char *text, int timeout_ms)
{
	return await(terminal, text, false, timeout_ms);
}

int terminal_wait(struct terminal *terminal, int timeout_ms)
{
	int64_t end = clock_mono_ns() + timeout_ms * NS_PER_MS;
	while (!terminal->ended) {
		if (clock_mono_ns() >= end)
			return -ETIMEDOUT;
		turn(terminal, TURN_MS);
	}
	turn(terminal, 0);
	return WIFEXITED(terminal->status) ? WEXITSTATUS(terminal->status) : 128 + WTERMSIG(terminal->status);
}

bool terminal_await_stopped(struct terminal *terminal, int timeout_ms)
{
	int64_t end = clock_mono_ns() + timeout_ms * NS_PER_MS;
	for (;;) {
		siginfo_t info = { 0 };
		if (waitid(P_PID, (id_t)terminal->pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid == terminal->pid)
			return true;
		if (clock_mono_ns() >= end)
			return false;
		turn(terminal, TURN_MS);
	}
}

void terminal_type(struct terminal *terminal, const char *keys)
{
	size_t length = strlen(keys);
	while (terminal->fd >= 0 && length > 0) {
		ssize_t n = write(terminal->fd, keys, length);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return;
		if (n < 0)
			turn(terminal, 5);
		else
			keys += n, length -= (size_t)n;
	}
}

void terminal_resize(struct terminal *terminal, int rows, int columns)
{
	struct winsize size = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns };
	terminal->rows = rows;
	terminal->columns = columns;
#ifdef PROCTOR_HAVE_VTERM
	vterm_set_size(terminal->vterm, rows, columns);
#endif
	ioctl(terminal->fd, TIOCSWINSZ, &size);
}

void terminal_hang_up(struct terminal *terminal)
{
	cleanup_close(&terminal->slave);
	cleanup_close(&terminal->fd);
	terminal->slave = terminal->fd = -1;
	terminal->closed = true;
}

void terminal_release(struct terminal *terminal)
{
	if (terminal->pid > 0 && !terminal->ended) {
		kill(terminal->pid, SIGKILL);
		while (waitpid(terminal->pid, &terminal->status, 0) < 0 && errno == EINTR)
			;
	}
	screen_close(terminal);
	terminal_hang_up(terminal);
	buffer_release(&terminal->bytes);
	*terminal = (struct terminal)TERMINAL_INIT;
}

bool terminal_modes_restored(const struct terminal *terminal)
{
	struct termios now;
	return terminal->slave >= 0 && tcgetattr(terminal->slave, &now) == 0 && now.c_iflag == terminal->before.c_iflag &&
	       now.c_oflag == terminal->before.c_oflag && now.c_cflag == terminal->before.c_cflag &&
	       now.c_lflag == terminal->before.c_lflag;
}

/* Where the last one begins; -1: nowhere. */
static ssize_t last_place(const struct terminal *terminal, const char *text)
{
	ssize_t place = -1;
	const char *start = terminal->bytes.data, *at = start;
	size_t length = strlen(text);
	while (at && (at = memmem(at, terminal->bytes.length - (size_t)(at - start), text, length)))
		place = at++ - start;
	return place;
}

bool terminal_wrote_after(const struct terminal *terminal, const char *leave, const char *enter)
{
	ssize_t left = last_place(terminal, leave), entered = last_place(terminal, enter);
	return left >= 0 && left > entered;
}

/* Adds what one thread has used so far. */
static bool task_cost(const char *task, long long *cpu_ns, long long *switches)
{
	char path[400], line[256];
	long long cpu = -1, own = -1;
	snprintf(path, sizeof path, "%s/schedstat", task);
	_cleanup_fclose_ FILE *schedule = fopen(path, "re");
	if (!schedule || fscanf(schedule, "%lld", &cpu) != 1)
		return false;
	snprintf(path, sizeof path, "%s/status", task);
	_cleanup_fclose_ FILE *status = fopen(path, "re");
	while (status && own < 0 && fgets(line, sizeof line, status))
		sscanf(line, "voluntary_ctxt_switches: %lld", &own);
	*cpu_ns += cpu;
	*switches += own < 0 ? 0 : own;
	return own >= 0;
}

bool process_cost(pid_t pid, int64_t *ret_cpu_ns, int64_t *ret_switches)
{
	char directory[64];
	long long cpu = 0, switches = 0;
	bool any = false;
	snprintf(directory, sizeof directory, "/proc/%d/task", (int)pid);
	_cleanup_closedir_ DIR *tasks = opendir(directory);
	for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
		char task[320];
		snprintf(task, sizeof task, "%s/%s", directory, entry->d_name);
		any |= entry->d_name[0] != '.' && task_cost(task, &cpu, &switches);
	}
	*ret_cpu_ns = cpu;
	*ret_switches = switches;
	return any;
}
