package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrUnrecognised: no kind recognises what is at the address.
var ErrUnrecognised = errors.New("not a store that Hindcast knows")

// Kind is one format of store: how it is recognised and how it is opened.
type Kind struct {
	// Name is the word before the colon in "kind:address".
	Name string
	// Schemes are those of the URLs that are addresses of this kind, such as
	// "http"; nil for none.
	Schemes []string
	// Recognise says, by shape and quickly, whether the path holds a store of
	// this kind, and why. Where it does not, why may say what was missing, or ""
	// for nothing to say. It writes nothing. An error is a path that could not
	// be looked at.
	Recognise func(ctx context.Context, path string) (why string, ok bool, err error)
	// Open opens the store at an address. It writes nothing.
	Open func(ctx context.Context, address string) (Store, error)
	// Places gives the paths, as patterns of filepath.Glob, where the framework
	// puts stores unless it is told otherwise, and where its documentation does;
	// nil for none.
	Places func(Surroundings) []string
}

// Surroundings are the folders that default places are named by. An empty one is
// not known; nothing is below it then.
type Surroundings struct{ Home, Temp, Work string }

// Kinds is the list of kinds that the program was built with, in the order in
// which they are asked.
type Kinds []Kind

// Open opens a store by a URL whose scheme belongs to a kind, by
// "kind:address", or by a path whose kind is recognised by shape. The error is
// ErrUnrecognised when no kind knows it; when the path could not be looked at,
// it is what the first kind said.
func (ks Kinds) Open(ctx context.Context, address string) (Store, error) {
	if name, rest, ok := strings.Cut(address, ":"); ok {
		for _, k := range ks {
			if strings.HasPrefix(rest, "//") && k.has(name) {
				return k.Open(ctx, address)
			}
		}
		for _, k := range ks {
			if k.Name == name {
				return k.Open(ctx, rest)
			}
		}
	}
	var tried []string
	var unseen error
	for _, k := range ks {
		if k.Recognise == nil {
			continue
		}
		_, ok, err := k.Recognise(ctx, address)
		if ok && err == nil {
			return k.Open(ctx, address)
		}
		unseen = cmp.Or(unseen, err)
		tried = append(tried, k.Name)
	}
	if unseen != nil {
		return nil, fmt.Errorf("open %q: %w", address, unseen)
	}
	return nil, fmt.Errorf("open %q: %w (tried %s)", address, ErrUnrecognised, strings.Join(tried, ", "))
}

// has reports whether URLs of a scheme are addresses of the kind.
func (k *Kind) has(scheme string) bool {
	return slices.ContainsFunc(k.Schemes, func(s string) bool { return strings.EqualFold(s, scheme) })
}
