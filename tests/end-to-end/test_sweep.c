/* `proctor sweep`: what dead owners left is found and removed, of each kind; what lives beside it is not touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/containment/host.h"
#include "core/containment/sweep.h"
#include "tests/end-to-end/driver.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"

#define SWEEP_MS 30000
#define PID_BEYOND 4194305	/* above what pid_max can be */

/* A name as a worker with that pid and start time would have had. */
static char *name_of(long pid, long start)
{
	char own[128];
	assert_int_equal(sweep_own_name(own, sizeof own), 0);
	return scratch_text("proctor-%ld-%ld%s", pid, start, strrchr(own, '-'));
}

/* A directory in our own cgroup: what a worker that starts meanwhile sweeps is not there. NULL where none can be made. */
static char *own_place(const char *controller)
{
	char own[4096];
	if (host_own_cgroup(controller, own, sizeof own, NULL) < 0)
		return NULL;
	char *place = scratch_text("%s/sweep-test-%d", own, getpid());
	if (mkdir(place, 0755) == 0)
		return place;
	free(place);
	return NULL;
}

static char *plant_cgroup(const char *place, const char *name)
{
	char *path = scratch_text("%s/%s", place, name);
	assert_int_equal(mkdir(path, 0755), 0);
	return path;
}

/* A process that lives in it until it is killed. */
static pid_t inhabit(const char *cgroup)
{
	char number[32];
	_cleanup_free_ char *procs = scratch_text("%s/cgroup.procs", cgroup);
	pid_t pid = fork();
	if (pid == 0) {
		alarm(60);
		for (;;)
			pause();
	}
	snprintf(number, sizeof number, "%d", pid);
	assert_int_equal(io_write_file(AT_FDCWD, procs, number), 0);
	return pid;
}

static int run_sweep(struct driver *driver, struct process *process, const char *option)
{
	int code = driver_run(driver, process, SWEEP_MS, ARGUMENTS("sweep", option ? option : "--json", option ? "--json" : NULL));
	return code;
}

static bool tells(const struct process *process, const char *path)
{
	return process->output.data && strstr(process->output.data, path);
}

static void test_cgroups(void **state)
{
	struct driver *driver = *state;
	char live[128];
	_cleanup_free_ char *place = own_place(NULL), *v1_place = own_place("pids");
	_cleanup_free_ char *dead = name_of(PID_BEYOND, 7), *reused = name_of(getpid(), 1);
	assert_non_null(place);
	assert_int_equal(sweep_own_name(live, sizeof live), 0);
	_cleanup_free_ char *cgroup = plant_cgroup(place, dead), *leaf = plant_cgroup(cgroup, "r1"), *nested = plant_cgroup(leaf, "deep");
	_cleanup_free_ char *other = plant_cgroup(place, reused), *mine = plant_cgroup(place, live), *mine_leaf = plant_cgroup(mine, "r1");
	_cleanup_free_ char *v1 = v1_place ? plant_cgroup(v1_place, dead) : NULL;
	pid_t victim = inhabit(leaf), survivor = inhabit(mine_leaf);

	_cleanup_process_ struct process dry = PROCESS_INIT, wet = PROCESS_INIT;
	assert_int_equal(run_sweep(driver, &dry, "--dry-run"), 0);
	assert_true(tells(&dry, cgroup) && tells(&dry, other) && !tells(&dry, mine) && (!v1 || tells(&dry, v1)));
	assert_true(scratch_exists(nested) && kill(victim, 0) == 0);

	assert_int_equal(run_sweep(driver, &wet, NULL), 0);
	assert_true(tells(&wet, cgroup) && tells(&wet, other) && !tells(&wet, mine));
	assert_false(scratch_exists(cgroup) || scratch_exists(other) || (v1 && scratch_exists(v1)));
	int status;
	assert_int_equal(waitpid(victim, &status, 0), victim);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(waitpid(survivor, &status, WNOHANG), 0);
	assert_true(scratch_exists(mine_leaf));

	kill(survivor, SIGKILL);
	waitpid(survivor, NULL, 0);
	for (int i = 0; i < 100 && rmdir(mine_leaf) < 0; i++)
		usleep(10000);
	rmdir(mine);
	assert_int_equal(rmdir(place), 0);
	if (v1_place)
		rmdir(v1_place);
}

static void bind_socket(const char *path, int *ret_fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	assert_true((size_t)snprintf(address.sun_path, sizeof address.sun_path, "%s", path) < sizeof address.sun_path);
	*ret_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(*ret_fd, (struct sockaddr *)&address, sizeof address), 0);
}

/* NAME of a round whose lock is held, or free. */
static int plant_round(struct driver *driver, const char *name, bool held)
{
	_cleanup_free_ char *lock = scratch_text("%s/%s/lock", driver->rounds, name);
	assert_int_equal(scratch_write(lock, 0600, ""), 0);
	int fd = open(lock, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0 && (!held || flock(fd, LOCK_EX | LOCK_NB) == 0));
	return fd;
}

static void test_sockets(void **state)
{
	struct driver *driver = *state;
	_cleanup_free_ char *runtime = scratch_text("%s/sk", driver->root), *directory = scratch_text("%s/proctor", runtime);
	_cleanup_free_ char *dead = scratch_text("%s/gone-20260101-000000.sock", directory);
	_cleanup_free_ char *live = scratch_text("%s/here-20260101-000000.sock", directory);
	_cleanup_free_ char *unknown = scratch_text("%s/new-20260101-000000.sock", directory);
	assert_true(mkdir(runtime, 0700) == 0 && mkdir(directory, 0700) == 0);
	int fds[3], locks[2] = { plant_round(driver, "gone-20260101-000000", false), plant_round(driver, "here-20260101-000000", true) };
	bind_socket(dead, &fds[0]);
	bind_socket(live, &fds[1]);	/* bound, and not listening yet */
	bind_socket(unknown, &fds[2]);	/* of no round that is known, and young */
	assert_int_equal(setenv("XDG_RUNTIME_DIR", runtime, 1), 0);
	_cleanup_process_ struct process process = PROCESS_INIT;
	const char *argv[] = { PROCTOR_BUILD "/proctor", "sweep", NULL };
	char *state_variable = scratch_text("XDG_STATE_HOME=%s", driver->state);
	const char *environment[] = { state_variable, NULL };
	assert_int_equal(process_run(&process, &(struct process_start){ .argv = argv, .environment = environment }, SWEEP_MS), 0);
	unsetenv("XDG_RUNTIME_DIR");
	assert_true(tells(&process, dead) && !tells(&process, live) && !tells(&process, unknown));
	assert_false(scratch_exists(dead));
	assert_true(scratch_exists(live) && scratch_exists(unknown));
	/* A round's directory is evidence: its socket goes, it stays. */
	_cleanup_free_ char *evidence = scratch_text("%s/gone-20260101-000000/lock", driver->rounds);
	assert_true(scratch_exists(evidence));
	for (size_t i = 0; i < 3; i++)
		close(fds[i]);
	close(locks[0]);
	close(locks[1]);
	free(state_variable);
}

static void test_directories_and_mounts(void **state)
{
	struct driver *driver = *state;
	int locks[2] = { plant_round(driver, ".half.AbCdEf", false), plant_round(driver, ".half.GhIjKl", true) };
	_cleanup_free_ char *dead = scratch_text("%s/.half.AbCdEf", driver->rounds), *live = scratch_text("%s/.half.GhIjKl", driver->rounds);
	_cleanup_free_ char *inside = scratch_text("%s/mounted", dead), *kept = scratch_text("%s/kept", driver->root);
	_cleanup_free_ char *file = scratch_text("%s/file", kept);
	assert_int_equal(scratch_write(file, 0600, "kept\n"), 0);
	assert_int_equal(mkdir(inside, 0700), 0);
	/* Somebody's own directory was mounted there: it is taken off, not emptied. */
	bool mounted = geteuid() == 0 && mount(kept, inside, NULL, MS_BIND, NULL) == 0;
	_cleanup_process_ struct process dry = PROCESS_INIT, wet = PROCESS_INIT;
	assert_int_equal(run_sweep(driver, &dry, "--dry-run"), 0);
	assert_true(tells(&dry, dead) && scratch_exists(dead));
	close(locks[0]);
	assert_int_equal(run_sweep(driver, &wet, NULL), 0);
	assert_true(tells(&wet, dead) && !tells(&wet, live));
	assert_true(!mounted || tells(&wet, inside));
	assert_false(scratch_exists(dead));
	assert_true(scratch_exists(live) && scratch_exists(file));
	close(locks[1]);
	scratch_remove(live);
}

/* A round that runs, with a task in it: nothing of it is found. */
static void test_beside_a_live_round(void **state)
{
	struct driver *driver = *state;
	const struct task_text tasks[] = { { "long", "sleep 31.2533", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(driver, "live", 1, tasks);
	_cleanup_process_ struct process round = PROCESS_INIT, sweep = PROCESS_INIT, stop = PROCESS_INIT;
	assert_int_equal(driver_start(driver, &round, ARGUMENTS("run", "--yes", "--display", "plain", file)), 0);
	if (!driver_await_more("sleep 31.2533", 1, SWEEP_MS)) {
		process_listen(&round, 100);
		fail_msg("the round does not run: %s%s", round.output.data, round.error.data);
	}
	_cleanup_free_ char *boundary = driver_read(driver, "boundary.json");
	assert_int_equal(run_sweep(driver, &sweep, NULL), 0);
	char *cgroup = strstr(boundary, "/proctor-");
	assert_non_null(cgroup);
	cgroup[strcspn(cgroup, "\"")] = '\0';
	assert_false(tells(&sweep, cgroup));
	assert_true(driver_await_more("sleep 31.2533", 1, 1000));
	assert_int_equal(driver_run(driver, &stop, SWEEP_MS, ARGUMENTS("stop", "live")), 0);
	assert_int_equal(process_wait(&round, SWEEP_MS), 3);
}

static int setup(void **state)
{
	static struct driver driver;
	driver_open(&driver);
	*state = &driver;
	return 0;
}

static int teardown(void **state)
{
	driver_close(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cgroups), cmocka_unit_test(test_sockets), cmocka_unit_test(test_directories_and_mounts),
		cmocka_unit_test(test_beside_a_live_round),
	};
	return cmocka_run_group_tests_name("sweep", tests, setup, teardown);
}
