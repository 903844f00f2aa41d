package messages

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a golden file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	storetest.Golden(t, filepath.Join(testdata, name), got, update)
}

// picture draws a timeline, one line for each snapshot: index, turn, event,
// position, marks and title.
func picture(list []model.Header) string {
	var text strings.Builder
	for _, h := range list {
		shape := "○"
		if h.Head {
			shape = "◉"
		}
		line := fmt.Sprintf("%s %2d  turn %d  %-15s %-12s %-22s %q", shape, h.Index, h.TurnIndex, h.EventText(), h.Position, strings.Join(h.Marks.Words(), " "), h.Title)
		text.WriteString(line + "\n")
	}
	return text.String()
}

func pictureFaults(list []model.Fault) string {
	var text strings.Builder
	for _, f := range list {
		fmt.Fprintf(&text, "! %s  %s %s\n    %s\n    %s\n", f.Code, f.File, f.Path, f.Meaning, f.Verdict)
	}
	return text.String()
}

func TestStore_drawsEveryFixture(t *testing.T) {
	var text strings.Builder
	for _, folder := range []string{fixtures, orchestrators} {
		s := open(t, folder)
		list := storetest.Sessions(t, s)
		slices.SortFunc(list, func(a, b model.SessionInfo) int { return strings.Compare(a.ID, b.ID) })
		for _, info := range list {
			changed := ", changed " + info.UpdatedAt.Format("15:04:05.000000")
			if folder == orchestrators {
				changed = "" // it is the time of the file
			}
			rows, found := storetest.Headers(t, s, info.ID), storetest.Faults(t, s, info.ID)
			fmt.Fprintf(&text, "%s: %d snapshots, head #%d, %d faults%s\n%s%s\n", info.ID, info.Snapshots, info.Head.Index, info.Faults,
				changed, picture(rows), pictureFaults(found))
			if len(rows) != info.Snapshots || info.Faults != len(found) || info.Head.ID != rows[len(rows)-1].ID {
				t.Errorf("%s: the list of sessions says %+v, and there are %d headers and %d faults", info.ID, info, len(rows), len(found))
			}
		}
	}
	golden(t, "timelines.txt", text.String())
}

func TestStore_drawsEveryHazard(t *testing.T) {
	all := hazards(t)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := openFiles(t, all[name])
		fmt.Fprintf(&text, "%s: %s%s%s\n", name, all[name]["why"], picture(storetest.Headers(t, s, "h")), pictureFaults(storetest.Faults(t, s, "h")))
	}
	golden(t, "faults.txt", text.String())
}

func TestHeaders_areOneLineThatEndsAtTheHead(t *testing.T) {
	s := open(t, fixtures)
	for _, info := range storetest.Sessions(t, s) {
		parent := ""
		list := storetest.Headers(t, s, info.ID)
		for i, h := range list {
			if h.ParentID != parent || h.SessionID != info.ID || h.Index != i || h.Head != (i == len(list)-1) || h.CreatedAt.IsZero() {
				t.Errorf("%s: header %d is %+v after %s", info.ID, i, h, parent)
			}
			parent = h.ID
		}
	}
}

// Whatever is wrong: sizes are those of the states, ids tell the snapshots of a
// session apart, and their lineage is whole.

func TestSnapshotID_isTheHashOfTheMessageAndItsPlace(t *testing.T) {
	s := open(t, fixtures)
	for session, agent := range map[string]string{"basic": "default", "redact": "default", "bytes": "default", "broken_starts_with_toolresult": "default"} {
		for _, h := range storetest.Headers(t, s, session) {
			number := h.Index
			if session == "broken_starts_with_toolresult" {
				number += 4
			}
			data, err := os.ReadFile(filepath.Join(fixtures, "session_"+session, "agents", "agent_"+agent, "messages", fmt.Sprintf("message_%d.json", number)))
			if err != nil {
				t.Fatal(err)
			}
			var wrapper struct {
				Message json.RawMessage  `json:"message"`
				Redact  *json.RawMessage `json:"redact_message"`
				Created json.RawMessage  `json:"created_at"`
			}
			if err := json.Unmarshal(data, &wrapper); err != nil {
				t.Fatal(err)
			}
			if wrapper.Redact != nil {
				wrapper.Message = *wrapper.Redact
			}
			var text bytes.Buffer
			if err := json.Compact(&text, fmt.Appendf(nil, `["%d", %s, %s]`, number, wrapper.Created, wrapper.Message)); err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("%x", sha256.Sum256(text.Bytes())); h.ID != want {
				t.Errorf("%s: message %d has the id %s, want %s of %s", session, number, h.ID, want, text.Bytes())
			}
		}
	}
}

func TestSnapshotID_isThatOfTheMessageAlone(t *testing.T) {
	skip.Sequential(t)
	all := hazards(t)
	ids := func(f written) (list []string) {
		for _, h := range storetest.Headers(t, openFiles(t, f), "h") {
			list = append(list, h.ID)
		}
		return list
	}
	whole := ids(all["healthy"])
	if again := ids(all["healthy"]); !slices.Equal(again, whole) {
		t.Errorf("read again, the ids are %s, not %s", again, whole)
	}
	third := string(all["healthy"]["messages/message_3.json"])
	for _, c := range []struct {
		name    string
		file    string
		content string
		changed int
	}{
		{"another agent", "agent.json", `{"agent_id":"x","state":{},"conversation_manager_state":{}}`, -1},
		{"another session", "session.json", `{"session_id":"fork","session_type":"AGENT"}`, -1},
		{"what is not of the message", "messages/message_3.json", strings.Replace(third, `"message_id":3`, ` "message_id" : 7, "later": true`, 1), -1},
		{"white space", "messages/message_3.json", strings.ReplaceAll(third, `":`, "\":\n  "), -1},
		{"the text", "messages/message_3.json", strings.Replace(third, "done", "else", 1), 3},
		{"the time", "messages/message_3.json", strings.Replace(third, `"created_at":"2026`, `"created_at":"2030`, 1), 3},
	} {
		got := ids(all["healthy"].with(map[string]string{c.file: c.content}))
		for i := range whole {
			if changed := i == c.changed; changed != (got[i] != whole[i]) {
				t.Errorf("%s differs: message %d has the id %s, and had %s", c.name, i, got[i], whole[i])
			}
		}
	}
	if evicted := ids(all["removed-all"]); !slices.Equal(evicted, whole) {
		t.Errorf("what is removed from the context changes the ids")
	}
	message := `{"message":{"role":"user","content":[{"text":"again"}]},"message_id":0}`
	twice := ids(all["healthy"].with(map[string]string{"messages/message_4.json": message, "messages/message_5.json": message, "messages/message_05.json": message}))
	if twice[4] == twice[5] || twice[5] == twice[6] || twice[4] == twice[6] {
		t.Errorf("equal texts at three places have the ids %s", twice[4:])
	}
}

func TestState_keepsEveryByteOfAMessage(t *testing.T) {
	message := `{"role":"user","content":[{"text":"\ud800 \u00e9 <&> \/ ` + "\xff\u2028" + `"},{"hologram":{"big":12345678901234567890123,"e":1e999,"nan":NaN,"neg":-0,"dup":1,"dup":2}}],"later":[-Infinity]}`
	spaced := strings.NewReplacer(`,"`, " ,\n\t\"", `:[`, " : [ ").Replace(message)
	s := openFiles(t, hazards(t)["healthy"].with(map[string]string{
		"messages/message_4.json": `{"message": ` + spaced + `, "message_id": 4, "redact_message": null}`,
		"agent.json":              `{"agent_id":"default", "state": {"x": NaN , "big": 123456789012345678901234567890}, "conversation_manager_state": {}, "_internal_state": {"model_state": {"\ud801": 1}}}`,
	}))
	last := storetest.Headers(t, s, "h")[5]
	got := string(state(t, s, last))
	for _, want := range []string{message, `,"state":{"x":NaN,"big":123456789012345678901234567890}`, `,"model_state":{"\ud801":1}`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%q", want, got)
		}
	}
}

func TestState_hasTheAgentsStateOnTheNewestAlone(t *testing.T) {
	s := open(t, fixtures)
	for _, h := range storetest.Headers(t, s, "basic") {
		tape := tape(t, state(t, s, h))
		for _, m := range agentMembers {
			if found := tape.Find(0, m.key) >= 0; found != h.Head {
				t.Errorf("message %d, head %v: %q is in the state: %v", h.Index, h.Head, m.key, found)
			}
		}
	}
}

func TestState_followsThePinnedHead(t *testing.T) {
	text := func(n int, text string) string {
		return fmt.Sprintf(`{"message":{"role":"user","content":[{"text":%q}]},"message_id":%d}`, text, n)
	}
	session := func(removed, pinned int) *Store {
		f := written{
			"session.json": []byte(`{"session_id":"h","session_type":"AGENT"}`),
			"agent.json": fmt.Appendf(nil, `{"agent_id":"default","state":{},"conversation_manager_state":{"__name__":"SummarizingConversationManager","removed_message_count":%d,"pinned_head_count":%d,"summary_message":{"role":"user","content":[{"text":"summary"}]}}}`,
				removed, pinned),
		}
		for n, said := range []string{"pinned 0", "pinned 1", "gone", "stays"} {
			f[fmt.Sprintf("messages/message_%d.json", n)] = []byte(text(n, said))
		}
		return openFiles(t, f)
	}
	for _, c := range []struct {
		removed, pinned, message int
		want                     string
	}{
		{1, 2, 3, "pinned 0|pinned 1|summary|stays"},
		{1, 2, 2, "pinned 0|pinned 1|gone"}, // not seen through the window
		{1, 2, 1, "pinned 0|pinned 1"},
		{2, 2, 3, "pinned 0|pinned 1|summary"},
		{0, 4, 3, "pinned 0|pinned 1|gone|stays|summary"},
		{0, 9, 3, "pinned 0|pinned 1|gone|stays|summary"},
		{1, 0, 3, "summary|pinned 1|gone|stays"},
	} {
		s := session(c.removed, c.pinned)
		tape := tape(t, state(t, s, storetest.Headers(t, s, "h")[c.message]))
		var said []string
		for n := tape.First(tape.Find(0, "messages")); n >= 0; n = tape.Next(n) {
			content := tape.Find(n, "content")
			said = append(said, tape.Text(tape.Find(tape.First(content), "text")))
		}
		if got := strings.Join(said, "|"); got != c.want {
			t.Errorf("%d removed, %d pinned, message %d: %s; want %s", c.removed, c.pinned, c.message, got, c.want)
		}
	}
}
