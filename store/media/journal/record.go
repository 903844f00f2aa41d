package journal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"hindcast/model"
	"hindcast/store/media/disk"
)

// record is one line of the journal: an intent, or what became of it. The line is
// the CRC-32C of the JSON in eight hex digits, a space and the JSON. A line feed
// stands before it as well as after it, so that a record which was torn before is
// not a part of it.
type record struct {
	*Entry
	// Changes are what [Entry.AllChanges] returns, if they are few. Of many the parts are in
	// records before, which stand for those of later entries as well, and Sums are theirs.
	Changes []Change `json:"changes,omitempty"`
	Sums    []byte   `json:"sums,omitempty"`
	Part    []byte   `json:"part,omitempty"`
	isPart  bool     // it is one, and was read
	// Format is that of the journal, in each record of an entry.
	Format int `json:"format,omitempty"`
	// Of is the entry that an undo or a redo is about.
	Of int64 `json:"of,omitempty"`
	// Done, Back and Off are the intent that was finished, taken back, or left as it
	// was found; Taking is the intent being taken back.
	Done   int64 `json:"done,omitempty"`
	Back   int64 `json:"back,omitempty"`
	Off    int64 `json:"off,omitempty"`
	Taking int64 `json:"taking,omitempty"`
	// Why says why it was not finished.
	Why string `json:"why,omitempty"`
	// Torn says that what stands before the record, up to the one before, is of
	// records that were torn when they were written.
	Torn bool `json:"torn,omitempty"`
}

// format is the format of journals. A journal with another format, or without any, is neither
// carried out nor written to: it stays as it is.
const format = 2

// FormatError says that a journal is of another version of Hindcast.
type FormatError struct{ Format int }

func (e *FormatError) Error() string {
	which := "an earlier"
	if e.Format > format {
		which = "a later"
	}
	return fmt.Sprintf("%s is of %s version of Hindcast, which alone can read it and take back what it tells of", fileName, which)
}

// maxLine bounds a record, in bytes: that of a write of 100,000 files has some 10 kB, and as much its parts.
// maxObjects bounds the JSON objects in one: each takes 200 bytes in memory.
const (
	maxLine    = 64 << 20
	maxObjects = 1 << 20
)

// unpacked is how many changes stand in JSON, where a person can read them.
const unpacked = 4

// ErrTooMuch: the record of a write would be larger than a record may be.
var ErrTooMuch = errors.New("too many files for one write")

// ErrFull: the journal is as large as a file may be that is read, see disk.MaxSize.
// That is so when some 4,000,000 contents are in it. The error says how to begin
// another.
var ErrFull = errors.New("the journal is full")

// ending is the space that an intent leaves free in the journal, in bytes, so that its end
// can always be recorded.
const ending = 1 << 20

// DamagedError says that records of a journal cannot be read. What they tell of is
// not among the entries.
type DamagedError struct {
	Lines []int // from 1
}

func (e *DamagedError) Error() string {
	var lines []string
	for _, line := range e.Lines {
		lines = append(lines, strconv.Itoa(line))
	}
	return fmt.Sprintf("journal: %s: line %s cannot be read: what it tells of is not known, all else is", fileName, joinFew(lines))
}

// joinFew joins the first few strings: there may be thousands.
func joinFew(list []string) string {
	if len(list) > 5 {
		list = append(slices.Clone(list[:5]), "…")
	}
	return strings.Join(list, ", ")
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errUnsound = fmt.Errorf("a record that could not be read again: %w", fs.ErrInvalid)

// encodeRecord returns the lines of a record: those of the parts that the journal does not have
// yet, and its own. One that could not be read again is an error.
func encodeRecord(r record, told map[sum]bool) (lines []byte, err error) {
	var parts []*Part
	switch ok := true; {
	case len(r.Changes) > unpacked:
		parts, err = packedParts(r.Changes)
		r.Changes = nil
	default:
		if parts, ok = parted(r.Changes); !ok {
			err = errUnsound
		}
	}
	if err != nil {
		return nil, err
	}
	if r.Entry != nil {
		e := *r.Entry
		e.parts, r.Entry, r.Format = parts, &e, format
	}
	if !r.isSound() {
		return nil, errUnsound
	}
	for _, p := range parts {
		if p.packed == nil {
			continue
		}
		r.Sums = append(r.Sums, p.sum[:]...)
		if told[p.sum] {
			continue
		}
		line, err := sealRecord(record{Part: p.packed, Torn: r.Torn})
		if err != nil {
			return nil, err
		}
		lines, r.Torn = append(lines, line...), false
	}
	line, err := sealRecord(r)
	return append(lines, line...), err
}

// sealRecord returns the line of a record as it is.
func sealRecord(r record) ([]byte, error) {
	text, err := json.Marshal(r)
	if err == nil && (len(text) > maxLine || bytes.Count(text, []byte("{")) > maxObjects) {
		err = ErrTooMuch
	}
	if err != nil {
		return nil, err
	}
	return Seal(text), nil
}

// Seal returns the line of a record whose JSON is text: its CRC-32C, a space and the JSON,
// with a line feed before it as well as behind it.
func Seal(text []byte) []byte {
	return fmt.Appendf(nil, "\n%08x %s\n", crc32.Checksum(text, castagnoli), text)
}

// Unseal returns the JSON in a line of a record, without its line feeds, and false where
// that is not what was sealed.
func Unseal(line []byte) (text []byte, ok bool) {
	if len(line) < 10 || len(line) > maxLine+9 || line[8] != ' ' {
		return nil, false
	}
	want, err := strconv.ParseUint(string(line[:8]), 16, 32)
	return line[9:], err == nil && uint32(want) == crc32.Checksum(line[9:], castagnoli)
}

// decodeLine reads a line. parts holds the parts of earlier lines; decode adds the part of this line.
func decodeLine(line []byte, parts, known map[sum]*Part) (r record, ok bool) {
	text, ok := Unseal(line)
	if !ok || bytes.Count(text, []byte("{")) > maxObjects || json.Unmarshal(text, &r) != nil {
		return r, false
	}
	if r.Entry == nil {
		if len(r.Changes)+len(r.Sums) > 0 || len(r.Part) > 0 && !r.addPart(parts, known) {
			return r, false
		}
		return r, r.isSound()
	}
	if r.parts, ok = parted(r.Changes); !ok || len(r.Part) > 0 || len(r.Changes) > 0 && len(r.Sums) > 0 {
		return r, false
	}
	for s := range slices.Chunk(r.Sums, len(sum{})) {
		if len(s) < len(sum{}) || parts[sum(s)] == nil {
			return r, false
		}
		r.parts = append(r.parts, parts[sum(s)])
	}
	r.Changes, r.Sums = nil, nil
	return r, r.isSound()
}

// addPart adds the part of a record to some; those that are known are not read again.
func (r *record) addPart(parts, known map[sum]*Part) (ok bool) {
	s := sumOf(r.Part)
	p := known[s]
	if p == nil {
		if p, ok = packedPart(r.Part); !ok {
			return false
		}
	}
	parts[s], r.Part, r.isPart = p, nil, true
	return true
}

// isSound reports whether a journal could have written a record: a store may come from
// anywhere, and its records are carried out.
func (r *record) isSound() bool {
	for _, id := range []int64{r.Of, r.Done, r.Back, r.Off, r.Taking} {
		if id < 0 || id > maxID {
			return false
		}
	}
	if r.Entry == nil {
		return true
	}
	if back := r.Op == model.OpUndo || r.Op == model.OpRedo; back != (r.Of != 0) || back && len(r.parts) > 0 {
		return false
	}
	n, paths, once := 0, 0, map[*Part]bool{}
	for _, p := range r.parts {
		// A purge forgets what is kept of files, and nothing else does.
		if p.forgets != (r.Op == model.OpPurge) || once[p] {
			return false
		}
		once[p] = true
		if n, paths = n+p.n, paths+p.paths; n > maxChanges || paths > maxPaths {
			return false
		}
	}
	for _, c := range r.Came {
		if !fs.ValidPath(c.Folder) {
			return false
		}
	}
	for _, g := range r.Guards {
		if !fs.ValidPath(g.Path) || !g.Version.sound() {
			return false
		}
	}
	return r.ID >= 0 && r.ID <= maxID
}

// maxID bounds the numbers of entries.
const maxID = 1<<53 - 1

// ours reports whether the journal may write a path. Some file systems take no
// notice of case.
func ours(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return fs.ValidPath(name) && name != "." && !strings.EqualFold(top, Folder)
}

// parseRecords reads the records of a journal. What is torn at its end, and what a later
// record says was torn, is passed over. known are parts that were read before.
func parseRecords(data []byte, known map[sum]*Part) (records []record, parts map[sum]*Part, torn bool, damaged []int) {
	parts = map[sum]*Part{}
	var bad []int
	number := 0
	for line := range bytes.Lines(data) {
		number++
		line = bytes.TrimSuffix(line, []byte("\n"))
		if len(line) == 0 {
			continue
		}
		r, ok := decodeLine(line, parts, known)
		if !ok {
			bad = append(bad, number)
			continue
		}
		switch {
		case r.Torn:
			bad = bad[:0]
		case !r.isPart: // else what ends the parts is still to come
			damaged, bad = append(damaged, bad...), bad[:0]
		}
		records = append(records, r)
	}
	return records, parts, len(bad) > 0, damaged
}

// history is the state that the records of a journal add up to.
type history struct {
	// entries are the writes done, left broken off or taken back, the oldest first.
	entries []Entry
	// superseded are the entries that were undone when something else was written.
	superseded map[int64]bool
	// open is the intent that was neither finished nor taken back, nil if there is no such intent.
	open *intent
	// last is the highest number that an intent has.
	last int64
	// other says that the journal is of another format, nil if it is not.
	other *FormatError
	// torn says that the journal ends in a record that was torn.
	torn    bool
	damaged []int
	parts   map[sum]*Part
}

// intent is a write that was begun.
type intent struct {
	Entry
	// Changes and Stays are the entry's own; for an undo or a redo, the changes that it makes.
	Changes, Stays []Change
	of             int64
	// taking says that it was being taken back, and why.
	taking bool
	why    string
}

// newHistory folds the records.
func newHistory(data []byte, known map[sum]*Part) *history {
	h := &history{superseded: map[int64]bool{}}
	var records []record
	records, h.parts, h.torn, h.damaged = parseRecords(data, known)
	for _, r := range records {
		if r.Entry != nil && r.ID > 0 {
			if r.Format != format {
				h.other = cmp.Or(h.other, &FormatError{r.Format})
			}
			if r.ID > h.last { // else it is not one that this journal wrote
				h.last = r.ID
				h.beginIntent(r)
			}
			continue
		}
		h.last = max(h.last, r.Done, r.Back, r.Off, r.Taking)
		if h.open == nil {
			continue
		}
		switch h.open.ID {
		case r.Done:
			h.finishIntent("")
		case r.Back:
			h.takenBack()
		case r.Off:
			h.finishIntent(r.Why)
		case r.Taking:
			h.open.taking, h.open.why = true, r.Why
		}
	}
	return h
}

func (h *history) beginIntent(r record) {
	if h.open != nil { // its end stood in a line that is damaged
		h.finishIntent("the journal does not say how it ended: it is damaged")
	}
	next := &intent{Entry: *r.Entry, of: r.Of}
	if r.Of != 0 {
		if i := h.findEntry(r.Of); i < 0 || h.entries[i].Op == model.OpPurge {
			return // of an entry that cannot be read
		}
	}
	h.open = next
}

// openIntent returns the open intent with its changes: of an undo or a redo, those of the
// entry that it is about. It may be written to.
func (h *history) openIntent() *intent {
	e := *h.open
	if e.of != 0 {
		e.Changes = h.entries[h.findEntry(e.of)].Changes()
		if e.Op == model.OpUndo {
			e.Changes = reverseChanges(e.Changes)
		}
		e.parts = []*Part{{few: e.Changes}}
	} else {
		e.Changes = e.Entry.Changes()
	}
	return &e
}

// lastingParts returns the parts that the journal has for good: those of an entry whose end is not
// told may not be durable.
func (h *history) lastingParts() map[sum]bool {
	told := map[sum]bool{}
	for i := range h.entries {
		for _, p := range h.entries[i].parts {
			told[p.sum] = true
		}
	}
	return told
}

// finishIntent says how the open intent ended.
func (h *history) finishIntent(broken string) {
	e := h.open
	h.open = nil
	if e.of != 0 {
		if i := h.findEntry(e.of); i >= 0 {
			h.entries[i].Broken = broken
			if broken == "" {
				h.entries[i].Undone = e.Op == model.OpUndo
			}
		}
		return
	}
	e.Broken = broken
	if e.Op != model.OpPurge {
		for _, old := range h.entries {
			if old.Undone {
				h.superseded[old.ID] = true
			}
		}
	}
	h.entries = append(h.entries, e.Entry)
}

// takenBack says that the open intent was taken back.
func (h *history) takenBack() {
	e := h.open
	h.open = nil
	if e.of == 0 && e.Op != model.OpPurge {
		e.Undone, e.TakenBack = true, true
		h.entries = append(h.entries, e.Entry)
	}
}

func (h *history) findEntry(id int64) int {
	return slices.IndexFunc(h.entries, func(e Entry) bool { return e.ID == id })
}

// nextReversal returns the entry that an undo or a redo is about: the last that is not
// undone, or the first that is, was not followed by another write and not taken back
// before it ended. It is nil if there is no such entry.
func (h *history) nextReversal(op model.Op) *Entry {
	if op == model.OpRedo {
		for i := range h.entries {
			if e := &h.entries[i]; e.Undone && !e.TakenBack && e.Broken == "" && !h.superseded[e.ID] {
				return e
			}
		}
		return nil
	}
	for i := range slices.Backward(h.entries) {
		if e := &h.entries[i]; !e.Undone && e.Broken == "" && e.Op != model.OpPurge {
			return e
		}
	}
	return nil
}

func (h *history) damageError() error {
	if len(h.damaged) == 0 {
		return nil
	}
	return &DamagedError{h.damaged}
}

// readHistory reads the journal. What was read is remembered as long as the file has
// the same length: it is only appended to.
func (j *Journal) readHistory() (*history, error) {
	info, err := j.disk.Lstat(fileName)
	if errors.Is(err, fs.ErrNotExist) {
		return &history{superseded: map[int64]bool{}}, nil
	}
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.known != nil && j.disk.SameFile(j.knownAs, info) && j.knownAs.Size() == info.Size() {
		return j.known, nil
	}
	data, info, err := j.disk.Load(fileName, nil)
	if errors.Is(err, disk.ErrTooLarge) {
		err = fmt.Errorf("%w: %w", ErrFull, err)
	}
	if err != nil {
		return nil, err
	}
	h := newHistory(data, j.parts)
	if h.other != nil {
		return nil, h.other
	}
	j.parts = h.parts
	if int64(len(data)) == info.Size() { // else it grew while it was read
		j.known, j.knownAs = h, info
	}
	return h, nil
}
