/* Names by edit distance (optimal string alignment). Pure. */
#include "tui/nearest.h"

#include <stdint.h>
#include <string.h>

#define NAME_MAX_COMPARED 64	/* longer names are not compared: a table on the stack holds the distances */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t table[3][NAME_MAX_COMPARED + 1];		/* the rows i-2, i-1 and i, in turn */
	for (size_t j = 0; j <= b_length; j++)
		table[0][j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *row = table[i % 3], *above = table[(i + 2) % 3], *two_above = table[(i + 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], two_above[j - 2] + 1);
		}
	}
	return table[a_length % 3][b_length];
}

void nearest_offer(struct nearest *nearest, const char *given, const char *candidate)
{
	size_t given_length = strlen(given), length = strlen(candidate);
	if (given_length == 0 || given_length > NAME_MAX_COMPARED || length > NAME_MAX_COMPARED)
		return;
	size_t edits = distance(given, given_length, candidate, length);
	size_t allowed = given_length / 3 > 1 ? given_length / 3 : 1;
	/* "det" for "detach" is many letters off, yet plainly meant. */
	if (given_length >= 2 && strncmp(given, candidate, given_length) == 0)
		edits = 1;
	if (edits > allowed || (nearest->name && edits >= nearest->distance))
		return;
	nearest->name = candidate;
	nearest->distance = edits;
}
