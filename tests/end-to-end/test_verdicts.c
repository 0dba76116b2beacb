/*
 * Verdicts that a candidate tries to have without deserving them: code of its own that runs in a test changes the
 * tests themselves, and trees that cannot be made for the tests, so that the host would be charged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "tests/end-to-end/driver.h"
#include "tests/end-to-end/events.h"
#include "tests/support/scratch.h"

static struct driver driver;

/*
 * The subject has "prog", which the candidate may write, and test/expected and test/late, which it may not. `agent` is
 * what the agent runs, in single quotes; PROG is a file of that name from here.
 */
#define ROUND \
	"{\"round\":\"verdicts\",\"kind\":\"baseline\",\"sandbox\":{\"limits\":{\"workspace\":\"1MiB\"}}," \
	"\"agent\":{\"command\":[\"/bin/sh\",\"-c\",\"${prompt}\"],\"environment\":{\"PATH\":\"/usr/bin:/bin\"}},\"tasks\":["
#define TASK(id, agent, tests) \
	"{\"id\":\"" id "\",\"directory\":\"attacked\",\"protect\":[\"test/*\",\"top\",\"closed/*\"],\"prompt\":\"" agent "\",\"tests\":[" tests "]}"
#define WITHIN "{\"command\":[\"/bin/sh\",\"test/within\"],\"baseline\":[1]}"
/* Protected at the top, in a directory that is the owner's alone, and a link. */
#define CLOSED "{\"command\":[\"/bin/sh\",\"prog\"]},{\"command\":[\"/bin/sh\",\"closed/to\"],\"baseline\":[1]}"
#define ACROSS "{\"command\":[\"/bin/sh\",\"prog\"]},{\"command\":[\"/bin/sh\",\"test/late\"],\"baseline\":[1]}"

static const struct {
	const char *id, *verdict, *charged, *words;
} expected[] = {
	{ "honest", "pass", "", "" },
	{ "within", "fail", "candidate", "not as declared" },
	{ "across", "fail", "candidate", "command 2" },
	{ "replaced", "fail", "candidate", "command 2" },
	{ "moved", "fail", "candidate", "command 2" },
	{ "closed", "fail", "candidate", "command 2" },
	{ "agent", "pass", "", "restored" },
	{ "works", "pass", "", "" },
	{ "deep", "fail", "candidate", "workspace_too_deep" },
	{ "holes", "fail", "candidate", "workspace_too_large" },
	{ "links", "fail", "candidate", "workspace_too_large" },
};

static const char round_text[] = ROUND
	TASK("honest", "echo echo right > prog", WITHIN) ","
	TASK("within", "echo 'echo wrong > test/expected; echo wrong' > prog", WITHIN) ","
	TASK("across", "echo 'echo exit 0 > test/late; true' > prog", ACROSS) ","
	TASK("replaced", "echo 'echo exit 0 > l; mv -f l test/late; rm -f test/late; cp l test/late; true' > prog", ACROSS) ","
	TASK("moved", "echo 'mv test t; mkdir test; echo exit 0 > test/late; chmod 777 . test; true' > prog", ACROSS) ","
	TASK("closed", "echo 'echo exit 0 > l; mv -f l top; mv l closed/run; mv l closed/to; rm -rf closed; mkdir closed; cp l closed/to; true' > prog",
	     CLOSED) ","
	/* The agent itself may change all; what is protected is put back, and it may do as it likes beside it. */
	TASK("agent", "echo wrong > test/expected; rm test/late; echo echo right > prog", WITHIN) ","
	TASK("works", "echo 'echo x > test/new && mkdir -p out/deep && echo right > out/deep/f && cat out/deep/f && rm -r out test/new' > prog",
	     WITHIN) ","
	TASK("deep", "d=a; for i in 1 2 3 4 5 6; do d=$d/$d; done; printf -- '--- /dev/null\\\\n+++ b/%s/f\\\\n@@ -0,0 +1 @@\\\\n+x\\\\n' "
	     "$d > candidate.patch", WITHIN) ","
	TASK("holes", "truncate -s 600K a; truncate -s 600K b", WITHIN) ","
	TASK("links", "head -c 600000 /dev/zero > a; ln a b", WITHIN) "]}";

static void test_attacks(void **state)
{
	(void)state;
	_cleanup_process_ struct process process = PROCESS_INIT;
	free(driver_file(&driver, "attacked/prog", "echo first\n"));
	free(driver_file(&driver, "attacked/test/within", "sh prog > got\ncmp got test/expected\n"));
	free(driver_file(&driver, "attacked/test/expected", "right\n"));
	free(driver_file(&driver, "attacked/test/late", "exit 1\n"));
	free(driver_file(&driver, "attacked/top", "exit 1\n"));
	free(driver_file(&driver, "attacked/closed/run", ". ./top\n"));
	_cleanup_free_ char *closed = scratch_text("%s/attacked/closed", driver.root), *to = scratch_text("%s/to", closed);
	assert_int_equal(symlink("run", to) | chmod(closed, 0700), 0);
	_cleanup_free_ char *file = driver_file(&driver, "verdicts.round.json", round_text);
	int code = driver_run(&driver, &process, 60000, ARGUMENTS("run", file, "--display", "json"));
	if (code != 0)
		fail_msg("exit code %d\n%s%s", code, process.output.data, process.error.data);
	struct events events = events_read(process.output.data);
	for (size_t i = 0; i < ELEMENTS(expected); i++) {
		struct json_object *verdict = events_find(&events, "task.verdict", expected[i].id, 0);
		const char *reason = member_text(verdict, "reason");
		if (strcmp(member_text(verdict, "verdict"), expected[i].verdict) != 0 ||
		    strcmp(member_text(verdict, "charged_to"), expected[i].charged) != 0 || !strstr(reason, expected[i].words))
			fail_msg("%s: %s, charged to `%s`: %s", expected[i].id, member_text(verdict, "verdict"),
				 member_text(verdict, "charged_to"), reason);
	}
	events_release(&events);
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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(test_attacks, set_up, tear_down) };
	return cmocka_run_group_tests_name("verdicts", tests, NULL, NULL);
}
