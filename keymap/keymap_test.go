package keymap

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

//go:generate go test -run TestMarkdown_readmeIsFresh -update .

var update = flag.Bool("update", false, "rewrite the key table in the README")

func TestDefault_isValid(t *testing.T) {
	m := Default()
	for _, b := range bindings {
		for _, k := range b.keys {
			if !isKey(k) {
				t.Errorf("%s in %s: no such key: %q", b.action, b.scope, k)
			}
			if a, ok := m.Action(b.scope, k); !ok || a != b.action {
				t.Errorf("%q in %s is %s, want %s", k, b.scope, a, b.action)
			}
		}
	}
}

func TestDefault_coversEveryAction(t *testing.T) {
	m := Default()
	names := map[string]Action{}
	for a := None + 1; a < actions; a++ {
		if !slices.ContainsFunc(bindings, func(b struct {
			scope  Scope
			action Action
			keys   []string
		}) bool {
			return b.action == a
		}) {
			t.Errorf("%s has no key", a)
		}
		if len(m.places(a)) == 0 {
			t.Errorf("%s is not in the table for the README", a)
		}
		if before, taken := names[a.String()]; taken {
			t.Errorf("%q is the name of %d and %d", a, before, a)
		}
		names[a.String()] = a
		if n := len(strings.Fields(a.Help())); n < 1 || n > 3 || a.Help() != strings.ToLower(a.Help()) {
			t.Errorf("help of %s: %q is not one to three words in lower case", a, a.Help())
		}
	}
}

func TestMap_resolvesThroughOuterScopes(t *testing.T) {
	m := Default()
	for _, tc := range []struct {
		scope Scope
		key   string
		want  Action
	}{
		{Timeline, "j", MoveDown},
		{Timeline, "enter", Open},
		{State, " ", Open},
		{Diff, ")", NextChange},
		{State, ")", None},
		{Diff, "r", Restore},
		{Picker, "r", Restore},
		{Picker, "f", None},
		{Confirm, "r", None},
		{Confirm, "y", Yes},
		{Messages, "e", Edit},
		{Info, "R", Repair},
		{Messages, "R", ShowRaw},
		{Messages, "o", OpenPicture},
		{Info, "o", Across},
		{Written, "P", Purge},
		{Written, "u", Undo},
		{Overlay, "P", None},
		{EditMenu, "v", EditValue},
		{Menu, "v", YankValue},
		{PurgeMenu, "r", PurgeRedacted},
		{ShareMenu, "m", ShareRange},
		{Broken, "D", Discard},
		{Input, "q", None},
		{Input, "ctrl+c", Quit},
		{Info, "ctrl+c", Quit},
	} {
		if got, ok := m.Action(tc.scope, tc.key); got != tc.want || ok != (tc.want != None) {
			t.Errorf("%q in %s is %s, want %s", tc.key, tc.scope, got, tc.want)
		}
	}
}

// Nothing that writes may hang on a key that people press without thinking.
func TestDefault_nothingDestructiveOnEnterOrEsc(t *testing.T) {
	m := Default()
	for s := range scopes {
		for _, k := range []string{"enter", "esc", " "} {
			switch a, _ := m.Action(s, k); a {
			case None, Open, Accept, Back, Play, MarkSession:
			default:
				t.Errorf("%q in %s is %s", k, s, a)
			}
		}
	}
}

func TestMap_helpListsEveryKeyOfTheScope(t *testing.T) {
	m := Default()
	for s := range scopes {
		shown := map[Action]bool{}
		for _, section := range m.Help(s) {
			for _, line := range section.Lines {
				for _, a := range line.Actions {
					shown[a] = true
				}
			}
		}
		for k, a := range m.actions[s] {
			if !shown[a] {
				t.Errorf("help of %s lacks %s (%s)", s, a, k)
			}
		}
	}
}

func TestAction_disabledWithReason(t *testing.T) {
	able := Context{Snapshot: true, Mark: true, Branches: true, Turns: true, Errors: true, Search: true, Answers: true, Labels: true, Message: true, Tour: true, Marked: 2}
	for a := None + 1; a < actions; a++ {
		if why := a.WhyDisabled(able); why != "" {
			t.Errorf("%s is disabled: %s", a, why)
		}
	}
	for _, tc := range []struct {
		action Action
		c      Context
		want   string
	}{
		{Restore, Context{Lacks: map[Action]string{Restore: "the store is read only"}, Snapshot: true}, "the store is read only"},
		{Restore, Context{}, "no snapshot is selected"},
		{Fork, Context{Lacks: map[Action]string{Fork: "cannot"}}, "cannot"},
		{Edit, Context{Lacks: map[Action]string{Edit: "it cannot"}}, "it cannot"},
		{Edit, Context{}, "no snapshot is selected"},
		{Run, Context{Lacks: map[Action]string{Run: "nothing runs"}, Snapshot: true}, "nothing runs"},
		{Repair, Context{Lacks: map[Action]string{Repair: "it cannot"}}, "it cannot"},
		{Repair, Context{}, ""},
		{Purge, Context{Lacks: map[Action]string{Purge: "nothing is kept"}}, "nothing is kept"},
		{Undo, Context{Lacks: map[Action]string{Undo: "no journal"}}, "no journal"},
		{NextBranch, Context{}, "the session has no branches or compactions"},
		{NextError, Context{}, "no snapshot has an error"},
		{CompareHead, Context{}, "no snapshot is selected"},
		{CompareHead, Context{Snapshot: true, Head: true}, "the head is selected"},
		{SearchNext, Context{}, "nothing was searched for yet"},
		{ClearMark, Context{}, "no snapshot is marked"},
		{MoveDown, Context{}, ""},
	} {
		if got := tc.action.WhyDisabled(tc.c); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.action, got, tc.want)
		}
	}
}

func TestParse_laysTheFileOverTheDefaults(t *testing.T) {
	m, err := Parse("keys.toml", `
# mine
[session]
restore = "X"
step-back = ["[", "ctrl+g", "f2"]
fork = []

[timeline]
"fold" = "left"
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		scope Scope
		key   string
		want  Action
	}{
		{Timeline, "X", Restore},
		{Timeline, "r", None},
		{Timeline, "ctrl+g", StepBack},
		{Timeline, "f2", StepBack},
		{Timeline, "f", None},
		{Timeline, "h", None},
		{State, "h", Fold},
	} {
		if got, _ := m.Action(tc.scope, tc.key); got != tc.want {
			t.Errorf("%q in %s is %s, want %s", tc.key, tc.scope, got, tc.want)
		}
	}
}

// Files of older versions call the Resume tab the Checkpoint tab.
func TestParse_takesFormerNames(t *testing.T) {
	m, err := Parse("keys.toml", "[session]\nshow-checkpoint = \"f4\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := m.Action(Timeline, "f4"); got != ShowResume {
		t.Errorf("f4 is %s, want %s", got, ShowResume)
	}
	if got := scopeNamed("checkpoint"); got != Resume {
		t.Errorf("the scope checkpoint is %s, want %s", got, Resume)
	}
}

func TestParse_namesLineAndReason(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		line       int
		reason     string
	}{
		{"syntax", "[session]\nrestore = \n", 2, "expected value but found '\\n' instead"},
		{"key twice in the file", "[session]\nmark = \"a\"\nmark = \"b\"\n", 3, "Key 'session.mark' has already been defined."},
		{"unknown scope", "\n[sessoin]\nrestore = \"X\"\n", 2, `no such scope: "sessoin" (known are `},
		{"unknown action", "[session]\n\nrestroe = \"R\"\n", 3, `no such action: "restroe"`},
		{"action elsewhere", "[timeline]\nsearch-next = \"x\"\n", 2, "search-next means nothing in scope timeline"},
		{"unknown key", "[session]\nrestore = \"ctrl+shift+r\"\n", 2, `restore: no such key: "ctrl+shift+r"`},
		{"not a key", "[session]\nmark = 'm'\nrestore = 5\n", 3, "restore: a key is a string in quotes"},
		{"key twice in a list", "[session]\nrestore = [\"X\", \"X\"]\n", 2, `restore: "X" is there twice`},
		{"key twice in a scope", "[session]\nfork = \"X\"\nrestore = \"X\"\n", 3, `"X" is bound twice in scope session: to restore and to fork`},
		{"key of an outer scope", "[timeline]\nfold-all = \"j\"\n", 2, `"j" is bound twice in scope timeline: to fold-all and to move-down`},
		{"key of an inner scope", "[session]\nrestore = \"(\"\n", 2, `"(" is bound twice in scope timeline: to previous-prompt and to restore`},
		{"no table", "session = 5\n", 1, "session is a table of actions: [session]"},
		{"dotted", "[diff]\n\n[picker]\nopen.x = \"o\"\n", 4, "open: a key is a string in quotes"},
		{"no way out", "[global]\nquit = []\n", 2, "quit is the way out: it must keep a key"},
		{"letter in a text field", "[input]\naccept = \"x\"\n", 2, "accept: a character is text in a text field"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse("keys.toml", tc.text)
			var fe *FileError
			if !errors.As(err, &fe) {
				t.Fatalf("error %v", err)
			}
			if fe.Line != tc.line || !strings.HasPrefix(fe.Reason, tc.reason) {
				t.Errorf("line %d: %s\nwant line %d: %s", fe.Line, fe.Reason, tc.line, tc.reason)
			}
			if want := "keymap: read keys.toml: line "; !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error %q", err)
			}
		})
	}
}

func TestLoad_readsTheUsersFile(t *testing.T) {
	dir := t.TempDir()
	getenv := func(name string) string {
		return map[string]string{"XDG_CONFIG_HOME": dir, "HOME": "/home/me"}[name]
	}
	path := Path(getenv)
	if want := filepath.Join(dir, "hindcast", "keys.toml"); path != want {
		t.Fatalf("path %q, want %q", path, want)
	}
	m, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if a, _ := m.Action(Session, "r"); a != Restore {
		t.Errorf("without a file r is %s", a)
	}
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("[session]\nrestore = \"X\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err = Load(path); err != nil {
		t.Fatal(err)
	}
	if a, _ := m.Action(Session, "X"); a != Restore {
		t.Errorf("with the file X is %s", a)
	}
	if _, err := Load(dir); err == nil {
		t.Error("a directory was read as a file")
	}
}

func TestPath_fallsBackToHome(t *testing.T) {
	for _, tc := range []struct{ xdg, home, want string }{
		{"", "/home/me", "/home/me/.config/hindcast/keys.toml"},
		{"relative", "/home/me", "/home/me/.config/hindcast/keys.toml"},
		{"", "", ""},
	} {
		got := Path(func(name string) string {
			return map[string]string{"XDG_CONFIG_HOME": tc.xdg, "HOME": tc.home}[name]
		})
		if got != tc.want {
			t.Errorf("Path with %q, %q = %q, want %q", tc.xdg, tc.home, got, tc.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("[session]\nrestore = \"X\"\n")
	f.Add("[session]\nrestore = [\"R\", 5]\n[[diff]]\nx.y = {}\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse("keys.toml", text)
		if (m == nil) == (err == nil) {
			t.Errorf("map %v, error %v", m, err)
		}
		var fe *FileError
		if errors.As(err, &fe) && (fe.Line < 1 || fe.Line > strings.Count(text, "\n")+1) {
			t.Errorf("line %d of %q", fe.Line, text)
		}
	})
}

func TestMarkdown_readmeIsFresh(t *testing.T) {
	const path, begin, end = "README.md", "<!-- keys:begin -->\n", "<!-- keys:end -->"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(data), begin)
	table, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no %q … %q", path, begin, end)
	}
	want := Default().Markdown()
	if table == want {
		return
	}
	if !*update {
		t.Fatalf("the key table of %s is stale: run go generate ./keymap", path)
	}
	if err := os.WriteFile(path, []byte(head+begin+want+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
