package report

import (
	"context"
	"crypto/sha256"
	"iter"
	"slices"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/transcript"
)

// talk is the messages that one snapshot adds.
type talk []spoken

// spoken is a message, and whether a person typed it.
type spoken struct {
	transcript.Message
	prompt bool
}

const (
	// chunkBytes is how much of a line is decoded at once, and around how many messages before and behind it, which
	// have the calls of its results, and the results of its calls.
	chunkBytes = 1 << 20
	around     = 32
	// mostWhole bounds a state without a list of messages that is decoded whole, and mostParsed all of them together.
	mostWhole  = 4 << 20
	mostParsed = 256 << 20
)

// decodeLine yields the talk of each visit of a line, in order. A result stands with its call, where they are close.
func (p *page) decodeLine(ctx context.Context, line []model.Node) iter.Seq2[talk, error] {
	return func(yield func(talk, error) bool) {
		numbers, counts := []int32(nil), make([]int, len(line))
		for i, n := range line {
			numbers = append(numbers, p.additions[n].Added...)
			counts[i] = len(p.additions[n].Added)
		}
		next, from, to := 0, 0, 0 // of the messages; those of [from, to) are decoded
		var decoded []talk
		var input talk // of a visit without a list, which a framework puts into the list of the next visit
		for i, n := range line {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			said := p.decodeWhole(n)
			for k := range counts[i] {
				if next == to {
					from = to
					for size := 0; to < len(numbers) && size < chunkBytes; to++ {
						size += p.messages.Size(int(numbers[to]))
					}
					decoded = p.decodeChunk(numbers, from, to)
				}
				if added := decoded[next-from]; k > 0 || len(added) != len(input) || !slices.EqualFunc(added, input, sameWords) {
					said = append(said, added...)
				}
				next++
			}
			if input = nil; counts[i] == 0 {
				input = said
			}
			if !yield(said, nil) {
				return
			}
		}
	}
}

// sameWords reports whether two messages are one text of the same speaker.
func sameWords(a, b spoken) bool {
	return a.Role == b.Role && len(a.Parts) == 1 && len(b.Parts) == 1 && a.Parts[0].Text != "" && a.Parts[0].Text == b.Parts[0].Text
}

// decodeChunk decodes the messages from one to another. It leaves out a result whose call is close.
func (p *page) decodeChunk(numbers []int32, from, to int) []talk {
	low, high := max(0, from-around), min(len(numbers), to+around)
	list := []byte{'['}
	for i, number := range numbers[low:high] {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, p.messages.Message(int(number))...)
	}
	said := make([]talk, to-from)
	tape, err := jsontape.Parse(append(list, ']'))
	if err != nil {
		return said // unreachable: each message was parsed
	}
	c := conversation.Decode(tape)
	at, element := tape.First(0), 0
	for m, message := range transcript.Of(c) {
		node := c.Message(m).Node
		for at != jsontape.None && tape.End(at) <= node {
			at, element = tape.Next(at), element+1
		}
		if i := low + element - from; at != jsontape.None && at <= node && i >= 0 && i < len(said) {
			said[i] = append(said[i], spoken{message, c.IsPrompt(m)})
		}
	}
	for i := range said {
		if said[i] == nil { // of a shape that is not known
			said[i] = talk{{Message: transcript.Message{Role: "unknown", Parts: []transcript.Part{
				{Kind: "unknown", Label: "message", Value: p.messages.Message(int(numbers[from+i]))},
			}}}}
		}
	}
	return said
}

// decodeWhole returns the messages of a state without a list of messages, but those that were shown before.
func (p *page) decodeWhole(n model.Node) (said talk) {
	a := &p.additions[n]
	if a.After != nil || a.Unread != nil || len(a.Before) > mostWhole || p.parsed > mostParsed {
		return nil
	}
	p.parsed += len(a.Before)
	tape, err := jsontape.Parse(p.hideState(a.Before))
	if err != nil {
		return nil
	}
	c := conversation.Decode(tape)
	for m, message := range transcript.Of(c) {
		if sum := sha256.Sum256(tape.Raw(c.Message(m).Node)); !p.told[sum] {
			p.told[sum] = true
			said = append(said, spoken{message, c.IsPrompt(m)})
		}
	}
	return said
}
