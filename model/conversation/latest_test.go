package conversation

import (
	"slices"
	"testing"

	"hindcast/model/jsontape"
)

func TestConversation_endsWith(t *testing.T) {
	for name, c := range map[string]struct {
		state, prompt, answer string
		files                 []string
	}{
		"Anthropic": {`{"messages":[
			{"role":"user","content":"write it"},
			{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"Write","input":{"file_path":"/a/x.go","content":"path"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"ok"}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"2","name":"Read","input":{"file_path":"/a/read.go"}}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"3","name":"MultiEdit","input":{"file_path":"/a/y.go"}}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"4","name":"Edit","input":{"file_path":"/a/x.go"}}]},
			{"role":"assistant","content":[{"type":"text","text":"It is\n written."}]},
			{"role":"user","content":"<system-reminder>be brief</system-reminder>"},
			{"role":"assistant","content":[{"type":"tool_use","id":"5","name":"Bash","input":{"command":"ls"}}]}]}`,
			"write it", "It is written.", []string{"/a/x.go", "/a/y.go"}},
		"OpenAI": {`{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[
			{"id":"1","type":"function","function":{"name":"create_file","arguments":"{\"path\":\"b.txt\"}"}},
			{"id":"2","type":"function","function":{"name":"shell","arguments":"{\"command\":\"apply_patch <<E\\n*** Begin Patch\\n*** Add File: c.txt\\n+x\\n*** Update File: d/e.txt\\nE\"}"}}]}]}`,
			"go", "", []string{"d/e.txt", "c.txt", "b.txt"}},
		"nothing": {`{"messages":[]}`, "", "", nil},
	} {
		tape, err := jsontape.Parse([]byte(c.state))
		if err != nil {
			t.Fatal(name, err)
		}
		is := Decode(tape)
		if got := is.LastPrompt(80); got != c.prompt {
			t.Errorf("%s: the last prompt is %q, want %q", name, got, c.prompt)
		}
		if got := is.LastAnswer(80); got != c.answer {
			t.Errorf("%s: the last answer is %q, want %q", name, got, c.answer)
		}
		if got := is.WrittenFiles(9); !slices.Equal(got, c.files) {
			t.Errorf("%s: %q were written, want %q", name, got, c.files)
		}
		if got := is.WrittenFiles(1); len(got) > 1 {
			t.Errorf("%s: %q are more than one", name, got)
		}
	}
}
