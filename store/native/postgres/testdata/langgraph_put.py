"""Puts a conversation into LangGraph's PostgresSaver, a checkpoint a turn, as a graph with one channel of
messages does, and prints the seconds that the puts took: langgraph_put.py URL MESSAGES.jsonl"""

import json
import sys
import time

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver

url, path = sys.argv[1:]
with open(path, encoding="utf-8") as f:
    conversation = [json.loads(line) for line in f]

with PostgresSaver.from_conn_string(url) as saver:
    saver.setup()
    config = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    took = 0.0
    for turn in range(1, len(conversation) + 1):
        version = f"{turn:032}.0"
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"messages": conversation[:turn]}
        checkpoint["channel_versions"] = {"messages": version}
        began = time.perf_counter()
        config = saver.put(config, checkpoint, {"source": "loop", "step": turn}, {"messages": version})
        took += time.perf_counter() - began
print(took)
