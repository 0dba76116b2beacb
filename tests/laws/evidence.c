/* E3, E4, E5: the collector through a real boundary. What a name refers to at the moment of the open is what it must survive. */
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "tests/laws/law.h"
#include "tests/support/subject.h"

#define FINISH_MS 20000
#define COLLECT_MS 4000

/* Runs a shell line in an empty workspace and collects what it left. False: the verdict says why. */
static bool collect_after(struct worker *worker, const char *line, struct collected *ret_collected, double *ret_ms,
			  struct verdict *verdict)
{
	const char *const argv[] = { "/bin/sh", "-c", line, NULL };
	int run = worker_run(worker, &(struct run_spec){ .argv = argv });
	const struct run_result *result = run > 0 ? worker_finish(worker, run, FINISH_MS) : NULL;
	if (!result || !result->closed || strcmp(result->outcome, "exited") != 0 || result->code != 0)
		return law_broken(verdict, "the candidate did not make what it should: %s", line);
	int64_t begin = clock_mono_ns();
	int collector = worker_collect(worker, run, NULL);
	result = collector > 0 ? worker_finish(worker, collector, COLLECT_MS) : NULL;
	*ret_ms = (double)(clock_mono_ns() - begin) / NS_PER_MS;
	if (!result || !result->closed)
		return law_broken(verdict, "the collector was not done after %d ms", COLLECT_MS);
	*ret_collected = collected_read(result->output);
	if (!ret_collected->whole) {
		law_broken(verdict, "no whole stream (collector: %s %d)", result->outcome, result->code);
		collected_release(ret_collected);
		return false;
	}
	return true;
}

static void judge_e3(const struct worker_start *how, struct verdict *verdict)
{
	struct worker *worker = law_worker(how, verdict);
	struct collected collected;
	double ms;
	if (worker && collect_after(worker, "echo secret > real; ln -s real link; mkdir d; echo x > d/f; ln -s d dirlink", &collected,
				    &ms, verdict)) {
		const struct collected_entry *link = collected_find(&collected, "link");
		const struct collected_entry *directory = collected_find(&collected, "dirlink");
		const struct collected_entry *file = collected_find(&collected, "d/f");
		if (link && link->type == STREAM_LINK && directory && directory->type == STREAM_LINK && file &&
		    !collected_find(&collected, "dirlink/f"))
			law_holds(verdict, "a link is a link, to a file and to a directory");
		else
			law_broken(verdict, "link: %s, dirlink: %s", !link ? "absent" : link->type == STREAM_LINK ? "a link" : "followed",
				   !directory ? "absent" : directory->type == STREAM_LINK ? "a link" : "followed");
		collected_release(&collected);
	}
	worker_free(worker);
}

static void judge_fifo(const struct worker_start *how, struct verdict *verdict)
{
	struct worker *worker = law_worker(how, verdict);
	struct collected collected;
	double ms;
	if (worker && collect_after(worker, "mkfifo pipe", &collected, &ms, verdict)) {
		if (collected.refused && collected.reason == REASON_IRREGULAR_FILE)
			law_holds(verdict, "a FIFO was refused as irregular_file, %.1f ms", ms);
		else
			law_broken(verdict, "a FIFO was not refused: %s",
				   collected.refused ? workspace_reason_name(collected.reason) : "taken");
		collected_release(&collected);
	}
	worker_free(worker);
}

const struct law evidence_laws[] = {
	{ "E3", "no name is used twice, no link followed", "no-follow", judge_e3 },
	{ "E4", "a FIFO costs nothing to reach", "non-block", judge_fifo },
	{ "E5", "regular files and directories only", "type-check", judge_fifo },
	{ 0 },
};
