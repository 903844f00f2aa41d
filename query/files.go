package query

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/filechange"
	"hindcast/model/jsontape"
)

// FileStep has the commands that ran and the files that changed, by the messages that a visit adds.
type FileStep struct {
	Visit model.Node
	// Effects are in the order of the messages.
	Effects []filechange.Effect
	// Unread is the error that kept the state from being read, or nil.
	Unread error
}

// Changes yields the changes of a step, each with the call that it came by.
func (s *FileStep) Changes() iter.Seq2[*filechange.Effect, *filechange.Change] {
	return func(yield func(*filechange.Effect, *filechange.Change) bool) {
		for i := range s.Effects {
			e := &s.Effects[i]
			for k := range e.Changes {
				if !yield(e, &e.Changes[k]) {
					return
				}
			}
		}
	}
}

// ownFiles returns a FileStep for each visit whose messages tell of commands or of files, in the order in which the visits
// were recorded. Each message is read once, and counts once on a path.
func (q *Session) ownFiles(ctx context.Context, whole bool) iter.Seq2[FileStep, error] {
	return func(yield func(FileStep, error) bool) {
		v := q.view()
		lists := v.messageLists(newNumbered())
		reader := filechange.Reader{Whole: whole}
		effects := map[int32][]filechange.Effect{} // by the number of a message
		lists.decoded = func(number int32, c *conversation.Conversation) {
			for m := range c.Len() {
				if found := reader.Read(c, m); len(found) > 0 {
					effects[number] = append(effects[number], found...)
				}
			}
		}
		found := make(map[model.Node]FileStep)
		told := map[int32][]model.Node{} // the visits that tell of a message
		for n, err := range v.walkDown(ctx, func(at model.Node) error {
			step := FileStep{Visit: at}
			added, _, err := lists.adds(at)
			if wrong := (*jsontape.SyntaxError)(nil); err != nil && (v.rope(at).err != nil || errors.As(err, &wrong)) {
				step.Unread, err = err, nil
			}
			for _, number := range added {
				if list := effects[number]; len(list) > 0 && !v.leadsFrom(told[number], at) {
					step.Effects = append(step.Effects, list...)
					told[number] = append(told[number], at)
				}
			}
			if len(step.Effects) > 0 || step.Unread != nil {
				found[at] = step
			}
			return err
		}) {
			if err != nil {
				yield(FileStep{}, err)
				return
			}
			step, has := found[n]
			if delete(found, n); has && !yield(step, nil) {
				return
			}
		}
	}
}

// leadsFrom reports whether one of the visits leads to another.
func (v *view) leadsFrom(visits []model.Node, n model.Node) bool {
	for len(visits) > 0 && n != model.NoNode {
		if slices.Contains(visits, n) {
			return true
		}
		n = v.visits[n].parent
	}
	return false
}

// FileRange is the steps between two snapshots: those that are taken back on the way to the last one that both come
// of, the newest first, and those that lead from there.
type FileRange struct{ Back, Forth []FileStep }

// FilesBetween returns the steps from one visit to another, which may be on another branch. From model.NoNode it is all
// that leads to the other.
func (q *Session) FilesBetween(ctx context.Context, from, to model.Node, whole bool) (r FileRange, err error) {
	parting := Parting{B: Line{Fork: model.NoNode, Since: q.view().path(to)}}
	if from != model.NoNode {
		parting = q.Diverge(from, to)
	}
	way := map[model.Node]*[]FileStep{}
	for _, n := range parting.A.Since {
		way[n] = &r.Back
	}
	for _, n := range parting.B.Since {
		way[n] = &r.Forth
	}
	for step, err := range q.AllFiles(ctx, whole) {
		if err != nil {
			return FileRange{}, err
		}
		if list := way[step.Visit]; list != nil {
			*list = append(*list, step)
		}
	}
	depth := map[model.Node]int{} // a parent may be recorded after its child
	for i, n := range slices.Concat(parting.A.Since, parting.B.Since) {
		depth[n] = i
	}
	byPath := func(a, b FileStep) int { return depth[a.Visit] - depth[b.Visit] }
	slices.SortStableFunc(r.Forth, byPath)
	slices.SortStableFunc(r.Back, byPath)
	slices.Reverse(r.Back)
	return r, nil
}

// Changes yields the changes, those that are taken back inverted, each with how it came.
func (r *FileRange) Changes() iter.Seq2[string, filechange.Change] {
	return func(yield func(string, filechange.Change) bool) {
		for i := range r.Back {
			var back []filechange.Change
			var hows []string
			for e, c := range r.Back[i].Changes() {
				back, hows = append(back, c.Invert()), append(hows, "undone: "+e.How())
			}
			for k := range slices.Backward(back) {
				if !yield(hows[k], back[k]) {
					return
				}
			}
		}
		for i := range r.Forth {
			for e, c := range r.Forth[i].Changes() {
				if !yield(e.How(), *c) {
					return
				}
			}
		}
	}
}

// Fold folds the changes, those that are taken back inverted.
func (r *FileRange) Fold() *filechange.Folds {
	s := new(filechange.Folds)
	for _, c := range r.Changes() {
		s.Add(&c)
	}
	return s
}

// FileSum adds up the changes of one file by several steps.
type FileSum struct {
	Path string
	// Steps counts the changes, and Added and Removed their lines, as far as they are known.
	Steps, Added, Removed int
	// Inferred and NotRecorded count the changes that are not recorded as patches.
	Inferred, NotRecorded int
	// More counts the files without a name, where Path is "".
	More int
}

// FileSums adds up the changes of steps, by the paths of the files, in the order in which they changed first.
type FileSums struct {
	list []FileSum
	at   map[string]int
}

// Add adds a change.
func (s *FileSums) Add(c *filechange.Change) {
	if s.at == nil {
		s.at = map[string]int{}
	}
	i, known := s.at[c.Path]
	if !known {
		i = len(s.list)
		s.at[c.Path], s.list = i, append(s.list, FileSum{Path: c.Path})
	}
	sum := &s.list[i]
	added, removed := c.Count()
	sum.Steps, sum.Added, sum.Removed, sum.More = sum.Steps+1, sum.Added+added, sum.Removed+removed, sum.More+c.More
	switch {
	case c.Known == filechange.Inferred:
		sum.Inferred++
	case c.Known == filechange.NotRecorded && c.Path != "":
		sum.NotRecorded++
	}
}

// All returns the sums.
func (s *FileSums) All() []FileSum { return s.list }

// Touched is a step of a session that touched a file.
type Touched struct {
	Source
	Timeline *model.Timeline
	FileStep
	// Err says why the session could not be read; then there is no step.
	Err error
}

// FileSearch selects the steps of sessions.
type FileSearch struct {
	// Paths are the files: each a whole path, or its last names.
	Paths []string
	// Since leaves out sessions that did not change since; zero for no limit.
	Since time.Time
	// Whole has the texts before and after a change read, too.
	Whole bool
	// Called leaves out the changes that only an agent's copies of files tell of: a person may have made them.
	Called bool
}

// FilesAcross yields the steps of sessions that touched files, with the effects that did, in the order of sessions and
// within one in that of its visits. Sessions that do not mention the last name of a file are passed over without being
// read, where their store can tell. timeline reads the timeline of a session. An error is one of sessions, or the end
// of ctx, and ends the sequence.
func FilesAcross(ctx context.Context, sessions iter.Seq2[Source, error], search FileSearch, timeline func(context.Context, Source) (*model.Timeline, error)) iter.Seq2[Touched, error] {
	return func(yield func(Touched, error) bool) {
		var mentions []*Pattern // of the last names
		var known []string
		for _, path := range search.Paths {
			names := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
			if last := len(names) - 1; last >= 0 && !slices.Contains(known, names[last]) {
				known, mentions = append(known, names[last]), append(mentions, Literal(names[last], MatchCase))
			}
		}
		for in, err := range sessions {
			if err = cmp.Or(err, ctx.Err()); err != nil {
				yield(Touched{}, err)
				return
			}
			isOlder := !in.UpdatedAt.IsZero() && in.UpdatedAt.Before(search.Since)
			if isOlder || !slices.ContainsFunc(mentions, func(p *Pattern) bool { return !p.passesOver(ctx, in) }) {
				continue
			}
			isOf := func(c *filechange.Change) bool {
				return slices.ContainsFunc(search.Paths, func(path string) bool { return c.IsOf(path, in.Project) })
			}
			t, err := timeline(ctx, in)
			if err == nil {
				q := Open(in.Store, t)
				for step, wrong := range q.collectFiles(ctx, fileSteps{whole: search.Whole, called: search.Called}, nil) {
					if err = wrong; err != nil {
						break
					}
					if step.keepChanges(isOf); len(step.Effects) > 0 && !yield(Touched{Source: in, Timeline: t, FileStep: step}, nil) {
						return
					}
				}
			}
			if err != nil && ctx.Err() == nil && !yield(Touched{Source: in, Err: err}, nil) {
				return
			}
		}
	}
}

// keepChanges keeps the changes that are wanted, and the effects that have some.
func (s *FileStep) keepChanges(wanted func(*filechange.Change) bool) {
	var kept []filechange.Effect
	for _, e := range s.Effects {
		var changes []filechange.Change
		for _, c := range e.Changes {
			if wanted(&c) {
				changes = append(changes, c)
			}
		}
		if e.Changes = changes; len(changes) > 0 {
			kept = append(kept, e)
		}
	}
	s.Effects = kept
}

// TextBefore returns the text of a file before the step of a visit, as the records of the path on which the visit stands
// have it: the text that the tool recorded, or what the changes before or after it come to. path is the whole path, or
// its last names, below dir. The error may be one of [filechange.TextBetween].
func (q *Session) TextBefore(ctx context.Context, n model.Node, path, dir string) (text, file string, err error) {
	v := q.view()
	next := make(map[model.Node]model.Node, len(v.visits)) // as the session went on
	for n := range v.nodes() {
		if parent := v.visits[n].parent; v.visits[n].onPath || next[parent] == 0 {
			next[parent] = n
		}
	}
	tip := n
	for next[tip] > tip {
		tip = next[tip]
	}
	r, err := q.FilesBetween(ctx, model.NoNode, tip, true)
	if err != nil {
		return "", "", err
	}
	on := map[model.Node]bool{}
	for _, at := range v.path(n) {
		on[at] = at != n
	}
	var before, after []filechange.Change
	for i := range r.Forth {
		for _, c := range r.Forth[i].Changes() {
			switch {
			case !c.IsOf(path, dir):
			case on[r.Forth[i].Visit]:
				before = append(before, *c)
			default:
				after = append(after, *c)
			}
		}
	}
	all := append(slices.Clone(before), after...)
	if len(all) == 0 {
		return "", "", errors.New("no step on its path tells of such a file")
	}
	text, err = filechange.TextBetween(before, after)
	return text, all[0].Path, err
}
