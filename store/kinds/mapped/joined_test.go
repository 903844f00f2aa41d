package mapped_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/kinds/mapped"
)

// With messages=append a state holds the messages of its row and of the rows before it: those before in the file, or those that
// parents lead to. A row may have several messages, or none.
func TestRead_messages(t *testing.T) {
	for name, c := range map[string]struct{ words, text, want string }{
		"in order":     {"messages=append,id=id", `[{"id":"a","m":1},{"id":"b","m":2}]`, `a {"messages":[{"id":"a","m":1}]}; b {"messages":[{"id":"a","m":1},{"id":"b","m":2}]}`},
		"of a part":    {"messages=append,id=id,state=m", `[{"id":"a","m":{"x":1}},{"id":"b","m":{"x":2}}]`, `a {"messages":[{"x":1}]}; b {"messages":[{"x":1},{"x":2}]}`},
		"lists":        {"messages=append,id=id,state=m", `[{"id":"a","m":[]},{"id":"b","m":[1, 2]},{"id":"c","m":[ ]},{"id":"d","m":[3]}]`, `a {"messages":[]}; b {"messages":[1, 2]}; c {"messages":[1, 2]}; d {"messages":[1, 2,3]}`},
		"in texts":     {"messages=append,id=id,state=m|fromjson", `[{"id":"a","m":"[1]"},{"id":"b","m":"{\"x\":2}"}]`, `a {"messages":[1]}; b {"messages":[1,{"x":2}]}`},
		"branches":     {"messages=append,id=id,parent=p,state=m", `[{"id":"a","m":1},{"id":"b","p":"a","m":2},{"id":"c","p":"a","m":3}]`, `a {"messages":[1]}; b {"messages":[1,2]}; c {"messages":[1,3]}`},
		"a circle":     {"messages=append,id=id,parent=p,state=m", `[{"id":"a","p":"b","m":1},{"id":"b","p":"a","m":2}]`, ``},
		"newest first": {"messages=append,id=id,time=t,state=m", `[{"id":"b","t":2000000000,"m":2},{"id":"a","t":1900000000,"m":1}]`, `a {"messages":[1]}; b {"messages":[1,2]}`},
		"an answer":    {"id=id,state=in,answer=out", `[{"id":"a","in":[1],"out":{"x":2}},{"id":"b","in":[1,3]}]`, `a {"messages":[1,{"x":2}]}; b {"messages":[1,3]}`},
		"both":         {"messages=append,id=id,state=in,answer=out", `[{"id":"a","in":1,"out":[2]},{"id":"b","in":3,"out":[4]}]`, `a {"messages":[1,2]}; b {"messages":[1,2,3,4]}`},
	} {
		m := parse(t, c.words)
		var list []string
		for _, row := range mustRead(t, m, c.text) {
			list = append(list, row.Header.ID+" "+string(row.State))
			if row.Header.Size != int64(len(row.State)) && name != "a circle" {
				t.Errorf("%s: the size of %s is %d, of %d", name, row.Header.ID, row.Header.Size, len(row.State))
			}
		}
		if got := strings.Join(list, "; "); c.want != "" && got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// Without an id each row has one of its own, also of a message that is there twice.
func TestRead_messagesWithoutIDs(t *testing.T) {
	rows := mustRead(t, parse(t, "messages=append"), `[{"role":"user","content":"yes"},{"role":"assistant","content":"no"},{"role":"user","content":"yes"}]`)
	if len(rows) != 3 || rows[0].Header.ID == rows[2].Header.ID || rows[2].Header.ParentID != rows[1].Header.ID || rows[2].Header.Title != "yes" {
		t.Errorf("%+v", rows)
	}
}

// A chat of the AI SDK, and spans of its calls by OpenTelemetry, have the same conversation.
func TestOpen_conversations(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for file, is := range map[string]struct {
		words    string
		messages int
	}{"ai-sdk.json": {"messages=append,id=id", 6}, "otlp.jsonl": {"rows=$.resourceSpans[*].scopeSpans[*].spans[*],where=attributes[?@.key=='gen_ai.operation.name'].value.stringValue==chat," +
		"session='chat',id=spanId,time=startTimeUnixNano,event=name,state=attributes[?@.key=='gen_ai.input.messages'].value.stringValue|fromjson," +
		"answer=attributes[?@.key=='gen_ai.output.messages'].value.stringValue|fromjson", 8}} {
		if !strings.Contains(string(page), "`"+is.words+"`") {
			t.Errorf("the page does not have %s", is.words)
		}
		s, err := mapped.Open(t.Context(), filepath.Join(fixtures, file), parse(t, is.words))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for info := range s.Sessions(t.Context()) {
			if info.Title != "hello" {
				t.Errorf("%s is called %q", file, info.Title)
			}
			faults, err := s.Faults(t.Context(), info.ID)
			for _, f := range faults {
				t.Errorf("%s: %+v", file, f)
			}
			if err != nil {
				t.Error(err)
			}
			var last model.Header
			for h := range s.Headers(t.Context(), info.ID) {
				last = h
			}
			state, err := s.State(t.Context(), last.Ref())
			if err != nil {
				t.Fatal(err)
			}
			tape, err := jsontape.Parse(state)
			if err != nil {
				t.Fatal(err)
			}
			var calls, failed int
			c := conversation.Decode(tape)
			for b := range c.BlockLen() {
				switch block := c.Block(b); block.Kind {
				case conversation.ToolCall:
					calls++
					if c.ToolName(block) != "weather" || block.Pair < 0 {
						t.Errorf("%s: a call of %s", file, c.ToolName(block))
					}
				case conversation.ToolResult:
					if block.Status == conversation.Failed {
						failed++
					}
				case conversation.Unknown:
					t.Errorf("%s: %s", file, c.Label(block))
				}
			}
			if c.Len() != is.messages || calls != 2 || last.Title != "You are welcome." || failed != 1 && file == "ai-sdk.json" {
				t.Errorf("%s: %d messages, %d calls, %d failed, %q", file, c.Len(), calls, failed, last.Title)
			}
		}
	}
}

// All states of a session are handed over with each message once.
func TestWeave(t *testing.T) {
	s, err := mapped.Open(t.Context(), filepath.Join(fixtures, "ai-sdk.json"), parse(t, "messages=append,id=id"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var refs []model.Ref
	for h := range s.Headers(t.Context(), "ai-sdk") {
		refs = append(refs, h.Ref())
	}
	var text []byte
	taken := 0
	err = s.Features().Weave(t.Context(), refs, store.Loom{
		Put: func(one store.Text) store.Run {
			at := len(text)
			text = append(append(text, one.Before...), one.Raw...)
			return store.Run{At: int64(at), Len: int64(len(text) - at)}
		},
		Take: func(number int, rope store.Rope) {
			taken++
			var got []byte
			for _, run := range rope.Runs {
				got = append(got, text[run.At:run.At+run.Len]...)
			}
			if want, err := s.State(t.Context(), refs[number]); err != nil || string(got) != string(want) {
				t.Errorf("%d: %s, want %s, %v", number, got, want, err)
			}
		},
	})
	if whole, _ := s.State(t.Context(), refs[len(refs)-1]); err != nil || taken != len(refs) || len(text) > len(whole)+8 {
		t.Errorf("%d of %d, %d bytes for %d: %v", taken, len(refs), len(text), len(whole), err)
	}
}
