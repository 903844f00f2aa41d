package terminal_test

import (
	"os"
	"os/exec"
	"testing"

	"hindcast/store/storetest/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// demoStore returns a folder with the demo in it, as hindcast-demo.db.
func demoStore(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	if out, err := exec.CommandContext(tb.Context(), program.Path(tb), "demo", dir).CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	return dir
}
