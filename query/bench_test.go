package query_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/query"
)

// snapshots is how many the sessions of the benchmarks have.
func snapshots() int {
	if testing.Short() {
		return 1000
	}
	return 10_000
}

// The changes of a value, of a session that nothing is known of, and asked again.
func BenchmarkHistory(b *testing.B) {
	paths := map[string][]string{"genkit": {"/custom/plan/status", "/custom/total"}, "strands": {"/messages/3", "/messages/-1"}}
	for _, s := range sessions(snapshots()) {
		path := s.at(b, snapshots())
		of := paths[s.name]
		if of == nil {
			of = []string{"/plan/status", "/session/turn", "/messages/3"}
		}
		for _, pointer := range of {
			ask := func(b *testing.B, q *query.Session) {
				asked, err := query.ParsePath(pointer)
				if err != nil {
					b.Fatal(err)
				}
				changes := 0
				for _, err := range q.History(b.Context(), asked) {
					if changes++; err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(changes), "changes")
			}
			b.Run(s.name+pointer+"/cold", func(b *testing.B) {
				defer perCPU(b)()
				for b.Loop() {
					_, q, _ := s.asked(b, path)
					ask(b, q)
				}
			})
			b.Run(s.name+pointer+"/warm", func(b *testing.B) {
				_, q, _ := s.asked(b, path)
				ask(b, q)
				defer perCPU(b)()
				for b.Loop() {
					ask(b, q)
				}
			})
		}
	}
}

// The blame of the head's state, of a session that nothing is known of; half is when half of
// the values are there.
func BenchmarkBlame(b *testing.B) {
	for _, s := range sessions(snapshots()) {
		path := s.at(b, snapshots())
		b.Run(s.name, func(b *testing.B) {
			defer perCPU(b)()
			var half time.Duration
			values := 0
			for b.Loop() {
				start := time.Now()
				_, q, t := s.asked(b, path)
				var at []time.Duration
				for _, err := range q.Blame(b.Context(), t.Head(), query.Path{}) {
					if err != nil {
						b.Fatal(err)
					}
					at = append(at, time.Since(start))
				}
				values = len(at)
				half += at[values/2]
			}
			b.ReportMetric(float64(values), "values")
			b.ReportMetric(float64(half.Microseconds())/1000/float64(b.N), "half-ms")
		})
	}
}

// expressions are those of the benchmarks, by their class. In the sessions of the benchmarks
// all are true now and then.
func expressions(session string) map[string]string {
	switch session {
	case "genkit":
		return map[string]string{
			"path":    `.custom.plan.status == "step 1"`,
			"element": `any(.messages[]; .content[0].text | contains("turn 90"))`,
			"length":  `.messages | length > 500`,
			"whole":   `[.. | numbers] | length > 1000`,
		}
	case "strands":
		return map[string]string{
			"path":    `.messages[3].message.role == "user"`,
			"element": `any(.messages[]; .content[0].text? // "" | contains("turn 90"))`,
			"length":  `.messages | length > 5000`,
		}
	}
	return map[string]string{
		"path":    `.plan.status == "step 2"`,
		"element": `any(.messages[]; .content[0].text? // "" | contains("turn 90"))`,
		"count":   `[.messages[] | select(.role == "assistant")] | length > 150`,
		"length":  `.messages | length > 500`,
		"whole":   `[.messages[].role] | first == "user"`,
	}
}

// Where an expression becomes true or false, of a session that nothing is known of.
func BenchmarkFind(b *testing.B) {
	for _, s := range sessions(snapshots()) {
		path := s.at(b, snapshots())
		for class, text := range expressions(s.name) {
			expr, err := query.ParseExpr(text)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(s.name+"/"+class, func(b *testing.B) {
				defer perCPU(b)()
				turns := 0
				for b.Loop() {
					_, q, _ := s.asked(b, path)
					turns = 0
					for f, err := range q.Find(b.Context(), expr) {
						if err != nil {
							b.Fatal(err)
						}
						if f.Turn != query.Passed {
							turns++
						}
					}
				}
				b.ReportMetric(float64(turns), "turns")
			})
		}
	}
}

// A column of the screen: an expression at 45 visits, of a session that nothing is known of,
// and of the same visits again.
func BenchmarkValues(b *testing.B) {
	const rows = 45
	for _, s := range sessions(snapshots()) {
		path := s.at(b, snapshots())
		for class, text := range expressions(s.name) {
			expr, err := query.ParseExpr(text)
			if err != nil {
				b.Fatal(err)
			}
			ask := func(b *testing.B, q *query.Session, t *model.Timeline) {
				var nodes []model.Node
				for n := model.Node(t.Len() - rows); int(n) < t.Len(); n++ {
					nodes = append(nodes, n)
				}
				for v, err := range q.Values(b.Context(), nodes, expr) {
					if err != nil || v.Turn != query.Passed {
						b.Fatal(v.Why, err)
					}
				}
			}
			b.Run(s.name+"/"+class+"/first", func(b *testing.B) {
				opened, _, t := s.asked(b, path)
				for b.Loop() {
					ask(b, query.Open(opened, t), t)
				}
			})
			b.Run(s.name+"/"+class+"/again", func(b *testing.B) {
				_, q, t := s.asked(b, path)
				ask(b, q, t)
				for b.Loop() {
					ask(b, q, t)
				}
			})
		}
	}
}

// peers are other tools with the states of a session before them: those of git in a repository,
// those of jq and rg in files. All are in the page cache.
type peers struct {
	dir, states, files string
}

// peersOf hands the states of a session to other tools; it skips the benchmark where one of those
// that it needs is missing.
func peersOf(b *testing.B, s session, path string, tools ...string) peers {
	b.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			b.Skipf("there is no %s", tool)
		}
	}
	opened, _, t := s.asked(b, path)
	p := peers{dir: b.TempDir(), files: b.TempDir()}
	var stream, all bytes.Buffer
	for i := range model.Node(t.Len()) {
		h := t.Header(i)
		state, err := opened.State(b.Context(), h.Ref())
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.files, fmt.Sprintf("%d.json", i)), state, 0o600); err != nil {
			b.Fatal(err)
		}
		all.Write(append(state, '\n'))
		var indented bytes.Buffer
		if err := json.Indent(&indented, state, "", " "); err != nil {
			b.Fatal(err)
		}
		fmt.Fprintf(&stream, "commit refs/heads/main\nmark :%d\ncommitter a <a@b> %d +0000\ndata 1\nx\n", i+1, i+1)
		fmt.Fprintf(&stream, "M 644 inline state.json\ndata %d\n%s\n", indented.Len(), indented.Bytes())
	}
	p.states = filepath.Join(p.dir, "states.jsonl")
	if err := os.WriteFile(p.states, all.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	if slices.Contains(tools, "git") {
		p.run(b, nil, "git", "init", "-q", "-b", "main")
		p.run(b, stream.Bytes(), "git", "fast-import", "--quiet")
	}
	return p
}

// run runs a tool beside the states.
func (p peers) run(b *testing.B, in []byte, name string, args ...string) []byte {
	b.Helper()
	c := exec.CommandContext(b.Context(), name, args...)
	c.Dir, c.Stdin = p.dir, bytes.NewReader(in)
	out, err := c.CombinedOutput()
	if err != nil {
		b.Fatalf("%s: %v: %.300s", name, err, out)
	}
	return out
}

func measure(b *testing.B, name string, work func(b *testing.B)) {
	b.Run(name, func(b *testing.B) {
		for b.Loop() {
			work(b)
		}
	})
}

// besides is of how many snapshots the sessions are that other tools are measured on.
const besides = 1000

// The changes of a value in 1,000 snapshots of a window, beside what git and jq take for the
// same states.
func BenchmarkHistoryPeers(b *testing.B) {
	s := sessions(besides)[0]
	path := s.at(b, besides)
	p := peersOf(b, s, path, "git", "jq")
	measure(b, "history", func(b *testing.B) {
		_, q, _ := s.asked(b, path)
		for _, err := range q.History(b.Context(), pathTo(b, "/plan/status")) {
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	measure(b, "git-log-L", func(b *testing.B) {
		p.run(b, nil, "git", "log", "-L", `/"status": "step/,+1:state.json`, "--oneline", "main")
	})
	measure(b, "jq", func(b *testing.B) { p.run(b, nil, "jq", "-c", ".plan.status", p.states) })
	measure(b, "blame", func(b *testing.B) {
		_, q, t := s.asked(b, path)
		for _, err := range q.Blame(b.Context(), t.Head(), query.Path{}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	measure(b, "git-blame", func(b *testing.B) { p.run(b, nil, "git", "blame", "main", "--", "state.json") })
}

// A text in 1,000 snapshots of a window, in a session that nothing is known of and asked again,
// beside what rg takes for the same states, a file each.
func BenchmarkGrepPeers(b *testing.B) {
	s := sessions(besides)[0]
	path := s.at(b, besides)
	p := peersOf(b, s, path, "rg")
	const text = "step 1"
	ask := func(b *testing.B, q *query.Session) {
		hits := 0
		for _, err := range q.Grep(b.Context(), query.Search{Pattern: query.Literal(text, query.MatchCase)}) {
			if hits++; err != nil {
				b.Fatal(err)
			}
		}
		if hits == 0 {
			b.Fatal("nothing is found")
		}
	}
	measure(b, "grep", func(b *testing.B) {
		_, q, _ := s.asked(b, path)
		ask(b, q)
	})
	_, q, _ := s.asked(b, path)
	ask(b, q)
	measure(b, "grep-again", func(b *testing.B) { ask(b, q) })
	measure(b, "rg", func(b *testing.B) { p.run(b, nil, "rg", "-F", "-l", "--no-config", text, p.files) })
}

// The first of 1,000 snapshots of a window in which an expression is false, beside git bisect run
// with jq on the same states.
func BenchmarkBisectPeers(b *testing.B) {
	s := sessions(besides)[0]
	path := s.at(b, besides)
	p := peersOf(b, s, path, "git", "jq")
	const good = `.plan.status == "step 0"`
	expr, err := query.ParseExpr(good)
	if err != nil {
		b.Fatal(err)
	}
	measure(b, "bisect", func(b *testing.B) {
		_, q, t := s.asked(b, path)
		left := -1
		for step, err := range q.Bisect(b.Context(), 0, t.Head(), q.TestOf(expr)) {
			if err != nil {
				b.Fatal(err)
			}
			left = step.Left
		}
		if left != 0 {
			b.Fatal("it did not end")
		}
	})
	first := bytes.TrimSpace(p.run(b, nil, "git", "rev-list", "--max-parents=0", "main"))
	measure(b, "git-bisect-run", func(b *testing.B) {
		p.run(b, nil, "git", "bisect", "start", "main", string(first))
		out := p.run(b, nil, "git", "bisect", "run", "jq", "-e", good, "state.json")
		if !bytes.Contains(out, []byte("is the first bad commit")) {
			b.Fatalf("it did not end: %.300s", out)
		}
	})
}

func pathTo(b *testing.B, text string) query.Path {
	path, err := query.ParsePath(text)
	if err != nil {
		b.Fatal(err)
	}
	return path
}
