/*
 * The tokens of C, as far as a structural test needs them: comments and white space are gone, spliced lines
 * are joined, a string literal is one token, so that neither a comment nor a message is taken for code.
 */
#ifndef TESTS_HOUSE_TOKENS_H
#define TESTS_HOUSE_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

enum token_kind {
	TOKEN_END,
	TOKEN_NAME,		/* identifier or keyword */
	TOKEN_NUMBER,
	TOKEN_STRING,		/* the bytes between the quotes, escapes as they stand */
	TOKEN_CHARACTER,
	TOKEN_PUNCTUATION,	/* one character; "->" is one token too */
};

struct token {
	enum token_kind kind;
	char text[256];		/* cut where it is longer */
	unsigned line;
	bool in_directive;	/* part of a preprocessor directive */
	bool starts_line;	/* the first token of its logical line */
};

struct token_list {
	struct token *tokens;	/* ends with a TOKEN_END */
	size_t count;		/* the TOKEN_END not counted */
};

/* Aborts where memory ends. */
struct token_list tokens_of(const char *text);
void tokens_release(struct token_list *list);

static inline bool token_is(const struct token *token, enum token_kind kind, const char *text)
{
	if (token->kind != kind)
		return false;
	const char *own = token->text;
	while (*own && *own == *text) {
		own++;
		text++;
	}
	return *own == *text;
}

#endif
