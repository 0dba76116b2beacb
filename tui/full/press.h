/*
 * Bytes of a keyboard become key presses. An escape sequence is taken whole, known or not, so that none of its
 * bytes is ever taken for a key; a bare escape is one only after a moment in which nothing followed.
 */
#ifndef TUI_FULL_PRESS_H
#define TUI_FULL_PRESS_H

#include <stddef.h>
#include <stdint.h>

#define PRESSES_BYTES 256

struct presses {
	char input[PRESSES_BYTES];
	size_t length;
	int64_t came_ns;	/* when the last of it came */
};

/* How many bytes it takes; always at least one once presses_next() said PRESS_NONE. */
size_t presses_room(const struct presses *presses);
void presses_feed(struct presses *presses, const char *bytes, size_t length);
/* The next press (keys.h); PRESS_NONE: the input holds no whole one. */
int presses_next(struct presses *presses);
/* When another call is worth it, in ms; -1: once there are more bytes. */
int presses_wait_ms(const struct presses *presses);

#endif
