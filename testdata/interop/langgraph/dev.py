"""Records testdata/langgraph/dev with the server of `langgraph dev`, and a graph without a model:

    pip install 'langgraph-cli[inmem]==0.4.40'
    python dev.py FOLDER

The server keeps its threads in FOLDER/.langgraph_api. `dev.py FOLDER run` reads calls of client.runs.wait as Hindcast
prints them, makes each on a server that has FOLDER, and prints what comes of it.

`dev.py saver DB FOLDER` compares what SqliteSaver lists of DB, into which Hindcast converted the files in FOLDER, with what
the saver in memory lists of these, lets graphs go on from checkpoints of DB, and prints what comes of it.

tour    three turns, one of which calls a tool, and one that asks and is answered; a run from the second turn on
        leaves a branch, and an update of the state follows
waits   a run that waits for an answer
flow    a graph within a graph
fails   a node that raises
"""
import asyncio
import json
import operator
import os
import pathlib
import signal
import socket
import subprocess
import sys
from typing import Annotated, TypedDict

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt


class State(TypedDict, total=False):
    messages: Annotated[list, add_messages]
    notes: Annotated[list, operator.add]


def model(state):
    last = state["messages"][-1]
    if last.type == "human" and "weather" in last.content:
        call = {"id": f"c{len(state['messages'])}", "name": "weather", "args": {"city": "Oslo"}}
        return {"messages": [AIMessage("", tool_calls=[call])]}
    return {"messages": [AIMessage(f"said {last.content} ☂", usage_metadata={"input_tokens": 10, "output_tokens": 3, "total_tokens": 13})], "notes": ["said"]}


def tools(state):
    call = state["messages"][-1].tool_calls[0]
    return {"messages": [ToolMessage("rain in " + call["args"]["city"], tool_call_id=call["id"], name="weather")]}


def ask(state):
    last = state["messages"][-1].content
    if "order" in last:
        return {"notes": [str(interrupt({"question": "really?"}))]}
    if "fail" in last:
        raise ValueError("no such order")
    return {}


def build(name=""):
    b = StateGraph(State)
    for node in (model, tools, ask):
        b.add_node(node.__name__, node)
    b.add_edge(START, "model")
    b.add_conditional_edges("model", lambda s: "tools" if s["messages"][-1].tool_calls else "ask", ["tools", "ask"])
    b.add_edge("tools", "model")
    b.add_edge("ask", END)
    return b.compile()


graph = build()
outer = StateGraph(State)
outer.add_node("inner", build())
outer.add_edge(START, "inner")
outer.add_edge("inner", END)
nested = outer.compile()

IDS = {name: f"1f1eab00-0000-4000-8000-00000000000{i + 1}" for i, name in enumerate(("tour", "waits", "flow", "fails"))}


def said(text):
    return {"messages": [{"role": "user", "content": text}]}


async def record(client):
    for name, thread in IDS.items():
        await client.threads.create(thread_id=thread, metadata={"name": name})
    tour = IDS["tour"]
    for text in ("hello größe", "weather please", "order it"):
        await client.runs.wait(tour, "agent", input=said(text))
    await client.runs.wait(tour, "agent", command={"resume": "yes"})
    history = await client.threads.get_history(tour, limit=100)
    second = next(h for h in history if h["metadata"]["source"] == "loop" and not h["next"] and len(h["values"]["messages"]) == 6)
    await client.runs.wait(tour, "agent", input=said("again"), checkpoint_id=second["checkpoint"]["checkpoint_id"])
    await client.threads.update_state(tour, {"notes": ["by hand"]})
    await client.runs.wait(IDS["waits"], "agent", input=said("order waits"))
    await client.runs.wait(IDS["flow"], "nested", input=said("weather below"))
    await client.runs.wait(IDS["fails"], "agent", input=said("fail here"), raise_error=False)
    truth = {}
    for thread in IDS.values():
        truth[thread] = [
            {"id": h["checkpoint"]["checkpoint_id"], "parent": (h["parent_checkpoint"] or {}).get("checkpoint_id", ""), "next": sorted(h["next"]), "values": h["values"]}
            for h in await client.threads.get_history(thread, limit=100)
        ]
    return truth


async def run(client):
    told = []
    for call in json.load(sys.stdin):
        try:
            told.append(await eval(call.removeprefix("await "), {"client": client}))
        except Exception as why:
            told.append(str(why))
    return told


async def serve(folder, what):
    from langgraph_sdk import get_client

    folder.mkdir(parents=True, exist_ok=True)
    here = pathlib.Path(__file__).resolve()
    (folder / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": {"agent": f"{here}:graph", "nested": f"{here}:nested"}}))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    env = {**os.environ, "LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1", "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1,localhost"}
    command = [str(pathlib.Path(sys.executable).parent / "langgraph"), "dev", "--no-browser", "--no-reload", "--port", str(port)]
    with open(folder / "server.log", "w") as log:
        server = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log, start_new_session=True)
    try:
        client = get_client(url=f"http://127.0.0.1:{port}")
        for _ in range(600):
            try:
                await client.assistants.search()
                break
            except Exception:
                if server.poll() is not None:
                    raise SystemExit((folder / "server.log").read_text())
                await asyncio.sleep(0.1)
        return await what(client)
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()


def converted(db, folder):
    """The differences of two savers, the history as the server tells it, and where four runs led to."""
    import pickle

    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.types import Command

    memory = InMemorySaver()
    for number, of in enumerate((memory.storage, memory.writes, memory.blobs), 1):
        of.update(pickle.loads((folder / f".langgraph_checkpoint.{number}.pckl").read_bytes()))
    with SqliteSaver.from_conn_string(str(db)) as saver:
        def listed(by):
            return {tuple(sorted(t.config["configurable"].items())): [t.checkpoint, t.metadata, t.parent_config, t.pending_writes] for t in by.list(None)}

        was, now = listed(memory), listed(saver)
        answer = {"count": len(now), "differ": [str(key) for key in {**was, **now} if was.get(key) != now.get(key)], "history": {}}
        own = {thread: (nested if name == "flow" else graph).copy({"checkpointer": saver}) for name, thread in IDS.items()}
        for thread, of in own.items():
            answer["history"][thread] = [
                {
                    "id": s.config["configurable"]["checkpoint_id"],
                    "parent": (s.parent_config or {"configurable": {"checkpoint_id": ""}})["configurable"]["checkpoint_id"],
                    "next": sorted(s.next),
                    "messages": [[m.type, m.content] for m in s.values.get("messages", [])],
                    "notes": s.values.get("notes"),
                }
                for s in of.get_state_history({"configurable": {"thread_id": thread}})
            ]

        def goes_on(thread, at, given):
            config = {"configurable": {"thread_id": thread, **({"checkpoint_id": at} if at else {})}}
            values = own[thread].invoke(given, config)
            chain, state = [], own[thread].get_state({"configurable": {"thread_id": thread}})
            while state.parent_config:
                chain.append(state.parent_config["configurable"]["checkpoint_id"])
                state = own[thread].get_state(state.parent_config)
            return {"messages": [[m.type, m.content] for m in values["messages"]], "notes": values.get("notes"), "chain": chain}

        tour = [h["id"] for h in answer["history"][IDS["tour"]] if not h["next"]]
        answer["older"] = tour[-1]
        answer["runs"] = [
            goes_on(IDS["tour"], tour[-1], said("anew")),
            goes_on(IDS["waits"], None, Command(resume="yes")),
            goes_on(IDS["flow"], answer["history"][IDS["flow"]][-2]["id"], None),
            goes_on(IDS["flow"], None, said("more")),
        ]
    return answer


if sys.argv[1:2] == ["saver"]:
    json.dump(converted(*map(pathlib.Path, sys.argv[2:])), sys.stdout)
elif __name__ == "__main__":
    told = asyncio.run(serve(pathlib.Path(sys.argv[1]), run if sys.argv[2:] == ["run"] else record))
    json.dump(told, sys.stdout, indent=1, ensure_ascii=False)
