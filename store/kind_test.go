package store_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest/fake"
)

// opened is a store that only tells where it came from.
type opened struct {
	store.Store
	kind, address string
}

func (opened) Features() store.Features { return store.Features{} }

func (o opened) Kind() string    { return o.kind }
func (o opened) Address() string { return o.address }

// kind makes one that recognises what answer says.
func kind(name string, answer func(path string) (bool, error)) store.Kind {
	k := store.Kind{Name: name, Open: func(_ context.Context, address string) (store.Store, error) {
		if address == "broken" {
			return nil, errors.New(name + ": it is broken")
		}
		return opened{kind: name, address: address}, nil
	}}
	if answer != nil {
		k.Recognise = func(_ context.Context, path string) (string, bool, error) {
			ok, err := answer(path)
			return "by its name", ok, err
		}
	}
	return k
}

func suffix(s string) func(string) (bool, error) {
	return func(path string) (bool, error) { return strings.HasSuffix(path, s), nil }
}

func TestKinds_open(t *testing.T) {
	blind := func(path string) (bool, error) {
		if path == "locked" || path == "locked.log" {
			return false, fs.ErrPermission
		}
		return false, nil
	}
	web := kind("web", nil)
	web.Schemes = []string{"http", "https"}
	kinds := store.Kinds{
		kind("http", nil),
		web,
		kind("blind", blind),
		kind("db", suffix(".db")),
		kind("log", suffix(".log")),
		kind("late", suffix(".db")),
		kind("secret", nil),
	}
	for _, c := range []struct{ address, kind, at string }{
		{"a.db", "db", "a.db"},
		{"a.log", "log", "a.log"},
		{"late:a.db", "late", "a.db"},
		{"secret:anything", "secret", "anything"},
		{"secret:", "secret", ""},
		{"log:a:b", "log", "a:b"},
		{"nokind:a.db", "db", "nokind:a.db"},
		{"c:\\a.db", "db", "c:\\a.db"},
		{"locked.log", "log", "locked.log"},
		{"http://127.0.0.1:3100", "web", "http://127.0.0.1:3100"},
		{"HTTPS://agents.example/a.db", "web", "HTTPS://agents.example/a.db"},
		{"web:http://localhost", "web", "http://localhost"},
		{"http:a.db", "http", "a.db"},
		{"ftp://a.db", "db", "ftp://a.db"},
	} {
		s, err := kinds.Open(t.Context(), c.address)
		if err != nil {
			t.Errorf("%q: %v", c.address, err)
			continue
		}
		if s.Kind() != c.kind || s.Address() != c.at {
			t.Errorf("%q opens as %s:%s, want %s:%s", c.address, s.Kind(), s.Address(), c.kind, c.at)
		}
	}
	for _, c := range []struct {
		address string
		want    error
		word    string
	}{
		{"a.txt", store.ErrUnrecognised, "tried blind, db, log, late"},
		{"", store.ErrUnrecognised, `open ""`},
		{"secret", store.ErrUnrecognised, `open "secret"`},
		{"locked", fs.ErrPermission, `open "locked"`},
		{"log:broken", nil, "log: it is broken"},
	} {
		_, err := kinds.Open(t.Context(), c.address)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%q: %v", c.address, err)
		}
	}
}

// reader is a store without a capability; limited says why.
type reader struct{ opened }

type limited struct {
	opened
	reasons map[model.Op]string
}

func (l limited) Lacks(op model.Op) string { return l.reasons[op] }

func (l limited) Features() store.Features { return store.Features{Lacks: l.Lacks} }

// owner has everything, but not always.
type owner struct {
	*fake.Store
	busy string
}

func (o owner) Lacks(model.Op) string { return o.busy }

func (o owner) Features() store.Features {
	f := o.Store.Features()
	f.Lacks = o.Lacks
	return f
}

func TestReason(t *testing.T) {
	plain := reader{opened{kind: "plain"}}
	some := limited{opened{kind: "some"}, map[model.Op]string{model.OpRestore: "it is a log of messages"}}
	for _, c := range []struct {
		s    store.Store
		op   model.Op
		want string
	}{
		{plain, model.OpRestore, "a plain store cannot restore"},
		{plain, model.OpFork, "a plain store cannot fork"},
		{plain, model.OpUndo, "a plain store cannot undo"},
		{plain, model.OpRedo, "a plain store cannot redo"},
		{plain, "erase", "a plain store cannot erase"},
		{some, model.OpRestore, "it is a log of messages"},
		{some, model.OpFork, "a some store cannot fork"},
		{reader{opened{kind: "adk"}}, model.OpFork, "an adk store cannot fork"},
		{plain, model.OpEdit, "a plain store cannot edit"},
		{fake.New(), model.OpRepair, "Hindcast mends nothing in a memory store: its doctor says what the framework makes of a fault"},
		{fake.New(), model.OpPurge, "Hindcast knows no redactions in a memory store: a purge would forget nothing"},
		{fake.New(), model.OpConvert, "Hindcast writes no session of another kind into a memory store"},
		{fake.New(), model.OpRestore, ""},
		{fake.New(), model.OpFork, ""},
		{fake.New(), model.OpUndo, ""},
		{fake.New(), model.OpRedo, ""},
		{fake.New(), "erase", "a memory store cannot erase"},
		{owner{fake.New(), ""}, model.OpRestore, ""},
		{owner{fake.New(), "an agent is at work"}, model.OpRestore, "an agent is at work"},
	} {
		if got := store.Reason(c.s, c.op); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.s.Kind(), c.op, got, c.want)
		}
	}
	if got, want := store.Cannot("adk", model.OpEdit), "Hindcast writes no edited state into an adk store"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
