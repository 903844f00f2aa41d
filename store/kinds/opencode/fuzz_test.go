package opencode

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
	"hindcast/store/storetest"
)

// FuzzDecodeMessage: whatever a row holds, the message becomes JSON that has the row's text.
func FuzzDecodeMessage(f *testing.F) {
	f.Add([]byte(`{"role":"user","time":{"created":1795346337464}}`), []byte(`{"type":"text","text":"first question"}`))
	f.Add([]byte(`{"role":"assistant","modelID":"m","tokens":{"total":2445,"input":2418,"output":7,"cache":{"read":20}},"cost":0.1,"finish":"stop"}`),
		[]byte(`{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{"command":"ls"},"output":"a","time":{"compacted":1}}}`))
	f.Add([]byte(`{"role":"assistant","error":{"name":"APIError","data":{"message":"busy"}}}`), []byte(`{"type":"tool","state":{"status":"error","error":"no"}}`))
	f.Add([]byte(`{"role"`), []byte(`{"type":"reasoning","text":1}`))
	f.Add([]byte(`{ }`), []byte(`{"type":"step-start"}`))
	f.Fuzz(func(t *testing.T, info, data []byte) {
		m := stored{id: "msg_1", info: withIDs(info, "id", "msg_1"), parts: []part{{"prt_1", data}, {"prt_2", data}}}
		list := m.sentMessages()
		var text []byte
		for i := range list {
			text = list[i].AppendJSON(text[:0])
			if !jsontape.Valid(text) {
				t.Fatalf("it is no JSON: %s", text)
			}
			if i == 0 && jsontape.Valid(data) && bytes.Count(text, data) < 2 {
				t.Fatalf("a record is lost: %s", text)
			}
		}
		wholeSaid(list)
		b := build{session: &chat.Session{}, unknown: map[string]int{}, list: []found{{stored: m, origin: origin{id: "msg_1"}}}}
		b.makeEntries()
		if len(b.session.Entries) != 1 {
			t.Fatalf("it has %d entries", len(b.session.Entries))
		}
	})
}

// FuzzDecodeEvent: whatever the log of events holds, it is read.
func FuzzDecodeEvent(f *testing.F) {
	f.Add("message.updated.1", []byte(`{"sessionID":"s","info":{"id":"msg_1","time":{"created":1}}}`))
	f.Add("message.part.updated.1", []byte(`{"sessionID":"s","part":{"id":"prt_1","messageID":"msg_1"}}`))
	f.Add("message.removed.1", []byte(`{"sessionID":"s","messageID":"msg_1"}`))
	f.Add("message.part.removed.1", []byte(`{"messageID":"msg_1","partID":"prt_1"}`))
	f.Add("session.updated.1", []byte(`{"info":{"time":{"updated":1795346353289}}}`))
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		log := fold{messages: map[string]*history{}, unknown: map[string]int{}}
		for seq := range int64(3) {
			log.addEvent(seq+1, kind, data)
			log.addEvent(seq+1, "message.part.updated.1", []byte(`{"part":{"id":"p","messageID":"m"}}`))
		}
		if len(log.order) != len(log.messages) || log.messages["m"] == nil {
			t.Fatalf("of the messages %v %v are in order", log.messages, log.order)
		}
	})
}

// FuzzDecodeExport: each message of an export that is JSON is in a state.
func FuzzDecodeExport(f *testing.F) {
	f.Add([]byte(`{"info":{"id":"ses_1","title":"a"},"messages":[{"info":{"id":"msg_1","role":"user"},"parts":[{"id":"prt_1","type":"text","text":"hi"}]}]}`))
	f.Add([]byte(`{"info":{"revert":{"messageID":"msg_1"}},"messages":[{"info":{"id":"msg_1"}},{"info":{"id":"msg_1"}},3,null,[]]}`))
	f.Add([]byte(`{"info":`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := filepath.Join(t.TempDir(), exports)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "ses_1.json"), data)
		s, err := Kind(nil).Open(t.Context(), filepath.Dir(dir))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		tape, err := jsontape.Parse(data)
		if err != nil {
			return
		}
		want := 0
		if list := tape.Lookup("messages"); list >= 0 && tape.Kind(list) == jsontape.Array {
			want = tape.Count(list)
		}
		if want == 0 {
			return
		}
		headers := storetest.Headers(t, s, "ses_1")
		if len(headers) < want {
			t.Fatalf("it has %d of %d messages", len(headers), want)
		}
		if _, err := s.State(t.Context(), headers[len(headers)-1].Ref()); err != nil {
			t.Fatal(err)
		}
	})
}
