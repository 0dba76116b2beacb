/* The forms of value.h. Pure; no locale (only ASCII is looked at). */
#include "core/round/value.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/round/spec.h"

#define DURATION_MAX_NS (INT64_C(366) * 24 * 3600 * NS_PER_S)
#define WORD_MAX 48	/* longer words are no misspelt keys */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Decimal digits, at least one; no sign, no space. */
static int read_number(const char **text, uint64_t *ret_number)
{
	const char *at = *text;
	uint64_t number = 0;

	if (!is_digit(*at))
		return -EINVAL;
	for (; is_digit(*at); at++)
		if (__builtin_mul_overflow(number, UINT64_C(10), &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
			return -ERANGE;
	*text = at;
	*ret_number = number;
	return 0;
}

int value_size(const char *text, uint64_t *ret_bytes)
{
	static const struct {
		const char *unit;
		unsigned shift;
	} units[] = { { "B", 0 }, { "KiB", 10 }, { "MiB", 20 }, { "GiB", 30 }, { "TiB", 40 } };
	uint64_t number;

	int r = read_number(&text, &number);
	if (r < 0)
		return r;
	if (*text == ' ')
		text++;
	for (size_t i = 0; i < ELEMENTS(units); i++) {
		if (strcmp(text, units[i].unit) != 0)
			continue;
		if (number > ((uint64_t)INT64_MAX >> units[i].shift))
			return -ERANGE;
		*ret_bytes = number << units[i].shift;
		return 0;
	}
	return -EINVAL;
}

static const struct {
	const char *unit;
	int64_t ns;
} duration_units[] = {	/* "ms" before "m" */
	{ "d", 24 * 3600 * NS_PER_S }, { "h", 3600 * NS_PER_S }, { "ms", NS_PER_MS },
	{ "m", 60 * NS_PER_S }, { "s", NS_PER_S },
};

const char *value_duration_words(int64_t ns, char ret_text[static VALUE_DURATION])
{
	static const size_t order[] = { 0, 1, 3, 4, 2 };	/* the largest first */
	size_t length = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < ELEMENTS(order); i++) {
		int64_t unit_ns = duration_units[order[i]].ns;
		/* Days are for people who say them: a round's "36h" stays hours. */
		if (order[i] == 0 || ns < unit_ns)
			continue;
		length += (size_t)snprintf(ret_text + length, VALUE_DURATION - length, "%lld%s", (long long)(ns / unit_ns),
					   duration_units[order[i]].unit);
		ns %= unit_ns;
	}
	return length ? ret_text : "0s";
}

int value_duration(const char *text, int64_t *ret_ns)
{
	int64_t sum = 0, last = INT64_MAX;

	if (*text == '\0')
		return -EINVAL;
	while (*text) {
		uint64_t number;
		int r = read_number(&text, &number);
		if (r < 0)
			return r;
		size_t i = 0;
		while (i < ELEMENTS(duration_units) &&
		       strncmp(text, duration_units[i].unit, strlen(duration_units[i].unit)) != 0)
			i++;
		if (i == ELEMENTS(duration_units) || duration_units[i].ns >= last)
			return -EINVAL;
		text += strlen(duration_units[i].unit);
		last = duration_units[i].ns;
		int64_t part;
		if (number > INT64_MAX || __builtin_mul_overflow((int64_t)number, duration_units[i].ns, &part) ||
		    __builtin_add_overflow(sum, part, &sum) || sum > DURATION_MAX_NS)
			return -ERANGE;
	}
	*ret_ns = sum;
	return 0;
}

int value_money(const char *text, int64_t *ret_usd_micro)
{
	uint64_t whole, fraction = 0;
	int r = read_number(&text, &whole);
	if (r < 0)
		return r;
	if (*text == '.') {
		unsigned digits = 0;
		for (text++; is_digit(*text); text++, digits++) {
			if (digits == 6)
				return -EINVAL;
			fraction = fraction * 10 + (uint64_t)(*text - '0');
		}
		if (digits == 0)
			return -EINVAL;
		for (; digits < 6; digits++)
			fraction *= 10;
	}
	if (strcmp(text, " USD") != 0 && strcmp(text, "USD") != 0)
		return -EINVAL;
	if (whole > (uint64_t)(INT64_MAX - 999999) / 1000000)
		return -ERANGE;
	*ret_usd_micro = (int64_t)(whole * 1000000 + fraction);
	return 0;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool value_is_name(const char *text)
{
	size_t length = strlen(text);
	if (length == 0 || length > SPEC_NAME_MAX || !(is_letter(text[0]) || is_digit(text[0])))
		return false;
	for (size_t i = 1; i < length; i++)
		if (!is_letter(text[i]) && !is_digit(text[i]) && !strchr("._-", text[i]))
			return false;
	return true;
}

bool value_is_variable(const char *text)
{
	if (!is_letter(text[0]) && text[0] != '_')
		return false;
	for (; *text; text++)
		if (!is_letter(*text) && !is_digit(*text) && *text != '_')
			return false;
	return true;
}

/* Levenshtein, two rows. */
static size_t distance(const char *one, const char *other)
{
	size_t a = strlen(one), b = strlen(other);
	size_t row[WORD_MAX + 1];

	if (a > WORD_MAX || b > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b; j++)
		row[j] = j;
	for (size_t i = 1; i <= a; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= b; j++) {
			size_t above = row[j];
			size_t best = diagonal + (one[i - 1] != other[j - 1]);
			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = above;
			row[j] = best;
		}
	}
	return row[b];
}

const char *value_nearest(const char *text, const char *const *words, size_t count)
{
	const char *best = NULL;
	size_t best_distance = strlen(text) / 3 + 1;

	for (size_t i = 0; i < count; i++) {
		/* "dir" is many letters from "directory", and plainly meant. */
		if (strlen(text) >= 2 && strncmp(text, words[i], strlen(text)) == 0)
			return words[i];
		size_t d = distance(text, words[i]);
		if (d <= best_distance && (!best || d < best_distance)) {
			best = words[i];
			best_distance = d;
		}
	}
	return best;
}
