"""Has LangGraph write checkpoints, tell its own view of each, and go on from each.

    HINDCAST_SDKS=… go test ./store/kinds -run InteropLangGraph

runs it. `states.py write DB` writes a store: a conversation that goes back in time in
the three ways that LangGraph has, one that waits for an answer, a fan-out of subgraphs,
a subgraph that keeps its own thread, a function, a node that fails, two nodes that join,
runs of which only the end is kept, channels that keep changes alone, and values of many types.
Four tasks at once wait, one of them with its second question; a graph three levels down asks; a
function waits behind its tasks; and channels hold back their value until a run is over.

`states.py draw DB` reads a number, and writes that many threads of graphs that are drawn at random.

`states.py tell DB` reads a list of calls as Hindcast prints them, each with its session,
and prints for each what get_state returns for the config in the call.

`states.py run DB` runs each of them on a copy, and prints the ancestors of the head that
comes of it, the newest first.

DB is a file of SQLite, or the URL of a database of PostgreSQL's. `states.py serve URL` answers
questions about that one by one, each a line: ["tell", CALL], or ["thinks", SESSION, CONFIG].

`states.py time DB` prints how long it takes to list the thread "long" of a store.

`states.py compare DB` reads a list of checkpoints, each with a store in which Hindcast put
it back or forked from it, and prints what LangGraph thinks of both, and what the model is
sent when each runs on.
"""

import base64
import contextlib
import dataclasses
import datetime
import decimal
import json
import operator
import shutil
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.channels import DeltaChannel, EphemeralValue, LastValueAfterFinish, NamedBarrierValueAfterFinish, Topic
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.errors import InvalidUpdateError
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt
from psycopg import Connection
from psycopg.rows import dict_row
from pydantic import BaseModel

import drawn


class Talk(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[str], operator.add]
    order: dict


SENT = []


def talk(saver):
    """An agent with a scripted model, a tool, and a question before an order."""

    def model(state):
        SENT.append([[m.type, m.content] for m in state["messages"]])
        last = state["messages"][-1]
        cost = {"input_tokens": 10 + len(state["messages"]), "output_tokens": 5, "total_tokens": 15 + len(state["messages"])}
        if isinstance(last, HumanMessage) and "weather" in last.content:
            said = AIMessage("", tool_calls=[{"id": f"c{len(state['messages'])}", "name": "weather", "args": {"city": "Zürich"}}], usage_metadata=cost)
        else:
            said = AIMessage(f"You said: {last.content} 👋", usage_metadata=cost)
        return {"messages": [said], "notes": ["model"]}

    def tools(state):
        return {"messages": [ToolMessage("21 °C", tool_call_id=state["messages"][-1].tool_calls[0]["id"], name="weather")]}

    def review(state):
        if "order" in str(state["messages"][-1].content):
            return {"order": {"approved": interrupt({"question": "Approve?", "amount": 12.5}), "raw": b"\x00\xff"}}
        return {}

    b = StateGraph(Talk)
    b.add_node("model", model)
    b.add_node("tools", tools)
    b.add_node("review", review)
    b.add_edge(START, "model")
    b.add_conditional_edges("model", lambda s: "tools" if s["messages"][-1].tool_calls else "review", ["tools", "review"])
    b.add_edge("tools", "model")
    b.add_edge("review", END)
    return b.compile(checkpointer=saver)


class Report(TypedDict, total=False):
    topic: str
    draft: str
    parts: Annotated[list[str], operator.add]


class Parts(TypedDict, total=False):
    parts: Annotated[list[str], operator.add]


def report(saver, own=False):
    """A fan-out of subgraphs that ask; with own, one that keeps its thread."""
    i = StateGraph(Report, output_schema=Parts)
    i.add_node("write", lambda s: {"draft": f"draft of {s['topic']}"})
    i.add_node("ask", lambda s: {"parts": [f"{s['draft']}: {interrupt({'approve': s['topic']})}"]})
    i.add_edge(START, "write")
    i.add_edge("write", "ask")
    o = StateGraph(Report)
    o.add_node("plan", lambda s: {"parts": ["plan"]})
    o.add_node("section", i.compile(checkpointer=True) if own else i.compile())
    o.add_node("done", lambda s: {"parts": ["done"]})
    o.add_edge(START, "plan")
    if own:
        o.add_edge("plan", "section")
    else:
        o.add_conditional_edges("plan", lambda s: [Send("section", {"topic": s["topic"] + k}) for k in "AB"], ["section"])
    o.add_edge("section", "done")
    return o.compile(checkpointer=saver)


def own(saver):
    return report(saver, own=True)


class Fails(TypedDict, total=False):
    xs: Annotated[list[int], operator.add]


def join(saver):
    """Two nodes at once, and one that waits for both; with 7 in the input it fails."""

    def last(state):
        if 7 in state["xs"]:
            raise ValueError("ünlucky")
        return {"xs": [3]}

    b = StateGraph(Fails)
    b.add_node("a", lambda s: {"xs": [1]})
    b.add_node("b", lambda s: {"xs": [2]})
    b.add_node("last", last)
    b.add_edge(START, "a")
    b.add_edge(START, "b")
    b.add_edge(["a", "b"], "last")
    return b.compile(checkpointer=saver)


def function(saver):
    @task
    def twice(x):
        return x * 2

    @entrypoint(checkpointer=saver)
    def flow(x, *, previous=None):
        got = twice(x).result() + (previous or 0)
        return entrypoint.final(value=got, save=got)

    return flow


def by_id(state, writes):
    """The reducer of messages for a DeltaChannel."""
    for write in writes:
        state = add_messages(state or [], write)
    return state


def in_a_row(state, writes):
    return [*(state or []), *(one for write in writes for one in write)]


def together(state, writes):
    whole = dict(state or {})
    for write in writes:
        whole |= write
    return whole


class Changes(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], DeltaChannel(by_id, snapshot_frequency=3)]
    notes: Annotated[list[str], DeltaChannel(in_a_row)]
    seen: Annotated[dict, DeltaChannel(together)]


def changes(saver):
    """A conversation of which checkpoints keep changes alone."""

    def model(state):
        SENT.append([[m.type, m.content] for m in state["messages"]])
        n = len(state["messages"])
        said = [AIMessage(f"said {n}", id=f"a{n}")]
        if "again" in state["messages"][-1].content:
            said += [HumanMessage("put anew", id=state["messages"][0].id), RemoveMessage(id=state["messages"][1].id)]
        return {"messages": said, "notes": [f"note {n}"], "seen": {state["messages"][-1].content: n}}

    b = StateGraph(Changes)
    b.add_node("model", model)
    b.add_edge(START, "model")
    return b.compile(checkpointer=saver)


class Person(BaseModel):
    name: str
    born: datetime.date


@dataclasses.dataclass
class Point:
    x: float
    label: str


class Typed(TypedDict, total=False):
    v: dict
    none: Any
    raw: bytes


def typed(saver):
    values = {
        "z last, a first": 1, "text": "žluť 🐎 \u0000 \u202e", "big": 2**64 - 1, "neg": -(2**63), "float": 2.0, "small": 1e-9, "true": True, "none": None, "raw": b"\x00\xff",
        "set": {3}, "when": datetime.datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=datetime.timezone.utc), "day": datetime.date(2026, 1, 2), "id": uuid.UUID(int=1),
        "money": decimal.Decimal("1.10"), "person": Person(name="Zoë", born=datetime.date(1990, 1, 1)), "point": Point(1.5, "p"), "deep": [[{"a": [{"b": {}}]}]], "keys": {1: "a", "1.5": "b"},
    }
    b = StateGraph(Typed)
    b.add_node("n", lambda s: {"v": values, "none": None, "raw": b"\xde\xad"})
    b.add_edge(START, "n")
    return b.compile(checkpointer=saver)


class Fan(TypedDict, total=False):
    items: list
    out: Annotated[list, operator.add]
    sum: Annotated[int, operator.add]
    last: str


def fan(saver):
    """Tasks at once, of which some ask, once or twice."""

    def one(s):
        answers = [interrupt({"ask": s["item"], "n": n}) for n in range({"once": 1, "twice": 2}.get(s["item"], 0))]
        return {"out": [[s["item"], *answers]], "sum": 10} | ({} if answers else {"last": s["item"]})

    b = StateGraph(Fan)
    b.add_node("begin", lambda s: {"out": ["begin"], "sum": 1, "last": "begin"})
    b.add_node("split", lambda s: {"out": ["split"], "sum": 1, "last": "split"})
    b.add_node("one", one)
    b.add_node("total", lambda s: {"out": [len(s["out"])]}, defer=True)
    b.add_edge(START, "begin")
    b.add_edge("begin", "split")
    b.add_conditional_edges("split", lambda s: [Send("one", {"item": i}) for i in s["items"]], ["one"])
    b.add_edge("one", "total")
    return b.compile(checkpointer=saver)


def deep(saver):
    """Three levels, the innermost of which asks; beside it a node that does not."""
    inner = StateGraph(Report)
    inner.add_node("ask", lambda s: {"draft": interrupt("innermost?"), "parts": ["asked"]})
    inner.add_edge(START, "ask")
    middle = StateGraph(Report)
    middle.add_node("inner", inner.compile())
    middle.add_edge(START, "inner")
    outer = StateGraph(Report)
    outer.add_node("middle", middle.compile())
    outer.add_node("beside", lambda s: {"parts": ["beside"]})
    outer.add_edge(START, "middle")
    outer.add_edge(START, "beside")
    return outer.compile(checkpointer=saver)


def essay(saver):
    """A function that returns an object, and asks behind its tasks."""

    @task
    def tenfold(x):
        return x * 10

    @entrypoint(checkpointer=saver)
    def write(topic, *, previous=None):
        got = [f.result() for f in [tenfold(i) for i in range(3)]]
        ok = interrupt({"essay": topic, "got": got})
        return entrypoint.final(value={"ok": ok, "got": got}, save={"n": (previous or {}).get("n", 0) + 1})

    return write


class Holds(TypedDict, total=False):
    xs: Annotated[list[int], operator.add]
    pair: list
    once: Annotated[int, EphemeralValue]
    top: Annotated[list, Topic(str, accumulate=True)]
    last: Annotated[Any, LastValueAfterFinish]
    gate: Annotated[str, NamedBarrierValueAfterFinish(str, {"a", "b"})]


def holds(saver):
    """Channels that hold back their value until a run is over."""
    b = StateGraph(Holds)
    b.add_node("a", lambda s: {"xs": [1], "once": 7, "top": ["t1", "t2"], "gate": "a", "pair": ["p", False]})
    b.add_node("b", lambda s: {"xs": [2], "top": ["t3"], "last": ["L", True], "gate": "b", "pair": ["q", True]})
    b.add_node("c", lambda s: {"xs": [len(s["xs"])]})
    b.add_edge(START, "a")
    b.add_edge("a", "b")
    b.add_edge("b", "c")
    return b.compile(checkpointer=saver)


GRAPHS = {"fan": fan, "deep": deep, "essay": essay, "holds": holds, "tour": talk, "asks": talk, "ends": talk, "report": report, "own": own, "join": join, "fails": join, "flow": function, "typed": typed, "changes": changes}
INPUTS = {fan: {"items": ["plain"]}, deep: {"topic": "Sky"}, essay: "Rain", holds: {"xs": [4]}, changes: {"messages": [HumanMessage("on", id="on")]}, talk: {"messages": [HumanMessage("on")]}, report: {"topic": "Sea"}, own: {"topic": "Sea"}, join: {"xs": [5]}, function: 4, typed: {"raw": b""}}


def at(thread):
    return {"configurable": {"thread_id": thread}}


class Server:
    """A database of PostgreSQL's, with one connection."""

    def __init__(self, url):
        self.connection = Connection.connect(url, autocommit=True, prepare_threshold=0, row_factory=dict_row)

    @contextlib.contextmanager
    def opened(self):
        yield PostgresSaver(self.connection)

    @contextlib.contextmanager
    def tried(self):
        """What is written in it is taken back."""
        with self.connection.transaction(force_rollback=True):
            yield PostgresSaver(self.connection)


class File:
    """A file of SQLite's."""

    def __init__(self, path):
        self.path = path

    def opened(self):
        return SqliteSaver.from_conn_string(str(self.path))

    @contextlib.contextmanager
    def tried(self):
        """What is written in it goes into a copy."""
        with tempfile.TemporaryDirectory() as work:
            copy = Path(work) / "copy.db"
            shutil.copyfile(self.path, copy)
            with SqliteSaver.from_conn_string(str(copy)) as saver:
                yield saver


def write(db):
    with db.opened() as saver:
        saver.setup()
        say = lambda g, thread, text, **how: g.invoke({"messages": [HumanMessage(text)]}, at(thread), **how)
        g = talk(saver)
        for text in ("hello, größe", "weather please", "an order"):
            say(g, "tour", text)
        g.invoke(Command(resume="yes"), at("tour"))
        past = list(g.get_state_history(at("tour")))
        before_tools = next(s for s in past if s.next == ("tools",))
        g.invoke(None, g.update_state(before_tools.config, {"notes": ["by hand"]}))
        g.invoke(None, next(s for s in past if s.next == ("model",)).config)
        g.update_state(next(s for s in past if s.next == () and len(s.values["messages"]) == 2).config, None, as_node="__copy__")
        say(g, "asks", "weather?")
        say(g, "asks", "an order, too")
        say(g, "ends", "one", durability="exit")
        say(g, "ends", "weather: two", durability="exit")
        g = report(saver)
        g.invoke({"topic": "Wood"}, at("report"))
        waits = [i.id for t in g.get_state(at("report"), subgraphs=True).tasks for i in t.interrupts]
        g.invoke(Command(resume={waits[0]: "yes"}), at("report"))
        g = own(saver)
        g.invoke({"topic": "Lake"}, at("own"))
        g.invoke(Command(resume="ok"), at("own"))
        g.invoke({"topic": "River"}, at("own"))
        g = join(saver)
        g.invoke({"xs": [0]}, at("join"))
        try:
            g.invoke({"xs": [7]}, at("fails"))
            raise AssertionError("it did not fail")
        except ValueError:
            pass
        function(saver).invoke(1, at("flow"))
        function(saver).invoke(2, at("flow"))
        typed(saver).invoke({"raw": b""}, at("typed"))
        g = fan(saver)
        g.invoke({"items": ["once", "plain", "twice", "once"]}, at("fan"))
        asked = next(i for i in g.get_state(at("fan")).interrupts if i.value["ask"] == "twice")
        g.invoke(Command(resume={asked.id: "A"}), at("fan"))
        deep(saver).invoke({"topic": "Sea"}, at("deep"))
        g = essay(saver)
        g.invoke("Snow", at("essay"))
        g.invoke(Command(resume="fine"), at("essay"))
        g.invoke("Wind", at("essay"))
        g = holds(saver)
        g.invoke({"xs": [0]}, at("holds"))
        g.invoke({"xs": [5]}, at("holds"))
        g = changes(saver)
        for i, text in enumerate(("one", "two", "say it again", "four")):
            g.invoke({"messages": [HumanMessage(text, id=f"h{i}")]}, at("changes"))
        past = list(g.get_state_history(at("changes")))
        g.update_state(at("changes"), {"messages": [RemoveMessage(id="h3")]}, as_node="model")
        g.invoke({"messages": [HumanMessage("from before", id="h9")]}, past[4].config)


def plain(v):
    """Returns a value as Hindcast's JSON has it."""
    named = lambda **members: {"$py": f"{type(v).__module__}.{type(v).__name__}", **members}
    match v:
        case BaseModel():
            return named(**plain({k: getattr(v, k) for k in v.model_dump()}))
        case dict():
            return {k if isinstance(k, str) else json.dumps(k): plain(w) for k, w in v.items()}
        case list() | tuple():
            return [plain(w) for w in v]
        case bytes():
            return {"$bytes": base64.b64encode(v).decode()}
        case set():
            return named(value=[plain(w) for w in v])
        case datetime.datetime():
            return named(value=v.isoformat())
        case datetime.date():
            return named(value=[v.year, v.month, v.day])
        case uuid.UUID():
            return named(value=v.hex)
        case decimal.Decimal():
            return named(value=str(v))
        case _ if dataclasses.is_dataclass(v):
            return named(**plain({f.name: getattr(v, f.name) for f in dataclasses.fields(v)}))
    return v


class Call:
    """Keeps what graph.invoke is called with."""

    def invoke(self, given, config):
        self.given, self.config = given, config


def read(call):
    """Returns what a call of Hindcast's passes; … is Python's own ellipsis."""
    kept = Call()
    eval(call.replace("…", "..."), {"graph": kept, "Command": Command})
    return kept


def graph(session, saver):
    thread = session.split("/")[0]
    return drawn.build(int(thread[5:]), saver) if thread.startswith("drawn") else GRAPHS[thread](saver)


def given_to(session):
    """Returns the input by which a thread goes on."""
    return drawn.GIVEN if session.startswith("drawn") else INPUTS[GRAPHS[session.split("/")[0]]]


def draw(db, count):
    with db.opened() as saver:
        saver.setup()
        for seed in range(count):
            drawn.play(seed, saver)
    yield count


def tell(db, calls):
    with db.opened() as saver:
        for c in calls:
            g, config = graph(c["session"], saver), read(c["call"]).config
            try:
                s = g.get_state(config)
                live = g.get_state({"configurable": {k: v for k, v in config["configurable"].items() if k != "checkpoint_id"}})
            except InvalidUpdateError:  # tasks of one step wrote what one alone may
                yield {"conflict": True}
                continue
            head = live.config["configurable"]["checkpoint_id"]
            if config["configurable"]["checkpoint_id"] == head:  # what its tasks did so far counts
                s = live
            values = s.values if isinstance(s.values, dict) else {} if s.values is None else {"__end__": s.values}
            yield {"values": plain(values), "next": sorted(s.next), "head": head, "waiting": plain([[i.id, i.value] for i in live.interrupts])}


def run(db, calls):
    for c in calls:
        with db.tried() as saver:
            g, kept = graph(c["session"], saver), read(c["call"])
            given = kept.given
            if isinstance(given, Command):
                answers = given.resume
                given = Command(resume={k: "an answer" for k in answers} if isinstance(answers, dict) else "an answer")
            elif given is not None:
                given = given_to(c["session"])
            failed = ""
            try:
                g.invoke(given, kept.config)
            except Exception as error:
                failed = f"{type(error).__name__}: {error}"
            thread = kept.config["configurable"]
            line, config = [], {"configurable": {"thread_id": thread["thread_id"], "checkpoint_ns": ""}}
            while config and (found := saver.get_tuple(config)):
                line.append(found.config["configurable"]["checkpoint_id"])
                config = found.parent_config
            waiting = g.get_state({"configurable": {"thread_id": thread["thread_id"]}}).interrupts
            yield {"line": line, "failed": failed, "asked": plain([[i.id, i.value] for i in waiting])}


def nameless(v):
    """Returns plain values without the ids that are new at every run."""
    if isinstance(v, dict):
        return {k: nameless(w) for k, w in v.items() if k != "id"}
    return [nameless(w) for w in v] if isinstance(v, list) else v


def thinks(session, db, config):
    """Returns what LangGraph thinks of a checkpoint, and what comes of running on."""
    with db.tried() as saver:
        g = graph(session, saver)
        try:
            s = g.get_state(config, subgraphs=True)
        except InvalidUpdateError as error:
            return {"failed": str(error), "id": g.checkpointer.get_tuple(config).config["configurable"]["checkpoint_id"]}
        asked = [i.value for t in s.tasks for i in t.interrupts]
        told = {"values": nameless(plain(s.values)), "next": sorted(s.next), "asked": plain(asked), "id": s.config["configurable"]["checkpoint_id"]}
        given = None if s.next else given_to(session)
        SENT.clear()
        try:
            told["result"] = nameless(plain(g.invoke(given, config)))
            told["result"].pop("__interrupt__", None) if isinstance(told["result"], dict) else None
        except Exception as error:
            told["failed"] = f"{type(error).__name__}: {error}"
        return told | {"sent": list(SENT)}


def compare(db, places):
    for p in places:
        named = {} if p["live"] else {"checkpoint_id": p["id"]}
        was = thinks(p["session"], db, {"configurable": {"thread_id": p["session"], **named}})
        yield {"was": was, "now": thinks(p["session"], File(p["db"]), at(p["thread"]))}


def serve(db):
    for line in sys.stdin:
        match json.loads(line):
            case ["tell", call]:
                answer = next(tell(db, [call]))
            case ["thinks", session, config]:
                answer = thinks(session, db, config)
        print(json.dumps(answer, ensure_ascii=False, default=repr), flush=True)


def timed(db):
    """Prints how many milliseconds of the CPU it takes to list a long thread, and to load one state."""

    def spent(do):
        began = time.process_time()
        do()
        return 1000 * (time.process_time() - began)

    with SqliteSaver.from_conn_string(str(db)) as saver:
        g = talk(saver)
        ways = {"list": lambda: list(saver.list(at("long"))), "get_state_history": lambda: list(g.get_state_history(at("long"))), "get_state": lambda: g.get_state(at("long"))}
        print(json.dumps({name: spent(do) for name, do in ways.items()}))


what, db = sys.argv[1], Server(sys.argv[2]) if "://" in sys.argv[2] else File(sys.argv[2])
if what == "write":
    write(db)
elif what == "serve":
    serve(db)
elif what == "time":
    timed(Path(sys.argv[2]))
else:
    answers = {"draw": draw, "tell": tell, "run": run, "compare": compare}[what](db, json.load(sys.stdin))
    json.dump(list(answers), sys.stdout, ensure_ascii=False, default=repr)
