package query_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store/storetest/skip"
)

// TestMain evaluates an expression in place of the tests, where the environment asks for one.
func TestMain(m *testing.M) {
	if expr := os.Getenv("HINDCAST_TEST_EXPR"); expr != "" {
		fmt.Println(evaluated(expr))
		file, err := os.Open("/proc/self/status")
		if err != nil {
			panic(err)
		}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "VmHWM:") {
				fmt.Println(lines.Text())
			}
		}
		os.Exit(0) // also where gojq is still in a call
	}
	os.Exit(m.Run())
}

// evaluated says how the question ended that asks for an expression of one state.
func evaluated(text string) string {
	x, err := query.ParseExpr(text)
	if err != nil {
		return err.Error()
	}
	p := pastOf(`a - {"x":1,"text":"abc"}`)
	q, limit := query.Open(p, model.NewTimeline(p.headers)), (*query.LimitError)(nil)
	for _, err := range q.Find(context.Background(), x.Within(2*time.Second)) {
		if errors.As(err, &limit) {
			return "limit"
		}
	}
	for v, err := range q.Values(context.Background(), []model.Node{0}, x.Within(2*time.Second)) {
		if errors.As(err, &limit) {
			return "limit"
		}
		if err != nil || v.Turn == query.Fails {
			return "error " + v.Why
		}
	}
	return "done"
}

// Whatever an expression makes, it ends, and takes less than a gigabyte.
func TestExpr_isBounded(t *testing.T) {
	skip.Sequential(t)
	if runtime.GOOS != "linux" {
		skip.Missing(t, "the memory that a process took is read from /proc")
	}
	if testing.Short() {
		t.Skip("runs expressions until they are ended")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, expr := range []string{
		`[limit(1e9; repeat("x"*1000000))] | length`,
		`[limit(1e9; repeat("x"*30000000))] | length`,
		`[limit(1000; repeat("x"*1000000))] | add | length`,
		`[limit(1000; repeat("x"*1000000))] | join("") | length`,
		`reduce range(1e9) as $i ([]; . + [$i]) | length`,
		`reduce range(1e9) as $i ({}; . + {"\($i)": $i}) | length`,
		`reduce range(1e9) as $i ("x"; . + .) | length`,
		`reduce range(60) as $i ("x"; . + .) | length`,
		`reduce range(40) as $i (0; [., .]) | tojson | length`,
		`reduce range(40) as $i (0; [., .]) | tostring | length`,
		`reduce range(40) as $i (0; {a: ., b: .}) | @json | length`,
		`reduce range(40) as $i (0; [., .]) | flatten | length`,
		`reduce range(40) as $i (0; [., .]) | . == [.]`,
		`[range(1e9)] | length`,
		`[range(1e9) | tostring] | length`,
		`def f: [f]; f`,
		`def f: 1 + f; f`,
		`def f: f, f; [f]`,
		`[recurse(. + "x")] | length`,
		`[recurse([., .])] | length`,
		`[.[]?, (range(1e9) | [range(1000)])] | length`,
		`"x" * 30000000 | explode | length`,
		`"x" * 30000000 | [., ., .] | map(explode) | length`,
		`[.x] | .[60000000] = 1 | length`,
		`[range(100000)] | combinations(3)`,
		`[range(2000)] | [combinations(2)] | length`,
		`"x" * 1000000 | [scan("x")] | length`,
		`"x" * 100000 | [match("x"; "g")] | tojson | length`,
		`until(false; . + {"y": 1})`,
		`[limit(1e9; repeat({"a": [range(1000)]}))] | length`,
		`input`, `"a" | test("(a*)*b")`,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		cmd := exec.CommandContext(ctx, program)
		cmd.Env = append(os.Environ(), "HINDCAST_TEST_EXPR="+expr)
		begun := time.Now()
		out, err := cmd.CombinedOutput()
		cancel()
		var kB int
		_, most, _ := strings.Cut(string(out), "VmHWM:")
		fmt.Sscan(most, &kB)
		ended, _, _ := strings.Cut(string(out), "\n")
		t.Logf("%4d MB %6.1f s  %-40s %s", kB>>10, time.Since(begun).Seconds(), ended, expr)
		if err != nil || kB == 0 || kB > 1<<20 {
			t.Errorf("%s: %v, %d MB, %.300s", expr, err, kB>>10, out)
		}
	}
}
