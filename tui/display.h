/* The ways to show events, one table: the screen (full/), plain lines, the events as JSON, or nothing. */
#ifndef TUI_DISPLAY_H
#define TUI_DISPLAY_H

#include "tui/plain.h"

enum display_mode {
	DISPLAY_PLAIN,
	DISPLAY_FULL,
	DISPLAY_JSON,
	DISPLAY_NONE,
	DISPLAY_COUNT
};

struct display {
	enum display_mode mode;
	struct plain plain;
};

/* "full", "plain", "json", or "auto" (and NULL): full on a terminal that can, else plain. -EINVAL names the nearest. */
int display_from_name(const char *name, enum display_mode *ret_mode, struct pr_error *error);

/* Appends what an event of the log looks like; see plain_event(). */
int display_event(struct display *display, const struct pr_message *event, const char *line, size_t length,
		  const struct pr_model *model, struct buffer *out);

#endif
