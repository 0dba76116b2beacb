/*
 * The canonical form of canonical.h. Whoever hashes an id comes through here; nothing else may write
 * identity-bearing JSON.
 */
#include "core/record/canonical.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 17	/* decimal digits that tell any two doubles apart */

/* ------- doubles ------- */

/* The decimal digits.ddd x 10^exponent: `digits` is an integer of `count` digits. */
struct decimal {
	uint64_t digits;
	int count, exponent;
};

/* Correctly rounded to `count` digits. The locale's decimal point is skipped, whatever it is. */
static struct decimal decimal_round(double magnitude, int count)
{
	char text[64];
	struct decimal decimal = { 0, count, 0 };

	snprintf(text, sizeof text, "%.*e", count - 1, magnitude);
	char *exponent = strchr(text, 'e');
	for (const char *c = text; c < exponent; c++)
		if (*c >= '0' && *c <= '9')
			decimal.digits = decimal.digits * 10 + (uint64_t)(*c - '0');
	decimal.exponent = atoi(exponent + 1);
	return decimal;
}

static bool reads_back(struct decimal decimal, double magnitude)
{
	char text[64];

	snprintf(text, sizeof text, "%llue%d", (unsigned long long)decimal.digits, decimal.exponent - decimal.count + 1);
	return strtod_l(text, NULL, newlocale(LC_ALL_MASK, "C", (locale_t)0)) == magnitude;
}

/*
 * The shortest decimal that reads back, of the shortest the nearest. The correctly rounded one of a length
 * is the nearest of that length, but above a power of two the gap is twice the one below: where the nearest
 * lies below and does not read back, its neighbour above may.
 */
static struct decimal decimal_shortest(double magnitude)
{
	for (int count = 1; count < DIGITS; count++) {
		struct decimal near = decimal_round(magnitude, count);
		if (reads_back(near, magnitude))
			return near;
		struct decimal above = near, below = near;
		above.digits++;
		if (reads_back(above, magnitude))
			return above;
		below.digits--;
		if (reads_back(below, magnitude))
			return below;
	}
	return decimal_round(magnitude, DIGITS);
}

/* Writes the digits without trailing zeros, and brings a carry (10^count) into the exponent. */
static int decimal_text(struct decimal *decimal, char ret_digits[static 24])
{
	int length = snprintf(ret_digits, 24, "%llu", (unsigned long long)decimal->digits);

	decimal->exponent += length - decimal->count;
	while (length > 1 && ret_digits[length - 1] == '0')
		length--;
	ret_digits[length] = '\0';
	decimal->count = length;
	return length;
}

size_t canonical_double(double number, char ret_text[static CANONICAL_DOUBLE])
{
	bool negative = __builtin_signbit(number);
	const char *sign = negative ? "-" : "";
	double magnitude = negative ? -number : number;
	char digits[24];
	int n;

	if (magnitude == 0)
		return (size_t)snprintf(ret_text, CANONICAL_DOUBLE, "%s0.0", sign);
	struct decimal decimal = decimal_shortest(magnitude);
	int length = decimal_text(&decimal, digits), exponent = decimal.exponent;
	if (exponent < -4 || exponent >= 16)
		n = snprintf(ret_text, CANONICAL_DOUBLE, "%s%c%s%se%c%02d", sign, digits[0], length > 1 ? "." : "",
			     digits + 1, exponent < 0 ? '-' : '+', abs(exponent));
	else if (exponent < 0)
		n = snprintf(ret_text, CANONICAL_DOUBLE, "%s0.%.*s%s", sign, -exponent - 1, "000", digits);
	else if (length <= exponent + 1)
		n = snprintf(ret_text, CANONICAL_DOUBLE, "%s%s%.*s.0", sign, digits, exponent + 1 - length,
			     "000000000000000");
	else
		n = snprintf(ret_text, CANONICAL_DOUBLE, "%s%.*s.%s", sign, exponent + 1, digits, digits + exponent + 1);
	return (size_t)n;
}

/* ------- the rest ------- */

int canonical_string(const char *bytes, size_t length, struct buffer *out)
{
	static const char named[0x20] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r' };
	size_t plain = 0;	/* start of what stands as itself */
	int r = buffer_add_byte(out, '"');

	for (size_t i = 0; i < length && r >= 0; i++) {
		unsigned char byte = (unsigned char)bytes[i];
		if (byte >= 0x20 && byte != '"' && byte != '\\')
			continue;
		r = buffer_add(out, bytes + plain, i - plain);
		if (r < 0)
			return r;
		plain = i + 1;
		if (byte < 0x20 && !named[byte])
			r = buffer_printf(out, "\\u%04x", byte);
		else
			r = buffer_add(out, (char[]){ '\\', byte < 0x20 ? named[byte] : (char)byte }, 2);
	}
	if (r >= 0)
		r = buffer_add(out, bytes + plain, length - plain);
	return r < 0 ? r : buffer_add_byte(out, '"');
}

static int write_value(const struct json *value, unsigned depth, struct buffer *out);

static int write_array(const struct json *array, unsigned depth, struct buffer *out)
{
	int r = buffer_add_byte(out, '[');

	for (size_t i = 0; i < array->array.count && r >= 0; i++) {
		if (i)
			r = buffer_add_byte(out, ',');
		if (r >= 0)
			r = write_value(array->array.items[i], depth, out);
	}
	return r < 0 ? r : buffer_add_byte(out, ']');
}

static int write_object(const struct json *object, unsigned depth, struct buffer *out)
{
	int r = buffer_add_byte(out, '{');

	for (size_t i = 0; i < object->object.count && r >= 0; i++) {
		const struct json_member *member = json_member_sorted(object, i);
		if (i)
			r = buffer_add_byte(out, ',');
		if (r >= 0)
			r = canonical_string(member->key, member->key_length, out);
		if (r >= 0)
			r = buffer_add_byte(out, ':');
		if (r >= 0)
			r = write_value(member->value, depth, out);
	}
	return r < 0 ? r : buffer_add_byte(out, '}');
}

static int write_value(const struct json *value, unsigned depth, struct buffer *out)
{
	char number[CANONICAL_DOUBLE];

	switch (value->kind) {
	case JSON_NULL:
		return buffer_add_text(out, "null");
	case JSON_BOOLEAN:
		return buffer_add_text(out, value->boolean ? "true" : "false");
	case JSON_INTEGER:
		return buffer_printf(out, "%s%llu", value->integer.negative ? "-" : "",
				     (unsigned long long)value->integer.magnitude);
	case JSON_DOUBLE:
		return buffer_add(out, number, canonical_double(value->real, number));
	case JSON_STRING:
		return canonical_string(value->string.bytes, value->string.length, out);
	case JSON_ARRAY:
		return depth < JSON_DEPTH ? write_array(value, depth + 1, out) : -ELOOP;
	case JSON_OBJECT:
		return depth < JSON_DEPTH ? write_object(value, depth + 1, out) : -ELOOP;
	}
	return -EINVAL;
}

int canonical_write(const struct json *value, struct buffer *out)
{
	return value ? write_value(value, 0, out) : -EINVAL;
}

int canonical_digest(const struct json *value, char ret_tagged[static DIGEST_TAGGED])
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT;
	int r = canonical_write(value, &out);

	if (r >= 0)
		digest_bytes_tagged(out.data, out.length, ret_tagged);
	return r < 0 ? r : 0;
}
