/*
 * From the stop to nothing alive: four tasks with 200 sleeping processes each. Of proctor, from the request `stop` to
 * `stopped` (the round frozen, each leaf killed, waited for until it is empty, and removed); of bwrap, four of
 * them at once, from SIGKILL to the end of file of a pipe that every sleeper holds.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "tests/bench/report.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"
#include "tests/support/worker_harness.h"

#define TASKS 4
#define READY_MS 120000
#define STOP_MS 60000

static char *sleepers_script;

static double since_ms(int64_t start)
{
	return (double)(clock_mono_ns() - start) / (double)NS_PER_MS;
}

/* One measure of ours in ms, with a worker of its own: what was stopped is never used again. */
static double stop_ours(int sleepers)
{
	struct worker *worker = worker_start(&(struct worker_start){ 0 });
	if (!worker || worker_refused(worker)) {
		fprintf(stderr, "stop: no boundary on this host: %s\n", worker ? event_text(worker_refused(worker), "message") : "");
		worker_free(worker);
		return -1;
	}
	const struct run_spec spec = { .argv = (const char *[]){ "sh", "-c", sleepers_script, NULL },
				       .processes = sleepers + 50, .memory_bytes = UINT64_C(1) << 30,
				       .workspace_bytes = UINT64_C(16) << 20, .inodes = 1000 };
	int runs[TASKS];
	bool ready = true;
	for (int i = 0; i < TASKS; i++)
		ready = (runs[i] = worker_run(worker, &spec)) > 0 && ready;
	for (int i = 0; i < TASKS && ready; i++)
		ready = worker_await_output(worker, runs[i], "ready\n", READY_MS);
	double ms = -1;
	if (ready) {
		int64_t start = clock_mono_ns();
		worker_send_op(worker, "stop", 0);
		struct json_object *stopped = worker_await(worker, "stopped", 0, STOP_MS);
		ms = since_ms(start);
		if (!stopped || event_number(stopped, "remaining") != 0 || event_number(stopped, "killed") < TASKS * sleepers) {
			fprintf(stderr, "stop: %s\n", stopped ? json_object_to_json_string(stopped) : "no `stopped` in time");
			ms = -1;
		}
	} else {
		fprintf(stderr, "stop: the sleepers did not start\n");
	}
	worker_free(worker);
	return ms;
}

static pid_t start_bwrap(int output)
{
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(output, 1);
	execlp("bwrap", "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr", "--symlink",
	       "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev",
	       "/dev", "--tmpfs", "/tmp", "sh", "-c", sleepers_script, (char *)NULL);
	_exit(127);
}

/* Reads until `lines` lines came (0: until the end of file); false where that took too long. */
static bool read_lines(int fd, int lines, int timeout_ms)
{
	int64_t end = clock_mono_ns() + timeout_ms * NS_PER_MS;
	int seen = 0;
	for (;;) {
		struct pollfd readable = { .fd = fd, .events = POLLIN };
		int64_t left = (end - clock_mono_ns()) / NS_PER_MS;
		if (left <= 0 || poll(&readable, 1, (int)left) <= 0)
			return false;
		char bytes[256];
		ssize_t n = read(fd, bytes, sizeof bytes);
		if (n <= 0)
			return n == 0 && lines == 0;
		for (ssize_t i = 0; i < n; i++)
			seen += bytes[i] == '\n';
		if (lines && seen >= lines)
			return true;
	}
}

static double stop_bwrap(void)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	pid_t pids[TASKS];
	for (int i = 0; i < TASKS; i++)
		pids[i] = start_bwrap(fds[1]);
	close(fds[1]);
	bool ready = read_lines(fds[0], TASKS, READY_MS);
	int64_t start = clock_mono_ns();
	for (int i = 0; i < TASKS; i++)
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
	bool ended = read_lines(fds[0], 0, STOP_MS);
	double ms = since_ms(start);
	for (int i = 0; i < TASKS; i++)
		while (pids[i] > 0 && waitpid(pids[i], NULL, 0) < 0 && errno == EINTR)
			;
	close(fds[0]);
	return ready && ended ? ms : -1;
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_options_read(argc, argv, (struct bench_options){ .rounds = 10, .sleepers = 200 });
	if (access(PROCTOR_BUILD "/proctor-worker", X_OK) < 0)
		skip_program("%s/proctor-worker is not built", PROCTOR_BUILD);
	sleepers_script = scratch_text("i=0; while [ $i -lt %d ]; do sleep 600 & i=$((i+1)); done; echo ready; wait", options.sleepers);

	struct samples ours = { .name = "proctor" }, bwrap = { .name = "bwrap" };
	bool peer = bench_installed("bwrap") && stop_bwrap() >= 0;
	bool whole = true;
	for (int round = 0; round < options.rounds && whole; round++) {
		double a = stop_ours(options.sleepers), b = peer ? stop_bwrap() : 0;
		whole = a >= 0 && b >= 0;
		if (whole)
			samples_add(&ours, a);
		if (whole && peer)
			samples_add(&bwrap, b);
	}
	struct report report = { .bench = "stop", .unit = "ms", .json = options.json };
	report_row(&report, &ours, peer ? &bwrap : NULL);
	report_row(&report, &bwrap, NULL);
	if (!peer)
		fprintf(stderr, "stop: no row of bwrap: it is not installed, or does not work here\n");
	samples_release(&ours);
	samples_release(&bwrap);
	free(sleepers_script);
	return whole ? 0 : 1;
}
