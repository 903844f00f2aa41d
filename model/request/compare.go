package request

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/align"
	"hindcast/model/jsontape"
	"hindcast/model/splice"
)

// Comparison compares a request with an earlier one.
type Comparison struct {
	// Messages is how many messages the earlier request has.
	Messages int
	// Kept are the messages of the earlier request that the later one has too, Dropped the other ones, and New those that
	// the later one alone has; all by their numbers, in order.
	Kept, Dropped, New []int
	// Common is how many messages both begin with.
	Common int
	// Changes are the other differences, and what became of the beginning that a cache had.
	Changes []Change
}

// Change is a difference between two requests.
type Change struct {
	Kind ChangeKind
	// Text says it in a few words: "tools changed (+Skill)". It is untrusted.
	Text string
	// Old and New are the nodes of a changed part of the system prompt, or of a rewritten message, in the earlier and in
	// the later request; jsontape.None where a request lacks it, and for other changes.
	Old, New jsontape.Node
}

// Texts returns the old and the new text of a change: a string as it is, another value as indented JSON, "" for none.
func (c *Change) Texts(earlier, later *Outline) (old, new string) {
	return textIn(earlier.Tape, c.Old), textIn(later.Tape, c.New)
}

// textIn returns the text that is all of a block, else its JSON.
func textIn(t *jsontape.Tape, n jsontape.Node) string {
	if n < 0 {
		return ""
	}
	if text := t.Find(n, "text"); t.Kind(text) == jsontape.String {
		n = text
	}
	if t.Kind(n) == jsontape.String {
		return t.Text(n)
	}
	return string(splice.Pretty(t.Raw(n)))
}

// ChangeKind is the kind of a difference.
type ChangeKind uint8

// The kinds. A provider's cache has the beginning of a request, in the order tools, system prompt, messages, for one
// model. All kinds but Dropped and Setting change the beginning.
const (
	ModelChanged ChangeKind = iota
	ToolsChanged
	SystemChanged
	SettingChanged // one that a cache depends on
	Rewritten      // a message with others behind it that stayed
	Dropped        // messages that are no longer sent
	Setting        // one that no cache depends on
)

var changeWords = [...]string{"model", "tools", "system", "setting", "rewritten", "dropped", "other-setting"}

// String returns the kind in a word.
func (k ChangeKind) String() string { return changeWords[k] }

// Breaks reports whether the change leaves nothing of the beginning behind it for a cache to have.
func (k ChangeKind) Breaks() bool { return k < Dropped }

// cached are the settings that Anthropic's cache of messages depends on.
var cached = []string{"thinking", "tool_choice"}

// Compare compares a request with an earlier one. What one of them does not tell counts as no change.
func Compare(earlier, later *Outline) *Comparison {
	c := &Comparison{Messages: len(earlier.sums)}
	add := func(kind ChangeKind, format string, args ...any) {
		c.Changes = append(c.Changes, Change{kind, fmt.Sprintf(format, args...), jsontape.None, jsontape.None})
	}
	if a, b := earlier.Model, later.Model; a != b && a != "" && b != "" {
		add(ModelChanged, "model changed (%s, was %s)", b, a)
	}
	if earlier.Tools > 0 && later.Tools > 0 {
		if names := compareTools(earlier.tools(), later.tools()); len(names) > 0 {
			const most = 6
			more := ""
			if len(names) > most {
				names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
			}
			add(ToolsChanged, "tools changed (%s%s)", strings.Join(names, ", "), more)
		}
	}
	if a, b := earlier.system(), later.system(); len(a) > 0 && len(b) > 0 {
		for i := range max(len(a), len(b)) {
			old, now := partAt(a, i), partAt(b, i)
			if old.sum == now.sum {
				continue
			}
			what := "changed"
			switch {
			case old.node < 0:
				what = "is new"
			case now.node < 0:
				what = "is gone"
			}
			c.Changes = append(c.Changes, Change{SystemChanged, fmt.Sprintf("system block %d %s", i+1, what), old.node, now.node})
		}
	}
	for _, key := range changedSettings(earlier.Tape, later.Tape) {
		kind := Setting
		if slices.Contains(cached, key) {
			kind = SettingChanged
		}
		add(kind, "%s changed", key)
	}
	c.compareMessages(earlier.sums, later.sums)
	switch n := len(c.Dropped); {
	case n == 0:
	case c.isRewritten():
		old, now := earlier.Conversation.Message(c.Dropped[0]).Node, later.Conversation.Message(c.New[0]).Node
		c.Changes = append(c.Changes, Change{Rewritten, fmt.Sprintf("message %d rewritten", c.Common+1), old, now})
	default:
		add(Dropped, "kept %d of %s, dropped %d", len(c.Kept), model.Count(c.Messages, "message"), n)
	}
	return c
}

// isRewritten reports whether another message stands in the place of each that was dropped, with messages behind it
// that stayed.
func (c *Comparison) isRewritten() bool {
	if len(c.Kept) == c.Common {
		return false
	}
	for i, m := range c.Dropped {
		if i >= len(c.New) || c.New[i] != m {
			return false
		}
	}
	return true
}

// compareMessages fills in which messages the requests have in common: as many as can be kept in their order.
func (c *Comparison) compareMessages(a, b []uint64) {
	for c.Common < min(len(a), len(b)) && a[c.Common] == b[c.Common] {
		c.Common++
	}
	var l align.Aligner
	kept := make([]bool, len(b))
	for i, j := range l.Align(a, b) {
		if j == align.None {
			c.Dropped = append(c.Dropped, i)
			continue
		}
		c.Kept = append(c.Kept, i)
		kept[j] = true
	}
	for j := range kept {
		if !kept[j] {
			c.New = append(c.New, j)
		}
	}
}

// tool is a tool of a request.
type tool struct {
	name string
	sum  uint64
}

func (o *Outline) tools() (list []tool) {
	for i := range o.Blocks {
		if b := &o.Blocks[i]; b.Kind == Tool {
			list = append(list, tool{b.Name, sumOf(o.Tape, b.Node)})
		}
	}
	return list
}

// compareTools returns the names of the tools that came (+), went (−) or are described in another way (~).
func compareTools(a, b []tool) (names []string) {
	of := func(list []tool, name string) int {
		return slices.IndexFunc(list, func(t tool) bool { return t.name == name })
	}
	for _, t := range b {
		switch i := of(a, t.name); {
		case i < 0:
			names = append(names, "+"+t.name)
		case a[i].sum != t.sum:
			names = append(names, "~"+t.name)
		}
	}
	for _, t := range a {
		if of(b, t.name) < 0 {
			names = append(names, "−"+t.name)
		}
	}
	if len(names) == 0 && !slices.Equal(a, b) {
		names = []string{"their order"}
	}
	return names
}

// systemPart is a part of a system prompt.
type systemPart struct {
	node jsontape.Node
	sum  uint64
}

// partAt returns a part, one without a node behind the last.
func partAt(list []systemPart, i int) systemPart {
	if i < len(list) {
		return list[i]
	}
	return systemPart{node: jsontape.None}
}

// system returns the parts of the system prompt.
func (o *Outline) system() (list []systemPart) {
	for i := range o.Blocks {
		if b := &o.Blocks[i]; b.Kind == System && b.Message < 0 {
			list = append(list, systemPart{b.Node, sumOf(o.Tape, b.Node)})
		}
	}
	return list
}

// parts are the members of a request that are no settings.
var parts = []string{"model", "system", "tools", "messages"}

// changedSettings returns the keys of the settings in which two requests differ, in the order of the later one.
func changedSettings(a, b *jsontape.Tape) (keys []string) {
	look := func(of, in *jsontape.Tape, equal bool) {
		for n := of.First(0); of.Kind(0) == jsontape.Object && n >= 0; n = of.Next(n) {
			key := of.Key(n)
			if slices.Contains(parts, key) {
				continue
			}
			if m := in.Find(0, key); m < 0 || equal && !jsontape.Equal(of, n, in, m) {
				keys = append(keys, key)
			}
		}
	}
	look(b, a, true)
	look(a, b, false)
	return keys
}

// sumOf returns a hash of a value without its marks of a cache. A message with one text has that of one with the text in
// a block.
func sumOf(t *jsontape.Tape, n jsontape.Node) uint64 {
	text, err := t.AppendCanonical(nil, n, func(key string) bool { return key == CacheControl })
	if err != nil {
		text = t.Raw(n)
	}
	if content := t.Find(n, "content"); t.Kind(content) == jsontape.String && t.Count(n) == 2 && t.Find(n, "role") >= 0 {
		said, _ := t.AppendCanonical(nil, content, nil) // a string has a form
		role, _ := t.AppendCanonical(nil, t.Find(n, "role"), nil)
		text = slices.Concat([]byte(`{"content":[{"text":`), said, []byte(`,"type":"text"}],"role":`), role, []byte(`}`))
	}
	h := fnv.New64a()
	h.Write(text)
	return h.Sum64()
}

// IsNew reports whether a block of the later request is of a message that the earlier one does not have.
func (c *Comparison) IsNew(b *Block) bool {
	_, is := slices.BinarySearch(c.New, b.Message)
	return is
}

// IsDropped reports whether a block of the earlier request is of a message that the later one does not have.
func (c *Comparison) IsDropped(b *Block) bool {
	_, is := slices.BinarySearch(c.Dropped, b.Message)
	return is
}

// Counts says how many messages stayed: "kept 2 of 7, dropped 5, new 3".
func (c *Comparison) Counts() string {
	text := fmt.Sprintf("kept %d of %d", len(c.Kept), c.Messages)
	if n := len(c.Dropped); n > 0 {
		text += fmt.Sprintf(", dropped %d", n)
	}
	if n := len(c.New); n > 0 {
		text += fmt.Sprintf(", new %d", n)
	}
	return text
}
