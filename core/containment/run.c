/* The life of a run (run.h). */
#include "core/containment/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "core/base/clock.h"
#include "core/base/guard.h"
#include "core/base/io.h"
#include "core/containment/kill.h"
#include "core/containment/report.h"
#include "core/containment/spare.h"
#include "core/containment/template.h"

#define DRAIN_NS (30 * NS_PER_S)	/* K7 */
#define REAP_MS 1000
#define DISCARD_NS (2 * NS_PER_S)
#define TMP_BYTES (UINT64_C(512) << 20)
#define SHM_BYTES (UINT64_C(256) << 20)
#define CANDIDATE_EXTRA_PROCESSES 1	/* init */

const char *run_outcome_name(enum run_outcome outcome)
{
	static const char *const names[] = {
#define X(identifier, name) [identifier] = name,
		RUN_OUTCOMES(X)
#undef X
	};
	return names[outcome];
}

/* How long we wait for `populated 0`; a deletion probe that took the kill out need not wait for all of it. */
static int64_t drain_ns(void)
{
#ifdef PROCTOR_TEST_BUILD
	const char *text = getenv("PROCTOR_DRAIN_MS");
	if (text)
		return atoll(text) * NS_PER_MS;
#endif
	return DRAIN_NS;
}

static struct id_pair *pair_take(struct worker *worker, struct run *of, struct pr_error *error)
{
	if (of) {
		of->ids->holders++;
		return of->ids;
	}
	struct id_pair *pair = calloc(1, sizeof *pair);
	if (!pair) {
		pr_error_errno(error, ENOMEM, "starting a run");
		return NULL;
	}
	if (id_range_take(&worker->ids, &pair->base, error) < 0) {
		free(pair);
		return NULL;
	}
	pair->holders = 1;
	return pair;
}

static void pair_give_back(struct worker *worker, struct id_pair *pair)
{
	if (!pair || --pair->holders > 0)
		return;
	id_range_give_back(&worker->ids, pair->base);
	free(pair);
}

static void let_go(int *fd)
{
	cleanup_close(fd);
	*fd = -1;
}

void run_let_go(struct run *run)
{
	let_go(&run->report);
	let_go(&run->pidfd);
	cgroup_leaf_release(&run->leaf);
	for (int i = 0; i < SLOW_NAMESPACES; i++)
		let_go(&run->slow[i]);
}

static void run_release(struct worker *worker, struct run *run)
{
	run_let_go(run);
	cleanup_close(&run->workspace);
	cleanup_close(&run->user_namespace);
	pair_give_back(worker, run->ids);
	free(run);
}

/*
 * The writable places beside the workspace: never larger than it is, so that small limits mean a small run (all
 * of their pages are charged to the run's memory).
 */
static uint64_t tmp_bytes(const struct run_request *request)
{
	return request->workspace_bytes < TMP_BYTES ? request->workspace_bytes : TMP_BYTES;
}

static uint64_t shm_bytes(const struct run_request *request)
{
	uint64_t memory = request->limits.memory_bytes;
	return memory > 0 && memory < SHM_BYTES ? memory : SHM_BYTES;
}

static void fill_mounts(const struct run_request *request, uid_t candidate, struct mounts_plan *plan)
{
	uint64_t inodes = request->workspace_inodes, tmp = tmp_bytes(request);
	snprintf(plan->workspace, sizeof plan->workspace, "size=%" PRIu64 ",nr_inodes=%" PRIu64 ",mode=0700,uid=%u,gid=%u",
		 request->workspace_bytes, inodes, candidate, candidate);
	snprintf(plan->tmp, sizeof plan->tmp, "size=%" PRIu64 ",nr_inodes=%" PRIu64 ",mode=1777", tmp, inodes);
	snprintf(plan->home, sizeof plan->home, "size=%" PRIu64 ",nr_inodes=%" PRIu64 ",mode=0700,uid=%u,gid=%u", tmp, inodes,
		 candidate, candidate);
	snprintf(plan->shm, sizeof plan->shm, "size=%" PRIu64 ",nr_inodes=%" PRIu64 ",mode=1777", shm_bytes(request), inodes);
}

/* tmpfs pages are charged to the cgroup too: a full workspace must be ENOSPC, not an OOM kill. */
static struct cgroup_limits leaf_limits(const struct run_request *request)
{
	struct cgroup_limits limits = request->limits;
	if (limits.processes)
		limits.processes += CANDIDATE_EXTRA_PROCESSES;
	if (limits.memory_bytes)
		limits.memory_bytes += request->workspace_bytes + 2 * tmp_bytes(request) + shm_bytes(request);
	return limits;
}

#define INIT_ARGUMENTS 2

/* proctor-init's arguments; the vector is the caller's, its strings are borrowed. A run's command comes by order. */
static char **init_arguments(const struct run_request *request)
{
	bool collect = request->kind == BIRTH_COLLECTOR;
	size_t count = 0;
	while (collect && request->argv && request->argv[count])
		count++;
	char **argv = calloc(count + INIT_ARGUMENTS + 1, sizeof *argv);
	size_t used = 0;
	if (!argv)
		return NULL;
	argv[used++] = (char *)"proctor-init";
	argv[used++] = (char *)(collect ? "collect" : "init");
	for (size_t i = 0; i < count; i++)
		argv[used++] = request->argv[i];
	return argv;
}

extern char **environ;

static int add_texts(struct buffer *texts, char *const *strings, uint32_t *count)
{
	int r = 0;
	for (size_t i = 0; r == 0 && strings && strings[i]; i++, ++*count)
		r = buffer_add(texts, strings[i], strlen(strings[i]) + 1);
	return r;
}

/* What is to be executed, in the candidate's environment alone (E7). */
static int give_order(const struct worker *worker, struct run *run, const struct run_request *request)
{
	_cleanup_buffer_ struct buffer texts = BUFFER_INIT;
	struct order order = { .candidate = worker->ids.candidate };
	int r = buffer_add(&texts, request->directory, strlen(request->directory) + 1);
	if (r == 0)
		r = add_texts(&texts, request->argv, &order.arguments);
	if (r == 0)
		r = add_texts(&texts, request->environment, &order.environment);
	if (r == 0 && !guard_holds(GUARD_SEALED_ENVIRONMENT))
		r = add_texts(&texts, environ, &order.environment);
	if (r < 0)
		return r;
	order.bytes = texts.length;
	_cleanup_close_ int file = memfd_create("order", MFD_CLOEXEC);
	if (file < 0)
		return -errno;
	r = io_write_all(file, texts.data, texts.length);
	if (r < 0)
		return r;
	int fds[ORDER_DESCRIPTORS] = { [ORDER_TEXTS] = file, [ORDER_SUBJECT] = request->stream };
	for (int i = 0; i < 2; i++)
		fds[ORDER_STDOUT + i] = request->output[i] >= 0 ? request->output[i] : worker->null;
	return io_send_message(run->report, &order, sizeof order, fds, request->stream < 0 ? ORDER_SUBJECT : ORDER_DESCRIPTORS);
}

static int give_birth(struct worker *worker, const struct run_request *request, struct run *run, struct pr_error *error)
{
	int pair[2];
	_cleanup_free_ char **argv = init_arguments(request);
	/* What a test build's switches are handed on by; else nothing. */
	char *envp[] = { (char *)guard_environment(), NULL };
	if (!argv)
		return pr_error_errno(error, ENOMEM, "starting a run");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return pr_error_errno(error, errno, "making a socket pair");
	run->report = pair[0];
	_cleanup_close_ int report_child = pair[1];
	/* Non-blocking is for us: init's end waits until its word is taken. */
	io_set_nonblocking(report_child, false);

	struct birth birth = {
		.kind = request->kind, .leaf = &run->leaf, .ids = run->ids ? run->ids->base : 0,
		.candidate = worker->ids.candidate,
		.processes = request->limits.processes,
		.user_namespace = request->of ? request->of->user_namespace : -1,
		.landlock_abi = worker->landlock_abi, .filter = &worker->filter, .image = worker->image,
		.standard = { worker->null, worker->null, worker->null }, .report = report_child,
		.stream = request->kind == BIRTH_COLLECTOR ? request->stream : -1, .argv = argv, .envp = envp,
	};
	fill_mounts(request, birth.candidate, &birth.mounts);
	birth.mounts.whole_host = request->root && strcmp(request->root, ROOT_WHOLE_HOST) == 0;
	run->trusted = birth.mounts.whole_host;
	birth.mounts.workspace_fd = request->of ? request->of->workspace : -1;
	int r = template_get(request->root ? request->root : "host", (const char *const *)request->read_only,
			     request->read_only_count, &birth.mounts, error);
	if (r < 0)
		return r;
	run->late_binds = birth.mounts.late_count > 0;
	r = birth_start(&birth, error);
	template_release(&birth.mounts);
	run->pid = birth.pid;
	run->pidfd = birth.pidfd;
	run->workspace = birth.kept_workspace;
	run->user_namespace = birth.kept_namespace;
	memcpy(run->slow, birth.slow, sizeof run->slow);
	if (r < 0 && birth.pid > 0) {
		/* It was born: what is left of it goes the way of every run, and says what it failed at. */
		run->outcome = OUTCOME_SETUP_FAILED;
		run->error = -r;
		snprintf(run->stage, sizeof run->stage, "%s", birth.stage);
		return 0;
	}
	return r;
}

/* With the cgroup empty init is dead or about to be; a bounded wait all the same, the loop must not hang on it. */
static void reap(struct run *run)
{
	struct pollfd one = { .fd = run->pidfd, .events = POLLIN };
	if (run->pid <= 0)
		return;
	if (run->remaining == 0)
		poll(&one, 1, REAP_MS);
	while (waitpid(run->pid, NULL, WNOHANG) < 0 && errno == EINTR)
		;
	run->pid = 0;
}

int run_prepare(struct worker *worker, const struct run_request *request, const char *name, struct run **ret_run,
		struct pr_error *error)
{
	struct run *run = calloc(1, sizeof *run);
	if (!run)
		return pr_error_errno(error, ENOMEM, "starting a run");
	run->kind = request->kind;
	run->pidfd = run->report = run->workspace = run->user_namespace = -1;
	for (int i = 0; i < SLOW_NAMESPACES; i++)
		run->slow[i] = -1;
	cgroup_leaf_init(&run->leaf);

	int r = 0;
	if (request->kind == BIRTH_RUN && !(run->ids = pair_take(worker, request->of, error)))
		r = error ? -error->code : -ENOMEM;
	struct cgroup_limits limits = leaf_limits(request);
	if (r == 0)
		r = cgroup_leaf_make(&worker->tree, name, &limits, &run->leaf, error);
	if (r == 0) {
		r = give_birth(worker, request, run, error);
		if (r < 0)
			cgroup_leaf_remove(&worker->tree, &run->leaf, &run->nested);
	}
	if (r < 0) {
		run_release(worker, run);
		return r;
	}
	*ret_run = run;
	return 0;
}

static void kill_all(const struct run *run)
{
	if (guard_holds(GUARD_KILL_BOUNDARY))
		boundary_kill(run->leaf.fd);
	else
		group_kill(run->pid);
}

bool run_discard(struct worker *worker, struct run *run)
{
	kill_all(run);
	if (cgroup_wait_empty(run->leaf.events, DISCARD_NS) < 0)
		run->remaining = cgroup_count(run->leaf.fd);
	reap(run);
	bool removed = run->remaining == 0 && cgroup_leaf_remove(&worker->tree, &run->leaf, &run->nested) == 0;
	run_release(worker, run);
	return removed;
}

int run_start(struct worker *worker, const struct run_request *request, struct run **ret_run, struct pr_error *error)
{
	struct run *run = spare_take(worker, request);
	char name[32];
	snprintf(name, sizeof name, "r%" PRIu64, request->number);
	int r = run ? 0 : run_prepare(worker, request, name, &run, error);
	if (r < 0)
		return r;
	run->number = request->number;
	worker->live++;
	bool ordered = request->kind == BIRTH_RUN;
	if (ordered && run->outcome == OUTCOME_NONE && (r = give_order(worker, run, request)) < 0) {
		run->outcome = OUTCOME_SETUP_FAILED;
		run->error = -r;
		snprintf(run->stage, sizeof run->stage, "giving the order");
	}
	if (run->outcome == OUTCOME_SETUP_FAILED)
		run_close(worker, run);
	else if (ordered && !run->late_binds && !request->dry)
		spare_remember(worker, request);
	*ret_run = run;
	return 0;
}

size_t run_poll(const struct run *run, struct pollfd ret_fds[static 3])
{
	size_t count = 0;
	if (run->state == RUN_CLOSING) {
		ret_fds[count++] = (struct pollfd){ .fd = run->leaf.events, .events = POLLPRI };
		if (!run->init_gone)
			ret_fds[count++] = (struct pollfd){ .fd = run->pidfd, .events = POLLIN };
	} else if (run->state != RUN_CLOSED) {
		ret_fds[count++] = (struct pollfd){ .fd = run->report, .events = POLLIN };
		ret_fds[count++] = (struct pollfd){ .fd = run->pidfd, .events = POLLIN };
	}
	return count;
}

#define LOOK_AGAIN_NS (NS_PER_MS / 10)
#define LOOK_AGAIN_MOST_NS (20 * NS_PER_MS)

int64_t run_wait_ns(struct run *run)
{
	if (run->state != RUN_CLOSING)
		return INT64_MAX;
	int64_t left = run->closing_deadline_ns - clock_mono_ns();
	if (!run->init_gone)
		return left;
	int64_t wait = run->look_again_ns;
	run->look_again_ns = wait < LOOK_AGAIN_MOST_NS ? 2 * wait : wait;
	return wait < left ? wait : left;
}

bool run_is_dead(const struct run *run)
{
	siginfo_t info = { .si_pid = 0 };
	return run->pidfd < 0 || (waitid(P_PIDFD, (id_t)run->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0);
}

static void take_wait_status(struct run *run, int status)
{
	if (WIFSIGNALED(status)) {
		run->outcome = OUTCOME_SIGNALLED;
		run->signal = WTERMSIG(status);
	} else {
		run->outcome = OUTCOME_EXITED;
		run->code = WEXITSTATUS(status);
	}
}

static void take_report(struct worker *worker, struct run *run, const struct report *report)
{
	switch ((enum report_kind)report->kind) {
	case REPORT_STARTED:
		run->state = RUN_RUNNING;
		return;
	case REPORT_EXITED:
		take_wait_status(run, report->value);
		run->alone = report->alone;
		break;
	case REPORT_EXEC_FAILED:
		run->outcome = OUTCOME_EXEC_FAILED;
		run->error = report->value;
		break;
	case REPORT_SETUP_FAILED:
		run->outcome = OUTCOME_SETUP_FAILED;
		run->error = report->value;
		snprintf(run->stage, sizeof run->stage, "%.*s", (int)sizeof report->step - 1, report->step);
		break;
	}
	run_close(worker, run);
}

static bool read_reports(struct worker *worker, struct run *run)
{
	struct report report;
	bool changed = false;
	while (run->state == RUN_STARTING || run->state == RUN_RUNNING) {
		ssize_t n = recv(run->report, &report, sizeof report, MSG_DONTWAIT);
		if (n != sizeof report)
			break;
		take_report(worker, run, &report);
		changed = true;
	}
	return changed;
}

/* Init ended: a collector has done its work; the init of a run never ends by itself. */
static bool see_death(struct worker *worker, struct run *run)
{
	siginfo_t info = { .si_pid = 0 };
	if (waitid(P_PIDFD, (id_t)run->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
		return false;
	if (run->kind == BIRTH_COLLECTOR && info.si_code == CLD_EXITED) {
		run->outcome = OUTCOME_EXITED;
		run->code = info.si_status;
	} else {
		run->outcome = OUTCOME_LOST;
	}
	run_close(worker, run);
	return true;
}

void run_close(struct worker *worker, struct run *run)
{
	if (run->state == RUN_CLOSING || run->state == RUN_CLOSED)
		return;
	if (run->outcome == OUTCOME_NONE)
		run->outcome = OUTCOME_KILLED;
	/* What is there but init was still alive, and is killed now; an init on its way out may be seen or not. */
	unsigned processes = run->alone ? 0 : cgroup_count(run->leaf.fd);
	run->init_gone = run_is_dead(run);
	run->look_again_ns = LOOK_AGAIN_NS;
	run->killed = processes > 0 && !run->init_gone ? processes - 1 : processes;
	run->closing_since_ns = clock_mono_ns();
	run->closing_deadline_ns = run->closing_since_ns + drain_ns();
	run->state = RUN_CLOSING;
	kill_all(run);
	/* They stand still already: what remains to be done is init's exit. */
	if (run->alone)
		cgroup_leaf_counts(&worker->tree, &run->leaf, &run->counts);
}

static void finish(struct worker *worker, struct run *run)
{
	int populated = cgroup_populated(run->leaf.events);
	run->remaining = populated > 0 ? cgroup_count(run->leaf.fd) : 0;
	if (!run->alone)
		cgroup_leaf_counts(&worker->tree, &run->leaf, &run->counts);
	reap(run);
	/* What is still populated cannot be removed: it is reported, and the next sweep has it. */
	run->removed = run->remaining == 0 && cgroup_leaf_remove(&worker->tree, &run->leaf, &run->nested) == 0;
	run->closing_ms = (double)(clock_mono_ns() - run->closing_since_ns) / NS_PER_MS;
	run->state = RUN_CLOSED;
	worker->live--;
}

bool run_step(struct worker *worker, struct run *run)
{
	bool changed = false;
	if (run->state == RUN_STARTING || run->state == RUN_RUNNING) {
		changed = read_reports(worker, run);
		if (run->state == RUN_STARTING || run->state == RUN_RUNNING)
			changed |= see_death(worker, run);
	}
	if (run->state == RUN_CLOSING && !run->init_gone)
		run->init_gone = run_is_dead(run);
	if (run->state == RUN_CLOSING &&
	    (!guard_holds(GUARD_DRAIN_WAIT) || cgroup_populated(run->leaf.events) <= 0 ||
	     clock_mono_ns() >= run->closing_deadline_ns)) {
		finish(worker, run);
		changed = true;
	}
	return changed;
}

void run_free(struct worker *worker, struct run *run)
{
	run_release(worker, run);
}
