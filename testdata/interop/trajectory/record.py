"""Records the runs of testdata/trajectory, with mini-swe-agent 2.4.6 and harbor 0.26.0.

    python3.13 record.py CODING OUT

CODING is testdata/coding. mini-swe-agent runs commands in a folder of its own, with answers that litellm makes of
a script. Harbor's own converters make ATIF of that run and of sessions of Claude Code with a sub-agent. The run of SWE-agent,
which is on no index, is put together as sweagent/types.py of its 1.1 describes it.
"""

import json
import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["MSWEA_COST_TRACKING"] = "ignore_errors"

import litellm
from harbor.agents.installed.claude_code import ClaudeCode
from harbor.agents.installed.mini_swe_agent import convert_mini_swe_agent_to_atif
from harbor.models.trajectories import (
    Agent, ContentPart, Metrics, Observation, ObservationResult, Step, SubagentTrajectoryRef, ToolCall, Trajectory,
)
from harbor.utils.trajectory_validator import TrajectoryValidator
from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.litellm_model import LitellmModel

coding, out = Path(sys.argv[1]), Path(sys.argv[2])

SCRIPT = [
    ("I look at the files first.", ["ls"]),
    ("", ["cat add.py", "cat missing.py"]),
    ("no command this time", []),
    ("It subtracts: I mend it.", ["sed -i 's/a - b/a + b/' add.py"]),
    ("It is done.", ["echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat add.py"]),
]


class Scripted(LitellmModel):
    def _query(self, messages, **kwargs):
        words, commands = SCRIPT[sum(m["role"] == "assistant" or "extra" in m and "response" in m["extra"] for m in self.all)]
        calls = [
            {"id": f"call_{len(self.all)}_{i}", "type": "function", "function": {"name": "bash", "arguments": json.dumps({"command": c})}}
            for i, c in enumerate(commands)
        ]
        return litellm.completion(model=self.config.model_name, messages=messages, mock_response=words, mock_tool_calls=calls or None)

    def query(self, messages, **kwargs):
        self.all = messages
        return super().query(messages, **kwargs)


def run_mini():
    with tempfile.TemporaryDirectory() as work:
        Path(work, "add.py").write_text("def add(a, b):\n    return a - b\n")
        agent = DefaultAgent(
            Scripted(model_name="gpt-4o-mini"), LocalEnvironment(cwd=work), output_path=out / "agents" / "add" / "add.traj.json",
            system_template="You are a helpful assistant.", instance_template="Please solve this issue: {{task}}",
        )
        agent.run("add() subtracts")
    text = agent.config.output_path.read_text()
    agent.config.output_path.write_text(text.replace(work, "/home/demo/work").replace(str(out), "/home/demo/out"))
    return json.loads(agent.config.output_path.read_text())


def convert_claude(session):
    with tempfile.TemporaryDirectory() as logs:
        project = Path(logs, "sessions", "projects", "-home-demo")
        project.mkdir(parents=True)
        shutil.copy(coding / "claude-code/projects/-home-demo" / f"{session}.jsonl", project)
        if (coding / "claude-code/projects/-home-demo" / session).is_dir():
            shutil.copytree(coding / "claude-code/projects/-home-demo" / session, project / session)
        return ClaudeCode(logs_dir=Path(logs)).convert_trajectory(Path(logs))


def write(trial, trajectory):
    file = out / "atif" / trial / "agent" / "trajectory.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(trajectory.to_json_dict(), indent=2, ensure_ascii=False))
    validator = TrajectoryValidator()
    if not validator.validate(file):
        raise SystemExit(f"{file}: {validator.errors}")


def make_crew():
    """A run whose two calls start two sub-agents, one of which starts a third, by Harbor's own models."""

    def run(id, words, *calls, children=()):
        steps = [Step(step_id=1, timestamp="2026-11-20T10:00:00Z", source="user", message=words)]
        for call, task, child in calls:
            steps.append(Step(
                step_id=len(steps) + 1, timestamp=f"2026-11-20T10:00:{len(steps):02}Z", source="agent", message="", reasoning_content=f"{child} knows.",
                tool_calls=[ToolCall(tool_call_id=call, function_name="task", arguments={"prompt": task})],
                observation=Observation(results=[ObservationResult(
                    source_call_id=call, content=f"{child} says: done", subagent_trajectory_ref=[SubagentTrajectoryRef(trajectory_id=child)],
                )]),
                metrics=Metrics(prompt_tokens=100, completion_tokens=10, cached_tokens=60, cost_usd=0.002),
            ))
        steps.append(Step(step_id=len(steps) + 1, timestamp="2026-11-20T10:01:00Z", source="agent", message=[ContentPart(type="text", text="All is done.")]))
        return Trajectory(
            session_id="crew", trajectory_id=id, agent=Agent(name=id, version="1", model_name="gpt-5.1"), steps=steps,
            notes=f"a note on {id}", subagent_trajectories=list(children) or None,
        )

    third = run("third", "count the lines")
    first = run("first", "look at the code", ("call_b", "count the lines", "third"), children=[third])
    second = run("second", "look at the tests")
    return run("lead", "review this", ("call_a", "look at the code", "first"), ("call_c", "look at the tests", "second"), children=[first, second])


def make_swe():
    call = {"id": "call_1", "type": "function", "function": {"name": "str_replace_editor", "arguments": json.dumps({"command": "view", "path": "/repo"})}}
    said = {"agent": "main"}
    return {
        "trajectory": [
            {"action": "str_replace_editor view /repo", "observation": "add.py", "response": "I look.", "thought": "I look.", "state": {"working_dir": "/repo"},
             "execution_time": 0.4, "query": [{"role": "system", "content": "SETTING: be brief"}], "extra_info": {}},
            {"action": "submit", "observation": "", "response": "It is done.", "thought": "It is done.", "state": {"working_dir": "/repo", "diff": "none"},
             "execution_time": 0.1, "query": [], "extra_info": {"note": "the last step"}},
        ],
        "history": [
            {"role": "system", "content": "SETTING: be brief", "message_type": "system_prompt", **said},
            {"role": "user", "content": "an example: view a file", "message_type": "demonstration", "is_demo": True, **said},
            {"role": "user", "content": "Solve this: add() subtracts", "message_type": "observation", **said},
            {"role": "assistant", "content": "I look.", "thought": "I look.", "action": "str_replace_editor view /repo", "message_type": "action", "tool_calls": [call],
             "thinking_blocks": [{"type": "thinking", "thinking": "Where is it?"}], **said},
            {"role": "tool", "content": [{"type": "text", "text": "OBSERVATION:\nadd.py"}], "message_type": "observation", "tool_call_ids": ["call_1"], **said},
            {"role": "assistant", "content": "It is done.", "thought": "It is done.", "action": "submit", "message_type": "action", "tool_calls": [], **said},
        ],
        "info": {"exit_status": "submitted", "submission": "diff --git a/add.py b/add.py", "model_stats": {"instance_cost": 0.01, "tokens_sent": 900, "tokens_received": 30, "api_calls": 2}},
        "replay_config": json.dumps({"env": {"repo": "add"}}),
        "environment": "swe_main",
    }


logging.disable(logging.CRITICAL)
write("add__1", convert_mini_swe_agent_to_atif(run_mini(), "add__1"))
for name, session in (("task__1", "9274231d-d69b-43e0-a377-784eb1749711"), ("edits__1", "e3e8e48f-7fa6-465a-9f40-10a54f2d345e")):
    write(name, convert_claude(session))
write("crew__1", make_crew())
swe = out / "agents" / "fix__1" / "fix__1.traj"
swe.parent.mkdir(parents=True)
swe.write_text(json.dumps(make_swe(), indent=2))


def truth(run, document, into):
    """Counts the messages of a run and of those in it: a step that has results is two."""
    ids = [str(i + 1) + end for i, step in enumerate(document.get("steps") or document.get("history") or document["messages"])
           for end in ([""] + ["~2"] * bool((step.get("observation") or {}).get("results")))]
    into[run] = {"snapshots": len(ids), "head": ids[-1]}
    for child in document.get("subagent_trajectories") or []:
        truth(run.split("/")[0] + "/" + child["trajectory_id"], child, into)


counts = {"atif": {}, "agents": {}}
for file in sorted(out.glob("atif/*/agent/*.json")) + sorted(out.glob("agents/*/*")):
    folder = file.relative_to(out).parts
    truth(folder[1], json.loads(file.read_text()), counts[folder[0]])
(out / "truth.json").write_text(json.dumps(counts, indent=1) + "\n")
