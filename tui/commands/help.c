/* proctor help, and what --help and --version print. */
#include "tui/command.h"

#include "core/base/cleanup.h"
#include "tui/full/keys.h"
#include "tui/output.h"

int command_print_help(const struct arguments *arguments, struct pr_error *error)
{
	__attribute__((cleanup(output_release))) struct output output;
	output_init(&output, STDOUT_FILENO);
	const struct command *command = NULL;
	const char *nearest = NULL;
	bool keys = arguments->word_count && strcmp(arguments->words[0], "keys") == 0;
	if (arguments->word_count && !keys) {
		command = command_find(arguments->words[0], &nearest);
		if (!command) {
			pr_error_set(error, EINVAL, "unknown command %s", arguments->words[0]);
			pr_error_remedy(error, "proctor help%s%s", nearest ? " " : "", nearest ? nearest : "");
			return EXIT_USAGE;
		}
	}
	int r = keys ? keys_sheet(output_queue(&output)) : command ? command_help(command, output_queue(&output))
							 : command_overview(output_queue(&output));
	if (r >= 0)
		r = output_finish(&output);
	return r < 0 && r != -EPIPE ? pr_error_errno(error, -r, "printing the help") : EXIT_DONE;
}
