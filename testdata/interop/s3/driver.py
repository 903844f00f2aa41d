"""Strands' S3SessionManager on a server of moto's, both in this process.

A command is a line of JSON, and so is its answer:

    {"do": "write", "session": S, "turns": N}       an agent with a tool, N turns
    {"do": "start", "session": S}                   what an agent holds that starts
    {"do": "resume", "session": S, "text": T}       and what its model is sent
    {"do": "objects"}                               all objects: type and bytes
    {"do": "put_back", "objects": O}                the bucket is as it was
"""

import base64
import json
import os
import sys
import traceback
from importlib.metadata import version

from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
endpoint = "http://%s:%d" % server.get_host_and_port()
os.environ |= {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL_S3": endpoint}

import boto3  # noqa: E402
from botocore.config import Config  # noqa: E402
from strands import Agent, tool  # noqa: E402
from strands.models import Model  # noqa: E402
from strands.session.s3_session_manager import S3SessionManager  # noqa: E402

BUCKET, PREFIX = "agents", "some/where"
config = Config(s3={"addressing_style": "path"})
client = boto3.client("s3", config=config)
client.create_bucket(Bucket=BUCKET)


class Script(Model):
    """Calls the tool when it is asked about weather, and else says how many messages it was sent."""

    def __init__(self):
        self.seen = []

    def update_config(self, **config):
        pass

    def get_config(self):
        return {"model_id": "script"}

    async def structured_output(self, *args, **rest):
        raise AssertionError("nobody asked for this")
        yield

    async def stream(self, messages, *args, **rest):
        self.seen.append(json.loads(json.dumps(messages)))
        last = messages[-1]["content"][0] if messages else {}
        stop = "end_turn"
        yield {"messageStart": {"role": "assistant"}}
        if "weather" in last.get("text", ""):
            stop = "tool_use"
            yield {"contentBlockStart": {"start": {"toolUse": {"name": "weather", "toolUseId": f"t{len(messages)}"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"city": "Lyon"}'}}}}
        else:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": f"größer: {len(messages)} 👋"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": stop}}
        yield {"metadata": {"usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}, "metrics": {"latencyMs": 1}}}


@tool
def weather(city: str) -> str:
    """Says what the weather is.

    Args:
        city: where
    """
    return "rain in " + city


def agent(session):
    manager = S3SessionManager(session_id=session, bucket=BUCKET, prefix=PREFIX, boto_session=boto3.Session(), boto_client_config=config)
    model = Script()
    return Agent(model=model, tools=[weather], session_manager=manager, agent_id="a1", callback_handler=None), model


def write(session, turns):
    a, _ = agent(session)
    for n in range(turns):
        a(f"weather {n}" if n % 2 else f"hello größe {n}")
    return {}


def start(session):
    a, _ = agent(session)
    return {"loaded": a.messages}


def resume(session, text):
    a, model = agent(session)
    a(text)
    return {"seen": model.seen}


def keys():
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET):
        for o in page.get("Contents", []):
            yield o["Key"]


def objects():
    all = {}
    for key in keys():
        got = client.get_object(Bucket=BUCKET, Key=key)
        all[key] = {"type": got["ContentType"], "data": base64.b64encode(got["Body"].read()).decode()}
    return {"objects": all}


def put_back(objects):
    for key in list(keys()):
        client.delete_object(Bucket=BUCKET, Key=key)
    for key, o in objects.items():
        client.put_object(Bucket=BUCKET, Key=key, Body=base64.b64decode(o["data"]), ContentType=o["type"])
    return {}


def main():
    # Whatever a library prints must not stand between the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    commands = {"write": write, "start": start, "resume": resume, "objects": objects, "put_back": put_back}
    print(json.dumps({"sdk": "strands-agents " + version("strands-agents"), "endpoint": endpoint, "address": f"s3://{BUCKET}/{PREFIX}"}), file=answers, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = commands[command.pop("do")](**command)
        except Exception:
            answer = {"broken": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)
    server.stop()


if __name__ == "__main__":
    main()
