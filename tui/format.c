/* The pieces of format.h. Pure: they write into a buffer and nowhere else. */
#include "tui/format.h"

#include <inttypes.h>

#include <proctor/text.h>

void line_begin(struct line *line, struct buffer *out)
{
	*line = (struct line){ .out = out };
}

static void keep(struct line *line, int r)
{
	if (r < 0 && line->status == 0)
		line->status = r;
}

void line_add(struct line *line, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	keep(line, buffer_vprintf(line->out, format, arguments));
	va_end(arguments);
}

void line_text(struct line *line, const char *text, unsigned width)
{
	struct pr_safe_text safe;
	pr_safe_text_from_str(&safe, text, width);
	keep(line, buffer_add(line->out, pr_safe_text_str(&safe), pr_safe_text_length(&safe)));
}

void line_column(struct line *line, const char *text, unsigned width)
{
	struct pr_safe_text safe;
	pr_safe_text_from_str(&safe, text, 0);
	keep(line, buffer_add(line->out, pr_safe_text_str(&safe), pr_safe_text_length(&safe)));
	for (unsigned at = pr_safe_text_width(&safe); at < width; at++)
		keep(line, buffer_add_byte(line->out, ' '));
}

void line_duration(struct line *line, int64_t ms)
{
	int64_t seconds = ms / 1000;
	if (ms < 1000)
		line_add(line, "%" PRId64 " ms", ms);
	else if (ms < 60 * 1000 && ms % 1000 < 100)
		line_add(line, "%" PRId64 " s", seconds);
	else if (ms < 60 * 1000)
		line_add(line, "%" PRId64 ".%" PRId64 " s", seconds, ms % 1000 / 100);
	else if (seconds < 3600)
		line_add(line, "%" PRId64 ":%02" PRId64, seconds / 60, seconds % 60);
	else
		line_add(line, "%" PRId64 ":%02" PRId64 ":%02" PRId64, seconds / 3600, seconds / 60 % 60, seconds % 60);
}

void line_ms(struct line *line, double ms)
{
	line_add(line, ms < 10 && ms != (double)(int64_t)ms ? "%.1f ms" : "%.0f ms", ms);
}

void line_money(struct line *line, int64_t usd_micro)
{
	bool cents = usd_micro % 10000 == 0;
	line_add(line, "$%" PRId64 ".", usd_micro / 1000000);
	if (cents)
		line_add(line, "%02" PRId64, usd_micro % 1000000 / 10000);
	else
		line_add(line, "%04" PRId64, usd_micro % 1000000 / 100);
}

void line_size(struct line *line, int64_t bytes)
{
	static const struct {
		const char *unit;
		unsigned shift;
	} units[] = { { "GiB", 30 }, { "MiB", 20 }, { "KiB", 10 } };
	for (size_t i = 0; i < ELEMENTS(units); i++)
		if (bytes > 0 && bytes % (INT64_C(1) << units[i].shift) == 0) {
			line_add(line, "%" PRId64 " %s", bytes >> units[i].shift, units[i].unit);
			return;
		}
	line_add(line, "%" PRId64 " bytes", bytes);
}

void line_count(struct line *line, int64_t count, const char *one, const char *many)
{
	line_add(line, "%" PRId64 " %s", count, count == 1 ? one : many);
}

int line_end(struct line *line)
{
	keep(line, buffer_add_byte(line->out, '\n'));
	return line->status;
}
