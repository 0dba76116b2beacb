/* proctor watch, wait: what only looks. */
#include "tui/command.h"

#include "tui/rounds.h"
#include "tui/show.h"

int command_watch(const struct arguments *arguments, struct pr_error *error)
{
	struct show_settings settings = { .role = SHOW_WATCHER, .control = argument_given(arguments, OPTION_CONTROL) };
	struct round_place place;
	if (display_from_name(arguments->values[OPTION_DISPLAY], &settings.display, error) < 0)
		return EXIT_USAGE;
	int r = rounds_resolve(arguments->word_count ? arguments->words[0] : NULL, &place, error);
	if (r < 0)
		return r;
	r = show_round(&place, &settings, error);
	/* Having shown it is the work, however the round ended. */
	return r == EXIT_STOPPED || (r == EXIT_REFUSED && !error->code) ? EXIT_DONE : r;
}

int command_wait(const struct arguments *arguments, struct pr_error *error)
{
	struct show_settings settings = { .role = SHOW_WATCHER, .display = DISPLAY_NONE };
	struct round_place place;
	int r = rounds_resolve(arguments->words[0], &place, error);
	return r < 0 ? r : show_round(&place, &settings, error);
}
