package sqlite_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape/jsontest"
	"hindcast/store"
	"hindcast/store/native"
	"hindcast/store/native/sqlite"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

const mebibyte = 1 << 20

// chunkState returns a JSON string of exactly size bytes that does not compress
// to nothing.
func chunkState(size int) string {
	r := rand.New(rand.NewPCG(uint64(size), 7))
	state := make([]byte, size)
	for i := range state {
		state[i] = 'a' + byte(r.UintN(16))
	}
	state[0], state[size-1] = '"', '"'
	return string(state)
}

func TestState_largeOnesComeBackByteForByteAndPeekQuickly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	for _, size := range []int{2, 300, mebibyte - 1, mebibyte, mebibyte + 1, 2 * mebibyte, 2*mebibyte + 1, 3*mebibyte + 12345} {
		state := chunkState(size)
		if err := s.SaveSnapshot(t.Context(), snapshot(t, s, "s", state)); err != nil {
			t.Fatal(err)
		}
		ref := model.Ref{Session: "s", ID: model.SnapshotID([]byte(state))}
		got, err := s.State(t.Context(), ref)
		if err != nil || string(got) != state {
			t.Errorf("a state of %d bytes comes back as %d others, %v", size, len(got), err)
		}
		first, err := s.Peek(t.Context(), ref)
		if err != nil || !bytes.Equal(first, []byte(state)[:min(size, mebibyte)]) {
			t.Errorf("the beginning of a state of %d bytes has %d others, %v", size, len(first), err)
		}
	}
	if _, err := s.Peek(t.Context(), model.Ref{Session: "s", ID: "no such id"}); !errors.Is(err, model.ErrNoSnapshot) {
		t.Errorf("the error for an unknown snapshot is %v", err)
	}
	if _, err := s.Peek(t.Context(), model.Ref{Session: "no such session", ID: "x"}); !errors.Is(err, model.ErrNoSession) {
		t.Errorf("the error for an unknown session is %v", err)
	}
}

func newStore(t testing.TB) (s *sqlite.Store, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store.db")
	s, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, path
}

// keep saves states as the snapshots of a session, one after the other, and
// gives how to find them.
func keep(t testing.TB, s *sqlite.Store, session string, states ...[]byte) (refs []model.Ref) {
	t.Helper()
	parent := ""
	for i, state := range states {
		n := &model.Snapshot[json.RawMessage]{ID: model.SnapshotID(state), ParentID: parent, SessionID: session, Index: i, State: state}
		if err := s.SaveSnapshot(t.Context(), n); err != nil {
			t.Fatalf("state %d, %.40q: %v", i, state, err)
		}
		parent = n.ID
		refs = append(refs, model.Ref{Session: session, ID: n.ID})
	}
	return refs
}

// TestState_anyJSONComesBackByteForByte: as snapshots that follow each other,
// and as records.
func TestState_anyJSONComesBackByteForByte(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	s, path := newStore(t)
	random := jsontest.New(60_000, 5)
	states := [][]byte{
		[]byte(`1`), []byte(` 1 `), []byte(`""`), []byte(`{}`), []byte("[\n]"), []byte(`{"a":1,"a":2,"A":3}`), []byte(`{"b":1,"a":2}`), []byte(`{"a":2,"b":1}`),
		[]byte(`[1.0,1,1e0,-0,1e999,"\ud800","\u0000"]`),
		[]byte("\"\xff\xfe\xc3\""), []byte("{\"\xff\":[\"" + strings.Repeat("\xf0\x28", 40_000) + "\"]}"),
		[]byte(strings.Repeat("[", 9999) + strings.Repeat("]", 9999)),
		[]byte(strings.Repeat(`{"k":[`, 4000) + strings.Repeat(" ", 20_000) + strings.Repeat("]}", 4000)),
		[]byte("[" + strings.Repeat("0,", 100_000) + "0]"),
		[]byte("{" + strings.Repeat(`"k":"v",`, 20_000) + `"k":0}`),
		random.JSON(), random.IndentedJSON(), random.ReorderedJSON(), random.Edit(3).JSON(), random.Mix(9).JSON(), random.DropFirst().JSON(),
		[]byte(chunkState(300_000)), []byte(chunkState(300_001)),
		jsontest.New(storetest.Sized(4, 20)*mebibyte, 2).JSON(),
	}
	refs := keep(t, s, "s", states...)
	for i, state := range states {
		record := append(bytes.Clone(state), ' ')
		if err := s.Save(t.Context(), "r", &model.Data[json.RawMessage]{State: record}); err != nil {
			t.Fatal(err)
		}
		if data, err := s.Get(t.Context(), "r"); err != nil || !bytes.Equal(data.State, record) {
			t.Errorf("record %d, %.40q: %v", i, state, err)
		}
	}
	for range 2 {
		for i, state := range states {
			if got, err := s.State(t.Context(), refs[i]); err != nil || !bytes.Equal(got, state) {
				t.Errorf("state %d, %.40q: %d bytes come back as %d, %v", i, state, len(state), len(got), err)
			}
			first, err := s.Peek(t.Context(), refs[i])
			if err != nil || !bytes.Equal(first, state[:min(len(state), mebibyte)]) {
				t.Errorf("state %d, %.40q: the beginning is %d bytes, %v", i, state, len(first), err)
			}
		}
		closeStore(t, s)
		s = openStore(t, path)
	}
}

// TestSaveSnapshot_sharesLargeParts: what is in another session, or came
// earlier in this one, is not kept again.
func TestSaveSnapshot_sharesLargeParts(t *testing.T) {
	s, path := newStore(t)
	document := chunkState(200_000)
	with := func(name string, more ...string) []byte {
		return []byte(fmt.Sprintf(`{"name":%q,"document":%s,"notes":[%s]}`, name, document, strings.Join(more, ",")))
	}
	large := chunkState(5000)
	refs := keep(t, s, "a", with("a"), with("a", "0", large), with("a"), with("b", "1", "2", large))
	refs = append(refs, keep(t, s, "b", with("c", "1"))...)
	if n := number(t, path, "SELECT sum(size) FROM blocks"); n > len(document)+len(large)+1000 {
		t.Errorf("%d bytes are kept", n)
	}
	for _, ref := range refs {
		if _, err := s.State(t.Context(), ref); err != nil {
			t.Error(err)
		}
	}
}

// TestSaveSnapshot_manySmallEdits: a list of thousands of parts is kept in
// nodes, of which a state adds a few.
func TestSaveSnapshot_manySmallEdits(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	s, path := newStore(t)
	state := jsontest.New(400_000, 1)
	random := rand.New(rand.NewPCG(5, 5))
	var states [][]byte
	edits := storetest.Sized(150, 600)
	for i := range edits {
		at := random.IntN(len(state.Messages))
		state.Messages[at] = fmt.Appendf(nil, `{"role":"user","content":"%s %d"}`, strings.Repeat("edited ", 100), i)
		states = append(states, state.JSON())
	}
	refs := keep(t, s, "s", states...)
	for i, ref := range refs {
		if got, err := s.State(t.Context(), ref); err != nil || !bytes.Equal(got, states[i]) {
			t.Fatalf("state %d: %v", i, err)
		}
	}
	if n := number(t, path, "SELECT max(length(list)) FROM states"); n > 1500 {
		t.Errorf("the longest list has %d bytes", n)
	}
	if n := number(t, path, "SELECT sum(size) FROM blocks WHERE (place >> 36) & 7 = 2"); n > edits*1200 {
		t.Errorf("the nodes have %d bytes", n)
	}
	for i := 1; i < len(refs); i += 7 {
		spans, err := s.Compare(t.Context(), refs[i-1], refs[i])
		if err != nil {
			t.Fatal(err)
		}
		if n := holds(t, states[i-1], states[i], spans); n > 4000 {
			t.Errorf("an edit of 700 bytes is spans of %d", n)
		}
	}
}

// TestSaveSnapshot_aWindowTakesTheRoomOfItsMessages: a conversation of which each turn
// drops the first message is kept in lists that stay short, and takes the room of the
// messages that it ever had, each once.
func TestSaveSnapshot_aWindowTakesTheRoomOfItsMessages(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	const window, turns = 100, 400
	s, path := newStore(t)
	state := jsontest.New(0, 1)
	content := 0
	var states [][]byte
	for range turns {
		state.Step()
		content += len(state.Messages[len(state.Messages)-1])
		if len(state.Messages) > window {
			state.DropFirst()
		}
		states = append(states, state.JSON())
	}
	refs := keep(t, s, "s", states...)
	for i, ref := range refs {
		if got, err := s.State(t.Context(), ref); err != nil || !bytes.Equal(got, states[i]) {
			t.Fatalf("state %d: %v", i, err)
		}
	}
	raw := number(t, path, "SELECT sum(size) FROM blocks")
	lists := number(t, path, "SELECT sum(length(list)) FROM states")
	t.Logf("%d bytes a turn, its message %d, its list %d", raw/turns, content/turns, lists/turns)
	if 2*raw > 3*content {
		t.Errorf("%d bytes are kept of %d bytes of messages", raw, content)
	}
	if lists > 25*turns {
		t.Errorf("the lists of %d states have %d bytes", turns, lists)
	}
}

// holds checks the contract of States and Compare, and returns how many bytes the
// spans have.
func holds(t testing.TB, a, b []byte, spans []store.Span) (size int64) {
	t.Helper()
	var atA, atB int64
	for i, s := range append(slices.Clone(spans), store.Span{AFrom: int64(len(a)), ATo: int64(len(a)), BFrom: int64(len(b)), BTo: int64(len(b))}) {
		if s.AFrom < atA || s.BFrom < atB || s.ATo < s.AFrom || s.BTo < s.BFrom || i > 0 && i < len(spans) && (s.AFrom == atA || s.BFrom == atB) {
			t.Fatalf("span %d of %+v is out of order", i, spans)
		}
		if !bytes.Equal(a[atA:s.AFrom], b[atB:s.BFrom]) {
			t.Fatalf("before span %d of %+v the states differ", i, spans)
		}
		size += s.ATo - s.AFrom + s.BTo - s.BFrom
		atA, atB = s.ATo, s.BTo
	}
	return size
}

// TestCompare_holdsAgainstTheBytes compares any two states of a session that
// went through everything.
func TestCompare_holdsAgainstTheBytes(t *testing.T) {
	skip.Sequential(t)
	s, _ := newStore(t)
	random := rand.New(rand.NewPCG(11, 1))
	state := jsontest.New(50_000, 9)
	var states [][]byte
	for range 150 {
		switch random.IntN(6) {
		case 0:
			state.Mix(1 + random.IntN(8))
		case 1:
			state.DropFirst()
		case 2:
			state.Edit(1 + random.IntN(3))
		case 3:
			i, j := random.IntN(len(state.Messages)), random.IntN(len(state.Messages))
			state.Messages[i], state.Messages[j] = state.Messages[j], state.Messages[i]
		default:
			state.Step()
		}
		states = append(states, state.JSON())
	}
	refs := keep(t, s, "s", states...)
	for i := range refs {
		for _, j := range []int{i, max(i-1, 0), random.IntN(len(refs)), random.IntN(len(refs))} {
			spans, err := s.Compare(t.Context(), refs[j], refs[i])
			if err != nil {
				t.Fatal(err)
			}
			holds(t, states[j], states[i], spans)
			if same := bytes.Equal(states[i], states[j]); same != (len(spans) == 0) {
				t.Errorf("%d and %d: the same %t, %d spans", i, j, same, len(spans))
			}
		}
	}
	if _, err := s.Compare(t.Context(), refs[0], model.Ref{Session: "s", ID: "none"}); !errors.Is(err, model.ErrNoSnapshot) {
		t.Errorf("an unknown snapshot: %v", err)
	}
	if _, err := s.Compare(t.Context(), model.Ref{Session: "none", ID: "none"}, refs[0]); !errors.Is(err, model.ErrNoSession) {
		t.Errorf("an unknown session: %v", err)
	}
}

// TestStates_errors: the error is that of the state that is not there.
func TestStates_errors(t *testing.T) {
	s, _ := newStore(t)
	refs := keep(t, s, "s", []byte(`{"a":1}`))
	for _, pair := range [][2]model.Ref{{refs[0], {Session: "s", ID: "none"}}, {{Session: "s", ID: "none"}, refs[0]}} {
		x, y, err := s.States(t.Context(), pair[0], pair[1])
		if !errors.Is(err, model.ErrNoSnapshot) || !strings.Contains(err.Error(), `"none"`) {
			t.Errorf("%s and %s are %q and %q, %v", pair[0].ID, pair[1].ID, x, y, err)
		}
	}
}

// TestCompare_aTurnIsItsMessage: the spans of two neighbours are what a turn
// changes, in 1 MB.
func TestCompare_aTurnIsItsMessage(t *testing.T) {
	skip.Sequential(t)
	s, _ := newStore(t)
	state := jsontest.New(mebibyte, 1)
	states := [][]byte{state.JSON(), state.Step().JSON(), state.Step().JSON()}
	refs := keep(t, s, "s", states...)
	for i := 1; i < len(refs); i++ {
		spans, err := s.Compare(t.Context(), refs[i-1], refs[i])
		if err != nil {
			t.Fatal(err)
		}
		if n := holds(t, states[i-1], states[i], spans); len(spans) > 3 || n > 3000 {
			t.Errorf("a turn is %d spans of %d bytes", len(spans), n)
		}
	}
}

// longSession makes a store of a long conversation, another session and a
// record, closed again.
func longSession(t *testing.T) (path string, long, other []model.Ref) {
	t.Helper()
	s, path := newStore(t)
	state := jsontest.New(0, 1)
	var states [][]byte
	random := rand.New(rand.NewPCG(1, 1))
	for range 160 {
		state.Step()
		if n := len(state.Messages); n > 80 {
			// So that there are nodes of lists.
			state.Messages[random.IntN(n-1)] = fmt.Appendf(nil, `{"role":"user","content":%q}`, chunkState(1000+n))
		}
		states = append(states, state.JSON())
	}
	long = keep(t, s, "long", states...)
	other = keep(t, s, "other", jsontest.New(30_000, 2).JSON(), []byte("1"))
	if err := s.Save(t.Context(), "recorded", &model.Data[json.RawMessage]{State: jsontest.New(3000, 3).JSON()}); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	return path, long, other
}

// TestFaults_damagedParts: what is damaged is told, hides nothing else, and does
// not keep the session from going on.
func TestFaults_damagedParts(t *testing.T) {
	skip.Sequential(t)
	skip.Sequential(t)
	t.Parallel()
	whole, long, other := longSession(t)
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		statement string
		code      string // of the store's faults, besides those of its sessions
		readable  int    // of the 160 states, at least
	}{
		"a block in the middle":        {"UPDATE blocks SET data = zeroblob(99) WHERE place = (1 * 8 + 1 << 36) + 65536", native.FaultBlock, 60},
		"a missing block":              {"DELETE FROM blocks WHERE place = (1 * 8 + 1 << 36) + 65536", native.FaultPart, 60},
		"a block of a huge size":       {"UPDATE blocks SET size = 1 << 50 WHERE place = (1 * 8 + 1 << 36) + 65536", native.FaultBlock, 60},
		"a block on another":           {"UPDATE blocks SET place = place - 1 WHERE place = (1 * 8 + 1 << 36) + 65536", native.FaultBlock, 60},
		"the last block":               {"UPDATE blocks SET encoding = 7 WHERE place = (SELECT max(place) FROM blocks WHERE place < (1 * 8 + 2 << 36))", native.FaultBlock, 150},
		"the last block, a wrong size": {"UPDATE blocks SET size = 70000 WHERE place = (SELECT max(place) FROM blocks WHERE place < (1 * 8 + 2 << 36))", native.FaultBlock, 150},
		"the nodes of lists":           {"UPDATE blocks SET data = randomblob(length(data)), encoding = 0, size = length(data) WHERE (place >> 36) & 7 = 2", "", 80},
		"missing nodes":                {"DELETE FROM blocks WHERE (place >> 36) & 7 = 2", "", 80},
		"a hash":                       {"UPDATE parts SET hash = hash + 1 WHERE place = (SELECT min(place) FROM parts)", native.FaultPart, 160},
		"a place of a part":            {"UPDATE parts SET place = -5 WHERE place = (SELECT min(place) FROM parts)", native.FaultPart, 160},
		"a size of a part":             {"UPDATE parts SET size = 1 << 40 WHERE place = (SELECT min(place) FROM parts)", native.FaultPart, 160},
		"a record":                     {"UPDATE blocks SET encoding = 7 WHERE (place >> 36) & 7 >= 4", store.FaultState, 160},
		"a list of itself":             {"UPDATE states SET list = x'0100000a8080808001' WHERE state = 120", "", 159},
		"lists of one another":         {"UPDATE states SET list = (SELECT list FROM states WHERE state = 140) WHERE state = 141", "", 159},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(unsynced(t), "store.db")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			execute(t, path, c.statement)
			s := openStore(t, path)
			faults, err := s.Faults(t.Context(), "")
			if err != nil || c.code == "" && len(faults) > 0 && faults[0].Code != native.FaultBlock || c.code != "" && !slices.ContainsFunc(faults, func(f model.Fault) bool { return f.Code == c.code }) {
				t.Errorf("faults of the store %+v, %v", faults, err)
			}
			read := 0
			for _, ref := range long {
				switch state, err := s.State(t.Context(), ref); {
				case err == nil && model.SnapshotID(state) == ref.ID:
					read++
				case !errors.Is(err, native.ErrDamagedState):
					t.Fatalf("%.8s: %d bytes, %v", ref.ID, len(state), err)
				}
			}
			if read < c.readable {
				t.Errorf("%d states can be read", read)
			}
			ofSession, err := s.Faults(t.Context(), "long")
			ofSession = slices.DeleteFunc(ofSession, func(f model.Fault) bool { return f.Code != store.FaultState }) // calls lost their results, too
			if err != nil || len(ofSession) != len(long)-read {
				t.Errorf("%d faults for %d states that cannot be read, %v", len(ofSession), len(long)-read, err)
			}
			for _, ref := range other {
				if _, err := s.State(t.Context(), ref); err != nil {
					t.Errorf("another session: %v", err)
				}
			}
			for i := 1; i < len(long); i += 5 {
				_, compareErr := s.Compare(t.Context(), long[i-1], long[i])
				_, peekErr := s.Peek(t.Context(), long[i])
				for _, err := range []error{compareErr, peekErr} {
					if err != nil && !errors.Is(err, native.ErrDamagedState) {
						t.Fatal(err)
					}
				}
			}
			// The session goes on.
			next := jsontest.New(100_000, 1)
			for i := range storetest.Sized(6, 40) {
				text := next.Step().JSON()
				n := &model.Snapshot[json.RawMessage]{ID: model.SnapshotID(text), ParentID: long[len(long)-1].ID, SessionID: "long", Index: 160 + i, State: text}
				if err := s.SaveSnapshot(t.Context(), n); err != nil {
					t.Fatal(err)
				}
				if err := s.Save(t.Context(), "recorded", &model.Data[json.RawMessage]{State: append(text, ' ')}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestSave_theBytesOfADamagedState: who saves a state that is there, but cannot
// be read, finds it afterwards, and so does everybody else.
func TestSave_theBytesOfADamagedState(t *testing.T) {
	text := []byte(chunkState(100_000))
	for name, save := range map[string]func(*sqlite.Store) error{
		"a snapshot": func(s *sqlite.Store) error {
			return s.SaveSnapshot(t.Context(), &model.Snapshot[json.RawMessage]{ID: model.SnapshotID(text), SessionID: "b", State: text})
		},
		"a record": func(s *sqlite.Store) error {
			return s.Save(t.Context(), "b", &model.Data[json.RawMessage]{State: text})
		},
	} {
		for what, damage := range map[string]string{
			"a block":   "UPDATE blocks SET data = zeroblob(99) WHERE place = (SELECT min(place) FROM blocks)",
			"the list":  "UPDATE states SET list = x''",
			"the size":  "UPDATE states SET size = -1",
			"the draft": "UPDATE states SET draft = 1, list = x''",
		} {
			t.Run(name+" and "+what, func(t *testing.T) {
				s, path := newStore(t)
				ref := keep(t, s, "a", text)[0]
				closeStore(t, s)
				execute(t, path, damage)
				s = openStore(t, path)
				if err := save(s); err != nil {
					t.Fatal(err)
				}
				if got, err := s.State(t.Context(), ref); err != nil || !bytes.Equal(got, text) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				if name == "a record" {
					if data, err := s.Get(t.Context(), "b"); err != nil || !bytes.Equal(data.State, text) {
						t.Errorf("the record: %v", err)
					}
				}
			})
		}
	}
}
