/*
 * The full display: one loop over the core, the terminal and signals.
 *
 *     events -> model -> screen (cells) -> term
 *
 * It paints when something changed: at once after a key, after quiet, and where the round took a turn (frozen, held,
 * stopped); twice a second and less where changes go on (pace.h); and only while the terminal takes bytes. Nothing in
 * it blocks.
 */
#ifndef TUI_FULL_APP_H
#define TUI_FULL_APP_H

#include <stdbool.h>

#include <proctor/error.h>

struct round_place;
struct show_settings;

/* Standard input and output are a terminal that can address its cursor; of a terminal that cannot, it is said. */
bool full_is_capable(void);

/*
 * Shows a round until its owner leaves. True: `*ret_exit` is as show_round() has it. False: there is no
 * terminal for it, which was said; the round is to be shown otherwise.
 */
bool full_show(const struct round_place *place, const struct show_settings *settings, int *ret_exit, struct pr_error *error);

#endif
