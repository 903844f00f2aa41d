package query_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/query"
)

// talk returns a state of messages. A word is a prompt, `call:TOOL:ARGUMENT` a call, `ok:RESULT` or `bad:RESULT` the
// result of the call before it, and `say:WORDS` an answer.
func talk(words string) string {
	var list []string
	calls := 0
	for word := range strings.FieldsSeq(words) {
		kind, rest, _ := strings.Cut(word, ":")
		tool, argument, _ := strings.Cut(rest, ":")
		switch kind {
		case "call":
			calls++
			list = append(list, fmt.Sprintf(`{"role":"assistant","content":[{"toolUse":{"toolUseId":"t%d","name":%q,"input":%s}}]}`, calls, tool, argument))
		case "ok", "bad":
			status := map[string]string{"ok": "success", "bad": "error"}[kind]
			list = append(list, fmt.Sprintf(`{"role":"user","content":[{"toolResult":{"toolUseId":"t%d","status":%q,"content":[{"text":%q}]}}]}`, calls, status, rest))
		case "say":
			list = append(list, fmt.Sprintf(`{"role":"assistant","content":[{"text":%q}]}`, rest))
		default:
			list = append(list, fmt.Sprintf(`{"role":"user","content":[{"text":%q}]}`, word))
		}
	}
	return `{"messages":[` + strings.Join(list, ",") + `]}`
}

// runOf reads the line to the last of some states, each of which follows the one before it.
func runOf(t *testing.T, project string, states ...string) *query.Run {
	t.Helper()
	var rows []string
	before := "-"
	for i, state := range states {
		id := fmt.Sprintf("s%d", i)
		rows, before = append(rows, id+" "+before+" "+state), id
	}
	p := pastOf(rows...)
	tl := model.NewTimeline(p.headers)
	run, err := query.Open(p, tl).ReadRun(t.Context(), tl, model.Node(tl.Len()-1), project, nil)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// tellRun tells a run by its turns and calls.
func tellRun(run *query.Run) string {
	var words []string
	for i := range run.Turns {
		turn := &run.Turns[i]
		words = append(words, "["+turn.Prompt+"]")
		for _, c := range run.Calls[turn.From:turn.To] {
			word := fmt.Sprintf("%s#%d", c.Tool, c.Visit)
			switch {
			case c.Failed:
				word += "!"
			case !c.IsAnswered():
				word += "?"
			}
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

func TestReadRun(t *testing.T) {
	for name, c := range map[string]struct {
		states []string
		want   string
	}{
		"turns and calls": {[]string{talk("hello call:ls:{}"), talk("hello call:ls:{} ok:a"), talk("hello call:ls:{} ok:a say:done more call:rm:{} bad:no")},
			"[hello] ls#0 [more] rm#2!"},
		"a call without a result":      {[]string{talk("hello call:ls:{}")}, "[hello] ls#0?"},
		"a call before any prompt":     {[]string{talk("call:ls:{} ok:a hello")}, "[] ls#0 [hello]"},
		"a window that slides":         {[]string{talk("hello call:ls:{} ok:a"), strings.Replace(talk("call:ls:{} ok:a more"), "t1", "t1", 1)}, "[hello] ls#0 [more]"},
		"what was gone and comes back": {[]string{talk("hello call:ls:{} ok:a"), talk("summary"), talk("hello call:ls:{} ok:a next")}, "[hello] ls#0 [summary] [next]"},
		"steps without messages":       {[]string{`{"n":1}`, `{"n":2}`}, "[] end#0 end#1"},
		"a state that is no JSON":      {[]string{talk("hello"), `{`}, "[hello]"},
	} {
		if got := tellRun(runOf(t, "", c.states...)); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
	// Without ids the same call is the same message, and still counts each time.
	call := `{"role":"model","content":[{"toolRequest":{"name":"ls","input":{}}}]},{"role":"tool","content":[{"toolResponse":{"name":"ls","output":"a"}}]}`
	again := runOf(t, "", `{"messages":[`+call+`]}`, `{"messages":[`+call+`,`+call+`]}`, `{"messages":[`+call+`,`+call+`,`+call+`]}`)
	if got := tellRun(again); got != "[] ls#0 ls#1 ls#2" {
		t.Errorf("calls without ids: %s", got)
	}
}

// Calls have one fingerprint if they ask for the same.
func TestFingerprint(t *testing.T) {
	of := func(project, tool, input string) string {
		return runOf(t, project, talk("x call:"+tool+":"+strings.ReplaceAll(input, " ", "\u00a0"))).Calls[0].Fingerprint
	}
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"the order of members":      {`read {"a":1,"b":2}`, `read {"b":2,"a":1.0}`, true},
		"JSON in a string":          {`read {"a":1}`, `read "{\"a\":1}"`, true},
		"white space":               {`Bash {"command":"go\n\u0020test"}`, `Bash {"command":"go\u0020test"}`, true},
		"a backslash and an n":      {`Bash {"command":"a\\n"}`, `Bash {"command":"a\n"}`, false},
		"the words for a person":    {`Bash {"command":"ls","description":"list"}`, `Bash {"command":"ls","timeout":5}`, true},
		"a description elsewhere":   {`issue {"description":"a"}`, `issue {"description":"b"}`, false},
		"another tool":              {`read {"a":1}`, `write {"a":1}`, false},
		"the project":               {`Read {"file_path":"/home/u/p/a.go"}`, `Read {"file_path":"a.go"}`, true},
		"a folder that begins so":   {`Read {"file_path":"/home/u/p2/a.go"}`, `Read {"file_path":"a.go"}`, false},
		"a folder that ends so":     {`Read {"file_path":"/mnt/home/u/p/a.go"}`, `Read {"file_path":"a.go"}`, false},
		"the project in a command":  {`Bash {"command":"cd\u0020/home/u/p\u0020&&\u0020ls"}`, `Bash {"command":"cd\u0020.\u0020&&\u0020ls"}`, true},
		"a number without a double": {`read {"a":1e999}`, `read {"a":2e999}`, false},
	} {
		a, b := strings.SplitN(c.a, " ", 2), strings.SplitN(c.b, " ", 2)
		x, y := of("/home/u/p", a[0], a[1]), of("/home/u/p", b[0], b[1])
		if (x == y) != c.same {
			t.Errorf("%s: %q and %q", name, x, y)
		}
	}
}

func TestErrorClass(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"no such file: /tmp/a/b.go", "no such file: ./b.go", true},
		{"no such file: /tmp/a/b.go", "no such file: ./c.go", false},
		{"./a/b.go:12:3: undefined: x", "./a/b.go:40:1: undefined: x", true},
		{"took 12.5s, of 3 tests 1 failed", "took 1.2s, of 30 tests 2 failed", true},
		{`cannot find "x" here`, `cannot find "y z" here`, true},
		{"TS2339: no property", "TS2551: no property", false},
		{"permission denied", "no such file", false},
	} {
		if x, y := query.ErrorClass("Bash", "1", c.a), query.ErrorClass("Bash", "1", c.b); (x == y) != c.same {
			t.Errorf("%q and %q", x, y)
		}
	}
}

// tellRows tells rows by the calls of each run.
func tellRows(runs []*query.Run, rows []query.RunRow) (lines []string) {
	for i := range rows {
		line := ""
		for k, at := range rows[i].Cells {
			word := "."
			if at >= 0 && rows[i].Prompt {
				word = runs[k].Turns[at].Prompt
			} else if at >= 0 {
				word = runs[k].Calls[at].Tool
			}
			line += word + " "
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func TestCompareRuns(t *testing.T) {
	read := func(words string) *query.Run { return runOf(t, "", talk(words)) }
	for name, c := range map[string]struct {
		runs  []string
		want  string
		parts int
	}{
		"the same": {[]string{"x call:a:{} ok:1 y", "x call:a:{} ok:2 y"}, "x x|a a|y y", 3},
		"a call in between": {[]string{"x call:a:{} call:c:{}", "x call:a:{} call:b:{} call:c:{}", "x call:a:{} call:b:{}"},
			"x x x|a a a|. b b|c c .", 2},
		"an end":                        {[]string{"x call:a:{}", "x call:a:{} call:b:{}"}, "x x|a a|. b", 2},
		"other prompts":                 {[]string{"x call:a:{}", "y call:a:{}"}, "x y|a a", 0},
		"a turn more":                   {[]string{"x call:a:{}", "x call:a:{} y call:a:{}"}, "x x|a a|. y|. a", 2},
		"the same call in another turn": {[]string{"x y call:a:{}", "x call:a:{} y"}, "x x|. a|y y|a .", 1},
	} {
		var runs []*query.Run
		for _, words := range c.runs {
			runs = append(runs, read(words))
		}
		compared, err := query.CompareRuns(t.Context(), runs)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(tellRows(runs, compared.Rows), "|"); got != c.want || compared.Parts != c.parts {
			t.Errorf("%s: %s, parted at %d; not %s at %d", name, got, compared.Parts, c.want, c.parts)
		}
	}
	if none, err := query.CompareRuns(t.Context(), nil); err != nil || len(none.Rows) > 0 || none.Parts != 0 {
		t.Errorf("no runs: %+v, %v", none, err)
	}
	a, b := read("x call:a:{} ok:1"), read("x call:a:{} ok:2")
	if three, err := query.CompareRuns(t.Context(), []*query.Run{a, b, a}); err != nil || three.Rows[1].Results != 2 {
		t.Errorf("%+v, %v", three, err)
	}
}

func TestGroupRuns(t *testing.T) {
	var runs []*query.Run
	for _, words := range []string{"x call:a:{} call:b:{} call:t:{}", "x call:a:{} call:b:{} call:c:{}", "x call:a:{} call:t:{}", "x call:z:{} call:t:{}"} {
		runs = append(runs, runOf(t, "", talk(words)))
	}
	got := query.GroupRuns(runs, []string{"true", "false", "true", "true"})
	if len(got) != 2 || !slices.Equal(got[0].Runs, []int{0, 2, 3}) || !slices.Equal(got[1].Runs, []int{1}) {
		t.Fatalf("%+v", got)
	}
	// Both went on together up to b.
	if got[0].Run != 0 || got[0].Call != 2 || got[1].Run != 1 || got[1].Call != 2 {
		t.Errorf("parted at %+v", got)
	}
	if got = query.GroupRuns(runs, []string{"1", "1", "1", "1"}); len(got) != 1 || got[0].Run != -1 {
		t.Errorf("one group: %+v", got)
	}
}

// The cost of a comparison is that of its calls: also where no two of them are the same.
func TestCompareRuns_ofManyThatDiffer(t *testing.T) {
	const runs, calls = 100, 500
	var all []*query.Run
	for i := range runs {
		run := &query.Run{Turns: []query.RunTurn{{From: 0, To: calls}}}
		for k := range calls {
			run.Calls = append(run.Calls, query.Call{Fingerprint: fmt.Sprint(i, " ", k)})
		}
		all = append(all, run)
	}
	compared, err := query.CompareRuns(t.Context(), all)
	if err != nil || len(compared.Rows) != runs*calls+1 || compared.Parts != 1 {
		t.Errorf("%d rows, parted at %d, %v", len(compared.Rows), compared.Parts, err)
	}
}

// One walk gives the stats of all visits and the run of a line, as two do.
func TestSession_StatsWithRun(t *testing.T) {
	begun := "x call:a:{} ok:1 "
	p := pastOf("a - "+talk(begun), "b a "+talk(begun+"call:b:{} bad:no"), "c a "+talk(begun+"call:c:{} ok:2 y call:d:{}"), "d b "+talk(begun+"call:b:{} bad:no call:b:{} bad:no"))
	tl := model.NewTimeline(p.headers)
	for tip := range model.Node(tl.Len()) {
		want, err := query.Open(p, tl).ReadRun(t.Context(), tl, tip, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		var run *query.Run
		var stats, wantStats []query.Stat
		for stat, err := range query.Open(p, tl).StatsWithRun(t.Context(), tl, tip, "", nil, func(r *query.Run) { run = r }) {
			if err != nil {
				t.Fatal(err)
			}
			stats = append(stats, stat)
		}
		for stat := range query.Open(p, tl).Stats(t.Context()) {
			wantStats = append(wantStats, stat)
		}
		if run == nil || tellRun(run) != tellRun(want) || !slices.Equal(run.Path, want.Path) || fmt.Sprint(run.Flags()) != fmt.Sprint(want.Flags()) {
			t.Errorf("to %s: %s, not %s", tl.Name(tip), tellRun(run), tellRun(want))
		}
		if fmt.Sprint(stats) != fmt.Sprint(wantStats) {
			t.Errorf("to %s: %v, not %v", tl.Name(tip), stats, wantStats)
		}
	}
}
