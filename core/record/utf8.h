/*
 * UTF-8, one character at a time, without libc's state. Header only and static-safe, since glob.c is
 * compiled into the program inside the boundary too.
 */
#ifndef CORE_RECORD_UTF8_H
#define CORE_RECORD_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The length (1 to 4) and value of the character at `bytes`, of which `length` >= 1 are there; 0 where they
 * are no valid UTF-8 (overlong forms, surrogates, beyond U+10FFFF, cut off).
 */
static inline size_t utf8_decode(const char *bytes, size_t length, uint32_t *ret_character)
{
	const unsigned char *b = (const unsigned char *)bytes;

	if (b[0] < 0x80) {
		*ret_character = b[0];
		return 1;
	}
	size_t want = b[0] >= 0xf0 ? 4 : b[0] >= 0xe0 ? 3 : 2;
	if (b[0] < 0xc2 || b[0] > 0xf4 || length < want)
		return 0;
	uint32_t character = b[0] & (0x7fu >> want);
	for (size_t i = 1; i < want; i++) {
		if ((b[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (b[i] & 0x3fu);
	}
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	if (character < least[want] || character > 0x10ffff || (character >= 0xd800 && character <= 0xdfff))
		return 0;
	*ret_character = character;
	return want;
}

/* Writes 1 to 4 bytes; the caller holds `character` to be a Unicode scalar value. */
static inline size_t utf8_encode(uint32_t character, char ret_bytes[static 4])
{
	if (character < 0x80) {
		ret_bytes[0] = (char)character;
		return 1;
	}
	size_t length = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	for (size_t i = length - 1; i > 0; i--) {
		ret_bytes[i] = (char)(0x80 | (character & 0x3f));
		character >>= 6;
	}
	ret_bytes[0] = (char)(lead[length] | character);
	return length;
}

static inline bool utf8_valid(const char *bytes, size_t length)
{
	uint32_t character;

	for (size_t at = 0; at < length;) {
		size_t step = utf8_decode(bytes + at, length - at, &character);
		if (!step)
			return false;
		at += step;
	}
	return true;
}

/* The longest prefix of at most `room` bytes that does not end within a character. */
static inline size_t utf8_fit(const char *bytes, size_t length, size_t room)
{
	if (length <= room)
		return length;
	size_t cut = room;
	while (cut > 0 && cut + 3 > room && ((unsigned char)bytes[cut] & 0xc0) == 0x80)
		cut--;
	return cut;
}

#endif
