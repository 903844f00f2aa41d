package pickle

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"hindcast/model/jsontape"
)

// writer writes values as JSON.
type writer struct {
	dst   []byte
	most  int
	depth int
}

func (w *writer) writeLiteral(json string) { w.dst = append(w.dst, json...) }

func (w *writer) writeQuoted(text []byte) { w.dst = jsontape.AppendQuoted(w.dst, string(text)) }

func (w *writer) writeValue(v *value) error {
	if len(w.dst) > w.most {
		return ErrLarge
	}
	switch v.kind {
	case isNone:
		w.writeLiteral("null")
	case isBool, isNumber:
		w.dst = append(w.dst, v.data...)
	case isFloat:
		w.writeFloat(v.float)
	case isText:
		w.writeQuoted(v.data)
	case isBytes:
		w.writeLiteral(`{"$bytes":"`)
		w.dst = base64.StdEncoding.AppendEncode(w.dst, v.data)
		w.writeLiteral(`"}`)
	case isGlobal:
		w.writeLiteral(`{"$global":`)
		w.writeQuoted(v.data)
		w.writeLiteral("}")
	default:
		return w.writeContainer(v)
	}
	return nil
}

// writeFloat writes a number so that it is seen to be one with a point.
func (w *writer) writeFloat(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.writeLiteral(`{"$float":"` + strconv.FormatFloat(f, 'g', -1, 64) + `"}`)
		return
	}
	text := strconv.AppendFloat(nil, f, 'g', -1, 64)
	if !slices.ContainsFunc(text, func(c byte) bool { return c == '.' || c == 'e' }) {
		text = append(text, ".0"...)
	}
	w.dst = append(w.dst, text...)
}

// writeContainer writes a value that has others in it.
func (w *writer) writeContainer(v *value) error {
	switch {
	case v.open > 0:
		w.dst = fmt.Appendf(w.dst, `{"$cycle":%d}`, w.depth-v.open+1)
		return nil
	case w.depth == maxDepth:
		return ErrDepth
	}
	w.depth++
	v.open = w.depth
	defer func() { w.depth--; v.open = 0 }()
	switch v.kind {
	case isList, isTuple:
		return w.writeList(v.items)
	case isDict:
		w.writeLiteral("{")
		err := w.writeMembers(v.items, false)
		w.writeLiteral("}")
		return err
	case isSet, isFrozen:
		class := `{"$py":"builtins.set","value":`
		if v.kind == isFrozen {
			class = `{"$py":"builtins.frozenset","value":`
		}
		w.writeLiteral(class)
		err := w.writeList(v.items)
		w.writeLiteral("}")
		return err
	case isPersistent:
		w.writeLiteral(`{"$persistent":`)
		err := w.writeValue(v.of)
		w.writeLiteral("}")
		return err
	}
	return w.writeObject(v)
}

func (w *writer) writeList(items []*value) error {
	w.writeLiteral("[")
	for i, v := range items {
		if i > 0 {
			w.writeLiteral(",")
		}
		if err := w.writeValue(v); err != nil {
			return err
		}
	}
	w.writeLiteral("]")
	return nil
}

// writeMembers writes keys and values, with a comma before the first if others stand there.
func (w *writer) writeMembers(items []*value, more bool) error {
	for i := 0; i+1 < len(items); i += 2 {
		if i > 0 || more {
			w.writeLiteral(",")
		}
		from := len(w.dst)
		if err := w.writeValue(items[i]); err != nil {
			return err
		}
		if key := string(w.dst[from:]); key[0] != '"' {
			w.dst = jsontape.AppendQuoted(w.dst[:from], key)
		}
		w.writeLiteral(":")
		if err := w.writeValue(items[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// writeObject writes what would be made by calling a class, or a function.
func (w *writer) writeObject(v *value) error {
	if data := v.packedBytes(); data != nil {
		return w.writeValue(data)
	}
	of, with := v.of, v.classArguments()
	if of.isClass("copy_reg._reconstructor") && len(with) == 3 {
		// How protocols 0 and 1 write any object: the class, its base, and what that has.
		of, with = with[0], with[2:]
		if with[0].kind == isNone {
			with = nil
		}
	}
	w.writeLiteral(`{"$py":`)
	if of.kind == isGlobal {
		w.writeQuoted(of.data)
	} else if err := w.writeValue(of); err != nil {
		return err
	}
	made := len(with) > 0 || v.named != nil || len(v.items) > 0
	if made {
		if err := w.madeOf(of, with, v); err != nil {
			return err
		}
	}
	err := w.writeState(v.state, made)
	w.writeLiteral("}")
	return err
}

// classArguments returns the arguments for the class of an object.
func (v *value) classArguments() []*value {
	if v.with.kind == isTuple {
		return v.with.items
	}
	return []*value{v.with}
}

// isClass reports whether a value is a class or a function of a name.
func (v *value) isClass(name string) bool { return v.kind == isGlobal && string(v.data) == name }

// packedBytes returns the bytes value that v represents, or nil. Protocols 0 to 2 write bytes as a text to be
// encoded.
func (v *value) packedBytes() *value {
	switch {
	case v.kind == isBytes:
		return v
	case v.kind != isObject || v.state != nil || v.named != nil || len(v.items) > 0:
		return nil
	case v.of.isClass("builtins.bytes") && v.with.kind == isTuple && len(v.with.items) == 0:
		return &value{kind: isBytes}
	case !v.of.isClass("_codecs.encode") || len(v.classArguments()) != 2:
		return nil
	}
	text, as := v.classArguments()[0], v.classArguments()[1]
	if data, ok := latin1(text.data); ok && text.kind == isText && as.kind == isText && string(as.data) == "latin1" {
		return &value{kind: isBytes, data: data}
	}
	return nil
}

// madeOf writes what an object is made of: the one value, or the list of several; and its
// elements, which are the value where there is no other.
func (w *writer) madeOf(of *value, with []*value, v *value) error {
	key := `,"value":`
	if len(with) > 0 {
		w.writeLiteral(key)
		key = `,"items":`
		if err := w.classArguments(of, with); err != nil {
			return err
		}
	}
	if len(v.items) > 0 && v.pairs {
		w.writeLiteral(key + "{")
		if err := w.writeMembers(v.items, false); err != nil {
			return err
		}
		w.writeLiteral("}")
	} else if len(v.items) > 0 {
		w.writeLiteral(key)
		if err := w.writeList(v.items); err != nil {
			return err
		}
	}
	if v.named != nil {
		w.writeLiteral(`,"keywords":`)
		return w.writeValue(v.named)
	}
	return nil
}

// classArguments writes what a class would be handed. The bytes in which a datetime or a date is
// packed are written as the time that they are.
func (w *writer) classArguments(of *value, with []*value) error {
	if data := with[0].packedBytes(); of.kind == isGlobal && data != nil {
		if text := timeOf(string(of.data), data.data); text != "" {
			with = slices.Clone(with)
			if len(with) == 2 && with[1].zoneOffset() != "" {
				text += with[1].zoneOffset()
				with = with[:1]
			}
			with[0] = &value{kind: isText, data: []byte(text)}
		}
	}
	if len(with) == 1 {
		return w.writeValue(with[0])
	}
	return w.writeList(with)
}

// zoneOffset returns the UTC offset of a fixed time zone, or "" for any other value or a zone with a name.
func (v *value) zoneOffset() string {
	if v.kind != isObject || !v.of.isClass("datetime.timezone") || len(v.classArguments()) != 1 {
		return ""
	}
	delta := v.classArguments()[0]
	if delta.kind != isObject || !delta.of.isClass("datetime.timedelta") || len(delta.classArguments()) != 3 {
		return ""
	}
	days, err := strconv.Atoi(string(delta.classArguments()[0].data))
	seconds, failed := strconv.Atoi(string(delta.classArguments()[1].data))
	if err != nil || failed != nil || days < -1 || days > 0 || seconds < 0 || seconds >= 24*3600 || seconds%60 != 0 {
		return ""
	}
	sign, minutes := '+', seconds/60
	if days < 0 {
		sign, minutes = '-', 24*60-minutes
	}
	return fmt.Sprintf("%c%02d:%02d", sign, minutes/60, minutes%60)
}

// timeOf decodes the bytes of a datetime or a date, or returns "".
func timeOf(class string, b []byte) string {
	switch {
	case class == "datetime.datetime" && len(b) == 10:
		micro := uint32(b[7])<<16 | uint32(b[8])<<8 | uint32(b[9])
		return fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02d.%06d", binary.BigEndian.Uint16(b), b[2]&0x7f, b[3], b[4], b[5], b[6], micro)
	case class == "datetime.date" && len(b) == 4:
		return fmt.Sprintf("%04d-%02d-%02d", binary.BigEndian.Uint16(b), b[2], b[3])
	}
	return ""
}

// writeState writes what an object is given once it is made: its members, where they cannot be
// taken for something else.
func (w *writer) writeState(state *value, made bool) error {
	if state == nil || state.kind == isNone {
		return nil
	}
	parts := []*value{state}
	if state.kind == isTuple && len(state.items) == 2 { // of a class with slots
		parts = state.items
	}
	for _, p := range parts {
		if p.kind != isDict && (p.kind != isNone || len(parts) == 1) || p.open > 0 || p.isTaken(made) {
			w.writeLiteral(`,"state":`)
			return w.writeValue(state)
		}
	}
	for _, p := range parts {
		if err := w.writeMembers(p.items, true); err != nil {
			return err
		}
	}
	return nil
}

// isTaken reports whether a dict has a key that means something beside "$py".
func (v *value) isTaken(made bool) bool {
	for i := 0; i+1 < len(v.items); i += 2 {
		switch k := v.items[i]; {
		case k.kind != isText:
			return true
		case string(k.data) == "$py", made && (string(k.data) == "value" || string(k.data) == "items" || string(k.data) == "keywords"):
			return true
		}
	}
	return false
}

// protocol0Text returns a string of Python 2: text where it is UTF-8, else bytes.
func protocol0Text(data []byte) value {
	if utf8.Valid(data) {
		return value{kind: isText, data: data}
	}
	return value{kind: isBytes, data: data}
}

// latin1 returns the bytes whose characters a text has.
func latin1(text []byte) ([]byte, bool) {
	data := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if r > 0xff {
			return nil, false
		}
		data = append(data, byte(r))
	}
	return data, true
}
