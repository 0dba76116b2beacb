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

/* 3 is what ls itself opens. */
static void judge_descriptors(const struct worker_start *how, struct verdict *verdict)
{
	expect(how, "ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 ", true, verdict);
}

/* The host's cgroups are steered by files: there are none to be seen. */
static void judge_cgroup_view(const struct worker_start *how, struct verdict *verdict)
{
	expect(how, "grep -c ' - cgroup' /proc/self/mountinfo", "0", true, verdict);
}

/* The candidate's id on the host, as the kernel says it in the map of its namespace. */
static void judge_ids(const struct worker_start *how, struct verdict *verdict)
{
	/* Of the namespace above: root's, or the outer one of an ordinary user, where 0 is the owner. */
	expect(how, "set -- $(grep '^ *1000 ' /proc/self/uid_map) && [ \"$2\" != 0 ] && echo its own || echo \"the owner's\"",
	       "its own", true, verdict);
}

static void judge_user_namespaces(const struct worker_start *how, struct verdict *verdict)
{
	expect(how, "cat /proc/sys/user/max_user_namespaces", "0", true, verdict);
}

/* Neither hierarchy's path tells where on the host it is. */
static void judge_cgroup_namespace(const struct worker_start *how, struct verdict *verdict)
{
	expect(how, "grep -c -v ':/$' /proc/self/cgroup", "0", true, verdict);
}

static void judge_namespace(const struct worker_start *how, const char *name, struct verdict *verdict)
{
	char path[64], line[96], ours[PATH_MAX] = "";
	snprintf(path, sizeof path, "/proc/self/ns/%s", name);
	snprintf(line, sizeof line, "readlink %s", path);
	if (readlink(path, ours, sizeof ours - 1) < 0)
		law_broken(verdict, "no %s", path);
	else
		expect(how, line, ours, false, verdict);
}

static void judge_processes(const struct worker_start *how, struct verdict *verdict)
{
	judge_namespace(how, "pid", verdict);
}

/* proc_pid_stat(5): the sixth is the session. */
static void judge_session(const struct worker_start *how, struct verdict *verdict)
{
	expect(how, "set -- $(cat /proc/$$/stat); [ $6 = $$ ] && echo its own || echo \"init's\"", "its own", true, verdict);
}

static void judge_ipc(const struct worker_start *how, struct verdict *verdict)
{
	judge_namespace(how, "ipc", verdict);
}

static void judge_host_name(const struct worker_start *how, struct verdict *verdict)
{
	judge_namespace(how, "uts", verdict);
}

static void judge_network(const struct worker_start *how, struct verdict *verdict)
{
	judge_namespace(how, "net", verdict);
}

const struct law layer_laws[] = {
	{ "L-no-new-privs", "no privilege is gained by exec", "no-new-privs", judge_no_new_privs },
	{ "L-capabilities", "no capability in any set", "capabilities", judge_capabilities },
	{ "L-seccomp", "calls outside of the profile are refused", "seccomp", judge_seccomp },
	{ "L-landlock", "paths are opened for what they are granted alone", "landlock", judge_landlock },
	{ "L-network", "a network namespace of its own", "network", judge_network },
	{ "L-descriptors", "0, 1 and 2 and nothing else", "descriptors", judge_descriptors },
	{ "L-cgroup-view", "no cgroup file system in view", "cgroup-view", judge_cgroup_view },
	{ "L-ids", "ids of the run's own", "ids", judge_ids },
	{ "L-user-namespaces", "no user namespace below its own", "user-namespaces", judge_user_namespaces },
	{ "L-cgroup-namespace", "the host's cgroup paths are not told", "cgroup-namespace", judge_cgroup_namespace },
	{ "L-processes", "a pid namespace of its own", "processes", judge_processes },
	{ "L-session", "a session of its own", "session", judge_session },
	{ "L-ipc", "an ipc namespace of its own", "ipc", judge_ipc },
	{ "L-host-name", "a uts namespace of its own", "host-name", judge_host_name },
	{ 0 },
};
