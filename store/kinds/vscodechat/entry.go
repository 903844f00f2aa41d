package vscodechat

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
)

// origin says which message an entry is: its pieces are the records of the entry.
type origin struct {
	role   chat.Role
	pieces []piece
	model  string
	usage  conversation.Usage
	// speaks says that the words of the entry come from texts, and not from a thought.
	speaks bool
}

// answer is a list of entries in the making.
type answer struct{ list []chat.Entry }

// lastEntry returns the last entry, if it is of a role and fits; else a new one behind it.
func (a *answer) lastEntry(role chat.Role, fits bool) *chat.Entry {
	if n := len(a.list); fits && n > 0 && a.list[n-1].Said.Role == role {
		return &a.list[n-1]
	}
	a.list = append(a.list, chat.Entry{Said: chat.Said{Role: role}, Own: &origin{role: role}})
	return &a.list[len(a.list)-1]
}

// addPiece adds a value to an entry, and what it says.
func addPiece(e *chat.Entry, p piece, said chat.Said, speaks bool) {
	from := e.Own.(*origin)
	from.pieces = append(from.pieces, p)
	e.Records = append(e.Records, p.Span)
	switch {
	case speaks && from.speaks:
		e.Said.Words = conversation.Cut(conversation.OneLine(e.Said.Words+" "+said.Words), conversation.MaxTitle)
	case speaks:
		e.Said.Words, from.speaks = said.Words, true
	default:
		e.Said.Words = cmp.Or(e.Said.Words, said.Words)
	}
	e.Said.Calls = append(e.Said.Calls, said.Calls...)
	e.Said.Results = append(e.Said.Results, said.Results...)
}

// buildEntries returns the entries of a request: the person's words, then the answer.
func (r *request) buildEntries() []chat.Entry {
	from := &origin{role: chat.User, pieces: r.members}
	e := chat.Entry{At: r.at, Said: r.said, Own: from}
	e.Said.Role = chat.User
	if r.result != nil {
		from.pieces = append(from.pieces[:len(from.pieces):len(from.pieces)], r.result.context...)
	}
	for _, p := range from.pieces {
		e.Records = append(e.Records, p.Span)
	}
	a := &answer{list: []chat.Entry{e}}
	rounds := r.result != nil && len(r.result.rounds) > 0
	if rounds {
		a.addRounds(r.result)
	}
	a.addParts(r, rounds)
	if r.result != nil {
		for _, p := range r.result.failure {
			e := a.lastEntry(chat.Assistant, true)
			addPiece(e, p, chat.Said{Words: p.name}, false)
			e.Marks |= model.MarkError
		}
	}
	if last := &a.list[len(a.list)-1]; len(a.list) > 1 {
		last.At = r.done
		if last.At.IsZero() && r.result != nil && r.result.elapsed > 0 && !r.at.IsZero() {
			last.At = r.at.Add(r.result.elapsed)
		}
		for i := len(a.list) - 1; i > 0; i-- {
			if from := a.list[i].Own.(*origin); from.role == chat.Assistant {
				a.list[i].GoesOn = i < len(a.list)-1
				if from.model = r.model; r.result != nil {
					from.model = cmp.Or(r.result.model, r.model)
				}
			}
		}
		if from := last.Own.(*origin); from.role == chat.Assistant && r.result != nil {
			from.usage = r.result.usage
		}
	}
	return a.list
}

// addRounds adds the answers of the model and the results of their calls.
func (a *answer) addRounds(r *result) {
	for i := range r.rounds {
		one := &r.rounds[i]
		e := a.lastEntry(chat.Assistant, false)
		e.At = one.at
		addPiece(e, one.piece, one.said, true)
		for k, p := range one.results {
			said := one.yield
			said.Results = said.Results[k : k+1]
			addPiece(a.lastEntry(chat.Tool, k > 0), p, said, false)
		}
	}
}

// addParts adds the parts of a response, or those that no round says.
func (a *answer) addParts(r *request, rounds bool) {
	var done []*part
	flush := func() {
		for i, p := range done {
			output := p.piece
			output.as = asOutput
			addPiece(a.lastEntry(chat.Tool, i > 0), output, p.yield, false)
		}
		done = nil
	}
	for i := range r.parts {
		p := &r.parts[i]
		if p.said.Words == "" && !p.calls || rounds && (p.calls || p.begins != "" && strings.Contains(r.result.text, p.begins)) {
			continue
		}
		if !p.calls {
			flush()
		}
		e := a.lastEntry(chat.Assistant, true)
		addPiece(e, p.piece, p.said, p.speaks)
		if p.done {
			done = append(done, p)
		}
	}
	flush()
}

// buildMessage returns the message of the pieces, whose values are given.
func (o *origin) buildMessage(raw [][]byte) (chat.Message, error) {
	m := chat.Message{Role: o.role, Model: o.model, Usage: o.usage}
	text, members := "", []byte(nil)
	var context []chat.Block
	for i, p := range o.pieces {
		v, err := chat.Parse(raw[i])
		if err != nil {
			return m, err
		}
		if p.as == asMember || p.as == asContext {
			members = append(append(jsontape.AppendQuoted(append(members, ','), p.key), ':'), raw[i]...)
		} else {
			m.Raw = append(m.Raw, raw[i])
		}
		switch p.as {
		case asMember:
			switch list := v; p.key {
			case "message", "message.text":
				text = textOf(v)
			case "variableData":
				list = v.Get("variables")
				fallthrough
			case "variableData.variables":
				for is := range list.Each() {
					value := is.Get("value")
					about := cmp.Or(value.Text(), value.Get("fsPath").Text(), value.Get("path").Text(), value.Get("uri", "fsPath").Text(), value.Get("uri", "path").Text())
					context = append(context, chat.ContextBlock(cmp.Or(is.Get("kind").Text(), "attachment"), is.Get("name").Text(), about))
				}
			}
		case asContext:
			context = append(context, chat.ContextBlock(p.key, "", textOf(v)))
		case asPart:
			blocks, _ := partBlocks(v)
			m.Blocks = joinTexts(m.Blocks, blocks)
		case asOutput:
			_, b := partBlocks(v)
			m.Blocks = append(m.Blocks, b)
		case asRound:
			m.Blocks = append(m.Blocks, roundBlocks(v)...)
		case asResult:
			m.Blocks = append(m.Blocks, resultBlock(v, p))
		case asFailure:
			m.Blocks = append(m.Blocks, chat.FailureBlock(raw[i]))
		}
	}
	if o.role == chat.User {
		m.Blocks = append(context, textBlock(text))
		m.Raw = [][]byte{slices.Concat([]byte("{"), bytes.TrimPrefix(members, []byte(",")), []byte("}"))}
	}
	return m, nil
}

// joinTexts appends blocks. A text goes on in the text before it, which VS Code divides at names of files.
func joinTexts(list, blocks []chat.Block) []chat.Block {
	for _, b := range blocks {
		if n := len(list); n > 0 && b.Kind == conversation.Text && list[n-1].Kind == conversation.Text {
			was := list[n-1].Body
			b.Body = slices.Concat(was[:len(was)-1], b.Body[1:])
			list = list[:n-1]
		}
		list = append(list, b)
	}
	return list
}
