/* Dispatch between the displays. JSON is the line as it stands in the log, so that its chain can be checked. */
#include "tui/display.h"

#include "core/base/cleanup.h"
#include "tui/full/app.h"
#include "tui/nearest.h"

static int show_plain(struct display *display, const struct pr_message *event, const char *line, size_t length,
		      const struct pr_model *model, struct buffer *out)
{
	return plain_event(&display->plain, event, line, length, model, out);
}

static int show_json(struct display *display, const struct pr_message *event, const char *line, size_t length,
		     const struct pr_model *model, struct buffer *out)
{
	(void)display, (void)event, (void)model;
	int r = buffer_add(out, line, length);
	return r < 0 ? r : buffer_add_byte(out, '\n');
}

static int show_nothing(struct display *display, const struct pr_message *event, const char *line, size_t length,
			const struct pr_model *model, struct buffer *out)
{
	(void)display, (void)event, (void)line, (void)length, (void)model, (void)out;
	return 0;
}

static const struct {
	const char *name;
	int (*event)(struct display *display, const struct pr_message *event, const char *line, size_t length,
		     const struct pr_model *model, struct buffer *out);
} displays[DISPLAY_COUNT] = {
	[DISPLAY_PLAIN] = { "plain", show_plain },
	[DISPLAY_FULL] = { "full", show_nothing },
	[DISPLAY_JSON] = { "json", show_json },
	[DISPLAY_NONE] = { NULL, show_nothing },
};

int display_from_name(const char *name, enum display_mode *ret_mode, struct pr_error *error)
{
	struct nearest nearest = NEAREST_INIT;
	if (!name || strcmp(name, "auto") == 0) {
		*ret_mode = full_is_capable() ? DISPLAY_FULL : DISPLAY_PLAIN;
		return 0;
	}
	nearest_offer(&nearest, name, "auto");
	for (enum display_mode mode = 0; mode < DISPLAY_COUNT; mode++) {
		if (!displays[mode].name)
			continue;
		if (strcmp(name, displays[mode].name) == 0) {
			*ret_mode = mode;
			return 0;
		}
		nearest_offer(&nearest, name, displays[mode].name);
	}
	pr_error_set(error, EINVAL, "--display %s: the displays are full, plain, json and auto", name);
	return nearest.name ? pr_error_remedy(error, "--display %s", nearest.name) : -EINVAL;
}

int display_event(struct display *display, const struct pr_message *event, const char *line, size_t length,
		  const struct pr_model *model, struct buffer *out)
{
	return displays[display->mode].event(display, event, line, length, model, out);
}
