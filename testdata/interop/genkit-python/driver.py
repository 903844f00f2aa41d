"""Drives the real Genkit SDK for Python with a model that says what it is told to.

interop_test.go starts it, and gives it one command a line on its standard input, as
JSON; each is answered by one line. No network is used, and nothing here is a stand-in but
the model. Commands and answers are those of the driver for Go, which says what is in them.
"""

import asyncio
import json
import logging
import sys
import traceback
from importlib.metadata import version

from pydantic import BaseModel

from genkit import Message, ModelResponse
from genkit.exp import AgentError, Artifact, FileSessionStore, Genkit
from genkit._ai._agents._session import get_current_session
from genkit._ai._tools import Interrupt, respond_to_interrupt
from genkit._core._typing import ModelInfo, Supports

logging.disable(logging.CRITICAL)
ai = Genkit()
seen, ran, resumed = [], [], False


def plain(value):
    """A value of the SDK as JSON."""
    return json.loads(value.model_dump_json(by_alias=True, exclude_none=True))


def says(*content):
    """An answer of the model."""
    return ModelResponse.model_validate({"message": {"role": "model", "content": list(content)}, "finishReason": "stop"})


def calls(name, ref, given):
    """A part that calls a tool."""
    return {"toolRequest": {"name": name, "ref": ref, "input": given}}


async def script(request, _ctx):
    """What the model says depends on what the user said last, and on the rounds after that."""
    messages = [m for m in map(plain, request.messages) if m["role"] != "system"]  # the prompt is the program's
    seen.append(messages)
    user = max((i for i, m in enumerate(messages) if m["role"] == "user"), default=-1)
    said = "".join(part.get("text", "") for part in messages[user]["content"]) if user >= 0 else ""
    rounds = sum(m["role"] == "tool" for m in messages[user + 1 :])
    if resumed:
        return says({"text": "resumed"})
    if said == "fail" or said.startswith("flaky") and rounds == 1:
        raise RuntimeError("the model is away")
    if said.startswith("flaky"):
        return says(calls("addToOrder", "flaky-1", {"drink": "tonic"}))
    if said.startswith("order ") and rounds == 0:
        return says(*(calls("addToOrder", f"call-{i + 1}", {"drink": drink}) for i, drink in enumerate(said[6:].split(", "))))
    if said.startswith("order ") and rounds == 1:
        return says(calls("priceOrder", "call-price", {}))
    if said.startswith("pay") and rounds == 0:
        return says(calls("confirmPay", "pay-1", {"amount": 7.5}))
    return says({"text": "you said " + said})


ai.define_model("script/one", script, info=ModelInfo(supports=Supports(multiturn=True, tools=True, system_role=True)))


class Drink(BaseModel):
    """What is ordered."""

    drink: str


class Amount(BaseModel):
    """What is paid."""

    amount: float


class Nothing(BaseModel):
    """No input."""


@ai.tool(name="addToOrder", description="adds one drink")
async def add(given: Drink) -> str:
    """Adds one drink."""
    ran.append("addToOrder")
    await get_current_session().update_custom(lambda c: {**(c or {}), "drinks": [*(c or {}).get("drinks", []), given.drink]})
    return "added " + given.drink


@ai.tool(name="priceOrder", description="prices the order")
async def price(_given: Nothing) -> dict:
    """Prices the order."""
    ran.append("priceOrder")
    session = get_current_session()
    total = 2.5 * len((await session.get_custom())["drinks"])
    await session.update_custom(lambda c: {**c, "total": total, "notes": {"currency": "EUR", "html": "<b>&</b> ☕"}})
    await session.add_artifacts([Artifact.model_validate({"name": "receipt.txt", "parts": [{"text": f"{total:.2f}"}]})])
    return {"total": total}


@ai.tool(name="confirmPay", description="asks the human")
async def pay(given: Amount) -> str:
    """Asks the human."""
    raise Interrupt({"question": f"pay {given.amount:.2f}?"})


agents = 0


def opened(folder):
    """An agent on a folder, and its store."""
    global agents
    agents += 1
    store = FileSessionStore(folder)
    agent = ai.define_agent(f"barista{agents}", model="script/one", system="You are a barista.", tools=[add, price, pay], store=store)
    return agent, store


SCENARIOS = {
    "turns": [("hello", 0), ("and <two> & ☕", 0), ("bye", 0)],
    "order": [("order tea, <mocha>", 0), ("order espresso", 0), ("thanks", 0)],
    "branch": [("hello", 0), ("left", 0), ("right", 1), ("further right", 0), ("left again", 2)],
    "failed": [("hello", 0), ("fail", 0)],
    "flaky": [("hello", 0), ("flaky order", 0), ("never mind", 0)],
    "interrupt": [("hello", 0), ("pay", 0)],
}


async def write(command):
    """Write a session."""
    agent, _store = opened(command["dir"])
    scenario, ids = command["scenario"], []
    for text, start in SCENARIOS[scenario]:
        chat = agent.chat(snapshot_id=ids[start - 1]) if start else agent.chat(session_id=scenario)
        try:
            ids.append((await chat.send(text)).snapshot_id)
        except AgentError:
            if scenario not in ("failed", "flaky"):
                raise
            ids.append(None)
    return {"written": [{"scenario": scenario, "session": scenario, "agent": "barista", "seen": seen, "snapshots": ids}]}


async def resume(command):
    """Go on by a call as it stands in a plan."""
    global resumed
    agent, store = opened(command["dir"])
    answer, resumed = {"seen": seen, "tools": ran}, True
    try:
        answers = []
        if "[...]" in command["call"]:
            row = plain(await store.get_snapshot(session_id=command["session"]))
            last = Message.model_validate(row["state"]["messages"][-1])
            answers = [respond_to_interrupt("paid by hand", interrupt=part) for part in last.content if (plain(part).get("metadata") or {}).get("interrupt")]
        typed = command["call"].removeprefix("await ").replace("[...]", "answers")
        out = await eval(typed, {"agent": agent, "answers": answers})
        answer |= {"snapshot": out.snapshot_id, "session": out.session_id}
    except Exception as raised:
        answer["error"] = f"{type(raised).__name__}: {raised}"
    return answer


async def latest(command):
    """The row that a session stands at."""
    row = plain(await FileSessionStore(command["dir"]).get_snapshot(session_id=command["session"]))
    return {"snapshot": row["snapshotId"], "parent": row.get("parentId")}


async def main():
    """Answer commands until there are no more."""
    global seen, ran, resumed
    out = sys.stdout
    sys.stdout = sys.stderr  # what a library prints must not stand between the answers
    loop = asyncio.get_running_loop()
    print(json.dumps({"sdk": "genkit for Python " + version("genkit")}), file=out, flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command = json.loads(line)
        seen, ran, resumed = [], [], False
        try:
            answer = await {"write": write, "resume": resume, "latest": latest}[command["do"]](command)
        except Exception:
            answer = {"broken": traceback.format_exc()}
        print(json.dumps(answer), file=out, flush=True)


asyncio.run(main())
