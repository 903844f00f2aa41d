"""Asks the real Strands SDK what it loads from the message logs under testdata/strands.

    python -m venv venv && venv/bin/pip install strands-agents==1.62.0
    venv/bin/python testdata/interop/strands_initialize.py testdata/strands

Writes testdata/strands/initialize-<version>.json; the tests of store/kinds/strands
read it. Run it by hand, for a new SDK. Nothing here is a stand-in but the
model, which is never called.

Two things are written down.

"positions": for each agent of each session under python-file and for each of
its messages, what RepositorySessionManager.initialize puts into agent.messages
when the log ends with that message. A number stands for the message of that
file as it is, anything else is the message itself. The count of removed
messages and the summary are those of agent.json; but where the log is cut
before the first message that they leave, they are set back to 0 and to none,
as putting a session back must do.

"hazards": for each session of hazards.txtar, what came of starting an agent on
it: "refuses", the exception that was raised, or "messages" and "state", what it
holds. "next" is the file to which the next message is written, "overwrites"
says that the file was there before.
"""

import json
import logging
import math
import os
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from strands import Agent
from strands.agent.conversation_manager import (
    NullConversationManager,
    SlidingWindowConversationManager,
    SummarizingConversationManager,
)
from strands.models.model import Model
from strands.session.file_session_manager import FileSessionManager
from strands.types.session import encode_bytes_values

logging.disable(logging.CRITICAL)

MANAGERS = {
    manager.__name__: manager
    for manager in (NullConversationManager, SlidingWindowConversationManager, SummarizingConversationManager)
}


class SilentModel(Model):
    """A model that is never asked anything."""

    def update_config(self, **config):
        pass

    def get_config(self):
        return {"model_id": "silent"}

    async def structured_output(self, output_model, prompt, system_prompt=None, **rest):
        raise AssertionError("the model was called")
        yield

    async def stream(self, messages, tool_specs=None, system_prompt=None, **rest):
        raise AssertionError("the model was called")
        yield


def encoded(value):
    """Gives bytes as the SDK writes them, numbers that JSON lacks as strings, and all else as it is."""
    return finite(encode_bytes_values(value))


def finite(value):
    """Gives NaN and the infinities as strings."""
    if isinstance(value, dict):
        return {key: finite(member) for key, member in value.items()}
    if isinstance(value, list):
        return [finite(element) for element in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def manager_for(agent_json):
    """Gives the conversation manager that agent.json was written with."""
    try:
        name = json.loads(agent_json.read_text())["conversation_manager_state"]["__name__"]
    except Exception:
        name = ""
    return MANAGERS.get(name, SlidingWindowConversationManager)()


def start(storage, session, agent):
    """Starts an agent on a stored session, as a program that resumes does."""
    agent_json = storage / f"session_{session}" / "agents" / f"agent_{agent}" / "agent.json"
    sessions = FileSessionManager(session, storage_dir=str(storage))
    made = Agent(
        model=SilentModel(),
        agent_id=agent,
        conversation_manager=manager_for(agent_json),
        session_manager=sessions,
        callback_handler=None,
    )
    return made, sessions


def numbered(messages):
    """Gives the message files of a directory in the order in which the SDK reads them."""
    names = [name for name in os.listdir(messages) if name.startswith("message_") and name.endswith(".json")]
    return [name for _, name in sorted((int(name[len("message_") : -5]), name) for name in names)]


def effective(path):
    """Gives the message of a file, the redacted one if there is one."""
    wrapper = json.loads(path.read_text())
    return wrapper["message"] if wrapper.get("redact_message") is None else wrapper["redact_message"]


def positions(source, session, agent):
    """Gives what is loaded when the log ends with each of its messages."""
    result = []
    place = Path("agents") / f"agent_{agent}"
    names = numbered(source / place / "messages")
    for last in range(len(names)):
        with tempfile.TemporaryDirectory() as work:
            copy = Path(work) / f"session_{session}"
            shutil.copytree(source, copy)
            for name in names[last + 1 :]:
                (copy / place / "messages" / name).unlink()
            agent_json = copy / place / "agent.json"
            facts = json.loads(agent_json.read_text())
            manager = facts["conversation_manager_state"]
            if last < len(names) - 1 and last < manager["removed_message_count"]:
                manager["removed_message_count"] = 0
                manager.pop("summary_message", None)
                agent_json.write_text(json.dumps(facts))
            made, _ = start(Path(work), session, agent)
            stored = [effective(source / place / "messages" / name) for name in names]
            result.append([stored.index(m) if m in stored else made_up(m) for m in encoded(made.messages)])
    return result


def made_up(message):
    """Gives a message that no file has. What the SDK puts in gets another tracking_id on every start."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list) and any(isinstance(block, dict) and "toolResult" in block for block in content):
        message.pop("tracking_id", None)
    return message


def hazards(archive):
    """Gives the sessions of hazards.txtar as {name: {file: bytes}}."""
    sessions = {}
    name = path = None
    for line in archive.read_bytes().splitlines(keepends=True):
        if line.startswith(b"-- ") and line.endswith(b" --\n"):
            name, _, path = line[3:-4].decode().partition("/")
            sessions.setdefault(name, {})[path] = b""
        elif path is not None:
            sessions[name][path] += line
    base = sessions.pop("base")
    return {name: {**base, **files} for name, files in sessions.items()}


def write(files, session):
    """Lays a session of hazards.txtar out on disk."""
    place = session / "agents" / "agent_default"
    (place / "messages").mkdir(parents=True)
    for name, content in files.items():
        target = session / name if name == "session.json" else place / name
        if name == "why" or content == b"(absent)\n":
            continue
        if content.startswith(b"-> "):
            os.symlink(content[3:-1].decode(), target)
        else:
            target.write_bytes(content)


def contents(session):
    """Gives what is in the messages directory, by name."""
    messages = session / "agents" / "agent_default" / "messages"
    return {name: (os.lstat(messages / name).st_ino, (messages / name).read_bytes()) for name in os.listdir(messages)}


def hazard(files):
    """Starts an agent on a session, then appends a message to it."""
    with tempfile.TemporaryDirectory() as work:
        session = Path(work) / "session_h"
        write(files, session)
        try:
            made, sessions = start(Path(work), "h", "default")
        except Exception as error:
            return {"refuses": type(error).__name__ + ": " + str(error).replace(work, "")}
        result = {"messages": [made_up(m) for m in encoded(made.messages)], "state": encoded(made.state.get())}
        before = contents(session)
        try:
            sessions.append_message({"role": "user", "content": [{"text": "next"}]}, made)
        except Exception as error:
            result["next"] = type(error).__name__ + ": " + str(error).replace(work, "")
            return result
        for name, now in contents(session).items():
            if before.get(name) != now:
                result["next"] = name
                result["overwrites"] = name in before
        return result


def main(directory):
    """Writes the file."""
    found = {"sdk": version("strands-agents"), "positions": {}, "hazards": {}}
    for source in sorted((directory / "python-file").iterdir()):
        session = source.name.removeprefix("session_")
        for agent in sorted(entry.name.removeprefix("agent_") for entry in (source / "agents").iterdir()):
            found["positions"][f"{session}/{agent}"] = positions(source, session, agent)
    for name, files in hazards(directory / "hazards.txtar").items():
        found["hazards"][name] = hazard(files)
    target = directory / f"initialize-{found['sdk']}.json"
    lines = []
    for part in ("positions", "hazards"):
        rows = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in found[part].items())
        lines.append(f" {json.dumps(part)}: {{\n{rows}\n }}")
    target.write_text(f'{{\n "sdk": {json.dumps(found["sdk"])},\n' + ",\n".join(lines) + "\n}\n")
    print(target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
