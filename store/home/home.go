// Package home finds the stores of a machine and gives the sessions of all of them as one list.
//
// A [Home] looks for stores in the usual places of every kind, below folders, and at addresses that a person
// added. It opens a store when it is first asked for its sessions. A store that cannot be opened or read does
// not end the list: it is an element of it, with the reason.
package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hindcast/model/printable"
	"hindcast/store"
	"hindcast/store/survey"
)

// Places says where a home looks for stores. The zero value is nowhere.
type Places struct {
	// Around are the folders by which the kinds name their usual places.
	Around store.Surroundings
	// Below are folders that are surveyed with all that is below them, see [survey.Folder].
	Below []string
	// Folder is a folder that a person named: the store there, or else the stores below it.
	Folder string
	// Added are the stores that a person added.
	Added Added
	// Gone returns the stores with the sessions that are kept and whose files are gone, see [Archive]. It may be nil.
	Gone func(ctx context.Context) ([]store.Found, error)
}

// Home holds the stores of a machine. Make it with [New], [FromStore] or [FromFound]. Its methods are safe for
// concurrent use.
type Home struct {
	kinds  store.Kinds
	places Places

	mu     sync.Mutex
	stores []*Store
	closed bool
	// asked counts the looks for stores that were asked for; looked is the number of the last one that ended.
	asked, looked int
	// passed are the folders of the last look, below places.Below, that are no stores.
	passed []string
	// renewed has a value after a look and after a store was read.
	renewed chan struct{}
}

// New returns a home that looks for stores in places when it is first asked.
func New(kinds store.Kinds, places Places) *Home {
	return &Home{kinds: kinds, places: places, asked: 1, renewed: make(chan struct{}, 1)}
}

// noteRenewal tells Watch that there may be other stores, or one more that is open.
func (h *Home) noteRenewal() {
	select {
	case h.renewed <- struct{}{}:
	default: // the value that is there stands for this one too
	}
}

// FromStore returns the home of one store that is open. Closing the home closes the store.
func FromStore(s store.Store) *Home {
	kind := store.Kind{Name: s.Kind()}
	found := store.Found{Identity: store.Identity{Kind: kind, At: s.Address()}, Sessions: store.Uncounted}
	return &Home{stores: []*Store{{Found: found, opened: s}}, renewed: make(chan struct{}, 1)}
}

// FromFound returns the home of stores that were found already.
func FromFound(found []store.Found) *Home {
	h := &Home{renewed: make(chan struct{}, 1)}
	h.AddStores(found)
	return h
}

// AddStores adds stores that were found already, without those below a store of the home.
func (h *Home) AddStores(found []store.Found) {
	for _, f := range found {
		h.addStore(&Store{Found: f})
	}
}

// Store is a store of a home. Its methods are safe for concurrent use.
type Store struct {
	// Found tells where the store is. Its Kind is empty where Why is the reason that no kind fits an address
	// that a person added.
	store.Found
	// Added says that a person added the store, and Gone that its sessions are kept and their files gone.
	Added, Gone bool
	path        string // At without symbolic links, where the home found the store

	// opening is held while the store is opened, which may take long; mu guards the rest, and is never held for long.
	opening sync.Mutex
	mu      sync.Mutex
	opened  store.Store
	err     error // why it cannot be opened
	closed  bool
	// listed are its sessions as they were read last, whole that these are all, and changed that it may have
	// changed since.
	listed         []*Session
	whole, changed bool
}

// isServer reports whether the store is reached by the network.
func (s *Store) isServer() bool { return strings.Contains(s.At, "://") }

// Opened returns the store if it is open, else nil.
func (s *Store) Opened() store.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

// markChanged notes that the store may have changed since its sessions were read.
func (s *Store) markChanged() {
	s.mu.Lock()
	s.changed = true
	s.mu.Unlock()
}

// Open opens the store, or returns it where it is open already. The home closes it. An error that is not the end
// of ctx stays until the home looks again.
func (s *Store) Open(ctx context.Context) (store.Store, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if opened, err := s.openState(); opened != nil || err != nil {
		return opened, err
	}
	opened, err := s.Found.Open(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed && err == nil {
		return nil, errors.Join(context.Canceled, opened.Close()) // the home was closed meanwhile
	}
	if ctx.Err() == nil {
		s.err = err
	}
	if err != nil {
		return nil, err // what a kind returns beside an error may be a nil pointer
	}
	s.opened = opened
	return opened, nil
}

// openState returns the store if it is open, or why it cannot be opened; nil and nil if it was not tried.
func (s *Store) openState() (store.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("open %s: %w", s.At, context.Canceled)
	}
	return s.opened, s.err
}

func (s *Store) closeStore() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.opened == nil {
		return nil
	}
	return s.opened.Close()
}

// Close closes the stores that were opened.
func (h *Home) Close() error {
	h.mu.Lock()
	h.closed = true
	stores := slices.Clone(h.stores)
	h.mu.Unlock()
	var errs []error
	for _, s := range stores {
		errs = append(errs, s.closeStore())
	}
	return errors.Join(errs...)
}

// Stores returns the stores that were found so far, in the order in which they were found.
func (h *Home) Stores() []*Store {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.stores)
}

// CountStores returns the number of stores that were found so far.
func (h *Home) CountStores() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.stores)
}

// OnlyStore returns the store of a home that has exactly one, once it was found and opened; else nil.
func (h *Home) OnlyStore() store.Store {
	if _, looked := h.nextLook(); !looked {
		return nil
	}
	if stores := h.Stores(); len(stores) == 1 {
		return stores[0].Opened()
	}
	return nil
}

// MayGrow reports whether stores may appear that belong to the home: it looks in more places than one folder.
func (h *Home) MayGrow() bool { return h.kinds != nil && h.places.Folder == "" }

// FindStores looks for stores, once, and yields each as it is found, behind those that are known. An error is that
// of a folder, after which FindStores goes on, or the end of ctx.
func (h *Home) FindStores(ctx context.Context) iter.Seq2[*Store, error] {
	return func(yield func(*Store, error) bool) {
		for _, s := range h.Stores() {
			if !yield(s, nil) {
				return
			}
		}
		look, ended := h.nextLook()
		if ended {
			return
		}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		more := true
		take := func(found *Store) {
			if s := h.addStore(found); more && s != nil {
				more = yield(s, nil)
			}
			if !more {
				stop()
			}
		}
		told := map[string]bool{}
		h.kinds.LookAloud(ctx, h.places.Around, func(found []store.Found) {
			for _, f := range found {
				if name := f.Name + ":" + f.At; !told[name] {
					told[name] = true
					take(&Store{Found: f})
				}
			}
		})
		added, err := h.places.Added.Addresses()
		if err != nil && more {
			more = yield(nil, err)
		}
		for _, address := range added {
			if ctx.Err() == nil && more {
				take(h.identifyAddress(ctx, address))
			}
		}
		if h.places.Gone != nil && more {
			gone, err := h.places.Gone(ctx)
			if err != nil && ctx.Err() == nil {
				more = yield(nil, err)
			}
			for _, f := range gone {
				if more {
					take(&Store{Found: f, Gone: true})
				}
			}
		}
		below := h.places.Below
		if dir := h.places.Folder; dir != "" {
			if id, err := h.kinds.Identify(ctx, dir); err == nil {
				take(&Store{Found: store.Found{Identity: *id, Sessions: store.Uncounted}})
			} else {
				below = append(slices.Clip(below), dir)
			}
		}
		known := h.Stores()
		isAround := func(f survey.Finding) bool {
			around := &Store{Found: store.Found{Identity: store.Identity{Kind: store.Kind{Name: f.Kind}}}, path: survey.ResolvePath(f.Path)}
			return slices.ContainsFunc(known, around.containsStore)
		}
		passed := slices.Clone(below)
		for _, s := range known {
			for dir := filepath.Dir(s.path); isWithinAny(dir, below); dir = filepath.Dir(dir) {
				passed = append(passed, dir)
			}
		}
		for _, dir := range below {
			for f, err := range survey.Unknown(ctx, h.kinds, dir, h.storePaths()) {
				switch {
				case !more:
					return
				case err != nil && ctx.Err() == nil:
					more = yield(nil, err)
				case f.Entered:
					passed = append(passed, f.Path)
				case f.Kind != "" && f.Behind == "" && !isAround(f):
					kind, _ := h.kinds.FindKind(f.Kind)
					id := store.Identity{Kind: kind, At: f.Path, Why: f.Why}
					take(&Store{Found: store.Found{Identity: id, Sessions: store.Uncounted}})
				}
			}
		}
		switch {
		case !more:
		case ctx.Err() != nil:
			yield(nil, ctx.Err())
		default:
			h.mu.Lock()
			h.looked, h.passed = max(h.looked, look), passed
			h.mu.Unlock()
			h.noteRenewal()
		}
	}
}

// storePaths returns the addresses of the stores that are known.
func (h *Home) storePaths() (list []string) {
	for _, s := range h.Stores() {
		list = append(list, s.At)
	}
	return list
}

// nextLook returns the number of the look that was asked for last, and whether that has ended.
func (h *Home) nextLook() (look int, ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked, h.looked >= h.asked
}

// lookAgain makes the home look for stores when it is asked next, also where it looks just now.
func (h *Home) lookAgain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kinds != nil {
		h.asked++
	}
}

// Forget makes the home look for stores again when it is asked next, and try again to open those that could not
// be opened.
func (h *Home) Forget() {
	h.lookAgain()
	for _, s := range h.Stores() {
		s.mu.Lock()
		s.err, s.changed = nil, true
		s.mu.Unlock()
	}
}

// identifyAddress returns the store at an address that a person added, with why it cannot be opened where no kind
// fits it.
func (h *Home) identifyAddress(ctx context.Context, address string) *Store {
	_, id, err := CheckAddress(ctx, h.kinds, address)
	if err != nil {
		id = &store.Identity{At: printable.Addresses(address)}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("open %q: %w", id.At, fs.ErrNotExist)
	case errors.Is(err, ErrCredentials):
		err = fmt.Errorf("open %q: %w", id.At, err)
	}
	return &Store{Found: store.Found{Identity: *id, Sessions: store.Uncounted}, Added: true, err: err}
}

// addStore adds a store and drops those below it. It returns nil if a known store contains it.
func (h *Home) addStore(added *Store) *Store {
	added.path = survey.ResolvePath(added.At)
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.ContainsFunc(h.stores, func(s *Store) bool { return s.containsStore(added) }) {
		return nil
	}
	added.closed = h.closed
	h.stores = append(slices.DeleteFunc(h.stores, func(s *Store) bool {
		return added.containsStore(s) || s.Name == "" && s.At == added.At // no kind fitted it before
	}), added)
	return added
}

// containsStore reports whether another store of the same kind is below the store.
func (s *Store) containsStore(part *Store) bool {
	return s.Name == part.Name && isWithin(part.path, s.path)
}

// isWithin reports whether a resolved path is another one or below it.
func isWithin(inner, outer string) bool {
	return inner == outer || strings.HasPrefix(inner, strings.TrimSuffix(outer, string(filepath.Separator))+string(filepath.Separator))
}

// isWithinAny reports whether a resolved path is one of the folders or below one.
func isWithinAny(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return isWithin(path, survey.ResolvePath(folder)) })
}
