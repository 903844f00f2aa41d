package request

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// outline returns the outline of a body.
func outline(t interface{ Fatal(...any) }, body string) *Outline {
	o, err := NewOutline(Request{Body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// bodyOf returns a request with texts as messages, by turns of the user and of the model, and other members.
func bodyOf(members string, texts ...string) string {
	var list []string
	for i, text := range texts {
		list = append(list, fmt.Sprintf(`{"role":%q,"content":[{"type":"text","text":%q}]}`, []string{"user", "assistant"}[i%2], text))
	}
	return fmt.Sprintf(`{%s"messages":[%s]}`, members, strings.Join(list, ","))
}

func TestCompare(t *testing.T) {
	const tools = `"tools":[{"name":"Read","description":"reads"},{"name":"Bash"}],`
	for _, c := range []struct{ name, earlier, later, counts, changes string }{
		{"goes on", bodyOf("", "a", "b", "c"), bodyOf("", "a", "b", "c", "d", "e"), "kept 3 of 3, new 2", ""},
		{"rewound", bodyOf("", "a", "b", "c", "d", "e"), bodyOf("", "a", "b", "x"), "kept 2 of 5, dropped 3, new 1", "dropped: kept 2 of 5 messages, dropped 3"},
		{"compacted", bodyOf("", "a", "b", "c"), bodyOf("", "the story so far"), "kept 0 of 3, dropped 3, new 1", "dropped: kept 0 of 3 messages, dropped 3"},
		{"window moved", bodyOf("", "a", "b", "c", "d"), bodyOf("", "c", "d", "e"), "kept 2 of 4, dropped 2, new 1", "dropped: kept 2 of 4 messages, dropped 2"},
		{"moved", bodyOf("", "a", "b", "c", "d"), bodyOf("", "c", "d", "a"), "kept 2 of 4, dropped 2, new 1", "dropped: kept 2 of 4 messages, dropped 2"},
		{"rewritten", bodyOf("", "a", "b", "c"), bodyOf("", "a", "[cleared]", "c", "d"), "kept 2 of 3, dropped 1, new 2", "rewritten: message 2 rewritten"},
		{"tools", bodyOf(tools, "a"), bodyOf(`"tools":[{"name":"Read","description":"reads files"},{"name":"Skill"}],`, "a"), "kept 1 of 1", "tools: tools changed (~Read, +Skill, −Bash)"},
		{"order of tools", bodyOf(tools, "a"), bodyOf(`"tools":[{"name":"Bash"},{"name":"Read","description":"reads"}],`, "a"), "kept 1 of 1", "tools: tools changed (their order)"},
		{"model", bodyOf(`"model":"m-1",`, "a"), bodyOf(`"model":"m-2",`, "a"), "kept 1 of 1", "model: model changed (m-2, was m-1)"},
		{"system", bodyOf(`"system":[{"text":"one"},{"text":"two"}],`, "a"), bodyOf(`"system":[{"text":"one"},{"text":"2"},{"text":"three"}],`, "a"), "kept 1 of 1", "system: system block 2 changed; system: system block 3 is new"},
		{"settings", bodyOf(`"max_tokens":1,"thinking":{"type":"adaptive"},`, "a"), bodyOf(`"max_tokens":2,`, "a"), "kept 1 of 1", "other-setting: max_tokens changed; setting: thinking changed"},
		{"what is not known is no change", bodyOf("", "a"), bodyOf(tools+`"system":"s","model":"m",`, "a"), "kept 1 of 1", ""},
		{"marks of a cache, and a text as a block",
			`{"system":[{"text":"s","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]}]}`,
			bodyOf(`"system":[{"text":"s"}],`, "a", "b"), "kept 2 of 2", ""},
	} {
		got := Compare(outline(t, c.earlier), outline(t, c.later))
		var changes []string
		for _, change := range got.Changes {
			changes = append(changes, change.Kind.String()+": "+change.Text)
		}
		if got.Counts() != c.counts || strings.Join(changes, "; ") != c.changes {
			t.Errorf("%s: %s; %q\nnot %s; %q", c.name, got.Counts(), changes, c.counts, c.changes)
		}
	}
}

// What changed of a part of the system prompt, and of a message that was rewritten, is told in both requests.
func TestChange_Texts(t *testing.T) {
	earlier := outline(t, bodyOf(`"system":[{"type":"text","text":"one"},{"type":"text","text":"two"}],"tools":[{"name":"a"}],`, "a", "b"))
	later := outline(t, bodyOf(`"system":[{"type":"text","text":"1"}],"tools":[{"name":"b"}],`, "x", "b"))
	var got []string
	for _, c := range Compare(earlier, later).Changes {
		old, now := c.Texts(earlier, later)
		got = append(got, fmt.Sprintf("%s|%s|%s", c.Text, strings.Join(strings.Fields(old), ""), strings.Join(strings.Fields(now), "")))
	}
	want := []string{
		"tools changed (+b, −a)||", "system block 1 changed|one|1", "system block 2 is gone|two|",
		`message 1 rewritten|{"role":"user","content":[{"type":"text","text":"a"}]}|{"role":"user","content":[{"type":"text","text":"x"}]}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nnot %q", got, want)
	}
}

// Each message of the earlier request is kept or dropped, and the kept ones stand in the later one in their order, beside
// the new ones.
func TestCompare_countsEachMessageOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 8)
		a, b := texts.Draw(t, "a"), texts.Draw(t, "b")
		same := func(list []string) string { // who speaks does not depend on the place
			return strings.ReplaceAll(bodyOf("", list...), "assistant", "user")
		}
		c := Compare(outline(t, same(a)), outline(t, same(b)))
		all := slices.Sorted(slices.Values(slices.Concat(c.Kept, c.Dropped)))
		if len(all) != len(a) || slices.ContainsFunc(all, func(i int) bool { return all[i] != i }) {
			t.Fatalf("%q, %q: %+v", a, b, c)
		}
		kept := 0
		for i := range b {
			if !slices.Contains(c.New, i) {
				if a[c.Kept[kept]] != b[i] {
					t.Fatalf("%q, %q: %+v", a, b, c)
				}
				kept++
			}
		}
		if kept != len(c.Kept) || !slices.Equal(a[:c.Common], b[:c.Common]) {
			t.Fatalf("%q, %q: %+v", a, b, c)
		}
	})
}

// A request is a list of blocks, each of the kind that it is for the model.
func TestNewOutline(t *testing.T) {
	o := outline(t, `{"model":"m","system":"Be brief.","tools":[{"type":"function","function":{"name":"look","description":"looks\nup"}},{"name":"Bash","cache_control":{}}],
		"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>\nread CLAUDE.md\n</system-reminder>"},{"type":"text","text":"fix it"}]},
		{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I look."},{"type":"tool_use","id":"1","name":"Bash","input":{"command":"ls -1"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"a.txt"}]},
		{"role":"system","content":"Skills: none"},{"role":"assistant","content":[]}]}`)
	var got []string
	for _, b := range o.Blocks {
		got = append(got, fmt.Sprintf("%d %s %s|%s|%t", b.Message, b.Kind, b.Name, b.Title, b.Cached))
	}
	want := []string{
		"-1 system |Be brief.|false", "-1 tool look|looks up|false", "-1 tool Bash||true",
		"0 context |<system-reminder> read CLAUDE.md </system-reminder>|false", "0 prompt |fix it|false",
		"1 thought |hm|false", "1 answer |I look.|false", "1 call Bash|$ ls -1|false", "2 result Bash|a.txt|false", "3 context |Skills: none|false", "4 answer |(empty)|false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nnot %q", got, want)
	}
	if o.Tools != 2 || o.Messages() != 5 || o.Model != "m" || o.SystemBytes != len(`"Be brief."`) {
		t.Errorf("%d tools, %d messages, model %q, system of %d", o.Tools, o.Messages(), o.Model, o.SystemBytes)
	}
}
