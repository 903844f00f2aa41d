package tui_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/keymap"
	"hindcast/prices"
	"hindcast/query/ledger"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/store/kinds"
	"hindcast/store/storetest/skip"
	"hindcast/tui"
	"hindcast/tui/screentest"
)

// recorded is about when the sessions in testdata were recorded.
var recorded = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// copyAgent copies the sessions of a coding agent to a folder.
func copyAgent(t *testing.T, agent, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS("../testdata/coding/"+agent)); err != nil {
		t.Fatal(err)
	}
}

// codingHome returns options for a home with copies of the sessions of coding agents, where an answer has a price.
func codingHome(t *testing.T) (o tui.Options, dir string) {
	t.Helper()
	dir = t.TempDir()
	for agent, at := range map[string]string{"claude-code": ".claude", "codex": ".codex", "pi": ".pi/agent/sessions", "gemini-cli": ".gemini/tmp"} {
		copyAgent(t, agent, filepath.Join(dir, filepath.FromSlash(at)))
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, recorded, recorded))
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := prices.Parse("prices.toml", "currency = \"USD\"\n[[price]]\nmodel = \"claude-*\"\ninput = 3.0\noutput = 15.0\ncache_read = 0.3\ncache_write = 3.75\n")
	if err != nil {
		t.Fatal(err)
	}
	around := store.Surroundings{Home: dir, Env: func(string) string { return "" }}
	o = options(nil)
	o.Store, o.Home = nil, home.New(kinds.All(nil, ""), home.Places{Around: around})
	o.Ledger, o.Prices, o.Currency = ledger.New(nil), list, list.Currency
	o.Now = func() time.Time { return recorded.AddDate(0, 0, 2) }
	t.Cleanup(func() {
		if err := o.Home.Close(); err != nil {
			t.Error(err)
		}
	})
	return o, dir
}

// rowWith returns the first line of the screen that has all words; "" without one.
func rowWith(p *screentest.Program, words ...string) string {
	for line := range strings.Lines(p.Screen()) {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
			return line
		}
	}
	return ""
}

// The rows in sight get their turns, branches left, failures and dollars, and the header those of the last days. What
// deletes a session stands in its row.
func TestHome_sums(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	o, dir := codingHome(t)
	p := start(t, o, 160, 40)
	for _, words := range [][]string{
		{"gemini", "! the next start", "! 1"},
		{"pi-mono", "6 turns", "$0.98"},
		{"codex", "8 turns", "◌1", "✗2", "–"},
		{"claude", "+1 agent", "7 turns", "$0.0250"},
		{"hindcast  all sessions · 28 in 4 stores", "$0.18+ in 30 d   ! 1"},
	} {
		if rowWith(p, words...) == "" {
			t.Errorf("no row has %q:\n%s", words, p.Screen())
		}
	}
	for range 5 {
		p.Press(keymap.Picker, keymap.Sort)
	}
	shows(t, p, "most turns first")
	p.Press(keymap.Picker, keymap.Top)
	selects(t, p, "8 turns")

	// A session that changes is summed again, and the header counts it although it may change within a tick.
	path := filepath.Join(dir, ".claude", "projects", "-home-demo", "e3826403-bf0d-4777-ba88-43b3f02bc184.jsonl")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(`{"parentUuid":"91e8462b-e073-4d1c-8cfb-b9c3cf39dfeb","isSidechain":false,"sessionId":"e3826403-bf0d-4777-ba88-43b3f02bc184","type":"user","message":{"role":"user","content":"once more"},"uuid":"91e8462b-e073-4d1c-8cfb-000000000000","timestamp":"2026-11-24T04:15:00.000Z"}` + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	p.WaitFor("the turn that came", func(string) bool { return rowWith(p, "$0.0071", "5 turns") != "" })
	p.WaitFor("the sum of all", func(string) bool { return rowWith(p, "$0.18+ in 30 d   ! 1") != "" })
}

// A store that appears while the list is open is listed, and its sessions too.
func TestHome_storesAppear(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		skip.Missing(t, "the system does not tell of new files")
	}
	o, dir := codingHome(t)
	p := start(t, o, 119, 30)
	shows(t, p, "28 in 4 stores")
	p.Press(keymap.Picker, keymap.MoveDown, keymap.MoveDown)
	selects(t, p, "3 turns")
	copyAgent(t, "openhands", filepath.Join(dir, ".openhands", "conversations"))
	waitFor(t, p, "30 in 5 stores")
	selects(t, p, "3 turns")
}

// A store that appears beside the only one is listed.
func TestHome_storesAppearBesideOne(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		skip.Missing(t, "the system does not tell of new files")
	}
	dir := t.TempDir()
	copyAgent(t, "openhands", filepath.Join(dir, ".openhands", "conversations"))
	o := options(nil)
	o.Store, o.Home = nil, home.New(kinds.All(nil, ""), home.Places{Around: store.Surroundings{Home: dir, Env: func(string) string { return "" }}})
	t.Cleanup(func() {
		if err := o.Home.Close(); err != nil {
			t.Error(err)
		}
	})
	p := start(t, o, 119, 30)
	shows(t, p, "2 in 1 store")
	copyAgent(t, "codex", filepath.Join(dir, ".codex"))
	waitFor(t, p, "in 2 stores")
}

// A store that does not answer keeps no other store's sessions from being summed.
func TestHome_sumsWhileAStoreHangs(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	o, _ := codingHome(t)
	o.Home.AddStores([]store.Found{foundAt("postgres", "postgres://far.example/agents", func(ctx context.Context) (store.Store, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})})
	p := startBusy(t, o, 160, 40)
	p.WaitFor("a row with its sums", func(string) bool { return rowWith(p, "claude", "+1 agent", "7 turns", "$0.0250") != "" })
	p.WaitFor("the sum of those that came", func(string) bool { return rowWith(p, "in 5 stores", "$0.18+ in 30 d") != "" })
}
