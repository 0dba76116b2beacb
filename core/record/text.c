/*
 * Safe text, see proctor/text.h. The only file that decides what of untrusted bytes may be shown; all who
 * draw or print go through it.
 *
 * What glibc's wcwidth() gives no width is escaped. It gives one to some characters that show as nothing or
 * can be taken for another (soft hyphen, Hangul fillers, spaces, private use): those are in a table here.
 */
#include <proctor/text.h>

#include <langinfo.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include <json-c/json.h>

#include "core/base/cleanup.h"
#include "core/record/utf8.h"

/* Never shown as themselves, whatever their width; in order. */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0x0080, 0x00a0 },	/* C1, no-break space */
	{ 0x00ad, 0x00ad },	/* soft hyphen */
	{ 0x034f, 0x034f },	/* combining grapheme joiner */
	{ 0x0600, 0x0605 },	/* Arabic number signs (format) */
	{ 0x061c, 0x061c },	/* Arabic letter mark (bidi) */
	{ 0x06dd, 0x06dd }, { 0x070f, 0x070f }, { 0x0890, 0x0891 }, { 0x08e2, 0x08e2 },	/* format */
	{ 0x115f, 0x1160 },	/* Hangul fillers */
	{ 0x1680, 0x1680 },	/* Ogham space */
	{ 0x17b4, 0x17b5 },	/* Khmer inherent vowels */
	{ 0x180b, 0x180f },	/* Mongolian selectors and vowel separator */
	{ 0x2000, 0x200f },	/* spaces, zero width, bidi marks */
	{ 0x2028, 0x202f },	/* line and paragraph separators, bidi embeddings and overrides, narrow space */
	{ 0x205f, 0x206f },	/* space, invisible operators, bidi isolates */
	{ 0x2800, 0x2800 },	/* blank braille pattern */
	{ 0x3000, 0x3000 },	/* ideographic space */
	{ 0x3164, 0x3164 },	/* Hangul filler */
	{ 0xe000, 0xf8ff },	/* private use */
	{ 0xfe00, 0xfe0f },	/* variation selectors */
	{ 0xfeff, 0xfeff },	/* zero width no-break space */
	{ 0xffa0, 0xffa0 },	/* halfwidth Hangul filler */
	{ 0xfff0, 0xffff },	/* annotations, object replacement, replacement character, noncharacters */
	{ 0x110bd, 0x110bd }, { 0x110cd, 0x110cd }, { 0x13430, 0x1343f }, { 0x1bca0, 0x1bca3 },	/* format */
	{ 0x1d173, 0x1d17a },	/* musical format */
	{ 0xe0000, 0x10ffff },	/* tags, selectors, private use */
};

static bool is_hidden(uint32_t character)
{
	size_t low = 0, high = ELEMENTS(hidden);

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (character > hidden[middle].last)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ELEMENTS(hidden) && character >= hidden[low].first;
}

/* One unit of output: a character, or an escape; never cut in two. */
struct unit {
	char bytes[12];
	unsigned length, width;
};

static void unit_escape(struct unit *unit, const char *format, unsigned value)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	/* The formats are the literals of unit_read() alone; each makes at most 10 bytes of a 32-bit value. */
	unit->length = unit->width = (unsigned)snprintf(unit->bytes, sizeof unit->bytes, format, value);
#pragma GCC diagnostic pop
}

/* Reads one unit from `bytes` (length >= 1); returns how many bytes it took. */
static size_t unit_read(const char *bytes, size_t length, bool utf8, struct unit *ret_unit)
{
	uint32_t character;
	size_t step = utf8_decode(bytes, length, &character);

	if (!step) {
		unit_escape(ret_unit, "\\x%02x", (unsigned char)bytes[0]);
		return 1;
	}
	if (character >= 0x20 && character < 0x7f) {
		*ret_unit = (struct unit){ .bytes = { bytes[0] }, .length = 1, .width = 1 };
		return 1;
	}
	if (character < 0x80) {
		static const char named[0x20] = { ['\n'] = 'n', ['\t'] = 't', ['\r'] = 'r' };
		if (character < 0x20 && named[character])
			*ret_unit = (struct unit){ .bytes = { '\\', named[character] }, .length = 2, .width = 2 };
		else
			unit_escape(ret_unit, "\\x%02x", character);
		return 1;
	}
	int width = utf8 && !is_hidden(character) ? wcwidth((wchar_t)character) : -1;
	if (width > 0) {
		*ret_unit = (struct unit){ .length = (unsigned)step, .width = (unsigned)width };
		memcpy(ret_unit->bytes, bytes, step);
	} else {
		unit_escape(ret_unit, character > 0xffff ? "\\U%08x" : "\\u%04x", character);
	}
	return step;
}

/* The locale whose wcwidth() knows Unicode; made once, kept for the life of the process. 0: there is none. */
static locale_t unicode_locale(void)
{
	static locale_t kept;
	static bool tried;

	if (!tried) {
		kept = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
		tried = true;
	}
	return kept;
}

static void fill(struct pr_safe_text *text, const char *bytes, size_t length, unsigned max_width, bool utf8)
{
	const unsigned most = max_width ? max_width : PR_SAFE_TEXT_BYTES;
	const unsigned mark = most < 3 ? most : 3;	/* columns of the "..." */
	unsigned kept_length = 0, kept_width = 0;	/* what still leaves room for the mark */

	for (size_t at = 0; at < length;) {
		struct unit unit;
		at += unit_read(bytes + at, length - at, utf8, &unit);
		if (text->length_ + unit.length >= PR_SAFE_TEXT_BYTES || text->width_ + unit.width > most) {
			memset(text->bytes_ + kept_length, '.', mark);
			text->length_ = kept_length + mark;
			text->width_ = kept_width + mark;
			text->cut_ = true;
			break;
		}
		memcpy(text->bytes_ + text->length_, unit.bytes, unit.length);
		text->length_ += unit.length;
		text->width_ += unit.width;
		if (text->length_ + mark < PR_SAFE_TEXT_BYTES && text->width_ + mark <= most) {
			kept_length = text->length_;
			kept_width = text->width_;
		}
	}
	text->bytes_[text->length_] = '\0';
}

void pr_safe_text_from(struct pr_safe_text *ret_text, const void *bytes, size_t length, unsigned max_width,
		       enum pr_charset charset)
{
	locale_t before = (locale_t)0;
	bool utf8 = false;

	ret_text->length_ = ret_text->width_ = 0;
	ret_text->cut_ = false;
	if (charset == PR_CHARSET_LOCALE) {
		utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	} else if (charset == PR_CHARSET_UTF8 && unicode_locale()) {
		before = uselocale(unicode_locale());
		utf8 = true;
	}
	fill(ret_text, bytes, length, max_width, utf8);
	if (before)
		uselocale(before);
}

void pr_safe_text_from_str(struct pr_safe_text *ret_text, const char *text, unsigned max_width)
{
	pr_safe_text_from(ret_text, text, text ? strlen(text) : 0, max_width, PR_CHARSET_LOCALE);
}

const char *pr_safe_text_str(const struct pr_safe_text *text)
{
	return text->bytes_;
}

unsigned pr_safe_text_length(const struct pr_safe_text *text)
{
	return text->length_;
}

unsigned pr_safe_text_width(const struct pr_safe_text *text)
{
	return text->width_;
}

bool pr_safe_text_cut(const struct pr_safe_text *text)
{
	return text->cut_;
}

struct json_object *pr_safe_text_json(const void *bytes, size_t length)
{
	struct pr_safe_text text;

	pr_safe_text_from(&text, bytes, length, 0, PR_CHARSET_UTF8);
	return json_object_new_string_len(text.bytes_, (int)text.length_);
}
