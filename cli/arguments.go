package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/store"
)

// What the words behind a command mean.
//
//	hindcast show [STORE] [SESSION] SNAPSHOT
//
// STORE is the first word where that is a path that exists or begins with /, ./ or
// ../, a URL, KIND:ADDRESS or - for the standard input, or where there are as many words as can be. Else it is the store of HINDCAST_STORE,
// else the only one in the usual places, else the only one below the current
// directory.
//
// SESSION is the next word where that is a session of the store, or where more words
// follow than snapshots can be. Else it is the session that changed last.
//
// What is left are snapshots.

// storeVariable names the store that is meant where none is named.
const storeVariable = "HINDCAST_STORE"

// words are the arguments of a command: STORE always, and SESSION, and
// between least and most snapshots.
type words struct {
	session     bool
	least, most int
}

var (
	storeOnly  = words{}
	oneSession = words{session: true}
	oneOf      = words{session: true, least: 1, most: 1}
	oneOrTwo   = words{session: true, least: 1, most: 2}
	oneOrHead  = words{session: true, least: 0, most: 1}
)

// itself returns the words where no flag changes them.
func (w words) itself() words { return w }

// argsCheck asks for as many words as can be meant.
func (w words) argsCheck() cobra.PositionalArgs { return argsBetween(w.least, w.countAll()) }

// countAll is the number of words where each is there.
func (w words) countAll() int {
	if w.session {
		return 2 + w.most
	}
	return 1
}

// subject is the meaning of the arguments of a command: a store, which is open, a session of it, and snapshots.
type subject struct {
	app              *App
	store            store.Store
	address, session string
	snapshots        []string
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
	c.Args, c.ValidArgsFunction = w.argsCheck(), a.completeSnapshot(w.most)
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
			err = noSessionIn(ctx, of.store, of.address, of.session, err)
		}
		return errors.Join(err, of.store.Close())
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
func noSessionIn(ctx context.Context, s store.Store, address, session string, err error) error {
	if !errors.Is(err, model.ErrNoSession) {
		return err
	}
	err = &wrongError{fmt.Sprintf("no session %.80q in %s", session, shownAddress(address, s)), err}
	if near := nearestName(session, sessionNames(ctx, s)); near != "" {
		return &wrongError{fmt.Sprintf("%v; did you mean %q?", err, near), err}
	}
	return err
}

// sessionNames returns the ids of the sessions, nil where they cannot be listed.
func sessionNames(ctx context.Context, s store.Store) (names []string) {
	for info, err := range s.Sessions(ctx) {
		if err != nil {
			return nil
		}
		names = append(names, info.ID)
	}
	return names
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
		if far := editDistance(word, name, least); far < least {
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

// findSubject finds what the words of a command name. The caller closes the store.
func (a *App) findSubject(ctx context.Context, w words, args []string) (*subject, error) {
	address, rest, err := a.storeOf(ctx, args, len(args) >= w.countAll())
	if err != nil {
		return nil, err
	}
	s, err := a.openStore(ctx, address)
	if err != nil {
		return nil, err
	}
	of := &subject{app: a, store: s, address: address}
	if w.session {
		of.session, of.snapshots, err = splitSession(ctx, s, rest, w)
	}
	if err == nil && len(of.snapshots) < w.least {
		err = usagef("SNAPSHOT is missing: %q is a session of %s", of.session, shownAddress(address, s))
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return of, nil
}

// storeOf parts the words into the address of a store and what follows it. whole
// says that the first word is STORE, whatever it looks like.
func (a *App) storeOf(ctx context.Context, args []string, whole bool) (address string, rest []string, err error) {
	if len(args) > 0 && (whole || a.isStore(args[0])) {
		return args[0], args[1:], nil
	}
	address, err = a.defaultStore(ctx, args)
	if errors.Is(err, errNoStore) && len(args) > 0 {
		return args[0], args[1:], nil // which says why it is no store
	}
	return address, args, err
}

// errNoStore says that no store is named, and none is found.
var errNoStore = errors.New("STORE is not given, and no store is in the usual places or below this directory")

// isStore reports whether a word is the address of a store, by its shape alone or
// because there is such a path.
func (a *App) isStore(word string) bool {
	if kind, rest, ok := strings.Cut(word, ":"); ok {
		if _, known := a.Kinds.FindKind(kind); known || strings.HasPrefix(rest, "//") {
			return true
		}
	}
	_, err := os.Lstat(word)
	return err == nil || word == "-" || filepath.IsAbs(word) || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../")
}

// defaultStore returns the address of the store that is meant where the words name none.
func (a *App) defaultStore(ctx context.Context, args []string) (string, error) {
	if address := a.Getenv(storeVariable); address != "" {
		return address, nil
	}
	found, _, err := a.findAround(ctx, func([]store.Found) {})
	switch {
	case err != nil:
		return "", err
	case len(found) == 1:
		return found[0].Name + ":" + found[0].At, nil
	case len(found) > 1:
		given := ""
		if len(args) > 0 {
			given = fmt.Sprintf(" (no such file: %s)", args[0])
		}
		return "", &advisedError{
			fmt.Errorf("STORE is not given%s, and %d stores are found:%s", given, len(found), storeLines(found)),
			"Name one of them, or set " + storeVariable + ".",
		}
	}
	return "", &advisedError{
		errNoStore,
		"Name one, or set " + storeVariable + ". hindcast demo makes one to try things on.",
	}
}

// findAround returns the stores in the usual places, or if those hold none the stores
// below the current directory, and where that was. Each time it finds a store, it
// calls tell with all stores found so far.
func (a *App) findAround(ctx context.Context, tell func([]store.Found)) (found []store.Found, where string, err error) {
	if found = a.Kinds.LookAloud(ctx, a.Around, tell); len(found) > 0 || a.Around.Work == "" {
		return found, "the usual places", nil
	}
	found, _, _, err = a.findBelow(ctx, a.Around.Work, tell)
	return found, "this directory", err
}

// splitSession parts the words behind a store into a session and snapshots of it.
func splitSession(ctx context.Context, s store.Store, rest []string, w words) (session string, specs []string, err error) {
	if len(rest) > w.most {
		return rest[0], rest[1:], nil
	}
	if len(rest) > 0 {
		err := store.Find(ctx, s, rest[0])
		if err == nil {
			return rest[0], rest[1:], nil
		}
		if !errors.Is(err, model.ErrNoSession) {
			return "", nil, err
		}
	}
	session, err = latestSession(ctx, s)
	return session, rest, err
}
