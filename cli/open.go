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
	"hindcast/store/home"
	"hindcast/store/survey"
)

// openStore opens the store at an address.
func (a *App) openStore(ctx context.Context, address string) (store.Store, error) {
	found, err := a.findStore(ctx, address)
	if err != nil {
		return nil, err
	}
	return found.Open(ctx)
}

// findStore finds the store at an address. A directory that is no store itself stands
// for the only one below it.
func (a *App) findStore(ctx context.Context, address string) (*store.Identity, error) {
	id, err := a.Kinds.Identify(ctx, address)
	if err == nil {
		return id, nil
	}
	if _, missing := os.Stat(address); errors.Is(missing, fs.ErrNotExist) && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrUnrecognised)) {
		if err := a.noKind(address, nil); err != nil {
			return nil, err
		}
		return nil, &wrongError{"no such file: " + address, missing}
	}
	if !errors.Is(err, store.ErrUnrecognised) || !isDirectory(address) {
		return nil, err
	}
	stores, passed, likes, unseen := a.findBelow(ctx, address)
	switch {
	case unseen != nil:
		return nil, fmt.Errorf("open %q: %w", address, unseen)
	case len(stores) == 1:
		return &stores[0].Identity, nil
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

// noKind says that an address is no file, and what is before its colon no kind. It returns nil where that is no name
// of a kind. The error wraps cause.
func (a *App) noKind(address string, cause error) error {
	kind, _, ok := strings.Cut(address, ":")
	if !ok || !kindly().MatchString(kind) {
		return nil
	}
	var names []string
	for _, k := range a.Kinds {
		names = append(append(names, k.Name), k.Schemes...)
	}
	text := fmt.Sprintf("no such file: %s, and no kind of store is called %q", address, kind)
	if near := nearestName(kind, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return &advisedError{&usageError{&wrongError{text, cause}}, "STORE is a path or KIND:ADDRESS. The path of a new store that has a colon in it begins with ./"}
}

// noPath returns the error about a word that is no session and no path, though it looks like a path or an address; nil
// where it does not.
func (a *App) noPath(word string) error {
	if err := a.noKind(word, model.ErrNoSession); err != nil {
		return err
	}
	if strings.ContainsAny(word, `./\:~`) {
		return &wrongError{"no such file: " + word, model.ErrNoSession}
	}
	return nil
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
// what was passed over, and what looks like a store of a kind.
func (a *App) findBelow(ctx context.Context, dir string) (stores []store.Found, passed, likes reasons, err error) {
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

// showScreen shows the store that was named, or the sessions of all that are found, or the demo. What is wrong with the
// words is told before the output is.
func (a *App) showScreen(cmd *cobra.Command, args []string, plain bool) (err error) {
	ctx := cmd.Context()
	var what Shown
	shows := a.OutTerminal || plain
	if shows || len(args) > 0 {
		what, err = a.chooseStore(cmd, args)
	}
	if what.Home != nil {
		defer what.Home.Close() // whatever was written is whole by then
	}
	if err == nil && what.Without != nil && !shows && len(args) > 0 {
		err = a.lookBelow(ctx, what)
	}
	if err != nil {
		return err
	}
	if !shows {
		return errors.New("the screen needs a terminal, and the output is not one; use --plain, or hindcast log or show")
	}
	what.Share, what.Theme, what.Plain = a.shareNew, a.theme, plain
	var instead store.Store
	if without := what.Without; without != nil {
		what.Without = func(ctx context.Context) (shown Shown, err error) {
			shown, err = without(ctx)
			instead = shown.Store
			return shown, err
		}
	}
	err = a.Screen(ctx, what)
	if instead != nil {
		err = errors.Join(err, instead.Close())
	}
	return err
}

// lookBelow returns why there is nothing to show below a directory.
func (a *App) lookBelow(ctx context.Context, what Shown) error {
	for _, err := range what.Home.FindStores(ctx) {
		return err // a store was found
	}
	_, err := what.Without(ctx)
	return err
}

// headStart is how long a folder without a store may take to be known as one before the screen is
// up. It is short enough for the first frame to come at once.
const headStart = 25 * time.Millisecond

// isPlain reports whether a word, which is no path that is there, has no sign of a path or an address in it.
func (a *App) isPlain(word string) bool {
	return word != "" && !a.isStore(word) && !strings.ContainsAny(word, `./\:~`)
}

// chooseStore returns the Shown that the screen opens with.
func (a *App) chooseStore(cmd *cobra.Command, args []string) (Shown, error) {
	ctx := cmd.Context()
	switch {
	case len(args) == 0 && a.Getenv(storeVariable) == "":
		return Shown{Home: a.everything(), Without: a.Sample}, nil
	case len(args) == 0:
		args = []string{a.Getenv(storeVariable)}
	case len(args) == 1 && a.isPlain(args[0]):
		return a.chooseSession(cmd, args[0])
	}
	if len(args) == 1 && isDirectory(args[0]) {
		return Shown{
			Home: home.New(a.Kinds, home.Places{Folder: args[0]}), Wait: headStart,
			Without: func(ctx context.Context) (Shown, error) {
				_, err := a.findStore(ctx, args[0])
				return Shown{}, err
			},
		}, nil
	}
	h, _, rest, err := a.homeOf(ctx, words{}, args)
	if errors.Is(err, fs.ErrNotExist) && a.isPlain(args[0]) {
		err = unknownWord(cmd, args[0])
	}
	if err != nil {
		return Shown{}, err
	}
	switch len(rest) {
	case 0:
		return Shown{Home: h, Store: h.OnlyStore()}, nil
	case 1:
	default:
		return Shown{Home: h}, usagef("%s, but %s", cmd.UseLine(), given(args))
	}
	session, err := a.sessionOf(ctx, h, args[0], rest[0])
	if err != nil {
		return Shown{Home: h}, err
	}
	s, err := session.Store.Open(ctx)
	return Shown{Home: h, Store: s, Session: session.ID}, err
}

// chooseSession shows the session that a plain word names, of any store.
func (a *App) chooseSession(cmd *cobra.Command, word string) (Shown, error) {
	ctx := cmd.Context()
	h, _, _, err := a.homeOf(ctx, words{}, nil)
	if err != nil {
		return Shown{}, err
	}
	session, err := a.sessionOf(ctx, h, "", word)
	if errors.Is(err, model.ErrNoSession) {
		err = unknownWord(cmd, word, sessionNames(ctx, h)...)
	}
	if err != nil {
		return Shown{Home: h}, err
	}
	s, err := session.Store.Open(ctx)
	return Shown{Home: h, Store: s, Session: session.ID}, err
}
