package codex

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store/engine/chat"
	"hindcast/store/storetest"
)

// forkOf forks a session at its head, and returns the new rollout and its records.
func forkOf(t *testing.T, dir, session string) (file string, records []map[string]any) {
	t.Helper()
	s := opened(t, dir)
	list := storetest.Headers(t, s, session)
	id := fork(t, s, list[len(list)-1])
	found, err := filepath.Glob(filepath.Join(dir, "sessions/*/*/*/rollout-*-"+id+".jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the new rollout is %q: %v", found, err)
	}
	for line := range strings.Lines(read(t, found[0])) {
		var is map[string]any
		if err := json.Unmarshal([]byte(line), &is); err != nil {
			t.Fatal(err)
		}
		records = append(records, is)
	}
	return found[0], records
}

// A fork is one rollout that needs no other: the header names nothing else, the ordinals
// begin at 0, and no record names another thread.
func TestFork_standsByItself(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	before := treeOf(t, opened(t, dir), forked)
	file, records := forkOf(t, dir, forked)
	text := read(t, file)
	for _, old := range []string{whole, forked, "history_base", "forked_from"} {
		if strings.Contains(text, old) {
			t.Errorf("the rollout has %s", old)
		}
	}
	id := strings.TrimSuffix(file[len(file)-len(whole)-len(".jsonl"):], ".jsonl")
	for i, r := range records {
		body := r["payload"].(map[string]any)
		if r["ordinal"] != float64(i) || (r["type"] == "session_meta") != (i == 0) {
			t.Errorf("record %d is a %v of the ordinal %v", i, r["type"], r["ordinal"])
		}
		for _, key := range []string{"thread_id", "session_id"} {
			if is, there := body[key]; there && is != id {
				t.Errorf("record %d has the %s %v", i, key, is)
			}
		}
	}
	if at, err := os.Stat(file); err != nil || at.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v: %v", at.Mode(), err)
	}
	for _, name := range []string{wholeFile, segmentFile, forkedFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s := opened(t, dir)
	holdLines(t, "the fork without the others", treeOf(t, s, id), strings.Join(before, "\n"))
	if got := codes(t, s, id); got != nil {
		t.Errorf("its faults are %q", got)
	}
}

// The header of a sub-agent becomes that of a thread of its own.
func TestFork_ofSubAgent(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	file, records := forkOf(t, dir, parent+"/"+child)
	if text := read(t, file); strings.Contains(text, parent) || strings.Contains(text, child) || strings.Contains(text, "subagent\"") {
		t.Errorf("the rollout has the ids of the sub-agent: %.1500s", text)
	}
	if body := records[0]["payload"].(map[string]any); body["source"] != "cli" || body["cwd"] != "/home/demo/project" {
		t.Errorf("the header is %.300v", body)
	}
}

// Records of 0.20 get the envelope that newer versions read.
func TestFork_of020(t *testing.T) {
	_, records := forkOf(t, storetest.Copy(t, recorded), bare)
	if len(records) != 3 || records[0]["type"] != "session_meta" || records[1]["type"] != "response_item" || records[2]["timestamp"] != "2026-11-22T11:29:04.470Z" {
		t.Errorf("the records are %v", records)
	}
}

// What the user said of an id stays as it was said.
func TestFork_leavesWords(t *testing.T) {
	var r madeRollout
	r.header()
	r.says("user", "what is "+made+"?")
	_, dir := r.store(t)
	file, _ := forkOf(t, dir, made)
	if text := read(t, file); strings.Count(text, made) != 1 || !strings.Contains(text, "what is "+made) {
		t.Errorf("the rollout is %s", text)
	}
}

// A fork inside a turn says so; one at its end, or behind the result of a tool, does not.
func TestFork_insideTurn(t *testing.T) {
	s := opened(t, storetest.Copy(t, recorded))
	list := storetest.Headers(t, s, whole)
	for at, inside := range map[int]bool{2: true, 3: false, 4: true, 6: false, 7: false, 11: false} {
		plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: list[at].Ref()})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(plan.Hazards, "\n"), "inside a turn"); got != inside {
			t.Errorf("#%d: the hazards are %q", at, plan.Hazards)
		}
	}
}

// Whatever a line is, it is decoded or refused, and an item is never lost.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{wholeFile, forkedFile, envelopeFile, day22 + "rollout-2026-11-22T11-29-04-" + bare + ".jsonl"} {
		text, err := os.ReadFile(filepath.Join(recorded, name))
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			f.Add(bytes.TrimSpace(line))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := chat.Parse(text)
		if err != nil {
			return
		}
		is, body := openEnvelope(v)
		if is != typeItem && is != typeBetween && is != typeCompacted {
			return
		}
		list := compactedOf(v)
		if is != typeCompacted {
			list = []chat.Message{itemOf(v)}
		}
		for _, m := range list {
			if data := m.AppendJSON(nil); !json.Valid(data) && json.Valid(text) {
				t.Errorf("the message of %s is %s", text, data)
			}
		}
		isInjected(body)
		addUsage(new(conversation.Usage), v, total{})
	})
}
