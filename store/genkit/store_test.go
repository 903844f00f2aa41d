package genkit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/fake"
)

var fixtures = []string{"go-1.13.1", "js-1.42.0-detachbug", "devproject-go-1.13.1"}

// What every store of the SDKs holds: counts, pictures, heads, faults.
func TestFixtures_areToldInFull(t *testing.T) {
	for _, name := range fixtures {
		golden(t, name+".golden", told(t, open(t, filepath.Join(testdata, name))))
	}
}

// What is told of every hazard, with the verdict of the SDK that wrote it.
func TestHazards_areToldWithVerdicts(t *testing.T) {
	var text strings.Builder
	for _, h := range hazards(t) {
		text.WriteString("== " + h.name + "\n" + told(t, open(t, h.write(t))))
	}
	golden(t, "hazards.golden", text.String())
}

// Every code of a fault is in a store of the tests, and has a verdict of each
// SDK.
func TestFaults_allHaveAStoreAndVerdicts(t *testing.T) {
	seen := map[string]bool{FaultTraces: true} // see joined_test.go
	for _, h := range hazards(t) {
		s := open(t, h.write(t))
		for _, info := range storetest.Sessions(t, s) {
			for _, f := range storetest.Faults(t, s, info.ID) {
				seen[f.Code] = true
			}
		}
		for _, f := range storetest.Faults(t, s, "") {
			seen[f.Code] = true
		}
	}
	for _, f := range storetest.Faults(t, open(t, filepath.Join(testdata, fixtures[1])), "s") {
		seen[f.Code] = true
	}
	for code, v := range known {
		if !seen[code] && code != FaultUnreadable { // see TestFaults_unreadable
			t.Errorf("no store has the fault %q", code)
		}
		for l, verdict := range v {
			if verdict == "" {
				t.Errorf("%q has no verdict of %v", code, layout(l))
			}
		}
	}
	for code := range seen {
		if _, ok := known[code]; !ok && code != FaultTraces {
			t.Errorf("%q has no verdicts", code)
		}
	}
}

func TestFaults_unreadable(t *testing.T) {
	if !storetest.Unprivileged(t) {
		return
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "global", "a.json"), goRow("a", "", "s", "2026-11-20T10:00:00Z", ""))
	if err := os.Chmod(filepath.Join(dir, "global", "a.json"), 0); err != nil {
		t.Fatal(err)
	}
	list := storetest.Faults(t, open(t, dir), "")
	if len(list) != 1 || list[0].Code != FaultUnreadable {
		t.Errorf("told is %+v", list)
	}
}

// The faults that the list of sessions counts are those that Faults tells, apart
// from those inside the states.
func TestSessions_countFaults(t *testing.T) {
	inStates := map[string]bool{FaultBigInteger: true, FaultDuplicateKey: true, FaultRowFile: true}
	for _, h := range hazards(t) {
		s := open(t, h.write(t))
		for _, info := range storetest.Sessions(t, s) {
			list := slices.DeleteFunc(storetest.Faults(t, s, info.ID), func(f model.Fault) bool {
				return inStates[f.Code] && (strings.HasPrefix(f.Path, "/state/") || strings.HasSuffix(f.File, "inside.json"))
			})
			if len(list) != info.Faults {
				t.Errorf("%s: %s counts %d faults, there are %d: %+v", h.name, info.ID, info.Faults, len(list), list)
			}
		}
	}
}

// What the list says of a session is what its headers say.
func TestSessions_agreeWithHeaders(t *testing.T) {
	dirs := []string{}
	for _, name := range fixtures {
		dirs = append(dirs, filepath.Join(testdata, name))
	}
	for _, h := range hazards(t) {
		dirs = append(dirs, h.write(t))
	}
	for _, dir := range dirs {
		s := open(t, dir)
		ids := map[string]bool{}
		for _, info := range storetest.Sessions(t, s) {
			if ids[info.ID] {
				t.Errorf("%s: two sessions are called %q", dir, info.ID)
			}
			ids[info.ID] = true
			rows, orphaned, heads := 0, 0, 0
			for i, h := range storetest.Headers(t, s, info.ID) {
				if h.SessionID != info.ID {
					t.Errorf("%s: header %d of %q is of session %q", dir, i, info.ID, h.SessionID)
				}
				if h.Marks.Has(model.MarkTraced) {
					continue
				}
				if h.Index != rows {
					t.Errorf("%s: %q: row %d has the index %d", dir, info.ID, rows, h.Index)
				}
				rows++
				if h.Orphaned {
					orphaned++
				}
				if (h.Reason != nil) != h.Orphaned {
					t.Errorf("%s: %q: #%d is orphaned: %v, because %v", dir, info.ID, h.Index, h.Orphaned, h.Reason)
				}
				if h.Head {
					heads++
					if h.Point() != info.Head || h.Orphaned {
						t.Errorf("%s: %q has the head %s, the list says %s", dir, info.ID, h.ID, info.Head)
					}
				}
			}
			if rows != info.Snapshots || orphaned != info.Orphaned || heads != 1 {
				t.Errorf("%s: %+v has %d rows, %d orphaned, %d heads", dir, info, rows, orphaned, heads)
			}
		}
	}
}

// A state is the bytes in the file, spaces and all.
func TestState_isWhatTheFileHas(t *testing.T) {
	s := open(t, filepath.Join(testdata, "go-1.13.1"))
	file, err := os.ReadFile(filepath.Join(testdata, "go-1.13.1/barista/global/917c3fba-54ab-4585-a1b0-c8756a67e730.json"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(file), `"state": `)
	want, _, _ := strings.Cut(rest, ",\n  \"status\"")
	ref := model.Ref{Session: "barista/sess-main", ID: "917c3fba-54ab-4585-a1b0-c8756a67e730"}
	if got := state(t, s, ref); got != want {
		t.Errorf("the state is\n%s\nthe file has\n%s", got, want)
	}
	if !strings.Contains(want, `\u003cmocha\u003e \u0026 cream`) || !strings.Contains(want, "9007199254740992") {
		t.Error("the state has lost its escapes or numbers")
	}
	if got := state(t, s, model.Ref{Session: "barista/sess-orphan", ID: "38006272-db94-45c3-9c27-e58359154d6d"}); got != "null" {
		t.Errorf("the state of a pending row is %s", got)
	}
}

func TestState_errors(t *testing.T) {
	s := open(t, filepath.Join(testdata, "go-1.13.1"))
	for _, c := range []struct {
		ref  model.Ref
		want error
	}{
		{model.Ref{Session: "nobody", ID: "917c3fba-54ab-4585-a1b0-c8756a67e730"}, model.ErrNoSession},
		{model.Ref{Session: "barista/sess-main", ID: "nothing"}, model.ErrNoSnapshot},
		{model.Ref{Session: "barista/sess-main", ID: ".pointers/sess-main"}, model.ErrNoSnapshot},
		{model.Ref{Session: "barista/sess-main", ID: "../../tenant/org-42/user-7/ebab744f-2cee-482f-bede-dd8b9f0e5a44"}, model.ErrNoSnapshot},
		{model.Ref{Session: "barista/sess-main", ID: strings.Repeat("x", 5000)}, model.ErrNoSnapshot},
		{model.Ref{Session: "barista/sess-main", ID: "456148c2-ce90-4b7a-b0cc-6f4c0b16c832"}, model.ErrNoSnapshot}, // of sess-flaky
		{model.Ref{Session: "../go-1.13.1/barista/sess-main", ID: "917c3fba-54ab-4585-a1b0-c8756a67e730"}, model.ErrNoSession},
		{model.Ref{Session: "barista/global/sess-main", ID: "917c3fba-54ab-4585-a1b0-c8756a67e730"}, model.ErrNoSession},
		{model.Ref{Session: "barista//sess-main", ID: "917c3fba-54ab-4585-a1b0-c8756a67e730"}, model.ErrNoSession},
		{model.Ref{Session: "", ID: "x"}, model.ErrNoSession},
		{model.Ref{Session: "\x00/x", ID: "x"}, model.ErrNoSession},
	} {
		if _, err := s.State(t.Context(), c.ref); !errors.Is(err, c.want) {
			t.Errorf("State(%+.80v) is %v, want %v", c.ref, err, c.want)
		}
		if _, err := s.Facts(t.Context(), c.ref); !errors.Is(err, c.want) {
			t.Errorf("Facts(%+.80v) is %v, want %v", c.ref, err, c.want)
		}
	}
	for range s.Headers(t.Context(), "nobody") {
	}
	for _, err := range s.Headers(t.Context(), "nobody") {
		if !errors.Is(err, model.ErrNoSession) {
			t.Errorf("Headers is %v", err)
		}
	}
	if _, err := s.Faults(t.Context(), "nobody"); !errors.Is(err, model.ErrNoSession) {
		t.Errorf("Faults is %v", err)
	}
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open is %v", err)
	}
}

// A row that is cut off is listed where it says whose it is, and its state says
// where it ends.
func TestState_ofACutRow(t *testing.T) {
	for _, h := range hazards(t) {
		if h.name != "js-bytes" {
			continue
		}
		s := open(t, h.write(t))
		_, err := s.State(t.Context(), model.Ref{Session: "s", ID: "cut"})
		if err == nil || !strings.Contains(err.Error(), "global/cut.json: byte ") {
			t.Errorf("State is %v", err)
		}
		if got := state(t, s, model.Ref{Session: "s", ID: "bom"}); !strings.HasPrefix(got, "{") {
			t.Errorf("the state behind a byte order mark is %s", got)
		}
	}
}

// Reading leaves everything as it was: no pointer is repaired.
func TestStore_leavesEverythingAsItWas(t *testing.T) {
	dirs := []string{}
	for _, name := range fixtures {
		copied := t.TempDir()
		if err := os.CopyFS(copied, os.DirFS(filepath.Join(testdata, name))); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, copied)
	}
	for _, h := range hazards(t) {
		dirs = append(dirs, h.write(t))
	}
	for _, dir := range dirs {
		check := storetest.Untouched(t, dir)
		s := open(t, dir)
		if _, _, err := recognise(t.Context(), dir); err != nil {
			t.Error(err)
		}
		if _, err := s.Watch(t.Context()); err != nil {
			t.Error(err)
		}
		for _, info := range storetest.Sessions(t, s) {
			for _, h := range storetest.Headers(t, s, info.ID) {
				_, _ = s.State(t.Context(), h.Ref()) // some are damaged
				if _, err := s.Facts(t.Context(), h.Ref()); err != nil {
					t.Error(err)
				}
			}
			storetest.Faults(t, s, info.ID)
		}
		storetest.Faults(t, s, "")
		check()
	}
}

// The timeline is the same when the session went through an export.
func TestExport_keepsTheTimeline(t *testing.T) {
	for _, name := range fixtures {
		s := open(t, filepath.Join(testdata, name))
		m := fake.New()
		if _, err := m.Import(t.Context(), store.Rows(t.Context(), s)); err != nil {
			t.Fatal(err)
		}
		for _, info := range storetest.Sessions(t, s) {
			var copied []model.Header
			for h, err := range m.Headers(t.Context(), info.ID) {
				if err != nil {
					t.Fatal(err)
				}
				copied = append(copied, h)
			}
			if want, got := picture(storetest.Headers(t, s, info.ID)), picture(copied); want != got {
				t.Errorf("%s %s was\n%s\nis\n%s", name, info.ID, want, got)
			}
		}
	}
}

func TestContext_endsEverything(t *testing.T) {
	s := open(t, filepath.Join(testdata, "go-1.13.1"))
	ctx := cancelled(t)
	failed := func(what string, err error) {
		if err == nil {
			t.Errorf("%s goes on", what)
		}
	}
	var err error
	for _, err = range s.Sessions(ctx) {
	}
	failed("Sessions", err)
	for _, err = range s.Headers(ctx, "barista/sess-main") {
	}
	failed("Headers", err)
	_, err = s.Faults(ctx, "barista/sess-main")
	failed("Faults", err)
	_, err = s.Faults(ctx, "")
	failed("Faults of the store", err)
}

func TestLacks_saysWhy(t *testing.T) {
	s := open(t, t.TempDir())
	for op, want := range map[model.Op]string{
		model.OpRestore: "", model.OpFork: "", model.OpUndo: "", model.OpRedo: "", model.OpEdit: "", model.OpRepair: "",
		model.OpConvert: "no other kind", model.OpPurge: "redacts nothing", model.OpRun: "",
	} {
		if why := store.Reason(s, op); !strings.Contains(why, want) || (why == "") != (want == "") {
			t.Errorf("%s: the reason is %q", op, why)
		}
	}
}
