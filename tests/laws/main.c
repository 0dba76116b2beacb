/* laws LAW: judges one law and runs its deletion probe; without an argument it lists them. */
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/base/guard.h"
#include "core/base/io.h"
#include "tests/laws/law.h"
#include "tests/support/skip.h"

#include <fcntl.h>

static const struct law *const families[] = { kill_laws, birth_laws, bounds_laws, evidence_laws, environment_laws,
					      output_laws, layer_laws, resource_laws, collector_laws, control_laws, lifecycle_laws, profile_laws };

static void __attribute__((format(printf, 3, 0))) write_why(struct verdict *verdict, bool holds, const char *format, va_list arguments)
{
	verdict->holds = holds;
	vsnprintf(verdict->why, sizeof verdict->why, format, arguments);
}

void law_holds(struct verdict *verdict, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	write_why(verdict, true, format, arguments);
	va_end(arguments);
}

bool law_broken(struct verdict *verdict, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	write_why(verdict, false, format, arguments);
	va_end(arguments);
	return false;
}

struct worker *law_worker(const struct worker_start *how, struct verdict *verdict)
{
	struct worker *worker = worker_start(how);
	if (!worker || worker_refused(worker)) {
		law_broken(verdict, "the worker did not come up");
		worker_free(worker);
		return NULL;
	}
	return worker;
}

int law_processes(const char *marker)
{
	_cleanup_closedir_ DIR *stream = opendir("/proc");
	int count = 0;
	for (struct dirent *entry; stream && (entry = readdir(stream));) {
		char path[300];
		_cleanup_buffer_ struct buffer text = BUFFER_INIT;
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || atoi(entry->d_name) == getpid())
			continue;
		snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
		if (io_read_file(AT_FDCWD, path, 65536, &text) == 0 && text.length &&
		    memmem(text.data, text.length, marker, strlen(marker)))
			count++;
	}
	return count;
}

int law_processes_settle(const char *marker, int timeout_ms)
{
	int64_t deadline = clock_mono_ns() + timeout_ms * NS_PER_MS;
	int count;
	while ((count = law_processes(marker)) > 0 && clock_mono_ns() < deadline)
		clock_sleep_ns(10 * NS_PER_MS);
	return count;
}

/* Does a process of that command line stand in the cgroup? */
static bool holds(const char *directory, const char *marker)
{
	_cleanup_buffer_ struct buffer list = BUFFER_INIT;
	char path[4600];
	snprintf(path, sizeof path, "%s/cgroup.procs", directory);
	if (io_read_file(AT_FDCWD, path, 1u << 20, &list) < 0 || !list.data)
		return false;
	for (char *at = list.data; *at; at += strcspn(at, "\n") + 1) {
		_cleanup_buffer_ struct buffer text = BUFFER_INIT;
		snprintf(path, sizeof path, "/proc/%ld/cmdline", strtol(at, NULL, 10));
		if (io_read_file(AT_FDCWD, path, 65536, &text) == 0 && text.length && memmem(text.data, text.length, marker, strlen(marker)))
			return true;
	}
	return false;
}

static bool look_for_leaf(const char *parent, const char *marker, char *ret_path, size_t size)
{
	_cleanup_closedir_ DIR *stream = opendir(parent);
	for (struct dirent *entry; stream && (entry = readdir(stream));) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		snprintf(ret_path, size, "%s/%s", parent, entry->d_name);
		if (holds(ret_path, marker))
			return true;
	}
	return false;
}

bool law_find_leaf(const char *parent, const char *marker, char *ret_path, size_t size)
{
	/* While it executes sleep(1) it has no command line. */
	for (int tries = 0; tries < 200; tries++, clock_sleep_ns(10 * NS_PER_MS))
		if (look_for_leaf(parent, marker, ret_path, size))
			return true;
	return false;
}

void law_marker(char *ret_marker, size_t size)
{
	static unsigned serial;
	snprintf(ret_marker, size, "1%07d.%03u", getpid(), ++serial);
}

static const struct law *find_law(const char *id)
{
	for (size_t i = 0; i < ELEMENTS(families); i++)
		for (const struct law *law = families[i]; law->id; law++)
			if (strcmp(law->id, id) == 0)
				return law;
	return NULL;
}

static const struct law_more *find_more(const char *id)
{
	static const struct law_more *const lists[] = { control_more, lifecycle_more, profile_more }, none = { 0 };
	for (size_t i = 0; i < ELEMENTS(lists); i++)
		for (const struct law_more *more = lists[i]; more->id; more++)
			if (strcmp(more->id, id) == 0)
				return more;
	return &none;
}

static void list_laws(void)
{
	for (size_t i = 0; i < ELEMENTS(families); i++)
		for (const struct law *law = families[i]; law->id; law++)
			printf("%-4s %-20s %s\n", law->id, law->guard, law->says);
}

/* Says "ok" or "NOT OK" for one of the three askings. */
static bool ask(const struct law *law, const char *what, const char *program, const char *without, bool wanted)
{
	static const char *const environment[] = { "PROCTOR_DRAIN_MS=400", NULL };
	struct verdict verdict = { .holds = false, .why = "the judge said nothing" };
	struct worker_start how = { .program = program, .without = without, .environment = without ? environment : NULL };
	law->judge(&how, &verdict);
	bool as_wanted = verdict.holds == wanted;
	printf("%-6s %-4s %-34s %s: %s\n", as_wanted ? "ok" : "NOT OK", law->id, what, verdict.holds ? "holds" : "red", verdict.why);
	return as_wanted;
}

static bool ask_without(const struct law *law, const char *without, bool wanted)
{
	char what[128];
	snprintf(what, sizeof what, "without %s", without);
	return ask(law, what, PROCTOR_BUILD "/tests/guarded/proctor-worker", without, wanted);
}

/* Each guard, what goes with it, the laws that must then be red: what the summary checks (tests/laws/summary). */
static int list_guards(void)
{
#define X(identifier, id, what, laws) printf("%s\t%s\t%s\n", id, laws, what);
	GUARDS(X)
#undef X
	return 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && strcmp(argv[1], "--guards") == 0)
		return list_guards();
	if (argc != 2) {
		list_laws();
		return argc == 1 ? 0 : 64;
	}
	const struct law *law = find_law(argv[1]);
	if (!law) {
		fprintf(stderr, "no law %s here\n", argv[1]);
		return 64;
	}
	struct worker *worker = worker_start(&(struct worker_start){ 0 });
	struct json_object *refused = worker ? worker_refused(worker) : NULL;
	if (refused)
		skip_program("law %s goes unverified: %s", law->id, event_text(refused, "message"));
	if (worker && strcmp(law->guard, "landlock") == 0 && event_number(worker_ready(worker), "landlock_abi") == 0)
		skip_program("law %s goes unverified: this kernel has no active Landlock", law->id);
	const char *resource = strcmp(law->guard, "memory-limit") == 0 ? "memory" : strcmp(law->guard, "cpu-limit") == 0 ? "cpu" : NULL;
	struct json_object *limits = NULL;
	if (worker && resource && json_object_object_get_ex(worker_ready(worker), "limits", &limits) &&
	    strcmp(event_text(limits, resource), "none") == 0)
		skip_program("law %s goes unverified: no %s controller is to be had here", law->id, resource);
	const struct law_more *more = find_more(law->id);
	const char *missing = worker && more->missing ? more->missing(worker_ready(worker)) : NULL;
	if (missing)
		skip_program("law %s goes unverified: %s", law->id, missing);
	bool landlock = worker && event_number(worker_ready(worker), "landlock_abi") > 0;
	worker_free(worker);

	bool good = ask(law, "release build", PROCTOR_BUILD "/proctor-worker", NULL, true);
	good &= ask(law, "guarded build", PROCTOR_BUILD "/tests/guarded/proctor-worker", NULL, true);
	good &= ask_without(law, law->guard, false);
	for (const struct asking *asking = more->askings; asking && asking->without; asking++)
		if (landlock || !asking->landlock)
			good &= ask_without(law, asking->without, asking->holds);
	/* What the probe left behind dies with its worker; a worker that starts sweeps the rest. */
	worker_free(worker_start(&(struct worker_start){ 0 }));
	return good ? 0 : 1;
}
