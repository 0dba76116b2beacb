/* The reader of request.h. */
#include "core/containment/request.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/io.h"
#include "core/containment/protocol.h"
#include "core/containment/template.h"

static const char *const op_names[] = {
#define X(identifier, name) [identifier] = name,
	WORKER_OPS(X)
#undef X
};

const char *worker_op_name(enum worker_op op)
{
	return op_names[op];
}

static struct json_object *parse(const char *text, size_t length, struct pr_error *error)
{
	struct json_tokener *tokener = json_tokener_new();
	if (!tokener) {
		pr_error_errno(error, ENOMEM, "reading a request");
		return NULL;
	}
	struct json_object *object = json_tokener_parse_ex(tokener, text, (int)length);
	enum json_tokener_error fault = json_tokener_get_error(tokener);
	json_tokener_free(tokener);
	if (fault == json_tokener_success && json_object_is_type(object, json_type_object))
		return object;
	json_object_put(object);
	pr_error_set(error, EBADMSG, "a request is no JSON object");
	return NULL;
}

static int get_number(struct json_object *object, const char *key, bool required, uint64_t *ret_number, struct pr_error *error)
{
	struct json_object *member;
	if (!json_object_object_get_ex(object, key, &member))
		return required ? pr_error_set(error, EBADMSG, "a request has no %s", key) : 0;
	if (!json_object_is_type(member, json_type_int) || json_object_get_int64(member) < 0)
		return pr_error_set(error, EBADMSG, "%s of a request is no number from 0 on", key);
	*ret_number = json_object_get_uint64(member);
	return 0;
}

int request_read(const char *text, size_t length, struct request *ret_request, struct pr_error *error)
{
	struct request request = { .op = OP_COUNT };
	struct json_object *object = parse(text, length, error);
	struct json_object *op;
	if (!object)
		return -EBADMSG;
	const char *name = json_object_object_get_ex(object, "op", &op) ? json_object_get_string(op) : "";
	for (int i = 0; name && i < OP_COUNT; i++)
		if (strcmp(name, op_names[i]) == 0)
			request.op = (enum worker_op)i;
	bool about_run = request.op == OP_RUN || request.op == OP_COLLECT || request.op == OP_KILL || request.op == OP_RELEASE;
	int r = request.op == OP_COUNT ? pr_error_set(error, EBADMSG, "a request has no op that the worker knows") : 0;
	if (r == 0)
		r = get_number(object, "run", about_run, &request.run, error);
	if (r == 0)
		r = get_number(object, "of", request.op == OP_COLLECT, &request.of, error);
	if (r == 0 && about_run && request.run == 0)
		r = pr_error_set(error, EBADMSG, "run 0 is the worker's own");
	json_object_put(object);
	if (r == 0)
		*ret_request = request;
	return r;
}

/* A JSON array of strings without NULs as a NULL-terminated vector; absent is an empty one. */
static int get_strings(struct json_object *object, const char *key, char ***ret_strings, size_t *ret_count, struct pr_error *error)
{
	struct json_object *array = NULL;
	json_object_object_get_ex(object, key, &array);
	if (array && !json_object_is_type(array, json_type_array))
		return pr_error_set(error, EBADMSG, "%s of a spec is no array", key);
	size_t count = array ? json_object_array_length(array) : 0;
	char **strings = calloc(count + 1, sizeof *strings);
	if (!strings)
		return pr_error_errno(error, ENOMEM, "reading a spec");
	*ret_strings = strings;
	*ret_count = count;
	for (size_t i = 0; i < count; i++) {
		struct json_object *item = json_object_array_get_idx(array, i);
		const char *text = json_object_is_type(item, json_type_string) ? json_object_get_string(item) : NULL;
		if (!text || strlen(text) != (size_t)json_object_get_string_len(item))
			return pr_error_set(error, EBADMSG, "%s of a spec holds what is no text", key);
		strings[i] = strdup(text);
		if (!strings[i])
			return pr_error_errno(error, ENOMEM, "reading a spec");
	}
	return 0;
}

static int get_environment(struct json_object *object, char ***ret_strings, struct pr_error *error)
{
	struct json_object *map = NULL;
	size_t used = 0;
	json_object_object_get_ex(object, "environment", &map);
	if (map && !json_object_is_type(map, json_type_object))
		return pr_error_set(error, EBADMSG, "environment of a spec is no object");
	char **strings = calloc((size_t)(map ? json_object_object_length(map) : 0) + 1, sizeof *strings);
	if (!strings)
		return pr_error_errno(error, ENOMEM, "reading a spec");
	*ret_strings = strings;
	if (!map)
		return 0;
	json_object_object_foreach(map, key, value) {
		const char *text = json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
		if (!text || key[0] == '\0' || strchr(key, '='))
			return pr_error_set(error, EBADMSG, "environment of a spec holds what is no variable");
		_cleanup_buffer_ struct buffer pair = BUFFER_INIT;
		if (buffer_printf(&pair, "%s=%s", key, text) < 0)
			return pr_error_errno(error, ENOMEM, "reading a spec");
		strings[used++] = buffer_take(&pair);
	}
	return 0;
}

static int get_text(struct json_object *object, const char *key, const char *fallback, char **ret_text, struct pr_error *error)
{
	struct json_object *member;
	const char *text = fallback;
	if (json_object_object_get_ex(object, key, &member)) {
		if (!json_object_is_type(member, json_type_string))
			return pr_error_set(error, EBADMSG, "%s of a spec is no text", key);
		text = json_object_get_string(member);
	}
	*ret_text = strdup(text);
	return *ret_text ? 0 : pr_error_errno(error, ENOMEM, "reading a spec");
}

#define WORKSPACE_DEFAULT_BYTES (UINT64_C(1) << 30)
#define WORKSPACE_DEFAULT_INODES UINT64_C(200000)

static int get_limits(struct json_object *object, struct run_request *run, struct pr_error *error)
{
	struct json_object *limits = NULL, *cpus;
	run->workspace_bytes = WORKSPACE_DEFAULT_BYTES;
	run->workspace_inodes = WORKSPACE_DEFAULT_INODES;
	run->limits.as_a_whole = true;
	if (!json_object_object_get_ex(object, "limits", &limits))
		return 0;
	if (!json_object_is_type(limits, json_type_object))
		return pr_error_set(error, EBADMSG, "limits of a spec are no object");
	int r = get_number(limits, "memory", false, &run->limits.memory_bytes, error);
	if (r == 0)
		r = get_number(limits, "processes", false, &run->limits.processes, error);
	if (r == 0)
		r = get_number(limits, "workspace", false, &run->workspace_bytes, error);
	if (r == 0)
		r = get_number(limits, "inodes", false, &run->workspace_inodes, error);
	if (r == 0 && json_object_object_get_ex(limits, "cpus", &cpus)) {
		run->limits.cpus = json_object_get_double(cpus);
		if (!isfinite(run->limits.cpus) || run->limits.cpus < 0 || run->limits.cpus > 4096)
			r = pr_error_set(error, EBADMSG, "cpus of a spec is out of range");
	}
	/* tmpfs takes 0 for "no limit" (tmpfs(5)). */
	if (r == 0 && (run->workspace_bytes == 0 || run->workspace_inodes == 0))
		r = pr_error_set(error, EBADMSG, "a workspace without a limit is not made");
	return r;
}

/* Without layers there is one root, and all of it can be read. */
static int get_profile(struct json_object *object, struct run_request *run, struct pr_error *error)
{
	struct json_object *member;
	if (!json_object_object_get_ex(object, "profile", &member))
		return 0;
	const char *profile = json_object_is_type(member, json_type_string) ? json_object_get_string(member) : "";
	if (strcmp(profile, "residency.confined-local.v1") == 0)
		return 0;
	if (strcmp(profile, "residency.trusted-local.v1") != 0)
		return pr_error_set(error, EBADMSG, "the profile of a spec is none that is delivered");
	if (strcmp(run->root, "host") != 0)
		return pr_error_set(error, EBADMSG, "a run without layers has the host's root");
	free(run->root);
	run->root = strdup(ROOT_WHOLE_HOST);
	return run->root ? 0 : pr_error_errno(error, ENOMEM, "reading a spec");
}

static int read_members(struct json_object *object, bool collect, struct run_request *run, uint64_t *ret_of, struct pr_error *error)
{
	size_t count;
	if (collect) {
		run->workspace_bytes = WORKSPACE_DEFAULT_BYTES;
		run->workspace_inodes = WORKSPACE_DEFAULT_INODES;
		return get_strings(object, "scratch", &run->argv, &count, error);
	}
	int r = get_strings(object, "argv", &run->argv, &count, error);
	if (r == 0 && count == 0)
		r = pr_error_set(error, EBADMSG, "a spec has no command");
	if (r == 0 && run->argv[0][0] == '\0')
		r = pr_error_set(error, EBADMSG, "the command of a spec is empty");
	if (r == 0)
		r = get_environment(object, &run->environment, error);
	if (r == 0)
		r = get_text(object, "cwd", ".", &run->directory, error);
	if (r == 0)
		r = get_text(object, "root", "host", &run->root, error);
	if (r == 0)
		r = get_strings(object, "read_only", &run->read_only, &run->read_only_count, error);
	if (r == 0)
		r = get_limits(object, run, error);
	if (r == 0)
		r = get_profile(object, run, error);
	return r < 0 ? r : get_number(object, "workspace_of", false, ret_of, error);
}

int spec_read(int fd, bool collect, struct run_request *ret_run, uint64_t *ret_of, struct pr_error *error)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return pr_error_errno(error, errno, "reading a spec");
	int r = io_read_all(fd, &text, WORKER_SPEC_MAX);
	if (r < 0)
		return pr_error_errno(error, -r, "reading a spec");
	struct json_object *object = parse(text.data ? text.data : "", text.length, error);
	if (!object)
		return -EBADMSG;
	*ret_of = 0;
	r = read_members(object, collect, ret_run, ret_of, error);
	json_object_put(object);
	return r;
}

static void free_strings(char **strings)
{
	for (size_t i = 0; strings && strings[i]; i++)
		free(strings[i]);
	free(strings);
}

void spec_release(struct run_request *run)
{
	free_strings(run->argv);
	free_strings(run->environment);
	free_strings(run->read_only);
	free(run->directory);
	free(run->root);
	run->argv = run->environment = run->read_only = NULL;
	run->directory = run->root = NULL;
}
