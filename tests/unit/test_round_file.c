/* Round files: defaults, and every kind of fault with its exact place. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/base/io.h"
#include "core/round/directory.h"
#include "core/round/file.h"

static char folder[] = "/tmp/round-file.XXXXXX";

static void put(const char *name, const char *text, mode_t mode)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int set_up(void **state)
{
	char path[256];
	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/src", folder);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof path, "%s/agent", folder);
	assert_int_equal(mkdir(path, 0755), 0);
	put("agent/run.sh", "#!/bin/sh\n", 0755);
	put("agent/plain.txt", "text", 0644);
	put("agent/private.sh", "#!/bin/sh\n", 0750);
	put("check.sh", "#!/bin/sh\n", 0755);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	directory_remove(folder);
	return 0;
}

struct reading {
	struct round_spec spec;
	struct faults faults;
	struct pr_error error;
	int result;
};

static struct reading *read_text(const char *text)
{
	char path[256];
	struct reading *reading = calloc(1, sizeof *reading);
	assert_non_null(reading);
	put("x.round.json", text, 0644);
	snprintf(path, sizeof path, "%s/x.round.json", folder);
	reading->faults.pool = &reading->spec.pool;
	reading->result = round_file_read(path, 0, &reading->spec, &reading->faults, &reading->error);
	return reading;
}

static void release(struct reading *reading)
{
	pool_release(&reading->spec.pool);
	free(reading);
}

/* %s stands for what differs: members of the round, of the agent, of the task. */
#define ROUND(round, agent, task) \
	"{\"round\": \"r\"" round ",\n" \
	" \"agent\": {\"command\": [\"sh\"]" agent "},\n" \
	" \"tasks\": [{\"id\": \"t\", \"directory\": \"src\", \"tests\": [{\"command\": [\"true\"]}]" task "}]}\n"

static void defaults(void **state)
{
	(void)state;
	struct reading *r = read_text("// a comment\n" ROUND("", "", "") "/* and another */\n");
	assert_int_equal(r->result, 0);
	const struct round_spec *spec = &r->spec;
	assert_int_equal(spec->kind, ROUND_SMOKE);
	assert_int_equal(spec->parallel, 1);
	assert_string_equal(spec->sandbox.root, "host");
	assert_string_equal(spec->sandbox.network, "none");
	assert_null(spec->sandbox.own_ids);
	assert_true(spec->sandbox.limits.memory_bytes == UINT64_C(2) << 30);
	assert_true(spec->sandbox.limits.workspace_bytes == UINT64_C(1) << 30);
	assert_int_equal(spec->sandbox.limits.processes, 256);
	assert_int_equal(spec->sandbox.limits.inodes, 200000);
	assert_true(spec->budget.wall_clock_ns == 600 * NS_PER_S);
	assert_true(spec->budget.tests_wall_clock_ns == 120 * NS_PER_S);
	assert_int_equal(spec->round_wall_clock_ns, 0);
	assert_int_equal(spec->task_count, 1);
	const struct task_spec *task = &spec->tasks[0];
	assert_int_equal(task->agent.allowed.count, 1);
	assert_int_equal(task->agent.allowed.items[0], 0);
	assert_string_equal(task->agent.name, "sh");
	assert_int_equal(task->on_wall_clock, ON_WALL_CLOCK_SCORE);
	assert_int_equal(task->baseline_repeats, 1);
	assert_int_equal(task->tests[0].baseline.items[0], 0);
	release(r);
}

static void what_a_task_says_is_the_tasks(void **state)
{
	(void)state;
	struct reading *r = read_text(
		"{\"tasks\": [{\"id\": \"a\", \"directory\": \"src\", \"tests\": [{\"command\": [\"true\"]}], \"prompt\": \"p\",\n"
		"  \"agent\": {\"environment\": {\"K\": \"v\"}}, \"budget\": {\"wall_clock\": \"5s\"}, \"on_wall_clock\": \"error\",\n"
		"  \"allowed_exit_codes\": [0, -9]},\n"
		" {\"id\": \"b\", \"directory\": \"src\", \"tests\": [{\"command\": [\"true\"]}]}],\n"
		" \"repeat\": 2, \"round\": \"r\", \"agent\": {\"command\": [\"agent/run.sh\", \"${task}\"]},\n"
		" \"budget\": {\"wall_clock\": \"1m\", \"tests_wall_clock\": \"2s\", \"round_wall_clock\": \"1h\"}, \"on_wall_clock\": \"score\"}\n");
	assert_int_equal(r->result, 0);
	assert_int_equal(r->spec.task_count, 4);
	const struct task_spec *a = &r->spec.tasks[0], *again = &r->spec.tasks[1], *b = &r->spec.tasks[2];
	char path[256];
	snprintf(path, sizeof path, "%s/agent/run.sh", folder);
	/* The round's command with the task's environment; bound from beside the file. */
	assert_string_equal(a->agent.command.items[0], path);
	assert_string_equal(a->agent.bind, path);
	assert_string_equal(a->agent.environment.items[0].value, "v");
	assert_true(a->budget.wall_clock_ns == 5 * NS_PER_S && a->budget.tests_wall_clock_ns == 2 * NS_PER_S);
	assert_int_equal(a->on_wall_clock, ON_WALL_CLOCK_ERROR);
	assert_int_equal(a->agent.allowed.items[1], -9);
	assert_string_equal(again->id, "a#2");
	assert_string_equal(b->id, "b");
	assert_int_equal(b->agent.environment.count, 0);
	assert_true(b->budget.wall_clock_ns == 60 * NS_PER_S);
	assert_true(r->spec.round_wall_clock_ns == 3600 * NS_PER_S);
	release(r);
}

static void a_tests_program_may_be_the_workspaces(void **state)
{
	(void)state;
	struct reading *r = read_text("{\"round\": \"r\", \"agent\": {\"command\": [\"sh\"]}, \"tasks\": [{\"id\": \"t\", \"directory\": \"src\",\n"
				      " \"tests\": [{\"command\": [\"./only/inside\"]}, {\"command\": [\"./check.sh\"]}]}]}");
	char path[256];
	snprintf(path, sizeof path, "%s/check.sh", folder);
	assert_int_equal(r->result, 0);
	assert_null(r->spec.tasks[0].tests[0].host);
	assert_string_equal(r->spec.tasks[0].tests[1].host, path);
	release(r);
}

struct fault_example {
	const char *text;
	unsigned line, column;
	const char *words;	/* what the fault must say */
};

static const struct fault_example fault_examples[] = {
	/* The form of JSON itself. */
	{ "", 1, 1, "the file is empty" },
	{ "\xef\xbb\xbf{}", 1, 1, "without one" },
	{ "{\"caf\xc3\xa9\": 1, \"caf\xc3\xa9\": 2}", 1, 13, "the key \"caf\xc3\xa9\" stands twice" },
	{ "{} {}", 1, 4, "one object" },
	{ "{\"round\": \"r\",}", 1, 14, "comma" },
	{ "{\"round\": \"r\",\n \"round\": \"s\"}", 2, 2, "twice" },
	{ "[]", 1, 1, "object" },
	/* Keys. */
	{ ROUND(", \"paralel\": 2", "", ""), 1, 16, "did you mean \"parallel\"" },
	{ ROUND("", ", \"enviroment\": {}", ""), 2, 31, "did you mean \"environment\"" },
	{ ROUND("", "", ", \"protct\": []"), 3, 78, "did you mean \"protect\"" },
	{ ROUND("", "", ", \"on\": []"), 3, 78, "did you mean \"on_wall_clock\"" },
	{ "{\"agent\": {\"command\": [\"sh\"]}, \"tasks\": [{\"id\": \"t\", \"directory\": \"src\", \"tests\": [{\"command\": [\"true\"]}]}]}",
	  1, 1, "no \"round\"" },
	{ "{\"round\": \"r\", \"agent\": {\"command\": [\"sh\"]}}", 1, 1, "no \"tasks\"" },
	{ "{\"round\": \"r\", \"tasks\": [{\"id\": \"t\", \"directory\": \"src\", \"tests\": [{\"command\": [\"true\"]}]}]}", 1, 26, "no agent" },
	{ ROUND(", \"budget\": {\"round_wall\": \"1h\"}", "", ""), 1, 27, "round_wall_clock" },
	{ ROUND("", "", ", \"budget\": {\"round_wall_clock\": \"1h\"}"), 3, 89, "unknown key" },
	/* Kinds and ranges. */
	{ ROUND(", \"kind\": \"smok\"", "", ""), 1, 24, "smoke baseline" },
	{ ROUND(", \"kind\": 1", "", ""), 1, 24, "an integer" },
	{ ROUND(", \"parallel\": 0", "", ""), 1, 28, "1 to 256" },
	{ ROUND(", \"parallel\": 1.0", "", ""), 1, 28, "a number with a fraction" },
	{ ROUND(", \"repeat\": \"2\"", "", ""), 1, 26, "a string" },
	{ ROUND(", \"stricter\": 1", "", ""), 1, 28, "true or false" },
	{ ROUND(", \"budget\": {\"wall_clock\": 10}", "", ""), 1, 41, "\"10m\"" },
	{ ROUND(", \"budget\": {\"wall_clock\": \"10\"}", "", ""), 1, 41, "no duration" },
	{ ROUND(", \"budget\": {\"wall_clock\": \"1ms\"}", "", ""), 1, 41, "out of range" },
	{ ROUND(", \"sandbox\": {\"limits\": {\"memory\": \"2GB\"}}", "", ""), 1, 49, "\"2GiB\"" },
	{ ROUND(", \"sandbox\": {\"limits\": {\"memory\": 10}}", "", ""), 1, 49, "out of range" },
	{ ROUND(", \"sandbox\": {\"limits\": {\"cpus\": \"2\"}}", "", ""), 1, 47, "a number" },
	{ ROUND(", \"sandbox\": {\"limits\": {\"processes\": 1}}", "", ""), 1, 52, "2 to" },
	{ ROUND("", ", \"allowed_exit_codes\": [300]", ""), 2, 54, "out of range" },
	{ ROUND("", ", \"allowed_exit_codes\": []", ""), 2, 53, "an empty array" },
	{ ROUND("", ", \"environment\": {\"1X\": \"\"}", ""), 2, 53, "no name of a variable" },
	{ ROUND("", ", \"environment\": {\"X\": 1}", ""), 2, 52, "an integer" },
	{ ROUND("", ", \"environment\": {\"X\": \"a\\u0000b\"}", ""), 2, 52, "NUL" },
	{ ROUND("", "", ", \"protect\": [\"\"]"), 3, 90, "not empty" },
	{ ROUND("", "", ", \"on_wall_clock\": \"maybe\""), 3, 95, "score error" },
	/* Names. */
	{ "{\"round\": \"a/b\", \"agent\": {\"command\": [\"sh\"]}, \"tasks\": [{\"id\": \"t\", \"directory\": \"src\", \"tests\": [{\"command\": "
	  "[\"true\"]}]}]}", 1, 11, "no name" },
	{ "{\"round\": \"r\", \"agent\": {\"command\": [\"sh\"]}, \"tasks\": [\n {\"id\": \"..\", \"directory\": \"src\", \"tests\": [{\"command\": "
	  "[\"true\"]}]}]}", 2, 9, "no name" },
	{ "{\"round\": \"r\", \"agent\": {\"command\": [\"sh\"]}, \"tasks\": [\n"
	  " {\"id\": \"t\", \"directory\": \"src\", \"tests\": [{\"command\": [\"true\"]}]},\n"
	  " {\"id\": \"t\", \"directory\": \"src\", \"tests\": [{\"command\": [\"true\"]}]}]}", 3, 9, "stands twice (first in line 2)" },
	/* Sources. */
	{ "{\"round\": \"r\", \"agent\": {\"command\": [\"sh\"]}, \"tasks\": [\n {\"id\": \"t\", \"tests\": [{\"command\": [\"true\"]}]}]}", 2, 2,
	  "exactly one" },
	{ ROUND("", "", ", \"repo\": \"src\", \"commit\": \"x\""), 3, 12, "more than one source" },
	{ ROUND("", "", ", \"commit\": \"x\""), 3, 88, "without a \"repo\"" },
	{ "{\"round\": \"r\", \"agent\": {\"command\": [\"sh\"]}, \"tasks\": [\n {\"id\": \"t\", \"repo\": \"src\", \"tests\": [{\"command\": [\"true\"]}]}]}",
	  2, 2, "no \"commit\"" },
	{ "{\"round\": \"r\", \"agent\": {\"command\": [\"sh\"]}, \"tasks\": [\n {\"id\": \"t\", \"directory\": \"none\", \"tests\": [{\"command\": "
	  "[\"true\"]}]}]}", 2, 27, "is not there" },
	{ "{\"round\": \"r\", \"agent\": {\"command\": [\"sh\"]}, \"tasks\": [\n {\"id\": \"t\", \"repo\": \"https://example.org/x\", \"commit\": \"main\", "
	  "\"tests\": [{\"command\": [\"true\"]}]}]}", 2, 22, "clone it first" },
	{ "{\"round\": \"r\", \"agent\": {\"command\": [\"sh\"]}, \"tasks\": [\n {\"id\": \"t\", \"directory\": \"check.sh\", \"tests\": [{\"command\": "
	  "[\"true\"]}]}]}", 2, 27, "no directory" },
	{ "{\"round\": \"r\", \"agent\": {\"command\": [\"sh\"]}, \"tasks\": [\n {\"id\": \"t\", \"directory\": \"src\"}]}", 2, 2, "no \"tests\"" },
	{ "{\"round\": \"r\", \"agent\": {\"command\": [\"sh\"]}, \"tasks\": []}", 1, 55, "1 to 4096" },
	/* Programs and files. */
	{ "{\"round\": \"r\", \"agent\": {\"command\": [\"no-such-program\"]}, \"tasks\": [{\"id\": \"t\", \"directory\": \"src\", \"tests\": "
	  "[{\"command\": [\"true\"]}]}]}", 1, 37, "is not on PATH" },
	{ "{\"round\": \"r\", \"agent\": {\"command\": [\"agent/none\"]}, \"tasks\": [{\"id\": \"t\", \"directory\": \"src\", \"tests\": [{\"command\": "
	  "[\"true\"]}]}]}", 1, 37, "is not there" },
	{ "{\"round\": \"r\", \"agent\": {\"command\": [\"agent/plain.txt\"]}, \"tasks\": [{\"id\": \"t\", \"directory\": \"src\", \"tests\": "
	  "[{\"command\": [\"true\"]}]}]}", 1, 37, "not an executable" },
	{ "{\"round\": \"r\", \"agent\": {\"command\": [\"agent/private.sh\"]}, \"tasks\": [{\"id\": \"t\", \"directory\": \"src\", \"tests\": "
	  "[{\"command\": [\"true\"]}]}]}", 1, 37, "only for its owner" },
	{ "{\"round\": \"r\", \"agent\": {\"command\": []}, \"tasks\": [{\"id\": \"t\", \"directory\": \"src\", \"tests\": [{\"command\": [\"true\"]}]}]}",
	  1, 37, "not empty" },
	{ "{\"round\": \"r\", \"agent\": {\"command\": [\"sh\"]}, \"tasks\": [{\"id\": \"t\", \"directory\": \"src\", \"tests\": [{\"command\": "
	  "[\"no-such-test\"]}]}]}", 1, 110, "is not on PATH" },
	{ ROUND("", ", \"environment\": {\"PATH\": \"/nowhere\"}", ""), 2, 23, "/nowhere" },
	{ ROUND("", ", \"files\": {\"../x\": \"check.sh\"}", ""), 2, 49, "below HOME" },
	{ ROUND("", ", \"files\": {\"x\": \"none\"}", ""), 2, 46, "is not there" },
	{ ROUND("", ", \"files\": {\"x\": \"src\"}", ""), 2, 46, "no regular file" },
	{ ROUND(", \"sandbox\": {\"read_only\": [\"/none\"]}", "", ""), 1, 42, "is not there" },
	{ ROUND(", \"sandbox\": {\"read_only\": [\"/\"]}", "", ""), 1, 42, "all of the host" },
	{ ROUND(", \"sandbox\": {\"read_only\": [\"/proc\"]}", "", ""), 1, 42, "the sandbox's own" },
	{ ROUND(", \"sandbox\": {\"read_only\": [\"/dev/null\"]}", "", ""), 1, 42, "the sandbox's own" },
	{ ROUND(", \"sandbox\": {\"root\": \"none\"}", "", ""), 1, 36, "is not there" },
	/* Substitutions. */
	{ ROUND("", ", \"environment\": {\"X\": \"${HOME}\"}", ""), 2, 52, "${HOME} is no substitution" },
	{ ROUND("", ", \"environment\": {\"X\": \"${broker}\"}", ""), 2, 52, "broker" },
	{ ROUND("", ", \"environment\": {\"X\": \"${token}\"}", ""), 2, 52, "broker" },
	{ ROUND("", ", \"environment\": {\"X\": \"${prompt}\"}", ""), 2, 52, "no \"prompt\"" },
	/* What this version does not deliver. */
	{ ROUND(", \"sandbox\": {\"network\": \"broker\"}", "", ""), 1, 39, "\"none\" is allowed" },
	{ ROUND(", \"sandbox\": {\"network\": \"host\"}", "", ""), 1, 39, "\"none\" is allowed" },
	{ ROUND(", \"sandbox\": {\"profile\": \"residency.trusted-local.v1\"}", "", ""), 1, 39, "\"network\": \"host\"" },
	{ ROUND(", \"sandbox\": {\"profile\": \"residency.certified-local.v1\"}", "", ""), 1, 39, "trusted-local" },
	{ ROUND(", \"sandbox\": {\"profile\": \"residency.trusted-local.v1\", \"network\": \"host\", \"own_ids\": \"allow\"}", "", ""), 1, 99,
	  "own_ids is not delivered by residency.trusted-local.v1" },
	{ ROUND(", \"sandbox\": {\"own_ids\": \"deny\"}", "", ""), 1, 39, "\"allow\" is allowed" },
	{ ROUND(", \"sandbox\": {\"own_ids\": true}", "", ""), 1, 39, "\"allow\" is allowed" },
	{ ROUND(", \"provider\": {}", "", ""), 1, 28, "not delivered" },
	{ ROUND(", \"identity\": [\"x\"]", "", ""), 1, 28, "not delivered" },
	{ ROUND(", \"budget\": {\"spend\": \"2 USD\"}", "", ""), 1, 36, "no meter" },
	{ ROUND(", \"budget\": {\"round_spend\": 1.5}", "", ""), 1, 42, "no amount" },
	{ "{\"round\": \"r\", \"agent\": {\"command\": [\"sh\"]}, \"tasks\": [\n {\"id\": \"t\", \"bundle\": \"src\"}]}", 2, 24, "not delivered" },
};

static void each_fault_has_its_place(void **state)
{
	size_t wrong = 0;
	(void)state;
	for (size_t i = 0; i < ELEMENTS(fault_examples); i++) {
		const struct fault_example *example = &fault_examples[i];
		struct reading *r = read_text(example->text);
		const struct fault *fault = &r->faults.items[0];
		if (r->result != -EBADMSG || r->faults.count != 1) {
			fprintf(stderr, "example %zu (%s): %d, %zu faults\n", i, example->words, r->result, r->faults.count);
			faults_print(&r->faults, "x", stderr);
			wrong++;
		} else if (fault->at.line != example->line || fault->at.column != example->column ||
			   !strstr(fault->text, example->words)) {
			fprintf(stderr, "example %zu: %u:%u: %s; wanted %u:%u with \"%s\"\n", i, fault->at.line, fault->at.column,
				fault->text, example->line, example->column, example->words);
			wrong++;
		}
		release(r);
	}
	assert_int_equal(wrong, 0);
}

static void all_faults_at_once_in_order(void **state)
{
	(void)state;
	struct reading *r = read_text("{\"tasks\": [{\"id\": \"/\", \"directory\": \"none\", \"tests\": []}],\n"
				      " \"kind\": 7,\n \"parallel\": -1,\n \"round\": \"\", \"x\": 0}");
	assert_int_equal(r->result, -EBADMSG);
	assert_true(r->faults.count >= 7);
	for (size_t i = 1; i < r->faults.count; i++) {
		const struct place_in_file *one = &r->faults.items[i - 1].at, *next = &r->faults.items[i].at;
		assert_true(one->line < next->line || (one->line == next->line && one->column <= next->column));
	}
	release(r);
}

/* Read-only is not unreachable: a socket may be connected to. */
static void a_socket_in_view(void **state)
{
	char place[300], text[1024];
	(void)state;
	snprintf(place, sizeof place, "%s/run", folder);
	assert_int_equal(mkdir(place, 0755), 0);
	snprintf(text, sizeof text, ROUND(", \"sandbox\": {\"read_only\": [\"%s\"]}", "", ""), place);
	struct reading *before = read_text(text);
	assert_int_equal(before->faults.count, 0);
	release(before);

	snprintf(place, sizeof place, "%s/run/agent.sock", folder);
	assert_int_equal(mknod(place, S_IFSOCK | 0666, 0), 0);
	struct reading *r = read_text(text);
	assert_int_equal(r->faults.count, 1);
	assert_non_null(strstr(r->faults.items[0].text, "agent.sock is a socket of this host"));
	release(r);
}

/* A candidate is none of the host's users: what is shown has to be open to others, what stands above it need not. */
static void a_private_directory(void **state)
{
	char place[300], text[1024];
	(void)state;
	for (int i = 0; i < 2; i++) {
		snprintf(place, sizeof place, i == 0 ? "%s/tool" : "%s/tool/bin", folder);
		assert_int_equal(mkdir(place, 0755), 0);
	}
	put("tool/bin/program", "#!/bin/sh\n", 0755);
	snprintf(text, sizeof text, "{\"round\": \"r\", \"sandbox\": {\"read_only\": [\"tool\"]}, \"agent\": {\"command\": [\"%s/program\"]}, "
		 "\"tasks\": [{\"id\": \"t\", \"directory\": \"src\", \"tests\": [{\"command\": [\"true\"]}]}]}", place);
	struct reading *open_to_all = read_text(text);
	assert_int_equal(open_to_all->faults.count, 0);
	release(open_to_all);

	assert_int_equal(chmod(place, 0700), 0);
	struct reading *r = read_text(text);
	assert_int_equal(r->faults.count, 1);
	assert_non_null(strstr(r->faults.items[0].text, "only for its owner"));
	release(r);
}

/* An array that is too long is told by its length, not as an array where an array is allowed. */
static void too_many_tasks(void **state)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	(void)state;
	assert_int_equal(buffer_add_text(&text, "{\"round\": \"r\", \"agent\": {\"command\": [\"sh\"]}, \"tasks\": [0"), 0);
	for (int i = 1; i < 5000; i++)
		assert_int_equal(buffer_add_text(&text, ",0"), 0);
	assert_int_equal(buffer_add_text(&text, "]}"), 0);
	struct reading *r = read_text(text.data);
	assert_int_equal(r->faults.count, 1);
	assert_non_null(strstr(r->faults.items[0].text, "5000 tasks; 1 to 4096"));
	release(r);
}

/* A task's command that cannot be read is one fault: the round's agent does not stand in for it. */
static void a_tasks_broken_command(void **state)
{
	(void)state;
	struct reading *r = read_text("{\"round\": \"r\", \"agent\": {\"command\": [\"agent/run.sh\"]}, \"tasks\": [\n"
				      " {\"id\": \"t\", \"directory\": \"src\", \"tests\": [{\"command\": [\"true\"]}], \"agent\": {\"command\": []}}]}");
	assert_int_equal(r->faults.count, 1);
	assert_non_null(strstr(r->faults.items[0].text, "not empty"));
	release(r);
}

static void too_long_arguments(void **state)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	(void)state;
	assert_int_equal(buffer_add_text(&text, "{\"round\": \"r\", \"agent\": {\"command\": [\"sh\", \"${prompt}\"]}, \"tasks\": [\n"
					 " {\"id\": \"t\", \"directory\": \"src\", \"tests\": [{\"command\": [\"true\"]}], \"prompt\": \""), 0);
	for (int i = 0; i < 131072; i++)
		assert_int_equal(buffer_add_byte(&text, 'p'), 0);
	assert_int_equal(buffer_add_text(&text, "\"}]}"), 0);
	struct reading *r = read_text(text.data);
	assert_int_equal(r->faults.count, 1);
	assert_non_null(strstr(r->faults.items[0].text, "128 KiB"));
	release(r);
}

static void a_fault_cannot_steer_the_terminal(void **state)
{
	(void)state;
	struct reading *r = read_text(ROUND(", \"\\u001b[31m\\u009b\": 1", "", ""));
	assert_int_equal(r->faults.count, 1);
	assert_null(strchr(r->faults.items[0].text, '\x1b'));
	assert_null(strstr(r->faults.items[0].text, "\xc2\x9b"));
	release(r);
}

static void a_file_that_is_not_there(void **state)
{
	struct round_spec spec = { 0 };
	struct faults faults = { .pool = &spec.pool };
	struct pr_error error = { 0 };
	(void)state;
	assert_int_equal(round_file_read("/nowhere/x.round.json", 0, &spec, &faults, &error), -ENOENT);
	assert_int_equal(faults.count, 0);
	assert_non_null(strstr(error.message, "/nowhere/x.round.json"));
	/* What is no file is refused with a remedy, and not waited for. */
	char path[256];
	snprintf(path, sizeof path, "%s/pipe", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(round_file_read(path, 0, &spec, &faults, &error), -EINVAL);
	assert_string_not_equal(error.remedy, "");
	assert_int_equal(round_file_read(folder, 0, &spec, &faults, &error), -EISDIR);
	assert_string_not_equal(error.remedy, "");
	pool_release(&spec.pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(what_a_task_says_is_the_tasks),
		cmocka_unit_test(a_tests_program_may_be_the_workspaces),
		cmocka_unit_test(each_fault_has_its_place), cmocka_unit_test(a_socket_in_view),
		cmocka_unit_test(a_private_directory),
		cmocka_unit_test(all_faults_at_once_in_order),
		cmocka_unit_test(too_many_tasks),
		cmocka_unit_test(a_tasks_broken_command),
		cmocka_unit_test(too_long_arguments),
		cmocka_unit_test(a_fault_cannot_steer_the_terminal),
		cmocka_unit_test(a_file_that_is_not_there),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
