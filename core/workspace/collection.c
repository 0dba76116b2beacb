/*
 * Reads a collection stream (collection.h). The other end is our own collector, but it ran where the candidate had
 * been, so nothing of what it says is believed: this is a boundary of trust of its own. It shares the accounting
 * with the collector (limits.h) and none of its state.
 *
 *     MAGIC -> HEADER -> NAME -> CONTENT -> HEADER ...      one piece at a time, gathered in `piece` where it
 *                 `-> ENDED (end, refusal)                  does not lie whole in the bytes just fed
 *
 * What a collector of ours cannot say is BROKEN; what a candidate may have done is a VIOLATION.
 */
#include "core/workspace/collection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/workspace/stream.h"

enum state { MAGIC, HEADER, NAME, CONTENT, ENDED, REFUSED, BROKEN };

struct collection {
	struct store *store;
	const struct tree *subject;
	struct workspace_account account;
	enum state state;
	struct buffer piece;		/* of a magic, header, name or content that came in parts */
	struct stream_record record;	/* the one at hand, from NAME on */
	char name[STREAM_NAME_MAX + 1];
	char at[STREAM_NAME_MAX + 1];	/* the directory that the stream is in */
	size_t at_length;
	uint64_t records;
	struct tree tree;
	enum workspace_reason reason;	/* REFUSED; the path is in `name` */
	const char *fault;		/* BROKEN */
};

int collection_new(struct store *store, const struct tree *subject, const struct workspace_limits *limits,
		   struct collection **ret_collection, struct pr_error *error)
{
	struct collection *collection = calloc(1, sizeof *collection);
	if (!collection)
		return pr_error_errno(error, ENOMEM, "starting a collection");
	collection->store = store;
	collection->subject = subject;
	collection->account.limits = *limits;
	*ret_collection = collection;
	return 0;
}

void collection_free(struct collection *collection)
{
	if (!collection)
		return;
	buffer_release(&collection->piece);
	tree_release(&collection->tree);
	free(collection);
}

bool collection_ended(const struct collection *collection)
{
	return collection->state >= ENDED;
}

static int broken(struct collection *collection, const char *fault)
{
	collection->state = BROKEN;
	collection->fault = fault;
	return 0;
}

static int refused(struct collection *collection, enum workspace_reason reason)
{
	collection->state = REFUSED;
	collection->reason = reason;
	return 0;
}

/* Bytes that the state wants before it can go on. */
static uint64_t wanted(const struct collection *collection)
{
	switch (collection->state) {
	case MAGIC:
		return STREAM_MAGIC_BYTES;
	case HEADER:
		return STREAM_HEADER_BYTES;
	case NAME:
		return collection->record.name_length;
	case CONTENT:
		return collection->record.size;
	case ENDED:
	case REFUSED:
	case BROKEN:
		break;
	}
	return 0;
}

static int read_header(struct collection *collection, const void *bytes)
{
	struct stream_record *record = &collection->record;
	if (!stream_get(bytes, record))
		return broken(collection, "a record with a bad header");
	if (record->root != STREAM_WORKSPACE || record->protected)
		return broken(collection, "an entry that is not of the workspace");
	if (record->type == STREAM_REFUSAL &&
	    (record->mode >= REASON_COUNT || record->mode > REASON_WORKSPACE_TOO_LARGE))
		return broken(collection, "a refusal for a reason that no collector has");
	if (record->type == STREAM_END) {
		if (record->size != collection->records)
			return broken(collection, "an end that counts other records than came");
		collection->state = ENDED;
		return 0;
	}
	collection->state = NAME;
	return 0;
}

/* Charges the entry; everything that its name and header can cross is known before its content is taken. */
static enum workspace_reason charge(struct collection *collection)
{
	const struct stream_record *record = &collection->record;
	uint64_t depth = 1;

	for (size_t i = 0; i < record->name_length; i++)
		depth += collection->name[i] == '/';
	enum workspace_reason reason = workspace_charge_name(&collection->account, record->name_length, depth);
	if (reason != REASON_NONE)
		return reason;
	if (record->type == STREAM_DIRECTORY)
		return workspace_charge_directory(&collection->account);
	if (record->type == STREAM_FILE)
		return workspace_charge_file(&collection->account, record->size);
	return workspace_charge_bytes(&collection->account, record->size);
}

/* The collector passes over `.git` at the top, whatever it is; so it is never in a tree, and no tree is unpacked with one. */
static bool is_git(const char *name)
{
	return strncmp(name, ".git", 4) == 0 && (name[4] == '\0' || name[4] == '/');
}

static int read_name(struct collection *collection, const void *bytes)
{
	const struct stream_record *record = &collection->record;
	size_t length = record->name_length, parent;

	memcpy(collection->name, bytes, length);
	collection->name[length] = '\0';
	if (!stream_name_stands(collection->name, length))
		return broken(collection, "an entry with a bad name");
	if (is_git(collection->name))
		return broken(collection, "an entry that no collector looks at");
	if (!stream_order_stands(collection->at, collection->at_length, collection->name, length, &parent) &&
	    record->type != STREAM_REFUSAL)
		return broken(collection, "an entry out of order");
	if (record->type == STREAM_REFUSAL)
		return refused(collection, (enum workspace_reason)record->mode);
	enum workspace_reason reason = charge(collection);
	if (reason != REASON_NONE)
		return refused(collection, reason);

	collection->records++;
	collection->at_length = record->type == STREAM_DIRECTORY ? length : parent;
	memcpy(collection->at, collection->name, collection->at_length);
	if (record->type != STREAM_DIRECTORY) {
		collection->state = CONTENT;
		return 0;
	}
	collection->state = HEADER;
	return tree_add(&collection->tree, collection->name, TREE_DIRECTORY, record->mode, 0, NULL, NULL);
}

static int read_content(struct collection *collection, const void *bytes, struct pr_error *error)
{
	const struct stream_record *record = &collection->record;
	enum tree_type type = record->type == STREAM_LINK ? TREE_LINK : TREE_FILE;
	const struct tree_entry *before = collection->subject ? tree_find(collection->subject, collection->name) : NULL;
	char sha256[DIGEST_HEX], id[STORE_ID];

	digest_bytes(bytes, record->size, sha256);
	bool same = before && before->type == type && before->size == record->size && strcmp(before->sha256, sha256) == 0;
	if (type == TREE_LINK) {
		if (memchr(bytes, '\0', record->size))
			return broken(collection, "a link whose target holds a NUL");
		if (!same)
			return refused(collection, REASON_SYMLINK);
	}
	if (same) {
		memcpy(id, before->blob, sizeof id);
	} else {
		int r = store_write(collection->store, bytes, record->size, id, error);
		if (r < 0)
			return r;
	}
	collection->state = HEADER;
	return tree_add(&collection->tree, collection->name, type, type == TREE_LINK ? 0777 : record->mode, record->size,
			id, sha256);
}

static int take_piece(struct collection *collection, const void *bytes, struct pr_error *error)
{
	switch (collection->state) {
	case MAGIC:
		if (memcmp(bytes, STREAM_MAGIC, STREAM_MAGIC_BYTES) != 0)
			return broken(collection, "no stream of this version");
		collection->state = HEADER;
		return 0;
	case HEADER:
		return read_header(collection, bytes);
	case NAME:
		return read_name(collection, bytes);
	case CONTENT:
		return read_content(collection, bytes, error);
	case ENDED:
	case REFUSED:
	case BROKEN:
		break;
	}
	return 0;
}

/* The next whole piece, out of what was fed or out of `piece`; NULL where more must come first. */
static int next_piece(struct collection *collection, const char **bytes, size_t *length, const void **ret_piece)
{
	uint64_t want = wanted(collection);

	*ret_piece = NULL;
	if (collection->piece.length == 0 && *length >= want) {
		*ret_piece = *bytes;
		*bytes += want;
		*length -= (size_t)want;
		return 0;
	}
	size_t n = want - collection->piece.length < *length ? (size_t)(want - collection->piece.length) : *length;
	/* Room for what is there, never for what is only claimed: a guard may have let a false size through. */
	int r = buffer_add(&collection->piece, *bytes, n);
	if (r < 0)
		return r;
	*bytes += n;
	*length -= n;
	if (collection->piece.length == want)
		*ret_piece = collection->piece.data;
	return 0;
}

int collection_feed(struct collection *collection, const void *bytes, size_t length, struct pr_error *error)
{
	struct pr_error here = { 0 };
	const char *at = bytes;
	int r = 0;

	if (collection->state == ENDED && length > 0)
		return broken(collection, "bytes after its end");
	while (collection->state < ENDED && r == 0) {
		const void *piece;
		/* An empty content is a piece too: go on at least once. */
		if (length == 0 && wanted(collection) > 0)
			break;
		r = next_piece(collection, &at, &length, &piece);
		if (r < 0 || !piece)
			continue;
		r = take_piece(collection, piece, &here);
		buffer_clear(&collection->piece);
		/* One large file must not hold its memory until the end. */
		if (collection->piece.allocated > 1 << 20 && collection->record.size < 1 << 20)
			buffer_release(&collection->piece);
		if (collection->state == ENDED && length > 0)
			return broken(collection, "bytes after its end");
	}
	if (r < 0) {
		if (here.code == 0)
			pr_error_errno(&here, -r, "taking in a collection");
		broken(collection, "an error of ours");
		if (error)
			*error = here;
	}
	return r;
}

int collection_finish(struct collection *collection, enum collection_outcome *ret_outcome, struct tree *ret_tree,
		      enum workspace_reason *ret_reason, char **ret_path, struct pr_error *error)
{
	if (collection->state == REFUSED) {
		char *path = strdup(collection->name);
		if (!path)
			return pr_error_errno(error, ENOMEM, "ending a collection");
		*ret_path = path;
		*ret_reason = collection->reason;
		*ret_outcome = COLLECTION_VIOLATION;
		return 0;
	}
	if (collection->state == ENDED && tree_sort(&collection->tree, NULL) < 0)
		broken(collection, "an entry that is there twice");
	if (collection->state != ENDED) {
		pr_error_set(error, EPROTO, "the collection's stream is broken: %s",
			     collection->state == BROKEN ? collection->fault : "it stops before its end");
		*ret_outcome = COLLECTION_BROKEN;
		return 0;
	}
	*ret_tree = collection->tree;
	tree_init(&collection->tree);
	*ret_outcome = COLLECTION_WHOLE;
	return 0;
}
