package redact_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/redact"
	"hindcast/store"
	"hindcast/store/kinds/jsonl"
	"hindcast/store/native/sqlite"
	"hindcast/store/sample"
	"hindcast/store/storetest"
	"hindcast/store/storetest/fake"
)

// leaky returns the rows of the demo with a secret in the states from #3 on, in every other of
// them another, and in what stands beside a state.
func leaky(t *testing.T) []store.Row {
	t.Helper()
	ids := map[string]string{}
	var rows []store.Row
	for row, err := range sample.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		h := &row.Header
		if row.Record == nil && h.SessionID == sample.Trip {
			old := h.ID
			if row.State != nil && h.Index >= 3 {
				row.State = bytes.Replace(row.State, []byte(`{`), fmt.Appendf(nil, `{"password":"%s-%d","said":"it was %s-0!",`, secretWord, h.Index%2, secretWord), 1)
				h.ID, h.Size = model.SnapshotID(row.State), int64(len(row.State))
				h.Title, row.Labels = "asked for "+secretWord+"-1", []model.Label{{Name: fmt.Sprintf("at-%d", h.Visit), Note: secretWord + "-0"}, {Name: secretWord + "-1"}}
			}
			if _, there := ids[old]; !there {
				ids[old] = h.ID
			}
			h.ID, h.ParentID = ids[old], ids[h.ParentID]
			if h.Reason != nil {
				reason := *h.Reason
				reason.TargetID = ids[reason.TargetID]
				h.Reason = &reason
			}
		}
		rows = append(rows, row)
	}
	return rows
}

const secretWord = "xyzzy-plugh"

func seq(rows []store.Row) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

func shared(t *testing.T, s store.Store, rows []store.Row, o redact.Options) (out []store.Row, found []redact.Finding, err error) {
	t.Helper()
	r, err := redact.New(o)
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := r.Rows(t.Context(), s, func() iter.Seq2[store.Row, error] { return seq(rows) })
	if err != nil {
		return nil, nil, err
	}
	for row, err := range hidden {
		if err != nil {
			return nil, nil, err
		}
		out = append(out, row)
	}
	return out, r.Findings(), nil
}

// What is shared has the ids of what it became, the same tree, no secret anywhere, and goes
// into a store where each state is the one that its id says.
func TestRows_lineageAndIDs(t *testing.T) {
	rows := leaky(t)
	s := fake.New()
	if _, err := s.Import(t.Context(), seq(rows)); err != nil {
		t.Fatal(err)
	}
	out, found, err := shared(t, s, rows, redact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := jsonl.Write(&file, seq(out)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(file.String(), "xyzzy") {
		t.Errorf("a secret is in what is shared: %.3000s", file.String())
	}
	for _, row := range rows {
		if row.State != nil && bytes.Contains(row.State, []byte(secretWord)) && strings.Contains(file.String(), row.Header.ID) {
			t.Errorf("%s, the hash of a state with a secret, is in what is shared", row.Header.ID)
		}
	}
	before, after := model.NewTimeline(headersOf(rows)), model.NewTimeline(headersOf(out))
	for n := range model.Node(before.Len()) {
		if before.Parent(n) != after.Parent(n) || before.OnPath(n) != after.OnPath(n) || before.Name(n) != after.Name(n) {
			t.Errorf("%s is not where it was", before.Name(n))
		}
		if a, b := before.Reason(n), after.Reason(n); a.TargetName != b.TargetName || a.Kind != b.Kind {
			t.Errorf("%s was left because of %+v, and now of %+v", before.Name(n), a, b)
		}
	}
	if faults := after.Faults(); len(faults) > 0 {
		t.Errorf("faults %+v", faults)
	}
	places := []string{}
	for _, f := range found {
		places = append(places, fmt.Sprintf("%s %s %d", f.Path, f.Kind, f.Secrets))
	}
	if want := []string{"/password key 2", "/said key 1", "label key 1", "note key 1"}; !slices.Equal(places, want) {
		t.Errorf("found %q, and not %q", places, want)
	}
	to, err := sqlite.Create(t.Context(), filepath.Join(t.TempDir(), "to.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if _, err := to.Import(t.Context(), jsonl.Read(&file)); err != nil {
		t.Fatal(err)
	}
	for _, session := range []string{"", sample.Trip} {
		if faults := storetest.Faults(t, to, session); len(faults) > 0 {
			t.Errorf("faults %+v", faults)
		}
	}
	for _, h := range storetest.Headers(t, to, sample.Trip) {
		state, err := to.State(t.Context(), h.Ref())
		if err != nil || !model.Verify(h.ID, state).OK() {
			t.Errorf("%s is not the hash of %.100s, %v", h.ID, state, err)
		}
	}
}

func headersOf(rows []store.Row) (list []model.Header) {
	for _, row := range rows {
		if row.Record == nil && row.Header.SessionID == sample.Trip {
			list = append(list, row.Header)
		}
	}
	return list
}

// A parent that is not shared is not named by the hash of what it was, and neither is one that
// is nowhere.
func TestRows_parentsThatAreNotShared(t *testing.T) {
	rows := leaky(t)
	s := fake.New()
	if _, err := s.Import(t.Context(), seq(rows)); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(rows, func(row store.Row) bool { return row.Header.SessionID == sample.Trip && row.Header.Index == 5 })
	one, _, err := shared(t, s, rows[i:i+1], redact.Options{})
	if err != nil || len(one) != 1 {
		t.Fatal(one, err)
	}
	state, err := s.State(t.Context(), model.Ref{Session: sample.Trip, ID: rows[i].Header.ParentID})
	if err != nil || !bytes.Contains(state, []byte(secretWord)) {
		t.Fatalf("the parent has no secret: %v", err)
	}
	if now := one[0].Header.ParentID; now == rows[i].Header.ParentID || len(now) != 64 {
		t.Errorf("a parent that is left out is %s", now)
	}
	gone, _, err := shared(t, fake.New(), rows[i:i+1], redact.Options{})
	if err != nil || gone[0].Header.ParentID == rows[i].Header.ParentID || len(gone[0].Header.ParentID) != 64 {
		t.Errorf("a parent that is nowhere is %s, %v", gone[0].Header.ParentID, err)
	}
}

// A parent that is named by no hash and is not there keeps its name: it tells nothing of a state.
func TestRows_parentsThatAreNoHashes(t *testing.T) {
	rows := leaky(t)
	i := slices.IndexFunc(rows, func(row store.Row) bool {
		return row.Header.SessionID == sample.Trip && row.Header.Index == 5
	})
	for _, parent := range []string{"line-4", strings.Repeat("a", 63), strings.Repeat("a", 65), strings.Repeat("g", 64)} {
		row := rows[i]
		row.Header.ParentID = parent
		out, _, err := shared(t, fake.New(), []store.Row{row}, redact.Options{})
		if err != nil || len(out) != 1 || out[0].Header.ParentID != parent {
			t.Errorf("%s: %v, %v", parent, out, err)
		}
	}
}

func TestRows_failClosed(t *testing.T) {
	good := store.Row{Header: model.Header{ID: "a", SessionID: "s"}, State: []byte(`{}`)}
	wrong, errName := errors.New("wrong"), errors.New("the name")
	for what, c := range map[string]struct {
		rows iter.Seq2[store.Row, error]
		want error
	}{
		"a state that is no JSON": {seq([]store.Row{good, {Header: model.Header{ID: "b", SessionID: "s"}, State: []byte(`{"a":`)}}), nil},
		"the name of a session":   {seq([]store.Row{{Header: model.Header{ID: "b", SessionID: join("sk-", "proj-", "Ab3dEf6hIj9kLm2nOp5q")}, State: []byte(`{}`)}}), errName},
		"the id of a snapshot":    {seq([]store.Row{{Header: model.Header{ID: "x-hunter2!", SessionID: "s"}, State: []byte(`{"password":"hunter2!"}`)}}), errName},
		"an error of the rows":    {func(yield func(store.Row, error) bool) { yield(store.Row{}, wrong) }, wrong},
	} {
		r, err := redact.New(redact.Options{})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := r.Rows(t.Context(), fake.New(), func() iter.Seq2[store.Row, error] { return c.rows })
		n := 0
		if err == nil {
			for _, e := range rows {
				if err = e; err == nil {
					n++
				}
			}
		}
		name := c.want == errName && errors.As(err, new(*redact.NameError))
		if err == nil || c.want != nil && !name && !errors.Is(err, c.want) || n > 0 {
			t.Errorf("%s: %d rows, %v", what, n, err)
		}
	}
}

// BenchmarkRows redacts 500 states of up to 60 kB, each with a message more than the one before.
func BenchmarkRows(b *testing.B) {
	var rows []store.Row
	messages, size := "", 0
	for i := range 500 {
		messages += fmt.Sprintf(`,{"role":"assistant","content":[{"text":"This is answer %d, of as many words as such an answer has."}]}`, i)
		state := fmt.Appendf(nil, `{"password":"hunter2!","messages":[%s]}`, messages[1:])
		rows = append(rows, store.Row{Header: model.Header{ID: model.SnapshotID(state), SessionID: "s", Index: i}, State: state})
		size += len(state)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		r, err := redact.New(redact.Options{})
		if err != nil {
			b.Fatal(err)
		}
		hidden, err := r.Rows(b.Context(), fake.New(), func() iter.Seq2[store.Row, error] { return seq(rows) })
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range hidden {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// parentStore is a store in which each snapshot has the same state.
type parentStore struct {
	store.Store
	state []byte
}

func (s parentStore) State(context.Context, model.Ref) ([]byte, error) { return s.state, nil }

// The parent of a row is in the store alone: what cannot be read of it ends the reading, and an
// id that is no hash stays.
func TestRows_parentsInTheStore(t *testing.T) {
	hash := model.SnapshotID([]byte("pickle"))
	for _, c := range []struct {
		name, parent string
		state        []byte
		fails        bool
	}{
		{"no JSON", hash, []byte("\x80\x04pickle"), true},
		{"no hash", "checkpoint-1", []byte("{}"), false},
	} {
		s := parentStore{fake.New(), c.state}
		row := store.Row{Header: model.Header{ID: "b", SessionID: "s", ParentID: c.parent, Index: 1}, State: []byte(`{}`)}
		out, _, err := shared(t, s, []store.Row{row}, redact.Options{})
		if c.fails && (err == nil || len(out) > 0) || !c.fails && (err != nil || out[0].Header.ParentID != c.parent) {
			t.Errorf("%s: %+v, %v", c.name, out, err)
		}
	}
}
