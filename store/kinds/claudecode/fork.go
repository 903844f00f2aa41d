package claudecode

import (
	"fmt"
	"path"
	"slices"

	"hindcast/model"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// NewID implements chat.Forker.
func (f *format) NewID(as string) (string, error) { return chat.UUID4(as) }

// Fork implements chat.Forker: a new file of the records on the way to the entry, in the
// order of the file, under the new id. Of an answer all records and all results are on it.
func (f *format) Fork(c chat.Cut) (*chat.Fork, error) {
	records := c.Session.Own.(*own).file
	if path.Dir(c.Session.Spot.ID) != "." || records.Records[records.At(c.To.Records[0].At)].Is.side {
		return nil, &model.UnsupportedError{Op: model.OpFork, Reason: "Claude Code resumes no conversation of a sub-agent: fork from what started it"}
	}
	made, err := f.copySession(c, c.Session.Path(c.To), recordsOnPath(c), nil)
	if err != nil {
		return nil, err
	}
	if c.Op != model.OpFork || c.Gone {
		return made, nil
	}
	for _, call := range f.Calls(c.Session, c.To) {
		made.Hazards = append([]string{"no fork is needed: Claude Code goes on from here by itself with " + call.Call}, made.Hazards...)
	}
	return made, nil
}

// link is the member by which a record names the one before it, and the id that it gets.
type link = [2]string

// Join implements chat.Joiner: a new file of the records of the entries, in the order of the
// file. Where an entry does not follow the one before it, its first record is linked anew.
func (f *format) Join(c chat.Cut, entries []*chat.Entry) (*chat.Fork, error) {
	t := c.Session.Own.(*own).lineage
	on, links, has := map[int]bool{}, map[chat.Span]link{}, map[string]bool{}
	kept := entries[:0:0]
	for _, e := range entries {
		first := t.file.At(e.Records[0].At)
		if id := t.file.Records[first].Is.id; has[id] && id != "" {
			continue // it was written again
		}
		for _, span := range e.Records {
			at := t.file.At(span.At)
			on[at], has[t.file.Records[at].Is.id] = true, true
		}
		top := t.addBetween(first, on)
		for _, span := range e.Records[1:] {
			t.addBetween(t.file.At(span.At), on)
		}
		if n := len(kept); n == 0 && e.Parent != "" && t.up[top] >= 0 {
			links[t.file.Records[top].Span] = link{"parentUuid", chat.Nothing}
		} else if n > 0 && e.Parent != kept[n-1].ID {
			last := kept[n-1].Records[len(kept[n-1].Records)-1]
			links[t.file.Records[top].Span] = t.linkTo(top, t.file.At(last.At))
		}
		kept = append(kept, e)
	}
	for i := range on {
		if span := t.file.Records[i].Span; t.strays[i] && links[span][1] == "" {
			links[span] = t.linkTo(i, t.up[i])
		}
	}
	return f.copySession(c, kept, t.file.SpansOn(on, c.To), links)
}

// addBetween adds the records between i and the message before it. It returns the first record that it added,
// or i itself.
func (t *lineage) addBetween(i int, on map[int]bool) int {
	for up := t.up[i]; up >= 0 && !on[up] && !t.file.Records[up].Is.speaks && t.file.Records[up].Is.given == nil; up = t.up[i] {
		on[up] = true
		i = up
	}
	return i
}

// linkTo returns the link by which a record follows another one.
func (t *lineage) linkTo(i, before int) link {
	member := "parentUuid"
	if is := &t.file.Records[i].Is; is.bounds != nil && is.parent == "" {
		member = "logicalParentUuid"
	}
	return link{member, t.file.Records[before].Is.id}
}

// copySession returns a new session of records, under the new id. Those with a link name another one as
// the one before them.
func (f *format) copySession(c chat.Cut, entries []*chat.Entry, keep []chat.Span, links map[chat.Span]link) (*chat.Fork, error) {
	raw, err := chat.Raw(c.In.Tree, c.Session.Spot.File, keep)
	if err != nil {
		return nil, err
	}
	var data []byte
	for i, line := range raw {
		members := [][2]string{{"sessionId", c.ID}}
		if anew, linked := links[keep[i]]; linked {
			members = append(members, anew)
		}
		named, err := chat.WithTexts(line, members...)
		if err != nil {
			return nil, err
		}
		data = append(append(data, named...), '\n')
	}
	name := tree.Join(path.Dir(c.Session.Spot.File), c.ID+suffix)
	made := &chat.Fork{
		Spot:   f.Spot(name),
		Steps:  tree.Steps{{Name: name, Data: data}},
		Writes: []string{fmt.Sprintf("%s: %s of the path, under the new id", name, model.Count(len(keep), "record"))},
		Calls:  []model.Resume{{Call: resume(c.Session, c.To, c.ID), Then: "goes on from there in the new session"}},
	}
	reads := c.Session.Reads(c.Session.At(c.To.ID))
	if last := &c.Session.Entries[reads[len(reads)-1]]; asks[last.Event] && last.Said.Role != chat.Assistant {
		made.Hazards = append(made.Hazards, unansweredHazard)
	}
	return made, f.copyAgents(c, entries, made)
}

const unansweredHazard = `it ends with a message that has no answer: Claude Code puts "No response requested." behind it, then your words`

// asks has the events of messages that ask for an answer.
var asks = map[string]bool{"": true, eventNotified: true, eventQueued: true, eventCompaction: true}

// copyAgents adds the sub-agents that the path started. Claude Code resumes without them;
// they are for who reads the new session.
func (f *format) copyAgents(c chat.Cut, entries []*chat.Entry, made *chat.Fork) error {
	agents, on := c.Session.Own.(*own).agents, map[string]bool{}
	for _, e := range entries {
		on[e.ID] = true
	}
	var list []string
	for i := range c.Session.Entries {
		if on[c.Session.Entries[i].ID] {
			list = append(list, agents[i]...)
		}
	}
	if len(list) == 0 {
		return nil
	}
	var names []string
	for _, file := range append(list, agents[-1]...) {
		names = append(names, file, metaFile(file))
	}
	return made.CopyAgents(c.In, tree.Join(tree.Join(path.Dir(c.Session.Spot.File), c.ID), subagents), len(list), names)
}

// recordsOnPath returns the records on the way to an entry: its own and those of the entries before
// it, and the others that stand between them in the tree.
func recordsOnPath(c chat.Cut) (list []chat.Span) {
	t, on := c.Session.Own.(*own).lineage, map[int]bool{}
	for _, e := range c.Session.Path(c.To) {
		for _, span := range e.Records {
			for i := t.file.At(span.At); i >= 0 && !on[i]; i = t.up[i] {
				on[i] = true
			}
		}
	}
	return t.file.SpansOn(on, c.To)
}

// FindRepeats implements chat.Editor. A record has the output of a tool once more, for the screen.
func (f *format) FindRepeats(_ chat.Role, own, r chat.Value, found func(place string, text chat.Value)) {
	if r != own {
		return
	}
	done := r.Get("toolUseResult")
	found("result", done)
	found("output", done.Get("stdout"))
	for part := range done.Get("content").Each() {
		found("part", part.Get("text"))
	}
}

// Calls implements chat.Caller: on the path Claude Code itself goes back to a message,
// with a flag that it does not document. It refuses a branch that it left, and what is before
// the last compaction; at the summary itself it forgets what the compaction kept. The call names
// the last record, which may be what the model was given beside a message.
func (f *format) Calls(s *chat.Session, e *chat.Entry) []model.Resume {
	if !uuids().MatchString(s.Spot.ID) || s.Head < 0 {
		return nil
	}
	if s.IsHead(e) {
		return []model.Resume{{Call: resume(s, e, s.Spot.ID), Then: "goes on from here"}}
	}
	if !slices.Contains(sinceCompaction(s), e) {
		return nil
	}
	end := e.Records[len(e.Records)-1]
	for _, r := range s.Own.(*own).file.Records {
		if r.Span == end && uuids().MatchString(r.Is.id) && len(s.Open(e)) == 0 {
			return []model.Resume{{Call: resume(s, e, s.Spot.ID, "-p", "--resume-session-at", r.Is.id, "--fork-session", "…"), Then: "goes on from here in a new session"}}
		}
	}
	return nil
}

// sinceCompaction returns the entries on the way to the head behind the last compaction.
func sinceCompaction(s *chat.Session) []*chat.Entry {
	path := s.Path(&s.Entries[s.Head])
	for i, e := range slices.Backward(path) {
		if e.Context != nil {
			return path[i+1:]
		}
	}
	return path
}

// resume returns the call that resumes a session: in the folder of its project, where older
// versions look for it, though it may have gone on in another one.
func resume(s *chat.Session, e *chat.Entry, id string, more ...string) string {
	dir := e.Meta.Dir
	if project := path.Base(path.Dir(s.Spot.File)); chat.DashedPath(dir) != project && chat.DashedPath(s.Project) == project {
		dir = s.Project
	}
	return s.Command(dir, append([]string{"claude", "--resume", id}, more...)...)
}
