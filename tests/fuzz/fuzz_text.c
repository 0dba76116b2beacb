/* Any bytes as safe text, in every charset and width: one line, printable, as wide as it says, unchanged the second time. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/workspace.h"
#include <proctor/text.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void check(const uint8_t *bytes, size_t length, unsigned width, enum pr_charset charset)
{
	struct pr_safe_text text, again;
	pr_safe_text_from(&text, bytes, length, width, charset);
	const char *string = pr_safe_text_str(&text);
	if (strlen(string) != pr_safe_text_length(&text) || strlen(string) >= PR_SAFE_TEXT_BYTES)
		abort();
	if (width > 0 && pr_safe_text_width(&text) > width)
		abort();
	for (const unsigned char *at = (const unsigned char *)string; *at; at++) {
		if (*at < 0x20 || *at == 0x7f || (charset == PR_CHARSET_ASCII && *at >= 0x80))
			abort();
		/* C1 controls are 0xc2 0x80 to 0xc2 0x9f in UTF-8. */
		if (*at == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f)
			abort();
	}
	pr_safe_text_from(&again, string, strlen(string), width, charset);
	if (strcmp(pr_safe_text_str(&again), string) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const unsigned widths[] = { 0, 1, 2, 3, 17, 80 };
	for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
		check(bytes, length, widths[i], PR_CHARSET_UTF8);
		check(bytes, length, widths[i], PR_CHARSET_ASCII);
	}
	return 0;
}
