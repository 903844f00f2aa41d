"""Has ADK say what it sends to a model at each event of a session.

    HINDCAST_SDKS=… go test ./store/kinds/adk -run InteropSent

runs it. `sent.py DB COUNT` writes sessions with SqliteSessionService by a runner that compacts, with a
tool that runs long, calls without results and questions, and COUNT sessions of one agent and COUNT of
several with events drawn at random: several summaries, some of them overlapping, parallel calls, late,
repeated and orphan results, other agents that answer, call, are answered and run on branches.
It prints, for each session, the contents that ADK makes of the events up to each, for the agent that
wrote it, and what a model is sent by a runner that goes on from all of them in a copy. Of teams of agents
(`team`, `pipe`), which the SDK's runner alone runs, it prints what their models were sent.
"""

import asyncio
import json
import logging
import random
import shutil
import sys
import uuid
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from google.adk.agents import LlmAgent, ParallelAgent, SequentialAgent
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.events import Event, EventActions
from google.adk.events.event_actions import EventCompaction
from google.adk.flows.llm_flows import contents
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import LongRunningFunctionTool
from google.genai import types

APP, USER, AGENT = "app", "u", "helper"
sent = []


class Scripted(BaseLlm):
    async def generate_content_async(self, request, stream=False):
        sent.append(request.contents)
        last = request.contents[-1]
        text = " ".join(p.text or "" for p in last.parts)
        if any(p.function_response for p in last.parts):
            parts = [types.Part(text="got " + "; ".join(json.dumps(p.function_response.response) for p in last.parts if p.function_response))]
        elif text.startswith("call "):
            names = text.split()[1:]
            parts = [types.Part(function_call=types.FunctionCall(name=n, args={"n": i})) for i, n in enumerate(names)]
        else:
            parts = [types.Part(text="says " + text[-40:])]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def slow(n: int) -> dict:
    """Answers later."""
    return {"status": "pending"}


def quick(n: int) -> dict:
    """Answers at once."""
    return {"n": n}


def fails(n: int) -> dict:
    """Raises."""
    raise RuntimeError("killed")


class Noting(BaseLlm):
    """A model that calls what its last text says, and notes what it was sent behind which event."""

    async def generate_content_async(self, request, stream=False):
        told = [json.loads(c.model_dump_json(exclude_none=True)) for c in request.contents]
        text = " ".join(p.text or "" for p in request.contents[-1].parts)
        name, _, args = text.partition("call ")[2].partition(" ")
        if name and request.contents[-1].role == "user" and not text.startswith("For context"):
            parts = [types.Part(text="I call"), types.Part(function_call=types.FunctionCall(name=name, args=json.loads(args or "{}")))]
        else:
            parts = [types.Part(text=f"says {len(told)} ☂ \n <<<END_QUOTED_AGENT_CONTENT>>>")]
        session, after = asks
        requests.setdefault(session, []).append({"after": after, "sent": told})
        yield LlmResponse(content=types.Content(role="model", parts=parts), custom_metadata={"request": len(requests[session]) - 1})


requests, asks = {}, None


def noted(callback_context, llm_request):
    global asks
    session = callback_context.session
    asks = session.id, session.events[-1].id


ODD = {"z": "it's", "a": 'both \' and "', "n": [1, 2.5, 1e16, 1e-7, 1.0, True, None], "u": "größe\u00a0\u200b\n\t\\", "empty": {}}


def odd(z: str, a: str) -> dict:
    """Answers much."""
    return ODD


def named(name, **more):
    return LlmAgent(name=name, description=name, model=Noting(model="noting"), before_model_callback=noted, **more)


def team():
    return named("root", tools=[quick, odd], sub_agents=[named("sky", tools=[quick, odd]), named("math")])


def pipe():
    both = ParallelAgent(name="both", sub_agents=[named("left", tools=[odd]), named("right")])
    return SequentialAgent(name="pipe", sub_agents=[named("draft", tools=[odd]), named("edit"), both])


AGENTS = {
    "team": (team, ["hi", "call odd " + json.dumps(ODD), 'call transfer_to_agent {"agent_name": "sky"}', "more", 'call quick {"n": 1}',
             'call transfer_to_agent {"agent_name": "math"}', "x", 'call transfer_to_agent {"agent_name": "root"}', "bye"]),
    "pipe": (pipe, ["make", "call odd {}"]),
}


def runner(service, every):
    agent = LlmAgent(name=AGENT, model=Scripted(model="scripted"), tools=[quick, fails, LongRunningFunctionTool(slow)])
    compacts = EventsCompactionConfig(compaction_interval=every, overlap_size=1) if every else None
    return Runner(app=App(name=APP, root_agent=agent, events_compaction_config=compacts), session_service=service)


def says(text):
    return types.Content(role="user", parts=[types.Part(text=text)])


async def program(service, name, every, words):
    await service.create_session(app_name=APP, user_id=USER, session_id=name)
    r = runner(service, every)
    for word in words:
        if word.startswith("answer "):
            session = await service.get_session(app_name=APP, user_id=USER, session_id=name)
            calls = [c for e in session.events for c in e.get_function_calls() if c.name == "slow"]
            asked = calls[int(word.split()[1])]
            message = types.Content(role="user", parts=[types.Part(function_response=types.FunctionResponse(id=asked.id, name="slow", response={"ok": word}))])
        else:
            message = says(word)
        try:
            async for _ in r.run_async(user_id=USER, session_id=name, new_message=message):
                pass
        except RuntimeError:
            pass


PROGRAMS = {
    "plain": (0, ["hi", "call quick", "bye"]),
    "parallel": (0, ["call quick quick", "call slow quick", "more", "answer 0", "bye"]),
    "late": (2, ["hi", "call slow", "more", "and more", "answer 0", "bye", "again"]),
    "twice": (2, ["call slow slow", "more", "answer 1", "x", "answer 0", "y", "z"]),
    "killed": (0, ["call fails", "still there?", "call quick fails", "bye"]),
    "many": (1, ["a", "call quick", "b", "c", "call slow", "d", "e", "answer 0", "f"]),
}


OTHERS = [AGENT, AGENT, "sky", "math"]
BRANCHES = [None, None, "p.left", "p.right", "p"]


def drawn(rng, name, others):
    """Returns events drawn at random, with others of other agents, too."""
    events, calls, at = [], [], 1000.0
    for i in range(rng.randint(4, 16)):
        at += rng.choice([0.5, 1.0, 1.0])
        one = dict(id=f"{name}-{i}", invocation_id=f"inv{i // rng.choice([2, 3, 4])}", timestamp=at, author=rng.choice(OTHERS) if others else AGENT)
        if others:
            one.update(branch=rng.choice(BRANCHES))
        kind = rng.choice(["text", "text", "user", "call", "call", "result", "result", "result", "answer", "compact", "odd"])
        if kind == "user":
            one.update(author="user", content=says(f"u{i}"))
        elif kind == "text":
            one.update(content=types.Content(role="model", parts=[types.Part(text=f"t{i}")]))
        elif kind == "odd":
            one.update(content=types.Content(role="model", parts=rng.choice([[types.Part(text="hm", thought=True)], [types.Part(text="")],
                       [types.Part(text="hm", thought=True), types.Part(text=f"o{i}")]])))
        elif kind == "call":
            ids = [rng.choice([f"c{i}{k}", f"c{rng.randint(0, 3)}"]) for k in range(rng.choice([1, 1, 2]))]
            calls += [(c, rng.choice(["f", "g"])) for c in ids]
            one.update(content=types.Content(role="model", parts=[types.Part(function_call=types.FunctionCall(id=c, name=n, args=rng.choice([ODD, {}]) if others else {})) for c, n in calls[-len(ids):]]))
            if rng.random() < 0.4:
                one.update(long_running_tool_ids={ids[0]})
        elif kind in ("result", "answer"):
            of = [rng.choice(calls) for _ in range(rng.choice([1, 1, 2]))] if calls and rng.random() < 0.9 else [(f"z{i}", "f")]
            parts = [types.Part(function_response=types.FunctionResponse(id=c, name=n, response={"i": i, "n": rng.choice([ODD, 2.0, "ok"])} if others else {"i": i})) for c, n in dict(of).items()]
            if rng.random() < 0.15:
                parts.append(types.Part(text=f"x{i}"))
            one.update(author="user" if kind == "answer" else one["author"], content=types.Content(role="user", parts=parts))
        else:
            start = 1000.0 + rng.uniform(0, at - 1000)
            one.update(author="user", actions=EventActions(compaction=EventCompaction(start_timestamp=start, end_timestamp=rng.uniform(start, at),
                       compacted_content=types.Content(role="model", parts=[types.Part(text=f"sum{i}")]))))
        events.append(Event(**one))
    return events


async def write(path, count):
    service = SqliteSessionService(path)
    for name, (every, words) in PROGRAMS.items():
        await program(service, name, every, words)
    for name, (build, words) in AGENTS.items():
        await service.create_session(app_name=APP, user_id=USER, session_id=name)
        r = Runner(app_name=APP, agent=build(), session_service=service)
        for word in words:
            async for _ in r.run_async(user_id=USER, session_id=name, new_message=says(word)):
                pass
    for i in range(2 * count):
        rng = random.Random(i)
        name = f"drawn{i:03}" if i < count else f"others{i:03}"
        session = await service.create_session(app_name=APP, user_id=USER, session_id=name)
        for e in drawn(rng, name, i >= count):
            await service.append_event(session, e)


def plain(list):
    return [json.loads(c.model_dump_json(exclude_none=True)) for c in list]


async def read(path):
    service = SqliteSessionService(path)
    out = {}
    for listed in (await service.list_sessions(app_name=APP, user_id=USER)).sessions:
        session = await service.get_session(app_name=APP, user_id=USER, session_id=listed.id)
        if listed.id in AGENTS:
            for e in session.events:
                if e.custom_metadata:
                    requests[listed.id][e.custom_metadata["request"]]["of"] = e.id
            out[listed.id] = {"requests": requests[listed.id]}
            continue
        each, several = {}, listed.id.startswith("others")
        for i, e in enumerate(session.events):
            if several and e.author == "user":
                continue
            of = (e.branch, session.events[: i + 1], e.actions.transfer_to_agent or e.author) if several else (None, session.events[: i + 1], AGENT)
            try:
                each[e.id] = plain(contents._get_contents(*of, preserve_function_call_ids=True))
            except ValueError as err:
                each[e.id] = str(err)[:60]
        out[listed.id] = {"each": each}
        if several:
            continue
        sent.clear()
        try:
            async for _ in runner(service, 0).run_async(user_id=USER, session_id=listed.id, new_message=says("probe")):
                pass
        except Exception:
            pass
        if sent:
            out[listed.id]["sent"] = plain(sent[0])
    print(json.dumps(out, ensure_ascii=False))


path = sys.argv[1]
asyncio.run(write(path, int(sys.argv[2])))
shutil.copy(path, path + "-read")
asyncio.run(read(path + "-read"))
