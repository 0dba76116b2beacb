/*
 * The canvas: a grid of cells, each one printable character and a role. Views draw here; term.c compares a
 * canvas with the last one and tells the terminal what differs.
 *
 * Text gets in through pr_safe_text_from() alone, in canvas.c, and is clipped to its rectangle: whatever a
 * view is given, no cell holds anything but a printable character, and none lies outside of its column.
 * A character of two columns has width 2, and the cell after it width 0.
 */
#ifndef TUI_FULL_CANVAS_H
#define TUI_FULL_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "tui/full/roles.h"

#include <proctor/text.h>

#define CANVAS_COLUMNS_MAX 500	/* one safe text holds a line of them (PR_SAFE_TEXT_BYTES) */
#define CANVAS_ROWS_MAX 300

struct rect {
	int x, y, columns, rows;
};

struct cell {
	char bytes[5];		/* UTF-8, NUL-terminated; empty where width is 0 */
	uint8_t width;
	uint8_t role;		/* enum role */
};

struct canvas {
	int columns, rows;
	enum pr_charset charset;	/* PR_CHARSET_UTF8 or PR_CHARSET_ASCII */
	struct cell *cells;
};

#define CANVAS_INIT { 0, 0, PR_CHARSET_ASCII, NULL }

/* Makes it blank, in ROLE_TEXT. Sizes are cut to the bounds above. -ENOMEM. */
int canvas_reset(struct canvas *canvas, int columns, int rows, enum pr_charset charset);
void canvas_release(struct canvas *canvas);

struct cell *canvas_cell(const struct canvas *canvas, int x, int y);	/* inside */

bool canvas_equal(const struct canvas *one, const struct canvas *other);

/* Gives all cells of a rectangle a role. */
void canvas_role(struct canvas *canvas, struct rect rect, enum role role);

/* The rows as text, a line feed after each, without blanks at their ends. */
int canvas_text(const struct canvas *canvas, struct buffer *out);

/* A pen writes one line, from left to right, in a rectangle of one row. */
struct pen {
	struct canvas *canvas;
	int x, y, end;		/* `end`: the column after the last one */
	enum role role;
};

struct pen pen_at(struct canvas *canvas, struct rect rect, int row, enum role role);
/* At most `width` columns of a text from anywhere (0: to the end); what is cut ends in "...". */
void pen_text(struct pen *pen, const char *text, int width);
void pen_bytes(struct pen *pen, const char *bytes, size_t length, int width);
void pen_printf(struct pen *pen, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same from the right: `pen` ends left of it. Nothing is drawn where it does not fit. */
void pen_right(struct pen *pen, enum role role, const char *text);
void pen_to(struct pen *pen, int x);	/* never back */

/* How many columns a text takes when drawn. */
int text_columns(enum pr_charset charset, const char *text);

/*
 * Draws words over as many rows as they need, at most those of the rectangle. Returns the rows (at least 1);
 * with `canvas` NULL it only counts, in `charset`.
 */
int canvas_wrap(struct canvas *canvas, enum pr_charset charset, struct rect rect, enum role role, const char *text);

#endif
