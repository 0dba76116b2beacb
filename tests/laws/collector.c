/* The collector's own boundary: one capability, and the calls that reading and writing one stream takes. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/io.h"
#include "tests/laws/collector_trial.h"
#include "tests/laws/law.h"
#include "tests/support/subject.h"

#define FINISH_MS 20000
#define COLLECTOR 1000000	/* a number of a run that the harness does not give */

/* A run whose workspace holds more than a pipe does, and entries that nobody but their owner could read, who is gone. */
static int leave_workspace(struct worker *worker, struct verdict *verdict)
{
	static const char *const argv[] = { "/bin/sh", "-c", "echo x > file; head -c 1000000 /dev/zero > large; "
					    "mkdir shut; echo secret > shut/file; chmod 0 shut/file shut", NULL };
	int run = worker_run(worker, &(struct run_spec){ .argv = argv });
	const struct run_result *result = run > 0 ? worker_finish(worker, run, FINISH_MS) : NULL;
	if (result && result->closed && strcmp(result->outcome, "exited") == 0 && result->code == 0)
		return run;
	law_broken(verdict, "the candidate did not make what it should");
	return -1;
}

/* Starts a collector that nobody reads: it fills the pipe and stands still. Returns the read end. */
static int stall_collector(struct worker *worker, int run)
{
	char text[96];
	int fds[2];
	_cleanup_close_ int spec = io_sealed_memfd("spec", "{\"scratch\":[]}", 14);
	if (spec < 0 || pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	snprintf(text, sizeof text, "{\"op\":\"collect\",\"run\":%d,\"of\":%d}", COLLECTOR, run);
	worker_send(worker, text, (const int[]){ spec, fds[1] }, 2);
	close(fds[1]);
	struct pollfd readable = { .fd = fds[0], .events = POLLIN };
	if (poll(&readable, 1, FINISH_MS) == 1)
		return fds[0];
	close(fds[0]);
	return -1;
}

/* /proc/PID/status of the one process in the collector's leaf. */
static bool read_status(struct worker *worker, struct buffer *status)
{
	char path[4096];
	_cleanup_buffer_ struct buffer procs = BUFFER_INIT;
	snprintf(path, sizeof path, "%s/r%d/cgroup.procs", event_text(worker_ready(worker), "cgroup"), COLLECTOR);
	if (io_read_file(AT_FDCWD, path, 4096, &procs) < 0 || procs.length == 0)
		return false;
	snprintf(path, sizeof path, "/proc/%d/status", atoi(procs.data));
	return io_read_file(AT_FDCWD, path, 65536, status) == 0;
}

static bool status_says(const struct buffer *status, const char *const *wanted, struct verdict *verdict)
{
	for (; *wanted; wanted++) {
		size_t name = strcspn(*wanted, ":") + 1;
		char line[80] = "";
		const char *at = memmem(status->data, status->length, *wanted, name);
		if (at)
			snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
		if (strcmp(line, *wanted) != 0)
			return law_broken(verdict, "%s of the collector, not %s", line[0] ? line : "nothing", *wanted);
	}
	return true;
}

static bool stands_as(struct worker *worker, int run, const char *const *wanted, struct verdict *verdict)
{
	_cleanup_buffer_ struct buffer status = BUFFER_INIT;
	_cleanup_close_ int stream = stall_collector(worker, run);
	bool good = stream >= 0 && read_status(worker, &status);
	good = good ? status_says(&status, wanted, verdict) : law_broken(verdict, "no collector to look at");
	worker_send_op(worker, "kill", COLLECTOR);
	if (!worker_await(worker, "closed", COLLECTOR, FINISH_MS))
		good = law_broken(verdict, "the collector was not killed");
	return good;
}

static bool is_guarded(const struct worker_start *how)
{
	return strstr(how->program, "/guarded/") != NULL;
}

/* In the test build the collector itself tries what it has no need of. */
static bool trial_refused(struct worker *worker, int run, struct verdict *verdict)
{
	static const char *const scratch[] = { COLLECTOR_TRIAL, NULL };
	int collector = worker_collect(worker, run, scratch);
	const struct run_result *result = collector > 0 ? worker_finish(worker, collector, FINISH_MS) : NULL;
	if (!result || !result->closed || strcmp(result->outcome, "exited") != 0)
		return law_broken(verdict, "the collector's trial did not end by itself");
	if (result->code != 0)
		return law_broken(verdict, "the collector's trial %d was let through", result->code);
	return true;
}

static void judge_calls(const struct worker_start *how, struct verdict *verdict)
{
	static const char *const wanted[] = { "NoNewPrivs:\t1", "Seccomp:\t2", "Seccomp_filters:\t2", NULL };
	struct worker *worker = law_worker(how, verdict);
	int run = worker ? leave_workspace(worker, verdict) : -1;
	/* With the guard out the trial is what shows it: the first of them that works. */
	if (run > 0 && (!is_guarded(how) || trial_refused(worker, run, verdict)) && stands_as(worker, run, wanted, verdict))
		law_holds(verdict, "a filter of its own%s", is_guarded(how) ? ", and all that was tried was refused" : "");
	worker_free(worker);
}

/* What it is for: modes of 0 hide nothing. */
static bool reads_what_is_shut(struct worker *worker, int run, struct verdict *verdict)
{
	int collector = worker_collect(worker, run, NULL);
	const struct run_result *result = collector > 0 ? worker_finish(worker, collector, FINISH_MS) : NULL;
	if (!result || !result->closed)
		return law_broken(verdict, "no end of the collector");
	struct collected collected = collected_read(result->output);
	const struct collected_entry *directory = collected_find(&collected, "shut");
	const struct collected_entry *file = collected_find(&collected, "shut/file");
	bool good = collected.whole && !collected.refused && directory && directory->mode == 0 && file && file->mode == 0 &&
		    strcmp(file->content, "secret\n") == 0;
	collected_release(&collected);
	return good || law_broken(verdict, "what has the mode 0 was not collected");
}

static void judge_capability(const struct worker_start *how, struct verdict *verdict)
{
	static const char *const wanted[] = { "CapInh:\t0000000000000000", "CapPrm:\t0000000000000004", "CapEff:\t0000000000000004",
					      "CapBnd:\t0000000000000004", "CapAmb:\t0000000000000000", NULL };
	struct worker *worker = law_worker(how, verdict);
	int run = worker ? leave_workspace(worker, verdict) : -1;
	if (run > 0 && reads_what_is_shut(worker, run, verdict) && stands_as(worker, run, wanted, verdict))
		law_holds(verdict, "CAP_DAC_READ_SEARCH alone");
	worker_free(worker);
}

const struct law collector_laws[] = {
	{ "L-collector", "the collector reads, and writes one stream", "collector-calls", judge_calls },
	{ "L-collector-capability", "the collector has one capability", "capabilities", judge_capability },
	{ 0 },
};
