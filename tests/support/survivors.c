/* Counting what is left (survivors.h). */
#include "tests/support/survivors.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/io.h"

#define DEPTH 12		/* cgroups below a mount; a worker nests two levels below its own */
#define PROC_FILE_MAX ((size_t)4 << 20)

/* The executable of a process; "" where it has none or may not be read. */
static void executable(pid_t pid, char *ret_path, size_t size)
{
	char link[64];
	snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
	ssize_t length = readlink(link, ret_path, size - 1);
	ret_path[length > 0 ? length : 0] = '\0';
}

static bool ours(const char *path, const char *build)
{
	size_t length = strlen(build);
	const char *name = strrchr(path, '/');
	return strncmp(path, build, length) == 0 && path[length] == '/' && strncmp(name, "/proctor", 8) == 0;
}

/* An ordinary user may not read where root's processes come from; its own are readable. */
static bool hidden(pid_t pid)
{
	char link[64], path[1];
	snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
	return readlink(link, path, sizeof path) < 0 && errno == EACCES;
}

static bool foreign(const char *path, const char *build)
{
	const char *name = strrchr(path, '/');
	return name && strncmp(name, "/proctor", 8) == 0 && !ours(path, build);
}

typedef void (*pid_visitor)(pid_t pid, void *argument);

static void each_process(pid_visitor visit, void *argument)
{
	_cleanup_closedir_ DIR *proc = opendir("/proc");
	for (struct dirent *entry; proc && (entry = readdir(proc));)
		if (isdigit((unsigned char)entry->d_name[0]))
			visit(atoi(entry->d_name), argument);
}

struct counting {
	const char *build;
	struct survivors *survivors;
};

static void count_process(pid_t pid, void *argument)
{
	struct counting *counting = argument;
	char path[4096];
	executable(pid, path, sizeof path);
	if (pid == getpid() || !ours(path, counting->build))
		return;
	counting->survivors->processes++;
	buffer_printf(&counting->survivors->list, "process %d %s\n", (int)pid, path);
}

static bool holds_foreign_process(int directory, const char *build)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	if (io_read_file(directory, "cgroup.procs", PROC_FILE_MAX, &text) < 0 || !text.data)
		return false;
	char *save = text.data;
	for (char *line; (line = strsep(&save, "\n"));) {
		char path[4096];
		executable(atoi(line), path, sizeof path);
		if (line[0] && foreign(path, build))
			return true;
	}
	return false;
}

/* Does this cgroup or one below it hold a process of another build? */
static bool belongs_to_others(int directory, const char *build, int depth)
{
	if (holds_foreign_process(directory, build))
		return true;
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	bool found = false;
	for (struct dirent *entry; entries && !found && depth < DEPTH && (entry = readdir(entries));) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		_cleanup_close_ int below = openat(directory, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		found = below >= 0 && belongs_to_others(below, build, depth + 1);
	}
	return found;
}

static void count_cgroups(const char *path, struct counting *counting, int depth)
{
	_cleanup_closedir_ DIR *entries = opendir(path);
	for (struct dirent *entry; entries && depth < DEPTH && (entry = readdir(entries));) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		char below[8192];
		if ((size_t)snprintf(below, sizeof below, "%s/%s", path, entry->d_name) >= sizeof below)
			continue;
		if (strncmp(entry->d_name, "proctor", 7) != 0) {
			count_cgroups(below, counting, depth + 1);
			continue;
		}
		int owner = 0;
		char owner_path[4096] = "";
		if (sscanf(entry->d_name, "proctor-%d-", &owner) == 1)
			executable(owner, owner_path, sizeof owner_path);
		if (foreign(owner_path, counting->build) || (owner > 0 && hidden(owner)))
			continue;
		_cleanup_close_ int fd = open(below, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0 || belongs_to_others(fd, counting->build, depth))
			continue;
		counting->survivors->cgroups++;
		buffer_printf(&counting->survivors->list, "cgroup %s\n", below);
	}
}

/* Mount points of cgroup file systems, by their type (proc(5), /proc/PID/mountinfo: after the lone "-"). */
static void each_hierarchy(struct counting *counting)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	if (io_read_file(AT_FDCWD, "/proc/self/mountinfo", PROC_FILE_MAX, &text) < 0 || !text.data)
		return;
	char *lines = text.data;
	for (char *line; (line = strsep(&lines, "\n"));) {
		char *type = strstr(line, " - cgroup");
		char *fields = line, *mount = NULL;
		for (int field = 0; type && field < 5; field++)
			mount = strsep(&fields, " ");
		if (mount)
			count_cgroups(mount, counting, 0);
	}
}

struct survivors survivors_count(const char *build)
{
	struct survivors survivors = { .list = BUFFER_INIT };
	buffer_add_text(&survivors.list, "");
	struct counting counting = { build, &survivors };
	each_process(count_process, &counting);
	each_hierarchy(&counting);
	return survivors;
}

void survivors_release(struct survivors *survivors)
{
	buffer_release(&survivors->list);
}

/* Lines of `after` that `before` does not hold. */
static int news(const struct survivors *before, const struct survivors *after, bool print)
{
	_cleanup_free_ char *copy = strdup(after->list.data ? after->list.data : "");
	char *lines = copy;
	int count = 0;
	for (char *line; lines && (line = strsep(&lines, "\n"));) {
		if (!line[0] || (before->list.data && strstr(before->list.data, line)))
			continue;
		count++;
		if (print)
			fprintf(stderr, "left over: %s\n", line);
	}
	return count;
}

int survivors_settle(const char *build, const struct survivors *before, int timeout_ms)
{
	int64_t end = clock_mono_ns() + timeout_ms * NS_PER_MS;
	for (;;) {
		_cleanup_survivors_ struct survivors after = survivors_count(build);
		bool last = clock_mono_ns() >= end;
		int count = news(before, &after, last);
		if (count == 0 || last)
			return count;
		clock_sleep_ns(50 * NS_PER_MS);
	}
}

pid_t survivors_parent(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	if (io_read_file(AT_FDCWD, path, 4096, &text) < 0 || !text.data)
		return -1;
	int parent;
	char *at = strrchr(text.data, ')');
	return at && sscanf(at, ") %*c %d", &parent) == 1 ? parent : -1;
}

struct finding {
	const char *path;
	pid_t ancestor;
	pid_t *pids;
	int size;
	int count;
};

static void find_process(pid_t pid, void *argument)
{
	struct finding *finding = argument;
	char path[4096];
	executable(pid, path, sizeof path);
	if (strcmp(path, finding->path) != 0)
		return;
	pid_t above = pid;
	for (int i = 0; finding->ancestor && above > 1 && above != finding->ancestor && i < 64; i++)
		above = survivors_parent(above);
	if (finding->ancestor && above != finding->ancestor)
		return;
	if (finding->count < finding->size)
		finding->pids[finding->count] = pid;
	finding->count++;
}

int survivors_find(const char *build, const char *program, pid_t ancestor, pid_t *ret_pids, int size)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", build, program);
	struct finding finding = { path, ancestor, ret_pids, size, 0 };
	each_process(find_process, &finding);
	return finding.count;
}
