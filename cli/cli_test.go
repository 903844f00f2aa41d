package cli_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"hindcast/cli"
	"hindcast/model"
	"hindcast/query/ledger"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/store/kinds"
	"hindcast/store/kinds/jsonl"
	"hindcast/store/labels"
	"hindcast/store/sample"
	"hindcast/store/storetest/fake"
	"hindcast/store/storetest/skip"
)

// session is a command line in this process, on one store in memory.
type session struct {
	*cli.App
	store    store.Store
	out, err bytes.Buffer
}

// keep is a store that the command line does not close.
type keep struct{ *fake.Store }

func (keep) Close() error { return nil }

func start(t testing.TB, rows iter.Seq2[store.Row, error]) *session {
	t.Helper()
	s := fake.New()
	if _, err := s.Import(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	c, kept := &session{store: keep{s}}, filepath.Join(t.TempDir(), "kept.db")
	open := func(context.Context, string) (store.Store, error) { return c.store, nil }
	c.App = &cli.App{
		Archive: func(string) (home.Archive, error) { return kinds.Archive(kept, nil, ""), nil },
		Labels:  labels.New(t.TempDir()),
		Ledger:  ledger.New(nil),
		Version: "v0",
		Kinds:   store.Kinds{{Name: "mem", Open: open}},
		Decode:  jsonl.Read,
		Encode:  jsonl.Write, EncodeWhole: jsonl.WriteWhole,
		Demo:   sample.Rows,
		Sample: func(context.Context) (cli.Shown, error) { return cli.Shown{Store: c.store}, nil },
		Screen: func(context.Context, cli.Shown) error { return nil },
		In:     strings.NewReader(""),
		Out:    &c.out,
		Err:    &c.err,
		Getenv: func(string) string { return "" },
	}
	return c
}

// run runs a command line and returns its exit code and what it wrote.
func (c *session) run(t testing.TB, args ...string) (code int, out, err string) {
	t.Helper()
	c.out.Reset()
	c.err.Reset()
	code = cli.Run(t.Context(), c.App, args)
	return code, c.out.String(), c.err.String()
}

func TestRun_exitCodes(t *testing.T) {
	for _, c := range []struct {
		line string
		code int
		says string
	}{
		{"sessions mem:", 0, ""},
		{"--help", 0, ""},
		{"--version", 0, ""},
		{"-v a b c", 0, ""},
		{"sessions", 1, "STORE is not given, and no store is in the usual places or below this directory"},
		{"show", 2, "hindcast show [STORE...] [SESSION] SNAPSHOT [flags], but no argument is given\n  hindcast show --help says more."},
		{"sessions mem: more", 2, "2 arguments given"},
		{"sesions mem:", 2, "sesions: no such command, path or session: did you mean sessions?\n"},
		{"sessions mem: --bad", 2, "unknown flag: --bad"},
		{"log mem: -n -1", 2, "less than nothing"},
		{"log mem: -n x", 2, "invalid argument"},
		{"fork mem: trip-planner head", 2, "--as"},
		{"restore mem: trip-planner head --yes --dry-run", 2, "give one of them"},
		{"checkpoint mem: trip-planner", 2, "SNAPSHOT is missing: \"trip-planner\" is a session of mem:"},
		{"export mem: --json", 2, "-o"},
		{"--json", 2, "the screen has no --json"},
		{"log mem: nobody", 1, "no session \"nobody\" in mem:\n"},
		{"log mem: trip-planer", 1, "no session \"trip-planer\" in mem:; did you mean \"trip-planner\"?"},
		{"show mem: trip-planner 0000", 1, "no such snapshot"},
		{"show mem: trip-planner 6798431", 1, `no such snapshot; did you mean "6798430"?`},
		{"restore mem: trip-planner heed --yes", 1, `no such snapshot; did you mean "head"?`},
		{"history mem: trip-planner /cart/total", 0, ""},
		{"history mem: /cart/total", 0, ""},
		{"history mem: trip-planner cart.total", 2, "\"cart.total\" is no path: it begins with neither / nor .; PATH is a JSON Pointer or a jq path, such as /cart/total or .cart.total\n    cart.total\n    ^\n  hindcast history --help"},
		{"history mem: trip-planner /cart~", 2, "~ is written as ~0"},
		{"history mem: trip-planner .cart-total", 2, "\n    .cart-total\n         ^\n"},
		{"history mem: trip-planner .cart.total", 0, ""},
		{"find mem: trip-planner .cart.total>200", 0, ""},
		{"find mem: .cart.total>200 --last", 0, ""},
		{"find mem: trip-planner .cart.total>", 2, "\n    .cart.total>\n                ^\n  hindcast find --help"},
		{"find mem: trip-planner .cart|foo", 2, "function not defined: foo/0\n    .cart|foo\n          ^\n"},
		{"find mem: trip-planner .cart.totl", 1, "\".cart.totl\" never becomes true in \"trip-planner\""},
		{"find mem: trip-planner .x --all --last", 2, "give it without --last"},
		{"find mem: nobody .x", 1, "no session \"nobody\" in mem:"},
		{"find", 2, "but no argument is given"},
		{"bisect mem: trip-planner --good 3 --jq .cart.total<200", 0, ""},
		{"bisect mem: --good 3 --jq .cart.total<200", 0, ""},
		{"bisect mem: trip-planner --good 3 --jq .cart.total>200", 1, "the test says that #13 is good"},
		{"bisect mem: trip-planner --good 3", 2, "give a test"},
		{"bisect mem: trip-planner --good 3 --jq . -- true", 2, "give a test"},
		{"bisect mem: trip-planner --jq .", 2, "--good is missing"},
		{"bisect mem: trip-planner --good 3 --jq .[", 2, "jq: [ is not closed"},
		{"bisect mem: trip-planner --good #6.1 --bad #8 --jq .", 1, "#8 does not come of #6.1: they parted at #5\n"},
		{"bisect mem: trip-planner --good 5 --bad 5 --jq .", 2, "are the same snapshot"},
		{"bisect mem: trip-planner --good 99 --jq .", 1, "no such snapshot"},
		{"blame mem: trip-planner", 0, ""},
		{"blame mem: /cart", 0, ""},
		{"blame mem: trip-planner #8 .cart", 0, ""},
		{"blame mem: trip-planner #8 cart", 2, "\"cart\" is no path"},
		{"blame mem: trip-planner .cart-total", 2, "\n    .cart-total\n         ^\n"},
		{"blame mem: trip-planner #8 /cart/sum", 1, "there is nothing at \"/cart/sum\" in #8\n"},
		{"blame mem: nobody /cart", 1, "no session \"nobody\" in mem:"},
		{"blame mem: nobody head /cart", 1, "no session \"nobody\" in mem:"},
		{"blame mem: trip-planner 99", 1, "no such snapshot"},
		{"history mem: nobody /cart", 1, "no session \"nobody\" in mem:"},
		{"history mem: trip-planner /cart/sum", 1, "no snapshot of \"trip-planner\" has a value at \"/cart/sum\""},
		{"history", 2, "but no argument is given"},
		{"grep opera mem:", 0, ""},
		{"grep opera mem: trip-planner -i", 0, ""},
		{"grep opera mem: --all --orphaned", 0, ""},
		{"grep opera mem: nobody", 1, "no session \"nobody\" in mem:"},
		{"grep nothing-has-it mem:", 1, "grep: nothing fits \"nothing-has-it\" in 2 sessions"},
		{"grep a( mem:", 2, "\"a(\" is no regular expression: error parsing regexp: missing closing )"},
		{"grep a( mem: -F", 1, "nothing fits"},
		{"grep a mem: -i -s", 2, "give one of them"},
		{"diverge mem: trip-planner #8 head", 0, ""},
		{"diverge mem: trip-planner:#8 packing-list", 0, ""},
		{"diverge mem: #8 #99", 1, "no such snapshot"},
		{"diverge mem: nobody #8 head", 1, "no session \"nobody\" in mem:"},
		{"diverge mem: nobody:#8 head", 1, "no such snapshot"},
		{"diverge mem: #8", 2, "A and B are both needed"},
		{"stats mem: trip-planner", 0, ""},
		{"stats mem: nobody --prune", 1, "no session \"nobody\" in mem:"},
		{"show mem: trip-planner #99", 1, "no such snapshot: the snapshots are #0 to #13\n"},
		{"show mem: trip-planner 0", 0, ""},
		{"show mem: trip-planner 6", 1, "\"6\" fits 2 snapshots:\n  | #6.1  "},
		{"undo mem: --yes", 1, "nothing to undo"},
		{"restore mem: trip-planner #5", 1, "--yes"},
		{"sessions /nowhere/at/all", 1, "hindcast: no such file: /nowhere/at/all\n"},
		{"mem:", 1, "the screen needs a terminal"},
	} {
		code, out, err := start(t, sample.Rows()).run(t, strings.Fields(c.line)...)
		if code != c.code || !strings.Contains(err, c.says) {
			t.Errorf("hindcast %s: exit %d, want %d; said %q, want %q", c.line, code, c.code, err, c.says)
		}
		if (code == 0) != (err == "") {
			t.Errorf("hindcast %s: exit %d and errors %q", c.line, code, err)
		}
		if code == 2 && out != "" {
			t.Errorf("hindcast %s: wrong usage, and an answer %q", c.line, out)
		}
	}
}

func TestRun_exitCodeOfTheDoctor(t *testing.T) {
	c := start(t, sample.Rows())
	if code, out, err := c.run(t, "doctor", "mem:"); code != 0 || out != "recognised as mem: its address names the kind\nno faults\n" || err != "" {
		t.Errorf("exit %d, %q, %q", code, out, err)
	}
	var broken []store.Row
	for row := range sample.Rows() {
		row.Header.ParentVisit = 0
		if row.Header.Index == 1 {
			row.Header.ParentID = row.Header.ID
		}
		broken = append(broken, row)
	}
	code, out, err := start(t, sequenceOf(broken)).run(t, "doctor", "mem:", "--json")
	if code != 3 || err != "" || !json.Valid([]byte(out)) || !strings.Contains(out, `"fault":`) {
		t.Errorf("exit %d, %q, %q", code, out, err)
	}
}

func sequenceOf(rows []store.Row) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// everyCommand is each subcommand on the session and snapshot given, in an
// order in which each finds something to do.
func everyCommand(session string) [][]string {
	return [][]string{
		{"sessions", "mem:"},
		{"label", "mem:", session, "#0", "start", "--note", "\x1b[2J\n\u202e"},
		{"label", "mem:", session, "head", "end"},
		{"label", "mem:", session, "head", "\x1b[2J"},
		{"label", "mem:", session, "--remove", "\x1b[2J"},
		{"labels", "mem:"},
		{"log", "mem:"},
		{"log", "mem:", session},
		{"log", "mem:", session, "--flags"},
		{"show", "mem:", session, "head"},
		{"show", "mem:", session, "#0"},
		{"diff", "mem:", session, "head"},
		{"diff", "mem:", session, "head", "#0"},
		{"diff", "mem:", session, "head", "#0", "--patch"},
		{"diff", "mem:", session, "head", "#0", "--stat"},
		{"history", "mem:", session, "/messages/1"},
		{"history", "mem:", session, "/id"},
		{"blame", "mem:", session},
		{"blame", "mem:", session, "head", "/\x1b[2J"},
		{"grep", "long", "mem:"},
		{"grep", "\x1b", "mem:", session},
		{"grep", "no\x1b[2Jwhere", "mem:", session, "-F"},
		{"diverge", "mem:", session, "#0", "head"},
		{"diverge", "mem:", session, session + ":#1"},
		{"diverge", "mem:", "--all", "--by", ".calls | length"},
		{"check", "mem:", session, "#0"},
		{"why", "mem:", session},
		{"check", "mem:", "--like", session},
		{"stats", "mem:", session, "--snapshots", "--prune", "--model", "m\x1b[2J"},
		{"show", "mem:", session, "head", "--state"},
		{"show", "mem:", session, "head", "--at", "/messages"},
		{"messages", "mem:", session},
		{"messages", "mem:", session, "#0", "--md"},
		{"context", "mem:", session},
		{"context", "mem:", session, "head..#0", "--dropped"},
		{"export", "mem:"},
		{"export", "mem:", session, "--redact", "--only", "#0..#1"},
		{"report", "mem:", session},
		{"report", "mem:", session, "--redact-path", "/\x1b[2J"},
		{"checkpoint", "mem:", session, "head"},
		{"restore", "mem:", session, "#0", "--dry-run"},
		{"restore", "mem:", session, "#0", "--yes"},
		{"undo", "mem:", "--yes"},
		{"redo", "mem:", "--yes"},
		{"fork", "mem:", session, "head", "--as", "new\x1b]0;title\a", "--yes"},
		{"edit", "mem:", session, "head", "--as", "edit\x1b]0;title\a", "--set", `{"messages":[],"\u202e":"\u001b[2J"}`, "--yes"},
		{"edit", "mem:", session, "head", "--as", "e", "--at", "/\x1b[2J", "--set", "1", "--yes"},
		{"convert", "mem:", session, "--to", "mem:", "--as", "c", "--yes"},
		{"repair", "mem:", session},
		{"purge", "mem:", session},
		{"run", "mem:", session, "head", "--input", "\x1b[2J"},
		{"journal", "mem:"},
		{"doctor", "mem:"},
		{"log", "mem:", session + "\x1b[2J"},
		{"show", "mem:", session, "\u009b2J"},
		{"history", "mem:", session, "/\u009b2J"},
		{"history", "mem:", session, "\u009b2J"},
		{"find", "mem:", session, ".n == 2"},
		{"find", "mem:", session, "--all", ".messages[0].content[0].text | error"},
		{"find", "mem:", session, ".n\u009b2J"},
		{"find", "mem:", session, "\"\u009b2J\" | error"},
		{"bisect", "mem:", session, "--good", "0", "--jq", ".n < 2"},
		{"bisect", "mem:", session, "--good", "0", "--jq", ".messages[0].content[0].text | error"},
		{"find", "mem:", session, "true"},
		{"sessions", "no\x1b[2Jwhere"},
		{"sess\x1b[2Jions", "mem:"},
		{"log", "mem:", "--\x1b[2J"},
		{"__complete", "log", "mem:", ""},
		{"__complete", "show", "mem:", session, ""},
	}
}

// hostile is a store in which every text does its worst.
func hostile() iter.Seq2[store.Row, error] {
	const (
		esc  = "\x1b]52;c;aGk=\a\x1b[2J\u009b31m\u202e\u200b\U000e0041\r\n\x7f"
		name = "../..\n" + esc
	)
	var rows []store.Row
	state := func(i int) []byte {
		text, _ := json.Marshal(fmt.Sprint(i, esc, strings.Repeat("long ", 40), esc, i))
		return fmt.Appendf(nil, `{"n":%d,%s:%s,"messages":[{"role":"user","content":[{"text":%s}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":%s,"name":%s,"input":{%s:1}}}]}]}`,
			i, text, text, text, text, text, text)
	}
	for i := range 4 {
		h := model.Header{
			ID: fmt.Sprintf("%d%s", i, esc), SessionID: name, Index: i, Visit: int64(i + 1), ParentVisit: int64(i),
			Event: model.SnapshotEventNamed, EventName: "event" + esc, Title: "title\x9b" + esc, Position: "after" + esc,
			CreatedAt: time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC), Alias: fmt.Sprint("alias", i, esc),
		}
		said, _ := json.Marshal(map[string]string{"status" + esc: "done" + esc})
		h.Attributes = model.Attributes(said)
		if i > 0 {
			h.ParentID = rows[i-1].Header.ID
		}
		rows = append(rows, store.Row{Header: h, State: state(i)})
	}
	return sequenceOf(rows)
}

// ours are the only sequences that the commands may write: colours.
var ours = regexp.MustCompile("\x1b\\[(0|1|2|31|32|33|1;32)m")

func TestRun_hostileTextIsShownAndNeverObeyed(t *testing.T) {
	for _, world := range []struct {
		name     string
		terminal bool
		json     bool
	}{{"pipe", false, false}, {"terminal", true, false}, {"json", false, true}, {"json on a terminal", true, true}} {
		t.Run(world.name, func(t *testing.T) {
			c := start(t, hostile())
			c.OutTerminal = world.terminal
			var session string
			for info := range c.store.Sessions(t.Context()) {
				session = info.ID
			}
			for _, args := range everyCommand(session) {
				if world.json && args[0] != "__complete" {
					args = append(args, "--json")
				}
				code, out, err := c.run(t, args...)
				if whole := slices.Contains([]string{"sessions", "log", "show", "diff", "checkpoint", "restore", "undo", "redo", "fork", "edit"}, args[0]); whole && code != 0 && !strings.Contains(strings.Join(args, ""), "2J") {
					t.Errorf("%q: exit %d, %q", args, code, err)
				}
				if world.terminal {
					out = ours.ReplaceAllString(out, "")
				}
				if !world.terminal && code == 0 {
					// On a pipe a state stays as it is, byte for byte.
					switch {
					case slices.Contains(args, "--patch"), slices.Contains(args, "--state"), slices.Contains(args, "--at") && args[0] == "show", args[0] == "export":
						continue
					case args[0] == "show" && world.json:
						out, _, _ = strings.Cut(out, `,"state":`)
					}
				}
				if !utf8.ValidString(out + err) {
					t.Errorf("%q: not UTF-8: %q %q", args, out, err)
				}
				for _, r := range out + err {
					if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf) && !(args[0] == "__complete" && r == '\t') {
						t.Errorf("%q: %U in %q %q", args, r, out, err)
						break
					}
				}
			}
		})
	}
}

func TestRun_jsonIsOneDocument(t *testing.T) {
	c := start(t, sample.Rows())
	for _, args := range everyCommand("trip-planner") {
		code, out, err := c.run(t, append(args, "--json")...)
		if args[0] == "__complete" || code != 0 && out == "" {
			continue
		}
		if !json.Valid([]byte(out)) {
			t.Errorf("%q: exit %d, not one JSON document: %.200q %q", args, code, out, err)
		}
	}
}

func TestRun_coloursOnlyHelp(t *testing.T) {
	for _, world := range []struct {
		name     string
		terminal bool
		env      map[string]string
		colour   bool
	}{
		{"pipe", false, nil, false},
		{"terminal", true, nil, true},
		{"NO_COLOR", true, map[string]string{"NO_COLOR": "1"}, false},
		{"NO_COLOR empty", true, map[string]string{"NO_COLOR": ""}, true},
		{"dumb", true, map[string]string{"TERM": "dumb"}, false},
	} {
		c := start(t, sample.Rows())
		c.Getenv = func(name string) string { return world.env[name] }
		_, plain, _ := c.run(t, "log", "mem:")
		c.OutTerminal = world.terminal
		_, out, _ := c.run(t, "log", "mem:")
		if got := strings.Contains(out, "\x1b"); got != world.colour {
			t.Errorf("%s: colour %v, want %v", world.name, got, world.colour)
		}
		if ours.ReplaceAllString(out, "") != plain {
			t.Errorf("%s: without its colours the text differs", world.name)
		}
	}
}

// On a terminal the head, what is off the path and what failed have a colour.
func TestLog_coloursWhatCounts(t *testing.T) {
	c := start(t, sample.Rows())
	c.OutTerminal = true
	_, out, _ := c.run(t, "log", "mem:", "trip-planner")
	for what, want := range map[string]string{"the head": "\x1b[1;32m◉", "off the path": "\x1b[2m│ ◌", "an error": "\x1b[31m[error]\x1b[0m book_hotel"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s has no colour %q:\n%q", what, want, out)
		}
	}
}

func TestShow_splicesTheStateByteForByte(t *testing.T) {
	odd := []byte("{ \"a\" : 1.500e0, \"a\": 9007199254740993,\t\"u\":\"\\u00e9 \xc2\x9b\" }")
	sum := sha256.Sum256(odd)
	id := hex.EncodeToString(sum[:])
	c := start(t, sequenceOf([]store.Row{{Header: model.Header{ID: id, SessionID: "s", Visit: 1}, State: odd}}))
	code, out, err := c.run(t, "show", "mem:", "s", "head", "--json")
	if code != 0 {
		t.Fatal(err)
	}
	_, state, found := strings.Cut(strings.TrimSuffix(out, "}\n"), `,"state":`)
	if !found || state != string(odd) {
		t.Errorf("state %q, want %q", state, odd)
	}
}

func TestRestore_asksFirst(t *testing.T) {
	skip.Sequential(t)
	for _, c := range []struct {
		typed string
		code  int
		head  string
	}{
		{"y\n", 0, "head #5"},
		{"\n", 1, "head #13"},
		{"", 1, "head #13"},
	} {
		s := start(t, sample.Rows())
		s.In, s.InTerminal = strings.NewReader(c.typed), true
		code, out, err := s.run(t, "restore", "mem:", "trip-planner", "#5")
		if code != c.code || !strings.Contains(err, "restore now? [y/N]") || !strings.Contains(out, "plan: restore trip-planner to #5") {
			t.Errorf("typed %q: exit %d, %q, %q", c.typed, code, out, err)
		}
		if _, log, _ := s.run(t, "log", "mem:"); !strings.Contains(log, c.head) {
			t.Errorf("typed %q: %s", c.typed, log)
		}
	}
}

// With --json the answer is the receipt alone; whoever is asked sees the plan.
func TestRestore_showsThePlanBesideTheDocument(t *testing.T) {
	skip.Sequential(t)
	s := start(t, sample.Rows())
	s.In, s.InTerminal = strings.NewReader("y\n"), true
	code, out, err := s.run(t, "restore", "mem:", "trip-planner", "#5", "--json")
	if code != 0 || !strings.HasPrefix(err, "plan: restore trip-planner to #5\n") || !strings.HasSuffix(err, "restore now? [y/N] ") {
		t.Errorf("exit %d, %q", code, err)
	}
	var receipt struct{ HeadIndex int }
	if e := json.Unmarshal([]byte(out), &receipt); e != nil || receipt.HeadIndex != 5 {
		t.Errorf("answered %s", out)
	}
}

func TestRestore_refusesWhenTheHeadHasMoved(t *testing.T) {
	skip.Sequential(t)
	s := start(t, sample.Rows())
	s.InTerminal = true
	s.In = typing(func() string {
		// Somebody else restores while the question waits.
		other := start(t, sample.Rows())
		other.store = s.store
		if code, _, err := other.run(t, "restore", "mem:", "trip-planner", "#2", "--yes"); code != 0 {
			t.Error(err)
		}
		return "y\n"
	})
	code, out, err := s.run(t, "restore", "mem:", "trip-planner", "#5")
	if code != 1 || !strings.Contains(err, "head has moved") || !strings.Contains(err, "Nothing was written") || strings.Contains(out, "done:") {
		t.Errorf("exit %d, %q, %q", code, out, err)
	}
}

// runner is a store whose process runs agents.
type runner struct {
	keep
	ran *string
}

func (r runner) Features() store.Features {
	f := r.keep.Features()
	f.Lacks, f.Plan, f.Apply = r.Lacks, r.Plan, r.Apply
	return f
}

func (r runner) Lacks(model.Op) string { return "" }

func (r runner) Plan(_ context.Context, c model.Change) (model.Plan, error) {
	return model.Plan{Op: c.Op, Session: c.Ref.Session, Target: model.Point{ID: c.Ref.ID}, Asks: []string{"models and tools run"}, Loads: c.Input}, nil
}

func (r runner) Apply(_ context.Context, plan model.Plan) (model.Receipt, error) {
	*r.ran = plan.Loads
	return model.Receipt{Op: plan.Op, Session: plan.Session, Head: plan.Target}, nil
}

// Models and tools run, so that one yes is not enough; and nothing takes it back.
func TestRun_asksTwice(t *testing.T) {
	for _, c := range []struct {
		flags []string
		code  int
		ran   string
		says  string
	}{
		{nil, 1, "", "needs an answer"},
		{[]string{"--yes"}, 1, "", "run asks once more: add --anyway"},
		{[]string{"--anyway"}, 1, "", "needs an answer"},
		{[]string{"--dry-run"}, 0, "", ""},
		{[]string{"--yes", "--anyway"}, 0, "hello", ""},
	} {
		ran := ""
		s := start(t, sample.Rows())
		s.store = runner{s.store.(keep), &ran}
		code, out, err := s.run(t, append([]string{"run", "mem:", "trip-planner", "head", "--input", "hello"}, c.flags...)...)
		if code != c.code || ran != c.ran || !strings.Contains(err, c.says) || !strings.Contains(out, "  asks         models and tools run\n") {
			t.Errorf("%q: exit %d, %q, %q, and it ran %q", c.flags, code, out, err, ran)
		}
		if strings.Contains(out, "takes it back") || strings.Contains(out, "done:") != (ran != "") {
			t.Errorf("%q: answered %q", c.flags, out)
		}
	}
}

// typing is a keyboard on which a line is typed when it is read.
type typing func() string

func (ty typing) Read(p []byte) (int, error) { return copy(p, ty()), io.EOF }
