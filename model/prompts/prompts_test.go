package prompts_test

import (
	"fmt"
	"slices"
	"testing"

	"hindcast/model/jsontape"
	"hindcast/model/prompts"
)

// FindParts finds the texts of each agent's vendor in the record and in the content, and leaves the person's.
func TestFindParts(t *testing.T) {
	for _, c := range []struct {
		name, message string
		want          []string
	}{
		{"Codex", `{"role":"system","content":[{"text":"<permissions>"},{"text":"mine"}],"raw":{"type":"response_item","payload":{"role":"developer","content":[{"text":"<permissions>"}]}}}`,
			[]string{"/messages/0/content/0/text instructions", "/messages/0/raw/payload/content/0/text instructions"}},
		{"Codex, a list of old", `{"role":"system","content":[{"text":"\u003cpermissions>"}],"raw":{"role":"developer","content":[{"text":"<permissions>"}]}}`,
			[]string{"/messages/0/content/0/text instructions", "/messages/0/raw/content/0/text instructions"}},
		{"Codex, AGENTS.md", `{"role":"user","content":[{"text":"# AGENTS.md"}],"raw":{"payload":{"role":"user","content":[{"text":"# AGENTS.md"}]}}}`, nil},
		{"OpenHands", `{"role":"system","content":[{"text":"You are"},{"text":"repo"}],"raw":{"kind":"SystemPromptEvent","system_prompt":{"text":"You are"},"dynamic_context":{"text":"repo"},"tools":[{"title":"t"}]}}`,
			[]string{"/messages/0/content/0/text system prompt", "/messages/0/raw/system_prompt/text system prompt", "/messages/0/raw/tools list of tools"}},
		{"Copilot CLI", `{"role":"system","content":[{"text":"You are"}],"raw":{"type":"system.message","data":{"content":"You are"}}}`,
			[]string{"/messages/0/content/0/text system prompt", "/messages/0/raw/data/content system prompt"}},
		{"pi", `{"role":"system","content":[{"text":"You"},{"text":"- read"},{"text":"AGENTS"}],"raw":{"message":{"role":"system","sections":{"preamble":"You","tools":"- read","project_context":"AGENTS"}}}}`,
			[]string{"/messages/0/content/0/text system prompt", "/messages/0/content/1/text list of tools", "/messages/0/raw/message/sections/preamble system prompt", "/messages/0/raw/message/sections/tools list of tools"}},
		{"Claude Code", `{"role":"user","content":[{"text":"hi"},{"context":{"type":"skill_listing","text":"- a"}},{"context":{"type":"file","name":"p","text":"- a"}}],
			"raw":[{"type":"user"},{"type":"attachment","attachment":{"type":"skill_listing"},"rendered":[{"content":"- a"}]},{"type":"attachment","attachment":{"type":"file"},"rendered":[{}]}]}`,
			[]string{"/messages/0/content/1/context/text context", "/messages/0/raw/1/attachment context", "/messages/0/raw/1/rendered context"}},
		{"left out before", `{"role":"system","content":[{"text":"[the vendor's system prompt, 5 B, left out; --with-prompts keeps it]"}],"raw":{"type":"system.message","data":{"content":"[the vendor's system prompt, 5 B, left out; --with-prompts keeps it]"}}}`, nil},
		{"a framework's", `{"role":"system","content":"You are"}`, nil},
	} {
		tape, err := jsontape.Parse([]byte(`{"messages":[` + c.message + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range prompts.FindParts(tape) {
			got = append(got, fmt.Sprintf("%s %s", tape.Pointer(p.Node), p.What))
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q\nnot %q", c.name, got, c.want)
		}
	}
	for _, odd := range []string{`[]`, `null`, `{"messages":{}}`, `{"messages":[1,null,{"raw":[1,{"role":"developer","content":"x"}]}]}`} {
		tape, err := jsontape.Parse([]byte(odd))
		if err != nil {
			t.Fatal(err)
		}
		if got := prompts.FindParts(tape); got != nil {
			t.Errorf("%s: %v", odd, got)
		}
		prompts.NoticeOf([]byte(odd))
	}
}
