/*
 * What an ordinary user's host may lack, each played by as_ordinary: found by trying, refused before anything runs (exit
 * code 2, K14), and told with what helps. systemd is a script here, which does what systemd-run was seen to do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"

#define ORDINARY PROCTOR_BUILD "/tests/support/as_ordinary"
#define WORKER PROCTOR_BUILD "/proctor-worker"
#define PROBE_MS 60000

/* A worker that only looks, as that user; with these members of PATH before the usual ones, or in place of them. */
static int probe(struct process *process, const char *const *options, const char *path, bool alone)
{
	const char *argv[12] = { ORDINARY };
	_cleanup_free_ char *variable = path ? scratch_text("PATH=%s%s", path, alone ? "" : ":/usr/sbin:/usr/bin:/sbin:/bin") : NULL;
	const char *environment[] = { variable, NULL };
	size_t count = 1;
	for (; *options; options++)
		argv[count++] = *options;
	argv[count++] = WORKER;
	argv[count++] = "--probe";
	argv[count++] = "--json";
	argv[count] = NULL;
	int r = process_run(process, &(struct process_start){ .argv = argv, .environment = environment }, PROBE_MS);
	if (r == 77) {
		char why[256];
		snprintf(why, sizeof why, "%.*s", (int)strcspn(process->output.data, "\n"), process->output.data);
		process_release(process);
		skip_test("%s", why);
	}
	return r;
}

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Refused, with these words in what is said and in the remedy. */
static void assert_refused(const char *const *options, const char *path, bool alone, const char *said, const char *remedy)
{
	_cleanup_process_ struct process process = PROCESS_INIT;
	int r = probe(&process, options, path, alone);
	const char *text = process.error.data ? process.error.data : "", *try = strstr(text, "try: ");
	if (r != 2 || !strstr(text, "no boundary: ") || !strstr(text, said) || !try || !strstr(try, remedy))
		fail_msg("exit code %d; wanted \"%s\" and, to try, \"%s\"; said: %s", r, said, remedy, text);
}

static void test_no_subtree(void **state)
{
	(void)state;
	assert_refused(OPTIONS("--undelegated"), NULL, false, "cannot make a cgroup below", "Delegate=yes");
}

static void test_read_only_hierarchy(void **state)
{
	(void)state;
	assert_refused(OPTIONS("--read-only"), NULL, false, "Read-only file system", "mount it writable");
}

static void test_no_range(void **state)
{
	(void)state;
	assert_refused(OPTIONS("--range=0"), NULL, false, "gives the user proctor-ordinary no range", "usermod --add-subuids");
}

static char *open_directory(void)
{
	char *directory = scratch_directory("delegation");
	assert_int_equal(chmod(directory, 0755), 0);
	return directory;
}

/* Told at once, with what the range would do: not as errors of the host's, a task at a time, in the night. */
static void test_small_range(void **state)
{
	(void)state;
	assert_refused(OPTIONS("--range=2"), NULL, false, "a range of 2 subordinate ids is too small", "usermod --add-subuids");

	_cleanup_free_ char *directory = open_directory(), *file = scratch_text("%s/small.round.json", directory);
	_cleanup_free_ char *subject = scratch_text("%s/subject/file", directory);
	assert_int_equal(scratch_write(subject, 0644, "x\n"), 0);
	assert_int_equal(scratch_write(file, 0644,
		"{ \"round\": \"small\", \"kind\": \"baseline\", \"parallel\": 4, \"agent\": { \"name\": \"a\", \"command\": [\"true\"] },\n"
		"  \"budget\": { \"wall_clock\": \"1m\", \"tests_wall_clock\": \"1m\" }, \"tasks\": [ { \"id\": \"t\", \"directory\": \"subject\",\n"
		"  \"prompt\": \"p\", \"tests\": [ { \"command\": [\"true\"], \"baseline\": [0], \"patched\": [0] } ] } ] }\n"), 0);
	const char *argv[] = { ORDINARY, "--range=6", PROCTOR_BUILD "/proctor", "run", file, "--yes", NULL };
	_cleanup_process_ struct process process = PROCESS_INIT;
	int r = process_run(&process, &(struct process_start){ .argv = argv }, PROBE_MS);
	if (r == 77)
		skip_test("%s", process.output.data);
	if (r != 2 || !strstr(process.error.data, "4 tasks at a time need 10 subordinate user ids") ||
	    !strstr(process.error.data, "\"parallel\": 2"))
		fail_msg("exit code %d: %s%s", r, process.output.data, process.error.data);
	scratch_remove(directory);
}

/* --- no range, and allowed -------------------------------------------------------------------------- */

/*
 * The agent finds itself with one id and no capability, cannot get at its init, and does its work; its tests pass. Shown by
 * exit codes alone: what it finds amiss is its failure.
 */
#define AGENT_SCRIPT \
	"#!/bin/sh\n" \
	"grep -q '^CapEff:.0000000000000000$' /proc/self/status && grep -q '^CapBnd:.0000000000000000$' /proc/self/status || exit 21\n" \
	"[ $(wc -l < /proc/self/uid_map) = 1 ] && [ $(cat /proc/self/setgroups) = deny ] || exit 22\n" \
	"if (: > /proc/1/mem) 2>/dev/null; then exit 23; fi\n" \
	"if (: < /proc/1/environ) 2>/dev/null; then exit 24; fi\n" \
	"if kill -9 1 2>/dev/null && ! kill -0 1; then exit 25; fi\n" \
	"if (: > /usr/bin/proctor-trial) 2>/dev/null || (: > /proctor-trial) 2>/dev/null; then exit 26; fi\n" \
	"if mount -t tmpfs none /tmp 2>/dev/null; then exit 27; fi\n" \
	"echo done > made\n"

static char *write_own_round(const char *directory, const char *sandbox)
{
	char *file = scratch_text("%s/own.round.json", directory);
	_cleanup_free_ char *subject = scratch_text("%s/subject/file", directory), *agent = scratch_text("%s/agent.sh", directory);
	_cleanup_free_ char *text = scratch_text(
		"{ \"round\": \"own\", \"kind\": \"smoke\", \"agent\": { \"name\": \"a\", \"command\": [\"./agent.sh\"] },\n"
		"  \"budget\": { \"wall_clock\": \"1m\", \"tests_wall_clock\": \"1m\" },\n"
		"  \"sandbox\": { %s \"limits\": { \"processes\": 64 } },\n"
		"  \"tasks\": [ { \"id\": \"t\", \"directory\": \"subject\", \"prompt\": \"p\",\n"
		"  \"tests\": [ { \"command\": [\"test\", \"-e\", \"made\"], \"baseline\": [1], \"patched\": [0] } ] } ] }\n", sandbox);
	assert_int_equal(scratch_write(subject, 0644, "x\n"), 0);
	assert_int_equal(scratch_write(agent, 0755, AGENT_SCRIPT), 0);
	assert_int_equal(chmod(agent, 0755), 0);
	assert_int_equal(scratch_write(file, 0644, text), 0);
	return file;
}

/* Runs the round as that user, in a shell that then shows the records and what is left of cgroups, after a while. */
static int run_own(struct process *process, const char *option, const char *path, const char *file)
{
	_cleanup_free_ char *variable = path ? scratch_text("PATH=%s:/usr/sbin:/usr/bin:/sbin:/bin", path) : NULL;
	const char *environment[] = { variable, NULL };
	const char *argv[] = { ORDINARY, option, "/bin/sh", "-c",
		"export XDG_STATE_HOME=$(mktemp -d); " PROCTOR_BUILD "/proctor run \"$0\" --yes; code=$?\n"
		"find $XDG_STATE_HOME -name '*.json*' -type f -exec cat {} +; rm -rf $XDG_STATE_HOME\n"
		"own=$(sed -n 's,^0::.*/\\(ordinary-[0-9]*\\).*,\\1,p' /proc/self/cgroup)\n"
		"left() { find /sys/fs/cgroup -path \"*/$own/*\" -name 'proctor-[0-9]*' 2>/dev/null; }\n"
		"for i in 1 2 3 4 5 6 7 8 9 10; do [ \"$own\" ] && [ -z \"$(left)\" ] && break; sleep 0.3; done\n"
		"left | sed 's/^/LEFT /'; [ \"$own\" ] || echo LEFT unknown\n"
		"exit $code", file, NULL };
	int r = process_run(process, &(struct process_start){ .argv = argv, .environment = environment }, PROBE_MS);
	if (r == 77)
		skip_test("%s", process->output.data);
	return r;
}

static void assert_said(const struct process *process, int code, int wanted, const char *const *said)
{
	if (strstr(process->output.data, "LEFT "))
		fail_msg("%s", process->output.data);
	for (; *said; said++)
		if (code != wanted || (!strstr(process->output.data, *said) && !strstr(process->error.data, *said)))
			fail_msg("exit code %d; wanted \"%s\"; said: %s%s", code, *said, process->output.data, process->error.data);
}

#define MARK "ids: init and candidate share the owner's own id"

static void test_own_ids_must_be_asked_for(void **state)
{
	(void)state;
	_cleanup_free_ char *directory = open_directory(), *file = write_own_round(directory, "");
	_cleanup_process_ struct process process = PROCESS_INIT;
	int r = run_own(&process, "--range=0", NULL, file);
	assert_said(&process, r, 2, OPTIONS("gives the user proctor-ordinary no range", "usermod --add-subuids", "own_ids"));
	scratch_remove(directory);
}

static void test_own_ids_without_a_range(void **state)
{
	(void)state;
	_cleanup_free_ char *directory = open_directory(), *file = write_own_round(directory, "\"own_ids\": \"allow\",");
	_cleanup_process_ struct process process = PROCESS_INIT;
	int r = run_own(&process, "--range=0", NULL, file);
	assert_said(&process, r, 0, OPTIONS("\"verdict\":\"pass\"", MARK, "every run has the owner's own id", "usermod --add-subuids",
					      "\"certifiable\":false"));
	scratch_remove(directory);
}

static void test_own_ids_without_a_mapper(void **state)
{
	(void)state;
	_cleanup_free_ char *directory = open_directory(), *file = write_own_round(directory, "\"own_ids\": \"allow\",");
	_cleanup_free_ char *mapper = scratch_text("%s/bin/newuidmap", directory), *path = scratch_text("%s/bin", directory);
	_cleanup_process_ struct process process = PROCESS_INIT;
	assert_int_equal(scratch_write(mapper, 0755, "#!/bin/sh\nexit 1\n"), 0);
	assert_int_equal(chmod(path, 0755) | chmod(mapper, 0755), 0);
	int r = run_own(&process, "--range=65536", path, file);
	assert_said(&process, r, 0, OPTIONS("\"verdict\":\"pass\"", MARK, "newuidmap is not set-user-ID root", "chmod u+s"));
	scratch_remove(directory);
}

/* Where there is a range the key changes nothing: the agent has two ids, and what it finds is another host. */
static void test_own_ids_with_a_range(void **state)
{
	(void)state;
	_cleanup_process_ struct process process = PROCESS_INIT;
	const char *argv[] = { ORDINARY, WORKER, "--probe", "--json", "--allow-own-ids", NULL };
	int r = process_run(&process, &(struct process_start){ .argv = argv }, PROBE_MS);
	if (r == 77)
		skip_test("%s", process.output.data);
	if (r != 0 || strstr(process.output.data, MARK) || strstr(process.output.data, "\"ids\""))
		fail_msg("exit code %d: %s%s", r, process.output.data, process.error.data);
}

static void test_no_user_namespaces(void **state)
{
	(void)state;
	char full[32], forbidden[32];
	snprintf(full, sizeof full, "--deny=userns=%d", ENOSPC);
	snprintf(forbidden, sizeof forbidden, "--deny=userns=%d", EPERM);
	assert_refused(OPTIONS(full), NULL, false, "taking a user namespace", "user.max_user_namespaces");
	assert_refused(OPTIONS(forbidden), NULL, false, "taking a user namespace", "kernel.unprivileged_userns_clone=1");
}

/* AppArmor's restriction: the namespace is given, and what it is for is not. */
static void test_user_namespace_without_rights(void **state)
{
	(void)state;
	char mounts[32], mount[32];
	snprintf(mounts, sizeof mounts, "--deny=mountns=%d", EPERM);
	snprintf(mount, sizeof mount, "--deny=mount=%d", EACCES);
	assert_refused(OPTIONS(mounts), NULL, false, "gives no rights: taking a mount namespace", "apparmor_restrict_unprivileged_userns=0");
	assert_refused(OPTIONS(mount), NULL, false, "gives no rights: mounting", "apparmor_restrict_unprivileged_userns=0");
}

/* Missing, and said: what is built in and not active has another remedy than what is not there. */
static void test_no_landlock(void **state)
{
	static const struct {
		int code;
		const char *said, *remedy;
	} cases[] = {
		{ ENOSYS, "this kernel has no Landlock", "CONFIG_SECURITY_LANDLOCK" },
		{ EOPNOTSUPP, "built into this kernel and not active", "lsm= list" },
	};
	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		char option[32];
		snprintf(option, sizeof option, "--deny=landlock=%d", cases[i].code);
		_cleanup_process_ struct process process = PROCESS_INIT;
		int r = probe(&process, OPTIONS(option), NULL, false);
		if (r != 0 || !strstr(process.output.data, cases[i].said) || !strstr(process.output.data, cases[i].remedy))
			fail_msg("exit code %d; wanted \"%s\" and \"%s\"; said: %s%s", r, cases[i].said, cases[i].remedy,
				 process.output.data ? process.output.data : "", process.error.data ? process.error.data : "");
	}
}

static void test_no_mapper(void **state)
{
	(void)state;
	_cleanup_free_ char *directory = open_directory(), *locked = scratch_text("%s/locked", directory);
	_cleanup_free_ char *path = scratch_text("%s:%s", directory, locked);
	assert_int_equal(mkdir(locked, 0700), 0);
	assert_refused(OPTIONS("--range=65536"), directory, true, "newuidmap is not there (PATH is ", "apt-get install uidmap");
	assert_refused(OPTIONS("--range=65536"), path, true, "not to be searched: ", "or set PATH");
	scratch_remove(directory);
}

static void test_mapper_without_rights(void **state)
{
	(void)state;
	_cleanup_free_ char *directory = open_directory(), *mapper = scratch_text("%s/newuidmap", directory);
	const char *argv[] = { "cp", "/usr/bin/newuidmap", mapper, NULL };
	_cleanup_process_ struct process copy = PROCESS_INIT;
	if (process_run(&copy, &(struct process_start){ .argv = argv }, PROBE_MS) != 0 || chmod(mapper, 0755) < 0)
		skip_test("newuidmap is not installed (package uidmap)");
	assert_refused(OPTIONS("--range=65536"), directory, false, "newuidmap is not set-user-ID root", "chmod u+s");
	scratch_remove(directory);
}

/* --- systemd ---------------------------------------------------------------------------------------- */

/* What a script for systemd-run begins with: it finds the unit's name and the command in its arguments. */
#define SYSTEMD_RUN \
	"#!/bin/sh\n" \
	"for word; do shift; case $word in --unit=*) unit=${word#--unit=} ;; --user) user=1 ;;\n" \
	"Delegate=yes) delegate=1 ;; --) break ;; esac; done\n" \
	"own=$(sed -n 's/^0:://p' /proc/self/cgroup)\n" \
	"mount=$(sed -n 's/^[^ ]* [^ ]* [^ ]* [^ ]* \\([^ ]*\\) .* - cgroup2 .*/\\1/p' /proc/self/mountinfo | head -n 1)\n"

static char *fake_systemd(const char *rest)
{
	char *directory = open_directory();
	_cleanup_free_ char *program = scratch_text("%s/systemd-run", directory), *text = scratch_text("%s%s", SYSTEMD_RUN, rest);
	assert_int_equal(scratch_write(program, 0755, text), 0);
	assert_int_equal(chmod(program, 0755), 0);
	return directory;
}

static void test_scope_of_systemd(void **state)
{
	(void)state;
	_cleanup_process_ struct process process = PROCESS_INIT;
	_cleanup_free_ char *directory = fake_systemd(
		"[ \"$user$delegate\" = 11 ] || exit 3\n"
		"[ -z \"$unit\" ] && exec \"$@\"\n"
		"scope=$mount${own%/*}/$unit\n"
		"mkdir $scope && echo $$ > $scope/cgroup.procs && exec \"$@\"\n");
	int r = probe(&process, OPTIONS("--systemd=bus"), directory, false);
	if (r != 0 || !strstr(process.output.data, ".slice/proctor-") || !strstr(process.output.data, ".scope/proctor-"))
		fail_msg("exit code %d: %s%s", r, process.output.data, process.error.data);
	scratch_remove(directory);
}

static void test_systemd_refuses(void **state)
{
	(void)state;
	_cleanup_free_ char *directory = fake_systemd("printf 'Failed to connect to bus: \\033[1mNo medium found\\n' >&2; exit 1\n");
	assert_refused(OPTIONS("--systemd=bus"), directory, false, "Failed to connect to bus: [1mNo medium found",
		       "loginctl enable-linger proctor-ordinary");
	scratch_remove(directory);
}

/* The exit code says that it worked, and the process is where it was. */
static void test_systemd_moves_nobody(void **state)
{
	(void)state;
	_cleanup_free_ char *directory = fake_systemd("exec \"$@\"\n");
	assert_refused(OPTIONS("--systemd=bus"), directory, false, "said that we are in proctor-", "log in anew");
	scratch_remove(directory);
}

static void test_systemd_is_not_to_be_asked(void **state)
{
	(void)state;
	_cleanup_free_ char *directory = open_directory();
	assert_refused(OPTIONS("--systemd=bus"), directory, true, "systemd-run is not there", "package systemd");
	/* su and sudo: no session, no user manager. */
	assert_refused(OPTIONS("--systemd=no-bus"), NULL, false, "no user manager of systemd runs for proctor-ordinary",
		       "machinectl shell proctor-ordinary@");
	scratch_remove(directory);
}

int main(void)
{
	if (geteuid() != 0)
		skip_program("only root can play an ordinary user");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_subtree), cmocka_unit_test(test_read_only_hierarchy), cmocka_unit_test(test_no_range),
		cmocka_unit_test(test_small_range), cmocka_unit_test(test_own_ids_must_be_asked_for),
		cmocka_unit_test(test_own_ids_without_a_range), cmocka_unit_test(test_own_ids_without_a_mapper),
		cmocka_unit_test(test_own_ids_with_a_range),
		cmocka_unit_test(test_no_user_namespaces), cmocka_unit_test(test_user_namespace_without_rights),
		cmocka_unit_test(test_no_landlock),
		cmocka_unit_test(test_no_mapper), cmocka_unit_test(test_mapper_without_rights), cmocka_unit_test(test_scope_of_systemd),
		cmocka_unit_test(test_systemd_refuses), cmocka_unit_test(test_systemd_moves_nobody),
		cmocka_unit_test(test_systemd_is_not_to_be_asked),
	};
	return cmocka_run_group_tests_name("delegation", tests, NULL, NULL);
}
