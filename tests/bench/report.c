/* Tables and rows of benchmarks (report.h). */
#include "tests/bench/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"

#define USAGE 64

void samples_add(struct samples *samples, double value)
{
	double *values = reallocarray(samples->values, samples->count + 1, sizeof *values);
	if (!values)
		abort();
	samples->values = values;
	values[samples->count++] = value;
}

void samples_release(struct samples *samples)
{
	free(samples->values);
	samples->values = NULL;
	samples->count = 0;
}

static int compare(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;
	return (a > b) - (a < b);
}

double samples_percentile(const struct samples *samples, double percent)
{
	if (!samples->count)
		return 0;
	qsort(samples->values, samples->count, sizeof *samples->values, compare);
	size_t rank = (size_t)(percent / 100 * (double)samples->count + 0.999999);
	return samples->values[rank ? (rank > samples->count ? samples->count : rank) - 1 : 0];
}

double samples_median(const struct samples *samples)
{
	double low = samples_percentile(samples, 50);
	if (samples->count == 0 || samples->count % 2)
		return low;
	return (low + samples->values[samples->count / 2]) / 2;
}

void report_row(struct report *report, const struct samples *samples, const struct samples *against)
{
	if (!samples->count)
		return;
	double median = samples_median(samples), p95 = samples_percentile(samples, 95);
	double other = against ? samples_median(against) : 0;
	bool compared = other > 0;
	if (report->json) {
		printf("{\"bench\":\"%s\",\"case\":\"%s\",\"n\":%zu,\"median\":%.3f,\"p95\":%.3f,\"unit\":\"%s\",", report->bench,
		       samples->name, samples->count, median, p95, report->unit);
		if (compared)
			printf("\"ratio\":%.3f,\"against\":\"%s\"}\n", median / other, against->name);
		else
			printf("\"ratio\":null,\"against\":null}\n");
	} else {
		if (!report->started)
			printf("%-24s %6s %10s %10s  %-9s %8s  %s\n", report->bench, "n", "median", "p95", "unit", "ratio",
			       "against");
		printf("%-24s %6zu %10.3f %10.3f  %-9s ", samples->name, samples->count, median, p95, report->unit);
		if (compared)
			printf("%8.2f  %s\n", median / other, against->name);
		else
			printf("%8s\n", "-");
	}
	report->started = true;
	fflush(stdout);
}

_Noreturn static void usage(const char *program)
{
	fprintf(stderr, "usage: %s [--rounds N] [--sleepers N] [--json]\n", program);
	exit(USAGE);
}

static int positive(const char *text, const char *program)
{
	char *end;
	long number = text ? strtol(text, &end, 10) : 0;
	if (!text || *end || number < 1 || number > 100000)
		usage(program);
	return (int)number;
}

struct bench_options bench_options_read(int argc, char **argv, struct bench_options options)
{
	for (int i = 1; i < argc; i++) {
		const char *next = i + 1 < argc ? argv[i + 1] : NULL;
		if (strcmp(argv[i], "--json") == 0) {
			options.json = true;
		} else if (strcmp(argv[i], "--rounds") == 0) {
			options.rounds = positive(next, argv[0]);
			i++;
		} else if (strcmp(argv[i], "--sleepers") == 0 && options.sleepers) {
			options.sleepers = positive(next, argv[0]);
			i++;
		} else {
			usage(argv[0]);
		}
	}
	return options;
}

bool bench_installed(const char *program)
{
	const char *path = getenv("PATH");
	_cleanup_free_ char *copy = strdup(path ? path : "/usr/bin:/bin");
	char *folders = copy;
	for (char *folder; folders && (folder = strsep(&folders, ":"));) {
		char file[4096];
		snprintf(file, sizeof file, "%s/%s", folder, program);
		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}
