/* proctor list: every run of this user, newest first. */
#include "tui/command.h"

#include <json-c/json.h>
#include <time.h>

#include "tui/format.h"
#include "tui/member.h"
#include "tui/output.h"
#include "tui/rounds.h"

#include <proctor/text.h>

struct listed {
	const struct round_place *place;
	struct pr_model model;
	char head[DIGEST_HEX];		/* digest of the log's last line */
	enum round_state state;
};

/* With a verdict that a resume keeps: not those that were stopped. */
static uint32_t judged(const struct listed *row)
{
	return row->model.counts.done - row->model.counts.stopped;
}

static int row_json(const struct listed *row, struct json_object *list)
{
	struct json_object *object = json_object_new_object();
	if (!object)
		return -ENOMEM;
	json_object_object_add(object, "round", pr_safe_text_json(row->place->name, strlen(row->place->name)));
	json_object_object_add(object, "state", json_object_new_string(round_state_name(row->state)));
	json_object_object_add(object, "tasks", json_object_new_int64(row->model.counts.tasks));
	json_object_object_add(object, "done", json_object_new_int64(judged(row)));
	json_object_object_add(object, "started_at", row->model.opened_at_ms ? json_object_new_int64(row->model.opened_at_ms) : NULL);
	json_object_object_add(object, "head", json_object_new_string(row->head));
	json_object_object_add(object, "dir", pr_safe_text_json(row->place->dir, strlen(row->place->dir)));
	return json_object_array_add(list, object) < 0 ? -ENOMEM : 0;
}

static int row_plain(const struct listed *row, unsigned name_width, struct buffer *out)
{
	struct line line;
	struct tm when;
	char opened[32] = "-", done[32];
	time_t seconds = (time_t)(row->model.opened_at_ms / 1000);
	if (seconds && localtime_r(&seconds, &when))
		strftime(opened, sizeof opened, "%Y-%m-%d %H:%M", &when);
	snprintf(done, sizeof done, "%u/%u", judged(row), row->model.counts.tasks);

	line_begin(&line, out);
	line_column(&line, row->place->name, name_width);
	line_add(&line, "  ");
	line_column(&line, round_state_name(row->state), 11);
	line_add(&line, "  ");
	line_column(&line, done, 9);
	line_add(&line, "  ");
	line_column(&line, opened, 16);
	line_add(&line, "  %.12s", row->head);
	int r = line_end(&line);
	if (r < 0 || row->state != ROUND_INTERRUPTED)
		return r;
	line_begin(&line, out);
	line_add(&line, "  its core is gone; proctor run --resume ");
	line_text(&line, row->place->name, 0);
	line_add(&line, " goes on with it");
	return line_end(&line);
}

static unsigned widest_name(const struct rounds *rounds)
{
	size_t width = strlen("ROUND");
	for (size_t i = 0; i < rounds->count; i++)
		width = strlen(rounds->list[i].name) > width ? strlen(rounds->list[i].name) : width;
	return (unsigned)width;
}

/* A log that cannot be read is told of and does not hide the others. */
static int print_rows(const struct rounds *rounds, struct json_object *list, struct buffer *out, struct pr_error *error)
{
	unsigned width = widest_name(rounds);
	int result = 0;
	if (!list && rounds->count)
		buffer_printf(out, "%-*s  %-11s  %-9s  %-16s  %s\n", (int)width, "ROUND", "STATE", "DONE", "OPENED", "HEAD");
	for (size_t i = 0; i < rounds->count; i++) {
		struct listed row = { .place = &rounds->list[i], .model = PR_MODEL_INIT };
		/* Looked at first: a round that ends in between is then not taken for interrupted. */
		bool live = round_is_live(row.place);
		int r = round_fold(row.place, &row.model, row.head, result < 0 ? NULL : error);
		if (r < 0)
			result = r;
		row.state = round_state_of(&row.model, live);
		r = list ? row_json(&row, list) : row_plain(&row, width, out);
		pr_model_release(&row.model);
		if (r < 0)
			return pr_error_errno(error, -r, "listing rounds");
	}
	return result;
}

int command_list(const struct arguments *arguments, struct pr_error *error)
{
	_cleanup_rounds_ struct rounds rounds = { 0 };
	_cleanup_jsonc_ struct json_object *list = NULL;
	__attribute__((cleanup(output_release))) struct output output;
	output_init(&output, STDOUT_FILENO);
	int r = rounds_read(&rounds, error);
	if (r < 0)
		return r;
	if (argument_given(arguments, OPTION_JSON) && !(list = json_object_new_array()))
		return pr_error_errno(error, ENOMEM, "listing rounds");
	int result = print_rows(&rounds, list, output_queue(&output), error);
	if (list)
		r = buffer_printf(output_queue(&output), "%s\n",
				  json_object_to_json_string_ext(list, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	else if (rounds.count == 0)
		r = buffer_add_text(output_queue(&output), "There are no rounds yet; proctor run FILE starts one.\n");
	if (r >= 0)
		r = output_finish(&output);
	if (r < 0 && r != -EPIPE)
		return pr_error_errno(error, -r, "printing the list");
	return result < 0 ? result : EXIT_DONE;
}
