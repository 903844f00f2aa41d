"""Has the OpenAI Agents SDK write sessions, and go on from what Hindcast made of them.

    HINDCAST_SDKS=… go test ./store/kinds -run InteropOpenAIAgents

runs it. `sessions.py write DIR` writes DIR/sqlite.db with SQLiteSession and AsyncSQLiteSession,
DIR/advanced.db with the branches of AdvancedSQLiteSession, and DIR/sqlalchemy.db: sessions with
two calls at once, a tool that fails, a call that waits for an approval, and items that were popped.
`sessions.py write postgres://…` has SQLAlchemySession write what is in sqlite.db.

`sessions.py run DIR` reads a list of forks, each with its store, the items that Hindcast shows
there, and a call that it printed. It prints the items that the session then has, what the model is
sent by that call, and what it is sent where a session in memory has the items that Hindcast shows.
"""

import asyncio
import json
import pathlib
import shutil
import sys
import tempfile
import textwrap

from agents import Agent, Model, ModelResponse, Runner, SQLiteSession, Usage, function_tool, set_tracing_disabled
from agents.extensions.memory import AdvancedSQLiteSession, AsyncSQLiteSession, SQLAlchemySession
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)
sent = []


class Scripted(Model):
    said = 0

    async def get_response(self, system_instructions, input, *args, **kw):
        Scripted.said += 1
        items = [{"role": "user", "content": input}] if isinstance(input, str) else list(input)
        sent.append(items)
        last = items[-1]
        text = last.get("content") or ""
        calls = {"both": [("weather", {"city": "東京"}), ("weather", {"city": "Zürich"})], "broken": [("stock", {"item": "broken"})], "order": [("order", {"item": "Äpfel"})]}
        called = next((c for word, c in calls.items() if word in text), [])
        out = [ResponseFunctionToolCall(id=f"fc_{self.said}{i}", call_id=f"call_{self.said}{i}", type="function_call", name=name, arguments=json.dumps(args, ensure_ascii=False)) for i, (name, args) in enumerate(called)]
        if not out:
            answer = f"Ergebnis: {last['output']}" if last.get("type") == "function_call_output" else f"Gern! {text} 👋"
            out = [ResponseOutputMessage(id=f"msg_{self.said}", role="assistant", status="completed", type="message", content=[ResponseOutputText(text=answer, type="output_text", annotations=[])])]
        return ModelResponse(output=out, usage=Usage(requests=1, input_tokens=10 + len(items), output_tokens=5, total_tokens=15 + len(items)), response_id=f"resp_{self.said}")

    def stream_response(self, *args, **kw):
        raise NotImplementedError


@function_tool
def weather(city: str) -> str:
    return f"{city}: 21 °C ☀️"


@function_tool
def stock(item: str) -> str:
    raise RuntimeError("warehouse unreachable")


@function_tool(needs_approval=True)
def order(item: str) -> str:
    return f"bestellt: {item}"


agent = Agent(name="Helfer", instructions="Sei nett.", model=Scripted(), tools=[weather, stock, order])


async def talk(session, *texts):
    for text in texts:
        came = await Runner.run(agent, text, session=session)
        if hasattr(session, "store_run_usage"):
            await session.store_run_usage(came)


async def tour(session):
    """What may be in a session without branches."""
    await talk(session, "hello größe", "both please", "broken please", "to be popped")
    await session.pop_item()
    await session.pop_item()
    await talk(session, "order please")


def alchemy(id, place, **kw):
    return SQLAlchemySession.from_url(id, url=address(place), **kw)


def address(place):
    """The URL that SQLAlchemy takes, of a database or a file."""
    if place.startswith("postgres://"):
        return place.replace("postgres://", "postgresql+asyncpg://", 1)
    return f"sqlite+aiosqlite:///{place}"


async def write(place):
    if place.startswith("postgres://"):
        s = alchemy("tour", place, create_tables=True)
        await tour(s)
        await s.engine.dispose()
        s = alchemy("async", place)
        await talk(s, "hi")
        await s.engine.dispose()
        return
    out = pathlib.Path(place)
    s = SQLiteSession("tour", out / "sqlite.db")
    await tour(s)
    s.close()
    s = AsyncSQLiteSession("async", out / "sqlite.db")
    await talk(s, "hi")
    await s.close()
    s = AdvancedSQLiteSession(session_id="tour", db_path=out / "advanced.db", create_tables=True)
    await talk(s, "hello größe", "both please")
    await s.create_branch_from_turn(2, "other")
    await talk(s, "other second")
    await s.create_branch_from_turn(2, "deleted")
    await talk(s, "gone")
    await s.delete_branch("deleted", force=True)
    await s.switch_to_branch("main")
    await talk(s, "third on main")
    s.close()
    s = alchemy("tour", str(out / "sqlalchemy.db"), create_tables=True)
    await talk(s, "hello größe", "both please")
    await s.engine.dispose()


async def go(call, path):
    """Runs a call as Hindcast prints it, and returns what its session had before."""
    opened, had = [], []

    def kept(make):
        def made(*args, **kw):
            opened.append(make(*args, **kw))
            return opened[-1]

        return made

    class Kept:
        from_url = staticmethod(kept(SQLAlchemySession.from_url))

    class Run:
        @staticmethod
        async def run(agent, text, session):
            had.extend(await session.get_items())
            return await Runner.run(agent, text, session=session)

    names = {"agent": agent, "path": path, "url": address(path), "Runner": Run, "SQLiteSession": kept(SQLiteSession), "AdvancedSQLiteSession": kept(AdvancedSQLiteSession), "SQLAlchemySession": Kept}
    exec("async def called():\n" + textwrap.indent(call.replace("; ", "\n"), "    "), names)
    try:
        await names["called"]()
    finally:
        for session in opened:
            await session.engine.dispose() if hasattr(session, "engine") else session.close()
    return had


async def one(put):
    with tempfile.TemporaryDirectory() as work:
        place = put["db"]
        if not place.startswith("postgres://"):  # a database is of this put alone
            place = str(pathlib.Path(work) / "copy.db")
            shutil.copyfile(put["db"], place)
        sent.clear()
        had = await go(put["call"], place)
        first = sent[0]
    memory = SQLiteSession("shown")
    await memory.add_items(put["state"]["messages"])
    sent.clear()
    await Runner.run(agent, "…", session=memory)
    memory.close()
    return {"had": had, "sent": first, "wanted": sent[0]}


async def run(_):
    answers = []
    for put in json.load(sys.stdin):
        try:
            answers.append(await one(put))
        except Exception as error:
            answers.append({"failed": f"{type(error).__name__}: {error}"})
    json.dump(answers, sys.stdout)


asyncio.run({"write": write, "run": run}[sys.argv[1]](sys.argv[2]))
