/*
 * Themes: what each role looks like (roles.h). A theme is a text file, NAME.theme, of lines
 *
 *     ROLE | FG BG [ATTRIBUTE...] | FG BG [ATTRIBUTE...] | ATTRIBUTE...
 *            16 colours             256 colours            mono
 *
 * where
 *
 *     FG, BG       -            the terminal's own
 *                  NAME         black red green yellow blue magenta cyan white, and bright-NAME of each
 *                  0 ... 255    the number in the palette of 256; in the part for 256 colours alone
 *     ATTRIBUTE    normal bold underline reverse; `normal` (alone) is none
 *
 * The part for 256 colours may be empty or left out: it is then that for 16. The mono part may be empty or
 * left out: it is then the role's own (roles.h). A line may be empty; from `#` on it is a comment. No role
 * may stand twice. A first line
 *
 *     inherit NAME
 *
 * begins with another theme (shipped, never a user's own) in place of the built-in one. A file that ships
 * with the program sets every role; a user's own may leave some out, which then stay as they were inherited.
 *
 * On a terminal of 8 colours bright-NAME is NAME, bold as a foreground. Where NO_COLOR is set and not empty,
 * or the terminal has fewer than 8 colours, the mono part counts.
 *
 * Which themes there are, in the order of the key `t`: the shipped ones (beside the program, themes_load),
 * `default` first. The user's own is $XDG_CONFIG_HOME/proctor/theme (~/.config/proctor/theme); where it is
 * there it is the first, under the name "own". A fault in a file is told as FILE:LINE: what; the file is
 * then passed over.
 */
#ifndef TUI_FULL_THEME_H
#define TUI_FULL_THEME_H

#include <stdbool.h>
#include <stddef.h>

#include <proctor/error.h>

#include "tui/full/roles.h"

#define THEME_FILE_MAX ((size_t)64 * 1024)	/* bytes; a longer file is refused */
#define THEMES_MAX 32

enum attribute {
	ATTRIBUTE_BOLD = 1,
	ATTRIBUTE_UNDERLINE = 2,
	ATTRIBUTE_REVERSE = 4,
};

struct style {
	int foreground, background;	/* -1: the terminal's own; 0 ... 15, in 256 colours 0 ... 255 */
	unsigned attributes;		/* enum attribute, or-ed */
};

enum theme_depth {
	THEME_MONO,			/* colours are -1 throughout */
	THEME_16,
	THEME_256,
	THEME_DEPTH_COUNT
};

struct theme {
	char name[64];
	struct style styles[THEME_DEPTH_COUNT][ROLE_COUNT];
	bool set[ROLE_COUNT];		/* by the file itself */
};

struct themes {
	struct theme *list;		/* owned; at least the built-in one */
	size_t count;
};

const char *role_name(enum role role);
/* -EINVAL for a name that is none. */
int role_from_name(const char *name);

/* The theme that roles.h describes, named "default". */
void theme_builtin(struct theme *ret_theme);

/*
 * Parses a theme; `file` is for the messages alone. `shipped` (may be NULL) is where `inherit` looks. Faults:
 * -EINVAL, and the message begins with FILE:LINE.
 */
int theme_parse(const char *file, const char *text, size_t length, const struct themes *shipped,
		struct theme *ret_theme, struct pr_error *error);

/* Reads a file; the name is that of the file without .theme. */
int theme_read(const char *path, const struct themes *shipped, struct theme *ret_theme, struct pr_error *error);

/*
 * All themes of a directory of *.theme files (NULL: the shipped ones) and the user's own. Always gives at
 * least the built-in one; `fault` (may be NULL) keeps the first file that was passed over, and why. -ENOMEM.
 */
int themes_load(const char *directory, struct themes *ret_themes, struct pr_error *fault);
void themes_release(struct themes *themes);

#endif
