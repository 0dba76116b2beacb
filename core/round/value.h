/* The small languages of a round file: sizes, durations, money, names, and the nearest of some words. */
#ifndef CORE_ROUND_VALUE_H
#define CORE_ROUND_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "2GiB", "512MiB", "64KiB", "100B". -EINVAL: no such form; -ERANGE: over 2^63-1. */
int value_size(const char *text, uint64_t *ret_bytes);
/* "500ms", "90s", "10m", "1h", "2d", and sums from the largest down: "1h30m". -EINVAL, -ERANGE (over 366 days). */
int value_duration(const char *text, int64_t *ret_ns);
#define VALUE_DURATION 64
/* The same form the other way, "1h30m"; below a millisecond nothing is said. Returns `ret_text`. */
const char *value_duration_words(int64_t ns, char ret_text[static VALUE_DURATION]);
/* "2 USD", "0.25 USD" (at most six decimals). -EINVAL, -ERANGE. */
int value_money(const char *text, int64_t *ret_usd_micro);
/* [A-Za-z0-9][A-Za-z0-9._-]*, at most SPEC_NAME_MAX bytes: safe as the name of a directory and of a file. */
bool value_is_name(const char *text);
/* [A-Za-z_][A-Za-z0-9_]* */
bool value_is_variable(const char *text);
/* The word that begins with `text`, else the nearest (edit distance of at most a third of its length), or NULL. */
const char *value_nearest(const char *text, const char *const *words, size_t count);

#endif
