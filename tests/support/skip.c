/* The skips of skip.h. */
#include "tests/support/skip.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 1, 0))) static bool allowed(const char *format, va_list arguments)
{
	fputs("skipped: ", stdout);
	vprintf(format, arguments);
	putchar('\n');
	fflush(stdout);
	const char *none = getenv("PROCTOR_NO_SKIP");
	return !none || none[0] == '\0' || strcmp(none, "0") == 0;
}

bool skip_allowed(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	bool may = allowed(format, arguments);
	va_end(arguments);
	return may;
}

void skip_program(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	bool may = allowed(format, arguments);
	va_end(arguments);
	exit(may ? 77 : 1);
}
