/* The look-up of host.h: pure text work over two proc files. */
#include "core/containment/host.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

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
	char root[4096];
	char point[4096];
};

/* One line: id parent major:minor ROOT POINT options [tags] - TYPE source SUPEROPTIONS. */
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
	const char *wanted = controller ? "cgroup" : "cgroup2";
	if ((size_t)(type_end - type) != strlen(wanted) || memcmp(type, wanted, strlen(wanted)) != 0)
		return false;
	if (controller && (!options || !has_word(options + 1, end, controller)))
		return false;
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
	char path[4096];
	int r = own_path(cgroup, controller, path, sizeof path);
	if (r < 0)
		return pr_error_set(error, -r, "/proc/self/cgroup has no line for %s", what);
	if (strncmp(path, "/..", 3) == 0)
		return pr_error_set(error, EXDEV, "our cgroup %s is outside of our cgroup namespace", path);
	size_t length = strlen(path);
	if (length > 10 && strcmp(path + length - 10, " (deleted)") == 0)
		return pr_error_set(error, ENOENT, "our cgroup %s was removed", path);

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
	if (mounted)
		return pr_error_set(error, ENOENT, "no mount of %s shows our cgroup %s", what, path);
	return pr_error_set(error, ENOENT, "no %s hierarchy is mounted here", what);
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
