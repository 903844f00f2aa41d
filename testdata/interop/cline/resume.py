"""Resumes a session of Cline in a terminal, and ends Cline once the answer is in the session:

    python3 resume.py CLINE SESSIONS ID WORDS

Cline resumes in a terminal alone. SESSIONS is the folder of all sessions, and WORDS are the prompt.
"""
import os
import pty
import re
import select
import sys
import time

PATIENCE = 60  # seconds


def read(tty, seconds):
    """Returns what the terminal shows within a time, without its escapes."""
    text, until = "", time.monotonic() + seconds
    while time.monotonic() < until:
        if select.select([tty], [], [], 0.2)[0]:
            text += os.read(tty, 1 << 16).decode("utf-8", "replace")
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


def answered(sessions, session, words):
    with open(os.path.join(sessions, session, session + ".messages.json")) as f:
        return "reply to: " + words in f.read()


def resume(program, sessions, session, words, cwd=None, env=None):
    pid, tty = pty.fork()
    if pid == 0:
        os.chdir(cwd or ".")
        os.execve(program, [program, "--id", session], env or dict(os.environ))
    try:
        until = time.monotonic() + PATIENCE
        seen = ""
        while "Ask anything" not in seen:
            assert time.monotonic() < until, "Cline asks for nothing: " + seen[-400:]
            seen += read(tty, 0.5)
        os.write(tty, words.encode())
        while not answered(sessions, session, words):
            assert time.monotonic() < until, "the answer is not in the session"
            read(tty, 1)
            os.write(tty, b"\r")  # one before the prompt is ready is lost
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    resume(*sys.argv[1:])
