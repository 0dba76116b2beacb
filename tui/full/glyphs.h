/* The few characters of ours that differ between a UTF-8 terminal and any other; one table. */
#ifndef TUI_FULL_GLYPHS_H
#define TUI_FULL_GLYPHS_H

#include <proctor/model.h>
#include <proctor/text.h>

#include "tui/full/canvas.h"

/* X(identifier, "UTF-8", "ASCII"), each one column wide */
#define GLYPHS(X) \
	X(GLYPH_BAR, "\u2501", "#") \
	X(GLYPH_BAR_HALF, "\u2578", ".") \
	X(GLYPH_BAR_REST, "\u2500", ".") \
	X(GLYPH_RULE, "\u2500", "-") \
	X(GLYPH_SELECTED, "\u25b8", ">") \
	X(GLYPH_QUEUED, "\u00b7", ".") \
	X(GLYPH_RUNNING, "\u25cf", "*") \
	X(GLYPH_FROZEN, "\u25a0", "=") \
	X(GLYPH_PASS, "\u2713", "+") \
	X(GLYPH_FAIL, "\u2717", "x") \
	X(GLYPH_INVALID, "!", "!") \
	X(GLYPH_ERROR, "?", "?") \
	X(GLYPH_STOPPED, "\u25a1", "o") \
	X(GLYPH_UP, "\u2191", "^") \
	X(GLYPH_DOWN, "\u2193", "v")

enum glyph {
#define X(identifier, utf8, ascii) identifier,
	GLYPHS(X)
#undef X
	GLYPH_COUNT
};

const char *glyph(enum pr_charset charset, enum glyph which);

/* A bar of `columns` cells, filled by `part` of `whole` (nothing where `whole` is 0). */
void draw_bar(struct pen *pen, int columns, int64_t part, int64_t whole, enum role used);

void draw_rule(struct canvas *canvas, struct rect rect);

#endif
