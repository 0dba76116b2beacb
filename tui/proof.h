/* What a verb of the ladder did, with its figures: the same words in plain mode and after a command. */
#ifndef TUI_PROOF_H
#define TUI_PROOF_H

#include <proctor/event.h>

#include "tui/format.h"

struct json_object;

/*
 * `object` is the answer or the control event; where it has no figures (NULL, or not yet), what was asked for; where
 * there was nothing to do (`already`), that.
 */
void line_done(struct line *line, enum pr_verb verb, struct json_object *object);

#endif
