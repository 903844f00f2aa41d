package query

import (
	"bytes"
	"context"
	"hash/maphash"
	"slices"
	"strings"
	"unicode/utf8"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
)

// seed is of the hashes that tell texts of a session apart.
var seed = maphash.MakeSeed()

// spelledSeed is of the hashes of texts as JSON escapes them.
var spelledSeed = maphash.MakeSeed()

// scanAhead searches a session as far as that needs no reading of it.
func (f *scanning) scanAhead(ctx context.Context, of *searched) {
	scanner := of.Store.Features().Scanner
	if scanner == nil || f.spelled == nil || f.Exact || f.Orphaned || f.All {
		of.done = f.Pattern.passesOver(ctx, of.Source)
		return
	}
	f.begin(ctx, of)
	done, err := scanner.Scan(ctx, of.ID, store.Scan{Text: f.tellingText(), Next: f.nextSpelled, Decided: f.isDecided, Take: f.takeMessage})
	if of.done = done && err == nil && !f.unsure || f.ended; of.done { // reading the session tells what is wrong
		of.rest = f.part
		return
	}
	if len(f.told) == 0 {
		of.done = f.Pattern.passesOver(ctx, of.Source)
		return
	}
	f.flushPart()
	of.told, f.told = f.told, nil
}

// scanning is the search of one session after another by scans.
type scanning struct {
	*HomeSearch
	ctx context.Context
	of  *searched
	// told has the texts that were found, and decided those too that contain the needle and do not match, by their hashes and
	// by those of their spellings with escapes.
	told, decided map[uint64]bool
	// part waits to be sent, and has size bytes of text. ended says that no more is asked for.
	part  []SessionHit
	size  int
	ended bool
	// sent counts what was handed over.
	sent int
	// unsure says that the session has to be read to know more of a text.
	unsure bool
	read   *located
	// unquoted is the string at hand without escapes.
	unquoted []byte
}

// mostTold bounds the texts of a session that another one is searched with the memory of.
const mostTold = 1 << 12

// begin makes the scanning that of a session, in the memory of the one before.
func (f *scanning) begin(ctx context.Context, of *searched) {
	if f.told == nil || len(f.decided) > mostTold {
		f.told, f.decided = map[uint64]bool{}, map[uint64]bool{}
	}
	clear(f.told)
	clear(f.decided)
	s := f.HomeSearch
	read := &located{read: func(ctx context.Context) (*model.Timeline, error) { return s.readTimeline(ctx, of.Source) }}
	*f = scanning{HomeSearch: s, ctx: ctx, of: of, told: f.told, decided: f.decided, read: read, unquoted: f.unquoted}
}

// isDecided reports whether a string was found or does not match, as far as that is known of its spelling.
func (f *scanning) isDecided(quoted []byte) bool {
	text := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		return f.decided[maphash.Bytes(spelledSeed, text)]
	}
	return f.decided[maphash.Bytes(seed, text)]
}

// takeMessage finds the pattern in the strings and numbers of a message. It returns false to end the scan.
func (f *scanning) takeMessage(m *store.Scanned) bool {
	from, end := 0, 0 // of the last string
	for at := f.nextSpelled(m.JSON, 0); at >= 0; {
		for end <= at {
			from, end = jsontape.NextString(m.JSON, end)
		}
		behind := at + 1
		switch {
		case from < at && at < end-1:
			if !f.takeText(m, from+1, end-1) {
				return false
			}
			behind = end
		case at < from && isNumeric(m.JSON[at]):
			first, last := at, at
			for first > 0 && isNumeric(m.JSON[first-1]) {
				first--
			}
			for last < from && isNumeric(m.JSON[last]) {
				last++
			}
			if isNumber(m.JSON[first:last]) && !f.takeText(m, first, last) {
				return false
			}
			behind = last
		}
		at = f.nextSpelled(m.JSON, behind)
	}
	return true
}

// longestNeedle bounds the bytes of a text by which [SessionHit.Locate] looks for it.
const longestNeedle = 200

// takeText takes the text of a string, or the number, that a message has from a place on, if the pattern matches. It returns
// false to end the scan.
func (f *scanning) takeText(m *store.Scanned, from, to int) bool {
	text := m.JSON[from:to]
	var spelled uint64
	if bytes.IndexByte(text, '\\') >= 0 {
		if spelled = maphash.Bytes(spelledSeed, text); f.decided[spelled] {
			return true
		}
		f.unquoted = jsontape.AppendUnquoted(slices.Grow(f.unquoted[:0], len(text)), m.JSON[from-1:to+1])
		text = f.unquoted
	}
	sum := maphash.Bytes(seed, text)
	if f.decided[sum] {
		return true
	}
	first, last, ok := f.find(text)
	if !ok {
		f.decided[sum], f.decided[spelled] = true, true
		return true
	}
	hit := SessionHit{Source: f.of.Source, At: m.At, place: m.Place, nth: m.Nth, read: f.read}
	hit.From, hit.To = first, last
	hit.Visit, hit.Active, hit.Message, hit.Role, hit.Path = model.NoNode, model.NoNode, -1, m.Role, m.Path
	behind := bytes.TrimLeft(m.JSON[to:], "\" \t\r\n")
	hit.Key = len(behind) > 0 && behind[0] == ':'
	for i := range m.Blocks {
		if b := &m.Blocks[i]; b.From <= from && from < b.To {
			if hit.Tool, hit.Failed = b.Tool, b.Failed; hit.Tool == "" && (f.Tool != "" || !f.Counts) {
				if hit.Tool, ok = m.ToolOf(b.Call); !ok {
					f.unsure = true
					return false
				}
			}
		}
	}
	if f.Role != "" && !strings.EqualFold(hit.Role, f.Role) || f.Tool != "" && (hit.Tool != f.Tool || hit.Key) || f.Failed && !hit.Failed {
		return true
	}
	f.told[sum], f.decided[sum], f.decided[spelled] = true, true, true
	if f.Counts && len(f.part) > 0 {
		f.part[0].More++
		return f.ctx.Err() == nil
	}
	hit.Text, hit.sum = string(text), sum
	end := min(hit.To, hit.From+longestNeedle)
	for end > hit.From && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	hit.needle = string(text[hit.From:end])
	f.part, f.size = append(f.part, hit), f.size+len(text)
	f.ended = f.OnlyFirst
	return (f.Counts || f.sendPart()) && !f.ended
}

// mostSent bounds the text that waits for a reader, and mostWaiting the hits that wait for more.
const mostSent, mostWaiting = 1 << 20, 256

// sendPart hands over what waits if the reader is ready, or if it is much. It reports whether to go on. The first hit is
// handed over at once, and later ones as many together as were handed over before.
func (f *scanning) sendPart() bool {
	if len(f.part) < min(f.sent, mostWaiting) && f.size <= mostSent {
		return f.ctx.Err() == nil
	}
	select {
	case f.of.parts <- f.part:
		f.sent += len(f.part)
		f.part, f.size = nil, 0
	default:
		if f.size > mostSent {
			return f.flushPart()
		}
	}
	return f.ctx.Err() == nil
}

// flushPart hands over what waits. It reports whether to go on.
func (f *scanning) flushPart() bool {
	if len(f.part) == 0 {
		return true
	}
	select {
	case f.of.parts <- f.part:
		f.part, f.size = nil, 0
		return true
	case <-f.ctx.Done():
		return false
	}
}
