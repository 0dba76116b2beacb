/* The message above the footer, in words: what is most urgent of all that there is to say, and the keys for it. Pure. */
#ifndef TUI_FULL_MESSAGE_H
#define TUI_FULL_MESSAGE_H

#include "tui/full/screen.h"

/* No words: the counts stand there. `ret_keys` is a constant, and may be empty. */
void message_words(const struct screen *screen, char *words, size_t size, enum role *ret_role, const char **ret_keys);

/* These words are of a fault in the owner's own files; that is what stands there now. */
bool message_is_fault(const struct screen *screen, const char *words);
bool message_shows_fault(const struct screen *screen);

#endif
