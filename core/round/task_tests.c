/*
 * The tests of a task: the baseline set on the subject, the patched set on the candidate's tree. The commands
 * of a set share one tree (each takes the workspace that the one before left), each in a boundary of its own.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/round/task.h"

static struct set_record *set_under_way(struct task *task)
{
	return task->phase == PR_PHASE_BASELINE ? &task->baseline : &task->patched;
}

static bool make_room(struct task *task, struct set_record *set, size_t passes)
{
	set->room = task->spec->test_count * passes;
	set->runs = calloc(set->room, sizeof set->runs[0]);
	set->tests = calloc(set->room, sizeof set->tests[0]);
	return set->runs && set->tests;
}

/* argv[0] is the subject's own where it has such a file, else what stood beside the round file. */
static const char *program_of(struct task *task, const struct test_spec *test, const char **ret_bind)
{
	const char *program = test->command.items[0];
	*ret_bind = NULL;
	if (!test->host)
		return program;
	const char *path = program;
	while (path[0] == '.' && path[1] == '/')
		path += 2;
	if (tree_find(&task->subject->tree, path))
		return program;
	*ret_bind = test->host;
	return test->host;
}

static struct json_object *test_spec(struct task *task, const struct test_spec *test)
{
	const char *bind;
	const char *program = program_of(task, test, &bind);
	struct json_object *spec = task_run_spec(task, bind), *argv = json_object_new_array();

	for (size_t i = 0; argv && i < test->command.count; i++)
		json_object_array_add(argv, json_object_new_string(i == 0 ? program : test->command.items[i]));
	set_value(spec, "argv", argv);
	set_value(spec, "environment", json_object_new_object());
	if (task->kept_run)
		set_number(spec, "workspace_of", (int64_t)task->kept_run);
	return spec;
}

static void next_command(struct task *task);

static void set_ended(struct task *task)
{
	bool baseline = task->phase == PR_PHASE_BASELINE;
	struct set_record *set = set_under_way(task);
	struct task_facts facts;

	task_release_kept(task);
	task_phase_ended(task, set->count > 0 ? &set->runs[set->count - 1].facts : NULL);
	if (!baseline) {
		task_finish(task);
		return;
	}
	/* A fixture that is not as it says judges nobody; without a patched tree there is nothing to judge. */
	struct verdict so_far;
	task_facts(task, &facts);
	facts.patched = (struct set_facts){ 0 };
	verdict_decide(&facts, &so_far);
	if (attribution_row(so_far.event)->charged == CHARGED_FIXTURE || !task->evidence.has_patched)
		task_finish(task);
	else
		task_step(task, task_begin_patched);
}

/* Could this command be judged at all? The set ends at the first that could not. */
static bool was_judged(const struct run_facts *facts)
{
	return (facts->outcome == RUN_EXITED || facts->outcome == RUN_SIGNALLED || facts->stdout_cut || facts->stderr_cut) &&
	       facts->remaining == 0;
}

static void command_done(struct run *run)
{
	struct task *task = run->context;
	struct set_record *set = set_under_way(task);
	struct run_record *record = &set->runs[set->count];
	const struct test_spec *test = &task->spec->tests[task->command];
	const struct codes *expected = task->phase == PR_PHASE_BASELINE ? &test->baseline : &test->patched;
	bool workspace = run->has_workspace;

	task_take_run(task, run, record);
	record->facts.why = record->why[0] ? record->why : NULL;
	set->tests[set->count++] = (struct test_facts){ .run = record->facts, .expected = expected->items,
		.expected_count = expected->count };
	task_release_kept(task);
	task->kept_run = workspace ? record->number : 0;
	if (!was_judged(&record->facts) || !workspace) {
		set_ended(task);
		return;
	}
	if (++task->command == task->spec->test_count) {
		task->command = 0;
		task->pass++;
		task_release_kept(task);	/* each pass starts on a fresh tree */
	}
	if (set->count == set->room)
		set_ended(task);
	else
		task_step(task, next_command);
}

static void next_command(struct task *task)
{
	struct pr_error error = { 0 };
	char name[64];
	bool baseline = task->phase == PR_PHASE_BASELINE;
	const char *phase = baseline ? "baseline" : "patched";
	_cleanup_close_ int subject = -1;

	if (!task->kept_run)
		subject = evidence_stream(baseline ? task->evidence.subject_fd : task->evidence.patched_fd);
	if (task->pass == 0)
		snprintf(name, sizeof name, "%s-%zu", phase, task->command + 1);
	else
		snprintf(name, sizeof name, "%s-%zu-pass%u", phase, task->command + 1, task->pass + 1);
	struct run_request request = {
		.task = task->spec->id, .phase = task->phase, .spec = test_spec(task, &task->spec->tests[task->command]),
		.subject_fd = subject, .limit_ns = task->spec->budget.tests_wall_clock_ns, .dirfd = task->dirfd, .name = name,
		.done = command_done, .context = task,
	};
	if (run_command(task->engine, &request, &task->run, &error) < 0)
		task_host_failed(task, error.message);
}

static void begin_set(struct task *task, enum pr_phase phase, struct set_record *set, size_t passes)
{
	task_phase_started(task, phase);
	if (!task_may_go_on(task))
		return;
	task->command = 0;
	task->pass = 0;
	if (make_room(task, set, passes))
		next_command(task);
	else
		task_host_failed(task, "out of memory");
}

void task_begin_baseline(struct task *task)
{
	begin_set(task, PR_PHASE_BASELINE, &task->baseline, task->spec->baseline_repeats);
}

void task_begin_patched(struct task *task)
{
	begin_set(task, PR_PHASE_PATCHED, &task->patched, 1);
}
