"""Records the sessions of testdata/coding/qwen with Qwen Code 0.24.4 and a scripted model:

    python3 testdata/interop/qwen/record.py DIR PROGRAM NODE

DIR gets .qwen; PROGRAM is qwen and NODE the folder of a Node 22. It needs tmux. The project is /home/demo.

The first session asks in each way: calls, one of them failing, files that are written and changed, a
rewind on the screen, a sub-agent, a compression. The second one is Qwen Code's own fork of the first, the
third was rewound behind a compression and asked again.
"""
import json
import os
import pathlib
import subprocess
import sys
import time

home, program, node = (os.path.abspath(each) for each in sys.argv[1:4])
work = "/home/demo"
settings = {
    "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}, "general": {"disableAutoUpdate": True},
    "security": {"auth": {"selectedType": "openai"}},
}
pathlib.Path(home, ".qwen").mkdir(parents=True)
pathlib.Path(home, ".qwen", "settings.json").write_text(json.dumps(settings))
os.makedirs(work, exist_ok=True)
pathlib.Path(work, "a.txt").write_text("a\n")
model = subprocess.Popen(
    [sys.executable, pathlib.Path(__file__).parent.parent / "agents" / "fakellm.py", os.path.join(home, "requests.jsonl")],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
env = {
    "HOME": home, "PATH": f"{node}:/usr/local/bin:/usr/bin:/bin", "TERM": "xterm-256color", "LANG": "C.UTF-8",
    "OPENAI_API_KEY": "scripted", "OPENAI_BASE_URL": f"http://127.0.0.1:{model.stdout.readline().strip()}/v1", "OPENAI_MODEL": "scripted",
}


def ask(words, *options):
    subprocess.run([program, "-y", *options, "-p", words], cwd=work, env=env, stdin=subprocess.DEVNULL, check=True)


def tmux(*words):
    return subprocess.run(["tmux", "-L", "qwen-record", *words], env=env, cwd=work, check=True, capture_output=True, text=True).stdout


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


def sessions():
    return sorted(pathlib.Path(home, ".qwen", "projects").glob("*/chats/*.jsonl"), key=lambda file: file.stat().st_mtime)


ask("first question")
first = sessions()[-1].stem
ask("run: ls -1\nrun: cat nosuchfile", "-r", first)
ask('call: write_file {"file_path": "/home/demo/notes.txt", "content": "one\\ntwo\\n"}', "-r", first)
ask('call: read_file {"file_path": "/home/demo/notes.txt"}\ncall: edit {"file_path": "/home/demo/notes.txt", "old_string": "two", "new_string": "three"}', "-r", first)
tmux("new-session", "-d", "-x", "120", "-y", "40", f"{program} -y -r {first}")
wait("Type your message")
say("a question that is rewound")
wait("reply to: a question that is rewound")
while "Rewind Conversation" not in tmux("capture-pane", "-p"):  # the keys do nothing while it is busy
    tmux("send-keys", "Escape")
    time.sleep(0.15)
    tmux("send-keys", "Escape")
    time.sleep(2)
tmux("send-keys", "Enter")
wait("Restore conversation only")
tmux("send-keys", "Enter")
time.sleep(2)
tmux("send-keys", "C-u")
say("another question")
wait("reply to: another question")
say("/about")
wait("Session ID")
tmux("kill-server")
ask("second question", "-r", first, "--fork-session")
ask('call: agent {"description": "sub task", "prompt": "run: ls -1", "subagent_type": "general-purpose", "run_in_background": false}', "-r", first)
ask("/compress", "-r", first)
ask("what was it about?", "-r", first)
model.stdin.close()
