/* Words for the owner on standard error, beside what a command prints. A standard error that is gone is no fault. */
#ifndef TUI_NOTICE_H
#define TUI_NOTICE_H

#include <stdint.h>

#include <proctor/error.h>

/* A line "proctor: ...", made safe as a whole (proctor/text.h). */
void notice(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "proctor: message" and, where there is one, "  try: remedy". */
void notice_error(const struct pr_error *error);

/*
 * From now on no line waits longer than that for a terminal or a pipe that takes nothing: what it has not taken then is
 * dropped. Until then each waits as long as it takes.
 */
void notice_within(int64_t ns);

/* As it stands, for a question: no prefix, no line feed. Text of our own only. */
void notice_prompt(const char *text);

#endif
