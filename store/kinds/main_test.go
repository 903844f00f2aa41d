package kinds_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hindcast/cli"
	"hindcast/store"
	"hindcast/store/kinds"
	"hindcast/store/kinds/jsonl"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/sample"
	"hindcast/store/storetest/program"
)

var update = flag.Bool("update", false, "write the golden files anew")

// testdata is what all packages share, and has the real stores.
var testdata = filepath.Join("..", "..", "testdata")

// allKinds remember nothing of what they read.
var allKinds = kinds.All(nil, "")

func TestMain(m *testing.M) {
	code := program.Main(m)
	pgtest.Stop()
	os.Exit(code)
}

// inProcess runs a command line in this process and returns its exit code and what
// it wrote.
func inProcess(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	return inProcessWith(t, allKinds, "", args...)
}

// inProcessWith is inProcess with other kinds and an input.
func inProcessWith(t *testing.T, list store.Kinds, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = cli.Run(t.Context(), &cli.App{
		Kinds:  list,
		Create: kinds.Create,
		Decode: jsonl.Read, Encode: jsonl.Write, Demo: sample.Rows,
		In: strings.NewReader(in), Out: &stdout, Err: &stderr,
		Getenv: func(string) string { return "" },
	}, args)
	return code, stdout.String(), stderr.String()
}

// hindcastRuns runs a command in this process, which has to succeed, and returns what
// it prints.
func hindcastRuns(t *testing.T, in string, args ...string) string {
	t.Helper()
	code, out, errs := inProcessWith(t, allKinds, in, args...)
	if code != 0 {
		t.Fatalf("hindcast %s: exit %d: %s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// seedOf returns the seed of what a test decides by chance, the same as in an earlier run
// where HINDCAST_SEED says so. It is told where the test fails.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("HINDCAST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("HINDCAST_SEED=%d", seed)
	return seed
}
