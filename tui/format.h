/*
 * One line of text for people, piece by piece: our own words, figures, and texts of others made safe.
 *
 *     struct line line;
 *     line_begin(&line, buffer);
 *     line_add(&line, "took ");  line_duration(&line, ms);  line_text(&line, name, 40);
 *     r = line_end(&line);		adds the line feed
 *
 * Nothing but printable text gets in by line_text(); line_add() is for formats and words of ours and for
 * numbers, never for a string that came from elsewhere. The first failure (memory) is kept and told at the end.
 */
#ifndef TUI_FORMAT_H
#define TUI_FORMAT_H

#include <stdint.h>

#include "core/base/buffer.h"

struct line {
	struct buffer *out;
	int status;
};

void line_begin(struct line *line, struct buffer *out);
void line_add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* At most `width` columns (0: as long as a safe text may be). NULL is the empty text. */
void line_text(struct line *line, const char *text, unsigned width);
/* The same, filled up with spaces to `width` columns at least. */
void line_column(struct line *line, const char *text, unsigned width);
/* "85 ms", "1.2 s", "30 s", "4:12", "1:02:03". */
void line_duration(struct line *line, int64_t ms);
/* Milliseconds with a fraction where that says something: "1.1 ms", "42 ms". */
void line_ms(struct line *line, double ms);
/* "$0.08"; four digits where two do not hold it. */
void line_money(struct line *line, int64_t usd_micro);
/* "4 MiB", "1000 bytes": whole units alone. */
void line_size(struct line *line, int64_t bytes);
/* "1 task", "2 tasks". */
void line_count(struct line *line, int64_t count, const char *one, const char *many);
int line_end(struct line *line);

#endif
