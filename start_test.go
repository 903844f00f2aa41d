package main

import (
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// started is what the runtime tells of the initialisation of a package.
var started = regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes, (\d+) allocs$`)

// A command pays for what it uses. What a package makes before main is counted, for it is made for
// every command, and --version uses none of it: tables, expressions and schemas wait until they are asked for.
func TestStart_makesLittle(t *testing.T) {
	list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string]bool{}
	for _, name := range strings.Fields(string(list)) {
		linked[name] = true
	}
	if !linked["hindcast/cli"] {
		t.Fatalf("go list names no package of the program:\n%s", list)
	}
	out := shell(t, t.TempDir(), "GODEBUG=inittrace=1 hindcast --version 2>&1")
	type count struct{ bytes, allocs int }
	var own, all count
	for _, found := range started.FindAllStringSubmatch(out, -1) {
		name := strings.ReplaceAll(found[1], "%2e", ".")
		if !linked[name] {
			continue // a test's
		}
		bytes, _ := strconv.Atoi(found[2])
		allocs, _ := strconv.Atoi(found[3])
		all.bytes, all.allocs = all.bytes+bytes, all.allocs+allocs
		if !strings.HasPrefix(name, module) {
			continue
		}
		own.bytes, own.allocs = own.bytes+bytes, own.allocs+allocs
		if most := (count{6_000, 120}); bytes > most.bytes || allocs > most.allocs {
			t.Errorf("%s makes %d bytes in %d pieces before main, more than %v: make them when they are used first", name, bytes, allocs, most)
		}
	}
	t.Logf("the packages make %v, %v of that Hindcast's own", all, own)
	if most := (count{62_000, 750}); own.bytes == 0 || own.bytes > most.bytes || own.allocs > most.allocs {
		t.Errorf("Hindcast's own packages make %v before main, more than %v", own, most)
	}
	if most := (count{1_400_000, 11_000}); all.bytes > most.bytes || all.allocs > most.allocs {
		t.Errorf("all packages make %v before main, more than %v", all, most)
	}
}
