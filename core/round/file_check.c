/*
 * What spans several keys of a round file, or asks the host: programs, files and directories that must be
 * there, substitutions, argument lists, ids, repeats. Nothing is run and nothing is written.
 */
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/cleanup.h"
#include "core/record/path.h"
#include "core/round/file_reader.h"
#include "core/round/program.h"
#include "core/round/substitute.h"
#include "core/round/value.h"

#define HOME_FILE_BYTES ((off_t)8388608)

static const char *search_path(const struct agent_spec *agent)
{
	for (size_t i = 0; i < agent->environment.count; i++)
		if (strcmp(agent->environment.items[i].key, "PATH") == 0)
			return agent->environment.items[i].value;
	return NULL;
}

static void check_text(struct reader *reader, const struct task_spec *task, struct place_in_file at, const char *text)
{
	char name[48];
	const char *fault = substitute_fault(text, name, sizeof name);
	if (fault)
		faults_add(reader->faults, at, "${%s} %s; ${prompt}, ${workspace} and ${task} are allowed", name, fault);
	else if (task->prompt[0] == '\0' && strstr(text, "${prompt}"))
		faults_add(reader->faults, at, "${prompt} is used, but task %s has no \"prompt\"; give it one",
			   task->id ? task->id : "?");
}

/* execve(2) bounds one argument and the sum: an agent that can never start is a fault now. */
static void check_length(struct reader *reader, const struct task_spec *task, const char *text, size_t before,
			 size_t *sum)
{
	_cleanup_buffer_ struct buffer whole = BUFFER_INIT;
	if (substitute(text, task, &whole) < 0)
		return;
	size_t length = before + whole.length + 1;
	if (length > SPEC_ARGUMENT_BYTES)
		faults_add(reader->faults, task->at,
			   "an argument of the agent of task %s is %zu bytes long; less than 128 KiB is allowed: shorten the prompt, or give it by agent.files",
			   task->id ? task->id : "?", length);
	*sum += length + sizeof(char *);
}

static void check_arguments(struct reader *reader, const struct task_spec *task)
{
	const struct agent_spec *agent = &task->agent;
	size_t sum = 0;
	for (size_t i = 0; i < agent->command.count; i++) {
		check_text(reader, task, agent->at, agent->command.items[i]);
		check_length(reader, task, agent->command.items[i], 0, &sum);
	}
	for (size_t i = 0; i < agent->environment.count; i++) {
		const struct pair *pair = &agent->environment.items[i];
		check_text(reader, task, pair->at, pair->value);
		check_length(reader, task, pair->value, strlen(pair->key) + 1, &sum);
		if (!value_is_variable(pair->key))
			faults_add(reader->faults, pair->at,
				   "\"%.60s\" is no name of a variable; letters, digits and '_' are allowed, no digit first", pair->key);
	}
	if (sum > SPEC_ARGUMENTS_BYTES)
		faults_add(reader->faults, task->at,
			   "arguments and environment of the agent of task %s are %zu bytes; less than 1 MiB is allowed",
			   task->id ? task->id : "?", sum);
}

static void check_agent_files(struct reader *reader, struct agent_spec *agent)
{
	for (size_t i = 0; i < agent->files.count; i++) {
		struct pair *pair = &agent->files.items[i];
		struct stat status;
		if (!path_is_normal(pair->key)) {
			faults_add(reader->faults, pair->at,
				   "\"%.100s\" in files is no path below HOME; a relative path without \"..\" is allowed", pair->key);
			continue;
		}
		const char *path = file_path(reader, pair->value);
		if (stat(path, &status) < 0)
			faults_add(reader->faults, pair->at, "files: %s is not there (%s); a file beside the round file is allowed", path,
				   strerror(errno));
		else if (!S_ISREG(status.st_mode) || status.st_size > HOME_FILE_BYTES)
			faults_add(reader->faults, pair->at, "files: %s is %s; a regular file of at most 8 MiB is allowed", path,
				   S_ISREG(status.st_mode) ? "too large" : "no regular file");
		pair->value = path;
	}
}

static void check_program(struct reader *reader, struct place_in_file at, const char *what, const char *bind,
			  const char *name, const char *path, enum program_owner owner)
{
	const struct sandbox_spec *sandbox = &reader->spec->sandbox;
	struct pr_error error = { 0 };
	/* A root that is not there is a fault of its own. */
	if (strcmp(sandbox->root, "host") != 0 && access(sandbox->root, F_OK) < 0)
		return;
	if (program_find(sandbox, bind, name, path, owner, &error) < 0)
		faults_add(reader->faults, at, "%s cannot be run: %s; %s", what, error.message, error.remedy);
}

static void check_agent(struct reader *reader, struct task_spec *task)
{
	struct agent_spec *agent = &task->agent;
	if (agent->command.count == 0)
		return;
	check_arguments(reader, task);
	if (agent->bind && access(agent->bind, F_OK) < 0)
		faults_add(reader->faults, agent->at, "the agent is not there: %s: %s; a path with '/' is taken from the round file's folder",
			   agent->bind, strerror(errno));
	else if (!substitute_fault(agent->command.items[0], NULL, 0))
		check_program(reader, agent->at, "the agent", agent->bind, agent->command.items[0], search_path(agent),
			      PROGRAM_OF_AGENT);
}

/*
 * A relative test program belongs to the workspace where the subject has it, which is known only once the
 * subject is read; a file of the same name beside the round file is remembered for the other case.
 */
static void check_test(struct reader *reader, struct test_spec *test)
{
	if (test->command.count == 0)
		return;
	const char *program = test->command.items[0];
	if (program[0] != '/' && strchr(program, '/')) {
		const char *host = file_path(reader, program);
		struct stat status;
		if (stat(host, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 0111))
			test->host = host;
		return;
	}
	check_program(reader, test->at, "a test's program", NULL, program, NULL, PROGRAM_OF_TEST);
}

static void check_directory(struct reader *reader, struct place_in_file at, const char *what, const char *path)
{
	struct stat status;
	if (stat(path, &status) < 0 && strstr(path, ":/"))
		faults_add(reader->faults, at, "%s is no place on this host; clone it first, and name the directory", what);
	else if (stat(path, &status) < 0)
		faults_add(reader->faults, at, "%s %s is not there (%s); a directory is allowed", what, path, strerror(errno));
	else if (!S_ISDIR(status.st_mode))
		faults_add(reader->faults, at, "%s %s is no directory; a directory is allowed", what, path);
}

/* What the sandbox mounts itself, and does not bind from the host. */
static bool is_sandboxs_own(const char *path)
{
	static const char *const own[] = { "/proc", "/dev" };
	for (size_t i = 0; i < ELEMENTS(own); i++) {
		size_t length = strlen(own[i]);
		if (strncmp(path, own[i], length) == 0 && (path[length] == '\0' || path[length] == '/'))
			return true;
	}
	return false;
}

/*
 * A socket of the host's below a read-only path: connecting to it is no write, and neither a network namespace nor
 * Landlock before ABI 9 stands in the way. We look at the first entries; nftw(3) has no argument for a callback.
 */
#define SOCKET_LOOK 4096
#define SOCKET_LOOK_DESCRIPTORS 16

static struct {
	unsigned seen;
	char path[4096];
} look;

static int look_for_socket(const char *path, const struct stat *status, int type, struct FTW *position)
{
	(void)position;
	if (type != FTW_NS && S_ISSOCK(status->st_mode)) {
		snprintf(look.path, sizeof look.path, "%s", path);
		return 1;
	}
	return ++look.seen >= SOCKET_LOOK;
}

static const char *socket_below(const char *path)
{
	look.seen = 0;
	look.path[0] = '\0';
	(void)nftw(path, look_for_socket, SOCKET_LOOK_DESCRIPTORS, FTW_PHYS | FTW_MOUNT);
	return look.path[0] ? look.path : NULL;
}

/* A network is what the profile delivers, and the weaker profile is asked for in both words. */
static void check_profile(struct reader *reader, const struct json *object)
{
	const struct sandbox_spec *sandbox = &reader->spec->sandbox;
	bool trusted = strcmp(sandbox->profile, PROFILE_TRUSTED) == 0, host = strcmp(sandbox->network, "host") == 0;

	if (trusted && !host)
		faults_add(reader->faults, at_value(json_get(object, "profile")), PROFILE_TRUSTED " has the host's network: say \"network\": \"host\" beside it, or leave "
			   "the profile out");
	else if (host && !trusted)
		faults_add(reader->faults, at_value(json_get(object, "network")), "network \"host\" is not delivered by " PROFILE_CONFINED "; \"none\" is allowed, or "
			   PROFILE_TRUSTED ", which has no layers");
	if (trusted && strcmp(sandbox->root, "host") != 0)
		faults_add(reader->faults, at_value(json_get(object, "root")), PROFILE_TRUSTED " shows the host as it is; \"host\" is the "
			   "one root allowed");
	if (trusted && sandbox->own_ids)
		faults_add(reader->faults, at_value(json_get(object, "own_ids")), "own_ids is not delivered by " PROFILE_TRUSTED ": with "
			   "the owner's id and no layers the owner's files are the agent's; leave it out");
}

static void check_sandbox(struct reader *reader, const struct json *root)
{
	const struct sandbox_spec *sandbox = &reader->spec->sandbox;
	const struct json *object = json_get(root, "sandbox");
	const struct json *list = json_get(object, "read_only");

	check_profile(reader, object);
	if (sandbox->root && strcmp(sandbox->root, "host") != 0 && json_get(object, "root"))
		check_directory(reader, at_value(json_get(object, "root")), "root", sandbox->root);
	for (size_t i = 0; i < sandbox->read_only.count; i++) {
		const char *path = sandbox->read_only.items[i];
		struct place_in_file at = at_value(json_item(list, i));
		const char *socket;
		if (strcmp(path, "/") == 0 || path[strspn(path, "/")] == '\0')
			faults_add(reader->faults, at, "read_only may not show all of the host; name the directories that are needed");
		else if (is_sandboxs_own(path))
			faults_add(reader->faults, at, "read_only: %s is the sandbox's own; leave it out", path);
		else if (access(path, F_OK) < 0)
			faults_add(reader->faults, at, "read_only: %s is not there (%s); a path of this host is allowed", path,
				   strerror(errno));
		else if ((socket = socket_below(path)))
			faults_add(reader->faults, at, "read_only: %s is a socket of this host, and read-only does not keep a candidate from "
				   "connecting to it; name only what is needed beside it", socket);
	}
}

static void check_ids(struct reader *reader, const struct json *tasks)
{
	const struct round_spec *spec = reader->spec;
	for (size_t i = 0; i < spec->task_count; i++)
		for (size_t j = 0; j < i && spec->tasks[i].id; j++)
			if (spec->tasks[j].id && strcmp(spec->tasks[i].id, spec->tasks[j].id) == 0) {
				faults_add(reader->faults, at_value(json_get(json_item(tasks, i), "id")),
					   "task id \"%s\" stands twice (first in line %u); each task has an id of its own",
					   spec->tasks[i].id, spec->tasks[j].at.line);
				break;
			}
}

/* x, x#2, x#3: a task and its repeats are tasks like any other from here on. */
static void expand_repeats(struct reader *reader, const struct json *root)
{
	struct round_spec *spec = reader->spec;
	if (spec->repeat <= 1 || spec->task_count == 0)
		return;
	if (spec->task_count * spec->repeat > SPEC_TASKS_MAX) {
		faults_add(reader->faults, at_value(json_get(root, "repeat")),
			   "%zu tasks %u times are too many; %d in all are allowed", spec->task_count, spec->repeat, SPEC_TASKS_MAX);
		return;
	}
	size_t count = spec->task_count * spec->repeat;
	struct task_spec *tasks = pool_array(reader->pool, count, sizeof tasks[0]);
	for (size_t i = 0; i < count; i++) {
		tasks[i] = spec->tasks[i / spec->repeat];
		if (i % spec->repeat > 0 && tasks[i].id)
			tasks[i].id = pool_printf(reader->pool, "%s#%zu", tasks[i].id, i % spec->repeat + 1);
	}
	spec->tasks = tasks;
	spec->task_count = count;
}

void check_round(struct reader *reader, const struct json *root)
{
	struct round_spec *spec = reader->spec;

	for (size_t i = 0; i < spec->task_count; i++) {
		struct task_spec *task = &spec->tasks[i];
		if (task->agent.command.count == 0 && (!json_get(root, "agent") || !json_get(json_get(root, "agent"), "command")))
			faults_add(reader->faults, task->at,
				   "task %s has no agent; \"agent\" with a \"command\" is required, of the round or of every task",
				   task->id ? task->id : "?");
		if (!task->agent.name && task->agent.command.count > 0) {
			const char *slash = strrchr(task->agent.command.items[0], '/');
			task->agent.name = slash ? slash + 1 : task->agent.command.items[0];
		}
		if (reader->compiled)
			continue;
		check_agent(reader, task);
		check_agent_files(reader, &task->agent);
		for (size_t k = 0; k < task->test_count; k++)
			check_test(reader, &task->tests[k]);
		if (task->place)
			check_directory(reader, task->source_at, task->kind == SUBJECT_GIT ? "repo" : "directory", task->place);
	}
	if (!spec->agent.name && spec->task_count > 0)
		spec->agent.name = spec->tasks[0].agent.name;
	if (reader->compiled)
		return;
	check_sandbox(reader, root);
	check_ids(reader, json_get(root, "tasks"));
	expand_repeats(reader, root);
}
