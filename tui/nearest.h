/* The nearest known name to one that is not known, for "did you mean". */
#ifndef TUI_NEAREST_H
#define TUI_NEAREST_H

#include <stddef.h>

struct nearest {
	const char *name;	/* the caller's text; NULL while none is near enough */
	size_t distance;
};

#define NEAREST_INIT { NULL, 0 }

/*
 * Keeps `candidate` where it is nearer to `given` than what was kept: by edits (a letter more, less,
 * another, or two swapped), at most one third of the length and at least one; or by being what `given` begins.
 */
void nearest_offer(struct nearest *nearest, const char *given, const char *candidate);

#endif
