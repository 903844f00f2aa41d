"""Starts an agent of the real Strands SDK on each of many damaged message logs.

    HINDCAST_SDKS=… go test ./store/kinds/strands/messages -run SDKsThatStart

runs it, once for each version of the SDK. Its argument is a folder of stores with the
one session h. It prints an object: for each store "refuses", the exception that was
raised, or "messages", what the agent holds. The stores stay as they are.
"""

import json
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from strands_initialize import encoded, made_up, start


def answer(store):
    """Starts an agent on a copy of a store."""
    with tempfile.TemporaryDirectory() as work:
        copy = Path(work) / "store"
        shutil.copytree(store, copy, symlinks=True)
        try:
            made, _ = start(copy, "h", "default")
        except Exception as error:
            return {"refuses": type(error).__name__ + ": " + str(error).replace(str(copy), "")}
        return {"messages": [made_up(m) for m in encoded(made.messages)]}


if __name__ == "__main__":
    found = {store.name: answer(store) for store in sorted(Path(sys.argv[1]).iterdir())}
    print(json.dumps({"sdk": version("strands-agents"), "hazards": found}, allow_nan=False))
