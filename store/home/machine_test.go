package home_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"hindcast/store/home"
	"hindcast/store/kinds"
	"hindcast/store/storetest/machine"
)

// newMachine returns the home of a machine with a store of every kind, and its folders.
func newMachine(t *testing.T) (*home.Home, machine.Machine) {
	t.Helper()
	dir := t.TempDir()
	m := machine.Machine{Home: filepath.Join(dir, "me"), Work: filepath.Join(dir, "me", "work")}
	if err := machine.Lay(filepath.Join("..", "..", "testdata"), m); err != nil {
		t.Fatal(err)
	}
	h := home.New(kinds.All(nil, ""), home.Places{Around: m.Surroundings(), Below: []string{m.Work}})
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h, m
}

// The list of a home is that of its stores, one by one, and each kind that keeps files has its store in the home.
func TestHome_isItsStoresOneByOne(t *testing.T) {
	h, m := newMachine(t)
	got := map[string]string{}
	for s, err := range h.Sessions(t.Context()) {
		if err != nil || s.Err != nil {
			t.Fatal(err, s.Err)
		}
		got[s.Store.At+" "+s.ID] = fmt.Sprintf("%+v", s.SessionInfo)
	}
	want, met := map[string]string{}, map[string]bool{}
	all := kinds.All(nil, "")
	for _, s := range h.Stores() {
		met[s.Name] = true
		found, err := all.Identify(t.Context(), s.At)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := found.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for info, err := range alone.Sessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			want[s.At+" "+info.ID] = fmt.Sprintf("%+v", info)
		}
		if err := alone.Close(); err != nil {
			t.Error(err)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("the home lists %d sessions, and its stores %d, or tell them otherwise", len(got), len(want))
		for name, info := range want {
			if got[name] != info {
				t.Errorf("%s:\n%s\n%s", name, got[name], info)
			}
		}
	}
	for _, name := range machine.Kinds() {
		if !met[name] {
			t.Errorf("no store of %s is found below %s", name, m.Home)
		}
	}
	for _, k := range all {
		if k.Recognise != nil && k.Name != "sqlite" && !slices.Contains(machine.Kinds(), k.Name) {
			t.Errorf("the machine has no store of %s", k.Name)
		}
	}
}
