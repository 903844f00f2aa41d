package traces

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"

	"hindcast/model/jsontape"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

var (
	// ErrUnknown: no trace has a turn or a step of that id.
	ErrUnknown = errors.New("no such turn or step in the traces")
	// ErrNoState: a turn gave no state, because it failed or still runs.
	ErrNoState = errors.New("the turn gave no state")
)

// errTooLarge: see maxSize.
var errTooLarge = fmt.Errorf("larger than %d MiB", maxSize>>20)

const (
	// maxSize bounds the traces that are read, in bytes: a trace holds the state
	// of a session once for each model call, and several are read at once.
	maxSize = 64 << 20
	// readers is how many traces are read at once.
	readers = 4
)

// Traces is the folder of traces of one project. It is safe for concurrent use.
type Traces struct {
	tree tree.Tree
	dir  string
	// read reads the files of the tree.
	read   files.Reader
	memory *files.Memory

	looking sync.Mutex // one look at the folder at a time
	mu      sync.Mutex
	skipped Skipped
}

// Skipped counts the files in the folder of traces that were passed over at the
// last look.
type Skipped struct {
	// Torn are files that are not whole: being written, or left so. Foreign are
	// no traces. Unread could not be read, or are larger than 64 MiB.
	Torn, Foreign, Unread int
	// Name is one of them, below the folder that New was given, and Err what is
	// wrong with it; nil where nothing was passed over.
	Name string
	Err  error
}

// New returns the traces in a folder .genkit, whose path is dir, in a tree. It
// reads nothing, and the folder need not exist: there are no turns then.
func New(on tree.Tree, dir string) *Traces {
	return &Traces{tree: on, dir: dir, read: tree.From(on), memory: &files.Memory{}}
}

// NoteKind names the notes of traces for a [files.Cache]. Its number grows with every change of their
// content.
const NoteKind = "genkit traces 2"

// Remember makes the traces keep their notes in a memory that outlives them. It is
// to be called before anything else.
func (t *Traces) Remember(m *files.Memory) { t.memory = m }

// Turns returns the turns of one session in the order in which they started, the
// agents of a project taken together. A folder that cannot be listed is an
// error, a file that cannot be read is not: see [Traces.CountSkipped].
func (t *Traces) Turns(ctx context.Context, session string) ([]Turn, error) {
	if session == "" {
		return nil, nil
	}
	return t.turns(ctx, session)
}

// All returns the turns of all sessions, as Turns does.
func (t *Traces) All(ctx context.Context) ([]Turn, error) { return t.turns(ctx, "") }

func (t *Traces) turns(ctx context.Context, session string) ([]Turn, error) {
	notes, err := t.look(ctx)
	if err != nil {
		return nil, err
	}
	var turns []Turn
	for _, text := range notes {
		turns = append(turns, parseNote(text, session)...)
	}
	slices.SortStableFunc(turns, func(a, b Turn) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Trace, b.Trace), cmp.Compare(a.Span, b.Span))
	})
	return turns, nil
}

// CountSkipped counts the files that the last look at the folder skipped.
func (t *Traces) CountSkipped() Skipped {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.skipped
}

// folder and index are where the telemetry server puts traces and their index.
func (t *Traces) folder() string { return path.Join(t.dir, "traces") }
func (t *Traces) index() string  { return path.Join(t.dir, "traces_idx") }

// unread is a file in the folder that no note tells of.
type unread struct {
	name string
	at   files.Stamp
}

// look goes through the folder, reads what changed since the last time, and
// returns the notes of all traces in which an agent ran.
func (t *Traces) look(ctx context.Context) (notes [][]byte, err error) {
	t.looking.Lock()
	defer t.looking.Unlock()
	defer t.tree.Hold(t.folder())()
	names, err := t.tree.List(t.folder())
	if errors.Is(err, fs.ErrNotExist) {
		t.note(Skipped{})
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("genkit: list %s: %w", t.folder(), err)
	}
	var skipped Skipped
	var fresh []unread
	remember := func(name string, text []byte) {
		if fault, ok := bytes.CutPrefix(text, faultMark); ok {
			skipped.add(path.Join("traces", name), fault)
		} else if len(text) > 0 {
			notes = append(notes, text)
		}
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !isTraceID(name) {
			skipped.add(path.Join("traces", name), faultForeign)
			continue
		}
		at, err := t.tree.Stamp(path.Join(t.folder(), name))
		if err != nil || at.Kind == files.Nothing {
			continue // it has gone since
		}
		if text, ok := t.memory.Recall(name, at.Stamp); ok {
			remember(name, text)
			continue
		}
		fresh = append(fresh, unread{name, at.Stamp})
	}
	made, err := t.readAll(ctx, fresh)
	if err != nil {
		return nil, err
	}
	for i, u := range fresh {
		if !bytes.HasPrefix(made[i], faultUnread) { // it may be readable the next time
			t.memory.Note(u.name, u.at, made[i])
		}
		remember(u.name, made[i])
	}
	t.note(skipped)
	return notes, nil
}

func (t *Traces) note(s Skipped) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.skipped = s
}

// readAll makes the notes of some files, several at once. The index says which
// of them need not be read.
func (t *Traces) readAll(ctx context.Context, list []unread) ([][]byte, error) {
	made := make([][]byte, len(list))
	if len(list) == 0 {
		return made, nil
	}
	idle := t.idle(ctx)
	defer tree.Ahead(t.tree, t.wantedNames(list), func(string) bool { return true })()
	work := make(chan int)
	var wg sync.WaitGroup
	for range min(readers, len(list)) {
		wg.Go(func() {
			var buf []byte
			for i := range work {
				made[i], buf = t.makeNote(list[i], buf)
			}
		})
	}
	for i := range list {
		if ctx.Err() != nil {
			break
		}
		if !idle[list[i].name] {
			work <- i
		}
	}
	close(work)
	wg.Wait()
	return made, ctx.Err()
}

// wantedNames returns the names of the files that are read, in the tree.
func (t *Traces) wantedNames(list []unread) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range list {
			if list[i].at.Size <= maxSize && !yield(path.Join(t.folder(), list[i].name)) {
				return
			}
		}
	}
}

// A note that begins with faultMark, which no JSON does, tells why a file is
// passed over. One that begins with faultUnread is not kept.
var (
	faultMark    = []byte("!")
	faultForeign = []byte("f")
	faultTorn    = []byte("t")
	faultLarge   = []byte("l")
	faultUnread  = []byte("!u")
)

func fault(kind []byte, err error) []byte {
	return bytes.Join([][]byte{faultMark, kind, []byte(err.Error())}, nil)
}

// add counts a file that is passed over, from what its note says.
func (s *Skipped) add(name string, text []byte) {
	switch {
	case bytes.HasPrefix(text, faultForeign):
		s.Foreign++
	case bytes.HasPrefix(text, faultTorn):
		s.Torn++
	default:
		s.Unread++
	}
	// A file that is not a trace is the least serious fault.
	if s.Name == "" || !bytes.HasPrefix(text, faultForeign) {
		why := cmp.Or(string(text[min(1, len(text)):]), "its name is not that of a trace")
		s.Name, s.Err = name, errors.New(why)
	}
}

// makeNote reads one file and returns the note on it. buf may be used again.
func (t *Traces) makeNote(u unread, buf []byte) (text, used []byte) {
	if u.at.Size > maxSize {
		return fault(faultLarge, errTooLarge), buf
	}
	doc := files.ReadDocument(t.read, path.Join(t.folder(), u.name), buf)
	if cap(doc.Data) > cap(buf) {
		buf = doc.Data
	}
	switch {
	case doc.Tape == nil && files.ErrorPath(doc.Err) != "":
		return fault(faultTorn, doc.Err), buf
	case doc.Tape == nil:
		return fault(faultUnread[len(faultMark):], doc.Err), buf
	}
	d, err := takeApart(doc.Tape)
	if err != nil {
		return fault(faultForeign, err), buf
	}
	return note(d.turns(u.name)), buf
}

// idleTypes are the types of traces in which no agent ran: reads of a snapshot,
// which may hold a whole state, waiting for one, and aborting.
var idleTypes = []string{"agent-snapshot", "agent-wait", "agent-abort"}

// idle returns the ids of the traces that the index calls so. An index that
// cannot be read, or a line of it, costs no more than reading the traces.
func (t *Traces) idle(ctx context.Context) map[string]bool {
	idle := make(map[string]bool)
	defer t.tree.Hold(t.index())()
	names, err := t.tree.List(t.index())
	if err != nil {
		return idle
	}
	var buf []byte
	for _, name := range names {
		if ctx.Err() != nil || !strings.HasPrefix(name, "idx_") || !strings.HasSuffix(name, ".json") {
			continue
		}
		data, err := t.read(path.Join(t.index(), name), buf)
		if err != nil {
			continue
		}
		for line := range bytes.Lines(data) {
			if id, kind := parseIndexLine(line); slices.Contains(idleTypes, kind) {
				idle[id] = true
			}
		}
		buf = data
	}
	return idle
}

// parseIndexLine returns the id and the type that a line of the index tells.
func parseIndexLine(line []byte) (id, kind string) {
	for m, err := range jsontape.Members(line) {
		if err != nil {
			return "", "" // a line that is not whole
		}
		switch string(m.Key) {
		case `"id"`:
			id = jsontape.Unquote(m.Value)
		case `"type"`:
			kind = jsontape.Unquote(m.Value)
		}
	}
	return id, kind
}

// isTraceID reports whether a name can be that of a trace: what OpenTelemetry
// makes, 32 hexadecimal digits.
func isTraceID(name string) bool {
	return len(name) == 32 && strings.Trim(name, "0123456789abcdef") == ""
}

// An id of a step or a turn is that of its span, by which people tell steps of
// one trace apart, and that of the trace.

func join(span, trace string) string { return span + "@" + trace }

func split(id string) (span, trace string, ok bool) {
	at := strings.LastIndexByte(id, '@')
	if at <= 0 || !isTraceID(id[at+1:]) {
		return "", "", false
	}
	return id[:at], id[at+1:], true
}

// Owns reports whether an id has the form of an id from Turn.StepID.
func Owns(id string) bool {
	_, _, ok := split(id)
	return ok
}
