/*
 * The stream of files that crosses a boundary: a subject on its way in, a collection on its way out.
 * Header only; static-safe. All integers are little-endian.
 *
 *     stream   = magic record* last
 *     magic    = "prstrm" 0 1                                      (8 bytes; the last is the version)
 *     record   = header name content                               (a directory, a file, a link)
 *     last     = header                                            (the end), or: header name (a refusal)
 *     header   = type:8 protected:1 root:7 mode:16 name_length:32 size:64      (16 bytes)
 *
 *     type        mode              name                      size, content
 *     directory   07777             path                      0
 *     file        07777             path                      bytes of the content that follows
 *     link        0777              path                      bytes of the target that follows, 1 to STREAM_TARGET_MAX
 *     end         0                 none                      how many records came before it; nothing follows
 *     refusal     the reason's      path that was refused     0; nothing follows (from a collection alone)
 *                 number (limits.h)
 *
 * PROTECTED (of a subject alone, on entries of the workspace): the candidate can read the entry and neither change nor
 * remove it, nor put another in its place. Each directory above such an entry is protected too.
 *
 * Order is depth-first: a directory's entries come right after it, and nothing of another directory between
 * them. So a reader needs no more than the path of the directory that it is in, and when it leaves a directory
 * it never comes back. WORKSPACE entries come before HOME entries. A stream that stops before its `last` is
 * broken, whatever came before: that is how a writer says that it failed.
 */
#ifndef CORE_WORKSPACE_STREAM_H
#define CORE_WORKSPACE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define STREAM_MAGIC "prstrm\0\1"
#define STREAM_MAGIC_BYTES 8
#define STREAM_HEADER_BYTES 16
#define STREAM_NAME_MAX 8192	/* bytes; twice E1's, so that a path that is too long can be named in its refusal */
#define STREAM_PROTECTED 0x80	/* of the root's byte */
#define STREAM_TARGET_MAX 4095	/* bytes; PATH_MAX less its NUL */

enum stream_type {
	STREAM_DIRECTORY = 1,
	STREAM_FILE,
	STREAM_LINK,
	STREAM_END,
	STREAM_REFUSAL,
};

enum stream_root {
	STREAM_WORKSPACE,
	STREAM_HOME,
};

struct stream_record {
	enum stream_type type;
	enum stream_root root;
	bool protected;
	uint32_t mode;
	uint32_t name_length;
	uint64_t size;
};

static inline void stream_put(const struct stream_record *record, unsigned char *bytes)
{
	bytes[0] = (unsigned char)record->type;
	bytes[1] = (unsigned char)(record->root | (record->protected ? STREAM_PROTECTED : 0));
	for (int i = 0; i < 2; i++)
		bytes[2 + i] = (unsigned char)(record->mode >> (8 * i));
	for (int i = 0; i < 4; i++)
		bytes[4 + i] = (unsigned char)(record->name_length >> (8 * i));
	for (int i = 0; i < 8; i++)
		bytes[8 + i] = (unsigned char)(record->size >> (8 * i));
}

/* False where the header says what the table above does not allow; `record` is then not to be used. */
static inline bool stream_get(const unsigned char *bytes, struct stream_record *record)
{
	unsigned root = bytes[1] & ~STREAM_PROTECTED & 0xff;
	if (bytes[0] < STREAM_DIRECTORY || bytes[0] > STREAM_REFUSAL || root > STREAM_HOME)
		return false;
	*record = (struct stream_record){ .type = bytes[0], .root = root, .protected = (bytes[1] & STREAM_PROTECTED) != 0 };
	if (record->protected && (record->root == STREAM_HOME || record->type > STREAM_LINK))
		return false;
	for (int i = 0; i < 2; i++)
		record->mode |= (uint32_t)bytes[2 + i] << (8 * i);
	for (int i = 0; i < 4; i++)
		record->name_length |= (uint32_t)bytes[4 + i] << (8 * i);
	for (int i = 0; i < 8; i++)
		record->size |= (uint64_t)bytes[8 + i] << (8 * i);
	if (record->mode > 07777 || record->name_length > STREAM_NAME_MAX)
		return false;
	switch (record->type) {
	case STREAM_DIRECTORY:
	case STREAM_REFUSAL:
		return record->size == 0 && record->name_length > 0;
	case STREAM_FILE:
		return record->name_length > 0;
	case STREAM_LINK:
		return record->name_length > 0 && record->size > 0 && record->size <= STREAM_TARGET_MAX && record->mode == 0777;
	case STREAM_END:
		return record->name_length == 0 && record->mode == 0 && record->root == STREAM_WORKSPACE;
	}
	return false;
}

/* A path that can only lead down: relative, no empty, "." or ".." component, no NUL. */
static inline bool stream_name_stands(const char *name, size_t length)
{
	size_t start = 0;

	if (length == 0)
		return false;
	for (size_t i = 0; i <= length; i++) {
		if (i < length && name[i] == '\0')
			return false;
		if (i < length && name[i] != '/')
			continue;
		size_t component = i - start;
		if (component == 0 || (component <= 2 && memcmp(name + start, "..", component) == 0))
			return false;
		start = i + 1;
	}
	return true;
}

/*
 * Follows the depth-first order. `at` is the directory that the reader is in ("" at the top). True where `name`
 * is an entry of that directory or of one above it; `*ret_parent` is then the length of its parent's path.
 */
static inline bool stream_order_stands(const char *at, size_t at_length, const char *name, size_t name_length,
				       size_t *ret_parent)
{
	size_t parent = name_length;

	while (parent > 0 && name[parent - 1] != '/')
		parent--;
	if (parent > 0)
		parent--;	/* the slash */
	if (parent > at_length || memcmp(at, name, parent) != 0)
		return false;
	if (parent > 0 && parent < at_length && at[parent] != '/')
		return false;
	*ret_parent = parent;
	return true;
}

#endif
