"""Writes testdata/langgraph/deepagents.db:

    python3 record.py FILE DCODE

DCODE is the program of PyPI's deepagents-code 0.1.88, which testdata/interop/agents/install brings. It writes the
threads itself, with the scripted model of testdata/interop/agents/fakellm.py. Its states name the home and the
program: run it with an empty folder /home/demo, and a program below that.

    a question
    a command, a file that is read, an edit, and a sub-agent
"""
import contextlib
import os
import sqlite3
import subprocess
import sys

FILE, DCODE = sys.argv[1], sys.argv[2]
HERE = os.path.dirname(os.path.abspath(__file__))
HOME = "/home/demo"
WORK = os.path.join(HOME, "shop")
STORE = os.path.join(HOME, ".deepagents/.state/sessions.db")


def environment(port):
    """Returns what it runs with: a model of its own, and nothing from elsewhere."""
    return {
        "HOME": HOME, "PATH": "/usr/bin:/bin", "TERM": "xterm-256color", "LANG": "C.UTF-8", "SHELL": "/bin/sh",
        "ANTHROPIC_API_KEY": "scripted", "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1",
        "DEEPAGENTS_CODE_OFFLINE": "1", "DEEPAGENTS_CODE_AUTO_UPDATE": "0", "DEEPAGENTS_CODE_ONBOARDING": "0",
    }


def main():
    os.makedirs(WORK)
    with open(os.path.join(WORK, "a.txt"), "w") as f:
        f.write("one\n")
    model = subprocess.Popen([sys.executable, os.path.join(HERE, "../agents/fakellm.py"), os.path.join(HOME, "llm.log")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    env = environment(model.stdout.readline().strip())

    def run(prompt):
        subprocess.run([DCODE, "-M", "anthropic:scripted", "--no-mcp", "--no-interpreter", "-S", "all", "-q", "-n", prompt], cwd=WORK, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=120)

    try:
        run("first question")
        run("\n".join([
            "go", 'call: execute {"command":"echo one; false"}', f'call: read_file {{"file_path":"{WORK}/a.txt"}}',
            f'call: edit_file {{"file_path":"{WORK}/a.txt","old_string":"one","new_string":"two"}}',
            'call: task {"description":"look into it","subagent_type":"general-purpose"}', ""]))
    finally:
        model.stdin.close()
        model.wait(10)
    with contextlib.closing(sqlite3.connect(STORE)) as db:
        db.execute("VACUUM INTO ?", (FILE,))


if __name__ == "__main__":
    main()
