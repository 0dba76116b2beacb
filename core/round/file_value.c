/* The readers of single values of a round file: type, form, range; a fault says what is allowed. */
#include "core/round/file_reader.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/round/value.h"

const char *kind_words(const struct json *value)
{
	switch (value->kind) {
	case JSON_NULL:
		return "null";
	case JSON_BOOLEAN:
		return "a boolean";
	case JSON_INTEGER:
		return "an integer";
	case JSON_DOUBLE:
		return "a number with a fraction";
	case JSON_STRING:
		return value->string.length == 0 ? "an empty string" : "a string";
	case JSON_ARRAY:
		return value->array.count == 0 ? "an empty array" : "an array";
	case JSON_OBJECT:
		return "an object";
	}
	return "nothing";
}

static void wrong_kind(struct reader *reader, const struct key *key, const struct json *value, const char *allowed)
{
	if (json_is(value, JSON_STRING) && !json_text(value))
		faults_add(reader->faults, at_value(value), "%s holds a NUL; %s is allowed", key->name, allowed);
	else
		faults_add(reader->faults, at_value(value), "%s is %s; %s is allowed", key->name, kind_words(value), allowed);
}

void read_text(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	const char *text = json_text(value);
	if (!text || !*text) {
		wrong_kind(reader, key, value, "text that is not empty");
		return;
	}
	*(const char **)field = pool_text(reader->pool, text);
}

void read_prompt(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	const char *text = json_text(value);
	if (!text) {
		wrong_kind(reader, key, value, "text");
		return;
	}
	*(const char **)field = pool_text(reader->pool, text);
}

/* A compiled task's id may end in "#N", its repeat. */
static bool is_repeat_name(const char *text)
{
	char head[SPEC_NAME_MAX + 1];
	const char *hash = strrchr(text, '#');
	if (!hash || (size_t)(hash - text) > SPEC_NAME_MAX || !hash[1] || strspn(hash + 1, "0123456789") != strlen(hash + 1))
		return false;
	snprintf(head, sizeof head, "%.*s", (int)(hash - text), text);
	return value_is_name(head);
}

void read_name(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	const char *text = json_text(value);
	if (!text) {
		wrong_kind(reader, key, value, "a name");
		return;
	}
	if (!value_is_name(text) && !(reader->compiled && is_repeat_name(text))) {
		faults_add(reader->faults, at_value(value),
			   "%s \"%.100s\" is no name; letters, digits, '.', '_' and '-' are allowed, at most %d, a letter or digit first",
			   key->name, text, SPEC_NAME_MAX);
		return;
	}
	*(const char **)field = pool_text(reader->pool, text);
}

static bool read_integer(struct reader *reader, const struct key *key, const struct json *value, int64_t *ret_number)
{
	int64_t number;
	if (json_int64(value, &number) < 0 || number < key->min || number > key->max) {
		if (json_is(value, JSON_INTEGER))
			faults_add(reader->faults, at_value(value),
				   "%s is out of range; %" PRId64 " to %" PRId64 " is allowed", key->name, key->min, key->max);
		else
			faults_add(reader->faults, at_value(value),
				   "%s is %s; an integer from %" PRId64 " to %" PRId64 " is allowed", key->name,
				   kind_words(value), key->min, key->max);
		return false;
	}
	*ret_number = number;
	return true;
}

void read_unsigned(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	int64_t number;
	if (read_integer(reader, key, value, &number))
		*(unsigned *)field = (unsigned)number;
}

void read_count(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	int64_t number;
	if (read_integer(reader, key, value, &number))
		*(uint64_t *)field = (uint64_t)number;
}

void read_truth(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	if (json_boolean(value, field) < 0)
		wrong_kind(reader, key, value, "true or false");
}

void read_duration(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	const char *text = json_text(value);
	int64_t ns;

	/* A compiled file says its milliseconds. */
	if (reader->compiled && json_int64(value, &ns) == 0 && ns >= 0 && ns < INT64_MAX / NS_PER_MS) {
		*(int64_t *)field = ns * NS_PER_MS;
		return;
	}
	if (!text) {
		wrong_kind(reader, key, value, "a duration as text, such as \"90s\", \"10m\" or \"1h30m\",");
		return;
	}
	int r = value_duration(text, &ns);
	if (r == -EINVAL)
		faults_add(reader->faults, at_value(value),
			   "%s \"%.60s\" is no duration; numbers with ms, s, m, h or d are allowed, such as \"90s\", \"10m\" or \"1h30m\"",
			   key->name, text);
	else if (r < 0 || ns < key->min || ns > key->max)
		faults_add(reader->faults, at_value(value),
			   "%s \"%.60s\" is out of range; \"%" PRId64 "ms\" to \"%" PRId64 "d\" is allowed", key->name, text,
			   key->min / NS_PER_MS, key->max / NS_PER_S / 86400);
	else
		*(int64_t *)field = ns;
}

void read_size(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	const char *text = json_text(value);
	uint64_t bytes = 0;
	int r = 0;

	if (text)
		r = value_size(text, &bytes);
	else if (json_is(value, JSON_INTEGER))
		r = json_uint64(value, &bytes);
	else {
		wrong_kind(reader, key, value, "a size such as \"2GiB\" or \"512MiB\", or an integer of bytes");
		return;
	}
	if (r == -EINVAL && text)
		faults_add(reader->faults, at_value(value),
			   "%s \"%.60s\" is no size; a whole number with B, KiB, MiB, GiB or TiB is allowed, such as \"2GiB\"",
			   key->name, text);
	else if (r < 0 || bytes < (uint64_t)key->min || bytes > (uint64_t)key->max)
		faults_add(reader->faults, at_value(value), "%s is out of range; \"%" PRId64 "%s\" to \"%" PRId64
			   "TiB\" is allowed", key->name, key->min >> (key->min < 1 << 20 ? 10 : 20),
			   key->min < 1 << 20 ? "KiB" : "MiB", key->max >> 40);
	else
		*(uint64_t *)field = bytes;
}

void read_cpus(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	double number;
	if (json_double(value, &number) < 0)
		wrong_kind(reader, key, value, "a number such as 1 or 0.5");
	else if (number < 0.01 || number > 1024)
		faults_add(reader->faults, at_value(value), "%s is out of range; 0.01 to 1024 is allowed", key->name);
	else
		*(double *)field = number;
}

void read_codes(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	static const struct key one = { .name = "an exit code", .min = -64, .max = 255 };
	struct codes codes = { 0 };
	bool array = json_is(value, JSON_ARRAY);
	size_t count = array ? json_count(value) : 1;

	if ((!array && !json_is(value, JSON_INTEGER)) || count == 0) {
		wrong_kind(reader, key, value, "an array of exit codes, such as [0] (-N for signal N),");
		return;
	}
	codes.items = pool_array(reader->pool, count, sizeof codes.items[0]);
	for (size_t i = 0; i < count; i++) {
		int64_t number;
		if (!read_integer(reader, &one, array ? json_item(value, i) : value, &number))
			return;
		codes.items[codes.count++] = (int)number;
	}
	*(struct codes *)field = codes;
}

void read_strings(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	struct strings strings = { 0 };
	size_t count = json_count(value);
	bool whole = true;

	if (json_is(value, JSON_ARRAY) && count > (size_t)key->max) {
		faults_add(reader->faults, at_value(value), "%s holds %zu strings; at most %" PRId64 " are allowed", key->name, count,
			   key->max);
		return;
	}
	if (!json_is(value, JSON_ARRAY) || count < (size_t)key->min) {
		wrong_kind(reader, key, value, key->min > 0 ? "an array of strings that is not empty" : "an array of strings");
		return;
	}
	strings.items = pool_array(reader->pool, count + 1, sizeof strings.items[0]);
	for (size_t i = 0; i < count; i++) {
		const struct json *item = json_item(value, i);
		const char *text = json_text(item);
		/* The first word of a command, a glob and a path name something; an argument may be empty. */
		bool may_be_empty = strcmp(key->name, "command") == 0 && i > 0;
		if (!text || (!*text && !may_be_empty)) {
			faults_add(reader->faults, at_value(item), "item %zu of %s is %s; %s is allowed", i + 1, key->name,
				   text || !json_is(item, JSON_STRING) ? kind_words(item) : "text with a NUL",
				   may_be_empty ? "text" : "text that is not empty");
			whole = false;
			continue;
		}
		strings.items[strings.count++] = pool_text(reader->pool, text);
	}
	if (whole)
		*(struct strings *)field = strings;
}

void read_pairs(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	struct pairs pairs = { 0 };
	size_t count = json_count(value);
	bool whole = true;

	if (!json_is(value, JSON_OBJECT)) {
		wrong_kind(reader, key, value, "an object of text");
		return;
	}
	pairs.items = pool_array(reader->pool, count + 1, sizeof pairs.items[0]);
	/* In code point order of the keys: the environment's keys stand sorted in every record (E7). */
	for (size_t i = 0; i < count; i++) {
		const struct json_member *member = json_member_sorted(value, i);
		const char *text = json_text(member->value);
		if (!text) {
			faults_add(reader->faults, at_value(member->value), "%s of %s is %s; text is allowed", member->key,
				   key->name, json_is(member->value, JSON_STRING) ? "text with a NUL" : kind_words(member->value));
			whole = false;
			continue;
		}
		if (strlen(member->key) != member->key_length) {
			faults_add(reader->faults, (struct place_in_file){ member->line, member->column },
				   "a key of %s holds a NUL; text is allowed", key->name);
			whole = false;
			continue;
		}
		pairs.items[pairs.count++] = (struct pair){ .key = pool_text(reader->pool, member->key),
			.value = pool_text(reader->pool, text), .at = at_value(member->value) };
	}
	if (whole)
		*(struct pairs *)field = pairs;
}

/* `words`: the choices, separated by spaces. */
void read_choice(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	const char *text = json_text(value);
	int number = 0;

	for (const char *at = key->words; text && *at; number++) {
		size_t length = strcspn(at, " ");
		if (strlen(text) == length && memcmp(text, at, length) == 0) {
			*(int *)field = number;
			return;
		}
		at += length + (at[length] == ' ');
	}
	if (text)
		faults_add(reader->faults, at_value(value), "%s \"%.60s\" is not known; one of these is allowed: %s", key->name,
			   text, key->words);
	else
		faults_add(reader->faults, at_value(value), "%s is %s; one of these is allowed: %s", key->name,
			   kind_words(value), key->words);
}

void read_spend(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	const char *text = json_text(value);
	int64_t money;
	(void)field;

	if (text ? value_money(text, &money) < 0 : json_int64(value, &money) < 0 || money < 0)
		faults_add(reader->faults, at_value(value),
			   "%s is no amount; text with a currency such as \"2 USD\" or \"0.25 USD\", or an integer of micro-dollars, is allowed",
			   key->name);
	else
		faults_add(reader->faults, at_value(value),
			   "%s cannot be kept: this version has no meter; leave it out and bound the round by wall_clock", key->name);
}

void read_undelivered(struct reader *reader, const struct key *key, const struct json *value, void *field)
{
	(void)field;
	faults_add(reader->faults, at_value(value), "%s is not delivered by this version; %s", key->name, key->words);
}
