"""Asks the real Strands SDK for Python what it makes of snapshot-hazards.txtar.

    python -m venv venv && venv/bin/pip install strands-agents==1.62.0
    venv/bin/python testdata/interop/strands_snapshots.py testdata/strands

Writes testdata/strands/snapshots-python-<version>.json, for each session whose
name begins with "py": "refuses", the exception with which an agent does not
start on it, or "messages", how many it has then, and "prompt", the exception that
comes of asking it something. Run it by hand, for a new SDK. Nothing here is a
stand-in but the model, which answers every request in the same way.
"""

import json
import logging
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from strands import Agent, tool
from strands.models.model import Model
from strands.session import SnapshotSessionManager
from strands.storage import LocalFileStorage

logging.disable(logging.CRITICAL)


class PatientModel(Model):
    """A model that answers whatever it is sent, as no provider does."""

    def update_config(self, **config):
        pass

    def get_config(self):
        return {}

    async def structured_output(self, *args, **kwargs):
        yield {}

    async def stream(self, messages, *args, **kwargs):
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": "ok"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


@tool
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def sessions(archive: bytes) -> dict[str, dict[str, bytes]]:
    """The sessions of the archive, each as the contents of its files."""
    found: dict[str, dict[str, bytes]] = {}
    content = None
    for line in archive.splitlines(keepends=True):
        if line.startswith(b"-- ") and line.endswith(b" --\n"):
            session, name = line[3:-4].decode().split("/", 1)
            content = found.setdefault(session, {}).setdefault(name, bytearray())
        elif content is not None:
            content += line
    return found


def lay_out(files: dict[str, bytes], folder: Path) -> None:
    for name, content in files.items():
        if name == "why" or content == b"(absent)\n":
            continue
        path = folder / ("snapshot_latest.json" if name == "latest" else name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if content.startswith(b"-> "):
            os.symlink(content[3:-1].decode(), path)
        else:
            path.write_bytes(content)


def words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:160]


def ask(root: str, session: str) -> dict:
    manager = SnapshotSessionManager(session, storage=LocalFileStorage(root), save_latest_on="trigger")
    try:
        agent = Agent(model=PatientModel(), session_manager=manager, callback_handler=None, tools=[add])
    except Exception as error:
        return {"refuses": words(error)}
    answer = {"messages": len(agent.messages) if isinstance(agent.messages, list) else 0}
    try:
        agent("go on")
    except Exception as error:
        answer["prompt"] = words(error)
    return answer


def main() -> None:
    folder = Path(sys.argv[1])
    answers = {}
    with tempfile.TemporaryDirectory() as root:
        for name, files in sessions((folder / "snapshot-hazards.txtar").read_bytes()).items():
            if name.startswith("py-"):
                lay_out(files, Path(root, "session", name, "scopes", "agent", "default", "snapshots"))
                answers[name] = ask(root, name)
    sdk = version("strands-agents")
    text = json.dumps({"sdk": sdk, "answers": answers}, indent=1, sort_keys=True)
    (folder / f"snapshots-python-{sdk}.json").write_text(text + "\n")


main()
