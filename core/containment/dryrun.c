/* The dry run of dryrun.h: the real path of every run, with canaries of ours for a command. */
#include "core/containment/dryrun.h"

#include <errno.h>

#include "core/base/clock.h"

#define DRY_PROCESSES 16	/* the limit */
#define DRY_CANARIES 64		/* asked for: more than the limit lets in */
#define DRY_RUN_NS (10 * NS_PER_S)

int dryrun(struct worker *worker, double *ret_ms, struct pr_error *error)
{
	struct run_request request = {
		.number = 0, .kind = BIRTH_RUN, .limits = { .processes = DRY_PROCESSES }, .workspace_bytes = 1 << 20,
		.workspace_inodes = 64, .output = { -1, -1 }, .stream = -1, .canaries = DRY_CANARIES,
	};
	struct run *run;
	int64_t begin = clock_mono_ns();
	int r = run_start(worker, &request, &run, error);
	if (r < 0)
		return pr_error_prefix(error, "no boundary: ");
	while (run->state != RUN_CLOSED && clock_mono_ns() - begin < DRY_RUN_NS + 35 * NS_PER_S) {
		struct pollfd fds[3];
		size_t count = run_poll(run, fds);
		int64_t wait = run_wait_ns(run);
		poll(fds, count, wait < 100 * NS_PER_MS ? (int)(wait / NS_PER_MS) + 1 : 100);
		run_step(worker, run);
		if (run->state == RUN_RUNNING || clock_mono_ns() - begin > DRY_RUN_NS)
			run_close(worker, run);
	}
	*ret_ms = (double)(clock_mono_ns() - begin) / NS_PER_MS;
	if (run->outcome == OUTCOME_SETUP_FAILED || run->outcome == OUTCOME_LOST) {
		r = pr_error_set(error, run->error ? run->error : ECHILD, "no boundary: %s at %s", run_outcome_name(run->outcome),
				 run->stage[0] ? run->stage : "the dry run");
	} else {
		/* The parents of the double forks may be gone by then: what counts is what lived and lives no more. */
		worker->kill_boundary_shown = run->killed > 0 && run->remaining == 0;
		worker->cleanup_shown = run->removed;
		worker->pids_limit_tried = true;
		worker->pids_limit_shown = run->counts.pids_refused > 0;
	}
	run_free(worker, run);
	return r;
}
