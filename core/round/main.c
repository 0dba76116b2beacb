/*
 * proctor-core: the verbs check, sweep and run. Errors are printed here and nowhere else; exit codes are those of
 * formats: 0 done, 2 refused, 3 stopped by the owner, 64 usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/record/jsonc.h"
#include "core/round/compile.h"
#include "core/round/file.h"
#include "core/round/leftovers.h"
#include "core/round/round.h"
#include "core/round/subject.h"
#include "core/round/value.h"
#include <proctor/text.h>

#define PROGRAM "proctor-core"
/* What a round was seen to need, by trying less: pipes, boundaries and their cgroups, the log. */
#define DESCRIPTORS 40
#define DESCRIPTORS_A_TASK 12

static const char usage_text[] =
	"usage: proctor-core check FILE [--json]\n"
	"       proctor-core sweep [--dry-run] [--json]\n"
	"       proctor-core run FILE [--yes | --nobody] [--announce FD] [--attached FD]\n"
	"       proctor-core run --resume ROUND [--yes | --nobody] [--announce FD] [--attached FD]\n";

static int usage(void)
{
	fputs(usage_text, stderr);
	return EXIT_USAGE;
}

static int say_error(const struct pr_error *error)
{
	struct pr_safe_text text;
	pr_safe_text_from(&text, error->message, strlen(error->message), 0, PR_CHARSET_UTF8);
	fprintf(stderr, "%s: %s\n", PROGRAM, pr_safe_text_str(&text));
	pr_safe_text_from(&text, error->remedy, strlen(error->remedy), 0, PR_CHARSET_UTF8);
	if (error->remedy[0])
		fprintf(stderr, "  try: %s\n", pr_safe_text_str(&text));
	else if (error->code == EMFILE || error->code == ENFILE)
		fprintf(stderr, "  try: allow more open files: ulimit -n 1024\n");
	return EXIT_REFUSED;
}

/* ------- check ------- */

static void print_faults_json(const struct faults *faults, const char *file, const struct pr_error *error)
{
	_cleanup_jsonc_ struct json_object *object = json_object_new_object();
	_cleanup_buffer_ struct buffer line = BUFFER_INIT;
	struct json_object *array = json_object_new_array();
	for (size_t i = 0; i < faults_kept(faults); i++) {
		struct json_object *one = json_object_new_object();
		set_number(one, "line", faults->items[i].at.line);
		set_number(one, "column", faults->items[i].at.column);
		set_text(one, "message", faults->items[i].text);
		json_object_array_add(array, one);
	}
	if (faults->count == 0) {
		struct json_object *one = json_object_new_object();
		set_text(one, "message", error->message);
		json_object_array_add(array, one);
	}
	set_truth(object, "ok", false);
	set_text(object, "file", file);
	set_value(object, "faults", array);
	if (jsonc_write(object, &line) >= 0)
		puts(line.data);
}

static int say_faults(const struct faults *faults, const char *file, const struct pr_error *error, bool json)
{
	if (json)
		print_faults_json(faults, file, error);
	else if (faults->count > 0)
		faults_print(faults, file, stderr);
	else
		return say_error(error);
	return EXIT_REFUSED;
}

static size_t count_tests(const struct round_spec *spec)
{
	size_t tests = 0;
	for (size_t i = 0; i < spec->task_count; i++)
		tests += spec->tasks[i].test_count;
	return tests;
}

static void print_summary(const struct round_spec *spec, const char *file, bool json)
{
	const char *kind = spec->kind == ROUND_BASELINE ? "baseline" : "smoke";
	if (!json) {
		char agent_clock[VALUE_DURATION], tests_clock[VALUE_DURATION];
		struct pr_safe_text name, agent;
		pr_safe_text_from(&name, file, strlen(file), 0, PR_CHARSET_UTF8);
		pr_safe_text_from(&agent, spec->agent.name, strlen(spec->agent.name), 200, PR_CHARSET_UTF8);
		printf("%s: ok: round %s (%s), %zu task%s, %zu test command%s, %u at a time, agent %s; at most %s for the agent and %s for each test\n",
		       pr_safe_text_str(&name), spec->name, kind, spec->task_count, spec->task_count == 1 ? "" : "s", count_tests(spec),
		       count_tests(spec) == 1 ? "" : "s", spec->parallel, pr_safe_text_str(&agent),
		       value_duration_words(spec->budget.wall_clock_ns, agent_clock),
		       value_duration_words(spec->budget.tests_wall_clock_ns, tests_clock));
		return;
	}
	_cleanup_jsonc_ struct json_object *object = json_object_new_object();
	_cleanup_buffer_ struct buffer line = BUFFER_INIT;
	set_truth(object, "ok", true);
	set_text(object, "file", file);
	set_text(object, "round", spec->name);
	set_text(object, "kind", kind);
	set_number(object, "tasks", (int64_t)spec->task_count);
	set_number(object, "tests", (int64_t)count_tests(spec));
	set_number(object, "parallel", spec->parallel);
	set_text(object, "agent", spec->agent.name);
	set_value(object, "faults", json_object_new_array());
	if (jsonc_write(object, &line) >= 0)
		puts(line.data);
}

/* Subjects are read into a store of their own, which is thrown away. */
static int check_subjects(struct round_spec *spec, const bool *wanted, struct faults *faults, struct pr_error *error)
{
	struct round_directory directory = ROUND_DIRECTORY_NONE;
	char path[PATH_MAX + 32];
	struct store *store = NULL;
	struct subjects subjects = { 0 };

	int r = directory_make_scratch(&directory, error);
	if (r < 0)
		return r;
	snprintf(path, sizeof path, "%s/store.git", directory.path);
	r = store_open(path, &store, error);
	if (r >= 0)
		r = subjects_read(&subjects, store, spec, wanted, faults, error);
	subjects_release(&subjects);
	store_free(store);
	directory_discard(&directory);
	return r;
}

/* All faults at once: where the file has some, those of its subjects are told with them, as far as it names them. */
static void add_subject_faults(struct round_spec *spec, struct faults *faults)
{
	_cleanup_free_ bool *wanted = calloc(spec->task_count, sizeof *wanted);
	struct stat status;

	for (size_t i = 0; wanted && i < spec->task_count; i++) {
		const struct task_spec *task = &spec->tasks[i];
		wanted[i] = task->place && stat(task->place, &status) == 0 && S_ISDIR(status.st_mode);
	}
	if (wanted)
		(void)check_subjects(spec, wanted, faults, NULL);
}

/* The file, and its subjects too where that is all that is asked for or where there are faults already. */
static int read_file(const char *file, bool subjects, struct round_spec *spec, struct faults *faults, struct pr_error *error)
{
	int r = round_file_read(file, 0, spec, faults, error);
	if (r == -EBADMSG)
		add_subject_faults(spec, faults);
	return r < 0 || !subjects ? r : check_subjects(spec, NULL, faults, error);
}

/* What was printed is there, or it is said that it is not. */
static int end_output(void)
{
	if (fflush(stdout) == 0)
		return EXIT_FINE;
	struct pr_error error = { 0 };
	pr_error_errno(&error, errno, "writing to standard output");
	return say_error(&error);
}

static int check(const char *file, bool json)
{
	struct round_spec spec = { 0 };
	struct faults faults = { .pool = &spec.pool };
	struct pr_error error = { 0 };

	int r = read_file(file, true, &spec, &faults, &error);
	int code = EXIT_FINE;
	if (r < 0)
		code = say_faults(&faults, file, &error, json);
	else
		print_summary(&spec, file, json);
	pool_release(&spec.pool);
	return code == EXIT_FINE ? end_output() : code;
}

/* ------- sweep ------- */

static int sweep(bool dry_run, bool json)
{
	struct pr_error error = { 0 };
	int r = leftovers_sweep(dry_run, json, &error);
	if (r < 0)
		return say_error(&error);
	int code = end_output();
	return code == EXIT_FINE && r > 0 ? EXIT_FAULT : code;
}

/* ------- run ------- */

static int open_store(struct engine *engine, struct pr_error *error)
{
	char path[PATH_MAX + 32];
	snprintf(path, sizeof path, "%s/episodes.git", engine->directory.path);
	return store_open(path, &engine->store, error);
}

static int write_compiled(struct engine *engine, struct pr_error *error)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	int r = compile_round(&engine->spec, &text);
	if (r < 0)
		return pr_error_errno(error, -r, "compiling the round");
	return io_replace_file(engine->directory.fd, "round.json", text.data, text.length, 0600, error);
}

/* With fewer descriptors a start or a task breaks off in its middle: better said before either begins. */
static int take_descriptors(unsigned tasks, struct pr_error *error)
{
	struct rlimit limit;
	rlim_t wanted = DESCRIPTORS + (rlim_t)DESCRIPTORS_A_TASK * tasks;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
		return 0;
	if (limit.rlim_max < wanted) {
		pr_error_set(error, EMFILE, "%lu open files are allowed here; %u task%s at a time need%s %lu", (unsigned long)limit.rlim_max,
			     tasks, tasks == 1 ? "" : "s", tasks == 1 ? "s" : "", (unsigned long)wanted);
		return pr_error_remedy(error, "ulimit -n %lu, or a lower `parallel` in the round file", (unsigned long)wanted);
	}
	limit.rlim_cur = wanted;
	return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? pr_error_errno(error, errno, "allowing %lu open files", (unsigned long)wanted) : 0;
}

/* A round that would wait for its owner, where there is none to answer. */
static int check_gate(const struct round_spec *spec, const struct round_options *options, const char *what, const char *again,
		      struct pr_error *error)
{
	if (spec->kind != ROUND_SMOKE || options->yes || !options->nobody)
		return 0;
	pr_error_set(error, EPERM, "%s is of kind smoke and asks before it starts; there is no terminal to ask on", what);
	return pr_error_remedy(error, "proctor run %s%s --yes (or --detach, and proctor start when it may begin)", again, what);
}

/* Everything that can be refused is refused before the directory has its name. */
static int make_round(struct engine *engine, const char *file, const struct round_options *options, struct faults *faults,
		      struct pr_error *error)
{
	int r = read_file(file, false, &engine->spec, faults, error);
	if (r >= 0)
		r = check_gate(&engine->spec, options, file, "", error);
	if (r >= 0)
		r = take_descriptors(engine->spec.parallel, error);
	if (r < 0)
		return r;
	r = directory_make(engine->spec.name, &engine->directory, error);
	if (r < 0)
		return r;
	r = open_store(engine, error);
	if (r >= 0)
		r = subjects_read(&engine->subjects, engine->store, &engine->spec, NULL, faults, error);
	if (r >= 0)
		r = write_compiled(engine, error);
	store_free(engine->store);	/* it knows its path, which changes now */
	engine->store = NULL;
	if (r >= 0)
		r = directory_publish(engine->spec.name, &engine->directory, error);
	if (r < 0) {
		if (error->remedy[0] == '\0' && (error->code == ENOSPC || error->code == EDQUOT))
			pr_error_remedy(error, "free some space there, or set XDG_STATE_HOME to a place that has some");
		directory_discard(&engine->directory);
		return r;
	}
	return open_store(engine, error);
}

/* Subjects of tasks whose verdict stands are not read again. */
static int read_wanted_subjects(struct engine *engine, struct faults *faults, struct pr_error *error)
{
	struct journal journal;
	_cleanup_free_ bool *wanted = calloc(engine->spec.task_count, sizeof *wanted);
	if (!wanted)
		return pr_error_errno(error, ENOMEM, "resuming");
	int r = journal_open(&journal, &engine->directory, error);
	if (r < 0)
		return r;
	for (size_t i = 0; i < engine->spec.task_count; i++) {
		const struct pr_task *task = pr_model_task(&journal.model, engine->spec.tasks[i].id);
		wanted[i] = !task || task->verdict == PR_VERDICT_NONE || task->verdict == PR_VERDICT_STOPPED;
	}
	journal_release(&journal);
	return subjects_read(&engine->subjects, engine->store, &engine->spec, wanted, faults, error);
}

static int take_up_round(struct engine *engine, const char *round, const struct round_options *options,
			 struct faults *faults, struct pr_error *error)
{
	char path[PATH_MAX + 32];
	int r = directory_open(round, &engine->directory, error);
	if (r < 0)
		return r;
	snprintf(path, sizeof path, "%s/round.json", engine->directory.path);
	r = round_file_read(path, ROUND_FILE_COMPILED, &engine->spec, faults, error);
	if (r >= 0)
		r = check_gate(&engine->spec, options, engine->directory.name, "--resume ", error);
	if (r >= 0)
		r = take_descriptors(engine->spec.parallel, error);
	if (r >= 0)
		r = open_store(engine, error);
	if (r >= 0)
		r = read_wanted_subjects(engine, faults, error);
	if (r >= 0 && directory_reserve(&engine->directory) < 0)
		fprintf(stderr, "%s: no space can be reserved in %s\n", PROGRAM, engine->directory.path);
	return r;
}

static int run(const char *file, const char *resume, const struct round_options *options)
{
	struct engine engine = { .directory = ROUND_DIRECTORY_NONE };
	struct faults faults = { .pool = &engine.spec.pool };
	struct pr_error error = { 0 };

	int r = resume ? take_up_round(&engine, resume, options, &faults, &error)
		       : make_round(&engine, file, options, &faults, &error);
	if (r < 0) {
		int code = say_faults(&faults, resume ? resume : file, &error, false);
		subjects_release(&engine.subjects);
		store_free(engine.store);
		directory_release(&engine.directory);
		pool_release(&engine.spec.pool);
		return code;
	}
	r = round_serve(&engine, options, &error);
	if (r < 0 || (r == EXIT_REFUSED && error.message[0]))
		return say_error(&error);
	return r;
}

/* ------- arguments ------- */

static int read_fd(const char *text, int *ret_fd)
{
	char *end;
	errno = 0;
	long fd = strtol(text, &end, 10);
	if (errno || *end || end == text || fd < 0 || fd > 1 << 20 || fcntl((int)fd, F_GETFD) < 0)
		return -EBADF;
	/* It was inherited; the worker is not to have it. */
	(void)fcntl((int)fd, F_SETFD, FD_CLOEXEC);
	*ret_fd = (int)fd;
	return 0;
}

enum { OPTION_JSON = 256, OPTION_YES, OPTION_NOBODY, OPTION_ANNOUNCE, OPTION_ATTACHED, OPTION_RESUME, OPTION_DRY_RUN };

static const struct option long_options[] = {
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "yes", no_argument, NULL, OPTION_YES },
	{ "nobody", no_argument, NULL, OPTION_NOBODY },
	{ "announce", required_argument, NULL, OPTION_ANNOUNCE },
	{ "attached", required_argument, NULL, OPTION_ATTACHED },
	{ "resume", required_argument, NULL, OPTION_RESUME },
	{ "dry-run", no_argument, NULL, OPTION_DRY_RUN },
	{ 0 },
};

int main(int argc, char **argv)
{
	struct round_options options = { .announce_fd = -1, .attached_fd = -1 };
	const char *resume = NULL;
	bool json = false, dry_run = false;

	io_take_standard_descriptors();
	/* Modes are said where they matter; what a candidate finds must not hang on the owner's shell. */
	umask(022);
	/* A limit on file sizes is an errno, not a death. */
	signal(SIGXFSZ, SIG_IGN);
	for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
		int r = 0;
		switch (option) {
		case OPTION_JSON:
			json = true;
			break;
		case OPTION_DRY_RUN:
			dry_run = true;
			break;
		case OPTION_YES:
			options.yes = true;
			break;
		case OPTION_NOBODY:
			options.nobody = true;
			break;
		case OPTION_ANNOUNCE:
			r = read_fd(optarg, &options.announce_fd);
			break;
		case OPTION_ATTACHED:
			r = read_fd(optarg, &options.attached_fd);
			break;
		case OPTION_RESUME:
			resume = optarg;
			options.resumed = true;
			break;
		default:
			return usage();
		}
		if (r < 0) {
			fprintf(stderr, "%s: %s is no open descriptor\n", PROGRAM, optarg);
			return usage();
		}
	}
	int words = argc - optind;
	const char *verb = words > 0 ? argv[optind] : "", *file = words > 1 ? argv[optind + 1] : NULL;
	if (strcmp(verb, "check") == 0 && words == 2)
		return check(file, json);
	if (strcmp(verb, "sweep") == 0 && words == 1)
		return sweep(dry_run, json);
	if (strcmp(verb, "run") == 0 && words == (resume ? 1 : 2))
		return run(file, resume, &options);
	return usage();
}
