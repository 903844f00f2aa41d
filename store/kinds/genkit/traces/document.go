package traces

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hindcast/model/jsontape"
)

// Attributes of spans, as Genkit's SDKs write them. The values are strings;
// those of input and output hold JSON.
const (
	attrSubtype   = "genkit:metadata:subtype"
	attrSession   = "genkit:metadata:agent:sessionId"
	attrSnapshot  = "genkit:metadata:agent:snapshotId"
	attrInterrupt = "genkit:metadata:interrupt"
	attrInput     = "genkit:input"
	attrOutput    = "genkit:output"
	attrState     = "genkit:state"
)

// errForeign: a document that is no trace.
var errForeign = errors.New("not a trace: it has no spans")

// document is the JSON of a trace taken apart: its spans, as a tree.
type document struct {
	tape  *jsontape.Tape
	spans []span
	// below are the children of each span, by the time at which they start.
	below [][]int
	// parent is the index of each span's parent, or -1 if the trace lacks it.
	parent []int

	// seen holds for each span the number of the last walk that passed it.
	seen  []int
	walks int
}

// span is one span. Its strings are as long as in the trace.
type span struct {
	id, name, subtype string
	start, end        time.Time
	node, attrs       jsontape.Node
}

// takeApart finds the spans of a document. The error is errForeign.
func takeApart(tape *jsontape.Tape) (*document, error) {
	spans := tape.Find(0, "spans")
	if tape.Kind(spans) != jsontape.Object {
		return nil, errForeign
	}
	d := &document{tape: tape}
	at := make(map[string]int)
	var parents []string
	for n := tape.First(spans); n >= 0; n = tape.Next(n) {
		if tape.Kind(n) != jsontape.Object {
			continue
		}
		s := span{
			id: tape.Key(n), name: d.text(n, "displayName"), node: n, attrs: tape.Find(n, "attributes"),
			start: d.time(n, "startTime"), end: d.time(n, "endTime"),
		}
		s.subtype = d.text(s.attrs, attrSubtype)
		at[s.id] = len(d.spans)
		d.spans = append(d.spans, s)
		parents = append(parents, d.text(n, "parentSpanId"))
	}
	d.below, d.parent, d.seen = make([][]int, len(d.spans)), make([]int, len(d.spans)), make([]int, len(d.spans))
	for i, parent := range parents {
		d.parent[i] = -1
		if p, ok := at[parent]; ok && p != i {
			d.parent[i] = p
			d.below[p] = append(d.below[p], i)
		}
	}
	for _, list := range d.below {
		slices.SortStableFunc(list, d.byStart)
	}
	return d, nil
}

func (d *document) byStart(a, b int) int {
	return cmp.Or(d.spans[a].start.Compare(d.spans[b].start), cmp.Compare(d.spans[a].id, d.spans[b].id))
}

// text returns a member that is a string, "" for any other.
func (d *document) text(n jsontape.Node, key string) string {
	if v := d.tape.Find(n, key); d.tape.Kind(v) == jsontape.String {
		return d.tape.Text(v)
	}
	return ""
}

// attr returns the attribute of a span.
func (d *document) attr(i int, key string) string { return d.text(d.spans[i].attrs, key) }

// time returns a member that is a time in milliseconds since 1970, or the zero time for another value.
func (d *document) time(n jsontape.Node, key string) time.Time {
	v := d.tape.Find(n, key)
	if d.tape.Kind(v) != jsontape.Number {
		return time.Time{}
	}
	const last = 253402300799999 // the last of year 9999
	ms, err := strconv.ParseFloat(string(d.tape.Raw(v)), 64)
	if err != nil || !(ms > 0 && ms <= last) {
		return time.Time{}
	}
	whole, part := math.Modf(ms)
	return time.UnixMilli(int64(whole)).Add(time.Duration(part * 1e6)).UTC()
}

// failure says why a span failed, "" where it did not. The codes of the status
// are not looked at: Go and JavaScript number them differently.
func (d *document) failure(i int) string {
	message := d.text(d.tape.Find(d.spans[i].node, "status"), "message")
	switch d.attr(i, attrState) {
	case "error":
		return cutText(cmp.Or(message, "failed"), maxError)
	case "success":
		return ""
	}
	return cutText(message, maxError)
}

// isInterrupt reports whether a tool that failed did so to ask a person.
func (d *document) isInterrupt(i int) bool {
	if d.tape.Find(d.spans[i].attrs, attrInterrupt) >= 0 {
		return true // JavaScript, with what it asks
	}
	if events := d.tape.Find(d.spans[i].node, "timeEvents"); events >= 0 && bytes.Contains(d.tape.Raw(events), []byte("ToolInterruptError")) {
		return true // JavaScript
	}
	return strings.HasPrefix(d.text(d.tape.Find(d.spans[i].node, "status"), "message"), "tool execution interrupted") // Go
}

// tool reports whether a span is the run of a tool.
func (s *span) tool() bool { return s.subtype == "tool" || strings.HasPrefix(s.subtype, "tool.") }

// turn reports whether a span below an agent's is a turn.
func (s *span) turn() bool { return strings.HasPrefix(s.name, "runTurn-") }

// walk calls visit for every span below one, parents first, each once whatever
// the parents say, and goes on below those for which visit says so.
func (d *document) walk(from int, visit func(int) (deeper bool)) {
	d.walks++
	d.seen[from] = d.walks
	todo := slices.Clone(d.below[from])
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if d.seen[i] == d.walks {
			continue
		}
		d.seen[i] = d.walks
		if visit(i) {
			todo = append(todo, d.below[i]...)
		}
	}
}

// cutText cuts a text of the trace to a number of bytes.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// round is a model call with the runs of the tools that it asked for, as
// places among the spans.
type round struct {
	model int
	tools []int
}

// rounds returns the model calls of a turn and their tools, in the order of time.
// What a tool or another agent called is theirs, and not looked at.
func (d *document) rounds(turn int) []round {
	var calls []int // of models and of tools
	d.walk(turn, func(i int) bool {
		s := &d.spans[i]
		isCall := s.subtype == "model" || s.tool()
		if isCall && len(calls) < maxCalls {
			calls = append(calls, i)
		}
		return !isCall && s.subtype != "agent"
	})
	slices.SortStableFunc(calls, d.byStart)
	// The model that asked for a tool is the last one before it that the same
	// span called, or else the last one.
	var list []round
	latest := make(map[int]int) // the round of the last model below a span
	for _, i := range calls {
		parent := d.parent[i]
		if d.spans[i].subtype == "model" {
			latest[parent] = len(list)
			list = append(list, round{model: i})
			continue
		}
		at, ok := latest[parent]
		if !ok {
			at = len(list) - 1
		}
		if at >= 0 {
			list[at].tools = append(list[at].tools, i)
		}
	}
	return list
}
