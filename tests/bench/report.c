/* Tables and rows of benchmarks (report.h). */
#include "tests/bench/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"

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
	double median = samples_median(samples), p95 = samples_percentile(samples, 95), p99 = samples_percentile(samples, 99);
	double other = against ? samples_median(against) : 0;
	bool compared = other > 0;
	if (report->json) {
		printf("{\"bench\":\"%s\",\"case\":\"%s\",\"n\":%zu,\"median\":%.3f,\"p95\":%.3f,\"p99\":%.3f,\"unit\":\"%s\",",
		       report->bench, samples->name, samples->count, median, p95, p99, report->unit);
		if (compared)
			printf("\"ratio\":%.3f,\"against\":\"%s\"}\n", median / other, against->name);
		else
			printf("\"ratio\":null,\"against\":null}\n");
	} else {
		if (!report->started)
			printf("%-36s %6s %10s %10s %10s  %-9s %8s  %s\n", report->bench, "n", "median", "p95", "p99", "unit",
			       "ratio", "against");
		printf("%-36s %6zu %10.3f %10.3f %10.3f  %-9s ", samples->name, samples->count, median, p95, p99, report->unit);
		if (compared)
			printf("%8.2f  %s\n", median / other, against->name);
		else
			printf("%8s\n", "-");
	}
	report->started = true;
	fflush(stdout);
}

struct option {
	const char *name;
	int *value;
};
#define OPTIONS 4

_Noreturn static void usage(const char *program, const struct option options[static OPTIONS])
{
	fprintf(stderr, "usage: %s", program);
	for (int i = 0; i < OPTIONS; i++)
		if (*options[i].value)
			fprintf(stderr, " [%s N]", options[i].name);
	fprintf(stderr, " [--json]\n");
	exit(USAGE);
}

/* A whole number from 1 to 100,000; 0: it is none. */
static int positive(const char *text)
{
	char *end;
	long number = text ? strtol(text, &end, 10) : 0;
	return !text || *end || number < 1 || number > 100000 ? 0 : (int)number;
}

struct bench_options bench_options_read(int argc, char **argv, struct bench_options defaults)
{
	struct bench_options read = defaults;
	const struct option known[OPTIONS] = { { "--rounds", &read.rounds }, { "--processes", &read.processes },
					       { "--boundaries", &read.boundaries }, { "--seconds", &read.seconds } };
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			read.json = true;
			continue;
		}
		int which = 0;
		while (which < OPTIONS && (!*known[which].value || strcmp(argv[i], known[which].name) != 0))
			which++;
		int number = which < OPTIONS && i + 1 < argc ? positive(argv[++i]) : 0;
		if (!number)
			usage(argv[0], known);
		*known[which].value = number;
	}
	return read;
}

double bench_since_ms(int64_t start)
{
	return (double)(clock_mono_ns() - start) / (double)NS_PER_MS;
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
