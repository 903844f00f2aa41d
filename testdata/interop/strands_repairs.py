"""Asks the real Strands SDK what it makes of the sessions that Hindcast repaired.

    python -m venv venv && venv/bin/pip install strands-agents==1.62.0
    go test ./store/kinds/strands/messages -run Repair -update
    venv/bin/python testdata/interop/strands_repairs.py testdata/strands

Writes testdata/strands/repaired-<version>.json; the tests of store/kinds/strands read
it. Run it by hand, for a new SDK. Nothing here is a stand-in but the model, which
answers what it is told to.

Each session of repaired.json (those of hazards.txtar that needed it, after the
repair) is started twice. First as strands_initialize.py does: "refuses", the
exception, or "messages" and "state", what the agent holds, and "next" and
"overwrites", where its next message goes. Then a prompt is given: "heard" is how
many messages the model got, "answered" whether the turn came to its end, and
"stored" the files that it added.

Each record of mended-runs.json (those of multiagent-hazards.json on which the SDK
does not start, after Hindcast mended them) is started as strands_multiagent.py
does; mended-runs-<version>.json has what came of it.
"""

import hashlib
import json
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import strands_initialize as base
import strands_multiagent as multi
from strands import Agent
from strands.session.file_session_manager import FileSessionManager


class Talker(base.SilentModel):
    """Answers every prompt in the same way."""

    heard = 0

    async def stream(self, messages, tool_specs=None, system_prompt=None, **rest):
        self.heard = len(messages)
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": "an answer"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}
        yield {"metadata": {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1}}}


def lay_out(files, session):
    for name, content in files.items():
        target = session / name if name == "session.json" else session / "agents" / "agent_default" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    (session / "agents" / "agent_default" / "messages").mkdir(parents=True, exist_ok=True)


def turn(files):
    """Gives a prompt, or the answer that is waited for."""
    with tempfile.TemporaryDirectory() as work:
        session = Path(work) / "session_h"
        lay_out(files, session)
        place = session / "agents" / "agent_default"
        before = {path.name: path.read_bytes() for path in (place / "messages").iterdir()}
        model = Talker()
        made = Agent(
            model=model,
            agent_id="default",
            conversation_manager=base.manager_for(place / "agent.json"),
            session_manager=FileSessionManager("h", storage_dir=work),
            callback_handler=None,
        )
        waiting = made._interrupt_state.activated
        prompt = "go on"
        if waiting:
            prompt = [{"interruptResponse": {"interruptId": i, "response": "ok"}} for i in made._interrupt_state.interrupts]
        try:
            result = made(prompt)
        except Exception as error:
            return {"turn refused": type(error).__name__ + ": " + str(error)[:200].replace(work, "")}
        after = {path.name: path.read_bytes() for path in (place / "messages").iterdir()}
        return {
            "waiting": waiting,
            "heard": model.heard,
            "answered": str(result).strip() == "an answer",
            "stored": sorted(set(after) - set(before)),
            "changed": sorted(name for name in before if after.get(name) != before[name]),
        }


def main(directory):
    found = {}
    for name, files in json.loads((directory / "repaired.json").read_text()).items():
        asked = "".join(f"{key}\0{files[key]}\0" for key in sorted(files))
        started = base.hazard({key if key == "session.json" else key: content.encode() for key, content in files.items()})
        found[name] = {"sha256": hashlib.sha256(asked.encode()).hexdigest(), **started}
        if "refuses" not in started:
            found[name] |= turn(files)
    keep(directory / f"repaired-{version('strands-agents')}.json", found)
    keep(directory / f"mended-runs-{version('strands-agents')}.json", runs(json.loads((directory / "mended-runs.json").read_text())))


def runs(records):
    """Goes on with each run; an interrupt that waits gets its answer."""
    found = {}
    for name, text in records.items():
        record = json.loads(text)
        state = record.get("_internal_state", {}).get("interrupt_state", {})
        prompt = "another prompt"
        if state.get("activated"):
            prompt = [{"interruptResponse": {"interruptId": i, "response": "ok"}} for i in state["interrupts"]]
        found[name] = multi.one(name.split(" ")[0], record, prompt)
    return found


def keep(target, found):
    rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in found.items())
    target.write_text("{\n" + rows + "\n}\n")
    print(target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
