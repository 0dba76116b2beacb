/* The journal (journal.h): the only writer of events.jsonl. */
#include "core/round/journal.h"

#include <math.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/record/json.h"

int journal_open(struct journal *journal, const struct round_directory *directory, struct pr_error *error)
{
	char path[PATH_MAX + 32];
	uint64_t torn = 0;
	_cleanup_log_reader_ struct log_reader *reader = NULL;

	*journal = (struct journal){ .model = PR_MODEL_INIT, .directory = directory };
	snprintf(path, sizeof path, "%s/events.jsonl", directory->path);
	int r = log_open(path, &journal->log, &torn, error);
	if (r < 0)
		return r;
	if (torn > 0)
		fprintf(stderr, "proctor-core: cut a torn last line of %llu bytes off %s\n", (unsigned long long)torn, path);
	r = log_reader_open(path, &reader, error);
	if (r < 0)
		return r;
	const char *line;
	size_t length;
	while ((r = log_reader_next(reader, &line, &length, error)) > 0) {
		struct json_object *event = json_tokener_parse(line);
		int applied = pr_model_apply(&journal->model, event);
		json_object_put(event);
		if (applied < 0)
			return pr_error_errno(error, -applied, "folding %s", path);
	}
	return r;
}

void journal_release(struct journal *journal)
{
	log_close(journal->log);
	pr_model_release(&journal->model);
	journal->log = NULL;
}

struct json_object *journal_event(enum pr_event type)
{
	struct json_object *event = json_object_new_object();
	set_text(event, "type", pr_event_name(type));
	return event;
}

void set_value(struct json_object *object, const char *key, struct json_object *value)
{
	if (!object || json_object_object_add(object, key, value) < 0)
		json_object_put(value);
}

void set_text(struct json_object *object, const char *key, const char *text)
{
	set_value(object, key, text ? json_object_new_string(text) : NULL);
}

void set_number(struct json_object *object, const char *key, int64_t number)
{
	set_value(object, key, json_object_new_int64(number));
}

void set_double(struct json_object *object, const char *key, double number)
{
	set_value(object, key, json_object_new_double(number));
}

void set_truth(struct json_object *object, const char *key, bool truth)
{
	set_value(object, key, json_object_new_boolean(truth));
}

void set_ms(struct json_object *object, const char *key, double ms)
{
	char text[40];
	double rounded = round(ms * 1000.0) / 1000.0;
	snprintf(text, sizeof text, "%.3f", rounded);
	set_value(object, key, json_object_new_double_s(rounded, text));
}

int journal_write(struct journal *journal, struct json_object *event)
{
	const char *line;
	size_t length;
	struct pr_error error = { 0 };

	if (!event)
		return -ENOMEM;
	int r = log_append(journal->log, event, &line, &length, &error);
	if (r < 0) {
		bool first = !journal->broken;
		journal->broken = true;
		fprintf(stderr, "proctor-core: %s\n", error.message);
		if (first && directory_spend_reserve(journal->directory) == 0)
			r = log_append(journal->log, event, &line, &length, NULL);
		if (first && journal->failed)
			journal->failed(journal->context, &error);
	}
	if (r >= 0) {
		(void)pr_model_apply(&journal->model, event);
		if (journal->line)
			journal->line(journal->context, line, length);
	}
	json_object_put(event);
	return r < 0 ? r : 0;
}

int journal_sync(struct journal *journal)
{
	struct pr_error error = { 0 };
	int r = log_sync(journal->log, &error);
	if (r >= 0)
		return 0;
	bool first = !journal->broken;
	journal->broken = true;
	fprintf(stderr, "proctor-core: %s\n", error.message);
	if (first && journal->failed)
		journal->failed(journal->context, &error);
	return r;
}
