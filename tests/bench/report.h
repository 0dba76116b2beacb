/*
 * What a benchmark measured, as a table or as rows of JSON (one object a line: bench, case, n, median, p95, p99,
 * unit, ratio, against).
 */
#ifndef TESTS_BENCH_REPORT_H
#define TESTS_BENCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct samples {
	const char *name;	/* the case: "proctor", "posix_spawn", "bwrap", ... */
	double *values;
	size_t count;
};

void samples_add(struct samples *samples, double value);	/* aborts where memory ends */
void samples_release(struct samples *samples);
double samples_median(const struct samples *samples);		/* 0 where there is none */
double samples_percentile(const struct samples *samples, double percent);	/* nearest rank */

struct report {
	const char *bench, *unit;
	bool json;
	bool started;		/* the table's head is printed */
};

/* A row: `samples` beside `against` (NULL: nothing to compare with). Empty samples have no row. */
void report_row(struct report *report, const struct samples *samples, const struct samples *against);

/* Options that all benchmarks take. Prints the usage and exits (64) on a wrong one. */
struct bench_options {
	bool json;
	int rounds;
	/* Of those benchmarks that have them; 0: it has none. */
	int processes;		/* of all boundaries together */
	int boundaries;		/* at most so many at once */
	int seconds;
};

struct bench_options bench_options_read(int argc, char **argv, struct bench_options defaults);

/* Milliseconds since a clock_mono_ns(). */
double bench_since_ms(int64_t start);

/* Is a peer installed? Looks along PATH. */
bool bench_installed(const char *program);

#endif
