/* The growable buffer of buffer.h. */
#include "core/base/buffer.h"

#include <stdint.h>
#include <string.h>

void buffer_init(struct buffer *buffer, size_t limit)
{
	*buffer = (struct buffer)BUFFER_INIT;
	buffer->limit = limit;
}

void buffer_release(struct buffer *buffer)
{
	free(buffer->data);
	buffer_init(buffer, buffer->limit);
}

void buffer_clear(struct buffer *buffer)
{
	buffer->length = 0;
	if (buffer->data)
		buffer->data[0] = '\0';
}

int buffer_reserve(struct buffer *buffer, size_t more)
{
	if (more > SIZE_MAX - 1 - buffer->length)
		return -E2BIG;
	size_t need = buffer->length + more;
	if (buffer->limit && need > buffer->limit)
		return -E2BIG;
	if (need + 1 <= buffer->allocated)
		return 0;
	size_t size = buffer->allocated ? buffer->allocated : 64;
	while (size < need + 1)
		size = size > SIZE_MAX / 2 ? need + 1 : size * 2;
	char *data = realloc(buffer->data, size);
	if (!data)
		return -ENOMEM;
	buffer->data = data;
	buffer->allocated = size;
	return 0;
}

int buffer_add(struct buffer *buffer, const void *bytes, size_t length)
{
	int r = buffer_reserve(buffer, length);
	if (r < 0)
		return r;
	if (length)
		memcpy(buffer->data + buffer->length, bytes, length);
	buffer->length += length;
	buffer->data[buffer->length] = '\0';
	return 0;
}

int buffer_add_text(struct buffer *buffer, const char *text)
{
	return buffer_add(buffer, text, strlen(text));
}

int buffer_add_byte(struct buffer *buffer, char byte)
{
	return buffer_add(buffer, &byte, 1);
}

int buffer_vprintf(struct buffer *buffer, const char *format, va_list arguments)
{
	va_list again;
	va_copy(again, arguments);
	int length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0)
		return -EINVAL;
	int r = buffer_reserve(buffer, (size_t)length);
	if (r < 0)
		return r;
	vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, arguments);
	buffer->length += (size_t)length;
	return 0;
}

int buffer_printf(struct buffer *buffer, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int r = buffer_vprintf(buffer, format, arguments);
	va_end(arguments);
	return r;
}

void buffer_consume(struct buffer *buffer, size_t length)
{
	if (length >= buffer->length) {
		buffer_clear(buffer);
		return;
	}
	memmove(buffer->data, buffer->data + length, buffer->length - length + 1);
	buffer->length -= length;
}

char *buffer_take(struct buffer *buffer)
{
	char *data = buffer->data;
	buffer_init(buffer, buffer->limit);
	return data;
}
