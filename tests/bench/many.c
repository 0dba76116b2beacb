/*
 * That many runs leave nothing: 1,000 one after the other, 24 in flight, in one worker (processes below it, cgroups of each
 * hierarchy, mounts, its descriptors, its memory, before and after); then 64 boundaries at once: distinct cgroups, each
 * enforced, and the peak memory of each, with one sleeping process.
 *
 * Fails where a run does, or where something is left. Memory is only shown.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/base/io.h"
#include "tests/bench/load.h"
#include "tests/bench/report.h"
#include "tests/support/scratch.h"
#include "tests/support/survivors.h"

#define IN_FLIGHT 24
#define WARM_UP 48
#define RUN_MS 60000
#define SETTLE_MS 5000

enum figure { PROCESSES, CGROUPS, MOUNTS, DESCRIPTORS, RESIDENT, FIGURES };

static const struct {
	const char *name, *unit;
	bool may_grow;
} rows[FIGURES] = {
	[PROCESSES] = { "processes", "", false }, [CGROUPS] = { "cgroups", "", false }, [MOUNTS] = { "mounts", "", false },
	[DESCRIPTORS] = { "descriptors", "", false }, [RESIDENT] = { "memory of the worker", "KiB", true },
};

/* Every directory below. */
static long count_directories(const char *path)
{
	_cleanup_closedir_ DIR *entries = opendir(path);
	long count = 0;
	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		_cleanup_free_ char *below = scratch_text("%s/%s", path, entry->d_name);
		count += 1 + count_directories(below);
	}
	return count;
}

static struct json_object *v1_of(struct worker *worker)
{
	struct json_object *list = NULL;
	json_object_object_get_ex(worker_ready(worker), "v1", &list);
	return list;
}

static long count_cgroups(struct worker *worker)
{
	struct json_object *v1 = v1_of(worker);
	long count = count_directories(event_text(worker_ready(worker), "cgroup"));
	for (size_t i = 0; v1 && i < json_object_array_length(v1); i++)
		count += count_directories(json_object_get_string(json_object_array_get_idx(v1, i)));
	return count;
}

static long count_below(pid_t ancestor)
{
	_cleanup_closedir_ DIR *proc = opendir("/proc");
	long count = 0;
	for (struct dirent *entry; proc && (entry = readdir(proc));) {
		pid_t pid = atoi(entry->d_name);
		for (int i = 0; pid > 1 && pid != ancestor && i < 64; i++)
			pid = survivors_parent(pid);
		count += pid > 1 && pid == ancestor;
	}
	return count - 1;	/* itself */
}

static long count_lines(pid_t pid, const char *file)
{
	_cleanup_free_ char *path = scratch_text("/proc/%d/%s", (int)pid, file);
	_cleanup_free_ char *text = scratch_read(path);
	long count = 0;
	for (const char *at = text; at && (at = strchr(at, '\n')); at++)
		count++;
	return count;
}

static long resident_kib(pid_t pid)
{
	_cleanup_free_ char *path = scratch_text("/proc/%d/status", (int)pid);
	_cleanup_free_ char *text = scratch_read(path);
	const char *at = text ? strstr(text, "VmRSS:") : NULL;
	return at ? strtol(at + 6, NULL, 10) : -1;
}

static void count_all(struct worker *worker, long figures[static FIGURES])
{
	pid_t pid = worker_pid(worker);
	_cleanup_free_ char *descriptors = scratch_text("/proc/%d/fd", (int)pid);
	figures[PROCESSES] = count_below(pid);
	figures[CGROUPS] = count_cgroups(worker);
	figures[MOUNTS] = count_lines(pid, "mountinfo") + count_lines(getpid(), "mountinfo");
	figures[DESCRIPTORS] = scratch_count(descriptors);
	figures[RESIDENT] = resident_kib(pid);
}

static bool grew(const long *before, const long *after)
{
	bool more = false;
	for (int i = 0; i < FIGURES; i++)
		more = more || (!rows[i].may_grow && after[i] > before[i]);
	return more;
}

/* What is prepared for the next run is there before and after; the rest may take a moment to go. */
static bool settle(struct worker *worker, const long *before, long after[static FIGURES])
{
	int64_t end = clock_mono_ns() + SETTLE_MS * NS_PER_MS;
	do {
		clock_sleep_ns(100 * NS_PER_MS);
		count_all(worker, after);
	} while (grew(before, after) && clock_mono_ns() < end);
	return !grew(before, after);
}

static bool run_true(struct worker *worker, int total, int null_fd)
{
	const struct run_spec spec = { .argv = (const char *[]){ "/bin/true", NULL }, .processes = 16,
				       .memory_bytes = UINT64_C(64) << 20, .workspace_bytes = UINT64_C(16) << 20, .inodes = 1000,
				       .output_fd = null_fd, .error_fd = null_fd };
	int started = 0;
	for (int ended = 0; ended < total; ended++) {
		while (started < total && started - ended < IN_FLIGHT && worker_run(worker, &spec) > 0)
			started++;
		struct json_object *closed = worker_await(worker, "closed", 0, RUN_MS), *removed = NULL;
		bool whole = closed && strcmp(event_text(closed, "outcome"), "exited") == 0 && event_number(closed, "code") == 0 &&
			     event_number(closed, "remaining") == 0 && json_object_object_get_ex(closed, "removed", &removed) &&
			     json_object_get_boolean(removed);
		if (!whole) {
			fprintf(stderr, "many: %s\n", closed ? json_object_to_json_string(closed) : "no event in time");
			return false;
		}
		worker_release_run(worker, (int)event_number(closed, "run"));
	}
	return true;
}

static void print_figures(const long *before, const long *after, int runs, bool json)
{
	if (!json)
		printf("%-36s %10s %10s %10s  unit\n", "many", "before", "after", "more");
	for (int i = 0; i < FIGURES; i++) {
		if (json)
			printf("{\"bench\":\"many\",\"case\":\"%s\",\"n\":%d,\"before\":%ld,\"after\":%ld,\"unit\":\"%s\"}\n",
			       rows[i].name, runs, before[i], after[i], rows[i].unit);
		else
			printf("%-36s %10ld %10ld %10ld  %s\n", rows[i].name, before[i], after[i], after[i] - before[i], rows[i].unit);
	}
	fflush(stdout);
}

static bool measure_leftovers(struct worker *worker, const struct bench_options *options)
{
	_cleanup_close_ int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	long before[FIGURES], after[FIGURES];
	if (!run_true(worker, WARM_UP < options->rounds ? WARM_UP : options->rounds, null_fd))
		return false;
	clock_sleep_ns(500 * NS_PER_MS);
	count_all(worker, before);
	bool whole = run_true(worker, options->rounds, null_fd);
	bool clean = settle(worker, before, after);
	print_figures(before, after, options->rounds, options->json);
	if (!clean)
		fprintf(stderr, "many: %d runs have left something\n", options->rounds);
	return whole && clean;
}

/* ------- at once ------- */

/* The peak of a run's memory so far, where the kernel keeps one: memory.peak, or of v1 memory.max_usage_in_bytes. */
static double peak_kib(struct worker *worker, const char *leaf)
{
	struct json_object *v1 = v1_of(worker);
	_cleanup_free_ char *unified = scratch_text("%s/%s/memory.peak", event_text(worker_ready(worker), "cgroup"), leaf);
	_cleanup_free_ char *text = scratch_read(unified);
	for (size_t i = 0; !text && v1 && i < json_object_array_length(v1); i++) {
		const char *base = json_object_get_string(json_object_array_get_idx(v1, i));
		_cleanup_free_ char *path = scratch_text("%s/%s/memory.max_usage_in_bytes", base, leaf);
		text = scratch_read(path);
	}
	return text ? strtod(text, NULL) / 1024 : -1;
}

/* Leaves that are populated, one a run; their peaks are added. */
static int count_leaves(struct worker *worker, struct samples *peaks)
{
	const char *base = event_text(worker_ready(worker), "cgroup");
	_cleanup_closedir_ DIR *entries = opendir(base);
	int count = 0;
	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		_cleanup_free_ char *events = scratch_text("%s/%s/cgroup.events", base, entry->d_name);
		_cleanup_free_ char *text = entry->d_type == DT_DIR && entry->d_name[0] != '.' ? scratch_read(events) : NULL;
		_cleanup_free_ char *procs = scratch_text("%s/%s/cgroup.procs", base, entry->d_name);
		_cleanup_free_ char *pids = text ? scratch_read(procs) : NULL;
		/* Init and the candidate; what is prepared for a next run holds init alone. */
		char *second = pids ? strchr(pids, '\n') : NULL;
		if (!text || !strstr(text, "populated 1") || !second || !second[1])
			continue;
		double peak = peak_kib(worker, entry->d_name);
		if (peak >= 0)
			samples_add(peaks, peak);
		count++;
	}
	return count;
}

static bool enforced(struct json_object *closed)
{
	struct json_object *containment, *value;
	return json_object_object_get_ex(closed, "containment", &containment) &&
	       json_object_object_get_ex(containment, "enforced", &value) && json_object_get_boolean(value);
}

static bool measure_at_once(struct worker *worker, const struct bench_options *options)
{
	struct samples peaks = { .name = "peak memory of a boundary" }, starts = { .name = "all started" };
	int runs[LOAD_BOUNDARIES_MAX], count = options->boundaries < LOAD_BOUNDARIES_MAX ? options->boundaries : LOAD_BOUNDARIES_MAX;
	const struct load load = { .kind = LOAD_SLEEPERS, .boundaries = count, .processes = count };
	int64_t start = clock_mono_ns();
	bool whole = load_start(worker, &load, runs);
	samples_add(&starts, bench_since_ms(start));
	int leaves = whole ? count_leaves(worker, &peaks) : 0, held = 0;
	for (int i = 0; i < count && whole; i++)
		worker_send_op(worker, "kill", runs[i]);
	for (int i = 0; i < count && whole; i++) {
		const struct run_result *result = worker_finish(worker, runs[i], RUN_MS);
		held += result->closed && result->remaining == 0 && result->removed && enforced(result->event);
	}
	whole = whole && leaves == count && held == count;
	if (!whole)
		fprintf(stderr, "many: of %d boundaries at once %d have a cgroup of their own, %d were enforced and removed\n", count,
			leaves, held);
	struct report memory = { .bench = "many at once", .unit = "KiB", .json = options->json };
	struct report time = { .bench = "many at once", .unit = "ms", .json = options->json, .started = !options->json };
	if (!peaks.count)
		fprintf(stderr, "many: no row of memory: this host has no controller for it\n");
	report_row(&memory, &peaks, NULL);
	report_row(&time, &starts, NULL);
	samples_release(&peaks);
	samples_release(&starts);
	return whole;
}

int main(int argc, char **argv)
{
	const struct bench_options defaults = { .rounds = 1000, .boundaries = LOAD_BOUNDARIES_MAX };
	struct bench_options options = bench_options_read(argc, argv, defaults);
	struct worker *worker = load_worker("many");
	bool whole = worker && measure_leftovers(worker, &options) && measure_at_once(worker, &options);
	worker_free(worker);
	return whole ? 0 : 1;
}
