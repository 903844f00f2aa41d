package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/cli"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/sample"
	"hindcast/store/storetest/skip"
)

func TestPager_isThatOfTheEnvironment(t *testing.T) {
	skip.Sequential(t)
	for _, test := range []struct {
		env  map[string]string
		want string
	}{
		{nil, "less -FRX"},
		{map[string]string{"PAGER": "most -s"}, "most -s"},
		{map[string]string{"PAGER": "most", "HINDCAST_PAGER": "bat"}, "bat"},
		{map[string]string{"PAGER": "most", "HINDCAST_PAGER": ""}, ""},
		{map[string]string{"PAGER": ""}, ""},
		{map[string]string{"PAGER": " cat "}, ""},
	} {
		lookup := func(name string) (string, bool) { value, set := test.env[name]; return value, set }
		if got := cli.Pager(lookup); got != test.want {
			t.Errorf("%v: %q, not %q", test.env, got, test.want)
		}
	}
}

func TestPager_getsWhatATerminalWouldShow(t *testing.T) {
	for _, test := range []struct {
		name     string
		pager    string
		args     []string
		terminal bool
		paged    bool
	}{
		{"log", "sed s/^/paged:/", []string{"log", "mem:"}, true, true},
		{"messages", "sed s/^/paged:/", []string{"messages", "mem:"}, true, true},
		{"in a pipe", "sed s/^/paged:/", []string{"log", "mem:"}, false, false},
		{"--no-pager", "sed s/^/paged:/", []string{"log", "mem:", "--no-pager"}, true, false},
		{"none", "", []string{"log", "mem:"}, true, false},
		{"one that is not there", "no-such-pager -x", []string{"log", "mem:"}, true, false},
		{"a command that asks", "sed s/^/paged:/", []string{"restore", "mem:", "trip-planner", "#5", "--dry-run"}, true, false},
	} {
		c := start(t, sample.Rows())
		c.OutTerminal = test.terminal
		_, plain, _ := c.run(t, test.args...)
		c.Pager = test.pager
		code, out, err := c.run(t, test.args...)
		if test.paged {
			plain = "paged:" + strings.ReplaceAll(strings.TrimSuffix(plain, "\n"), "\n", "\npaged:") + "\n"
		}
		if code != 0 || err != "" || out != plain {
			t.Errorf("%s: exit %d, %q, %.200q\nnot %.200q", test.name, code, err, out, plain)
		}
	}
}

// Who leaves the pager early is told nothing of it, however much was to come.
func TestPager_isLeftEarlyWithoutANoise(t *testing.T) {
	large := []byte(`{"messages":[` + strings.Repeat(`{"role":"user","content":[{"text":"one of many"}]},`, 50_000) + `{}]}`)
	c := start(t, sequenceOf([]store.Row{{Header: model.Header{ID: "a", SessionID: "s", Visit: 1}, State: large}}))
	c.OutTerminal = true
	c.Pager = "head -n 1"
	for _, args := range [][]string{{"show", "mem:", "s", "head"}, {"show", "mem:", "s", "head", "--json"}, {"show", "mem:", "s", "head", "--state"}, {"messages", "mem:"}} {
		code, out, err := c.run(t, args...)
		if code != 0 || err != "" || strings.Count(out, "\n") > 1 {
			t.Errorf("%q: exit %d, %q, %.200q", args, code, err, out)
		}
	}
}

// The exit code of a command is its own, whatever the pager ended with.
func TestPager_leavesTheExitCode(t *testing.T) {
	c := start(t, sample.Rows())
	c.OutTerminal = true
	said := filepath.Join(t.TempDir(), "said")
	c.Pager = "cat > " + said + "; exit 7"
	if code, _, err := c.run(t, "log", "mem:"); code != 0 || err != "" {
		t.Errorf("exit %d, %q", code, err)
	}
	if code, _, err := c.run(t, "log", "mem:", "nobody"); code != 1 || !strings.Contains(err, "no session") {
		t.Errorf("exit %d, %q", code, err)
	}
	if code, _, err := c.run(t, "diff", "mem:", "trip-planner", "head", "--exit-code"); code != 1 || err != "" {
		t.Errorf("the head's diff: exit %d, %q", code, err)
	}
	if _, err := os.Stat(said); err != nil {
		t.Error(err)
	}
}
