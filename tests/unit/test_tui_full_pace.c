/* The pace of a screen: at once after quiet, together where it goes on, never beyond its budget, and no core is left to overflow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/clock.h"
#include "tui/full/pace.h"

#define MS NS_PER_MS

static void test_a_change_after_quiet(void **state)
{
	(void)state;
	struct pace pace = PACE_INIT;
	pace.budget_ns = 1000 * MS;
	pace_painted(&pace, 3000, true, 1000 * MS);
	/* Once a second: at once, and the core is listened to in between. */
	for (int64_t now = 2000; now < 10000; now += 1000) {
		pace_took(&pace, 300, now * MS);
		assert_true(pace_frame_ns(&pace) <= now * MS);
		pace_painted(&pace, 100, false, now * MS);
		assert_int_equal(pace_rest_ns(&pace, false), 0);
	}
}

static void test_changes_that_go_on(void **state)
{
	(void)state;
	struct pace pace = PACE_INIT;
	int64_t now = 1000 * MS;
	int looks = 0, frames = 0;
	long bytes = 0;
	pace.budget_ns = now;
	for (int64_t end = now + 20000 * MS; now < end; looks++) {
		pace_took(&pace, 30000, now);
		if (pace_frame_ns(&pace) <= now) {
			pace_painted(&pace, 1200, false, now);
			bytes += 1200;
			frames++;
		}
		int64_t until = pace_rest_ns(&pace, pace.painted_ns != now);
		/* It begins at ten times a second. */
		assert_true(looks > 0 || until == now + PACE_FRAME_NS || until == 0);
		now = until ? until : now + 10 * MS;
	}
	assert_true(looks <= 48);
	assert_true(frames >= 20);
	assert_true(bytes <= PACE_BUDGET_BYTES + 1200 + 20 * PACE_BUDGET_RATE);
	/* It ceases: the next change is painted at once again. */
	pace_took(&pace, 0, now);
	assert_int_equal(pace_rest_ns(&pace, false), 0);
	now += 5000 * MS;
	pace_took(&pace, 100, now);
	assert_true(pace_frame_ns(&pace) <= now);
}

/* A core keeps 256 KiB for a watcher: what comes faster is taken sooner. */
static void test_much_at_once(void **state)
{
	(void)state;
	static const double rates[] = { 100e3, 500e3, 1e6, 5e6 };	/* bytes a second */
	for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
		struct pace pace = PACE_INIT;
		int64_t now = 1000 * MS, last = now;
		pace.budget = -1e6;	/* no frame for a long time */
		pace.budget_ns = now;
		for (int look = 0; look < 200; look++) {
			double bytes = rates[i] * (double)(now - last) / (double)NS_PER_S;
			/* From its second look on it knows. */
			if (look > 1 && bytes > 262144)
				fail_msg("%.0f kB/s: %.0f bytes waited", rates[i] / 1000, bytes);
			pace_took(&pace, (size_t)bytes + 1, now);
			last = now;
			int64_t until = pace_rest_ns(&pace, true);
			assert_true(until > now && until <= now + PACE_REST_MOST_NS);
			now = until;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_change_after_quiet),
		cmocka_unit_test(test_changes_that_go_on),
		cmocka_unit_test(test_much_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
