package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Release is a version of an SDK, such as "1.30" of "strands-python".
type Release struct {
	SDK, Version string
	// From is the file that says so, "" for a person.
	From string
}

// Releases are versions of different SDKs.
type Releases []Release

// String returns all that is known of them: "strands-python 1.54 (from uv.lock)".
func (rs Releases) String() string {
	return rs.joinWords(func(r Release) string {
		if r.From == "" {
			return ""
		}
		return " (from " + r.From + ")"
	})
}

// Short returns the same without where it is from: "strands-python 1.54".
func (rs Releases) Short() string { return rs.joinWords(func(Release) string { return "" }) }

func (rs Releases) joinWords(from func(Release) string) string {
	words := make([]string, len(rs))
	for i, r := range rs {
		words[i] = r.SDK + " " + r.Version + from(r)
	}
	return strings.Join(words, ", ")
}

// AssumedBy returns the versions that a store was opened for, nil for any.
func AssumedBy(s Store) Releases {
	if f := s.Features(); f.Assumed != nil {
		return f.Assumed()
	}
	return nil
}

// ErrUnknownSDK: it is not an SDK of the store's kind, or not the version of one.
var ErrUnknownSDK = errors.New("no version of an SDK that opens this store")

// WithVersion returns the kinds with stores that are opened for one version of an SDK.
// A store without [Features].Assume is then not opened.
func (ks Kinds) WithVersion(r Release) Kinds {
	return ks.onOpen(func(kind, address string, s Store) error {
		f := s.Features()
		if f.Assume == nil {
			return fmt.Errorf("open %q: %q: %w: no version is known to read a store of kind %s otherwise than the others", address, r.SDK, ErrUnknownSDK, kind)
		}
		return f.Assume(r)
	})
}

// WithVersions returns the kinds with stores that are opened for the versions that find finds
// around an address. One that no rule is known of, such as 0.3, narrows nothing.
func (ks Kinds) WithVersions(find func(address, sdk string) (Release, bool)) Kinds {
	return ks.onOpen(func(_, address string, s Store) error {
		f := s.Features()
		if f.SDKs == nil {
			return nil
		}
		for _, name := range f.SDKs() {
			if r, ok := find(address, name); ok {
				if err := f.Assume(r); err != nil && !errors.Is(err, ErrUnknownSDK) {
					return err
				}
			}
		}
		return nil
	})
}

// onOpen returns the kinds with something done to each store that is opened; an error
// closes it again.
func (ks Kinds) onOpen(do func(kind, address string, s Store) error) Kinds {
	ks = slices.Clone(ks)
	for i := range ks {
		name, open := ks[i].Name, ks[i].Open
		ks[i].Open = func(ctx context.Context, address string) (Store, error) {
			s, err := open(ctx, address)
			if err != nil {
				return nil, err
			}
			if err := do(name, address, s); err != nil {
				return nil, errors.Join(err, s.Close())
			}
			return s, nil
		}
	}
	return ks
}
