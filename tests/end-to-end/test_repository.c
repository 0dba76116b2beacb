/*
 * `"repository": true`: the agent works in a repository of one commit, whatever the history of its source, and what it
 * makes of it changes no verdict and no patch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "tests/end-to-end/driver.h"
#include "tests/end-to-end/events.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"

static struct driver driver;

/* A source with a past: three commits, a branch, a tag, a remote; the secret of the first is in none of the later trees. */
static const char MAKE_SOURCE[] =
	"export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null\n"
	"git init -q -b main source && cd source\n"
	"git config user.name t && git config user.email t@localhost\n"
	"echo solution > answer && git add . && git commit -q -m 'the answer' && git branch old && git tag v1\n"
	"git rm -q answer && printf '#!/bin/sh\\nexit 1\\n' > run.sh && chmod 755 run.sh && mkdir 'a b' && echo x > 'a b/c' && ln -s run.sh link\n"
	"git add . && git commit -q -m broken\n"
	"git remote add origin /nonexistent\n";

/* Each ends with a file of what it saw, which the task's test compares. */
static const char AGENT[] =
	"#!/bin/sh\n"
	"set -eu\n"
	"fix() { printf '#!/bin/sh\\nexit 0\\n' > run.sh; }\n"
	"case $1 in\n"
	"works)\n"
	"	test \"$(git log --all --oneline | wc -l)\" = 1\n"
	"	test -z \"$(git status --porcelain)\" && git diff --exit-code && git fsck --strict\n"
	"	test -z \"$(git remote)$(git tag)\" && test \"$(git branch --format='%(refname:short)')\" = main\n"
	"	if git cat-file --batch-all-objects --batch | grep -a solution; then exit 1; fi\n"
	"	test \"$(git rev-parse HEAD)\" = \"$(git rev-parse main)\"\n"
	"	fix && git -c user.name=a -c user.email=a@b commit -q -a -m fixed && test \"$(git log --oneline | wc -l)\" = 2\n"
	"	;;\n"
	"spoils)\n"
	"	fix && rm .git/config .git/HEAD && mkfifo .git/config && ln -s /etc .git/HEAD && mkdir -p .git/objects/info .git/hooks\n"
	"	echo /proc/1/root > .git/objects/info/alternates && printf '#!/bin/sh\\ntouch /tmp/x\\n' > .git/hooks/post-checkout\n"
	"	chmod 755 .git/hooks/post-checkout && chmod 000 .git/objects\n"
	"	;;\n"
	"removes) fix && rm -rf .git ;;\n"
	"without) test ! -e .git && fix ;;\n"
	"esac\n";

#define TESTS "\"tests\": [ { \"command\": [\"sh\", \"-c\", \"test ! -e .git || exit 9; ./run.sh\"], \"baseline\": [1], \"patched\": [0] } ]"
#define TASK(id, agent) "{ \"id\": \"" id "\", \"repo\": \"source\", \"commit\": \"main\", \"prompt\": \"" id "\"" agent ", " TESTS " }"
static const char ROUND[] =
	"{ \"round\": \"repository\", \"kind\": \"baseline\",\n"
	"  \"agent\": { \"name\": \"a\", \"command\": [\"./agent\", \"${prompt}\"], \"repository\": true,\n"
	"             \"environment\": { \"PATH\": \"/usr/bin:/bin\", \"HOME\": \"/home/candidate\" } },\n"
	"  \"budget\": { \"wall_clock\": \"1m\", \"tests_wall_clock\": \"1m\" },\n"
	"  \"tasks\": [\n"
	"    " TASK("works", "") ",\n    " TASK("spoils", "") ",\n    " TASK("removes", "") ",\n"
	"    " TASK("without", ", \"agent\": { \"repository\": false }") " ] }\n";

static void test_one_commit(void **state)
{
	static const char *const tasks[] = { "works", "spoils", "removes", "without" };
	(void)state;
	_cleanup_process_ struct process make = PROCESS_INIT, round = PROCESS_INIT;
	const char *const argv[] = { "sh", "-ec", MAKE_SOURCE, NULL };
	if (process_run(&make, &(struct process_start){ .argv = argv, .directory = driver.root }, 20000) != 0)
		fail_msg("no source: %s", make.error.data);
	_cleanup_free_ char *agent = scratch_text("%s/agent", driver.root);
	assert_int_equal(scratch_write(agent, 0755, AGENT), 0);
	_cleanup_free_ char *file = driver_file(&driver, "repository.round.json", ROUND);
	int code = driver_run(&driver, &round, 60000, ARGUMENTS("run", file, "--display", "json"));
	struct events events = events_read(round.output.data);
	for (size_t i = 0; i < ELEMENTS(tasks); i++) {
		struct json_object *verdict = events_find(&events, "task.verdict", tasks[i], 0);
		_cleanup_free_ char *path = scratch_text("tasks/%s/agent.stderr", tasks[i]);
		_cleanup_free_ char *said = driver_read(&driver, path);
		if (code != 0 || strcmp(member_text(verdict, "verdict"), "pass") != 0)
			fail_msg("%s: exit code %d, %s\n%s\n%s", tasks[i], code, verdict ? json_object_to_json_string(verdict) : "no verdict",
				 said ? said : "", round.error.data);
		_cleanup_free_ char *name = scratch_text("tasks/%s/candidate.patch", tasks[i]);
		_cleanup_free_ char *patch = driver_read(&driver, name);
		assert_non_null(patch);
		assert_non_null(strstr(patch, "run.sh"));
		assert_null(strstr(patch, ".git"));
		/* Nothing of its making is left in the round's directory. */
		_cleanup_free_ char *left = scratch_text("tasks/%s/repository/HEAD", tasks[i]);
		_cleanup_free_ char *bytes = driver_read(&driver, left);
		assert_null(bytes);
	}
	events_release(&events);
	assert_int_equal(driver_left(&driver, 10000), 0);
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
	if (access("/usr/bin/git", X_OK) < 0)
		skip_program("git is not installed");
	const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(test_one_commit, set_up, tear_down) };
	return cmocka_run_group_tests_name("repository", tests, NULL, NULL);
}
