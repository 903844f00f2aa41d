package kinds_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/splice"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/chattest"
	"hindcast/store/storetest/skip"
)

// textEditors are the agents in whose sessions texts are edited.
var textEditors = []string{"claude-code", "codex", "gemini-cli", "opencode", "pi", "qwen"}

// editText plans and carries out an edit of the value at a JSON Pointer in the state of a snapshot.
func editText(t *testing.T, s store.Store, h *model.Header, pointer string, value []byte) (plan model.Plan, err error) {
	t.Helper()
	state, err := splice.Replace(stateOf(t, s, h), pointer, value)
	if err == nil {
		plan, err = s.Features().Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: h.Ref(), State: state})
	}
	if err == nil {
		_, err = s.Features().Apply(context.WithoutCancel(t.Context()), plan)
	}
	return plan, err
}

// headerNamed returns the snapshot that a name means in a session whose id begins so.
func headerNamed(t *testing.T, s store.Store, session, name string) model.Header {
	t.Helper()
	line := model.NewTimeline(headersOf(t, s, session))
	n, err := line.Resolve(name)
	if err != nil {
		t.Fatal(err)
	}
	return line.Header(n)
}

// saidIn returns the roles and the contents of the messages of a state, without how tools ended, which texts tell.
func saidIn(t *testing.T, state []byte) (list []string) {
	t.Helper()
	tape, err := jsontape.Parse(state)
	if err != nil {
		t.Fatal(err)
	}
	for m, _ := range tape.LookupAll(0, "messages", "*") {
		content := strings.ReplaceAll(string(tape.Raw(tape.Find(m, "content"))), `"status":"error"`, `"status":"success"`)
		list = append(list, string(tape.Raw(tape.Find(m, "role")))+content)
	}
	return list
}

// madeFile returns the file of a session that a plan made, which is below a folder, without what each new session has of its
// own: ids, and the time in a header.
func madeFile(t *testing.T, dir string, plan *model.Plan) (data []byte) {
	t.Helper()
	for _, f := range plan.Files {
		is := f.Does == model.FileWritten && strings.Contains(f.Path, ".json") && !strings.Contains(f.Path, "subagents/")
		err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
			if err == nil && is && strings.HasSuffix(filepath.ToSlash(name), "/"+f.Path) {
				data, err = os.ReadFile(name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if data == nil {
		t.Fatalf("the plan wrote no session: %+v", plan.Files)
	}
	data = bytes.ReplaceAll(data, []byte(plan.NewSession), []byte("ID"))
	head, rest, _ := bytes.Cut(data, []byte("\n"))
	return newNames.ReplaceAll(slices.Concat(newTimes.ReplaceAll(head, []byte("TIME")), []byte("\n"), rest), []byte("NAME"))
}

var (
	newNames = regexp.MustCompile(`(msg|prt)_[0-9A-Za-z]{26}|fork-[0-9a-z]{6}`)
	newTimes = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|\b1\d{12}\b`)
)

// Each text of the sessions that the agents wrote is edited, where one can. The new session's state has the other text and is the
// same else, and its file is that of a fork but for the text.
func TestEdit_recorded(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	for _, kind := range textEditors {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), kind)
			if err := os.CopyFS(dir, os.DirFS(filepath.Join(testdata, "coding", kind))); err != nil {
				t.Fatal(err)
			}
			s := openData(t, dir)
			edited := 0
			for _, info := range storetest.Sessions(t, s) {
				list := storetest.Headers(t, s, info.ID)
				if len(list) == 0 {
					continue
				}
				done := map[string]bool{}
				for _, h := range slices.Backward(list) {
					fork, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: h.Ref()})
					if err == nil {
						_, err = s.Features().Apply(context.WithoutCancel(t.Context()), fork)
					}
					if err != nil {
						continue // it is not forked either
					}
					forked := madeFile(t, dir, &fork)
					state := stateOf(t, s, &h)
					tape, err := jsontape.Parse(state)
					if err != nil {
						t.Fatal(err)
					}
					c := conversation.Decode(tape)
					for n := range jsontape.Node(tape.Len()) {
						if text, why := c.EditableText(n); why != "" || text != n {
							continue
						}
						m := c.Find(n)
						key := fmt.Sprint(m, tape.Pointer(n), string(tape.Raw(n)))
						if done[key] {
							continue
						}
						done[key] = true
						name := fmt.Sprintf("%s #%d%s", info.ID, h.Index, tape.Pointer(n))
						now := fmt.Sprintf(`"edited %d \u00e9\n<"`, edited)
						plan, err := editText(t, s, &h, tape.Pointer(n), []byte(now))
						if err != nil {
							if is := tape.Text(n); kind != "gemini-cli" || !strings.HasPrefix(is, "<session_context>") || !strings.Contains(err.Error(), "an edit has no effect") {
								t.Errorf("%s: %v", name, err)
							}
							continue
						}
						edited++
						p := jsontape.NewPatch(tape)
						p.Set(n, []byte(now))
						news := storetest.Headers(t, s, plan.NewSession)
						got := saidIn(t, stateOf(t, s, &news[len(news)-1]))
						if want := saidIn(t, p.Bytes()); !slices.Equal(got, want) {
							t.Errorf("%s: the new session has\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
						}
						data := madeFile(t, dir, &plan)
						if back := bytes.ReplaceAll(data, []byte(now), tape.Raw(n)); bytes.Equal(data, back) || !bytes.Equal(back, forked) {
							t.Errorf("%s: the file is\n%s\nof\n%s", name, data, forked)
						}
					}
				}
			}
			if t.Logf("edited %d texts", edited); edited == 0 {
				t.Error("no text was edited")
			}
		})
	}
}

// Where records have a text in several places, each of them changes.
func TestEdit_repeated(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	for _, c := range []struct {
		path, session, snapshot, pointer string
		places                           int
	}{
		{"coding/codex", "01a202f5-bfd0-70d1-aab1-5dc3e55b81bb", "#7", "/messages/2/content/0/text", 2},  // the item, and an event
		{"coding/codex", "01a202f5-bfd0-70d1-aab1-5dc3e55b81bb", "#7", "/messages/7/content/0/text", 3},  // the end of the turn, too
		{"coding/codex", "01a202f8-ac78-7030-8227-130b069fca01", "#13", "/messages/5/content/0/text", 2}, // a summary, in its record,
		{"coding/gemini-cli", "1b5ede93-2b00-4913-81da-ca579b4743a0", "head", "/messages/5/content/0/toolResult/content/0/text", 2},
		{"coding/qwen", "68129b7d-3f39-4f68-b64a-1484396e32f2", "#24", "/messages/6/content/0/text", 2},                       // with the telemetry
		{"coding/qwen", "68129b7d-3f39-4f68-b64a-1484396e32f2", "#24", "/messages/20/content/0/toolResult/content/0/text", 2}, // with what was shown
		{"coding/claude-code/projects", "e3e8e48f-7fa6-465a-9f40-10a54f2d345e", "head", "/messages/1/content/0/text", 0},
	} {
		s := openData(t, c.path)
		h := headerNamed(t, s, c.session, c.snapshot)
		state, err := splice.Replace(stateOf(t, s, &h), c.pointer, []byte(`"another text"`))
		if err != nil {
			t.Errorf("%s %s: %v", c.path, c.pointer, err)
			continue
		}
		plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: h.Ref(), State: state})
		want := "edited: " + c.pointer
		if c.places > 0 {
			want += fmt.Sprintf(", in %d places", c.places)
		}
		if err != nil || !slices.Equal(plan.Carries, []string{want}) {
			t.Errorf("%s %s: %q, %v, want %q", c.session, c.snapshot, plan.Carries, err, want)
		}
	}
}

// A value that no person, model or tool said is not edited, nor a text that a provider signed.
func TestEdit_refuses(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	const claude, codex, pi = "coding/claude-code/projects", "coding/codex", "coding/pi"
	signed := filepath.Join(t.TempDir(), "qwen")
	if err := os.CopyFS(signed, os.DirFS(filepath.Join(testdata, "coding", "qwen"))); err != nil {
		t.Fatal(err)
	}
	changeFiles(t, signed, `{"text":"reply to: another question"}`, `{"text":"reply to: another question","thoughtSignature":"c2ln"}`)
	for _, c := range []struct{ path, session, snapshot, pointer, now, why string }{
		{claude, "e3e8e48f", "head", "/messages/1/content/0/text", `["no text"]`, "/messages/1/content/0/text: only a text takes the place of a text: give a JSON string"},
		{claude, "e3e8e48f", "head", "/messages/1/content/0/text", `" "`, "providers refuse an empty text: --drop leaves whole turns out"},
		{claude, "e3e8e48f", "head", "/messages/4/content/1/context/text", `"x"`, "/messages/4/content/1/context/text: the agent attached it"},
		{claude, "e3e8e48f", "head", "/messages/1/raw/uuid", `"x"`, "/messages/1/raw/uuid: only texts of messages and of tool results can be edited, such as /messages/1/content/0/text"},
		{claude, "e3e8e48f", "head", "/meta/cwd", `"/x"`, "/meta/cwd: only texts of messages"},
		{claude, "9274231d", "#6", "/messages/3/content/0/toolUse/input", `{}`, "the tool ran with this input"},
		{claude, "9274231d", "#3", "/messages/0/content/0/text", `"x"`, "#3 would end with a tool call that nothing answers"},
		{codex, "01a202f5", "head", "/messages/0/content/0/text", `"x"`, "message 0 is the system's, which the agent writes itself"},
		{pi, "ffae836b", "head", "/messages/8/content/0/reasoning/text", `"x"`, "a provider signs or encrypts the thoughts of its model"},
		{signed, "68129b7d", "#24", "/messages/17/content/0/text", `"x"`, "/messages/17/content/0/text: its provider signed it"},
		{"coding/copilot-cli", "1176a339", "head", "/messages/0/content/0/text", `"x"`, "a fork of Copilot CLI has its records as they are"},
	} {
		s := openData(t, c.path)
		h := headerNamed(t, s, c.session, c.snapshot)
		state, err := splice.Replace(stateOf(t, s, &h), c.pointer, []byte(c.now))
		if err != nil {
			t.Errorf("%s %s: %v", c.session, c.pointer, err)
			continue
		}
		_, err = s.Features().Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: h.Ref(), State: state})
		if !errors.As(err, new(*model.UnsupportedError)) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s %s: %v, want %q", c.session, c.pointer, err, c.why)
		}
	}
}

// The agent resumes the session with the other texts, and its model is sent them.
func TestInterop_edit(t *testing.T) {
	skip.Sequential(t)
	for _, kind := range textEditors {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			a := chattest.StartAgent(t, kind)
			into := targetStore(t, kind, a.Home)
			source := takeOver(t, into, a.Work)
			for _, was := range []string{"third question", "reply to: first question"} {
				list := storetest.Headers(t, into, source)
				h := &list[len(list)-1]
				tape, err := jsontape.Parse(stateOf(t, into, h))
				if err != nil {
					t.Fatal(err)
				}
				n := jsontape.Node(0)
				for tape.Kind(n) != jsontape.String || tape.Text(n) != was || tape.Key(n) != "text" {
					n++
				}
				want := readTalk(t, into, source)
				for i := range want.Messages {
					for k := range want.Messages[i].Parts {
						if p := &want.Messages[i].Parts[k]; p.Text == was {
							p.Text = "edited " + was
						}
					}
				}
				plan, err := editText(t, into, h, tape.Pointer(n), jsontape.AppendQuoted(nil, "edited "+was))
				if err != nil {
					t.Fatal(err)
				}
				prompt := strings.NewReplacer(" ", "-", ":", "").Replace("go on with " + was)
				lines := saidLines(append(handedOver(want), chattest.Said{Is: "user", Text: prompt}))
				if got := saidLines(a.Ask(t, plan.Resume[0].Call, prompt)); !slices.Equal(got, lines) {
					t.Errorf("the model is sent\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
				}
			}
		})
	}
}

// changeFiles replaces a text in each file below a folder.
func changeFiles(t *testing.T, dir, was, now string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err == nil && bytes.Contains(data, []byte(was)) {
			err = os.WriteFile(name, bytes.ReplaceAll(data, []byte(was), []byte(now)), 0o600)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
