/* The glyphs' table and what is drawn of them. Pure. */
#include "tui/full/glyphs.h"

static const struct {
	const char *utf8, *ascii;
} table[GLYPH_COUNT] = {
#define X(identifier, utf8, ascii) [identifier] = { utf8, ascii },
	GLYPHS(X)
#undef X
};

const char *glyph(enum pr_charset charset, enum glyph which)
{
	return charset == PR_CHARSET_UTF8 ? table[which].utf8 : table[which].ascii;
}

void draw_bar(struct pen *pen, int columns, int64_t part, int64_t whole, enum role used)
{
	enum pr_charset charset = pen->canvas->charset;
	enum role before = pen->role;
	/* In halves of a cell. What has begun shows, and only what is full looks full. */
	int64_t halves = whole > 0 && part > 0 ? (int64_t)((double)part / (double)whole * 2 * columns) : 0;
	if (whole > 0 && part > 0 && halves < 1)
		halves = 1;
	if (halves > 2 * columns)
		halves = 2 * columns;
	bool late = whole > 0 && part >= whole / 5 * 4;
	for (int at = 0; at < columns; at++) {
		bool full = halves >= 2 * (at + 1), half = !full && halves > 2 * at;
		/* Without half cells the begun one is drawn full. */
		bool filled = full || (half && charset != PR_CHARSET_UTF8);
		pen->role = !full && !half ? ROLE_BAR_REST : late ? ROLE_BAR_LATE : used;
		pen_text(pen, glyph(charset, filled ? GLYPH_BAR : half ? GLYPH_BAR_HALF : GLYPH_BAR_REST), 1);
	}
	pen->role = before;
}

void draw_rule(struct canvas *canvas, struct rect rect)
{
	if (rect.rows < 1)
		return;
	struct pen pen = pen_at(canvas, rect, 0, ROLE_RULE);
	while (pen.x < pen.end)
		pen_text(&pen, glyph(canvas->charset, GLYPH_RULE), 1);
}
