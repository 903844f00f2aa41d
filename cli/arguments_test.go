package cli_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Each shape of a command line means one thing.
func TestArguments(t *testing.T) {
	const several = "STORE is not given, and 2 stores are found:\n  | mem  "
	for _, c := range []struct {
		line  string
		env   string
		files string
		code  int
		says  string // in the answer, or in the error
	}{
		// All words, as ever.
		{"show a.mem trip-planner 3", "", "a.mem", 0, "#3, turn 2"},
		{"show mem:x trip-planner 3", "", "", 0, "#3, turn 2"},
		{"diff a.mem trip-planner 2 3", "", "a.mem", 0, "#2 turn end → #3 tool iteration"},
		{"messages a.mem", "", "a.mem", 0, "trip-planner #13"},
		// Without SESSION it is the last changed one.
		{"show a.mem 3", "", "a.mem", 0, "#3, turn 2"},
		{"diff a.mem 3", "", "a.mem", 0, "#2 turn end → #3 tool iteration"},
		{"diff a.mem 2 4", "", "a.mem", 0, "#2 turn end → #4 tool iteration"},
		{"diff a.mem 2..4", "", "a.mem", 0, "#2 turn end → #4 tool iteration"},
		{"diff a.mem packing-list 2", "", "a.mem", 0, "#1 turn end → #2 invocation end"},
		{"messages a.mem packing-list", "", "a.mem", 0, "packing-list #2"},
		{"messages a.mem 0", "", "a.mem", 0, "trip-planner #0"},
		{"restore a.mem 3 --dry-run", "", "a.mem", 0, "plan: restore trip-planner to #3"},
		// Several stores.
		{"sessions a.mem b.mem", "", "a.mem b.mem", 0, "SESSION       TOOL"},
		{"log a.mem b.mem", "", "a.mem b.mem", 0, "trip-planner  18 snapshots"},
		{"log a.mem b.mem packing-list", "", "a.mem b.mem", 1, "\"packing-list\" names 2 sessions:\n  | mem:"},
		{"log a.mem b.mem packing-lisd", "", "a.mem b.mem", 1, `no session "packing-lisd" in 2 stores; did you mean "packing-list"?`},
		{"show a.mem b.mem 3", "", "a.mem b.mem", 0, "#3, turn 2"},
		{"show a.mem nowhere.mem trip-planner 3", "", "a.mem", 2, "4 arguments given"},
		{"log a.mem ./nowhere.mem", "", "a.mem", 1, "no such file: ./nowhere.mem"},
		{"undo a.mem b.mem --dry-run", "", "a.mem b.mem", 2, "2 arguments given"},
		{"history a.mem b.mem /cart/total", "", "a.mem b.mem", 0, "#"},
		{"labels a.mem b.mem", "", "a.mem b.mem", 0, "no labels"},
		{"doctor a.mem b.mem", "", "a.mem b.mem", 0, "b.mem\nrecognised as mem"},
		{"show a.mem packing-list 1", "", "a.mem packing-list/b.mem", 0, "#1, turn 0"}, // a session before a path
		{"diff a.mem 2 3", "", "a.mem 3/b.mem", 0, "#2 turn end → #3 tool iteration"},  // snapshots before stores
		{"export a.mem b.mem packing-list", "", "a.mem b.mem", 1, "\"packing-list\" names 2 sessions:"},
		// Without STORE it is that of HINDCAST_STORE.
		{"sessions", "b.mem", "", 0, "packing-list"},
		{"log", "b.mem", "", 0, "trip-planner  18 snapshots"},
		{"log packing-list", "b.mem", "", 0, "packing-list  3 snapshots"},
		{"show 3", "b.mem", "", 0, "#3, turn 2"},
		{"show packing-list 1", "b.mem", "", 0, "#1, turn 0"},
		{"diff 3", "b.mem", "", 0, "#2 turn end → #3 tool iteration"},
		{"diff packing-list 0 2", "b.mem", "", 0, "#0 tool iteration → #2 invocation end"},
		{"checkpoint packing-list head", "b.mem", "", 0, "position  after_model"},
		{"doctor packing-list", "b.mem", "", 0, "no faults"},
		{"export packing-list", "b.mem", "", 0, ""},
		{"undo --dry-run", "b.mem", "", 1, "nothing to undo"},
		{"show a.mem 3", "broken.mem", "a.mem", 0, "#3, turn 2"}, // a path that is there goes before
		{"log trip-planer", "b.mem", "", 1, `no session "trip-planer" in b.mem; did you mean "trip-planner"?`},
		{"messages trip-planer", "b.mem", "", 1, `no session "trip-planer" in b.mem; did you mean "trip-planner"?`},
		{"log trip-planner 99", "b.mem", "", 1, `snapshot "99"`},
		{"log foo:bar", "", "a.mem", 2, `no such file: foo:bar, and no kind of store is called "foo"`},
		{"log men:bar", "", "a.mem", 2, `called "men"; did you mean "mem"?`},
		{"convert a.mem packing-list --to fo:bar --as x", "", "a.mem", 2, "no kind of store is called \"fo\"\n"},
		{"show zzzz", "b.mem", "", 1, `snapshot "zzzz"`},
		{"show trip-planner", "b.mem", "", 2, `SNAPSHOT is missing: "trip-planner" is a session of b.mem`},
		{"labels", "", "one/a.mem two/b.mem", 0, "no labels"},
		{"doctor", "", "one/a.mem two/b.mem", 0, "two/b.mem\nrecognised as mem"},
		{"doctor packing-list", "", "one/a.mem", 0, "no faults"},
		// Else it is all that are in the usual places, or below the directory.
		{"log", "", "usual/a.mem other/b.mem", 0, "trip-planner  18 snapshots"},
		{"log", "", "deep/down/b.mem", 0, "trip-planner  18 snapshots"},
		{"log", "", "one/a.mem two/b.mem", 0, "trip-planner  18 snapshots"},
		{"show 3", "", "one/a.mem two/b.mem", 0, "#3, turn 2"},
		{"log packing-list", "", "one/a.mem", 0, "packing-list  3 snapshots"},
		{"log pack", "", "one/a.mem two/broken.mem", 0, "packing-list  3 snapshots"},
		{"log pac", "", "one/a.mem", 1, `no session "pac" in`},
		{"log packing-list", "", "one/a.mem two/b.mem", 1, "\"packing-list\" names 2 sessions:\n  | mem:"},
		{"undo --dry-run", "", "one/a.mem two/b.mem", 1, several},
		{"log many", "", "many/a.mem many/deep/b.mem", 0, "trip-planner  18 snapshots"},
		{"undo many --dry-run", "", "many/a.mem many/deep/b.mem", 1, "many is a directory of 2 stores:\n  | mem  "},
		{"log", "", "", 1, "STORE is not given, and no store is in the usual places"},
		{"log nowhere.mem", "", "", 1, "no such file: nowhere.mem"},
		{"log ./nowhere.mem", "b.mem", "", 1, "no such file: ./nowhere.mem"},
		{"show nowhere.mem trip-planner 3", "b.mem", "", 1, "no such file: nowhere.mem"},
	} {
		t.Run(fmt.Sprintf("%s with %s and %s", c.line, c.env, c.files), func(t *testing.T) {
			s := newShelf(t, "usual/*.mem")
			s.OutTerminal = false
			t.Chdir(s.dir)
			s.put(t, strings.Fields(c.files+" "+c.env)...)
			s.Getenv = func(name string) string {
				return map[string]string{"HINDCAST_STORE": c.env}[name]
			}
			code, out, err := s.run(t, strings.Fields(c.line)...)
			if code != c.code || !strings.Contains(out+err, c.says) {
				t.Errorf("exit %d, %.300q, %q; not %d and %q", code, out, err, c.code, c.says)
			}
		})
	}
}

// Where no store is found, each command says so once and nothing else.
func TestArguments_withoutAStore(t *testing.T) {
	const want = "hindcast: STORE is not given, and no store is in the usual places or below this directory\n" +
		"  Name one, or set HINDCAST_STORE. hindcast demo makes one to try things on.\n"
	for _, line := range []string{"sessions", "grep x", "labels", "doctor", "log", "stats", "export", "undo", "journal", "show 3", "diff 3", "diverge 1 2", "messages", "report"} {
		s := newShelf(t, "usual/*.mem")
		s.OutTerminal = false
		t.Chdir(s.dir)
		if code, out, err := s.run(t, strings.Fields(line)...); code != 1 || out != "" || err != want {
			t.Errorf("%s: exit %d, %q, %q", line, code, out, err)
		}
	}
}

// TestScreen_wordThatIsNone: what is wrong with a word does not depend on where the output goes.
func TestScreen_wordThatIsNone(t *testing.T) {
	const none = ": no such command, path or session"
	for _, c := range []struct {
		line, env, files string
		code             int
		says             string
	}{
		{"logg", "", "", 2, "hindcast: logg" + none + ": did you mean log?\n"},
		{"logg", "", "a.mem", 2, "logg" + none + ": did you mean log?\n"},
		{"logg", "", "a.mem b.mem", 2, "logg" + none + ": did you mean log?\n"},
		{"logg", "b.mem", "", 2, "logg" + none + ": did you mean log?\n"},
		{"logs", "", "", 2, none + ": did you mean log?\n"},
		{"dif", "", "", 2, none + ": did you mean diff?\n"},
		{"resotre", "", "", 2, none + ": did you mean restore?\n"},
		{"config", "", "", 2, "hindcast: config" + none + "\n"},
		{"config", "", "a.mem", 2, "config" + none + "\n"},
		{"trip-planer", "", "a.mem", 2, none + ": did you mean trip-planner?\n"},
		{"trip-planer", "b.mem", "a.mem", 2, none + ": did you mean trip-planner?\n"},
		{"logg a.mem", "", "a.mem", 2, "logg" + none + ": did you mean log?\n"},
		{"logg a.mem trip-planner", "", "a.mem", 2, "logg" + none + ": did you mean log?\n"},
		{"logg trip-planner", "b.mem", "", 2, "logg" + none + ": did you mean log?\n"},
		{"", "", "", 1, "no such file: \n"},
		{" a.mem", "", "a.mem", 1, "no such file: \n"},
		{"./logg", "", "", 1, "no such file: ./logg\n"},
		{"nowhere.mem", "", "", 1, "no such file: nowhere.mem\n"},
		{"nowhere.mem", "", "a.mem", 1, "no such file: nowhere.mem\n"},
		{"a.mem nobody", "", "a.mem", 1, "no session \"nobody\" in a.mem"},
		{"foo:bar", "", "", 2, "no kind of store is called \"foo\""},
		{"log\x1bg", "", "", 2, "log^[g" + none + ": did you mean log?\n"},
	} {
		for _, terminal := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s with %s and %s, terminal %v", c.line, c.env, c.files, terminal), func(t *testing.T) {
				s := newShelf(t, "usual/*.mem")
				s.OutTerminal = terminal
				t.Chdir(s.dir)
				s.put(t, strings.Fields(c.files+" "+c.env)...)
				s.Getenv = func(name string) string { return map[string]string{"HINDCAST_STORE": c.env}[name] }
				code, out, err := s.run(t, strings.Split(c.line, " ")...)
				if code != c.code || out != "" || !strings.Contains(err, c.says) {
					t.Errorf("exit %d, %.300q, %q; not %d and %q", code, out, err, c.code, c.says)
				}
			})
		}
	}
}

// The screen opens what a command would take: a session of all stores leads back to all.
func TestScreen_finds(t *testing.T) {
	for _, c := range []struct {
		line, env, files string
		opened           string // sorted
		store            bool   // one store is shown, not the sessions of several
	}{
		{"", "b.mem", "b.mem usual/a.mem", "[b.mem]", true},
		{"packing-list", "b.mem", "b.mem", "[b.mem]", true},
		{"packing-list", "", "usual/a.mem one/broken.mem", "[a.mem]", true},
		{"", "", "usual/a.mem b.mem", "[a.mem b.mem]", false},
		{"", "", "deep/b.mem", "[b.mem]", true},
		{"", "", "one/a.mem two/b.mem", "[a.mem b.mem]", false},
		{"many", "", "many/a.mem many/b.mem", "[a.mem b.mem]", false},
		{"a.mem b.mem", "", "a.mem b.mem usual/c.mem", "[a.mem b.mem]", false},
		{"", "", "", "[demo]", true},
	} {
		s := newShelf(t, "usual/*.mem")
		t.Chdir(s.dir)
		s.put(t, strings.Fields(c.files)...)
		s.Getenv = func(name string) string { return map[string]string{"HINDCAST_STORE": c.env}[name] }
		code, _, err := s.run(t, strings.Fields(c.line)...)
		if code != 0 || (s.shown.Store != nil) != c.store {
			t.Errorf("%+v: exit %d, %s, shown %+v", c, code, err, s.shown)
		}
		slices.Sort(s.opened)
		if got := fmt.Sprint(s.opened); got != c.opened {
			t.Errorf("%+v: opened %s", c, got)
		}
		if got := map[string]string{"packing-list": "packing-list"}[c.line]; s.shown.Session != got {
			t.Errorf("%+v: session %q", c, s.shown.Session)
		}
		if c.opened != "[demo]" && s.closed != len(s.opened) {
			t.Errorf("%+v: opened %s, closed %d", c, s.opened, s.closed)
		}
	}
}
