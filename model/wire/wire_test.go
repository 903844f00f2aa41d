package wire_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/model/wire"
	"hindcast/model/wire/wiretest"
)

func TestReadAnswer_readsWhatGenkitSends(t *testing.T) {
	sent := wiretest.Genkit()
	for _, c := range []struct {
		name string
		code wire.Code
		word string
	}{
		{"snapshot", 0, `"messages"`},
		{"metadata-only", 0, `"parentId"`},
		{"text-plain", 0, `"messages"`},
		{"wrong-session", wire.InvalidArgument, "does not belong to session"},
		{"unknown-id", wire.NotFound, "not found"},
		{"neither-id", wire.InvalidArgument, "is required"},
		{"store-fails", wire.Internal, "invalid snapshot ID"},
		{"extra-field", wire.InvalidArgument, "includeOrphaned is not allowed"},
		{"seed-getSnapshot", wire.NotFound, "/session-store/barista/getSnapshot"},
	} {
		var result json.RawMessage
		err := wire.ReadAnswer(strings.NewReader(sent[c.name+"/answer"]), func(dec *json.Decoder) error { return dec.Decode(&result) })
		e := (*wire.Error)(nil)
		switch {
		case c.code == 0 && (err != nil || !strings.Contains(string(result), c.word)):
			t.Errorf("%s: %s, %v", c.name, result, err)
		case c.code != 0 && (!errors.As(err, &e) || e.Code != c.code || !strings.Contains(e.Error(), c.word) || strings.Contains(e.Error(), "\n")):
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if e, ok := wire.ReadError([]byte(sent["values-without-type/answer"])); !ok || e.Code != wire.InvalidArgument || !strings.Contains(e.Message, "query parameter") {
		t.Errorf("an error by itself: %v, %v", e, ok)
	}
	for _, text := range []string{"", "{}", "<html>", sent["health-wrong-id/answer"], `{"message":""}`, `[1]`} {
		if e, ok := wire.ReadError([]byte(text)); ok {
			t.Errorf("%q is taken for the error %v", text, e)
		}
	}
}

// A call of ours is what Genkit's tools send, and the other way round.
func TestReadCall_readsWhatGenkitsToolsSend(t *testing.T) {
	_, body, _ := strings.Cut(wiretest.Genkit()["seed-listSnapshots/request"], "\n\n")
	call, err := wire.ReadCall([]byte(body))
	if err != nil || call.Key != wire.Key("barista", wire.ListSnapshots) || string(call.Input) != `{"sessionId":"sess-main"}` {
		t.Errorf("%+v, %v", call, err)
	}
	again, err := json.Marshal(call)
	if err != nil || string(again) != strings.TrimSpace(body) {
		t.Errorf("it is sent as %s, %v", again, err)
	}
	if _, err := wire.ReadCall([]byte(`{"key":"/a","init":{},"context":null,"telemetryLabels":{"a":"b"},"input":null}`)); err != nil {
		t.Errorf("what tools send besides: %v", err)
	}
	for _, c := range []struct{ body, word string }{
		{``, "unexpected EOF"},
		{`{"key":"/a"`, "unexpected EOF"},
		{`{"key":"/a"} {}`, "more after it"},
		{`{"key":"/a","key":"/b"}`, `"key" is there twice`},
		{`{"KEY":"/a"}`, "key is required"},
		{`{"key":7}`, `"key"`},
		{`["/a"]`, "object was expected"},
		{`null`, "object was expected"},
		{`nonsense`, "invalid character"},
	} {
		if call, err := wire.ReadCall([]byte(c.body)); err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%q: %+v, %v; want %q", c.body, call, err, c.word)
		}
	}
}

func TestReadInput_takesWhatTheSchemaLists(t *testing.T) {
	id := func(s string) *string { return &s }
	for _, c := range []struct {
		action, input string
		want          wire.Input
	}{
		{wire.GetSnapshot, `{"snapshotId":"a"}`, wire.Input{SnapshotID: id("a")}},
		{wire.GetSnapshot, `{"snapshotId":"","sessionId":"","visit":3,"metadataOnly":true}`, wire.Input{SnapshotID: id(""), SessionID: id(""), Visit: 3, MetadataOnly: true}},
		{wire.ListSnapshots, `{"sessionId":"s","includeOrphaned":true,"metadataOnly":false}`, wire.Input{SessionID: id("s"), IncludeOrphaned: true}},
		{wire.GetSession, `{"sessionId":"s"}`, wire.Input{SessionID: id("s")}},
		{wire.GetGrowth, `{"sessionId":"s","visit":3,"rewrites":2}`, wire.Input{SessionID: id("s"), Visit: 3, Rewrites: 2}},
		{wire.ListSessions, ``, wire.Input{}},
		{wire.ListSessions, `null`, wire.Input{}},
		{wire.ListSessions, `{}`, wire.Input{}},
	} {
		got, err := wire.ReadInput(c.action, json.RawMessage(c.input))
		if err != nil || text(t, got) != text(t, c.want) {
			t.Errorf("%s %s: %s, %v", c.action, c.input, text(t, got), err)
		}
	}
	for _, c := range []struct{ action, input, word string }{
		{wire.GetSnapshot, `{"snapshotId":"a","includeOrphaned":true}`, `additional property "includeOrphaned" is not allowed`},
		{wire.GetSnapshot, `{"snapshotid":"a"}`, `additional property "snapshotid" is not allowed`},
		{wire.GetSnapshot, `{"sessionId":"a"}`, "snapshotId is required"},
		{wire.GetSnapshot, `{"snapshotId":null}`, "snapshotId is required"},
		{wire.GetSnapshot, `{"snapshotId":1}`, `"snapshotId"`},
		{wire.GetSnapshot, `{"snapshotId":"a","visit":1.5}`, `"visit"`},
		{wire.ListSnapshots, ``, "sessionId is required"},
		{wire.ListSnapshots, `{"sessionId":"a","sessionId":"b"}`, "there twice"},
		{wire.ListSessions, `{"sessionId":"a"}`, "not allowed"},
		{wire.ListSessions, `[]`, "object was expected"},
		{"toString", `{}`, "no action"},
	} {
		if in, err := wire.ReadInput(c.action, json.RawMessage(c.input)); err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s %s: %s, %v; want %q", c.action, c.input, text(t, in), err, c.word)
		}
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What the schema of an action lists is what ReadInput takes, and the client
// learns it from the schema.
func TestDescribe_schemasAreWhatIsTaken(t *testing.T) {
	values := map[string]string{"snapshotId": `"a"`, "sessionId": `"s"`, "visit": "1", "rewrites": "1", "includeOrphaned": "true", "metadataOnly": "true"}
	for _, name := range wire.Names() {
		d := wire.Describe("chat", name)
		agent, action, ok := wire.ParseKey(d.Key)
		if !ok || agent != "chat" {
			t.Fatalf("the key %q", d.Key)
		}
		takes := d.Takes()
		for name, value := range values {
			input := map[string]json.RawMessage{"snapshotId": json.RawMessage(`"a"`), "sessionId": json.RawMessage(`"s"`)}
			maps.DeleteFunc(input, func(name string, _ json.RawMessage) bool { return !takes[name] })
			input[name] = json.RawMessage(value)
			if _, err := wire.ReadInput(action, json.RawMessage(text(t, input))); (err == nil) != takes[name] {
				t.Errorf("%s takes %s by its schema: %v, and %v", action, name, takes[name], err)
			}
		}
		if !json.Valid(d.OutputSchema) || !json.Valid(d.InputSchema) {
			t.Errorf("a schema of %s is not JSON", action)
		}
	}
	for _, schema := range []string{``, `null`, `true`, `{}`, `{"properties":[]}`, `nonsense`} {
		if takes := (&wire.Descriptor{InputSchema: json.RawMessage(schema)}).Takes(); takes != nil {
			t.Errorf("the schema %q lists %v", schema, takes)
		}
	}
}

// A descriptor has the members that those of Genkit have.
func TestDescribe_hasGenkitsShape(t *testing.T) {
	list, err := wire.ReadActions(strings.NewReader(wiretest.Genkit()["actions.json"]))
	if err != nil || len(list) != 8 {
		t.Fatalf("%d actions, %v", len(list), err)
	}
	theirs := list["/agent-snapshot/barista"]
	if takes := slices.Sorted(maps.Keys(theirs.Takes())); !slices.Equal(takes, []string{"metadataOnly", "sessionId", "snapshotId"}) {
		t.Errorf("it takes %v", takes)
	}
	var members map[string]map[string]json.RawMessage
	if err := json.Unmarshal([]byte(wiretest.Genkit()["actions.json"]), &members); err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(maps.Keys(members["/agent-snapshot/barista"]))
	for _, name := range wire.Names() {
		d := wire.Describe("chat", name)
		var ours map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text(t, d)), &ours); err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(ours)); !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", d.Key, got, want)
		}
	}
}

func TestParseKey(t *testing.T) {
	for _, agent := range []string{"chat", "a b", "..", "é", "session-store"} {
		if got, action, ok := wire.ParseKey(wire.Key(agent, "x")); !ok || got != agent || action != "x" {
			t.Errorf("the key of agent %q is read as %q, %q, %v", agent, got, action, ok)
		}
	}
	for _, key := range []string{"", "/", "/session-store/", "/session-store/chat", "/session-store/chat/", "/session-store//x", "/session-store/a/b/x",
		"/agent/chat", "session-store/chat/x", "/session-store/chat/x/", "/Session-Store/chat/x"} {
		if agent, action, ok := wire.ParseKey(key); ok {
			t.Errorf("%q is read as %q of %q", key, action, agent)
		}
	}
}

func TestReadAnswer_wantsOneAnswer(t *testing.T) {
	for _, c := range []struct {
		text string
		want error
		word string
	}{
		{``, io.ErrUnexpectedEOF, ""},
		{`{"result":[1`, io.ErrUnexpectedEOF, ""},
		{`{"result":[1,2]`, io.ErrUnexpectedEOF, ""},
		{`{"telemetry":{}}`, wire.ErrNoAnswer, ""},
		{`{"RESULT":[]}`, wire.ErrNoAnswer, ""},
		{`{"result":[]}{}`, nil, "more after it"},
		{`{"result":[],"result":[]}`, nil, "twice"},
		{`{"result":{}}`, nil, "array was expected"},
		{`"text"`, nil, "object was expected"},
		{`<html>`, nil, "invalid character"},
		{`{"error":{"code":5,"message":"m"},"result":[]}`, nil, "m (code 5)"},
		{`{"result":[],"error":{"code":13,"message":"\u001b[31m"}}`, nil, "^[[31m (code 13)"},
		{`{"error":{"code":13,"message":"` + strings.Repeat("x", 10_000) + `"}}`, nil, "x… (code 13)"},
	} {
		err := wire.ReadAnswer(strings.NewReader(c.text), func(dec *json.Decoder) error {
			return wire.ReadList(dec, func(dec *json.Decoder) error { return dec.Decode(new(int)) })
		})
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.word) || len(err.Error()) > 1000 {
			t.Errorf("%.60s: %v", c.text, err)
		}
	}
	var got []int
	for _, list := range []string{"null", "[]", "[1, 2]"} {
		err := wire.ReadAnswer(strings.NewReader(`{"error":null,"more":{"a":[]},"result":`+list+"}\n"), func(dec *json.Decoder) error {
			return wire.ReadList(dec, func(dec *json.Decoder) error { got = append(got, 0); return dec.Decode(&got[len(got)-1]) })
		})
		if err != nil {
			t.Errorf("%s: %v", list, err)
		}
	}
	if !slices.Equal(got, []int{1, 2}) {
		t.Errorf("the lists hold %v", got)
	}
}

func TestError_isWhatItsReasonSays(t *testing.T) {
	targets := []error{model.ErrNoSession, model.ErrNoSnapshot, model.ErrAmbiguous, model.ErrHeadMoved}
	for reason, want := range map[wire.Reason]error{wire.NoSession: targets[0], wire.NoSnapshot: targets[1], wire.Ambiguous: targets[2], "": nil, "other": nil} {
		sent := wire.AppendError(nil, &wire.Error{Code: 5, Message: "m", Details: wire.Details{Reason: reason}})
		err := wire.ReadAnswer(strings.NewReader(string(sent)), nil)
		for _, target := range targets {
			if errors.Is(err, target) != (target == want) {
				t.Errorf("reason %q is %v: %v", reason, target, errors.Is(err, target))
			}
		}
	}
}

// States are kept byte for byte, and null is a state.
func TestSnapshot_roundTrip(t *testing.T) {
	for _, state := range []string{"null", `{"a":"<&>","a":1.50}`, "[\n 1 ]", " [ ]\r\n", `"\u003c"`, "\"\xff\""} {
		s := wire.Snapshot{State: json.RawMessage(state), Header: model.Header{
			ID: "i", ParentID: "p", SessionID: "s", CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Index: 3, TurnIndex: 2,
			Event: 1, Visit: 4, ParentVisit: 3, Size: 9, Orphaned: true, Reason: &model.Reason{Kind: model.ReasonRestore, TargetID: "x"},
		}}
		record := wire.Record{ID: "<s>", State: json.RawMessage(state), LastSnapshot: &s, TurnIndex: 7}
		sent, err := record.Append([]byte(" "))
		if err != nil {
			t.Fatal(err)
		}
		var got wire.Record
		if err := json.Unmarshal(sent, &got); err != nil {
			t.Fatalf("%s: %v", sent, err)
		}
		if got.ID != "<s>" || got.TurnIndex != 7 || string(got.State) != state || string(got.LastSnapshot.State) != state {
			t.Errorf("%s came back as %+v", sent, got)
		}
		if *got.LastSnapshot.Header.Reason != *s.Header.Reason {
			t.Errorf("the reason came back as %+v", got.LastSnapshot.Header.Reason)
		}
		got.LastSnapshot.Header.Reason, s.Header.Reason = nil, nil
		if got.LastSnapshot.Header != s.Header {
			t.Errorf("the header came back as %+v", got.LastSnapshot.Header)
		}
	}
	var s wire.Snapshot
	if err := json.Unmarshal([]byte(`{"id":"i","State":1}`), &s); err != nil || s.State != nil {
		t.Errorf("a snapshot without a state has %q, %v", s.State, err)
	}
	for _, bad := range []string{`null`, `[]`, `{"state":1,"state":2}`, `{"id":7}`, `{"state":1,"stateBase64":"Mg=="}`, `{"stateBase64":"Mg=="}`, `{"stateBase64":""}`, `{"state":1,"stateBase64":"?"}`} {
		if err := json.Unmarshal([]byte(bad), &s); err == nil {
			t.Errorf("%s is read as %+v", bad, s)
		}
	}
}

func TestReadState(t *testing.T) {
	for _, c := range []struct{ text, id, state, word string }{
		{`{"id":"a","index":3,"state": [1, 2] ,"more":{}}`, "a", "[1, 2]", ""},
		{`{"stateBase64":"IDEK","state":1,"id":"a"}`, "a", " 1\n", ""},
		{`{"id":"a"}`, "a", "", ""},
		{`null`, "", "", ""},
		{`{"id":"a","state":1,"state":1}`, "", "", "twice"},
		{`{"id":"a","state":1,"stateBase64":"Mg=="}`, "", "", "another state"},
		{`{"id":7}`, "", "", `"id"`},
		{`[]`, "", "", "object was expected"},
		{`{"id":"a","state":`, "", "", "unexpected EOF"},
	} {
		id, state, err := wire.ReadState(json.NewDecoder(strings.NewReader(c.text)))
		if c.word != "" {
			if err == nil || !strings.Contains(err.Error(), c.word) {
				t.Errorf("%s: %v", c.text, err)
			}
		} else if err != nil || id != c.id || string(state) != c.state {
			t.Errorf("%s: %q, %q, %v", c.text, id, state, err)
		}
	}
}

// Whatever a server answers, reading it ends, and what is read can be sent on.
func FuzzReadAnswer(f *testing.F) {
	for name, text := range wiretest.Genkit() {
		if strings.HasSuffix(name, "/answer") {
			f.Add([]byte(text))
		}
	}
	f.Add([]byte(`{"result":[{"id":"a","sessionId":"s","state":[1 ],"visit":2,"reason":{"kind":"restore"}}],"telemetry":{"traceId":""}}`))
	f.Add([]byte(`{"result":{"id":"a","state":null,"lastSnapshot":{"id":"b","state":{}}}}`))
	f.Add([]byte(`{"result":[{"id":"a","sessionId":"s","state": 1 ,"stateBase64":"IDEg"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var snapshots []wire.Snapshot
		_ = wire.ReadAnswer(strings.NewReader(string(data)), func(dec *json.Decoder) error {
			return wire.ReadList(dec, func(dec *json.Decoder) error {
				snapshots = append(snapshots, wire.Snapshot{})
				return dec.Decode(&snapshots[len(snapshots)-1])
			})
		})
		headers := make([]model.Header, len(snapshots))
		for i, s := range snapshots {
			headers[i] = s.Header
			sent, err := s.Append(nil)
			if err != nil {
				continue
			}
			var again wire.Snapshot
			if err := json.Unmarshal(sent, &again); err != nil || string(again.State) != string(s.State) {
				t.Errorf("%s came back as %+v, %v", sent, again, err)
			}
		}
		model.NewTimeline(headers)
		var record *wire.Record
		_ = wire.ReadAnswer(strings.NewReader(string(data)), func(dec *json.Decoder) error { return dec.Decode(&record) })
		if e, ok := wire.ReadError(data); ok {
			_ = e.Error()
		}
		_, _ = wire.ReadActions(strings.NewReader(string(data)))
	})
}
