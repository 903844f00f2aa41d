"""Resumes a thread of Deep Agents Code in a terminal, and ends it once the answer is in the store:

    python3 resume.py DCODE STORE THREAD WORDS

It resumes in a terminal alone, and what began in one. THREAD "new" begins one. WORDS are the prompt. STORE is the file with
the threads.
"""
import contextlib
import fcntl
import os
import pty
import select
import sqlite3
import struct
import sys
import termios
import time

PATIENCE = 120  # seconds

# The step that led to the newest checkpoint was the last of its run where it wrote, and to no node.
ENDED = """
SELECT count(w.channel) > 0 AND NOT count(iif(w.channel LIKE 'branch:%', 1, NULL)), EXISTS (SELECT 1 FROM writes WHERE instr(value, ?) > 0)
FROM (SELECT thread_id, parent_checkpoint_id FROM checkpoints WHERE checkpoint_ns = '' ORDER BY checkpoint_id DESC LIMIT 1) c
    LEFT JOIN writes w ON w.thread_id = c.thread_id AND w.checkpoint_ns = '' AND w.checkpoint_id = c.parent_checkpoint_id"""


def answered(store, words):
    """Reports whether the store has a prompt, and the run behind it has ended."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=10)) as db:
            return db.execute(ENDED, (words.encode(),)).fetchone() == (1, 1)
    except sqlite3.OperationalError:  # it is not there yet
        return False


def resume(program, store, thread, words):
    pid, tty = pty.fork()
    if pid == 0:
        os.execvp(program, [program, "-M", "anthropic:scripted", "--no-mcp", "--no-interpreter", "-m", words, *([] if thread == "new" else ["-r", thread])])
    fcntl.ioctl(tty, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    shown, ended, until = b"", False, time.monotonic() + PATIENCE
    try:
        while True:
            assert time.monotonic() < until, "the answer is not in the store: " + repr(shown[-2000:])
            if select.select([tty], [], [], 0.5)[0]:
                try:
                    data = os.read(tty, 1 << 16)
                except OSError:  # it has ended
                    data = b""
                shown += data
                if not data:
                    break
            elif not ended and answered(store, words):
                ended = True
                os.write(tty, b"\x04")
        assert ended, "it has ended before: " + repr(shown[-2000:])
    finally:
        if not ended:
            os.kill(pid, 9)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    resume(*sys.argv[1:])
