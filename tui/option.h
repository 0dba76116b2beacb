/*
 * The options of every command: one table, from which parsing, --help and the synopsis of the manual
 * pages come (tests/unit/test_tui_manual.c compares the pages with it).
 *
 * An option has one meaning wherever it is taken; a command (command.h) names those that it takes as a
 * bit set. Parsed arguments point into argv and own nothing.
 */
#ifndef TUI_OPTION_H
#define TUI_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#include <proctor/error.h>

/* X(identifier, "long name", 'short name' or 0, "ARGUMENT" or NULL, "summary") */
#define OPTIONS(X) \
	X(OPTION_YES, "yes", 'y', NULL, "open the gate of a smoke round without asking") \
	X(OPTION_ATTACHED, "attached", 0, NULL, "end the round with this command, however it ends (for CI)") \
	X(OPTION_DETACH, "detach", 'd', NULL, "print the round's name once it can be reached, and return") \
	X(OPTION_DISPLAY, "display", 0, "full|plain|json|auto", "a screen, a line an edge, or the events as JSON") \
	X(OPTION_CONTROL, "control", 0, NULL, "let the keys of the screen act on the round") \
	X(OPTION_RESUME, "resume", 0, "ROUND", "go on with a round that was cut short, in place of FILE") \
	X(OPTION_TASK, "task", 't', "TASK", "this task alone") \
	X(OPTION_DRY_RUN, "dry-run", 'n', NULL, "say what would be done, and do nothing") \
	X(OPTION_JSON, "json", 0, NULL, "print JSON") \
	X(OPTION_HELP, "help", 'h', NULL, "print what the command does and takes") \
	X(OPTION_VERSION, "version", 'V', NULL, "print the version")

enum option {
#define X(identifier, name, letter, argument, summary) identifier,
	OPTIONS(X)
#undef X
	OPTION_COUNT
};

#define OPTION_BIT(option) (1u << (option))

struct option_entry {
	const char *name;
	char letter;		/* 0: no short form */
	const char *argument;	/* NULL: takes none */
	const char *summary;
};

extern const struct option_entry option_table[OPTION_COUNT];

#define ARGUMENT_WORDS 8	/* more words than any command takes */

struct arguments {
	unsigned set;				/* OPTION_BIT of each option that was given */
	const char *values[OPTION_COUNT];	/* the argument of an option that takes one */
	const char *words[ARGUMENT_WORDS];	/* what is no option, in order */
	size_t word_count;
};

static inline bool argument_given(const struct arguments *arguments, enum option option)
{
	return arguments->set & OPTION_BIT(option);
}

/*
 * Parses argv[0..count) for a command that takes `allowed` options and at most `words_max` words.
 * -EINVAL with a message that names the nearest option where one is unknown. `--` ends the options.
 */
int option_parse(int count, char *const argv[], unsigned allowed, size_t words_max, struct arguments *ret_arguments,
		 struct pr_error *error);

#endif
