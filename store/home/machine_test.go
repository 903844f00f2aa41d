package home_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/store/home"
	"hindcast/store/kinds"
	"hindcast/store/storetest"
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

// reporter is a test, or one of package rapid.
type reporter interface {
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// compareWithStores fails where a home does not list what its stores list that are opened one by one, or lists them in another
// order. It returns the kinds of the stores, and counts the sessions.
func compareWithStores(ctx context.Context, t reporter, h *home.Home) (met map[string]bool, sessions int) {
	got := map[string]string{}
	for s, err := range h.Sessions(ctx) {
		if err != nil || s.Err != nil {
			t.Fatal(err, s.Err)
		}
		got[s.Store.At+" "+s.ID] = fmt.Sprintf("%+v", s.SessionInfo)
	}
	order, newest := map[string][]string{}, map[string]string{}
	var before time.Time
	for s, err := range h.ListNewest(ctx) {
		if err != nil || s.Err != nil {
			t.Fatal(err, s.Err)
		}
		newest[s.Store.At+" "+s.ID] = fmt.Sprintf("%+v", s.SessionInfo)
		order[s.Store.At] = append(order[s.Store.At], s.ID)
		if s.Parent != "" {
			continue
		}
		if !before.IsZero() && s.UpdatedAt.After(before) {
			t.Errorf("%s of %s changed after the one before it", s.ID, s.Store.At)
		}
		before = s.UpdatedAt
	}
	met = map[string]bool{}
	want, all := map[string]string{}, kinds.All(nil, "")
	for _, s := range h.Stores() {
		met[s.Name] = true
		found, err := all.Identify(ctx, s.At)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := found.Open(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var listed []string
		for info, err := range alone.Sessions(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			want[s.At+" "+info.ID] = fmt.Sprintf("%+v", info)
			listed = append(listed, info.ID)
		}
		if !slices.Equal(order[s.At], listed) {
			t.Errorf("%s lists %q, and its home %q", s.At, listed, order[s.At])
		}
		if err := alone.Close(); err != nil {
			t.Errorf("close %s: %v", s.At, err)
		}
	}
	for name, list := range map[string]map[string]string{"the list": got, "the newest": newest} {
		if maps.Equal(list, want) {
			continue
		}
		t.Errorf("%s of the home has %d sessions, and its stores %d, or tells them otherwise", name, len(list), len(want))
		for name, info := range want {
			if list[name] != info {
				t.Errorf("%s:\n%s\n%s", name, list[name], info)
			}
		}
	}
	return met, len(want)
}

// The list of a home is that of its stores, one by one, whichever those are and wherever they lie.
func TestHome_ofSomeStoresIsThoseOneByOne(t *testing.T) {
	sessions := 0
	rapid.Check(t, storetest.Few(6, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			r.Fatal(err)
		}
		m := machine.Machine{Home: filepath.Join(dir, "me"), Work: filepath.Join(dir, "me", "work")}
		places := home.Places{Around: m.Surroundings(), Below: []string{m.Work}}
		for _, at := range []string{"", "copies", "added"} {
			some := rapid.SliceOfDistinct(rapid.SampledFrom(machine.Kinds()), rapid.ID[string]).Draw(r, "stores of "+at)
			to := m
			switch at {
			case "copies":
				to = machine.Machine{Home: filepath.Join(m.Work, at), Work: filepath.Join(m.Work, at, "work")}
			case "added":
				to = machine.Machine{Home: filepath.Join(dir, at), Work: filepath.Join(dir, at, "work")}
				places.Added = home.Added{File: filepath.Join(dir, "stores")}
			}
			err := errors.Join(os.MkdirAll(to.Work, 0o700), machine.LaySome(filepath.Join("..", "..", "testdata"), to, some))
			if err != nil {
				r.Fatal(err)
			}
			if at != "added" {
				continue
			}
			found := home.New(kinds.All(nil, ""), home.Places{Around: to.Surroundings(), Below: []string{to.Work}})
			for s, err := range found.FindStores(t.Context()) {
				if err == nil {
					_, err = places.Added.AddAddress(s.At)
				}
				if err != nil {
					r.Fatal(err)
				}
			}
			if err := found.Close(); err != nil {
				r.Fatal(err)
			}
		}
		h := home.New(kinds.All(nil, ""), places)
		_, n := compareWithStores(t.Context(), r, h)
		sessions += n
		if err := h.Close(); err != nil {
			r.Error(err)
		}
	}))
	if sessions == 0 {
		t.Error("no home had a session")
	}
}

// The list of a home is that of its stores, one by one, and each kind that keeps files has its store in the home.
func TestHome_isItsStoresOneByOne(t *testing.T) {
	h, m := newMachine(t)
	met, _ := compareWithStores(t.Context(), t, h)
	all := kinds.All(nil, "")
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
