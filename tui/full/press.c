/* The parser of press.h. */
#include "tui/full/press.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "tui/full/keys.h"

#define ESCAPE_NS (60 * NS_PER_MS)	/* how long the rest of an escape sequence may take, a slow line included */

size_t presses_room(const struct presses *presses)
{
	return PRESSES_BYTES - presses->length;
}

void presses_feed(struct presses *presses, const char *bytes, size_t length)
{
	if (length > presses_room(presses))
		length = presses_room(presses);
	memcpy(presses->input + presses->length, bytes, length);
	presses->length += length;
	presses->came_ns = clock_mono_ns();
}

static const struct {
	const char *rest;	/* after ESC [ or ESC O */
	int press;
} sequences[] = {
	{ "A", PRESS_UP }, { "B", PRESS_DOWN }, { "C", PRESS_RIGHT }, { "D", PRESS_LEFT }, { "H", PRESS_HOME }, { "F", PRESS_END },
	{ "M", PRESS_ENTER }, { "1~", PRESS_HOME }, { "7~", PRESS_HOME }, { "4~", PRESS_END }, { "8~", PRESS_END },
	{ "5~", PRESS_PAGE_UP }, { "6~", PRESS_PAGE_DOWN },
};

static int sequence_press(const char *rest, size_t length)
{
	for (size_t i = 0; i < ELEMENTS(sequences); i++)
		if (strlen(sequences[i].rest) == length && memcmp(sequences[i].rest, rest, length) == 0)
			return sequences[i].press;
	return PRESS_UNKNOWN;
}

/*
 * How long the sequence at the beginning of the input is; 0: its end has not come yet. ECMA-48, 5.4 and 5.6. A key
 * after an escape is a press of its own: on a slow line two presses come together.
 */
static size_t sequence_length(const char *input, size_t length)
{
	if (length < 2)
		return 0;
	if (input[1] == 'O')
		return length < 3 ? 0 : 3;
	bool string = strchr("]P_^X", input[1]) != NULL;
	if (input[1] != '[' && !string)
		return 1;
	/* What follows the final byte of these is theirs: a mouse report (XTerm, X10 mode), F1 to F5 of the Linux console. */
	size_t more = input[1] != '[' || length < 3 ? 0 : input[2] == 'M' ? 3 : input[2] == '[' ? 1 : 0;
	if (more > 0)
		return length < 3 + more ? 0 : 3 + more;
	for (size_t at = 2; at < length; at++) {
		if (!string && input[at] >= 0x40 && input[at] <= 0x7e)
			return at + 1;
		if (string && (input[at] == '\a' || (input[at] == '\\' && input[at - 1] == 0x1b)))
			return at + 1;
	}
	return 0;
}

static void drop(struct presses *presses, size_t length)
{
	memmove(presses->input, presses->input + length, presses->length - length);
	presses->length -= length;
}

int presses_wait_ms(const struct presses *presses)
{
	if (presses->length == 0)
		return -1;
	int64_t left = presses->came_ns + ESCAPE_NS - clock_mono_ns();
	return left > 0 ? (int)(left / NS_PER_MS) + 1 : 0;
}

int presses_next(struct presses *presses)
{
	if (presses->length == 0)
		return PRESS_NONE;
	if (presses->input[0] != 0x1b) {
		unsigned char byte = (unsigned char)presses->input[0];
		drop(presses, 1);
		/* No key of ours is beyond ASCII; NUL is what Ctrl-Space sends. */
		return byte == 0 || byte >= 0x7f ? PRESS_UNKNOWN : byte;
	}
	size_t length = sequence_length(presses->input, presses->length);
	bool late = clock_mono_ns() >= presses->came_ns + ESCAPE_NS || presses->length == PRESSES_BYTES;
	if (length == 0 && !late)
		return PRESS_NONE;
	if (length == 0) {
		/* Escape alone, or a sequence that was torn: then all of it means nothing. */
		bool alone = presses->length == 1;
		drop(presses, presses->length);
		return alone ? PRESS_ESCAPE : PRESS_UNKNOWN;
	}
	int press = length == 1 ? PRESS_ESCAPE : sequence_press(presses->input + 2, length - 2);
	drop(presses, length);
	return press;
}
