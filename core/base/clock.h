/* Time. Durations come from the monotonic clock alone, in ns; the wall clock only stamps events, in ms. */
#ifndef CORE_BASE_CLOCK_H
#define CORE_BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

int64_t clock_mono_ns(void);	/* CLOCK_MONOTONIC; never fails (clock_gettime(2) with a valid id) */
int64_t clock_wall_ms(void);	/* CLOCK_REALTIME, ms since the epoch */
void clock_sleep_ns(int64_t ns);	/* sleeps through signals; 0 or less returns at once */

#endif
