/* The clocks of clock.h. */
#include "core/base/clock.h"

#include <errno.h>
#include <time.h>

int64_t clock_mono_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t clock_wall_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / NS_PER_MS;
}

void clock_sleep_ns(int64_t ns)
{
	if (ns <= 0)
		return;
	struct timespec left = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}
