package chat

import (
	"context"
	"fmt"
	"hash/maphash"
	"path"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/engine/inspect"
)

// How a text that no message shows is found.
//
// A format names the records of a session that may carry conversation: records of the types that become
// messages, and records of unknown types. A record is counted if no text of one of its parts is in a message.
// A record without parts counts as one part:
//
//	records   user: "ls"      chat: "hello"      event: "ls"
//	messages  "ls"            –                  repeated by the first
//	                          1 record has a text that no message shows
//
// Listing sessions decodes nothing for it.

// Carrier is a [Format] that returns the texts of a session's records.
type Carrier interface {
	// ReadCarried returns the records with texts, without the types that carry no conversation. It is called
	// when faults are looked for.
	ReadCarried(ctx context.Context, in engine.In, s *Session) ([]Carried, error)
}

// Carried is a record with texts.
type Carried struct {
	File string
	// Place is the record's place in the file, Kind its type, and ID its id or "".
	Place, Kind, ID string
	Texts           []string
	// parts have the texts of each part of a content, else of all of the record.
	parts [][]string
}

// CarriedIn returns the records with texts of a file of lines, or of a file that is one document. each
// returns the type of a line and the records in it that carry conversation. The errors are those of Lines.
func CarriedIn(ctx context.Context, in engine.In, file string, document bool, each func(Value) (kind string, records []Value)) (list []Carried, err error) {
	lines := Lines[[]Carried]{Decode: func(l *Line, list *[]Carried) error {
		v, err := l.Parse()
		if err != nil {
			return err
		}
		kind, records := each(v)
		for _, r := range records {
			if c, says := CarriedOf(file, fmt.Sprintf("line %d", l.Number), kind, r); says {
				*list = append(*list, c)
			}
		}
		return nil
	}}
	read := func() (*File[[]Carried], error) { return lines.Read(ctx, in, file) }
	if document {
		read = func() (*File[[]Carried], error) { return lines.ReadWhole(in, file) }
	}
	f, err := read()
	if err != nil {
		return nil, err
	}
	for i := range f.Records {
		list = append(list, f.Records[i].Is...)
	}
	return list, nil
}

// findUnread returns the fault of the records whose texts no message shows, none where all are shown.
func (s *Store) findUnread(ctx context.Context, session string, _ *engine.Log, _ []model.Fault) ([]model.Fault, error) {
	carrier, ok := s.format.(Carrier)
	if !ok {
		return nil, nil
	}
	one, err := s.findSession(ctx, session)
	if err != nil {
		return nil, err
	}
	in := s.storage.In()
	list, err := carrier.ReadCarried(ctx, in, one)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	defer in.Tree.Hold(path.Dir(one.Spot.File))()
	seed, shown := maphash.MakeSeed(), map[uint64]bool{}
	if err := s.eachShown(ctx, in, one, func(text string) { shown[maphash.String(seed, text)] = true }); err != nil {
		return nil, err
	}
	isShown := func(text string) bool { return shown[maphash.String(seed, strings.TrimSpace(text))] }
	list = findUnshown(list, isShown)
	if len(list) > 0 && len(list) <= mostSought { // a message may put texts together
		var parts []string
		if err := s.eachShown(ctx, in, one, func(text string) { parts = append(parts, text) }); err != nil {
			return nil, err
		}
		all := strings.Join(parts, "\x00")
		list = findUnshown(list, func(text string) bool { return strings.Contains(all, strings.TrimSpace(text)) })
	}
	if len(list) == 0 {
		return nil, nil
	}
	first := &list[0]
	fault := inspect.UnreadFault(len(list), &inspect.Carried{File: first.File, Place: first.Place, Kind: first.Kind}, first.Texts[0])
	return []model.Fault{fault}, nil
}

// findUnshown returns the records that have a part without any text that is shown. Each gets the texts
// of its first such part.
func findUnshown(list []Carried, isShown func(text string) bool) (left []Carried) {
	for _, c := range list {
		c.parts = slices.DeleteFunc(c.parts, func(texts []string) bool { return slices.ContainsFunc(texts, isShown) })
		if len(c.parts) > 0 {
			c.Texts = c.parts[0]
			left = append(left, c)
		}
	}
	return left
}

// CarriedOf returns a record with the texts of it; false for one without any.
func CarriedOf(file, place, kind string, record Value) (Carried, bool) {
	c := Carried{File: file, Place: place, Kind: kind, ID: record.Get("id").Text(), Texts: slices.Collect(Texts(record))}
	c.parts = slices.Collect(partTexts(record))
	if len(c.parts) == 0 && len(c.Texts) > 0 {
		c.parts = [][]string{c.Texts}
	}
	return c, len(c.Texts) > 0
}

// mostSought bounds the records that are looked for in texts that were put together.
const mostSought = 256

// eachShown calls yield with each text of the messages of a session, without white space around it.
func (s *Store) eachShown(ctx context.Context, in engine.In, one *Session, yield func(string)) error {
	for i := range one.Entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		list, err := s.format.Messages(in, one, &one.Entries[i])
		if err != nil {
			continue // the state of the entry says why
		}
		for m := range list {
			for b := range list[m].Blocks {
				v, err := Parse(list[m].Blocks[b].Body)
				if err != nil {
					continue
				}
				for text := range v.Strings() {
					yield(strings.TrimSpace(text))
				}
			}
		}
	}
	return nil
}
