package jsonl

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store"
	"hindcast/store/engine/recording"
)

// maxLine bounds a line, and with it the memory that a file can make us take.
const maxLine = 1 << 30

// ErrLineTooLong: a line is longer than the reader takes.
var ErrLineTooLong = fmt.Errorf("the line is longer than %d bytes", maxLine)

var byteOrderMark = []byte("\xef\xbb\xbf")

// lines reads a file line by line.
type lines struct {
	in     *bufio.Reader
	buffer []byte
	// number and start are the line's number, from 1, and its first byte.
	number int
	start  int64
	next   int64
	// ended says that the line has an end; the last may have none.
	ended bool
}

func newLines(r io.Reader) *lines { return &lines{in: bufio.NewReaderSize(r, 1<<18)} }

// read returns the next line that is not blank, without its line end and a byte
// order mark; it is overwritten by the next call. The error is io.EOF at the
// end; after ErrLineTooLong the next call goes on with the line after.
func (l *lines) read() ([]byte, error) {
	for {
		text, err := l.readAny()
		if err != nil {
			return nil, err
		}
		if bytes.HasPrefix(text, byteOrderMark) {
			text = text[len(byteOrderMark):]
			l.start += int64(len(byteOrderMark))
		}
		text = bytes.TrimRight(text, "\r\n")
		if skipBlank(text, 0) < len(text) {
			return text, nil
		}
	}
}

func (l *lines) readAny() ([]byte, error) {
	l.number++
	l.start = l.next
	l.buffer = l.buffer[:0]
	tooLong := false
	for {
		part, err := l.in.ReadSlice('\n')
		l.next += int64(len(part))
		l.ended = err == nil
		if err == nil && len(l.buffer) == 0 && !tooLong {
			return part, nil
		}
		if tooLong = tooLong || len(l.buffer)+len(part) > maxLine; !tooLong {
			l.buffer = append(l.buffer, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || l.next == l.start):
			return nil, err
		case tooLong:
			return nil, ErrLineTooLong
		}
		return l.buffer, nil
	}
}

// Read returns the rows of a portable file, each with a state of its own. It
// ends with an error at the first line that is damaged: half a file is not
// imported. Edits are of the last state before them, which may not be changed by the consumer. r
// is read to its end only if the consumer goes on to there.
func Read(r io.Reader) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		in := newLines(r)
		var last recent
		for {
			text, err := in.read()
			if err == io.EOF {
				return
			}
			row, err := readRow(text, err, &last)
			if err != nil {
				yield(store.Row{}, fmt.Errorf("jsonl: read: line %d: %w", in.number, err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// recent is the state that was read last.
type recent struct {
	session, id string
	state       []byte
}

func readRow(text []byte, err error, last *recent) (store.Row, error) {
	if err != nil {
		return store.Row{}, err
	}
	l, err := parseLine(text)
	if err != nil {
		return store.Row{}, err
	}
	session := l.header.SessionID
	if l.session != nil {
		session = *l.session
	}
	var state []byte
	if l.state.end != 0 {
		raw := text[l.state.start:l.state.end]
		if l.state.base == "" {
			state, err = decodeState(bytes.Clone(raw), l.state.coded)
		} else if last.session != session || last.id != l.state.base {
			err = ErrBase
		} else {
			state, err = editedState(raw, last.state)
		}
		if err != nil {
			return store.Row{}, &lineError{int(l.state.start), err}
		}
		*last = recent{session, l.header.ID, state}
	}
	if l.session != nil {
		return store.Row{Record: &model.Data[json.RawMessage]{ID: *l.session, State: state, TurnIndex: l.header.TurnIndex}}, nil
	}
	return store.Row{Header: l.header, State: state, Labels: l.labels}, nil
}

// decodeState returns the state that is written as raw; the error is
// store.ErrNotJSON.
func decodeState(raw []byte, coded bool) ([]byte, error) {
	if coded {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, fmt.Errorf("stateBase64 is not a string: %w", store.ErrNotJSON)
		}
		state, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("stateBase64: %w", err)
		}
		raw = state
	}
	return raw, store.CheckState(raw)
}

// editedState returns the state that edits, written as raw, make of a base.
func editedState(raw, base []byte) ([]byte, error) {
	list, err := parseEdits(raw)
	if err != nil {
		return nil, err
	}
	state, err := applyEdits(base, list)
	if err != nil {
		return nil, err
	}
	return state, store.CheckState(state)
}

// index is where everything is in a file, as far as it was read.
type index struct {
	// order holds the sessions as they first appear.
	order    []string
	sessions map[string]*session
	// faults are the faults of the first damaged lines, up to a bound.
	faults  []model.Fault
	damaged int
	// first is the error of the first damaged line that has an end.
	first error
	// lines is the number of the last line that has an end, and end the byte
	// behind it. From there on is read again when the file has grown.
	lines int
	end   int64
	// last is the line behind it, which has no end.
	last struct {
		taken bool // it is whole, and in the index
		err   error
	}
	// size is how much of the file was read.
	size int64
}

type session struct {
	headers []model.Header
	// states is where the state of each id is.
	states map[string]span
	record *record
	labels []model.Label
	// named says that a line named a head. Where none did, head is the position
	// of the last active snapshot; else it is -1.
	named   bool
	head    int
	settled int // headers among which the head was looked for
	// title is the first thing that the user said. size is the length of the session's lines in bytes.
	title string
	size  int64
}

type record struct {
	turn  int
	state span
}

// maxFaults bounds the damaged lines that are listed one by one.
const maxFaults = 100

// newIndex returns the index of an empty file.
func newIndex() *index { return &index{sessions: map[string]*session{}} }

// read reads on to the end of a file and keeps everything but the states. r
// begins at x.end. A damaged line becomes a fault; name is the file's. After an
// error everything up to x.end is in the index.
func (x *index) read(ctx context.Context, name string, r io.Reader) error {
	in := newLines(r)
	in.number, in.next = x.lines, x.end
	x.last.taken, x.last.err = false, nil
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := in.read()
		if err == io.EOF {
			break
		}
		if err == nil {
			var l line
			if l, err = parseLine(text); err == nil {
				err = x.add(l, in.start, text)
			}
		} else if !errors.Is(err, ErrLineTooLong) {
			return err
		}
		if err != nil {
			err = fmt.Errorf("line %d: %w", in.number, err)
		}
		if !in.ended {
			x.last.taken, x.last.err = err == nil, err
			continue
		}
		x.lines, x.end = in.number, in.next
		if err != nil {
			x.damage(name, err)
		}
	}
	x.size = in.next
	x.settleHeads()
	return nil
}

func (x *index) damage(name string, err error) {
	x.first = cmp.Or(x.first, err)
	if x.damaged++; x.damaged <= maxFaults {
		x.faults = append(x.faults, lineFault(name, err))
	}
}

// lineFault tells of a damaged line, whose error says which it is.
func lineFault(name string, err error) model.Fault {
	place, meaning, _ := strings.Cut(err.Error(), ": ")
	return model.Fault{
		Code: FaultLine, Severity: model.Loses, File: name, Path: place, Meaning: meaning,
		Verdict: "the line is left out; an import of the file is refused",
	}
}

// settleHeads finds the head of each session whose lines do not name one, as
// those of the seed itself do not: its last active snapshot.
func (x *index) settleHeads() {
	for id, ss := range x.sessions {
		if ss.named || ss.settled == len(ss.headers) {
			continue
		}
		if ss.head >= 0 {
			ss.headers[ss.head].Head = false
		}
		visits := recording.Visits{Session: id, Headers: ss.headers, Head: -1}
		if ss.head = visits.LastActive(); ss.head >= 0 {
			ss.headers[ss.head].Head = true
		}
		ss.settled = len(ss.headers)
	}
}

// add takes in a line, whose text starts at some byte of the file.
func (x *index) add(l line, start int64, text []byte) error {
	at := l.state
	at.start, at.end = at.start+start, at.end+start
	if id := l.header.SessionID; at.base != "" {
		if l.session != nil {
			id = *l.session
		}
		if ss := x.sessions[id]; ss == nil || ss.states[at.base].end == 0 || l.header.ID == at.base {
			return &lineError{0, ErrBase}
		}
	}
	if l.session != nil {
		ss := x.session(*l.session)
		ss.record = &record{turn: l.header.TurnIndex, state: at}
		ss.size += int64(len(text))
		return nil
	}
	h := l.header
	have := x.sessions[h.SessionID]
	if l.state.end == 0 {
		if have == nil || have.states[h.ID].end == 0 {
			return &lineError{0, store.ErrNoState}
		}
	}
	ss := x.session(h.SessionID)
	ss.size += int64(len(text))
	if len(ss.headers) == 0 && !at.coded { // there is no base yet
		ss.title = conversation.Opening(text[l.state.start:l.state.end])
	}
	if ss.states[h.ID].end == 0 {
		ss.states[h.ID] = at
	}
	switch first := ss.states[h.ID]; {
	case first.base != "":
		h.Size = first.size
	case !first.coded:
		h.Size = first.end - first.start
	}
	if h.Head && !ss.named {
		if ss.named = true; ss.head >= 0 {
			ss.headers[ss.head].Head = false
			ss.head = -1
		}
	}
	ss.headers = append(ss.headers, h)
	ss.labels = append(ss.labels, l.labels...)
	return nil
}

func (x *index) session(id string) *session {
	ss := x.sessions[id]
	if ss == nil {
		ss = &session{states: map[string]span{}, head: -1}
		x.sessions[id], x.order = ss, append(x.order, id)
	}
	return ss
}
