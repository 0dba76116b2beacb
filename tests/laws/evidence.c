/*
 * E3, E4, E5: the collector through a real boundary. What a name refers to at the moment of the open is what it must survive.
 * K4: nothing that it reads can change meanwhile.
 */
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

#define APART_MS 500
#define WRITER "setsid sh -c 'i=0; while :; do i=$((i+1)); echo $i >> log; sleep 0.02; done' >/dev/null 2>&1 & " \
	       "while ! [ -s log ]; do sleep 0.01; done; echo up; "

/* Two collections of one workspace, the second half a second later. 1: equal; 0: not; -1: not both are there. */
static int readings_equal(struct worker *worker, int run)
{
	const struct run_result *results[2];
	for (int i = 0; i < 2; i++) {
		int collector = worker_collect(worker, run, NULL);
		results[i] = collector > 0 ? worker_finish(worker, collector, COLLECT_MS) : NULL;
		if (!results[i] || !results[i]->closed || strcmp(results[i]->outcome, "exited") != 0 || results[i]->code != 0)
			return -1;
		if (i == 0)
			clock_sleep_ns(APART_MS * NS_PER_MS);
	}
	return results[0]->output->length == results[1]->output->length &&
	       memcmp(results[0]->output->data, results[1]->output->data, results[0]->output->length) == 0;
}

static bool collection_refused(struct worker *worker, int run)
{
	int collector = worker_collect(worker, run, NULL);
	const struct run_result *result = collector > 0 ? worker_finish(worker, collector, COLLECT_MS) : NULL;
	return result && result->closed && strcmp(result->outcome, "failed") == 0;
}

/* A candidate with a daemon that writes: while it lives, once it was killed, and once the candidate left the daemon behind. */
static bool judge_writer(struct worker *worker, bool leaves, struct verdict *verdict)
{
	const char *const argv[] = { "/bin/sh", "-c", leaves ? WRITER "exit 0" : WRITER "sleep 60", NULL };
	int run = worker_run(worker, &(struct run_spec){ .argv = argv });
	if (run <= 0 || !worker_await_output(worker, run, "up", FINISH_MS))
		return law_broken(verdict, "the candidate did not come up");
	if (!leaves && !collection_refused(worker, run))
		return law_broken(verdict, "collected while the candidate ran; two readings %d ms apart are %s", APART_MS,
				  readings_equal(worker, run) == 1 ? "equal" : "not equal");
	if (!leaves)
		worker_send_op(worker, "kill", run);
	const struct run_result *result = worker_finish(worker, run, FINISH_MS);
	if (!result->closed || result->remaining != 0)
		return law_broken(verdict, "no end of the candidate");
	int equal = readings_equal(worker, run);
	if (equal != 1)
		return law_broken(verdict, equal == 0 ? "two readings %d ms apart are not equal" : "not collected twice, %d ms apart",
				  APART_MS);
	return true;
}

/* Where the kill itself fails, what survives is not collected beside. */
static bool judge_survivor(const struct worker_start *how, struct verdict *verdict)
{
	static const char *const environment[] = { "PROCTOR_DRAIN_MS=400", NULL };
	static const char *const argv[] = { "/bin/sh", "-c", WRITER "exit 0", NULL };
	const struct worker_start killless = { .program = how->program, .without = "cgroup-kill", .environment = environment };
	struct worker *worker = law_worker(&killless, verdict);
	int run = worker ? worker_run(worker, &(struct run_spec){ .argv = argv }) : -1;
	const struct run_result *result = run > 0 ? worker_finish(worker, run, FINISH_MS) : NULL;
	bool good = result && result->closed && result->remaining > 0;
	if (!good)
		law_broken(verdict, "no survivor, with the kill taken out");
	else if (!collection_refused(worker, run))
		good = law_broken(verdict, "collected beside %d survivors", result->remaining);
	worker_free(worker);
	return good;
}

static void judge_k4(const struct worker_start *how, struct verdict *verdict)
{
	struct worker *worker = law_worker(how, verdict);
	bool good = worker && judge_writer(worker, false, verdict) && judge_writer(worker, true, verdict);
	worker_free(worker);
	/* The programs of the test build alone can be without their kill. */
	if (good && strstr(how->program, "/guarded/") && !how->without)
		good = judge_survivor(how, verdict);
	if (good)
		law_holds(verdict, "refused while a process lives; two readings %d ms apart are equal", APART_MS);
}

const struct law evidence_laws[] = {
	{ "K4", "collected once the boundary is empty", "collect-empty", judge_k4 },
	{ "E3", "no name is used twice, no link followed", "no-follow", judge_e3 },
	{ "E4", "a FIFO costs nothing to reach", "non-block", judge_fifo },
	{ "E5", "regular files and directories only", "type-check", judge_fifo },
	{ 0 },
};
