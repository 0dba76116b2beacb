/* Rounds on disk. Called by the commands; never creates, changes or locks for longer than a look. */
#include "tui/rounds.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <json-c/json.h>

#include "core/base/buffer.h"
#include "core/base/cleanup.h"
#include "core/base/place.h"
#include "core/record/log.h"
#include "tui/member.h"
#include "tui/nearest.h"

#define STAMP "-YYYYMMDD-HHMMSS"
#define NEAR_NAMES 5		/* how many a message lists */

/* The stamp at the end of a run's name; NULL where it has none. */
static const char *stamp_of(const char *name)
{
	size_t length = strlen(name);
	if (length <= strlen(STAMP))
		return NULL;
	const char *stamp = name + length - strlen(STAMP);
	for (size_t i = 0; i < strlen(STAMP); i++)
		if (STAMP[i] == '-' ? stamp[i] != '-' : !isdigit((unsigned char)stamp[i]))
			return NULL;
	return stamp;
}

static int newest_first(const void *a, const void *b)
{
	const struct round_place *one = a, *other = b;
	int order = strcmp(stamp_of(other->name), stamp_of(one->name));
	return order ? order : strcmp(one->name, other->name);
}

void rounds_release(struct rounds *rounds)
{
	free(rounds->list);
	*rounds = (struct rounds){ 0 };
}

static int add_round(struct rounds *rounds, const char *parent, const char *name)
{
	struct round_place place = { 0 };
	if (name[0] == '.' || !stamp_of(name) || strlen(name) >= sizeof place.name)
		return 0;
	memcpy(place.name, name, strlen(name) + 1);
	if ((size_t)snprintf(place.dir, sizeof place.dir, "%s/%s", parent, name) >= sizeof place.dir)
		return 0;
	struct round_place *list = reallocarray(rounds->list, rounds->count + 1, sizeof *list);
	if (!list)
		return -ENOMEM;
	rounds->list = list;
	list[rounds->count++] = place;
	return 0;
}

int rounds_read(struct rounds *ret_rounds, struct pr_error *error)
{
	char parent[4096 - 256];
	int r = place_rounds(parent, sizeof parent, error);
	if (r < 0)
		return r;
	_cleanup_closedir_ DIR *directory = opendir(parent);
	if (!directory)
		return pr_error_errno(error, errno, "reading %s", parent);
	_cleanup_rounds_ struct rounds rounds = { 0 };
	const struct dirent *entry;
	while ((entry = readdir(directory))) {
		r = add_round(&rounds, parent, entry->d_name);
		if (r < 0)
			return pr_error_errno(error, -r, "reading %s", parent);
	}
	if (rounds.count)
		qsort(rounds.list, rounds.count, sizeof *rounds.list, newest_first);
	*ret_rounds = rounds;
	rounds = (struct rounds){ 0 };
	return 0;
}

/* True where `word` is the name before the stamp. */
static bool is_bare_name(const char *word, const char *name)
{
	size_t length = (size_t)(stamp_of(name) - name);
	return strlen(word) == length && memcmp(word, name, length) == 0;
}

static int not_found(const struct rounds *rounds, const char *word, struct pr_error *error)
{
	_cleanup_buffer_ struct buffer near = BUFFER_INIT;
	char given[256];
	size_t count = 0;

	/* Names are compared without their stamps, so that a wrong stamp finds the runs of its round. */
	snprintf(given, sizeof given, "%s", word);
	if (stamp_of(given))
		given[stamp_of(given) - given] = '\0';
	for (size_t i = 0; i < rounds->count && count < NEAR_NAMES; i++) {
		const char *name = rounds->list[i].name;
		struct nearest nearest = NEAREST_INIT;
		char bare[256];
		snprintf(bare, sizeof bare, "%.*s", (int)(stamp_of(name) - name), name);
		nearest_offer(&nearest, given, bare);
		if (!nearest.name)
			continue;
		buffer_printf(&near, "%s%s", count++ ? ", " : "", name);
	}
	pr_error_set(error, ENOENT, "no round %s", word);
	if (count)
		return pr_error_remedy(error, "near it: %s", near.data);
	return pr_error_remedy(error, rounds->count ? "proctor list names the rounds there are" :
			       "there are no rounds yet; proctor run FILE starts one");
}

/* A path, made absolute; its last component is the run's name. */
static int resolve_path(const char *word, struct round_place *ret_place, struct pr_error *error)
{
	_cleanup_free_ char *path = realpath(word, NULL);
	if (!path)
		return pr_error_errno(error, errno, "the round at %s", word);
	struct stat status;
	struct round_place place = { .elsewhere = true };
	const char *name = strrchr(path, '/') + 1;
	if (strlen(path) >= sizeof place.dir - 64 || strlen(name) >= sizeof place.name)
		return pr_error_errno(error, ENAMETOOLONG, "the round at %s", word);
	memcpy(place.dir, path, strlen(path) + 1);
	memcpy(place.name, name, strlen(name) + 1);
	char log[4096];
	snprintf(log, sizeof log, "%s/events.jsonl", path);
	if (stat(log, &status) < 0) {
		pr_error_errno(error, errno, "%s is no round's directory: %s", word, log);
		return pr_error_remedy(error, "name a directory that holds an events.jsonl, or a round that proctor list shows");
	}
	*ret_place = place;
	return 0;
}

int rounds_find(const struct rounds *rounds, const char *word, struct round_place *ret_place, struct pr_error *error)
{
	if (word && (strchr(word, '/') || strcmp(word, ".") == 0))
		return resolve_path(word, ret_place, error);
	for (size_t i = 0; i < rounds->count; i++) {
		const struct round_place *place = &rounds->list[i];
		if (!word || strcmp(word, place->name) == 0 || is_bare_name(word, place->name)) {
			*ret_place = *place;
			return 0;
		}
	}
	if (word)
		return not_found(rounds, word, error);
	pr_error_set(error, ENOENT, "there are no rounds yet");
	return pr_error_remedy(error, "proctor run FILE starts one");
}

int rounds_resolve(const char *word, struct round_place *ret_place, struct pr_error *error)
{
	_cleanup_rounds_ struct rounds rounds = { 0 };
	int r = rounds_read(&rounds, error);
	return r < 0 ? r : rounds_find(&rounds, word, ret_place, error);
}

int round_socket(const struct round_place *place, char *ret_path, size_t size, struct pr_error *error)
{
	char parent[128];
	if ((size_t)snprintf(ret_path, size, "%s/socket", place->dir) >= size)
		return pr_error_errno(error, ENAMETOOLONG, "the socket of round %s", place->name);
	/* The core's own word for it: a link, or the socket itself where no other place could be written. */
	char target[128];
	ssize_t length = readlink(ret_path, target, sizeof target - 1);
	if (length > 0 && (size_t)length < size) {
		memcpy(ret_path, target, (size_t)length);
		ret_path[length] = '\0';
		return 0;
	}
	if (length < 0 && errno == EINVAL)
		return 0;
	int r = place_sockets(parent, sizeof parent, error);
	if (r < 0)
		return r;
	if ((size_t)snprintf(ret_path, size, "%s/%s.sock", parent, place->name) >= size)
		return pr_error_errno(error, ENAMETOOLONG, "the socket of round %s", place->name);
	return 0;
}

int round_log(const struct round_place *place, char *ret_path, size_t size, struct pr_error *error)
{
	if ((size_t)snprintf(ret_path, size, "%s/events.jsonl", place->dir) >= size)
		return pr_error_errno(error, ENAMETOOLONG, "the log of round %s", place->name);
	return 0;
}

bool round_is_live(const struct round_place *place)
{
	char path[4096];
	if ((size_t)snprintf(path, sizeof path, "%s/lock", place->dir) >= sizeof path)
		return false;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	/* A shared lock that is given back at once: flock(2) has no way to look without taking. */
	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

int round_fold(const struct round_place *place, struct pr_model *ret_model, char ret_head[static DIGEST_HEX],
	       struct pr_error *error)
{
	char path[4096];
	_cleanup_log_reader_ struct log_reader *reader = NULL;
	int r = round_log(place, path, sizeof path, error);
	if (r >= 0)
		r = log_reader_open(path, &reader, error);
	if (r < 0)
		return r;
	const char *line;
	size_t length;
	memset(ret_head, '0', DIGEST_HEX - 1);
	ret_head[DIGEST_HEX - 1] = '\0';
	while ((r = log_reader_next(reader, &line, &length, error)) > 0) {
		_cleanup_jsonc_ struct json_object *event = json_tokener_parse(line);
		if (event && pr_model_apply(ret_model, event) < 0)
			return pr_error_errno(error, ENOMEM, "folding %s", path);
		digest_bytes(line, length, ret_head);
	}
	return r;
}

static const char *const state_names[ROUND_STATE_COUNT] = {
#define X(identifier, name) [identifier] = name,
	ROUND_STATES(X)
#undef X
};

const char *round_state_name(enum round_state state)
{
	return state_names[state];
}

/* The state of round.finished; a drained round is a stopped one. */
static enum round_state ended_as(const char *state)
{
	static const enum round_state ends[] = { ROUND_FINISHED, ROUND_REFUSED, ROUND_FAILED };
	for (size_t i = 0; i < ELEMENTS(ends); i++)
		if (strcmp(state, state_names[ends[i]]) == 0)
			return ends[i];
	return ROUND_STOPPED;
}

enum round_state round_state_of(const struct pr_model *model, bool live)
{
	if (model->finished)
		return ended_as(model->state);
	if (!live)
		return ROUND_INTERRUPTED;
	if (model->frozen)
		return ROUND_FROZEN;
	if (model->draining)
		return ROUND_DRAINING;
	if (model->held)
		return ROUND_HELD;
	return model->started || model->gate != PR_GATE_WAITING ? ROUND_RUNNING : ROUND_WAITING;
}
