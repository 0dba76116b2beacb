/*
 * Any bytes as what a peer sends: framed in pieces, each line parsed, and what is an event folded. The first byte
 * says how large the pieces are; the lines must be the same whatever they are.
 */
#include <json-c/json.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/workspace.h"
#include <proctor/model.h>
#include <proctor/wire.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void take_line(struct pr_model *model, const char *line, size_t length)
{
	struct pr_message message = { 0 };
	struct pr_error error = { 0 };
	if (pr_wire_parse(line, length, &message, &error) == 0)
		pr_message_release(&message);
	else if (!error.message[0])
		abort();
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *object = json_tokener_parse_ex(tokener, line, (int)length);
	if (json_tokener_get_error(tokener) == json_tokener_success)
		pr_model_apply(model, object);
	json_object_put(object);
	json_tokener_free(tokener);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct pr_lines lines = PR_LINES_INIT;
	struct pr_model model = PR_MODEL_INIT;
	size_t piece = length > 0 && bytes[0] > 0 ? bytes[0] : 1;
	const char *line;
	size_t size;

	for (size_t at = 1; at < length; at += piece) {
		size_t here = length - at < piece ? length - at : piece;
		if (pr_lines_feed(&lines, bytes + at, here) < 0)
			break;
		while (pr_lines_next(&lines, &line, &size) > 0)
			take_line(&model, line, size);
	}
	pr_lines_release(&lines);
	pr_model_release(&model);
	return 0;
}
