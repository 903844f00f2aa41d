"""A scripted model for coding agents, on a port of this machine.

    python3 fakellm.py LOG

prints its port on the first line, answers until its input ends, and appends every
request to LOG, one JSON object a line: {"n": 1, "path": …, "body": …}. The answer
follows from the request alone:

    user says     the model answers
    run: CMD      one call of the shell tool for each such line, at once
    agent: WORDS  one call of the tool that starts a sub-agent with WORDS
    call: NAME X  one call of the tool NAME with X, an object of JSON
    say: X        the text X, a string of JSON
    fail: N       the status 529 for the first N requests, then as below
    else          the text "reply to: …" with the end of what the user said

Once tools have answered, the model says "done: …" with what they were called for.

A wire format is one entry of WIRES: a class with

    fits(path)              whether a request is of this format
    asked(body)             the Turn that the request ends with
    reply(body, answer, n)  (document, events): the answer n at once, and as a stream
                            of (name or None, object)
"""

import gzip
import json
import re
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Turn:
    """What a request ends with: the user's words, and whether tools answered since."""

    words: str = ""
    answered: bool = False
    tools: list = field(default_factory=list)

    def add(self, words, results):
        """Adds a message of the user: its words, and whether it holds results of tools."""
        words = INJECTED.sub("", words).strip()
        if results:
            self.answered = True
        elif words:
            self.answered = False
        if words and not results:
            self.words = words


# What the agents put around the words of the user.
INJECTED = re.compile(r"<(system-reminder|environment_context|session_context)>.*?</\1>", re.S)


@dataclass
class Answer:
    """Words, or calls: pairs of a tool's name and its arguments."""

    words: str = ""
    calls: list = field(default_factory=list)


# Arguments of each shell tool for a command, and of each tool that starts a sub-agent.
SHELLS = {
    "Bash": lambda cmd: {"command": cmd, "description": "run it"},
    "bash": lambda cmd: {"command": cmd, "description": "run it", "timeout": 20},
    "run_shell_command": lambda cmd: {"command": cmd, "description": "run it"},
    "exec_command": lambda cmd: {"cmd": cmd},
    "shell_command": lambda cmd: {"command": cmd},
    "shell": lambda cmd: {"command": ["bash", "-lc", cmd]},
    "local_shell": lambda cmd: {"command": ["bash", "-lc", cmd]},
    "execute_bash": lambda cmd: {"command": cmd},
    "terminal": lambda cmd: {"command": cmd, "security_risk": "LOW"},
}
AGENTS = {
    name: lambda words: {"description": "sub task", "prompt": words, "subagent_type": "general-purpose"}
    for name in ("Agent", "Task")
}
AGENTS["task"] = lambda words: {"description": "sub task", "prompt": words, "agent_type": "general-purpose", "name": "-".join(words.split())}
AGENTS["spawn_agent"] = lambda words: {"message": words}


def answer(turn):
    """Returns the Answer to a Turn."""
    for order, tools in (("run", SHELLS), ("agent", AGENTS)):
        asked = re.findall(rf"^{order}: (.+)$", turn.words, flags=re.M)
        tool = next((name for name in tools if name in turn.tools), None)
        if asked and turn.answered:
            return Answer(words="done: " + "; ".join(asked))
        if asked and tool:
            return Answer(calls=[(tool, tools[tool](each.strip())) for each in asked])
    asked = re.findall(r"^call: (\S+) (.+)$", turn.words, flags=re.M)
    if asked and turn.answered:
        return Answer(words="done: " + ", ".join(name for name, _ in asked))
    if asked:
        return Answer(calls=[(name, json.loads(each)) for name, each in asked])
    asked = re.findall(r"^say: (.+)$", turn.words, flags=re.M)
    return Answer(words=json.loads(asked[-1]) if asked else "reply to: " + turn.words[-60:])


def tokens(words):
    return len(words) // 4 + 1


class Anthropic:
    """The Messages API: https://docs.anthropic.com/en/api/messages."""

    @staticmethod
    def fits(path):
        return path.endswith("/messages")

    @staticmethod
    def asked(body):
        turn = Turn(tools=[tool.get("name") for tool in body.get("tools", [])])
        for message in body.get("messages", []):
            if message.get("role") != "user":
                continue
            content = message.get("content")
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            words = "\n".join(block.get("text", "") for block in blocks if block.get("type") == "text")
            turn.add(words, any(block.get("type") == "tool_result" for block in blocks))
        return turn

    @staticmethod
    def reply(body, answer, n):
        blocks = [{"type": "text", "text": answer.words}] if answer.words else []
        for i, (name, arguments) in enumerate(answer.calls):
            blocks.append({"type": "tool_use", "id": f"toolu_{n:04}_{i}", "name": name, "input": arguments})
        stop = "tool_use" if answer.calls else "end_turn"
        usage = {
            "input_tokens": tokens(json.dumps(body.get("messages"))),
            "cache_creation_input_tokens": 10,
            "cache_read_input_tokens": 20,
            "output_tokens": tokens(json.dumps(blocks)),
        }
        whole = {
            "id": f"msg_{n:04}", "type": "message", "role": "assistant", "model": body.get("model", "scripted"),
            "content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": usage,
        }
        events = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
        for i, block in enumerate(blocks):
            if block["type"] == "text":
                empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                empty = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events.append({"type": "content_block_start", "index": i, "content_block": empty})
            events.append({"type": "content_block_delta", "index": i, "delta": delta})
            events.append({"type": "content_block_stop", "index": i})
        delta = {"stop_reason": stop, "stop_sequence": None}
        events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": usage["output_tokens"]}})
        events.append({"type": "message_stop"})
        return whole, [(event["type"], event) for event in events]


class Responses:
    """The Responses API: https://platform.openai.com/docs/api-reference/responses."""

    @staticmethod
    def fits(path):
        return path.endswith("/responses")

    @staticmethod
    def tools(body):
        """Returns the namespace of each tool by its name, None for none."""
        names = {}
        for tool in body.get("tools", []):
            for each in tool.get("tools", []):
                names[each.get("name")] = tool.get("name")
            names.setdefault(tool.get("name"), None)
        return names

    @staticmethod
    def asked(body):
        turn = Turn(tools=list(Responses.tools(body)))
        for item in body.get("input", []):
            result = item.get("type", "").endswith("_output")
            if not result and (item.get("type", "message"), item.get("role")) != ("message", "user"):
                continue
            content = item.get("content") or []
            parts = [{"text": content}] if isinstance(content, str) else content
            words = "\n".join(part.get("text", "") for part in parts)
            if not words.startswith("# AGENTS.md"):  # which the agent says in the name of the user
                turn.add(words, result)
        return turn

    @staticmethod
    def reply(body, answer, n):
        items = []
        if answer.words:
            part = {"type": "output_text", "text": answer.words, "annotations": []}
            items.append({"type": "message", "id": f"msg_{n:04}", "role": "assistant", "status": "completed", "content": [part]})
        for i, (name, arguments) in enumerate(answer.calls):
            items.append({
                "type": "function_call", "id": f"fc_{n:04}_{i}", "call_id": f"call_{n:04}_{i}", "name": name,
                "arguments": json.dumps(arguments), "status": "completed",
            })
            if namespace := Responses.tools(body).get(name):
                items[-1]["namespace"] = namespace
        read, wrote = tokens(json.dumps(body.get("input"))), tokens(json.dumps(items))
        whole = {
            "id": f"resp_{n:04}", "object": "response", "status": "completed", "model": body.get("model", "scripted"), "output": items,
            "usage": {
                "input_tokens": read, "input_tokens_details": {"cached_tokens": 20}, "output_tokens": wrote,
                "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": read + wrote,
            },
        }
        events = [{"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}}]
        for i, item in enumerate(items):
            events.append({"type": "response.output_item.added", "output_index": i, "item": {**item, "status": "in_progress"}})
            events.append({"type": "response.output_item.done", "output_index": i, "item": item})
        events.append({"type": "response.completed", "response": whole})
        return whole, [(event["type"], {"sequence_number": k, **event}) for k, event in enumerate(events)]


class ChatCompletions:
    """The Chat Completions API: https://platform.openai.com/docs/api-reference/chat."""

    @staticmethod
    def fits(path):
        return path.endswith("/chat/completions")

    @staticmethod
    def asked(body):
        turn = Turn(tools=[tool.get("function", {}).get("name") for tool in body.get("tools") or []])
        for message in body.get("messages", []):
            content = message.get("content") or ""
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            words = "\n".join(part.get("text", "") for part in parts if part.get("type") == "text")
            if message.get("role") in ("user", "tool"):
                turn.add(words, message["role"] == "tool")
        if body.get("model", "").endswith("-mini"):  # by which aider names a commit, in a line
            turn.words = " ".join(turn.words.split())
        return turn

    @staticmethod
    def reply(body, answer, n):
        message = {"role": "assistant", "content": answer.words or None}
        calls = [
            {"id": f"call_{n:04}_{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for i, (name, arguments) in enumerate(answer.calls)
        ]
        if calls:
            message["tool_calls"] = calls
        sent, wrote = tokens(json.dumps(body.get("messages"))), tokens(json.dumps(message))
        usage = {
            "prompt_tokens": sent, "completion_tokens": wrote, "total_tokens": sent + wrote,
            "prompt_tokens_details": {"cached_tokens": 20},
        }
        stop = "tool_calls" if calls else "stop"
        base = {"id": f"chatcmpl-{n:04}", "created": n, "model": body.get("model", "scripted")}
        whole = {
            **base, "object": "chat.completion", "usage": usage,
            "choices": [{"index": 0, "message": message, "finish_reason": stop}],
        }
        delta = {**message, "content": answer.words}
        if calls:
            delta["tool_calls"] = [{"index": i, **call} for i, call in enumerate(calls)]
        chunk = {**base, "object": "chat.completion.chunk"}
        events = [
            {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]},
            {**chunk, "choices": [], "usage": usage},
        ]
        return whole, [(None, event) for event in events]


class Gemini:
    """The Gemini API: https://ai.google.dev/api/generate-content."""

    @staticmethod
    def fits(path):
        return path.endswith("enerateContent")

    @staticmethod
    def asked(body):
        tools = [tool.get("name") for group in body.get("tools", []) for tool in group.get("functionDeclarations", [])]
        turn = Turn(tools=tools)
        for content in body.get("contents", []):
            if content.get("role", "user") == "user":
                parts = content.get("parts", [])
                turn.add("\n".join(part.get("text", "") for part in parts), any("functionResponse" in part for part in parts))
        return turn

    @staticmethod
    def reply(body, answer, n):
        parts = [{"text": answer.words}] if answer.words else []
        for i, (name, arguments) in enumerate(answer.calls):
            parts.append({"functionCall": {"id": f"call_{n:04}_{i}", "name": name, "args": arguments}})
        read, wrote = tokens(json.dumps(body.get("contents"))), tokens(json.dumps(parts))
        whole = {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": read, "candidatesTokenCount": wrote, "totalTokenCount": read + wrote},
            "modelVersion": "scripted", "responseId": f"response-{n:04}",
        }
        return whole, [(None, whole)]


WIRES = [Anthropic, Responses, ChatCompletions, Gemini]


class Model:
    """Numbers requests, on from those that the log has, and logs them."""

    def __init__(self, log):
        self.lock, self.log, self.failures = threading.Lock(), log, {}
        log.seek(0)
        self.n = sum(1 for _ in log)

    def note(self, path, body):
        """Logs a request and returns its number."""
        with self.lock:
            self.n += 1
            self.log.write(json.dumps({"n": self.n, "path": path, "body": body}) + "\n")
            self.log.flush()
            return self.n

    def fails(self, turn):
        """Reports whether the model fails on a Turn this time."""
        asked = re.search(r"^fail: (\d+)", turn.words, flags=re.M)
        if not asked or turn.answered:
            return False
        with self.lock:
            self.failures[turn.words] = self.failures.get(turn.words, 0) + 1
            return self.failures[turn.words] <= int(asked[1])


class Handler(BaseHTTPRequestHandler):
    """Answers requests with the Model that it is given."""

    protocol_version = "HTTP/1.1"
    model = None

    def log_message(self, *_):
        pass

    def send(self, status, kind, data, n=0):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.send_header("request-id", f"req_{n:04}")
        self.end_headers()
        self.wfile.write(data)

    def document(self, value, status=200, n=0):
        self.send(status, "application/json", json.dumps(value).encode(), n)

    def body(self):
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            data = gzip.decompress(data)
        try:
            return json.loads(data)
        except ValueError:
            return {}

    def do_HEAD(self):
        self.send(200, "text/plain", b"")

    def do_GET(self):
        models = {"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []}
        self.document(models if self.path.split("?")[0].endswith("/models") else {})

    def do_POST(self):
        body, path = self.body(), self.path.split("?")[0]
        wire = next((wire for wire in WIRES if wire.fits(path)), None)
        if path.endswith("count_tokens") or path.endswith(":countTokens"):
            return self.document({"input_tokens": 100, "totalTokens": 100})
        n = self.model.note(self.path, body)
        if wire is None:
            return self.document({})
        turn = wire.asked(body)
        if self.model.fails(turn):
            return self.document({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, 529, n)
        whole, events = wire.reply(body, answer(turn), n)
        if not (body.get("stream") or "stream" in path):
            return self.document(whole, n=n)
        text = "".join((f"event: {name}\n" if name else "") + f"data: {json.dumps(event)}\n\n" for name, event in events)
        return self.send(200, "text/event-stream", text.encode(), n)


def main():
    with open(sys.argv[1], "a+", encoding="utf-8") as log:
        Handler.model = Model(log)
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        print(server.server_address[1], flush=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()  # whoever started it holds it open
        server.shutdown()


if __name__ == "__main__":
    main()
