/* The look-up of host.h: pure text work over two proc files. */
#include "core/containment/host.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/buffer.h"
#include "core/base/io.h"

#define PROC_FILE_MAX (4u << 20)

/* Is `word` one of the comma-separated words of `list` (ending at `end`)? */
static bool has_word(const char *list, const char *end, const char *word)
{
	size_t length = strlen(word);
	while (list < end) {
		const char *comma = memchr(list, ',', (size_t)(end - list));
		const char *stop = comma ? comma : end;
		if ((size_t)(stop - list) == length && memcmp(list, word, length) == 0)
			return true;
		list = stop + 1;
	}
	return false;
}

/* mountinfo writes space, tab, line feed and backslash as three octal digits (proc(5)). */
static void unescape(const char *from, size_t length, char *to, size_t size)
{
	size_t used = 0;
	for (size_t i = 0; i < length && used + 1 < size; i++) {
		if (from[i] == '\\' && i + 3 < length + 0 + 1 && from[i + 1] >= '0' && from[i + 1] <= '3') {
			to[used++] = (char)((from[i + 1] - '0') * 64 + (from[i + 2] - '0') * 8 + (from[i + 3] - '0'));
			i += 3;
		} else {
			to[used++] = from[i];
		}
	}
	to[used] = '\0';
}

struct mount {
	char device[32];
	char root[4096];
	char point[4096];
};

static bool is_word(const char *from, const char *end, const char *word)
{
	return (size_t)(end - from) == strlen(word) && memcmp(from, word, strlen(word)) == 0;
}

/*
 * One line: id parent major:minor ROOT POINT options [tags] - TYPE source SUPEROPTIONS. `controller` NULL: a mount of
 * cgroup2; "": of a v1 hierarchy; else of the v1 hierarchy that has it.
 */
static bool read_mount(const char *line, const char *end, const char *controller, struct mount *ret_mount)
{
	const char *field[6] = { line };
	const char *at = line;
	for (int i = 1; i < 6; i++) {
		at = memchr(at, ' ', (size_t)(end - at));
		if (!at)
			return false;
		field[i] = ++at;
	}
	const char *dash = memmem(at, (size_t)(end - at), " - ", 3);
	if (!dash)
		return false;
	const char *type = dash + 3;
	const char *type_end = memchr(type, ' ', (size_t)(end - type));
	if (!type_end)
		return false;
	const char *options = memchr(type_end + 1, ' ', (size_t)(end - type_end - 1));
	if (!is_word(type, type_end, controller ? "cgroup" : "cgroup2"))
		return false;
	if (controller && controller[0] && (!options || !has_word(options + 1, end, controller)))
		return false;
	unescape(field[2], (size_t)(field[3] - 1 - field[2]), ret_mount->device, sizeof ret_mount->device);
	unescape(field[3], (size_t)(field[4] - 1 - field[3]), ret_mount->root, sizeof ret_mount->root);
	unescape(field[4], (size_t)(field[5] - 1 - field[4]), ret_mount->point, sizeof ret_mount->point);
	return true;
}

/* Our path in the hierarchy: "0::PATH", or "N:...,controller,...:PATH". */
static int own_path(const char *cgroup, const char *controller, char *ret_path, size_t size)
{
	for (const char *line = cgroup; line && *line;) {
		const char *end = strchrnul(line, '\n');
		const char *first = memchr(line, ':', (size_t)(end - line));
		const char *second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
		bool unified = second && second == first + 1;
		if (second && (controller ? !unified && has_word(first + 1, second, controller) : unified)) {
			size_t length = (size_t)(end - second - 1);
			if (length >= size)
				return -ENAMETOOLONG;
			memcpy(ret_path, second + 1, length);
			ret_path[length] = '\0';
			return 0;
		}
		line = *end ? end + 1 : end;
	}
	return -ENOENT;
}

int host_find_cgroup(const char *mountinfo, const char *cgroup, const char *controller, char *ret_path, size_t size,
		     struct pr_error *error)
{
	const char *what = controller ? controller : "cgroup2";
	struct pr_error ours;
	char path[4096];
	if (!error)
		error = &ours;
	int r = own_path(cgroup, controller, path, sizeof path);
	if (r < 0)
		return pr_error_set(error, -r, "/proc/self/cgroup has no line for %s", what);
	if (strncmp(path, "/..", 3) == 0) {
		pr_error_set(error, EXDEV, "our cgroup %s is outside of our cgroup namespace", path);
		return pr_error_remedy(error, "start proctor from a process inside it: a container's own shell, not one that entered later");
	}
	size_t length = strlen(path);
	if (length > 10 && strcmp(path + length - 10, " (deleted)") == 0) {
		pr_error_set(error, ENOENT, "our cgroup %s was removed", path);
		return pr_error_remedy(error, "start proctor from a new shell");
	}

	bool mounted = false;
	for (const char *line = mountinfo; line && *line;) {
		const char *end = strchrnul(line, '\n');
		struct mount mount;
		if (read_mount(line, end, controller, &mount)) {
			mounted = true;
			size_t root = strcmp(mount.root, "/") == 0 ? 0 : strlen(mount.root);
			/* A mount of a sub-tree shows only what is below its root. */
			if (strncmp(path, mount.root, root) == 0 && (path[root] == '/' || path[root] == '\0')) {
				const char *rest = path[root] == '/' && path[root + 1] == '\0' ? "" : path + root;
				if ((size_t)snprintf(ret_path, size, "%s%s", mount.point, rest) >= size)
					return pr_error_errno(error, ENAMETOOLONG, "cgroup path %s", path);
				return 0;
			}
		}
		line = *end ? end + 1 : end;
	}
	if (mounted) {
		pr_error_set(error, ENOENT, "no mount of %s shows our cgroup %s", what, path);
		return pr_error_remedy(error, "in a container: start it with --cgroupns=host, or mount cgroup2 anew inside it");
	}
	pr_error_set(error, ENOENT, "no %s hierarchy is mounted here", what);
	return controller ? -ENOENT : pr_error_remedy(error, "mount one: mount -t cgroup2 none /sys/fs/cgroup/unified "
						      "(a hybrid host), or boot with systemd.unified_cgroup_hierarchy=1");
}

int host_own_cgroup(const char *controller, char *ret_path, size_t size, struct pr_error *error)
{
	_cleanup_buffer_ struct buffer mountinfo = BUFFER_INIT;
	_cleanup_buffer_ struct buffer cgroup = BUFFER_INIT;
	int r = io_read_file(AT_FDCWD, "/proc/self/mountinfo", PROC_FILE_MAX, &mountinfo);
	if (r < 0)
		return pr_error_errno(error, -r, "reading /proc/self/mountinfo");
	r = io_read_file(AT_FDCWD, "/proc/self/cgroup", PROC_FILE_MAX, &cgroup);
	if (r < 0)
		return pr_error_errno(error, -r, "reading /proc/self/cgroup");
	if (!mountinfo.data || !cgroup.data)
		return pr_error_set(error, ENOENT, "/proc/self/cgroup or mountinfo is empty");
	return host_find_cgroup(mountinfo.data, cgroup.data, controller, ret_path, size, error);
}

bool host_has_systemd(void)
{
	struct stat status;
	return lstat("/run/systemd/system", &status) == 0 && S_ISDIR(status.st_mode);
}

static bool is_listed(const struct host_hierarchy *list, size_t count, const char *device)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].device, device) == 0)
			return true;
	return false;
}

size_t host_hierarchies(const char *mountinfo, struct host_hierarchy list[static HOST_HIERARCHIES_MAX])
{
	size_t count = 0;
	for (const char *line = mountinfo; line && *line && count < HOST_HIERARCHIES_MAX;) {
		const char *end = strchrnul(line, '\n');
		struct mount mount;
		bool unified = read_mount(line, end, NULL, &mount);
		if ((unified || read_mount(line, end, "", &mount)) && !is_listed(list, count, mount.device)) {
			struct host_hierarchy *one = &list[count++];
			memcpy(one->point, mount.point, sizeof one->point);
			memcpy(one->device, mount.device, sizeof one->device);
			one->unified = unified;
		}
		line = *end ? end + 1 : end;
	}
	return count;
}

uid_t host_own_uid(void)
{
	_cleanup_buffer_ struct buffer map = BUFFER_INIT;
	unsigned long inside, outside, count;
	uid_t own = geteuid();
	if (io_read_file(AT_FDCWD, "/proc/self/uid_map", 65536, &map) < 0)
		return own;
	for (const char *line = map.data; line && *line;) {
		const char *end = strchrnul(line, '\n');
		if (sscanf(line, "%lu %lu %lu", &inside, &outside, &count) == 3 && own >= inside && own - inside < count)
			return (uid_t)(outside + (own - inside));
		line = *end ? end + 1 : end;
	}
	return own;
}
