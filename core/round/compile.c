/* Writing round.json (compile.h). Called once a round, before its directory is there for others to see. */
#include "core/round/compile.h"

#include "core/base/clock.h"
#include "core/record/canonical.h"
#include "core/record/json.h"

/*
 * Building is one long conjunction: json_set() takes its value over and answers -ENOMEM for one that could
 * not be made, so the first failure is kept and the rest is harmless.
 */
static void set(struct json *object, int *result, const char *key, struct json *value)
{
	int r = json_set(object, key, value);
	if (r < 0 && *result == 0)
		*result = r;
}

static struct json *text(const char *value)
{
	return json_new_string(value ? value : "");
}

static struct json *strings(const struct strings *from, int *result)
{
	struct json *array = json_new_array();
	for (size_t i = 0; array && i < from->count; i++)
		if (json_append(array, text(from->items[i])) < 0)
			*result = -ENOMEM;
	return array;
}

static struct json *codes(const struct codes *from, int *result)
{
	struct json *array = json_new_array();
	for (size_t i = 0; array && i < from->count; i++)
		if (json_append(array, json_new_int64(from->items[i])) < 0)
			*result = -ENOMEM;
	return array;
}

static struct json *pairs(const struct pairs *from, int *result)
{
	struct json *object = json_new_object();
	for (size_t i = 0; object && i < from->count; i++)
		set(object, result, from->items[i].key, text(from->items[i].value));
	return object;
}

static struct json *agent(const struct agent_spec *from, int *result)
{
	struct json *object = json_new_object();
	set(object, result, "name", text(from->name ? from->name : "agent"));
	if (from->command.count > 0)
		set(object, result, "command", strings(&from->command, result));
	if (from->bind)
		set(object, result, "bind", text(from->bind));
	set(object, result, "environment", pairs(&from->environment, result));
	set(object, result, "files", pairs(&from->files, result));
	set(object, result, "repository", json_new_boolean(from->repository));
	set(object, result, "allowed_exit_codes", codes(&from->allowed, result));
	return object;
}

static struct json *sandbox(const struct sandbox_spec *from, int *result)
{
	struct json *limits = json_new_object(), *object = json_new_object();
	set(limits, result, "memory", json_new_uint64(from->limits.memory_bytes));
	set(limits, result, "processes", json_new_uint64(from->limits.processes));
	set(limits, result, "cpus", json_new_double(from->limits.cpus));
	set(limits, result, "workspace", json_new_uint64(from->limits.workspace_bytes));
	set(limits, result, "inodes", json_new_uint64(from->limits.inodes));
	set(object, result, "profile", text(from->profile));
	set(object, result, "root", text(from->root));
	set(object, result, "read_only", strings(&from->read_only, result));
	set(object, result, "network", text(from->network));
	set(object, result, "limits", limits);
	if (from->own_ids)
		set(object, result, "own_ids", text(from->own_ids));
	return object;
}

static struct json *budget(const struct budget_spec *from, int64_t round_ns, int *result)
{
	struct json *object = json_new_object();
	set(object, result, "wall_clock", json_new_int64(from->wall_clock_ns / NS_PER_MS));
	set(object, result, "tests_wall_clock", json_new_int64(from->tests_wall_clock_ns / NS_PER_MS));
	if (round_ns > 0)
		set(object, result, "round_wall_clock", json_new_int64(round_ns / NS_PER_MS));
	return object;
}

static struct json *test(const struct test_spec *from, int *result)
{
	struct json *object = json_new_object();
	set(object, result, "command", strings(&from->command, result));
	if (from->host)
		set(object, result, "host", text(from->host));
	set(object, result, "baseline", codes(&from->baseline, result));
	set(object, result, "patched", codes(&from->patched, result));
	return object;
}

static struct json *task(const struct task_spec *from, int *result)
{
	struct json *object = json_new_object(), *tests = json_new_array();
	set(object, result, "id", text(from->id));
	set(object, result, from->kind == SUBJECT_GIT ? "repo" : "directory", text(from->place));
	if (from->kind == SUBJECT_GIT)
		set(object, result, "commit", text(from->commit));
	set(object, result, "source", text(from->source));
	set(object, result, "prompt", text(from->prompt));
	set(object, result, "agent", agent(&from->agent, result));
	set(object, result, "budget", budget(&from->budget, 0, result));
	for (size_t i = 0; tests && i < from->test_count; i++)
		if (json_append(tests, test(&from->tests[i], result)) < 0)
			*result = -ENOMEM;
	set(object, result, "tests", tests);
	set(object, result, "protect", strings(&from->protect, result));
	set(object, result, "scratch", strings(&from->scratch, result));
	set(object, result, "on_wall_clock", text(from->on_wall_clock == ON_WALL_CLOCK_ERROR ? "error" : "score"));
	set(object, result, "baseline_repeats", json_new_int64(from->baseline_repeats));
	return object;
}

int compile_round(const struct round_spec *spec, struct buffer *out)
{
	int result = 0;
	_cleanup_json_ struct json *root = json_new_object();
	struct json *tasks = json_new_array();

	set(root, &result, "file", text(spec->file));
	set(root, &result, "folder", text(spec->folder));
	set(root, &result, "round", text(spec->name));
	set(root, &result, "kind", text(spec->kind == ROUND_BASELINE ? "baseline" : "smoke"));
	set(root, &result, "agent", agent(&spec->agent, &result));
	set(root, &result, "sandbox", sandbox(&spec->sandbox, &result));
	set(root, &result, "budget", budget(&spec->budget, spec->round_wall_clock_ns, &result));
	set(root, &result, "parallel", json_new_int64(spec->parallel));
	set(root, &result, "stricter", json_new_boolean(spec->stricter));
	if (spec->freeze_expires_ns > 0)
		set(root, &result, "freeze_expires", json_new_int64(spec->freeze_expires_ns / NS_PER_MS));
	for (size_t i = 0; tasks && i < spec->task_count; i++)
		if (json_append(tasks, task(&spec->tasks[i], &result)) < 0)
			result = -ENOMEM;
	set(root, &result, "tasks", tasks);
	if (result == 0)
		result = canonical_write(root, out);
	return result < 0 ? result : buffer_add_byte(out, '\n');
}
