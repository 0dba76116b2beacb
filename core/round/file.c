/*
 * The round file: its tables of keys, and the order in which they are read. Called by main.c (check, run,
 * resume). Reads files of the owner's alone; starts nothing.
 */
#include "core/round/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/base/io.h"
#include "core/record/json.h"
#include "core/round/file_reader.h"
#include "core/round/value.h"

#define HOUR_NS (3600 * NS_PER_S)
#define WALL_CLOCK_MIN_NS (100 * NS_PER_MS)
#define WALL_CLOCK_MAX_NS (30 * 24 * HOUR_NS)
#define SIZE_MAX_BYTES (INT64_C(1) << 44)
#define KEYS_MAX 32

void read_object(struct reader *reader, const char *what, const struct json *value, const struct key *keys,
		 size_t count, void *base)
{
	const char *names[KEYS_MAX];
	size_t name_count = 0;
	char allowed[512] = "";

	if (!json_is(value, JSON_OBJECT)) {
		faults_add(reader->faults, at_value(value), "%s is %s; an object is allowed", what, kind_words(value));
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const struct key *key = &keys[i];
		if ((key->flags & KEY_COMPILED) && !reader->compiled)
			continue;
		size_t length = strlen(allowed);
		snprintf(allowed + length, sizeof allowed - length, "%s%s", name_count > 0 ? ", " : "", key->name);
		names[name_count++] = key->name;
		const struct json *member = json_get(value, key->name);
		if (member)
			key->read(reader, key, member, (char *)base + key->offset);
		else if (key->flags & KEY_REQUIRED)
			faults_add(reader->faults, at_value(value), "%s has no \"%s\"; it is required", what, key->name);
	}
	for (size_t i = 0; i < json_count(value); i++) {
		const struct json_member *member = json_member_at(value, i);
		struct place_in_file at = { member->line, member->column };
		bool known = false;
		for (size_t k = 0; k < name_count; k++)
			known = known || strcmp(names[k], member->key) == 0;
		if (known)
			continue;
		const char *nearest = value_nearest(member->key, names, name_count);
		faults_add(reader->faults, at, "unknown key \"%.60s\" in %s; %s%s%sallowed: %s", member->key, what,
			   nearest ? "did you mean \"" : "", nearest ? nearest : "", nearest ? "\"? " : "", allowed);
	}
}

static void read_limits(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	static const struct key keys[] = {
		{ "memory", read_size, offsetof(struct limits_spec, memory_bytes), 4194304, SIZE_MAX_BYTES, NULL, 0 },
		{ "processes", read_count, offsetof(struct limits_spec, processes), 2, 4194304, NULL, 0 },
		{ "cpus", read_cpus, offsetof(struct limits_spec, cpus), 0, 0, NULL, 0 },
		{ "workspace", read_size, offsetof(struct limits_spec, workspace_bytes), 65536, SIZE_MAX_BYTES, NULL, 0 },
		{ "inodes", read_count, offsetof(struct limits_spec, inodes), 16, INT64_C(1) << 32, NULL, 0 },
	};
	read_object(reader, key->name, value, keys, ELEMENTS(keys), field);
}

static void read_profile(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	const char *text = json_text(value);
	if (text && (strcmp(text, PROFILE_CONFINED) == 0 || strcmp(text, PROFILE_TRUSTED) == 0))
		*(const char **)field = strcmp(text, PROFILE_TRUSTED) == 0 ? PROFILE_TRUSTED : PROFILE_CONFINED;
	else
		faults_add(reader->faults, at_value(value),
			   "%s is not delivered by this version; \"" PROFILE_CONFINED "\" and \"" PROFILE_TRUSTED "\" are allowed",
			   key->name);
}

static void read_network(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	const char *text = json_text(value);
	/* "host" is what the profile without layers has (file_check.c). */
	if (text && (strcmp(text, "none") == 0 || strcmp(text, "host") == 0))
		*(const char **)field = text[0] == 'h' ? "host" : "none";
	else if (text && strcmp(text, "broker") == 0)
		faults_add(reader->faults, at_value(value),
			   "%s \"%s\" is not delivered by this version; \"none\" is allowed: run an agent that needs no network",
			   key->name, text);
	else
		faults_add(reader->faults, at_value(value), "%s is not known; \"none\" is allowed", key->name);
}

static void read_root(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	const char *text = NULL;
	read_text(reader, key, value, &text);
	if (text)
		*(const char **)field = strcmp(text, "host") == 0 ? text : file_path(reader, text);
}

static void read_read_only(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	struct strings *strings = field;
	read_strings(reader, key, value, field);
	for (size_t i = 0; i < strings->count; i++)
		strings->items[i] = file_path(reader, strings->items[i]);
}

static void read_own_ids(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	const char *text = json_text(value);
	if (text && strcmp(text, "allow") == 0)
		*(const char **)field = "allow";
	else
		faults_add(reader->faults, at_value(value), "%s is not known; \"allow\" is allowed, or leave it out: it is for hosts "
			   "that have no id range (docs/hosts.md)", key->name);
}

static void read_sandbox(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	static const struct key keys[] = {
		{ "profile", read_profile, offsetof(struct sandbox_spec, profile), 0, 0, NULL, 0 },
		{ "root", read_root, offsetof(struct sandbox_spec, root), 0, 0, NULL, 0 },
		{ "read_only", read_read_only, offsetof(struct sandbox_spec, read_only), 0, 64, NULL, 0 },
		{ "network", read_network, offsetof(struct sandbox_spec, network), 0, 0, NULL, 0 },
		{ "limits", read_limits, offsetof(struct sandbox_spec, limits), 0, 0, NULL, 0 },
		{ "own_ids", read_own_ids, offsetof(struct sandbox_spec, own_ids), 0, 0, NULL, 0 },
	};
	read_object(reader, key->name, value, keys, ELEMENTS(keys), field);
}

static void read_command(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	struct agent_spec *agent = field;
	/* Where it cannot be read, the round's does not stand in for it. */
	agent->command = (struct strings){ 0 };
	read_strings(reader, key, value, &agent->command);
	agent->at = at_value(value);
	agent->bind = NULL;
	if (agent->command.count == 0)
		return;
	const char *program = agent->command.items[0];
	if (program[0] == '/' || !strchr(program, '/'))
		return;
	agent->bind = file_path(reader, program);
	agent->command.items[0] = agent->bind;
}

static void read_agent(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	static const struct key keys[] = {
		{ "name", read_text, offsetof(struct agent_spec, name), 0, 0, NULL, 0 },
		{ "command", read_command, 0, 1, 4096, NULL, 0 },
		{ "environment", read_pairs, offsetof(struct agent_spec, environment), 0, 0, NULL, 0 },
		{ "files", read_pairs, offsetof(struct agent_spec, files), 0, 0, NULL, 0 },
		{ "repository", read_truth, offsetof(struct agent_spec, repository), 0, 0, NULL, 0 },
		{ "allowed_exit_codes", read_codes, offsetof(struct agent_spec, allowed), 0, 0, NULL, 0 },
		{ "bind", read_text, offsetof(struct agent_spec, bind), 0, 0, NULL, KEY_COMPILED },
	};
	read_object(reader, key->name, value, keys, ELEMENTS(keys), field);
}

#define BUDGET_KEYS \
	{ "wall_clock", read_duration, offsetof(struct budget_spec, wall_clock_ns), WALL_CLOCK_MIN_NS, WALL_CLOCK_MAX_NS, NULL, 0 }, \
	{ "tests_wall_clock", read_duration, offsetof(struct budget_spec, tests_wall_clock_ns), WALL_CLOCK_MIN_NS, WALL_CLOCK_MAX_NS, NULL, 0 }, \
	{ "spend", read_spend, 0, 0, 0, NULL, 0 }

static void read_task_budget(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	static const struct key keys[] = { BUDGET_KEYS };
	read_object(reader, key->name, value, keys, ELEMENTS(keys), field);
}

/* `round_wall_clock` is the round's, beside its default budget for tasks. */
static void read_round_clock(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	(void)field;
	read_duration(reader, key, value, &reader->spec->round_wall_clock_ns);
}

static void read_round_budget(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	static const struct key keys[] = {
		BUDGET_KEYS,
		{ "round_spend", read_spend, 0, 0, 0, NULL, 0 },
		{ "round_wall_clock", read_round_clock, 0, WALL_CLOCK_MIN_NS, WALL_CLOCK_MAX_NS, NULL, 0 },
	};
	read_object(reader, key->name, value, keys, ELEMENTS(keys), field);
}

static void read_test(struct reader *reader, const struct json *value, struct test_spec *test)
{
	static const struct key keys[] = {
		{ "command", read_strings, offsetof(struct test_spec, command), 1, 4096, NULL, KEY_REQUIRED },
		{ "baseline", read_codes, offsetof(struct test_spec, baseline), 0, 0, NULL, 0 },
		{ "patched", read_codes, offsetof(struct test_spec, patched), 0, 0, NULL, 0 },
		{ "host", read_text, offsetof(struct test_spec, host), 0, 0, NULL, KEY_COMPILED },
	};
	static int zero[] = { 0 };
	test->at = at_value(value);
	test->baseline = test->patched = (struct codes){ zero, 1 };
	read_object(reader, "a test", value, keys, ELEMENTS(keys), test);
	const struct json *command = json_get(value, "command");
	if (command)
		test->at = at_value(command);
}

static void read_tests(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	struct task_spec *task = field;
	size_t count = json_count(value);
	if (json_is(value, JSON_ARRAY) && count > 256) {
		faults_add(reader->faults, at_value(value), "%s holds %zu tests; 1 to 256 are allowed", key->name, count);
		return;
	}
	if (!json_is(value, JSON_ARRAY) || count == 0) {
		faults_add(reader->faults, at_value(value), "%s is %s; an array of 1 to 256 tests is allowed", key->name,
			   kind_words(value));
		return;
	}
	task->tests = pool_array(reader->pool, count, sizeof task->tests[0]);
	task->test_count = count;
	for (size_t i = 0; i < count; i++)
		read_test(reader, json_item(value, i), &task->tests[i]);
}

static void read_source_path(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	struct task_spec *task = field;
	const char *text = NULL;
	read_text(reader, key, value, &text);
	if (!text)
		return;
	task->source = text;
	task->place = file_path(reader, text);
	task->source_at = at_value(value);
}

static void read_bundle(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	(void)field;
	faults_add(reader->faults, at_value(value),
		   "%s: eval-bundles are not delivered by this version; \"repo\" with \"commit\", or \"directory\", is allowed",
		   key->name);
}

static const struct key task_keys[] = {
	{ "id", read_name, offsetof(struct task_spec, id), 0, 0, NULL, KEY_REQUIRED },
	{ "repo", read_source_path, 0, 0, 0, NULL, 0 },
	{ "commit", read_text, offsetof(struct task_spec, commit), 0, 0, NULL, 0 },
	{ "directory", read_source_path, 0, 0, 0, NULL, 0 },
	{ "bundle", read_bundle, 0, 0, 0, NULL, 0 },
	{ "prompt", read_prompt, offsetof(struct task_spec, prompt), 0, 0, NULL, 0 },
	{ "tests", read_tests, 0, 0, 0, NULL, 0 },
	{ "protect", read_strings, offsetof(struct task_spec, protect), 0, 256, NULL, 0 },
	{ "scratch", read_strings, offsetof(struct task_spec, scratch), 0, 256, NULL, 0 },
	{ "allowed_exit_codes", read_codes, offsetof(struct task_spec, agent.allowed), 0, 0, NULL, 0 },
	{ "agent", read_agent, offsetof(struct task_spec, agent), 0, 0, NULL, 0 },
	{ "budget", read_task_budget, offsetof(struct task_spec, budget), 0, 0, NULL, 0 },
	{ "on_wall_clock", read_choice, offsetof(struct task_spec, on_wall_clock), 0, 0, "score error", 0 },
	{ "baseline_repeats", read_unsigned, offsetof(struct task_spec, baseline_repeats), 1, 20, NULL, 0 },
	{ "source", read_text, offsetof(struct task_spec, source), 0, 0, NULL, KEY_COMPILED },
};

/* Exactly one source, and what belongs to it. */
static void read_source(struct reader *reader, const struct json *value, struct task_spec *task)
{
	const struct json *repo = json_get(value, "repo"), *directory = json_get(value, "directory");
	const struct json *bundle = json_get(value, "bundle"), *commit = json_get(value, "commit");
	const char *id = task->id ? task->id : "?";
	int sources = !!repo + !!directory + !!bundle;

	task->kind = directory ? SUBJECT_DIRECTORY : SUBJECT_GIT;
	if (sources != 1)
		faults_add(reader->faults, task->at,
			   "task %s has %s; exactly one of \"repo\" with \"commit\", \"directory\", \"bundle\" is allowed", id,
			   sources == 0 ? "no source" : "more than one source");
	else if (repo && !commit)
		faults_add(reader->faults, task->at, "task %s has a \"repo\" but no \"commit\"; it is required", id);
	else if (!repo && commit)
		faults_add(reader->faults, at_value(commit), "task %s has a \"commit\" without a \"repo\"; leave it out", id);
	if (!json_get(value, "tests") && !bundle)
		faults_add(reader->faults, task->at, "task %s has no \"tests\"; they are required: nothing else judges it", id);
	if (task->kind == SUBJECT_GIT && task->source && task->commit && !reader->compiled)
		task->source = pool_printf(reader->pool, "%s %s", task->source, task->commit);
}

static void read_task(struct reader *reader, const struct json *value, struct task_spec *task)
{
	const struct round_spec *spec = reader->spec;
	/* The round says what its tasks do not. */
	*task = (struct task_spec){ .at = at_value(value), .agent = spec->agent, .budget = spec->budget, .prompt = "",
		.on_wall_clock = spec->on_wall_clock, .baseline_repeats = spec->baseline_repeats };
	read_object(reader, "a task", value, task_keys, ELEMENTS(task_keys), task);
	if (json_is(value, JSON_OBJECT))
		read_source(reader, value, task);
}

static void read_tasks(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	struct round_spec *spec = field;
	size_t count = json_count(value);
	if (json_is(value, JSON_ARRAY) && count > SPEC_TASKS_MAX) {
		faults_add(reader->faults, at_value(value), "%s holds %zu tasks; 1 to %d are allowed", key->name, count, SPEC_TASKS_MAX);
		return;
	}
	if (!json_is(value, JSON_ARRAY) || count == 0) {
		faults_add(reader->faults, at_value(value), "%s is %s; an array of 1 to %d tasks is allowed", key->name,
			   kind_words(value), SPEC_TASKS_MAX);
		return;
	}
	spec->tasks = pool_array(reader->pool, count, sizeof spec->tasks[0]);
	spec->task_count = count;
	for (size_t i = 0; i < count; i++)
		read_task(reader, json_item(value, i), &spec->tasks[i]);
}

/* `tasks` last: each starts from what the round says. */
static const struct key round_keys[] = {
	{ "folder", read_text, offsetof(struct round_spec, folder), 0, 0, NULL, KEY_COMPILED },
	{ "file", read_text, offsetof(struct round_spec, file), 0, 0, NULL, KEY_COMPILED },
	{ "round", read_name, offsetof(struct round_spec, name), 0, 0, NULL, KEY_REQUIRED },
	{ "kind", read_choice, offsetof(struct round_spec, kind), 0, 0, "smoke baseline", 0 },
	{ "allowed_exit_codes", read_codes, offsetof(struct round_spec, agent.allowed), 0, 0, NULL, 0 },
	{ "agent", read_agent, offsetof(struct round_spec, agent), 0, 0, NULL, 0 },
	{ "sandbox", read_sandbox, offsetof(struct round_spec, sandbox), 0, 0, NULL, 0 },
	{ "budget", read_round_budget, offsetof(struct round_spec, budget), 0, 0, NULL, 0 },
	{ "provider", read_undelivered, 0, 0, 0, "leave it out: without a broker no key reaches a candidate", 0 },
	{ "identity", read_undelivered, 0, 0, 0, "leave it out: `tests` is the signal of git and directory tasks", 0 },
	{ "parallel", read_unsigned, offsetof(struct round_spec, parallel), 1, SPEC_PARALLEL_MAX, NULL, 0 },
	{ "repeat", read_unsigned, offsetof(struct round_spec, repeat), 1, 1000, NULL, 0 },
	{ "stricter", read_truth, offsetof(struct round_spec, stricter), 0, 0, NULL, 0 },
	{ "freeze_expires", read_duration, offsetof(struct round_spec, freeze_expires_ns), WALL_CLOCK_MIN_NS, WALL_CLOCK_MAX_NS, NULL, 0 },
	{ "on_wall_clock", read_choice, offsetof(struct round_spec, on_wall_clock), 0, 0, "score error", 0 },
	{ "baseline_repeats", read_unsigned, offsetof(struct round_spec, baseline_repeats), 1, 20, NULL, 0 },
	{ "tasks", read_tasks, 0, 0, 0, NULL, KEY_REQUIRED },
};

static void set_defaults(struct round_spec *spec)
{
	static int zero[] = { 0 };
	spec->agent.allowed = (struct codes){ zero, 1 };
	spec->sandbox = (struct sandbox_spec){
		.profile = PROFILE_CONFINED, .root = "host", .network = "none",
		.limits = { .memory_bytes = UINT64_C(2) << 30, .processes = 256, .cpus = 1,
			    .workspace_bytes = UINT64_C(1) << 30, .inodes = 200000 },
	};
	spec->budget = (struct budget_spec){ .wall_clock_ns = 600 * NS_PER_S, .tests_wall_clock_ns = 120 * NS_PER_S };
	spec->parallel = spec->repeat = spec->baseline_repeats = 1;
}

const char *file_path(struct reader *reader, const char *path)
{
	if (path[0] == '/')
		return pool_text(reader->pool, path);
	while (path[0] == '.' && path[1] == '/')
		for (path += 2; *path == '/';)
			path++;
	return pool_printf(reader->pool, "%s%s%s", reader->spec->folder,
			   strcmp(reader->spec->folder, "/") == 0 ? "" : "/", path);
}

static int find_folder(struct round_spec *spec, const char *path, struct pr_error *error)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	if (!real) {
		int r = pr_error_errno(error, errno, "reading the round file %s", path);
		pr_error_remedy(error, "name a file that is there");
		return r;
	}
	struct stat status;
	/* A pipe would be waited for, and read only once. */
	if (stat(real, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))) {
		pr_error_set(error, EINVAL, "the round file %s is a pipe or a socket", path);
		return pr_error_remedy(error, "write it to a file; its folder is where relative paths start");
	}
	spec->file = pool_text(&spec->pool, real);
	char *slash = strrchr(real, '/');
	slash[slash == real] = '\0';
	spec->folder = pool_text(&spec->pool, real);
	return 0;
}

/* What to do about a fault of the form; of the others: what the form is. */
static const char *const json_remedies[JSON_FAULT_COUNT] = {
	[JSON_FAULT_BYTE_ORDER_MARK] = "save the file without one",
	[JSON_FAULT_UTF8] = "save the file as UTF-8",
	[JSON_FAULT_INTEGER_RANGE] = "write a smaller number",
	[JSON_FAULT_DOUBLE_RANGE] = "write a smaller number",
	[JSON_FAULT_CONTROL] = "write it as an escape: \\n, \\t, \\u0000",
	[JSON_FAULT_SURROGATE] = "write both halves, or the character itself",
	[JSON_FAULT_TRAILING_COMMA] = "remove it",
	[JSON_FAULT_DUPLICATE_KEY] = "keep one",
	[JSON_FAULT_DEPTH] = "a round file needs no more than 6",
	[JSON_FAULT_COMMENT_END] = "close it with */",
	[JSON_FAULT_AFTER] = "a round file holds one object",
};

/* The key that begins there, with its quotes, for "the key "x" stands twice". Pure; "" where none begins. */
static void key_at(const char *text, uint32_t line, uint32_t column, char *ret_key, size_t size)
{
	const char *at = text;
	for (; line > 1 && (at = strchr(at, '\n')); line--)
		at++;
	/* A column is a character: the bytes 10xxxxxx go on with one. */
	for (; at && *at && column > 1; column--)
		do {
			at++;
		} while (((unsigned char)*at & 0xc0) == 0x80);
	size_t length = at && *at == '"' ? strcspn(at + 1, "\"\n") + 2 : 0;
	snprintf(ret_key, size, "%.*s", length > 0 && length < size && at[length - 1] == '"' ? (int)length : 0, at ? at : "");
}

static void add_json_fault(struct faults *faults, const char *text, const struct json_fault *fault)
{
	struct place_in_file at = { fault->line, fault->column };
	const char *remedy = json_remedies[fault->code];
	char key[80];

	key_at(text, fault->line, fault->column, key, sizeof key);
	if (fault->code == JSON_FAULT_END && text[strspn(text, " \t\r\n")] == '\0')
		faults_add(faults, at, "the file is empty; a round file is a JSON object");
	else if (fault->code == JSON_FAULT_DUPLICATE_KEY && key[0])
		faults_add(faults, at, "the key %s stands twice in one object; keep one", key);
	else
		faults_add(faults, at, "%s; %s", json_fault_words(fault->code),
			   remedy ? remedy : "JSON with // and /* */ comments is allowed");
}

int round_file_read(const char *path, unsigned flags, struct round_spec *spec, struct faults *faults,
		    struct pr_error *error)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	_cleanup_json_ struct json *root = NULL;
	struct json_fault fault = { 0 };
	bool compiled = flags & ROUND_FILE_COMPILED;
	struct reader reader = { .spec = spec, .pool = &spec->pool, .faults = faults, .compiled = compiled };

	int r = find_folder(spec, path, error);
	if (r < 0)
		return r;
	r = io_read_file(AT_FDCWD, path, compiled ? ROUND_COMPILED_BYTES : ROUND_FILE_BYTES, &text);
	if (r == -EFBIG) {
		pr_error_set(error, EFBIG, "the round file %s is over %zu bytes", path, ROUND_FILE_BYTES);
		return pr_error_remedy(error, "make several rounds of it; a long prompt can go by agent.files");
	}
	if (r < 0) {
		pr_error_errno(error, -r, "reading the round file %s", path);
		return pr_error_remedy(error, r == -EISDIR ? "name the file in it: NAME.round.json" : "name a file that you may read");
	}

	r = json_read(text.data ? text.data : "", text.length, 0, JSON_COMMENTS, &root, &fault);
	if (r == -EBADMSG) {
		add_json_fault(faults, text.data ? text.data : "", &fault);
		return pr_error_set(error, EBADMSG, "%s is not JSON", path);
	}
	if (r < 0)
		return pr_error_errno(error, -r, "reading the round file %s", path);

	set_defaults(spec);
	read_object(&reader, "the round file", root, round_keys, ELEMENTS(round_keys), spec);
	check_round(&reader, root);
	faults_sort(faults);
	if (faults->count > 0)
		return pr_error_set(error, EBADMSG, "%s has %zu fault%s", path, faults->count, faults->count == 1 ? "" : "s");
	return 0;
}
