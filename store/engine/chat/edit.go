package chat

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/media/tree"
)

// An edit is a fork in whose files a text is another one:
//
//	state    {"messages":[…,{"role":"user","content":[{"text":"…"}],"raw":…}]}
//	                                                         ▲ edited
//	record   {"uuid":…,"message":{"content":"…"}}            the string that the state shows there
//	repeat   {"type":"event_msg","payload":{"message":"…"}}  the same words, beside it
//
// Each string of the entry's records that reads so is tried. The right one makes the new session read as the edited
// state does.

// Editor is a [Forker] whose agent goes on with a text that was changed.
type Editor interface {
	Forker
	// FindRepeats calls found with the strings of a record that may repeat a text of a message, each with the name of its
	// place. The record is own, which has the message, or is near it. Among equal strings of one place the nearest changes.
	FindRepeats(role Role, own, record Value, found func(place string, text Value))
}

// Omitter is an Editor whose agent omits messages of a session that it resumes: it makes them anew, or sends none.
type Omitter interface {
	// Omits reports whether the agent omits the messages of an entry.
	Omits(e *Entry) bool
}

// textEdit is a text of a state, and the JSON string in its place.
type textEdit struct {
	node    jsontape.Node
	message int
	now     []byte
}

// readEdits returns the texts in which an edited state differs from the old one.
func readEdits(old *jsontape.Tape, edited []byte) (list []textEdit, err error) {
	refuse := func(pointer, why string) ([]textEdit, error) {
		return nil, &model.UnsupportedError{Op: model.OpEdit, Reason: cmp.Or(pointer, "the state") + ": " + why}
	}
	is, err := jsontape.Parse(edited)
	if err != nil {
		return nil, fmt.Errorf("the edited state: %w", err)
	}
	c := conversation.Decode(old)
	for _, p := range differences(old, is) {
		pointer := old.Pointer(p[0])
		text, why := c.EditableText(p[0])
		switch {
		case why == "" && text != p[0]:
			return refuse(pointer, conversation.EditedTexts+", such as "+old.Pointer(text))
		case why != "":
			return refuse(pointer, why)
		case is.Kind(p[1]) != jsontape.String:
			return refuse(pointer, "only a text takes the place of a text: give a JSON string")
		case strings.TrimSpace(is.Text(p[1])) == "":
			return refuse(pointer, "providers refuse an empty text: --drop leaves whole turns out")
		}
		list = append(list, textEdit{text, c.Find(text), is.Raw(p[1])})
	}
	if len(list) == 0 {
		return refuse("", "nothing was changed; a fork makes a session of it as it is")
	}
	return list, nil
}

// differences returns the smallest values in which two texts differ, as nodes of both, in their order.
func differences(a, b *jsontape.Tape) (list [][2]jsontape.Node) {
	todo := [][2]jsontape.Node{{0, 0}}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		kind := a.Kind(p[0])
		if kind == b.Kind(p[1]) && bytes.Equal(a.Raw(p[0]), b.Raw(p[1])) || jsontape.Equal(a, p[0], b, p[1]) {
			continue
		}
		var within [][2]jsontape.Node
		same := kind == b.Kind(p[1]) && (kind == jsontape.Array || kind == jsontape.Object) && a.Count(p[0]) == b.Count(p[1])
		if same {
			for x, y := a.First(p[0]), b.First(p[1]); x >= 0; x, y = a.Next(x), b.Next(y) {
				same = same && bytes.Equal(a.RawKey(x), b.RawKey(y))
				within = append(within, [2]jsontape.Node{x, y})
			}
		}
		if !same {
			list = append(list, p)
			continue
		}
		slices.Reverse(within)
		todo = append(todo, within...)
	}
	return list
}

// planEdit plans a session that ends with an entry, in which texts of its state are other ones.
func (s *Store) planEdit(ctx context.Context, in engine.In, before *engine.Log, at int, c model.Change) (*engine.Move, error) {
	one, editor := before.Own.(*Session), s.format.(Editor)
	if err := one.refusesOpen(c.Op, at); err != nil {
		return nil, err
	}
	state, err := s.stateWith(ctx, in, one, at, one.Reads(at))
	if err != nil {
		return nil, err
	}
	old, err := jsontape.Parse(state)
	if err != nil {
		return nil, err
	}
	edits, err := readEdits(old, c.State)
	if err != nil {
		return nil, err
	}
	var changed []string
	m, err := s.planSession(in, before, at, c, func(cut Cut) (*Fork, error) {
		made, err := editor.Fork(cut)
		if err != nil {
			return nil, err
		}
		e := &editing{s, editor, cut.In, made, jsontape.NewPatch(old)}
		for _, edit := range edits {
			n, err := e.changeText(ctx, edit)
			if err != nil {
				return nil, err
			}
			text := "edited: " + old.Pointer(edit.node)
			if n > 1 {
				text += fmt.Sprintf(", in %d places", n)
			}
			changed = append(changed, text)
		}
		return made, nil
	})
	if err == nil {
		m.Carries = changed
	}
	return m, err
}

// messagesIn returns the roles and the contents of the messages of a state. How a tool ended, which its text may tell, is left
// out.
func messagesIn(state []byte) (list []string) {
	v, _ := Parse(state) // it was made of records that were parsed
	for m := range v.Get("messages").Each() {
		content := bytes.ReplaceAll(m.Get("content").Raw(), []byte(`"status":"error"`), []byte(`"status":"success"`))
		list = append(list, m.Get("role").Text()+" "+string(content))
	}
	return list
}

// editing is a fork whose texts are changed one after the other.
type editing struct {
	*Store
	editor Editor
	in     engine.In
	fork   *Fork
	// state is the state at the end of the fork, with the changes that were made.
	state *jsontape.Patch
}

// read returns the session of the fork as its files are now, with the messages of its state.
func (e *editing) read(ctx context.Context) (in engine.In, one *Session, messages []string, err error) {
	in = e.in
	in.Tree, in.There = tree.Overlay(e.in.Tree, e.fork.Steps, nil), true
	if one, err = e.decodeSession(ctx, in, e.fork.Spot); err != nil || one.Head < 0 {
		return in, one, nil, err
	}
	state, err := e.stateWith(ctx, in, one, one.Head, one.Reads(one.Head))
	return in, one, messagesIn(state), err
}

// mostTried bounds the strings of a record that are tried.
const mostTried = 64

// changeText changes a text in the files of the fork. It returns in how many places the text stood.
func (e *editing) changeText(ctx context.Context, edit textEdit) (int, error) {
	t := e.state.Tape()
	refuse := func(why string) (int, error) {
		return 0, &model.UnsupportedError{Op: model.OpEdit, Reason: t.Pointer(edit.node) + ": " + why}
	}
	in, one, shows, err := e.read(ctx)
	if err != nil {
		return 0, err
	}
	if !slices.Equal(shows, messagesIn(e.state.Bytes())) {
		return refuse("a fork from here has other messages than this state: fork, and edit that")
	}
	entry, role, err := e.entryOf(in, one, edit.message)
	if err != nil {
		return 0, err
	}
	if omits, ok := e.editor.(Omitter); ok && omits.Omits(entry) {
		return refuse(e.agent.Framework + " makes this text anew at each start, or leaves it out, so that an edit has no effect")
	}
	step := slices.IndexFunc(e.fork.Steps, func(s tree.Step) bool { return s.Name == cmp.Or(entry.File, one.Spot.File) })
	if step < 0 {
		return refuse("it is in no file of the fork")
	}
	e.state.Set(edit.node, edit.now)
	want, was := messagesIn(e.state.Bytes()), t.Text(edit.node)
	data := e.fork.Steps[step].Data
	list := stringsIn(data, entry.Records)
	list = slices.DeleteFunc(list, func(v found) bool { return v.Text() != was })
	for _, v := range list[:min(len(list), mostTried)] {
		places := append(e.repeats(data, one, entry, role, v), v.at)
		e.fork.Steps[step].Data = replaceSpans(data, places, edit.now)
		if _, _, shows, err = e.read(ctx); err != nil {
			return 0, err
		}
		if !slices.Equal(shows, want) {
			continue
		}
		if v.isSigned() {
			return refuse("its provider signed it, and the signature is of no other text")
		}
		return len(places), nil
	}
	return refuse("its record has no such string: the text is put together")
}

// entryOf returns the entry of a message of the state at the head of a session, and the role of the message.
func (e *editing) entryOf(in engine.In, one *Session, message int) (*Entry, Role, error) {
	for _, i := range one.Reads(one.Head) {
		list, err := e.format.Messages(in, one, &one.Entries[i])
		if err != nil {
			return nil, 0, err
		}
		if message < len(list) {
			return &one.Entries[i], list[message].Role, nil
		}
		message -= len(list)
	}
	return nil, 0, model.ErrNoSnapshot
}

// found is a string, with where it is in the file, and in which record.
type found struct {
	Value
	at, in Span
}

// stringsIn returns the strings of records of a file, in their order.
func stringsIn(data []byte, records []Span) (list []found) {
	for _, r := range records {
		t, err := jsontape.Parse(data[r.At : r.At+r.Len])
		if err != nil {
			continue // a space between records
		}
		for n := range jsontape.Node(t.Len()) {
			if v := (Value{t, n}); v.Kind() == jsontape.String {
				list = append(list, found{v, v.Span().shiftBy(r.At), r})
			}
		}
	}
	return list
}

// isSigned reports whether the string has a signature beside it, as parts of the Gemini API have.
func (v found) isSigned() bool {
	in := Value{v.tape, v.tape.Parent(v.node)}
	return in.Get("thoughtSignature").Text() != ""
}

// shiftBy returns the span in a text that has another one before it, of a length.
func (s Span) shiftBy(length int64) Span { return Span{s.At + length, s.Len} }

// repeats returns the strings that repeat a string of an entry, in its record and in the records around it.
func (e *editing) repeats(data []byte, one *Session, entry *Entry, role Role, of found) (list []Span) {
	taken, was, own := map[string]bool{}, of.Text(), Value{of.tape, 0}
	for i, r := range append([]Span{of.in}, linesAround(data, one, entry, of.in)...) {
		v, err := Parse(data[r.At : r.At+r.Len])
		if i == 0 {
			v = own
		}
		if err != nil || i > 0 && slices.Contains(entry.Records, r) {
			continue
		}
		here := map[string]bool{}
		e.editor.FindRepeats(role, own, v, func(place string, text Value) {
			if at := text.Span().shiftBy(r.At); text.Text() == was && at != of.at && !taken[place] {
				list, here[place] = append(list, at), true
			}
		})
		maps.Copy(taken, here)
	}
	return list
}

// linesAround returns the lines of a file around a record of an entry, the nearest first. They end with the first records of
// the entries beside it.
func linesAround(data []byte, one *Session, entry *Entry, record Span) (list []Span) {
	from, to := int64(0), int64(len(data))
	for i := range one.Entries {
		first := one.Entries[i].Records[0]
		switch {
		case one.Entries[i].ID == entry.ID:
		case first.At < record.At:
			from = max(from, first.At)
		default:
			to = min(to, first.At+first.Len)
		}
	}
	before, behind := linesIn(data, from, record.At), linesIn(data, record.At+record.Len, to)
	slices.Reverse(before)
	for i := range max(len(before), len(behind)) {
		for _, side := range [][]Span{before, behind} {
			if i < len(side) {
				list = append(list, side[i])
			}
		}
	}
	return list
}

// linesIn returns the lines of a part of a file.
func linesIn(data []byte, from, to int64) (list []Span) {
	for line := range bytes.SplitSeq(data[from:to], []byte("\n")) {
		list = append(list, Span{from, int64(len(line))})
		from += int64(len(line)) + 1
	}
	return list
}

// replaceSpans returns a text with another one in place of each span.
func replaceSpans(data []byte, spans []Span, now []byte) (out []byte) {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.At, b.At) })
	at := int64(0)
	for _, s := range spans {
		out = append(append(out, data[at:s.At]...), now...)
		at = s.At + s.Len
	}
	return append(out, data[at:]...)
}
