/*
 * The keys: one table, from which come the dispatch (keys_verb), the footer, the help page and the printed
 * cheat sheet (keys_sheet). A key that a terminal sends by an escape sequence always has a letter beside it.
 */
#ifndef TUI_FULL_KEYS_H
#define TUI_FULL_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"

/* What was pressed: a character, or one of these. */
enum press {
	PRESS_NONE = 0,
	PRESS_ENTER = '\r',
	PRESS_ESCAPE = 0x1b,
	PRESS_UP = 0x110000,
	PRESS_DOWN,
	PRESS_LEFT,
	PRESS_RIGHT,
	PRESS_PAGE_UP,
	PRESS_PAGE_DOWN,
	PRESS_HOME,
	PRESS_END,
	PRESS_UNKNOWN,		/* an escape sequence that means nothing to us: swallowed whole */
};

#define CONTROL(letter) ((letter) & 0x1f)

/* Where a key works. */
enum scope {
	SCOPE_TASKS = 1,
	SCOPE_TASK = 2,
	SCOPE_HELP = 4,
	SCOPE_GATE = 8,		/* while the round waits for its owner, in every view */
	SCOPE_LISTS = SCOPE_TASKS | SCOPE_TASK,
	SCOPE_ALL = SCOPE_TASKS | SCOPE_TASK | SCOPE_HELP,
};

/*
 * X(identifier, first press, second, third, "keys as shown", scope, steers the round, "footer", "help")
 * The footer shows the entries that have a word for it, in this order, as far as there is room.
 */
#define KEYS(X) \
	X(VERB_START, 'y', 0, 0, "y", SCOPE_GATE, true, "start", "start a round that waits at its gate") \
	X(VERB_OPEN, PRESS_ENTER, PRESS_RIGHT, 'l', "Enter l", SCOPE_TASKS, false, "task", "open the task; unfold or fold the queue") \
	X(VERB_ESCAPE, PRESS_ESCAPE, 0, 0, "Esc", SCOPE_ALL, false, "back", "thaws a round that is frozen; else back to the tasks") \
	X(VERB_BACK, PRESS_LEFT, 'h', 0, "h Left", SCOPE_TASK | SCOPE_HELP, false, "", "back to the tasks") \
	X(VERB_STOP, 'S', 0, 0, "S", SCOPE_ALL, true, "stop", "the stop key: freezes at once; S again stops the round, Esc thaws") \
	X(VERB_FREEZE, 'p', 0, 0, "p", SCOPE_ALL, true, "freeze", "freeze the round; thaw it") \
	X(VERB_STOP_TASK, 'x', 0, 0, "x", SCOPE_LISTS, true, "stop task", "stop this task (asks once); its evidence is kept") \
	X(VERB_DRAIN, 'D', 0, 0, "D", SCOPE_ALL, true, "drain", "finish what runs, start nothing more (asks once)") \
	X(VERB_HELP, '?', 0, 0, "?", SCOPE_ALL, false, "help", "keys, and what the words mean") \
	X(VERB_DETACH, 'd', 'q', 0, "d q", SCOPE_ALL, false, "detach", "leave the round alone and go; stops nothing") \
	X(VERB_NEXT, 'n', 0, 0, "n", SCOPE_LISTS, false, "next problem", "jump to the next task that did not pass") \
	X(VERB_UP, PRESS_UP, 'k', 0, "k Up", SCOPE_ALL, false, "", "up") \
	X(VERB_DOWN, PRESS_DOWN, 'j', 0, "j Down", SCOPE_ALL, false, "", "down") \
	X(VERB_PAGE_UP, PRESS_PAGE_UP, CONTROL('b'), 0, "Ctrl-B PgUp", SCOPE_ALL, false, "", "a page up") \
	X(VERB_PAGE_DOWN, PRESS_PAGE_DOWN, CONTROL('f'), ' ', "Space PgDn", SCOPE_ALL, false, "", "a page down") \
	X(VERB_FIRST, PRESS_HOME, 'g', 0, "g Home", SCOPE_ALL, false, "", "to the first line") \
	X(VERB_LAST, PRESS_END, 'G', 0, "G End", SCOPE_ALL, false, "", "to the last line") \
	X(VERB_TASKS, '3', 0, 0, "3", SCOPE_ALL, false, "", "the tasks") \
	X(VERB_THEME, 't', 0, 0, "t", SCOPE_ALL, false, "theme", "the next theme") \
	X(VERB_REPAINT, CONTROL('l'), 0, 0, "Ctrl-L", SCOPE_ALL, false, "", "paint everything again") \
	X(VERB_SUSPEND, CONTROL('z'), 0, 0, "Ctrl-Z", SCOPE_ALL, false, "", "put this program aside (fg brings it back); the round goes on") \
	X(VERB_INTERRUPT, CONTROL('c'), 0, 0, "Ctrl-C", SCOPE_ALL, false, "", "once says what the keys do; twice detaches")

enum verb {
#define X(identifier, first, second, third, shown, scope, steers, footer, help) identifier,
	KEYS(X)
#undef X
	VERB_COUNT,
	VERB_NONE = VERB_COUNT
};

#define KEY_PRESSES 3

struct key {
	int presses[KEY_PRESSES];	/* 0: none */
	const char *shown;
	unsigned scope;
	bool steers;			/* acts on the round: not for those who only look */
	const char *footer, *help;
};

extern const struct key key_table[VERB_COUNT];

/* What a press means where `scope` (bits) holds; VERB_NONE. */
enum verb keys_verb(int press, unsigned scope);

/* The cheat sheet, a key a line. */
int keys_sheet(struct buffer *out);

#endif
