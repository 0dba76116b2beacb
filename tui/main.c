/*
 * proctor: the front. It finds the command, runs it, and prints the one error that came of it.
 *
 * The front executes nothing of a candidate's; it starts proctor-core and talks to it, and closing it in
 * whatever way never touches a round (unless the round was started --attached).
 */
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "tui/command.h"
#include "tui/notice.h"

/* Descriptors 0 to 2 must be taken, or the next file that is opened becomes standard output. */
static void fill_standard_descriptors(void)
{
	int fd;
	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static int print_version(void)
{
	static const char version[] = "proctor " PROCTOR_VERSION "\n";
	int r = io_write_all(STDOUT_FILENO, version, sizeof version - 1);
	return r < 0 && r != -EPIPE ? EXIT_REFUSED : EXIT_DONE;
}

static int usage(struct pr_error *error, const struct command *command)
{
	notice_error(error);
	if (!error->remedy[0])
		notice("proctor help%s%s says what it takes", command ? " " : "", command ? command->name : "");
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
	fill_standard_descriptors();
	/* A reader that goes away is an errno, not a death: the round is detached from in good order. */
	signal(SIGPIPE, SIG_IGN);
	setlocale(LC_CTYPE, "");
	if (argc < 2) {
		command_print_help(&(struct arguments){ 0 }, NULL);
		return EXIT_USAGE;
	}
	if (argv[1][0] == '-')
		return without_command(argc - 1, argv + 1);
	const char *nearest = NULL;
	const struct command *command = command_find(argv[1], &nearest);
	return command ? run_command(command, argc - 2, argv + 2) : unknown_command(argv[1], nearest);
}
