/*
 * The commands of `proctor`: one table, from which dispatch, help and the test of the manual pages come.
 *
 * A command returns its exit code (docs/commands.md), or a negative errno with `error` set, which main.c
 * prints and turns into EXIT_REFUSED. It may also set `error` and return an exit code of its own.
 */
#ifndef TUI_COMMAND_H
#define TUI_COMMAND_H

#include "core/base/buffer.h"
#include "tui/option.h"

#include <proctor/error.h>

/* X(identifier, number, "meaning") */
#define EXITS(X) \
	X(EXIT_DONE, 0, "the command did its work; a round that finished, whatever the candidates scored") \
	X(EXIT_FAULT, 1, "it ran and found a fault") \
	X(EXIT_REFUSED, 2, "it refused, or could not judge") \
	X(EXIT_STOPPED, 3, "the owner stopped the round, or drained it") \
	X(EXIT_USAGE, 64, "the command line is wrong")

enum exit_code {
#define X(identifier, number, meaning) identifier = number,
	EXITS(X)
#undef X
};

struct command {
	const char *name;
	const char *words;		/* what is no option, as in a synopsis; "" for none */
	size_t words_min, words_max;
	unsigned options;		/* OPTION_BIT set; --help is taken by all */
	bool may_fault, may_be_stopped;	/* EXIT_FAULT, EXIT_STOPPED: the codes that not every command has */
	const char *summary;		/* a line, without a full stop */
	const char *description;	/* paragraphs, wrapped by hand at 78 columns */
	const char *examples;		/* a command line each, with what it does */
	int (*function)(const struct arguments *arguments, struct pr_error *error);
};

extern const struct command command_table[];
extern const size_t command_count;

/* NULL where there is none of that name; `ret_nearest` (or NULL) then gets the nearest one, or NULL. */
const struct command *command_find(const char *name, const char **ret_nearest);

/* "proctor run [--yes] ... [FILE]", in one line. */
int command_synopsis(const struct command *command, struct buffer *out);
bool command_exits_with(const struct command *command, enum exit_code code);
/* The page that --help prints. */
int command_help(const struct command *command, struct buffer *out);
/* The page of `proctor help`: what there is. */
int command_overview(struct buffer *out);

/* commands/ */
int command_run(const struct arguments *arguments, struct pr_error *error);
int command_watch(const struct arguments *arguments, struct pr_error *error);
int command_start(const struct arguments *arguments, struct pr_error *error);
int command_freeze(const struct arguments *arguments, struct pr_error *error);
int command_thaw(const struct arguments *arguments, struct pr_error *error);
int command_drain(const struct arguments *arguments, struct pr_error *error);
int command_stop(const struct arguments *arguments, struct pr_error *error);
int command_wait(const struct arguments *arguments, struct pr_error *error);
int command_list(const struct arguments *arguments, struct pr_error *error);
int command_check(const struct arguments *arguments, struct pr_error *error);
int command_sweep(const struct arguments *arguments, struct pr_error *error);
int command_print_help(const struct arguments *arguments, struct pr_error *error);

#endif
