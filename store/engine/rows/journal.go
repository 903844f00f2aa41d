package rows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"hindcast/model"
	"hindcast/store/media/disk"
	"hindcast/store/media/journal"
	"hindcast/store/media/sqlitefile"
)

// Beside is the suffix of Hindcast's journal for a file of the framework: agent.db-hindcast. Only its owner can
// read the journal.
const Beside = sqlitefile.Beside

// record is one line of the journal, sealed as those of package journal are: an intent,
// written and synced before a row changes, or what became of it.
//
//	{"format":1,"write":{"id":3,"op":"restore","session":"tour","key":["tour",""],…,"rows":"…"}}
//	{"format":1,"write":{"id":4,"op":"undo",…},"of":3}
//	{"done":4}
//
// Rows are the steps, as JSON and then zstd: checkpoints that follow each other share most
// of their bytes.
type record struct {
	Format int    `json:"format,omitempty"`
	Write  *entry `json:"write,omitempty"`
	// Of is the entry that an undo or a redo is about.
	Of int64 `json:"of,omitempty"`
	// Done and Off are the intent that was committed, or was not, and Why.
	Done int64  `json:"done,omitempty"`
	Off  int64  `json:"off,omitempty"`
	Why  string `json:"why,omitempty"`
	// Torn says that the lines before, up to the record before, were torn.
	Torn bool `json:"torn,omitempty"`
}

// entry is one write.
type entry struct {
	model.JournalEntry
	// Key are the columns of the session that changed or was made, and Session is its id.
	Key []string `json:"key,omitempty"`
	// Tables are the names of its tables, where they differ from those of the kind.
	Tables map[string]string `json:"tables,omitempty"`
	// Origin is the session that was forked.
	Origin string `json:"origin,omitempty"`
	// Head is the head after it, and Newest the newest row, where that is another.
	Head   string `json:"head,omitempty"`
	Newest string `json:"newest,omitempty"`
	Steps  []byte `json:"rows,omitempty"`
	// superseded says that something else was written since it was undone.
	superseded bool
}

// makesSession reports whether the write made a session. A fork may make a branch of one.
func (e *entry) makesSession() bool { return e.Origin != "" }

// sessionPlace returns where the session of an entry is.
func (e *entry) sessionPlace() Place {
	at := Place{ID: e.Session, tables: e.Tables}
	for _, column := range e.Key {
		at.Key = append(at.Key, column)
	}
	return at
}

const journalFormat = 1

// mostOfWrite bounds the rows of one write, in bytes: they are held in memory.
const mostOfWrite = 1 << 30

var (
	errFormat = errors.New("the journal is of another version of Hindcast, which alone can take back what it tells of")
	errFull   = errors.New("the journal is full: move it away, and what was written until now can then not be undone")
)

func packSteps(steps []Step) ([]byte, error) {
	text, err := json.Marshal(steps)
	if err != nil {
		return nil, err
	}
	if len(text) > mostOfWrite {
		return nil, fmt.Errorf("the rows have %d MB, more than one write may: take a snapshot nearer to the start", len(text)>>20)
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return w.EncodeAll(text, nil), w.Close()
}

// unpackSteps returns the steps of an entry.
func (e *entry) unpackSteps() (steps []Step, err error) {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostOfWrite))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := r.DecodeAll(e.Steps, nil)
	if err == nil {
		err = json.Unmarshal(text, &steps)
	}
	if err != nil {
		return nil, fmt.Errorf("entry %d of the journal: %w", e.ID, err)
	}
	return steps, nil
}

// history is the content of a journal.
type history struct {
	// entries are all writes, the oldest first, including interrupted writes.
	entries []entry
	// open is the intent without a recorded end; nil if all writes ended. of is the entry that it undoes or
	// redoes, 0 if it is neither.
	open *entry
	of   int64
	last int64
	torn bool
	// unread are the lines that cannot be read, from 1.
	unread []int
	// format is that of the records, if it is another.
	other bool
}

func newHistory(data []byte) *history {
	h := &history{}
	var bad []int
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if line = bytes.TrimSuffix(line, []byte("\n")); len(line) == 0 {
			continue
		}
		var r record
		text, ok := journal.Unseal(line)
		if !ok || json.Unmarshal(text, &r) != nil {
			bad = append(bad, number)
			continue
		}
		if !r.Torn {
			h.unread = append(h.unread, bad...)
		}
		bad = nil
		h.addRecord(r)
	}
	h.torn = len(bad) > 0
	return h
}

func (h *history) addRecord(r record) {
	switch {
	case r.Write != nil && r.Write.ID > h.last:
		h.other = h.other || r.Format != journalFormat
		h.last, h.open, h.of = r.Write.ID, r.Write, r.Of
	case h.open == nil:
	case r.Done == h.open.ID:
		h.markDone()
	case r.Off == h.open.ID:
		h.open = nil
	}
}

// markDone: the open intent was committed.
func (h *history) markDone() {
	e := h.open
	h.open = nil
	if h.of != 0 {
		if i := h.findEntry(h.of); i >= 0 {
			h.entries[i].Undone = e.Op == model.OpUndo
		}
		return
	}
	for i := range h.entries {
		h.entries[i].superseded = h.entries[i].superseded || h.entries[i].Undone
	}
	h.entries = append(h.entries, *e)
}

func (h *history) findEntry(id int64) int {
	return slices.IndexFunc(h.entries, func(e entry) bool { return e.ID == id })
}

// nextReversal returns the entry that the next undo or redo reverses, nil if there is no such entry.
func (h *history) nextReversal(op model.Op) *entry {
	if op == model.OpRedo {
		for i := range h.entries {
			if e := &h.entries[i]; e.Undone && !e.superseded {
				return e
			}
		}
		return nil
	}
	for i := range slices.Backward(h.entries) {
		if e := &h.entries[i]; !e.Undone {
			return e
		}
	}
	return nil
}

// headMoves returns the writes that put the head of a session elsewhere.
func (h *history) headMoves(session string) (list []model.Move) {
	for i := range h.entries {
		if e := &h.entries[i]; e.Session == session && !e.Undone && !e.Op.MakesSession() && !e.makesSession() {
			why := &model.Reason{Kind: model.ReasonRestore, At: e.At, TargetID: e.To, TargetIndex: e.ToIndex}
			if e.Op == model.OpRepair {
				why = &model.Reason{Kind: model.ReasonRepair, At: e.At}
			}
			list = append(list, model.Move{From: e.From, To: e.Head, Why: why})
		}
	}
	return list
}

// wroteHead reports whether a row became the head by a write of Hindcast's, or the newest.
func (h *history) wroteHead(id string) bool {
	return slices.ContainsFunc(h.entries, func(e entry) bool { return e.Head == id || e.Newest == id })
}

// damageError says that lines of a journal cannot be read.
func (h *history) damageError() error {
	switch {
	case h.other:
		return errFormat
	case len(h.unread) > 0:
		return fmt.Errorf("%d lines of the journal cannot be read, the first is line %d", len(h.unread), h.unread[0])
	}
	return nil
}

// book is the journal of a file or of a database; its path is "" if there is no journal. To append, lock the
// file for writing.
type book struct {
	path string

	mu    sync.Mutex
	known *history
	as    fs.FileInfo
}

func (b *book) fileName() string { return filepath.Base(b.path) }

// onFolder runs what on the folder of the journal.
func (b *book) onFolder(what func(disk.Disk) error) error {
	opened, err := disk.Open(filepath.Dir(b.path))
	if err != nil {
		return err
	}
	return errors.Join(what(opened), opened.Close())
}

// readHistory returns the content of the journal. The result is read-only.
func (b *book) readHistory() (h *history, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, err := os.Lstat(b.path) // nothing is at ""
	if errors.Is(err, fs.ErrNotExist) {
		b.known = nil
		return &history{}, nil
	}
	if b.known != nil && os.SameFile(at, b.as) && at.Size() == b.as.Size() {
		return b.known, nil
	}
	err = b.onFolder(func(d disk.Disk) error {
		data, info, err := d.Load(b.fileName(), nil)
		if err == nil {
			h, b.as = newHistory(data), info
			b.known = h
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the journal %q: %w", b.path, err)
	}
	return h, nil
}

// appendRecord adds a record to the journal, and makes it durable.
func (b *book) appendRecord(r record) error {
	h, err := b.readHistory()
	if err != nil {
		return err
	}
	if h.other {
		return errFormat
	}
	if r.Torn = h.torn; r.Write != nil {
		r.Format = journalFormat
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	line := journal.Seal(text)
	if _, ok := journal.Unseal(bytes.Trim(line, "\n")); !ok {
		return fmt.Errorf("the rows of one write have %d MB, more than can be put down", len(text)>>20)
	}
	if err := os.MkdirAll(filepath.Dir(b.path), 0o700); err != nil {
		return err
	}
	err = b.onFolder(func(d disk.Disk) error {
		info, err := d.Lstat(b.fileName())
		if errors.Is(err, fs.ErrNotExist) {
			if err = d.Create(b.fileName(), nil, 0o600); err == nil {
				err = d.Sync(".")
			}
		} else if err == nil && r.Write != nil && info.Size()+int64(len(line)) > disk.MaxSize-1<<20 {
			err = errFull
		}
		if err != nil {
			return err
		}
		return d.Append(b.fileName(), line)
	})
	if err != nil {
		return fmt.Errorf("write the journal %q: %w", b.path, err)
	}
	return nil
}

// journalEntries returns the entries as [store.Features].Journal does, newest first.
func (h *history) journalEntries() []model.JournalEntry {
	var list []model.JournalEntry
	for i := range slices.Backward(h.entries) {
		list = append(list, h.entries[i].JournalEntry)
	}
	return list
}

// newEntry returns the entry of a plan.
func newEntry(plan *model.Plan, at Place, now time.Time) *entry {
	e := &entry{JournalEntry: model.JournalEntry{
		At: now.UTC().Truncate(time.Millisecond), Op: plan.Op, Session: at.ID, Others: plan.Others,
		From: plan.Head.ID, FromIndex: plan.Head.Index, To: plan.Target.ID, ToIndex: plan.Target.Index,
	}}
	for _, column := range at.Key {
		text, _ := column.(string)
		e.Key = append(e.Key, text)
	}
	e.Tables = at.tables
	if plan.NewSession != "" {
		e.Origin = plan.Session
	}
	return e
}
