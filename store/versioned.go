package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Versioned is a store that is read by an SDK whose versions do not all do the same
// with it. By default what is shown is what the newest does, and verdicts and calls
// say from which version they hold.
type Versioned interface {
	// Assume narrows that to one version of an SDK, such as "1.30" of
	// "strands-python". The error is [ErrUnknownSDK]. It is called before the store is
	// read; later it holds for what is read from then on.
	Assume(sdk, version string) error
	// Assumed returns what was assumed in one word, "strands-python 1.30"; "" for
	// nothing.
	Assumed() string
}

// ErrUnknownSDK: it is not an SDK of the store's kind, or not the version of one.
var ErrUnknownSDK = errors.New("no version of an SDK that opens this store")

// Assuming returns the kinds with stores that are opened for one version of an SDK.
// A store that is not [Versioned] is then not opened.
func (ks Kinds) Assuming(sdk, version string) Kinds {
	ks = slices.Clone(ks)
	for i := range ks {
		name, open := ks[i].Name, ks[i].Open
		ks[i].Open = func(ctx context.Context, address string) (Store, error) {
			s, err := open(ctx, address)
			if err != nil {
				return nil, err
			}
			v, ok := s.(Versioned)
			if !ok {
				return nil, errors.Join(fmt.Errorf("open %q: %q: %w: no version is known to read a store of kind %s otherwise than the others", address, sdk, ErrUnknownSDK, name), s.Close())
			}
			if err := v.Assume(sdk, version); err != nil {
				return nil, errors.Join(err, s.Close())
			}
			return s, nil
		}
	}
	return ks
}
