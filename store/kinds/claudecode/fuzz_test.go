package claudecode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store/engine/chat"
	"hindcast/store/storetest"
)

// Whatever a file has, it is read, every state is JSON, and the message of each whole record
// is in one.
func FuzzDecode(f *testing.F) {
	err := filepath.WalkDir(fixtures, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, suffix) {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			f.Add(text)
			for line := range bytes.Lines(text) {
				f.Add(line)
			}
		}
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(boundaryOf("x", "x", "x", "x").String() + "\n" + user("x", "x", "X").String()))
	// A boundary and a message of a sub-agent have one id.
	side := func(id, parent string) string {
		r := user(id, parent, "words "+parent)
		r.more = map[string]any{"isSidechain": true}
		return r.String()
	}
	f.Add([]byte(strings.Join([]string{boundaryOf("b", "a", "a").String(), side("a", "b"), side("b", "a"), side("a", "")}, "\n") + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir, _ := written(t, raw(text))
		if err := holdsAll(t, dir, text); err != nil {
			t.Fatal(err)
		}
	})
}

// holdsAll holds that each state is JSON, and that the message of each whole record is in one.
func holdsAll(t testing.TB, dir string, text []byte) error {
	t.Helper()
	s := open(t, dir)
	var shown strings.Builder
	for h, err := range s.Headers(t.Context(), session) {
		if errors.Is(err, model.ErrNoSession) {
			break // it has no message
		} else if err != nil {
			return err
		}
		state, err := s.State(t.Context(), h.Ref())
		if err != nil {
			return fmt.Errorf("#%d: %w", h.Index, err)
		}
		if !json.Valid(state) {
			return fmt.Errorf("#%d is no JSON: %.300s", h.Index, state)
		}
		shown.Write(state)
	}
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n \t")
		if r, err := decodeLine(&chat.Line{Raw: line}); err != nil || !r.speaks {
			continue
		}
		if !strings.Contains(shown.String(), string(line)) {
			return fmt.Errorf("the message is in no state: %.300s", line)
		}
	}
	return nil
}

// Records in any order, with parents that are gone, ids that come twice, torn lines, rewinds,
// compactions and answers of several records: no message is lost from view.
func TestProperty_noMessageIsLost(t *testing.T) {
	rapid.Check(t, storetest.Few(60, func(rt *rapid.T) {
		id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h", "gone"})
		answer := rapid.SampledFrom([]string{"m1", "m2", ""})
		call := rapid.SampledFrom([]string{"t1", "t2", "t3"})
		line := rapid.Custom(func(rt *rapid.T) string {
			parent := rapid.OneOf(id, rapid.Just("")).Draw(rt, "parent")
			var r rec
			switch rapid.IntRange(0, 8).Draw(rt, "kind") {
			case 0:
				r = user(id.Draw(rt, "id"), parent, "words")
			case 1:
				r = part(id.Draw(rt, "id"), parent, answer.Draw(rt, "answer"), "words", "")
			case 2:
				r = part(id.Draw(rt, "id"), parent, answer.Draw(rt, "answer"), "", call.Draw(rt, "call"))
			case 3:
				r = result(id.Draw(rt, "id"), parent, call.Draw(rt, "call"))
			case 4:
				r = rec{kind: "attachment", id: id.Draw(rt, "id"), parent: parent}
			case 5:
				r = boundaryOf(id.Draw(rt, "id"), parent, id.Draw(rt, "anchor"), rapid.SliceOfN(id, 0, 3).Draw(rt, "keeps")...)
			case 6:
				r = lastPrompt(id.Draw(rt, "leaf"))
			case 7:
				r = rec{kind: "system", id: id.Draw(rt, "id"), parent: parent, more: map[string]any{"subtype": "api_error", "error": "x"}}
			case 8:
				return `{"type":"user","uuid":"` + id.Draw(rt, "id") // torn
			}
			if rapid.IntRange(0, 9).Draw(rt, "side") == 0 {
				r.more = map[string]any{"isSidechain": true}
			}
			return r.String()
		})
		text := strings.Join(rapid.SliceOfN(line, 1, 14).Draw(rt, "lines"), "\n") + "\n"
		dir, _ := written(t, raw(text))
		if err := holdsAll(t, dir, []byte(text)); err != nil {
			rt.Fatalf("%v\n%s", err, text)
		}
	}))
}
