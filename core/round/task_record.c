/* What is said about a task: its facts for the verdict, the verdict's event, and result.json. */
#include <string.h>

#include "core/base/cleanup.h"
#include "core/round/task.h"
#include <proctor/text.h>

void task_facts(const struct task *task, struct task_facts *ret_facts)
{
	const struct evidence *evidence = &task->evidence;
	struct task_facts facts = {
		.interruption = task->interruption,
		.interruption_words = task->interruption_words[0] ? task->interruption_words : NULL,
		.wall_clock_is_error = task->spec->on_wall_clock == ON_WALL_CLOCK_ERROR,
		.allowed_exit_codes = task->spec->agent.allowed.items,
		.allowed_count = task->spec->agent.allowed.count,
		.process_limit = task->engine->spec.sandbox.limits.processes,
		.agent = task->agent.facts,
		.collection_refused = evidence->outcome == COLLECTION_VIOLATION,
		.collection_reason = evidence->reason,
		.collection_path = evidence->path,
		.patch = evidence->patch,
		.patch_words = evidence->patch_words[0] ? evidence->patch_words : NULL,
		.protected_restored = evidence->restored,
		.baseline = { task->baseline.tests, task->baseline.count, task->spec->test_count },
		.patched = { task->patched.tests, task->patched.count, 0 },
	};
	*ret_facts = facts;
}

static struct json_object *safe(const char *text)
{
	return text ? pr_safe_text_json(text, strlen(text)) : NULL;
}

static struct json_object *violations_of(const struct verdict *verdict)
{
	struct json_object *array = json_object_new_array();
	for (size_t i = 0; array && i < verdict->violation_count; i++) {
		char name[64];
		snprintf(name, sizeof name, "/resource-limit.v1:%s", workspace_reason_name(verdict->violations[i]));
		json_object_array_add(array, json_object_new_string(name));
	}
	return array;
}

/* The members that the event and the record share. */
static void add_verdict(const struct task *task, struct json_object *object)
{
	const struct verdict *verdict = &task->verdict;
	set_text(object, "task", task->spec->id);
	set_text(object, "status", attribution_status_name(verdict->status));
	set_text(object, "verdict", pr_verdict_name(verdict->verdict));
	set_text(object, "validity", verdict->validity);
	set_value(object, "reward", verdict->has_reward ? json_object_new_double(verdict->reward) : NULL);
	set_text(object, "cause", verdict->cause);
	set_text(object, "charged_to", verdict->charged_to);
	set_text(object, "attribution", attribution_row(verdict->event)->id);
	set_value(object, "reason", safe(verdict->reason));
	set_value(object, "violations", violations_of(verdict));
	set_text(object, "episode", NULL);
	set_number(object, "refusals", (int64_t)task->refusals);
	set_number(object, "wall_ms", task->wall_ms);
	set_number(object, "spend_usd_micro", 0);
	set_value(object, "process_containment", json_object_get(task->agent.containment));
}

struct json_object *task_verdict_event(const struct task *task)
{
	struct json_object *event = journal_event(PR_EVENT_TASK_VERDICT);
	add_verdict(task, event);
	return event;
}

static struct json_object *exit_code(const struct run_facts *facts)
{
	int code;
	return run_exit_code(facts, &code) ? json_object_new_int(code) : NULL;
}

static struct json_object *run_object(const struct run_record *record)
{
	struct json_object *object = json_object_new_object();
	const struct run_facts *facts = &record->facts;
	set_number(object, "run", (int64_t)record->number);
	set_text(object, "termination", run_outcome_name(facts->outcome));
	set_value(object, "exit_code", exit_code(facts));
	set_truth(object, "stdout_truncated", facts->stdout_cut);
	set_truth(object, "stderr_truncated", facts->stderr_cut);
	set_text(object, "stdout_digest", record->digest[RUN_STDOUT]);
	set_text(object, "stderr_digest", record->digest[RUN_STDERR]);
	set_number(object, "wall_ms", record->wall_ms);
	set_number(object, "forks_refused", (int64_t)facts->forks_refused);
	set_number(object, "oom_kills", (int64_t)facts->oom_kills);
	if (facts->outcome == RUN_NOT_EXECUTED)
		set_text(object, "error", strerror(facts->code));
	else if (facts->outcome == RUN_LOST)
		set_value(object, "error", safe(record->why));
	set_value(object, "process_containment", json_object_get(record->containment));
	return object;
}

static struct json_object *string_array(const struct strings *strings)
{
	struct json_object *array = json_object_new_array();
	for (size_t i = 0; array && i < strings->count; i++)
		json_object_array_add(array, json_object_new_string(strings->items[i]));
	return array;
}

static struct json_object *set_object(const struct task *task, const struct set_record *set)
{
	struct json_object *array = json_object_new_array();
	for (size_t i = 0; array && i < set->count; i++) {
		const struct test_facts *test = &set->tests[i];
		struct json_object *object = run_object(&set->runs[i]), *expected = json_object_new_array();
		for (size_t k = 0; expected && k < test->expected_count; k++)
			json_object_array_add(expected, json_object_new_int(test->expected[k]));
		set_value(object, "command", string_array(&task->spec->tests[i % task->spec->test_count].command));
		set_value(object, "expected_exit_codes", expected);
		set_truth(object, "as_expected", test_met(test));
		json_object_array_add(array, object);
	}
	return array;
}

static void set_object_id(struct json_object *object, const char *key, const char *id)
{
	set_text(object, key, id[0] ? id : NULL);
}

static struct json_object *patch_object(const struct evidence *evidence)
{
	static const char *const origins[] = {
		[PATCH_UNKNOWN] = NULL, [PATCH_RENDERED] = "rendered", [PATCH_APPLIED] = "candidate", [PATCH_REFUSED] = "candidate",
	};
	struct json_object *object = json_object_new_object();
	set_text(object, "origin", origins[evidence->patch]);
	set_truth(object, "applies", evidence->has_patched);
	set_truth(object, "partial", evidence->partial);
	set_number(object, "unsaid_paths", (int64_t)evidence->unsaid);
	set_number(object, "bytes", (int64_t)evidence->patch_bytes);
	set_number(object, "protected_restored", (int64_t)evidence->restored);
	return object;
}

/* What is claimed of a profile, a function of its name alone (the reference's execution facts). */
static struct json_object *sandbox_map(const char *profile)
{
	bool confined = strcmp(profile, PROFILE_CONFINED) == 0;
	struct json_object *map = json_object_new_object();
	set_text(map, "profile", profile);
	set_text(map, "filesystem", confined ? "enforced" : "observed");
	set_text(map, "network", confined ? "enforced" : "unrestricted");
	if (confined)
		set_text(map, "processes", "contained");
	return map;
}

struct json_object *task_result(const struct task *task)
{
	const struct evidence *evidence = &task->evidence;
	struct json_object *object = json_object_new_object(), *trees = json_object_new_object();

	add_verdict(task, object);
	set_text(object, "source", task->spec->source);
	set_text(object, "commit", task->spec->kind == SUBJECT_GIT ? task->spec->commit : NULL);
	set_value(object, "sandbox", sandbox_map(task->engine->spec.sandbox.profile));
	set_value(object, "agent", task->agent_ran ? run_object(&task->agent) : NULL);
	set_value(object, "baseline", set_object(task, &task->baseline));
	set_value(object, "patched", set_object(task, &task->patched));
	set_value(object, "patch", patch_object(evidence));
	set_object_id(trees, "subject", evidence->subject_object);
	set_object_id(trees, "collected", evidence->collected_object);
	set_object_id(trees, "patched", evidence->patched_object);
	set_value(object, "trees", trees);
	return object;
}
