/* K1, K2, K3, K10, K13: who dies, on which path, and what is bounded meanwhile. */
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "tests/laws/law.h"

#define FINISH_MS 20000

/* One run of a shell line; afterwards neither the kernel's word nor a look at all processes may know of any left. */
static bool leaves_nothing(struct worker *worker, const char *line, const char *marker, struct verdict *verdict)
{
	const char *const argv[] = { "/bin/sh", "-c", line, "sh", marker, NULL };
	int run = worker_run(worker, &(struct run_spec){ .argv = argv });
	const struct run_result *result = run > 0 ? worker_finish(worker, run, FINISH_MS) : NULL;
	if (!result || !result->closed)
		return law_broken(verdict, "no end of: %s", line);
	int alive = law_processes(marker);
	if (strcmp(result->outcome, "exited") != 0 || result->remaining != 0 || !result->removed || alive != 0)
		return law_broken(verdict, "%s %d, %d remaining, removed %d, %d alive after: %s", result->outcome, result->code,
				  result->remaining, result->removed, alive, line);
	worker_release_run(worker, run);
	return true;
}

/* The paths on which it is we who end it. */
enum ending { ENDING_KILL, ENDING_STOP, ENDING_CLOSE };

static bool ending_leaves_nothing(const struct worker_start *how, enum ending ending, struct verdict *verdict)
{
	static const char *const names[] = { "kill", "stop", "the core's end" };
	char marker[64];
	law_marker(marker, sizeof marker);
	struct worker *worker = law_worker(how, verdict);
	if (!worker)
		return false;
	const char *const argv[] = { "/bin/sh", "-c", "setsid sleep \"$1\" & echo up; exec sleep \"$1\"", "sh", marker, NULL };
	int run = worker_run(worker, &(struct run_spec){ .argv = argv });
	bool good = run > 0 && worker_await_output(worker, run, "up", FINISH_MS);
	if (!good)
		law_broken(verdict, "the candidate did not come up");
	if (good && ending == ENDING_CLOSE) {
		worker_close(worker, FINISH_MS);
	} else if (good) {
		worker_send_op(worker, ending == ENDING_KILL ? "kill" : "stop", ending == ENDING_KILL ? run : 0);
		const struct run_result *result = worker_finish(worker, run, FINISH_MS);
		good = result && result->closed && result->remaining == 0 && result->killed >= 2;
		if (!good)
			law_broken(verdict, "after %s: %d killed, %d remaining", names[ending], result ? result->killed : -1,
				   result ? result->remaining : -1);
	}
	int alive = law_processes(marker);
	if (good && alive != 0)
		good = law_broken(verdict, "%d alive after %s", alive, names[ending]);
	worker_free(worker);
	return good;
}

static void judge_k1(const struct worker_start *how, struct verdict *verdict)
{
	static const char *const lines[] = {
		"sleep \"$1\" & exit 0",		/* success */
		"sleep \"$1\" & exit 3",		/* failure */
	};
	char marker[64];
	law_marker(marker, sizeof marker);
	struct worker *worker = law_worker(how, verdict);
	bool good = worker != NULL;
	for (size_t i = 0; good && i < sizeof lines / sizeof lines[0]; i++)
		good = leaves_nothing(worker, lines[i], marker, verdict);
	worker_free(worker);
	for (int ending = ENDING_KILL; good && ending <= ENDING_CLOSE; ending++)
		good = ending_leaves_nothing(how, (enum ending)ending, verdict);
	if (good)
		law_holds(verdict, "0 survivors after success, failure, kill, stop and the core's end");
}

static void judge_one(const struct worker_start *how, const char *line, struct verdict *verdict)
{
	char marker[64];
	law_marker(marker, sizeof marker);
	struct worker *worker = law_worker(how, verdict);
	if (worker && leaves_nothing(worker, line, marker, verdict))
		law_holds(verdict, "0 survivors");
	worker_free(worker);
}

static void judge_k2(const struct worker_start *how, struct verdict *verdict)
{
	judge_one(how, "setsid sleep \"$1\" >/dev/null 2>&1 & sleep 0.1; exit 0", verdict);
}

static void judge_k3(const struct worker_start *how, struct verdict *verdict)
{
	judge_one(how, "(setsid sh -c 'trap \"\" TERM HUP; sleep \"$1\" & sleep \"$1\"' sh \"$1\" >/dev/null 2>&1 &) ; sleep 0.1; exit 0",
		  verdict);
}

/* 24 at once: all enforced, none sharing a cgroup. The names are the worker's directories, read while all of them run. */
static void judge_k10(const struct worker_start *how, struct verdict *verdict)
{
	enum { RUNS = 24 };
	static const char *const argv[] = { "/bin/sh", "-c", "echo up; read line < /proc/self/cgroup; sleep 60", NULL };
	int runs[RUNS];
	struct worker *worker = law_worker(how, verdict);
	if (!worker)
		return;
	bool good = true;
	for (int i = 0; i < RUNS; i++)
		runs[i] = worker_run(worker, &(struct run_spec){ .argv = argv });
	for (int i = 0; good && i < RUNS; i++)
		good = runs[i] > 0 && worker_await_output(worker, runs[i], "up", FINISH_MS);
	if (!good)
		law_broken(verdict, "not all of %d came up", RUNS);
	int enforced = 0;
	worker_send_op(worker, "stop", 0);
	for (int i = 0; good && i < RUNS; i++) {
		const struct run_result *result = worker_finish(worker, runs[i], FINISH_MS);
		struct json_object *containment = NULL, *member = NULL;
		if (result && result->closed && json_object_object_get_ex(result->event, "containment", &containment) &&
		    json_object_object_get_ex(containment, "enforced", &member))
			enforced += json_object_get_boolean(member) && result->killed >= 1;
	}
	if (good && enforced != RUNS)
		good = law_broken(verdict, "%d of %d enforced, each with its own process to kill", enforced, RUNS);
	worker_free(worker);
	if (good)
		law_holds(verdict, "%d at once, each killed in a cgroup of its own", RUNS);
}

/* Forks until refused, bounded at four times the limit. */
static void judge_k13(const struct worker_start *how, struct verdict *verdict)
{
	static const char *const argv[] = {
		"/bin/sh", "-c",
		"i=0; while [ $i -lt 128 ]; do (exec sleep 30) 2>/dev/null & i=$((i+1)); done; echo all", NULL
	};
	struct worker *worker = law_worker(how, verdict);
	if (!worker)
		return;
	int run = worker_run(worker, &(struct run_spec){ .argv = argv, .processes = 32 });
	const struct run_result *result = run > 0 ? worker_finish(worker, run, FINISH_MS) : NULL;
	struct json_object *refused = NULL;
	int64_t count = -1;
	if (result && result->closed && json_object_object_get_ex(result->event, "refused", &refused))
		count = event_number(refused, "processes");
	/* What the worker says of itself, by its dry run, must agree. */
	struct json_object *containment = NULL;
	json_object_object_get_ex(worker_ready(worker), "containment", &containment);
	bool denied = strstr(json_object_to_json_string(containment), "the limit on processes was met by nothing") != NULL;
	if (count > 0 && result->killed <= 32 && denied)
		law_broken(verdict, "at most 32 processes, but the worker's dry run says that no limit holds");
	else if (count > 0 && result->killed <= 32)
		law_holds(verdict, "at most 32 processes: %d were there at its end, %lld forks refused", result->killed, (long long)count);
	else
		law_broken(verdict, "128 forks under a limit of 32: %d at its end, %lld refused", result ? result->killed : -1,
			   (long long)count);
	worker_free(worker);
}

const struct law kill_laws[] = {
	{ "K1", "killed on every exit path", "cgroup-kill", judge_k1 },
	{ "K2", "a setsid descendant dies", "cgroup-kill", judge_k2 },
	{ "K3", "a double-forked daemon dies", "cgroup-kill", judge_k3 },
	{ "K10", "concurrent runs are distinct and enforced", "cgroup-kill", judge_k10 },
	{ "K13", "the number of processes is bounded while it runs", "pids-limit", judge_k13 },
	{ 0 },
};
