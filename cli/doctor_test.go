package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/sample"
	"hindcast/store/storetest/fake"
)

// patient is a store with faults that a test writes.
type patient struct {
	*fake.Store
	faults map[string][]model.Fault
	broken string // a session that cannot be looked at
	lost   error  // why the list of sessions cannot be read, nil where it can
}

func (p patient) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	if p.lost == nil {
		return p.Store.Sessions(ctx)
	}
	return func(yield func(model.SessionInfo, error) bool) { yield(model.SessionInfo{}, p.lost) }
}

func (patient) Close() error { return nil }

func (p patient) Faults(_ context.Context, session string) ([]model.Fault, error) {
	if session == p.broken && session != "" {
		return nil, errors.New("mem: read it: torn")
	}
	return p.faults[session], nil
}

// ill returns a command line on a store with faults, of a kind that has a framework.
func ill(t *testing.T, framework string, p patient) *session {
	t.Helper()
	c := start(t, sample.Rows())
	p.Store = c.store.(keep).Store
	c.store = p
	c.Kinds[0].Framework = framework
	return c
}

var faults = map[string][]model.Fault{
	"": {{Code: "stray-file", File: "x\x1b[2J", Meaning: "it is none\nof ours", Verdict: "loads"}},
	sample.Trip: {
		{Code: "message-file", File: "messages/message_3.json", Path: "byte 40", Meaning: strings.Repeat("a word and ", 20) + "the end", Verdict: "refuses to start: " + strings.Repeat("the reason ", 9)},
		{Code: "bare", Meaning: "no more is known"},
	},
}

func TestDoctor_groupsFaultsAndNamesWhoJudges(t *testing.T) {
	for _, c := range []struct{ framework, verdict, want, judge string }{
		{"Strands", "loads", "Strands: loads", "Strands"},
		{"", "loads", "the framework: loads", "the framework"},
		{"Genkit", "Genkit Go 1.13: loads", "Genkit Go 1.13: loads", "Genkit"},
	} {
		list := map[string][]model.Fault{sample.Trip: {{Code: "f", File: "file", Meaning: "m", Verdict: c.verdict}}}
		code, out, err := ill(t, c.framework, patient{faults: list}).run(t, "doctor", "mem:")
		want := "recognised as mem: its address names the kind\n\n" +
			"trip-planner  1 fault\n  f\n    file\n    m\n    " + c.want + "\n\n1 fault, in 1 of 2 sessions\n" +
			"no command mends 1 fault: " + c.judge + " goes on all the same\n"
		if code != 3 || out != want || err != "" {
			t.Errorf("%s: exit %d, %q, %q, want %q", c.framework, code, out, err, want)
		}
	}
}

func TestDoctor_isReadableInSixtyCells(t *testing.T) {
	code, out, _ := ill(t, "Strands", patient{faults: faults}).run(t, "doctor", "mem:")
	if code != 3 || strings.Contains(out, "\x1b") || !strings.Contains(out, "the store itself  1 fault\n") || !strings.Contains(out, "it is none↵of ours") {
		t.Errorf("exit %d\n%s", code, out)
	}
	for line := range strings.Lines(out) {
		if w := ansi.StringWidth(strings.TrimRight(line, "\n")); w > 60 {
			t.Errorf("%d cells: %q", w, line)
		}
	}
	if !strings.Contains(out, "    messages/message_3.json at byte 40\n") || !strings.HasSuffix(out, "\n3 faults, in 1 of 2 sessions\nno command mends 3 faults: Strands goes on all the same\n") {
		t.Errorf("it says\n%s", out)
	}
}

func TestDoctor_ofOneSession(t *testing.T) {
	c := ill(t, "Strands", patient{faults: faults, broken: sample.Packing})
	code, out, err := c.run(t, "doctor", "mem:", sample.Trip)
	if code != 3 || strings.Contains(out, "the store itself") || strings.Contains(out, "sessions\n") || err != "" {
		t.Errorf("exit %d, %q, %s", code, err, out)
	}
	code, out, err = c.run(t, "doctor", "mem:", sample.Packing)
	if code != 1 || out != "" || !strings.Contains(err, "torn") {
		t.Errorf("exit %d, %q, %q", code, out, err)
	}
	// Among all sessions one that cannot be looked at is a fault like others.
	code, out, err = c.run(t, "doctor", "mem:", "--json")
	var list []model.Fault
	if e := json.Unmarshal([]byte(out), &list); e != nil || code != 3 || err != "" || len(list) != 4 {
		t.Errorf("exit %d, %q, %v: %s", code, err, e, out)
	}
	if !strings.Contains(out, `{"fault":"unreadable-session","severity":"stops","file":"packing-list","meaning":"mem: read it: torn","stays":"Hindcast mends nothing in a memory store: its doctor says what the framework makes of a fault"}`) {
		t.Errorf("it says %s", out)
	}
	for _, args := range [][]string{{"doctor", "mem:", "nobody"}, {"doctor", "mem:", "nobody", "--json"}} {
		code, out, err = start(t, sample.Rows()).run(t, args...)
		if code != 1 || out != "" || !strings.Contains(err, "no session") {
			t.Errorf("exit %d, %q, %q", code, out, err)
		}
	}
}

// A fault that no command mends says why it stays: of one that costs something below its
// session, of the others once.
func TestDoctor_saysWhatStays(t *testing.T) {
	c := ill(t, "Strands", patient{faults: map[string][]model.Fault{
		"":             {{Code: "a"}, {Code: "b", Severity: model.Loses}, {Code: "n", Severity: model.Note}},
		sample.Trip:    {{Code: "c", Severity: model.Mended}, {Code: "d", Severity: model.Stops}},
		sample.Packing: {{Code: "m", Severity: model.Note}},
	}})
	_, out, _ := c.run(t, "doctor", "mem:")
	for text, n := range map[string]int{
		"  stays: it is of no session, and a repair is of one\n": 1, "  stays: Hindcast mends nothing in a memory store: ": 1, "stays: ": 2,
		"no command mends 2 faults: Strands goes on all the same\n": 1,
	} {
		if strings.Count(out, text) != n {
			t.Errorf("%q is not there %d times:\n%s", text, n, out)
		}
	}
	_, out, _ = c.run(t, "doctor", "mem:", "--json")
	var list []struct{ Fault, Stays string }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "the framework goes on all the same", "b": "it is of no session, and a repair is of one", "c": "the framework goes on all the same", "d": store.Cannot("memory", model.OpRepair)}
	for _, f := range list {
		if f.Stays != want[f.Fault] {
			t.Errorf("%s stays: %q", f.Fault, f.Stays)
		}
	}
}

// Where a damaged store has no list of its sessions, doctor says what is damaged. Without a fault
// that tells of it, the list is the failure.
func TestDoctor_ofALostList(t *testing.T) {
	damage := model.Fault{Code: "damaged-database", Severity: model.Loses, Meaning: "page 2 is torn"}
	c := ill(t, "Strands", patient{lost: errors.New("mem: no session is left"), faults: map[string][]model.Fault{"": {damage}}})
	code, out, _ := c.run(t, "doctor", "mem:")
	if code != 3 || !strings.Contains(out, "page 2 is torn") || !strings.Contains(out, "mem: no session is left") {
		t.Errorf("exit %d: %s", code, out)
	}
	c = ill(t, "Strands", patient{lost: errors.New("mem: no session is left")})
	if code, _, err := c.run(t, "doctor", "mem:"); code != 1 || !strings.Contains(err, "mem: no session is left") {
		t.Errorf("exit %d: %s", code, err)
	}
}

// What is wrong with the store itself is not told of each session again.
func TestDoctor_tellsOfTheStoreOnce(t *testing.T) {
	whole := model.Fault{Code: "journal", Severity: model.Loses, File: ".hindcast", Meaning: "it is torn"}
	_, out, _ := ill(t, "Strands", patient{faults: map[string][]model.Fault{"": {whole}, sample.Trip: {whole, {Code: "own"}}, sample.Packing: {whole}}}).run(t, "doctor", "mem:")
	if strings.Count(out, "it is torn") != 1 || !strings.Contains(out, "\n2 faults, in 1 of 2 sessions\n") {
		t.Errorf("it says\n%s", out)
	}
}

// A directory of two kinds at once tells of both.
func TestDoctor_tellsWhatOtherKindsClaim(t *testing.T) {
	s := newShelf(t)
	s.put(t, "both/a.mem", "both/b.txt")
	folder := store.Kind{
		Name: "folder",
		Recognise: func(_ context.Context, path string) (string, bool, error) {
			return "it is both", strings.HasSuffix(path, "both"), nil
		},
		Open: s.Kinds[0].Open,
	}
	second := folder
	second.Name = "second"
	s.Kinds = append(store.Kinds{folder, second}, s.Kinds...)
	both := s.dir + "/both"
	code, out, err := s.run(t, "doctor", both)
	text := strings.Join(strings.Fields(out), " ")
	want := "recognised as folder: it is both in it is also second:" + both + ": it is both " +
		"in it is also mem:" + both + "/a.mem: a file that ends in .mem no faults"
	if code != 0 || text != want || err != "" {
		t.Errorf("exit %d, %q\n%s\nand not\n%s", code, err, text, want)
	}
	code, out, err = s.run(t, "doctor", both, "--json")
	if code != 0 || out != "[]\n" || err != "" {
		t.Errorf("exit %d, %q, %q", code, out, err)
	}
	code, out, _ = s.run(t, "doctor", s.dir, "--json")
	var found struct {
		Stores     []struct{ Path, Kind, Why string }
		PassedOver []struct{ Path, Why string }
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(out)))
	dec.DisallowUnknownFields()
	if e := dec.Decode(&found); e != nil || code != 0 || len(found.Stores) != 3 || found.Stores[1].Why != "it is both; folder is asked first, and opens it: second:"+both+" opens this" || len(found.PassedOver) != 1 {
		t.Errorf("exit %d, %v: %s", code, e, out)
	}
}
