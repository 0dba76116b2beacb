/*
 * What a candidate could reach of the host past its walls: shares that the kernel counts for the host's user as well,
 * memory that no limit counts, paths that are bound below a workspace it has written. Through a real worker.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/containment/host.h"
#include "tests/end-to-end/driver.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"
#include "tests/support/worker_harness.h"

#define GREEDY PROCTOR_BUILD "/tests/end-to-end/greedy"
#define FINISH_MS 20000
#define PROCESSES 20

static struct worker *start(void)
{
	struct worker *worker = worker_start(&(struct worker_start){ 0 });
	assert_non_null(worker);
	if (worker_refused(worker)) {
		char why[200];
		snprintf(why, sizeof why, "%s", event_text(worker_refused(worker), "message"));
		worker_free(worker);
		skip_test("%s", why);
	}
	return worker;
}

/* How much of a share a candidate gets; it holds it until the run is killed. */
static int take(struct worker *worker, const char *share, int *ret_run)
{
	const char *argv[] = { GREEDY, share, NULL }, *shown[] = { GREEDY, NULL };
	static const char answer[] = "took ";
	int run = worker_run(worker, &(struct run_spec){ .argv = argv, .read_only = shown, .memory_bytes = 64u << 20,
						       .processes = PROCESSES });
	assert_true(run > 0);
	*ret_run = run;
	if (!worker_await_output(worker, run, ".\n", FINISH_MS)) {
		/* Where sockets count as memory of the run's (v2), what takes too much is killed: it got nothing. */
		worker_send_op(worker, "kill", run);
		const struct run_result *ended = worker_finish(worker, run, FINISH_MS);
		if (ended && ended->closed && event_number(ended->event, "oom_kills") > 0)
			return 0;
		fail_msg("%s: no answer", share);
	}
	worker_send_op(worker, "kill", run);
	const struct run_result *result = worker_finish(worker, run, FINISH_MS);
	assert_true(result && result->closed);
	assert_memory_equal(result->output->data, answer, strlen(answer));
	return atoi(result->output->data + strlen(answer));
}

static void test_shares_are_bounded(void **state)
{
	(void)state;
	static const struct { const char *name; int least, most; } shares[] = {
		{ "inotify", 8, 32 }, { "terminals", 8, 128 }, { "timers", 500, 2048 },
		/* The first is itself; also where no pids controller is to be had (as_ordinary --bare). */
		{ "processes", PROCESSES - 1, PROCESSES },
	};
	struct worker *worker = start();
	for (size_t i = 0; i < ELEMENTS(shares); i++) {
		int run, got = take(worker, shares[i].name, &run);
		if (got < shares[i].least || got > shares[i].most)
			fail_msg("%s: a candidate got %d, %d to %d wanted", shares[i].name, got, shares[i].least, shares[i].most);
	}
	worker_free(worker);
}

static void put_link(struct worker *worker, const char *target, int *ret_run)
{
	const char *argv[] = { "/bin/ln", "-s", target, "in-the-way", NULL };
	*ret_run = worker_run(worker, &(struct run_spec){ .argv = argv });
	const struct run_result *result = worker_finish(worker, *ret_run, FINISH_MS);
	assert_true(result && result->closed && strcmp(result->outcome, "exited") == 0 && result->code == 0);
}

/*
 * The owner binds a file that is below /workspace on the host, too; a command before left a link in its way that
 * leads to a place of the host where anybody may write. Nothing may be made there, and the command sees the file.
 */
static void test_link_in_the_way_of_a_bind(void **state)
{
	(void)state;
	bool made = mkdir("/workspace", 0755) == 0;
	/* As root it is shown; whoever may not make the place has no round below it either. */
	if (!made && (errno != EEXIST || access("/workspace", W_OK) < 0)) {
		print_message("not tried: /workspace cannot be made or written here\n");
		return;
	}
	_cleanup_free_ char *outside = scratch_directory("outside");
	_cleanup_free_ char *deep = scratch_text("%s/open", outside);
	assert_int_equal(mkdir(deep, 0777), 0);
	assert_int_equal(chmod(outside, 0777) | chmod(deep, 01777), 0);
	int made_outside = -1;
	bool told = false;
	bool placed = mkdir("/workspace/in-the-way", 0755) == 0 && scratch_write("/workspace/in-the-way/below/file", 0644, "told\n") == 0;
	if (placed) {
		struct worker *worker = start();
		const char *argv[] = { "/bin/cat", "in-the-way/below/file", NULL };
		const char *shown[] = { "/workspace/in-the-way/below/file", NULL };
		int before;
		put_link(worker, deep, &before);
		int run = worker_run(worker, &(struct run_spec){ .argv = argv, .read_only = shown, .workspace_of = before });
		const struct run_result *result = worker_finish(worker, run, FINISH_MS);
		made_outside = scratch_count(deep);
		told = result && result->closed && strcmp(result->output->data, "told\n") == 0;
		worker_free(worker);
		scratch_remove("/workspace/in-the-way");
	}
	if (made)
		rmdir("/workspace");
	scratch_remove(outside);
	assert_true(placed);
	assert_int_equal(made_outside, 0);
	assert_true(told);
}

/* A device node's own times are the host's. */
static void test_device_nodes_are_not_touched(void **state)
{
	(void)state;
	struct worker *worker = start();
	const char *argv[] = { "/bin/sh", "-c", "touch /dev/null 2>/dev/null && echo touched; echo x >/dev/null && echo written", NULL };
	int run = worker_run(worker, &(struct run_spec){ .argv = argv });
	const struct run_result *result = worker_finish(worker, run, FINISH_MS);
	assert_true(result && result->closed);
	assert_string_equal(result->output->data, "written\n");
	worker_free(worker);
}

/* Of a hybrid host's v1 controllers the memory one does not count what sockets hold; a file beside it does. */
static void test_sockets_count(void **state)
{
	(void)state;
	struct worker *worker = start();
	int run, got = take(worker, "sockets", &run);
	struct json_object *limits = NULL;
	json_object_object_get_ex(worker_ready(worker), "limits", &limits);
	if (strcmp(event_text(limits, "memory"), "none") == 0) {
		print_message("not judged: no memory controller is delegated here\n");
		got = 0;
	}
	if (got > 200)
		fail_msg("%d MiB lay in sockets below a memory limit of 64 MiB", got);
	worker_free(worker);
}

/* Counts and pools of the whole host, modules that a call would load: refused, and what programs need is not. */
static void test_calls(void **state)
{
	(void)state;
	struct worker *worker = start();
	const char *argv[] = { GREEDY, "calls", NULL }, *shown[] = { GREEDY, NULL };
	int run = worker_run(worker, &(struct run_spec){ .argv = argv, .read_only = shown });
	const struct run_result *result = worker_finish(worker, run, FINISH_MS);
	assert_true(result && result->closed);
	assert_string_equal(result->output->data, "");
	assert_string_equal(result->outcome, "exited");
	assert_int_equal(result->code, 0);
	worker_free(worker);
}

/*
 * The workspace, /tmp, HOME and /dev/shm have quotas, and are charged to the run's memory: all four full are ENOSPC, and no
 * kill, beside memory of the run's own.
 */
static void test_full_places_are_no_lack_of_memory(void **state)
{
	(void)state;
	static const char *const argv[] = { "/bin/sh", "-c",
		"for d in . /tmp /home/candidate /dev/shm; do head -c 64M /dev/zero 2>/dev/null > $d/full && echo \"$d is not full\"; "
		"du -m $d/full | cut -f1; done; head -c 4M /dev/zero | tail -n 1 | wc -c", NULL };
	struct worker *worker = start();
	int run = worker_run(worker, &(struct run_spec){ .argv = argv, .memory_bytes = 16u << 20, .workspace_bytes = 4u << 20 });
	const struct run_result *result = worker_finish(worker, run, FINISH_MS);
	assert_true(result && result->closed);
	assert_string_equal(result->output->data, "4\n4\n4\n16\n4194304\n");
	assert_string_equal(result->outcome, "exited");
	assert_int_equal(event_number(result->event, "oom_kills"), 0);
	worker_free(worker);
}

/* Which of the host's user ids the processes below a worker's cgroup have, once each has one of its own; at most `size`. */
static size_t read_ids_once(struct worker *worker, unsigned *ret_ids, size_t size)
{
	const char *cgroup = event_text(worker_ready(worker), "cgroup");
	_cleanup_closedir_ DIR *leaves = opendir(cgroup);
	size_t count = 0;
	for (struct dirent *leaf; leaves && (leaf = readdir(leaves));) {
		_cleanup_free_ char *path = scratch_text("%s/%s/cgroup.procs", cgroup, leaf->d_name);
		_cleanup_free_ char *procs = leaf->d_type == DT_DIR && leaf->d_name[0] != '.' ? scratch_read(path) : NULL;
		char *rest = procs;
		for (char *pid; rest && (pid = strsep(&rest, "\n")) && *pid && count < size;) {
			_cleanup_free_ char *status = scratch_text("/proc/%s/status", pid), *text = scratch_read(status);
			const char *line = text ? strstr(text, "Uid:") : NULL;
			if (line)
				ret_ids[count++] = (unsigned)strtoul(line + 4, NULL, 10);
		}
	}
	return count;
}

static size_t read_ids(struct worker *worker, unsigned *ret_ids, size_t size)
{
	for (int i = 0;; i++) {
		/* A newborn has ours until it takes its own. */
		size_t count = read_ids_once(worker, ret_ids, size), ours = 0;
		for (size_t k = 0; k < count; k++)
			ours += ret_ids[k] == geteuid();
		if (ours == 0 || i == 200)
			return count;
		usleep(10000);
	}
}

/* No id of one worker's is another's, nor a run's another run's: inits and candidates have a pair a run. */
static void test_workers_share_no_ids(void **state)
{
	(void)state;
	enum { RUNS = 3, IDS = 64 };
	static const char *const argv[] = { "/bin/sh", "-c", "echo up; exec sleep 60", NULL };
	struct worker *workers[2] = { start(), start() };
	unsigned ids[2][IDS];
	size_t counts[2];
	for (size_t w = 0; w < 2; w++) {
		int runs[RUNS];
		for (size_t i = 0; i < RUNS; i++) {
			runs[i] = worker_run(workers[w], &(struct run_spec){ .argv = argv });
			assert_true(worker_await_output(workers[w], runs[i], "up", FINISH_MS));
		}
		/* More where a boundary is prepared for the next run. */
		counts[w] = read_ids(workers[w], ids[w], IDS);
		assert_true(counts[w] >= 2 * RUNS && counts[w] < IDS);
	}
	for (size_t i = 0; i < counts[0] + counts[1]; i++)
		for (size_t k = 0; k < i; k++) {
			unsigned one = i < counts[0] ? ids[0][i] : ids[1][i - counts[0]];
			unsigned other = k < counts[0] ? ids[0][k] : ids[1][k - counts[0]];
			if (one == other)
				fail_msg("the id %u is there twice", one);
			/* Root's are above what systemd gives to its containers and users (524288 to 1879048191). */
			assert_true(geteuid() != 0 || one > 1879048191);
		}
	worker_free(workers[0]);
	worker_free(workers[1]);
}

/* A cgroup with 128 MiB, which the test enters and what it starts stays in. Skips where memory is no v1 controller. */
struct small {
	char *cgroup, *home;	/* cgroup.procs of both */
};

static struct small enter_small(void)
{
	char own[4096];
	if (host_own_cgroup("memory", own, sizeof own, NULL) < 0)
		skip_test("the memory controller is none of a v1 hierarchy's here");
	struct small small = { scratch_text("%s/host-test-%d", own, getpid()), scratch_text("%s/cgroup.procs", own) };
	if (mkdir(small.cgroup, 0755) < 0) {
		int code = errno;
		free(small.cgroup);
		free(small.home);
		skip_test("a memory cgroup: %s", strerror(code));
	}
	_cleanup_free_ char *limit = scratch_text("%s/memory.limit_in_bytes", small.cgroup);
	_cleanup_free_ char *enter = scratch_text("%s/cgroup.procs", small.cgroup);
	assert_int_equal(io_write_file(AT_FDCWD, limit, "128M"), 0);
	assert_int_equal(io_write_file(AT_FDCWD, enter, "0"), 0);
	return small;
}

static void leave_small(const struct small *small)
{
	assert_int_equal(io_write_file(AT_FDCWD, small->home, "0"), 0);
}

static void remove_small(struct small *small)
{
	for (int i = 0; i < 500 && rmdir(small->cgroup) < 0; i++)
		usleep(10000);
	assert_false(scratch_exists(small->cgroup));
	free(small->cgroup);
	free(small->home);
}

/* Memory that runs out above the boundary is not the candidate's: there is less of it than the run's own limit. */
static void test_memory_of_the_host(void **state)
{
	(void)state;
	static const char *const argv[] = { "/usr/bin/tail", "/dev/zero", NULL };
	struct small small = enter_small();
	struct worker *worker = start();
	leave_small(&small);
	int run = worker_run(worker, &(struct run_spec){ .argv = argv, .memory_bytes = UINT64_C(1) << 30 });
	const struct run_result *result = worker_finish(worker, run, FINISH_MS);
	assert_true(result && result->closed);
	assert_int_equal(event_number(result->event, "oom_kills"), 0);
	assert_true(event_number(result->event, "host_oom_kills") > 0);
	worker_free(worker);
	remove_small(&small);
}

static void test_memory_of_the_host_is_charged_to_it(void **state)
{
	(void)state;
	const struct task_text tasks[] = { { "greedy", "exec tail /dev/zero", NULL }, { 0 } };
	_cleanup_process_ struct process round = PROCESS_INIT;
	struct driver driver;
	/* First, since it may skip, which leaves everything behind it. */
	struct small small = enter_small();
	driver_open(&driver);
	_cleanup_free_ char *file = driver_round(&driver, "small", 1, tasks);
	int r = driver_start(&driver, &round, ARGUMENTS("run", "--yes", "--display", "plain", file));
	leave_small(&small);
	assert_int_equal(r, 0);
	assert_int_equal(process_wait(&round, 3 * FINISH_MS), 0);
	if (!strstr(round.output.data, "ERROR") || !strstr(round.output.data, "the host ran out of memory") ||
	    !strstr(round.output.data, "charged to host"))
		fail_msg("%s", round.output.data);
	driver_close(&driver);
	remove_small(&small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares_are_bounded), cmocka_unit_test(test_link_in_the_way_of_a_bind),
		cmocka_unit_test(test_device_nodes_are_not_touched), cmocka_unit_test(test_sockets_count), cmocka_unit_test(test_calls),
		cmocka_unit_test(test_full_places_are_no_lack_of_memory), cmocka_unit_test(test_workers_share_no_ids),
		cmocka_unit_test(test_memory_of_the_host), cmocka_unit_test(test_memory_of_the_host_is_charged_to_it),
	};
	return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
