package agent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hindcast/store/native/sqlite"
)

// inProcess names the store in which another process is to record a turn.
const inProcess = "HINDCAST_AGENT_TEST_STORE"

func TestTwoProcesses_secondWriterGetsTheConflict(t *testing.T) {
	if path := os.Getenv(inProcess); path != "" {
		db, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		record(t, define(t, typedOn(db), onTurns()), "s", "theirs")
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	a := define(t, typedOn(db), onTurns())
	c := open(t, a, session("s"))
	c.turns("ours")
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	other.Env = append(os.Environ(), inProcess+"="+path)
	if out, err := other.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	wantConflict(t, c.do(turn("lost?")), "theirs", 1, "ours", 0)
	out, err := c.finish()
	wantConflict(t, err, "theirs", 1, "ours", 0)
	if out.State.Words != "lost?" {
		t.Errorf("%+v", out)
	}
	c = open(t, a, session("s"))
	c.turns("after")
	c.end()
	wantLine(t, db, "s", "ours0 theirs1 after2*")
}
