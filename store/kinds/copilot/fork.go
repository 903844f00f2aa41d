package copilot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// NewID implements chat.Forker.
func (f *format) NewID(as string) (string, error) { return chat.UUID4(as) }

// Fork implements chat.Forker: a new folder with the events up to the entry, of
// which the first names the new session, and the description of the session.
func (f *format) Fork(c chat.Cut) (*chat.Fork, error) { return f.Join(c, c.Session.Path(c.To)) }

// Join implements chat.Joiner. Events stand in their order, and the first behind a gap names the last before it.
func (f *format) Join(c chat.Cut, entries []*chat.Entry) (*chat.Fork, error) {
	s := c.Session
	refuse := func(why string) (*chat.Fork, error) {
		return nil, &model.UnsupportedError{Op: model.OpFork, Reason: why}
	}
	if s.Spot.Part != "" {
		return refuse("Copilot CLI does not go on with the conversation of a sub-agent: fork the session that started it")
	}
	keep, start := eventsTo(s, c.To)
	if start < 0 {
		return refuse("no event before it starts the session: Copilot CLI would not resume the new one")
	}
	keep, behind := leaveOut(s, keep, s.Path(c.To), entries)
	raw, err := chat.Raw(c.In.Tree, s.Spot.File, keep)
	if err != nil {
		return nil, err
	}
	var data []byte
	for i, line := range raw {
		if i == start {
			line, err = withSessionID(line, c.ID)
		}
		if err == nil && behind[keep[i]] != "" {
			line, err = chat.WithTexts(line, [2]string{"parentId", behind[keep[i]]})
		}
		if err != nil {
			return nil, err
		}
		data = append(append(data, line...), '\n')
	}
	about, err := descriptionFor(c.In, s, c.ID)
	if err != nil {
		return nil, err
	}
	name := tree.Join(c.ID, eventsFile)
	return &chat.Fork{
		Spot:    f.Spot(name),
		Steps:   tree.Steps{{Name: name, Data: data}, {Name: tree.Join(c.ID, workspaceFile), Data: about}},
		Writes:  []string{fmt.Sprintf("%s: %s of the path, as they are but for the id of the session", name, model.Count(len(keep), "event"))},
		Hazards: lockHolders(c.In, s.Spot),
		Calls:   []model.Resume{{Call: s.Command("", "copilot", "--resume="+c.ID), Then: "goes on from there in the new session"}},
	}, nil
}

// eventsTo returns the events up to an entry and to the end of its turn, in the order of the file. start is
// the index of the event that starts the session, or -1. Of the events that Copilot CLI skips,
// only the ancestors of the entry are included.
func eventsTo(s *chat.Session, to *chat.Entry) (list []chat.Span, start int) {
	leads := map[chat.Span]bool{}
	for _, e := range s.Path(to) {
		for _, span := range e.Records {
			leads[span] = true
		}
	}
	start = -1
	last, end := to.Records[len(to.Records)-1], -1 // end is how many are up to the entry
	for i := range s.Own.(*chat.File[record]).Records {
		r := &s.Own.(*chat.File[record]).Records[i]
		if isPassedOver(r) && !leads[r.Span] {
			continue
		}
		if end >= 0 && r.Is.agent == "" && goesOn(r.Is.kind) {
			break
		}
		if r.Is.kind == typeStart && start < 0 && end < 0 {
			start = len(list)
		}
		list = append(list, r.Span)
		if end >= 0 && r.Is.agent == "" && r.Is.kind == typeTurnEnd {
			return list, start
		}
		if r.Span == last {
			end = len(list)
		}
	}
	if end >= 0 { // the turn has no end
		list = list[:end]
	}
	return list, start
}

// leaveOut takes the events of the entries of a way that are not kept out of a list. What the session was set to stays.
// behind has the ids of the events that those behind a gap follow.
func leaveOut(s *chat.Session, list []chat.Span, way, kept []*chat.Entry) (left []chat.Span, behind map[chat.Span]string) {
	behind = map[chat.Span]string{}
	if len(way) == len(kept) {
		return list, behind
	}
	leaves := map[chat.Span]bool{} // by the first record of each entry
	for _, e := range way {
		leaves[e.Records[0]] = !slices.Contains(kept, e)
	}
	file := s.Own.(*chat.File[record])
	out, gap, last := false, false, ""
	for _, span := range list {
		is := &file.Records[file.At(span.At)].Is
		if goes, begins := leaves[span]; begins {
			out = goes
		}
		if out && (!strings.HasPrefix(is.kind, "session.") || is.kind == typeUsage) {
			gap = true
			continue
		}
		if left = append(left, span); gap {
			behind[span] = last
		}
		gap, last = false, is.id
	}
	return left, behind
}

// goesOn reports whether an event of a type begins what is behind a turn, or behind a message in
// one.
func goesOn(kind string) bool {
	switch kind {
	case typeStart, typeResume, typeShutdown, typeTurnStart, typeFail, typeCompaction, typeCleared:
		return true
	}
	return isMessage(kind)
}

// withSessionID returns the event that starts a session, of another one.
func withSessionID(line []byte, id string) ([]byte, error) {
	t, err := jsontape.Parse(line)
	if err != nil {
		return nil, err
	}
	p := jsontape.NewPatch(t)
	p.Put(t.Find(0, "data"), "sessionId", jsontape.AppendQuoted(nil, id))
	return p.Bytes(), nil
}

var idLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^id:.*$`) })

// descriptionFor returns the session's workspace.yaml under another id, or a new one if it is missing.
func descriptionFor(in engine.In, s *chat.Session, id string) ([]byte, error) {
	text, err := []byte(nil), fs.ErrNotExist
	if len(s.Spot.More) > 0 {
		text, err = tree.Head(in.Tree, s.Spot.More[0], mostDescribed)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return append(jsontape.AppendQuoted([]byte("id: "+id+"\ncwd: "), s.Project), '\n'), nil
	}
	if err != nil {
		return nil, err
	}
	return idLine().ReplaceAllLiteral(text, []byte("id: "+id)), nil
}

var lockName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^inuse\.(\d{1,9})\.lock$`) })

// lockHolders says which processes have a session open, by the locks that they hold.
func lockHolders(in engine.In, at chat.Spot) (list []string) {
	names, err := in.List(path.Dir(at.File))
	if err != nil {
		return nil
	}
	for _, name := range names {
		if found := lockName().FindStringSubmatch(name); found != nil && isRunning(found[1]) {
			list = append(list, "process "+found[1]+" has the session open; the fork is another one")
		}
	}
	return list
}

// isRunning reports whether there is a process of a number.
func isRunning(number string) bool {
	pid, err := strconv.Atoi(number)
	if err != nil {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil || runtime.GOOS == "windows" {
		return err == nil
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, fs.ErrPermission)
}
