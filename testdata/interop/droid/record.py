"""Writes the sessions of testdata/coding/droid:

    python3 record.py DIR DROID

DROID is the program of npm's @factory/cli-linux-x64 0.225.2, which testdata/interop/agents/install brings. It writes the
sessions of DIR itself, without an account, with the scripted model of testdata/interop/agents/fakellm.py:

    a command that fails, a file that is read, and an edit; then a fork of that session, with another question
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT, DROID = sys.argv[1], sys.argv[2]
HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    shutil.rmtree(ROOT, ignore_errors=True)
    with tempfile.TemporaryDirectory() as top:
        home, work = os.path.join(top, "home"), os.path.join(top, "shop")
        os.makedirs(os.path.join(home, ".factory"))
        os.makedirs(work)
        with open(os.path.join(work, "a.txt"), "w") as f:
            f.write("one\n")
        model = subprocess.Popen([sys.executable, os.path.join(HERE, "../agents/fakellm.py"), os.path.join(home, "llm.log")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with open(os.path.join(home, ".factory", "settings.json"), "w") as f:
            json.dump({"cloudSessionSync": False, "customModels": [{
                "model": "scripted", "displayName": "scripted", "baseUrl": f"http://127.0.0.1:{model.stdout.readline().strip()}/v1",
                "apiKey": "scripted", "provider": "generic-chat-completion-api", "maxOutputTokens": 4096}]}, f)

        def run(*words):
            env = {"HOME": home, "PATH": os.environ["PATH"], "TERM": "xterm", "LANG": "C.UTF-8"}
            subprocess.run([DROID, "exec", "-m", "custom:scripted", *words], cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, timeout=120)

        sessions = os.path.join(home, ".factory", "sessions")
        try:
            run("--skip-permissions-unsafe", "\n".join([
                "go", 'call: Execute {"command":"echo one; false","riskLevel":{"value":"low","reason":"it looks"}}', 'call: Read {"file_path":"%s/a.txt"}' % work,
                'call: Edit {"file_path":"%s/a.txt","old_str":"one","new_str":"two"}' % work, ""]))
            run("--fork", next(n for _, _, names in os.walk(sessions) for n in names if n.endswith(".jsonl"))[:-len(".jsonl")], "another question")
        finally:
            model.stdin.close()
            model.wait(10)
        for path, _, names in os.walk(sessions):
            for name in names:
                if name.endswith((".jsonl", ".settings.json")):
                    with open(os.path.join(path, name)) as f:
                        said = f.read()
                    to = os.path.join(ROOT, "-home-demo-shop", name)
                    os.makedirs(os.path.dirname(to), exist_ok=True)
                    with open(to, "w") as f:
                        f.write(said.replace(top, "/home/demo"))


if __name__ == "__main__":
    main()
