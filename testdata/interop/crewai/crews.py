"""Has crewAI write checkpoints, and go on from each.

    HINDCAST_SDKS=… go test ./store/kinds -run InteropCrewAI

runs it. `crews.py write DIR` writes the checkpoints of a crew of three tasks with a scripted
model and a tool into DIR/json and DIR/sqlite/crew.db, resumes and forks each once, and those of a
flow into DIR/flow.

`crews.py run DIR` reads a list of {"of", "from", "into"} and resumes a crew or the flow from
each; it writes where "into" says, or else where the checkpoint does. It prints the outputs that
were in it, what the model was sent, what came of it, and where new checkpoints are.
"""

try:  # SqliteProvider needs jsonb, which the SQLite of a distribution may not have
    import sys

    import pysqlite3

    sys.modules["sqlite3"] = pysqlite3
except ImportError:
    pass
import json
import os
import pathlib
import sqlite3
import sys
import tempfile
import threading

for name in ("CREWAI_DISABLE_TELEMETRY", "OTEL_SDK_DISABLED", "CREWAI_DISABLE_TRACKING"):
    os.environ[name] = "true"
os.environ["CREWAI_TRACING_ENABLED"], os.environ["CREWAI_TESTING"] = "false", "true"  # the latter asks nothing
os.environ["CREWAI_STORAGE_DIR"] = os.environ["HOME"] = tempfile.mkdtemp()

from crewai import Agent, Crew, Task
from crewai.events import crewai_event_bus
from crewai.flow.flow import Flow, listen, start
from crewai.llms.base_llm import BaseLLM
from crewai.state.checkpoint_config import CheckpointConfig
from crewai.state.provider.json_provider import JsonProvider
from crewai.state.provider.sqlite_provider import SqliteProvider
from crewai.tools import BaseTool
from pydantic import BaseModel

sent = []


def emit_and_wait(bus, source, event, emit=type(crewai_event_bus).emit):
    """Emits an event as crewAI does, and waits for what handles it.

    A thread of the bus writes a checkpoint while the crew goes on, and serialises the record of
    events in it without a lock. Where the crew adds an event meanwhile, that checkpoint is lost
    ("dictionary changed size during iteration"), or follows another than the one before it.
    """
    handled = emit(bus, source, event)
    if handled and threading.current_thread() is not bus._loop_thread:  # which would wait for itself
        handled.result()
    return handled


type(crewai_event_bus).emit = emit_and_wait


class Scripted(BaseLLM):
    def __init__(self, **kw):
        super().__init__(**({"model": "scripted-1"} | kw))

    def supports_function_calling(self):
        return False

    def supports_stop_words(self):
        return False

    def get_context_window_size(self):
        return 8192

    def call(self, messages, tools=None, callbacks=None, available_functions=None, **kw):
        text = messages if isinstance(messages, str) else "\n".join(str(m["content"]) for m in messages)
        sent.append(text)
        asked = text.split("Current Task")[-1]
        if "Weather" in asked and "Observation" not in asked:
            return 'Thought: I need the tool\nAction: weather\nAction Input: {"city": "Zürich"}\nObservation:'
        return f"Thought: I now know the final answer\nFinal Answer: Ergebnis ☀️ {len(text)}"


class Weather(BaseTool):
    name: str = "weather"
    description: str = "Weather of a city."

    def _run(self, city: str) -> str:
        return f"{city}: 21 °C ☀️"


def crew(**kw):
    agent = Agent(role="Forscher", goal="find", backstory="Älter", llm=Scripted(), tools=[Weather()], max_iter=4)
    tasks = [Task(description=text, expected_output="text", agent=agent, name=name) for name, text in
             (("wetter", "Weather of {topic}"), ("liste", "List {topic}"), ("summe", "Sum up {topic}"))]
    return Crew(agents=[agent], tasks=tasks, name="tour", **kw)


class State(BaseModel):
    id: str = "flow-1"
    words: list[str] = []


class Tour(Flow[State]):
    @start()
    def first(self):
        self.state.words.append("größe")

    @listen(first)
    def second(self):
        self.state.words.append("zwei")

    @listen(second)
    def third(self):
        self.state.words.append("drei")


def model(c):
    """A checkpoint has the name of a model alone: the program sets its own again."""
    for agent in {id(a): a for a in [*c.agents, *(t.agent for t in c.tasks)]}.values():
        agent.llm = Scripted()
        if getattr(agent, "agent_executor", None):
            agent.agent_executor.llm = agent.llm
    return c


def write(directory):
    out = pathlib.Path(directory)
    for at, provider in ((out / "json", JsonProvider()), (out / "sqlite" / "crew.db", SqliteProvider())):
        config = dict(location=str(at), provider=provider)
        crew(checkpoint=CheckpointConfig(on_events=["task_completed"], **config)).kickoff(inputs={"topic": "Äpfel"})
        crewai_event_bus.flush()
        if provider.provider_type == "json":
            first = str(min((at / "main").glob("*.json"), key=os.path.getmtime))
        else:
            with sqlite3.connect(at) as db:
                first = f"{at}#{db.execute('SELECT id FROM checkpoints ORDER BY rowid LIMIT 1').fetchone()[0]}"
        model(Crew.from_checkpoint(CheckpointConfig(restore_from=first, **config))).kickoff()
        crewai_event_bus.flush()
        model(Crew.fork(CheckpointConfig(restore_from=first, **config), branch="what-if")).kickoff(inputs={"topic": "Birnen"})
        crewai_event_bus.flush()
    Tour(checkpoint=CheckpointConfig(location=str(out / "flow"), on_events=["method_execution_finished"])).kickoff()
    crewai_event_bus.flush()


def files(directory):
    """Returns where checkpoints are: FILE, or FILE.db#BRANCH/ID."""
    found = {str(p) for p in pathlib.Path(directory).rglob("*.json")} if directory else set()
    for p in pathlib.Path(directory).glob("*.db") if directory else ():
        with sqlite3.connect(p) as db:
            found |= {f"{p}#{branch}/{name}" for name, branch in db.execute("SELECT id, branch FROM checkpoints")}
    return found


def run(_):
    out = []
    for at in json.load(sys.stdin):
        sent.clear()
        said, before = {}, files(at["dir"])
        try:
            config = CheckpointConfig(restore_from=at["from"])
            if at["of"] == "flow":
                made = Tour.from_checkpoint(config)
                said["had"] = list(made.state.words)
            else:
                made = model(Crew.from_checkpoint(config))
                said["had"] = [t.output.raw for t in made.tasks if t.output]
            if at["into"]:
                made.checkpoint = CheckpointConfig(location=at["into"])
            came = made.kickoff()
            crewai_event_bus.flush()
            said |= {"came": list(made.state.words) if at["of"] == "flow" else [t.raw for t in came.tasks_output]}
        except Exception as e:  # the test tells of it
            said["failed"] = f"{type(e).__name__}: {e}"
        said |= {"sent": list(sent), "wrote": sorted(os.path.relpath(p, at["dir"]) for p in files(at["dir"]) - before)}
        out.append(said)
    answer.write(json.dumps(out))


if __name__ == "__main__":
    answer, sys.stdout = sys.stdout, sys.stderr  # crewAI prints
    import crews as itself  # so that the checkpoints name a module

    itself.answer = answer
    getattr(itself, sys.argv[1])(sys.argv[2])
