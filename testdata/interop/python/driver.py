"""Drives the real Strands SDK for Python with a model that says what it is told to.

interop_test.go starts it and gives it one command a line on its standard input,
as JSON; each is answered by one line. No network is used, and nothing here is a
stand-in but the model.

    {"do": "write", "dir": D, "store": "log", "scenario": "tool"}
    {"do": "resume", "dir": D, "store": "log", "scenario": "tool",
     "session": S, "agent": A, "call": "agent(None)"}
    {"do": "start", "dir": D, "store": "log", "session": S}
    {"do": "go", "call": "agent = Agent(agent_id=…, session_manager=…); agent("…")"}

A store is "log" (FileSessionManager) or "snapshots" (SnapshotSessionManager with
a snapshot after each invocation). A call is Python; it is evaluated as it stands
in the plan that Hindcast made, with the agent, Graph or Swarm under that name, and
what builds a new one as build_graph and build_swarm. Where it leaves a person to
give an answer (an … that is no text), the answer is "yes".

"write" answers with the sessions that it wrote and, for each of their agents, the
messages that the model was sent, a list for each time it was. "resume" answers
with those of the resumed agent, the tools that ran, the messages that the agent
holds in the end, and the error if there was one. Of a Graph or Swarm it tells the
nodes that ran, what the model of each was sent, and the end. "start" starts an agent
on a session that was written by somebody else, and gives it a text.
"""

import json
import logging
import sys
import traceback
import warnings
from importlib.metadata import version
from pathlib import Path

from strands import Agent, tool
from strands.agent.conversation_manager import NullConversationManager, SlidingWindowConversationManager, SummarizingConversationManager
from strands.models.model import Model
from strands.session.file_session_manager import FileSessionManager
from strands.types.exceptions import ContextWindowOverflowException
from strands.types.session import encode_bytes_values

try:
    from strands.hooks import BeforeNodeCallEvent, BeforeToolCallEvent, HookProvider
    from strands.multiagent import GraphBuilder, Swarm
except ImportError:
    HookProvider = object  # a version that has not all of them; its scenarios ask for none

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")

PNG = bytes.fromhex("89504e470d0a1a0a")


# What the model says: a list of blocks, an error that it raises, or Redacts.


class Redacts:
    """A guardrail takes the user's message away and the model says something else."""

    def __init__(self, user, text):
        self.user, self.text = user, text


def text(words):
    return {"text": words}


def use(name, number, **given):
    """A call of a tool, by an id that is the same in every run."""
    return {"toolUse": {"toolUseId": f"tooluse_{name}_{number}", "name": name, "input": given}}


class Script(Model):
    """Says one line after the other, and then "resumed" for ever."""

    def __init__(self, lines=(), heard=None):
        self.lines, self.seen, self.heard = list(lines), [], heard

    def update_config(self, **config):
        pass

    def get_config(self):
        return {"model_id": "script"}

    async def structured_output(self, *args, **rest):
        raise AssertionError("nobody asked for this")
        yield

    async def stream(self, messages, tool_specs=None, system_prompt=None, **rest):
        self.seen.append(plain(messages))
        if self.heard:
            self.heard()
        line = self.lines.pop(0) if self.lines else [text("resumed")]
        if isinstance(line, Exception):
            raise line
        stop = "end_turn"
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(line, Redacts):
            stop = "guardrail_intervened"
            yield {"redactContent": {"redactUserContentMessage": line.user}}
            line = [text(line.text)]
        for block in line:
            if "toolUse" in block:
                stop = "tool_use"
                call = block["toolUse"]
                yield {"contentBlockStart": {"start": {"toolUse": {"name": call["name"], "toolUseId": call["toolUseId"]}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(call["input"])}}}}
            elif "reasoningContent" in block:
                said = block["reasoningContent"]["reasoningText"]
                yield {"contentBlockStart": {"start": {}}}
                yield {"contentBlockDelta": {"delta": {"reasoningContent": {"text": said["text"]}}}}
                yield {"contentBlockDelta": {"delta": {"reasoningContent": {"signature": said["signature"]}}}}
            else:
                yield {"contentBlockStart": {"start": {}}}
                yield {"contentBlockDelta": {"delta": {"text": block["text"]}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": stop}}
        yield {"metadata": {"usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}, "metrics": {"latencyMs": 7}}}


def plain(value):
    """A copy that JSON can hold, bytes as the SDK stores them."""
    return json.loads(json.dumps(encode_bytes_values(value)))


# The tools. Each notes that it ran, and gives the same every time.


class Tools:
    def __init__(self):
        self.ran = ran = []

        @tool
        def add(a: int, b: int) -> str:
            """Adds."""
            ran.append("add")
            return str(a + b)

        @tool
        def weather(city: str) -> dict:
            """Tells the weather."""
            ran.append("weather")
            return {"status": "success", "content": [{"text": f"{city}: rain ☂"}, {"json": {"city": city, "celsius": 18.5}}]}

        @tool
        def shot(url: str) -> dict:
            """Takes a picture."""
            ran.append("shot")
            return {"status": "success", "content": [{"image": {"format": "png", "source": {"bytes": PNG}}}]}

        @tool
        def boom(why: str) -> str:
            """Fails."""
            ran.append("boom")
            raise RuntimeError("boom: " + why)

        @tool
        def delete(path: str) -> str:
            """Deletes, once somebody said yes."""
            ran.append("delete")
            return f"deleted {path}"

        self.all = [add, weather, shot, boom, delete]
        try:

            @tool(context=True)
            def remember(key: str, value: str, tool_context) -> str:
                """Keeps something in the state of the agent."""
                ran.append("remember")
                tool_context.agent.state.set(key, value)
                return "kept"

            self.all.append(remember)
        except TypeError:
            pass  # a version whose tools are not told of their agent


class Gate(HookProvider):
    """Asks before something is deleted, and before the node "report" runs."""

    def register_hooks(self, registry, **rest):
        registry.add_callback(BeforeToolCallEvent, self.tool)

    def tool(self, event):
        if event.tool_use["name"] == "delete" and event.interrupt("approve", reason="really?") == "no":
            event.cancel_tool = "not approved"


class NodeGate(HookProvider):
    def register_hooks(self, registry, **rest):
        registry.add_callback(BeforeNodeCallEvent, self.node)

    def node(self, event):
        if event.node_id == "report":
            event.interrupt("approve", reason="really?")


# The scenarios of one agent: what its model says and what it is asked. A thing
# that is asked may be a function of the agent, for what happens between the turns.


def sets(key, value):
    return lambda agent: agent.state.set(key, value)


class Scenario:
    def __init__(self, lines, asked, agent="default", manager=None, gate=False):
        self.lines, self.asked, self.agent, self.manager, self.gate = lines, asked, agent, manager, gate


def window():
    return SlidingWindowConversationManager(window_size=4)


def summaries():
    return SummarizingConversationManager(summary_ratio=0.5, preserve_recent_messages=2)


AGENTS = {
    "turns": Scenario([[text("hello")], [text("two — ☕ 你好")], [text("bye")]], ["hi", "and two?", "bye"]),
    "tool": Scenario(
        [[text("let me see"), use("add", 1, a=1, b=2)], [text("it is 3")], [text("you are welcome")]],
        ["1+2?", "thanks"],
    ),
    "parallel": Scenario(
        [
            [
                {"reasoningContent": {"reasoningText": {"text": "three at once", "signature": "sig=="}}},
                use("add", 1, a=19, b=23),
                use("weather", 2, city="Oslo"),
                use("shot", 3, url="https://example.com"),
            ],
            [use("add", 4, a=42, b=1)],
            [text("43, and it rains")],
            [text("bye")],
        ],
        ["a sum, the weather and a picture", "bye"],
    ),
    "failing": Scenario(
        [[use("boom", 1, why="demo"), use("add", 2, a=1, b=1)], [text("one failed")], ValueError("the model is away"), [text("back again")]],
        ["break something", "are you there?", "and now?"],
    ),
    "interrupt": Scenario(
        [[text("hello")], [text("deleting"), use("weather", 1, city="Rome"), use("delete", 2, path="/tmp/x")]],
        ["hi", "delete it"],
        gate=True,
    ),
    "sliding": Scenario([[text(f"answer {i}")] for i in range(5)], [f"question {i}" for i in range(5)], manager=window),
    "summarizing": Scenario(
        [[text(f"answer {i}")] for i in range(4)]
        + [ContextWindowOverflowException("too long"), [text("SUMMARY of the first questions")], [text("answer 4")], [text("answer 5")]],
        [f"question {i}" for i in range(6)],
        manager=summaries,
    ),
    "redaction": Scenario(
        [[text("hi")], Redacts("[taken away]", "I cannot help"), [use("weather", 1, city="Base")], Redacts("[result taken away]", "no"), [text("sure")]],
        ["hello", "my number is 123-45-6789", "weather at the base", "something else"],
    ),
    "state": Scenario(
        [[text("one")], [use("remember", 1, key="city", value="Oslo")], [text("kept")], [text("three")]],
        [sets("n", 1), "first", sets("n", {"big": 2**70, "text": "é\n"}), "remember Oslo", "third"],
    ),
    "planner": Scenario([[text("plan: a, b")], [text("plan: c")]], ["make a plan", "another"], agent="planner"),
    "worker": Scenario([[use("add", 1, a=1, b=2)], [text("3")]], ["work"], agent="worker"),
}

# The scenarios that a session is written by: one, or several agents in one.
SESSIONS = {name: [name] for name in AGENTS if name not in ("planner", "worker")} | {"agents": ["planner", "worker"]}


def storage(store, session, dir):
    if store == "log":
        return FileSessionManager(session, storage_dir=dir)
    from strands.session import SnapshotSessionManager
    from strands.storage import LocalFileStorage

    return SnapshotSessionManager(
        session, storage=LocalFileStorage(dir), save_latest_on="message", snapshot_trigger=lambda **_: True
    )


def agent_of(scenario, model, tools, manager):
    rest = {"conversation_manager": scenario.manager()} if scenario.manager else {}
    return Agent(
        model=model,
        agent_id=scenario.agent,
        tools=tools.all,
        hooks=[Gate()] if scenario.gate else [],
        session_manager=manager,
        system_prompt="You are careful.",
        callback_handler=None,
        **rest,
    )


def write(dir, store, scenario):
    if scenario in ORCHESTRATORS:
        return write_orchestrator(dir, store, scenario)
    written = []
    for name in SESSIONS[scenario]:
        it = AGENTS[name]
        model = Script(it.lines)
        # One manager for each agent: two agents of one session are two programs.
        agent = agent_of(it, model, Tools(), storage(store, scenario, dir))
        for asked in it.asked:
            if callable(asked):
                asked(agent)
                continue
            try:
                agent(asked)
            except ValueError:
                pass  # the model that is away
        if model.lines:
            raise AssertionError(f"{name}: {len(model.lines)} lines were not said")
        written.append({"scenario": name, "session": scenario, "agent": it.agent, "seen": model.seen, "messages": plain(agent.messages)})
    return {"written": written}


def resume(dir, store, scenario, session, agent, call):
    if scenario in ORCHESTRATORS:
        return resume_orchestrator(dir, store, scenario, session, call)
    model, tools = Script(), Tools()
    answer = {"seen": model.seen, "tools": tools.ran}
    try:
        it = agent_of(AGENTS[scenario], model, tools, storage(store, session, dir))
        answer["loaded"] = plain(it.messages)
        answer["state"] = plain(it.state.get())
        if call:
            answer["stop"] = called(call, agent=it).stop_reason
        answer["messages"] = plain(it.messages)
    except Exception as err:
        answer["error"] = f"{type(err).__name__}: {err}"
    return answer


def start(dir, store, session):
    """The error is that of the start, if there is one; of the text it is under "refused"."""
    try:
        it = Agent(model=Script(), session_manager=storage(store, session, dir), conversation_manager=manager_of(dir, session), callback_handler=None)
    except Exception as err:
        return {"error": f"{type(err).__name__}: {err}"}
    try:
        it("…")
    except Exception as err:
        return {"refused": f"{type(err).__name__}: {err}"}
    return {}


def manager_of(dir, session):
    """The manager that the session was written with, as far as that can be read."""
    places = [
        Path(dir, f"session_{session}", "agents", "agent_default", "agent.json"),
        Path(dir, "session", session, "scopes", "agent", "default", "snapshots", "snapshot_latest.json"),
    ]
    for place in places:
        try:
            record = json.loads(place.read_text())
            name = record.get("data", record)["conversation_manager_state"]["__name__"]
            return {"NullConversationManager": NullConversationManager, "SummarizingConversationManager": SummarizingConversationManager}[name]()
        except Exception:
            pass
    return SlidingWindowConversationManager()


def called(call, **names):
    """What the last of some calls gives that somebody would type."""
    for one in call.replace(": …", ': "yes"').split("; "):
        given = eval(one, {"__builtins__": {}}, names)
    return given


def go(call):
    """Runs the statements of a plan as they stand, with an agent whose model says "resumed"."""
    model, tools = Script(), Tools()

    def made(**given):
        return Agent(model=model, tools=tools.all, callback_handler=None, **given)

    try:
        exec(call, {"Agent": made, "FileSessionManager": FileSessionManager})
    except Exception as err:
        return {"seen": model.seen, "error": f"{type(err).__name__}: {err}"}
    return {"seen": model.seen, "tools": tools.ran}


# The scenarios of Graphs and Swarms. A node says its name and what it did, and on
# another day that it did so again.


class Orchestra:
    def __init__(self, edges=(), entry=None, swarm=None, fails=None, gate=False):
        self.edges, self.entry, self.swarm, self.fails, self.gate = edges, entry, swarm, fails, gate

    def nodes(self):
        if self.swarm:
            return list(self.swarm)
        return list(dict.fromkeys([self.entry] + [n for edge in self.edges for n in edge]))


DIAMOND = [("research", "analysis"), ("research", "facts"), ("analysis", "report"), ("facts", "report")]
LINE = [("research", "writer"), ("writer", "report")]

ORCHESTRATORS = {
    "graph-line": Orchestra(LINE, "research"),
    "graph-diamond": Orchestra(DIAMOND, "research"),
    "graph-failed": Orchestra(DIAMOND, "research", fails="report"),
    "graph-interrupted": Orchestra(LINE, "research", gate=True),
    "swarm": Orchestra(swarm={"planner": "coder", "coder": "tester", "tester": None}),
    "swarm-failed": Orchestra(swarm={"planner": "coder", "coder": None}, fails="coder"),
}


def orchestrator(it, day, session_manager, ran, seen):
    def node(name):
        said = [text(f"{name} on {day}")]
        lines = [said]
        if day == "monday" and it.fails == name:
            lines = [RuntimeError(f"{name} is ill")]
        elif it.swarm and it.swarm[name]:
            heir = it.swarm[name]
            hand = use("handoff_to_agent", name, agent_name=heir, message=f"{name} asks {heir}", context={"from": name})
            lines = [[hand], said]
        model = Script(lines, heard=None)
        first = []

        def heard():
            if not first:
                first.append(ran.append(name))
                seen[name] = model.seen

        model.heard = heard
        return Agent(name=name, agent_id=name, description=f"the {name}", model=model, callback_handler=None)

    if it.swarm:
        return Swarm([node(n) for n in it.swarm], id="swarm", session_manager=session_manager, hooks=[NodeGate()] if it.gate else [])
    graph = GraphBuilder()
    for name in it.nodes():
        graph.add_node(node(name), name)
    for edge in it.edges:
        graph.add_edge(*edge)
    graph.set_entry_point(it.entry)
    graph.set_graph_id("graph")
    graph.set_session_manager(session_manager)
    if it.gate:
        graph.set_hook_providers([NodeGate()])
    return graph.build()


def told(result, ran, seen):
    return {
        "ran": ran,
        "seenBy": seen,
        "status": result.status.value,
        "order": [n.node_id for n in getattr(result, "execution_order", None) or getattr(result, "node_history", [])],
        "results": {name: str(r.result).strip() for name, r in result.results.items()},
    }


def write_orchestrator(dir, store, scenario):
    it, ran, seen = ORCHESTRATORS[scenario], [], {}
    answer = {"scenario": scenario, "session": scenario, "agent": "swarm" if it.swarm else "graph"}
    try:
        answer |= told(orchestrator(it, "monday", storage(store, scenario, dir), ran, seen)("the task"), ran, seen)
    except RuntimeError as err:
        answer |= {"ran": ran, "seenBy": seen, "error": str(err)}
    return {"written": [answer]}


def resume_orchestrator(dir, store, scenario, session, call):
    it, ran, seen = ORCHESTRATORS[scenario], [], {}

    def build():
        return orchestrator(it, "tuesday", storage(store, session, dir), ran, seen)

    try:
        one = build()
        if not call:
            return {"ran": ran}
        return told(called(call, graph=one, swarm=one, build_graph=build, build_swarm=build), ran, seen)
    except Exception as err:
        return {"ran": ran, "seenBy": seen, "error": f"{type(err).__name__}: {err}"}


def main():
    # Whatever a library prints must not stand between the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    commands = {"write": write, "resume": resume, "start": start, "go": go}
    print(json.dumps({"sdk": "strands-agents " + version("strands-agents")}), file=answers, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = commands[command.pop("do")](**command)
        except Exception:
            answer = {"broken": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
