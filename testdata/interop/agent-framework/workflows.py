"""Has Agent Framework write checkpoints, say what is in each, and go on from each.

    HINDCAST_SDKS=… go test ./store/kinds -run InteropAgentFramework

runs it. `workflows.py write DIR` writes the checkpoints of two workflows: one that asks a
person, is answered twice, and keeps values that are no JSON; and two agents with a scripted
model and a tool, run twice.

`workflows.py tell DIR` reads a list of ids, and prints what the SDK loads of each, every
object as its members, and the latest checkpoint of each workflow.

`workflows.py run DIR` reads a list of {"dir", "workflow", "id"} and goes on from each as the
call in Hindcast's plan does; without an id, from the latest. It prints what came of it, and
what the model was sent.
"""

import asyncio
import base64
import dataclasses
import datetime
import enum
import json
import sys
import uuid

import agent_framework as af
from agent_framework import (
    Agent, AgentExecutor, BaseChatClient, ChatResponse, Content, Executor, FileCheckpointStorage, FunctionInvocationLayer,
    Message, UsageDetails, WorkflowBuilder, WorkflowContext, handler, response_handler,
)

sent = []


@dataclasses.dataclass
class Order:
    item: str
    n: int
    when: datetime.datetime
    oid: uuid.UUID
    tags: set


@dataclasses.dataclass
class Ask:
    question: str


class Take(Executor):
    @handler
    async def take(self, text: str, ctx: WorkflowContext[Order]) -> None:
        ctx.set_state("größe", {"set": {1}, "bytes": b"\x00\xff", "text": "žluťoučký 🐎", "none": None, "pair": (1, 2.5)})
        await ctx.send_message(Order(text, 3, datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc), uuid.UUID(int=7), {"ä"}))


class Approve(Executor):
    @handler
    async def approve(self, o: Order, ctx: WorkflowContext[str]) -> None:
        await ctx.request_info(Ask(f"{o.item} freigeben? ✅"), bool)

    @response_handler
    async def answered(self, ask: Ask, ok: bool, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message("ja" if ok else "nein")


class Ship(Executor):
    @handler
    async def ship(self, x: str, ctx: WorkflowContext[None, str]) -> None:
        await ctx.yield_output(f"geliefert: {x}")


@af.tool
def weather(city: str) -> str:
    "The weather of a city."
    return f"{city}: 21 °C ☀️"


class Scripted(FunctionInvocationLayer, BaseChatClient):
    async def said(self, messages):
        sent.append([plain(m) for m in messages])
        last = messages[-1]
        if last.role == "user" and "weather" in last.text:
            call = Content.from_function_call(f"c{len(messages)}", "weather", arguments={"city": "Zürich"})
            return ChatResponse(messages=[Message("assistant", [call])], response_id="r")
        return ChatResponse(messages=[Message("assistant", [f"gesagt: {last.text or 'Wetter'} 👋"])], response_id="r", usage_details=UsageDetails(total_token_count=16))

    def _inner_get_response(self, *, messages, stream, options, **kw):
        return self.said(messages)


def asks(storage):
    take, approve, ship = Take(id="take"), Approve(id="approve"), Ship(id="ship")
    return WorkflowBuilder(start_executor=take, name="bestellung", checkpoint_storage=storage).add_edge(take, approve).add_edge(approve, ship).build()


def agents(storage):
    one, two = (AgentExecutor(Agent(client=Scripted(), name=name, tools=[weather]), id=name) for name in ("eins", "zwei"))
    return WorkflowBuilder(start_executor=one, name="zweier", checkpoint_storage=storage).add_edge(one, two).build()


workflows = {"bestellung": asks, "zweier": agents}


def storage(directory):
    return FileCheckpointStorage(directory, allowed_checkpoint_types=["workflows:Order", "workflows:Ask"])


def plain(v):
    """A value as JSON: an object is its members that are not None."""
    match v:
        case bool() | None | int() | float() | str() if not isinstance(v, enum.Enum):
            return v
        case bytes():
            return {"$bytes": base64.b64encode(v).decode()}
        case enum.Enum():
            return v.value
        case dict():
            return {str(k): plain(x) for k, x in v.items()}
        case list() | tuple() | set():
            return [plain(x) for x in v]
        case datetime.datetime():
            return v.isoformat(timespec="microseconds")
        case uuid.UUID():
            return {"int": v.int}
        case type():
            return {"$global": f"{v.__module__}.{v.__qualname__}"}
    members = v.__dict__ if hasattr(v, "__dict__") else {s: getattr(v, s) for s in v.__slots__}
    return {k: plain(x) for k, x in members.items() if x is not None}


async def write(directory):
    s = storage(directory)
    ran = await asks(s).run("Äpfel")
    waits = ran.get_request_info_events()[0].request_id
    asked = await s.get_latest(workflow_name="bestellung")
    for ok in (True, False):
        await asks(s).run(checkpoint_id=asked.checkpoint_id, responses={waits: ok})
    for text in ("hallo größe", "weather, bitte"):
        await agents(s).run(text)


async def tell(directory):
    s, told = storage(directory), []
    for cid in json.load(sys.stdin):
        c = await s.load(cid)
        told.append({k: plain(getattr(c, k)) for k in ("messages", "state", "pending_request_info_events", "iteration_count", "metadata")})
    latest = {name: (await s.get_latest(workflow_name=name)).checkpoint_id for name in workflows}
    print(json.dumps({"told": told, "latest": latest}))


async def run(_):
    out = []
    for at in json.load(sys.stdin):
        sent.clear()
        s = storage(at["dir"])
        cid = at["id"] or (await s.get_latest(workflow_name=at["workflow"])).checkpoint_id
        c = await s.load(cid)
        answers = {r: True for r in c.pending_request_info_events}
        try:
            ran = await workflows[at["workflow"]](s).run(checkpoint_id=cid, **({"responses": answers} if answers else {}))
            said = {"id": cid, "outputs": [plain(o) if isinstance(o, str) else o.text for o in ran.get_outputs()], "ended": ran.get_final_state().name, "sent": list(sent)}
        except Exception as e:  # the test tells of it
            said = {"id": cid, "failed": f"{type(e).__name__}: {e}"}
        out.append(said)
    print(json.dumps(out))


if __name__ == "__main__":
    import workflows as itself  # so that what is pickled names a module

    asyncio.run(getattr(itself, sys.argv[1])(sys.argv[2]))
