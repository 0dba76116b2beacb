/* The table of keys.h. Pure. */
#include "tui/full/keys.h"

const struct key key_table[VERB_COUNT] = {
#define X(identifier, first, second, third, shown, scope, steers, footer, help) \
	[identifier] = { { first, second, third }, shown, scope, steers, footer, help },
	KEYS(X)
#undef X
};

enum verb keys_verb(int press, unsigned scope)
{
	/* Return is a carriage return or a line feed, as the terminal has it. */
	if (press == '\n')
		press = PRESS_ENTER;
	for (enum verb verb = 0; verb < VERB_COUNT; verb++)
		for (size_t i = 0; i < KEY_PRESSES; i++)
			if (press != PRESS_NONE && key_table[verb].presses[i] == press && (key_table[verb].scope & scope))
				return verb;
	return VERB_NONE;
}

int keys_sheet(struct buffer *out)
{
	int r = 0;
	for (enum verb verb = 0; verb < VERB_COUNT && r >= 0; verb++)
		r = buffer_printf(out, "  %-11s  %s\n", key_table[verb].shown, key_table[verb].help);
	return r;
}
