/* The cells of canvas.h. Owns the grid; knows nothing of views, themes or terminals. */
#include "tui/full/canvas.h"

#include <stdarg.h>
#include <string.h>
#include <wchar.h>

#include "core/base/cleanup.h"

static int at_most(int number, int most)
{
	return number < most ? number : most;
}

static void blank(struct cell *cell, enum role role)
{
	*cell = (struct cell){ .bytes = " ", .width = 1, .role = (uint8_t)role };
}

int canvas_reset(struct canvas *canvas, int columns, int rows, enum pr_charset charset)
{
	columns = at_most(columns < 1 ? 1 : columns, CANVAS_COLUMNS_MAX);
	rows = at_most(rows < 1 ? 1 : rows, CANVAS_ROWS_MAX);
	if (columns != canvas->columns || rows != canvas->rows) {
		struct cell *cells = calloc((size_t)columns * (size_t)rows, sizeof *cells);
		if (!cells)
			return -ENOMEM;
		free(canvas->cells);
		canvas->cells = cells;
		canvas->columns = columns;
		canvas->rows = rows;
	}
	canvas->charset = charset;
	for (int i = 0; i < columns * rows; i++)
		blank(&canvas->cells[i], ROLE_TEXT);
	return 0;
}

void canvas_release(struct canvas *canvas)
{
	free(canvas->cells);
	*canvas = (struct canvas)CANVAS_INIT;
}

struct cell *canvas_cell(const struct canvas *canvas, int x, int y)
{
	return &canvas->cells[(size_t)y * (size_t)canvas->columns + (size_t)x];
}

bool canvas_equal(const struct canvas *one, const struct canvas *other)
{
	return one->columns == other->columns && one->rows == other->rows && one->cells &&
	       memcmp(one->cells, other->cells, (size_t)one->columns * (size_t)one->rows * sizeof *one->cells) == 0;
}

void canvas_role(struct canvas *canvas, struct rect rect, enum role role)
{
	for (int y = rect.y; y < rect.y + rect.rows && y < canvas->rows; y++)
		for (int x = rect.x; x < rect.x + rect.columns && x < canvas->columns; x++)
			canvas_cell(canvas, x, y)->role = (uint8_t)role;
}

int canvas_text(const struct canvas *canvas, struct buffer *out)
{
	int r = 0;
	for (int y = 0; y < canvas->rows && r >= 0; y++) {
		int end = canvas->columns;
		while (end > 0 && strcmp(canvas_cell(canvas, end - 1, y)->bytes, " ") == 0)
			end--;
		for (int x = 0; x < end && r >= 0; x++)
			r = buffer_add_text(out, canvas_cell(canvas, x, y)->bytes);
		if (r >= 0)
			r = buffer_add_byte(out, '\n');
	}
	return r;
}

struct pen pen_at(struct canvas *canvas, struct rect rect, int row, enum role role)
{
	struct pen pen = { .canvas = canvas, .x = rect.x, .y = rect.y + row, .end = rect.x + rect.columns, .role = role };
	if (pen.end > canvas->columns)
		pen.end = canvas->columns;
	if (row < 0 || row >= rect.rows || pen.y < 0 || pen.y >= canvas->rows)
		pen.end = pen.x;
	return pen;
}

/* The bytes of the character at `text`, which is valid UTF-8. */
static size_t character_length(const char *text)
{
	unsigned char first = (unsigned char)text[0];
	return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/*
 * What of safe text is wider than one column is so by the same wcwidth(3) that measured it; it is asked under
 * the same locale by making a safe text of that one character.
 */
static int character_width(enum pr_charset charset, const char *text, size_t length)
{
	if (length == 1)
		return 1;
	struct pr_safe_text one;
	pr_safe_text_from(&one, text, length, 0, charset);
	return (int)pr_safe_text_width(&one);
}

static void put(struct pen *pen, const char *bytes, size_t length, int width)
{
	struct cell *cell = canvas_cell(pen->canvas, pen->x, pen->y);
	*cell = (struct cell){ .width = (uint8_t)width, .role = (uint8_t)pen->role };
	memcpy(cell->bytes, bytes, length);
	if (width == 2)
		cell[1] = (struct cell){ .width = 0, .role = (uint8_t)pen->role };
	pen->x += width;
}

static void put_safe(struct pen *pen, const struct pr_safe_text *safe)
{
	const char *text = pr_safe_text_str(safe);
	while (*text) {
		size_t length = character_length(text);
		int width = character_width(pen->canvas->charset, text, length);
		if (width < 1 || width > 2 || pen->x + width > pen->end)
			return;
		put(pen, text, length, width);
		text += length;
	}
}

void pen_bytes(struct pen *pen, const char *bytes, size_t length, int width)
{
	int room = pen->end - pen->x;
	if (room <= 0)
		return;
	if (width <= 0 || width > room)
		width = room;
	struct pr_safe_text safe;
	pr_safe_text_from(&safe, bytes, length, (unsigned)width, pen->canvas->charset);
	put_safe(pen, &safe);
}

void pen_text(struct pen *pen, const char *text, int width)
{
	pen_bytes(pen, text, text ? strlen(text) : 0, width);
}

void pen_printf(struct pen *pen, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	pen_text(pen, text, 0);
}

void pen_right(struct pen *pen, enum role role, const char *text)
{
	int width = text_columns(pen->canvas->charset, text);
	if (width > pen->end - pen->x)
		return;
	struct pen right = *pen;
	right.x = pen->end - width;
	right.role = role;
	pen_text(&right, text, 0);
	pen->end -= width;
}

void pen_to(struct pen *pen, int x)
{
	if (x > pen->x)
		pen->x = x;
}

int text_columns(enum pr_charset charset, const char *text)
{
	struct pr_safe_text safe;
	pr_safe_text_from(&safe, text, text ? strlen(text) : 0, 0, charset);
	return (int)pr_safe_text_width(&safe);
}

/* The next line of `text` that fits into `columns`: its length in bytes; broken at a blank where there is one. */
static size_t line_length(enum pr_charset charset, const char *text, int columns)
{
	size_t at = 0, blank_at = 0;
	int used = 0;
	while (text[at]) {
		size_t length = character_length(text + at);
		used += character_width(charset, text + at, length);
		if (text[at] == ' ')
			blank_at = at;
		if (used > columns)
			return text[at] == ' ' ? at : blank_at ? blank_at : at ? at : length;
		at += length;
	}
	return at;
}

int canvas_wrap(struct canvas *canvas, enum pr_charset charset, struct rect rect, enum role role, const char *text)
{
	struct pr_safe_text safe;
	pr_safe_text_from(&safe, text, text ? strlen(text) : 0, 0, charset);
	const char *rest = pr_safe_text_str(&safe);
	int rows = 0;
	while (rows < rect.rows && (*rest || rows == 0)) {
		size_t length = line_length(charset, rest, rect.columns);
		if (canvas) {
			struct pen pen = pen_at(canvas, rect, rows, role);
			bool last = rows + 1 == rect.rows;
			pen_bytes(&pen, rest, last ? strlen(rest) : length, 0);
		}
		rest += length;
		rest += strspn(rest, " ");
		rows++;
	}
	return rows;
}
