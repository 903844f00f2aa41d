"""Writes the sessions of testdata/coding/cline:

    python3 record.py DIR CLINE

CLINE is the program of npm's cline 3.0.65, which testdata/interop/agents/install brings. It writes the sessions of
DIR itself, with the scripted model of testdata/interop/agents/fakellm.py:

tour    a question; then the session is resumed by --id, as a terminal does it, and asked another
tools   commands, of which one fails, a file that is read, and an edit
agents  a sub-agent

The extension for VS Code cannot be run here. DIR/tasks is written after its source (cline/cline, src/core/storage and
src/core/controller/task), in the versions that keep api_conversation_history.json:

1763700000000  a task that taskHistory.json lists
1763700100000  a task that it does not list, whose file ends in its middle
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from resume import resume

ROOT, CLINE = sys.argv[1], sys.argv[2]
HERE = os.path.dirname(os.path.abspath(__file__))


class Cline:
    """Cline with a home and a model of its own."""

    def __init__(self, home, work, sessions):
        self.work = work
        self.model = subprocess.Popen([sys.executable, os.path.join(HERE, "../agents/fakellm.py"), os.path.join(home, "llm.log")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        port = self.model.stdout.readline().strip()
        self.env = {"HOME": home, "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8", "SHELL": "/bin/sh", "CLINE_SESSION_DATA_DIR": sessions, "CLINE_NO_AUTO_UPDATE": "1"}
        self.run("auth", "--provider", "openai", "--apikey", "scripted", "--modelid", "scripted", "--baseurl", f"http://127.0.0.1:{port}/v1")

    def run(self, *words):
        subprocess.run([CLINE, *words], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=120)

    def close(self):
        """Ends the model, and the hub that Cline left running."""
        self.model.stdin.close()
        self.model.wait(10)
        lock = os.path.join(self.env["HOME"], ".cline/data/locks/hub/production.json.lock/owner.json")
        try:
            with open(lock) as f:
                os.kill(json.load(f)["pid"], 15)
        except (OSError, KeyError, ValueError):
            pass


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def write(name, text):
    path = os.path.join(ROOT, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


def text(words):
    return {"type": "text", "text": words}


def tasks():
    listed, lost = "1763700000000", "1763700100000"
    write(f"tasks/{listed}/api_conversation_history.json", compact([
        {"role": "user", "content": [text("<task>\nAdd a health check\n</task>"), text("<environment_details>\n# Current Mode\nACT MODE\n</environment_details>")]},
        {"role": "assistant", "content": [text("I read the server first."), {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "server.go"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [text("[read_file for 'server.go'] Result:\npackage main")]}, text("<environment_details>\n# Current Mode\nACT MODE\n</environment_details>")]},
        {"role": "assistant", "content": [text("<attempt_completion>\n<result>\nGET /health answers now.\n</result>\n</attempt_completion>")]},
    ]))
    write(f"tasks/{listed}/ui_messages.json", compact([
        {"ts": 1763700000100, "type": "say", "say": "text", "text": "Add a health check", "conversationHistoryIndex": -1},
        {"ts": 1763700000200, "type": "say", "say": "api_req_started", "text": compact({"request": "…", "tokensIn": 4100, "tokensOut": 60, "cacheWrites": 0, "cacheReads": 0, "cost": 0.0132}), "conversationHistoryIndex": 0},
        {"ts": 1763700004200, "type": "say", "say": "text", "text": "I read the server first.", "conversationHistoryIndex": 1},
        {"ts": 1763700005000, "type": "say", "say": "api_req_started", "text": compact({"request": "…", "tokensIn": 4300, "tokensOut": 40, "cost": 0.0135}), "conversationHistoryIndex": 2},
        {"ts": 1763700009000, "type": "say", "say": "completion_result", "text": "GET /health answers now.", "conversationHistoryIndex": 3},
    ]))
    write(f"tasks/{listed}/task_metadata.json", compact({"files_in_context": [], "model_usage": [{"ts": 1763700000200, "model_id": "claude-sonnet-4-6", "model_provider_id": "anthropic", "mode": "act"}]}))
    torn = compact([
        {"role": "user", "content": [text("<task>\nRename the module\n</task>")]},
        {"role": "assistant", "content": [text("I rename it in go.mod.")]},
        {"role": "user", "content": [text("[ERROR] You did not use a tool in your previous response!")]},
    ])
    write(f"tasks/{lost}/api_conversation_history.json", torn[:-30])
    write("state/taskHistory.json", compact([{"id": listed, "ts": 1763700009000, "task": "Add a health check", "tokensIn": 8400, "tokensOut": 100, "totalCost": 0.0267, "size": 2000, "cwdOnTaskInitialization": "/home/demo/shop", "modelId": "claude-sonnet-4-6"}]))


def main():
    shutil.rmtree(ROOT, ignore_errors=True)
    with tempfile.TemporaryDirectory() as top:
        home, work, sessions = (os.path.join(top, name) for name in ("home", "shop", "home/.cline/data/sessions"))
        os.makedirs(sessions)
        os.makedirs(work)
        with open(os.path.join(work, "a.txt"), "w") as f:
            f.write("one\n")
        cline = Cline(home, work, sessions)
        try:
            cline.run("--json", "first question")
            resume(CLINE, sessions, os.listdir(sessions)[0], "what next", work, cline.env)
            cline.run("--json", "\n".join([
                "go", 'call: run_commands {"commands":["echo one","false"]}', 'call: read_files {"files":[{"path":"%s/a.txt"}]}' % work,
                'call: editor {"path":"%s/a.txt","old_text":"one","new_text":"two"}' % work, ""]))
            cline.run("--json", "\n".join(["go", 'call: spawn_agent {"systemPrompt":"You look.","task":"look into it"}', ""]))
        finally:
            cline.close()
        for path, _, names in os.walk(sessions):
            for name in names:
                if name.endswith(".json"):
                    with open(os.path.join(path, name)) as f:
                        said = f.read()
                    write(os.path.relpath(os.path.join(path, name), sessions), said.replace(home, "/home/demo").replace(top, "/home/demo"))
    tasks()


if __name__ == "__main__":
    main()
