/* The list of faults.h. */
#include "core/round/faults.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"

/* A round file may come from elsewhere: its bytes must not steer the owner's terminal. UTF-8 passes. */
static void make_printable(char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (c < 0x20 || c == 0x7f)
			*text = '?';
		/* U+0080 to U+009F, the C1 controls, are C2 80 to C2 9F. */
		if (c == 0xc2 && (unsigned char)text[1] >= 0x80 && (unsigned char)text[1] < 0xa0)
			text[0] = text[1] = '?';
	}
}

void faults_add(struct faults *faults, struct place_in_file at, const char *format, ...)
{
	char *text;
	va_list arguments;
	va_start(arguments, format);
	int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		text = NULL;
	if (text)
		make_printable(text);
	/* One fault of the round's agent is met again by each task: it is said once. */
	for (size_t i = 0; text && i < faults_kept(faults); i++) {
		const struct fault *other = &faults->items[i];
		if (other->at.line == at.line && other->at.column == at.column && strcmp(other->text, text) == 0) {
			free(text);
			return;
		}
	}
	size_t n = faults->count++;
	if (n >= FAULTS_MAX) {
		free(text);
		return;
	}
	faults->items[n] = (struct fault){ .at = at,
		.text = pool_text(faults->pool, text ? text : "a fault (out of memory to say which)") };
	free(text);
}

size_t faults_kept(const struct faults *faults)
{
	return faults->count < FAULTS_MAX ? faults->count : FAULTS_MAX;
}

static int by_place(const void *one, const void *other)
{
	const struct fault *a = one, *b = other;
	if (a->at.line != b->at.line)
		return a->at.line < b->at.line ? -1 : 1;
	if (a->at.column != b->at.column)
		return a->at.column < b->at.column ? -1 : 1;
	return 0;
}

void faults_sort(struct faults *faults)
{
	qsort(faults->items, faults_kept(faults), sizeof faults->items[0], by_place);
}

void faults_print(const struct faults *faults, const char *file, FILE *out)
{
	for (size_t i = 0; i < faults_kept(faults); i++) {
		const struct fault *fault = &faults->items[i];
		if (fault->at.line > 0)
			fprintf(out, "%s:%u:%u: %s\n", file, fault->at.line, fault->at.column, fault->text);
		else
			fprintf(out, "%s: %s\n", file, fault->text);
	}
	if (faults->count > FAULTS_MAX)
		fprintf(out, "%s: and %zu more\n", file, faults->count - FAULTS_MAX);
}
