"""Has the OpenAI Agents SDK go on with sessions that Hindcast repaired.

    HINDCAST_SDKS=… go test ./store/kinds/openaiagents -run InteropRepaired

runs it. `repaired.py PATH SESSION…` prints, for each session of the SQLite file, what a model is sent when a
program goes on with "probe".
"""

import asyncio
import json
import shutil
import sys
import tempfile

from agents import Agent, Model, ModelResponse, Runner, SQLiteSession, Usage, set_tracing_disabled
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)
sent = []


class Scripted(Model):
    async def get_response(self, system_instructions, input, *args, **kw):
        sent.append(list(input))
        text = ResponseOutputText(text="ok", type="output_text", annotations=[])
        return ModelResponse(output=[ResponseOutputMessage(id="msg_1", role="assistant", status="completed", type="message", content=[text])], usage=Usage(), response_id="r")

    def stream_response(self, *args, **kw):
        raise NotImplementedError


async def main(path, sessions):
    copy = tempfile.mkdtemp() + "/copy.db"
    shutil.copy(path, copy)
    out = {}
    for name in sessions:
        sent.clear()
        await Runner.run(Agent(name="a", model=Scripted()), "probe", session=SQLiteSession(name, copy))
        out[name] = sent[0]
    print(json.dumps(out, ensure_ascii=False))


asyncio.run(main(sys.argv[1], sys.argv[2:]))
