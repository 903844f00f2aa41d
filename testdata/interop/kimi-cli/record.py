"""Writes the sessions of testdata/coding/kimi-cli:

    python3 record.py DIR KIMI

KIMI is the program of PyPI's kimi-cli 1.51.0, the last version that runs, which testdata/interop/agents/install brings. It
writes the sessions of DIR itself, with the scripted model of testdata/interop/agents/fakellm.py:

tour    two questions, a compaction, and another question
tools   a command that fails, a file that is read, an edit, and a sub-agent
anew    a question, a clear, and another question
"""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

ROOT, KIMI = sys.argv[1], sys.argv[2]
HERE = os.path.dirname(os.path.abspath(__file__))
SETTINGS = """default_model = "scripted"
[providers.scripted]
type = "openai_legacy"
base_url = "http://127.0.0.1:%s/v1"
api_key = "scripted"
[models.scripted]
provider = "scripted"
model = "scripted"
max_context_size = 100000
"""


def main():
    shutil.rmtree(ROOT, ignore_errors=True)
    with tempfile.TemporaryDirectory() as top:
        home, work = os.path.join(top, "home"), os.path.join(top, "shop")
        os.makedirs(os.path.join(home, ".kimi"))
        os.makedirs(work)
        with open(os.path.join(work, "a.txt"), "w") as f:
            f.write("one\n")
        model = subprocess.Popen([sys.executable, os.path.join(HERE, "../agents/fakellm.py"), os.path.join(home, "llm.log")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with open(os.path.join(home, ".kimi", "config.toml"), "w") as f:
            f.write(SETTINGS % model.stdout.readline().strip())
        env = {"HOME": home, "PATH": os.environ["PATH"], "TERM": "xterm", "LANG": "C.UTF-8", "KIMI_CLI_NO_AUTO_UPDATE": "1", "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}

        def run(session, *prompts):
            for prompt in prompts:
                subprocess.run([KIMI, "--print", "--yolo", "--session", session, "-p", prompt], cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, timeout=120)

        try:
            run("0b6c7f9e-5d0a-4b69-9f0c-0f2ed0f7b901", "first question", "what next", "/compact", "another question")
            run("0b6c7f9e-5d0a-4b69-9f0c-0f2ed0f7b902", "\n".join([
                "go", 'call: Shell {"command":"echo one; false"}', 'call: ReadFile {"path":"a.txt"}',
                'call: StrReplaceFile {"path":"a.txt","edit":{"old":"one","new":"two"}}', 'call: Agent {"description":"look","prompt":"look into it"}', ""]))
            run("0b6c7f9e-5d0a-4b69-9f0c-0f2ed0f7b903", "one way", "/clear", "another way")
        finally:
            model.stdin.close()
            model.wait(10)
        venv = os.path.dirname(os.path.dirname(os.path.abspath(KIMI)))
        sessions, folder = os.path.join(home, ".kimi", "sessions"), hashlib.md5(b"/home/demo/shop").hexdigest()
        [project] = os.listdir(sessions)
        for path, _, names in os.walk(os.path.join(sessions, project)):
            for name in names:
                with open(os.path.join(path, name)) as f:
                    said = f.read()
                to = os.path.join(ROOT, folder, os.path.relpath(os.path.join(path, name), os.path.join(sessions, project)))
                os.makedirs(os.path.dirname(to), exist_ok=True)
                with open(to, "w") as f:
                    f.write(said.replace(home, "/home/demo").replace(top, "/home/demo").replace(venv, "/home/demo/.local"))


if __name__ == "__main__":
    main()
