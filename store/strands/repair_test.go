package strands

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/storetest"
)

// atNine is when the tests repair.
var atNine = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// written lays a session of hazards.txtar out in a store, an hour old.
func (f written) store(t *testing.T) (s *Store, dir string) {
	t.Helper()
	dir = t.TempDir()
	f.write(t, filepath.Join(dir, "session_h"))
	for name := range tree(t, dir) {
		if err := os.Chtimes(name, atNine.Add(-time.Hour), atNine.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, dir)
	s.now = func() time.Time { return atNine }
	return s, dir
}

func fatalOnes(faults []model.Fault) (list []model.Fault) {
	for _, f := range faults {
		if fatal(&f) {
			list = append(list, f)
		}
	}
	return list
}

// withoutRepair are the hazards that stay, with the reason.
var withoutRepair = map[string]string{
	"symlink":       "put the file itself in its place",
	"symlink-agent": "put the file itself in its place",
}

// Every session of the hazards on which the SDK does not start, or which it would
// damage, is mended, so that no fault is fatal any more; undo brings back what was
// there to the byte.
func TestRepair_ofEveryHazard(t *testing.T) {
	repaired := make(map[string]map[string]string)
	var words strings.Builder
	all := hazards(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			s, dir := all[name].store(t)
			before := tree(t, dir)
			broken := fatalOnes(storetest.Faults(t, s, "h"))
			plan, err := s.PlanRepair(t.Context(), "h")
			var nothing *model.NothingToError
			var unsupported *model.UnsupportedError
			switch {
			case withoutRepair[name] != "":
				if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), withoutRepair[name]) {
					t.Errorf("the error is %v", err)
				}
				fmt.Fprintf(&words, "%s\n  %v\n", name, err)
				return
			case errors.As(err, &nothing):
				if len(broken) > 0 {
					t.Errorf("there is nothing to repair, and %v", broken)
				}
				return
			case err != nil:
				t.Fatal(err)
			}
			fmt.Fprintf(&words, "%s: %s", name, all[name]["why"])
			for _, f := range broken {
				fmt.Fprintf(&words, "  ! %s: %s\n", f.Code, f.Verdict)
			}
			for _, lines := range []struct {
				label string
				list  []string
			}{{"writes", plan.Writes}, {"asks", plan.Asks}, {"warning", plan.Hazards}} {
				for _, line := range lines.list {
					fmt.Fprintf(&words, "  %s: %.300s\n", lines.label, line)
				}
			}
			for _, f := range plan.Files {
				fmt.Fprintf(&words, "  %s %s\n", f.Does, f.Path)
			}
			applied(t, s, plan)
			if left := fatalOnes(storetest.Faults(t, s, "h")); len(left) > 0 {
				t.Errorf("what is left: %v", left)
			}
			if _, err := s.PlanRepair(t.Context(), "h"); !errors.As(err, &nothing) {
				t.Errorf("once more: %v", err)
			}
			repaired[name] = make(map[string]string)
			for file, data := range tree(t, dir) {
				short := strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(file, filepath.Join(dir, "session_h"))), "/")
				repaired[name][strings.TrimPrefix(short, "agents/agent_default/")] = data
			}
			undo, err := s.PlanUndo(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			applied(t, s, undo)
			sameTree(t, dir, before)
			redo, err := s.PlanRedo(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			applied(t, s, redo)
			if left := fatalOnes(storetest.Faults(t, s, "h")); len(left) > 0 {
				t.Errorf("what is left after undo and redo: %v", left)
			}
		})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(repaired); err != nil {
		t.Fatal(err)
	}
	golden(t, "repairs.txt", words.String())
	storetest.Golden(t, filepath.Join(testdata, "repaired.json"), b.String(), update)
}

// The table of repairs has a line for each code.
func TestRepair_knowsEveryCode(t *testing.T) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "faults.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := 0
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Fault") {
			return true
		}
		for i, value := range spec.Values {
			codes++
			code := strings.Trim(value.(*ast.BasicLit).Value, `"`)
			if repairs[code] == "" {
				t.Errorf("%s (%s) has no repair, and no reason for that", spec.Names[i].Name, code)
			}
		}
		return true
	})
	if codes != len(repairs) {
		t.Errorf("there are %d codes, and %d repairs", codes, len(repairs))
	}
}

// repairedAnswer is what the SDK made of a session after its repair.
type repairedAnswer struct {
	answer
	SHA256   string
	Refused  string `json:"turn refused"`
	Waiting  bool
	Answered bool
	Heard    int
	Stored   []string
	Changed  []string
}

// The real SDK starts on every session that was repaired, loads what its state says,
// writes over nothing, and comes to the end of a turn.
func TestRepair_theSDKStartsOnIt(t *testing.T) {
	var sessions map[string]map[string]string
	if err := json.Unmarshal(readFile(t, filepath.Join(testdata, "repaired.json")), &sessions); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{newestSDK, oldestSDK} {
		var found map[string]repairedAnswer
		if err := json.Unmarshal(readFile(t, filepath.Join(testdata, "repaired-"+version+".json")), &found); err != nil {
			t.Fatal(err)
		}
		if len(found) != len(sessions) {
			t.Fatalf("%d sessions, and SDK %s was asked about %d", len(sessions), version, len(found))
		}
		for name, files := range sessions {
			t.Run(version+"/"+name, func(t *testing.T) {
				sdk := found[name]
				var asked strings.Builder
				for _, file := range slices.Sorted(maps.Keys(files)) {
					fmt.Fprintf(&asked, "%s\x00%s\x00", file, files[file])
				}
				if sum := sha256.Sum256([]byte(asked.String())); hex.EncodeToString(sum[:]) != sdk.SHA256 {
					t.Fatal("the SDK was asked about another session; ask it again, see testdata/interop/strands_repairs.py")
				}
				// What an old SDK wants of an interrupt no repair can know.
				if version == oldestSDK && strings.HasPrefix(name, "interrupt-") && sdk.Refused == "KeyError: 'tool_use_message'" {
					return
				}
				if sdk.Refuses != "" || sdk.Refused != "" || sdk.Overwrites || !sdk.Answered || len(sdk.Changed) > 0 {
					t.Fatalf("the SDK: %+v", sdk)
				}
				// An answer to an interrupt is no message; tools that waited may run.
				if n := len(sdk.Stored); n == 0 || n > 2 || n == 1 && !sdk.Waiting || sdk.Stored[0] != sdk.Next {
					t.Errorf("a turn writes %q, and the next message goes to %s", sdk.Stored, sdk.Next)
				}
				if version == oldestSDK {
					return // it does other things in memory, see sdk_test.go
				}
				f := written{}
				for file, data := range files {
					f[file] = []byte(data)
				}
				s, _ := f.store(t)
				list := storetest.Headers(t, s, "h")
				if got, loaded := canonicalMessages(t, state(t, s, list[len(list)-1])), plainMessages(t, sdk.Messages); !slices.Equal(got, loaded) {
					t.Errorf("the state has\n %s\nthe SDK loads\n %s", strings.Join(got, "\n "), strings.Join(loaded, "\n "))
				}
			})
		}
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
