// Package jsonl is the portable file of sessions: one JSON object a line, for
// export, import and pipes. A line is a snapshot with the member names of the
// seed (Genkit Go design, section 1.1), and those that Hindcast adds:
//
//	{"id":"…","parentId":"…","sessionId":"…","createdAt":"…","index":1,"turnIndex":0,"event":0,
//	 "orphaned":true,"reason":{…},"head":true,"visit":2,"parentVisit":1,"size":…,
//	 "labels":[{"name":"…","note":"…","at":"…"}],"state":{…}}
//
// in any order. The state is the writer's own bytes; one that has line ends in
// it, which a line cannot have, or blanks around it, which readers drop, is
// written as "stateBase64" instead. One that shares most of its bytes with the state
// before it is written as edits of that one: ranges of its bytes, and texts between them.
//
//	"stateEdits":[[0,1200],",{…}",[1200,1204]]
//
// with the id of that state as "stateFrom" where it is not the parent's.
// A later visit of a snapshot has no state. The record of a session follows its snapshots:
//
//	{"session":"…","turnIndex":0,"state":{…}}
//
// It reads states by their place in the file, so that memory holds the headers and one
// line.
package jsonl

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"slices"
	"strings"
	"sync"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine/inspect"
)

const kind = "jsonl"

// FaultLine is the code of a line that could not be read.
const FaultLine = "damaged-line"

// Kind describes the portable file. The address "-" is the standard input.
func Kind() store.Kind {
	return store.Kind{
		Name:      kind,
		Files:     []string{"*.jsonl", "*.ndjson"},
		Recognise: recognise,
		Open:      func(ctx context.Context, path string) (store.Store, error) { return Open(ctx, path) },
	}
}

// recognise looks at the beginning of the first line.
func recognise(_ context.Context, path string) (string, bool, error) {
	if path == "-" {
		return "the standard input", true, nil
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", false, err
	}
	const enough = 1 << 16
	start, err := io.ReadAll(io.LimitReader(f, enough))
	if err := errors.Join(err, f.Close()); err != nil {
		return "", false, err
	}
	if isPage(start) {
		return "a page of Hindcast with the rows of its session", true, nil
	}
	first := bytes.TrimLeft(bytes.TrimPrefix(start, byteOrderMark), " \t\r\n")
	first, _, _ = bytes.Cut(first, []byte("\n"))
	if len(first) == 0 || first[0] != '{' {
		return "the first line is no object", false, nil
	}
	tape := jsontape.Prefix(first, len(first))
	has := func(key string) bool { return tape.Find(0, key) != jsontape.None }
	state := has("state") || has("stateBase64")
	if !state || !(has("id") && has("sessionId") || has("session")) {
		return "the first line is no snapshot: it lacks an id, a session or a state", false, nil
	}
	return "JSON lines that begin with a snapshot", true, nil
}

// Store is an open file, which is only read, and read on when it has grown. It
// is safe for concurrent use.
type Store struct {
	address string
	// temporary is the name of a copy that Close removes, or "".
	temporary string
	// still says that the file does not change: it is a copy, or none that
	// could be followed by its name.
	still bool

	mu    sync.RWMutex
	file  *os.File
	index *index
	// info is the file's information when it was read.
	info fs.FileInfo
	// edges are the first and last bytes of the file when it was read.
	edges edges
	// last is the state that was read last. It has a lock of its own.
	last struct {
		sync.Mutex
		at    span
		state []byte
	}
	// rewrites counts how often the file became another.
	rewrites int64
	life     store.Lifetime
}

// Features returns the store's features.
func (s *Store) Features() store.Features {
	f := store.Features{
		Tail: s.Tail, Record: s.Get, Labels: s.Labels, Watch: s.Watch, Cursor: s.Cursor, Growth: s.Growth, Lacks: s.Lacks,
	}
	if s.still {
		f.Watch = nil
	}
	return f
}

// Open reads the headers of the file at path, or of the standard input if path
// is "-". Lines that are damaged become faults, and the error names the first
// of them when no line is whole.
func Open(ctx context.Context, path string) (*Store, error) {
	if path == "-" {
		return From(ctx, path, os.Stdin)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("jsonl: %w", err)
	}
	if rows, err := openPage(f); rows != nil || err != nil {
		var s *Store
		if err == nil {
			s, err = From(ctx, path, rows)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("jsonl: read the rows in %q: %w", path, err)
		}
		return s, nil
	}
	s, err := open(ctx, path, f)
	if err != nil {
		return nil, fmt.Errorf("jsonl: read %q: %w", path, errors.Join(err, f.Close()))
	}
	return s, nil
}

// From reads a portable file from r to its end, into a temporary file. name is
// the address of the store.
func From(ctx context.Context, name string, r io.Reader) (*Store, error) {
	f, err := os.CreateTemp("", "hindcast-*.jsonl")
	if err != nil {
		return nil, fmt.Errorf("jsonl: read %q: %w", name, err)
	}
	// Where an open file can lose its name it does so now: then a killed
	// program leaves nothing behind.
	s := &Store{file: f}
	if os.Remove(f.Name()) != nil {
		s.temporary = f.Name()
	}
	if _, err = io.Copy(f, contextReader{ctx, r}); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		var opened *Store
		if opened, err = open(ctx, name, f); err == nil {
			opened.temporary, opened.still = s.temporary, true
			return opened, nil
		}
	}
	return nil, fmt.Errorf("jsonl: read %q: %w", name, errors.Join(err, s.Close()))
}

// contextReader ends with the context's error.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

func open(ctx context.Context, address string, f *os.File) (*Store, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("it is a directory")
	}
	s := &Store{address: address, file: f, index: newIndex(), still: !info.Mode().IsRegular()}
	if err := s.readOn(ctx); err != nil {
		return nil, err
	}
	if err := cmp.Or(s.index.first, s.index.last.err); err != nil && len(s.index.order) == 0 {
		return nil, err
	}
	return s, nil
}

// Kind returns "jsonl".
func (s *Store) Kind() string { return kind }

// Address returns the path that was opened, or "-".
func (s *Store) Address() string { return s.address }

// Lacks returns why a file of lines cannot be changed, which [store.Reason] hands on.
func (s *Store) Lacks(model.Op) string {
	return "a portable file is only read; import it into a store first"
}

// Close closes the file.
func (s *Store) Close() error {
	if !s.life.End() {
		return nil
	}
	err := s.file.Close()
	if s.temporary != "" {
		err = errors.Join(err, os.Remove(s.temporary))
	}
	if err != nil {
		return fmt.Errorf("jsonl: close: %w", err)
	}
	return nil
}

// Sessions implements store.Store. A session changed last when its newest
// snapshot was taken, or else with the file.
func (s *Store) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		infos, err := s.sessions(ctx)
		if err != nil {
			yield(model.SessionInfo{}, fmt.Errorf("jsonl: list sessions: %w", err))
			return
		}
		for _, info := range infos {
			if err := ctx.Err(); err != nil {
				yield(model.SessionInfo{}, fmt.Errorf("jsonl: list sessions: %w", err))
				return
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (s *Store) sessions(ctx context.Context) ([]model.SessionInfo, error) {
	if err := s.catchUp(ctx); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	infos := make([]model.SessionInfo, 0, len(s.index.order))
	for _, id := range s.index.order {
		infos = append(infos, s.sessionInfo(id))
	}
	slices.SortStableFunc(infos, store.NewestFirst)
	return infos, nil
}

func (s *Store) sessionInfo(id string) model.SessionInfo {
	ss := s.index.sessions[id]
	headers := ss.headers
	info := model.SessionInfo{ID: id, Kind: kind, Faults: model.FaultsNotCounted, Title: ss.title, Size: ss.size}
	info.Count(headers)
	for i := range headers {
		if at := headers[i].CreatedAt; at.After(info.UpdatedAt) && !headers[i].Marks.Has(model.MarkTraced) {
			info.UpdatedAt = at
		}
	}
	if info.UpdatedAt.IsZero() {
		info.UpdatedAt = s.info.ModTime()
	}
	return info
}

// Headers implements store.Store, in the order of the lines.
func (s *Store) Headers(ctx context.Context, sessionID string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		headers, _, err := s.Tail(ctx, sessionID, math.MaxInt)
		if err != nil {
			yield(model.Header{}, err)
			return
		}
		for i := range headers {
			if err := ctx.Err(); err != nil {
				yield(model.Header{}, fmt.Errorf("jsonl: list snapshots of session %q: %w", sessionID, err))
				return
			}
			if !yield(headers[i], nil) {
				return
			}
		}
	}
}

// Tail implements [store.Features].Tail.
func (s *Store) Tail(ctx context.Context, sessionID string, n int) (headers []model.Header, before int, err error) {
	ss, unlock, err := s.currentSession(ctx, sessionID)
	if err != nil {
		return nil, 0, fmt.Errorf("jsonl: list snapshots of session %q: %w", sessionID, err)
	}
	defer unlock()
	first := max(0, len(ss.headers)-max(n, 0))
	return slices.Clone(ss.headers[first:]), first, nil
}

// State implements store.Store.
func (s *Store) State(ctx context.Context, ref model.Ref) ([]byte, error) {
	state, err := s.state(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("jsonl: read state %q of session %q: %w", ref.ID, ref.Session, err)
	}
	return state, nil
}

func (s *Store) state(ctx context.Context, ref model.Ref) ([]byte, error) {
	ss, unlock, err := s.currentSession(ctx, ref.Session)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return s.stateIn(ss, ref)
}

// stateIn returns a state of a session; the caller holds the lock.
func (s *Store) stateIn(ss *session, ref model.Ref) ([]byte, error) {
	at, ok := ss.states[ref.ID]
	if !ok {
		return nil, model.ErrNoSnapshot
	}
	if ref.Visit != 0 && !slices.ContainsFunc(ss.headers, func(h model.Header) bool { return h.Visit == ref.Visit && h.ID == ref.ID }) {
		return nil, model.ErrNoSnapshot
	}
	return s.stateAt(ss, at)
}

// stateAt returns the state that stands somewhere in the file. Edits are followed to a state that is
// written whole, or to the one that was read last.
func (s *Store) stateAt(ss *session, at span) ([]byte, error) {
	s.last.Lock()
	last, base := s.last.at, s.last.state
	s.last.Unlock()
	var list []edit
	for now := at; ; now = ss.states[now.base] {
		if now == last && base != nil {
			break
		}
		raw, err := s.bytes(now)
		if err != nil {
			return nil, err
		}
		if now.base == "" {
			if base, err = decodeState(raw, now.coded); err != nil {
				return nil, fmt.Errorf("byte %d: %w", now.start, err)
			}
			break
		}
		below, err := parseEdits(raw)
		if err == nil && list != nil {
			below, err = composeEdits(list, below)
		}
		if err != nil {
			return nil, fmt.Errorf("byte %d: %w", now.start, err)
		}
		list = below
	}
	state := bytes.Clone(base)
	if list != nil {
		var err error
		if state, err = applyEdits(base, list); err == nil {
			err = store.CheckState(state)
		}
		if err != nil {
			return nil, fmt.Errorf("byte %d: %w", at.start, err)
		}
	}
	s.last.Lock()
	s.last.at, s.last.state = at, bytes.Clone(state)
	s.last.Unlock()
	return state, nil
}

// bytes returns a span of the file.
func (s *Store) bytes(at span) ([]byte, error) {
	raw := make([]byte, at.end-at.start)
	if _, err := s.file.ReadAt(raw, at.start); err != nil {
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the file has become shorter: %w", io.ErrUnexpectedEOF)
		}
		return nil, fmt.Errorf("byte %d: %w", at.start, err)
	}
	return raw, nil
}

// Labels returns the labels that stand with the snapshots of a session, in the order of the
// lines. The error is model.ErrNoSession.
func (s *Store) Labels(ctx context.Context, sessionID string) ([]model.Label, error) {
	ss, unlock, err := s.currentSession(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return slices.Clone(ss.labels), nil
}

// Get implements [store.Features].Record.
func (s *Store) Get(ctx context.Context, sessionID string) (*model.Data[json.RawMessage], error) {
	data, err := s.get(ctx, sessionID)
	if err != nil {
		return nil, fmt.Errorf("jsonl: get session %q: %w", sessionID, err)
	}
	return data, nil
}

func (s *Store) get(ctx context.Context, sessionID string) (*model.Data[json.RawMessage], error) {
	ss, unlock, err := s.currentSession(ctx, sessionID)
	if errors.Is(err, model.ErrNoSession) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer unlock()
	if ss.record == nil {
		return nil, nil
	}
	state, err := s.stateAt(ss, ss.record.state)
	if err != nil {
		return nil, err
	}
	data := &model.Data[json.RawMessage]{ID: sessionID, State: state, TurnIndex: ss.record.turn}
	for _, h := range ss.headers {
		if !h.Head {
			continue
		}
		last, err := s.stateIn(ss, h.Ref())
		if err != nil {
			return nil, err
		}
		data.LastSnapshot = store.Snapshot(h, last)
	}
	return data, nil
}

// Faults implements store.Store: the damaged lines are faults of the store.
func (s *Store) Faults(ctx context.Context, session string) ([]model.Fault, error) {
	if session != "" {
		faults, err := inspect.SessionFaults(ctx, s, session)
		if err != nil {
			return nil, err
		}
		// The rows may be another framework's, which writes several at once; nothing here goes by their times.
		faults = slices.DeleteFunc(faults, func(f model.Fault) bool { return f.Code == model.FaultEqualTime || f.Code == model.FaultParentNewer })
		unread, err := inspect.UnreadFaults(ctx, s, session, inspect.DamagedIn(faults, session), func(yield func(*inspect.Carried)) error { return s.eachCarried(ctx, session, yield) })
		return append(faults, unread...), err
	}
	if err := s.catchUp(ctx); err != nil {
		return nil, fmt.Errorf("jsonl: check %q: %w", s.address, err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	x := s.index
	faults := slices.Clone(x.faults)
	if more := x.damaged - maxFaults; more > 0 {
		faults = append(faults, model.Fault{Code: FaultLine, Severity: model.Loses, File: s.address, Meaning: fmt.Sprintf("%d more lines are damaged", more)})
	}
	if x.last.err != nil && !s.beingWritten() {
		faults = append(faults, lineFault(s.address, x.last.err))
	}
	return faults, nil
}

// eachCarried runs yield on the lines of a session that have members which are of no snapshot.
func (s *Store) eachCarried(ctx context.Context, session string, yield func(*inspect.Carried)) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	in := newLines(io.NewSectionReader(s.file, 0, math.MaxInt64))
	for {
		text, err := in.read()
		if err == io.EOF || ctx.Err() != nil {
			return ctx.Err()
		}
		var members []member
		if err == nil {
			members, err = scanMembers(text)
		}
		if err != nil {
			continue // that is told of the line
		}
		c := inspect.Carried{File: s.address, Place: fmt.Sprintf("line %d", in.number), Data: []byte{'{'}}
		var header model.HeaderReader
		for i := range members {
			m := &members[i]
			switch key := m.key; {
			case header.Knows(key):
				_ = header.Read(key, text[m.value:m.end]) // that is told of the line
			case key == "session", key == "labels", strings.HasPrefix(key, "state"):
			default:
				c.Data = append(append(c.Data, text[m.start:m.end]...), ',')
			}
		}
		if h := header.Header(); h.SessionID == session && len(c.Data) > 1 {
			c.Snapshot, c.Data[len(c.Data)-1] = h.ID, '}'
			yield(&c)
		}
	}
}
