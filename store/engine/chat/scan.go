package chat

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/needle"
	"hindcast/store"
	"hindcast/store/media/files"
)

// How a search finds messages without reading the session
//
// The file is searched as it lies. Only lines that have the text are decoded, and each tells by itself which
// message it is:
//
//	│line│line│line with the text│line│torn
//	          └ message ─▶ store.Scan.Take
//
// Where a line does not tell, the scan ends, and the session is read. A text that some of Hindcast's own words have too
// is looked for in each line, until these words were found.

// LineTeller is a [Plain] format that has each message on one line.
type LineTeller interface {
	Plain
	// TellLine returns the messages that a line adds to states, and their time. Their usage is passed over, but that the last one
	// may be counted by another line, and so have a model.
	TellLine(at Spot, line *Line, near Near) ([]Message, time.Time, Telling)
	// Composes returns a text that is in each line whose strings are joined to one of its message, "" for no such lines.
	Composes() string
}

// Near looks at the lines around one. The zero Near has none.
type Near struct {
	of         *lineScan
	begin, end int // of the line in of.buf
}

// Telling is how much a line tells by itself.
type Telling uint8

const (
	// Unsure: the session has to be read to know what the line adds to states.
	Unsure Telling = iota
	// Later: the line tells once more of the lines behind it are at hand, else it is Unsure.
	Later
	// Silent: the line adds nothing to states.
	Silent
	// Sets: the line adds settings to the states of the entries behind it, and nothing else. The blocks of its message are
	// JSON strings that are not empty, by their names in [Meta]; a block has no name where its setting may not count.
	Sets
	// Extends: the line adds a part of the message of another line.
	Extends
	// Speaks: the line adds messages, and is the first or only one of its entry.
	Speaks
)

// lineScan is the scan of one file.
type lineScan struct {
	store.Scan
	format   LineTeller
	at       Spot
	composes needle.Needle
	// words are the ownWords with the text that are not decided. While there are any, each line is scanned.
	words []string
	// settings are the settings with the text, by their names, which the next entry has. While there are any, each line is
	// scanned.
	settings map[string][]byte
	// model is the JSON string of the model that the last scanned setting names, nil for none.
	model []byte
	// buf has whole lines of the file from offset from on. The first old bytes were scanned before. waits says that a line
	// may be left to be scanned with the next lines, and late is the offset of the last that was.
	buf   []byte
	from  int64
	old   int
	waits bool
	late  int64
	// composed is the first place of the buffer, from a line on, that has the text that composed lines have; the length of the
	// buffer where no more follows.
	composed int
	line     Line // the one at hand
	scanned  store.Scanned
	*scanRoom
}

// scanRoom is the memory of a scan. Another scan uses it again.
type scanRoom struct {
	file            []byte
	scratch, before jsontape.Scratch // of the line at hand, and of one before it
	text            joined
}

// scanSession implements store.Scanner.
func (s *Store) scanSession(ctx context.Context, session string, scan store.Scan) (done bool, err error) {
	teller := s.format.(LineTeller)
	in := s.storage.In()
	at, known := s.knownSpot(session)
	if !known {
		if at, err = s.findSpot(ctx, session); err != nil {
			return false, s.Wrap(err, "search session %q", session)
		}
	}
	defer in.Hold(path.Dir(at.File))()
	if files := teller.Sources(in, at); at.Part != "" || len(files) != 1 || files[0] != at.File {
		return false, nil
	}
	file, err := in.OpenFile(at.File)
	if err != nil {
		return false, s.Wrap(err, "search session %q", session)
	}
	defer file.Close() // it was only read
	room, _ := s.scanned.Get().(*scanRoom)
	if room == nil {
		room = new(scanRoom)
	}
	l := &lineScan{Scan: scan, format: teller, at: at, composes: needle.New([]byte(teller.Composes()), false), words: ownWith(scan.Text), scanRoom: room}
	l.scanned.ToolOf = l.findTool
	done, err = l.scanFile(ctx, file)
	if cap(room.file)+cap(room.text.data) <= 4*searchedAtOnce {
		s.scanned.Put(room)
	}
	return done, s.Wrap(err, "search session %q", session)
}

// scannedBefore is about how much of a file before a line is near it.
const scannedBefore = 128 << 10

// scanFile scans a file piece by piece.
func (l *lineScan) scanFile(ctx context.Context, file io.ReaderAt) (done bool, err error) {
	buf := slices.Grow(l.file[:0], searchedAtOnce+scannedBefore)
	for ctx.Err() == nil {
		if len(buf) == cap(buf) {
			if len(buf) >= mostLine {
				return false, nil
			}
			buf = slices.Grow(buf, len(buf))
		}
		n, err := file.ReadAt(buf[len(buf):cap(buf)], l.from+int64(len(buf)))
		if err != nil && !errors.Is(err, io.EOF) {
			return false, files.Cause(err)
		}
		fresh := len(buf)
		buf = buf[:fresh+n]
		l.file = buf
		ended := n == 0 || err != nil
		whole := len(buf)
		if !ended {
			whole = fresh + bytes.LastIndexByte(buf[fresh:], '\n') + 1
			if whole == fresh {
				continue
			}
		}
		l.buf, l.waits = buf[:whole], !ended
		goesOn, sure := l.scanLines()
		if !goesOn || !sure || ended {
			return sure, nil
		}
		whole = len(l.buf)
		gone := max(0, whole-scannedBefore)
		gone += bytes.IndexByte(buf[gone:whole], '\n') + 1
		l.from, l.old = l.from+int64(gone), whole-gone
		buf = buf[:copy(buf, buf[gone:])]
	}
	return false, ctx.Err()
}

// scanLines hands over the messages of the lines at hand. It reports whether to go on, and whether the lines told.
func (l *lineScan) scanLines() (goesOn, sure bool) {
	l.composed = l.old - 1
	for at := l.old; at < len(l.buf); {
		l.words = slices.DeleteFunc(l.words, func(word string) bool { return l.Decided(jsontape.AppendQuoted(nil, word)) })
		if len(l.words)+len(l.settings) == 0 {
			if at = l.Next(l.buf, at); at < 0 {
				break
			}
			if behind := l.passDecided(at); behind > 0 && !l.isComposed(at) {
				at = behind
				continue
			}
		}
		begin, end := lineAround(l.buf, at)
		if goesOn, sure = l.scanLine(begin, end); !goesOn || !sure {
			return goesOn, sure
		}
		at = end + 1
	}
	return true, true
}

// lineAround returns where the line of a text with a place begins and ends.
func lineAround(text []byte, at int) (begin, end int) {
	newline := needle.New([]byte{'\n'}, false)
	if end = newline.Index(text, at); end < 0 {
		end = len(text)
	}
	return newline.LastIndex(text[:at]) + 1, end
}

// isComposed reports whether the line with a place has the text that composed lines have. Places come in order.
func (l *lineScan) isComposed(at int) bool {
	for len(l.composes.Text()) > 0 && l.composed < len(l.buf) {
		switch {
		case l.composed >= at:
			return bytes.IndexByte(l.buf[at:l.composed], '\n') < 0
		case l.composed >= l.old && bytes.IndexByte(l.buf[l.composed:at], '\n') < 0:
			return true
		}
		begin, _ := lineAround(l.buf, at)
		if l.composed = l.composes.Index(l.buf, begin); l.composed < 0 {
			l.composed = len(l.buf)
		}
	}
	return false
}

// mostPassed bounds the strings that are passed over without parsing their line.
const mostPassed = 64 << 10

// beforeString has the bytes that JSON allows before a string.
var beforeString = []byte("{[:, \t")

// passDecided returns the end of the string that has a place of the buffer in it, if nothing new is found in it; else 0.
func (l *lineScan) passDecided(at int) int {
	first, from := max(0, at-mostPassed), at
	for {
		if from = first + bytes.LastIndexByte(l.buf[first:from], '"'); from < max(first, 1) {
			return 0
		}
		if before := l.buf[from-1]; bytes.IndexByte(beforeString, before) >= 0 {
			break
		} else if before != '\\' { // the string may begin elsewhere
			return 0
		}
	}
	from, to := jsontape.NextString(l.buf[:min(len(l.buf), at+mostPassed)], from)
	if to <= at || from == to || !l.Decided(l.buf[from:to]) { // the place is behind the string, or its end is far
		return 0
	}
	return to
}

// scanLine hands over the messages of a line.
func (l *lineScan) scanLine(begin, end int) (goesOn, sure bool) {
	raw := trimLine(l.buf[begin:end])
	if len(raw) == 0 {
		return true, true
	}
	l.line = Line{Span: Span{l.from + int64(begin), int64(len(raw))}, Raw: raw, scratch: &l.scratch}
	line := &l.line
	messages, when, tells := l.format.TellLine(l.at, line, Near{l, begin, end})
	switch {
	case tells == Later && l.waits && l.late != line.At:
		l.late, l.buf = line.At, l.buf[:begin]
		return true, true
	case tells == Sets:
		return true, l.noteSettings(messages[0].Blocks)
	case tells != Speaks && tells != Extends:
		return true, tells == Silent
	}
	if l.model != nil && len(messages) > 0 {
		switch last := &messages[len(messages)-1]; {
		case last.Role == Assistant:
			last.Model = jsontape.Unquote(l.model)
		case last.Usage.Counted && l.Next(l.model, 0) >= 0 && !l.isDecided(l.model):
			return true, false
		}
	}
	for i := range messages {
		if !l.takeMessage(&messages[i], i, when, line.At) {
			return false, true
		}
	}
	return tells == Extends || l.takeSettings(when, line.At), true
}

// noteSettings notes the settings of a line that have the text. It reports whether they are sure to count.
func (l *lineScan) noteSettings(list []Block) (sure bool) {
	for i := range list {
		b := &list[i]
		if b.Name == settingModel {
			l.model = bytes.Clone(b.Body)
		}
		switch found := l.Next(b.Body, 0) >= 0; {
		case found && b.Name == "":
			return false
		case !found, l.isDecided(b.Body):
			delete(l.settings, b.Name)
		case l.settings == nil:
			l.settings = map[string][]byte{}
			fallthrough
		default:
			l.settings[b.Name] = bytes.Clone(b.Body)
		}
	}
	return true
}

// isDecided reports whether nothing new is found in a JSON string.
func (l *lineScan) isDecided(quoted []byte) bool {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		quoted = append(append([]byte{'"'}, jsontape.AppendUnquoted(nil, quoted)...), '"')
	}
	return l.Decided(quoted)
}

// settingModel is the name of the setting that answers have too, so that it stays until it is decided.
const settingModel = "model"

// takeSettings hands over the settings that were noted, as those of the entry at a place.
func (l *lineScan) takeSettings(when time.Time, place int64) bool {
	for _, name := range slices.Sorted(maps.Keys(l.settings)) {
		if !l.Take(&store.Scanned{JSON: l.settings[name], Path: "/meta/" + name, At: when, Place: place, Nth: -1}) {
			return false
		}
		if name != settingModel || l.isDecided(l.settings[name]) {
			delete(l.settings, name)
		}
	}
	return true
}

// takeMessage hands over message nth of the line at a place.
func (l *lineScan) takeMessage(m *Message, nth int, when time.Time, place int64) bool {
	l.text.data = l.text.data[:0]
	m.Usage = conversation.Usage{} // Hindcast adds its keys
	m.leaveOutBodies()
	out := &l.scanned
	out.Role, out.At, out.Place, out.Nth, out.Blocks = m.Role.String(), when, place, nth, out.Blocks[:0]
	m.writeBlocks(&l.text, func(b *Block, from int) {
		if b.Kind == conversation.ToolCall || b.Kind == conversation.ToolResult {
			out.Blocks = append(out.Blocks, store.ScannedBlock{From: from, To: len(l.text.data), Tool: b.Name, Call: b.ID, Failed: b.Failed})
		}
	})
	out.JSON = l.text.data
	return l.Take(out)
}

// leastLeftOut is the length of a body that is left out of a record.
const leastLeftOut = 256

// leaveOutBodies leaves the bodies of long blocks out of the records that have them: they stand in the message twice.
func (m *Message) leaveOutBodies() {
	var parts [][]byte
	for _, raw := range m.Raw {
		for i := range m.Blocks {
			body := m.Blocks[i].Body
			if len(body) < leastLeftOut {
				continue
			}
			at := bytes.Index(raw, body[:leastLeftOut/4])
			if at >= 0 && len(raw)-at >= len(body) && &raw[at] == &body[0] {
				parts, raw = append(parts, raw[:at]), raw[at+len(body):]
			}
		}
		parts = append(parts, raw)
	}
	m.Raw = parts
}

// closeBeside is how far from a line another one is looked for first, besides its length.
const closeBeside = 4 << 10

// mostBegun is how much of a text is looked for before the rest of it is compared.
const mostBegun = 32

// FindsBeside reports whether a text is on another line near the line that has a mark. It looks close to the line first.
func (n Near) FindsBeside(text []byte, mark string) bool {
	if n.of == nil {
		return false
	}
	long := newLongText(text)
	behind, before, near := n.of.buf[n.end:], n.of.buf[:n.begin], closeBeside+2*len(text)
	for _, part := range [][]byte{behind[:min(len(behind), near)], before[max(0, len(before)-near):], behind, before} {
		for {
			at := long.indexIn(part)
			if at < 0 {
				break
			}
			from, to := lineAround(part, at)
			if bytes.Contains(part[from:to], []byte(mark)) {
				return true
			}
			part = part[to:]
		}
	}
	return false
}

// longText is a text of any length to look for: the beginning of it first.
type longText struct {
	text  []byte
	begin needle.Needle
}

func newLongText(text []byte) longText {
	return longText{text, needle.New(text[:min(len(text), mostBegun)], false)}
}

// indexIn is bytes.Index for the text.
func (t *longText) indexIn(in []byte) int {
	for from := 0; ; from++ {
		if from = t.begin.Index(in, from); from < 0 || bytes.HasPrefix(in[from:], t.text) {
			return from
		}
	}
}

// Before returns the last line before the line that has a text; false where none is near.
func (n Near) Before(text string) (*Line, bool) {
	if n.of == nil {
		return nil, false
	}
	return n.of.lineBefore(n.begin, text)
}

// lineBefore returns the last line before a place of the buffer that has a text.
func (l *lineScan) lineBefore(end int, text string) (line *Line, ok bool) {
	named := needle.New([]byte(text), false)
	at := named.LastIndex(l.buf[:max(end, 0)])
	if at < 0 {
		return nil, false
	}
	begin, end := lineAround(l.buf, at)
	raw := trimLine(l.buf[begin:end])
	return &Line{Span: Span{l.from + int64(begin), int64(len(raw))}, Raw: raw, scratch: &l.before}, true
}

// findTool returns the tool of a call, which is made on a line before the one that was handed over; false where it is
// not near.
func (l *lineScan) findTool(call string) (string, bool) {
	id := string(jsontape.AppendQuoted(nil, call))
	for place := l.scanned.Place; ; {
		line, ok := l.lineBefore(int(place-l.from), id)
		if !ok {
			return "", l.from == 0
		}
		list, _, tells := l.format.TellLine(l.at, line, Near{})
		for i := range list {
			for k := range list[i].Blocks {
				if b := &list[i].Blocks[k]; tells == Speaks && b.Kind == conversation.ToolCall && b.ID == call {
					return b.Name, true
				}
			}
		}
		place = line.At
	}
}

// findPlace implements store.Scanner.
func (s *Store) findPlace(ctx context.Context, session string, place int64, nth int) (ref model.Ref, message int, err error) {
	one, err := s.findSession(ctx, session)
	if err != nil {
		return model.Ref{}, -1, s.Wrap(err, "read session %q", session)
	}
	format := s.format.(LineTeller)
	for i := range one.Entries {
		e := &one.Entries[i]
		at := slices.IndexFunc(e.Records, func(r Span) bool { return r.At == place })
		if at < 0 || e.File != "" && e.File != one.Spot.File {
			continue
		}
		reads := one.Reads(i)
		if nth < 0 {
			return model.Ref{Session: session, ID: e.ID}, -1, nil
		}
		for _, before := range reads[:max(slices.Index(reads, i), 0)] {
			message += format.Adds(&one.Entries[before])
		}
		return model.Ref{Session: session, ID: e.ID}, message + min(at+nth, format.Adds(e)-1), nil
	}
	return model.Ref{}, -1, s.Wrap(model.ErrNoSnapshot, "find byte %d of session %q", place, session)
}
