package chat

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// What a damaged line still has.
//
// A writer that is killed leaves half a line, and the next one writes on behind it; two writers
// may lose the end of a line between them; a crash of the system leaves zeros:
//
//	{"type":"user","mess{"type":"assistant",…}        torn, then a whole record
//	{"type":"user",…}{"type":"assistant",…}           no end between
//	\x00\x00\x00\x00\x00{"type":"user",…}             zeros
//	{"type":"tool",…"one⏎two"}                        a line break that is not escaped
//
// An agent passes such a line over, with the records in it that are whole. They are shown, and
// never decide where the session goes on.

// PassedOver is why the entry of a record that was salvaged is off the path.
var PassedOver = &model.Reason{Kind: model.ReasonDamaged}

// searchedOften bounds how often the bytes of a damaged line are looked at, on average.
const searchedOften = 8

// salvageWhole decodes the records that a damaged line has whole.
func (l *Lines[R]) salvageWhole(damaged *Line) (list []Record[R]) {
	if len(l.Members) == 0 {
		return nil
	}
	for _, span := range wholeIn(damaged.Raw) {
		line := *damaged
		line.Raw, line.Span = line.Raw[span.At:span.At+span.Len], Span{line.At + span.At, span.Len}
		if !l.isRecord(line.Raw) {
			continue
		}
		r := Record[R]{Salvaged: true}
		if err := l.decodeInto(&line, &r); err == nil {
			list = append(list, r)
		}
	}
	return list
}

// salvageJoined decodes a record that the first of some damaged lines of a piece begins and a later line ends. last
// is that later line, -1 if no record is found.
func (l *Lines[R]) salvageJoined(piece *Line, lines []Line) (list []Record[R], last int) {
	if len(l.Members) == 0 || !bytes.HasPrefix(lines[0].Raw, []byte("{")) {
		return nil, -1
	}
	from := lines[0].At - piece.At
	var at scan
	for k := range lines {
		if at.scanPart(lines[k].Raw); at.depth > 0 || at.quoted {
			continue
		}
		line := lines[0]
		line.Span.Len = lines[k].At + lines[k].Len - lines[0].At
		line.Raw = escapeControls(piece.Raw[from : from+line.Len])
		if k == 0 || !l.isRecord(line.Raw) {
			return nil, -1
		}
		list = []Record[R]{{Salvaged: true}}
		if err := l.decodeInto(&line, &list[0]); err != nil {
			return nil, -1
		}
		return list, k
	}
	return nil, -1
}

// scan is where the reading of a JSON text stands: how deep in objects and lists, in a string or
// behind the backslash of one.
type scan struct {
	depth           int
	quoted, escapes bool
}

// scanPart reads on over a part of the text.
func (s *scan) scanPart(part []byte) {
	for _, c := range part {
		s.readByte(c)
	}
}

// readByte reads one byte.
func (s *scan) readByte(c byte) {
	switch {
	case s.escapes:
		s.escapes = false
	case s.quoted && c == '\\':
		s.escapes = true
	case c == '"':
		s.quoted = !s.quoted
	case s.quoted:
	case c == '{' || c == '[':
		s.depth++
	case c == '}' || c == ']':
		s.depth--
	}
}

// escapeControls returns a JSON text whose strings have control characters, with these escaped.
func escapeControls(text []byte) (out []byte) {
	var at scan
	for _, c := range text {
		if at.quoted && c < ' ' {
			out = fmt.Appendf(out, `\u%04x`, c)
			at.escapes = false
			continue
		}
		at.readByte(c)
		out = append(out, c)
	}
	return out
}

// isRecord reports whether an object is a record, and no part of one.
func (l *Lines[R]) isRecord(object []byte) bool {
	return !slices.ContainsFunc(l.Members, func(name string) bool { return jsontape.FindMember(object, `"`+name+`"`) == nil })
}

// wholeIn returns where in a damaged line whole objects stand: those at its beginning, one
// behind the other, and those at its end, behind what was torn.
func wholeIn(line []byte) []Span {
	list, end, _ := findObjects(line, 0)
	const leastCost = 16
	for budget := searchedOften * len(line); end < len(line) && budget > 0; {
		next := bytes.Index(line[end+1:], []byte(`{"`))
		if next < 0 {
			break
		}
		from := end + 1 + next
		more, behind, cost := findObjects(line, from)
		if behind == len(line) {
			return append(list, more...)
		}
		end, budget = from, budget-max(cost, leastCost)
	}
	return list
}

// findObjects returns where objects stand one behind the other from a place in a line on, where
// they end, and how many bytes were looked at.
func findObjects(line []byte, from int) (list []Span, end, cost int) {
	for at := from; ; {
		at += len(line[at:]) - len(bytes.TrimLeft(line[at:], "\x00 \t\r\ufeff"))
		if at == len(line) || line[at] != '{' {
			return list, at, at - from
		}
		end, err := jsontape.Skip(line, at)
		if err != nil {
			seen := len(line)
			if why := (*jsontape.SyntaxError)(nil); errors.As(err, &why) {
				seen = int(why.Offset)
			}
			return list, at, seen - from
		}
		list = append(list, Span{int64(at), int64(end - at)})
		at = end
	}
}
