"""Has ADK write sessions, and go on from what Hindcast made of them.

    HINDCAST_SDKS=… go test ./store/kinds -run InteropADK

runs it. `sessions.py write DIR` writes DIR/sqlite.db with SqliteSessionService and
DIR/database.db with DatabaseSessionService: sessions with tools, two calls at once, a tool
that waits for a person, state that a session began with, and rewinds of ADK's own. DIR may also be
the URL of a database of PostgreSQL's, and so may a store of those below, each of which is one of its own.

`sessions.py run DIR` reads "puts", a list of sessions, each in a store in which Hindcast put it back
or forked it, with the messages and the state that Hindcast shows there, and a call that it printed.
It prints the state that ADK loads, what the model is sent by that call, and what it is sent where
a session in memory has these messages and this state. It reads "held", too: pairs of stores, the
second of them the first as Hindcast put it back, and prints what an agent gets that had the session
loaded before.
"""

import asyncio
import json
import logging
import pathlib
import re
import shutil
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import DatabaseSessionService, InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import LongRunningFunctionTool, ToolContext
from google.genai import types

APP, USER = "tour_app", "u1"
sent = []


class Scripted(BaseLlm):
    async def generate_content_async(self, request, stream=False):
        sent.append({"system": request.config.system_instruction, "contents": [nameless(c.model_dump(mode="json", exclude_none=True)) for c in request.contents]})
        last = request.contents[-1]
        text = " ".join(p.text or "" for p in last.parts)
        calls = {"both": [("weather", {"city": "東京"}), ("weather", {"city": "Zürich"})], "remember": [("remember", {"what": "Äpfel"})], "order": [("order", {"item": "Äpfel"})]}
        called = next((c for word, c in calls.items() if word in text), [])
        parts = [types.Part(function_call=types.FunctionCall(name=n, args=a)) for n, a in called]
        if any(p.function_response for p in last.parts):
            parts = [types.Part(text="Ergebnis: " + "; ".join(str(p.function_response.response) for p in last.parts if p.function_response))]
        yield LlmResponse(content=types.Content(role="model", parts=parts or [types.Part(text=f"Gern! {text} 👋")]))


def nameless(v):
    """Returns a content without the ids of calls, which a request does not have where ADK drew them."""
    if isinstance(v, dict):
        return {k: nameless(w) for k, w in v.items() if k != "id"}
    return [nameless(w) for w in v] if isinstance(v, list) else v


def weather(city: str) -> dict:
    return {"city": city, "sky": "☀️"}


def remember(what: str, tool_context: ToolContext) -> str:
    s = tool_context.state
    s["basket"] = (s.get("basket") or []) + [what]  # a rewind of ADK's sets it to None
    s["user:name"], s["app:motto"], s["temp:scratch"] = "Zoë", "größer", 1
    return "ok"


def order(item: str) -> None:
    """Waits: a person answers later."""


def runner(service):
    # What the state has shows in what the model is sent.
    agent = LlmAgent(name="helfer", model=Scripted(model="scripted-1"), tools=[weather, remember, LongRunningFunctionTool(order)], output_key="last_answer",
                     instruction="basket {basket?}, budget {budget?}, last {last_answer?}, name {user:name?}, motto {app:motto?}")
    return Runner(app_name=APP, agent=agent, session_service=service)


def service_of(db):
    if "://" in str(db):
        return DatabaseSessionService(db.replace("postgres://", "postgresql+asyncpg://", 1))
    return SqliteSessionService(str(db)) if "sqlite" in pathlib.Path(db).name else DatabaseSessionService(f"sqlite+aiosqlite:///{db}")


async def drain(events):
    return [e async for e in events]


async def say(r, session, text=None, parts=None):
    content = types.Content(role="user", parts=parts or [types.Part(text=text)])
    return await drain(r.run_async(user_id=USER, session_id=session, new_message=content))


async def invocations(service, session):
    s = await service.get_session(app_name=APP, user_id=USER, session_id=session)
    return list(dict.fromkeys(e.invocation_id for e in s.events))


async def write(directory):
    for db in [directory] if "://" in directory else [pathlib.Path(directory) / name for name in ("sqlite.db", "database.db")]:
        service = service_of(db)
        r = runner(service)
        rewind = lambda session, to: r.rewind_async(user_id=USER, session_id=session, rewind_before_invocation_id=to)
        for session in ("tour", "back", "asks"):
            await service.create_session(app_name=APP, user_id=USER, session_id=session, state={"budget": {"€": 12.5}, "user:lang": "de"})
        for text in ("hello größe", "remember this", "both please"):
            await say(r, "tour", text)
        asked = await say(r, "tour", "order please")
        call = next(p.function_call for e in asked for p in e.content.parts if p.function_call)
        await say(r, "tour", parts=[types.Part(function_response=types.FunctionResponse(id=call.id, name="order", response={"approved": True}))])
        await say(r, "tour", "remember that")
        for text in ("one", "remember two", "three"):
            await say(r, "back", text)
        await rewind("back", (await invocations(service, "back"))[1])
        await say(r, "back", "after the rewind")
        await say(r, "back", "remember four")
        await rewind("back", (await invocations(service, "back"))[-1])
        await say(r, "asks", "order now")
        if isinstance(service, DatabaseSessionService):
            await service.close()


def calls(text, r):
    """Starts a call as Hindcast prints it."""
    names = {"runner": r, "Content": types.Content, "Part": types.Part, "FunctionResponse": types.FunctionResponse}
    return eval(text.replace("{…}", '{"approved": False}'), names)


async def asked(service, call):
    """Returns the state that is loaded, the ids of all events, and what the model is sent first."""
    s = await service.get_session(app_name=APP, user_id=USER, session_id=call["session"])
    told = {"state": dict(s.state)}
    sent.clear()
    await drain(calls(call["call"], runner(service)))
    return told | {"sent": sent[0] if sent else None}


async def one(put):
    with tempfile.TemporaryDirectory() as work:
        db = put["db"]
        if "://" not in db:
            db = pathlib.Path(work) / pathlib.Path(db).name
            shutil.copyfile(put["db"], db)
        service = service_of(db)
        told = await asked(service, put)
        if isinstance(service, DatabaseSessionService):
            await service.close()
    return {"state": told["state"], "sent": told["sent"]} | await in_memory(put)


known = {}  # a restore and a fork show the same


async def in_memory(put):
    """Returns the same of a session in memory that has what Hindcast shows."""
    put = put | {"session": "shown", "call": re.sub('session_id="[^"]*"', 'session_id="shown"', put["call"])}
    key = json.dumps(put | {"db": ""})
    if key in known:
        return known[key]
    shown, memory = put["state"], InMemorySessionService()
    state = shown["state"] | {f"{p}:{k}": v for p in ("app", "user") for k, v in shown.get(p, {}).items()}
    s = await memory.create_session(app_name=APP, user_id=USER, session_id=put["session"], state=state)
    for message in shown["messages"]:
        event = Event.model_validate(message)
        event.actions.state_delta = {}
        await memory.append_event(s, event)
    wanted = await asked(memory, put)
    known[key] = {"shown": wanted["state"], "wanted": wanted["sent"]}
    return known[key]


async def stale(before, after, session):
    with tempfile.TemporaryDirectory() as work:
        copy = pathlib.Path(work) / pathlib.Path(before).name
        shutil.copyfile(before, copy)
        service = service_of(copy)
        s = await service.get_session(app_name=APP, user_id=USER, session_id=session)
        shutil.copyfile(after, copy)
        try:
            await service.append_event(s, Event(author="user", invocation_id="e-late"))
            return "it was appended"
        except Exception as error:
            return type(error).__name__
        finally:
            if isinstance(service, DatabaseSessionService):
                await service.close()


async def run(_):
    given, ran = json.load(sys.stdin), []
    for put in given["puts"]:
        try:
            ran.append(await one(put))
        except Exception as error:
            ran.append({"failed": f"{type(error).__name__}: {error}"})
    json.dump({"ran": ran, "stale": [await stale(*held) for held in given["held"]]}, sys.stdout)


asyncio.run({"write": write, "run": run}[sys.argv[1]](sys.argv[2]))
