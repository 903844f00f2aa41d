package claudecode

import (
	"bytes"
	"hash/crc32"
	"maps"
	"slices"
	"strings"

	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// The file of a session may contain the conversations of its sub-agents. Each is a session of its own, like a
// sub-agent with a file, and hangs on the call that started it.
//
//	before 2.0       records with isSidechain, behind one that no record of the session precedes
//	2.1.3x           progress records with a message each, also beside a file of its own
//
// No file name shows them. A list has the conversations that begin near either end of the file, and all
// conversations of a session that was read.

// print tells a text from others: its checksum and its length.
type print struct {
	sum    uint32
	length int
}

func printOf(text string) print { return print{crc32.ChecksumIEEE([]byte(text)), len(text)} }

// ask is a call that starts a sub-agent with a prompt.
type ask struct {
	call   string
	prompt print
}

// asksOf returns the calls of an answer that have a prompt.
func asksOf(record chat.Value) (list []ask) {
	for block := range record.Get("message", "content").Each() {
		if prompt := block.Get("input", "prompt"); block.Get("type").Text() == "tool_use" && prompt.Kind() == jsontape.String {
			list = append(list, ask{block.Get("id").Text(), printOf(prompt.Text())})
		}
	}
	return list
}

// promptOf returns the text of a message of the user.
func promptOf(record chat.Value) print {
	content := record.Get("message", "content")
	text := content.Text()
	for block := range content.Each() {
		text += block.Get("text").Text()
	}
	return printOf(text)
}

// keepProgress keeps the message of a sub-agent that a record tells of.
func (r *record) keepProgress(v chat.Value) {
	data := v.Get("data")
	kind := data.Get("message", "type").Text()
	if data.Get("type").Text() != "agent_progress" || kind != typeUser && kind != typeAssistant {
		return
	}
	m := contentOf(v)
	r.said, r.answer, r.meta.Model = m.Summarise(), m.ID, m.Model
	r.within, r.call = agentPrefix+data.Get("agentId").Text(), v.Get("parentToolUseID").Text()
}

// sidechains are the conversations of sub-agents in the file of a session.
type sidechains struct {
	// group has the index of the first record of each sidechain record's sidechain, -1 for other records. It
	// is nil if the file has no sidechain.
	group []int
	// calls have the call that started each sidechain, by its first record. One that no call
	// started stays a part of the session.
	calls map[int]string
}

// sidechainsOf finds the sidechains of a file and what started them: the call with the prompt with which
// one begins, else the last one before it that has no result yet.
func sidechainsOf(t *lineage) (in sidechains) {
	var asks []ask
	at, results := map[string]int{}, map[string]int{}
	for i := range t.file.Records {
		is := &t.file.Records[i].Is
		if is.side && is.tree && in.group == nil {
			in.group = make([]int, len(t.file.Records))
		}
		for _, a := range is.asks {
			asks, at[a.call] = append(asks, a), i
		}
		for _, r := range is.said.Results {
			results[r.ID] = i
		}
	}
	if in.group == nil {
		return in
	}
	in.calls = map[int]string{}
	taken := map[string]bool{}
	for _, i := range t.order {
		in.group[i] = -1
		if is := &t.file.Records[i].Is; !is.side || !is.tree || t.file.Records[i].Salvaged {
			continue
		}
		if up := t.up[i]; up >= 0 && in.group[up] >= 0 {
			in.group[i] = in.group[up]
			continue
		}
		in.group[i] = i
		call := ""
		for _, a := range asks {
			open := at[a.call] < i && (results[a.call] == 0 || results[a.call] > i)
			if same := a.prompt == t.file.Records[i].Is.prompt; !taken[a.call] && (same || open) {
				if call = a.call; same {
					break
				}
			}
		}
		if call != "" {
			taken[call], in.calls[i] = true, call
		}
	}
	return in
}

// nameOf returns the name of the sub-agent whose sidechain begins with a record.
func (t *lineage) nameOf(first int) string { return agentPrefix + t.file.Records[first].Is.id }

// isForeign reports whether a record is of another session in the file.
func (b *build) isForeign(i int) bool {
	first := -1
	if b.sides.group != nil {
		first = b.sides.group[i]
	}
	_, hung := b.sides.calls[first]
	switch part := b.s.Spot.Part; {
	case part == "":
		return hung && first >= 0
	case b.file.Records[i].Is.within == part:
		return false
	default:
		return !hung || b.nameOf(first) != part
	}
}

// noteAgents notes the sessions in the file, with the entries by the calls that started them.
func (b *build) noteAgents(in engine.In, callers map[string]int, dirs ...string) {
	for _, first := range slices.Sorted(maps.Keys(b.sides.calls)) {
		if i, there := callers[b.sides.calls[first]]; there {
			b.noteInner(i, first, b.nameOf(first))
		}
	}
	told := map[string]bool{}
	for i := range b.file.Records {
		is := &b.file.Records[i].Is
		if is.within == "" || told[is.within] || !agentNames().MatchString(is.within) {
			continue
		}
		told[is.within] = true
		at, there := callers[is.call]
		if !there {
			at = b.nodes[i].entry
		}
		for _, dir := range dirs { // its own file tells more
			if look, err := in.Stamp(tree.Join(dir, is.within+suffix)); err == nil && look.Kind != files.Nothing {
				at = -1
			}
		}
		if at >= 0 {
			b.noteInner(at, i, is.within)
		}
	}
}

// noteInner notes that an entry started the session of a name, which begins with a record.
func (b *build) noteInner(entry, first int, name string) {
	b.s.Entries[entry].Starts(b.s.Spot.ID + "/" + name)
	b.s.Within = append(b.s.Within, b.innerAt(first, name))
}

// innerAt returns the session of a name that begins with a record.
func (t *lineage) innerAt(first int, name string) chat.Inner {
	var said chat.Opening
	said.Say(t.file.Records[first].Is.said)
	return chat.Inner{Name: name, Title: said.Title()}
}

// innerIn returns the sessions that begin in some lines of the file of another one.
func innerIn(lines [][]byte) (list []chat.Inner) {
	if !slices.ContainsFunc(lines, func(line []byte) bool {
		return bytes.Contains(line, []byte(`"isSidechain":true`)) || bytes.Contains(line, []byte(`"agent_progress"`))
	}) {
		return nil
	}
	file, told := &chat.File[record]{}, map[string]bool{}
	for _, line := range lines {
		if r, err := decodeLine(&chat.Line{Raw: line}); err == nil {
			file.Records = append(file.Records, chat.Record[record]{Is: r})
		}
	}
	t := lineageOf(file)
	sides := sidechainsOf(t)
	for _, first := range slices.Sorted(maps.Keys(sides.calls)) {
		if file.Records[first].Is.parent == "" {
			list = append(list, t.innerAt(first, t.nameOf(first)))
		}
	}
	for i := range file.Records {
		if name := file.Records[i].Is.within; agentNames().MatchString(name) && !told[name] {
			told[name], list = true, append(list, t.innerAt(i, name))
		}
	}
	return list
}

// Within implements chat.Nested.
func (f *format) Within(session chat.Spot, name string) (chat.Spot, bool) {
	return f.Spot(session.File + partMark + name), agentNames().MatchString(name) && !isAgent(session.File)
}

// partMark stands between the file of a session and the name of a sub-agent in it.
const partMark = "#"

// cutPart splits the name of a sub-agent's file into the session's file and the agent's part. part is "" if
// the name has no such part.
func cutPart(name string) (file, part string) {
	if at := strings.LastIndex(name, suffix+partMark+agentPrefix); at >= 0 {
		return name[:at+len(suffix)], name[at+len(suffix+partMark):]
	}
	return name, ""
}
