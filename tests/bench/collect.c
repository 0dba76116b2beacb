/*
 * A tree into a workspace and back: 10,000 small files in 1,500 directories. Of proctor through a running worker, from the
 * request to the closed boundary, twice: a run that unpacks the subject and does nothing, and the collection of what it
 * left. Of tar, an extraction into a directory and an archive of it. All of it in memory (tmpfs), the two interleaved.
 * What the core does with such a stream while it comes stands beside: checked and digested with every file as it was in the
 * subject, and with every file new and so written to its store.
 *
 * Then law E2: 4,000 directories under a bound of 100, how long the walk takes to refuse beside how long they took to build.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/base/io.h"
#include "core/workspace/collection.h"
#include "core/workspace/inside/collect.h"
#include "core/workspace/stream.h"
#include "tests/bench/report.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"
#include "tests/support/worker_harness.h"

#define TOP_DIRECTORIES 15
#define SUB_DIRECTORIES 99	/* below each of them: 1,500 in all */
#define FILES 10000
#define FILE_BYTES 1000		/* up to; no two files are alike */
#define MANY_DIRECTORIES 4000	/* of E2 */
#define FEW_DIRECTORIES 100
#define FINISH_MS 60000
#define PEER_NAME "tar"

extern char **environ;

static double since_ms(int64_t start)
{
	return (double)(clock_mono_ns() - start) / (double)NS_PER_MS;
}

/* --- the tree ---------------------------------------------------------------------------------------- */

static uint64_t records;

static void add_record(struct buffer *stream, enum stream_type type, const char *name, const char *content, size_t length)
{
	unsigned char header[STREAM_HEADER_BYTES];
	const struct stream_record record = {
		.type = type, .mode = type == STREAM_DIRECTORY ? 0755 : type == STREAM_FILE ? 0644 : 0,
		.name_length = (uint32_t)strlen(name), .size = type == STREAM_END ? records : length,
	};
	stream_put(&record, header);
	if (buffer_add(stream, header, sizeof header) < 0 || buffer_add_text(stream, name) < 0 ||
	    buffer_add(stream, content, length) < 0)
		abort();
	records++;
}

static void add_files(struct buffer *stream, int directory, const char *path)
{
	static char content[FILE_BYTES];
	char name[64];
	for (int file = directory; file < FILES; file += TOP_DIRECTORIES * (SUB_DIRECTORIES + 1)) {
		snprintf(name, sizeof name, "%s/file-%d.c", path, file);
		memset(content, 'a' + file % 26, sizeof content);
		snprintf(content, sizeof content, "file %d\n", file);
		add_record(stream, STREAM_FILE, name, content, (size_t)(FILE_BYTES / 4 + file % (FILE_BYTES * 3 / 4)));
	}
}

/* The subject's stream, as a file in memory. */
static int make_subject(void)
{
	_cleanup_buffer_ struct buffer stream = BUFFER_INIT;
	char path[32];
	if (buffer_add(&stream, STREAM_MAGIC, STREAM_MAGIC_BYTES) < 0)
		abort();
	for (int top = 0, directory = 0; top < TOP_DIRECTORIES; top++) {
		snprintf(path, sizeof path, "part-%d", top);
		add_record(&stream, STREAM_DIRECTORY, path, "", 0);
		add_files(&stream, directory++, path);
		for (int sub = 0; sub < SUB_DIRECTORIES; sub++) {
			snprintf(path, sizeof path, "part-%d/module-%d", top, sub);
			add_record(&stream, STREAM_DIRECTORY, path, "", 0);
			add_files(&stream, directory++, path);
		}
	}
	add_record(&stream, STREAM_END, "", "", 0);
	return io_sealed_memfd("subject", stream.data, stream.length);
}

/* --- ours -------------------------------------------------------------------------------------------- */

/* The collection's stream goes to a file in memory, as tar's archive does. */
static bool collect_once(struct worker *worker, int of, int stream)
{
	static int last = 1000000;	/* numbers of runs that the harness does not give */
	int number = ++last;
	char text[96];
	_cleanup_close_ int spec = io_sealed_memfd("spec", "{\"scratch\":[]}", 14);
	snprintf(text, sizeof text, "{\"op\":\"collect\",\"run\":%d,\"of\":%d}", number, of);
	if (spec < 0 || worker_send(worker, text, (const int[]){ spec, stream }, 2) < 0)
		return false;
	struct json_object *closed = worker_await(worker, "closed", number, FINISH_MS);
	return closed && strcmp(event_text(closed, "outcome"), "exited") == 0 && event_number(closed, "code") == 0;
}

/* Both halves in ms; false where one failed. */
static bool ours_once(struct worker *worker, int subject, int stream, double *ret_unpack, double *ret_collect)
{
	static const char *const argv[] = { "/bin/true", NULL };
	lseek(subject, 0, SEEK_SET);
	int64_t start = clock_mono_ns();
	int run = worker_run(worker, &(struct run_spec){ .argv = argv, .subject_fd = subject });
	const struct run_result *result = run > 0 ? worker_finish(worker, run, FINISH_MS) : NULL;
	if (!result || !result->closed || strcmp(result->outcome, "exited") != 0)
		return false;
	*ret_unpack = since_ms(start);
	start = clock_mono_ns();
	if (!collect_once(worker, run, stream))
		return false;
	*ret_collect = since_ms(start);
	worker_release_run(worker, run);
	return true;
}

/* What the core makes of the stream. `subject` as in collection_new; false where it is not whole. */
static bool decode_once(const char *store_path, const struct tree *subject, const struct buffer *stream, struct tree *ret_tree,
			double *ret_ms)
{
	struct store *store;
	struct collection *collection;
	enum collection_outcome outcome = COLLECTION_BROKEN;
	enum workspace_reason reason;
	char *path = NULL;
	struct pr_error error = { 0 };
	if (store_open(store_path, &store, &error) < 0)
		return false;
	int64_t start = clock_mono_ns();
	if (collection_new(store, subject, &WORKSPACE_LIMITS_E1, &collection, &error) < 0)
		return false;
	int r = collection_feed(collection, stream->data, stream->length, &error);
	if (r == 0)
		r = collection_finish(collection, &outcome, ret_tree, &reason, &path, &error);
	*ret_ms = since_ms(start);
	collection_free(collection);
	store_free(store);
	free(path);
	return r == 0 && outcome == COLLECTION_WHOLE;
}

/* --- tar --------------------------------------------------------------------------------------------- */

/* Runs tar with the two descriptors as its input and output; ms, or -1. */
static double tar_once(const char *const *argv, int input, int output)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status = -1;
	int64_t start = clock_mono_ns();
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, input, 0);
	posix_spawn_file_actions_adddup2(&actions, output, 1);
	int r = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	while (r == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return r == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? since_ms(start) : -1;
}

/* `archive` is read from its start; what is made of it again goes to `again`. */
static bool peer_once(const char *place, int archive, int again, double *ret_extract, double *ret_create)
{
	_cleanup_free_ char *directory = scratch_text("%s/tar", place);
	const char *const extract[] = { PEER_NAME, "-xp", "--no-same-owner", "-f", "-", "-C", directory, NULL };
	const char *const create[] = { PEER_NAME, "-cf", "-", "-C", directory, ".", NULL };
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	bool good = mkdir(directory, 0755) == 0 && lseek(archive, 0, SEEK_SET) == 0 && lseek(again, 0, SEEK_SET) == 0;
	*ret_extract = good ? tar_once(extract, archive, null) : -1;
	*ret_create = *ret_extract >= 0 ? tar_once(create, null, again) : -1;
	scratch_remove(directory);
	return *ret_create >= 0;
}

/* The same tree as an archive, made from a collection's stream. */
static bool write_tree(int directory, const struct buffer *stream)
{
	struct stream_record record;
	for (size_t at = STREAM_MAGIC_BYTES; stream->length - at >= STREAM_HEADER_BYTES;) {
		char name[STREAM_NAME_MAX + 1];
		if (!stream_get((const unsigned char *)stream->data + at, &record) || record.type >= STREAM_END)
			break;
		at += STREAM_HEADER_BYTES;
		snprintf(name, sizeof name, "%.*s", (int)record.name_length, stream->data + at);
		at += record.name_length;
		if (record.type == STREAM_DIRECTORY && mkdirat(directory, name, 0755) == 0)
			continue;
		_cleanup_close_ int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd < 0 || io_write_all(fd, stream->data + at, record.size) < 0)
			return false;
		at += record.size;
	}
	return true;
}

static int make_archive(const char *place, const struct buffer *stream)
{
	_cleanup_free_ char *directory = scratch_text("%s/first", place);
	const char *const create[] = { PEER_NAME, "-cf", "-", "-C", directory, ".", NULL };
	_cleanup_close_ int archive = memfd_create("archive", MFD_CLOEXEC);
	if (mkdir(directory, 0755) < 0)
		return -1;
	_cleanup_close_ int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool good = archive >= 0 && write_tree(fd, stream) && tar_once(create, fd, archive) >= 0;
	scratch_remove(directory);
	return good ? take_fd(&archive) : -1;
}

/* --- measures ---------------------------------------------------------------------------------------- */

enum row { OURS, PEER, UNPACK, EXTRACT, COLLECT, CREATE, UNCHANGED, NEW, ROWS };

static bool measure_round(struct worker *worker, const char *place, int subject, int archive, const struct buffer *stream,
			  const struct tree *tree, double ms[ROWS])
{
	_cleanup_close_ int out = memfd_create("stream", MFD_CLOEXEC), again = memfd_create("archive", MFD_CLOEXEC);
	_cleanup_free_ char *store = scratch_text("%s/store", place);
	struct tree unchanged = { 0 }, new = { 0 };
	bool good = ours_once(worker, subject, out, &ms[UNPACK], &ms[COLLECT]) &&
		    (archive < 0 || peer_once(place, archive, again, &ms[EXTRACT], &ms[CREATE])) &&
		    decode_once(store, tree, stream, &unchanged, &ms[UNCHANGED]) &&
		    decode_once(store, NULL, stream, &new, &ms[NEW]);
	good = good && unchanged.count == tree->count && new.count == tree->count;
	good = good && lseek(out, 0, SEEK_END) == (off_t)stream->length;
	tree_release(&unchanged);
	tree_release(&new);
	scratch_remove(store);
	ms[OURS] = ms[UNPACK] + ms[COLLECT];
	ms[PEER] = ms[EXTRACT] + ms[CREATE];
	return good;
}

/* The tree as the first collection has it, once whole, for what the rounds compare with. */
static bool first_collection(struct worker *worker, const char *place, int subject, struct buffer *stream, struct tree *tree)
{
	double unused;
	_cleanup_close_ int out = memfd_create("stream", MFD_CLOEXEC);
	_cleanup_free_ char *store = scratch_text("%s/store", place);
	bool good = ours_once(worker, subject, out, &unused, &unused) && lseek(out, 0, SEEK_SET) == 0 &&
		    io_read_all(out, stream, 1u << 30) == 0 && decode_once(store, NULL, stream, tree, &unused);
	scratch_remove(store);
	return good && tree->count == FILES + TOP_DIRECTORIES * (SUB_DIRECTORIES + 1);
}

static bool measure_trees(struct worker *worker, const char *place, const struct bench_options *options)
{
	struct samples rows[ROWS] = {
		[OURS] = { .name = "proctor" }, [PEER] = { .name = PEER_NAME },
		[UNPACK] = { .name = "proctor unpack" }, [EXTRACT] = { .name = PEER_NAME " extract" },
		[COLLECT] = { .name = "proctor collect" }, [CREATE] = { .name = PEER_NAME " create" },
		[UNCHANGED] = { .name = "core, all unchanged" }, [NEW] = { .name = "core, all new" },
	};
	static const int against[ROWS] = { [OURS] = PEER, [UNPACK] = EXTRACT, [COLLECT] = CREATE };
	_cleanup_close_ int subject = make_subject();
	_cleanup_buffer_ struct buffer stream = BUFFER_INIT;
	struct tree tree = { 0 };
	bool whole = subject >= 0 && first_collection(worker, place, subject, &stream, &tree);
	_cleanup_close_ int archive = whole && bench_installed(PEER_NAME) ? make_archive(place, &stream) : -1;
	for (int round = -1; round < options->rounds && whole; round++) {
		double ms[ROWS] = { 0 };
		whole = measure_round(worker, place, subject, archive, &stream, &tree, ms);
		for (int row = 0; row < ROWS && whole && round >= 0; row++)
			if (ms[row] > 0)
				samples_add(&rows[row], ms[row]);
	}
	struct report report = { .bench = "collect", .unit = "ms", .json = options->json };
	for (int row = 0; row < ROWS; row++)
		report_row(&report, &rows[row], against[row] && rows[against[row]].count ? &rows[against[row]] : NULL);
	for (int row = 0; row < ROWS; row++)
		samples_release(&rows[row]);
	if (archive < 0)
		fprintf(stderr, "collect: no rows of tar: it is not installed, or does not work here\n");
	tree_release(&tree);
	return whole;
}

/* One measure of E2: the walk must have gone no further than to the first directory over the bound. */
static bool refuse_once(const char *place, double *ret_build, double *ret_refuse)
{
	struct workspace_limits limits = WORKSPACE_LIMITS_E1;
	_cleanup_free_ char *path = scratch_text("%s/many", place);
	_cleanup_close_ int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	char name[16];
	limits.directories = FEW_DIRECTORIES;
	if (mkdir(path, 0755) < 0)
		return false;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool good = fd >= 0;
	int64_t start = clock_mono_ns();
	for (int i = 0; i < MANY_DIRECTORIES && good; i++) {
		snprintf(name, sizeof name, "%d", i);
		good = mkdirat(fd, name, 0755) == 0;
	}
	*ret_build = since_ms(start);
	start = clock_mono_ns();
	good = good && collect(fd, null, &limits, NULL, 0) == 0;
	*ret_refuse = since_ms(start);
	scratch_remove(path);
	return good;
}

static bool measure_refusal(const char *place, const struct bench_options *options)
{
	struct samples build = { .name = "build" }, refuse = { .name = "refuse" };
	bool whole = true;
	for (int round = -1; round < options->rounds && whole; round++) {
		double built = 0, refused = 0;
		whole = refuse_once(place, &built, &refused);
		if (round < 0 || !whole)
			continue;
		samples_add(&build, built);
		samples_add(&refuse, refused);
	}
	struct report report = { .bench = "collect E2", .unit = "ms", .json = options->json };
	report_row(&report, &refuse, &build);
	report_row(&report, &build, NULL);
	samples_release(&build);
	samples_release(&refuse);
	return whole;
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_options_read(argc, argv, (struct bench_options){ .rounds = 15 });
	if (access(PROCTOR_BUILD "/proctor-worker", X_OK) < 0)
		skip_program("%s/proctor-worker is not built", PROCTOR_BUILD);
	struct worker *worker = worker_start(&(struct worker_start){ 0 });
	if (!worker)
		return 1;
	if (worker_refused(worker)) {
		fprintf(stderr, "collect: no boundary on this host: %s\n", event_text(worker_refused(worker), "message"));
		worker_free(worker);
		return 2;
	}
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
	_cleanup_free_ char *place = scratch_directory("collect");
	bool whole = measure_trees(worker, place, &options) && measure_refusal(place, &options);
	if (!whole)
		fprintf(stderr, "collect: a measure failed\n");
	scratch_remove(place);
	worker_free(worker);
	return whole ? 0 : 1;
}
