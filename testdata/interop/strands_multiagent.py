"""Asks the real Strands SDK what it writes and loads of Graphs and Swarms.

    python -m venv venv && venv/bin/pip install strands-agents==1.62.0
    venv/bin/python testdata/interop/strands_multiagent.py testdata/strands life
    venv/bin/python testdata/interop/strands_multiagent.py testdata/strands verdicts

The tests of store/kinds/strands/runs read what it writes. Run it by hand, for a
new SDK. Nothing here is a stand-in but the model, which says what it is told to.

"life" runs some Graphs and Swarms and keeps every version of multi_agent.json
that the SDK writes on the way, as python-multiagent-life/RUN/NN.json.

"verdicts" takes each record of multiagent-hazards.json (a version of a life,
changed at some places; a "*" in a place is the first member), starts a Graph or
a Swarm on it and gives it a prompt. multiagent-<version>.json has what came of
that: "refuses" or "prompt refused", the exception at the start or after the
prompt, or "ran", the nodes that ran, and "status". Where the record says that an
interrupt waits, "answer" has the same for another start, with an answer to it.
"""

import base64
import json
import logging
import shutil
import sys
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path

from strands import Agent, tool
from strands.hooks import BeforeNodeCallEvent, HookProvider
from strands.models.model import Model
from strands.multiagent import GraphBuilder, Swarm
from strands.session.file_session_manager import FileSessionManager

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")


class Script(Model):
    """Says one line of its script after the other, and the last one for ever."""

    def __init__(self, lines, heard=None):
        self.lines, self.at, self.heard = lines, 0, heard

    def update_config(self, **config):
        pass

    def get_config(self):
        return {"model_id": "script"}

    async def structured_output(self, output_model, prompt, system_prompt=None, **rest):
        raise AssertionError("nobody asked for this")
        yield

    async def stream(self, messages, tool_specs=None, system_prompt=None, **rest):
        line = self.lines[min(self.at, len(self.lines) - 1)]
        self.at += 1
        if self.heard:
            self.heard(messages)
        if isinstance(line, Exception):
            raise line
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(line, str):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": line}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn"}}
        else:
            name, arguments = line
            yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": f"{name}-{self.at}"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use"}}
        usage = {"inputTokens": 10 * self.at, "outputTokens": 5, "totalTokens": 10 * self.at + 5}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 20}}}


class Keeper(FileSessionManager):
    """Keeps a copy of every version that it writes."""

    keep: Path

    def _kept(self, session, orchestrator):
        text = (Path(self._get_multi_agent_path(session, orchestrator.id)) / "multi_agent.json").read_text()
        folder = self.keep / session
        folder.mkdir(parents=True, exist_ok=True)
        there = sorted(folder.iterdir())
        if not there or there[-1].read_text() != text:
            (folder / f"{len(there):02d}.json").write_text(text)

    def create_multi_agent(self, session, orchestrator, **rest):
        super().create_multi_agent(session, orchestrator, **rest)
        self._kept(session, orchestrator)

    def update_multi_agent(self, session, orchestrator, **rest):
        super().update_multi_agent(session, orchestrator, **rest)
        self._kept(session, orchestrator)


class Gate(HookProvider):
    """Asks before a node runs."""

    def __init__(self, node):
        self.node = node

    def register_hooks(self, registry, **rest):
        registry.add_callback(BeforeNodeCallEvent, self.ask)

    def ask(self, event):
        if event.node_id == self.node and event.interrupt("approve-" + self.node, reason={"why": "need ok"}) != "ok":
            event.cancel_node = "denied"


DIAMOND = [("research", "analysis"), ("research", "factcheck"), ("analysis", "report"), ("factcheck", "report")]


def outputs(*names):
    return {name: [f"{name} output"] for name in names}


FOUR = ("research", "analysis", "factcheck", "report")


def agent(name, lines, ran=None, **rest):
    heard = (lambda messages: ran.append(name)) if ran is not None else None
    return Agent(name=name, agent_id=name, model=Script(lines, heard), callback_handler=None, **rest)


def graph(sessions, scripts, edges, entry, ran=None, hooks=None, most=None, **rest):
    builder = GraphBuilder()
    for name, lines in scripts.items():
        builder.add_node(agent(name, lines, ran, **rest) if isinstance(lines, list) else lines, name)
    for edge in edges:
        builder.add_edge(*edge)
    builder.set_entry_point(entry)
    builder.set_graph_id("g1")
    builder.set_session_manager(sessions)
    if most:
        builder.set_max_node_executions(most)
        builder.reset_on_revisit()
    if hooks:
        builder.set_hook_providers(hooks)
    return builder.build()


def swarm(sessions, scripts, ran=None, tools=None, **rest):
    agents = [agent(name, lines, ran, description=f"the {name}", tools=tools) for name, lines in scripts.items()]
    return Swarm(agents, id="s1", session_manager=sessions, **rest)


def hand_over(to, message, **context):
    return "handoff_to_agent", {"agent_name": to, "message": message, "context": context}


def swarm_scripts():
    return {
        "researcher": [hand_over("coder", "please code it", facts=["a", "b"]), "handed off"],
        "coder": [hand_over("reviewer", "please review"), "code v1", "code v2"],
        "reviewer": [hand_over("coder", "fix the loop", bugs=1), "needs work", "fine"],
    }


@tool(context=True)
def delete(path: str, tool_context) -> str:
    """Deletes a file."""
    return "deleted" if tool_context.interrupt("approve-delete", reason={"path": path}) == "ok" else "kept"


def answers(result):
    return [{"interruptResponse": {"interruptId": i.id, "response": "ok"}} for i in result.interrupts]


def try_to(run, prompt):
    try:
        return run(prompt)
    except RuntimeError as error:
        return error


def life(directory):
    """Runs the Graphs and Swarms."""
    Keeper.keep = directory / "python-multiagent-life"
    shutil.rmtree(Keeper.keep, ignore_errors=True)
    with tempfile.TemporaryDirectory() as work:

        def sessions(name):
            return Keeper(name, storage_dir=work)

        graph(sessions("graph_done"), outputs(*FOUR), DIAMOND, "research")("Investigate X")
        failing = outputs(*FOUR) | {"report": [RuntimeError("model exploded")]}
        try_to(graph(sessions("graph_failed"), failing, DIAMOND, "research"), "Investigate X")
        graph(sessions("graph_failed"), outputs(*FOUR), DIAMOND, "research")("Investigate X")

        def unhappy(state):
            return len(state.execution_order) < 5

        drafts = {"writer": [f"draft {i}" for i in range(9)], "critic": [f"critique {i}" for i in range(9)]}
        graph(sessions("graph_cycle"), drafts, [("writer", "critic"), ("critic", "writer", unhappy)], "writer", most=9)("Write")

        failing = {"writer": ["draft 0", RuntimeError("out of ideas")], "critic": ["critique 0"]}
        loop = [("writer", "critic"), ("critic", "writer")]
        try_to(graph(sessions("graph_cycle_failed"), failing, loop, "writer", most=9), "Write")

        asking = graph(sessions("graph_asks"), outputs(*FOUR), DIAMOND, "research", hooks=[Gate("report")])
        asking(answers(asking("Investigate X")))
        tools = {"plan": ["delete it"], "work": [("delete", {"path": "/tmp/x"}), "done"]}
        graph(sessions("graph_tool_asks"), tools, [("plan", "work")], "plan", tools=[delete])("Clean up")

        inner = [agent("a", [hand_over("b", "go on", k=1), "over"]), agent("b", ["inner answer"])]
        nest = {"first": ["first output"], "team": Swarm(inner, id="inner"), "last": ["last output"]}
        graph(sessions("graph_nested"), nest, [("first", "team"), ("team", "last")], "first")("Nest")

        swarm(sessions("swarm_back_and_forth"), swarm_scripts())("Build X")
        failing = swarm_scripts() | {"coder": [RuntimeError("coder model exploded")]}
        swarm(sessions("swarm_failed"), failing)("Build X")
        asking = swarm(sessions("swarm_asks"), swarm_scripts() | {"coder": ["code"]}, hooks=[Gate("coder")])
        asking(answers(asking("Build X")))
        scripts = {"boss": [hand_over("worker", "clean up"), "handed over"], "worker": [("delete", {"path": "/tmp/x"}), "done"]}
        swarm(sessions("swarm_tool_asks"), scripts, tools=[delete])("Build X")

        picture = {"image": {"format": "png", "source": {"bytes": base64.b64decode("iVBORw0KGgo=")}}}
        graph(sessions("graph_blocks"), outputs("research"), [], "research")([{"text": "What is this?"}, picture])


def changed(record, hazard):
    """Gives a record with the changes of a hazard."""
    for place in hazard.get("delete", []):
        holder, key = locate(record, place)
        del holder[key]
    for place, value in hazard.get("set", {}).items():
        if place == "":
            return value
        holder, key = locate(record, place)
        holder[key] = value
    return record


def locate(record, place):
    *path, last = place.split("/")[1:]
    for key in path:
        record = record[first(record) if key == "*" else key]
    return record, first(record) if last == "*" else last


def first(record):
    return next(iter(record))


def start(work, name):
    """Gives an orchestrator as a program makes it that resumes a run, and the list of the nodes that it runs."""
    ran = []
    sessions = FileSessionManager("h", storage_dir=work)
    if name.startswith("swarm"):
        lines = {node: [f"{node} again"] for node in ("researcher", "coder", "reviewer")}
        if name.startswith("swarm_tool_asks"):
            lines = {"boss": ["boss again"], "worker": ["worker again"]}
        return swarm(sessions, lines, ran), ran
    if name.startswith("graph_nested"):
        inner = [agent("a", ["a again"], ran), agent("b", ["b again"], ran)]
        nest = {"first": ["first again"], "team": Swarm(inner, id="inner"), "last": ["last again"]}
        return graph(sessions, nest, [("first", "team"), ("team", "last")], "first", ran), ran
    if name.startswith("graph_cycle"):
        return graph(sessions, outputs("writer", "critic"), [("writer", "critic")], "writer", ran), ran
    return graph(sessions, outputs(*FOUR), DIAMOND, "research", ran), ran


def said(error):
    return type(error).__name__ + ": " + str(error)[:120]


def one(name, record, prompt):
    """Starts an orchestrator on a record and gives it a prompt."""
    with tempfile.TemporaryDirectory() as work:
        which = "s1" if name.startswith("swarm") else "g1"
        folder = Path(work) / "session_h" / "multi_agents" / f"multi_agent_{which}"
        folder.mkdir(parents=True)
        (Path(work) / "session_h" / "session.json").write_text(
            '{"session_id":"h","session_type":"AGENT","created_at":"2026-01-01T00:00:00+00:00","updated_at":"2026-01-01T00:00:00+00:00"}'
        )
        (folder / "multi_agent.json").write_text(json.dumps(record))
        try:
            made, ran = start(work, name)
        except Exception as error:
            return {"refuses": said(error)}
        try:
            result = made(prompt)
        except Exception as error:
            return {"ran": sorted(ran), "prompt refused": said(error)}
        return {"ran": sorted(ran), "status": result.status.value}


def verdicts(directory):
    """Writes what came of each hazard."""
    found = {}
    for hazard in json.loads((directory / "multiagent-hazards.json").read_text())["python"]:
        base = hazard["base"]
        record = changed(json.loads((directory / "python-multiagent-life" / f"{base}.json").read_text()), hazard)
        found[hazard["name"]] = one(base, record, "another prompt")
        internal = record.get("_internal_state") if isinstance(record, dict) else None
        state = (internal or {}).get("interrupt_state") or {}
        if state.get("activated") and state.get("interrupts"):
            reply = [{"interruptResponse": {"interruptId": i, "response": "ok"}} for i in state["interrupts"]]
            found[hazard["name"]]["answer"] = one(base, record, reply)
    target = directory / f"multiagent-{version('strands-agents')}.json"
    rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(value)}" for name, value in found.items())
    target.write_text("{\n" + rows + "\n}\n")


if __name__ == "__main__":
    {"life": life, "verdicts": verdicts}[sys.argv[2]](Path(sys.argv[1]))
