/* The places of place.h. */
#include "core/base/place.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/io.h"

#ifndef PROCTOR_LIBEXECDIR
#define PROCTOR_LIBEXECDIR "/usr/libexec/proctor"
#endif

#define SOCKET_NAME_ROOM 64	/* the longest socket name that we put below the directory */
#define SOCKET_PATH_MAX 107	/* sun_path less its NUL, unix(7) */

int place_program(const char *name, char *ret_path, size_t size, struct pr_error *error)
{
	char self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	if (length < 0)
		return pr_error_errno(error, errno, "looking for %s beside /proc/self/exe", name);
	self[length] = '\0';
	char *slash = strrchr(self, '/');
	*(slash ? slash : self) = '\0';

	char path[4096 + 64], beside[4096 + 32];
	/* As it is installed, wherever the prefix was moved to. */
	snprintf(beside, sizeof beside, "%s/../libexec/proctor", self);
	const char *const directories[] = { self, beside, PROCTOR_LIBEXECDIR };
	for (size_t i = 0; i < ELEMENTS(directories); i++) {
		if ((size_t)snprintf(path, sizeof path, "%s/%s", directories[i], name) >= sizeof path)
			continue;
		if (access(path, X_OK) == 0) {
			if (strlen(path) >= size)
				return pr_error_errno(error, ENAMETOOLONG, "%s", path);
			memcpy(ret_path, path, strlen(path) + 1);
			return 0;
		}
	}
	pr_error_set(error, ENOENT, "the program %s is neither in %s nor in %s", name, self, PROCTOR_LIBEXECDIR);
	pr_error_remedy(error, "build or install all of proctor's programs together");
	return -ENOENT;
}

static int home_directory(char *ret_path, size_t size, struct pr_error *error)
{
	const char *home = getenv("HOME");
	if (!home || home[0] != '/') {
		struct passwd *entry = getpwuid(getuid());
		home = entry ? entry->pw_dir : NULL;
	}
	if (!home || home[0] != '/') {
		pr_error_set(error, ENOENT, "no home directory for uid %u", (unsigned)getuid());
		return pr_error_remedy(error, "set HOME or XDG_STATE_HOME");
	}
	if ((size_t)snprintf(ret_path, size, "%s", home) >= size)
		return pr_error_errno(error, ENAMETOOLONG, "home directory %s", home);
	return 0;
}

int place_rounds(char *ret_path, size_t size, struct pr_error *error)
{
	char path[4096 + 64];
	const char *state = getenv("XDG_STATE_HOME");
	/* The specification: a relative path is invalid and to be ignored. */
	if (state && state[0] == '/') {
		snprintf(path, sizeof path, "%s/proctor/rounds", state);
	} else {
		char home[4096];
		int r = home_directory(home, sizeof home, error);
		if (r < 0)
			return r;
		snprintf(path, sizeof path, "%s/.local/state/proctor/rounds", home);
	}
	if (strlen(path) >= size)
		return pr_error_errno(error, ENAMETOOLONG, "%s", path);
	int r = io_mkdir_p(path, 0700, error);
	if (r < 0) {
		pr_error_prefix(error, "the rounds' directory: ");
		return pr_error_remedy(error, "make it writable, or set XDG_STATE_HOME to a directory that is");
	}
	memcpy(ret_path, path, strlen(path) + 1);
	return 0;
}

static int own_directory(const char *path, struct pr_error *error)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		pr_error_errno(error, errno, "creating %s, the directory of the control sockets", path);
		return pr_error_remedy(error, "set XDG_RUNTIME_DIR to a directory that you may write");
	}
	struct stat status;
	if (lstat(path, &status) < 0)
		return pr_error_errno(error, errno, "looking at %s", path);
	if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
		pr_error_set(error, EPERM, "%s is not a directory of ours alone (owner uid %u, mode %04o)", path,
			     (unsigned)status.st_uid, (unsigned)status.st_mode & 07777);
		return pr_error_remedy(error, "remove it, or set XDG_RUNTIME_DIR to a private directory");
	}
	return 0;
}

int place_sockets(char *ret_path, size_t size, struct pr_error *error)
{
	char path[4096 + 64];
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	struct stat status;

	if (runtime && runtime[0] == '/' && strlen(runtime) + strlen("/proctor/") + SOCKET_NAME_ROOM < SOCKET_PATH_MAX &&
	    stat(runtime, &status) == 0 && S_ISDIR(status.st_mode))
		snprintf(path, sizeof path, "%s/proctor", runtime);
	else
		snprintf(path, sizeof path, "/tmp/proctor-%u", (unsigned)geteuid());
	int r = own_directory(path, error);
	if (r < 0)
		return r;
	if (strlen(path) >= size)
		return pr_error_errno(error, ENAMETOOLONG, "%s", path);
	memcpy(ret_path, path, strlen(path) + 1);
	return 0;
}

int place_start_time(pid_t pid, uint64_t *ret_ticks)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	int r = io_read_file(AT_FDCWD, path, 4096, &text);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	/* The second field is the program's name in parentheses and may hold anything: count from the last ')'. */
	char *at = strrchr(text.data, ')');
	if (!at || at[1] != ' ')
		return -EIO;
	/* Dead, and only not reaped yet: an orphan may stay so for good where pid 1 does not reap. */
	if (at[2] == 'Z' || at[2] == 'X')
		return -ESRCH;
	for (int field = 2; field < 22; field++) {
		at = strchr(at + 1, ' ');
		if (!at)
			return -EIO;
	}
	*ret_ticks = strtoull(at + 1, NULL, 10);
	return 0;
}
