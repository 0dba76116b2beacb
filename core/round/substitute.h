/*
 * Substitutions in an agent's command and environment: ${prompt} ${workspace} ${task}, nothing else
 * (formats, 2). A `$` that no `{` follows is itself.
 */
#ifndef CORE_ROUND_SUBSTITUTE_H
#define CORE_ROUND_SUBSTITUTE_H

#include <stddef.h>

#include "core/base/buffer.h"

struct task_spec;

/* Why a text cannot be substituted; NULL where it can. `ret_name` (may be NULL): the name within the braces. */
const char *substitute_fault(const char *text, char *ret_name, size_t size);
/* Appends the text with its substitutions. -EINVAL where substitute_fault() would say so; -ENOMEM. */
int substitute(const char *text, const struct task_spec *task, struct buffer *out);

#endif
