"""Has LangGraph's own agents write threads with a tool call without a result, and go on.

    HINDCAST_SDKS=… go test ./store/kinds -run InteropLangGraph_repair

runs it. `agents.py write DB` has create_react_agent and create_agent write threads, in which a
tool raises and the user writes on: once, twice, with two calls in one answer, and with two in two.

`agents.py run DB` reads a list of threads and says "on" in each: it prints the messages that the
model is sent, or the error that the agent raises. DB is a file of SQLite, or the URL of a
database of PostgreSQL's.
"""

import contextlib
import json
import sys

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.prebuilt import create_react_agent

SENT = []


class Scripted(BaseChatModel):
    """Calls the tools that the last message of the user names behind "call"."""

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **options):
        SENT.append([[m.type, m.content, getattr(m, "tool_call_id", None), [c["id"] for c in getattr(m, "tool_calls", [])]] for m in messages])
        last, n = messages[-1], len(messages)
        calls = []
        if last.type == "human" and last.content.startswith("call "):
            calls = [{"id": f"c{n}_{i}", "name": name, "args": {}} for i, name in enumerate(last.content.split()[1:])]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("" if calls else "answer", tool_calls=calls))])


@tool
def weather() -> str:
    """Tells the weather."""
    return "rain"


@tool
def boom() -> str:
    """Fails."""
    raise RuntimeError("boom")


AGENTS = {
    "react": lambda saver: create_react_agent(Scripted(), [weather, boom], checkpointer=saver),
    "agent": lambda saver: create_agent(Scripted(), [weather, boom], checkpointer=saver),
}
TALKS = {"once": ["hello", "call boom", "so?"], "twice": ["call boom", "so?", "and now?"], "beside": ["call weather boom", "so?"], "again": ["call boom", "call boom", "so?"]}


@contextlib.contextmanager
def opened(db):
    with (PostgresSaver if "://" in db else SqliteSaver).from_conn_string(db) as saver:
        yield saver


def say(graph, thread, text):
    """Returns what the model is sent last, or the error."""
    SENT.clear()
    try:
        graph.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": thread}})
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    return {"sent": SENT[-1]}


def write(db):
    with opened(db) as saver:
        saver.setup()
        for name, build in AGENTS.items():
            for talk, texts in TALKS.items():
                for text in texts:
                    say(build(saver), f"{name}-{talk}", text)


def run(db, threads):
    with opened(db) as saver:
        return [say(AGENTS[thread.split("-")[0]](saver), thread, "on") for thread in threads]


if sys.argv[1] == "write":
    write(sys.argv[2])
else:
    json.dump(run(sys.argv[2], json.load(sys.stdin)), sys.stdout)
