/*
 * round.json: a round file in which everything is said: every default, every path absolute, every repeat a
 * task of its own, commits by their full ids. `--resume` reads it with file.h's own reader (ROUND_FILE_COMPILED).
 */
#ifndef CORE_ROUND_COMPILE_H
#define CORE_ROUND_COMPILE_H

#include "core/base/buffer.h"
#include "core/round/spec.h"

/* Appends the text. -ENOMEM, or -EILSEQ where a path is no UTF-8. */
int compile_round(const struct round_spec *spec, struct buffer *out);

#endif
