package storetest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/model/printable"
	"hindcast/store"
	"hindcast/store/storetest/skip"
)

// Read is the suite of all that every kind holds while it is only read, run on the
// store at an address. What a kind can do besides is found by type assertion, and is
// held too. A store on a disk is copied first, and may not change by a single byte.
func Read(t *testing.T, kind store.Kind, address string) {
	mine := Copy(t, address)
	if _, err := os.Lstat(mine); err == nil {
		check := Untouched(t, filepath.Dir(mine))
		defer check()
		t.Run("deleted meanwhile", func(t *testing.T) { readsDeleted(t, kind, address) })
	}
	r := newReader(t, func(t testing.TB) store.Store { return OpenStore(t, kind, mine) })
	t.Run("closed", func(t *testing.T) { readsClosed(t, r) })
	r.all(t)
	if got := r.open(t).Kind(); got != kind.Name {
		t.Errorf("it is a %s store", got)
	}
}

// OpenStore opens a store until a test ends, which may close it before.
func OpenStore(t testing.TB, kind store.Kind, address string) store.Store {
	t.Helper()
	s, err := kind.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // it may be closed already
	return s
}

// reader is a store that the suite reads, and how it is opened once more.
type reader struct {
	open func(testing.TB) store.Store
	// knows has read everything, and want is that.
	knows store.Store
	want  contents
}

func newReader(t testing.TB, open func(testing.TB) store.Store) *reader {
	t.Helper()
	s := open(t)
	return &reader{open, s, everything(t, s)}
}

// all runs what a store holds that stays open.
func (r *reader) all(t *testing.T) {
	for _, c := range []struct {
		name  string
		run   func(*testing.T, *reader)
		races bool // several goroutines read, or one that the store starts
	}{
		{"says the same each time", readsTheSame, true},
		{"agrees with itself", readsAgree, false},
		{"in any order", readsInAnyOrder, false},
		{"tail", readsTheTail, false},
		{"growth", readsGrowth, false},
		{"parts", readsParts, false},
		{"ropes", readsRopes, false},
		{"apart", readsApart, false},
		{"mentions", readsMentions, false},
		{"what is not there", readsNothing, false},
		{"cancelled", readsCancelled, false},
		{"watch", readsWatching, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !c.races {
				skip.Sequential(t)
			}
			c.run(t, r)
		})
	}
}

// Copy copies what is at a path into a new folder, under its own name and with its times,
// and returns where it is. An address that is no path is returned as it is.
func Copy(t testing.TB, address string) string {
	t.Helper()
	if _, err := os.Stat(address); err != nil {
		return address
	}
	to := filepath.Join(t.TempDir(), filepath.Base(address))
	err := filepath.WalkDir(address, func(path string, e fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(address, path)
		if err = errors.Join(err, relErr); err != nil {
			return err
		}
		target := filepath.Join(to, name)
		info, err := os.Lstat(path)
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return os.MkdirAll(target, 0o755)
		case !info.Mode().IsRegular():
			link, err := os.Readlink(path)
			return errors.Join(err, os.Symlink(link, target))
		}
		data, err := os.ReadFile(path)
		return errors.Join(err, os.WriteFile(target, data, 0o644), os.Chtimes(target, time.Time{}, info.ModTime()))
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// read is one snapshot, as far as the store tells of it.
type read struct {
	header model.Header
	reason model.Reason
	state  [sha256.Size]byte
	err    string
	facts  []model.Fact
	gaps   model.Gaps
	resume []model.Resume
}

// timeless returns faults without numbers in what they mean: some say how long ago.
func timeless(faults []model.Fault) []model.Fault {
	faults = slices.Clone(faults)
	for i := range faults {
		faults[i].Meaning = regexp.MustCompile(`\d+[dhms]?`).ReplaceAllString(faults[i].Meaning, "0")
	}
	return faults
}

// howLong is how long ago something was.
var howLong = regexp.MustCompile(`[\d.]+[a-z]+[\da-z.]* ago`)

// agoIn returns a text that says at another time the same of what was long ago.
func agoIn(text string) string { return howLong.ReplaceAllString(text, "0s ago") }

// contents are all that a store tells.
type contents struct {
	infos    []model.SessionInfo
	sessions map[string][]read
	faults   map[string][]model.Fault
}

// everything reads a store whole.
func everything(t testing.TB, s store.Store) contents {
	t.Helper()
	all := contents{Sessions(t, s), map[string][]read{}, map[string][]model.Fault{"": timeless(Faults(t, s, ""))}}
	for _, info := range all.infos {
		all.faults[info.ID] = timeless(Faults(t, s, info.ID))
		for _, h := range Headers(t, s, info.ID) {
			one := read{header: h}
			if h.Reason != nil {
				one.header.Reason, one.reason = nil, *h.Reason
			}
			state, err := s.State(t.Context(), h.Ref())
			if one.state = sha256.Sum256(state); err != nil {
				one.err = err.Error()
			}
			if d := s.Features(); d.Facts != nil {
				var factsErr, gapsErr error
				one.facts, factsErr = d.Facts(t.Context(), h.Ref())
				for i := range one.facts {
					one.facts[i].Value = agoIn(one.facts[i].Value)
				}
				one.gaps, gapsErr = d.Gaps(t.Context(), h.Ref())
				if one.err == "" && (factsErr != nil || gapsErr != nil) {
					t.Errorf("session %q, #%d: %v, %v", info.ID, h.Index, factsErr, gapsErr)
				}
			}
			if c := s.Features(); c.Resume != nil {
				if one.resume, err = c.Resume(t.Context(), h.Ref()); err != nil && one.err == "" {
					t.Errorf("session %q, #%d: %v", info.ID, h.Index, err)
				}
			}
			all.sessions[info.ID] = append(all.sessions[info.ID], one)
		}
	}
	return all
}

// same fails the test where two readings differ.
func (c contents) same(t testing.TB, want contents) {
	t.Helper()
	sameValue(t, "the list of sessions", c.infos, want.infos)
	sameValue(t, "the list of faults", c.faults, want.faults)
	for id := range want.sessions {
		sameValue(t, fmt.Sprintf("session %q", id), c.sessions[id], want.sessions[id])
	}
}

// readsTheSame: what is read is the same again, of several readers at once, and of one
// who opens the store anew.
func readsTheSame(t *testing.T, r *reader) {
	fresh := r.open(t)
	var all sync.WaitGroup
	for _, s := range []store.Store{r.knows, fresh, fresh} {
		all.Go(func() { everything(t, s).same(t, r.want) })
	}
	all.Wait()
}

// readsAgree: what is read agrees with itself.
func readsAgree(t *testing.T, r *reader) {
	if len(r.want.infos) == 0 {
		t.Fatal("there is no session")
	}
	known := map[string]bool{}
	for _, info := range r.want.infos {
		if known[info.ID] {
			t.Errorf("two sessions are called %q", info.ID)
		}
		known[info.ID] = true
		holdSession(t, r.knows, info, r.want.sessions[info.ID], r.want.faults[info.ID])
	}
}

func sameValue[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is\n%+v\nand was\n%+v", what, got, want)
	}
}

// holdSession: what is told of a session agrees with its headers, and they with each
// other, and with what is said to be wrong.
func holdSession(t *testing.T, s store.Store, info model.SessionInfo, list []read, faults []model.Fault) {
	t.Helper()
	broken := func(code string) bool {
		return slices.ContainsFunc(faults, func(f model.Fault) bool { return f.Code == code })
	}
	visits, ids := map[model.Ref]bool{}, map[string]bool{}
	var headers []model.Header
	for _, one := range list {
		h := one.header
		headers = append(headers, h)
		ids[h.ID] = true
		if visits[h.Ref()] || h.ID == "" {
			t.Errorf("session %q: two snapshots are %+v", info.ID, h.Ref())
		}
		if visits[h.Ref()] = true; h.SessionID != info.ID {
			t.Errorf("session %q has a snapshot of session %q", info.ID, h.SessionID)
		}
		if h.Orphaned != (one.reason != model.Reason{}) {
			t.Errorf("session %q, #%d is off the path: %t, because %+v", info.ID, h.Index, h.Orphaned, one.reason)
		}
		for _, line := range append([]string{h.Title}, one.err) {
			if strings.ContainsAny(line, "\n\r") {
				t.Errorf("session %q, #%d: %q is more than one line", info.ID, h.Index, line)
			}
		}
		holdText(t, one.err)
		state, err := s.State(t.Context(), h.Ref())
		if err != nil {
			if !h.Marks.Has(model.MarkDamaged) && !broken(store.FaultState) {
				t.Errorf("session %q, #%d cannot be read, and nothing says so: %v", info.ID, h.Index, err)
			}
			continue
		}
		if _, _, err := jsontape.ParseTolerant(state); err != nil && len(faults) == 0 {
			t.Errorf("session %q, #%d: the state is no JSON, and nothing says so: %v", info.ID, h.Index, err)
		}
		if h.Size != 0 && h.Size != int64(len(state)) {
			t.Errorf("session %q, #%d is said to have %d bytes, and has %d", info.ID, h.Index, h.Size, len(state))
		}
	}
	for _, h := range headers {
		if h.ParentID != "" && !ids[h.ParentID] && !broken(model.FaultMissingParent) && !broken(model.FaultForeignParent) {
			t.Errorf("session %q, #%d: its parent %q is not there, and nothing says so", info.ID, h.Index, h.ParentID)
		}
	}
	line := model.NewTimeline(headers)
	indexes := map[int]bool{}
	for _, h := range headers {
		indexes[h.Index] = true
	}
	if list := slices.Sorted(maps.Keys(indexes)); len(list) > 0 && list[len(list)-1]-list[0] != len(list)-1 {
		t.Errorf("session %q has a gap in its indexes: %v", info.ID, list)
	}
	for _, f := range line.Faults() { // a framework need not care for indexes and times
		if !broken(f.Code) && slices.Contains([]string{model.FaultSelfParent, model.FaultParentCycle, model.FaultSeveralHeads, model.FaultOrphanedPath, model.FaultParentMismatch, model.FaultDuplicateVisit}, f.Code) {
			t.Errorf("session %q: nothing says %s: %s", info.ID, f.Code, f.Meaning)
		}
	}
	heads := len(slices.DeleteFunc(slices.Clone(headers), func(h model.Header) bool { return !h.Head }))
	if heads > 1 {
		t.Errorf("session %q has %d heads", info.ID, heads)
	}
	want := info
	if want.Kind = s.Kind(); info.Snapshots != store.Uncounted {
		want.Snapshots, want.Orphaned, want.Head = line.Snapshots(), line.Orphans(), model.Point{}
		if heads == 1 {
			want.Head = line.Header(line.Head()).Point()
		}
	}
	sameValue(t, "what the list says of the session", info, want)
	for _, f := range faults {
		if f.Code == "" || f.Meaning == "" {
			t.Errorf("session %q: a fault that says nothing: %+v", info.ID, f)
		}
	}
	if r := s.Features(); r.Record != nil {
		if _, err := r.Record(t.Context(), info.ID); err != nil {
			t.Errorf("the record of session %q: %v", info.ID, err)
		}
	}
}

// holdText: an error may be printed as it is.
func holdText(t testing.TB, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); printable.String(line) != line {
			t.Errorf("an error has what a terminal obeys: %q", line)
		}
	}
}

// readsTheTail: the end of the headers is that of all of them.
func readsTheTail(t *testing.T, r *reader) {
	s := r.knows
	features := s.Features()
	if features.Tail == nil {
		t.Skip("the kind lists all at once")
	}
	for _, info := range Sessions(t, s) {
		all := Headers(t, s, info.ID)
		for _, n := range []int{-1, 0, 1, 2, 5, len(all) - 1, len(all), len(all) + 1, 10_000} {
			for _, tailer := range []store.Features{features, r.open(t).Features()} { // which has read nothing yet
				headers, before, err := tailer.Tail(t.Context(), info.ID, n)
				want := all[len(all)-min(max(n, 0), len(all)):]
				if rest := len(all) - len(want); err != nil || before != rest && (rest == 0 || before != store.Uncounted) || len(headers) != len(want) {
					t.Errorf("session %q: the last %d are %d, and %d before them, %v", info.ID, n, len(headers), before, err)
					continue
				}
				for i := range headers {
					got, want := headers[i], want[i]
					if got.TurnIndex == model.TurnUnknown {
						got.TurnIndex = want.TurnIndex
					}
					if got.Size == 0 {
						got.Size = want.Size
					}
					sameValue(t, fmt.Sprintf("of the last %d, header %d", n, i), got, want)
				}
			}
		}
	}
}

// readsGrowth: nothing is new in a session that stays as it is, and from the beginning
// all is.
func readsGrowth(t *testing.T, r *reader) {
	s := r.knows
	grower := s.Features()
	if grower.Growth == nil {
		t.Skip("the kind is read anew")
	}
	for _, info := range Sessions(t, s) {
		at, err := grower.Cursor(t.Context(), info.ID)
		if err != nil {
			t.Fatal(err)
		}
		all := Headers(t, s, info.ID)
		growth, err := grower.Growth(t.Context(), info.ID, at)
		if err != nil || growth.Rewritten || len(growth.Headers) > 0 || growth.Cursor != at {
			t.Errorf("session %q grew by %+v, %v", info.ID, growth, err)
		}
		growth, err = grower.Growth(t.Context(), info.ID, store.Cursor{Rewrites: at.Rewrites})
		if err != nil || growth.Cursor != at || !growth.Rewritten && !reflect.DeepEqual(growth.Headers, all) {
			t.Errorf("session %q since its beginning is %+v, %v", info.ID, growth, err)
		}
		for _, odd := range []store.Cursor{{Visit: 1 << 62, Rewrites: 1 << 62}, {Visit: at.Visit + 1, Rewrites: at.Rewrites}} {
			if growth, err = grower.Growth(t.Context(), info.ID, odd); err != nil || !growth.Rewritten || growth.Headers != nil || growth.Cursor != at {
				t.Errorf("session %q since %+v is %+v, %v", info.ID, odd, growth, err)
			}
		}
	}
}

// readsInAnyOrder: the sessions in any order are those that are listed newest first.
func readsInAnyOrder(t *testing.T, r *reader) {
	want := map[string]model.SessionInfo{}
	for _, info := range Sessions(t, r.knows) {
		want[info.ID] = info
	}
	for info, err := range store.AnyOrder(t.Context(), r.knows) {
		if err != nil || !reflect.DeepEqual(info, want[info.ID]) {
			t.Errorf("%+v, %v, want %+v", info, err, want[info.ID])
		}
		delete(want, info.ID)
	}
	for id := range want {
		t.Errorf("session %q is not listed", id)
	}
}

// readsParts: what is told of parts of states is so of the whole ones.
func readsParts(t *testing.T, r *reader) {
	s := r.knows
	parted := s.Features()
	if parted.Peek == nil {
		t.Skip("the kind keeps states whole")
	}
	for _, info := range Sessions(t, s) {
		var last []byte
		var lastRef model.Ref
		for _, h := range Headers(t, s, info.ID) {
			state, err := s.State(t.Context(), h.Ref())
			begin, peekErr := parted.Peek(t.Context(), h.Ref())
			if err != nil || peekErr != nil || !strings.HasPrefix(string(state), string(begin)) {
				t.Errorf("session %q, #%d begins with %.80q, %v, %v", info.ID, h.Index, begin, err, peekErr)
			}
			if last != nil {
				spans, err := parted.Compare(t.Context(), lastRef, h.Ref())
				if err != nil || !spanned(last, state, spans) {
					t.Errorf("session %q, #%d differs elsewhere than in %+v, %v", info.ID, h.Index, spans, err)
				}
				x, y, err := parted.States(t.Context(), lastRef, h.Ref())
				if err != nil || string(x) != string(last) || string(y) != string(state) {
					t.Errorf("session %q, #%d and the one before are other states together, %v", info.ID, h.Index, err)
				}
			}
			last, lastRef = state, h.Ref()
		}
	}
}

// readsRopes: the runs of a state are its bytes, in whatever order states are asked for,
// and the same place is the same bytes in each.
func readsRopes(t *testing.T, r *reader) {
	s, check := r.knows, Ropes
	switch can := s.Features(); {
	case can.Weave != nil:
		check = Woven
	case can.Ropes == nil:
		t.Skip("the kind keeps states whole")
	}
	for _, info := range Sessions(t, s) {
		var refs []model.Ref
		for _, h := range Headers(t, s, info.ID) {
			refs = append(refs, h.Ref())
		}
		check(t, r.open(t), refs...) // which has read nothing yet
		for i := range slices.Backward(refs) {
			check(t, s, refs[i])
		}
		slices.Reverse(refs)
		if check(t, s, refs...); s.Features().Weave == nil {
			check(t, s, append(refs, refs...)...)
		}
	}
}

// readsMentions: of no text in a state a store says that the session does not have it.
func readsMentions(t *testing.T, r *reader) {
	if testing.Short() {
		t.Skip("it asks for each text of each state")
	}
	tells := r.knows.Features()
	if tells.Mentions == nil {
		t.Skip("a search reads every session")
	}
	for _, info := range r.want.infos {
		list := r.want.sessions[info.ID]
		if len(list) == 0 {
			continue
		}
		has := func(text string, fold bool) bool {
			may, err := tells.Mentions(t.Context(), info.ID, []byte(text), func(in []byte) bool {
				if fold {
					in = bytes.ToLower(in)
				}
				return bytes.Contains(in, []byte(text))
			})
			if err != nil {
				t.Fatalf("session %q: %v", info.ID, err)
			}
			return may
		}
		seen := map[string]bool{}
		for _, one := range list {
			state, err := r.knows.State(t.Context(), one.header.Ref())
			if err != nil {
				continue
			}
			tape, err := jsontape.Parse(state)
			if err != nil {
				continue
			}
			for n := range jsontape.Node(tape.Len()) {
				pointer := tape.Pointer(n)
				for i, text := range []string{string(tape.RawKey(n)), string(tape.Raw(n))} {
					if text = text[:min(len(text), 80)]; text == "" || seen[text] || text[0] == '{' || text[0] == '[' || tells.IsAdded(pointer, i == 0) {
						continue
					}
					seen[text] = true
					text = strings.Trim(text, `"`)
					for _, part := range []string{text, text[len(text)/3:], text[:len(text)-len(text)/3]} {
						if part = longestPlain(part); part != "" && (!has(part, false) || !has(strings.ToLower(part), true)) {
							t.Errorf("session %q, #%d has %q, and the store says that it has not", info.ID, one.header.Index, part)
						}
					}
				}
			}
		}
	}
}

// escape is an escape of JSON, or the begin of one where the text ends.
var escape = regexp.MustCompile(`\\(u[0-9a-fA-F]{0,4}|.?)`)

// longestPlain returns the longest part of a text, as it stands in JSON, that JSON spells in one way.
func longestPlain(text string) (longest string) {
	text = escape.ReplaceAllString(text, "\n")
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\\<>&'`, r) }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// reporter is a test, or one of package rapid.
type reporter interface {
	Errorf(string, ...any)
	Helper()
}

// Woven checks what a store says that the states of some snapshots are made of, each once, against the states.
func Woven(t reporter, s store.Store, refs ...model.Ref) {
	t.Helper()
	if len(refs) == 0 {
		return
	}
	ctx, l := context.Background(), NewCloth(len(refs))
	if err := s.Features().Weave(ctx, refs, l.Loom()); err != nil || l.Taken != len(refs) {
		t.Errorf("%d states taken of %d, %v", l.Taken, len(refs), err)
		return
	}
	for i, ref := range refs {
		rope, got := l.States[i], l.State(i)
		want, err := s.State(ctx, ref)
		gaps, gapsErr := store.Gaps(ctx, s, ref)
		switch {
		case (rope.Err == nil) != (err == nil && gapsErr == nil):
			t.Errorf("%+v: woven %v, its state %v", ref, rope.Err, cmp.Or(err, gapsErr))
		case rope.Err == nil && (got != string(want) || !reflect.DeepEqual(rope.Gaps, gaps)):
			t.Errorf("%+v is made of %.2000q, %+v; want %.2000q, %+v", ref, got, rope.Gaps, want, gaps)
		}
	}
}

// Cloth is what a loom took in, and counts of that.
type Cloth struct {
	States []store.Rope
	// Taken are the states that were taken, and Whole those of them that came without runs. Made are the bytes of all
	// texts, and Asked how often one was put.
	Taken, Whole int
	Made, Asked  int64
	keys         map[string]store.Run
	text         []byte
}

// NewCloth returns one for so many states.
func NewCloth(states int) *Cloth {
	return &Cloth{States: make([]store.Rope, states), keys: map[string]store.Run{}}
}

// Loom returns the loom that it is made on.
func (l *Cloth) Loom() store.Loom { return store.Loom{Put: l.put, Take: l.take} }

func (l *Cloth) put(t store.Text) store.Run {
	key := fmt.Sprintf("%d %q %q", t.Kind, t.Before, t.Raw)
	run, known := l.keys[key]
	if l.Asked++; !known {
		made := t.Raw
		if t.Make != nil {
			if made = t.Make(t.Raw); made == nil {
				return store.Run{}
			}
		}
		run = store.Run{At: int64(len(l.text)), Len: int64(len(t.Before) + len(made))}
		l.text, l.keys[key] = append(append(l.text, t.Before...), made...), run
		l.Made += run.Len
	}
	return run
}

// State returns a state that was taken.
func (l *Cloth) State(number int) string {
	state := slices.Clone(l.States[number].State)
	for _, run := range l.States[number].Runs {
		state = append(state, l.text[run.At:run.At+run.Len]...)
	}
	return string(state)
}

func (l *Cloth) take(number int, state store.Rope) {
	if l.Taken++; state.Err == nil && len(state.Runs) == 0 {
		l.Whole++
	}
	state.Runs = slices.Clone(state.Runs)
	l.States[number] = state
}

// Ropes checks the ropes of some snapshots of a session against their states.
func Ropes(t reporter, s store.Store, refs ...model.Ref) {
	t.Helper()
	ctx, features := context.Background(), s.Features()
	places, given := places{}, 0
	for rope, err := range features.Ropes(ctx, refs) {
		if err != nil || given == len(refs) {
			t.Errorf("%d ropes of %d, then %v", given, len(refs), err)
			return
		}
		ref := refs[given]
		given++
		want, stateErr := s.State(ctx, ref)
		gaps, gapsErr := store.Gaps(ctx, s, ref)
		if rope.Err == nil && len(rope.Runs) == 0 && reflect.DeepEqual(rope.Gaps, gaps) {
			continue // the state is read instead
		}
		if (rope.Err == nil) != (stateErr == nil && gapsErr == nil) || !reflect.DeepEqual(rope.Gaps, gaps) {
			t.Errorf("the rope of %+v: %v, its state: %v; gaps %+v, want %+v", ref, rope.Err, stateErr, rope.Gaps, gaps)
			continue
		}
		var size int64
		for _, run := range rope.Runs {
			if run.Len <= 0 || run.At < 0 {
				t.Errorf("the rope of %+v has the run %+v", ref, run)
				return
			}
			size += run.Len
		}
		got := make([]byte, size)
		if rope.Err != nil {
			continue
		}
		if err := features.Fill(ctx, rope.Runs, got); err != nil || string(got) != string(want) {
			t.Errorf("the runs of %+v are %.200q, want %.200q, %v", ref, got, want, err)
		}
		for _, run := range rope.Runs {
			if at := places.put(run.At, got[:run.Len]); at >= 0 {
				t.Errorf("the place %d is %q, and was another byte", at, got[at-run.At])
			}
			got = got[run.Len:]
		}
	}
	if given < len(refs) {
		t.Errorf("%d ropes of %d", given, len(refs))
	}
}

// places has the bytes at places that were seen, a page at a time.
type places map[int64]*page

const pageSize = 4096

// page has each byte that was seen, with 1 added to it, and 0 for the others.
type page [pageSize]uint16

// put notes the bytes at a place, and returns the last place where another byte was, -1 for none.
func (p places) put(at int64, text []byte) (other int64) {
	other = -1
	for len(text) > 0 {
		n := at / pageSize
		if p[n] == nil {
			p[n] = &page{}
		}
		part := p[n][at%pageSize:]
		part = part[:min(len(part), len(text))]
		for i := range part {
			if part[i] != 0 && part[i] != uint16(text[i])+1 {
				other = at + int64(i)
			}
			part[i] = uint16(text[i]) + 1
		}
		at, text = at+int64(len(part)), text[len(part):]
	}
	return other
}

// readsApart: two states without what both begin with are the whole ones without it.
func readsApart(t *testing.T, r *reader) {
	fresh := r.open(t) // which has read nothing yet
	for _, info := range Sessions(t, r.knows) {
		list := Headers(t, r.knows, info.ID)
		if Apart(t, r.knows, list); len(list) > 1 {
			Apart(t, fresh, []model.Header{list[0], list[len(list)-1]})
		}
	}
}

// mostPairs bounds the snapshots of a session that are compared with each other.
const mostPairs = 12

// Apart checks what store.TakeApart returns for the last of some snapshots of a session, each
// with each, against their whole states.
func Apart(t interface {
	Errorf(string, ...any)
	Helper()
}, s store.Store, list []model.Header) {
	t.Helper()
	list = list[max(0, len(list)-mostPairs):]
	whole, errs := make([][]byte, len(list)), make([]error, len(list))
	for i := range list {
		whole[i], errs[i] = s.State(context.Background(), list[i].Ref())
	}
	for i, a := range list {
		for k, b := range list {
			two, err := store.TakeApart(context.Background(), s, a.Ref(), b.Ref())
			if err != nil {
				if errs[i] == nil && errs[k] == nil {
					t.Errorf("session %q, #%d and #%d cannot be taken apart: %v", a.SessionID, a.Index, b.Index, err)
				}
				continue
			}
			x, headX := withoutFirst(whole[i], two.Key, two.Common)
			y, headY := withoutFirst(whole[k], two.Key, two.Common)
			if string(two.A) != x || string(two.B) != y || headX != headY {
				t.Errorf("session %q, #%d and #%d without %d of %q are\n%.400q and\n%.400q, want\n%.400q and\n%.400q", a.SessionID, a.Index, b.Index, two.Common, two.Key, two.A, two.B, x, y)
			}
		}
	}
}

// withoutFirst returns a state without the first elements of an array, and those.
func withoutFirst(state []byte, key string, n int) (rest, head string) {
	t, _, err := jsontape.ParseTolerant(state)
	if err != nil || n == 0 {
		return string(state), ""
	}
	list := t.Find(0, key)
	if t.Count(list) < n {
		return "", "too few"
	}
	start, end := t.Span(list)
	from, at := start+1, end-1
	element := t.First(list)
	for range n {
		element = t.Next(element)
	}
	if element >= 0 {
		at, _ = t.Span(element)
	}
	return string(state[:from]) + string(state[at:]), strings.TrimSuffix(string(state[from:at]), ",")
}

// spanned reports whether two texts are equal outside of some spans.
func spanned(a, b []byte, spans []store.Span) bool {
	var atA, atB int64
	for _, span := range append(slices.Clone(spans), store.Span{AFrom: int64(len(a)), ATo: int64(len(a)), BFrom: int64(len(b)), BTo: int64(len(b))}) {
		if span.AFrom < atA || span.BFrom < atB || string(a[atA:span.AFrom]) != string(b[atB:span.BFrom]) {
			return false
		}
		atA, atB = span.ATo, span.BTo
	}
	return true
}

// question asks a store something. The answer can be compared with another.
type question func(context.Context) (answer any, err error)

func asking[A any](ask func(context.Context) (A, error)) question {
	return func(ctx context.Context) (any, error) { return ask(ctx) }
}

// list is the question for all that a sequence yields before an error.
func list[A any](ask func(context.Context) iter.Seq2[A, error]) question {
	return asking(func(ctx context.Context) (all []A, last error) {
		for one, err := range ask(ctx) {
			if last = err; err == nil {
				all = append(all, one)
			}
		}
		return all, last
	})
}

// questions are all that a store can be asked about a snapshot, its session, and
// itself, with nothing written.
func questions(s store.Store, ref model.Ref) map[string]question {
	faults := func(session string) question {
		return asking(func(ctx context.Context) ([]model.Fault, error) {
			faults, err := s.Faults(ctx, session)
			return timeless(faults), err
		})
	}
	all := map[string]question{
		"Sessions":      list(s.Sessions),
		"Headers":       list(func(ctx context.Context) iter.Seq2[model.Header, error] { return s.Headers(ctx, ref.Session) }),
		"State":         asking(func(ctx context.Context) ([]byte, error) { return s.State(ctx, ref) }),
		"Faults":        faults(""),
		"Faults of one": faults(ref.Session),
		"Find": asking(func(ctx context.Context) (bool, error) {
			err := store.Find(ctx, s, ref.Session)
			return err == nil, err
		}),
	}
	features := s.Features()
	if features.Tail != nil {
		all["Tail"] = asking(func(ctx context.Context) ([]model.Header, error) {
			headers, _, err := features.Tail(ctx, ref.Session, 1)
			return headers, err
		})
	}
	if features.Growth != nil {
		all["Cursor"] = asking(func(ctx context.Context) (store.Cursor, error) { return features.Cursor(ctx, ref.Session) })
		all["Growth"] = asking(func(ctx context.Context) (store.Growth, error) {
			return features.Growth(ctx, ref.Session, store.Cursor{})
		})
	}
	if features.Peek != nil {
		all["Peek"] = asking(func(ctx context.Context) ([]byte, error) { return features.Peek(ctx, ref) })
		all["Compare"] = asking(func(ctx context.Context) ([]store.Span, error) { return features.Compare(ctx, ref, ref) })
	}
	if features.Ropes != nil {
		all["Ropes"] = asking(func(ctx context.Context) (rope store.Rope, err error) {
			for rope, err = range features.Ropes(ctx, []model.Ref{ref}) {
			}
			if err == nil && rope.Err == nil && len(rope.Runs) == 0 {
				_, err = s.State(ctx, ref) // which is read instead
			}
			return rope, errors.Join(err, rope.Err)
		})
	}
	if features.Facts != nil {
		all["Facts"] = asking(func(ctx context.Context) ([]model.Fact, error) { return features.Facts(ctx, ref) })
		all["Gaps"] = asking(func(ctx context.Context) (model.Gaps, error) { return features.Gaps(ctx, ref) })
	}
	if features.Resume != nil {
		all["Resume"] = asking(func(ctx context.Context) ([]model.Resume, error) { return features.Resume(ctx, ref) })
	}
	if features.Record != nil {
		all["Get"] = asking(func(ctx context.Context) (*model.Data[json.RawMessage], error) {
			return features.Record(ctx, ref.Session)
		})
	}
	if features.Plan != nil {
		all["Journal"] = asking(features.Journal)
		for _, op := range []model.Op{model.OpRestore, model.OpFork, model.OpUndo, model.OpRedo} {
			if features.Lacks(op) == "" {
				all["Plan of "+string(op)] = func(ctx context.Context) (any, error) {
					_, err := features.Plan(ctx, model.Change{Op: op, Ref: ref, As: "a-new-one"})
					return nil, err // a plan may have new ids each time
				}
			}
		}
	}
	return all
}

// ofSession and ofSnapshot are the questions about a session, and about a snapshot. Of
// what is not there Gaps may know no more than that it has none.
var (
	ofSnapshot = []string{"State", "Peek", "Compare", "Ropes", "Facts", "Resume", "Plan of restore", "Plan of fork"}
	ofSession  = append([]string{"Headers", "Faults of one", "Tail", "Cursor", "Growth"}, ofSnapshot...)
)

// readsNothing: what is not there is told by the port's errors, and an id of any text
// does no harm to a terminal.
func readsNothing(t *testing.T, r *reader) {
	s := r.knows
	const odd = "none\x1b]52;c;AAAA\a\n\u202e"
	there := anySnapshot(t, s)
	hold := func(ref model.Ref, names []string, want error) {
		t.Helper()
		all := questions(s, ref)
		for _, name := range names {
			if all[name] == nil || name == "Faults of one" && ref.Session == "" { // which is the store
				continue
			}
			_, err := all[name](t.Context())
			if !errors.Is(err, want) {
				t.Errorf("%s of %.80q: %v, want %v", name, fmt.Sprint(ref), err, want)
			} else {
				holdText(t, err.Error())
			}
		}
	}
	for _, none := range []string{"none", "", "..", "../..", odd, strings.Repeat("x", 10_000)} {
		hold(model.Ref{Session: none, ID: there.ID}, ofSession, model.ErrNoSession)
		hold(model.Ref{Session: there.Session, ID: none}, ofSnapshot, model.ErrNoSnapshot)
	}
	hold(model.Ref{Session: there.Session, ID: there.ID, Visit: 1 << 40}, ofSnapshot, model.ErrNoSnapshot)
	if recorder := s.Features(); recorder.Record != nil {
		if data, err := recorder.Record(t.Context(), odd); data != nil || err != nil {
			t.Errorf("the record of no session: %+v, %v", data, err)
		}
	}
}

// anySnapshot names the head of the first session that has one.
func anySnapshot(t testing.TB, s store.Store) model.Ref {
	t.Helper()
	for _, info := range Sessions(t, s) {
		for _, h := range Headers(t, s, info.ID) {
			if h.Head {
				return h.Ref()
			}
		}
	}
	t.Fatal("no session has a head")
	return model.Ref{}
}

// told is what a store answers to all questions, those that it does not answer left out.
func told(t testing.TB, s store.Store, ref model.Ref) map[string]any {
	t.Helper()
	all := map[string]any{}
	for name, ask := range questions(s, ref) {
		if answer, err := ask(t.Context()); err == nil {
			all[name] = answer
		}
	}
	return all
}

// readsCancelled: a question ends with its context, at once and midway. Where the answer
// is known already it may be told all the same.
func readsCancelled(t *testing.T, r *reader) {
	s := r.knows
	ref := anySnapshot(t, s)
	want := told(t, s, ref)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name := range questions(s, ref) {
		fresh := r.open(t)
		for _, ask := range []question{questions(s, ref)[name], questions(fresh, ref)[name]} {
			answer, err := ask(over)
			known, answered := want[name]
			switch {
			case errors.Is(err, context.Canceled):
			case answered && err != nil || name == "Sessions" || name == "Headers":
				t.Errorf("%s, with a context that is over: %v", name, err)
			case answered:
				sameValue(t, name+", with a context that is over,", answer, known)
			}
		}
		for point := 1; ; point += 1 + max(0, point-40)/2 {
			began := time.Now()
			answer, err := questions(s, ref)[name](newFuse(t.Context(), point))
			if took := time.Since(began); took > patience {
				t.Errorf("%s took %v with a context that ends at point %d", name, took, point)
			}
			if errors.Is(err, context.Canceled) {
				continue
			}
			if known, ok := want[name]; ok && err != nil {
				t.Errorf("%s, with a context that ends at point %d: %v", name, point, err)
			} else if ok {
				sameValue(t, fmt.Sprintf("%s, with a context that ends at point %d,", name, point), answer, known)
			}
			break
		}
	}
}

// readsWatching: a watch ends with its context.
func readsWatching(t *testing.T, r *reader) {
	watcher := r.knows.Features()
	if watcher.Watch == nil {
		t.Skip("the kind is not watched")
	}
	ctx, cancel := context.WithCancel(t.Context())
	changes, err := watcher.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	drained(t, changes)
	if changes, err = watcher.Watch(ctx); err == nil {
		drained(t, changes)
	} else if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// readsClosed: a closed store says that it is, or what it said before. A watch ends with it,
// and to close it again does no harm.
func readsClosed(t *testing.T, r *reader) {
	s := r.open(t)
	ref := anySnapshot(t, s)
	want := told(t, s, ref)
	var changes <-chan struct{}
	if w := s.Features(); w.Watch != nil {
		if watching, err := w.Watch(t.Context()); err == nil {
			changes = watching
		}
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if changes != nil {
		drained(t, changes)
	}
	for name, answer := range told(t, s, ref) {
		sameValue(t, name+" after Close", answer, want[name])
	}
	if w := s.Features(); w.Watch != nil {
		if changes, err := w.Watch(t.Context()); err == nil {
			drained(t, changes)
		}
	}
}

// readsDeleted: of a store that goes while it is open each question is answered or ends
// in an error, and nothing is made where it was.
func readsDeleted(t *testing.T, kind store.Kind, address string) {
	skip.Sequential(t)
	for _, know := range []bool{false, true} {
		mine := Copy(t, address)
		s := OpenStore(t, kind, mine)
		ref := anySnapshot(t, s)
		if know {
			told(t, s, ref)
		}
		if err := os.RemoveAll(mine); err != nil {
			t.Fatal(err)
		}
		for name, ask := range questions(s, ref) {
			began := time.Now()
			if _, err := ask(t.Context()); err != nil {
				holdText(t, err.Error())
			}
			if took := time.Since(began); took > patience {
				t.Errorf("%s took %v on a store that is gone", name, took)
			}
		}
		if left, err := os.ReadDir(filepath.Dir(mine)); err != nil || len(left) > 0 {
			t.Errorf("where the store was there is %v, %v", left, err)
		}
	}
}

// Sessions returns the sessions of a store. An error fails the test, and so does a change
// that is newer than the one before it. A session that another one started may stand behind
// that, which has then changed with it.
func Sessions(t testing.TB, s store.Store) (list []model.SessionInfo) {
	t.Helper()
	for info, err := range s.Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, info)
	}
	var last model.SessionInfo
	for i, info := range list {
		if i > 0 && info.UpdatedAt.After(last.UpdatedAt) {
			t.Errorf("the newest change does not come first: %+v", list)
		}
		if i == 0 || !strings.HasPrefix(info.ID, last.ID+"/") {
			last = info
		}
	}
	return list
}

// Headers returns the headers of a session in their order. An error fails the test.
func Headers(t testing.TB, s store.Store, session string) (list []model.Header) {
	t.Helper()
	for h, err := range s.Headers(t.Context(), session) {
		if err != nil {
			t.Fatalf("session %q: %v", session, err)
		}
		list = append(list, h)
	}
	return list
}

// Faults returns what a store finds wrong with a session. An error fails the test.
func Faults(t testing.TB, s store.Store, session string) []model.Fault {
	t.Helper()
	list, err := s.Faults(t.Context(), session)
	if err != nil {
		t.Fatalf("session %q: %v", session, err)
	}
	return list
}

// FaultCodes returns the severities and the codes of a session's faults, and holds that each fault has a meaning and, from a
// mended one on, a verdict.
func FaultCodes(t testing.TB, s store.Store, session string) string {
	t.Helper()
	var list []string
	for _, f := range Faults(t, s, session) {
		if f.Meaning == "" || f.Verdict == "" && f.Severity > model.Note {
			t.Errorf("%+v", f)
		}
		list = append(list, fmt.Sprint(f.Severity, " ", f.Code))
	}
	return strings.Join(list, ", ")
}

// Same holds what a store tells to what another does, which has the same files elsewhere. Calls
// that come before those of the other one are allowed.
func Same(t testing.TB, got, want store.Store) {
	t.Helper()
	a, b := everything(t, got), everything(t, want)
	a.leave(got.Address(), b)
	b.leave(want.Address(), b)
	a.same(t, b)
}

// anywhere returns what a call or its words say without what leads the program to its files: a variable
// in front of it, an option, which may be the session's file as well as its id.
func anywhere(text string) string { return leads.ReplaceAllString(text, "") }

var leads = regexp.MustCompile(`\b[A-Z][A-Z_]+=(?:'[^']*'|\S+) | --(?:session|data-dir|chat-history-file) (?:'[^']*'|\S+)|, once its files are where .* keeps sessions$`)

// leave takes an address out of what is told, and the calls that another does not tell.
func (c contents) leave(address string, other contents) {
	without := strings.NewReplacer(address+"/", "", address, ".").Replace
	for i := range c.infos {
		c.infos[i].Project, c.infos[i].UpdatedAt = strings.TrimPrefix(without(c.infos[i].Project), "."), c.infos[i].UpdatedAt.UTC()
	}
	for id, list := range c.sessions {
		for i := range list {
			one := &list[i]
			for k := range one.facts {
				one.facts[k].Value = without(one.facts[k].Value)
			}
			if i < len(other.sessions[id]) {
				one.resume = slices.Clone(one.resume[max(0, len(one.resume)-len(other.sessions[id][i].resume)):])
			}
			for k := range one.resume {
				one.resume[k].Call, one.resume[k].Then = anywhere(without(one.resume[k].Call)), anywhere(without(one.resume[k].Then))
			}
		}
	}
}
