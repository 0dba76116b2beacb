/*
 * Reading a round file, inside: an object is a table of keys, a key is its name, its reader and its range.
 * file.c holds the tables, file_value.c the readers of single values, file_check.c what spans several.
 */
#ifndef CORE_ROUND_FILE_READER_H
#define CORE_ROUND_FILE_READER_H

#include "core/record/json.h"
#include "core/round/faults.h"
#include "core/round/spec.h"

struct reader {
	struct round_spec *spec;
	struct pool *pool;
	struct faults *faults;
	bool compiled;
};

struct key {
	const char *name;
	/* `field` is the object's base plus `offset`. A reader that finds a fault leaves the field as it was. */
	void (*read)(struct reader *reader, const struct key *key, const struct json *value, void *field);
	size_t offset;
	int64_t min, max;	/* of numbers, sizes, durations (ns) and counts, where the reader has a range */
	const char *words;	/* of a choice: the words; of a refusal: what to do instead */
	enum { KEY_REQUIRED = 1, KEY_COMPILED = 2 } flags;
};

static inline struct place_in_file at_value(const struct json *value)
{
	return (struct place_in_file){ value->line, value->column };
}

/* Reads the keys in the order of the table, whatever order the file has them in; then names unknown ones. */
void read_object(struct reader *reader, const char *what, const struct json *value, const struct key *keys,
		 size_t count, void *base);

/* Readers of single values: the type of the field stands beside each. */
void read_text(struct reader *, const struct key *, const struct json *, void *);	/* const char *, not empty */
void read_prompt(struct reader *, const struct key *, const struct json *, void *);	/* const char *, may be empty */
void read_name(struct reader *, const struct key *, const struct json *, void *);	/* const char * */
void read_unsigned(struct reader *, const struct key *, const struct json *, void *);	/* unsigned */
void read_count(struct reader *, const struct key *, const struct json *, void *);	/* uint64_t */
void read_truth(struct reader *, const struct key *, const struct json *, void *);	/* bool */
void read_duration(struct reader *, const struct key *, const struct json *, void *);	/* int64_t, ns */
void read_size(struct reader *, const struct key *, const struct json *, void *);	/* uint64_t */
void read_cpus(struct reader *, const struct key *, const struct json *, void *);	/* double */
void read_codes(struct reader *, const struct key *, const struct json *, void *);	/* struct codes */
void read_strings(struct reader *, const struct key *, const struct json *, void *);	/* struct strings, not empty ones */
void read_pairs(struct reader *, const struct key *, const struct json *, void *);	/* struct pairs */
void read_choice(struct reader *, const struct key *, const struct json *, void *);	/* int: number in `words` */
void read_spend(struct reader *, const struct key *, const struct json *, void *);	/* nothing: refused, but its form first */
void read_undelivered(struct reader *, const struct key *, const struct json *, void *);	/* nothing: refused */

/* "null", "a string", ... with its article, for "X is a string; ... is allowed". */
const char *kind_words(const struct json *value);

/* Absolute, from the file's folder where it is not. */
const char *file_path(struct reader *reader, const char *path);

/* Across keys and tasks, once all is read: programs, files, argument lists, ids, repeats. */
void check_round(struct reader *reader, const struct json *root);

#endif
