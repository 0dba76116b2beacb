/* Looking for programs (program.h), by the host's own files; it runs nothing. */
#include "core/round/program.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/base/cleanup.h"

static const char *const shown_by_root[] = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32" };

static bool is_below(const char *path, const char *top)
{
	size_t length = strlen(top);
	return strncmp(path, top, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

/* The bound path that `path` is or is below; NULL where there is none. */
static const char *bound_by(const struct sandbox_spec *sandbox, const char *bind, const char *path)
{
	for (size_t i = 0; i < sandbox->read_only.count; i++)
		if (is_below(path, sandbox->read_only.items[i]))
			return sandbox->read_only.items[i];
	return bind && is_below(path, bind) ? bind : NULL;
}

static const char *shown_by(const struct sandbox_spec *sandbox, const char *bind, const char *path)
{
	for (size_t i = 0; i < ELEMENTS(shown_by_root); i++)
		if (is_below(path, shown_by_root[i]))
			return shown_by_root[i];
	/* Without layers the host's own directories are all there, but for those that each run has of its own. */
	static const char *const own[] = { "/proc", "/sys", "/dev", "/tmp", "/workspace", "/home/candidate" };
	bool whole = strcmp(sandbox->profile, PROFILE_TRUSTED) == 0;
	for (size_t i = 0; whole && i < ELEMENTS(own); i++)
		whole = !is_below(path, own[i]);
	return whole ? "" : bound_by(sandbox, bind, path);
}

/*
 * A candidate has an id of its own, which nothing on the host belongs to: it needs the permissions of others, on the file and
 * on the directories from what is shown down to it. Those above are the sandbox's own.
 */
static bool is_for_others(const char *path, const char *shown)
{
	char partial[PATH_MAX];
	struct stat status;

	for (const char *end = path + strlen(shown); end; end = *end ? strchrnul(end + 1, '/') : NULL) {
		snprintf(partial, sizeof partial, "%.*s", (int)(end - path), path);
		if (stat(partial, &status) < 0 || (status.st_mode & S_IXOTH) == 0)
			return false;
	}
	return true;
}

/* 0 where a program stands at `path` of the sandbox; -EXDEV where a link leads out of what it shows; -EPERM where it is private. */
static int look_at(const struct sandbox_spec *sandbox, const char *bind, const char *path)
{
	struct stat status;
	const char *shown = NULL;
	char real[PATH_MAX];
	_cleanup_close_ int fd = -1;

	if (strcmp(sandbox->root, "host") == 0 || bound_by(sandbox, bind, path)) {
		if (!realpath(path, real))
			return -errno;
		shown = shown_by(sandbox, bind, real);
		if (!shown)
			return -EXDEV;
		fd = open(real, O_PATH | O_CLOEXEC);
	} else {
		/* Links of another root are its own: an absolute one starts at that root. */
		struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
		_cleanup_close_ int root = open(sandbox->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (root < 0)
			return -errno;
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
	}
	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || (status.st_mode & 0111) == 0)
		return -EACCES;
	return shown && !is_for_others(real, shown) ? -EPERM : 0;
}

static int say_missing(const struct sandbox_spec *sandbox, const char *name, const char *path, int why,
		       enum program_owner owner, struct pr_error *error)
{
	bool host = strcmp(sandbox->root, "host") == 0;
	if (why == -EXDEV) {
		pr_error_set(error, ENOENT, "%s is on the host, but the sandbox does not show it or what it links to", name);
		pr_error_remedy(error, "add the directory that holds it, or that it links to, to sandbox.read_only");
	} else if (why == -EACCES) {
		pr_error_set(error, EACCES, "%s is there, but it is not an executable file", name);
		pr_error_remedy(error, "chmod +x it, or name another");
	} else if (why == -EPERM) {
		pr_error_set(error, EACCES, "%s is there, but only for its owner or group, and a candidate is neither", name);
		pr_error_remedy(error, "chmod o+x it, and the directories between it and the path in sandbox.read_only");
	} else if (path) {
		pr_error_set(error, ENOENT, "%s is not on PATH (%s) as the sandbox shows it%s%s", name, path,
			     host ? "" : " below ", host ? "" : sandbox->root);
		pr_error_remedy(error, owner == PROGRAM_OF_AGENT
				? "install it, or add its directory to sandbox.read_only and to PATH in agent.environment"
				: "install it, or name it by its absolute path and add that to sandbox.read_only");
	} else {
		pr_error_set(error, ENOENT, "%s is not there, as the sandbox shows it%s%s", name, host ? "" : " below ",
			     host ? "" : sandbox->root);
		pr_error_remedy(error, "install it, or add its directory to sandbox.read_only");
	}
	return error ? -error->code : why;
}

int program_find(const struct sandbox_spec *sandbox, const char *bind, const char *name, const char *path,
		 enum program_owner owner, struct pr_error *error)
{
	if (name[0] == '/') {
		int r = shown_by(sandbox, bind, name) ? look_at(sandbox, bind, name) : -ENOENT;
		if (r == -ENOENT && access(name, X_OK) == 0 && !shown_by(sandbox, bind, name))
			r = -EXDEV;
		return r < 0 ? say_missing(sandbox, name, NULL, r, owner, error) : 0;
	}

	int why = -ENOENT;
	if (!path)
		path = SPEC_PATH_DEFAULT;
	for (const char *at = path; *at;) {
		size_t length = strcspn(at, ":");
		char file[PATH_MAX];
		if (length > 0 && at[0] == '/' &&
		    (size_t)snprintf(file, sizeof file, "%.*s/%s", (int)length, at, name) < sizeof file) {
			int r = shown_by(sandbox, bind, file) ? look_at(sandbox, bind, file) : -ENOENT;
			if (r == 0)
				return 0;
			if (r == -EACCES || r == -EXDEV || r == -EPERM)
				why = r;
		}
		at += length + (at[length] == ':');
	}
	return say_missing(sandbox, name, path, why, owner, error);
}
