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
	"hindcast/store/storetest/skip"
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
	skip.Sequential(t)
	var text strings.Builder
	for _, h := range hazards(t) {
		text.WriteString("== " + h.name + "\n" + told(t, open(t, h.write(t))))
	}
	golden(t, "hazards.golden", text.String())
}

// Every code of a fault is in a store of the tests, and has a verdict of each
// SDK.
func TestFaults_allHaveAStoreAndVerdicts(t *testing.T) {
	skip.Sequential(t)
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
	for code, v := range known() {
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
		if _, ok := known()[code]; !ok && code != FaultTraces {
			t.Errorf("%q has no verdicts", code)
		}
	}
}

func TestFaults_unreadable(t *testing.T) {
	skip.Sequential(t)
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

// The suite of reading holds for stores in which something is wrong.
func TestHazards_areReadLikeAnyStore(t *testing.T) {
	skip.Sequential(t)
	for _, h := range hazards(t) {
		t.Run(h.name, func(t *testing.T) { storetest.Read(t, Kind(nil).Kind, h.write(t)) })
	}
}

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
		if _, err := s.Features().Facts(t.Context(), c.ref); !errors.Is(err, c.want) {
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
