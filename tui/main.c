/*
 * proctor: the front. It finds the command, runs it, and prints the one error that came of it.
 *
 * The front executes nothing of a candidate's; it starts proctor-core and talks to it, and closing it in
 * whatever way never touches a round (unless the round was started --attached).
 */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "tui/command.h"
#include "tui/notice.h"

static int print_version(void)
{
	static const char version[] = "proctor " PROCTOR_VERSION "\n";
	int r = io_write_all(STDOUT_FILENO, version, sizeof version - 1);
	if (r >= 0 || r == -EPIPE)
		return EXIT_DONE;
	struct pr_error error = { 0 };
	pr_error_errno(&error, -r, "printing the version");
	notice_error(&error);
	return EXIT_REFUSED;
}

static int usage(struct pr_error *error, const struct command *command)
{
	if (!error->remedy[0])
		pr_error_remedy(error, "proctor help%s%s", command ? " " : "", command ? command->name : "");
	notice_error(error);
	return EXIT_USAGE;
}

/* proctor, and nothing more: what it takes, where errors go. */
static int no_command(void)
{
	_cleanup_buffer_ struct buffer words = BUFFER_INIT;
	if (command_overview(&words) >= 0)
		(void)io_write_all(STDERR_FILENO, words.data, words.length);
	return EXIT_USAGE;
}

static int unknown_command(const char *name, const char *nearest)
{
	struct pr_error error = { 0 };
	pr_error_set(&error, EINVAL, "unknown command %s", name);
	if (nearest)
		pr_error_remedy(&error, "proctor %s", nearest);
	return usage(&error, NULL);
}

/* What stands in place of a command: proctor --help, proctor --version. */
static int without_command(int count, char *const argv[])
{
	struct pr_error error = { 0 };
	struct arguments arguments = { 0 };
	if (option_parse(count, argv, OPTION_BIT(OPTION_HELP) | OPTION_BIT(OPTION_VERSION), 0, &arguments, &error) < 0)
		return usage(&error, NULL);
	if (argument_given(&arguments, OPTION_VERSION))
		return print_version();
	return command_print_help(&(struct arguments){ 0 }, &error);
}

static int run_command(const struct command *command, int count, char *const argv[])
{
	struct pr_error error = { 0 };
	struct arguments arguments = { 0 };
	if (option_parse(count, argv, command->options | OPTION_BIT(OPTION_HELP), command->words_max, &arguments, &error) < 0)
		return usage(&error, command);
	if (argument_given(&arguments, OPTION_HELP))
		return command_print_help(&(struct arguments){ .words = { command->name }, .word_count = 1 }, &error);
	if (arguments.word_count < command->words_min) {
		pr_error_set(&error, EINVAL, "%s needs %s: proctor %s %s", command->name, command->words, command->name, command->words);
		return usage(&error, command);
	}
	int r = command->function(&arguments, &error);
	if (r == EXIT_USAGE)
		return usage(&error, command);
	if (error.code)
		notice_error(&error);
	return r < 0 ? EXIT_REFUSED : r;
}

int main(int argc, char *argv[])
{
	io_take_standard_descriptors();
	/* A reader that goes away, or a full file, is an errno, not a death: the round is detached from in good order. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	setlocale(LC_CTYPE, "");
	if (argc < 2)
		return no_command();
	if (argv[1][0] == '-')
		return without_command(argc - 1, argv + 1);
	const char *nearest = NULL;
	const struct command *command = command_find(argv[1], &nearest);
	return command ? run_command(command, argc - 2, argv + 2) : unknown_command(argv[1], nearest);
}
