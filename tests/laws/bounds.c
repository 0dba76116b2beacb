/* E1, E2: the bounds of a workspace through the real collector, each at its edge, and that the first proof is enough. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/io.h"
#include "core/workspace/limits.h"
#include "core/workspace/stream.h"
#include "tests/laws/law.h"

#define FINISH_MS 60000
#define FIRST_COLLECTOR 1000000	/* numbers of runs that the harness does not give */

/* What a collector's stream says; contents are passed over. */
struct walked {
	uint64_t records;
	bool ended, refused;
	enum workspace_reason reason;
	double ms;		/* from the request to the closed boundary */
};

static bool read_walk(int stream, struct walked *walked)
{
	unsigned char header[STREAM_HEADER_BYTES];
	struct stream_record record;
	for (off_t at = STREAM_MAGIC_BYTES; pread(stream, header, sizeof header, at) == sizeof header; walked->records++) {
		if (!stream_get(header, &record))
			return false;
		walked->ended = record.type == STREAM_END;
		walked->refused = record.type == STREAM_REFUSAL;
		walked->reason = walked->refused ? (enum workspace_reason)record.mode : REASON_NONE;
		if (walked->ended || walked->refused)
			return true;
		at += (off_t)(sizeof header + record.name_length + record.size);
	}
	return false;
}

/* Collects what a run left, into memory that may hold all that E1 allows. */
static bool walk(struct worker *worker, int of, struct walked *walked, struct verdict *verdict)
{
	static int last = FIRST_COLLECTOR;
	int number = last++;
	char text[96];
	_cleanup_close_ int spec = io_sealed_memfd("spec", "{\"scratch\":[]}", 14);
	_cleanup_close_ int stream = memfd_create("stream", MFD_CLOEXEC);
	snprintf(text, sizeof text, "{\"op\":\"collect\",\"run\":%d,\"of\":%d}", number, of);
	int64_t begin = clock_mono_ns();
	*walked = (struct walked){ 0 };
	if (spec < 0 || stream < 0 || worker_send(worker, text, (const int[]){ spec, stream }, 2) < 0 ||
	    !worker_await(worker, "closed", number, FINISH_MS))
		return law_broken(verdict, "no end of a collector");
	walked->ms = (double)(clock_mono_ns() - begin) / NS_PER_MS;
	return read_walk(stream, walked) || law_broken(verdict, "a stream without an end");
}

/* Runs a shell line in the workspace of run `of` (0: an empty one). */
static int make(struct worker *worker, int of, const char *line, struct verdict *verdict)
{
	const char *const argv[] = { "/bin/sh", "-c", line, NULL };
	int run = worker_run(worker, &(struct run_spec){ .argv = argv, .workspace_of = of });
	const struct run_result *result = run > 0 ? worker_finish(worker, run, FINISH_MS) : NULL;
	if (result && result->closed && strcmp(result->outcome, "exited") == 0 && result->code == 0)
		return run;
	law_broken(verdict, "the candidate did not make what it should: %s", line);
	return -1;
}

/* Each with the smallest number of entries that reaches it; of names the length is what counts. */
static const struct bound {
	enum workspace_reason reason;
	const char *fits, *one_more;
} bounds[] = {
	/* 20,000 entries are too many files or directories before: links, which the core judges */
	{ REASON_TOO_MANY_ENTRIES, "seq 20000 | xargs ln -s -t .", "ln -s x more" },
	{ REASON_TOO_MANY_DIRECTORIES, "seq 2000 | xargs mkdir", "mkdir more" },
	{ REASON_TOO_MANY_FILES, "seq 10000 | xargs touch", "touch more" },
	{ REASON_WORKSPACE_TOO_DEEP, "mkdir -p 01/02/03/04/05/06/07/08/09/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/"
	  "29/30/31/32", "touch 01/02/03/04/05/06/07/08/09/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29/30/31/32/x" },
	/* 15 * 256 and 127 + 1 + 128 are 4,096 bytes */
	{ REASON_PATH_TOO_LONG, "n=$(printf %0255d 0); for i in $(seq 15); do mkdir $n; cd -P $n; done; n=$(printf %0127d 0); mkdir $n; "
	  "cd -P $n; touch $(printf %0128d 0)",
	  "n=$(printf %0255d 0); for i in $(seq 15); do cd -P $n; done; cd -P $(printf %0127d 0); touch $(printf %0129d 0)" },
	/* 1 + 4,095 * 256 + 255 are 1,048,576 bytes */
	{ REASON_WORKSPACE_PATHS_TOO_LARGE, "mkdir d; seq -f d/%0254g 4095 | xargs touch; touch d/$(printf %0253d 0)", "touch x" },
	{ REASON_WORKSPACE_FILE_TOO_LARGE, "truncate -s 67108864 f", "truncate -s 67108865 f" },
	{ REASON_WORKSPACE_TOO_LARGE, "truncate -s 67108864 1 2 3 4", "printf x > 5" },
};

static bool stands_at_its_edge(struct worker *worker, const struct bound *bound, struct verdict *verdict)
{
	const char *name = workspace_reason_name(bound->reason);
	struct walked walked;
	int first = make(worker, 0, bound->fits, verdict);
	if (first < 0 || !walk(worker, first, &walked, verdict))
		return false;
	if (!walked.ended)
		return law_broken(verdict, "%s: the bound itself was refused as %s", name, workspace_reason_name(walked.reason));
	int second = make(worker, first, bound->one_more, verdict);
	if (second < 0 || !walk(worker, second, &walked, verdict))
		return false;
	if (!walked.refused || walked.reason != bound->reason)
		return law_broken(verdict, "%s: one more was %s", name,
				  walked.refused ? workspace_reason_name(walked.reason) : "taken");
	worker_release_run(worker, first);
	worker_release_run(worker, second);
	return true;
}

static void judge_e1(const struct worker_start *how, struct verdict *verdict)
{
	struct worker *worker = law_worker(how, verdict);
	bool good = worker != NULL;
	for (size_t i = 0; good && i < ELEMENTS(bounds); i++)
		good = stands_at_its_edge(worker, &bounds[i], verdict);
	if (good)
		law_holds(verdict, "%zu bounds: each itself passes, one more is refused by its own name", ELEMENTS(bounds));
	worker_free(worker);
}

/* What is judged is the work done, not the time: no directory beyond the bound was visited. */
static void judge_e2(const struct worker_start *how, struct verdict *verdict)
{
	const struct workspace_limits limits = WORKSPACE_LIMITS_E1;
	struct worker *worker = law_worker(how, verdict);
	struct walked walked;
	int64_t begin = clock_mono_ns();
	int run = worker ? make(worker, 0, "seq 4000 | xargs mkdir", verdict) : -1;
	double built = (double)(clock_mono_ns() - begin) / NS_PER_MS;
	if (run > 0 && walk(worker, run, &walked, verdict)) {
		if (walked.refused && walked.reason == REASON_TOO_MANY_DIRECTORIES && walked.records <= limits.directories)
			law_holds(verdict, "4,000 directories: refused after %" PRIu64 " of them in %.1f ms, built in %.1f ms", walked.records,
				  walked.ms, built);
		else
			law_broken(verdict, "4,000 directories: %s after %" PRIu64, walked.refused ? "refused" : "taken", walked.records);
	}
	worker_free(worker);
}

const struct law bounds_laws[] = {
	{ "E1", "the walk is bounded per entry", "collect-bounds", judge_e1 },
	{ "E2", "refused at the first proof", "collect-bounds", judge_e2 },
	{ 0 },
};
