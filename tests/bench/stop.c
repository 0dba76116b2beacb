/*
 * From the stop to nothing alive: 200 sleepers (--processes), and fork bombs that a limit holds at half as many again, in 1, 8
 * and 64 boundaries together. Of proctor, from the request `stop`; of bwrap, as many of them at once, from SIGKILL; of both to
 * the end of file of a pipe that every process holds. "removed" is proctor's `stopped`: the round frozen, each leaf killed,
 * empty by the kernel's word, and removed with all its namespaces. bwrap has no limits of its own: each one's bomb
 * gets cgroups here, for the same limits of processes and CPU.
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
#include "core/base/io.h"
#include "tests/bench/load.h"
#include "tests/bench/peers.h"
#include "tests/bench/report.h"

#define READY_MS 60000
#define STOP_MS 60000

static const int counts[] = LOAD_COUNTS;

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

struct figures {
	struct samples empty, removed, bwrap;
};

/* One measure of ours, with a worker of its own: what was stopped is never used again. */
static bool stop_ours(const struct load *load, struct figures *figures)
{
	int fds[2], runs[LOAD_BOUNDARIES_MAX];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return false;
	struct load piped = *load;
	piped.output_fd = fds[1];
	struct worker *worker = load_worker("stop");
	bool whole = worker && load_start(worker, &piped, runs);
	close(fds[1]);
	whole = whole && read_lines(fds[0], load->boundaries, READY_MS);
	if (whole) {
		int64_t start = clock_mono_ns();
		worker_send_op(worker, "stop", 0);
		bool ended = read_lines(fds[0], 0, STOP_MS);
		double empty = bench_since_ms(start);
		struct json_object *stopped = worker_await(worker, "stopped", 0, STOP_MS);
		double removed = bench_since_ms(start);
		int least = load->kind == LOAD_BOMB ? load->boundaries : load->boundaries * load_share(load);
		whole = ended && stopped && event_number(stopped, "remaining") == 0 && event_number(stopped, "killed") >= least;
		if (whole) {
			samples_add(&figures->empty, empty);
			samples_add(&figures->removed, removed);
		} else {
			fprintf(stderr, "stop: %s\n", stopped ? json_object_to_json_string(stopped) : "no `stopped` in time");
		}
	}
	close(fds[0]);
	worker_free(worker);
	return whole;
}

struct other {		/* one bwrap with its share of the load */
	pid_t pid;
	struct peer_cgroup held, slowed;	/* of a bomb */
};

/* A bomb has the limits of ours: processes, and, where the host has that controller, one CPU. Two more are bwrap's own. */
static bool hold(struct other *other, const struct load *load)
{
	if (!peer_cgroup_make(&other->held, "pids") || !peer_cgroup_limit_processes(&other->held, load_share(load) + 2))
		return false;
	if (!peer_cgroup_make(&other->slowed, "cpu") || !peer_cgroup_limit_cpu(&other->slowed))
		peer_cgroup_remove(&other->slowed);
	return true;
}

static void let_go(struct other *other)
{
	peer_cgroup_remove(&other->held);
	peer_cgroup_remove(&other->slowed);
}

static bool enter(const struct peer_cgroup *cgroup)
{
	return cgroup->fd < 0 || io_write_file(cgroup->fd, "cgroup.procs", "0") == 0;
}

static bool start_bwrap(struct other *other, const struct load *load, int output)
{
	char texts[2][16];
	const char *argv[PEER_BWRAP_ARGUMENTS + LOAD_ARGUMENTS];
	size_t length = peer_bwrap(argv, LOAD_PROGRAM);
	load_command(load, texts, argv + length);
	other->held.fd = other->slowed.fd = -1;
	if (load->kind == LOAD_BOMB && !hold(other, load))
		return false;
	other->pid = fork();
	if (other->pid != 0)
		return other->pid > 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!enter(&other->slowed) || !enter(&other->held))
		_exit(126);
	dup2(output, 1);
	execvp(argv[0], (char *const *)argv);
	_exit(127);
}

static double stop_bwrap(const struct load *load)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	struct other others[LOAD_BOUNDARIES_MAX] = { 0 };
	bool whole = true;
	int started = 0;
	while (started < load->boundaries && whole)
		whole = start_bwrap(&others[started++], load, fds[1]);
	close(fds[1]);
	whole = whole && read_lines(fds[0], load->boundaries, READY_MS);
	int64_t start = clock_mono_ns();
	for (int i = 0; i < started; i++)
		if (others[i].pid > 0)
			kill(others[i].pid, SIGKILL);
	bool ended = read_lines(fds[0], 0, STOP_MS);
	double ms = bench_since_ms(start);
	for (int i = 0; i < started; i++) {
		while (others[i].pid > 0 && waitpid(others[i].pid, NULL, 0) < 0 && errno == EINTR)
			;
		let_go(&others[i]);
	}
	close(fds[0]);
	return whole && ended ? ms : -1;
}

/* Why bwrap has no row of this load here; NULL where it has. */
static const char *no_bwrap(const struct load *load)
{
	struct load small = { .kind = load->kind, .boundaries = 1, .processes = 2 };
	if (!bench_installed("bwrap"))
		return "it is not installed";
	struct other trial = { .held.fd = -1, .slowed.fd = -1 };
	bool held = load->kind != LOAD_BOMB || hold(&trial, &small);
	let_go(&trial);
	if (!held)
		return "no pids cgroup can be made to hold its bomb";
	return stop_bwrap(&small) < 0 ? "it does not work here" : NULL;
}

static void report_load(struct report *report, const struct load *load, struct figures *figures)
{
	char names[3][64];
	struct samples *const rows[] = { &figures->bwrap, &figures->empty, &figures->removed };
	static const char *const formats[] = { "bwrap", "proctor", "proctor, removed" };
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		snprintf(names[i], sizeof names[i], "%d %s in %d: %s", load->processes, load_name(load->kind), load->boundaries,
			 formats[i]);
		rows[i]->name = names[i];
	}
	for (size_t i = 0; i < ELEMENTS(rows); i++)
		report_row(report, rows[i], i ? rows[0] : NULL);
	for (size_t i = 0; i < ELEMENTS(rows); i++)
		samples_release(rows[i]);
}

static bool measure(struct report *report, enum load_kind kind, const struct bench_options *options)
{
	int processes = kind == LOAD_BOMB ? options->processes * 3 / 2 : options->processes;
	struct figures figures[ELEMENTS(counts)] = { 0 };
	const char *reason = no_bwrap(&(struct load){ .kind = kind });
	bool whole = true;
	for (int round = 0; round < options->rounds; round++) {
		for (size_t i = 0; i < ELEMENTS(counts) && counts[i] <= options->boundaries && whole; i++) {
			struct load load = { .kind = kind, .boundaries = counts[i], .processes = processes };
			whole = stop_ours(&load, &figures[i]);
			double bwrap = whole && !reason ? stop_bwrap(&load) : 0;
			whole = whole && bwrap >= 0;
			if (whole && !reason)
				samples_add(&figures[i].bwrap, bwrap);
		}
	}
	for (size_t i = 0; i < ELEMENTS(counts); i++)
		report_load(report, &(struct load){ .kind = kind, .boundaries = counts[i], .processes = processes }, &figures[i]);
	if (reason)
		fprintf(stderr, "stop: no row of bwrap for %s: %s\n", load_name(kind), reason);
	return whole;
}

int main(int argc, char **argv)
{
	const struct bench_options defaults = { .rounds = 10, .processes = 200, .boundaries = LOAD_BOUNDARIES_MAX };
	struct bench_options options = bench_options_read(argc, argv, defaults);
	struct report report = { .bench = "stop", .unit = "ms", .json = options.json };
	return measure(&report, LOAD_SLEEPERS, &options) && measure(&report, LOAD_BOMB, &options) ? 0 : 1;
}
