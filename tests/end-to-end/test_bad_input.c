/*
 * What cannot be done is refused with one clear message, a remedy and exit code 2, and nothing half-written is
 * left for the next run to trip over: after each refusal a good round runs in the same places.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "tests/end-to-end/driver.h"
#include "tests/end-to-end/events.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"

#define REFUSED 2

static struct driver driver;

static const char TASK[] = "\"tests\": [ { \"command\": [\"true\"], \"baseline\": [0], \"patched\": [0] } ]";
static const char AGENT[] = "\"agent\": { \"name\": \"a\", \"command\": [\"true\"] }";

/* No run, and no temporary one, stands in the rounds' directory. */
static void assert_no_run(void)
{
	int count = scratch_count(driver.rounds);
	if (count > 0)
		fail_msg("%d entries are left in the rounds' directory", count);
}

/* A round that passes, in the same places. */
static void assert_good_round(void)
{
	const struct task_text tasks[] = { { "good", "touch done", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "good", 1, tasks);
	_cleanup_process_ struct process process = PROCESS_INIT;
	int code = driver_run(&driver, &process, 60000, ARGUMENTS("run", file, "--yes", "--display", "json"));
	struct events events = events_read(process.output.data);
	const char *verdict = member_text(events_find(&events, "task.verdict", "good", 0), "verdict");
	if (code != 0 || strcmp(verdict, "pass") != 0)
		fail_msg("a good round after it: exit code %d, verdict %s: %s", code, verdict, process.error.data);
	events_release(&events);
}

static size_t lines_of(const char *text)
{
	size_t lines = 0;
	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* The words stand in what it said on standard error; at most a few lines, nothing twice. */
static void assert_refusal(const struct process *process, int code, const char *const *words)
{
	if (code != REFUSED)
		fail_msg("exit code %d, not %d: %s", code, REFUSED, process->error.data);
	for (; *words; words++)
		if (!strstr(process->error.data, *words))
			fail_msg("'%s' is not in: %s", *words, process->error.data);
	if (lines_of(process->error.data) > 6)
		fail_msg("too many words: %s", process->error.data);
	/* The end of a line says what it is about; a program may have put its name in front of it a second time. */
	for (const char *line = process->error.data; *line;) {
		const char *end = strchrnul(line, '\n');
		size_t length = (size_t)(end - line) < 30 ? (size_t)(end - line) : 30;
		_cleanup_free_ char *tail = strndup(end - length, length);
		if (tail && length >= 10 && strstr(end, tail))
			fail_msg("said twice: %s", process->error.data);
		line = *end ? end + 1 : end;
	}
	print_message("%s", process->error.data);
}

/* `proctor run` of a text as a round file. */
static void refuse_text(const char *text, const char *const *words)
{
	_cleanup_free_ char *file = driver_file(&driver, "bad.round.json", text);
	_cleanup_process_ struct process process = PROCESS_INIT;
	int code = driver_run(&driver, &process, 60000, ARGUMENTS("run", file, "--yes"));
	assert_refusal(&process, code, words);
	assert_no_run();
	assert_int_equal(driver_left(&driver, 5000), 0);
	assert_good_round();
}

static void git(const char *directory, const char *const *arguments)
{
	const char *argv[16] = { "git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", directory };
	for (size_t i = 0; arguments[i]; i++)
		argv[i + 7] = arguments[i];
	_cleanup_process_ struct process process = PROCESS_INIT;
	if (process_run(&process, &(struct process_start){ .argv = argv }, 20000) != 0)
		fail_msg("git: %s", process.error.data);
}

static void test_missing_repository(void **state)
{
	(void)state;
	_cleanup_free_ char *text = scratch_text("{ \"round\": \"bad\", %s, \"tasks\": [\n"
		"  { \"id\": \"t\", \"repo\": \"nowhere/repo\", \"commit\": \"main\", %s } ] }\n", AGENT, TASK);
	refuse_text(text, ARGUMENTS("bad.round.json:2:", "nowhere/repo"));
}

static void test_unknown_commit(void **state)
{
	(void)state;
	_cleanup_free_ char *repository = scratch_text("%s/repository", driver.root);
	_cleanup_free_ char *file = scratch_text("%s/file", repository);
	assert_int_equal(scratch_write(file, 0644, "text\n"), 0);
	git(repository, ARGUMENTS("init", "-q", "-b", "main"));
	git(repository, ARGUMENTS("add", "."));
	git(repository, ARGUMENTS("commit", "-q", "-m", "one"));
	_cleanup_free_ char *text = scratch_text("{ \"round\": \"bad\", %s, \"tasks\": [\n"
		"  { \"id\": \"t\", \"repo\": \"repository\", \"commit\": \"no-such-branch\", %s } ] }\n", AGENT, TASK);
	refuse_text(text, ARGUMENTS("bad.round.json:2:", "no-such-branch"));
}

static void test_agent_that_is_not_there(void **state)
{
	(void)state;
	_cleanup_free_ char *text = scratch_text("{ \"round\": \"bad\",\n"
		"  \"agent\": { \"name\": \"a\", \"command\": [\"agents/absent.sh\"] },\n"
		"  \"tasks\": [ { \"id\": \"t\", \"directory\": \"subject\", %s } ] }\n", TASK);
	refuse_text(text, ARGUMENTS("bad.round.json:2:", "agents/absent.sh"));
}

static void test_three_faults_at_once(void **state)
{
	(void)state;
	_cleanup_free_ char *text = scratch_text("{ \"round\": \"bad\", %s,\n"
		"  \"paralel\": 2,\n"
		"  \"budget\": { \"wall_clock\": \"soon\" },\n"
		"  \"tasks\": [ { \"id\": \"t\", \"directory\": \"subject\", %s, \"protect\": 3 } ] }\n", AGENT, TASK);
	refuse_text(text, ARGUMENTS("bad.round.json:2:", "paralel", "bad.round.json:3:", "wall_clock", "bad.round.json:4:", "protect"));
}

static void test_no_json(void **state)
{
	(void)state;
	refuse_text("{ \"round\": \"bad\",\n  \"tasks\": [ }\n", ARGUMENTS("bad.round.json:2:"));
}

static void test_no_file(void **state)
{
	(void)state;
	_cleanup_process_ struct process process = PROCESS_INIT;
	int code = driver_run(&driver, &process, 60000, ARGUMENTS("run", "absent.round.json", "--yes"));
	assert_refusal(&process, code, ARGUMENTS("absent.round.json"));
	assert_no_run();
}

static void test_network_broker(void **state)
{
	(void)state;
	_cleanup_free_ char *text = scratch_text("{ \"round\": \"bad\", %s,\n"
		"  \"sandbox\": { \"network\": \"broker\" },\n"
		"  \"tasks\": [ { \"id\": \"t\", \"directory\": \"subject\", %s } ] }\n", AGENT, TASK);
	refuse_text(text, ARGUMENTS("bad.round.json:2:", "broker", "none"));
}

/* Root may write anywhere: a file in the place of the directory cannot be written into by anyone. */
static void test_unwritable_run_directory(void **state)
{
	(void)state;
	const struct task_text tasks[] = { { "t", "touch done", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "bad", 1, tasks);
	_cleanup_free_ char *parent = scratch_text("%s/proctor", driver.state);
	scratch_remove(driver.state);
	assert_int_equal(scratch_write(parent, 0644, "a file in the way\n"), 0);
	_cleanup_process_ struct process process = PROCESS_INIT;
	int code = driver_run(&driver, &process, 60000, ARGUMENTS("run", file, "--yes"));
	assert_refusal(&process, code, ARGUMENTS("proctor/rounds", "XDG_STATE_HOME"));
	_cleanup_free_ char *untouched = scratch_read(parent);
	assert_string_equal(untouched, "a file in the way\n");
	unlink(parent);
	assert_good_round();
}

/* What follows runs proctor in a mount namespace of its own. */
static int private_mounts(void)
{
	if (unshare(CLONE_NEWNS) < 0)
		return -errno;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : 0;
}

/* Unmounts all of one type, the innermost first. */
static int unmount_all(const char *type)
{
	for (int i = 0; i < 64; i++) {
		_cleanup_free_ char *mounts = scratch_read("/proc/self/mounts");
		char *lines = mounts;
		_cleanup_free_ char *last = NULL;
		for (char *line; lines && (line = strsep(&lines, "\n"));) {
			char *fields = line;
			strsep(&fields, " ");
			char *place = strsep(&fields, " "), *own = strsep(&fields, " ");
			if (own && strcmp(own, type) == 0) {
				free(last);
				last = strdup(place);
			}
		}
		if (!last)
			return 0;
		if (umount2(last, MNT_DETACH) < 0)
			return -errno;
	}
	return -ELOOP;
}

static int without_cgroup2(void *argument)
{
	(void)argument;
	int r = private_mounts();
	return r < 0 ? r : unmount_all("cgroup2");
}

static int read_only_state(void *argument)
{
	const struct driver *own = argument;
	int r = private_mounts();
	if (r < 0)
		return r;
	if (mount("none", own->state, "tmpfs", MS_RDONLY, "mode=0755") < 0)
		return -errno;
	return 0;
}

static void run_inside(struct process *process, const char *file, int (*before)(void *), int *ret_code)
{
	const char *const argv[] = { PROCTOR_BUILD "/proctor", "run", file, "--yes", NULL };
	const struct process_start how = { .argv = argv, .environment = (const char *const *)driver.variables,
					   .directory = driver.root, .before_exec = before, .argument = &driver };
	*ret_code = process_run(process, &how, 60000);
	if (*ret_code == 126)
		skip_test("no mount namespace of one's own on this host");
}

static void test_no_cgroup2(void **state)
{
	(void)state;
	const struct task_text tasks[] = { { "t", "touch done", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "bad", 1, tasks);
	_cleanup_process_ struct process process = PROCESS_INIT;
	int code;
	run_inside(&process, file, without_cgroup2, &code);
	assert_refusal(&process, code, ARGUMENTS("cgroup", "mount"));
	/* K14: no boundary, no run; and the list says so. */
	_cleanup_process_ struct process list = PROCESS_INIT;
	assert_int_equal(driver_run(&driver, &list, 20000, ARGUMENTS("list", "--json")), 0);
	assert_non_null(strstr(list.output.data, "\"state\":\"refused\""));
	/* Having shown it is the work of watch; wait tells what it was. What to do stands in the log too. */
	_cleanup_process_ struct process watch = PROCESS_INIT, wait = PROCESS_INIT;
	assert_int_equal(driver_run(&driver, &watch, 20000, ARGUMENTS("watch", "bad", "--display", "plain")), 0);
	assert_non_null(strstr(watch.output.data, "REFUSED"));
	assert_non_null(strstr(watch.output.data, "try: mount"));
	assert_int_equal(driver_run(&driver, &wait, 20000, ARGUMENTS("wait", "bad")), REFUSED);
	_cleanup_free_ char *log = driver_read(&driver, "events.jsonl");
	assert_true(!log || !strstr(log, "\"round.started\""));
	assert_int_equal(driver_left(&driver, 5000), 0);
	assert_good_round();
}

static void test_read_only_run_directory(void **state)
{
	(void)state;
	const struct task_text tasks[] = { { "t", "touch done", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "bad", 1, tasks);
	assert_int_equal(io_mkdir_p(driver.state, 0700, NULL), 0);
	_cleanup_process_ struct process process = PROCESS_INIT;
	int code;
	run_inside(&process, file, read_only_state, &code);
	assert_refusal(&process, code, ARGUMENTS("Read-only file system", "XDG_STATE_HOME"));
	assert_good_round();
}

/*
 * A file system of a few pages, filled to the last one. It is mounted here, in this test's own mount
 * namespace, so that the good round afterwards runs on the same one, with room again.
 */
static void test_full_disk(void **state)
{
	(void)state;
	if (private_mounts() < 0)
		skip_test("no mount namespace of one's own on this host");
	const struct task_text tasks[] = { { "t", "touch done", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "bad", 1, tasks);
	scratch_remove(driver.state);
	assert_int_equal(io_mkdir_p(driver.state, 0700, NULL), 0);
	assert_int_equal(mount("none", driver.state, "tmpfs", 0, "size=32k,mode=0700"), 0);
	_cleanup_free_ char *filler = scratch_text("%s/filler", driver.state);
	FILE *full = fopen(filler, "w");
	assert_non_null(full);
	setvbuf(full, NULL, _IONBF, 0);
	while (fputc('x', full) != EOF)
		;
	fclose(full);

	_cleanup_process_ struct process process = PROCESS_INIT;
	int code = driver_run(&driver, &process, 60000, ARGUMENTS("run", file, "--yes"));
	unlink(filler);
	int left = scratch_count(driver.rounds);
	int resized = mount("none", driver.state, "tmpfs", MS_REMOUNT, "size=64m");
	if (code == REFUSED && left <= 0 && resized == 0)
		assert_good_round();
	umount2(driver.state, MNT_DETACH);
	assert_refusal(&process, code, ARGUMENTS("No space left on device"));
	assert_true(left <= 0);
	assert_int_equal(resized, 0);
	assert_int_equal(driver_left(&driver, 5000), 0);
}

/*
 * A disk that fills while the round runs: it is not the owner who ended it, so it could not judge; and with room again
 * the rest of it runs.
 */
static void test_a_disk_that_fills_up(void **state)
{
	(void)state;
	if (private_mounts() < 0)
		skip_test("no mount namespace of one's own on this host");
	const struct task_text tasks[] = { { "full", "head -c 3000000 /dev/zero; touch done", NULL }, { "late", "touch done", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "fills", 1, tasks);
	scratch_remove(driver.state);
	assert_int_equal(io_mkdir_p(driver.state, 0700, NULL), 0);
	assert_int_equal(mount("none", driver.state, "tmpfs", 0, "size=800k,mode=0700"), 0);
	_cleanup_process_ struct process run = PROCESS_INIT, list = PROCESS_INIT, wait = PROCESS_INIT, resume = PROCESS_INIT;
	int code = driver_run(&driver, &run, 60000, ARGUMENTS("run", file, "--yes"));
	int listed = driver_run(&driver, &list, 20000, ARGUMENTS("list", "--json"));
	int waited = driver_run(&driver, &wait, 20000, ARGUMENTS("wait", "fills"));
	int resized = mount("none", driver.state, "tmpfs", MS_REMOUNT, "size=64m");
	int resumed = driver_run(&driver, &resume, 60000, ARGUMENTS("run", "--resume", "fills", "--yes"));
	umount2(driver.state, MNT_DETACH);
	if (code != REFUSED || listed != 0 || waited != REFUSED || resized != 0 || resumed != 0)
		fail_msg("run %d, list %d, wait %d, remount %d, resume %d: %s%s", code, listed, waited, resized, resumed, run.output.data,
			 resume.error.data);
	assert_non_null(strstr(run.output.data, "FAILED after"));
	assert_non_null(strstr(list.output.data, "\"state\":\"failed\""));
	assert_non_null(strstr(resume.output.data, "late         pass 1.0"));
	assert_int_equal(driver_left(&driver, 5000), 0);
}

/* `check` tells the same faults and starts nothing. */
static void test_check(void **state)
{
	(void)state;
	_cleanup_free_ char *bad = driver_file(&driver, "bad.round.json", "{ \"round\": \"bad\", \"tasks\": [] }\n");
	_cleanup_process_ struct process process = PROCESS_INIT;
	int code = driver_run(&driver, &process, 60000, ARGUMENTS("check", bad));
	assert_refusal(&process, code, ARGUMENTS("bad.round.json:1:"));
	process_release(&process);

	const struct task_text tasks[] = { { "good", "touch done", NULL }, { 0 } };
	_cleanup_free_ char *good = driver_round(&driver, "good", 1, tasks);
	assert_int_equal(driver_run(&driver, &process, 60000, ARGUMENTS("check", good)), 0);
	assert_no_run();
}

/* A smoke round asks; where there is no one to ask it is refused, and says how to answer. */
static void test_the_gate_without_a_terminal(void **state)
{
	(void)state;
	_cleanup_free_ char *text = scratch_text("{ \"round\": \"asks\", \"kind\": \"smoke\", %s,\n"
		"  \"tasks\": [ { \"id\": \"t\", \"directory\": \"subject\", %s } ] }\n", AGENT, TASK);
	_cleanup_free_ char *file = driver_file(&driver, "asks.round.json", text);
	_cleanup_process_ struct process process = PROCESS_INIT;
	int code = driver_run(&driver, &process, 60000, ARGUMENTS("run", file));
	assert_refusal(&process, code, ARGUMENTS("asks.round.json --yes"));
	assert_no_run();
	assert_int_equal(driver_left(&driver, 10000), 0);
}

/* A start that was killed leaves a directory that no core holds; the next one removes it. */
static void test_what_a_killed_start_left(void **state)
{
	(void)state;
	_cleanup_free_ char *left = scratch_text("%s/.good.aB3xYz", driver.rounds);
	_cleanup_free_ char *lock = scratch_text("%s/lock", left);
	_cleanup_free_ char *subject = scratch_text("%s/episodes.git/HEAD", left);
	assert_int_equal(scratch_write(lock, 0600, "1\n"), 0);
	assert_int_equal(scratch_write(subject, 0600, "ref: refs/heads/main\n"), 0);
	assert_good_round();
	assert_int_not_equal(access(left, F_OK), 0);
}

/* Faults of the subjects come with those of the file. */
static void test_every_fault_at_once(void **state)
{
	(void)state;
	_cleanup_free_ char *text = scratch_text("{ \"round\": \"bad\", \"paralel\": 2, %s, \"tasks\": [\n"
		"  { \"id\": \"t\", \"repo\": \"subject\", \"commit\": \"main\", %s },\n"
		"  { \"id\": \"t\", \"directory\": \"subject\", %s } ] }\n", AGENT, TASK, TASK);
	refuse_text(text, ARGUMENTS("bad.round.json:1:", "paralel", "bad.round.json:2:", "no git repository", "bad.round.json:3:", "stands twice"));
}

static int no_descriptors(void *argument)
{
	(void)argument;
	return setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 16, 16 }) < 0 ? -errno : 0;
}

/* A limit of the shell's that would stop the core in the middle of its start: told before it begins, with a remedy. */
static void test_too_few_descriptors(void **state)
{
	(void)state;
	const struct task_text tasks[] = { { "t", "touch done", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "bad", 1, tasks);
	_cleanup_process_ struct process process = PROCESS_INIT;
	int code;
	run_inside(&process, file, no_descriptors, &code);
	assert_refusal(&process, code, ARGUMENTS("16 open files are allowed", "ulimit -n"));
	assert_good_round();
	assert_int_equal(driver_run_count(&driver), 1);
}

static void test_usage(void **state)
{
	(void)state;
	static const char *const wrong[][4] = { { "rnu" }, { "run", "--no-such-option" }, { "stop" } };
	for (size_t i = 0; i < ELEMENTS(wrong); i++) {
		_cleanup_process_ struct process process = PROCESS_INIT;
		assert_int_equal(driver_run(&driver, &process, 20000, wrong[i]), 64);
		assert_true(process.error.length > 0);
		assert_int_equal(process.output.length, 0);
	}
}

static int set_up(void **state)
{
	(void)state;
	driver_open(&driver);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	driver_close(&driver);
	return 0;
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_missing_repository), CASE(test_unknown_commit), CASE(test_agent_that_is_not_there),
		CASE(test_three_faults_at_once), CASE(test_no_json), CASE(test_no_file), CASE(test_network_broker),
		CASE(test_unwritable_run_directory), CASE(test_no_cgroup2), CASE(test_read_only_run_directory),
		CASE(test_check), CASE(test_what_a_killed_start_left), CASE(test_every_fault_at_once), CASE(test_too_few_descriptors),
		CASE(test_the_gate_without_a_terminal), CASE(test_usage),
		/* The last ones: the first of them moves this program into a mount namespace of its own. */
		CASE(test_full_disk), CASE(test_a_disk_that_fills_up),
	};
	return cmocka_run_group_tests_name("bad input", tests, NULL, NULL);
}
