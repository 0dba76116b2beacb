/*
 * Real agents inside the boundary: the programs of codex and claude, as npm's registry gives them, do one task
 * against a provider that answers from a script (agents/with_provider.py). No network, every limit the default.
 *
 * The packages (some 600 MB) are kept in $PROCTOR_AGENTS, or in this build's tests/agents. Where they are neither there nor to be
 * had the test skips; with PROCTOR_NO_DOWNLOADS set it does not ask. Their install scripts are not run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "tests/end-to-end/driver.h"
#include "tests/end-to-end/events.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"

#define SOURCES PROCTOR_SOURCE "/tests/end-to-end/"

static const struct agent {
	const char *name;
	const char *package, *version;
	const char *directory;		/* of its program's own package, a pattern below the cache's */
	const char *program;		/* in there, a pattern too */
	const char *arguments;		/* the rest is of the round file */
	const char *environment;
	const char *files;
} agents[] = {
	{ .name = "codex", .package = "@openai/codex", .version = "0.171.0",
	  .directory = "node_modules/@openai/codex-linux-*", .program = "vendor/*/bin/codex",
	  .arguments = "\"exec\", \"--json\", \"--skip-git-repo-check\", \"--dangerously-bypass-approvals-and-sandbox\", \"${prompt}\"",
	  .environment = "\"OPENAI_API_KEY\": \"none\"",
	  .files = ", \".codex/config.toml\": \"" SOURCES "agents/codex.toml\"" },
	{ .name = "claude", .package = "@anthropic-ai/claude-code", .version = "2.1.197",
	  .directory = "node_modules/@anthropic-ai/claude-code-linux-*", .program = "claude",
	  .arguments = "\"-p\", \"${prompt}\", \"--output-format\", \"json\", \"--dangerously-skip-permissions\"",
	  .environment = "\"ANTHROPIC_API_KEY\": \"none\", \"ANTHROPIC_BASE_URL\": \"http://127.0.0.1:8080\", "
			 "\"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC\": \"1\"",
	  .files = "" },
};

static struct program {
	char *directory;	/* what the sandbox shows of the cache */
	char *path;
} programs[ELEMENTS(agents)];

static struct driver driver;

static const char ROUND[] =
	"{\n"
	"  \"round\": \"%s\", \"kind\": \"baseline\",\n"
	"  \"agent\": {\n"
	"    \"command\": [\"python3\", \"/home/candidate/with_provider.py\", \"%s\", \"%s\", %s],\n"
	"    \"environment\": { \"HOME\": \"/home/candidate\", \"PATH\": \"/usr/bin:/bin\", %s },\n"
	"    \"files\": { \"with_provider.py\": \"" SOURCES "agents/with_provider.py\"%s }\n"
	"  },\n"
	"  \"sandbox\": { \"read_only\": [\"%s\"] },\n"
	"  \"budget\": { \"wall_clock\": \"1m\" },\n"
	"  \"tasks\": [\n"
	"    { \"id\": \"add\", \"directory\": \"" SOURCES "projects/unittest\", \"prompt\": \"Repair add().\",\n"
	"      \"tests\": [ { \"command\": [\"python3\", \"-m\", \"unittest\"], \"baseline\": [1], \"patched\": [0] } ],\n"
	"      \"protect\": [\"test_calc.py\"], \"scratch\": [\"__pycache__/*\"] }\n"
	"  ]\n"
	"}\n";

/* Into a place of its own first, so that what stands in the cache is whole. $1 where, $2 the package. */
static const char FETCH[] =
	"export npm_config_cache=\"$1.part/.npm\" npm_config_update_notifier=false npm_config_fetch_retries=0\n"
	"mkdir -p \"$1.part\"\n"
	"trap 'rm -rf \"$1.part\"' EXIT\n"
	"timeout 5 npm view \"$2\" version\n"
	"npm install --prefix \"$1.part\" --ignore-scripts --no-audit --no-fund \"$2\"\n"
	"rm -rf \"$1.part/.npm\"\n"
	"mv \"$1.part\" \"$1\"\n";

/* The first path that the pattern below the directory matches, heap; NULL where none does. */
static char *find(const char *directory, const char *pattern)
{
	_cleanup_free_ char *whole = scratch_text("%s/%s", directory, pattern);
	glob_t found = { 0 };
	char *path = glob(whole, 0, NULL, &found) == 0 ? scratch_text("%s", found.gl_pathv[0]) : NULL;
	globfree(&found);
	return path;
}

/* Finds the agent's program in the cache, where need be after npm has brought it there. */
static bool fetch(const struct agent *agent, struct program *program)
{
	const char *cache = getenv("PROCTOR_AGENTS");
	_cleanup_free_ char *place = scratch_text("%s/%s-%s", cache ? cache : PROCTOR_BUILD "/tests/agents", agent->name, agent->version);
	if (access(place, X_OK) < 0) {
		_cleanup_free_ char *package = scratch_text("%s@%s", agent->package, agent->version);
		const char *const argv[] = { "sh", "-ec", FETCH, "sh", place, package, NULL };
		_cleanup_process_ struct process process = PROCESS_INIT;
		if (getenv("PROCTOR_NO_DOWNLOADS") || process_run(&process, &(struct process_start){ .argv = argv }, 240000) != 0)
			return false;
	}
	program->directory = find(place, agent->directory);
	program->path = program->directory ? find(program->directory, agent->program) : NULL;
	return program->path != NULL;
}

static void print_output(const char *name)
{
	_cleanup_free_ char *text = driver_read(&driver, name);
	if (text && *text)
		print_message("--- %s\n%s\n", name, text);
}

static void test_an_agent(void **state)
{
	const struct agent *agent = *state;
	const struct program *program = &programs[agent - agents];
	if (!program->path)
		skip_test("%s %s is not there, and npm did not bring it", agent->name, agent->version);
	_cleanup_free_ char *text = scratch_text(ROUND, agent->name, agent->name, program->path, agent->arguments,
						 agent->environment, agent->files, program->directory);
	_cleanup_free_ char *name = scratch_text("%s.round.json", agent->name);
	_cleanup_free_ char *file = driver_file(&driver, name, text);

	_cleanup_process_ struct process process = PROCESS_INIT;
	int code = driver_run(&driver, &process, 120000, ARGUMENTS("run", file, "--display", "json"));
	struct events events = events_read(process.output.data);
	struct json_object *verdict = events_find(&events, "task.verdict", "add", 0);
	if (code != 0 || strcmp(member_text(verdict, "verdict"), "pass") != 0) {
		print_output("tasks/add/agent.stdout");
		print_output("tasks/add/agent.stderr");
		print_output("tasks/add/patched-1.stderr");
		fail_msg("exit code %d, %s\n%s", code, verdict ? json_object_to_json_string(verdict) : "no verdict",
			 process.error.data);
	}
	assert_int_equal(member_number(verdict, "refusals", -1), 0);
	events_release(&events);
	_cleanup_free_ char *patch = driver_read(&driver, "tasks/add/candidate.patch");
	assert_non_null(patch);
	assert_non_null(strstr(patch, "+    return a + b"));
	assert_int_equal(driver_left(&driver, 10000), 0);
}

static int set_up(void **state)
{
	(void)state;
	bool any = false;
	for (size_t i = 0; i < ELEMENTS(agents); i++)
		any |= fetch(&agents[i], &programs[i]);
	if (!any)
		skip_program("no agent is there, and npm did not bring one");
	driver_open(&driver);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	driver_close(&driver);
	for (size_t i = 0; i < ELEMENTS(programs); i++) {
		free(programs[i].directory);
		free(programs[i].path);
	}
	return 0;
}

int main(void)
{
	struct CMUnitTest tests[ELEMENTS(agents)];
	for (size_t i = 0; i < ELEMENTS(agents); i++)
		tests[i] = (struct CMUnitTest){ .name = agents[i].name, .test_func = test_an_agent, .initial_state = (void *)&agents[i] };
	return cmocka_run_group_tests_name("agents", tests, set_up, tear_down);
}
