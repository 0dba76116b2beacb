/*
 * The round's place among the host's cgroups: found, swept, made, given its controllers, taken down.
 * What cannot be had is said with the remedy; a resource whose controller is out of reach stays NONE.
 */
#include "core/containment/cgroup.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#include "core/base/io.h"
#include "core/containment/host.h"
#include "core/containment/sweep.h"

void cgroup_tree_init(struct cgroup_tree *tree)
{
	memset(tree, 0, sizeof *tree);
	tree->base = tree->parent = -1;
	for (int i = 0; i < RESOURCE_COUNT; i++)
		tree->v1[i].base = tree->v1[i].parent = -1;
}

static int open_directory(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/*
 * An ordinary user's shell stands in a leaf of the delegated subtree: the parent, if it is the user's own,
 * holds no process and can hand controllers down. Root takes its own cgroup as it is.
 */
static bool parent_is_ours(const char *own)
{
	char path[4096 + 16];
	struct stat directory, procs;

	snprintf(path, sizeof path, "%s/..", own);
	if (stat(path, &directory) < 0 || directory.st_uid != geteuid())
		return false;
	snprintf(path, sizeof path, "%s/../cgroup.procs", own);
	return stat(path, &procs) == 0 && procs.st_uid == geteuid() && access(path, W_OK) == 0;
}

static int explain_mkdir(const char *path, int code, struct pr_error *error)
{
	pr_error_errno(error, code, "no boundary: cannot make a cgroup below %s", path);
	switch (code) {
	case EROFS:
		pr_error_remedy(error, "the cgroup file system is mounted read-only (a container's default): "
				"mount it writable, or run proctor on the host");
		break;
	case EACCES:
	case EPERM:
		pr_error_remedy(error, "run as root, or have a cgroup delegated: "
				"systemd-run --user --scope -p Delegate=yes -- proctor ...");
		break;
	case EAGAIN:
		pr_error_remedy(error, "raise cgroup.max.descendants or cgroup.max.depth above it");
		break;
	default:
		break;
	}
	return -code;
}

static int check_kernel(struct cgroup_tree *tree, struct pr_error *error)
{
	static const struct {
		const char *file, *since;
	} needed[] = { { "cgroup.kill", "5.14" }, { "cgroup.freeze", "5.2" }, { "cgroup.events", "4.5" } };
	for (size_t i = 0; i < ELEMENTS(needed); i++)
		if (faccessat(tree->parent, needed[i].file, F_OK, 0) < 0) {
			pr_error_set(error, ENOSYS, "no boundary: %s has no %s", tree->path, needed[i].file);
			return pr_error_remedy(error, "a kernel from %s on has it", needed[i].since);
		}
	_cleanup_buffer_ struct buffer type = BUFFER_INIT;
	if (io_read_file(tree->parent, "cgroup.type", 64, &type) == 0 && type.data && strcmp(type.data, "domain\n") != 0)
		return pr_error_set(error, EOPNOTSUPP, "no boundary: the cgroup %s is of type %.*s, not domain", tree->path,
				    (int)strcspn(type.data, "\n"), type.data);
	return 0;
}

static bool lists(int fd, const char *file, const char *controller)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	if (io_read_file(fd, file, 4096, &text) < 0 || !text.data)
		return false;
	size_t length = strlen(controller);
	for (const char *at = text.data; *at;) {
		size_t word = strcspn(at, " \n");
		if (word == length && memcmp(at, controller, length) == 0)
			return true;
		at += word + (at[word] != '\0');
	}
	return false;
}

/* One controller at a time, leaf first in the sense that the worker has left BASE already; re-read, not assumed. */
static bool enable_v2(struct cgroup_tree *tree, const char *controller)
{
	char text[32];
	if (!lists(tree->base, "cgroup.controllers", controller))
		return false;
	snprintf(text, sizeof text, "+%s", controller);
	if (!lists(tree->base, "cgroup.subtree_control", controller))
		io_write_file(tree->base, "cgroup.subtree_control", text);
	if (!lists(tree->parent, "cgroup.controllers", controller))
		return false;
	io_write_file(tree->parent, "cgroup.subtree_control", text);
	return lists(tree->parent, "cgroup.subtree_control", controller);
}

static bool open_v1(struct cgroup_tree *tree, enum cgroup_resource resource, unsigned *swept)
{
	char own[4096];
	if (host_own_cgroup(cgroup_resource_name(resource), own, sizeof own, NULL) < 0)
		return false;
	_cleanup_close_ int base = open_directory(own);
	if (base < 0)
		return false;
	*swept += sweep_base(base);
	if (mkdirat(base, tree->name, 0755) < 0)
		return false;
	int parent = openat(base, tree->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0) {
		unlinkat(base, tree->name, AT_REMOVEDIR);
		return false;
	}
	snprintf(tree->v1[resource].path, sizeof tree->v1[resource].path, "%.4000s/%s", own, tree->name);
	tree->v1[resource].base = take_fd(&base);
	tree->v1[resource].parent = parent;
	return true;
}

static int make_parent(struct cgroup_tree *tree, const char *base, unsigned *swept, struct pr_error *error)
{
	tree->base = open_directory(base);
	if (tree->base < 0)
		return pr_error_errno(error, errno, "no boundary: opening the cgroup %s", base);
	struct statfs type;
	if (fstatfs(tree->base, &type) < 0 || type.f_type != CGROUP2_SUPER_MAGIC)
		return pr_error_set(error, ENOENT, "no boundary: %s is no cgroup2 file system", base);
	*swept = sweep_base(tree->base);
	int r = sweep_own_name(tree->name, sizeof tree->name);
	if (r < 0)
		return pr_error_errno(error, -r, "reading our own start time from /proc");
	snprintf(tree->path, sizeof tree->path, "%.4000s/%s", base, tree->name);
	if (mkdirat(tree->base, tree->name, 0755) < 0)
		return explain_mkdir(base, errno, error);
	tree->parent = openat(tree->base, tree->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tree->parent < 0)
		return pr_error_errno(error, errno, "opening the cgroup %s", tree->path);
	return check_kernel(tree, error);
}

/* The worker's own leaf, beside the parent: fresh, and never killed (cgroup.h). */
static int enter_own_leaf(struct cgroup_tree *tree, struct pr_error *error)
{
	char name[96], file[128];
	snprintf(name, sizeof name, "%s.worker", tree->name);
	if (mkdirat(tree->base, name, 0755) < 0)
		return pr_error_errno(error, errno, "making the worker's own cgroup %s", name);
	snprintf(file, sizeof file, "%s/cgroup.procs", name);
	int r = io_write_file(tree->base, file, "0");
	if (r < 0) {
		pr_error_errno(error, -r, "no boundary: moving the worker into its own cgroup");
		return pr_error_remedy(error, "the cgroup that holds your shell must be inside the delegated subtree");
	}
	return 0;
}

int cgroup_tree_open(struct cgroup_tree *tree, unsigned *ret_swept, struct pr_error *error)
{
	char own[4096], base[4096 + 16];
	unsigned swept = 0;

	cgroup_tree_init(tree);
	int r = host_own_cgroup(NULL, own, sizeof own, error);
	if (r < 0) {
		pr_error_prefix(error, "no boundary: ");
		return pr_error_remedy(error, "mount one: mount -t cgroup2 none /sys/fs/cgroup/unified "
				       "(a hybrid host), or boot with systemd.unified_cgroup_hierarchy=1");
	}
	if (host_own_uid() != 0 && parent_is_ours(own)) {
		snprintf(base, sizeof base, "%s", own);
		*strrchr(base, '/') = '\0';
	} else {
		snprintf(base, sizeof base, "%s", own);
	}
	r = make_parent(tree, base, &swept, error);
	if (r == 0)
		r = enter_own_leaf(tree, error);
	if (r < 0) {
		cgroup_tree_close(tree);
		return r;
	}
	for (int i = 0; i < RESOURCE_COUNT; i++) {
		enum cgroup_resource resource = (enum cgroup_resource)i;
		if (enable_v2(tree, cgroup_resource_name(resource)))
			tree->generation[i] = GENERATION_V2;
		else if (open_v1(tree, resource, &swept))
			tree->generation[i] = GENERATION_V1;
	}
	*ret_swept = swept;
	return 0;
}

void cgroup_tree_close(struct cgroup_tree *tree)
{
	unsigned nested;
	/* What is still populated cannot be removed; the next worker's sweep kills and removes it. */
	bool empty = tree->parent >= 0 && cgroup_count(tree->parent) == 0;
	if (tree->base >= 0) {
		char name[96];
		io_write_file(tree->base, "cgroup.procs", "0");
		if (empty)
			cgroup_remove(tree->base, tree->name, &nested);
		snprintf(name, sizeof name, "%s.worker", tree->name);
		unlinkat(tree->base, name, AT_REMOVEDIR);
	}
	for (int i = 0; i < RESOURCE_COUNT; i++) {
		if (tree->v1[i].parent >= 0 && empty)
			cgroup_remove(tree->v1[i].base, tree->name, &nested);
		cleanup_close(&tree->v1[i].parent);
		cleanup_close(&tree->v1[i].base);
	}
	cleanup_close(&tree->parent);
	cleanup_close(&tree->base);
	cgroup_tree_init(tree);
}
