package chat

import (
	"bytes"
	"fmt"
	"iter"
)

// How a file is recognised.
//
// Agents copy each other's envelopes: Qwen Code names records as Claude Code does, and puts the
// texts elsewhere. So a file is an agent's where a record has a body that the format reads:
//
//	{"type":"user","sessionId":…,"message":{"content":…}}    envelope and body fit
//	{"type":"user","sessionId":…,"message":{"parts":…}}      the envelope fits, the text is elsewhere
//	{"type":"summary","leafUuid":…}                          the envelope fits, and there is no text
//
// A file without any text as yet is the agent's. One with texts of both forms is, too: what
// no message shows is a fault.

// Sign describes the beginning of a file. The zero value is a file of another program.
type Sign struct {
	// Fits reports whether the records have the agent's envelope.
	Fits bool
	// Misses names what no record has though some have texts, such as "message.content"; "" where
	// the format reads a record, or there is no text.
	Misses string
	// Perhaps names the program that writes such records, "" where it is not known.
	Perhaps string
}

// FirstRecords returns the first lines of a file of records by its beginning, the last of them as far
// as it was read.
func FirstRecords(head []byte) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		const enough = 16
		n := 0
		for line := range bytes.Lines(head) {
			if n++; n > enough || !yield(ParseHead(line)) {
				return
			}
		}
	}
}

// Read reports whether the format reads the file.
func (s Sign) Read() bool { return s.Fits && s.Misses == "" }

// Body says of a record whether the format reads what it says.
type Body uint8

// The bodies.
const (
	NoBody      Body = iota // the record says nothing
	ReadBody                // the format reads what it says
	ForeignBody             // it has a text where the format does not look
)

// BodyOf returns the body of a record whose message the format reads where there is a value of
// it.
func BodyOf(record Value, read ...Value) Body {
	for _, v := range read {
		if v.There() {
			return ReadBody
		}
	}
	if HasText(record) {
		return ForeignBody
	}
	return NoBody
}

// SignOf returns the sign of the lines at the beginning of a file; the last line may be cut. look reports
// whether a line has the agent's envelope, and returns its body. misses names the text that the format reads.
func SignOf(head []byte, misses string, look func(Value) (fits bool, body Body)) (s Sign) {
	foreign := false
	for line := range bytes.Lines(head) {
		v := ParseHead(line)
		fits, body := look(v)
		if s.Fits = s.Fits || fits; body == ReadBody && s.Fits {
			return Sign{Fits: true}
		}
		if body == ForeignBody {
			foreign = true
			if s.Perhaps == "" {
				s.Perhaps = writerOf(v)
			}
		}
	}
	if foreign {
		s.Misses = misses
	}
	return s
}

// writers are programs by a member of the records that they alone write. Sources: Qwen Code
// 0.24.4, packages/core chatRecordingService; DeepSeek and Droid by the files of
// jazzyalex/agent-sessions and vshulcz/deja-vu.
var writers = []struct {
	is    string
	wrote func(Value) bool
}{
	{"Qwen Code", func(v Value) bool { return v.Get("message", "parts").There() }},
	{"DeepSeek's agent", func(v Value) bool {
		is := v.Get("type").Text()
		return is == "user/message" || is == "assistant/message"
	}},
}

func writerOf(v Value) string {
	for _, w := range writers {
		if w.wrote(v) {
			return w.is
		}
	}
	return ""
}

// foreign returns in words why a file is not read whose envelope fits, "" where it is read or
// the envelope is another's.
func (a *Agent) foreign(s Sign) string {
	if !s.Fits || s.Misses == "" {
		return ""
	}
	why := fmt.Sprintf("it looks like %s's records, but no record has %s", a.Framework, s.Misses)
	if s.Perhaps != "" {
		why += ": perhaps " + s.Perhaps + "'s"
	}
	return why
}
