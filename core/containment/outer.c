/* The outer namespace of outer.h. */
#include "core/containment/outer.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/io.h"
#include "core/containment/program.h"

struct subordinate {
	unsigned long first, count;
};

/* The first range of the user, named by login name or by number (subuid(5)). */
static int find_range(const char *file, struct subordinate *ret_range, struct pr_error *error)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	struct passwd *entry = getpwuid(getuid());
	char number[32];
	snprintf(number, sizeof number, "%u", (unsigned)getuid());
	io_read_file(AT_FDCWD, file, 1u << 20, &text);
	for (const char *line = text.data; line && *line;) {
		const char *end = strchrnul(line, '\n');
		const char *colon = memchr(line, ':', (size_t)(end - line));
		size_t length = colon ? (size_t)(colon - line) : 0;
		bool ours = colon && ((strlen(number) == length && memcmp(line, number, length) == 0) ||
				      (entry && strlen(entry->pw_name) == length && memcmp(line, entry->pw_name, length) == 0));
		if (ours && sscanf(colon, ":%lu:%lu", &ret_range->first, &ret_range->count) == 2 && ret_range->count >= 2)
			return 0;
		line = *end ? end + 1 : end;
	}
	pr_error_set(error, ENOENT, "no boundary: %s gives the user %s no range of subordinate ids", file,
		     entry ? entry->pw_name : number);
	return pr_error_remedy(error, "as root: usermod --add-subuids 200000-265535 --add-subgids 200000-265535 %s",
			       entry ? entry->pw_name : number);
}

/* Set-user-ID root, or with the capability that some distributions give it in place of that. */
static bool is_privileged(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && (((status.st_mode & S_ISUID) && status.st_uid == 0) ||
					    getxattr(path, "security.capability", NULL, 0) > 0);
}

/* Looked for after it failed: what was tried counts, and these are the reasons it can have had. */
static int explain_mapper(const char *program, const char *said, const struct subordinate *range, struct pr_error *error)
{
	char path[4096], unreadable[4096];
	if (program_find(program, path, unreadable, sizeof path) < 0) {
		pr_error_set(error, ENOENT, "no boundary: the program %s is not there (PATH is %.200s%s%.200s)", program,
			     getenv("PATH") ? getenv("PATH") : "not set", unreadable[0] ? "; not to be searched: " : "", unreadable);
		return pr_error_remedy(error, "as root: apt-get install uidmap%s", unreadable[0] ? "; or set PATH" : "");
	}
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) {
		pr_error_set(error, EPERM, "no boundary: %s cannot become root here: this process has no_new_privs", path);
		return pr_error_remedy(error, "start proctor outside of the sandbox or service that set it (NoNewPrivileges=)");
	}
	if (!is_privileged(path)) {
		pr_error_set(error, EPERM, "no boundary: %s is not set-user-ID root, so it may map nothing", path);
		return pr_error_remedy(error, "as root: chmod u+s %s (its package, uidmap, has it so)", path);
	}
	pr_error_set(error, EPERM, "no boundary: %s did not map the range %lu:%lu: %s", path, range->first, range->count,
		     said[0] ? said : "it said nothing");
	return pr_error_remedy(error, "the range must be this user's own in /etc/subuid and /etc/subgid, and the file system that holds "
			       "%s not mounted nosuid", program);
}

/* newuidmap PID 0 OWN 1 1 FIRST COUNT */
static int run_mapper(const char *program, pid_t target, unsigned own, const struct subordinate *range, struct pr_error *error)
{
	char pid_text[32], own_text[32], first[32], count[32], said[256];
	snprintf(pid_text, sizeof pid_text, "%ld", (long)target);
	snprintf(own_text, sizeof own_text, "%u", own);
	snprintf(first, sizeof first, "%lu", range->first);
	snprintf(count, sizeof count, "%lu", range->count);
	char *argv[] = { (char *)program, pid_text, (char *)"0", own_text, (char *)"1", (char *)"1", first, count, NULL };
	int status = program_run(argv, said, sizeof said);
	return status == 0 ? 0 : explain_mapper(program, said, range, error);
}

/* The mapping is written from outside: by a child that stayed in the old namespace. */
static int map_from_outside(int ready, int done, const struct subordinate *uids, const struct subordinate *gids)
{
	struct pr_error error = { 0 };
	char byte;
	if (read(ready, &byte, 1) != 1)
		return 1;
	int r = run_mapper("newuidmap", getppid(), getuid(), uids, &error);
	if (r == 0)
		r = run_mapper("newgidmap", getppid(), getgid(), gids, &error);
	io_write_all(done, &error, sizeof error);
	return r < 0;
}

static int explain_unshare(int code, struct pr_error *error)
{
	pr_error_errno(error, code, "no boundary: taking a user namespace");
	if (code == ENOSPC)
		return pr_error_remedy(error, "as root: sysctl user.max_user_namespaces=10000 (it is used up, or 0)");
	if (code == ENOSYS || code == EINVAL)
		return pr_error_remedy(error, "a kernel with CONFIG_USER_NS has them");
	return pr_error_remedy(error, "as root: sysctl kernel.unprivileged_userns_clone=1 (Debian), "
			       "kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu); in a container: another seccomp profile");
}

/* `*ret_entered` where we are in the namespace, mapped or not. */
static int enter(const struct subordinate *uids, const struct subordinate *gids, bool *ret_entered, struct pr_error *error)
{
	int ready[2], done[2];
	if (pipe2(ready, O_CLOEXEC) < 0 || pipe2(done, O_CLOEXEC) < 0)
		return pr_error_errno(error, errno, "making a pipe");
	pid_t helper = fork();
	if (helper < 0)
		return pr_error_errno(error, errno, "starting a helper");
	if (helper == 0) {
		close(ready[1]);
		_exit(map_from_outside(ready[0], done[1], uids, gids));
	}
	close(ready[0]);
	close(done[1]);
	int r = 0;
	if (unshare(CLONE_NEWUSER) < 0) {
		r = explain_unshare(errno, error);
	} else if (*ret_entered = true, write(ready[1], "r", 1) != 1) {
		r = pr_error_errno(error, errno, "asking for the id maps");
	}
	close(ready[1]);
	struct pr_error answer;
	if (r == 0 && read(done[0], &answer, sizeof answer) != sizeof answer)
		r = pr_error_set(error, EPROTO, "no boundary: the helper that maps ids went away");
	else if (r == 0 && answer.code != 0) {
		*error = answer;
		r = -answer.code;
	}
	close(done[0]);
	while (waitpid(helper, NULL, 0) < 0 && errno == EINTR)
		;
	return r;
}

/*
 * AppArmor may give us the namespace and take every capability in it away (kernel.apparmor_restrict_unprivileged_userns,
 * Ubuntu from 23.10 on): only an act that needs one shows it.
 */
int outer_check(struct pr_error *error)
{
	const char *what = "taking a mount namespace";
	int r = unshare(CLONE_NEWNS);
	if (r == 0) {
		what = "mounting";
		r = mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL);
	}
	/* Another errno is none of rights; template_prepare meets it again and says what it is. */
	if (r == 0 || (errno != EPERM && errno != EACCES))
		return 0;
	pr_error_errno(error, errno, "no boundary: the user namespace is there, but gives no rights: %s", what);
	return pr_error_remedy(error, "as root: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for "
			       "proctor-worker with `userns,` (docs/hosts.md)");
}

/* Of one's own ids alone, which every user may (user_namespaces(7)); setgroups is given up for it. */
static int map_own(uid_t user, gid_t group)
{
	char users[32], groups[32];
	snprintf(users, sizeof users, "0 %u 1\n", (unsigned)user);
	snprintf(groups, sizeof groups, "0 %u 1\n", (unsigned)group);
	int r = io_write_file(AT_FDCWD, "/proc/self/uid_map", users);
	if (r == 0)
		r = io_write_file(AT_FDCWD, "/proc/self/setgroups", "deny");
	return r < 0 ? r : io_write_file(AT_FDCWD, "/proc/self/gid_map", groups);
}

/* `why` is what speaks against a range; what speaks against this is said in `error`, with the remedy of the other. */
static int enter_own(uid_t user, gid_t group, bool entered, const struct pr_error *why, struct pr_error *error)
{
	if (!entered && unshare(CLONE_NEWUSER) < 0)
		return explain_unshare(errno, error);
	int r = map_own(user, group);
	if (r < 0)
		*error = *why;
	return r < 0 ? -why->code : 0;
}

static int execute_anew(char **argv, char *const options[4], struct pr_error *error)
{
	size_t count = 0, used = 0;
	while (argv[count])
		count++;
	char **again = calloc(count + 5, sizeof *again);
	if (!again)
		return pr_error_errno(error, ENOMEM, "executing the worker anew");
	again[used++] = argv[0];
	for (size_t i = 0; i < 4 && options[i]; i++)
		again[used++] = options[i];
	for (size_t i = 1; i < count; i++)
		again[used++] = argv[i];
	execv("/proc/self/exe", again);
	int r = pr_error_errno(error, errno, "executing the worker anew");
	free(again);
	return r;
}

/* A weaker way, which must be asked for by name. */
static void name_own_ids(struct pr_error *error)
{
	size_t length = strlen(error->remedy);
	snprintf(error->remedy + length, sizeof error->remedy - length,
		 "; or, weaker, \"sandbox\": {\"own_ids\": \"allow\"} in the round file (docs/hosts.md)");
}

int outer_enter(char **argv, bool allow_own, struct pr_error *error)
{
	struct subordinate uids, gids;
	struct pr_error why = { 0 };
	char size[32];
	uid_t user = getuid();
	gid_t group = getgid();
	bool found, entered = false;
	if (geteuid() == 0)
		return 0;
	int r = find_range("/etc/subuid", &uids, error);
	if (r == 0)
		r = find_range("/etc/subgid", &gids, error);
	found = r == 0;
	if (found)
		r = enter(&uids, &gids, &entered, error);
	/* Without user namespaces there is no other way. */
	if (r < 0 && !allow_own && (!found || entered))
		name_own_ids(error);
	if (r < 0 && allow_own && (!found || entered)) {
		why = *error;
		*error = (struct pr_error){ 0 };
		r = enter_own(user, group, entered, &why, error);
	}
	if (r < 0)
		return r;
	/* An unmapped 0 range would leave us nobody; as 0 of the namespace we hold its capabilities over exec. */
	if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		return pr_error_errno(error, errno, "becoming 0 of the outer user namespace");
	if (why.code != 0)
		return execute_anew(argv, (char *[4]){ (char *)"--own-ids", why.message, (char *)"--own-ids-remedy", why.remedy }, error);
	snprintf(size, sizeof size, "%lu", uids.count < gids.count ? uids.count : gids.count);
	return execute_anew(argv, (char *[4]){ (char *)"--outer", size }, error);
}
