/*
 * What a candidate could reach of the host past its walls: shares that the kernel counts for the host's user as well,
 * memory that no limit counts, paths that are bound below a workspace it has written. Through a real worker.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
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
	if (!worker_await_output(worker, run, ".\n", FINISH_MS))
		fail_msg("%s: no answer", share);
	worker_send_op(worker, "kill", run);
	*ret_run = run;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares_are_bounded), cmocka_unit_test(test_link_in_the_way_of_a_bind),
		cmocka_unit_test(test_device_nodes_are_not_touched), cmocka_unit_test(test_sockets_count), cmocka_unit_test(test_calls),
	};
	return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
