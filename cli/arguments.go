package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/home"
)

// What the words behind a command mean.
//
//	hindcast show [STORE...] [SESSION] SNAPSHOT
//
// STORE is the first word where that is a path that exists or begins with /, ./ or
// ../, a URL, KIND:ADDRESS or - for the standard input, or where there are as many words as can be; and each word
// behind it that is an address or a path, and no session of the stores before it. Else it is the store of
// HINDCAST_STORE, else all stores: those in the usual places, those that the user added, and those below the current
// directory.
//
// SESSION is the next word where that is a session of these stores, by its id or the beginning of it, or where more
// words follow than snapshots can be. Else it is the session that changed last.
//
// What is left are snapshots.

// storeVariable names the store that is meant where none is named.
const storeVariable = "HINDCAST_STORE"

// words are the arguments of a command: STORE always, and SESSION, and
// between least and most snapshots.
type words struct {
	// stores says that without a session all of the stores are meant.
	stores, session bool
	least, most     int
	// gone says that of several sessions with a name those are meant whose files are gone.
	gone bool
}

var (
	storeOnly  = words{}
	allStores  = words{stores: true}
	oneSession = words{session: true}
	oneGone    = words{session: true, gone: true}
	oneOrAll   = words{stores: true, session: true}
	oneOf      = words{session: true, least: 1, most: 1}
	twoOf      = words{session: true, least: 2, most: 2}
	oneOrTwo   = words{session: true, least: 1, most: 2}
	oneOrHead  = words{session: true, least: 0, most: 1}
)

// itself returns the words where no flag changes them.
func (w words) itself() words { return w }

// argsCheck asks for as many words as can be meant.
func (a *App) argsCheck(w words) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		more := 0
		for (w.session || w.stores) && more+1 < len(args)-w.least && a.isStore(args[more]) && a.isStore(args[more+1]) {
			more++
		}
		return argsBetween(w.least, w.countAll()+more)(cmd, args)
	}
}

// countAll is the number of words where each is there.
func (w words) countAll() int {
	if w.session {
		return 2 + w.most
	}
	return 1
}

// subject is the meaning of the arguments of a command: stores; of these the one that is meant, which is open, a
// session of it, and snapshots.
type subject struct {
	app              *App
	home             *home.Home
	store            store.Store
	in               *home.Store // the element of home that is store, nil without a session
	address, session string
	given            string            // the word for the stores, "" where none was given
	info             model.SessionInfo // of session, as far as it is known
	snapshots        []string
	named            bool // session was
	// unmet says that the first of snapshots may have been meant for a session.
	unmet bool
}

// allWords returns the words whole.
func (o *subject) allWords() []string {
	if o.session == "" {
		return []string{o.address}
	}
	return append([]string{o.address, o.session}, o.snapshots...)
}

// firstSnapshot returns the first snapshot that is named, the head where none is.
func (o *subject) firstSnapshot() string {
	if len(o.snapshots) == 0 {
		return "head"
	}
	return o.snapshots[0]
}

// readTimeline reads the headers and the labels of the session.
func (o *subject) readTimeline(ctx context.Context) (*model.Timeline, error) {
	return o.app.labelledTimeline(ctx, o.store, o.session)
}

// resolveVisit reads the timeline and finds the visit that a person named.
func (o *subject) resolveVisit(ctx context.Context, spec string) (t *model.Timeline, n model.Node, err error) {
	if t, err = o.readTimeline(ctx); err == nil {
		n, err = findVisit(t, spec)
	}
	if errors.Is(err, model.ErrNoSnapshot) && o.unmet {
		_, err = o.app.pickSession(ctx, o.home, o.given, spec, nil)
	}
	return t, n, err
}

// readingCommand makes a command of c, whose answer about what its words name may be long.
func (a *App) readingCommand(w words, c *cobra.Command, run about) *cobra.Command {
	a.fillWords(w, c)
	c.RunE = a.runReading(a.withSubject(w, run))
	return c
}

// answeringCommand makes a command of c, whose answer is short.
func (a *App) answeringCommand(w words, c *cobra.Command, run about) *cobra.Command {
	a.fillWords(w, c)
	c.RunE = a.runAnswer(a.withSubject(w, run))
	return c
}

// about is a command that answers about what its words name.
type about func(ctx context.Context, p *printer, of *subject) error

// fillWords fills in how many words of a command there may be, and how they are completed.
func (a *App) fillWords(w words, c *cobra.Command) {
	c.Args, c.ValidArgsFunction = a.argsCheck(w), a.completeSnapshot(w.most)
	if !w.session {
		c.ValidArgsFunction = completeStore
	}
}

// withSubject returns a runner that finds the subject of a command and calls run with it.
func (a *App) withSubject(w words, run about) runner {
	return func(ctx context.Context, p *printer, args []string) error {
		of, err := a.findSubject(ctx, w, args)
		if err != nil {
			return err
		}
		if err = run(ctx, p, of); w.session {
			err = noSessionIn(ctx, of.home, of.address, of.session, err)
		}
		return errors.Join(err, of.home.Close())
	}
}

// shownAddress returns how a message names a store: as the user does, but a URL without its
// password, as the store itself has it. s is nil where none was opened.
func shownAddress(address string, s store.Store) string {
	if s != nil && strings.Contains(address, "://") {
		return s.Address()
	}
	return address
}

// noSessionIn returns an error, if it is that a store has no session of a name, as one that says so and which name
// is like it.
func noSessionIn(ctx context.Context, h *home.Home, address, session string, err error) error {
	if !errors.Is(err, model.ErrNoSession) || errors.As(err, new(*wrongError)) {
		return err
	}
	err = &wrongError{fmt.Sprintf("no session %.80q in %s", session, shownHome(address, h)), err}
	if near := nearestName(session, sessionNames(ctx, h)); near != "" {
		err = &wrongError{fmt.Sprintf("%v; did you mean %q?", err, near), err}
	}
	if address == "" {
		return &advisedError{err, "hindcast sessions lists them."}
	}
	return err
}

// sessionNames returns the ids of the sessions, nil where they cannot be listed.
func sessionNames(ctx context.Context, h *home.Home) (names []string) {
	for session, err := range h.Sessions(ctx) {
		if err != nil {
			return nil
		}
		if session.Err == nil {
			names = append(names, session.ID)
		}
	}
	return names
}

// shownHome returns how a message names stores: the only one as shownAddress does, several by their number.
func shownHome(address string, h *home.Home) string {
	switch stores := h.Stores(); {
	case len(stores) == 1:
		return shownAddress(cmp.Or(address, stores[0].At), stores[0].Opened())
	case address != "" && isDirectory(address):
		return address
	default:
		return model.Count(len(stores), "store")
	}
}

// findVisit returns the visit that spec means. An error about a spec that means none names
// the nearest one that means one.
func findVisit(t *model.Timeline, spec string) (model.Node, error) {
	n, err := t.Resolve(spec)
	if !errors.Is(err, model.ErrNoSnapshot) || len(spec) < len("head") || spec[0] == '#' {
		return n, err
	}
	const compared = 10_000 // the newest ones
	var names []string
	if t.Head() != model.NoNode {
		names = []string{"head"}
	}
	for i := t.Len() - 1; i >= max(t.Len()-compared, 0); i-- {
		for _, label := range t.Labels(model.Node(i)) {
			names = append(names, label.Name)
		}
		id := t.Header(model.Node(i)).ID
		names = append(names, id[:min(len(spec), len(id))])
	}
	if near := nearestName(spec, names); near != "" {
		return n, &wrongError{fmt.Sprintf("%v; did you mean %q?", err, near), err}
	}
	return n, err
}

// nearestName returns the name that begins with a word or is most like it, "" where none
// is, or where the word is empty.
func nearestName(word string, names []string) (near string) {
	if word == "" {
		return ""
	}
	least := max(2, len(word)/4) + 1
	for _, name := range names {
		if strings.HasPrefix(name, word) {
			return name
		}
		if far := editDistance(word, name, least); far < min(least, len(word)) {
			near, least = name, far
		}
	}
	return near
}

// longestName bounds the names that are compared by their characters, in bytes.
const longestName = 200

// editDistance counts the characters that must be put in, taken out or changed to make
// a word of another; most where it is more.
func editDistance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most || len(a) > longestName {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// findSubject finds what the words of a command name. The caller closes the home.
func (a *App) findSubject(ctx context.Context, w words, args []string) (*subject, error) {
	h, address, rest, err := a.homeOf(ctx, w, args)
	if err != nil {
		return nil, err
	}
	of := &subject{app: a, home: h, address: address}
	switch {
	case w.session && (len(rest) > 0 || !w.stores):
		err = of.findSession(ctx, rest, w)
	case !w.stores:
		of.store, err = onlyStore(ctx, h, address)
	}
	if err == nil && len(of.snapshots) < w.least {
		err = usagef("SNAPSHOT is missing: %q is a session of %s", of.session, shownHome(address, h))
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return of, nil
}

// onlyStore opens the only store of a home, which is that of an address, or of "".
func onlyStore(ctx context.Context, h *home.Home, address string) (store.Store, error) {
	for _, err := range h.FindStores(ctx) {
		if err != nil {
			return nil, err
		}
	}
	stores := h.Stores()
	switch len(stores) {
	case 0:
		return nil, noStore()
	case 1:
		return stores[0].Open(ctx)
	}
	found := make([]store.Found, len(stores))
	for i, s := range stores {
		found[i] = s.Found
	}
	if address != "" {
		return nil, &severalError{address, found}
	}
	return nil, &advisedError{
		fmt.Errorf("STORE is not given, and %d stores are found:%s", len(stores), storeLines(sortNewest(ctx, found))),
		"Name one of them, or set " + storeVariable + ".",
	}
}

// findSession parts the words behind a store into a session and snapshots of it.
func (o *subject) findSession(ctx context.Context, rest []string, w words) error {
	o.snapshots = rest
	if len(rest) > 0 {
		found, err := o.home.FindSession(ctx, rest[0])
		if w.gone {
			if gone := slices.DeleteFunc(slices.Clone(found), func(s home.Session) bool { return !s.Store.Gone }); len(gone) > 0 {
				found = gone
			}
		}
		if err != nil || len(found) > 0 || len(rest) > w.most {
			o.snapshots = rest[1:]
			var session home.Session
			if err == nil {
				session, err = o.app.pickSession(ctx, o.home, o.address, rest[0], found)
			}
			o.named = true
			return o.meet(ctx, session, err)
		}
		o.unmet = w.least == 0 && !isVisitName(rest[0])
	}
	session, err := latestOf(ctx, o.home)
	if o.unmet && errors.Is(err, errNoStore) {
		_, err = o.app.pickSession(ctx, o.home, o.address, rest[0], nil)
	}
	return o.meet(ctx, session, err)
}

// meet makes a session the one that is meant.
func (o *subject) meet(ctx context.Context, session home.Session, err error) error {
	if err != nil {
		return err
	}
	o.session, o.info = session.ID, session.SessionInfo
	o.in = session.Store
	o.store, err = o.in.Open(ctx)
	o.given = o.address
	o.address = o.nameStore(session.Store)
	return err
}

// sources yields the session that is meant, else the sessions of all stores newest first, or of one store as they are read
// where it knows no times without reading them. It joins to failed why stores cannot be read.
func (o *subject) sources(ctx context.Context, failed *error) iter.Seq2[query.Source, error] {
	return func(yield func(query.Source, error) bool) {
		if o.session != "" {
			yield(query.Source{Store: o.store, SessionInfo: o.info}, nil)
			return
		}
		if s := o.home.OnlyStore(); s != nil {
			list := s.Sessions
			if f := s.Features(); f.Tally == nil && f.AnyOrder != nil { // to know the order takes reading each session
				list = f.AnyOrder
			}
			query.Sources(s, list(ctx))(yield)
			return
		}
		var wrong error
		for session, err := range o.home.ListNewest(ctx) {
			if err = cmp.Or(err, session.Err); err != nil {
				wrong = errors.Join(wrong, err)
			} else if !yield(query.Source{Store: session.Store.Opened(), SessionInfo: session.SessionInfo}, nil) {
				break
			}
		}
		if o.home.CountStores() == 0 && wrong == nil {
			wrong = noStore()
		}
		*failed = errors.Join(*failed, wrong)
	}
}

// nameStore returns the word that names a store of the home.
func (o *subject) nameStore(s *home.Store) string {
	if o.address != "" && o.home.CountStores() == 1 {
		return o.address
	}
	return s.Name + ":" + s.At
}

// sessionOf returns the session that a word names. The error is model.ErrNoSession where none has that name, and
// lists those that have it where several have.
func (a *App) sessionOf(ctx context.Context, h *home.Home, address, word string) (home.Session, error) {
	found, err := h.FindSession(ctx, word)
	if err != nil {
		return home.Session{}, err
	}
	return a.pickSession(ctx, h, address, word, found)
}

// pickSession returns the only one of the sessions that were found by a word. The error is as that of sessionOf.
func (a *App) pickSession(ctx context.Context, h *home.Home, address, word string, found []home.Session) (home.Session, error) {
	switch {
	case len(found) == 0 && address == "":
		err := a.noPath(word)
		if err == nil {
			err = noSessionIn(ctx, h, address, word, model.ErrNoSession)
		}
		return home.Session{}, err
	case len(found) == 0:
		return home.Session{}, noSessionIn(ctx, h, address, word, model.ErrNoSession)
	case len(found) > 1:
		advice := "Write STORE before it, or more of the id."
		if found[0].ID == word {
			advice = "Write STORE before it."
		}
		return home.Session{}, &advisedError{fmt.Errorf("%.80q names %s:%s", word, model.Count(len(found), "session"), sessionLines(found)), advice}
	}
	return found[0], nil
}

// sessionLines returns a line for each of the first sessions: its store, its id and its title.
func sessionLines(list []home.Session) (text string) {
	for _, s := range list[:min(len(list), mostListed)] {
		text += fmt.Sprintf("\n%s:%s  %s", s.Store.Name, printable.String(s.Store.At), printable.String(s.ID))
		if s.Title != "" {
			text += "  " + printable.String(clipText(s.Title, maxTitle, "…"))
		}
	}
	if more := len(list) - mostListed; more > 0 {
		text += fmt.Sprintf("\nand %d more", more)
	}
	return text
}

// everything returns the home of all stores: those in the usual places, those that the user added, and those below
// the current directory.
func (a *App) everything() *home.Home {
	places := home.Places{Around: a.Around, Added: a.Added}
	if a.Archive != nil {
		places.Gone = a.listGone
	}
	if a.Around.Work != "" {
		places.Below = []string{a.Around.Work}
	}
	return home.New(a.Kinds, places)
}

// homeAt returns the home of an address: the store there, which is open, or the stores below a directory.
func (a *App) homeAt(ctx context.Context, address string) (*home.Home, error) {
	stores, err := a.storesAt(ctx, address)
	if err != nil {
		return nil, err
	}
	h := home.FromFound(stores)
	if len(stores) == 1 {
		_, err = h.Stores()[0].Open(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// listGone returns the stores with the sessions that are kept and whose files are gone. Without a place for an archive
// the list is empty.
func (a *App) listGone(ctx context.Context) ([]store.Found, error) {
	archive, err := a.Archive("")
	if err != nil {
		return nil, nil
	}
	found, err := archive.ListGone(ctx)
	return found, errors.Join(err, archive.Close())
}

// findGone returns the store with the sessions that are kept and gone at an address.
func (a *App) findGone(ctx context.Context, address string) ([]store.Found, error) {
	found, err := a.listGone(ctx)
	for _, f := range found {
		if f.At == address {
			return []store.Found{f}, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("open %q: no session that is kept of it is gone", address)
	}
	return nil, err
}

// storesAt returns the store at an address, or the stores below a directory.
func (a *App) storesAt(ctx context.Context, address string) ([]store.Found, error) {
	if strings.HasPrefix(address, home.KeptScheme) && a.Archive != nil {
		return a.findGone(ctx, address)
	}
	found, err := a.findStore(ctx, address)
	if several := (*severalError)(nil); errors.As(err, &several) {
		return several.stores, nil
	}
	if err != nil {
		return nil, err
	}
	return []store.Found{{Identity: *found, Sessions: store.Uncounted}}, nil
}

// homeOf parts the words into stores and what follows them. address is the word for the stores: "" where none is
// given, and the first of several.
func (a *App) homeOf(ctx context.Context, w words, args []string) (h *home.Home, address string, rest []string, err error) {
	rest = args
	if len(args) > 0 && (len(args) >= w.countAll() || a.isStore(args[0])) {
		address, rest = args[0], args[1:]
	} else if address = a.Getenv(storeVariable); address == "" {
		return a.everything(), "", args, nil
	}
	if h, err = a.homeAt(ctx, address); err != nil {
		return nil, address, rest, err
	}
	for len(rest) < len(args) && len(rest) > w.least && a.isStore(rest[0]) {
		if found, err := h.FindSession(ctx, rest[0]); err != nil || len(found) > 0 {
			break // a session, or an error that the command meets
		}
		stores, err := a.storesAt(ctx, rest[0])
		if err != nil && !a.isAddress(rest[0]) {
			break // a snapshot that has the name of a file
		}
		if err != nil {
			return nil, address, rest, errors.Join(err, h.Close())
		}
		h.AddStores(stores)
		rest = rest[1:]
	}
	return h, address, rest, nil
}

// noStore returns the error where no store is named and none is found.
func noStore() error {
	return &advisedError{errNoStore, "Name one, or set " + storeVariable + ". hindcast demo makes one to try things on."}
}

// errNoStore says that no store is named, and none is found.
var errNoStore = errors.New("STORE is not given, and no store is in the usual places or below this directory")

// isStore reports whether a word is the address of a store, by its shape alone or
// because there is such a path.
func (a *App) isStore(word string) bool {
	_, err := os.Lstat(word)
	return err == nil || a.isAddress(word)
}

// isAddress reports whether a word is the address of a store by its shape alone.
func (a *App) isAddress(word string) bool {
	if kind, rest, ok := strings.Cut(word, ":"); ok {
		if _, known := a.Kinds.FindKind(kind); known || strings.HasPrefix(rest, "//") {
			return true
		}
	}
	return word == "-" || strings.HasPrefix(word, home.KeptScheme) || filepath.IsAbs(word) || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../")
}

// pathFlag is a flag that names a value in a state, in either notation of a path.
type pathFlag struct{ query.Path }

// String returns the path as a JSON Pointer.
func (f *pathFlag) String() string { return f.Pointer() }

// Type is the word for the value in a list of flags.
func (f *pathFlag) Type() string { return "path" }

// Set reads a path. The error is a [*query.PathError].
func (f *pathFlag) Set(text string) (err error) {
	f.Path, err = query.ParsePath(text)
	return err
}
