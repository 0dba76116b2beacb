/*
 * What a round costs while its candidates wait: four tasks whose agents sleep, nobody watching. CPU time of the core and of
 * the worker, and their voluntary context switches, over some seconds, as the kernel counts them; of one task a quarter.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "tests/bench/report.h"
#include "tests/end-to-end/driver.h"
#include "tests/support/scratch.h"

#define TASKS 4
#define STARTED_MS 60000
#define SETTLE_NS (2 * NS_PER_S)
#define ENDED_MS 30000

struct spent {
	double cpu_ms;
	long wakeups;
};

/* Of one thread. False where it is gone or the kernel does not count (no CONFIG_SCHED_INFO). */
static bool add_thread(const char *folder, const char *thread, struct spent *spent)
{
	static const char word[] = "\nvoluntary_ctxt_switches:";
	_cleanup_free_ char *schedstat = scratch_text("%s/%s/schedstat", folder, thread);
	_cleanup_free_ char *status = scratch_text("%s/%s/status", folder, thread);
	_cleanup_free_ char *text = scratch_read(schedstat);
	_cleanup_free_ char *lines = scratch_read(status);
	const char *wakeups = lines ? strstr(lines, word) : NULL;
	if (!text || !wakeups)
		return false;
	spent->cpu_ms += strtod(text, NULL) / (double)NS_PER_MS;
	spent->wakeups += strtol(wakeups + strlen(word), NULL, 10);
	return true;
}

static bool spent_by(pid_t pid, struct spent *ret_spent)
{
	_cleanup_free_ char *folder = scratch_text("/proc/%d/task", (int)pid);
	_cleanup_closedir_ DIR *threads = opendir(folder);
	struct spent spent = { 0 };
	bool whole = false;
	for (struct dirent *entry; threads && (entry = readdir(threads));)
		if (entry->d_name[0] != '.')
			whole = add_thread(folder, entry->d_name, &spent);
	*ret_spent = spent;
	return whole && spent.cpu_ms > 0;
}

struct figures {
	struct samples core, worker, task, core_wakeups, worker_wakeups;
};

static bool measure_once(struct driver *driver, int seconds, struct figures *figures)
{
	pid_t core = driver_core(driver), worker = driver_worker(driver);
	struct spent before[2], after[2];
	if (core <= 0 || worker <= 0 || !spent_by(core, &before[0]) || !spent_by(worker, &before[1]))
		return false;
	int64_t start = clock_mono_ns();
	clock_sleep_ns(seconds * NS_PER_S);
	if (!spent_by(core, &after[0]) || !spent_by(worker, &after[1]))
		return false;
	double ms = bench_since_ms(start);
	double core_share = 100 * (after[0].cpu_ms - before[0].cpu_ms) / ms;
	double worker_share = 100 * (after[1].cpu_ms - before[1].cpu_ms) / ms;
	samples_add(&figures->core, core_share);
	samples_add(&figures->worker, worker_share);
	samples_add(&figures->task, (core_share + worker_share) / TASKS);
	samples_add(&figures->core_wakeups, (double)(after[0].wakeups - before[0].wakeups) * 1000 / ms);
	samples_add(&figures->worker_wakeups, (double)(after[1].wakeups - before[1].wakeups) * 1000 / ms);
	return true;
}

static bool start_round(struct driver *driver, const char *marker)
{
	struct task_text tasks[TASKS + 1] = { { 0 } };
	static const char *const names[TASKS] = { "one", "two", "three", "four" };
	for (int i = 0; i < TASKS; i++)
		tasks[i] = (struct task_text){ names[i], marker, "30m" };
	_cleanup_free_ char *file = driver_round(driver, "idle", TASKS, tasks);
	_cleanup_process_ struct process process = PROCESS_INIT;
	int code = driver_run(driver, &process, STARTED_MS, ARGUMENTS("run", file, "--detach"));
	if (code != 0)
		fprintf(stderr, "idle: the round did not start: %s%s\n", process.output.data, process.error.data);
	return code == 0 && driver_await_more(marker, TASKS, STARTED_MS);
}

static void report_all(struct figures *figures, bool json)
{
	struct report share = { .bench = "idle", .unit = "% of CPU", .json = json };
	struct report rate = { .bench = "idle", .unit = "a second", .json = json, .started = true };
	struct samples *const shares[] = { &figures->core, &figures->worker, &figures->task };
	struct samples *const rates[] = { &figures->core_wakeups, &figures->worker_wakeups };
	for (size_t i = 0; i < ELEMENTS(shares); i++) {
		report_row(&share, shares[i], NULL);
		samples_release(shares[i]);
	}
	for (size_t i = 0; i < ELEMENTS(rates); i++) {
		report_row(&rate, rates[i], NULL);
		samples_release(rates[i]);
	}
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_options_read(argc, argv, (struct bench_options){ .rounds = 3, .seconds = 10 });
	struct driver driver;
	driver_open(&driver);
	_cleanup_free_ char *marker = scratch_text("sleep 17%d", (int)getpid());
	struct figures figures = { { .name = "core, four tasks" }, { .name = "worker, four tasks" },
				   { .name = "both, a task" }, { .name = "core, wake-ups" }, { .name = "worker, wake-ups" } };
	bool whole = start_round(&driver, marker);
	clock_sleep_ns(whole ? SETTLE_NS : 0);
	for (int round = 0; round < options.rounds && whole; round++)
		whole = measure_once(&driver, options.seconds, &figures);
	report_all(&figures, options.json);
	driver_close(&driver);
	return whole ? 0 : 1;
}
