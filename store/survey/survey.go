// Package survey looks for stores in a folder, and says of each place why it is one or not.
package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hindcast/store"
)

// bounds are how far a survey goes.
type bounds struct {
	// depth is how deep below the folder that it begins in, names how many of
	// one folder it looks at, folders into how many in all, and told of how many
	// places it tells.
	depth, names, folders, told int
	// inside is how many entries of a store other kinds are asked about.
	inside int
	// known are the absolute paths of stores that are left out, with true, and with false those of the folders
	// around them; nil for none.
	known map[string]bool
}

var usual = bounds{depth: 6, names: 1000, folders: 2000, told: 20_000, inside: 100}

// Finding is one place that a survey came to: a store, or what it passed over.
type Finding struct {
	// Path begins with the folder that is surveyed. It is as the file system
	// gives it, control characters and all.
	Path string
	// Kind is the name of the kind that recognises a store there, or "".
	Kind string
	// Why says in a few words what it was recognised by, or else why it was
	// passed over.
	Why string
	// Likes are the reasons of kinds whose store it looks like, each "KIND: WHY", see [store.Kind.Likens].
	Likes []string
	// Behind is the kind that recognises the same path, is asked first, and so
	// opens it; "" where Kind opens it.
	Behind string
	// Entered says that it is a folder, and that the survey looks into it.
	Entered bool
	// Err is why the place could not be looked at; nil if it could.
	Err error
}

// Folder looks for stores in a folder and below it, and reports for every place
// that it visits why it is a store or not. Nearer places come first, and places
// in one folder by their names. An error of the folder itself, or of ctx, ends it.
//
// It reads only what the kinds need to recognise a store. Of a file whose name
// belongs to no store, it reads only the head, and only if the file may be a
// database. It does not enter a store, except for places that only other kinds
// claim, directly in the store or in a hidden folder in it. It does not follow
// symbolic links. At its bounds it stops, and reports where. It writes nothing.
func Folder(ctx context.Context, ks store.Kinds, dir string) iter.Seq2[Finding, error] {
	return surveyWithin(ctx, ks, dir, usual)
}

// Unknown is Folder without the stores that are known, given by their paths, and what is in them. It enters the
// folders between dir and a known store, and does not ask whether one of them is a store.
func Unknown(ctx context.Context, ks store.Kinds, dir string, known []string) iter.Seq2[Finding, error] {
	b := usual
	b.known = make(map[string]bool, len(known))
	whole := ResolvePath(dir)
	for _, path := range known {
		path = ResolvePath(path)
		b.known[path] = true
		for around := filepath.Dir(path); len(around) > len(whole); around = filepath.Dir(around) {
			if !b.known[around] {
				b.known[around] = false // the key is there
			}
		}
	}
	return surveyWithin(ctx, ks, dir, b)
}

// ResolvePath returns the absolute path without symbolic links, or an address as it is if no file has that path.
func ResolvePath(path string) string {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path
	}
	if whole, err := filepath.Abs(resolved); err == nil {
		return whole
	}
	return resolved
}

func surveyWithin(ctx context.Context, ks store.Kinds, dir string, most bounds) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		root, err := openFolder(dir)
		if err != nil {
			yield(Finding{}, fmt.Errorf("survey %q: %w", dir, withoutPath(err)))
			return
		}
		defer root.Close() // it was only read
		told := 0
		s := survey{most: most, kinds: ks, dir: dir, whole: ResolvePath(dir), root: root, tell: func(f Finding) bool {
			if told++; told > most.told {
				yield(Finding{Path: dir, Why: fmt.Sprintf("more than %d places are told of: the survey ends here; name a folder in it", most.told)}, nil)
				return false
			}
			return yield(f, nil)
		}}
		s.queue = []folder{{name: "."}}
		for i := 0; i < len(s.queue); i++ {
			if err := ctx.Err(); err != nil {
				yield(Finding{}, fmt.Errorf("survey %q: %w", dir, err))
				return
			}
			if i == most.folders {
				s.passOver(dir, fmt.Sprintf("it has more than %d folders: %d more that were met are not looked into, nor what is in them; name one of them", most.folders, len(s.queue)-i))
				return
			}
			if !s.visit(ctx, s.queue[i]) {
				return
			}
		}
	}
}

// openFolder opens a folder; a pipe, which would block, is an error.
func openFolder(dir string) (*os.Root, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errors.New("not a folder")
	}
	return os.OpenRoot(dir)
}

// survey is one walk. Its queue holds the folders that were met, nearest first;
// each is below root.
type survey struct {
	most  bounds
	kinds store.Kinds
	dir   string
	whole string // dir, without symbolic links
	root  *os.Root
	queue []folder
	tell  func(Finding) bool
}

// folder is a folder that the walk enters.
type folder struct {
	name  string // slash-separated
	depth int
	// owners are the kinds that claim an enclosing folder, or nil.
	owners []string
	// quiet says that what no kind knows is not told.
	quiet bool
}

// at returns the path of a name below the folder that is surveyed.
func (s *survey) at(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

func (s *survey) passOver(path, why string) bool { return s.tell(Finding{Path: path, Why: why}) }

// tellUnseen tells of a place that cannot be looked at.
func (s *survey) tellUnseen(path string, err error) bool {
	err = withoutPath(err)
	return s.tell(Finding{Path: path, Why: "it cannot be looked at: " + err.Error(), Err: err})
}

// visit asks whether a folder is a store, and looks into it otherwise. It reports whether to go on.
func (s *survey) visit(ctx context.Context, f folder) bool {
	if s.isKnown(f.name) || s.isOwned(ctx, f, f.name) {
		return true
	}
	said, goOn := unknown, true
	var owners []string
	if _, around := s.most.known[s.wholePath(f.name)]; !around {
		said, owners, goOn = s.ask(ctx, s.kinds, f, f.name)
	}
	if !goOn {
		return false
	}
	most := s.most.names
	switch {
	case said == claimed:
		f.owners = append(slices.Clone(f.owners), owners...)
		most = s.most.inside
	case f.owners != nil && !strings.HasPrefix(path.Base(f.name), "."):
		return true // a part of the store
	}
	entries, more, err := s.list(f.name, most)
	for _, e := range entries {
		if !s.decideEntry(ctx, f, e) {
			return false
		}
	}
	switch {
	case f.owners != nil: // what is missed in a store is the store's
	case err != nil && said != unreadable: // else the kinds have met it, too
		return s.tellUnseen(s.at(f.name), err)
	case more:
		return s.passOver(s.at(f.name), fmt.Sprintf("it has more than %d names: the others are not looked at", most))
	}
	return true
}

// isKnown reports whether a place is a store that is left out.
func (s *survey) isKnown(name string) bool { return s.most.known[s.wholePath(name)] }

// wholePath returns the absolute path of a place.
func (s *survey) wholePath(name string) string {
	return filepath.Join(s.whole, filepath.FromSlash(name))
}

// isOwned reports whether a place in a store is one of its kind's by itself, such as the folder of one project: no
// other kind is asked about it.
func (s *survey) isOwned(ctx context.Context, in folder, name string) bool {
	return !strings.HasPrefix(path.Base(name), ".") && slices.ContainsFunc(s.kinds, func(k store.Kind) bool {
		if k.Recognise == nil || !slices.Contains(in.owners, k.Name) {
			return false
		}
		_, ok, err := k.Recognise(ctx, s.at(name))
		return ok && err == nil
	})
}

// said is the kinds' answer about a place.
type said uint8

const (
	unknown    said = iota // none knows it
	claimed                // it is a store
	unreadable             // it cannot be looked at
)

// ask asks kinds whether a place is a store of theirs; in is the enclosing folder, or the place itself. It
// reports all kinds that claim the place, and returns them. If no kind claims it, ask reports that once, with
// each kind's reason. Inside a store it does not ask the store's own kinds, and does not report places that
// are no store.
func (s *survey) ask(ctx context.Context, kinds store.Kinds, in folder, name string) (_ said, owners []string, goOn bool) {
	at := s.at(name)
	var missing, likes store.Misses
	var unseen error
	for _, k := range kinds {
		if k.Recognise == nil || slices.Contains(in.owners, k.Name) {
			continue
		}
		why, ok, err := k.Recognise(ctx, at)
		switch {
		case err != nil:
			unseen = cmp.Or(unseen, err)
		case ok:
			f := Finding{Path: at, Kind: k.Name, Why: why}
			if owners != nil {
				f.Behind = owners[0]
			}
			if !s.tell(f) {
				return claimed, nil, false
			}
			owners = append(owners, k.Name)
		case why != "":
			missing.Add(k.Name, why)
			if k.Likens {
				likes.Add(k.Name, why)
			}
		}
	}
	switch {
	case owners != nil:
		return claimed, owners, true
	case in.owners != nil || in.quiet:
		return unknown, nil, true
	case unseen != nil:
		return unreadable, nil, s.tellUnseen(at, unseen)
	case missing.List() == nil:
		return unknown, nil, s.tell(Finding{Path: at, Why: "no kind knows it", Entered: in.name == name})
	}
	return unknown, nil, s.tell(Finding{Path: at, Why: "no kind knows it; " + strings.Join(missing.List(), "; "), Likes: likes.List(), Entered: in.name == name})
}

// list returns as many of the first entries of a folder, by their names, and whether
// there are more.
func (s *survey) list(name string, most int) (entries []fs.DirEntry, more bool, err error) {
	sub, err := s.root.OpenRoot(name) // which does not block on a pipe that took its name
	if err != nil {
		return nil, false, err
	}
	defer sub.Close() // it was only read
	f, err := sub.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	entries, err = f.ReadDir(most + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if more = len(entries) > most; more {
		entries = entries[:most]
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, more, err
}

// decideEntry decides what becomes of an entry of a folder.
func (s *survey) decideEntry(ctx context.Context, in folder, e fs.DirEntry) bool {
	name := path.Join(in.name, e.Name())
	if s.isKnown(name) {
		return true
	}
	kinds := ofFile(s.kinds, e.Name())
	why := ""
	switch mode := e.Type(); {
	case mode&fs.ModeSymlink != 0:
		why = "a symbolic link, which is not followed"
	case mode.IsDir():
		why = whySpared(e.Name())
		if why == "" && in.depth == s.most.depth {
			why = fmt.Sprintf("more than %d folders deep", s.most.depth)
		}
		if why == "" {
			s.queue = append(s.queue, folder{name: name, depth: in.depth + 1, owners: in.owners})
		}
	case isTemporary(e.Name()):
		why = "a temporary file"
	case len(kinds) == 0 && in.owners == nil && isPages(e):
		in.quiet = true
		_, _, goOn := s.ask(ctx, ofFile(s.kinds, "x.db"), in, name)
		return goOn
	case len(kinds) == 0:
	case !mode.IsRegular():
		why = "not a regular file"
	case s.isOwned(ctx, in, name):
	default:
		_, _, goOn := s.ask(ctx, kinds, in, name)
		return goOn
	}
	return why == "" || in.owners != nil || s.passOver(s.at(name), why)
}

// MayBeStore reports whether a path, which is new, may lead to a store that a survey finds.
func MayBeStore(ks store.Kinds, path string) bool {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return false
	case info.IsDir():
		return whySpared(info.Name()) == ""
	}
	return len(ofFile(ks, info.Name())) > 0
}

// isPages reports whether a file may be a database, whatever its name is.
func isPages(e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && info.Mode().IsRegular() && store.WholePages(e.Name(), info.Size())
}

// elsewhere are the folders that hold much and no stores, by patterns of their
// names. Every other folder is looked into, a hidden one too.
var elsewhere = []struct{ why, names string }{
	{"packages of others", "node_modules site-packages vendor .venv .virtualenvs .tox .nox .eggs .npm .yarn .pnpm-store .bun .deno .cargo .rustup .gem .bundle .m2 .gradle .nuget .pyenv .nvm .rbenv .asdf .conda"},
	{"what tests read", "testdata"},
	{"a cache", "__pycache__ cache Cache caches Caches .cache .*_cache .parcel-cache .turbo .next .nuxt .svelte-kit .angular .ipynb_checkpoints .terraform"},
	{"version control", ".git .hg .svn .jj .bzr"},
	{"the settings of a program", ".idea .vscode .ssh .gnupg .docker .kube .mozilla"},
	{"what was thrown away", ".Trash*"},
	{"what Hindcast keeps", ".hindcast .hindcast-*"},
}

// whySpared says why a folder of a name is not entered, "" if it is.
func whySpared(name string) string {
	for _, row := range elsewhere {
		for pattern := range strings.FieldsSeq(row.names) {
			if ok, err := path.Match(pattern, name); ok && err == nil {
				return row.why
			}
		}
	}
	return ""
}

// ofFile returns the kinds whose store a file of a name may be.
func ofFile(ks store.Kinds, name string) store.Kinds {
	name = strings.ToLower(name)
	var fit store.Kinds
	for _, k := range ks {
		if slices.ContainsFunc(k.Files, func(pattern string) bool { ok, err := path.Match(pattern, name); return ok && err == nil }) {
			fit = append(fit, k)
		}
	}
	return fit
}

// isTemporary reports whether a file will be renamed by its writer when it is complete.
func isTemporary(name string) bool {
	return strings.HasSuffix(name, ".tmp") || strings.Contains(name, "_tmp_")
}

// withoutPath takes the path out of an error: its reporter names the place.
func withoutPath(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}
