/* K5, K6: born inside the cgroup; a failed exec told apart from the command's own exit. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/io.h"
#include "tests/laws/law.h"

#define FINISH_MS 20000

/* How many processes a cgroup.procs lists, and whether all of them, bar `allowed`, are there and nowhere else. */
static int count_procs(const char *path)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	if (io_read_file(AT_FDCWD, path, 1u << 20, &text) < 0)
		return -1;
	int count = 0;
	for (size_t i = 0; i < text.length; i++)
		count += text.data[i] == '\n';
	return count;
}

/*
 * A candidate that forks as its first act: while it and its children run, the kernel lists all of them and init
 * in the run's leaf, and the worker alone in its own.
 */
static void judge_k5(const struct worker_start *how, struct verdict *verdict)
{
	static const char *const argv[] = { "/bin/sh", "-c", "for i in 1 2 3 4 5; do sleep 60 & done; echo up; wait", NULL };
	struct worker *worker = law_worker(how, verdict);
	if (!worker)
		return;
	int run = worker_run(worker, &(struct run_spec){ .argv = argv });
	if (run <= 0 || !worker_await_output(worker, run, "up", FINISH_MS)) {
		law_broken(verdict, "the candidate did not come up");
	} else {
		char path[4096];
		const char *cgroup = event_text(worker_ready(worker), "cgroup");
		snprintf(path, sizeof path, "%s/r%d/cgroup.procs", cgroup, run);
		int inside = count_procs(path);
		snprintf(path, sizeof path, "%s.worker/cgroup.procs", cgroup);
		int outside = count_procs(path);
		if (inside == 7 && outside == 1)
			law_holds(verdict, "init, shell and 5 children in the leaf, the worker alone outside");
		else
			law_broken(verdict, "%d in the leaf (7 wanted), %d beside the worker's (1 wanted)", inside, outside);
	}
	worker_free(worker);
}

static bool outcome_is(struct worker *worker, const char *const *argv, const char *outcome, int code, int error,
		       struct verdict *verdict)
{
	int run = worker_run(worker, &(struct run_spec){ .argv = argv });
	const struct run_result *result = run > 0 ? worker_finish(worker, run, FINISH_MS) : NULL;
	if (!result || !result->closed)
		return law_broken(verdict, "%s: no end", argv[0]);
	if (strcmp(result->outcome, outcome) != 0 || result->code != code || result->error != error)
		return law_broken(verdict, "%s: %s, code %d, errno %d; wanted %s, %d, %d", argv[0], result->outcome, result->code,
				  result->error, outcome, code, error);
	return true;
}

static void judge_k6(const struct worker_start *how, struct verdict *verdict)
{
	static const char *const missing[] = { "/nowhere/at-all", NULL };
	static const char *const missing_on_path[] = { "no-such-program-at-all", NULL };
	static const char *const not_executable[] = { "/etc/passwd", NULL };
	static const char *const own_127[] = { "/bin/sh", "-c", "exit 127", NULL };
	struct worker *worker = law_worker(how, verdict);
	if (!worker)
		return;
	if (outcome_is(worker, own_127, "exited", 127, 0, verdict) &&
	    outcome_is(worker, missing, "exec_failed", 0, ENOENT, verdict) &&
	    outcome_is(worker, missing_on_path, "exec_failed", 0, ENOENT, verdict) &&
	    outcome_is(worker, not_executable, "exec_failed", 0, EACCES, verdict))
		law_holds(verdict, "ENOENT and EACCES told apart from a command's own 127");
	worker_free(worker);
}

const struct law birth_laws[] = {
	{ "K5", "born inside its cgroup", "cgroup-birth", judge_k5 },
	{ "K6", "a failed exec is told apart from an exit", "exec-status", judge_k6 },
	{ 0 },
};
