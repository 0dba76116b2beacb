/* The machine of pace.h. */
#include "tui/full/pace.h"

#include "core/base/clock.h"

static int64_t smaller(int64_t one, int64_t other)
{
	return one < other ? one : other;
}

static int64_t larger(int64_t one, int64_t other)
{
	return one > other ? one : other;
}

void pace_took(struct pace *pace, size_t bytes, int64_t now_ns)
{
	int64_t since = now_ns - pace->taken_ns;
	bool goes_on = bytes > 0 && pace->taken_ns != 0 && since < 2 * pace->rest_ns + PACE_REST_LEAST_NS;
	int64_t rest = goes_on ? 2 * pace->rest_ns : PACE_FRAME_NS, most = PACE_REST_MOST_NS;
	/* So long until as much has come as may wait, if it goes on like this. */
	if (goes_on && since > 0 && (double)bytes * (double)most > (double)PACE_REST_BYTES * (double)since)
		most = (int64_t)((double)since * PACE_REST_BYTES / (double)bytes);
	pace->most_ns = goes_on ? larger(most, PACE_REST_LEAST_NS) : PACE_FRAME_NS;
	pace->rest_ns = smaller(smaller(rest, PACE_REST_NS), pace->most_ns);
	pace->taken_ns = bytes > 0 ? now_ns : 0;
}

void pace_painted(struct pace *pace, long bytes, bool asked, int64_t now_ns)
{
	pace->budget += (double)(now_ns - pace->budget_ns) / (double)NS_PER_S * PACE_BUDGET_RATE;
	pace->budget = pace->budget > PACE_BUDGET_BYTES ? PACE_BUDGET_BYTES : pace->budget;
	pace->budget_ns = now_ns;
	if (bytes > 0 && !asked)
		pace->budget -= (double)bytes;
	pace->painted_ns = now_ns;
}

int64_t pace_frame_ns(const struct pace *pace)
{
	int64_t due = pace->painted_ns + PACE_FRAME_NS;
	int64_t paid = pace->budget < 0 ? pace->budget_ns + (int64_t)(-pace->budget / PACE_BUDGET_RATE * (double)NS_PER_S) + 1 : 0;
	return paid > due ? paid : due;
}

int64_t pace_rest_ns(const struct pace *pace, bool waits)
{
	/* After a first change it may say more at once: one that does not go on is not left alone. */
	bool goes_on = pace->rest_ns != PACE_FRAME_NS;
	if (pace->taken_ns == 0 || (!waits && !goes_on))
		return 0;
	/* Taken right before it can be painted, so that the newest is. */
	int64_t until = pace_frame_ns(pace), least = pace->taken_ns + pace->rest_ns;
	if (!waits)
		until = larger(until, least);
	return smaller(until, pace->taken_ns + pace->most_ns);
}
