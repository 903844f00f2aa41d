"""Records the sessions of testdata/agno with Agno 3.1.10 and a scripted model:

    pip install agno==3.1.10 sqlalchemy greenlet
    python record.py sessions.db
    python record.py json/                        and of testdata/agno/json
    python record.py postgresql+psycopg://…       and, by pg_dump, of testdata/agno/postgres.sql; needs psycopg

tour   text, a tool, a tool with wrong arguments, one that raises, one that the person refuses
waits  a run that waits for the person
tree   three turns, the last regenerated and forked, and one more
team   a team, and the run of its member
"""
import os
import sys
from dataclasses import dataclass

os.environ["AGNO_TELEMETRY"] = "false"

from agno.agent import Agent
from agno.db.json import JsonDb
from agno.db.sqlite import SqliteDb
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.run import RunContext
from agno.team import Team
from agno.tools import tool

calls, SENT = 0, []


@dataclass
class Scripted(Model):
    """Calls the tool that the last prompt names, and else repeats what was said."""

    id: str = "scripted"
    name: str = "Scripted"
    provider: str = "Scripted"

    def invoke(self, messages, *args, **kwargs):
        global calls
        calls += 1
        SENT.append([[m.role, str(m.content or ""), [c["id"] for c in m.tool_calls or []] if m.role == "assistant" else []] for m in messages])
        last = messages[-1]
        said = str(last.content)
        if last.role == "user" and "call " in said:
            name, _, arguments = said.split("call ", 1)[1].partition(" ")
            call = {"id": f"c{calls}", "type": "function", "function": {"name": name, "arguments": arguments or "{}"}}
            return ModelResponse(role="assistant", tool_calls=[call])
        return ModelResponse(role="assistant", content=f"said {said[:30]} ☂")

    async def ainvoke(self, *args, **kwargs):
        return self.invoke(*args, **kwargs)

    def invoke_stream(self, *args, **kwargs):
        yield self.invoke(*args, **kwargs)

    async def ainvoke_stream(self, *args, **kwargs):
        yield self.invoke(*args, **kwargs)

    def _parse_provider_response(self, response, **kwargs):
        return response

    def _parse_provider_response_delta(self, response):
        return response


@tool
def weather(city: str) -> str:
    """Tells the weather."""
    return f"rain in {city}"


@tool
def boom(why: str) -> str:
    """Raises."""
    raise ValueError("boom " + why)


@tool(requires_confirmation=True)
def pay(n: int) -> str:
    """Pays."""
    return f"paid {n}"


def remember(run_context: RunContext, what: str) -> str:
    """Remembers."""
    run_context.session_state["basket"] = run_context.session_state.get("basket", []) + [what]
    return "ok"


def build(db):
    """Returns the agent and the team, which keep their sessions in db."""
    agent = Agent(id="helper", name="helper", model=Scripted(), db=db, tools=[weather, boom, pay, remember],
                  session_state={"basket": []}, add_history_to_context=True, telemetry=False)
    member = Agent(id="sky", name="sky", model=Scripted(), telemetry=False)
    team = Team(id="team", name="team", model=Scripted(), members=[member], db=db, add_history_to_context=True, telemetry=False)
    return agent, team


def record(db):
    agent, team = build(db)

    def run(session, prompt):
        return agent.run(prompt, session_id=session, user_id="u1")

    for prompt in ("hello größe", 'call weather {"city":"Oslo"}', 'call remember {"that":"egg"}', 'call boom {"why":"x"}'):
        run("tour", prompt)
    asked = run("tour", 'call pay {"n":4}')
    agent.continue_run(run_id=asked.run_id, session_id="tour", updated_tools=asked.tools)
    run("waits", 'call pay {"n":3}')
    for prompt in ("one", 'call remember {"what":"egg"}', "three"):
        last = run("tree", prompt)
    agent.continue_run(run_id=last.run_id, session_id="tree", regenerate=True)
    agent.continue_run(run_id=last.run_id, session_id="tree", fork=True, message_index=2)
    run("tree", "after")
    team.run('call delegate_task_to_member {"member_id":"sky","task":"look up"}', session_id="team", user_id="u1")


def open_db(to):
    if "://" in to:
        from agno.db.postgres import PostgresDb

        return PostgresDb(db_url=to)
    return JsonDb(db_path=to) if to.endswith("/") else SqliteDb(db_file=to)


if __name__ == "__main__":
    record(open_db(sys.argv[1]))
