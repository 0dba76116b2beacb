/* Standard error of the front. The only file that writes there. */
#include "tui/notice.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/io.h"

#include <proctor/text.h>

static void write_line(const char *prefix, const char *text)
{
	struct pr_safe_text safe;
	_cleanup_buffer_ struct buffer line = BUFFER_INIT;
	pr_safe_text_from_str(&safe, text, 0);
	if (buffer_printf(&line, "%s%s\n", prefix, pr_safe_text_str(&safe)) >= 0)
		io_write_all(STDERR_FILENO, line.data, line.length);
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
