package agentframework_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/kinds/agentframework"
	"hindcast/store/storetest"
)

func recorded(name string) string {
	return filepath.Join("..", "..", "..", "testdata", "agent-framework", name)
}

func open(t *testing.T, dir string) storetest.Writer {
	return storetest.AsWriter(storetest.OpenStore(t, agentframework.Kind(nil).Kind, dir))
}

// with returns a store with files.
func with(t *testing.T, files map[string]string) (dir string, s storetest.Writer) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, open(t, dir)
}

// readCheckpoint returns a small one, with members changed or added.
func readCheckpoint(t *testing.T, id, previous, stamp string, more map[string]any) string {
	t.Helper()
	c := map[string]any{
		"workflow_name": "w", "graph_signature_hash": "g", "checkpoint_id": id, "previous_checkpoint_id": nil, "timestamp": stamp,
		"messages": map[string]any{}, "state": map[string]any{}, "pending_request_info_events": map[string]any{}, "iteration_count": 0, "metadata": map[string]any{}, "version": "1.0",
	}
	if previous != "" {
		c["previous_checkpoint_id"] = previous
	}
	maps.Copy(c, more)
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The checkpoints of a workflow that a person answered twice, as the SDK wrote them.
func TestHeaders_workflow(t *testing.T) {
	var got []string
	for _, h := range storetest.Headers(t, open(t, recorded("checkpoints")), "bestellung") {
		got = append(got, fmt.Sprintf("%.8s after %.8s: %s, %s, off the path %t, interrupted %t", h.ID, h.ParentID, h.EventText(), h.Title, h.Orphaned, h.Marks.Has(model.MarkInterrupted)))
	}
	want := []string{
		"f5135089 after : input, Äpfel, off the path false, interrupted false",
		"ed56b2a4 after f5135089: take, item Äpfel, n 3, when 2026-01-02T00:00:00.000000+00:00, oid int 7, off the path false, interrupted false",
		"83903904 after ed56b2a4: asks, question Äpfel freigeben? ✅, off the path false, interrupted true",
		"778ab8c8 after 83903904: answer, true, off the path true, interrupted false",
		"38b613f7 after 778ab8c8: approve, ja, off the path true, interrupted false",
		"7ca0e448 after 38b613f7: turn end, no messages are left, off the path true, interrupted false",
		"2fa72828 after 83903904: answer, false, off the path false, interrupted false",
		"da775ec4 after 2fa72828: approve, nein, off the path false, interrupted false",
		"089fac6c after da775ec4: turn end, no messages are left, off the path false, interrupted false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A state is the members that are not of the checkpoint itself, with what is in the pickles.
func TestState_ofPickles(t *testing.T) {
	s := open(t, recorded("checkpoints"))
	got, err := s.State(t.Context(), model.Ref{Session: "bestellung", ID: "83903904-73b1-4352-af84-53c138cc5f5b"})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"messages":{},"state":{"_workflow_run_kwargs":{},"_resolved_workflow_run_kwargs":{},"_routed_workflow_run_kwargs":{},` +
		`"_executor_state":{"take":{},"approve":{},"ship":{}},"größe":{"set":{"$py":"builtins.set","value":[1,2]},"bytes":{"$bytes":"AP8="},"text":"žluťoučký 🐎"}},` +
		`"pending_request_info_events":{"75ec611d-6671-4607-b7b6-f861ef331a1f":{"$py":"agent_framework._workflows._events.WorkflowEvent","type":"request_info",` +
		`"data":{"$py":"maf_gen.Ask","question":"Äpfel freigeben? ✅"},"origin":{"$py":"agent_framework._workflows._events.WorkflowEventSource","value":"EXECUTOR"},` +
		`"_request_id":"75ec611d-6671-4607-b7b6-f861ef331a1f","_source_executor_id":"approve","_request_type":{"$global":"maf_gen.Ask"},"_response_type":{"$global":"builtins.bool"}}},` +
		`"iteration_count":2,"metadata":{}}`
	if string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// The call answers what is asked, and names the types that the SDK loads only if they are allowed.
func TestResume_ofARequest(t *testing.T) {
	s := open(t, recorded("checkpoints"))
	calls, err := s.Features().Resume(t.Context(), model.Ref{Session: "bestellung", ID: "83903904-73b1-4352-af84-53c138cc5f5b"})
	if err != nil || len(calls) != 2 {
		t.Fatalf("%+v, %v", calls, err)
	}
	for _, part := range []string{`checkpoint_id="83903904-73b1-4352-af84-53c138cc5f5b"`, `allowed_checkpoint_types=["maf_gen:Ask"]`, `responses={"75ec611d-6671-4607-b7b6-f861ef331a1f": …}`} {
		if !strings.Contains(calls[0].Call, part) {
			t.Errorf("%s is not in %s", part, calls[0].Call)
		}
	}
}

// What a checkpoint is put back by differs from it in its id and its time alone.
func TestRestore_copies(t *testing.T) {
	dir := storetest.Copy(t, recorded("checkpoints"))
	s := open(t, dir)
	const id = "83903904-73b1-4352-af84-53c138cc5f5b"
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "bestellung", ID: id}})
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := s.Apply(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	was, err := os.ReadFile(filepath.Join(dir, id+".json"))
	made, failed := os.ReadFile(filepath.Join(dir, receipt.Head.ID+".json"))
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	a, b := strings.Split(string(was), "\n"), strings.Split(string(made), "\n")
	if len(a) != len(b) {
		t.Fatalf("%s\nis\n%s", was, made)
	}
	var other []string
	for i := range a {
		if a[i] != b[i] {
			key, _, _ := strings.Cut(strings.TrimSpace(a[i]), ":")
			other = append(other, key)
		}
	}
	if !slices.Equal(other, []string{`"checkpoint_id"`, `"timestamp"`}) {
		t.Errorf("%q are others", other)
	}
}

// A copy is the latest also where a checkpoint is dated ahead of the clock.
func TestRestore_aheadOfTheClock(t *testing.T) {
	_, s := with(t, map[string]string{
		"a.json": readCheckpoint(t, "a", "", "2026-01-02T03:04:05.000001+00:00", nil),
		"b.json": readCheckpoint(t, "b", "a", "2999-01-02T03:04:05.999999+00:00", nil),
	})
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "w", ID: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(plan.Hazards, "\n"), "ahead of the clock") {
		t.Errorf("%q", plan.Hazards)
	}
	receipt, err := s.Apply(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	headers := storetest.Headers(t, s, "w")
	if head := headers[len(headers)-1]; head.ID != receipt.Head.ID || head.CreatedAt.Year() != 2999 || head.ParentID != "" {
		t.Errorf("%+v", head)
	}
}

// What the SDK could not go on from is refused, and doctor says what the SDK does.
func TestFaults(t *testing.T) {
	const at = "2026-01-02T03:04:05.000001+00:00"
	leaf := map[string]any{"x": map[string]any{"__pickled__": "gAWVgg==", "__type__": "m:C"}}
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
		// refuses says that no checkpoint is put back.
		refuses bool
	}{
		"no time":             {map[string]string{"a.json": readCheckpoint(t, "a", "", "yesterday", nil)}, []string{"checkpoint-time stops"}, true},
		"times without zones": {map[string]string{"a.json": readCheckpoint(t, "a", "", at, nil), "b.json": readCheckpoint(t, "b", "", "2026-01-02T03:04:05", nil)}, []string{"checkpoint-time stops"}, true},
		"another name":        {map[string]string{"x.json": readCheckpoint(t, "a", "", at, nil)}, []string{"checkpoint-name loses"}, false},
		"unknown members":     {map[string]string{"a.json": readCheckpoint(t, "a", "", at, map[string]any{"new": 1})}, []string{"unknown-members loses"}, true},
		"a damaged pickle":    {map[string]string{"a.json": readCheckpoint(t, "a", "", at, map[string]any{"state": leaf})}, []string{"damaged-pickle loses"}, true},
		"a pruned parent":     {map[string]string{"a.json": readCheckpoint(t, "a", "gone", at, nil)}, []string{"missing-parent odd"}, false},
	} {
		_, s := with(t, c.files)
		var got []string
		for _, f := range storetest.Faults(t, s, "w") {
			got = append(got, f.Code+" "+f.Severity.String())
		}
		if slices.Sort(got); !slices.Equal(slices.Compact(got), c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		for _, h := range storetest.Headers(t, s, "w") {
			if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: h.Ref()}); !h.Head && errors.As(err, new(*model.UnsupportedError)) != c.refuses {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// get_latest passes over what it cannot load: the head is the newest of the others.
func TestHead_loads(t *testing.T) {
	const at = "2026-01-0%dT03:04:05.000001+00:00"
	leaf := map[string]any{"x": map[string]any{"__pickled__": "gAWVgg==", "__type__": "m:C"}}
	_, s := with(t, map[string]string{
		"a.json": readCheckpoint(t, "a", "", fmt.Sprintf(at, 1), nil),
		"b.json": readCheckpoint(t, "b", "a", fmt.Sprintf(at, 2), nil),
		"c.json": readCheckpoint(t, "c", "b", fmt.Sprintf(at, 3), map[string]any{"state": leaf}),
		"d.json": readCheckpoint(t, "d", "c", fmt.Sprintf(at, 4), map[string]any{"new": 1}),
	})
	var heads []string
	for _, h := range storetest.Headers(t, s, "w") {
		if h.Head {
			heads = append(heads, h.ID)
		}
	}
	if !slices.Equal(heads, []string{"b"}) {
		t.Errorf("%q", heads)
	}
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "w", ID: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := s.Apply(t.Context(), plan)
	headers := storetest.Headers(t, s, "w")
	if err != nil || !headers[len(headers)-1].Head || headers[len(headers)-1].ID != receipt.Head.ID {
		t.Errorf("%+v, %v", headers[len(headers)-1], err)
	}
}

// Files that cannot be read are told of, and the others are shown.
func TestFaults_ofTheStore(t *testing.T) {
	_, s := with(t, map[string]string{
		"a.json":   readCheckpoint(t, "a", "", "2026-01-02T03:04:05.000001+00:00", nil),
		"b.json":   `{"workflow_name":`,
		"c.json":   `{"other":1}`,
		"d.jsonl":  `{"type":"message","role":"user","contents":[{"type":"text","text":"hi"}]}` + "\nnot a message\n",
		".x.jsonl": "",
	})
	var got []string
	for _, f := range storetest.Faults(t, s, "") {
		got = append(got, f.File+": "+f.Code)
	}
	if want := []string{"b.json: unreadable-checkpoint", "d.jsonl: unreadable-checkpoint"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var sessions []string
	for _, info := range storetest.Sessions(t, s) {
		sessions = append(sessions, info.ID)
	}
	if slices.Sort(sessions); !slices.Equal(sessions, []string{"d.jsonl", "w"}) {
		t.Errorf("%q", sessions)
	}
}

// Nothing that a pickle names is run, and its bytes are not in the state.
func TestState_hostile(t *testing.T) {
	// cos\nsystem\n(S'id'\ntR.
	leaf := map[string]any{"x": map[string]any{"__pickled__": "Y29zCnN5c3RlbQooUydpZCcKdFIu", "__type__": "builtins:int"}}
	_, s := with(t, map[string]string{"a.json": readCheckpoint(t, "a", "", "2026-01-02T03:04:05.000001+00:00", map[string]any{"state": leaf})})
	got, err := s.State(t.Context(), model.Ref{Session: "w", ID: "a"})
	if err != nil || !bytes.Contains(got, []byte(`"x":{"$py":"os.system","value":"id"}`)) {
		t.Errorf("%s, %v", got, err)
	}
}

// Python writes NaN into JSON, and the SDK reads it: the checkpoint is shown, and put back as it is.
func TestState_noNumbers(t *testing.T) {
	const state = `"x": [NaN, -Infinity]`
	text := strings.Replace(readCheckpoint(t, "a", "", "2026-01-02T03:04:05.000001+00:00", nil), `"state": {}`, `"state": {`+state+`}`, 1)
	dir, s := with(t, map[string]string{
		"a.json":  text,
		"b.json":  readCheckpoint(t, "b", "a", "2026-01-03T03:04:05.000001+00:00", nil),
		"h.jsonl": `{"type":"message","role":"user","contents":[{"type":"text","text":"hi"}],"x":NaN}` + "\n",
	})
	if faults := append(storetest.Faults(t, s, ""), storetest.Faults(t, s, "w")...); len(faults) > 0 {
		t.Errorf("%+v", faults)
	}
	got, err := s.State(t.Context(), model.Ref{Session: "w", ID: "a"})
	if err != nil || !jsontape.Valid(got) || !bytes.Contains(got, []byte(`[{"$float":"NaN"},{"$float":"-Inf"}]`)) {
		t.Errorf("%s, %v", got, err)
	}
	if got, err = s.State(t.Context(), storetest.Headers(t, s, "h.jsonl")[0].Ref()); err != nil || !jsontape.Valid(got) {
		t.Errorf("%s, %v", got, err)
	}
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "w", ID: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := s.Apply(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if made, err := os.ReadFile(filepath.Join(dir, receipt.Head.ID+".json")); err != nil || !bytes.Contains(made, []byte(state)) {
		t.Errorf("%s, %v", made, err)
	}
}

// The SDK loads a class by its module and its whole name, which has dots where it is in another.
func TestResume_nestedClass(t *testing.T) {
	// pickle.dumps(m.Outer.Inner()), where that is an empty class.
	leaf := map[string]any{"x": map[string]any{"__pickled__": "gAWVGgAAAAAAAACMA2EubZSMC091dGVyLklubmVylJOUKYGULg==", "__type__": "a.m:Outer.Inner"}}
	_, s := with(t, map[string]string{"a.json": readCheckpoint(t, "a", "", "2026-01-02T03:04:05.000001+00:00", map[string]any{"state": leaf})})
	calls, err := s.Features().Resume(t.Context(), model.Ref{Session: "w", ID: "a"})
	if err != nil || len(calls) == 0 || !strings.Contains(calls[0].Call, `allowed_checkpoint_types=["a.m:Outer.Inner"]`) {
		t.Errorf("%+v, %v", calls, err)
	}
}

// An id that is no portable name of a file is in base32 in it, and a long one only as its hash. The
// call names the id, which the SDK makes the same name of.
func TestResume_sessionID(t *testing.T) {
	const line = `{"type":"message","role":"user","contents":[{"type":"text","text":"hi"}]}` + "\n"
	for name, want := range map[string]string{
		"plain-1": `session_id="plain-1"`, "~session-jn2w4zdfeawq": `session_id="Kunde -"`, "~session--0f0f": `session_id=…`, "~session-1": `session_id=…`,
	} {
		_, s := with(t, map[string]string{name + ".jsonl": line, name + ".json": `{"type":"session","session_id":"inside","service_session_id":null,"state":{},"version":"1.0"}`})
		calls, err := s.Features().Resume(t.Context(), storetest.Headers(t, s, name+".jsonl")[0].Ref())
		if err != nil || len(calls) != 1 || !strings.Contains(calls[0].Call, want) {
			t.Errorf("%s: %+v, %v", name, calls, err)
		}
		calls, err = s.Features().Resume(t.Context(), storetest.Headers(t, s, name+".json")[0].Ref())
		if want = strings.TrimPrefix(want, "session_id="); err != nil || len(calls) != 1 || !strings.HasSuffix(calls[0].Call, ".get("+want+")") {
			t.Errorf("%s: %+v, %v", name, calls, err)
		}
	}
}

// What the SDK writes in MessagePack is what it writes in JSON.
func TestPacked(t *testing.T) {
	for _, c := range []struct{ of, plain string }{{"history", "tour.jsonl"}, {"sessions", "tour.json"}} {
		s, written := open(t, filepath.Join("testdata", c.of)), open(t, recorded(c.of))
		list, same := storetest.Headers(t, s, "tour.msgpack"), storetest.Headers(t, written, c.plain)
		if len(list) != len(same) || len(list) == 0 {
			t.Fatalf("%s: %d snapshots and %d", c.of, len(list), len(same))
		}
		for i, h := range list {
			state, err := s.State(t.Context(), h.Ref())
			want, failed := written.State(t.Context(), same[i].Ref())
			var x, y any
			err = errors.Join(err, failed, json.Unmarshal(state, &x), json.Unmarshal(want, &y))
			if err != nil || !reflect.DeepEqual(x, y) || h.Title != same[i].Title || h.Event != same[i].Event || int(h.Size) != len(state) {
				t.Errorf("%s #%d is %+v,\n%s\nand in JSON %+v\n%s, %v", c.of, i, h, state, same[i], want, err)
			}
		}
		calls, err := s.Features().Resume(t.Context(), list[0].Ref())
		if err != nil || len(calls) != 1 || !strings.Contains(calls[0].Call+calls[0].Then, c.of+`", serialization_format="msgpack")`) {
			t.Errorf("%s: %+v, %v", c.of, calls, err)
		}
	}
}

// A history in MessagePack ends where it was cut, or where a message is damaged.
func TestPacked_damaged(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("testdata", "history", "tour.msgpack"))
	if err != nil {
		t.Fatal(err)
	}
	second := 4 + int(whole[3])
	for what, data := range map[string][]byte{
		"a message cut":  whole[:second+20],
		"a length cut":   whole[:second+2],
		"a length of 0":  append(whole[:second:second], 0, 0, 0, 0),
		"a great length": append(whole[:second:second], 4, 0, 0, 1, 'x'),
		"no map":         append(whole[:second:second], 0, 0, 0, 1, 0xc1),
	} {
		_, s := with(t, map[string]string{"h.msgpack": string(data)})
		if list := storetest.Headers(t, s, "h.msgpack"); len(list) != 1 {
			t.Errorf("%s: %d messages", what, len(list))
		}
		if faults := storetest.Faults(t, s, ""); len(faults) != 1 || !strings.Contains(faults[0].Meaning, "line 2 is no message") {
			t.Errorf("%s: %+v", what, faults)
		}
	}
}

// A history ends with tool calls that wait, and is only read.
func TestHistory_open(t *testing.T) {
	_, s := with(t, map[string]string{"h.jsonl": `{"type":"message","role":"user","contents":[{"type":"text","text":"weather?"}]}
{"type":"message","role":"assistant","contents":[{"type":"function_call","call_id":"c1","name":"weather","arguments":"{}"}]}
`})
	headers := storetest.Headers(t, s, "h.jsonl")
	if len(headers) != 2 || headers[1].EventName != "assistant" || headers[1].Title != "weather" && !strings.Contains(headers[1].Title, "weather") {
		t.Errorf("%+v", headers)
	}
	if faults := storetest.Faults(t, s, "h.jsonl"); len(faults) != 1 || faults[0].Code != agentframework.FaultCalls {
		t.Errorf("%+v", faults)
	}
	for _, op := range []model.Op{model.OpRestore, model.OpFork} {
		if s.Lacks(op) == "" {
			t.Errorf("a history can be changed: %s", op)
		}
	}
}

// Whatever a file holds, a folder with it can be listed, and its states are JSON.
func FuzzDecode(f *testing.F) {
	extensions := []string{".json", ".jsonl", ".msgpack"}
	for _, dir := range []string{recorded("checkpoints"), recorded("agents"), recorded("history"), recorded("sessions"), "testdata/history", "testdata/sessions"} {
		for i, extension := range extensions {
			files, err := filepath.Glob(filepath.Join(dir, "*"+extension))
			if err != nil {
				f.Fatal(err)
			}
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					f.Fatal(err)
				}
				f.Add(data, uint8(i))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, is uint8) {
		name := "a" + extensions[int(is)%len(extensions)]
		_, s := with(t, map[string]string{name: string(data)})
		for info, err := range s.Sessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			for h, err := range s.Headers(t.Context(), info.ID) {
				if err != nil {
					t.Fatal(err)
				}
				if state, err := s.State(t.Context(), h.Ref()); err != nil || !jsontape.Valid(state) {
					t.Errorf("the state is %.200q, %v", state, err)
				}
			}
		}
	})
}
