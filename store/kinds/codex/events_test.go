package codex

import (
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
)

// A message that only an event has is shown; one that an item has, too, is shown once, in whatever
// order they stand.
func TestTold(t *testing.T) {
	user := func(words string) string { return `{"type":"user_message","message":"` + words + `","images":[]}` }
	agent := func(words string) string { return `{"type":"agent_message","message":"` + words + `"}` }
	item := func(kind, words string) string {
		return `{"type":"item_completed","item":{"type":"` + kind + `","id":"i","content":[{"type":"text","text":"` + words + `"}]}}`
	}
	for _, c := range []struct {
		name, record string // "e EVENT", "u WORDS", "a WORDS", "c" a call, "r" its result
		want         string
		alone        int
	}{
		{"a prompt alone", "e " + user("fix") + "\na done", "user: fix\nassistant: done", 1},
		{"both alone", "e " + user("fix") + "\ne " + agent("done"), "user: fix\nassistant: done", 2},
		{"the item first", "u fix\ne " + user("fix") + "\na done\ne " + agent("done"), "user: fix\nassistant: done", 0},
		{"the event first", "e " + user("fix") + "\nu fix\ne " + agent("done") + "\na done", "user: fix\nassistant: done", 0},
		{"the same prompt twice", "u go\ne " + user("go") + "\na one\nu go\ne " + user("go") + "\na two", "user: go\nassistant: one\nuser: go\nassistant: two", 0},
		{"the second alone", "u go\ne " + user("go") + "\na one\ne " + user("go") + "\na two", "user: go\nassistant: one\nuser: go\nassistant: two", 1},
		{"an event behind the call", "u go\ne " + user("go") + "\na look\nc\ne " + agent("look") + "\nr\na done", "user: go\nassistant: look\nassistant: \ntool: \nassistant: done", 0},
		{"an answer before a call alone", "u go\ne " + agent("look") + "\nc\nr\na done", "user: go\nassistant: look\nassistant: \ntool: \nassistant: done", 1},
		{"events of 0.169", "e " + item("UserMessage", "fix") + "\nu fix\ne " + item("AgentMessage", "done") + "\na done", "user: fix\nassistant: done", 0},
		{"events of 0.169 alone", "e " + item("UserMessage", "fix") + "\ne " + item("AgentMessage", "done"), "user: fix\nassistant: done", 2},
		{"events around an item", "e " + user("go") + "\nu go\ne " + user("go") + "\na done", "user: go\nuser: go\nassistant: done", 1},
		{"a thought between", "u go\ne " + user("go") + "\na done\nt\nx\nt\ne " + agent("done"), "user: go\nassistant: done\nassistant: \nassistant: ", 0},
		{"an event of no message", "u go\ne " + item("Reasoning", "hm") + "\ne " + user("") + "\ne " + `{"type":"user_message","message":5}` + "\na done", "user: go\nassistant: done", 0},
		{"two events of one prompt", "e " + user("fix") + "\ne " + item("UserMessage", "fix") + "\na done", "user: fix\nassistant: done", 1},
	} {
		var r madeRollout
		r.header()
		for line := range strings.Lines(c.record) {
			what, words, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			switch what {
			case "e":
				r.event(words)
			case "t":
				r.thinks("hm")
			case "x":
				r.record(typeContext, `{"model":"m"}`)
			case "u":
				r.says("user", words)
			case "a":
				r.says("assistant", words)
			case "c":
				r.record(typeItem, `{"type":"function_call","name":"shell","arguments":"{}","call_id":"c"}`)
			case "r":
				r.record(typeItem, `{"type":"function_call_output","call_id":"c","output":"ok"}`)
			}
		}
		s, _ := r.store(t)
		list := storetest.Headers(t, s, made)
		if got := strings.Join(sent(t, s, list[len(list)-1]), "\n"); len(list) != strings.Count(c.want, "\n")+1 {
			t.Errorf("%s: %d snapshots, and the model reads\n%s\nwant\n%s", c.name, len(list), got, c.want)
		}
		faults := slices.DeleteFunc(codes(t, s, made), func(code string) bool { return !strings.HasPrefix(code, FaultAlone) })
		if len(faults) != min(c.alone, 1) {
			t.Errorf("%s: the faults are %q", c.name, faults)
		}
		id := fork(t, s, list[len(list)-1])
		if again := storetest.Headers(t, s, id); len(again) != len(list) {
			t.Errorf("%s: a fork has %d snapshots of %d", c.name, len(again), len(list))
		}
		if c.alone > 0 && len(slices.DeleteFunc(codes(t, s, id), func(code string) bool { return !strings.HasPrefix(code, FaultAlone) })) > 0 {
			t.Errorf("%s: a fork has no item of what an event has", c.name)
		}
	}
}

// What went wrong in a turn is a row of its own, which the model is not sent; a turn without an
// end is marked.
func TestTurn_thatFailed(t *testing.T) {
	const started, ended = `{"type":"task_started","turn_id":"1"}`, `{"type":"task_complete","turn_id":"1","last_agent_message":null,"error":{"message":"fake failure 400"}}`
	for _, c := range []struct {
		name   string
		events []string // behind the prompt "one"
		want   []string // titles
		marked model.Marks
		at     int
	}{
		{"an error of the turn", []string{ended}, []string{"one", "fake failure 400", "two"}, model.MarkError, 1},
		{"an error as an event", []string{`{"type":"error","message":"stream failed"}`, `{"type":"task_complete","last_agent_message":null}`}, []string{"one", "stream failed", "two"}, model.MarkError, 1},
		{"both", []string{`{"type":"error","message":"fake failure 400"}`, ended}, []string{"one", "fake failure 400", "two"}, model.MarkError, 1},
		{"an error that is a text", []string{`{"type":"task_complete","error":"out of quota"}`}, []string{"one", "out of quota", "two"}, model.MarkError, 1},
		{"killed", nil, []string{"one (" + killed + ")", "two"}, model.MarkError, 0},
		{"ended well", []string{`{"type":"task_complete","last_agent_message":null}`}, []string{"one", "two"}, 0, 0},
	} {
		var r madeRollout
		r.header()
		r.event(started)
		r.says("user", "one")
		for _, e := range c.events {
			r.event(e)
		}
		r.event(started)
		r.says("user", "two")
		s, _ := r.store(t)
		list := storetest.Headers(t, s, made)
		var got []string
		for _, h := range list {
			got = append(got, h.Title)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: the rows are %q, want %q", c.name, got, c.want)
			continue
		}
		if list[c.at].Marks&model.MarkError != c.marked {
			t.Errorf("%s: the marks are %v", c.name, list[c.at].Marks.Words())
		}
		if last := list[len(list)-1]; !last.Marks.Has(model.MarkInterrupted) {
			t.Errorf("%s: the turn without an end is marked %v", c.name, last.Marks.Words())
		}
		if n := len(sent(t, s, list[len(list)-1])); n != 2 {
			t.Errorf("%s: behind it the model reads %d messages", c.name, n)
		}
		if text, err := s.State(t.Context(), list[c.at].Ref()); err != nil || c.at > 0 && !strings.Contains(string(text), c.want[1]) {
			t.Errorf("%s: the state says %s, %v", c.name, text, err)
		}
	}
}

// A command that failed is told by the exit code before its output, never by one in it.
func TestFailed_byItsExitCode(t *testing.T) {
	for output, want := range map[string]bool{
		`Chunk ID: a\nWall time: 0.0 seconds\nProcess exited with code 2\nOriginal token count: 0\nOutput:\nx`: true,
		`Chunk ID: a\nWall time: 0.0 seconds\nProcess exited with code 0\nOriginal token count: 0\nOutput:\nx`: false,
		`Exit code: 1\nWall time: 0 seconds\nOutput:\nno such file`:                                            true,
		`Exit code: 0\nWall time: 0 seconds\nOutput:\nExit code: 1\nOutput`:                                    false,
		`it prints\nExit code: 7\n`: false,
	} {
		var r madeRollout
		r.header()
		r.says("user", "run")
		r.record(typeItem, `{"type":"function_call","name":"exec_command","arguments":"{}","call_id":"c"}`)
		r.record(typeItem, `{"type":"function_call_output","call_id":"c","output":"`+output+`"}`)
		s, _ := r.store(t)
		h := storetest.Headers(t, s, made)[2]
		if h.Marks.Has(model.MarkError) != want {
			t.Errorf("%s: the marks are %v", output, h.Marks.Words())
		}
	}
}
