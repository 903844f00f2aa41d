package codex

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"hindcast/model/jsontape"
	"hindcast/store/coding"
	"hindcast/store/folder"
)

// names are the rollouts of a storage, as far as their names tell. They are not changed.
type names struct {
	spots []coding.Spot
	// of has the spot of each file, and rollouts the files by the id of the rollout: that of
	// the segment, else that of the thread.
	of       map[string]int
	rollouts map[string][]string
	// looks are the folders in which the next rollout comes, as they were.
	looks map[string]folder.Stamp
}

// rollout is what a name tells.
type rollout struct {
	// thread is its id, and id that of the rollout. Both are UUIDs unless a name is odd.
	thread, id string
}

var (
	named  = regexp.MustCompile(`^rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-([0-9a-f-]{36})(?:_([0-9a-f-]{36}))?\.jsonl(?:\.zst)?$`)
	uuid   = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	number = regexp.MustCompile(`^\d{2}(\d{2})?$`)
)

const live, archived = "sessions", "archived_sessions"

func isUUID(id string) bool { return uuid.MatchString(id) }

// rolloutOf returns what the name of a file tells; false for that of no rollout.
func rolloutOf(file string) (r rollout, ok bool) {
	name := path.Base(file)
	if m := named.FindStringSubmatch(name); m != nil {
		return rollout{m[1], cmp.Or(m[2], m[1])}, true
	}
	name, is := strings.CutSuffix(strings.TrimSuffix(name, packed), ".jsonl")
	odd, named := strings.CutPrefix(name, "rollout-")
	return rollout{odd, odd}, is && named && odd != ""
}

// storedIn is a tree that lists nothing but rollouts and the folders that may have some: there
// is much else in the folder of Codex.
type storedIn struct{ folder.Tree }

// List implements folder.Tree.
func (t storedIn) List(dir string) ([]string, error) {
	list, err := t.Tree.List(dir)
	kept := make([]string, 0, len(list))
	for _, name := range list {
		_, is := rolloutOf(name)
		if is || number.MatchString(name) || dir == "." && (name == live || name == archived) {
			kept = append(kept, name)
		}
	}
	return kept, err
}

// Spot implements coding.Format.
func (f *format) Spot(file string) coding.Spot {
	r, _ := rolloutOf(file)
	id := r.thread
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.names != nil {
		if i, known := f.names.of[file]; known {
			id = f.names.spots[i].ID
		}
	}
	return coding.Spot{File: file, ID: id}
}

// Spots implements coding.Format.
func (f *format) Spots(ctx context.Context, in folder.In) ([]coding.Spot, error) {
	n, err := f.list(ctx, in)
	if err != nil {
		return nil, err
	}
	return slices.Clone(n.spots), nil
}

// now returns the rollouts as they are: those that were listed, where no folder changed in
// which Codex would make one.
func (f *format) now(ctx context.Context, in folder.In) (*names, error) {
	f.mu.Lock()
	n := f.names
	f.mu.Unlock()
	if n != nil {
		same := true
		for dir, was := range n.looks {
			now, err := in.Stamp(dir)
			same = same && err == nil && now.Kind == was.Kind && now.Unchanged(was.Stamp)
		}
		if same {
			return n, nil
		}
	}
	return f.list(ctx, in)
}

// list lists the rollouts.
func (f *format) list(ctx context.Context, in folder.In) (*names, error) {
	before := map[string]folder.Stamp{}
	look := in
	look.Tree = seen{storedIn{in.Tree}, before}
	files, err := coding.Walk(ctx, look, 4, func(file string) (coding.Spot, bool) {
		_, ok := rolloutOf(file)
		return coding.Spot{File: file}, ok
	})
	if err != nil {
		return nil, err
	}
	n := &names{of: map[string]int{}, rollouts: map[string][]string{}, looks: map[string]folder.Stamp{}}
	slices.SortFunc(files, func(a, b coding.Spot) int {
		return cmp.Or(cmp.Compare(path.Base(a.File), path.Base(b.File)), -cmp.Compare(a.File, b.File))
	})
	byThread := map[string]int{}
	for _, at := range files {
		n.add(at.File, byThread)
	}
	if len(files) > 0 {
		for dir := path.Dir(files[len(files)-1].File); dir != "."; dir = path.Dir(dir) {
			n.looks[dir] = before[dir]
		}
	}
	for _, dir := range []string{".", archived} {
		if at, listed := before[dir]; listed {
			n.looks[dir] = at
		}
	}
	f.nest(ctx, in, n)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names = n
	return n, nil
}

// seen is a tree that notes how the folders looked that were listed.
type seen struct {
	folder.Tree
	at map[string]folder.Stamp
}

// List implements folder.Tree.
func (t seen) List(dir string) ([]string, error) {
	if at, err := t.Stamp(dir); err == nil {
		t.at[dir] = at
	}
	return t.Tree.List(dir)
}

// add adds a file, in the order of names: to the session of its thread, unless that has a
// file of the same name from another folder.
func (n *names) add(file string, byThread map[string]int) {
	r, _ := rolloutOf(file)
	if plain, is := strings.CutSuffix(file, packed); is && slices.Contains(n.rollouts[r.id], plain) {
		return // Codex is at work on it
	}
	copied := slices.ContainsFunc(n.rollouts[r.id], func(other string) bool { return base(other) == base(file) })
	n.rollouts[r.id] = append(n.rollouts[r.id], file)
	if i, known := byThread[r.thread]; known && !copied {
		n.spots[i].More = append(n.spots[i].More, file)
		n.of[file] = i
		return
	}
	n.of[file] = len(n.spots)
	if !copied {
		byThread[r.thread] = len(n.spots)
	}
	n.spots = append(n.spots, coding.Spot{File: file, ID: r.thread})
}

// nest puts the id of the session that started a sub-agent before the sub-agent's.
func (f *format) nest(ctx context.Context, in folder.In, n *names) {
	index := f.index(ctx, in)
	parent := make(map[string]string, len(n.spots))
	for _, at := range n.spots {
		if row, known := index.rows[at.ID]; known {
			parent[at.ID] = row.parent
		} else if ctx.Err() == nil {
			parent[at.ID] = f.parentOf(in, at.File)
		}
	}
	const mostNested = 16
	for i := range n.spots {
		at := &n.spots[i]
		for up, deep := parent[at.ID], 0; up != "" && deep < mostNested && !strings.Contains("/"+at.ID+"/", "/"+up+"/"); deep++ {
			at.ID, up = up+"/"+at.ID, parent[up]
		}
	}
}

// parentOf returns the thread that the header of a rollout says started it, "" for none.
func (f *format) parentOf(in folder.In, file string) string {
	f.mu.Lock()
	is, known := f.parents[file]
	f.mu.Unlock()
	if known {
		return is
	}
	const enough = 4 << 10 // its source is before the instructions
	head, err := coding.Head(f.open(in, file).Tree, file, enough)
	if err != nil || len(head) == 0 {
		return ""
	}
	head, _, _ = bytes.Cut(head, []byte("\n"))
	_, body := open(coding.ValueOf(jsontape.Prefix(head, len(head))))
	is = parentIn(body.Get("source"))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.parents[file] = is
	return is
}

// parentIn returns the thread that started a sub-agent, by where its header says that it
// comes from; "" for none that is an id.
func parentIn(source coding.Value) string {
	if id := source.Get("subagent", "thread_spawn", "parent_thread_id").Text(); isUUID(id) {
		return id
	}
	return ""
}

// files returns the rollouts of a session in the order of their names.
func (n *names) files(at coding.Spot) []string {
	if i, known := n.of[at.File]; known {
		at = n.spots[i]
	}
	return append([]string{at.File}, at.More...)
}
