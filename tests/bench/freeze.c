/*
 * From the request to `frozen 1` of the round: 400 sleepers, or spinners, in 1, 8 and 64 boundaries together, frozen and thawed
 * again and again. "asked" is what the core waits, "kernel" the part from the write to cgroup.freeze to `frozen 1`, as the
 * worker says it.
 */
#include <stdio.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "tests/bench/load.h"
#include "tests/bench/report.h"

#define FROZEN_MS 30000
#define APART_NS (20 * NS_PER_MS)	/* of running between two freezes */

static const int counts[] = LOAD_COUNTS;

struct figures {
	struct samples asked, kernel;
};

static bool freeze_once(struct worker *worker, const struct load *load, struct figures *figures)
{
	int64_t start = clock_mono_ns();
	worker_send_op(worker, "freeze", 0);
	struct json_object *frozen = worker_await(worker, "frozen", 0, FROZEN_MS), *still = NULL, *ms = NULL;
	double asked = bench_since_ms(start);
	bool whole = frozen && json_object_object_get_ex(frozen, "frozen", &still) && json_object_get_boolean(still) &&
		     event_number(frozen, "processes") >= load->boundaries * load_share(load) &&
		     json_object_object_get_ex(frozen, "ms", &ms);
	if (!whole)
		fprintf(stderr, "freeze: %s\n", frozen ? json_object_to_json_string(frozen) : "no `frozen` in time");
	if (whole) {
		samples_add(&figures->asked, asked);
		samples_add(&figures->kernel, json_object_get_double(ms));
	}
	worker_send_op(worker, "thaw", 0);
	whole = worker_await(worker, "thawed", 0, FROZEN_MS) && whole;
	clock_sleep_ns(APART_NS);
	return whole;
}

static bool measure(struct report *report, const struct load *load, int rounds)
{
	char names[2][64];
	struct figures figures = { .asked = { .name = names[0] }, .kernel = { .name = names[1] } };
	int runs[LOAD_BOUNDARIES_MAX];
	struct worker *worker = load_worker("freeze");
	bool whole = worker && load_start(worker, load, runs);
	for (int round = 0; round < rounds && whole; round++)
		whole = freeze_once(worker, load, &figures);
	worker_free(worker);
	snprintf(names[0], sizeof names[0], "%d %s in %d, asked", load->processes, load_name(load->kind), load->boundaries);
	snprintf(names[1], sizeof names[1], "%d %s in %d, kernel", load->processes, load_name(load->kind), load->boundaries);
	report_row(report, &figures.asked, NULL);
	report_row(report, &figures.kernel, &figures.asked);
	samples_release(&figures.asked);
	samples_release(&figures.kernel);
	return whole;
}

int main(int argc, char **argv)
{
	const struct bench_options defaults = { .rounds = 50, .processes = 400, .boundaries = LOAD_BOUNDARIES_MAX };
	struct bench_options options = bench_options_read(argc, argv, defaults);
	struct report report = { .bench = "freeze", .unit = "ms", .json = options.json };
	static const enum load_kind kinds[] = { LOAD_SLEEPERS, LOAD_SPINNERS };
	bool whole = true;
	for (size_t k = 0; k < ELEMENTS(kinds); k++)
		for (size_t i = 0; i < ELEMENTS(counts) && counts[i] <= options.boundaries && whole; i++)
			whole = measure(&report, &(struct load){ .kind = kinds[k], .boundaries = counts[i],
								 .processes = options.processes }, options.rounds);
	return whole ? 0 : 1;
}
