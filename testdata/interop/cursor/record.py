"""Writes the sessions of testdata/coding/cursor:

    python record.py DIR

Cursor cannot be run here, so nothing of it is recorded. The rows and files are written after the format as it is found
in S2thend/cursor-history (docs/cursor_history_message_data_structure_analysis_report.md, tests/compatibility, and
src/core/store-stack), in the fixtures of Dicklesworthstone/cross_agent_session_resumer (tests/fixtures/cursor), of
jazzyalex/agent-sessions (Fixtures/Cursor) and of git-ai-project/git-ai (cursor-session-simple.jsonl).

EDITED    of the editor: two messages that an edit took out of the conversation, with times, and the answer after it
UNTIMED   of the editor before September 2025: messages without times, one of them taken out
GONE      of the editor: messages whose session has no row any more
INLINE    of the editor before 0.45: the messages stand in the row of the session
TAB       a chat before 0.47, in a row of its workspace
AGENT     of cursor-agent: a database, and a transcript of the same; a message that the root no longer names
SCRIPT    of cursor-agent: a transcript, with a sub-agent's
"""
import hashlib
import json
import os
import sqlite3
import sys

ROOT = sys.argv[1]
EDITED = "5b0c1f0e-2a54-4c61-9a59-0f1d6f3a1a01"
UNTIMED = "5b0c1f0e-2a54-4c61-9a59-0f1d6f3a1a02"
GONE = "5b0c1f0e-2a54-4c61-9a59-0f1d6f3a1a03"
INLINE = "5b0c1f0e-2a54-4c61-9a59-0f1d6f3a1a04"
TAB = "5b0c1f0e-2a54-4c61-9a59-0f1d6f3a1a05"
AGENT = "5b0c1f0e-2a54-4c61-9a59-0f1d6f3a1a06"
SCRIPT = "5b0c1f0e-2a54-4c61-9a59-0f1d6f3a1a07"
PROJECT = "/home/demo/shop"


def place(*names):
    path = os.path.join(ROOT, *names)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        os.remove(path)
    return path


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def bubble(kind, at=None, **members):
    one = {"_v": 3, "type": kind, "isAgentic": True, "tokenCount": {"inputTokens": 0, "outputTokens": 0}, "codeBlocks": [], **members}
    if at is not None:
        one["createdAt"] = f"2026-11-20T09:{at // 60:02}:{at % 60:02}.000Z"
    return one


def tool(name, params, result, status="completed"):
    return {"tool": 1, "toolCallId": "call_" + name, "name": name, "params": compact(params), "rawArgs": compact(params), "result": compact(result), "status": status}


def save(db, session, name, names, bubbles, **members):
    if name is not None:
        db.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", ("composerData:" + session, compact({
            "_v": 10, "composerId": session, "name": name, "createdAt": 1795165200000, "lastUpdatedAt": 1795165500000,
            "fullConversationHeadersOnly": [{"bubbleId": n, "type": bubbles[n]["type"]} for n in names], "unifiedMode": "agent", **members})))
    for n, one in bubbles.items():
        db.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (f"bubbleId:{session}:{n}", compact({"bubbleId": n, **one})))


db = sqlite3.connect(place("globalStorage", "state.vscdb"))
db.execute("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
db.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
save(db, EDITED, "Round the totals", ["u1", "a1", "a2", "a3", "a4", "u3", "a6"], {
    "u1": bubble(1, 0, text="round the totals to cents", checkpointId="c1", context={"selections": [{"text": "total := price * n", "uri": {"fsPath": PROJECT + "/total.go"}}]}),
    "a1": bubble(2, 2, thinking={"text": "The totals are in total.go.", "signature": ""}),
    "a2": bubble(2, 3, text="", toolFormerData=tool("read_file_v2", {"targetFile": PROJECT + "/total.go"}, {"contents": "total := price * n\n"})),
    "a3": bubble(2, 5, text="", toolFormerData=tool("search_replace", {"file_path": PROJECT + "/total.go", "old_string": "price * n", "new_string": "round(price * n)"},
                                                    {"diff": {"chunks": [{"diffString": "- total := price * n\n+ total := round(price * n)", "oldStart": 1, "newStart": 1, "oldLines": 1, "newLines": 1}]}})),
    "a4": bubble(2, 8, text="The totals are rounded.", tokenCount={"inputTokens": 5120, "outputTokens": 64}, modelInfo={"modelName": "claude-4.5-sonnet"}),
    "u2": bubble(1, 60, text="offer a discount"),
    "a5": bubble(2, 63, text="Here is a discount of 10 %."),
    "u3": bubble(1, 120, text="propose a discount"),
    "a6": bubble(2, 124, text="Five percent from 100 on:\n```go\ndiscount(100, 5)\n```", codeBlocks=[{"content": "discount(100, 5)", "languageId": "go"}], tokenCount={"inputTokens": 6200, "outputTokens": 80}),
}, contextTokensUsed=6280, modelConfig={"modelName": "claude-4.5-sonnet"}, workspaceIdentifier={"id": "0a1b", "uri": {"fsPath": PROJECT}})
save(db, UNTIMED, "", ["u1", "a2"], {
    "u1": bubble(1, text="what does main do"),
    "a1": bubble(2, text="It starts", timingInfo={"clientRpcSendTime": 1756230687000}),
    "a2": bubble(2, text="It starts the shop.", timingInfo={"clientRpcSendTime": 1756230700000}),
})
db.execute("INSERT INTO cursorDiskKV VALUES (?, NULL)", (f"bubbleId:{UNTIMED}:a3",))
save(db, GONE, None, [], {"u1": bubble(1, 300, text="delete this chat"), "a1": bubble(2, 305, text="It is deleted.", toolFormerData=tool("run_terminal_cmd", {"command": "rm -r /tmp/x"}, {"output": "removed"}))})
save(db, INLINE, "An old one", [], {}, conversation=[
    {"type": 1, "bubbleId": "i1", "text": "name the variable"}, {"type": 2, "bubbleId": "i2", "text": "Call it `total`."}])
db.commit()
db.close()

for hash, folder in (("0a1b", PROJECT), ("2c3d", "/home/demo/old")):
    with open(place("workspaceStorage", hash, "workspace.json"), "w") as f:
        f.write(compact({"folder": "file://" + folder}))
db = sqlite3.connect(place("workspaceStorage", "2c3d", "state.vscdb"))
db.execute("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
db.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
db.execute("INSERT INTO ItemTable VALUES (?, ?)", ("workbench.panel.aichat.view.aichat.chatdata", compact({"tabs": [{
    "tabId": TAB, "chatTitle": "Explain the error", "lastSendTime": 1725000000000, "bubbles": [
        {"type": "user", "id": "t1", "text": "explain the error"}, {"type": "ai", "id": "t2", "rawText": "A nil map is written to.", "modelType": "gpt-4"}]}]})))
db.execute("INSERT INTO ItemTable VALUES (?, ?)", ("composer.composerData", compact({"allComposers": [{"composerId": UNTIMED, "name": "", "createdAt": 1756230680000}]})))
db.commit()
db.close()


def field(number, data):
    assert len(data) < 128 or number == 4
    size, n = b"", len(data)
    while n >= 128:
        size, n = size + bytes([n & 127 | 128]), n >> 7
    return bytes([number << 3 | 2]) + size + bytes([n]) + data


def blob(db, data):
    hash = hashlib.sha256(data)
    db.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (hash.hexdigest(), data))
    return hash.digest()


db = sqlite3.connect(place("chats", "9f86d081884c7d659a2feaa0c55ad015", AGENT, "store.db"))
db.execute("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB)")
db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
leaf = lambda value: blob(db, compact(value).encode())
system = leaf({"role": "system", "content": "You are a coding agent."})
first = leaf({"role": "user", "content": [{"type": "text", "text": "<user_query>\nlist the files\n</user_query>"}]})
lost = leaf({"role": "assistant", "content": [{"type": "text", "text": "I would rather not."}]})
blob(db, field(1, system) + field(1, first) + field(1, lost))
call = leaf({"role": "assistant", "content": [{"type": "reasoning", "text": "ls tells."}, {"type": "tool-call", "toolCallId": "tool_1", "toolName": "Shell", "args": {"command": "ls"}}]})
result = leaf({"role": "tool", "content": [{"type": "tool-result", "toolCallId": "tool_1", "toolName": "Shell", "result": "main.go\ntotal.go"}]})
answer = blob(db, field(4, compact({"role": "assistant", "content": [{"type": "text", "text": "There are main.go and total.go."}]}).encode()))
below = blob(db, field(1, call) + field(1, result))
root = blob(db, field(1, system) + field(1, first) + field(2, below) + field(1, answer))
db.execute("INSERT INTO meta VALUES ('0', ?)", (compact({"agentId": AGENT, "latestRootBlobId": root.hex(), "name": "List the files", "mode": "default", "createdAt": 1795165200000, "lastUsedModel": "claude-4.5-sonnet"}).encode().hex(),))
db.commit()
db.close()
with open(place("chats", "9f86d081884c7d659a2feaa0c55ad015", AGENT, "meta.json"), "w") as f:
    f.write(compact({"schemaVersion": 1, "createdAtMs": 1795165200000, "hasConversation": True, "updatedAtMs": 1795165300000, "cwd": PROJECT}))


def transcript(lines, *names):
    with open(place("projects", "home-demo-shop", "agent-transcripts", *names), "w") as f:
        f.writelines(compact(line) + "\n" for line in lines)


def says(role, *content):
    return {"role": role, "message": {"content": list(content)}}


def text(words):
    return {"type": "text", "text": words}


transcript([
    says("user", text("<user_query>\nlist the files\n</user_query>")),
    says("assistant", text("[REDACTED]"), {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}}),
    says("assistant", text("There are main.go and total.go.")),
], AGENT, AGENT + ".jsonl")
transcript([
    says("user", text("<user_query>\nwrite the notes\n</user_query>")),
    says("assistant", text("I write them.\n\n[REDACTED]"), {"type": "tool_use", "name": "Write", "input": {"path": PROJECT + "/plan.md", "contents": "one\ntwo\n"}}),
    says("assistant", {"type": "tool_use", "name": "StrReplace", "input": {"path": PROJECT + "/plan.md", "old_string": "two", "new_string": "three"}}),
    {"type": "error", "error": "Provider Error: upstream timeout"},
    {"type": "turn_ended", "status": "success"},
    says("user", text("<user_query>\ngo on\n</user_query>")),
    says("assistant", text("The notes are written.")),
], SCRIPT, SCRIPT + ".jsonl")
transcript([says("user", text("look for notes")), says("assistant", text("There are none."))], SCRIPT, "subagents", "5b0c1f0e-2a54-4c61-9a59-0f1d6f3a1a08.jsonl")
