package store

import (
	"context"
	"time"

	"hindcast/model"
)

// Scan is a search of the messages of a session as they lie in its files, without reading the session.
type Scan struct {
	// Text is in every message that is looked for. Next returns the offset of the next place, from an offset on, where JSON
	// may have it, however that spells it, or -1. It may ignore the case of letters.
	Text []byte
	Next func(text []byte, from int) int
	// Decided reports whether nothing new is found in a string of a record, in its quotes and spelled as it is there, which is no
	// part of a longer text of the message. It may report false of a spelling that it has not seen.
	Decided func(quoted []byte) bool
	// Take takes a message, which is lent. It returns false to end the scan.
	Take func(*Scanned) bool
}

// Scanned is a message that has the text of a [Scan].
type Scanned struct {
	// JSON is the message as it stands in states, and Role its role there. With Path it is the value at a JSON Pointer
	// outside of messages.
	JSON       []byte
	Role, Path string
	// Blocks are the calls and results in the message.
	Blocks []ScannedBlock
	// At is the time of the message, or zero.
	At time.Time
	// Place is where in the session's file its record begins, which has Nth messages before it; -1 outside of messages.
	Place int64
	Nth   int
	// ToolOf returns the name of the tool of a call by the call's id, "" where the session does not say. It returns
	// false where the call is too far before the message.
	ToolOf func(call string) (name string, ok bool)
}

// ScannedBlock is a call or a result in JSON[From:To]. Tool names the tool, "" where Call, its id, tells.
type ScannedBlock struct {
	From, To   int
	Tool, Call string
	Failed     bool
}

// Scanner scans sessions whose files have a message on each line.
type Scanner struct {
	// Scan scans a session, and reports whether the session is done. If it is not, the messages that were taken are
	// messages of the session, and others may be missing.
	Scan func(ctx context.Context, session string, scan Scan) (done bool, err error)
	// Find returns the snapshot that the nth message at a place belongs to, and the message's number in its state, -1 of nth
	// -1. The error is model.ErrNoSnapshot where none is.
	Find func(ctx context.Context, session string, place int64, nth int) (ref model.Ref, message int, err error)
}
