/*
 * A cgroup's life: made, counted, frozen, waited for, removed. What host it lives on is cgroup_tree.c's.
 * Kills nothing itself: kill.c does.
 */
#include "core/containment/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/base/guard.h"
#include "core/base/io.h"

#define REMOVE_RETRY_NS (2 * NS_PER_S)	/* K9 */
#define NESTED_MAX 4096			/* K11 */
#define NESTED_DEPTH 32
#define COUNT_MAX 65536
#define CPU_PERIOD_US 100000
#define V1_BATCH_BYTES (UINT64_C(1) << 20)
#define V1_SOCKET_BYTES (UINT64_C(128) << 20)

struct resource_row {
	const char *controller;
	const char *v2;
	const char *v1;
};

static const struct resource_row resource_rows[] = {
#define X(identifier, controller_, v2_, v1_) [identifier] = { controller_, v2_, v1_ },
	CGROUP_RESOURCES(X)
#undef X
};

const char *cgroup_resource_name(enum cgroup_resource resource)
{
	return resource_rows[resource].controller;
}

const char *cgroup_generation_name(enum cgroup_generation generation)
{
	static const char *const names[] = { [GENERATION_NONE] = "none", [GENERATION_V2] = "v2", [GENERATION_V1] = "v1" };
	return names[generation];
}

void cgroup_leaf_init(struct cgroup_leaf *leaf)
{
	*leaf = (struct cgroup_leaf){ .fd = -1, .events = -1 };
	for (int i = 0; i < RESOURCE_COUNT; i++)
		leaf->v1[i] = leaf->v1_tasks[i] = -1;
}

void cgroup_leaf_release(struct cgroup_leaf *leaf)
{
	cleanup_close(&leaf->fd);
	cleanup_close(&leaf->events);
	for (int i = 0; i < RESOURCE_COUNT; i++) {
		cleanup_close(&leaf->v1[i]);
		cleanup_close(&leaf->v1_tasks[i]);
	}
	cgroup_leaf_init(leaf);
}

static void limit_text(enum cgroup_resource resource, const struct cgroup_limits *limits, enum cgroup_generation generation,
		       char *text, size_t size)
{
	text[0] = '\0';
	switch (resource) {
	case RESOURCE_PIDS:
		if (limits->processes && guard_holds(GUARD_PIDS_LIMIT))
			snprintf(text, size, "%" PRIu64, limits->processes);
		break;
	case RESOURCE_MEMORY:
		if (limits->memory_bytes && guard_holds(GUARD_MEMORY_LIMIT))
			snprintf(text, size, "%" PRIu64, limits->memory_bytes);
		break;
	case RESOURCE_CPU:
		if (!guard_holds(GUARD_CPU_LIMIT))
			break;
		if (limits->cpus > 0 && generation == GENERATION_V2)
			snprintf(text, size, "%.0f %d", limits->cpus * CPU_PERIOD_US, CPU_PERIOD_US);
		else if (limits->cpus > 0)
			snprintf(text, size, "%.0f", limits->cpus * CPU_PERIOD_US);
		break;
	case RESOURCE_COUNT:
		break;
	}
}

/* Limits are kept in whole pages, rounded down (page_counter_memparse in the kernel). */
static bool stands(const char *wanted, const char *found, bool pages)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	if (!pages)
		return strcmp(wanted, found) == 0;
	uint64_t bytes = strtoull(wanted, NULL, 10);
	return strtoull(found, NULL, 10) == bytes - bytes % page;
}

/* Writes a limit and reads it back: what the kernel holds counts, not that it took the write. */
static int write_limit(int fd, const char *file, const char *text, bool pages)
{
	char found[64];
	_cleanup_close_ int limit = openat(fd, file, O_RDWR | O_CLOEXEC);
	if (limit < 0)
		return -errno;
	if (write(limit, text, strlen(text)) < 0)
		return -errno;
	ssize_t length = pread(limit, found, sizeof found - 1, 0);
	if (length < 0)
		return -errno;
	found[length] = '\0';
	found[strcspn(found, "\n")] = '\0';
	return stands(text, found, pages) ? 0 : -ERANGE;
}

/*
 * What memory.max of v2 includes, or a file beside it, stands apart in v1: swap, and what sockets hold (seen on 6.18:
 * a gigabyte below a limit of 64 MiB). None of these files is there on every kernel (-ENOENT); where it is, it holds.
 */
static int limit_more_memory(int fd, enum cgroup_generation generation, const struct cgroup_limits *limits, const char **ret_file)
{
	uint64_t bytes = limits->memory_bytes;
	char memory[32], sockets[32];
	snprintf(memory, sizeof memory, "%" PRIu64, bytes);
	snprintf(sockets, sizeof sockets, "%" PRIu64, bytes < V1_SOCKET_BYTES ? bytes : V1_SOCKET_BYTES);
	const struct {
		enum cgroup_generation generation;
		const char *file, *text;
	} more[] = {
		{ GENERATION_V2, "memory.swap.max", "0" },
		/* The run dies as a whole: half of it would not be what the owner asked to be judged. */
		{ GENERATION_V2, "memory.oom.group", limits->as_a_whole ? "1" : "0" },
		{ GENERATION_V1, "memory.memsw.limit_in_bytes", memory },
		{ GENERATION_V1, "memory.kmem.tcp.limit_in_bytes", sockets },
	};
	for (size_t i = 0; i < ELEMENTS(more); i++) {
		if (more[i].generation != generation)
			continue;
		int r = write_limit(fd, more[i].file, more[i].text, generation == GENERATION_V1);
		if (r < 0 && r != -ENOENT) {
			*ret_file = more[i].file;
			return r;
		}
	}
	return 0;
}

static int set_limit(const struct cgroup_tree *tree, const struct cgroup_leaf *leaf, enum cgroup_resource resource,
		     const struct cgroup_limits *limits, struct pr_error *error)
{
	enum cgroup_generation generation = tree->generation[resource];
	const struct resource_row *row = &resource_rows[resource];
	char text[64];

	if (generation == GENERATION_NONE)
		return 0;
	limit_text(resource, limits, generation, text, sizeof text);
	if (text[0] == '\0')
		return 0;
	int fd = generation == GENERATION_V2 ? leaf->fd : leaf->v1[resource];
	const char *file = generation == GENERATION_V2 ? row->v2 : row->v1;
	int r = write_limit(fd, file, text, resource == RESOURCE_MEMORY);
	if (r == 0 && resource == RESOURCE_MEMORY)
		r = limit_more_memory(fd, generation, limits, &file);
	if (r < 0) {
		const char *path = generation == GENERATION_V2 ? tree->path : tree->v1[resource].path;
		if (r == -ERANGE)
			return pr_error_set(error, ERANGE, "the limit %s in %s of %s/%s does not read back", text, file, path, leaf->name);
		pr_error_errno(error, -r, "setting a limit, %s of %s/%s", file, path, leaf->name);
		return cgroup_remedy(CGROUP_LIMIT, error);
	}
	return 0;
}

static int make_directory(int parent, const char *name, const char *where, int *ret_fd, struct pr_error *error)
{
	if (mkdirat(parent, name, 0755) < 0) {
		pr_error_errno(error, errno, "making the cgroup %s/%s", where, name);
		return cgroup_remedy(CGROUP_MAKE, error);
	}
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		int code = errno;
		unlinkat(parent, name, AT_REMOVEDIR);
		return pr_error_errno(error, code, "opening the cgroup %s/%s", where, name);
	}
	*ret_fd = fd;
	return 0;
}

static int make_v1(struct cgroup_tree *tree, enum cgroup_resource resource, struct cgroup_leaf *leaf, struct pr_error *error)
{
	const char *path = tree->v1[resource].path;
	enum cgroup_resource first = tree->v1[resource].first;
	if (first != resource) {
		/* Of one hierarchy with another controller: the same directory, entered once. */
		leaf->v1[resource] = fcntl(leaf->v1[first], F_DUPFD_CLOEXEC, 0);
		return leaf->v1[resource] < 0 ? pr_error_errno(error, errno, "opening %s/%s", path, leaf->name) : 0;
	}
	int r = make_directory(tree->v1[resource].parent, leaf->name, path, &leaf->v1[resource], error);
	if (r < 0)
		return r;
	leaf->v1_tasks[resource] = openat(leaf->v1[resource], "tasks", O_WRONLY | O_CLOEXEC);
	if (leaf->v1_tasks[resource] < 0)
		return pr_error_errno(error, errno, "opening %s/%s/tasks", path, leaf->name);
	return 0;
}

int cgroup_leaf_make(struct cgroup_tree *tree, const char *name, const struct cgroup_limits *limits,
		     struct cgroup_leaf *leaf, struct pr_error *error)
{
	cgroup_leaf_init(leaf);
	snprintf(leaf->name, sizeof leaf->name, "%s", name);
	int r = make_directory(tree->parent, leaf->name, tree->path, &leaf->fd, error);
	for (int i = 0; r == 0 && i < RESOURCE_COUNT; i++)
		if (tree->generation[i] == GENERATION_V1)
			r = make_v1(tree, (enum cgroup_resource)i, leaf, error);
	for (int i = 0; r == 0 && i < RESOURCE_COUNT; i++)
		r = set_limit(tree, leaf, (enum cgroup_resource)i, limits, error);
	if (r == 0) {
		leaf->events = cgroup_open_events(leaf->fd);
		if (leaf->events < 0)
			r = pr_error_errno(error, -leaf->events, "opening cgroup.events of %s/%s", tree->path, leaf->name);
	}
	if (r < 0 && leaf->fd >= 0) {
		unsigned nested;
		cgroup_leaf_remove(tree, leaf, &nested);
	}
	if (r < 0)
		cgroup_leaf_release(leaf);
	return r;
}

int cgroup_leaf_enter_v1(const struct cgroup_leaf *leaf)
{
	for (int i = 0; i < RESOURCE_COUNT; i++)
		if (leaf->v1_tasks[i] >= 0 && write(leaf->v1_tasks[i], "0", 1) != 1)
			return -errno;
	return 0;
}

static unsigned count_here(int fd)
{
	_cleanup_close_ int procs = openat(fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	unsigned count = 0;
	char text[8192];
	ssize_t n;

	while (procs >= 0 && count < COUNT_MAX && (n = read(procs, text, sizeof text)) > 0)
		for (ssize_t i = 0; i < n; i++)
			count += text[i] == '\n';
	return count;
}

/* Opens the directory's stream over a descriptor of its own: readdir moves the offset. */
static DIR *open_stream(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (copy < 0)
		return NULL;
	DIR *stream = fdopendir(copy);
	if (!stream)
		close(copy);
	return stream;
}

static bool is_child(const struct dirent *entry)
{
	return entry->d_type == DT_DIR && entry->d_name[0] != '.';
}

static unsigned count_below(int fd, unsigned depth)
{
	unsigned count = count_here(fd);
	if (depth >= NESTED_DEPTH)
		return count;
	_cleanup_closedir_ DIR *stream = open_stream(fd);
	for (struct dirent *entry; stream && (entry = readdir(stream)) && count < COUNT_MAX;) {
		if (!is_child(entry))
			continue;
		_cleanup_close_ int child = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (child >= 0)
			count += count_below(child, depth + 1);
	}
	return count;
}

unsigned cgroup_count(int fd)
{
	return count_below(fd, 0);
}

int cgroup_open_events(int fd)
{
	int events = openat(fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	return events < 0 ? -errno : events;
}

/* One line "KEY VALUE" of cgroup.events. Reading also arms the next POLLPRI. */
static int read_key(int events_fd, const char *key)
{
	char text[256];
	ssize_t n = pread(events_fd, text, sizeof text - 1, 0);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	const char *at = strstr(text, key);
	if (!at)
		return -ENOENT;
	return at[strlen(key) + 1] == '1';
}

int cgroup_populated(int events_fd)
{
	return read_key(events_fd, "populated");
}

int cgroup_frozen(int events_fd)
{
	return read_key(events_fd, "frozen");
}

static int wait_key(int events_fd, const char *key, int wanted, int64_t timeout_ns)
{
	int64_t deadline = clock_mono_ns() + timeout_ns;
	for (;;) {
		int value = read_key(events_fd, key);
		if (value == wanted)
			return 0;
		if (value < 0)
			return value == -ENODEV ? 0 : value;
		int64_t left = deadline - clock_mono_ns();
		if (left <= 0)
			return -ETIMEDOUT;
		struct pollfd one = { .fd = events_fd, .events = POLLPRI };
		poll(&one, 1, (int)((left + NS_PER_MS - 1) / NS_PER_MS));
	}
}

int cgroup_wait_empty(int events_fd, int64_t timeout_ns)
{
	return wait_key(events_fd, "populated", 0, timeout_ns);
}

int cgroup_wait_frozen(int events_fd, int64_t timeout_ns)
{
	return wait_key(events_fd, "frozen", 1, timeout_ns);
}

int cgroup_freeze(int fd, bool on)
{
	return io_write_file(fd, "cgroup.freeze", on ? "1" : "0");
}

static int remove_with_retry(int parent, const char *name)
{
	int64_t deadline = clock_mono_ns() + REMOVE_RETRY_NS;
	for (int64_t pause = NS_PER_MS / 5;; pause = pause < 10 * NS_PER_MS ? 2 * pause : pause) {
		if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY || clock_mono_ns() >= deadline || !guard_holds(GUARD_REMOVE_RETRY))
			return -errno;
		clock_sleep_ns(pause);
	}
}

static int remove_below(int parent, const char *name, unsigned depth, unsigned *nested)
{
	/* Nothing nested: the common case is one system call. */
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	_cleanup_close_ int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	_cleanup_closedir_ DIR *stream = open_stream(fd);
	for (struct dirent *entry; stream && (entry = readdir(stream));) {
		if (!is_child(entry) || !guard_holds(GUARD_REMOVE_NESTED))
			continue;
		if (++*nested > NESTED_MAX || depth + 1 > NESTED_DEPTH)
			return -E2BIG;
		int r = remove_below(fd, entry->d_name, depth + 1, nested);
		if (r < 0)
			return r;
	}
	return remove_with_retry(parent, name);
}

int cgroup_remove(int parent, const char *name, unsigned *ret_nested)
{
	*ret_nested = 0;
	return remove_below(parent, name, 0, ret_nested);
}

int cgroup_leaf_remove(struct cgroup_tree *tree, struct cgroup_leaf *leaf, unsigned *ret_nested)
{
	int r = cgroup_remove(tree->parent, leaf->name, ret_nested);
	for (int i = 0; i < RESOURCE_COUNT; i++) {
		unsigned nested;
		if (leaf->v1[i] < 0)
			continue;
		int q = cgroup_remove(tree->v1[i].parent, leaf->name, &nested);
		if (r == 0)
			r = q;
		*ret_nested += nested;
	}
	return r;
}

/* The number behind `key` in a file of "key number" lines, or the whole file's number where key is NULL. */
static uint64_t read_number(int fd, const char *file, const char *key)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	if (fd < 0 || io_read_file(fd, file, 16384, &text) < 0 || !text.data)
		return 0;
	const char *at = text.data;
	if (key) {
		size_t length = strlen(key);
		while (at && !(strncmp(at, key, length) == 0 && at[length] == ' ')) {
			at = strchr(at, '\n');
			at = at ? at + 1 : NULL;
		}
		if (!at)
			return 0;
		at += length;
	}
	return strtoull(at, NULL, 10);
}

/*
 * The kernel counts a kill in the victim's cgroup whatever ran out (__oom_kill_process in the kernel):
 * the leaf's own limit, one above it, or the host's memory. It was the leaf's where the leaf ran into its limit.
 */
static void charge_oom(struct cgroup_counts *counts, uint64_t kills, bool own_limit)
{
	*(own_limit ? &counts->oom_kills : &counts->host_oom_kills) = kills;
}

void cgroup_leaf_counts(const struct cgroup_tree *tree, const struct cgroup_leaf *leaf, struct cgroup_counts *ret_counts)
{
	*ret_counts = (struct cgroup_counts){ 0 };
	int pids = tree->generation[RESOURCE_PIDS] == GENERATION_V2 ? leaf->fd : leaf->v1[RESOURCE_PIDS];
	ret_counts->pids_refused = read_number(pids, "pids.events", "max");
	if (tree->generation[RESOURCE_MEMORY] == GENERATION_V2) {
		ret_counts->memory_refused = read_number(leaf->fd, "memory.events", "max");
		charge_oom(ret_counts, read_number(leaf->fd, "memory.events", "oom_kill"),
			   read_number(leaf->fd, "memory.events", "oom") > 0);
		ret_counts->memory_bytes = read_number(leaf->fd, "memory.current", NULL);
	} else if (tree->generation[RESOURCE_MEMORY] == GENERATION_V1) {
		int memory = leaf->v1[RESOURCE_MEMORY];
		uint64_t limit = read_number(memory, "memory.limit_in_bytes", NULL);
		/* failcnt stays 0 on 6.18; the most that was ever used does not, and is charged in batches. */
		ret_counts->memory_refused = read_number(memory, "memory.failcnt", NULL);
		charge_oom(ret_counts, read_number(memory, "memory.oom_control", "oom_kill"),
			   read_number(memory, "memory.max_usage_in_bytes", NULL) + V1_BATCH_BYTES >= limit);
		ret_counts->memory_bytes = read_number(memory, "memory.usage_in_bytes", NULL);
	}
}
