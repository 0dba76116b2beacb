/*
 * What containment costs: /bin/true through a running proctor-worker under the full default profile, from the
 * request to the removed cgroup, against posix_spawn and waitpid, and peers that are installed (peers.h), interleaved,
 * each begun on a machine that has come to rest: what one left behind must not be paid for by the next. A run
 * like the last one finds its boundary prepared (core/containment/spare.h); "unprepared" are runs of which none is.
 * Then how many runs a second one worker does with 1, 24 and 200 in flight, where the preparation is in the figure
 * as everything else, and the CPU time of a run: the worker's and that of all it started.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/base/io.h"
#include "tests/bench/load.h"
#include "tests/bench/peers.h"
#include "tests/bench/report.h"
#include "tests/support/worker_harness.h"

#define WARM_UP 3
#define RUN_MS 30000
#define REST_NS (25 * NS_PER_MS)

static int null_fd;

static const char *const TRUE_COMMAND[] = { "/bin/true", NULL };

static struct run_spec true_spec(void)
{
	return (struct run_spec){ .argv = TRUE_COMMAND, .memory_bytes = UINT64_C(64) << 20, .processes = 16,
				  .workspace_bytes = UINT64_C(16) << 20, .inodes = 1000, .output_fd = null_fd, .error_fd = null_fd };
}

static double contained_once(struct worker *worker, uint64_t inodes)
{
	struct run_spec spec = true_spec();
	spec.inodes = inodes;
	int64_t start = clock_mono_ns();
	int run = worker_run(worker, &spec);
	const struct run_result *result = worker_finish(worker, run, RUN_MS);
	double ms = bench_since_ms(start);
	bool right = result->closed && strcmp(result->outcome, "exited") == 0 && result->code == 0;
	if (!right)
		fprintf(stderr, "spawn: outcome '%s', code %d: %s\n", result->outcome, result->code,
			result->event ? json_object_to_json_string(result->event) : "no event");
	worker_release_run(worker, run);
	return right ? ms : -1;
}

/* So many runs a second over `total`, with at most `in_flight` at once; negative where one failed. */
static double throughput(struct worker *worker, int total, int in_flight)
{
	struct run_spec spec = true_spec();
	int started = 0, ended = 0;
	int64_t start = clock_mono_ns();
	while (ended < total) {
		while (started < total && started - ended < in_flight) {
			if (worker_run(worker, &spec) < 0)
				return -1;
			started++;
		}
		struct json_object *closed = worker_await(worker, "closed", 0, RUN_MS);
		if (!closed || event_number(closed, "code") != 0 || strcmp(event_text(closed, "outcome"), "exited") != 0) {
			fprintf(stderr, "spawn: %s\n", closed ? json_object_to_json_string(closed) : "no event in time");
			return -1;
		}
		worker_release_run(worker, (int)event_number(closed, "run"));
		ended++;
	}
	return (double)total / (bench_since_ms(start) / 1000);
}

enum { OURS, UNPREPARED, FIRST_PEER, CASES = FIRST_PEER + PEERS };

static double measure_once(int which, struct worker *worker, unsigned turn)
{
	clock_sleep_ns(REST_NS);
	switch (which) {
	case OURS:
		return contained_once(worker, 1000);
	case UNPREPARED:
		/* Unlike the last one, and unlike the one before. */
		return contained_once(worker, 2000 + turn);
	default:
		return peers[which - FIRST_PEER].once();
	}
}

static void report_latency(struct samples *cases, const struct bench_options *options)
{
	struct report report = { .bench = "spawn", .unit = "ms", .json = options->json };
	const struct samples *plain = &cases[FIRST_PEER];
	report_row(&report, plain, NULL);
	for (int i = 0; i < CASES; i++) {
		if (i != FIRST_PEER)
			report_row(&report, &cases[i], plain);
	}
}

static bool measure_latency(struct worker *worker, const struct bench_options *options)
{
	struct samples cases[CASES] = { [OURS] = { .name = "proctor" }, [UNPREPARED] = { .name = "proctor, unprepared" } };
	bool there[CASES] = { [OURS] = true, [UNPREPARED] = true };
	for (int i = 0; i < PEERS; i++) {
		cases[FIRST_PEER + i].name = peers[i].name;
		there[FIRST_PEER + i] = peers[i].prepare();
	}
	bool whole = there[FIRST_PEER];
	for (int round = -WARM_UP; round < options->rounds && whole; round++) {
		/* So that the next one is like it. */
		clock_sleep_ns(REST_NS);
		whole = contained_once(worker, 1000) >= 0;
		for (int i = 0; i < CASES && whole; i++) {
			if (!there[i])
				continue;
			double ms = measure_once(i, worker, (unsigned)(round + WARM_UP));
			whole = ms >= 0;
			if (!whole)
				fprintf(stderr, "spawn: %s failed\n", cases[i].name);
			if (whole && round >= 0)
				samples_add(&cases[i], ms);
		}
	}
	report_latency(cases, options);
	for (int i = 0; i < CASES; i++) {
		if (!there[i])
			fprintf(stderr, "spawn: no row of %s: %s\n", cases[i].name, peers[i - FIRST_PEER].missing());
		samples_release(&cases[i]);
	}
	for (int i = 0; i < PEERS; i++)
		peers[i].release();
	return whole;
}

/* CPU time in ms of the worker and of all that it waited for (proc(5), fields 14 to 17 of /proc/PID/stat). */
static double cpu_ms(const struct worker *worker)
{
	char path[64];
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	unsigned long user, system, children_user, children_system;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)worker_pid(worker));
	if (io_read_file(AT_FDCWD, path, 65536, &text) < 0 || !text.data)
		return -1;
	const char *at = strrchr(text.data, ')');
	if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &user, &system, &children_user,
			  &children_system) != 4)
		return -1;
	return (double)(user + system + children_user + children_system) * 1000 / (double)sysconf(_SC_CLK_TCK);
}

static bool measure_throughput(struct worker *worker, const struct bench_options *options)
{
	static const int in_flight[] = { 1, 24, 200 };
	struct samples rates[] = { { .name = "proctor 1 in flight" }, { .name = "proctor 24 in flight" },
				   { .name = "proctor 200 in flight" } };
	struct samples cpu = { .name = "proctor, a run" };
	int total = options->rounds < 10 ? 24 : 240;
	bool whole = true;
	for (int turn = 0; turn < 3 && whole; turn++) {
		for (size_t i = 0; i < ELEMENTS(in_flight) && whole; i++) {
			double before = cpu_ms(worker), rate = throughput(worker, total, in_flight[i]);
			whole = rate > 0 && before >= 0;
			if (whole)
				samples_add(&rates[i], rate);
			if (whole)
				samples_add(&cpu, (cpu_ms(worker) - before) / total);
		}
	}
	struct report report = { .bench = "spawn rate", .unit = "spawns/s", .json = options->json };
	for (size_t i = 0; i < ELEMENTS(rates); i++) {
		report_row(&report, &rates[i], i ? &rates[0] : NULL);
		if (i)
			samples_release(&rates[i]);
	}
	samples_release(&rates[0]);
	report_row(&(struct report){ .bench = "spawn CPU", .unit = "ms", .json = options->json }, &cpu, NULL);
	samples_release(&cpu);
	return whole;
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_options_read(argc, argv, (struct bench_options){ .rounds = 30 });
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct worker *worker = load_worker("spawn");
	bool whole = worker && measure_latency(worker, &options) && measure_throughput(worker, &options);
	worker_free(worker);
	return whole ? 0 : 1;
}
