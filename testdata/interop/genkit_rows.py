"""Asks the real Genkit SDK for Python what it makes of rows.

    python -m venv venv && venv/bin/pip install genkit==0.12.0
    venv/bin/python testdata/interop/genkit_rows.py testdata/genkit/python-rows.txtar

Writes beside it python-rows-<version>.json, for each row "id", the status with which it
is read by its id or the exception, and "session", the id of the row from which the
session in its name goes on, "" for none, or the exception. Each row is a session of its
own, or several that have a name in common before the dash are one. Run it by hand, for a
new SDK. Nothing here is a stand-in.
"""

import asyncio
import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from genkit._ai._agents._session_stores._file_store import FileSessionStore
from genkit._ai._agents._snapshot import walk_back_to_resumable


def rows(archive):
    """The files of the archive, which has bytes that are not UTF-8."""
    found = {}
    for line in archive.splitlines(keepends=True):
        if line.startswith(b"-- ") and line.endswith(b" --\n"):
            name = line[3:-4].decode()
            found[name] = b""
        elif found:
            found[name] += line
    return found


def words(raised):
    """An exception without what differs each time."""
    return f"{type(raised).__name__}: {raised}".splitlines()[0][:120]


async def asked(store, row):
    """What the store makes of one row."""
    answer = {}
    try:
        snapshot = await store.get_snapshot(snapshot_id=row)
        answer["id"] = snapshot.status.value if snapshot.status else ""
    except Exception as raised:
        answer["id"] = words(raised)
    try:
        found = await store.get_snapshot(session_id=row.split("-")[0])
        found = await walk_back_to_resumable(store=store, snapshot=found)
        answer["session"] = found.snapshot_id if found else ""
    except Exception as raised:
        answer["session"] = words(raised)
    return answer


async def main(archive):
    """Ask about all rows."""
    with tempfile.TemporaryDirectory() as work:
        for name, data in rows(archive.read_bytes()).items():
            (Path(work) / name).write_bytes(data)
        store = FileSessionStore(work)
        answers = {name: await asked(store, name.removesuffix(".json")) for name in sorted(rows(archive.read_bytes()))}
    sdk = version("genkit")
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items())
    (archive.parent / f"python-rows-{sdk}.json").write_text("{\n" + lines + "\n}\n")


asyncio.run(main(Path(sys.argv[1])))
