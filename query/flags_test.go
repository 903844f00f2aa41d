package query_test

import (
	"fmt"
	"strings"
	"testing"

	"hindcast/query"
)

func TestFlags(t *testing.T) {
	edit := func(old, now string) string {
		return fmt.Sprintf(`call:Edit:{"file_path":"a.go","old_string":%q,"new_string":%q} ok:done `, old, now)
	}
	list := `call:list:{"a":1} ok:none `
	for name, c := range map[string]struct{ words, want string }{
		"three times":                {"x " + list + list + list, "repeat 1-2-3"},
		"four times":                 {"x " + list + list + list + list, "repeat 1-2-3-4"},
		"twice":                      {"x " + list + list, ""},
		"another call in between":    {"x " + list + `call:read:{} ok:a ` + list + list, "repeat 1-3-4"},
		"another result":             {"x " + list + list + `call:list:{"a":1} ok:some `, ""},
		"another result in between":  {"x " + list + list + `call:list:{"a":1} ok:some ` + list, ""},
		"other arguments":            {"x " + list + list + `call:list:{"a":2} ok:none `, ""},
		"a file changed in between":  {"x " + list + list + edit("p", "q") + list, ""},
		"a command in between":       {"x " + list + list + `call:Bash:{"command":"make"} ok:b ` + list, ""},
		"a command that only reads":  {"x " + list + list + `call:Bash:{"command":"ls"} ok:b ` + list, "repeat 1-2-4"},
		"one that reads and writes":  {"x " + list + list + `call:Bash:{"command":"echo>a"} ok:b ` + list, ""},
		"a prompt in between":        {"x " + list + list + "y " + list, ""},
		"the same command":           {"x " + strings.Repeat(`call:Bash:{"command":"make"} ok:b `, 3), "repeat 1-2-3"},
		"no result":                  {"x " + strings.Repeat(`call:wait:{} `, 3), ""},
		"the same error":             {"x call:b:{} bad:no_such_thing call:c:{} ok:1 call:b:{} bad:no_such_thing", "error again 1-3"},
		"another error":              {"x call:b:{} bad:no_such_thing call:b:{} bad:denied", ""},
		"an error of another tool":   {"x call:b:{} bad:denied call:c:{} bad:denied", ""},
		"an edit taken back":         {"x " + edit("p", "q") + edit("q", "p"), "taken back 1-2"},
		"an edit on another":         {"x " + edit("p", "q") + edit("q", "r"), ""},
		"an edit in between":         {"x " + edit("p", "q") + edit("m", "n") + edit("q", "p"), "taken back 1-3"},
		"taken back, and done again": {"x " + edit("p", "q") + edit("q", "p") + edit("p", "q"), "taken back 1-2"},
		"one that failed":            {"x " + strings.Replace(edit("p", "q"), "ok:", "bad:", 1) + edit("q", "p"), ""},
	} {
		run := runOf(t, "", talk(c.words))
		var got []string
		for _, f := range run.Flags() {
			var calls []string
			for _, call := range f.Calls {
				calls = append(calls, fmt.Sprint(call+1))
			}
			got = append(got, string(f.Kind)+" "+strings.Join(calls, "-"))
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %q, not %q", name, text, c.want)
		}
	}
}

// The tokens of a flag are those of the answers that made its calls, the first one aside.
func TestFlags_tokens(t *testing.T) {
	run := &query.Run{Turns: []query.RunTurn{{To: 3}}}
	for range 3 {
		run.Calls = append(run.Calls, query.Call{Tool: "a", Fingerprint: "a", Result: 1, Tokens: 10})
	}
	flags := run.Flags()
	if len(flags) != 1 || flags[0].Tokens != 20 {
		t.Errorf("%+v", flags)
	}
}
