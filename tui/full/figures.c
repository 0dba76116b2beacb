/* Pure. */
#include "tui/full/figures.h"

#include <inttypes.h>
#include <stdio.h>

#define FIGURE(...) \
	({ \
		struct figure figure_; \
		snprintf(figure_.text, sizeof figure_.text, __VA_ARGS__); \
		figure_; \
	})

struct figure figure_clock(int64_t ms)
{
	int64_t seconds = ms > 0 ? ms / 1000 : 0;
	if (seconds < 3600)
		return FIGURE("%" PRId64 ":%02" PRId64, seconds / 60, seconds % 60);
	return FIGURE("%" PRId64 ":%02" PRId64 ":%02" PRId64, seconds / 3600, seconds / 60 % 60, seconds % 60);
}

struct figure figure_took(int64_t ms)
{
	if (ms < 1000)
		return FIGURE("%" PRId64 " ms", ms > 0 ? ms : 0);
	if (ms < 60 * 1000)
		return FIGURE("%" PRId64 ".%" PRId64 " s", ms / 1000, ms % 1000 / 100);
	return figure_clock(ms);
}

struct figure figure_us(int64_t us)
{
	if (us < 10000)
		return FIGURE("%" PRId64 ".%" PRId64 " ms", us / 1000, us % 1000 / 100);
	return FIGURE("%" PRId64 " ms", us / 1000);
}

struct figure figure_money(int64_t usd_micro)
{
	return FIGURE("$%" PRId64 ".%02" PRId64, usd_micro / 1000000, usd_micro % 1000000 / 10000);
}

struct figure figure_bytes(int64_t bytes)
{
	static const char *const units[] = { "kB", "MB", "GB", "TB" };
	if (bytes < 1000)
		return FIGURE("%" PRId64 " B", bytes > 0 ? bytes : 0);
	double number = (double)bytes / 1000;
	unsigned unit = 0;
	while (number >= 999.5 && unit < 3) {
		number /= 1000;
		unit++;
	}
	return FIGURE(number < 10 ? "%.1f %s" : "%.0f %s", number, units[unit]);
}
