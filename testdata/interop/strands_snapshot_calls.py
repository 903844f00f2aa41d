"""Asks the real Strands SDK for Python what a call does where a snapshot can stand.

    PYTHONPATH=strands-agents-1.52.0 python testdata/interop/strands_snapshot_calls.py

Prints one line of JSON for testdata/strands/calls-snapshots.jsonl; the tests of
store/kinds/strands/snapshots read it. Run it by hand, for a new SDK. Nothing here is a stand-in
but the model. What is in a line is said in strands_calls.mjs, which does the same for
TypeScript; E is a result that says "Tool was interrupted.".
"""

import json
import logging
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path

from strands import Agent, tool
from strands.models.model import Model
from strands.session import SnapshotSessionManager
from strands.storage import LocalFileStorage

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")

USER = {"role": "user", "content": [{"text": "hi"}]}
CALL = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a" + x, "name": "alpha", "input": {"x": x}}} for x in "12"]}
RESULTS = [{"toolUseId": "a" + x, "status": "success", "content": [{"text": "r"}]} for x in "12"]
RESULT = {"role": "user", "content": [{"toolResult": result} for result in RESULTS]}
ANSWER = {"role": "assistant", "content": [{"text": "done"}]}
WAITS = {"id": "v1:before_tool_call:a1:approve", "name": "approve", "reason": "really?", "response": None}


def waiting(interrupts, completed, newer):
    """An interrupt state, as versions from 1.55 on write it or as those before."""
    state = {"interrupts": {i["id"]: i for i in interrupts}, "context": {}, "activated": True}
    if newer:
        return state | {"pending_tool_execution": {"assistant_message": CALL, "completed_tool_results": completed}}
    return state | {"context": {"tool_use_message": CALL, "tool_results": completed}}


CALM = {"interrupts": {}, "context": {}, "activated": False}
PLACES = {
    "user": ([USER], CALM),
    "call": ([USER, CALL], CALM),
    "result": ([USER, CALL, RESULT], CALM),
    "answer": ([USER, CALL, RESULT, ANSWER], CALM),
    "half held": ([USER, CALL], waiting([], RESULTS[:1], False)),
    "half held, newer": ([USER, CALL], waiting([], RESULTS[:1], True)),
    "interrupt": ([USER, CALL], waiting([WAITS], [], False)),
    "interrupt, newer": ([USER, CALL], waiting([WAITS], [], True)),
}
CALLS = {
    "agent(None)": None,
    "agent([])": [],
    'agent("…")': "go on",
    "agent([{ interruptResponse }])": [{"interruptResponse": {"interruptId": WAITS["id"], "response": "yes"}}],
}

ran = []


@tool
def alpha(x: str = "") -> str:
    """Does nothing."""
    ran.append("alpha " + x)
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


def letter(block):
    """The letter of a block."""
    if "toolResult" in block:
        return "E" if "Tool was interrupted." in json.dumps(block) else "R"
    return "U" if "toolUse" in block else "t"


def brief(messages):
    """Messages in letters."""
    return " ".join(message["role"][0] + "." + "".join(map(letter, message["content"])) for message in messages)


def asked(place, call):
    """What a call does at a place."""
    messages, interrupts = PLACES[place]
    with tempfile.TemporaryDirectory() as work:
        latest = Path(work) / "session/s/scopes/agent/default/snapshots/snapshot_latest.json"
        latest.parent.mkdir(parents=True)
        manager = {"__name__": "SlidingWindowConversationManager", "removed_message_count": 0}
        data = {"messages": messages, "state": {}, "conversation_manager_state": manager, "interrupt_state": interrupts, "system_prompt": None, "model_state": {}}
        around = {"scope": "agent", "schema_version": "1.0", "created_at": "2026-03-01T10:00:00.000000Z", "app_data": {}}
        latest.write_text(json.dumps(around | {"data": data}))
        ran.clear()
        model, did = Resumed(), {}
        try:
            sessions = SnapshotSessionManager("s", storage=LocalFileStorage(work))
            agent = Agent(model=model, tools=[alpha], agent_id="default", session_manager=sessions, callback_handler=None)
            did["held"] = brief(agent.messages)
            agent(CALLS[call])
        except Exception as raised:
            did["error"] = f"{type(raised).__name__}: {raised}"[:120]
        return {"sent": model.sent, "ran": sorted(ran), **did, "saved": brief(json.loads(latest.read_text())["data"]["messages"])}


answers = {place: {call: asked(place, call) for call in CALLS} for place in PLACES}
print(json.dumps({"sdk": version("strands-agents"), "places": answers}, ensure_ascii=False))
