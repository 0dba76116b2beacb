/*
 * The dry run of dryrun.h. Its runs are ordinary ones: what it shows is the path of every run, not one beside it.
 *
 *   neighbour: proctor-init prober wait        \  both born, answered, looked at while they live,
 *   prober:    proctor-init prober all PATH... /  closed together, removed
 */
#include "core/containment/dryrun.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/base/guard.h"
#include "core/base/io.h"
#include "core/containment/prober.h"

#define DRY_PROCESSES 16		/* the prober's limits: less than it tries to have (prober.h) */
#define DRY_MEMORY_BYTES (4u << 20)
#define DRY_WORKSPACE_BYTES (1u << 20)
#define DRY_INODES 64
#define DRY_RUN_NS (10 * NS_PER_S)	/* until the prober has answered */
#define DRY_CLOSE_NS (35 * NS_PER_S)	/* more than the drain of a run (K7) */
#define NEIGHBOUR_NUMBER 0		/* the core's runs begin at 1 */
#define PROBER_NUMBER UINT32_MAX	/* and do not come here */
#define NEIGHBOUR_PROCESSES 2		/* its init and itself */
#define HIERARCHIES (1 + RESOURCE_COUNT)
#define DIRECTORIES (3 * HIERARCHIES)	/* base, parent and sibling */

struct member {
	struct run *run;
	int answers;			/* its standard output */
	struct prober_result result;
	bool answered;
};

struct dry {
	struct worker *worker;
	struct member prober, neighbour;
	char *arguments[4 + DIRECTORIES];
	size_t argument_count;
};

/* One hierarchy, as the worker holds it. */
struct place {
	const char *path;		/* of our parent */
	int base, parent, own, sibling;
};

static size_t places_of(const struct dry *dry, struct place places[HIERARCHIES])
{
	const struct cgroup_tree *tree = &dry->worker->tree;
	const struct cgroup_leaf *own = dry->prober.run ? &dry->prober.run->leaf : NULL;
	const struct cgroup_leaf *sibling = dry->neighbour.run ? &dry->neighbour.run->leaf : NULL;
	size_t count = 0;
	places[count++] = (struct place){ tree->path, tree->base, tree->parent, own ? own->fd : -1, sibling ? sibling->fd : -1 };
	for (int i = 0; i < RESOURCE_COUNT; i++)
		if (tree->generation[i] == GENERATION_V1)
			places[count++] = (struct place){ tree->v1[i].path, tree->v1[i].base, tree->v1[i].parent,
							  own ? own->v1[i] : -1, sibling ? sibling->v1[i] : -1 };
	return count;
}

/* --- starting --------------------------------------------------------------------------------------- */

static int add_argument(struct dry *dry, const char *text, int length, const char *more)
{
	char *argument;
	if (asprintf(&argument, "%.*s%s", length, text, more) < 0)
		return -ENOMEM;
	dry->arguments[dry->argument_count++] = argument;
	return 0;
}

/* Our parent's parent, our parent, and the sibling by its name; its own the prober finds where it finds any. */
static int add_directories(struct dry *dry, const char *parent)
{
	char sibling[64];
	int whole = (int)strlen(parent), base = (int)(strrchr(parent, '/') - parent);
	snprintf(sibling, sizeof sibling, "/%s", dry->neighbour.run->leaf.name);
	int r = add_argument(dry, parent, base, "");
	if (r == 0)
		r = add_argument(dry, parent, whole, "");
	return r < 0 ? r : add_argument(dry, parent, whole, sibling);
}

static int prober_arguments(struct dry *dry, struct pr_error *error)
{
	struct place places[HIERARCHIES];
	size_t count = places_of(dry, places);
	int r = add_argument(dry, "/proc/self/exe", INT32_MAX, "");
	if (r == 0)
		r = add_argument(dry, "prober", INT32_MAX, "");
	if (r == 0)
		r = add_argument(dry, "all", INT32_MAX, "");
	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_directories(dry, places[i].path);
	return r < 0 ? pr_error_errno(error, -r, "starting the dry run") : 0;
}

static int start(struct dry *dry, struct member *member, uint64_t number, char **argv, struct pr_error *error)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return pr_error_errno(error, errno, "making a pipe");
	member->answers = ends[0];
	_cleanup_close_ int output = ends[1];
	struct run_request request = {
		.number = number, .kind = BIRTH_RUN, .argv = argv, .directory = (char *)".",
		.limits = { .processes = DRY_PROCESSES, .memory_bytes = DRY_MEMORY_BYTES },
		.workspace_bytes = DRY_WORKSPACE_BYTES, .workspace_inodes = DRY_INODES, .stream = -1,
		.output = { output, dry->worker->null }, .dry = true,
	};
	return run_start(dry->worker, &request, &member->run, error);
}

static int start_both(struct dry *dry, struct pr_error *error)
{
	char *wait[] = { (char *)"/proc/self/exe", (char *)"prober", (char *)"wait", NULL };
	int r = start(dry, &dry->neighbour, NEIGHBOUR_NUMBER, wait, error);
	if (r == 0)
		r = prober_arguments(dry, error);
	return r < 0 ? r : start(dry, &dry->prober, PROBER_NUMBER, dry->arguments, error);
}

/* --- waiting ---------------------------------------------------------------------------------------- */

static void step(struct dry *dry, struct member *member)
{
	if (!member->run || member->run->state == RUN_CLOSED)
		return;
	run_step(dry->worker, member->run);
	if (!member->answered)
		member->answered = read(member->answers, &member->result, sizeof member->result) == sizeof member->result;
}

static size_t gather(struct dry *dry, struct pollfd *fds, int64_t *wait)
{
	struct member *members[] = { &dry->prober, &dry->neighbour };
	size_t count = 0;
	for (size_t i = 0; i < ELEMENTS(members); i++) {
		struct run *run = members[i]->run;
		if (!run || run->state == RUN_CLOSED)
			continue;
		count += run_poll(run, fds + count);
		if (!members[i]->answered)
			fds[count++] = (struct pollfd){ .fd = members[i]->answers, .events = POLLIN };
		int64_t one = run_wait_ns(run);
		*wait = one < *wait ? one : *wait;
	}
	return count;
}

static void turn(struct dry *dry)
{
	struct pollfd fds[8];
	int64_t wait = 100 * NS_PER_MS;
	size_t count = gather(dry, fds, &wait);
	struct timespec time = { .tv_nsec = wait > 0 ? wait : 0 };
	ppoll(fds, count, &time, NULL);
	step(dry, &dry->prober);
	step(dry, &dry->neighbour);
}

static bool is_up(const struct member *member)
{
	return member->answered && (member->run->state == RUN_STARTING || member->run->state == RUN_RUNNING);
}

static bool may_still_answer(const struct member *member)
{
	return member->answered || member->run->state == RUN_STARTING || member->run->state == RUN_RUNNING;
}

static void await_answers(struct dry *dry)
{
	int64_t deadline = clock_mono_ns() + DRY_RUN_NS;
	while (!(dry->prober.answered && dry->neighbour.answered) && may_still_answer(&dry->prober) &&
	       may_still_answer(&dry->neighbour) && clock_mono_ns() < deadline)
		turn(dry);
}

static void close_both(struct dry *dry)
{
	struct member *members[] = { &dry->prober, &dry->neighbour };
	int64_t deadline = clock_mono_ns() + DRY_CLOSE_NS;
	for (size_t i = 0; i < ELEMENTS(members); i++)
		if (members[i]->run)
			run_close(dry->worker, members[i]->run);
	for (size_t i = 0; i < ELEMENTS(members); i++)
		while (members[i]->run && members[i]->run->state != RUN_CLOSED && clock_mono_ns() < deadline)
			turn(dry);
}

/* --- the control plane, by the state of the cgroups ------------------------------------------------- */

static unsigned long last_number(const char *line)
{
	const char *at = line + strcspn(line, "\n");
	while (at > line && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return strtoul(at, NULL, 10);
}

/* The pid that the worker sees, of the process that `inner` is in its own namespace, among those of a cgroup; 0 none. */
static long find_process(int cgroup, long inner)
{
	_cleanup_buffer_ struct buffer list = BUFFER_INIT;
	if (io_read_file(cgroup, "cgroup.procs", 65536, &list) < 0 || !list.data)
		return 0;
	for (char *at = list.data; *at; at += strcspn(at, "\n") + 1) {
		_cleanup_buffer_ struct buffer status = BUFFER_INIT;
		char path[64];
		long pid = strtol(at, NULL, 10);
		snprintf(path, sizeof path, "/proc/%ld/status", pid);
		if (io_read_file(AT_FDCWD, path, 65536, &status) < 0 || !status.data)
			continue;
		const char *line = strstr(status.data, "\nNSpid:");
		if (line && last_number(line + 1) == (unsigned long)inner)
			return pid;
	}
	return 0;
}

static bool lists(int cgroup, long pid)
{
	_cleanup_buffer_ struct buffer list = BUFFER_INIT;
	if (io_read_file(cgroup, "cgroup.procs", 65536, &list) < 0 || !list.data)
		return false;
	for (char *at = list.data; *at; at += strcspn(at, "\n") + 1)
		if (strtol(at, NULL, 10) == pid)
			return true;
	return false;
}

static unsigned processes_of(int cgroup)
{
	_cleanup_buffer_ struct buffer list = BUFFER_INIT;
	unsigned count = 0;
	if (io_read_file(cgroup, "cgroup.procs", 65536, &list) < 0)
		return 0;
	for (size_t i = 0; i < list.length; i++)
		count += list.data[i] == '\n';
	return count;
}

/* Was one made there? It is taken away again. */
static bool made_in(int cgroup)
{
	unsigned nested;
	if (cgroup < 0 || faccessat(cgroup, PROBER_DIRECTORY, F_OK, 0) < 0)
		return false;
	cgroup_remove(cgroup, PROBER_DIRECTORY, &nested);
	return true;
}

static bool has_line(const char *text, const char *line)
{
	size_t length = strlen(line);
	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at != '\0')
		if (strncmp(at, line, length) == 0 && (at[length] == '\n' || at[length] == '\0'))
			return true;
	return false;
}

/*
 * In the hierarchies that are not ours the prober is where the worker is, whose child's child it is (proc(5), "cgroup":
 * "4:memory:/path" a line). Ours are told apart by the round's name and are looked at by their descriptors.
 */
static bool same_elsewhere(const struct dry *dry, long pid)
{
	_cleanup_buffer_ struct buffer theirs = BUFFER_INIT, own = BUFFER_INIT;
	char path[64];
	snprintf(path, sizeof path, "/proc/%ld/cgroup", pid);
	if (io_read_file(AT_FDCWD, path, 65536, &theirs) < 0 || io_read_file(AT_FDCWD, "/proc/self/cgroup", 65536, &own) < 0 ||
	    !theirs.data || !own.data)
		return false;
	for (char *line = theirs.data, *next; *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = '\0';
		if (!strstr(line, dry->worker->tree.name) && !has_line(own.data, line))
			return false;
	}
	return true;
}

/* What of the state speaks against the prober having stayed where it was born; NULL: nothing. */
static const char *what_moved(const struct dry *dry, long pid)
{
	struct place places[HIERARCHIES];
	size_t count = places_of(dry, places);
	const char *moved = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct place *place = &places[i];
		bool made = made_in(place->base) | made_in(place->parent) | made_in(place->sibling) | made_in(place->own);
		if (!lists(place->own, pid))
			moved = "it left its cgroup";
		else if (processes_of(place->parent) > 0)
			moved = "a process stands in the parent";
		else if (processes_of(place->sibling) != NEIGHBOUR_PROCESSES)
			moved = "a process stands in its sibling";
		else if (made)
			moved = "it made a cgroup";
	}
	if (!moved && !same_elsewhere(dry, pid))
		moved = "it changed its cgroup in another hierarchy";
	return moved;
}

static void judge_control_plane(struct dry *dry)
{
	struct axis_finding *axis = &dry->worker->axes.of[AXIS_CONTROL_PLANE];
	const struct prober_result *result = &dry->prober.result;

	axis->remedy = "look for a newer kernel, and see that Landlock is active (lsm=): here a candidate may steer its own boundary";
	if (!is_up(&dry->prober) || !is_up(&dry->neighbour)) {
		snprintf(axis->tried, sizeof axis->tried, "the prober %s before it had answered",
			 dry->prober.run->state == RUN_RUNNING ? "was stopped" : "ended");
		snprintf(axis->reason, sizeof axis->reason, "the attempts could not be made: the prober did not answer");
		axis->remedy = "try again on a host with less load";
		return;
	}
	long pid = find_process(dry->prober.run->leaf.fd, result->pid);
	const char *moved = what_moved(dry, pid);
	if (!moved && result->worked > 0)
		moved = result->first;
	axis->value = moved ? AXIS_FALSE : AXIS_TRUE;
	snprintf(axis->tried, sizeof axis->tried,
		 "with a candidate's ids and view, %u attempts to enter the parent, a live sibling or another cgroup, to make one and "
		 "to get at a cgroup file system (%u in view): %s", result->tried, result->mounts_seen,
		 moved ? moved : "none worked, and by its cgroups it stayed where it was born");
	if (moved)
		snprintf(axis->reason, sizeof axis->reason, "an attempt from inside worked: %s", moved);
	else
		axis->remedy = NULL;
}

/* --- the other axes, after the close ---------------------------------------------------------------- */

static const char *memory_words(const struct dry *dry, bool *ret_met)
{
	const struct cgroup_counts *counts = &dry->prober.run->counts;
	enum prober_memory memory = (enum prober_memory)dry->prober.result.memory;
	*ret_met = counts->oom_kills > 0 || (memory == PROBER_MEMORY_REFUSED && counts->memory_refused > 0);
	if (*ret_met)
		return memory == PROBER_MEMORY_REFUSED ? "an allocation past it was refused" : "an allocation past it was killed";
	return memory == PROBER_MEMORY_TOUCHED ? "NOT MET by an allocation of 32 MiB" : "the kernel counted no refusal";
}

static void judge_resources(struct dry *dry)
{
	struct worker *worker = dry->worker;
	struct axis_finding *axis = &worker->axes.of[AXIS_RESOURCES];
	const enum cgroup_generation *generation = worker->tree.generation;
	bool memory_met, pids_met = dry->prober.run->counts.pids_refused > 0;
	const char *memory = memory_words(dry, &memory_met);

	snprintf(axis->tried, sizeof axis->tried, "processes by %s (%s), memory by %s (%s), cpu by %s",
		 cgroup_generation_name(generation[RESOURCE_PIDS]), pids_met ? "a fork past it was refused" : "no fork was refused by it",
		 cgroup_generation_name(generation[RESOURCE_MEMORY]), memory, cgroup_generation_name(generation[RESOURCE_CPU]));
	axis->remedy = "delegate the pids, memory and cpu controllers (Delegate=yes; on a hybrid host the v1 directories too)";
	if (!dry->prober.answered) {
		snprintf(axis->reason, sizeof axis->reason, "the limits could not be tried: the prober did not answer");
		return;
	}
	axis->value = memory_met && pids_met ? AXIS_TRUE : AXIS_FALSE;
	if (axis->value == AXIS_FALSE)
		snprintf(axis->reason, sizeof axis->reason, "%s%s%s",
			 pids_met ? "" : "the limit on processes was met by nothing in the dry run",
			 pids_met || memory_met ? "" : "; ", memory_met ? "" : "the limit on memory was met by nothing in the dry run");
	else if (generation[RESOURCE_CPU] != GENERATION_NONE)
		axis->remedy = NULL;
}

/* The parents of the double forks may be gone by then: what counts is what lived and lives no more. */
static void judge_end(struct dry *dry, double ms)
{
	const struct run *prober = dry->prober.run, *neighbour = dry->neighbour.run;
	struct axis_finding *kill = &dry->worker->axes.of[AXIS_KILL_BOUNDARY], *cleanup = &dry->worker->axes.of[AXIS_CLEANUP];
	bool closed = prober->state == RUN_CLOSED && neighbour->state == RUN_CLOSED;
	unsigned left = prober->remaining + neighbour->remaining;
	bool killed = closed && prober->killed > 1 && neighbour->killed > 0 && left == 0;
	bool removed = closed && prober->removed && neighbour->removed;

	kill->value = killed ? AXIS_TRUE : closed && dry->prober.answered ? AXIS_FALSE : AXIS_UNKNOWN;
	snprintf(kill->tried, sizeof kill->tried, "born, %u killed, daemons among them, %s in %.1f ms below %.200s",
		 prober->killed + neighbour->killed, left || !closed ? "NOT EMPTY" : "empty", ms, dry->worker->tree.path);
	if (!killed) {
		snprintf(kill->reason, sizeof kill->reason, "the dry run did not end with an empty cgroup");
		kill->remedy = "look for a newer kernel (5.14 and up): what runs here may outlive its end";
	}
	cleanup->value = removed ? AXIS_TRUE : closed ? AXIS_FALSE : AXIS_UNKNOWN;
	snprintf(cleanup->tried, sizeof cleanup->tried, "%s below %.200s after the dry run",
		 removed ? "nothing of it is left" : "cgroups of it are LEFT", dry->worker->tree.path);
	if (!removed) {
		snprintf(cleanup->reason, sizeof cleanup->reason, "the dry run left cgroups behind");
		cleanup->remedy = "the next start sweeps them; what stays is to be removed by rmdir";
	}
}

/* --- the whole -------------------------------------------------------------------------------------- */

static int check_born(const struct run *run, struct pr_error *error)
{
	if (run->outcome != OUTCOME_SETUP_FAILED && run->outcome != OUTCOME_LOST && run->outcome != OUTCOME_EXEC_FAILED)
		return 0;
	return pr_error_set(error, run->error ? run->error : ECHILD, "no boundary: %s at %s", run_outcome_name(run->outcome),
			    run->stage[0] ? run->stage : "the dry run");
}

static void release(struct dry *dry)
{
	struct member *members[] = { &dry->prober, &dry->neighbour };
	for (size_t i = 0; i < ELEMENTS(members); i++) {
		if (members[i]->run)
			run_free(dry->worker, members[i]->run);
		cleanup_close(&members[i]->answers);
	}
	for (size_t i = 0; i < dry->argument_count; i++)
		free(dry->arguments[i]);
}

/* Nothing was shown: forced down (K15) there is no boundary to try, and daemons would be there to stay. */
static int claim_nothing(struct worker *worker)
{
	for (int i = 0; i < AXIS_COUNT; i++) {
		struct axis_finding *axis = &worker->axes.of[i];
		axis->value = AXIS_FALSE;
		snprintf(axis->tried, sizeof axis->tried, "nothing: there is no boundary");
		snprintf(axis->reason, sizeof axis->reason, "there is no boundary");
	}
	return 0;
}

int dryrun(struct worker *worker, double *ret_ms, struct pr_error *error)
{
	if (!guard_holds(GUARD_KILL_BOUNDARY))
		return claim_nothing(worker);
	struct dry dry = { .worker = worker, .prober.answers = -1, .neighbour.answers = -1 };
	int64_t begin = clock_mono_ns();

	int r = start_both(&dry, error);
	if (r < 0)
		pr_error_prefix(error, "no boundary: ");
	if (r == 0) {
		await_answers(&dry);
		judge_control_plane(&dry);
	}
	close_both(&dry);
	*ret_ms = (double)(clock_mono_ns() - begin) / NS_PER_MS;
	if (r == 0)
		r = check_born(dry.neighbour.run, error);
	if (r == 0)
		r = check_born(dry.prober.run, error);
	if (r == 0) {
		judge_resources(&dry);
		judge_end(&dry, *ret_ms);
	}
	release(&dry);
	if (r < 0 && !guard_holds(GUARD_REFUSAL))
		return claim_nothing(worker);
	return r;
}
