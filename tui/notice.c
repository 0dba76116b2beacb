/* Standard error of the front. The only file that writes there. */
#include "tui/notice.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/base/io.h"

#include <proctor/text.h>

static int64_t within_ns;	/* 0: for ever */

/*
 * A description of our own that does not block: O_NONBLOCK on the shell's would outlive us, and poll(2) does not say that
 * there is room for a whole line.
 */
static int open_again(void)
{
	struct stat what;
	bool waits = fstat(STDERR_FILENO, &what) == 0 && (S_ISCHR(what.st_mode) || S_ISFIFO(what.st_mode));
	return waits ? open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
}

static void write_within(int fd, const char *bytes, size_t length)
{
	for (int64_t until = clock_mono_ns() + within_ns; length > 0 && clock_mono_ns() < until;) {
		struct pollfd wanted = { .fd = fd, .events = POLLOUT };
		if (poll(&wanted, 1, 50) <= 0)
			continue;
		ssize_t n = write(fd, bytes, length);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return;
		bytes += n > 0 ? n : 0;
		length -= n > 0 ? (size_t)n : 0;
	}
}

static void write_bytes(const char *bytes, size_t length)
{
	_cleanup_close_ int fd = within_ns ? open_again() : -1;
	if (fd >= 0)
		write_within(fd, bytes, length);
	else
		io_write_all(STDERR_FILENO, bytes, length);
}

void notice_within(int64_t ns)
{
	within_ns = ns;
}

static void write_line(const char *prefix, const char *text)
{
	struct pr_safe_text safe;
	_cleanup_buffer_ struct buffer line = BUFFER_INIT;
	pr_safe_text_from_str(&safe, text, 0);
	if (buffer_printf(&line, "%s%s\n", prefix, pr_safe_text_str(&safe)) >= 0)
		write_bytes(line.data, line.length);
}

void notice(const char *format, ...)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	va_list arguments;
	va_start(arguments, format);
	int r = buffer_vprintf(&text, format, arguments);
	va_end(arguments);
	if (r >= 0)
		write_line("proctor: ", text.data);
}

void notice_error(const struct pr_error *error)
{
	write_line("proctor: ", error->message);
	if (error->remedy[0])
		write_line("  try: ", error->remedy);
}

void notice_prompt(const char *text)
{
	io_write_all(STDERR_FILENO, text, strlen(text));
}
