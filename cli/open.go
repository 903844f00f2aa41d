package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/store"
	"hindcast/store/survey"
)

// opened is the store that an address leads to.
type opened struct {
	store.Identity
	// inside is the directory that stands for it, "" where it was named itself.
	inside string
}

// note is one line that says which store was opened, where that was not named.
func (o *opened) note() string {
	if o.inside == "" {
		return ""
	}
	return fmt.Sprintf("opened %s, the only store in %s (%s)", o.At, o.inside, o.Name)
}

// openStore opens the store at an address.
func (a *App) openStore(ctx context.Context, address string) (store.Store, error) {
	found, err := a.findStore(ctx, address, func([]store.Found) {})
	if err != nil {
		return nil, err
	}
	return found.Open(ctx)
}

// findStore finds the store at an address. A directory that is no store itself stands
// for the only one below it: each time find finds a store, it calls tell with all found so far.
func (a *App) findStore(ctx context.Context, address string, tell func([]store.Found)) (*opened, error) {
	id, err := a.Kinds.Identify(ctx, address)
	if err == nil {
		return &opened{Identity: *id}, nil
	}
	if _, missing := os.Stat(address); errors.Is(missing, fs.ErrNotExist) && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrUnrecognised)) {
		if kind, _, ok := strings.Cut(address, ":"); ok && kindly().MatchString(kind) {
			return nil, a.noKind(address, kind)
		}
		return nil, &wrongError{"no such file: " + address, missing}
	}
	if !errors.Is(err, store.ErrUnrecognised) || !isDirectory(address) {
		return nil, err
	}
	stores, passed, likes, unseen := a.findBelow(ctx, address, tell)
	switch {
	case unseen != nil:
		return nil, fmt.Errorf("open %q: %w", address, unseen)
	case len(stores) == 1:
		return &opened{stores[0].Identity, address}, nil
	case len(stores) > 1:
		return nil, &severalError{address, stores}
	}
	text := fmt.Sprintf("no store in %s", address)
	if len(likes.list) > 0 {
		text += likes.placeLines()
	} else if len(passed.list) > 1 || len(passed.list) == 1 && passed.list[0].some[0] != address {
		text += "; passed over: " + passed.briefLine()
	}
	return nil, &advisedError{
		&wrongError{text, err},
		"hindcast doctor " + address + " says what was looked at, and why it is no store.",
	}
}

// kindly fits what may be meant as the name of a kind. One letter is a drive of Windows.
var kindly = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]+$`) })

// noKind says that an address is no file, and what is before its colon no kind.
func (a *App) noKind(address, kind string) error {
	var names []string
	for _, k := range a.Kinds {
		names = append(append(names, k.Name), k.Schemes...)
	}
	text := fmt.Sprintf("no such file: %s, and no kind of store is called %q", address, kind)
	if near := nearestName(kind, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return &advisedError{usagef("%s", text), "STORE is a path or KIND:ADDRESS. The path of a new store that has a colon in it begins with ./"}
}

// severalError says that a directory stands for no one store.
type severalError struct {
	dir    string
	stores []store.Found
}

func (e *severalError) Error() string {
	return fmt.Sprintf("%s is a directory of %d stores:%s", e.dir, len(e.stores), storeLines(e.stores))
}

// isDirectory reports whether an address is the path of a directory.
func isDirectory(address string) bool {
	info, err := os.Stat(address)
	return err == nil && info.IsDir()
}

// askTime is how long stores are asked when they changed, before a person is
// asked which one to open. Those that have not said so by then go by the times of
// their files.
const askTime = 250 * time.Millisecond

// findBelow returns the stores below a directory, newest first where there are several,
// what was passed over, and what looks like a store of a kind. It calls tell with the
// stores known by then each time it finds one.
func (a *App) findBelow(ctx context.Context, dir string, tell func([]store.Found)) (stores []store.Found, passed, likes reasons, err error) {
	for f, err := range survey.Folder(ctx, a.Kinds, dir) {
		switch {
		case err != nil:
			return nil, passed, likes, err
		case f.Kind == "":
			passed.addReason(f.Why, 1, f.Path)
			for _, why := range f.Likes {
				likes.addReason(why, 1, f.Path)
			}
		case f.Behind == "":
			kind, _ := a.Kinds.FindKind(f.Kind)
			stores = append(stores, store.Found{Identity: store.Identity{Kind: kind, At: f.Path, Why: f.Why}, Sessions: -1})
			tell(stores)
		}
	}
	if len(stores) > 1 {
		stores = sortNewest(ctx, stores)
	}
	return stores, passed, likes, nil
}

// sortNewest returns stores newest first, with the facts that they tell in time.
func sortNewest(ctx context.Context, stores []store.Found) []store.Found {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return store.Describe(ctx, stores)
}

// mostListed bounds the stores that an error lists.
const mostListed = 20

// storeLines returns a line for each store: its kind, its path, when it changed.
func storeLines(stores []store.Found) string {
	width := 0
	for _, s := range stores {
		width = max(width, len(s.Name))
	}
	var b strings.Builder
	for _, s := range stores[:min(len(stores), mostListed)] {
		fmt.Fprintf(&b, "\n%s  %s", padRight(s.Name, width), printable.String(s.At))
		if !s.Changed.IsZero() {
			fmt.Fprintf(&b, "  %s", formatMoment(s.Changed))
		}
	}
	if more := len(stores) - mostListed; more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

// reasons gathers why places were passed over, in the order in which the reasons
// were met.
type reasons struct {
	list []*reason
	by   map[string]*reason
}

// reason is one of them: how many places it holds for, and the first few.
type reason struct {
	why   string
	count int
	some  []string
}

// mostNamed bounds the places that are named for one reason.
const mostNamed = 3

// addReason counts places for a reason, and keeps the first paths of them.
func (r *reasons) addReason(why string, places int, paths ...string) {
	of := r.by[why]
	if of == nil {
		of = &reason{why: why}
		if r.by == nil {
			r.by = map[string]*reason{}
		}
		r.by[why] = of
		r.list = append(r.list, of)
	}
	of.count += places
	of.some = append(of.some, paths[:min(len(paths), mostNamed-len(of.some))]...)
}

// placeLines returns the first reasons, each on a line with a place for which it holds.
func (r *reasons) placeLines() (text string) {
	for _, of := range r.list[:min(len(r.list), mostNamed)] {
		text += fmt.Sprintf("\n%s is no store of %s", of.some[0], of.why)
	}
	return text
}

// briefLine returns the most frequent reasons in a line. What each kind misses is for the doctor.
func (r *reasons) briefLine() string {
	var short reasons
	for _, of := range r.list {
		why, _, _ := strings.Cut(of.why, "; ")
		short.addReason(why, of.count)
	}
	list := short.list
	slices.SortStableFunc(list, func(a, b *reason) int { return cmp.Compare(b.count, a.count) })
	var words []string
	for _, of := range list[:min(len(list), mostNamed)] {
		words = append(words, fmt.Sprintf("%s (%d)", of.why, of.count))
	}
	if more := len(list) - mostNamed; more > 0 {
		words = append(words, fmt.Sprintf("and for %s", model.Count(more, "other reason")))
	}
	return strings.Join(words, ", ")
}

// showScreen shows the store that was named, or what is found, or the demo. What is wrong with the words is told
// before the output is.
func (a *App) showScreen(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	var kept kept
	defer kept.closeAll()
	var what Shown
	var err error
	if a.OutTerminal || len(args) > 0 {
		what, err = a.chooseStore(cmd, args, &kept)
	}
	if err == nil && what.Find != nil && !a.OutTerminal {
		_, err = what.Find(ctx, func([]store.Found) {})
	}
	if err != nil {
		return err
	}
	if !a.OutTerminal {
		return errors.New("the screen needs a terminal, and the output is not one; use hindcast log, show or diff instead")
	}
	what.Share, what.Theme = a.shareNew, a.theme
	return a.Screen(ctx, what)
}

// headStart is how long a folder without a store may take to be known as one before the screen is
// up. It is short enough for the first frame to come at once.
const headStart = 25 * time.Millisecond

// isPlain reports whether a word, which is no path that is there, has no sign of a path or an address in it.
func (a *App) isPlain(word string) bool {
	return word != "" && !a.isStore(word) && !strings.ContainsAny(word, `./\:~`)
}

// chooseSession shows the session that a plain word names, in the store that is meant where none is named.
func (a *App) chooseSession(cmd *cobra.Command, word string, kept *kept) (Shown, error) {
	ctx := cmd.Context()
	address, err := a.defaultStore(ctx, []string{word})
	if err != nil {
		if errors.Is(err, errNoStore) || nearestName(word, commandNames(cmd)) != "" {
			err = unknownWord(cmd, word)
		}
		return Shown{}, err
	}
	s, err := kept.keepStore(a.openStore(ctx, address))
	if err != nil {
		return Shown{}, err
	}
	if err = store.Find(ctx, s, word); errors.Is(err, model.ErrNoSession) {
		err = unknownWord(cmd, word, sessionNames(ctx, s)...)
	}
	return Shown{Store: s, Session: word}, err
}

// chooseStore returns the Shown that the screen opens with. What it opens it keeps.
func (a *App) chooseStore(cmd *cobra.Command, args []string, kept *kept) (Shown, error) {
	ctx := cmd.Context()
	if len(args) == 1 && a.isPlain(args[0]) {
		return a.chooseSession(cmd, args[0], kept)
	}
	if address := a.Getenv(storeVariable); address != "" && (len(args) == 0 || len(args) == 1 && !a.isStore(args[0])) {
		args = append([]string{address}, args...)
	}
	if len(args) == 0 {
		return Shown{Open: kept.openFound, Find: func(ctx context.Context, tell func([]store.Found)) (Shown, error) {
			return a.chooseAround(ctx, kept, tell)
		}}, nil
	}
	if len(args) == 1 && isDirectory(args[0]) {
		return Shown{Open: kept.openFound, Wait: headStart, Find: func(ctx context.Context, tell func([]store.Found)) (Shown, error) {
			return a.chooseNamed(ctx, cmd, args, kept, tell)
		}}, nil
	}
	return a.chooseNamed(ctx, cmd, args, kept, func([]store.Found) {})
}

// chooseNamed returns the Shown of the screen where STORE is named.
func (a *App) chooseNamed(ctx context.Context, cmd *cobra.Command, args []string, kept *kept, tell func([]store.Found)) (Shown, error) {
	found, err := a.findStore(ctx, args[0], tell)
	if several := (*severalError)(nil); errors.As(err, &several) && len(args) == 1 && a.OutTerminal {
		return offerStores(several.stores, kept, several.dir), nil
	}
	if errors.Is(err, fs.ErrNotExist) && a.isPlain(args[0]) {
		err = unknownWord(cmd, args[0])
	}
	if err != nil {
		return Shown{}, err
	}
	s, err := kept.keepStore(found.Open(ctx))
	what := Shown{Store: s, Note: found.note()}
	if err == nil && len(args) > 1 {
		what.Session, err = args[1], noSessionIn(ctx, s, args[0], args[1], store.Find(ctx, s, args[1]))
	}
	return what, err
}

// chooseAround returns the Shown of the screen where no STORE is named.
func (a *App) chooseAround(ctx context.Context, kept *kept, tell func([]store.Found)) (Shown, error) {
	found, where, err := a.findAround(ctx, tell)
	if err != nil {
		return Shown{}, err
	}
	switch len(found) {
	case 0:
		what, err := a.Sample(ctx)
		_, err = kept.keepStore(what.Store, err)
		return what, err
	case 1:
		s, err := kept.keepStore(found[0].Open(ctx))
		return Shown{Store: s}, err
	}
	return offerStores(sortNewest(ctx, found), kept, where), nil
}

// offerStores shows stores to choose from, and where they were found.
func offerStores(stores []store.Found, kept *kept, where string) Shown {
	return Shown{Stores: stores, Open: kept.openFound, Note: fmt.Sprintf("found %d stores in %s", len(stores), where)}
}

// kept are the stores that are closed when the screen is left. It is safe for
// concurrent use.
type kept struct {
	mu     sync.Mutex
	list   []store.Store
	closed bool
}

// openFound opens a store that was found, and keeps it.
func (k *kept) openFound(ctx context.Context, chosen store.Found) (store.Store, error) {
	return k.keepStore(chosen.Open(ctx))
}

func (k *kept) keepStore(s store.Store, err error) (store.Store, error) {
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, errors.Join(context.Canceled, s.Close()) // the screen was left meanwhile
	}
	k.list = append(k.list, s)
	return s, nil
}

func (k *kept) closeAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	for _, s := range k.list {
		s.Close() // whatever was written is whole by now
	}
}
