/* proctor run, check, sweep: what needs proctor-core to be started. */
#include "tui/command.h"

#include "core/base/cleanup.h"
#include "tui/launch.h"
#include "tui/notice.h"
#include "tui/output.h"
#include "tui/rounds.h"
#include "tui/show.h"

/* What was shown before is not shown again; a log that cannot be read is the core's to complain of. */
static uint64_t events_so_far(const struct round_place *place)
{
	struct pr_model model = PR_MODEL_INIT;
	char head[DIGEST_HEX];
	uint64_t seq = round_fold(place, &model, head, NULL) >= 0 ? model.seq : 0;
	pr_model_release(&model);
	return seq;
}

/* A path as an argument of a core: one that begins with '-' is no option of its. */
static const char *file_for_core(const char *file, char *room, size_t size)
{
	if (file[0] != '-' || (size_t)snprintf(room, size, "./%s", file) >= size)
		return file;
	return room;
}

/* How a round is named to a core: by its full name, or by its path where it is not among the others. */
static const char *word_for_core(const struct round_place *place)
{
	return place->elsewhere ? place->dir : place->name;
}

static int check_words(const struct arguments *arguments, struct pr_error *error)
{
	bool resumes = argument_given(arguments, OPTION_RESUME);
	if (arguments->word_count == 0 && !resumes)
		pr_error_set(error, EINVAL, "run needs a round file: proctor run FILE");
	else if (arguments->word_count > 0 && resumes)
		pr_error_set(error, EINVAL, "--resume stands in place of FILE");
	else if (argument_given(arguments, OPTION_ATTACHED) && argument_given(arguments, OPTION_DETACH))
		pr_error_set(error, EINVAL, "--attached and --detach exclude each other");
	else
		return 0;
	return -EINVAL;
}

static int print_name(const struct announced *announced)
{
	__attribute__((cleanup(output_release))) struct output output;
	output_init(&output, STDOUT_FILENO);
	int r = buffer_printf(output_queue(&output), "%s\n", announced->round);
	return r < 0 ? r : output_finish(&output);
}

/* Says what a detached smoke round waits for; with the log as it stands, since nothing else is waited for. */
static void tell_of_gate(const struct round_place *place)
{
	struct pr_model model = PR_MODEL_INIT;
	char head[DIGEST_HEX];
	if (round_fold(place, &model, head, NULL) >= 0 && strcmp(model.kind, "smoke") == 0)
		notice("round %s is of kind smoke and waits for its owner: proctor start %s", place->name, place->name);
	pr_model_release(&model);
}

int command_run(const struct arguments *arguments, struct pr_error *error)
{
	struct show_settings settings = { .role = SHOW_STARTER, .control = true, .asks = !argument_given(arguments, OPTION_YES) };
	if (check_words(arguments, error) < 0 ||
	    display_from_name(arguments->values[OPTION_DISPLAY], &settings.display, error) < 0)
		return EXIT_USAGE;

	struct round_place place = { 0 };
	char file[4096];
	const char *words[5] = { "run" };
	size_t count = 1;
	int r = 0;
	if (argument_given(arguments, OPTION_RESUME)) {
		r = rounds_resolve(arguments->values[OPTION_RESUME], &place, error);
		words[count++] = "--resume";
		words[count++] = word_for_core(&place);
	} else {
		words[count++] = file_for_core(arguments->words[0], file, sizeof file);
	}
	if (r < 0)
		return r;
	if (argument_given(arguments, OPTION_RESUME))
		settings.quiet_until = events_so_far(&place);
	if (!settings.asks)
		words[count++] = "--yes";
	else if (!argument_given(arguments, OPTION_DETACH) && settings.display != DISPLAY_FULL && !show_can_ask())
		words[count++] = "--nobody";

	_cleanup_close_ int attached = -1;
	struct announced announced;
	bool is_attached = argument_given(arguments, OPTION_ATTACHED);
	r = launch_round(words, is_attached ? &attached : NULL, &announced, error);
	if (r != 0)
		return r;
	snprintf(place.name, sizeof place.name, "%s", announced.round);
	snprintf(place.dir, sizeof place.dir, "%s", announced.dir);
	if (is_attached)
		settings.role = SHOW_ATTACHED;
	if (!argument_given(arguments, OPTION_DETACH))
		return show_round(&place, &settings, error);
	if (settings.asks)
		tell_of_gate(&place);
	r = print_name(&announced);
	return r < 0 ? pr_error_errno(error, -r, "printing the name of round %s, which runs", place.name) : EXIT_DONE;
}

int command_check(const struct arguments *arguments, struct pr_error *error)
{
	char file[4096];
	const char *words[4] = { "check", file_for_core(arguments->words[0], file, sizeof file) };
	if (argument_given(arguments, OPTION_JSON))
		words[2] = "--json";
	return launch_and_wait(words, error);
}

int command_sweep(const struct arguments *arguments, struct pr_error *error)
{
	const char *words[4] = { "sweep" };
	size_t count = 1;
	if (argument_given(arguments, OPTION_DRY_RUN))
		words[count++] = "--dry-run";
	if (argument_given(arguments, OPTION_JSON))
		words[count++] = "--json";
	return launch_and_wait(words, error);
}
