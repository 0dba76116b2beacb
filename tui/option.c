/* The options' table and its parser. Owns nothing; called by main.c; prints nothing. */
#include "tui/option.h"

#include "core/base/cleanup.h"
#include "tui/nearest.h"

const struct option_entry option_table[OPTION_COUNT] = {
#define X(identifier, name, letter, argument, summary) [identifier] = { name, letter, argument, summary },
	OPTIONS(X)
#undef X
};

struct parser {
	int count;
	char *const *argv;
	int at;			/* the argument being read */
	unsigned allowed;
	struct arguments result;
};

/* Sets an option; its argument is `attached` (after "=" or the letter) or the next word. */
static int take_option(struct parser *parser, enum option option, const char *attached, struct pr_error *error)
{
	const struct option_entry *entry = &option_table[option];
	if (!entry->argument) {
		if (attached)
			return pr_error_set(error, EINVAL, "--%s takes no argument", entry->name);
		parser->result.set |= OPTION_BIT(option);
		return 0;
	}
	const char *value = attached;
	if (!value && parser->at + 1 < parser->count)
		value = parser->argv[++parser->at];
	if (!value || !value[0])
		return pr_error_set(error, EINVAL, "--%s needs an argument: --%s %s", entry->name, entry->name, entry->argument);
	parser->result.set |= OPTION_BIT(option);
	parser->result.values[option] = value;
	return 0;
}

static int parse_long(struct parser *parser, const char *text, struct pr_error *error)
{
	const char *equals = strchr(text, '=');
	size_t length = equals ? (size_t)(equals - text) : strlen(text);
	struct nearest nearest = NEAREST_INIT;
	char name[64];

	snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : (int)sizeof name - 1, text);
	for (enum option option = 0; option < OPTION_COUNT; option++) {
		if (!(parser->allowed & OPTION_BIT(option)))
			continue;
		if (strcmp(name, option_table[option].name) == 0)
			return take_option(parser, option, equals ? equals + 1 : NULL, error);
		nearest_offer(&nearest, name, option_table[option].name);
	}
	pr_error_set(error, EINVAL, "unknown option --%s", name);
	return nearest.name ? pr_error_remedy(error, "--%s", nearest.name) : -EINVAL;
}

/* "-yd" is "-y -d"; the rest after a letter that takes an argument is that argument. */
static int parse_short(struct parser *parser, const char *letters, struct pr_error *error)
{
	for (; *letters; letters++) {
		enum option option = 0;
		while (option < OPTION_COUNT &&
		       !((parser->allowed & OPTION_BIT(option)) && option_table[option].letter == *letters))
			option++;
		if (option == OPTION_COUNT)
			return pr_error_set(error, EINVAL, "unknown option -%c", *letters);
		bool rest = option_table[option].argument && letters[1];
		int r = take_option(parser, option, rest ? letters + 1 : NULL, error);
		if (r < 0 || rest)
			return r;
	}
	return 0;
}

int option_parse(int count, char *const argv[], unsigned allowed, size_t words_max, struct arguments *ret_arguments,
		 struct pr_error *error)
{
	struct parser parser = { .count = count, .argv = argv, .allowed = allowed };
	bool options_end = false;

	for (; parser.at < count; parser.at++) {
		const char *text = argv[parser.at];
		int r = 0;
		if (!options_end && strcmp(text, "--") == 0) {
			options_end = true;
		} else if (!options_end && text[0] == '-' && text[1] == '-') {
			r = parse_long(&parser, text + 2, error);
		} else if (!options_end && text[0] == '-' && text[1]) {
			r = parse_short(&parser, text + 1, error);
		} else {
			if (parser.result.word_count == words_max || parser.result.word_count == ARGUMENT_WORDS)
				return pr_error_set(error, EINVAL, "one argument too many: %s", text);
			parser.result.words[parser.result.word_count++] = text;
		}
		if (r < 0)
			return r;
	}
	*ret_arguments = parser.result;
	return 0;
}
