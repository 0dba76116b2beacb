/*
 * A real project: the Debian source package of `tree` (a C program with a plain Makefile), made a git repository, a bug
 * put in, repaired by an agent, built and tested with make and gcc inside the boundary.
 *
 * The package comes by apt-get source, through a configuration of its own: the host's sources with their type
 * turned to deb-src, lists and cache in a scratch directory. Where no registry answers the test skips.
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
#include "tests/support/skip.h"

static struct driver driver;

/* A script from the driver's root; false where it failed. What it said stays in `process`. */
static bool shell(struct process *process, const char *script, int timeout_ms)
{
	const char *const argv[] = { "sh", "-ec", script, NULL };
	const struct process_start how = { .argv = argv, .directory = driver.root,
					   .environment = (const char *const *)driver.variables };
	return process_run(process, &how, timeout_ms) == 0;
}

static const char FETCH[] =
	"mkdir -p apt/parts apt/lists/partial apt/cache/archives/partial\n"
	"for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do\n"
	"	test -f \"$file\" || continue\n"
	"	sed -E 's/^Types:.*/Types: deb-src/; s/^deb[[:space:]]/deb-src /' \"$file\" > \"apt/parts/$(basename \"$file\")\"\n"
	"done\n"
	"get() { apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=\"$PWD/apt/parts\" \\\n"
	"	-o Dir::State::lists=\"$PWD/apt/lists\" -o Dir::Cache=\"$PWD/apt/cache\" -o APT::Sandbox::User=root \\\n"
	"	-o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 \"$@\"; }\n"
	"get update\n"
	"get source tree\n"
	"mv tree-*/ project\n";

/* `tree -d` lists directories only; with the bug it lists all but them. */
static const char MAKE_REPOSITORY[] =
	"cd project\n"
	"sed -i '/dflag/s/!= S_IFDIR)) return NULL/== S_IFDIR)) return NULL/' tree.c\n"
	"grep -q '== S_IFDIR)) return NULL' tree.c\n"
	"mkdir check\n"
	"cat > check/run.sh << 'END'\n"
	"#!/bin/sh\n"
	"# Builds, and compares what tree -d prints of a small tree.\n"
	"set -eu\n"
	"export PATH=/usr/bin:/bin  # a test's environment is empty, and make looks for gcc\n"
	"make -s tree > build.log 2>&1 || { cat build.log; exit 2; }\n"
	"mkdir -p sample/one/two\n"
	"echo file > sample/one/file\n"
	"test \"$(./tree -d -i -f --noreport sample)\" = \"sample\n"
	"sample/one\n"
	"sample/one/two\"\n"
	"END\n"
	"git init -q -b main .\n"
	"git -c user.name=t -c user.email=t@example.org add -A -f .\n"
	"git -c user.name=t -c user.email=t@example.org commit -q -m 'tree, with a bug in -d'\n";

static const char AGENT[] =
	"#!/bin/sh\n"
	"# Looks where directories are told from files, and turns the comparison around.\n"
	"set -eu\n"
	"grep -n 'dflag' tree.c\n"
	"sed -i '/dflag/s/== S_IFDIR)) return NULL/!= S_IFDIR)) return NULL/' tree.c\n";

static const char ROUND[] =
	"{\n"
	"  \"round\": \"tree\", \"kind\": \"baseline\",\n"
	"  \"agent\": { \"name\": \"repair\", \"command\": [\"./repair.sh\", \"${prompt}\"], \"environment\": { \"PATH\": \"/usr/bin:/bin\" } },\n"
	"  \"budget\": { \"wall_clock\": \"1m\", \"tests_wall_clock\": \"2m\" },\n"
	"  \"tasks\": [\n"
	"    { \"id\": \"directories-only\", \"repo\": \"project\", \"commit\": \"main\",\n"
	"      \"prompt\": \"tree -d lists files instead of directories; repair it.\",\n"
	"      \"tests\": [ { \"command\": [\"sh\", \"check/run.sh\"], \"baseline\": [1], \"patched\": [0] } ],\n"
	"      \"protect\": [\"check/**\"] }\n"
	"  ]\n"
	"}\n";

static void test_a_repair(void **state)
{
	(void)state;
	_cleanup_free_ char *agent = scratch_text("%s/repair.sh", driver.root);
	assert_int_equal(scratch_write(agent, 0755, AGENT), 0);
	_cleanup_free_ char *file = driver_file(&driver, "tree.round.json", ROUND);

	_cleanup_process_ struct process process = PROCESS_INIT;
	int code = driver_run(&driver, &process, 240000, ARGUMENTS("run", file, "--display", "json"));
	struct events events = events_read(process.output.data);
	struct json_object *verdict = events_find(&events, "task.verdict", "directories-only", 0);
	if (code != 0 || strcmp(member_text(verdict, "verdict"), "pass") != 0) {
		_cleanup_free_ char *said = driver_read(&driver, "tasks/directories-only/patched-1.stdout");
		_cleanup_free_ char *base = driver_read(&driver, "tasks/directories-only/baseline-1.stdout");
		fail_msg("exit code %d, %s\n%s\nbaseline: %s\npatched: %s", code,
			 verdict ? json_object_to_json_string(verdict) : "no verdict", process.error.data, base ? base : "",
			 said ? said : "");
	}
	events_release(&events);

	/* The patch is the one line, and it says so. */
	_cleanup_free_ char *patch = driver_read(&driver, "tasks/directories-only/candidate.patch");
	assert_non_null(patch);
	assert_non_null(strstr(patch, "a/tree.c"));
	assert_non_null(strstr(patch, "\n-"));
	assert_null(strstr(patch, "check/run.sh"));
	/* The owner's repository is as it was. */
	_cleanup_process_ struct process status = PROCESS_INIT;
	assert_true(shell(&status, "git -C project status --porcelain", 20000));
	assert_int_equal(status.output.length, 0);
	assert_int_equal(driver_left(&driver, 10000), 0);
}

static bool runs(const char *script)
{
	_cleanup_process_ struct process process = PROCESS_INIT;
	return shell(&process, script, 20000);
}

static int set_up(void **state)
{
	(void)state;
	driver_open(&driver);
	/* What is private to the owner is judged by test_places.c. */
	chmod(driver.root, 0755);
	if (!runs("git --version && make --version && gcc --version && command -v dpkg-source"))
		skip_program("git, make, gcc or dpkg-source is not installed");
	_cleanup_process_ struct process fetch = PROCESS_INIT;
	if (!shell(&fetch, FETCH, 120000)) {
		driver_close(&driver);
		skip_program("the registry of Debian sources does not answer");
	}
	_cleanup_process_ struct process repository = PROCESS_INIT;
	if (!shell(&repository, MAKE_REPOSITORY, 60000)) {
		fprintf(stderr, "%s%s", repository.output.data, repository.error.data);
		return -1;
	}
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
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_a_repair) };
	return cmocka_run_group_tests_name("real project", tests, set_up, tear_down);
}
