package qwen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
	"hindcast/store/storetest/formattest"
)

const (
	fixtures = "../../../testdata/coding/qwen"
	asked    = "68129b7d-3f39-4f68-b64a-1484396e32f2"
	forked   = "62035093-1666-40c6-8a95-39c130eaa8fc"
	child    = asked + "/agent-general-purpose-call_0018_0"
)

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil).Kind, fixtures) }

func TestFork(t *testing.T) { storetest.Fork(t, Kind(nil).Kind, fixtures) }

func openStore(t testing.TB, dir string) storetest.Writer {
	t.Helper()
	return storetest.AsWriter(storetest.OpenStore(t, Kind(nil).Kind, dir))
}

// The trees of the recorded sessions: what a rewind left, a command that the model is not sent, a compression.
func TestFixtures(t *testing.T) {
	s := openStore(t, fixtures)
	for session, want := range map[string]string{
		asked: `
 0<-1 a6cdb585-cd16-4557-9620-16bc4e28fc9b user input (1): first question
 1<0 c8266b97-8a57-483a-b7b5-584b397cd066 turn end (2): reply to: first question
 2<1 74c9102f-5008-42e9-8825-4ffa6c1c1395 user input (3): run: ls -1 run: cat nosuchfile
 3<2 030bdb20-568a-4ff0-a587-6be4681f302f after model (4): $ ls -1 · $ cat nosuchfile
 4<3 ed1e2d93-ad95-4222-8f79-6a03ab167372 tool iteration (5): $ ls -1  a.txt
 5<4 7c296369-3850-4743-ab94-7bf03546170f tool iteration (6): $ cat nosuchfile  (empty)
 6<5 a1698982-1d4f-481c-9e06-61ff0db14349 turn end (7): done: ls -1; cat nosuchfile
 7<6 da25582a-892c-49f8-a996-5ce2265fb2bf user input (8): call: write_file {"file_path": "/home/de
 8<7 98054480-58ad-4b2f-b8c4-9b06f0805d35 after model (9): ✎ notes.txt
 9<8 9f5fc5c8-a5ae-444b-b94d-d4aaa187d1bf tool iteration (10): ✎ notes.txt  +2
 10<9 52526185-491e-45ae-922f-4993875924b8 turn end (11): done: write_file
 11<10 23d3bb02-a5dc-462c-b447-0bb06f21ffdc user input (12): call: read_file {"file_path": "/home/dem
 12<11 25184caf-7833-4133-a981-bde2a4524eb1 after model (13): ◱ notes.txt · ✎ notes.txt
 13<12 1691896b-ef10-41c7-9667-56c3f25b938d tool iteration (14): ◱ notes.txt  2 lines
 14<13 172f4376-fa9d-4e47-8858-2c7f672cfa19 tool iteration (15): ✎ notes.txt  +1 −1
 15<14 fb909488-a784-4f06-840e-0f92aba8b157 turn end (16): done: read_file, edit
-16<15 9847c65b-9276-4a20-878e-a53644f671c5 user input (17): a question that is rewound (rewind to fb909488-a784-4f06-840e-0f92aba8b157 at 03:53:39)
-17<16 7ebe5b0a-053b-412f-a98c-65a603414bf7 turn end (18): reply to: a question that is rewound (rewind to fb909488-a784-4f06-840e-0f92aba8b157 at 03:53:39)
 18<15 4f5d26ec-89a7-4578-bf07-ddaf36cf2054 user input (17): another question
 19<18 dad173fb-f497-46c0-ab12-cc3a61dbffd8 turn end (18): reply to: another question
 20<19 d41ce764-1db0-410f-9d3f-7e27ce479ca6 command (19): /about
 21<20 bbdbeeef-d586-4a6f-9335-f92030543413 user input (19): call: agent {"description": "sub task", 
 22<21 554b207c-593b-4ab3-af12-aef6c56fb292 after model (20): → general-purpose "sub task" → agent-gen
 23<22 6ab8c42e-4f51-4df0-907a-e7205ef6834a tool iteration (21): → general-purpose "sub task"  done: ls -
 24<23 61c348cf-aa00-42e5-8af6-26de9794c1b5 turn end (22): done: agent
 25<24 2250f6eb-4868-4eef-aa59-26d276c16c26 compaction (3): reply to: ur Resume the prior task using
 26<25 d85dd254-12b9-4bb8-af52-f2513ded04b9 user input (4): what was it about?
*27<26 341bb4d1-a1c8-46e7-b0ce-40e71fd634b5 turn end (5): reply to: /home/demo/notes.txt ''' one t
`,
		forked: `
 0<-1 a6cdb585-cd16-4557-9620-16bc4e28fc9b user input (1): first question
 1<0 c8266b97-8a57-483a-b7b5-584b397cd066 turn end (2): reply to: first question
 2<1 74c9102f-5008-42e9-8825-4ffa6c1c1395 user input (3): run: ls -1 run: cat nosuchfile
 3<2 030bdb20-568a-4ff0-a587-6be4681f302f after model (4): $ ls -1 · $ cat nosuchfile
 4<3 ed1e2d93-ad95-4222-8f79-6a03ab167372 tool iteration (5): $ ls -1  a.txt
 5<4 7c296369-3850-4743-ab94-7bf03546170f tool iteration (6): $ cat nosuchfile  (empty)
 6<5 a1698982-1d4f-481c-9e06-61ff0db14349 turn end (7): done: ls -1; cat nosuchfile
 7<6 da25582a-892c-49f8-a996-5ce2265fb2bf user input (8): call: write_file {"file_path": "/home/de
 8<7 98054480-58ad-4b2f-b8c4-9b06f0805d35 after model (9): ✎ notes.txt
 9<8 9f5fc5c8-a5ae-444b-b94d-d4aaa187d1bf tool iteration (10): ✎ notes.txt  +2
 10<9 52526185-491e-45ae-922f-4993875924b8 turn end (11): done: write_file
 11<10 23d3bb02-a5dc-462c-b447-0bb06f21ffdc user input (12): call: read_file {"file_path": "/home/dem
 12<11 25184caf-7833-4133-a981-bde2a4524eb1 after model (13): ◱ notes.txt · ✎ notes.txt
 13<12 1691896b-ef10-41c7-9667-56c3f25b938d tool iteration (14): ◱ notes.txt  2 lines
 14<13 172f4376-fa9d-4e47-8858-2c7f672cfa19 tool iteration (15): ✎ notes.txt  +1 −1
 15<14 fb909488-a784-4f06-840e-0f92aba8b157 turn end (16): done: read_file, edit
 16<15 4f5d26ec-89a7-4578-bf07-ddaf36cf2054 user input (17): another question
 17<16 dad173fb-f497-46c0-ab12-cc3a61dbffd8 turn end (18): reply to: another question
 18<17 d41ce764-1db0-410f-9d3f-7e27ce479ca6 command (19): /about
 19<18 5765a020-23ef-4239-8e45-da0a9b179bf5 user input (19): second question
*20<19 772a9397-e295-486f-b1e9-b2637f60dbb1 turn end (20): reply to: second question
`,
		child: `
 0<-1 5b67ffe1-dc93-4f9e-af7c-9744364bdd85 user input (1): run: ls -1
 1<0 dee95a78-6121-467b-8908-b2c48538703f after model (2): $ ls -1
 2<1 f20c4cdd-0135-4362-8f46-a30c665a3640 tool iteration (3): $ ls -1  (empty)
*3<2 7ec85e0b-e07d-4fa0-8018-00b860d3740c turn end (4): done: ls -1
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

// Lines of a session: records of one message, a rewind to nothing, words on the screen alone, another session.
const head = `{"uuid":"u1","parentUuid":null,"sessionId":"S","timestamp":"2026-01-01T00:00:01Z","type":"user","cwd":"/w","message":{"role":"user","parts":[{"text":"one"}]}}
{"uuid":"a1","parentUuid":"u1","sessionId":"S","timestamp":"2026-01-01T00:00:02Z","type":"assistant","message":{"role":"model","parts":[{"text":"two"}]}}
`

// write opens the store of one session.
func write(t testing.TB, text string) storetest.Writer {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "-w", chats)
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "S.jsonl"), []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return openStore(t, filepath.Dir(filepath.Dir(dir)))
}

func TestSessions(t *testing.T) {
	record := func(id, parent, rest string) string {
		return fmt.Sprintf(`{"uuid":%q,"parentUuid":%s,"sessionId":"S","timestamp":"2026-01-01T00:00:03Z",%s}`, id, parent, rest) + "\n"
	}
	user := func(words string) string {
		return `"type":"user","message":{"role":"user","parts":[{"text":"` + words + `"}]}`
	}
	const plain = " 0<-1 u1 user input (1): one\n"
	for _, c := range []struct{ name, text, draws, faults string }{
		{"a message of two records", head + record("a1", `"u1"`, `"type":"assistant","message":{"role":"model","parts":[{"text":"more"}]}`), plain + "*1<0 a1 turn end (2): two\n", ""},
		{"a rewind to nothing", head + record("r", "null", `"type":"system","subtype":"rewind","systemPayload":{}`),
			"-0<-1 u1 user input (1): one (rewind to  at 00:00:03)\n-1<0 a1 turn end (2): two (rewind to  at 00:00:03)\n", ""},
		{"words that are not sent", head + record("v", `"a1"`, `"subtype":"realtime_message",`+user("aloud")) + record("u2", `"v"`, user("three")),
			plain + " 1<0 a1 turn end (2): two\n 2<1 v user input (3): aloud\n*3<2 u2 user input (3): three\n", ""},
		{"artifacts are aside", head + record("x", "null", `"type":"system","subtype":"session_artifact_event"`), plain + "*1<0 a1 turn end (2): two\n", ""},
		{"a parent that is gone", head + record("u2", `"gone"`, user("three")), "-0<-1 u1 user input (1): one (chainBroken to  at 00:00:00)\n-1<0 a1 turn end (2): two (chainBroken to  at 00:00:00)\n*2<-1 u2 user input (1): three\n", "odd missing-parent"},
		{"records of two sessions", head + strings.Replace(record("u2", `"a1"`, user("three")), `"S"`, `"T"`, 1), plain + " 1<0 a1 turn end (2): two\n*2<1 u2 user input (3): three\n", "stops mixed-session-ids"},
		{"two records on a line", strings.Replace(head, "}}\n{", "}}{", 1), plain + "*1<0 a1 turn end (2): two\n", "loses damaged-line"},
		{"a torn record before one", strings.Replace(head, "}}\n{", "}}\n{\"torn{", 1) + record("u2", `"u1"`, user("three")), plain + "-1<0 a1 turn end (2): two (damaged to  at 00:00:00)\n*2<0 u2 user input (2): three\n", "loses damaged-line"},
		{"a subtype that is new", head + record("n", `"a1"`, `"type":"system","subtype":"news","systemPayload":{"text":"hear"}`), plain + "*1<0 a1 turn end (2): two\n", "note unknown-record, odd unread-text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := write(t, c.text)
			if got := storetest.Draw(t, s, "S"); got != c.draws {
				t.Errorf("it is\n%swant\n%s", got, c.draws)
			}
			if got := storetest.FaultCodes(t, s, "S"); got != c.faults {
				t.Errorf("the faults are %q, want %q", got, c.faults)
			}
		})
	}
}

// What a person called the session counts, wherever it stands; tokens of copies are counted where they were asked.
func TestTitleAndTokens(t *testing.T) {
	title := `{"uuid":"t","parentUuid":"a1","sessionId":"S","type":"system","subtype":"custom_title","systemPayload":{"customTitle":"The first"}}` + "\n"
	for _, info := range storetest.Sessions(t, write(t, head+title)) {
		if info.Title != "The first" || info.Project != "/w" {
			t.Errorf("it is %q of %s", info.Title, info.Project)
		}
	}
	s := openStore(t, fixtures)
	for session, want := range map[string]float64{asked: 9270, forked: 0} {
		usage, _ := storetest.Messages(t, s, model.Ref{Session: session, ID: "c8266b97-8a57-483a-b7b5-584b397cd066"})[1]["usage"].(map[string]any)
		if got, _ := usage["inputTokens"].(float64); got != want {
			t.Errorf("%s: %v tokens, want %v", session, got, want)
		}
	}
}

// Where no record names the one before, each begins anew: Qwen Code 0.24.4, resumed, sent the last of such messages alone.
func TestRead_withoutParents(t *testing.T) {
	const a, b = `{"uuid":"`, `","parentUuid":null,"sessionId":"S","timestamp":"2026-01-01T00:00:01Z","cwd":"/w","type":"`
	s := write(t, a+"u1"+b+`user","message":{"role":"user","parts":[{"text":"one"}]}}`+"\n"+a+"a1"+b+`assistant","message":{"role":"model","parts":[{"text":"two"}]}}`+"\n")
	headers := storetest.Headers(t, s, "S")
	if len(headers) != 2 || !headers[0].Orphaned || !headers[1].Head {
		t.Fatalf("%+v", headers)
	}
	if sent := storetest.Messages(t, s, headers[1].Ref()); len(sent) != 1 {
		t.Errorf("the head has %v", sent)
	}
}

// Records without the member parentUuid, and without a uuid, as readers of other programs have them in their fixtures, follow
// each other; Qwen Code would load the last one alone, so that no way back is offered.
func TestRead_chained(t *testing.T) {
	const b = `","sessionId":"S","timestamp":"2026-01-01T00:00:01Z","cwd":"/w",`
	for name, begin := range map[string][2]string{"with ids": {`{"uuid":"u1`, `{"uuid":"a1`}, "without": {`{"provenance":"`, `{"provenance":"`}} {
		s := write(t, begin[0]+b+`"type":"user","message":{"role":"user","parts":[{"text":"one"}]}}`+"\n"+begin[1]+b+`"type":"assistant","message":{"role":"model","parts":[{"text":"two"}]}}`+"\n")
		headers := storetest.Headers(t, s, "S")
		if len(headers) != 2 || headers[0].Orphaned || !headers[1].Head || headers[1].ParentID != headers[0].ID {
			t.Fatalf("%s: %+v", name, headers)
		}
		calls, err := s.Features().Resume(t.Context(), headers[1].Ref())
		if err != nil || len(calls) != 0 {
			t.Errorf("%s: %v, %v", name, calls, err)
		}
		if _, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: headers[1].Ref()}); err == nil || !strings.Contains(err.Error(), "name no parents") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzRead: no file makes the reader fail, and each message is JSON.
func FuzzRead(f *testing.F) {
	if n := formattest.AddFiles(f, filepath.Join(fixtures, projects, "*", "*", "*.jsonl")); n != 2 {
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
		kind, in := newFormat(), engine.In{Tree: disk}
		s, err := kind.Read(t.Context(), in, kind.Spot("s.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Entries {
			e := &s.Entries[i]
			list, err := kind.Messages(in, s, e)
			if err != nil || len(list) != kind.Adds(e) {
				t.Fatalf("%d messages, want %d, %v", len(list), kind.Adds(e), err)
			}
			for _, m := range list {
				if one := m.AppendJSON(nil); !jsontape.Valid(one) {
					t.Errorf("%q is no JSON", one)
				}
			}
		}
	})
}
