/* The error object of proctor/error.h. Called by every room; prints nothing. */
#include <proctor/error.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A message cut by vsnprintf may end in the middle of a UTF-8 character: drop the broken tail. */
static void drop_broken_tail(char *text)
{
	size_t length = strlen(text);
	size_t back = 0;

	while (back < 3 && back < length && ((unsigned char)text[length - 1 - back] & 0xc0) == 0x80)
		back++;
	if (back >= length)
		return;
	unsigned char lead = (unsigned char)text[length - 1 - back];
	size_t want = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
	if (want != back + 1 && lead >= 0xc0)
		text[length - 1 - back] = '\0';
}

__attribute__((format(printf, 3, 0)))
static void print_into(char *buffer, size_t size, const char *format, va_list arguments)
{
	int length = vsnprintf(buffer, size, format, arguments);
	if (length < 0)
		buffer[0] = '\0';
	else if ((size_t)length >= size)
		drop_broken_tail(buffer);
}

int pr_error_set(struct pr_error *error, int code, const char *format, ...)
{
	if (error) {
		va_list arguments;
		va_start(arguments, format);
		print_into(error->message, sizeof error->message, format, arguments);
		va_end(arguments);
		error->code = code;
		error->remedy[0] = '\0';
	}
	return -code;
}

int pr_error_errno(struct pr_error *error, int code, const char *format, ...)
{
	if (error) {
		va_list arguments;
		va_start(arguments, format);
		print_into(error->message, sizeof error->message, format, arguments);
		va_end(arguments);
		size_t used = strlen(error->message);
		snprintf(error->message + used, sizeof error->message - used, ": %s", strerror(code));
		error->code = code;
		error->remedy[0] = '\0';
	}
	return -code;
}

int pr_error_remedy(struct pr_error *error, const char *format, ...)
{
	if (!error)
		return 0;
	va_list arguments;
	va_start(arguments, format);
	print_into(error->remedy, sizeof error->remedy, format, arguments);
	va_end(arguments);
	return -error->code;
}

int pr_error_prefix(struct pr_error *error, const char *format, ...)
{
	if (!error)
		return 0;
	char prefix[512];
	va_list arguments;
	va_start(arguments, format);
	print_into(prefix, sizeof prefix, format, arguments);
	va_end(arguments);
	size_t used = strlen(prefix);
	size_t room = sizeof error->message - 1 - used;
	size_t length = strlen(error->message);
	if (length > room)
		length = room;
	memmove(error->message + used, error->message, length);
	memcpy(error->message, prefix, used);
	error->message[used + length] = '\0';
	drop_broken_tail(error->message);
	return -error->code;
}
