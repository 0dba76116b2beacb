/*
 * proctor-worker: the only process that executes candidates. Single-threaded and small; it holds nothing but
 * what a spawn needs, and when the core's socket closes it ends all that it started.
 *
 *   proctor-worker --serve FD          the core's: FD is one end of a SOCK_SEQPACKET pair
 *                  [--allow-own-ids]   last, also after --probe: where no id range is to be had, the owner's id for every run
 *   proctor-worker --stop DIRECTORY    stops a round whose core does not answer
 *   proctor-worker --sweep [--dry-run] removes the cgroups of workers that no longer live, and says which (JSON)
 *   proctor-worker --probe [--json]    tries a boundary on this host and says what was shown
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/io.h"
#include "core/base/place.h"
#include "core/containment/dryrun.h"
#include "core/containment/facts.h"
#include "core/containment/outer.h"
#include "core/containment/scope.h"
#include "core/containment/serve.h"
#include "core/containment/stop.h"
#include "core/containment/sweep.h"
#include "core/containment/template.h"

#define EXIT_REFUSED 2
#define EXIT_USAGE 64
#define RESERVED_DESCRIPTORS 16	/* a child places its own below this (birth.c) */
#define IMAGE_MAX (64u << 20)

static int usage(FILE *to)
{
	fprintf(to, "usage: proctor-worker --serve FD [--allow-own-ids] | --stop DIRECTORY | --sweep [--dry-run] | --probe [--json] [--allow-own-ids]\n"
		    "The program that executes candidates; proctor-core starts it. --probe tries a boundary on this host.\n");
	return to == stdout ? 0 : EXIT_USAGE;
}

/* A child dup2()s onto the low numbers: nothing of ours may stand there but what it had at its start. */
static int reserve_descriptors(int keep)
{
	int fd;
	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd < RESERVED_DESCRIPTORS - 1);
	if (fd < 0)
		return -errno;
	if (keep < 0)
		return keep;
	return fcntl(keep, F_DUPFD_CLOEXEC, RESERVED_DESCRIPTORS);
}

/*
 * The program inside a boundary is executed from a sealed copy in memory: through /proc/PID/exe nobody inside
 * could ever reach the file on the host (CVE-2019-5736).
 */
static int load_image(struct pr_error *error)
{
	char path[4096];
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
	int r = place_program("proctor-init", path, sizeof path, error);
	if (r < 0)
		return r;
	r = io_read_file(AT_FDCWD, path, IMAGE_MAX, &bytes);
	if (r < 0)
		return pr_error_errno(error, -r, "reading %s", path);
	int fd = io_sealed_memfd("proctor-init", bytes.data, bytes.length);
	return fd < 0 ? pr_error_errno(error, -fd, "copying %s into memory", path) : fd;
}

/* What the worker was told about itself when it executed itself anew. */
struct start {
	unsigned outer_count;	/* ids of the outer namespace (outer.h); 0: there is none */
	const char *unit;	/* our scope (scope.h), or NULL */
	const char *own_ids, *own_ids_remedy;	/* why there is no id range, or NULL (outer.h) */
	bool allow_own_ids;
};

static int worker_open(struct worker *worker, const struct start *start, unsigned *ret_swept, struct pr_error *error)
{
	memset(worker, 0, sizeof *worker);
	worker->image = worker->null = -1;
	worker->own_ids = start->own_ids;
	worker->own_ids_remedy = start->own_ids_remedy;
	cgroup_tree_init(&worker->tree);
	int r = worker->image = load_image(error);
	if (r >= 0)
		r = worker->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (r < 0)
		return error->code ? r : pr_error_errno(error, errno, "opening /dev/null");
	worker->landlock_abi = landlock_abi();
	if (worker->landlock_abi < 0)
		return pr_error_errno(error, -worker->landlock_abi, "asking for Landlock's ABI");
	r = seccomp_build(&worker->filter, error);
	if (r == 0)
		r = id_range_open(&worker->ids, start->outer_count, error);
	/* Cgroups before the cover of template.h: they are looked for by path. */
	if (r == 0)
		r = cgroup_tree_open(&worker->tree, start->unit != NULL, ret_swept, error);
	return r < 0 ? r : template_prepare(error);
}

static void worker_close(struct worker *worker)
{
	cgroup_tree_close(&worker->tree);
	id_range_close(&worker->ids);
	free(worker->filter.filter);
	cleanup_close(&worker->image);
	cleanup_close(&worker->null);
}

/* Told once: to the core where there is one, which tells the user. */
static int refuse(int socket, const struct pr_error *error)
{
	if (socket >= 0) {
		serve_refusal(socket, error);
		return EXIT_REFUSED;
	}
	fprintf(stderr, "proctor-worker: %s\n", error->message);
	if (error->remedy[0])
		fprintf(stderr, "try: %s\n", error->remedy);
	return EXIT_REFUSED;
}

/* Each live run holds some ten descriptors: the soft limit of a login shell would end at a hundred runs. */
static void raise_descriptors(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void print_json(const struct worker *worker, unsigned swept)
{
	struct json_object *facts = facts_containment(worker, 0, false);
	json_object_object_add(facts, "axes", facts_axes(worker));
	json_object_object_add(facts, "limits", facts_limits(worker));
	json_object_object_add(facts, "tried", facts_tried(worker, swept));
	printf("%s\n", json_object_to_json_string_ext(facts, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(facts);
}

static void print_text(const struct worker *worker)
{
	struct json_object *facts = facts_containment(worker, 0, false), *axes = facts_axes(worker);
	printf("%s\n", json_object_get_string(json_object_object_get(facts, "profile")));
	json_object_object_foreach(axes, name, axis) {
		const char *remedy = json_object_get_string(json_object_object_get(axis, "remedy"));
		printf("%-30s %-8s %s\n", name, json_object_get_string(json_object_object_get(axis, "value")),
		       json_object_get_string(json_object_object_get(axis, "tried")));
		if (remedy)
			printf("%-30s %-8s try: %s\n", "", "", remedy);
	}
	printf("%-30s %s\n", "certifiable", json_object_get_string(json_object_object_get(facts, "certifiable")));
	json_object_put(axes);
	json_object_put(facts);
}

enum mode { MODE_SERVE, MODE_PROBE_TEXT, MODE_PROBE_JSON };

static int work(enum mode mode, int socket, const struct start *start)
{
	struct pr_error error = { 0 };
	struct worker worker;
	unsigned swept = 0;
	double dry_run_ms = 0;

	int r = worker_open(&worker, start, &swept, &error);
	if (r == 0)
		r = dryrun(&worker, &dry_run_ms, &error);
	if (r == 0 && mode == MODE_SERVE)
		r = serve(&worker, socket, swept, &error);
	else if (r == 0 && mode == MODE_PROBE_JSON)
		print_json(&worker, swept);
	else if (r == 0)
		print_text(&worker);
	worker_close(&worker);
	if (r == 0)
		return 0;
	return refuse(socket, &error);
}

static int stop_command(const char *directory)
{
	struct pr_error error = { 0 };
	if (stop_round(directory, &error) == 0)
		return 0;
	fprintf(stderr, "proctor-worker: %s\n", error.message);
	return EXIT_REFUSED;
}

/* Options that we gave ourselves; returns how many words they are. */
static int read_start(int argc, char **argv, struct start *start)
{
	int taken = 0;
	for (; argc - taken >= 3; taken += 2) {
		if (strcmp(argv[taken + 1], "--outer") == 0)
			start->outer_count = (unsigned)strtoul(argv[taken + 2], NULL, 10);
		else if (strcmp(argv[taken + 1], "--own-ids") == 0) {
			start->outer_count = OUTER_NO_RANGE;
			start->own_ids = argv[taken + 2];
		} else if (strcmp(argv[taken + 1], "--own-ids-remedy") == 0)
			start->own_ids_remedy = argv[taken + 2];
		else if (strcmp(argv[taken + 1], "--scoped") == 0)
			start->unit = argv[taken + 2];
		else
			break;
	}
	return taken;
}

/*
 * A cgroup that we may use, then the outer namespace: each executes this program anew and does nothing where it has, or
 * where it is not needed.
 */
static int find_place(char **arguments, const struct start *start, struct pr_error *error)
{
	struct cgroup_base base;
	if (start->unit && !start->outer_count) {
		int r = scope_check(start->unit, error);
		if (r < 0)
			return r;
	} else if (!start->outer_count && (cgroup_base_find(false, &base, error) < 0 || !base.whole)) {
		struct pr_error asked = { 0 };
		int found = -error->code;
		if (scope_enter(arguments, &asked) < 0)
			*error = asked;
		/* A kill boundary alone is better than nothing, and its missing limits are said. */
		if (found < 0)
			return -error->code;
	}
	*error = (struct pr_error){ 0 };
	return start->outer_count ? outer_check(error) : outer_enter(arguments, start->allow_own_ids, error);
}

static int sweep_command(bool dry_run)
{
	struct pr_error error = { 0 };
	if (sweep_everywhere(dry_run, &error) == 0)
		return 0;
	fprintf(stderr, "proctor-worker: %s\n", error.message);
	return EXIT_REFUSED;
}

int main(int argc, char **argv)
{
	struct start start = { 0 };
	char **arguments = argv;
	/* What our parent ignored (nohup, a CI runner) no candidate may inherit; SIGPIPE is init's to set back. */
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	int taken = read_start(argc, argv, &start);
	argv += taken;
	argc -= taken;
	start.allow_own_ids = argc >= 3 && strcmp(argv[argc - 1], "--allow-own-ids") == 0;
	argc -= start.allow_own_ids;
	bool serving = argc == 3 && strcmp(argv[1], "--serve") == 0;
	bool json = argc == 3 && strcmp(argv[2], "--json") == 0;
	bool probing = (argc == 2 || json) && strcmp(argv[1], "--probe") == 0;
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return usage(stdout);
	if (argc == 3 && strcmp(argv[1], "--stop") == 0)
		return stop_command(argv[2]);
	if (argc >= 2 && strcmp(argv[1], "--sweep") == 0)
		return sweep_command(argc == 3 && strcmp(argv[2], "--dry-run") == 0);
	if (!serving && !probing)
		return usage(stderr);

	int socket = serving ? atoi(argv[2]) : -1;
	struct pr_error error = { 0 };
	if (find_place(arguments, &start, &error) < 0)
		return refuse(socket, &error);
	raise_descriptors();
	int placed = reserve_descriptors(socket);
	if (serving && placed < 0) {
		fprintf(stderr, "proctor-worker: descriptor %d: %s\n", socket, strerror(-placed));
		return EXIT_REFUSED;
	}
	return work(serving ? MODE_SERVE : json ? MODE_PROBE_JSON : MODE_PROBE_TEXT, serving ? placed : -1, &start);
}
