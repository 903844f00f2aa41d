"""Asks the real Strands SDK what a call does at each kind of last message.

    PYTHONPATH=strands-agents-1.5.0 python testdata/interop/strands_calls.py

Prints one line of JSON for testdata/strands/calls.jsonl; the tests of store/kinds/strands
read it. Run it by hand, for a new SDK. Nothing here is a stand-in but the model.

For each tail of a log, as the files of a session say it, and for each call it is
told: "sent", the messages that the model is sent; "ran", the tools that ran; "wrote",
the messages that were stored behind the tail; "error", what was raised. A message is
the first letter of its role and its blocks: t for a text, U for a tool call, R for
a result, E for a result that says "Tool was interrupted."; null and [] are contents
that are none.
"""

import json
import logging
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path

from strands import Agent, tool
from strands.models.model import Model
from strands.session.file_session_manager import FileSessionManager

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")

USER = {"role": "user", "content": [{"text": "hi"}]}
CALL = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a1", "name": "alpha", "input": {"x": "1"}}}]}
RESULT = {"role": "user", "content": [{"toolResult": {"toolUseId": "a1", "status": "success", "content": [{"text": "r"}]}}]}
ANSWER = {"role": "assistant", "content": [{"text": "done"}]}
TAILS = {"user": [USER], "call": [USER, CALL], "result": [USER, CALL, RESULT], "answer": [USER, CALL, RESULT, ANSWER]}
CALLS = {"agent(None)": None, "agent([])": [], 'agent("…")': "go on"}
TIME = "2026-03-01T10:00:00.000000+00:00"

ran = []


@tool
def alpha(x: str = "") -> str:
    """Does nothing."""
    ran.append("alpha")
    return "r"


class Resumed(Model):
    """Says one word."""

    def __init__(self):
        self.sent = []

    def update_config(self, **config):
        pass

    def get_config(self):
        return {"model_id": "resumed"}

    async def structured_output(self, *args, **rest):
        raise AssertionError("not asked for")
        yield

    async def stream(self, messages, tool_specs=None, system_prompt=None, **rest):
        self.sent.append(brief(messages))
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": "resumed"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}
        yield {"metadata": {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1}}}


def letter(block):
    """The letter of a block."""
    if "toolResult" in block:
        return "E" if "Tool was interrupted." in json.dumps(block) else "R"
    return "U" if "toolUse" in block else "t"


def brief(messages):
    """Messages in letters."""
    shapes = []
    for message in messages:
        content = message["content"]
        shapes.append(message["role"][0] + "." + ("".join(map(letter, content)) if content else json.dumps(content)))
    return " ".join(shapes)


def asked(tail, call):
    """What a call does behind a tail."""
    with tempfile.TemporaryDirectory() as work:
        session = Path(work) / "session_s"
        agent = session / "agents" / "agent_default"
        (agent / "messages").mkdir(parents=True)
        times = {"created_at": TIME, "updated_at": TIME}
        (session / "session.json").write_text(json.dumps({"session_id": "s", "session_type": "AGENT", **times}))
        manager = {"__name__": "SlidingWindowConversationManager", "removed_message_count": 0}
        (agent / "agent.json").write_text(json.dumps({"agent_id": "default", "state": {}, "conversation_manager_state": manager, **times}))
        for n, message in enumerate(TAILS[tail]):
            file = agent / "messages" / f"message_{n}.json"
            file.write_text(json.dumps({"message": message, "message_id": n, "redact_message": None, **times}))
        ran.clear()
        model, error = Resumed(), ""
        try:
            sessions = FileSessionManager("s", storage_dir=work)
            Agent(model=model, agent_id="default", tools=[alpha], session_manager=sessions, callback_handler=None)(CALLS[call])
        except Exception as raised:
            error = type(raised).__name__
        files = sorted((agent / "messages").iterdir(), key=lambda file: int(file.stem.removeprefix("message_")))
        stored = [json.loads(file.read_text())["message"] for file in files]
        return {"sent": model.sent, "ran": list(ran), "wrote": brief(stored[len(TAILS[tail]) :]), "error": error}


answers = {tail: {call: asked(tail, call) for call in CALLS} for tail in TAILS}
print(json.dumps({"sdk": version("strands-agents"), "tails": answers}, ensure_ascii=False))
