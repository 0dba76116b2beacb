/* K14, K15: no boundary, no run; and what a run may claim, by what it survives. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/io.h"
#include "core/containment/host.h"
#include "tests/laws/law.h"

#define FINISH_MS 20000
#define PATH_SIZE 4600

/* --- K15 -------------------------------------------------------------------------------------------- */

static const struct shape {
	const char *name, *line;	/* $1: how long to sleep, a marker too */
} shapes[] = {
	{ "background child", "sleep $1 >/dev/null 2>&1 & exit 0" },
	{ "setsid", "setsid sleep $1 >/dev/null 2>&1 & sleep 0.1; exit 0" },
	{ "double-forked daemon", "(setsid sh -c 'trap \"\" TERM HUP; sleep $1 & sleep $1' sh $1 >/dev/null 2>&1 &); sleep 0.1; exit 0" },
};

/* What escaped is to be gone by itself, should this test die: half a minute. */
static void short_marker(char *ret_marker, size_t size)
{
	static unsigned serial;
	snprintf(ret_marker, size, "30.%07d%03u", getpid(), ++serial);
}

static void end_survivors(const char *marker)
{
	_cleanup_closedir_ DIR *stream = opendir("/proc");
	for (struct dirent *entry; stream && (entry = readdir(stream));) {
		char path[300];
		_cleanup_buffer_ struct buffer text = BUFFER_INIT;
		int pid = atoi(entry->d_name);
		snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
		if (pid > 1 && pid != getpid() && io_read_file(AT_FDCWD, path, 65536, &text) == 0 && text.length &&
		    memmem(text.data, text.length, marker, strlen(marker)))
			kill(pid, SIGKILL);
	}
}

struct survived {
	int alive;
	char profile[64];
	bool enforced, certifiable;
};

static bool truth(struct json_object *object, const char *name)
{
	struct json_object *member = NULL;
	return json_object_object_get_ex(object, name, &member) && json_object_is_type(member, json_type_boolean) &&
	       json_object_get_boolean(member);
}

/* Runs one shape to its end; who is left then, and what the record says of it. */
static bool survive(struct worker *worker, const struct shape *shape, struct survived *ret_survived, struct verdict *verdict)
{
	char marker[64];
	short_marker(marker, sizeof marker);
	const char *const argv[] = { "/bin/sh", "-c", shape->line, "sh", marker, NULL };
	int run = worker_run(worker, &(struct run_spec){ .argv = argv });
	const struct run_result *result = run > 0 ? worker_finish(worker, run, FINISH_MS) : NULL;
	struct json_object *containment = NULL;
	if (!result || !result->closed || strcmp(result->outcome, "exited") != 0 || result->code != 0)
		return law_broken(verdict, "%s: %s %d", shape->name, result ? result->outcome : "no end", result ? result->code : -1);
	json_object_object_get_ex(result->event, "containment", &containment);
	/* A group's kill has nothing to wait on: what it reached is dead a moment later. */
	bool weak = strcmp(event_text(containment, "profile"), "traaviis.process-group.v1") == 0;
	ret_survived->alive = weak ? law_processes_settle(marker, 500) : law_processes(marker);
	snprintf(ret_survived->profile, sizeof ret_survived->profile, "%s", event_text(containment, "profile"));
	ret_survived->enforced = truth(containment, "enforced");
	ret_survived->certifiable = truth(containment, "certifiable");
	end_survivors(marker);
	law_processes_settle(marker, FINISH_MS);
	return true;
}

/* Forced down to a process group: a child of the group dies, what took a session lives, and the record claims nothing. */
static bool weak_is_weak(struct verdict *verdict)
{
	struct worker *worker = law_worker(&(struct worker_start){ .without = "kill-boundary" }, verdict);
	bool good = worker != NULL;
	for (size_t i = 0; good && i < sizeof shapes / sizeof shapes[0]; i++) {
		struct survived survived;
		good = survive(worker, &shapes[i], &survived, verdict);
		bool escapes = i > 0;
		if (good && (survived.alive > 0) != escapes)
			good = law_broken(verdict, "forced down, %s: %d survivors", shapes[i].name, survived.alive);
		else if (good && (survived.enforced || survived.certifiable ||
				  strcmp(survived.profile, "traaviis.process-group.v1") != 0))
			good = law_broken(verdict, "forced down, the record says %s, enforced %d", survived.profile, survived.enforced);
	}
	worker_free(worker);
	return good;
}

static void judge_k15(const struct worker_start *how, struct verdict *verdict)
{
	struct worker *worker = law_worker(how, verdict);
	bool good = worker != NULL;
	for (size_t i = 0; good && i < sizeof shapes / sizeof shapes[0]; i++) {
		struct survived survived;
		good = survive(worker, &shapes[i], &survived, verdict);
		if (good && survived.alive > 0)
			good = law_broken(verdict, "%s: %d survivors, as %s, enforced %s", shapes[i].name, survived.alive,
					  survived.profile, survived.enforced ? "true" : "false");
		else if (good && (!survived.enforced || strcmp(survived.profile, "traaviis.cgroup-kill-observed.v1") != 0))
			good = law_broken(verdict, "%s: the record says %s, enforced %d", shapes[i].name, survived.profile, survived.enforced);
	}
	worker_free(worker);
	if (good && weak_is_weak(verdict))
		law_holds(verdict, "all three shapes: exit 0, 0 survivors; forced down setsid escapes, and enforced is false");
}

/* --- K14 -------------------------------------------------------------------------------------------- */

static char home[PATH_SIZE], narrow[PATH_SIZE];	/* our own cgroup, and the one that we are in meanwhile */

static int move_to(const char *directory)
{
	char path[PATH_SIZE + 16];
	snprintf(path, sizeof path, "%s/cgroup.procs", directory);
	return io_write_file(AT_FDCWD, path, "0");
}

static void go_home(void)
{
	move_to(home);
	for (int tries = 0; tries < 200 && rmdir(narrow) < 0 && errno == EBUSY; tries++)
		clock_sleep_ns(10 * NS_PER_MS);
}

/*
 * A cgroup of our own in which a worker finds its place, and can be kept from bearing anything: by a bound on what may be
 * made in it. Where a worker would take another one above it, this host cannot tell.
 */
static const char *cannot_narrow(struct json_object *ready)
{
	static const char why[] = "no cgroup of this test's own in which a worker would take its place";
	struct pr_error error = { 0 };
	(void)ready;
	if (host_own_cgroup(NULL, home, sizeof home, &error) < 0)
		return why;
	snprintf(narrow, sizeof narrow, "%.4000s/law-%d", home, getpid());
	if (mkdir(narrow, 0755) < 0 || move_to(narrow) < 0) {
		rmdir(narrow);
		return why;
	}
	atexit(go_home);
	struct worker *worker = worker_start(&(struct worker_start){ 0 });
	const char *cgroup = worker && !worker_refused(worker) ? event_text(worker_ready(worker), "cgroup") : "";
	bool ours = strncmp(cgroup, narrow, strlen(narrow)) == 0 && cgroup[strlen(narrow)] == '/';
	worker_free(worker);
	return ours ? NULL : why;
}

static void judge_k14(const struct worker_start *how, struct verdict *verdict)
{
	static const char *const argv[] = { "/bin/sh", "-c", "echo started", NULL };
	char file[PATH_SIZE + 32];
	/* The round's parent and the worker's own leaf; a third is a run's. */
	snprintf(file, sizeof file, "%s/cgroup.max.descendants", narrow);
	if (io_write_file(AT_FDCWD, file, "2") < 0) {
		law_broken(verdict, "%s cannot be written", file);
		return;
	}
	struct worker *worker = worker_start(how);
	struct json_object *refused = worker ? worker_refused(worker) : NULL;
	if (!worker) {
		law_broken(verdict, "the worker said nothing");
	} else if (!refused) {
		int run = worker_run(worker, &(struct run_spec){ .argv = argv });
		const struct run_result *result = run > 0 ? worker_finish(worker, run, FINISH_MS) : NULL;
		law_broken(verdict, "no boundary can be born here, and the worker was ready; a run then: %s", result ? result->outcome : "none");
	} else {
		char words[300];
		snprintf(words, sizeof words, "%s", event_text(refused, "message"));
		bool told = strcmp(event_text(refused, "code"), "no-boundary") == 0 && words[0];
		int code = worker_close(worker, FINISH_MS);
		if (told && code == 2)
			law_holds(verdict, "refused before anything was started, exit 2: %s", words);
		else
			law_broken(verdict, "exit %d, said: %s", code, words);
	}
	worker_free(worker);
	io_write_file(AT_FDCWD, file, "max");
}

const struct law profile_laws[] = {
	{ "K14", "no boundary, no run", "refusal", judge_k14 },
	{ "K15", "a claim is what was survived", "kill-boundary", judge_k15 },
	{ 0 },
};

const struct law_more profile_more[] = { { "K14", NULL, cannot_narrow }, { 0 } };
