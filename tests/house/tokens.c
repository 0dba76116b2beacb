/* The tokenizer of tokens.h: translation phases 2 and 3 of C17 (5.1.1.2), without trigraphs. */
#include "tests/house/tokens.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	const char *at;
	unsigned line;
	bool directive;
	bool line_start;
};

/* A backslash before a line feed joins the lines, wherever it stands. */
static void splice(struct reader *reader)
{
	while (reader->at[0] == '\\' && reader->at[1] == '\n') {
		reader->at += 2;
		reader->line++;
	}
}

static char peek(struct reader *reader)
{
	splice(reader);
	return *reader->at;
}

static char next(struct reader *reader)
{
	char c = peek(reader);
	if (c) {
		reader->at++;
		if (c == '\n')
			reader->line++;
	}
	return c;
}

/* The character after the one at hand. */
static char second(struct reader *reader)
{
	struct reader ahead = *reader;
	next(&ahead);
	return peek(&ahead);
}

static void put(struct token *token, size_t *length, char c)
{
	if (*length + 1 < sizeof token->text)
		token->text[(*length)++] = c;
}

static void skip_comment(struct reader *reader)
{
	next(reader);
	if (next(reader) == '/') {
		while (peek(reader) && peek(reader) != '\n')
			next(reader);
		return;
	}
	char last = '\0';
	for (char c; (c = next(reader)); last = c)
		if (last == '*' && c == '/')
			return;
}

/* White space and comments; a line feed ends a directive. */
static void skip_space(struct reader *reader)
{
	for (;;) {
		char c = peek(reader);
		if (c == '\n') {
			next(reader);
			reader->directive = false;
			reader->line_start = true;
		} else if (c && isspace((unsigned char)c)) {
			next(reader);
		} else if (c == '/' && (second(reader) == '/' || second(reader) == '*')) {
			skip_comment(reader);
		} else {
			return;
		}
	}
}

static void quoted(struct reader *reader, struct token *token, size_t *length, char quote)
{
	next(reader);
	for (char c; (c = peek(reader)) && c != quote && c != '\n';) {
		put(token, length, next(reader));
		if (c == '\\')
			put(token, length, next(reader));
	}
	if (peek(reader) == quote)
		next(reader);
}

static bool name_character(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static struct token read_token(struct reader *reader)
{
	struct token token = { 0 };
	size_t length = 0;
	skip_space(reader);
	char c = peek(reader);
	token.line = reader->line;
	token.starts_line = reader->line_start;
	if (c == '#' && reader->line_start)
		reader->directive = true;
	token.in_directive = reader->directive;
	reader->line_start = false;
	if (!c)
		return token;
	if (c == '"' || c == '\'') {
		token.kind = c == '"' ? TOKEN_STRING : TOKEN_CHARACTER;
		quoted(reader, &token, &length, c);
	} else if (isdigit((unsigned char)c)) {
		token.kind = TOKEN_NUMBER;
		while (name_character(peek(reader)) || peek(reader) == '.')
			put(&token, &length, next(reader));
	} else if (name_character(c)) {
		token.kind = TOKEN_NAME;
		while (name_character(peek(reader)))
			put(&token, &length, next(reader));
	} else {
		token.kind = TOKEN_PUNCTUATION;
		bool arrow = c == '-' && second(reader) == '>';
		put(&token, &length, next(reader));
		if (arrow)
			put(&token, &length, next(reader));
	}
	return token;
}

struct token_list tokens_of(const char *text)
{
	struct token_list list = { 0 };
	struct reader reader = { .at = text, .line = 1, .line_start = true };
	size_t room = 0;
	for (;;) {
		if (list.count == room) {
			room = room ? room * 2 : 1024;
			list.tokens = reallocarray(list.tokens, room, sizeof *list.tokens);
			if (!list.tokens)
				abort();
		}
		list.tokens[list.count] = read_token(&reader);
		if (list.tokens[list.count].kind == TOKEN_END)
			return list;
		list.count++;
	}
}

void tokens_release(struct token_list *list)
{
	free(list->tokens);
	*list = (struct token_list){ 0 };
}
