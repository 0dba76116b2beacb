/* The core's end of a collection: whole streams in pieces of any size, and streams that no collector of ours writes. */
#include "tests/unit/test_workspace.h"

struct one {
	enum stream_type type;
	uint32_t mode;
	const char *name;
	const char *content;	/* NULL: none */
};

static void put(struct buffer *out, const struct one *one, uint64_t size)
{
	unsigned char header[STREAM_HEADER_BYTES];
	struct stream_record record = {
		.type = one->type, .mode = one->mode, .name_length = (uint32_t)strlen(one->name), .size = size,
	};
	stream_put(&record, header);
	buffer_add(out, header, sizeof header);
	buffer_add_text(out, one->name);
	if (one->content)
		buffer_add_text(out, one->content);
}

static void write_stream(struct buffer *out, const struct one *records, size_t count)
{
	buffer_add(out, STREAM_MAGIC, STREAM_MAGIC_BYTES);
	for (size_t i = 0; i < count; i++)
		put(out, &records[i], records[i].content ? strlen(records[i].content) : 0);
	put(out, &(struct one){ .type = STREAM_END, .name = "" }, count);
}

static const struct one sample[] = {
	{ STREAM_DIRECTORY, 0755, "a", NULL },
	{ STREAM_FILE, 0644, "a/x", "content" },
	{ STREAM_DIRECTORY, 0700, "a/b", NULL },
	{ STREAM_FILE, 0600, "a/b/empty", "" },
	{ STREAM_FILE, 0644, "a-c", "more" },
};

static enum collection_outcome outcome_of(struct place *place, const struct buffer *bytes, enum workspace_reason *reason)
{
	_cleanup_tree_ struct tree tree = { 0 };
	_cleanup_free_ char *path = NULL;
	*reason = REASON_NONE;
	return decode(place, NULL, &WORKSPACE_LIMITS_E1, bytes->data, bytes->length, 0, &tree, reason, &path);
}

static void test_pieces_of_any_size(void **state)
{
	struct place *place = *state;
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
	write_stream(&bytes, sample, ELEMENTS(sample));
	for (size_t step = 0; step <= bytes.length; step++) {
		_cleanup_tree_ struct tree tree = { 0 };
		enum workspace_reason reason;
		_cleanup_free_ char *path = NULL;
		assert_int_equal(decode(place, NULL, &WORKSPACE_LIMITS_E1, bytes.data, bytes.length, step, &tree, &reason, &path),
				 COLLECTION_WHOLE);
		assert_int_equal(tree.count, 5);
		assert_int_equal(tree_find(&tree, "a/b/empty")->size, 0);
		assert_int_equal(tree_find(&tree, "a/b")->mode, 0700);
	}
}

static void test_cut_anywhere_is_broken(void **state)
{
	struct place *place = *state;
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
	enum workspace_reason reason;
	write_stream(&bytes, sample, ELEMENTS(sample));
	size_t whole = bytes.length;
	for (bytes.length = 0; bytes.length < whole; bytes.length++)
		assert_int_equal(outcome_of(place, &bytes, &reason), COLLECTION_BROKEN);
	bytes.length = whole;
	assert_int_equal(outcome_of(place, &bytes, &reason), COLLECTION_WHOLE);
	buffer_add_byte(&bytes, 'x');
	assert_int_equal(outcome_of(place, &bytes, &reason), COLLECTION_BROKEN);
}

static void test_what_no_collector_says(void **state)
{
	struct place *place = *state;
	static const struct { const char *why; struct one records[3]; size_t count; } streams[] = {
		{ "a parent that did not come", { { STREAM_FILE, 0644, "a/x", "" } }, 1 },
		{ "out of order", { { STREAM_DIRECTORY, 0755, "a", NULL }, { STREAM_FILE, 0644, "b", "" },
				    { STREAM_FILE, 0644, "a/x", "" } }, 3 },
		{ "below a file", { { STREAM_FILE, 0644, "a", "" }, { STREAM_FILE, 0644, "a/x", "" } }, 2 },
		{ "twice", { { STREAM_FILE, 0644, "a", "1" }, { STREAM_FILE, 0644, "a", "2" } }, 2 },
		{ "a directory twice", { { STREAM_DIRECTORY, 0755, "a", NULL }, { STREAM_DIRECTORY, 0755, "a", NULL } }, 2 },
		{ "..", { { STREAM_FILE, 0644, "..", "" } }, 1 },
		{ "up", { { STREAM_FILE, 0644, "../x", "" } }, 1 },
		{ "absolute", { { STREAM_FILE, 0644, "/etc/passwd", "" } }, 1 },
		{ "empty component", { { STREAM_DIRECTORY, 0755, "a", NULL }, { STREAM_FILE, 0644, "a//x", "" } }, 2 },
		{ "no name", { { STREAM_FILE, 0644, "", "" } }, 1 },
		{ "an empty target", { { STREAM_LINK, 0777, "l", "" } }, 1 },
		{ "a reason out of range", { { STREAM_REFUSAL, REASON_COUNT, "x", NULL } }, 1 },
		{ "a reason of another's", { { STREAM_REFUSAL, REASON_STDOUT_TOO_LARGE, "x", NULL } }, 1 },
		{ "a refusal of a bad name", { { STREAM_REFUSAL, REASON_SYMLINK, "../x", NULL } }, 1 },
		{ "an unknown type", { { (enum stream_type)9, 0644, "x", "" } }, 1 },
		{ ".git", { { STREAM_DIRECTORY, 0755, ".git", NULL } }, 1 },
		{ ".git as a file", { { STREAM_FILE, 0644, ".git", "gitdir: /" } }, 1 },
		{ ".git refused", { { STREAM_REFUSAL, REASON_SYMLINK, ".git/x", NULL } }, 1 },
	};
	for (size_t i = 0; i < ELEMENTS(streams); i++) {
		_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
		enum workspace_reason reason;
		write_stream(&bytes, streams[i].records, streams[i].count);
		if (outcome_of(place, &bytes, &reason) != COLLECTION_BROKEN)
			fail_msg("%s: was taken", streams[i].why);
	}
}

/* One header after a whole record, each of its fields a lie in turn; what should follow it does. */
static void test_each_field_of_a_header(void **state)
{
	struct place *place = *state;
	enum { TYPE, ROOT, MODE, NAME_LENGTH = 4, SIZE = 8 };	/* offsets (stream.h) */
	static const struct { const char *why; struct one record; int offset, width; uint64_t value; } lies[] = {
		{ "type 0", { STREAM_FILE, 0644, "x", "1" }, TYPE, 1, 0 },
		{ "type 6", { STREAM_FILE, 0644, "x", "1" }, TYPE, 1, 6 },
		{ "type 255", { STREAM_FILE, 0644, "x", "1" }, TYPE, 1, 255 },
		{ "a file that says it is a directory", { STREAM_FILE, 0644, "x", "1" }, TYPE, 1, STREAM_DIRECTORY },
		{ "a directory that says it is a link", { STREAM_DIRECTORY, 0777, "x", NULL }, TYPE, 1, STREAM_LINK },
		{ "an end in the middle", { STREAM_FILE, 0644, "x", "1" }, TYPE, 1, STREAM_END },
		{ "of HOME", { STREAM_FILE, 0644, "x", "1" }, ROOT, 1, STREAM_HOME },
		{ "of no root", { STREAM_FILE, 0644, "x", "1" }, ROOT, 1, 2 },
		{ "protected", { STREAM_FILE, 0644, "x", "1" }, ROOT, 1, STREAM_PROTECTED },
		{ "protected and of HOME", { STREAM_FILE, 0644, "x", "1" }, ROOT, 1, STREAM_PROTECTED | STREAM_HOME },
		{ "a file type in the mode", { STREAM_FILE, 0644, "x", "1" }, MODE, 2, S_IFREG | 0644 },
		{ "a link's mode", { STREAM_LINK, 0777, "x", "1" }, MODE, 2, 0644 },
		{ "no name", { STREAM_FILE, 0644, "x", "1" }, NAME_LENGTH, 4, 0 },
		{ "a name that is too long", { STREAM_FILE, 0644, "x", "1" }, NAME_LENGTH, 4, STREAM_NAME_MAX + 1 },
		{ "a name of 4 GiB", { STREAM_FILE, 0644, "x", "1" }, NAME_LENGTH, 4, UINT32_MAX },
		{ "a name that takes the content", { STREAM_FILE, 0644, "x", "1" }, NAME_LENGTH, 4, 2 },
		{ "a size that is short", { STREAM_FILE, 0644, "x", "12" }, SIZE, 8, 1 },
		{ "a size that takes the end", { STREAM_FILE, 0644, "x", "12" }, SIZE, 8, 3 },
		{ "a directory with a size", { STREAM_DIRECTORY, 0755, "x", NULL }, SIZE, 8, 1 },
		{ "a link without a target", { STREAM_LINK, 0777, "x", "1" }, SIZE, 8, 0 },
		{ "a link with too long a target", { STREAM_LINK, 0777, "x", "1" }, SIZE, 8, STREAM_TARGET_MAX + 1 },
		{ "a refusal with a size", { STREAM_REFUSAL, REASON_SYMLINK, "x", NULL }, SIZE, 8, 1 },
	};
	for (size_t i = 0; i < ELEMENTS(lies); i++) {
		_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
		enum workspace_reason reason;
		const struct one records[] = { { STREAM_FILE, 0644, "a", "1" }, lies[i].record };
		write_stream(&bytes, records, ELEMENTS(records));
		size_t header = STREAM_MAGIC_BYTES + STREAM_HEADER_BYTES + 2;
		for (int n = 0; n < lies[i].width; n++)
			bytes.data[header + (size_t)(lies[i].offset + n)] = (char)(lies[i].value >> (8 * n));
		if (outcome_of(place, &bytes, &reason) != COLLECTION_BROKEN)
			fail_msg("%s: was taken", lies[i].why);
	}
}

/* The last record's fields: its count, and what must not be in it. */
static void test_each_field_of_the_end(void **state)
{
	struct place *place = *state;
	static const struct { int offset; unsigned char value; } lies[] = {
		{ 1, STREAM_HOME }, { 1, STREAM_PROTECTED }, { 2, 1 }, { 3, 2 }, { 4, 1 }, { 8, ELEMENTS(sample) - 1 },
		{ 8, ELEMENTS(sample) + 1 }, { 15, 1 },
	};
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
	enum workspace_reason reason;
	write_stream(&bytes, sample, ELEMENTS(sample));
	assert_int_equal(outcome_of(place, &bytes, &reason), COLLECTION_WHOLE);
	for (size_t i = 0; i < ELEMENTS(lies); i++) {
		char *field = bytes.data + bytes.length - STREAM_HEADER_BYTES + lies[i].offset;
		char right = *field;
		*field = (char)lies[i].value;
		assert_int_equal(outcome_of(place, &bytes, &reason), COLLECTION_BROKEN);
		*field = right;
	}
}

/* Names and targets may hold any byte but NUL. */
static void test_nul(void **state)
{
	struct place *place = *state;
	static const enum stream_type types[] = { STREAM_FILE, STREAM_LINK, STREAM_REFUSAL };
	for (size_t i = 0; i < ELEMENTS(types); i++) {
		_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
		enum workspace_reason reason;
		const struct one one = { types[i], types[i] == STREAM_LINK ? 0777 : 0, "abc", types[i] == STREAM_REFUSAL ? NULL : "abc" };
		write_stream(&bytes, &one, 1);
		/* a link's target alone would be refused before its name is */
		size_t name = STREAM_MAGIC_BYTES + STREAM_HEADER_BYTES + (types[i] == STREAM_LINK ? 3 : 0);
		bytes.data[name + 1] = '\0';
		assert_int_equal(outcome_of(place, &bytes, &reason), COLLECTION_BROKEN);
	}
}

static void test_broken_says_why(void **state)
{
	struct place *place = *state;
	struct pr_error error = { 0 };
	struct collection *collection;
	enum collection_outcome outcome;
	assert_fine(collection_new(place->store, NULL, &WORKSPACE_LIMITS_E1, &collection, &error));
	assert_false(collection_ended(collection));
	assert_fine(collection_feed(collection, "not a stream", 12, &error));
	assert_true(collection_ended(collection));
	assert_int_equal(collection_finish(collection, &outcome, NULL, NULL, NULL, &error), 0);
	assert_int_equal(outcome, COLLECTION_BROKEN);
	assert_non_null(strstr(error.message, "broken"));
	collection_free(collection);
}

/* The collector's word on the bounds is not taken. */
static void test_bounds_are_checked_again(void **state)
{
	struct place *place = *state;
	struct workspace_limits limits = WORKSPACE_LIMITS_E1;
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
	_cleanup_tree_ struct tree tree = { 0 };
	enum workspace_reason reason;
	_cleanup_free_ char *path = NULL;

	write_stream(&bytes, sample, ELEMENTS(sample));
	limits.files = 2;
	assert_int_equal(decode(place, NULL, &limits, bytes.data, bytes.length, 0, &tree, &reason, &path), COLLECTION_VIOLATION);
	assert_int_equal(reason, REASON_TOO_MANY_FILES);
	assert_string_equal(path, "a-c");

	/* A size is refused by the header alone: nothing waits for a terabyte to come. */
	buffer_clear(&bytes);
	buffer_add(&bytes, STREAM_MAGIC, STREAM_MAGIC_BYTES);
	put(&bytes, &(struct one){ STREAM_FILE, 0644, "huge", NULL }, UINT64_C(1) << 40);
	assert_int_equal(outcome_of(place, &bytes, &reason), COLLECTION_VIOLATION);
	assert_int_equal(reason, REASON_WORKSPACE_FILE_TOO_LARGE);
	buffer_clear(&bytes);
	buffer_add(&bytes, STREAM_MAGIC, STREAM_MAGIC_BYTES);
	put(&bytes, &(struct one){ STREAM_FILE, 0644, "liar", "few" }, 67108864);
	assert_int_equal(outcome_of(place, &bytes, &reason), COLLECTION_BROKEN);
	buffer_clear(&bytes);
	buffer_add(&bytes, STREAM_MAGIC, STREAM_MAGIC_BYTES);
	put(&bytes, &(struct one){ STREAM_FILE, 0644, "most", NULL }, UINT64_MAX);
	assert_int_equal(outcome_of(place, &bytes, &reason), COLLECTION_VIOLATION);
}

static void test_refusal(void **state)
{
	struct place *place = *state;
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
	_cleanup_tree_ struct tree tree = { 0 };
	enum workspace_reason reason;
	_cleanup_free_ char *path = NULL;
	buffer_add(&bytes, STREAM_MAGIC, STREAM_MAGIC_BYTES);
	put(&bytes, &(struct one){ STREAM_DIRECTORY, 0755, "d", NULL }, 0);
	put(&bytes, &(struct one){ STREAM_REFUSAL, REASON_IRREGULAR_FILE, "d/\x1b[2J", NULL }, 0);
	buffer_add_text(&bytes, "whatever follows is dropped");
	assert_int_equal(decode(place, NULL, &WORKSPACE_LIMITS_E1, bytes.data, bytes.length, 7, &tree, &reason, &path),
			 COLLECTION_VIOLATION);
	assert_int_equal(reason, REASON_IRREGULAR_FILE);
	assert_string_equal(path, "d/\x1b[2J");
}

/* A second collection of the same tree adds nothing to the store. */
static void test_unchanged_content_is_not_stored(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	_cleanup_tree_ struct tree subject = { 0 }, tree = { 0 };
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
	enum workspace_reason reason;
	_cleanup_free_ char *path = NULL;
	char sha256[DIGEST_HEX];

	/* An id that the store does not know shows that it was taken over, not written. */
	digest_bytes("content", 7, sha256);
	assert_int_equal(tree_add(&subject, "a/x", TREE_FILE, 0644, 7, "0123456789012345678901234567890123456789", sha256), 0);
	assert_fine(tree_sort(&subject, &error));
	write_stream(&bytes, sample, ELEMENTS(sample));
	assert_int_equal(decode(place, &subject, &WORKSPACE_LIMITS_E1, bytes.data, bytes.length, 0, &tree, &reason, &path),
			 COLLECTION_WHOLE);
	assert_string_equal(tree_find(&tree, "a/x")->blob, "0123456789012345678901234567890123456789");
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Bytes changed, dropped and repeated at random: never a crash, never a tree that is not a tree. */
static void test_damaged_streams(void **state)
{
	struct place *place = *state;
	uint64_t seed = 20240229;
	int outcomes[3] = { 0 };

	for (int round = 0; round < 20000; round++) {
		_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
		_cleanup_tree_ struct tree tree = { 0 };
		enum workspace_reason reason = REASON_NONE;
		_cleanup_free_ char *path = NULL;
		struct workspace_limits limits = WORKSPACE_LIMITS_E1;
		limits.file_bytes = 1 << 16;
		write_stream(&bytes, sample, ELEMENTS(sample));
		for (uint64_t changes = next_random(&seed) % 4; changes > 0; changes--) {
			size_t at = next_random(&seed) % bytes.length;
			if (next_random(&seed) % 4 == 0)
				memmove(bytes.data + at, bytes.data + next_random(&seed) % bytes.length % (at + 1), bytes.length - at);
			else
				bytes.data[at] = (char)next_random(&seed);
		}
		enum collection_outcome outcome = decode(place, NULL, &limits, bytes.data, bytes.length,
							 next_random(&seed) % 40, &tree, &reason, &path);
		outcomes[outcome]++;
		for (size_t i = 0; i < tree.count; i++)
			assert_true(stream_name_stands(tree.entries[i].path, strlen(tree.entries[i].path)));
	}
	print_message("          20,000 streams: %d whole, %d violations, %d broken\n", outcomes[COLLECTION_WHOLE],
		      outcomes[COLLECTION_VIOLATION], outcomes[COLLECTION_BROKEN]);
	assert_true(outcomes[COLLECTION_WHOLE] > 0 && outcomes[COLLECTION_VIOLATION] > 0 && outcomes[COLLECTION_BROKEN] > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		place_test(test_pieces_of_any_size), place_test(test_cut_anywhere_is_broken),
		place_test(test_what_no_collector_says), place_test(test_each_field_of_a_header),
		place_test(test_each_field_of_the_end), place_test(test_nul), place_test(test_broken_says_why),
		place_test(test_bounds_are_checked_again), place_test(test_refusal),
		place_test(test_unchanged_content_is_not_stored), place_test(test_damaged_streams),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
