"""Asks the real Strands SDK what it runs of Graphs and Swarms that were put back.

    python -m venv venv && venv/bin/pip install strands-agents==1.62.0
    venv/bin/python testdata/interop/strands_rewinds.py testdata/strands/rewinds write
    go test ./store/kinds/strands/runs -run Rewind -update
    venv/bin/python testdata/interop/strands_rewinds.py testdata/strands/rewinds ask

The tests of store/kinds/strands/runs read what it writes. Run it by hand, for a
new SDK. Nothing here is a stand-in but the model, which says what it is told to.

"write" runs some Graphs and Swarms and keeps the record that each left, and
every version of it on the way, as python-runs.json.

"ask" takes each record that Hindcast put back (python-rewound.json), starts an
orchestrator on it and gives it a prompt, twice where Hindcast says so.
python-<version>.json has what came of that: the nodes that ran at each start,
what the nodes were given, how it ended, what the nodes said, and what is stored
as next. What was said before is "NODE output", what is said now "NODE again".
"""

import hashlib
import json
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import strands_multiagent as base
from strands.multiagent import GraphBuilder, Swarm
from strands.session.file_session_manager import FileSessionManager

SLOW = {"c"}


def says(word):
    """Gives a condition on an edge: what the node before said."""

    def condition(state):
        node, text = word
        return text in str(state.results[node].result) if node in state.results else False

    return condition


# A Graph is its edges and its entry points.
GRAPHS = {
    "linear": ([("a", "b"), ("b", "d"), ("d", "e")], ["a"]),
    "diamond": (base.DIAMOND, ["research"]),
    "conditional": (
        [("start", "good", says(("start", "output"))), ("start", "bad", says(("start", "never"))), ("good", "end"), ("bad", "end")],
        ["start"],
    ),
    "two_entries": ([("a", "d"), ("c", "d"), ("d", "e")], ["a", "c"]),
    "sides": ([("a", "b"), ("a", "c"), ("b", "d"), ("c", "e")], ["a"]),
    "uneven": ([("a", "d"), ("a", "b"), ("b", "d")], ["a"]),
    "ends": ([("a", "b"), ("a", "c")], ["a"]),
}


def build(name, sessions, word, scripts=None, ran=None, heard=None, hooks=None):
    """Gives a Graph whose nodes say their name and a word."""
    edges, entries = GRAPHS[name]
    builder = GraphBuilder()
    for node in dict.fromkeys(entries + [n for edge in edges for n in edge[:2]]):
        builder.add_node(talker(node, (scripts or {}).get(node, [f"{node} {word}"]), ran, heard), node)
    for edge in edges:
        builder.add_edge(*edge)
    for entry in entries:
        builder.set_entry_point(entry)
    builder.set_graph_id("g1")
    builder.set_session_manager(sessions)
    if hooks:
        builder.set_hook_providers(hooks)
    return builder.build()


def talker(name, lines, ran, heard):
    """Gives an agent; a slow one takes a moment, so that those beside it are done first."""

    def listen(messages):
        if name in SLOW:
            time.sleep(0.05)
        if ran is not None and messages[-1]["role"] == "user" and "text" in messages[-1]["content"][0]:
            ran.append(name)
            heard[name] = "\n".join(block.get("text", "") for block in messages[-1]["content"])

    made = base.agent(name, lines, description=f"the {name}")
    made.model.heard = listen
    return made


def team(sessions, scripts, ran=None, heard=None, hooks=None):
    agents = [talker(name, lines, ran, heard) for name, lines in scripts.items()]
    return Swarm(agents, id="s1", session_manager=sessions, hooks=hooks)


class Keeper(base.Keeper):
    """Keeps every version in memory."""

    versions: list

    def _kept(self, session, orchestrator):
        record = json.loads((Path(self._get_multi_agent_path(session, orchestrator.id)) / "multi_agent.json").read_text())
        if not self.versions or self.versions[-1] != record:
            self.versions.append(record)


def write(directory):
    """Writes the runs."""
    runs = {}

    def run(name, make, prompt="Investigate X", again=None):
        with tempfile.TemporaryDirectory() as work:
            Keeper.versions = []
            made = make(Keeper(name, storage_dir=work))
            result = base.try_to(made, prompt)
            if again:
                again(made, result, lambda: make(Keeper(name, storage_dir=work)))
            runs[name] = Keeper.versions

    for name in GRAPHS:
        run(name, lambda sessions, name=name: build(name, sessions, "output"))
    exploding = {"report": [RuntimeError("model exploded")]}
    run("diamond_failed", lambda sessions: build("diamond", sessions, "output", exploding))
    run("diamond_resumed", lambda sessions: build("diamond", sessions, "output", {"report": [RuntimeError("model exploded"), "report output"]}),
        again=lambda made, result, anew: resumed(anew))
    run("diamond_asks", lambda sessions: build("diamond", sessions, "output", hooks=[base.Gate("report")]))
    run("diamond_answered", lambda sessions: build("diamond", sessions, "output", hooks=[base.Gate("report")]),
        again=lambda made, result, anew: made(base.answers(result)))

    hand = base.hand_over
    line = lambda: {
        "researcher": [hand("coder", "please code it", facts=["a", "b"]), "researcher output"],
        "coder": [hand("reviewer", "please review", draft=1), "coder output"],
        "reviewer": ["reviewer output"],
    }
    run("swarm_line", lambda sessions: team(sessions, line()), "Build X")
    back = lambda: {
        "researcher": [hand("coder", "please code it", facts=["a", "b"]), "researcher output"],
        "coder": [hand("reviewer", "please review", draft=1), "coder output", "coder output 2"],
        "reviewer": [hand("coder", "fix the loop", bugs=1), "reviewer output"],
    }
    run("swarm_back", lambda sessions: team(sessions, back()), "Build X")
    run("swarm_failed", lambda sessions: team(sessions, back() | {"coder": [RuntimeError("coder model exploded")]}), "Build X")
    run("swarm_asks", lambda sessions: team(sessions, back() | {"coder": ["coder output"]}, hooks=[base.Gate("coder")]), "Build X")
    rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(versions)}" for name, versions in runs.items())
    (directory / "python-runs.json").write_text("{\n" + rows + "\n}\n")


def resumed(anew):
    """Goes on with a run in another process, whose model works."""
    made = anew()
    for node in made.nodes.values():
        node.executor.model.lines = [f"{node.node_id} output"]
    made("Investigate X")


def start(name, work, ran, heard):
    sessions = FileSessionManager("h", storage_dir=work)
    kind = name.split("@")[0]
    if kind.startswith("swarm"):
        return team(sessions, {n: [f"{n} again"] for n in ("researcher", "coder", "reviewer")}, ran, heard)
    return build(next(g for g in sorted(GRAPHS, key=len, reverse=True) if kind.startswith(g)), sessions, "again", None, ran, heard)


def ask(directory):
    """Writes what the SDK makes of what Hindcast put back."""
    found = {}
    for name, rewound in json.loads((directory / "python-rewound.json").read_text()).items():
        record = rewound["record"]
        answer = {"sha256": hashlib.sha256(record.encode()).hexdigest(), "ran": [], "status": []}
        swarm = name.startswith("swarm")
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work) / "session_h" / "multi_agents" / f"multi_agent_{'s1' if swarm else 'g1'}"
            folder.mkdir(parents=True)
            (Path(work) / "session_h" / "session.json").write_text('{"session_id":"h","session_type":"AGENT"}')
            (folder / "multi_agent.json").write_text(record)
            heard = {}
            for _ in range(rewound["starts"]):
                ran = []
                result = start(name, work, ran, heard)("another prompt")
                answer["ran"].append(ran)
                answer["status"].append(result.status.value)
            stored = json.loads((folder / "multi_agent.json").read_text())
            answer["order"] = stored["node_history" if swarm else "execution_order"]
            answer["next"] = stored["next_nodes_to_execute"]
            answer["said"] = {node: str(r.result).strip() for node, r in result.results.items()}
            answer["heard"] = heard
            answer["context"] = stored.get("context")
        found[name] = answer
    rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(value)}" for name, value in found.items())
    target = directory / f"python-{version('strands-agents')}.json"
    target.write_text("{\n" + rows + "\n}\n")
    print(target)


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    {"write": write, "ask": ask}[sys.argv[2]](directory)
