"""Graphs of LangGraph that are drawn at random, for states.py: a seed gives the same graph at each call.

Channels of each type and reducer; nodes that write, ask once or twice, send, go on by a Command, fail, are
deferred, or are graphs of their own; edges that join, fork and choose; functions with tasks. A node goes on
to later ones alone, so that each run ends.
"""

import contextlib
import operator
import random
import typing
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.channels import DeltaChannel, EphemeralValue, LastValueAfterFinish, NamedBarrierValueAfterFinish, Topic, UntrackedValue
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Overwrite, Send, interrupt


def in_a_row(state, writes):
    return [*(state or []), *(one for write in writes for one in write)]


def merged(a, b):
    return {**(a or {}), **(b or {})}


def largest(a, b):
    return max(a, b)


def text(rng, node):
    return f"{node}{rng.randint(0, 9)}"


# Each has its type, and what a node writes to it.
CHANNELS = {
    "last": (Any, lambda r, n: r.choice([r.randint(0, 9), text(r, n), [text(r, n)], {n: r.randint(0, 9)}, None, [text(r, n), r.random() < 0.5]])),
    "list": (Annotated[list, operator.add], lambda r, n: [text(r, n) for _ in range(r.randint(0, 2))]),
    "sum": (Annotated[int, operator.add], lambda r, n: r.randint(0, 9)),
    "text": (Annotated[str, operator.add], lambda r, n: text(r, n)),
    "merged": (Annotated[dict, merged], lambda r, n: {text(r, n): r.randint(0, 9)}),
    "messages": (Annotated[list[AnyMessage], add_messages], lambda r, n: [r.choice([AIMessage, HumanMessage])(text(r, n), id=f"m{r.randint(0, 5)}")]),
    "once": (Annotated[Any, EphemeralValue(Any, guard=False)], text),
    "free": (Annotated[Any, UntrackedValue(Any, guard=False)], text),
    "topic": (Annotated[list, Topic(str)], text),
    "topics": (Annotated[list, Topic(str, accumulate=True)], text),
    "after": (Annotated[Any, LastValueAfterFinish], lambda r, n: r.choice([text(r, n), [text(r, n), True]])),
    "gate": (Annotated[str, NamedBarrierValueAfterFinish(str, {"x", "y"})], lambda r, n: r.choice("xy")),
    "delta": (Annotated[list, DeltaChannel(in_a_row, snapshot_frequency=3)], lambda r, n: [text(r, n)]),
    "pair": (Any, lambda r, n: [text(r, n), r.random() < 0.5]),
}
# A step may write these once.
SINGLE = {"last", "pair", "after"}


def channels(rng):
    names = rng.sample(sorted(CHANNELS), rng.randint(2, 6))
    return names, TypedDict("Drawn", {n: CHANNELS[n][0] for n in ["list", *names]}, total=False)


def node(rng, name, names, alone, later, sends):
    """Returns what a node does: the same at each call but for what it is answered."""
    wrote = [c for c in names if rng.random() < 0.5 and (alone or c not in SINGLE)]
    values = {c: CHANNELS[c][1](rng, name) for c in wrote}
    asks = rng.choice([0, 0, 0, 0, 0, 1, 2])
    fails, goes, whole = rng.random() < 0.05, rng.random() < 0.2, rng.random() < 0.1
    if whole and isinstance(values.get("list"), list):
        values["list"] = Overwrite(values["list"])
    if "messages" in values and rng.random() < 0.2:
        values["messages"] = [*values["messages"], RemoveMessage(values["messages"][0].id)]
    to = rng.choice([*later, END])

    def run(state):
        answers = [interrupt({"ask": name, "n": n}) for n in range(asks)]
        if fails and len(state.get("list") or []) % 2 == 1:
            raise ValueError("drawn to fail")
        update = dict(values)
        if answers:
            update["list"] = [f"{name}: {answers}"]
        elif not update and rng_free(name):
            return None
        return Command(goto=to, update=update) if goes else update

    # A type of its own says where a Command may lead.
    if goes:
        run.__annotations__["return"] = Command[typing.Literal[(to,)]]
    return run, goes


def rng_free(name):
    return len(name) % 2 == 0


def build_graph(rng, saver, depth=0):
    names, state = channels(rng)
    b = StateGraph(state)
    count = rng.randint(2, 5)
    nodes = [f"n{i}" for i in range(count)]
    level = {}
    for i, n in enumerate(nodes):
        later = nodes[i + 1 :]
        kind = rng.random()
        defer = rng.random() < 0.1
        if depth < 2 and kind < 0.2:
            inner = build_graph(rng, None, depth + 1)
            own = depth == 0 and rng.random() < 0.2
            b.add_node(n, inner.compile(checkpointer=True) if own else inner.compile(), defer=defer)
            goes = False
        else:
            run, goes = node(rng, n, names, rng.random() < 0.5, later, None)
            b.add_node(n, run, defer=defer)
        if goes:
            continue
        way = rng.random()
        if way < 0.25 and later:
            to = rng.sample(later, rng.randint(1, min(2, len(later))))
            b.add_conditional_edges(n, lambda s, to=to: to[len(s.get("list") or []) % len(to)], to)
        elif way < 0.45 and later:
            to, k = rng.choice(later), rng.randint(1, 3)
            b.add_conditional_edges(n, lambda s, to=to, k=k: [Send(to, {"list": [f"sent{i}"]}) for i in range(k)], [to])
        elif way < 0.9 and later:
            for to in rng.sample(later, rng.randint(1, min(2, len(later)))):
                b.add_edge(n, to)
        else:
            b.add_edge(n, END)
    begins = rng.sample(nodes[: max(2, count - 1)], rng.randint(1, 2))
    for n in begins:
        b.add_edge(START, n)
    if count > 3 and rng.random() < 0.3:
        b.add_edge(nodes[:2], nodes[-1])
    return b


def build_function(rng, saver):
    factors = [rng.randint(2, 5) for _ in range(rng.randint(1, 3))]
    asks, inside, whole = rng.randint(0, 2), rng.random() < 0.3, rng.random() < 0.5

    @task
    def times(x, k):
        if inside and k == factors[-1]:
            return [x, interrupt({"factor": k})]
        return x * k

    @task
    def tells(x):
        return {"told": times(x, 2).result()}

    @entrypoint(checkpointer=saver)
    def flow(x, *, previous=None):
        got = [f.result() for f in [times(1, k) for k in factors]]
        if whole:
            got.append(tells(3).result())
        answers = [interrupt({"flow": n}) for n in range(asks)]
        value = {"got": got, "answers": answers, "was": previous} if whole else [got, answers]
        return entrypoint.final(value=value, save=len(got)) if asks else value

    return flow


def build(seed, saver):
    rng = random.Random(seed)
    if rng.random() < 0.15:
        return build_function(rng, saver)
    b = build_graph(rng, saver)
    nodes = sorted(b.nodes)
    stops = {how: [rng.choice(nodes)] for how in ("interrupt_before", "interrupt_after") if rng.random() < 0.15}
    return b.compile(checkpointer=saver, **stops)


GIVEN = {"list": ["given"]}


def play(seed, saver):
    """Runs a graph as a program may: inputs, answers, and going back."""
    g, rng = build(seed, saver), random.Random(-seed)
    config = {"configurable": {"thread_id": f"drawn{seed}"}}
    how = {"durability": rng.choice(["sync", "async", "exit"])} if rng.random() < 0.3 else {}

    def on():
        for n in range(rng.randint(1, 3)):
            yield lambda: g.invoke({"list": [f"in{n}"]}, config, **how)
            for _ in range(rng.randint(0, 3)):
                yield lambda: goes_on(n)
            if rng.random() < 0.3:
                yield lambda: g.invoke(rng.choice([None, Command(update={"list": ["by command"]})]), earlier())
            if rng.random() < 0.2 and isinstance(g, CompiledStateGraph):
                yield lambda: g.update_state(earlier(), {"list": ["by hand"]})

    def goes_on(n):
        s = g.get_state(config)
        if s.interrupts:
            some = rng.sample(list(s.interrupts), rng.randint(1, len(s.interrupts)))
            g.invoke(Command(resume={i.id: f"a{n}" for i in some}), config, **how)
        elif s.next:
            g.invoke(None, config, **how)

    def earlier():
        return rng.choice(list(g.get_state_history(config))).config

    for step in on():
        with contextlib.suppress(Exception):  # what a graph refuses leaves a state, too
            step()
