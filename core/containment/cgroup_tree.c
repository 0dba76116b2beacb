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
	tree->base = tree->parent = tree->home = -1;
	for (int i = 0; i < RESOURCE_COUNT; i++)
		tree->v1[i].base = tree->v1[i].parent = -1;
}

static int open_directory(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The root of the hierarchy has no such file. */
static bool is_domain(int fd)
{
	_cleanup_buffer_ struct buffer type = BUFFER_INIT;
	return io_read_file(fd, "cgroup.type", 64, &type) < 0 || !type.data || strcmp(type.data, "domain\n") == 0;
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
	if (!is_domain(tree->parent)) {
		pr_error_set(error, EOPNOTSUPP, "no boundary: the cgroup %s is threaded, and a run's must not be", tree->path);
		return cgroup_remedy(CGROUP_ENTER, error);
	}
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

bool cgroup_has_controllers(const char *path)
{
	_cleanup_close_ int fd = open_directory(path);
	for (int i = 0; fd >= 0 && i < RESOURCE_COUNT; i++)
		if (lists(fd, "cgroup.controllers", cgroup_resource_name((enum cgroup_resource)i)))
			return true;
	return false;
}

static int hand_down(int fd, const char *path, const char *controller, struct pr_error *error)
{
	char text[32];
	snprintf(text, sizeof text, "+%s", controller);
	if (lists(fd, "cgroup.subtree_control", controller))
		return 0;
	int r = io_write_file(fd, "cgroup.subtree_control", text);
	if (r == 0 && lists(fd, "cgroup.subtree_control", controller))
		return 0;
	pr_error_errno(error, r < 0 ? -r : ENOENT, "%s to %s/cgroup.subtree_control", text, path);
	return cgroup_remedy(CGROUP_HAND_DOWN, error);
}

/* One controller at a time, the worker having left BASE already; re-read, not assumed. */
static int enable_v2(const struct cgroup_tree *tree, const char *base, const char *controller, struct pr_error *error)
{
	if (!lists(tree->base, "cgroup.controllers", controller)) {
		pr_error_set(error, ENOENT, "%s is not in %s/cgroup.controllers", controller, base);
		return cgroup_remedy(CGROUP_HAND_DOWN, error);
	}
	int r = hand_down(tree->base, base, controller, error);
	if (r < 0)
		return r;
	if (!lists(tree->parent, "cgroup.controllers", controller))
		return pr_error_set(error, ENOENT, "%s was enabled in %s and is not in %s", controller, base, tree->path);
	r = hand_down(tree->parent, tree->path, controller, error);
	if (r == 0 && !is_domain(tree->parent))
		r = pr_error_set(error, EOPNOTSUPP, "%s became threaded when it handed %s down", tree->path, controller);
	return r;
}

/* Of the same hierarchy as a controller before it: the same directory serves. */
static bool share_v1(struct cgroup_tree *tree, enum cgroup_resource resource, const char *path)
{
	for (int i = 0; i < (int)resource; i++) {
		if (tree->generation[i] != GENERATION_V1 || strcmp(tree->v1[i].path, path) != 0)
			continue;
		memcpy(tree->v1[resource].path, path, strlen(path) + 1);
		tree->v1[resource].parent = fcntl(tree->v1[i].parent, F_DUPFD_CLOEXEC, 0);
		tree->v1[resource].base = fcntl(tree->v1[i].base, F_DUPFD_CLOEXEC, 0);
		tree->v1[resource].first = tree->v1[i].first;
		return tree->v1[resource].parent >= 0 && tree->v1[resource].base >= 0;
	}
	return false;
}

static int make_v1_parent(struct cgroup_tree *tree, enum cgroup_resource resource, const char *own, unsigned *swept,
			  struct pr_error *error)
{
	const char *path = tree->v1[resource].path;
	_cleanup_close_ int base = open_directory(own);
	if (base < 0) {
		pr_error_errno(error, errno, "opening %s", own);
		return cgroup_remedy(CGROUP_FIND, error);
	}
	*swept += sweep_base(base);
	if (mkdirat(base, tree->name, 0755) < 0) {
		pr_error_errno(error, errno, "making %s", path);
		return cgroup_remedy(CGROUP_MAKE, error);
	}
	int parent = openat(base, tree->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0) {
		pr_error_errno(error, errno, "opening %s", path);
		unlinkat(base, tree->name, AT_REMOVEDIR);
		return -error->code;
	}
	tree->v1[resource].base = take_fd(&base);
	tree->v1[resource].parent = parent;
	tree->v1[resource].first = resource;
	return 0;
}

/* -ENOENT, with `error` untouched, where no v1 hierarchy has it. */
static int open_v1(struct cgroup_tree *tree, enum cgroup_resource resource, unsigned *swept, struct pr_error *error)
{
	char own[4096], path[4096];
	if (host_own_cgroup(cgroup_resource_name(resource), own, sizeof own, NULL) < 0)
		return -ENOENT;
	snprintf(path, sizeof path, "%.4000s/%s", own, tree->name);
	if (share_v1(tree, resource, path))
		return 0;
	memcpy(tree->v1[resource].path, path, sizeof path);
	return make_v1_parent(tree, resource, own, swept, error);
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
	if (mkdirat(tree->base, tree->name, 0755) < 0) {
		pr_error_errno(error, errno, "no boundary: cannot make a cgroup below %s", base);
		return cgroup_remedy(CGROUP_MAKE, error);
	}
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
	if (mkdirat(tree->base, name, 0755) < 0) {
		pr_error_errno(error, errno, "no boundary: making the worker's own cgroup %s", name);
		return cgroup_remedy(CGROUP_MAKE, error);
	}
	snprintf(file, sizeof file, "%s/cgroup.procs", name);
	int r = io_write_file(tree->base, file, "0");
	if (r < 0) {
		pr_error_errno(error, -r, "no boundary: moving the worker into its own cgroup");
		return cgroup_remedy(CGROUP_ENTER, error);
	}
	return 0;
}

int cgroup_tree_open(struct cgroup_tree *tree, bool scoped, unsigned *ret_swept, struct pr_error *error)
{
	struct cgroup_base base;
	unsigned swept = 0;

	cgroup_tree_init(tree);
	int r = cgroup_base_find(scoped, &base, error);
	if (r == 0)
		r = make_parent(tree, base.path, &swept, error);
	if (r == 0)
		r = enter_own_leaf(tree, error);
	if (r == 0)
		tree->home = open_directory(base.own);
	if (r == 0 && base.crowded)
		r = cgroup_base_empty(base.path, error);
	if (r < 0) {
		cgroup_tree_close(tree);
		return r;
	}
	for (int i = 0; i < RESOURCE_COUNT; i++) {
		enum cgroup_resource resource = (enum cgroup_resource)i;
		if (enable_v2(tree, base.path, cgroup_resource_name(resource), &tree->why[i]) == 0)
			tree->generation[i] = GENERATION_V2;
		else if (open_v1(tree, resource, &swept, &tree->why[i]) == 0)
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
		/* Where it hands controllers down it takes no process; what is left then goes with the next sweep. */
		io_write_file(tree->home >= 0 ? tree->home : tree->base, "cgroup.procs", "0");
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
	cleanup_close(&tree->home);
	cleanup_close(&tree->parent);
	cleanup_close(&tree->base);
	cgroup_tree_init(tree);
}
