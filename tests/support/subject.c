/* Writing subjects and reading collections (subject.h). */
#include "tests/support/subject.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/io.h"

static int add_record(struct buffer *stream, const struct stream_record *record, const char *name, const char *content)
{
	unsigned char header[STREAM_HEADER_BYTES];
	stream_put(record, header);
	int r = buffer_add(stream, header, sizeof header);
	if (r == 0)
		r = buffer_add(stream, name, record->name_length);
	if (r == 0 && record->size)
		r = buffer_add(stream, content, record->size);
	return r;
}

int subject_stream(const struct subject_entry *entries)
{
	_cleanup_buffer_ struct buffer stream = BUFFER_INIT;
	int r = buffer_add(&stream, STREAM_MAGIC, STREAM_MAGIC_BYTES);
	uint64_t count = 0;
	for (; r == 0 && entries->path; entries++, count++) {
		struct stream_record record = { .type = STREAM_DIRECTORY, .root = STREAM_WORKSPACE,
						.name_length = (uint32_t)strlen(entries->path) };
		if (entries->content) {
			record.type = entries->link ? STREAM_LINK : STREAM_FILE;
			record.size = strlen(entries->content);
		}
		record.mode = entries->mode ? entries->mode : record.type == STREAM_FILE ? 0644 : 0755;
		if (record.type == STREAM_LINK)
			record.mode = 0777;
		r = add_record(&stream, &record, entries->path, entries->content);
	}
	if (r == 0)
		r = add_record(&stream, &(struct stream_record){ .type = STREAM_END, .root = STREAM_WORKSPACE, .size = count }, "", "");
	if (r < 0)
		return r;
	return io_sealed_memfd("subject", stream.data, stream.length);
}

static char *bytes_at(const struct buffer *stream, size_t *at, size_t length)
{
	char *copy = malloc(length + 1);
	if (!copy)
		abort();
	memcpy(copy, stream->data + *at, length);
	copy[length] = '\0';
	*at += length;
	return copy;
}

static void add_entry(struct collected *collected, const struct stream_record *record, char *name, char *content)
{
	struct collected_entry *entries = reallocarray(collected->entries, collected->count + 1, sizeof *entries);
	if (!entries)
		abort();
	collected->entries = entries;
	entries[collected->count++] = (struct collected_entry){ .type = record->type, .mode = record->mode, .name = name,
								.content = content, .size = record->size };
}

struct collected collected_read(const struct buffer *stream)
{
	struct collected collected = { 0 };
	size_t at = STREAM_MAGIC_BYTES;
	if (stream->length < at || memcmp(stream->data, STREAM_MAGIC, at) != 0)
		return collected;
	for (;;) {
		struct stream_record record;
		if (stream->length - at < STREAM_HEADER_BYTES ||
		    !stream_get((const unsigned char *)stream->data + at, &record))
			return collected;
		at += STREAM_HEADER_BYTES;
		if (record.type == STREAM_END) {
			collected.whole = record.size == collected.count && at == stream->length;
			return collected;
		}
		if (stream->length - at < record.name_length || stream->length - at - record.name_length < record.size)
			return collected;
		char *name = bytes_at(stream, &at, record.name_length);
		if (record.type == STREAM_REFUSAL) {
			collected.whole = at == stream->length;
			collected.refused = true;
			collected.reason = (enum workspace_reason)record.mode;
			collected.refused_name = name;
			return collected;
		}
		add_entry(&collected, &record, name, bytes_at(stream, &at, record.size));
	}
}

void collected_release(struct collected *collected)
{
	for (size_t i = 0; i < collected->count; i++) {
		free(collected->entries[i].name);
		free(collected->entries[i].content);
	}
	free(collected->entries);
	free(collected->refused_name);
	*collected = (struct collected){ 0 };
}

const struct collected_entry *collected_find(const struct collected *collected, const char *name)
{
	for (size_t i = 0; i < collected->count; i++)
		if (strcmp(collected->entries[i].name, name) == 0)
			return &collected->entries[i];
	return NULL;
}
