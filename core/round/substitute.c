/* The substitutions of substitute.h: one table of names. */
#include "core/round/substitute.h"

#include <string.h>

#include "core/round/spec.h"

enum variable { VARIABLE_PROMPT, VARIABLE_WORKSPACE, VARIABLE_TASK, VARIABLE_BROKER, VARIABLE_TOKEN, VARIABLE_UNKNOWN };

static const struct {
	const char *name;
	const char *fault;
} variables[] = {
	[VARIABLE_PROMPT] = { "prompt", NULL },
	[VARIABLE_WORKSPACE] = { "workspace", NULL },
	[VARIABLE_TASK] = { "task", NULL },
	[VARIABLE_BROKER] = { "broker", "needs the broker, which this version does not have" },
	[VARIABLE_TOKEN] = { "token", "needs the broker, which this version does not have" },
	[VARIABLE_UNKNOWN] = { "", "is no substitution" },
};

/* At "${": the variable, and what follows its brace. */
static enum variable read_variable(const char *at, const char **ret_after, size_t *ret_length)
{
	const char *end = strchr(at + 2, '}');
	*ret_length = end ? (size_t)(end - at - 2) : strlen(at + 2);
	*ret_after = end ? end + 1 : at + strlen(at);
	for (enum variable v = VARIABLE_PROMPT; end && v < VARIABLE_UNKNOWN; v++)
		if (strlen(variables[v].name) == *ret_length && memcmp(variables[v].name, at + 2, *ret_length) == 0)
			return v;
	return VARIABLE_UNKNOWN;
}

const char *substitute_fault(const char *text, char *ret_name, size_t size)
{
	for (const char *at = strstr(text, "${"); at; at = strstr(at, "${")) {
		const char *after;
		size_t length;
		enum variable v = read_variable(at, &after, &length);
		if (variables[v].fault) {
			if (ret_name)
				snprintf(ret_name, size, "%.*s", (int)(length < 40 ? length : 40), at + 2);
			return variables[v].fault;
		}
		at = after;
	}
	return NULL;
}

int substitute(const char *text, const struct task_spec *task, struct buffer *out)
{
	const char *at = text;

	for (const char *next = strstr(at, "${"); next; next = strstr(at, "${")) {
		const char *after, *value = NULL;
		size_t length;
		int r = buffer_add(out, at, (size_t)(next - at));
		if (r < 0)
			return r;
		switch (read_variable(next, &after, &length)) {
		case VARIABLE_PROMPT:
			value = task->prompt;
			break;
		case VARIABLE_WORKSPACE:
			value = SPEC_WORKSPACE;
			break;
		case VARIABLE_TASK:
			value = task->id;
			break;
		case VARIABLE_BROKER:
		case VARIABLE_TOKEN:
		case VARIABLE_UNKNOWN:
			return -EINVAL;
		}
		r = buffer_add_text(out, value);
		if (r < 0)
			return r;
		at = after;
	}
	return buffer_add_text(out, at);
}
