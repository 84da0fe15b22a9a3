#!/usr/bin/env python3
"""A model for Claude Code in tests: it wants SCRIPT's tool call, and repeats what came of it.

Prints the address that ANTHROPIC_BASE_URL takes.
"""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WANTED = json.loads(os.environ["SCRIPT"])
BACKGROUND = {"id": "m1", "type": "message", "role": "assistant", "model": "scripted"}
USAGE = {"input_tokens": 1, "output_tokens": 1}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The next block of the conversation."""
    results = [
        block["content"]
        for message in request["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    if results:
        return {"type": "text", "text": f"done: {results[-1]}"}
    # Requests beside the conversation, such as for its title, offer no tools.
    if WANTED["tool"] not in [tool.get("name") for tool in request.get("tools", [])]:
        return {"type": "text", "text": "a title"}
    return {"type": "tool_use", "id": "call-1", "name": WANTED["tool"], "input": WANTED["args"]}


class Model(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "count_tokens" in self.path:
            return self._json({"input_tokens": 1})
        block = answer(request)
        stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
        message = {**BACKGROUND, "content": [block], "stop_reason": stop, "usage": USAGE}
        if not request.get("stream"):
            return self._json(message)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        begun = {**message, "content": [], "stop_reason": None}
        self._event({"type": "message_start", "message": begun})
        empty = {**block, "input": {}} if stop == "tool_use" else {**block, "text": ""}
        self._event({"type": "content_block_start", "index": 0, "content_block": empty})
        if stop == "tool_use":
            text = json.dumps(block["input"])
            delta = {"type": "input_json_delta", "partial_json": text}
        else:
            delta = {"type": "text_delta", "text": block["text"]}
        self._event({"type": "content_block_delta", "index": 0, "delta": delta})
        self._event({"type": "content_block_stop", "index": 0})
        end = {"stop_reason": stop, "stop_sequence": None}
        self._event({"type": "message_delta", "delta": end, "usage": USAGE})
        self._event({"type": "message_stop"})
        return None

    def _json(self, body: Any) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def _event(self, event: dict[str, Any]) -> None:
        self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *given: Any) -> None:
        """Says nothing."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
