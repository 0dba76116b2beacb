#!/usr/bin/python3
"""with_provider.py claude|codex COMMAND...: runs an agent's program against a provider that answers from a script.

The provider listens on loopback, in the boundary of the agent itself. Its "model" asks for one tool after the other,
looks at what each gave, and ends. Exit code: the program's; 3 where a tool failed or the script was not played to its end.
"""
import http.server
import json
import subprocess
import sys
import threading

PORT = 8080  # the boundary's network is its own: nobody else is there
PATCH = """apply_patch <<'END'
*** Begin Patch
*** Update File: calc.py
@@
-    return a - b
+    return a + b
*** End Patch
END"""

# What the model asks for: a tool, its input, and what stands in the answer of one that worked.
SCRIPTS = {
    "claude": [
        ("Read", {"file_path": "/workspace/calc.py"}, "return a - b"),
        ("Edit", {"file_path": "/workspace/calc.py", "old_string": "a - b", "new_string": "a + b"}, "updated"),
        ("Bash", {"command": "python3 -m unittest && echo all is well", "description": "Run the tests"}, "all is well"),
    ],
    "codex": [
        ("exec_command", {"cmd": "cat calc.py"}, "return a - b"),
        ("exec_command", {"cmd": PATCH}, "Success"),
        ("exec_command", {"cmd": "python3 -m unittest && echo all is well"}, "all is well"),
    ],
}


def claude_results(request):
    return [json.dumps(part.get("content")) for message in request["messages"] if isinstance(message["content"], list)
            for part in message["content"] if part["type"] == "tool_result"]


def claude_events(step, tool):
    """The Messages API's stream: https://docs.anthropic.com/en/api/messages-streaming"""
    if tool:
        block = {"type": "tool_use", "id": f"toolu_{step}", "name": tool[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(tool[1])}
    else:
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": "Repaired."}
    message = {"id": f"msg_{step}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 1}}
    yield {"type": "message_start", "message": message}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None},
           "usage": {"output_tokens": 10}}
    yield {"type": "message_stop"}


def codex_results(request):
    return [json.dumps(item.get("output")) for item in request["input"] if item.get("type") == "function_call_output"]


def codex_events(step, tool):
    """The Responses API's stream: https://platform.openai.com/docs/api-reference/responses-streaming"""
    if tool:
        item = {"type": "function_call", "id": f"fc_{step}", "call_id": f"call_{step}", "name": tool[0],
                "arguments": json.dumps(tool[1])}
    else:
        item = {"type": "message", "id": f"msg_{step}", "role": "assistant",
                "content": [{"type": "output_text", "text": "Repaired.", "annotations": []}]}
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15}
    yield {"type": "response.created", "response": {"id": f"resp_{step}"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": {"id": f"resp_{step}", "usage": usage}}


APIS = {
    "claude": ("/v1/messages", claude_results, claude_events),
    "codex": ("/v1/responses", codex_results, codex_events),
}


class Provider(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    agent = None
    ended = False

    def do_POST(self):
        path, results_of, events_of = APIS[self.agent]
        script = SCRIPTS[self.agent]
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.partition("?")[0] != path or not request.get("tools"):
            return self.answer(404)
        results = results_of(request)
        for wanted, result in zip(script, results):
            if wanted[2] not in result:
                print(f"with_provider: {wanted[0]} {wanted[1]} gave {result[:2000]}", file=sys.stderr)
                return self.answer(400)
        step = len(results)
        body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                       for event in events_of(step, script[step] if step < len(script) else None))
        Provider.ended = step == len(script)
        self.answer(200, body.encode(), "text/event-stream")

    def do_HEAD(self):
        self.answer(200)

    def do_GET(self):
        self.answer(404)

    def answer(self, status, body=b"", kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    Provider.agent = sys.argv[1]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    code = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL).returncode
    if code == 0 and not Provider.ended:
        print("with_provider: the script was not played to its end", file=sys.stderr)
        return 3
    return code


sys.exit(main())
