"""Goes on with a conversation of the OpenHands SDK, as a program of its user would:

    python run_openhands.py PORT FOLDER WORK CONVERSATION STEP…

PORT is that of the scripted model, FOLDER where conversations are, WORK the folder that the
agent works in. A step is "say: WORDS", which runs the agent until it is done, "goto: EVENT",
or "back: N": to the message of the agent N answers ago. It prints one JSON object: the
head when the conversation was opened, the head at the end, and the events' ids.
"""

import json
import os
import sys
import uuid

os.environ.update(OPENHANDS_SUPPRESS_BANNER="1", LITELLM_LOCAL_MODEL_COST_MAP="True", NO_PROXY="127.0.0.1")

from openhands.sdk import LLM, Agent, Conversation, MessageEvent, Tool  # noqa: E402
from openhands.tools.terminal import TerminalTool  # noqa: E402
from pydantic import SecretStr  # noqa: E402


def main():
    port, folder, work, name, *steps = sys.argv[1:]
    llm = LLM(usage_id="agent", model="openai/scripted", base_url=f"http://127.0.0.1:{port}/v1", api_key=SecretStr("none"), num_retries=0)
    conversation = Conversation(
        agent=Agent(llm=llm, tools=[Tool(name=TerminalTool.name)]), workspace=work, persistence_dir=folder,
        conversation_id=uuid.UUID(name), visualizer=None,
    )
    state = conversation.state
    told = {"opened": state.leaf_event_id}
    for step in steps:
        verb, _, rest = step.partition(": ")
        if verb == "say":
            conversation.send_message(rest)
            conversation.run()
        elif verb == "goto":
            conversation.navigate_to(rest)
        else:
            answers = [e.id for e in state.active_branch() if isinstance(e, MessageEvent) and e.source == "agent"]
            conversation.navigate_to(answers[-1 - int(rest)])
    told.update(head=state.leaf_event_id, events=[e.id for e in state.events])
    conversation.close()
    print(json.dumps(told))


main()
