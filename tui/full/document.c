/* Lines and their scrolling, see document.h. A line for which there is no memory is left out. */
#include "tui/full/document.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/full/glyphs.h"

#define BAR_COLUMNS 20
#define TAB_COLUMNS 8

static struct document_line *append(struct document *document, enum role role, const char *label)
{
	if (document->count == document->room) {
		size_t room = document->room ? document->room * 2 : 128;
		struct document_line *lines = room > DOCUMENT_LINES * 2 ? NULL : realloc(document->lines, room * sizeof *lines);
		if (!lines)
			return NULL;
		document->lines = lines;
		document->room = room;
	}
	if (document->count >= DOCUMENT_LINES)
		return NULL;
	struct document_line *line = &document->lines[document->count++];
	*line = (struct document_line){ .role = role, .indent = 2 };
	snprintf(line->label, sizeof line->label, "%s", label ? label : "");
	return line;
}

static void __attribute__((format(printf, 5, 0)))
vadd(struct document *document, enum role role, const char *label, int indent, const char *format, va_list arguments)
{
	struct document_line *line = append(document, role, label);
	if (!line)
		return;
	line->indent = indent;
	if (vasprintf(&line->text, format, arguments) < 0)
		line->text = NULL;
}

void document_heading(struct document *document, const char *format, ...)
{
	va_list arguments;
	if (document->count)
		append(document, ROLE_TEXT, NULL);
	va_start(arguments, format);
	vadd(document, ROLE_HEADING, NULL, 1, format, arguments);
	va_end(arguments);
}

void document_add(struct document *document, enum role role, const char *label, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vadd(document, role, label, 2, format, arguments);
	va_end(arguments);
}

void document_bar(struct document *document, const char *label, int64_t part, int64_t whole, const char *text)
{
	struct document_line *line = append(document, ROLE_TEXT, label);
	if (!line)
		return;
	line->part = part;
	line->whole = whole;
	line->text = strdup(text);
}

void document_bytes(struct document *document, enum role role, const char *bytes, size_t length)
{
	struct document_line *line = append(document, role, NULL);
	if (!line)
		return;
	/* More than this no screen shows in a line. */
	if (length > PR_SAFE_TEXT_BYTES)
		length = PR_SAFE_TEXT_BYTES;
	line->text = malloc(length * TAB_COLUMNS + 1);
	if (!line->text)
		return;
	size_t used = 0;
	for (size_t i = 0; i < length; i++) {
		/* A tab is to blanks, as far as bytes are columns; a NUL would end the text, and is no character either. */
		if (bytes[i] != '\t')
			line->text[used++] = bytes[i] ? bytes[i] : '\x01';
		else
			do
				line->text[used++] = ' ';
			while (used % TAB_COLUMNS);
	}
	line->text[used] = '\0';
}

void document_prose(struct document *document, enum role role, const char *label, const char *text, int columns,
		    enum pr_charset charset)
{
	int room = columns - 4 - (label ? DOCUMENT_LABEL : 0);
	if (room < 8)
		room = 8;
	while (*text) {
		size_t fits = 0, blank = 0;
		while (text[fits] && (int)fits < room) {
			if (text[fits] == ' ')
				blank = fits;
			fits++;
		}
		size_t length = text[fits] && text[fits] != ' ' && blank ? blank : fits;
		struct document_line *line = append(document, role, label);
		if (!line)
			return;
		line->text = strndup(text, length);
		/* The lines that follow stand below the text, not below the label. */
		if (label && !*label)
			line->indent = 2 + DOCUMENT_LABEL;
		if (label)
			label = "";
		text += length;
		text += strspn(text, " ");
	}
	(void)charset;
}

void document_release(struct document *document)
{
	for (size_t i = 0; i < document->count; i++)
		free(document->lines[i].text);
	free(document->lines);
	*document = (struct document){ 0 };
}

static void draw_line(const struct document_line *line, struct canvas *canvas, struct rect body, int row)
{
	struct pen pen = pen_at(canvas, body, row, ROLE_MUTED);
	pen.end -= 1;
	pen_to(&pen, body.x + line->indent);
	if (line->label[0]) {
		pen_text(&pen, line->label, DOCUMENT_LABEL - 1);
		pen_to(&pen, body.x + line->indent + DOCUMENT_LABEL);
	}
	if (line->whole > 0) {
		int columns = pen.end - pen.x > 3 * BAR_COLUMNS / 2 ? BAR_COLUMNS : (pen.end - pen.x) / 3;
		draw_bar(&pen, columns, line->part, line->whole, ROLE_BAR);
		pen_to(&pen, pen.x + 2);
	}
	pen.role = line->role;
	pen_text(&pen, line->text ? line->text : "", 0);
}

void document_draw(const struct document *document, struct screen *screen, struct canvas *canvas)
{
	struct rect body = screen->layout.areas[AREA_BODY];
	int *scroll = &screen->scroll[screen->view], most = (int)document->count - body.rows;
	if (*scroll > most || screen->follow[screen->view])
		*scroll = most;
	if (*scroll < 0)
		*scroll = 0;
	for (int row = 0; row < body.rows && (size_t)(row + *scroll) < document->count; row++)
		draw_line(&document->lines[row + *scroll], canvas, body, row);
	/* That there is more is said at the edge. */
	struct pen pen = pen_at(canvas, body, 0, ROLE_KEY);
	if (*scroll > 0)
		pen_right(&pen, ROLE_KEY, glyph(canvas->charset, GLYPH_UP));
	pen = pen_at(canvas, body, body.rows - 1, ROLE_KEY);
	if (*scroll < most)
		pen_right(&pen, ROLE_KEY, glyph(canvas->charset, GLYPH_DOWN));
}
