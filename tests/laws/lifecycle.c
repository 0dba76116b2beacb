/* K7, K9, K11: when a boundary is empty, and how its cgroups go; and what a dead owner left. */
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
#include "tests/laws/law.h"

#define FINISH_MS 20000
#define PATH_SIZE 4600

/* A run that sleeps with a marker; its number, and its leaf below `parent` on the host. */
static int start_sleeper(struct worker *worker, const char *parent, char *ret_leaf, struct verdict *verdict)
{
	char marker[64];
	const char *const argv[] = { "/bin/sh", "-c", "echo up; exec sleep $1", "sh", marker, NULL };
	law_marker(marker, sizeof marker);
	int run = worker_run(worker, &(struct run_spec){ .argv = argv });
	if (run > 0 && worker_await_output(worker, run, "up", FINISH_MS) && law_find_leaf(parent, marker, ret_leaf, PATH_SIZE))
		return run;
	law_broken(verdict, "a run did not come up");
	return -1;
}

static const struct run_result *end_run(struct worker *worker, int run, struct verdict *verdict)
{
	worker_send_op(worker, "kill", run);
	const struct run_result *result = worker_finish(worker, run, FINISH_MS);
	if (result && result->closed)
		return result;
	law_broken(verdict, "no end of a run that was killed");
	return NULL;
}

static bool enforced(const struct run_result *result)
{
	struct json_object *containment = NULL, *member = NULL;
	return json_object_object_get_ex(result->event, "containment", &containment) &&
	       json_object_object_get_ex(containment, "enforced", &member) && json_object_get_boolean(member);
}

static int nested_of(const struct run_result *result)
{
	return (int)event_number(result->event, "nested");
}

/* --- K7 --------------------------------------------------------------------------------------------- */

static const char *const crowd[] = { "/bin/sh", "-c",
				     "i=0; while [ $i -lt 100 ]; do setsid sleep 100 & i=$((i+1)); done; echo up; exit 0", NULL };

/* What cannot be killed is counted and told once the bounded wait is over: 400 ms here instead of 30 s. */
static bool reports_the_rest(struct verdict *verdict)
{
	static const char *const environment[] = { "PROCTOR_DRAIN_MS=400", NULL };
	static const char *const argv[] = { "/bin/sh", "-c", "for i in 1 2 3 4 5; do sleep 100 & done; exit 0", NULL };
	struct worker *worker = law_worker(&(struct worker_start){ .without = "cgroup-kill", .environment = environment }, verdict);
	int run = worker ? worker_run(worker, &(struct run_spec){ .argv = argv }) : -1;
	const struct run_result *result = run > 0 ? worker_finish(worker, run, FINISH_MS) : NULL;
	bool good = result && result->closed && result->remaining >= 5 && !result->removed && !enforced(result);
	if (!good)
		law_broken(verdict, "5 that were not killed: %d remaining, removed %d", result ? result->remaining : -1,
			   result ? result->removed : -1);
	worker_free(worker);
	return good;
}

static void judge_k7(const struct worker_start *how, struct verdict *verdict)
{
	struct worker *worker = law_worker(how, verdict);
	int run = worker ? worker_run(worker, &(struct run_spec){ .argv = crowd }) : -1;
	const struct run_result *result = run > 0 ? worker_finish(worker, run, FINISH_MS) : NULL;
	if (!result || !result->closed)
		law_broken(verdict, "no end of it");
	else if (result->remaining != 0 || !result->removed || result->killed < 100)
		law_broken(verdict, "closed with %d killed, %d remaining, removed %d", result->killed, result->remaining, result->removed);
	else if (reports_the_rest(verdict))
		law_holds(verdict, "closed when the kernel said empty: %d killed, %.1f ms; what is left after the bounded wait is told",
			  result->killed, result->ms);
	worker_free(worker);
}

/* --- K9 --------------------------------------------------------------------------------------------- */

static const char *first_v1(struct json_object *ready)
{
	struct json_object *v1 = NULL;
	if (!json_object_object_get_ex(ready, "v1", &v1) || json_object_array_length(v1) == 0)
		return NULL;
	return json_object_get_string(json_object_array_get_idx(v1, 0));
}

/* Of a v1 hierarchy alone can a directory be busy while the boundary is empty. */
static const char *needs_v1(struct json_object *ready)
{
	return first_v1(ready) ? NULL : "no v1 hierarchy, in which a cgroup could be made busy from outside";
}

/* A process of ours in the leaf of the v1 hierarchy, that goes after so long. */
static pid_t occupy(const char *leaf, int ms)
{
	char path[PATH_SIZE + 16];
	int ready[2];
	char byte;
	snprintf(path, sizeof path, "%s/tasks", leaf);
	if (pipe2(ready, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		if (io_write_file(AT_FDCWD, path, "0") < 0)
			_exit(1);
		close(ready[1]);
		clock_sleep_ns(ms * NS_PER_MS);
		_exit(0);
	}
	close(ready[1]);
	(void)!read(ready[0], &byte, 1);
	close(ready[0]);
	return pid;
}

static void judge_k9(const struct worker_start *how, struct verdict *verdict)
{
	char leaf[PATH_SIZE];
	struct worker *worker = law_worker(how, verdict);
	int run = worker ? start_sleeper(worker, first_v1(worker_ready(worker)), leaf, verdict) : -1;
	if (run > 0) {
		pid_t pid = occupy(leaf, 500);
		const struct run_result *result = end_run(worker, run, verdict);
		int status = 0;
		waitpid(pid, &status, 0);
		if (result && status != 0)
			law_broken(verdict, "nobody could enter %s", leaf);
		else if (result && result->removed)
			law_holds(verdict, "a cgroup that was busy for 500 ms was removed, %.0f ms", result->ms);
		else if (result)
			law_broken(verdict, "a cgroup that was busy for 500 ms was left");
	}
	worker_free(worker);
}

static bool read_number(const char *path, long *ret_number)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	if (io_read_file(AT_FDCWD, path, 4096, &text) < 0 || !text.data)
		return false;
	*ret_number = atol(text.data);
	return true;
}

/* A cgroup as a round of an owner that cannot live has left it: with a leaf, a nested one, and a process. */
static pid_t leave_behind(const char *base, char *ret_path)
{
	char path[PATH_SIZE + 32];
	struct stat namespace;
	long pid_max;
	if (!read_number("/proc/sys/kernel/pid_max", &pid_max) || stat("/proc/self/ns/pid", &namespace) < 0)
		return -1;
	snprintf(ret_path, PATH_SIZE, "%.4000s/proctor-%ld-1-%ju", base, pid_max + 1, (uintmax_t)namespace.st_ino);
	mkdir(ret_path, 0755);
	snprintf(path, sizeof path, "%s/r1", ret_path);
	mkdir(path, 0755);
	snprintf(path, sizeof path, "%s/r1/nested", ret_path);
	mkdir(path, 0755);
	pid_t pid = fork();
	if (pid == 0) {
		snprintf(path, sizeof path, "%s/r1/nested/cgroup.procs", ret_path);
		if (io_write_file(AT_FDCWD, path, "0") < 0)
			_exit(1);
		clock_sleep_ns(20 * NS_PER_S);
		_exit(0);
	}
	snprintf(path, sizeof path, "%s/r1/nested/cgroup.procs", ret_path);
	for (int tries = 0; pid > 0 && tries < 200; tries++, clock_sleep_ns(10 * NS_PER_MS)) {
		long inside = 0;
		if (read_number(path, &inside) && inside == pid)
			return pid;
	}
	return -1;
}

static void parent_of(const char *path, char *ret_parent)
{
	snprintf(ret_parent, PATH_SIZE, "%.*s", (int)(strrchr(path, '/') - path), path);
}

static void judge_k9_sweep(const struct worker_start *how, struct verdict *verdict)
{
	char base[PATH_SIZE], left[PATH_SIZE];
	struct worker *worker = law_worker(how, verdict);
	if (!worker)
		return;
	parent_of(event_text(worker_ready(worker), "cgroup"), base);
	worker_free(worker);
	pid_t pid = leave_behind(base, left);
	worker = pid > 0 ? law_worker(how, verdict) : NULL;
	int status = 0;
	bool ended = pid > 0 && waitpid(pid, &status, WNOHANG) == pid;
	long long swept = worker ? event_number(worker_ready(worker), "swept") : -1;
	if (pid <= 0)
		law_broken(verdict, "nothing could be left behind in %s", base);
	else if (worker && ended && access(left, F_OK) < 0 && swept >= 1)
		law_holds(verdict, "a dead owner's process was killed and its cgroups are gone (%lld swept)", swept);
	else if (worker)
		law_broken(verdict, "of a dead owner: its process %s, its cgroup %s, %lld swept", ended ? "ended" : "lives",
			   access(left, F_OK) < 0 ? "gone" : "there", swept);
	worker_free(worker);
	if (pid > 0 && !ended) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

/* Two owners: the second one's start must not touch the first one's run. */
static void judge_k9_live(const struct worker_start *how, struct verdict *verdict)
{
	char leaf[PATH_SIZE], owner[64];
	struct worker *first = law_worker(how, verdict);
	int run = first ? start_sleeper(first, event_text(worker_ready(first), "cgroup"), leaf, verdict) : -1;
	if (run <= 0) {
		worker_free(first);
		return;
	}
	/* The probe may take this one for dead, and nobody else's. */
	snprintf(owner, sizeof owner, "PROCTOR_SWEEP_OWNER=%d", worker_pid(first));
	const char *const environment[] = { owner, NULL };
	struct worker_start second = *how;
	second.environment = environment;
	struct worker *other = law_worker(&second, verdict);
	struct json_object *closed = other ? worker_await(first, "closed", run, 200) : NULL;
	if (other && !closed && access(leaf, F_OK) == 0)
		law_holds(verdict, "a live owner's run and cgroup stand after another's start");
	else if (other)
		law_broken(verdict, "a live owner's run was ended by another's start");
	worker_free(other);
	worker_free(first);
}

/* --- K11 -------------------------------------------------------------------------------------------- */

/* A chain of so many cgroups below `leaf`, or beside one another. Returns how many were made. */
static int nest(const char *leaf, int count, bool deep, char *ret_last)
{
	int made = 0;
	snprintf(ret_last, PATH_SIZE, "%s", leaf);
	for (int i = 0; i < count; i++) {
		char path[PATH_SIZE + 16];
		snprintf(path, sizeof path, "%s/n%d", deep ? ret_last : leaf, i);
		made += mkdir(path, 0755) == 0;
		snprintf(ret_last, PATH_SIZE, "%.*s", PATH_SIZE - 1, path);
	}
	return made;
}

static void unnest(const char *leaf, char *last)
{
	while (strlen(last) > strlen(leaf) && rmdir(last) == 0)
		*strrchr(last, '/') = '\0';
}

/* Past the bounds it is left and told so: 33 deep. */
static bool is_bounded(struct worker *worker, const char *parent, struct verdict *verdict)
{
	char leaf[PATH_SIZE], last[PATH_SIZE];
	int run = start_sleeper(worker, parent, leaf, verdict);
	if (run <= 0)
		return false;
	nest(leaf, 33, true, last);
	const struct run_result *result = end_run(worker, run, verdict);
	bool bounded = result && !result->removed && nested_of(result) > 0;
	if (result && !bounded)
		law_broken(verdict, "33 deep: removed %d, %d counted", result->removed, nested_of(result));
	unnest(leaf, last);
	rmdir(leaf);
	return bounded;
}

static void judge_k11(const struct worker_start *how, struct verdict *verdict)
{
	char leaf[PATH_SIZE], last[PATH_SIZE], path[PATH_SIZE + 16];
	struct worker *worker = law_worker(how, verdict);
	const char *parent = worker ? event_text(worker_ready(worker), "cgroup") : "";
	int run = worker ? start_sleeper(worker, parent, leaf, verdict) : -1;
	if (run > 0) {
		int made = nest(leaf, 300, false, last);
		made += nest(leaf, 31, true, last);		/* the first is there already */
		pid_t pid = fork();
		if (pid == 0) {
			clock_sleep_ns(20 * NS_PER_S);
			_exit(0);
		}
		char number[16];
		snprintf(number, sizeof number, "%d", pid);
		snprintf(path, sizeof path, "%s/cgroup.procs", last);
		int entered = io_write_file(AT_FDCWD, path, number);
		const struct run_result *result = end_run(worker, run, verdict);
		int status = 0;
		bool died = waitpid(pid, &status, WNOHANG) == pid && WIFSIGNALED(status);
		if (!died) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
		if (result && (entered < 0 || !died))
			law_broken(verdict, "a process in the deepest of them %s", entered < 0 ? "could not be put there" : "was not killed");
		else if (result && (!result->removed || nested_of(result) != made || access(leaf, F_OK) == 0))
			law_broken(verdict, "of %d nested cgroups %d were counted, removed %d", made, nested_of(result), result->removed);
		else if (result && is_bounded(worker, parent, verdict))
			law_holds(verdict, "%d nested cgroups, up to 31 deep, counted and removed with what was in them; 33 deep is left and told", made);
	}
	worker_free(worker);
}

const struct law lifecycle_laws[] = {
	{ "K7", "empty is the kernel's word", "drain-wait", judge_k7 },
	{ "K9", "a busy cgroup is tried again", "remove-retry", judge_k9 },
	{ "K9-sweep", "what a dead owner left is swept", "sweep", judge_k9_sweep },
	{ "K9-live", "a live owner's run is never swept", "sweep-owner", judge_k9_live },
	{ "K11", "nested cgroups are counted and removed, within bounds", "remove-nested", judge_k11 },
	{ 0 },
};

const struct law_more lifecycle_more[] = { { "K9", NULL, needs_v1 }, { 0 } };
