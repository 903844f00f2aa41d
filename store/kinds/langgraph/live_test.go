package langgraph

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/storetest"
)

// null and plain are the encodings of what a node writes to run the next one.
const pull = "~__pregel_pull, "

// At the head what finished tasks wrote counts, as get_state has it of a thread; how a channel takes it the steps before
// tell. At a checkpoint that others follow it does not count, but what an input wrote does.
func TestState_whatFinished(t *testing.T) {
	for name, c := range map[string]struct {
		// before, earlier and value are the channel's: on the parent, written there, and at the head.
		before, earlier, value string
		writes                 []value
		want                   string
		notSure                bool
	}{
		"a list of its own":      {`["a"]`, `["b"]`, `["a","b"]`, []value{{channel: "n", json: `["c"]`}}, `["a","b","c"]`, false},
		"a list that is put":     {`["a"]`, `["b"]`, `["b"]`, []value{{channel: "n", json: `["c"]`}}, `["c"]`, false},
		"of two tasks":           {`["a"]`, `["b"]`, `["a","b"]`, []value{{task: "t1", channel: "n", json: `["c"]`}, {task: "t2", channel: "n", json: `["d"]`}}, `["a","b","c","d"]`, false},
		"one that has none yet":  {``, ``, ``, []value{{channel: "n", json: `["c"]`}}, `["c"]`, true}, // a Topic loses it
		"a number that is put":   {`1`, `5`, `5`, []value{{channel: "n", json: `3`}}, `3`, false},
		"a sum":                  {`1`, `5`, `6`, []value{{channel: "n", json: `3`}}, `9`, false},
		"a text that is put":     {`"a"`, `"b"`, `"b"`, []value{{channel: "n", json: `"c"`}}, `"c"`, false},
		"a text that grows":      {`"a"`, `"b"`, `"ab"`, []value{{channel: "n", json: `"c"`}}, `"abc"`, false},
		"an object that is put":  {`{"a":1}`, `{"b":1}`, `{"b":1}`, []value{{channel: "n", json: `{"c":1}`}}, `{"c":1}`, false},
		"objects put together":   {`{"a":1}`, `{"b":1}`, `{"a":1,"b":1}`, []value{{channel: "n", json: `{"c":1}`}}, `{"a":1,"b":1,"c": 1}`, false},
		"a list of which no one": {`["a"]`, ``, `["a"]`, []value{{channel: "n", json: `["c"]`}}, `["a","c"]`, true},
		"the largest":            {`3`, `5`, `3`, []value{{channel: "n", json: `7`}}, `7`, true},
		"one task failed":        {`1`, `5`, `6`, []value{{task: "t1", channel: "n", json: `3`}, {task: "t2", index: -1, channel: "__error__", json: `"x"`}}, `9`, false},
		"it only asks":           {`1`, `5`, `6`, []value{{index: -3, channel: waits, json: `[{"value":1}]`}}, `6`, false},
	} {
		of := func(value string) string {
			if value != "" {
				value = `"n":` + value
			}
			return `{"v":4,"channel_values":{` + value + `},"channel_versions":{"n":"1"}}`
		}
		first := line{id: 1, document: of(c.before)}
		if c.earlier != "" {
			first.writes = []value{{task: "t", path: pull + "a", channel: "n", json: c.earlier}}
		}
		second := line{id: 2, parent: 1, document: of(c.value)}
		for i, w := range c.writes {
			if w.path = fmt.Sprintf("%s%c", pull, 'a'+i); w.task == "" {
				w.task = "t"
			}
			second.writes = append(second.writes, w)
		}
		s := open(t, written(t, first, second))
		headers := storetest.Headers(t, s, "t")
		if got := state(t, s, headers[1]); !strings.HasPrefix(got, `{"n":`+c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if got := about(t, s, headers[1]); strings.Contains(got, "not sure: n:") != c.notSure {
			t.Errorf("%s: it is not sure: %v\n%s", name, !c.notSure, got)
		}
		// Once another follows, it is as it was; what an input wrote stays.
		for task, want := range map[string]string{"t": c.value, nullTask: c.want} {
			if len(c.writes) != 1 || c.writes[0].index < 0 || c.value == "" {
				continue
			}
			second.writes[0].task, second.writes[0].path = task, ""
			s := open(t, written(t, first, second, line{id: 3, parent: 2, document: of(c.value)}))
			if got := state(t, s, storetest.Headers(t, s, "t")[1]); got != `{"n":`+want+"}" {
				t.Errorf("%s, of %s, at a checkpoint that another follows: %s, want %s", name, task, got, want)
			}
		}
	}
}

// A channel that holds back its value until a run is over stores it with whether it is. What was written
// tells it from a list of the program's.
func TestState_heldBack(t *testing.T) {
	const set = `{"$py":"builtins.set","value":["a"]}`
	for name, c := range map[string]struct {
		value, wrote, want string
		notSure            bool
	}{
		"not yet":            {`["L",false]`, `"L"`, `{}`, false},
		"it is over":         {`["L",true]`, `"L"`, `{"n":"L"}`, false},
		"a list in it":       {`[[1,true],true]`, `[1,true]`, `{"n":[1,true]}`, false},
		"null in it":         {`[null,true]`, `null`, `{"n":null}`, false},
		"a barrier":          {`[` + set + `,false]`, `"a"`, `{}`, false},
		"one that is open":   {`[` + set + `,true]`, `"a"`, `{"n":null}`, false},
		"a list":             {`["L",true]`, `["L",true]`, `{"n":["L",true]}`, false},
		"a list that grew":   {`["L",true]`, `[true]`, `{"n":["L",true]}`, false},
		"what was put":       {`["M",true]`, `"L"`, `{"n":["M",true]}`, false},
		"nothing tells":      {`["L",false]`, ``, `{"n":["L",false]}`, true},
		"three":              {`["L",true,true]`, ``, `{"n":["L",true,true]}`, false},
		"a number behind it": {`["L",1]`, ``, `{"n":["L",1]}`, false},
	} {
		for _, steps := range []int{1, 3} { // the write is on the parent, or further back
			lines := []line{{id: 1, document: `{"v":4,"channel_values":{},"channel_versions":{}}`}}
			if c.wrote != "" {
				lines[0].writes = []value{{task: "t", path: pull + "a", channel: "n", json: c.wrote}}
			}
			for i := range steps {
				lines = append(lines, line{id: i + 2, parent: i + 1, document: `{"v":4,"channel_values":{"n":` + c.value + `},"channel_versions":{"n":"1"}}`})
			}
			s := open(t, written(t, lines...))
			h := storetest.Headers(t, s, "t")[steps]
			if got := state(t, s, h); got != c.want {
				t.Errorf("%s, %d steps: %s, want %s", name, steps, got, c.want)
			}
			if got := about(t, s, h); strings.Contains(got, "not sure: n:") != c.notSure {
				t.Errorf("%s, %d steps: it is not sure: %v\n%s", name, steps, !c.notSure, got)
			}
		}
	}
}

// The state of a function is what it returned. What it saved for its next call is shown where it is another value.
func TestState_function(t *testing.T) {
	for values, want := range map[string]string{
		`"__end__":{"a":1},"__previous__":{"a":1}`: `{"a":1}`,
		`"__end__":{"a":1},"__previous__":2`:       `{"a":1,"__previous__":2}`,
		`"__end__":{},"__previous__":{}`:           `{}`,
		`"__end__":5,"__previous__":5`:             `{"__end__":5,"__previous__":5}`,
		`"__start__":{"t":1}`:                      `{"__start__":{"t":1}}`,
	} {
		if got := head(t, written(t, line{id: 1, document: `{"v":4,"channel_values":{` + values + `}}`})); got != want {
			t.Errorf("%s: %s, want %s", values, got, want)
		}
	}
}

// Each question that waits is told with its id, and the call answers each. Which tasks run again depends on whether
// the call names the checkpoint.
func TestAbout_severalQuestions(t *testing.T) {
	const document = `{"v":4,"channel_values":{"__pregel_tasks":[{"$py":"langgraph.types.Send","value":["one",1]},{"$py":"langgraph.types.Send","value":["two",1]},{"$py":"langgraph.types.Send","value":["one",2]}]},
		"channel_versions":{"__pregel_tasks":"2"}}`
	question := func(text, id string) string {
		return fmt.Sprintf(`[{"$py":"langgraph.types.Interrupt","value":%s,"id":"%s"}]`, text, id)
	}
	push := func(n int) string { return fmt.Sprintf("~__pregel_push, %010d, 0000000000", n) }
	waiting := []value{
		{task: "a", path: push(0), index: -3, channel: waits, json: question(`"Who?"`, "i1")},
		{task: "b", path: push(1), channel: "out", json: `["done"]`},
		{task: "c", path: push(2), index: -3, channel: waits, json: question(`{"k":"What?"}`, "i2")},
	}
	for name, c := range map[string]struct {
		writes []value
		lines  []line
		want   []string
		not    string
	}{
		"at the head": {waiting, nil, []string{
			"next: one, one\n", "asks: i1: Who?\n", `asks: i2: {"k":"What?"}`, "so far: 1 task that finished wrote out: ",
			`graph.invoke(Command(resume={"i1": …, "i2": …}), {`, `answers i1: Who?; i2: {"k":"What?"}; and runs one, one from here (not 1 task that finished)`,
			"runs one, one, two from here (also 1 task that finished), which asks again",
		}, ""},
		"behind it": {waiting, []line{{id: 2, parent: 1, document: `{"v":4,"channel_values":{}}`}}, []string{
			"next: one, one, two\n", `and runs one, one, two from here (also 1 task that finished)`,
		}, "so far"},
		"one waits": {waiting[:2], nil, []string{"asks: i1: Who?\n", "graph.invoke(Command(resume=…), {", "answers what is asked, and runs one, one from here (not 1 task that finished)"}, ""},
		"of an older version, which has no ids": {[]value{{task: "a", path: push(0), index: -3, channel: waits, json: `[{"value":1}]`}, {task: "c", path: push(2), index: -3, channel: waits, json: `[{"value":2}]`}}, nil,
			[]string{"asks: 1\n", "asks: 2\n", "graph.invoke(Command(resume=…), {"}, "so far"},
	} {
		s := open(t, written(t, append([]line{{id: 1, document: document, writes: c.writes}}, c.lines...)...))
		got := about(t, s, storetest.Headers(t, s, "t")[0])
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, got)
			}
		}
		if c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: %q is in\n%s", name, c.not, got)
		}
	}
}

// A copy that LangGraph makes where it goes back in time has the title of what it is a copy of, and what is left says
// that the thread was forked.
func TestLog_timeTravel(t *testing.T) {
	said := `[{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"content":"It rains.","id":"a"}}]`
	const document, fork = `{"v":4,"channel_values":{}}`, `{"source":"fork","step":1,"parents":{}}`
	s := open(t, written(t,
		line{id: 1, document: document, writes: []value{{task: "t", path: pull + "model", channel: messages, json: said}}},
		line{id: 2, parent: 1, document: document, writes: []value{{task: "u", path: pull + "next", channel: "n", json: "1"}}},
		line{id: 3, parent: 2, document: document},
		line{id: 4, parent: 1, document: document, metadata: fork}))
	headers := storetest.Headers(t, s, "t")
	if h := headers[3]; h.Title != "It rains." || h.EventName != "fork" || !h.Head {
		t.Errorf("%+v", h)
	}
	if r := headers[2].Reason; r == nil || r.Kind != model.ReasonForked || !strings.HasPrefix(r.Text(func(time.Time) string { return "" }), "left by a fork from #1") {
		t.Errorf("%+v", r)
	}
}

// At the head where a task has finished, get_state has no value of a channel of a single step. The steps before tell
// such a channel: without a write its value goes.
func TestState_ofOneStep(t *testing.T) {
	const document = `{"v":4,"channel_values":{%s},"channel_versions":{}}`
	wrote := func(channel string) []value {
		return []value{{task: "t", path: pull + "a", channel: channel, json: `"x"`}}
	}
	for name, c := range map[string]struct {
		after, want string // what is there a step behind the value, and at the head
		source      string // of that step
		notSure     bool
	}{
		"a value that went":      {``, `{"n":"x"}`, "loop", false},
		"a topic that went":      {`"once":[]`, `{"n":"x"}`, "loop", false},
		"a value that stayed":    {`"once":"x"`, `{"once":"x","n":"x"}`, "loop", false},
		"one that a copy has":    {`"once":"x"`, `{"once":"x","n":"x"}`, "fork", true},
		"one that an input left": {`"once":"x"`, `{"once":"x","n":"x"}`, "input", true},
	} {
		const has = `"once":"x"`
		s := open(t, written(t,
			line{id: 1, document: fmt.Sprintf(document, ""), writes: wrote("once")},
			line{id: 2, parent: 1, document: fmt.Sprintf(document, has), writes: wrote("m")},
			line{id: 3, parent: 2, document: fmt.Sprintf(document, c.after), metadata: `{"source":"` + c.source + `","step":2}`, writes: wrote("once")},
			line{id: 4, parent: 3, document: fmt.Sprintf(document, has), writes: append(wrote("n"), value{task: "u", path: pull + "b", index: -3, channel: waits, json: `[1]`})}))
		headers := storetest.Headers(t, s, "t")
		want := strings.TrimSuffix(c.want, "}") + `,"__interrupt__":[1]}`
		if got := state(t, s, headers[3]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if got := strings.Contains(about(t, s, headers[3]), "once: how it takes"); got != c.notSure {
			t.Errorf("%s: it is not sure: %v", name, got)
		}
	}
}

// A fork of a checkpoint that waits and is not the head has the question, and no writes of the tasks that finished:
// all of them run again, as by a call that names the checkpoint. A fork of the head has them.
func TestFork_waits(t *testing.T) {
	const document = `{"v":4,"channel_values":{"n":1,"branch:to:a":null,"branch:to:b":null},"channel_versions":{"branch:to:a":"2","branch:to:b":"2"}}`
	waiting := []value{{task: "t", path: pull + "a", channel: "n", json: "2"}, {task: "u", path: pull + "b", index: -3, channel: waits, json: `[1]`}}
	lines := []line{{id: 1, document: document, writes: waiting}, {id: 2, parent: 1, document: document, writes: waiting}}
	for i, want := range []string{`{"n":1,"__interrupt__":[1]}`, `{"n":2,"__interrupt__":[1]}`} {
		s := storetest.AsWriter(open(t, written(t, lines...)))
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: storetest.Headers(t, s, "t")[i].Ref(), As: "fork"})
		if err == nil {
			_, err = s.Apply(t.Context(), plan)
		}
		if err != nil {
			t.Fatal(err)
		}
		headers := storetest.Headers(t, s, "fork")
		if got := state(t, s, headers[i]); got != want {
			t.Errorf("the fork of #%d is %s, want %s", i, got, want)
		}
		if next := []string{"next: a, b\n", "next: b\n"}[i]; !strings.Contains(about(t, s, headers[i]), next) {
			t.Errorf("the fork of #%d has not %q:\n%s", i, next, about(t, s, headers[i]))
		}
	}
}

// A turn ends where no step follows: a node that waits for the end of a run is none.
func TestHeaders_deferred(t *testing.T) {
	const document = `{"v":4,"channel_values":{}}`
	wrote := []value{{task: "t", path: pull + "a", channel: "n", json: "1"}}
	s := open(t, written(t, line{id: 1, document: document, writes: wrote}, line{id: 2, parent: 1, document: document, writes: wrote}, line{id: 3, parent: 2, document: document}))
	if h := storetest.Headers(t, s, "t"); h[1].EventText() != "a" || h[2].EventText() != "turn end" {
		t.Errorf("%q, %q", h[1].EventText(), h[2].EventText())
	}
}
