package messages

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/media/files"
	"hindcast/store/storetest"
)

// What int() of Python 3.11 gives for each text; "" is a ValueError.
func TestNumber_isReadAsPythonDoes(t *testing.T) {
	for text, want := range map[string]string{
		"7": "7", "007": "7", "-1": "-1", "+5": "5", " 7 ": "7", "1_000": "1000", "٣": "3", "１２": "12", "\x1c7": "7", "-0": "0", "00": "0",
		"99999999999999999999999": "99999999999999999999999", "𝟗": "9", "𝟘": "0", "𝟡": "9", "𝟢": "0", "9\u00a0": "9", "९": "9", "-٠٠٧": "-7",
		"1__0": "", "_1": "", "1_": "", "7a": "", "": "", "0x7": "", "²": "", "1 2": "", "--1": "", "+ 5": "", "9\u200b": "", "+": "", "-": "", "1.0": "", "\xff": "",
	} {
		n, ok := parseNumber(text)
		if ok != (want != "") || ok && n.String() != want {
			t.Errorf("%q is %v, %v; want %q", text, n, ok, want)
		}
	}
}

func FuzzNumber(f *testing.F) {
	for _, text := range []string{"7", "007", "-1", "1_000", "٣", "", "-0", "9999999999999999999999"} {
		f.Add(text, "12")
	}
	f.Fuzz(func(t *testing.T, text, other string) {
		n, ok := parseNumber(text)
		m, also := parseNumber(other)
		if !ok || !also {
			return
		}
		a, isMessage := fileOf(messagePrefix + text + messageSuffix)
		b, are := fileOf(messagePrefix + other + messageSuffix)
		if !isMessage || !are || a.compareNumber(b) != n.Cmp(m) {
			t.Errorf("%s against %s: %d", n, m, a.compareNumber(b))
		}
	})
}

// readText returns what a file with this text says.
func readText(text string) *message {
	var m message
	new(decoder).take(func(string, []byte) ([]byte, error) { return []byte(text), nil }, messageFile{name: "message_0.json"}, &m)
	return &m
}

func TestMessage_title(t *testing.T) {
	long := strings.Repeat("é", 300)
	for _, c := range []struct{ role, content, want string }{
		{"user", `[{"text":"Weather in Paris?"}]`, "Weather in Paris?"},
		{"user", `[{"text":"  two\n\tlines  "}]`, "two lines"},
		{"user", `[{"text":""},{"text":"second"}]`, "second"},
		{"user", `[{"image":{"format":"png"}},{"text":"look"}]`, "look"},
		{"user", `[{"image":{"format":"png"}}]`, "[image]"},
		{"user", `[{"guardContent":{"text":{"text":"guarded"}}}]`, "guarded"},
		{"user", `[]`, ""},
		{"user", `"plain"`, "plain"},
		{"user", `[{"hologram":1}]`, "[unknown block]"},
		{"user", `["words",["list"]]`, "[unknown block]"},
		{"assistant", `[{"reasoningContent":{"reasoningText":{"text":"hm"}}},{"text":"Yes."}]`, "Yes."},
		{"assistant", `[{"reasoningContent":{"reasoningText":{"text":"hm"}}}]`, "[reasoningContent]"},
		{"assistant", `[{"citationsContent":{"content":[{"text":"cited"}]}}]`, "cited"},
		{"assistant", `[{"citationsContent":{"content":[]}}]`, "[citationsContent]"},
		{"assistant", `[{"text":"so"},{"toolUse":{"toolUseId":"1","name":"get_weather"}},{"toolUse":{"toolUseId":"2","name":"add"}}]`, "so (get_weather · add)"},
		{"assistant", `[{"toolUse":{"toolUseId":"only id"}}]`, "only id"},
		{"user", `[{"toolResult":{"toolUseId":"1","status":"error","content":[{"json":{}},{"text":"no such\n city"}]}},{"toolResult":{"toolUseId":"1","status":"error"}},{"toolResult":{"toolUseId":"9","status":"success"}},{"toolResult":{"toolUseId":"2"}}]`, `get_weather {city: "Rome"}  no such · get_weather {city: "Rome"}  failed · 9  ok · add  ok`},
		{"user", `[{"text":"\u001b[31m\u202e"}]`, "\x1b[31m\u202e"},
		{"user", `[{"text":"` + long + `"}]`, long[:conversation.MaxTitle] + "…"},
		{"narrator", `[{"text":"meanwhile"}]`, "meanwhile"},
	} {
		m := readText(`{"message":{"role":"` + c.role + `","content":` + c.content + `},"message_id":0}`)
		got := m.title([]call{{id: "1", act: conversation.NewAct("get_weather", []byte(`{"city":"Rome"}`))}, {id: "2", act: conversation.NewAct("add", nil)}})
		if got != c.want {
			t.Errorf("%s %s: %q, want %q", c.role, c.content, got, c.want)
		}
	}
}

func TestMessage_titleIsBounded(t *testing.T) {
	name := strings.Repeat("n", 10_000)
	use := `{"toolUse":{"toolUseId":"` + name + `","name":"` + name + `"}},`
	result := `{"toolResult":{"toolUseId":"` + name + `","status":"` + name + `"}},`
	for _, content := range []string{strings.Repeat(use, 1000), strings.Repeat(result, 1000), `{"text":"` + name + `"},`} {
		m := readText(`{"message":{"role":"` + name + `","content":[` + strings.TrimSuffix(content, ",") + `]},"message_id":0}`)
		if got := m.title(m.calls); len(got) > 3*conversation.MaxTitle || !utf8.ValidString(got) {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	}
}

// Whoever reads the state decides for himself where the conversation stands;
// the header has to say the same.
func TestHeader_positionIsThatOfItsConversation(t *testing.T) {
	s := open(t, fixtures)
	for _, info := range storetest.Sessions(t, s) {
		for _, h := range storetest.Headers(t, s, info.ID) {
			if strings.HasPrefix(info.ID, "broken_starts") && h.Index == 0 {
				continue // the SDK drops the message: there is no conversation
			}
			c := conversation.Decode(tape(t, state(t, s, h)))
			if got := c.Position().Name(); got != h.Position {
				t.Errorf("%s #%d: the header says %q, its messages %q", info.ID, h.Index, h.Position, got)
			}
			if f := c.Framework(); f != conversation.StrandsPython && f != conversation.Strands {
				t.Errorf("%s #%d: the messages are taken for those of %v", info.ID, h.Index, f)
			}
		}
	}
}

// fixtureFiles returns every file of a kind below the fixtures and hazards.
func fixtureFiles(f *testing.F, pattern string) (texts [][]byte) {
	f.Helper()
	names, err := filepath.Glob(filepath.Join(fixtures, pattern))
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		texts = append(texts, text)
	}
	for _, files := range hazards(f) {
		for name, text := range files {
			if ok, _ := filepath.Match(pattern, filepath.Join("session_h", "agents", "agent_default", name)); ok {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

func FuzzMessage(f *testing.F) {
	for _, text := range fixtureFiles(f, "session_*/agents/*/messages/*") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m := readText(string(text))
		body, _, err := jsontape.ParseTolerant(m.body)
		if err != nil {
			t.Fatalf("the body does not parse: %v in %q", err, m.body)
		}
		if again := jsontape.AppendCompact(nil, m.body); !bytes.Equal(again, m.body) {
			t.Errorf("%q is not compact", m.body)
		}
		if !m.whole && len(m.flaws) == 0 {
			t.Errorf("no flaw says why it is not whole: %q", text)
		}
		m.title(nil)
		agrees(t, text, m, body)
		// The repairs have to hold for any message, and leave JSON.
		var w window
		array := []byte{'['}
		w.emit = func(p piece) {
			if len(array) > 1 {
				array = append(array, ',')
			}
			array = append(array, p.bytes()...)
		}
		call := readText(`{"message":{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"t"}}]},"message_id":0}`)
		for _, m := range []*message{m, call, m, m, call} {
			w.add(m)
		}
		if _, _, err := jsontape.ParseTolerant(append(array, ']')); err != nil {
			t.Errorf("the window does not parse: %v in %q", err, array)
		}
		if w.size != int64(len(array)-1) {
			t.Errorf("the window says it has %d bytes, not %d", w.size, len(array)-1)
		}
	})
}

// agrees compares a message with what encoding/json makes of it, where that
// takes the text. Python decides duplicate keys as it does, by the last one.
func agrees(t *testing.T, text []byte, m *message, body *jsontape.Tape) {
	t.Helper()
	var wrapper map[string]json.RawMessage
	if json.Unmarshal(text, &wrapper) != nil {
		return
	}
	want, ok := wrapper["redact_message"]
	if !ok || string(want) == "null" {
		want, ok = wrapper["message"]
	}
	if _, stored := wrapper["message"]; !ok || !stored {
		if m.whole || m.role != "" {
			t.Errorf("%q has a message", text)
		}
		return
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, want); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(compact.Bytes(), body.Data()) {
		t.Errorf("the message is %q, want %q", body.Data(), compact.Bytes())
	}
}

func FuzzAgent(f *testing.F) {
	for _, text := range fixtureFiles(f, "session_*/agents/*/agent.json") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var faults store.FaultList
		r := agentReader{file: "agent.json", faults: &faults}
		r.take(files.ReadDocument(func(string, []byte) ([]byte, error) { return text, nil }, "agent.json", nil))
		if _, _, err := jsontape.ParseTolerant([]byte(`{"messages":[]` + string(r.members) + `}`)); err != nil {
			t.Errorf("the members do not parse: %v in %q", err, r.members)
		}
		if _, _, err := jsontape.ParseTolerant(r.summary); err != nil && r.summary != nil {
			t.Errorf("the summary does not parse: %v in %q", err, r.summary)
		}
		if r.pinned < 0 {
			t.Errorf("%d pinned", r.pinned)
		}
	})
}

// The title is the line that the conversation gives, as far as it goes.
func FuzzOneLine(f *testing.F) {
	for _, text := range []string{"", " a  b\n", "\u2003ü\u00a0x", "\xff \xfe", strings.Repeat("ab ", 100)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := string(appendOneLine([]byte("> "), []byte(text), conversation.MaxTitle))
		want := "> " + conversation.OneLine(text)
		if len(got) <= conversation.MaxTitle && got != want || !strings.HasPrefix(want, got) {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	})
}
