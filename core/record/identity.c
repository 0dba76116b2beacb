/*
 * Ids, see identity.h. The table below is formats.md, 1, and its lists are the reference evaluator's
 * allowlists; a member of a list that an object lacks is left out, as there.
 */
#include "core/record/identity.h"

#include <errno.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/digest.h"
#include "core/record/canonical.h"

static const char *const episode_keys[] = {
	"episode_version", "substrate_profile", "task_id", "reward_id", "subject", "trace_id", "outputs", "verification",
	"verification_evidence", "verifier_versions", "reward", "status", "validity", "replayability",
	"execution_facts", NULL,
};

static const char *const trace_event_keys[] = {
	"command", "cwd", "environment_keys", "exit_code", "stdout_digest", "stderr_digest", "files_created_digest",
	"files_modified_digest", "files_deleted_digest", "file_modes_changed_digest", "result_file_digest",
	"policy_violations_digest",
	"execution_limits_version",	/* stands in the event of a run that hit a bound, and there alone */
	NULL,
};

/* ------- what counts of an object ------- */

static int no_memory(struct pr_error *error)
{
	return pr_error_set(error, ENOMEM, "computing an id: out of memory");
}

/* The listed members that are there, copied. NULL: out of memory. */
static struct json *only(const struct json *object, const char *const *keys)
{
	_cleanup_json_ struct json *kept = json_new_object();

	for (; kept && *keys; keys++) {
		const struct json *value = json_get(object, *keys);
		if (value && json_set(kept, *keys, json_copy(value)) < 0)
			return NULL;
	}
	return take_ptr(kept);
}

static int count_all(enum identity identity, const struct json *object, struct json **ret_counts, struct pr_error *error)
{
	struct json *copy = json_copy(object);

	if (!copy)
		return no_memory(error);
	json_remove(copy, identity_member(identity));
	*ret_counts = copy;
	return 0;
}

/* CRLF and CR become LF. */
static struct json *with_line_feeds(const char *bytes, size_t length)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT;

	if (buffer_reserve(&out, length) < 0)
		return NULL;
	for (size_t i = 0; i < length; i++) {
		if (bytes[i] == '\r' && i + 1 < length && bytes[i + 1] == '\n')
			continue;
		if (buffer_add_byte(&out, bytes[i] == '\r' ? '\n' : bytes[i]) < 0)
			return NULL;
	}
	return json_new_string_n(out.data, out.length);
}

static int count_patch(enum identity identity, const struct json *object, struct json **ret_counts, struct pr_error *error)
{
	_cleanup_json_ struct json *copy = NULL;
	size_t length;
	const char *diff = json_string(json_get(object, "diff"), &length);

	if (!diff)
		return pr_error_set(error, EBADMSG, "computing a patch id: `diff` is %s, not a string",
				    json_kind_name(json_get(object, "diff")));
	int r = count_all(identity, object, &copy, error);
	if (r < 0)
		return r;
	if (json_set(copy, "diff", with_line_feeds(diff, length)) < 0)
		return no_memory(error);
	*ret_counts = take_ptr(copy);
	return 0;
}

static int count_trace(enum identity identity, const struct json *object, struct json **ret_counts, struct pr_error *error)
{
	_cleanup_json_ struct json *trace = json_new_object();
	struct json *events = json_new_array();
	const struct json *version = json_get(object, "trace_version"), *from = json_get(object, "events");

	(void)identity;
	if (json_set(trace, "events", events) < 0)
		return no_memory(error);
	if (!json_is(version, JSON_STRING) || !json_is(from, JSON_ARRAY))
		return pr_error_set(error, EBADMSG, "computing a trace id: `trace_version` is %s and `events` %s; a string and an array are needed",
				    json_kind_name(version), json_kind_name(from));
	for (size_t i = 0; i < json_count(from); i++) {
		if (!json_is(json_item(from, i), JSON_OBJECT))
			return pr_error_set(error, EBADMSG, "computing a trace id: event %zu is %s, not an object", i,
					    json_kind_name(json_item(from, i)));
		if (json_append(events, only(json_item(from, i), trace_event_keys)) < 0)
			return no_memory(error);
	}
	if (json_set(trace, "trace_version", json_copy(version)) < 0)
		return no_memory(error);
	*ret_counts = take_ptr(trace);
	return 0;
}

static int count_episode(enum identity identity, const struct json *object, struct json **ret_counts,
			 struct pr_error *error)
{
	struct json *kept = only(object, episode_keys);

	(void)identity;
	if (!kept)
		return no_memory(error);
	*ret_counts = kept;
	return 0;
}

const char *identity_token(const char *token)
{
	return token[0] == '/' ? strrchr(token, '/') + 1 : token;
}

/* The tokens of a command: strings, absolute ones reduced where `reduce`. NULL `from`: none. */
static int count_tokens(const struct json *from, bool reduce, struct json *counts, const char *key, struct pr_error *error)
{
	_cleanup_json_ struct json *tokens = json_new_array();

	if (!tokens)
		return no_memory(error);
	if (from && !json_is(from, JSON_ARRAY))
		return pr_error_set(error, EBADMSG, "computing a command id: `%s` is %s, not an array", key, json_kind_name(from));
	for (size_t i = 0; i < json_count(from); i++) {
		const char *token = json_text(json_item(from, i));
		if (!token)
			return pr_error_set(error, EBADMSG, "computing a command id: %s[%zu] is no string without NUL", key, i);
		if (json_append(tokens, json_new_string(reduce ? identity_token(token) : token)) < 0)
			return no_memory(error);
	}
	return json_set(counts, key, take_ptr(tokens)) < 0 ? no_memory(error) : 0;
}

/* V2 has `tool`, and no path of a host; V1 has `argv`. */
static int count_command(enum identity identity, const struct json *object, struct json **ret_counts,
			 struct pr_error *error)
{
	_cleanup_json_ struct json *counts = json_new_object();
	const struct json *tool = json_get(object, "tool"), *argv = json_get(object, "argv"), *cwd = json_get(object, "cwd");

	(void)identity;
	if (!tool && !argv)
		return pr_error_set(error, EBADMSG, "computing a command id: neither `tool` nor `argv` is there");
	if ((tool && !json_is(tool, JSON_STRING)) || (cwd && !json_is(cwd, JSON_STRING)))
		return pr_error_set(error, EBADMSG, "computing a command id: `%s` is %s, not a string",
				    tool && !json_is(tool, JSON_STRING) ? "tool" : "cwd",
				    json_kind_name(tool && !json_is(tool, JSON_STRING) ? tool : cwd));
	if (json_set(counts, "cwd", cwd ? json_copy(cwd) : json_new_string(".")) < 0)
		return no_memory(error);
	if (tool && json_set(counts, "tool", json_copy(tool)) < 0)
		return no_memory(error);
	int r = tool ? count_tokens(json_get(object, "args"), false, counts, "args", error)
		     : count_tokens(argv, true, counts, "argv", error);
	if (r < 0)
		return r;
	*ret_counts = take_ptr(counts);
	return 0;
}

/* ------- the table ------- */

static const struct {
	const char *kind, *prefix, *member;
} table[] = {
#define X(identifier, kind, prefix, member) [identifier] = { kind, prefix, member },
	IDENTITIES(X)
#undef X
};

/* What counts; the rows that are not here count everything but the id's own member. */
static int (*const counting[IDENTITY_COUNT])(enum identity, const struct json *, struct json **, struct pr_error *) = {
	[IDENTITY_PATCH] = count_patch,
	[IDENTITY_TRACE] = count_trace,
	[IDENTITY_EPISODE] = count_episode,
	[IDENTITY_COMMAND] = count_command,
};

const char *identity_kind(enum identity identity)
{
	return table[identity].kind;
}

const char *identity_prefix(enum identity identity)
{
	return table[identity].prefix;
}

const char *identity_member(enum identity identity)
{
	return table[identity].member;
}

int identity_of(enum identity identity, const struct json *object, char ret_id[static IDENTITY_SIZE],
		struct pr_error *error)
{
	_cleanup_json_ struct json *counts = NULL;
	_cleanup_buffer_ struct buffer canonical = BUFFER_INIT;
	char hex[DIGEST_HEX];

	if (!json_is(object, JSON_OBJECT))
		return pr_error_set(error, EBADMSG, "computing a %s id: %s is not an object", identity_kind(identity),
				    json_kind_name(object));
	int r = (counting[identity] ? counting[identity] : count_all)(identity, object, &counts, error);
	if (r < 0)
		return r;
	r = canonical_write(counts, &canonical);
	if (r < 0)
		return pr_error_errno(error, -r, "computing a %s id", identity_kind(identity));
	digest_bytes(canonical.data, canonical.length, hex);
	snprintf(ret_id, IDENTITY_SIZE, "%s%s", identity_prefix(identity), hex);
	return 0;
}

bool identity_well_formed(enum identity identity, const char *id)
{
	size_t prefix = strlen(identity_prefix(identity));

	return !strncmp(id, identity_prefix(identity), prefix) && strlen(id) == prefix + 64 &&
	       strspn(id + prefix, "0123456789abcdef") == 64;
}

int identity_check(enum identity identity, const struct json *object, struct pr_error *error)
{
	char id[IDENTITY_SIZE];
	int r = identity_of(identity, object, id, error);

	if (r < 0)
		return r;
	const char *own = json_text(json_get(object, identity_member(identity)));
	if (!own || !identity_well_formed(identity, own))
		return pr_error_set(error, EBADMSG, "`%s` is no %s id", identity_member(identity), identity_kind(identity));
	if (strcmp(own, id))
		return pr_error_set(error, EBADMSG, "`%s` is %s, but the content is %s", identity_member(identity), own, id);
	return 0;
}

int identity_seal(enum identity identity, struct json *object, char ret_id[IDENTITY_SIZE], struct pr_error *error)
{
	char id[IDENTITY_SIZE];
	int r = identity_of(identity, object, id, error);

	if (r < 0)
		return r;
	if (json_set(object, identity_member(identity), json_new_string(id)) < 0)
		return no_memory(error);
	if (ret_id)
		memcpy(ret_id, id, sizeof id);
	return 0;
}
