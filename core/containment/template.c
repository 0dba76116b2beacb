/* The templates of template.h; the worker's alone. */
#include "core/containment/template.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "core/base/buffer.h"
#include "core/base/guard.h"
#include "core/base/io.h"

#define COVER "/sys"
#define TEMPLATES_MAX 64
#define HOST_CGROUPS "/sys/fs/cgroup"

struct template {
	char *key;	/* root and paths, LF-separated */
};

static struct template templates[TEMPLATES_MAX];
static unsigned template_count;

/* Directories of the host that a minimal root has: a symbolic link is made again, a directory is bound. */
static const char *const host_directories[] = { "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32" };

/* Of /etc, what programs need to run; nothing with a secret, nothing about users or the network. */
static const char *const etc_of_host[] = {
	"alternatives", "ca-certificates", "fonts", "java-11-openjdk", "java-17-openjdk", "java-21-openjdk",
	"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "magic", "mime.types", "perl", "pki", "protocols",
	"python3", "python3.11", "python3.12", "python3.13", "services", "ssl/certs", "ssl/openssl.cnf", "terminfo",
	"timezone",
};

static const struct {
	const char *name, *text;
} etc_of_ours[] = {
	{ "passwd", "root:x:0:0:root:/:/usr/sbin/nologin\ncandidate:x:1000:1000:candidate:" HOME_PATH ":/bin/sh\n"
		    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n" },
	{ "group", "root:x:0:\ncandidate:x:1000:\nnogroup:x:65534:\n" },
	{ "hosts", "127.0.0.1 localhost proctor\n::1 localhost ip6-localhost ip6-loopback\n" },
	{ "hostname", "proctor\n" },
	/* A workspace that holds something protected is not the candidate's own, which git would refuse to work in. */
	{ "gitconfig", "[safe]\n\tdirectory = *\n" },
	{ "nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\nprotocols: files\n" },
	{ "resolv.conf", "" },
	{ "shells", "/bin/sh\n/bin/bash\n" },
};

static const char *const device_nodes[] = { "null", "zero", "full", "random", "urandom", "tty" };

static const struct {
	const char *name, *target;
} links[] = {
	{ "dev/fd", "/proc/self/fd" }, { "dev/stdin", "/proc/self/fd/0" }, { "dev/stdout", "/proc/self/fd/1" },
	{ "dev/stderr", "/proc/self/fd/2" }, { "dev/ptmx", "pts/ptmx" }, { "etc/mtab", "/proc/self/mounts" },
	{ "var/tmp", "/tmp" },
};

/* What a fresh tmpfs covers in each run. */
static const char *const covered[] = { "/tmp", HOME_PATH, WORKSPACE_PATH, "/dev", "/proc" };

/* What a deletion probe shows to the candidate: the host's cgroup file systems, in the place that is about to be covered. */
static int take_cgroups(void)
{
	return open_tree(AT_FDCWD, HOST_CGROUPS, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
}

static void keep_cgroups(int tree)
{
	mkdir(COVER "/cgroup", 0755);
	move_mount(tree, "", AT_FDCWD, COVER "/cgroup", MOVE_MOUNT_F_EMPTY_PATH);
}

int template_prepare(struct pr_error *error)
{
	if (unshare(CLONE_NEWNS) < 0)
		return pr_error_errno(error, errno, "taking a mount namespace for the worker");
	/* Slave, not private: what the host unmounts must not stay pinned by us. */
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0) {
		int r = pr_error_errno(error, errno, "no boundary: cutting the worker's mounts off from the host's");
		/* In a chroot "/" is a directory of some mount, and neither this nor pivot_root(2) works on it. */
		if (r == -EINVAL)
			pr_error_remedy(error, "this is a chroot whose root is no mount point: mount --bind DIRECTORY DIRECTORY "
					"before chroot, or use pivot_root or a container");
		return r;
	}
	_cleanup_close_ int cgroups = guard_holds(GUARD_CGROUP_VIEW) ? -1 : take_cgroups();
	if (mount("proctor", COVER, "tmpfs", MS_NOSUID, "mode=0755,size=16m") < 0)
		return pr_error_errno(error, errno, "mounting a tmpfs over " COVER " in the worker's own namespace");
	if (cgroups >= 0)
		keep_cgroups(cgroups);
	return 0;
}

static int make_parents(int root, const char *path)
{
	char partial[4096];
	if ((size_t)snprintf(partial, sizeof partial, "%s", path) >= sizeof partial)
		return -ENAMETOOLONG;
	for (char *slash = strchr(partial, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdirat(root, partial, 0755) < 0 && errno != EEXIST && errno != EROFS)
			return -errno;
		*slash = '/';
	}
	return 0;
}

/* A detached clone of what is mounted at `source`, with the attributes on all of it (or none: it fails closed). */
static int clone_mount(const char *source, uint64_t attributes, struct pr_error *error)
{
	_cleanup_close_ int tree = open_tree(AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (tree < 0)
		return pr_error_errno(error, errno, "cloning the mount of %s", source);
	struct mount_attr attr = { .attr_set = attributes };
	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) < 0)
		return pr_error_errno(error, errno, "making the mount of %s read-only", source);
	return take_fd(&tree);
}

/* Binds `source` at `target` (relative to root) with the attributes; -ENOENT where the source is not there. */
static int bind_at(int root, const char *source, const char *target, uint64_t attributes, struct pr_error *error)
{
	struct stat status;
	if (stat(source, &status) < 0)
		return pr_error_errno(error, errno, "binding %s into the sandbox", source);
	int r = make_parents(root, target);
	if (r < 0)
		return pr_error_errno(error, -r, "making room for %s in the sandbox", source);
	if (S_ISDIR(status.st_mode)) {
		if (mkdirat(root, target, 0755) < 0 && errno != EEXIST)
			return pr_error_errno(error, errno, "making room for %s in the sandbox", source);
	} else {
		/* An existing file may be on a read-only mount already: then it only has to be there. */
		_cleanup_close_ int fd = openat(root, target, O_CREAT | O_RDONLY | O_CLOEXEC, 0644);
		if (fd < 0 && faccessat(root, target, F_OK, 0) < 0)
			return pr_error_errno(error, errno, "making room for %s in the sandbox", source);
	}
	_cleanup_close_ int tree = clone_mount(source, attributes, error);
	if (tree < 0)
		return tree;
	if (move_mount(tree, "", root, target, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return pr_error_errno(error, errno, "attaching %s", source);
	return 0;
}

#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* A top-level directory of the source root: as a link where it is one, else bound. */
static int take_directory(int root, const char *prefix, const char *name, struct pr_error *error)
{
	char source[4096 + 256], target[4096];
	snprintf(source, sizeof source, "%s/%s", prefix, name);
	ssize_t length = readlink(source, target, sizeof target - 1);
	if (length >= 0) {
		target[length] = '\0';
		if (symlinkat(target, root, name) < 0)
			return pr_error_errno(error, errno, "making the link /%s of the sandbox", name);
		return 0;
	}
	if (access(source, F_OK) < 0)
		return 0;
	return bind_at(root, source, name, READ_ONLY, error);
}

static int fill_etc(int root, const char *prefix, struct pr_error *error)
{
	for (size_t i = 0; i < ELEMENTS(etc_of_ours); i++) {
		char name[128];
		snprintf(name, sizeof name, "etc/%s", etc_of_ours[i].name);
		_cleanup_close_ int fd = openat(root, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
		if (fd < 0 || io_write_all(fd, etc_of_ours[i].text, strlen(etc_of_ours[i].text)) < 0)
			return pr_error_errno(error, errno, "writing /%s of the sandbox", name);
	}
	for (size_t i = 0; i < ELEMENTS(etc_of_host); i++) {
		char source[4096 + 256], name[128];
		snprintf(name, sizeof name, "etc/%s", etc_of_host[i]);
		snprintf(source, sizeof source, "%s/%s", prefix, name);
		if (access(source, F_OK) < 0)
			continue;
		int r = bind_at(root, source, name, READ_ONLY, error);
		if (r < 0)
			return r;
	}
	return 0;
}

static int fill_dev(int root, struct pr_error *error)
{
	for (size_t i = 0; i < ELEMENTS(device_nodes); i++) {
		char source[64], name[64];
		snprintf(source, sizeof source, "/dev/%s", device_nodes[i]);
		snprintf(name, sizeof name, "dev/%s", device_nodes[i]);
		if (access(source, F_OK) < 0)
			continue;
		/* Read-only is the node's own file, not what it leads to: its times are the host's. */
		int r = bind_at(root, source, name, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, error);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_place_of_ours(const char *name)
{
	static const char *const ours[] = { "dev", "etc", "home", "proc", "run", "sys", "tmp", "var", "workspace", "root",
					    "lost+found", "boot", "media", "mnt" };
	for (size_t i = 0; i < ELEMENTS(ours); i++)
		if (strcmp(name, ours[i]) == 0)
			return true;
	return false;
}

/* Of a root file system that the owner names, every top-level directory but those that we make. */
static int take_root(int root, const char *prefix, struct pr_error *error)
{
	_cleanup_closedir_ DIR *stream = opendir(prefix);
	if (!stream)
		return pr_error_errno(error, errno, "reading the root file system %s", prefix);
	for (struct dirent *entry; (entry = readdir(stream));) {
		if (entry->d_name[0] == '.' || is_place_of_ours(entry->d_name))
			continue;
		if (entry->d_type != DT_DIR && entry->d_type != DT_LNK)
			continue;
		int r = take_directory(root, prefix, entry->d_name, error);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_below(const char *path, const char *place)
{
	size_t length = strlen(place);
	return strncmp(path, place, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static bool is_covered(const char *path)
{
	for (size_t i = 0; i < ELEMENTS(covered); i++)
		if (is_below(path, covered[i]))
			return true;
	return false;
}

static int fill(int root, const char *prefix, bool host, const char *const *paths, size_t count, struct pr_error *error)
{
	static const char *const places[] = { "proc", "sys", "tmp", "run", "var", "etc", "etc/ssl", "home", "home/candidate",
					      "workspace", "dev", "dev/shm", "dev/pts" };
	for (size_t i = 0; i < ELEMENTS(places); i++)
		if (mkdirat(root, places[i], 0755) < 0)
			return pr_error_errno(error, errno, "making /%s of the sandbox", places[i]);
	for (size_t i = 0; i < ELEMENTS(links); i++)
		if (symlinkat(links[i].target, root, links[i].name) < 0)
			return pr_error_errno(error, errno, "making the link /%s of the sandbox", links[i].name);
	int r = 0;
	for (size_t i = 0; host && r == 0 && i < ELEMENTS(host_directories); i++)
		r = take_directory(root, prefix, host_directories[i], error);
	if (!host)
		r = take_root(root, prefix, error);
	if (r == 0)
		r = fill_etc(root, prefix, error);
	if (r == 0)
		r = fill_dev(root, error);
	if (r == 0 && !guard_holds(GUARD_CGROUP_VIEW))
		r = bind_at(root, COVER "/cgroup", HOST_CGROUPS + 1, 0, error);
	for (size_t i = 0; r == 0 && i < count; i++)
		if (!is_covered(paths[i]))
			r = bind_at(root, paths[i], paths[i] + 1, READ_ONLY, error);
	return r;
}

static int take_entries(int root, const char *directory, const char *prefix, const char *const *but, struct pr_error *error)
{
	_cleanup_closedir_ DIR *stream = opendir(directory);
	for (struct dirent *entry; stream && (entry = readdir(stream));) {
		char source[4096], target[4096], link[4096];
		bool left_out = entry->d_name[0] == '.';
		for (size_t i = 0; !left_out && but[i]; i++)
			left_out = strcmp(entry->d_name, but[i]) == 0;
		snprintf(source, sizeof source, "%s/%.255s", prefix, entry->d_name);
		snprintf(target, sizeof target, "%s", source + 1);
		if (left_out || (entry->d_type != DT_DIR && entry->d_type != DT_LNK))
			continue;
		ssize_t length = readlink(source, link, sizeof link - 1);
		link[length < 0 ? 0 : length] = '\0';
		int r = length >= 0 ? symlinkat(link, root, target) : bind_at(root, source, target, MOUNT_ATTR_NOSUID, error);
		if (length >= 0 && r < 0)
			return pr_error_errno(error, errno, "making the link %s", source);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * The host's own directories, to be read and written as its permissions say; of ours are the places of every run. /sys is
 * covered in this namespace (template_prepare) and stays empty.
 */
static int fill_whole_host(int root, struct pr_error *error)
{
	static const char *const made[] = { "proc", "sys", "tmp", "home", "home/candidate", "workspace", "dev", "dev/shm", "dev/pts" };
	static const char *const not_top[] = { "proc", "sys", "tmp", "home", "workspace", "dev", "lost+found", NULL };
	static const char *const not_home[] = { "candidate", NULL };
	int r = 0;
	for (size_t i = 0; i < ELEMENTS(made); i++)
		if (mkdirat(root, made[i], 0755) < 0)
			return pr_error_errno(error, errno, "making /%s of the sandbox", made[i]);
	for (size_t i = 0; i < ELEMENTS(links); i++)
		if (strncmp(links[i].name, "dev/", 4) == 0 && symlinkat(links[i].target, root, links[i].name) < 0)
			return pr_error_errno(error, errno, "making the link /%s of the sandbox", links[i].name);
	r = take_entries(root, "/", "", not_top, error);
	if (r == 0)
		r = take_entries(root, "/home", "/home", not_home, error);
	return r < 0 ? r : fill_dev(root, error);
}

static int build(const char *path, const char *root_name, const char *const *paths, size_t count, struct pr_error *error)
{
	bool host = strcmp(root_name, "host") == 0;
	if (mkdir(path, 0755) < 0 || mount("proctor", path, "tmpfs", MS_NOSUID, "mode=0755,size=4m") < 0)
		return pr_error_errno(error, errno, "making the sandbox's root");
	_cleanup_close_ int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return pr_error_errno(error, errno, "opening the sandbox's root");
	mode_t mask = umask(0);
	bool whole = strcmp(root_name, ROOT_WHOLE_HOST) == 0;
	int r = whole ? fill_whole_host(root, error) : fill(root, host ? "" : root_name, host, paths, count, error);
	umask(mask);
	if (r < 0)
		return r;
	struct mount_attr attributes = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID };
	if (mount_setattr(root, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0)
		return pr_error_errno(error, errno, "making the sandbox's root read-only");
	return 0;
}

static int make_key(const char *root, const char *const *paths, size_t count, struct buffer *key)
{
	int r = buffer_add_text(key, root);
	for (size_t i = 0; r == 0 && i < count; i++)
		if (!is_covered(paths[i]))
			r = buffer_printf(key, "\n%s", paths[i]);
	return r;
}

static int add_late(const char *path, struct mounts_plan *plan, struct pr_error *error)
{
	struct stat status;
	if (is_below(path, "/proc") || is_below(path, "/dev"))
		return pr_error_set(error, EINVAL, "%s cannot be bound into the sandbox: /proc and /dev are its own", path);
	if (plan->late_count == LATE_BINDS_MAX)
		return pr_error_set(error, E2BIG, "more than %d read-only paths below /tmp and HOME", LATE_BINDS_MAX);
	if (stat(path, &status) < 0)
		return pr_error_errno(error, errno, "binding %s into the sandbox", path);
	int tree = clone_mount(path, READ_ONLY, error);
	if (tree < 0)
		return tree;
	plan->late[plan->late_count++] = (struct late_bind){ path, tree, S_ISDIR(status.st_mode) };
	return 0;
}

void template_release(struct mounts_plan *plan)
{
	for (unsigned i = 0; i < plan->late_count; i++)
		cleanup_close(&plan->late[i].tree);
	plan->late_count = 0;
}

static int find_template(const char *root, const char *const *paths, size_t count, struct mounts_plan *plan,
			 struct pr_error *error)
{
	_cleanup_buffer_ struct buffer key = BUFFER_INIT;
	int r = make_key(root, paths, count, &key);
	if (r < 0)
		return pr_error_errno(error, -r, "naming the sandbox's root");
	unsigned i;
	for (i = 0; i < template_count; i++)
		if (strcmp(templates[i].key, key.data) == 0)
			break;
	snprintf(plan->template_path, sizeof plan->template_path, COVER "/%u", i);
	if (i < template_count)
		return 0;
	if (i == TEMPLATES_MAX)
		return pr_error_set(error, E2BIG, "more than %d different sandbox roots in a round", TEMPLATES_MAX);
	r = build(plan->template_path, root, paths, count, error);
	if (r < 0) {
		umount2(plan->template_path, MNT_DETACH);
		rmdir(plan->template_path);
		return r;
	}
	templates[template_count++].key = buffer_take(&key);
	return 0;
}

int template_get(const char *root, const char *const *paths, size_t count, struct mounts_plan *plan, struct pr_error *error)
{
	plan->late_count = 0;
	for (size_t i = 0; i < count; i++)
		if (paths[i][0] != '/')
			return pr_error_set(error, EINVAL, "%s is not an absolute path", paths[i]);
	int r = find_template(root, paths, count, plan, error);
	for (size_t i = 0; r == 0 && i < count; i++)
		if (is_covered(paths[i]))
			r = add_late(paths[i], plan, error);
	if (r < 0)
		template_release(plan);
	return r;
}
