/*
 * A document: lines for a view that is read and scrolled, made anew for each frame. Texts are copied as they
 * come and made safe where they are drawn.
 */
#ifndef TUI_FULL_DOCUMENT_H
#define TUI_FULL_DOCUMENT_H

#include <stddef.h>
#include <stdint.h>

#include "tui/full/canvas.h"
#include "tui/full/screen.h"

#define DOCUMENT_LINES 6000		/* more are not shown, and it says so */
#define DOCUMENT_LABEL 18		/* columns of a label */

struct document_line {
	enum role role;
	int indent;
	char label[24];		/* empty: the text stands at the indent */
	int64_t part, whole;	/* of a bar before the text, where `whole` is not 0 */
	char *text;		/* owned */
};

struct document {
	struct document_line *lines;
	size_t count, room;
};

void document_heading(struct document *document, const char *format, ...) __attribute__((format(printf, 2, 3)));
void document_add(struct document *document, enum role role, const char *label, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void document_bar(struct document *document, const char *label, int64_t part, int64_t whole, const char *text);
/* A piece of untrusted text as one line; its tabs become blanks. */
void document_bytes(struct document *document, enum role role, const char *bytes, size_t length);
/* Words of ours that may take more than one line; `columns` is the width there is. */
void document_prose(struct document *document, enum role role, const char *label, const char *text, int columns,
		    enum pr_charset charset);
void document_release(struct document *document);

/* Draws what the view's scroll shows into the body, and bounds the scroll. */
void document_draw(const struct document *document, struct screen *screen, struct canvas *canvas);

#endif
