/*
 * The layers that have a guard and no law of a number of their own: each is judged by what a candidate then can do,
 * or by what the kernel says of it. "L-" and the guard's id.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/laws/law.h"
#include "tests/support/subject.h"

#define FINISH_MS 20000

/* Runs a shell line, with a subject, and compares its output, less the last line feed. */
static void expect(const struct worker_start *how, const char *line, const char *wanted, bool equal, struct verdict *verdict)
{
	static const struct subject_entry subject[] = { { .path = "file", .content = "x\n" }, { 0 } };
	const char *const argv[] = { "/bin/sh", "-c", line, NULL };
	struct worker *worker = law_worker(how, verdict);
	if (!worker)
		return;
	int stream = subject_stream(subject);
	int run = worker_run(worker, &(struct run_spec){ .argv = argv, .subject_fd = stream });
	const struct run_result *result = run > 0 ? worker_finish(worker, run, FINISH_MS) : NULL;
	char seen[256] = "";
	if (result && result->closed && result->output->data)
		snprintf(seen, sizeof seen, "%.*s", (int)strcspn(result->output->data, "\n"), result->output->data);
	if (!result || !result->closed || strcmp(result->outcome, "exited") != 0)
		law_broken(verdict, "no run: %s at %s", result ? result->outcome : "no end", result ? event_text(result->event, "stage") : "");
	else if ((strcmp(seen, wanted) == 0) == equal && seen[0])
		law_holds(verdict, "%s", seen);
	else
		law_broken(verdict, "%s, %s %s", seen, equal ? "wanted" : "which is also", wanted);
	worker_free(worker);
	close(stream);
}

static void judge_no_new_privs(const struct worker_start *how, struct verdict *verdict)
{
	expect(how, "grep NoNewPrivs /proc/self/status | tr -d '\\t'", "NoNewPrivs:1", true, verdict);
}

static void judge_capabilities(const struct worker_start *how, struct verdict *verdict)
{
	expect(how, "grep -c -E '^Cap(Inh|Prm|Eff|Bnd|Amb):.0{16}$' /proc/self/status", "5", true, verdict);
}

/* personality(2) needs no privilege: nothing but the filter refuses it. */
static void judge_seccomp(const struct worker_start *how, struct verdict *verdict)
{
	expect(how, "setarch -R true 2>/dev/null && echo changed || echo refused", "refused", true, verdict);
}

/* A process may raise its own oom_score_adj by every other layer (proc(5)). */
static void judge_landlock(const struct worker_start *how, struct verdict *verdict)
{
	expect(how, "(echo 500 > /proc/self/oom_score_adj) 2>/dev/null && echo written || echo refused", "refused", true, verdict);
}

static void judge_network(const struct worker_start *how, struct verdict *verdict)
{
	char ours[PATH_MAX] = "";
	if (readlink("/proc/self/ns/net", ours, sizeof ours - 1) < 0)
		law_broken(verdict, "no /proc/self/ns/net");
	else
		expect(how, "readlink /proc/self/ns/net", ours, false, verdict);
}

/* 3 is what ls itself opens. */
static void judge_descriptors(const struct worker_start *how, struct verdict *verdict)
{
	expect(how, "ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 ", true, verdict);
}

const struct law layer_laws[] = {
	{ "L-no-new-privs", "no privilege is gained by exec", "no-new-privs", judge_no_new_privs },
	{ "L-capabilities", "no capability in any set", "capabilities", judge_capabilities },
	{ "L-seccomp", "calls outside of the profile are refused", "seccomp", judge_seccomp },
	{ "L-landlock", "paths are opened for what they are granted alone", "landlock", judge_landlock },
	{ "L-network", "a network namespace of its own", "network", judge_network },
	{ "L-descriptors", "0, 1 and 2 and nothing else", "descriptors", judge_descriptors },
	{ 0 },
};
