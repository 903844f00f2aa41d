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

// VacantError is Err of a URL that leads to no store, and to where one of Hindcast's own can be made. At is the URL
// as it may be shown.
type VacantError struct {
	At  string
	Err error
}

func (e *VacantError) Error() string { return e.Err.Error() }

// Unwrap returns Err, the reason why no store was found.
func (e *VacantError) Unwrap() error { return e.Err }

// Kind is one format of store: how it is recognised and how it is opened.
type Kind struct {
	// Name is the word before the colon in "kind:address".
	Name string
	// Schemes are the URL schemes of addresses of this kind, such as "http", or nil.
	Schemes []string
	// Framework names the framework whose verdicts the faults of such a store give, such as "Strands"; "" if
	// it has no name. A verdict may begin with the framework's name itself, to name one of several SDKs.
	Framework string
	// Files gives the names, as patterns of path.Match, of files that may be
	// stores of this kind: a survey looks into no others, but for databases of any name. Nil where a store is a
	// folder, or nothing on a disk.
	Files []string
	// Recognise says, by shape and quickly, whether the path holds a store of
	// this kind, and why. Where it does not, why may say what was missing, or ""
	// for nothing to say. It writes nothing. An error is a path that could not
	// be looked at.
	Recognise func(ctx context.Context, path string) (why string, ok bool, err error)
	// Likens says that Recognise gives a reason for nothing but what looks like a store of the kind: it
	// is told to a person who opens such a place.
	Likens bool
	// Open opens the store at an address. It writes nothing.
	Open func(ctx context.Context, address string) (Store, error)
	// Make makes an empty store of the framework's in a file, where a session of another store may go; nil where Hindcast makes
	// none. The error is fs.ErrExist if something is there.
	Make func(ctx context.Context, path string) error
	// At returns the kind with its stores on the server of a URL; nil for a kind whose stores
	// are not on one, or are addressed by it.
	At func(endpoint string) Kind
	// Continues says that the framework goes on with conversations of other tools: see [Features].PlanContinue.
	Continues bool
	// Places returns the paths, as patterns of filepath.Glob, where the framework puts stores by default and
	// in its documentation; it may be nil.
	Places func(Surroundings) []string
}

// Surroundings are the folders that default places are named by. An empty one is
// not known; nothing is below it then.
type Surroundings struct {
	Home, Temp, Work string
	// Env returns the folder in a variable of the environment, or "". A nil Env knows no variables.
	Env func(variable string) string
}

// FolderOf returns the folder in a variable of the environment, or "".
func (s Surroundings) FolderOf(variable string) string {
	if s.Env == nil {
		return ""
	}
	return s.Env(variable)
}

// Kinds is the list of kinds that the program was built with, in the order in
// which they are asked.
type Kinds []Kind

// ListNames returns the names of the kinds.
func (ks Kinds) ListNames() (names []string) {
	for i := range ks {
		names = append(names, ks[i].Name)
	}
	return names
}

// At returns the kinds, those with a server with the one of a URL.
func (ks Kinds) At(endpoint string) Kinds {
	ks = slices.Clone(ks)
	for i := range ks {
		if ks[i].At != nil {
			ks[i] = ks[i].At(endpoint)
		}
	}
	return ks
}

// Identity is the result of identifying an address: the kind of store, and why it was recognised.
type Identity struct {
	Kind
	// At is the address without the kind's name before it.
	At string
	// Why says in a few words what it was recognised by.
	Why string
}

// Open opens the store that was identified. It writes nothing.
func (id *Identity) Open(ctx context.Context) (Store, error) { return id.Kind.Open(ctx, id.At) }

// Open opens the store that Identify finds at an address. It returns the errors of Identify and of the kind.
func (ks Kinds) Open(ctx context.Context, address string) (Store, error) {
	id, err := ks.Identify(ctx, address)
	if err != nil {
		return nil, err
	}
	return id.Open(ctx)
}

// IsURL reports whether an address is a URL, whose scheme belongs to a kind.
func (ks Kinds) IsURL(address string) bool {
	_, is := ks.ofScheme(address)
	return is
}

func (ks Kinds) ofScheme(address string) (Kind, bool) {
	if scheme, rest, ok := strings.Cut(address, ":"); ok && strings.HasPrefix(rest, "//") {
		for _, k := range ks {
			if k.hasScheme(scheme) {
				return k, true
			}
		}
	}
	return Kind{}, false
}

// Identify finds the kind of a store by a URL with the kind's scheme, by "kind:address", or by the shape of a
// path. If several kinds recognise a path, the first one counts. If no kind knows it, the error is
// ErrUnrecognised, with the reason of each kind. If the path could not be read, the error is the first kind's.
func (ks Kinds) Identify(ctx context.Context, address string) (*Identity, error) {
	if k, is := ks.ofScheme(address); is {
		scheme, _, _ := strings.Cut(address, ":")
		return &Identity{k, address, "its address is a URL of " + scheme}, nil
	}
	if name, rest, ok := strings.Cut(address, ":"); ok {
		for _, k := range ks {
			if k.Name == name {
				return &Identity{k, rest, "its address names the kind"}, nil
			}
		}
	}
	var tried []string
	var missing Misses
	var unseen error
	for _, k := range ks {
		if k.Recognise == nil {
			continue
		}
		why, ok, err := k.Recognise(ctx, address)
		if ok && err == nil {
			return &Identity{k, address, why}, nil
		}
		unseen = cmp.Or(unseen, err)
		tried = append(tried, k.Name)
		if why != "" && err == nil {
			missing.Add(k.Name, why)
		}
	}
	if unseen != nil {
		return nil, fmt.Errorf("open %q: %w", address, unseen)
	}
	return nil, fmt.Errorf("open %q: %w (tried %s)%s", address, ErrUnrecognised, strings.Join(tried, ", "), strings.Join(append([]string{""}, missing.List()...), "\n"))
}

// Misses collects the reasons why kinds do not recognise a place. Kinds with the same reason are named
// together. The zero value is empty.
type Misses struct {
	whys  []string
	kinds map[string][]string // by what they say
}

// Add notes why a kind does not recognise the place.
func (m *Misses) Add(kind, why string) {
	if m.kinds == nil {
		m.kinds = map[string][]string{}
	}
	if m.kinds[why] == nil {
		m.whys = append(m.whys, why)
	}
	m.kinds[why] = append(m.kinds[why], kind)
}

// List returns "KIND, KIND: WHY" for each thing that is missed.
func (m *Misses) List() (all []string) {
	for _, why := range m.whys {
		all = append(all, strings.Join(m.kinds[why], ", ")+": "+why)
	}
	return all
}

// FindKind returns the kind with a name, and false if no kind has it.
func (ks Kinds) FindKind(name string) (Kind, bool) {
	for _, k := range ks {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// hasScheme reports whether URLs of a scheme are addresses of the kind.
func (k *Kind) hasScheme(scheme string) bool {
	return slices.ContainsFunc(k.Schemes, func(s string) bool { return strings.EqualFold(s, scheme) })
}

// WholePages reports whether a file may be a SQLite database by its size, and is not a file that SQLite keeps
// beside a database.
func WholePages(name string, size int64) bool {
	const page = 512
	return size > 0 && size%page == 0 && !slices.ContainsFunc([]string{"-wal", "-shm", "-journal"}, func(end string) bool { return strings.HasSuffix(name, end) })
}
