package messages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store/media/files"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

const (
	wholeMessage = `{"message":{"role":"user","content":[{"text":"whole"}]},"message_id":0}`
	tornMessage  = `{"message":{"role":"user","content":[{"te`
)

func TestMessage_isReadAgainWhileItChanges(t *testing.T) {
	gone := errors.New("gone")
	for _, c := range []struct {
		name  string
		reads []string // what each reading gives; "" is an error
		title string
		tries int
	}{
		{"at once", []string{wholeMessage}, "whole", 1},
		{"written in the meantime", []string{tornMessage, wholeMessage}, "whole", 2},
		{"still being written", []string{tornMessage[:9], tornMessage, wholeMessage}, "whole", 3},
		{"torn for good", []string{tornMessage, tornMessage}, "message_0.json: the file cannot be read: byte 41: unexpected end of text", 2},
		{"never whole", []string{"{", "{1", "{12", "{123"}, `message_0.json: the file cannot be read: byte 1: unexpected "1"`, 3},
		{"vanished after a torn reading", []string{tornMessage, ""}, "message_0.json: the file cannot be read: byte 41", 2},
		{"vanished", []string{""}, "message_0.json: the file cannot be read: gone", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			tries := 0
			read := func(string, []byte) ([]byte, error) {
				tries++
				if c.reads[tries-1] == "" {
					return nil, gone
				}
				return []byte(c.reads[tries-1]), nil
			}
			var m message
			new(decoder).take(read, messageFile{name: "message_0.json"}, &m)
			if got := m.title(nil); !strings.HasPrefix(got, c.title) || tries != c.tries {
				t.Errorf("%d readings give %q; want %d and %q", tries, got, c.tries, c.title)
			}
			if damaged := !m.whole; damaged != strings.Contains(c.title, "cannot be read") || damaged != bytes.HasPrefix(m.body, []byte(`{"unreadable_file":"message_0.json",`)) {
				t.Errorf("damaged: %v, body %s", damaged, m.body)
			}
		})
	}
}

// A session that is being written to: what was listed stays readable, and what
// is no more is not made up.
func TestState_ofASessionThatGoesOn(t *testing.T) {
	s := openFiles(t, hazards(t)["healthy"])
	messages := filepath.Join(s.Address(), "session_h", "agents", "agent_default", "messages")
	list := storetest.Headers(t, s, "h")
	head := state(t, s, list[5])
	if !bytes.Contains(head, []byte(`"state":{"n":1}`)) {
		t.Fatalf("the newest state is %s", head)
	}
	mustWrite(t, filepath.Join(messages, "message_6.json"), `{"message":{"role":"user","content":[{"text":"six"}]},"message_id":6}`)
	if former := state(t, s, list[5]); !bytes.HasPrefix(head, former[:len(former)-1]) || bytes.Contains(former, []byte(`"state"`)) {
		t.Errorf("no longer the newest, the state is %s", former)
	}
	grown := storetest.Headers(t, s, "h")
	if len(grown) != 7 || grown[5].ID != list[5].ID || grown[6].ParentID != list[5].ID {
		t.Fatalf("after one more message the headers are %v", grown)
	}

	mustWrite(t, filepath.Join(messages, "message_3.json"), `{"message":{"role":"assistant","content":[{"text":"redacted"}]},"message_id":3}`)
	for i, h := range grown {
		_, err := s.State(t.Context(), h.Ref())
		if changed := i == 3; changed != errors.Is(err, model.ErrNoSnapshot) || !changed && err != nil {
			t.Errorf("after message 3 was rewritten, state %d: %v", i, err)
		}
	}
	rewritten := storetest.Headers(t, s, "h")
	for i := range rewritten {
		if changed := i == 3; changed != (rewritten[i].ID != grown[i].ID) {
			t.Errorf("after message 3 was rewritten, snapshot %d is %s, and was %s", i, rewritten[i].ID, grown[i].ID)
		}
	}
	if got := state(t, s, rewritten[3]); !bytes.Contains(got, []byte("redacted")) {
		t.Errorf("the state anew is %s", got)
	}

	if err := os.Remove(filepath.Join(messages, "message_1.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.State(t.Context(), rewritten[1].Ref()); !errors.Is(err, model.ErrNoSnapshot) {
		t.Errorf("after message 1 went away: %v", err)
	}
	if got := state(t, s, rewritten[4]); bytes.Count(got, []byte(`"role"`)) != 3 { // the result of the call that went away goes with it
		t.Errorf("the state after message 4 is %s", got)
	}
	if got := state(t, s, rewritten[0]); !bytes.Contains(got, []byte(`"hi"`)) {
		t.Errorf("what is left is %s", got)
	}
}

func TestStore_stopsWhenNobodyListens(t *testing.T) {
	s := openFiles(t, longFiles(t, 300))
	for range s.Headers(t.Context(), "h") {
		break
	}
	for range s.Sessions(t.Context()) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	var last error
	for _, err := range s.Headers(ctx, "h") {
		if seen++; seen == 20 {
			cancel()
		}
		last = err
	}
	if !errors.Is(last, context.Canceled) || seen > 21 {
		t.Errorf("after the context ended, %d more and %v", seen-20, last)
	}
	if _, err := s.State(ctx, model.Ref{Session: "h", ID: "x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("state: %v", err)
	}
	if _, err := s.Faults(ctx, "h"); !errors.Is(err, context.Canceled) {
		t.Errorf("faults: %v", err)
	}
	for _, err := range s.Sessions(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("sessions: %v", err)
		}
	}
}

// longFiles returns a session of n messages.
func longFiles(t *testing.T, n int) written {
	f := hazards(t)["healthy"]
	for i := range n {
		role := []string{"user", "assistant"}[i%2]
		f[fmt.Sprintf("messages/message_%d.json", i)] = fmt.Appendf(nil, `{"message":{"role":%q,"content":[{"text":"message %d"}]},"message_id":%d}`, role, i, i)
	}
	return f
}

// Large messages end a batch early; the order and the bytes stay.
func TestHeaders_ofLargeMessagesComeInOrder(t *testing.T) {
	f := longFiles(t, 80)
	for i := 0; i < 80; i += 3 {
		f[fmt.Sprintf("messages/message_%d.json", i)] = fmt.Appendf(nil, `{"message":{"role":"user","content":[{"text":"message %d %s"}]},"message_id":%d}`, i, strings.Repeat("x", 700_000), i)
	}
	s := openFiles(t, f)
	list := storetest.Headers(t, s, "h")
	if len(list) != 80 {
		t.Fatalf("%d headers", len(list))
	}
	for i, h := range list {
		if !strings.HasPrefix(h.Title+" ", fmt.Sprintf("message %d ", i)) || len(h.Title) > conversation.MaxTitle+len("…") {
			t.Errorf("header %d is %q", i, h.Title)
		}
	}
	last := state(t, s, list[79])
	for i := range 80 {
		if n := bytes.Count(last, fmt.Appendf(nil, `"message %d`, i)); n == 0 {
			t.Errorf("message %d is not in the state", i)
		}
	}
	if int64(len(last)) != list[79].Size {
		t.Errorf("the state has %d bytes, the header says %d", len(last), list[79].Size)
	}
}

func TestMessage_thatIsTooLargeIsNotRead(t *testing.T) {
	s := openFiles(t, hazards(t)["healthy"])
	file := filepath.Join(s.Address(), "session_h", "agents", "agent_default", "messages", "message_3.json")
	if err := os.Truncate(file, files.MaxSize+1); err != nil {
		t.Fatal(err)
	}
	list := storetest.Headers(t, s, "h")
	if len(list) != 6 || !list[3].Marks.Has(model.MarkDamaged) || !strings.Contains(list[3].Title, "larger than 256 MiB") {
		t.Errorf("%+v", list[3])
	}
	if found := storetest.Faults(t, s, "h"); len(found) != 1 || found[0].Code != FaultMessageFile {
		t.Errorf("%+v", found)
	}
}

func TestMessage_thatIsNoRegularFile(t *testing.T) {
	s := openFiles(t, hazards(t)["healthy"].with(map[string]string{"messages/message_3.json": "(absent)\n"}))
	file := filepath.Join(s.Address(), "session_h", "agents", "agent_default", "messages", "message_3.json")
	if err := os.Mkdir(file, 0o755); err != nil {
		t.Fatal(err)
	}
	if list := storetest.Headers(t, s, "h"); len(list) != 6 || !strings.Contains(list[3].Title, "not a regular file") {
		t.Errorf("%s", picture(list))
	}
	if found := storetest.Faults(t, s, "h"); len(found) != 1 || found[0].Verdict != "refuses to start: it cannot be opened" {
		t.Errorf("%+v", found)
	}
}

func TestFaults_areBounded(t *testing.T) {
	skip.Sequential(t)
	f := hazards(t)["healthy"]
	for i := range 50 {
		f[fmt.Sprintf("messages/stray %02d.txt", i)] = []byte("x")
	}
	s := openFiles(t, f)
	found := storetest.Faults(t, s, "h")
	if len(found) != 20+1 || found[20].Meaning != "the same in 30 more places" {
		t.Errorf("%d faults, the last %+v", len(found), found[len(found)-1])
	}
}

func TestOpen_wordsWhatIsWrong(t *testing.T) {
	_, err := Open(t.Context(), filepath.Join(fixtures, "missing"))
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != fmt.Sprintf("strands: open %q: no such file or directory", filepath.Join(fixtures, "missing")) {
		t.Errorf("%v", err)
	}
}
