/* Rounds as a user starts them (driver.h). */
#include "tests/end-to-end/driver.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/io.h"
#include "core/base/place.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"

#define PROC_FILE_MAX ((size_t)4 << 20)
#define PROGRAM PROCTOR_BUILD "/proctor"

void driver_open(struct driver *driver)
{
	static const char *const programs[] = { "proctor", "proctor-core", "proctor-worker", "proctor-init" };
	for (size_t i = 0; i < ELEMENTS(programs); i++) {
		_cleanup_free_ char *path = scratch_text("%s/%s", PROCTOR_BUILD, programs[i]);
		if (access(path, X_OK) < 0)
			skip_program("%s is not built", path);
	}
	/* as_ordinary (tests/support) says so of the places it made. */
	if (geteuid() != 0 && !getenv("PROCTOR_TEST_DELEGATED"))
		skip_program("these rounds need root, or tests/support/as_ordinary");

	char root[] = "/tmp/pt-XXXXXX";
	if (!mkdtemp(root)) {
		perror(root);
		exit(1);
	}
	*driver = (struct driver){ .root = scratch_text("%s", root) };
	driver->state = scratch_text("%s/state", root);
	driver->rounds = scratch_text("%s/state/proctor/rounds", root);
	driver->variables[0] = scratch_text("XDG_STATE_HOME=%s", driver->state);
	driver->variables[1] = scratch_text("XDG_RUNTIME_DIR=%s/run", root);
	driver->variables[2] = scratch_text("HOME=%s", root);
	_cleanup_free_ char *runtime = scratch_text("%s/run", root);
	mkdir(runtime, 0700);
	_cleanup_free_ char *seed = scratch_text("%s/subject/seed", root);
	scratch_write(seed, 0644, "");
	driver->before = survivors_count(PROCTOR_BUILD);
}

int driver_left(struct driver *driver, int timeout_ms)
{
	return survivors_settle(PROCTOR_BUILD, &driver->before, timeout_ms);
}

int driver_start(struct driver *driver, struct process *process, const char *const *arguments)
{
	const char *argv[32] = { PROGRAM };
	for (size_t i = 0; arguments[i] && i + 2 < ELEMENTS(argv); i++)
		argv[i + 1] = arguments[i];
	return process_start(process, &(struct process_start){ .argv = argv, .directory = driver->root,
							       .environment = (const char *const *)driver->variables });
}

int driver_run(struct driver *driver, struct process *process, int timeout_ms, const char *const *arguments)
{
	int r = driver_start(driver, process, arguments);
	if (r < 0)
		return r;
	r = process_wait(process, timeout_ms);
	if (r == -ETIMEDOUT)
		kill(process->pid, SIGKILL);
	return r;
}

static struct json_object *text_list(const char *const *texts)
{
	struct json_object *list = json_object_new_array();
	for (; *texts; texts++)
		json_object_array_add(list, json_object_new_string(*texts));
	return list;
}

static struct json_object *number_list(int number)
{
	struct json_object *list = json_object_new_array();
	json_object_array_add(list, json_object_new_int(number));
	return list;
}

static struct json_object *shell_agent(const char *command)
{
	struct json_object *agent = json_object_new_object();
	json_object_object_add(agent, "name", json_object_new_string("shell"));
	json_object_object_add(agent, "command", text_list(ARGUMENTS("sh", "-c", command)));
	struct json_object *environment = json_object_new_object();
	json_object_object_add(environment, "PATH", json_object_new_string("/usr/bin:/bin"));
	json_object_object_add(agent, "environment", environment);
	return agent;
}

static struct json_object *task_object(const struct task_text *task)
{
	struct json_object *object = json_object_new_object();
	json_object_object_add(object, "id", json_object_new_string(task->id));
	json_object_object_add(object, "directory", json_object_new_string("subject"));
	json_object_object_add(object, "prompt", json_object_new_string("Leave a file named done."));
	json_object_object_add(object, "agent", shell_agent(task->agent));
	struct json_object *budget = json_object_new_object();
	json_object_object_add(budget, "wall_clock", json_object_new_string(task->wall_clock ? task->wall_clock : "60s"));
	json_object_object_add(object, "budget", budget);
	struct json_object *test = json_object_new_object();
	json_object_object_add(test, "command", text_list(ARGUMENTS("sh", "-c", "test -e done")));
	json_object_object_add(test, "baseline", number_list(1));
	json_object_object_add(test, "patched", number_list(0));
	struct json_object *tests = json_object_new_array();
	json_object_array_add(tests, test);
	json_object_object_add(object, "tests", tests);
	return object;
}

char *driver_round(struct driver *driver, const char *name, int parallel, const struct task_text *tasks)
{
	struct json_object *round = json_object_new_object();
	json_object_object_add(round, "round", json_object_new_string(name));
	json_object_object_add(round, "kind", json_object_new_string("baseline"));
	json_object_object_add(round, "parallel", json_object_new_int(parallel));
	struct json_object *list = json_object_new_array();
	for (; tasks->id; tasks++)
		json_object_array_add(list, task_object(tasks));
	json_object_object_add(round, "tasks", list);
	_cleanup_free_ char *file = scratch_text("%s.round.json", name);
	char *path = driver_file(driver, file, json_object_to_json_string_ext(round, JSON_C_TO_STRING_PRETTY));
	json_object_put(round);
	return path;
}

char *driver_file(struct driver *driver, const char *name, const char *text)
{
	char *path = scratch_text("%s/%s", driver->root, name);
	if (scratch_write(path, 0644, text) < 0) {
		perror(path);
		exit(1);
	}
	return path;
}

/* Calls with the name of each run; temporary ones (a leading dot) are none. */
static int each_run(struct driver *driver, char *ret_newest, size_t size)
{
	_cleanup_closedir_ DIR *entries = opendir(driver->rounds);
	struct timespec newest = { 0 };
	int count = 0;
	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		struct stat status;
		if (entry->d_name[0] == '.' || fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISDIR(status.st_mode))
			continue;
		count++;
		/* Names of one second tell nothing of their order: the log's last change does. */
		_cleanup_free_ char *log = scratch_text("%s/events.jsonl", entry->d_name);
		fstatat(dirfd(entries), log, &status, 0);
		if (status.st_mtim.tv_sec > newest.tv_sec ||
		    (status.st_mtim.tv_sec == newest.tv_sec && status.st_mtim.tv_nsec >= newest.tv_nsec)) {
			newest = status.st_mtim;
			if (ret_newest)
				snprintf(ret_newest, size, "%s", entry->d_name);
		}
	}
	return count;
}

char *driver_newest(struct driver *driver)
{
	char name[256] = "";
	each_run(driver, name, sizeof name);
	return name[0] ? scratch_text("%s/%s", driver->rounds, name) : NULL;
}

int driver_run_count(struct driver *driver)
{
	return each_run(driver, NULL, 0);
}

char *driver_read(struct driver *driver, const char *name)
{
	_cleanup_free_ char *run = driver_newest(driver);
	if (!run)
		return NULL;
	_cleanup_free_ char *path = scratch_text("%s/%s", run, name);
	return scratch_read(path);
}

bool driver_await_log(struct driver *driver, const char *text, int timeout_ms)
{
	int64_t end = clock_mono_ns() + timeout_ms * NS_PER_MS;
	for (;;) {
		_cleanup_free_ char *log = driver_read(driver, "events.jsonl");
		if (log && strstr(log, text))
			return true;
		if (clock_mono_ns() >= end)
			return false;
		clock_sleep_ns(20 * NS_PER_MS);
	}
}

/* Does the process carry our state directory? */
static bool carries(pid_t pid, const char *variable)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	if (io_read_file(AT_FDCWD, path, PROC_FILE_MAX, &text) < 0 || !text.data)
		return false;
	return memmem(text.data, text.length, variable, strlen(variable) + 1) != NULL;
}

static pid_t find(struct driver *driver, const char *program, pid_t ancestor)
{
	pid_t pids[64];
	int count = survivors_find(PROCTOR_BUILD, program, ancestor, pids, ELEMENTS(pids));
	for (int i = 0; i < count && i < (int)ELEMENTS(pids); i++)
		if (carries(pids[i], driver->variables[0]))
			return pids[i];
	return -1;
}

pid_t driver_core(struct driver *driver)
{
	return find(driver, "proctor-core", 0);
}

pid_t driver_worker(struct driver *driver)
{
	pid_t core = driver_core(driver);
	pid_t pids[64];
	int count = core > 0 ? survivors_find(PROCTOR_BUILD, "proctor-worker", core, pids, ELEMENTS(pids)) : 0;
	/* A birth on its way is a copy of the worker below the worker. */
	for (int i = 0; i < count && i < (int)ELEMENTS(pids); i++)
		if (survivors_parent(pids[i]) == core)
			return pids[i];
	return -1;
}

pid_t driver_await_worker(struct driver *driver, pid_t other_than, int timeout_ms)
{
	int64_t end = clock_mono_ns() + timeout_ms * NS_PER_MS;
	for (;;) {
		pid_t pid = driver_worker(driver);
		if (pid > 0 && pid != other_than)
			return pid;
		if (clock_mono_ns() >= end)
			return -1;
		clock_sleep_ns(20 * NS_PER_MS);
	}
}

bool driver_await_gone(pid_t pid, int timeout_ms)
{
	int64_t end = clock_mono_ns() + timeout_ms * NS_PER_MS;
	uint64_t start;
	/* A zombie is gone: who was to reap it may be gone as well. */
	while (place_start_time(pid, &start) == 0) {
		if (clock_mono_ns() >= end)
			return false;
		clock_sleep_ns(20 * NS_PER_MS);
	}
	return true;
}

int driver_count_commands(const char *text)
{
	_cleanup_closedir_ DIR *proc = opendir("/proc");
	int count = 0;
	for (struct dirent *entry; proc && (entry = readdir(proc));) {
		if (!isdigit((unsigned char)entry->d_name[0]) || atoi(entry->d_name) == getpid())
			continue;
		char path[300];
		snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
		_cleanup_buffer_ struct buffer line = BUFFER_INIT;
		if (io_read_file(AT_FDCWD, path, PROC_FILE_MAX, &line) < 0 || !line.data)
			continue;
		for (size_t i = 0; i < line.length; i++)
			if (line.data[i] == '\0')
				line.data[i] = ' ';
		count += memmem(line.data, line.length, text, strlen(text)) != NULL;
	}
	return count;
}

bool driver_await_commands(const char *text, int count, int timeout_ms)
{
	int64_t end = clock_mono_ns() + timeout_ms * NS_PER_MS;
	while (driver_count_commands(text) != count) {
		if (clock_mono_ns() >= end)
			return false;
		clock_sleep_ns(20 * NS_PER_MS);
	}
	return true;
}

bool driver_await_more(const char *text, int least, int timeout_ms)
{
	int64_t end = clock_mono_ns() + timeout_ms * NS_PER_MS;
	while (driver_count_commands(text) < least) {
		if (clock_mono_ns() >= end)
			return false;
		clock_sleep_ns(20 * NS_PER_MS);
	}
	return true;
}

void driver_close(struct driver *driver)
{
	/* Only what carries this driver's state directory: nothing that another test or the owner started. */
	static const char *const programs[] = { "proctor", "proctor-core", "proctor-worker" };
	for (size_t i = 0; i < ELEMENTS(programs); i++) {
		/* A worker whose core has gone cleans up and ends by itself. */
		for (int waits = 0; i == 2 && waits < 150 && find(driver, programs[i], 0) > 0; waits++)
			clock_sleep_ns(100 * NS_PER_MS);
		for (int tries = 0; tries < 64; tries++) {
			pid_t pid = find(driver, programs[i], 0);
			if (pid <= 0)
				break;
			kill(pid, SIGKILL);
			driver_await_gone(pid, 10000);
		}
	}
	scratch_remove(driver->root);
	survivors_release(&driver->before);
	free(driver->root);
	free(driver->state);
	free(driver->rounds);
	for (size_t i = 0; i < ELEMENTS(driver->variables); i++)
		free(driver->variables[i]);
	*driver = (struct driver){ 0 };
}
