package conversation

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model/jsontape"
)

var update = flag.Bool("update", false, "write the golden files")

// dump tells all that a conversation says, as text.
func dump(c *Conversation) string {
	var out strings.Builder
	fmt.Fprintf(&out, "framework %s, position %s, cycle %d, interrupted %v\n",
		c.Framework(), c.Position(), c.Cycle(), c.IsInterrupted())
	for m := range c.Len() {
		v := c.Message(m)
		fmt.Fprintf(&out, "\n[%d] %s (%s)", m, v.Role, c.RoleText(m))
		if v.Held {
			out.WriteString(" held")
		}
		if v.Redacted {
			out.WriteString(" redacted")
		}
		fmt.Fprintf(&out, ": %s\n", c.AppendSummary(nil, m, 60, "→"))
		for i, b := range c.Blocks(m) {
			fmt.Fprintf(&out, "    %d %s", c.FirstBlock(m)+i, c.Label(&b))
			if b.Pair >= 0 {
				fmt.Fprintf(&out, " = %d", b.Pair)
			}
			if b.Status != NoStatus {
				fmt.Fprintf(&out, " %s", b.Status)
			}
			if b.Interrupted {
				out.WriteString(" interrupted")
			}
			if b.Body >= 0 {
				fmt.Fprintf(&out, " %.60s", compact(c.Tape().Raw(b.Body)))
			}
			out.WriteByte('\n')
			if b.Kind != ToolResult && b.Kind != Citations {
				continue
			}
			for part := range c.Parts(&b) {
				fmt.Fprintf(&out, "        %s", c.Label(&part))
				if part.Body >= 0 {
					fmt.Fprintf(&out, " %.60s", compact(c.Tape().Raw(part.Body)))
				}
				out.WriteByte('\n')
			}
		}
	}
	for _, call := range c.Pending() {
		fmt.Fprintf(&out, "\npending %d %s", call, c.ToolName(c.Block(call)))
	}
	for _, n := range c.Interrupts() {
		fmt.Fprintf(&out, "\ninterrupt %.80s", compact(c.Tape().Raw(n)))
	}
	out.WriteByte('\n')
	for _, way := range c.Resume() {
		fmt.Fprintf(&out, "\n%s: %s %s", way.Framework, way.Call, way.Effect)
		if way.Warning != "" {
			fmt.Fprintf(&out, " (!) %s", way.Warning)
		}
	}
	if cp, ok := c.Checkpoint(); ok {
		effect, warning := cp.Executes()
		fmt.Fprintf(&out, "\ncheckpoint stored %v, error %v: %s %s %s %s", cp.IsStored(), cp.Err, cp.Payload(), cp.Call(), effect, warning)
		for _, w := range cp.Warnings {
			fmt.Fprintf(&out, "\n    %s", w)
		}
	}
	out.WriteByte('\n')
	return out.String()
}

func compact(raw []byte) []byte { return bytes.Join(bytes.Fields(raw), []byte(" ")) }

func TestDecode_realStates(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no states in testdata", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tape, err := jsontape.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			got := dump(Decode(tape))
			golden := strings.TrimSuffix(file, ".json") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s reads\n%s\nwant\n%s", file, got, want)
			}
		})
	}
}

func parse(t testing.TB, text string) *jsontape.Tape {
	t.Helper()
	tape, err := jsontape.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tape
}

func TestDecode_findsTheMessages(t *testing.T) {
	const list = `[{"role":"user","content":[{"text":"hi"}]}]`
	for name, tc := range map[string]struct {
		text string
		len  int
	}{
		"the root":              {list, 1},
		"under messages":        {`{"messages":` + list + `}`, 1},
		"in a snapshot":         {`{"data":{"messages":` + list + `}}`, 1},
		"in a row":              {`{"state":{"messages":` + list + `}}`, 1},
		"elsewhere":             {`{"a":1,"chat":{"log":` + list + `}}`, 1},
		"in an array":           {`{"agents":[{"log":` + list + `}]}`, 1},
		"empty but named":       {`{"messages":[]}`, 0},
		"named but no messages": {`{"messages":["a"],"x":` + list + `}`, 1},
		"too deep":              {`{"a":{"b":{"c":{"d":{"e":` + list + `}}}}}`, 0},
		"none":                  {`{"cart":{"total":1}}`, 0},
		"a string":              {`"hi"`, 0},
	} {
		if got := Decode(parse(t, tc.text)).Len(); got != tc.len {
			t.Errorf("%s: %d messages, want %d", name, got, tc.len)
		}
	}
}

// A usual place goes before another, and its list counts though it is empty.
func TestDecode_prefersTheUsualPlaces(t *testing.T) {
	for state, want := range map[string]string{
		`{"a":[` + strUser + `],"messages":[` + strUser + `]}`: "/messages",
		`{"messages":[]}`: "/messages",
		`{"messages":[],"history":[` + strUser + `]}`:          "/messages",
		`{"messages":7,"data":{"messages":[` + strUser + `]}}`: "/data/messages",
		`{"a":1,"x":[[` + strUser + `]]}`:                      "/x/0",
		`{"entities":[{},{"tasks":7},{"tasks":[{"output":{"messages":[` + openUser + `]}},{"output":{"messages":[` + openUser + `]}},{"output":null}]}]}`:                                                "/entities/2/tasks/1/output/messages",
		`{"state":{"_executor_state":{"a":{"full_conversation":[` + openUser + `]},"b":{"full_conversation":[` + openUser + `,` + openText + `]},"c":{"full_conversation":[` + openUser + `]},"d":{}}}}`: "/state/_executor_state/b/full_conversation",
		`{"state":{"_executor_state":{"a":{"full_conversation":[` + openUser + `]},"b":{"full_conversation":[1,2,3]}}},"entities":[{"tasks":[{"output":{"messages":[` + openUser + `]}}]}]}`:             "/state/_executor_state/a/full_conversation",
	} {
		c := Decode(parse(t, state))
		if c.List() < 0 || c.tape.Pointer(c.List()) != want {
			t.Errorf("%s: %d, want %s", state, c.List(), want)
		}
	}
}

func TestDecode_boundsTheSearch(t *testing.T) {
	var text strings.Builder
	text.WriteString(`{"many":[0`)
	for range 3 * searchNodes {
		text.WriteString(`,{}`)
	}
	text.WriteString(`],"log":[{"role":"user","content":"hi"}]}`)
	c := Decode(parse(t, text.String()))
	if c.Len() != 1 {
		t.Errorf("a list beside a long array is not found: %d messages", c.Len())
	}
	below := strings.TrimSuffix(text.String(), `"log":[{"role":"user","content":"hi"}]}`) + `"chat":{"log":[{"role":"user","content":"hi"}]}}`
	if c := Decode(parse(t, below)); c.Len() != 0 {
		t.Errorf("a list that is reached after more nodes than the bound is found: %d messages", c.Len())
	}
}

func TestConversation_pairsCallsWithoutIDsByName(t *testing.T) {
	c := Decode(parse(t, `{"messages":[
		{"role":"model","content":[{"toolRequest":{"name":"a"}},{"toolRequest":{"name":"b"}},{"toolRequest":{"name":"a"}},{"toolRequest":{"name":"a"}}]},
		{"role":"tool","content":[{"toolResponse":{"name":"b"}},{"toolResponse":{"name":"a"}},{"toolResponse":{"name":"c"}},{"toolResponse":{"name":"a"}}]}]}`))
	want := []int32{5, 4, 7, -1, 1, 0, -1, 2}
	for i, pair := range want {
		if got := c.Block(i).Pair; got != pair {
			t.Errorf("block %d is paired with %d, want %d", i, got, pair)
		}
	}
	if got := fmt.Sprint(c.Pending()); got != "[3]" {
		t.Errorf("pending %s, want [3]", got)
	}
}

func TestConversation_firstOfTwoResultsCounts(t *testing.T) {
	c := Decode(parse(t, `[{"role":"assistant","content":[{"toolUse":{"toolUseId":"x","name":"a","input":{}}}]},
		{"role":"user","content":[{"toolResult":{"toolUseId":"x","status":"success","content":[]}},{"toolResult":{"toolUseId":"x","status":"error","content":[]}}]}]`))
	if c.Block(0).Pair != 1 || c.Block(1).Pair != 0 || c.Block(2).Pair != -1 {
		t.Errorf("pairs %d %d %d, want 1 0 -1", c.Block(0).Pair, c.Block(1).Pair, c.Block(2).Pair)
	}
	for messages, want := range map[string]string{strCalls + "," + strA + "," + strA: "a call that has a result already", strA: "a call that is not here"} {
		c := Decode(parse(t, `[`+messages+`]`))
		if got := c.Block(c.BlockLen() - 1).Answers(); got != want {
			t.Errorf("%s: the last result is of %s, want %s", messages, got, want)
		}
	}
}

func TestConversation_findsTheMessageOfANode(t *testing.T) {
	tape := parse(t, `{"a":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"text":"y"}]}],"z":2}`)
	c := Decode(tape)
	for pointer, want := range map[string]int{
		"": -1, "/a": -1, "/messages": -1, "/messages/0": 0, "/messages/0/content": 0,
		"/messages/1": 1, "/messages/1/content/0/text": 1, "/z": -1,
	} {
		if got := c.Find(tape.LookupPointer(pointer)); got != want {
			t.Errorf("%q is in message %d, want %d", pointer, got, want)
		}
	}
}

func TestConversation_labels(t *testing.T) {
	for _, tc := range []struct{ block, want string }{
		{`{"image":{"format":"png","source":{"bytes":"AAAA"}}}`, "image png 3 B"},
		{`{"image":{"format":"png","source":{"bytes":"AAA="}}}`, "image png 2 B"},
		{`{"image":{"format":"png","source":{"bytes":"AA=="}}}`, "image png 1 B"},
		{`{"image":{"format":"png","source":{"bytes":""}}}`, "image png 0 B"},
		{`{"image":{"format":"png","source":{"bytes":{"__bytes_encoded__":true,"data":"` + strings.Repeat("A", 16400) + `"}}}}`, "image png 12.3 kB"},
		{`{"image":{"source":{"url":"https://x/y.png"}}}`, "image https://x/y.png"},
		{`{"image":{"source":7}}`, "image"},
		{`{"media":{"contentType":"image/png","url":"data:image/png;base64,AAAA"}}`, "image/png, 3 B"},
		{`{"media":{"url":"data:text/plain,hello"}}`, "media data:text/plain,hello"},
		{`{"document":{"format":"pdf","name":"plan","source":{"location":{"type":"s3","uri":"s3://b/plan.pdf"}}}}`, "document pdf plan s3://b/plan.pdf"},
		{`{"reasoning":{"redactedContent":"AAAA"}}`, "reasoning 3 B"},
		{`{"reasoning":"hm"}`, "reasoning"},
		{`{"type":"sparkle","sparkle":1}`, "unknown block sparkle"},
		{`{"resource":{"uri":"x"}}`, "unknown block resource"},
		{`{"type":"image","data":"AA/A"}`, "image 3 B"},
		{`{"type":"image","url":"data:;base64,AAAA"}`, "image 3 B"},
		{`{"cachePoint":{"cacheType":"default"}}`, "cache point"},
		{`{"context":{"type":"file","name":"a/b.txt","text":"é\n"}}`, "context file a/b.txt 3 B"},
		{`{"context":{"type":"date","text":""}}`, "context date 0 B"},
		{`{"context":{"type":"file"}}`, "unknown block context"},
	} {
		c := Decode(parse(t, `[{"role":"user","content":[`+tc.block+`]}]`))
		if got := c.Label(c.Block(0)); got != tc.want {
			t.Errorf("%.80s is %q, want %q", tc.block, got, tc.want)
		}
	}
}

func TestAppendSize_usesThreeDigits(t *testing.T) {
	for size, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 12_345: "12.3 kB", 999_949: "999.9 kB", 999_950: "1.0 MB",
		4_000_000: "4.0 MB", 1 << 62: "4.6 EB",
	} {
		if got := string(AppendSize(nil, size)); got != want {
			t.Errorf("%d is %q, want %q", size, got, want)
		}
	}
}

func TestCheckpoint_disagreesWithTheMessages(t *testing.T) {
	const call = `{"role":"assistant","content":[{"toolUse":{"toolUseId":"x","name":"a","input":{}}}]}`
	for name, tc := range map[string]struct{ state, want string }{
		"agrees":                          {`{"messages":[` + call + `],"checkpoint":{"position":"after_model","cycle_index":0,"schema_version":"1.0"}}`, ""},
		"other position":                  {`{"messages":[` + call + `],"checkpoint":{"position":"after_tools","cycle_index":0,"schema_version":"1.0"}}`, "the checkpoint says after_tools, but the conversation stands at after model"},
		"other cycle":                     {`{"messages":[` + call + `],"checkpoint":{"position":"after_model","cycle_index":3,"schema_version":"1.0"}}`, "the checkpoint says cycle 3, but the messages of this turn show cycle 0; the SDK counts anew with each call"},
		"odd position":                    {`{"messages":[` + call + `],"checkpoint":{"position":"\u202ebefore","schema_version":"1.0"}}`, `position "\u202ebefore" is neither after_model nor after_tools`},
		"TypeScript":                      {`{"messages":[{"role":"user","content":[{"text":"hi"}]}],"c":{"position":"afterModel","cycleIndex":0,"schemaVersion":"1.0"}}`, ""},
		"TypeScript, other position":      {`{"messages":[{"role":"user","content":[{"text":"hi"}]}],"c":{"position":"afterTools","cycleIndex":0,"schemaVersion":"1.0"}}`, "the checkpoint says after_tools, but the conversation stands at user input"},
		"Python before an answer":         {`{"messages":[{"role":"user","content":[{"text":"hi"}]}],"c":{"position":"after_model","cycle_index":0,"schema_version":"1.0"}}`, "the checkpoint says after_model, but the conversation stands at user input"},
		"inside a message does not count": {`{"messages":[{"role":"user","content":[{"json":{"position":"after_model","schema_version":"1.0"}}]}]}`, "none"},
	} {
		cp, ok := Decode(parse(t, tc.state)).Checkpoint()
		got := strings.Join(cp.Warnings, "; ")
		if !ok {
			got = "none"
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestCheckpoint_givesTheSDKsRefusal(t *testing.T) {
	cp, ok := Decode(parse(t, `{"ckpt":{"position":"after_model","cycle_index":0,"schema_version":"2.0"}}`)).Checkpoint()
	if !ok || !cp.IsStored() || cp.Payload() != nil || cp.Warnings != nil {
		t.Fatalf("ok %v, stored %v, payload %s", ok, cp.IsStored(), cp.Payload())
	}
	if want := "Checkpoints with schema version '2.0' are not compatible with current version 1.0."; !strings.Contains(cp.Err.Error()+".", want) {
		t.Errorf("error %v, want the SDK's words: %s", cp.Err, want)
	}
}

// Where the state holds no checkpoint, it is the one that the SDK would emit, in its own spelling.
func TestCheckpoint_implied(t *testing.T) {
	for id, want := range map[string]string{"trackingId": "afterModel", "tracking_id": "after_model", "id": "after_model"} {
		cp, ok := Decode(parse(t, `{"messages":[`+strUser+`,{"role":"assistant","`+id+`":"1","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]}]}`)).Checkpoint()
		if !ok || cp.IsStored() || cp.Position != want || cp.CycleIndex != 0 || !strings.Contains(string(cp.Payload()), want) || strings.Contains(cp.Call(), "invoke") != (id == "trackingId") || (cp.Note != "") != (id == "id") {
			t.Errorf("%s: %t, %+v, %s", id, ok, cp, cp.Payload())
		}
	}
}

// What a resume does hangs on the position and on the SDK.
func TestCheckpoint_executes(t *testing.T) {
	for checkpoint, want := range map[string]string{
		`"position":"after_model","cycle_index":0,"schema_version":"1.0"`: "The tool calls that are listed",
		`"position":"after_tools","cycle_index":2,"schema_version":"1.0"`: "The model is called with the tool results; no tool is executed again. The next checkpoint has cycle index 3.",
		`"position":"afterModel","cycleIndex":0,"schemaVersion":"1.0"`:    "The model is called again",
		`"position":"before","cycle_index":0,"schema_version":"1.0"`:      "The SDK does not check the position",
		`"position":"after_model","cycle_index":0,"schema_version":"2.0"`: "Nothing: the SDK refuses",
	} {
		cp, _ := Decode(parse(t, `{"c":{`+checkpoint+`}}`)).Checkpoint()
		if got, _ := cp.Executes(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", checkpoint, got)
		}
	}
}

func TestCheckpoint_isNotImpliedForOtherFrameworks(t *testing.T) {
	for name, state := range map[string]string{
		"Genkit":               `{"messages":[{"role":"model","content":[{"toolRequest":{"ref":"1","name":"a"}}]}]}`,
		"OpenAI":               `{"messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"a"}}]}]}`,
		"a turn without tools": `{"messages":[{"role":"assistant","content":[{"text":"hi"}],"tracking_id":"1"}]}`,
	} {
		if cp, ok := Decode(parse(t, state)).Checkpoint(); ok {
			t.Errorf("%s: checkpoint %s", name, cp.ToDict())
		}
	}
}

// checkWhole reads everything that a conversation offers, and checks what
// holds for any.
func checkWhole(t *testing.T, c *Conversation) {
	end := 0
	for m := range c.Len() {
		if c.FirstBlock(m) != end {
			t.Fatalf("message %d starts at block %d, want %d", m, c.FirstBlock(m), end)
		}
		end += len(c.Blocks(m))
		if c.FirstBlock(m+1) != end {
			t.Fatalf("message %d ends at block %d, want %d", m, c.FirstBlock(m+1), end)
		}
		if line := c.AppendSummary(nil, m, 40, ">"); len(line) > 2000 {
			t.Fatalf("the summary of message %d has %d bytes", m, len(line))
		}
		c.RoleText(m)
	}
	for i := range end {
		b := c.Block(i)
		if label := c.Label(b); len(label) > 400 {
			t.Fatalf("the label of block %d has %d bytes", i, len(label))
		}
		if m := c.MessageOf(i); i < c.FirstBlock(m) || i >= c.FirstBlock(m+1) {
			t.Fatalf("block %d is not in message %d", i, m)
		}
		if b.Pair >= 0 && c.Block(int(b.Pair)).Pair != int32(i) {
			t.Fatalf("block %d is the pair of %d, but not the other way round", i, b.Pair)
		}
		for range c.Parts(b) {
		}
	}
	for _, call := range c.Pending() {
		if c.Block(call).Kind != ToolCall || c.Block(call).Pair >= 0 {
			t.Fatalf("block %d is no open call", call)
		}
	}
	dump(c)
}

func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkWhole(t, Decode(jsontape.Prefix(data, len(data))))
		checkWhole(t, Decode(jsontape.Prefix(data, len(data)/2)))
	})
}

// long returns a state of about n MB: turns with a tool call, its result and an
// answer.
func long(mb int) []byte {
	const turn = `{"role":"user","content":[{"text":"and the next train?"}]},` +
		`{"role":"assistant","content":[{"text":"Let me look."},{"toolUse":{"toolUseId":"t%d","name":"search","input":{"day":"2026-05-09","from":"Paris"}}}]},` +
		`{"role":"user","content":[{"toolResult":{"toolUseId":"t%d","status":"success","content":[{"text":"%s"}]}}]},` +
		`{"role":"assistant","content":[{"text":"The 09:40 is the next one."}]}`
	words := strings.Repeat("07:58 for 85.00 EUR; ", 80)
	var out bytes.Buffer
	out.WriteString(`{"messages":[`)
	for i := 0; out.Len() < mb*1_000_000; i++ {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, turn, i, i, words)
	}
	out.WriteString(`]}`)
	return out.Bytes()
}

func BenchmarkDecode(b *testing.B) {
	short := `{"messages":[` + strings.Repeat(`{"role":"user","content":[{"text":"a message of 120 bytes: `+strings.Repeat("word ", 12)+`"}]},`, 80_000) + `null]}`
	for name, state := range map[string]string{"1MB": string(long(1)), "10MB": string(long(10)), "10MB_of_short_messages": short} {
		tape := parse(b, state)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(state)))
			b.ReportAllocs()
			for b.Loop() {
				Decode(tape)
			}
		})
	}
}
