"""Records the session of testdata/coding/kimi with Kimi Code 2.1.0 and a scripted model:

    python3 testdata/interop/kimi/record.py DIR PROGRAM NODE

DIR gets .kimi-code; PROGRAM is kimi and NODE the folder of a Node 22. It needs tmux. The project is /home/demo.

The session asks in each way: calls, one of them failing, files that are written and changed, a
sub-agent, an undo on the screen, a compaction. Its agent has five tools, as the file has each list of them whole.
"""
import os
import pathlib
import subprocess
import sys
import time

home, program, node = (os.path.abspath(each) for each in sys.argv[1:4])
work = "/home/demo"
os.makedirs(home, exist_ok=True)
os.makedirs(work, exist_ok=True)
pathlib.Path(work, "a.txt").write_text("a\n")
agent = pathlib.Path(home, "few.md")
agent.write_text("---\nname: few\ndescription: has few tools\ntools: [Bash, Read, Write, Edit, Agent]\n---\nYou are an agent with few tools.\n")
model = subprocess.Popen(
    [sys.executable, pathlib.Path(__file__).parent.parent / "agents" / "fakellm.py", os.path.join(home, "requests.jsonl")],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
env = {
    "HOME": home, "PATH": f"{node}:/usr/local/bin:/usr/bin:/bin", "TERM": "xterm-256color", "LANG": "C.UTF-8",
    "KIMI_MODEL_NAME": "scripted", "KIMI_MODEL_API_KEY": "scripted", "KIMI_MODEL_PROVIDER_TYPE": "openai",
    "KIMI_MODEL_BASE_URL": f"http://127.0.0.1:{model.stdout.readline().strip()}/v1", "KIMI_CODE_NO_AUTO_UPDATE": "1",
    "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1",
}


def ask(words, *options):
    subprocess.run([program, *options, "-p", words], cwd=work, env=env, stdin=subprocess.DEVNULL, check=True)


def tmux(*words):
    return subprocess.run(["tmux", "-L", "kimi-record", *words], env=env, cwd=work, check=True, capture_output=True, text=True).stdout


def wait(text):
    for _ in range(300):
        if text in tmux("capture-pane", "-p"):
            return time.sleep(1)
        time.sleep(0.1)
    raise SystemExit(tmux("capture-pane", "-p"))


def say(words):
    tmux("send-keys", "-l", words)
    wait(words)
    tmux("send-keys", "Enter")


ask("first question", "--agent-file", str(agent))
session = next(pathlib.Path(home, ".kimi-code", "sessions").glob("wd_*/session_*")).name
ask("run: ls -1\nrun: cat nosuchfile", "-r", session)
ask('call: Write {"path": "/home/demo/notes.txt", "content": "one\\ntwo\\n"}', "-r", session)
ask('call: Read {"path": "/home/demo/notes.txt"}\ncall: Edit {"path": "/home/demo/notes.txt", "old_string": "two", "new_string": "three"}', "-r", session)
tmux("new-session", "-d", "-x", "120", "-y", "40", f"{program} -r {session}")
wait("Trust this folder")
tmux("send-keys", "Enter")
wait("first question")
say("a question that is undone")
wait("reply to: a question that is undone")
say("/undo")
wait("Select messages to undo")
tmux("send-keys", "Enter")
time.sleep(2)
tmux("send-keys", "C-u")
say("another question")
wait("reply to: another question")
tmux("kill-server")
ask('call: Agent {"description": "sub task", "prompt": "run: ls -1", "subagent_type": "coder"}', "-r", session)
tmux("new-session", "-d", "-x", "120", "-y", "40", f"{program} -r {session}")
wait("another question")
say("/compact")
wait("Compaction complete")
tmux("kill-server")
ask("what was it about?", "-r", session)
model.stdin.close()
