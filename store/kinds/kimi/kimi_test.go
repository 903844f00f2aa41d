package kimi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
	"hindcast/store/storetest/formattest"
)

const (
	fixtures = "../../../testdata/coding/kimi"
	asked    = "session_cc5476d0-0b10-4187-8cc1-26d8d0f4af91"
	child    = asked + "/agent-0"
)

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil).Kind, fixtures) }

func TestFork(t *testing.T) { storetest.Fork(t, Kind(nil).Kind, fixtures) }

func openStore(t testing.TB, dir string) storetest.Writer {
	t.Helper()
	return storetest.AsWriter(storetest.OpenStore(t, Kind(nil).Kind, dir))
}

// The trees of the recorded session and of its sub-agent: what an undo left, a compaction.
func TestFixtures(t *testing.T) {
	s := openStore(t, fixtures)
	for session, want := range map[string]string{
		asked: `
 0<-1 msg_01M8NQ08CCY1PPK1F3VQWEMDA5 user input (1): first question
 1<0 line-8 context (2): Today's date is 2026-11-30. The current 
 2<1 line-9 context (3): Auto permission mode is active. Tool app
 3<2 1ff8d531-c80c-4a7a-a3e2-48a2acc31121 turn end (4): reply to: first question
 4<3 msg_01M8NQ0KVG67JJY7CZAJX5FN7A user input (5): run: ls -1 run: cat nosuchfile
 5<4 line-27 context (6): Auto permission mode is active. Tool app
 6<5 99e35c1f-ea8e-422f-ae18-f720eb92dbc5 after model (7): $ ls -1 · $ cat nosuchfile
 7<6 line-35 tool iteration (8): $ cat nosuchfile  cat: nosuchfile: No su
 8<7 line-36 tool iteration (9): $ ls -1  a.txt
 9<8 a751fea8-16b0-4163-83d9-7e74304fe292 turn end (10): done: ls -1; cat nosuchfile
 10<9 msg_01M8NQ10BZ3PNYBBZ26CECMP6P user input (11): call: Write {"path": "/home/demo/notes.t
 11<10 line-55 context (12): Auto permission mode is active. Tool app
 12<11 a172fde7-51ac-409c-865f-c909d41c4364 after model (13): ✎ notes.txt
 13<12 line-63 tool iteration (14): ✎ notes.txt  +2
 14<13 0aa95a27-0f99-46dd-aeeb-8be85dd9f658 turn end (15): done: Write
 15<14 msg_01M8NQ1A9RE28ECQEZMSWT4CM0 user input (16): call: Read {"path": "/home/demo/notes.tx
 16<15 line-82 context (17): Auto permission mode is active. Tool app
 17<16 f76f169f-f5e1-4fa9-8e09-03013fe98e0a after model (18): ◱ notes.txt · ✎ notes.txt
 18<17 line-91 tool iteration (19): ◱ notes.txt  3 lines
 19<18 line-92 tool iteration (20): ✎ notes.txt  +1 −1
 20<19 5c1b54c5-a592-4602-b1a1-ae910f75a6d4 turn end (21): done: Read, Edit
-21<20 msg_01M8NQ1RFK69ZPDR47D8MF2Q0T user input (22): a question that is undone (rewind to 5c1b54c5-a592-4602-b1a1-ae910f75a6d4 at 07:52:31)
-22<21 line-112 context (23): Auto permission mode is active. Tool app (rewind to 5c1b54c5-a592-4602-b1a1-ae910f75a6d4 at 07:52:31)
-23<22 a4f744b5-d852-4803-9479-2a467341f21e turn end (24): reply to: a question that is undone (rewind to 5c1b54c5-a592-4602-b1a1-ae910f75a6d4 at 07:52:31)
 24<20 line-112~2 context (22): Auto permission mode is active. Tool app
 25<24 msg_01M8NQ1Z364K7Z6F1CJNW4ZXH7 user input (23): another question
 26<25 cce51268-d022-41df-8ac3-01b90e2f297b turn end (24): reply to: another question
 27<26 msg_01M8NQ270Z6T86XJ9JXX7WHDX7 user input (25): call: Agent {"description": "sub task", 
 28<27 line-147 context (26): Auto permission mode is active. Tool app
 29<28 d7042cef-7852-496e-8428-e8d3420cee80 after model (27): → coder "sub task" → agent-0
 30<29 line-157 tool iteration (28): → coder "sub task"  agent_id: agent-0
 31<30 5bee130c-4d28-4cee-a2a5-b0884dfe5583 turn end (29): done: Agent
 32<31 line-175 compaction (7): The conversation so far has been compact
 33<32 msg_01M8NQ2WR8CF8DR9Z1G1BMBGWC user input (8): what was it about?
 34<33 line-181 context (9): Today's date is 2026-11-30. The current 
 35<34 line-182 context (10): Auto permission mode is active. Tool app
*36<35 8b985f9d-bb70-46c6-a779-c9206c4fbf9f turn end (11): reply to: what was it about?
`,
		child: `
 0<-1 msg_01M8NQ27DJJTRKJR83WNCE10EA user input (1): run: ls -1
 1<0 line-8 context (2): Today's date is 2026-11-30. The current 
 2<1 line-9 context (3): Auto permission mode is active. Tool app
 3<2 0a22731f-5cce-4e52-ae57-520522033e4b after model (4): $ ls -1
 4<3 line-17 tool iteration (5): $ ls -1  2 lines
*5<4 edaedec4-a77f-4e6a-8907-47161cab15d1 turn end (6): done: ls -1
`,
	} {
		if got := "\n" + strings.ReplaceAll(storetest.Draw(t, s, session), "`", "'"); got != want {
			t.Errorf("session %s is%s\nwant%s", session, got, want)
		}
		if got := storetest.FaultCodes(t, s, session); got != "" {
			t.Errorf("session %s has the faults %q", session, got)
		}
	}
}

// head begins a session: a prompt, a reminder behind it, an answer.
var head = `{"type":"metadata","protocol_version":"1.5","created_at":1767225600000}
` + message("p1", "one", "user") + message("", "remember", "injection") + step("s1", "two")

// message returns the event of a message of a user.
func message(id, text, origin string) string {
	return fmt.Sprintf(`{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":%q}],"id":%q,"toolCalls":[],"origin":{"kind":%q}},"time":1767225601000}`, text, id, origin) + "\n"
}

// loop returns an event of a step.
func loop(kind, rest string) string {
	return fmt.Sprintf(`{"type":"context.append_loop_event","event":{"type":%q,%s},"time":1767225602000}`, kind, rest) + "\n"
}

// step returns the events of an answer.
func step(id, text string) string {
	return loop("step.begin", fmt.Sprintf(`"uuid":%q`, id)) + loop("content.part", fmt.Sprintf(`"uuid":"x","stepUuid":%q,"part":{"type":"text","text":%q}`, id, text)) +
		loop("step.end", fmt.Sprintf(`"uuid":%q`, id))
}

// write opens the store of one session.
func write(t testing.TB, text string) storetest.Writer {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "wd_w", "session_S")
	err := os.MkdirAll(filepath.Join(dir, agentsDir, mainAgent), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, agentsDir, mainAgent, wireFile), []byte(text), 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, stateFile), []byte(`{"id":"session_S","cwd":"/w","title":"A name","titleKind":"custom"}`), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return openStore(t, filepath.Dir(filepath.Dir(dir)))
}

func TestSessions(t *testing.T) {
	const plain = " 0<-1 p1 user input (1): one\n 1<0 line-3 context (2): remember\n"
	const left, undone = "-0<-1 p1 user input (1): one (rewind to  at 00:00:03)\n-1<0 line-3 context (2): remember (rewind to  at 00:00:03)\n-2<1 s1 turn end (3): two (rewind to  at 00:00:03)\n", `{"type":"context.undo","count":1,"time":1767225603000}` + "\n"
	call := loop("tool.call", `"uuid":"c","stepUuid":"s1","toolCallId":"t1","name":"Bash","args":{"command":"ls"}`)
	result := loop("tool.result", `"toolCallId":"t1","result":{"output":"a.txt"}`)
	asks := strings.Replace(head, loop("step.end", `"uuid":"s1"`), call, 1)
	for _, c := range []struct{ name, text, draws, faults string }{
		{"an undo of a version before branches", head + undone + message("p2", "three", "user"), left + "*3<-1 p2 user input (1): three\n", ""},
		{"an undo that has a branch", head + `{"type":"agent.switched","branch":"b1","base":{"branch":"main","line":1},"legacyUndoLine":8,"time":1767225603000}` + "\n" + undone + message("p2", "three", "user"),
			left + " 3<-1 line-3~2 context (1): remember\n*4<3 p2 user input (2): three\n", ""},
		{"an undo of more than there is", head + strings.Replace(undone, "1", "2", 1) + step("s2", "three"), plain + " 2<1 s1 turn end (3): two\n*3<2 s2 turn end (4): three\n", ""},
		{"a clear", head + `{"type":"context.clear","time":1767225603000}` + "\n" + message("p2", "three", "user"), plain + " 2<1 s1 turn end (3): two\n*3<2 p2 user input (1): three\n", ""},
		{"a compaction", head + `{"type":"context.apply_compaction","summary":"in short","keptUserMessageCount":1,"compactedCount":3,"time":1767225603000}` + "\n",
			plain + " 2<1 s1 turn end (3): two\n*3<2 line-7 compaction (2): in short\n", ""},
		{"an old compaction", head + `{"type":"context.apply_compaction","summary":"in short","compactedCount":2,"time":1767225603000}` + "\n",
			plain + " 2<1 s1 turn end (3): two\n*3<2 line-7 compaction (2): in short\n", ""},
		{"words while a tool runs", asks + message("p2", "wait", "user") + result, plain + " 2<1 s1 after model (3): two ($ ls)\n 3<2 line-8 tool iteration (4): $ ls  a.txt\n*4<3 p2 user input (5): wait\n", ""},
		{"a result without a call", head + result, plain + " 2<1 s1 turn end (3): two\n*3<2 line-7 tool iteration (4): tool  a.txt\n", "mended orphan-result"},
		{"a damaged line", head + "{\"type\":\n" + message("p2", "three", "user"), plain + "*2<1 s1 turn end (3): two\n-3<2 p2 user input (4): three (damaged to  at 00:00:00)\n", "loses damaged-line"},
		{"an event that is new", head + `{"type":"news","text":"hear","time":1767225603000}` + "\n", plain + "*2<1 s1 turn end (3): two\n", "note unknown-record, odd unread-text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := write(t, c.text)
			if got := storetest.Draw(t, s, "session_S"); got != c.draws {
				t.Errorf("it is\n%swant\n%s", got, c.draws)
			}
			if got := storetest.FaultCodes(t, s, "session_S"); got != c.faults {
				t.Errorf("the faults are %q, want %q", got, c.faults)
			}
		})
	}
}

// The title is the name that a person gave. In place of a name of Kimi Code's own it is the first prompt.
func TestTitles(t *testing.T) {
	for _, c := range []struct {
		s          storetest.Writer
		title, dir string
	}{{write(t, head), "A name", "/w"}, {openStore(t, fixtures), "first question", "/home/demo"}} {
		if info := storetest.Sessions(t, c.s)[0]; info.Title != c.title || info.Project != c.dir {
			t.Errorf("it is %q of %s, want %q of %s", info.Title, info.Project, c.title, c.dir)
		}
	}
}

// FuzzRead: no file makes the reader fail, and each message is JSON.
func FuzzRead(f *testing.F) {
	if n := formattest.AddFiles(f, filepath.Join(fixtures, "sessions", "*", "*", agentsDir, "*", wireFile)); n != 2 {
		f.Fatalf("%d files", n)
	}
	f.Add([]byte(head))
	dir := f.TempDir()
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, "s.jsonl"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		kind, in := &format{chat.Lines[record]{Decode: decodeLine, Members: []string{"type", "time"}}}, engine.In{Tree: disk}
		s, err := kind.Read(t.Context(), in, kind.Spot("s.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Entries {
			list, err := kind.Messages(in, s, &s.Entries[i])
			if err != nil || len(list) != 1 {
				t.Fatalf("%d messages, %v", len(list), err)
			}
			if one := list[0].AppendJSON(nil); !jsontape.Valid(one) {
				t.Errorf("%q is no JSON", one)
			}
		}
	})
}

// The file of the same name that kimi-cli writes beside its messages is another program's, also while it has no text.
func TestSigns_kimiCLI(t *testing.T) {
	const begin = `{"type": "metadata", "protocol_version": "1.10"}` + "\n"
	for text, why := range map[string]string{
		begin: "",
		begin + `{"timestamp": 1775104348.6, "message": {"type": "TurnBegin", "payload": {"user_input": "hello there"}}}` + "\n": "",
	} {
		file := filepath.Join(t.TempDir(), wireFile)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok, err := Kind(nil).Recognise(t.Context(), file); ok || got != why || err != nil {
			t.Errorf("%s: %q, %v, %v", text, got, ok, err)
		}
	}
}
