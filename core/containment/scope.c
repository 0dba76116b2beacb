/* The scope of scope.h. Runs before the outer namespace is entered: D-Bus knows us by the host's uid. */
#include "core/containment/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/cleanup.h"
#include "core/base/place.h"
#include "core/containment/host.h"
#include "core/containment/program.h"

#define PROGRAM "systemd-run"
#define ARGUMENTS_MAX 64

/* Under su and sudo the variable is not set although the user's manager may run (because of lingering, say). */
static int find_user_manager(struct pr_error *error)
{
	char path[64], user[64];
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	if (runtime && runtime[0] == '/')
		return 0;
	snprintf(path, sizeof path, "/run/user/%u", (unsigned)getuid());
	struct stat status;
	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == getuid())
		return setenv("XDG_RUNTIME_DIR", path, 1) < 0 ? -errno : 0;
	scope_check_linger(user, sizeof user);
	pr_error_set(error, ENOENT, "no boundary: no user manager of systemd runs for %s, so nobody delegates a cgroup: there is neither "
		     "XDG_RUNTIME_DIR nor %s (su and sudo open no session)", user, path);
	return pr_error_remedy(error, "log in on a console or by ssh, or as root: machinectl shell %s@, or loginctl enable-linger %s", user,
			       user);
}

static void name_unit(char *unit, size_t size)
{
	uint64_t start = 0;
	place_start_time(getpid(), &start);
	snprintf(unit, size, "proctor-%ld-%" PRIu64 ".scope", (long)getpid(), start);
}

/* systemd-run's arguments, up to the command. */
static size_t begin(char **argv, bool user, char *unit_option)
{
	size_t count = 0;
	argv[count++] = (char *)PROGRAM;
	if (user)
		argv[count++] = (char *)"--user";
	static const char *const rest[] = { "--scope", "--quiet", "--collect", "-p", "Delegate=yes" };
	for (size_t i = 0; i < ELEMENTS(rest); i++)
		argv[count++] = (char *)rest[i];
	if (unit_option)
		argv[count++] = unit_option;
	argv[count++] = (char *)"--";
	return count;
}

static int try_it(bool user, struct pr_error *error)
{
	char *argv[16], said[256], name[64];
	size_t count = begin(argv, user, NULL);
	argv[count++] = (char *)"true";
	argv[count] = NULL;
	int status = program_run(argv, said, sizeof said);
	if (status == 0)
		return 0;
	if (status == -ENOENT) {
		pr_error_set(error, ENOENT, "no boundary: systemd runs here, and %s is not there to ask it for a cgroup", PROGRAM);
		return pr_error_remedy(error, "install it (package systemd)");
	}
	scope_check_linger(name, sizeof name);
	pr_error_set(error, EPERM, "no boundary: systemd gave no scope with a delegated cgroup: %s%s: %s", PROGRAM, user ? " --user" : "",
		     said[0] ? said : "it said nothing");
	if (user)
		return pr_error_remedy(error, "log in on a console or by ssh (su and sudo open no session), or as root: "
				       "loginctl enable-linger %s; see docs/hosts.md", name);
	return pr_error_remedy(error, "look at: systemctl status, journalctl -b");
}

int scope_enter(char **argv, struct pr_error *error)
{
	char *again[ARGUMENTS_MAX], self[4096], unit[96], option[128];
	bool user = geteuid() != 0;
	size_t more = 0;

	if (!host_has_systemd())
		return 0;
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	if (length < 0)
		return pr_error_errno(error, errno, "no boundary: finding our own program");
	self[length] = '\0';
	int r = user ? find_user_manager(error) : 0;
	if (r == 0)
		r = try_it(user, error);
	if (r < 0)
		return r;
	name_unit(unit, sizeof unit);
	snprintf(option, sizeof option, "--unit=%s", unit);
	size_t count = begin(again, user, option);
	again[count++] = self;
	again[count++] = (char *)"--scoped";
	again[count++] = unit;
	while (argv[more + 1] && count < ARGUMENTS_MAX - 1)
		again[count++] = argv[++more];
	again[count] = NULL;
	execvp(PROGRAM, again);
	return pr_error_errno(error, errno, "no boundary: executing %s", PROGRAM);
}

int scope_check(const char *unit, struct pr_error *error)
{
	char own[4096];
	int r = host_own_cgroup(NULL, own, sizeof own, error);
	if (r < 0)
		return pr_error_prefix(error, "no boundary: ");
	const char *name = strrchr(own, '/');
	if (name && strcmp(name + 1, unit) == 0)
		return 0;
	pr_error_set(error, EXDEV, "no boundary: %s said that we are in %s, but our cgroup is %s", PROGRAM, unit, own);
	return pr_error_remedy(error, "a systemd before 238 cannot move a process out of a session: log in anew, or use the unified hierarchy");
}

int scope_check_linger(char *ret_user, size_t size)
{
	char path[256];
	/* Also in the outer namespace, where we are 0. */
	uid_t uid = host_own_uid();
	struct passwd *entry = getpwuid(uid);
	if (entry)
		snprintf(ret_user, size, "%s", entry->pw_name);
	else
		snprintf(ret_user, size, "%u", (unsigned)uid);
	snprintf(path, sizeof path, "/var/lib/systemd/linger/%s", ret_user);
	return access(path, F_OK) < 0 ? -errno : 0;
}
