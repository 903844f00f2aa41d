package codex

import (
	"cmp"
	"context"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// names are the rollouts of a storage, as far as their names tell. They are not changed.
type names struct {
	spots []chat.Spot
	// of has the spot of each file, and threads the first one of each thread.
	of, threads map[string]int
	// strays have the thread of each rollout whose name does not tell it.
	strays map[string]string
	// rollouts are the files by the id of the rollout: that of the segment, else that of the
	// thread.
	rollouts map[string][]string
	// looks are the folders with rollouts as they were, and next those in which the next rollout comes.
	looks map[string]tree.Stamp
	next  map[string]bool
	// index is that of threads, when they were listed.
	index *threads
}

var (
	named = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^rollout-(?:\d{4}-\d\d-\d\d(?:T\d\d-\d\d-\d\d)?-)?(.+?)(?:_([0-9a-f-]{36}))?\.jsonl(?:\.zst)?$`)
	})
	number = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d{2}(\d{2})?$`) })
)

// lines is in the names of files of lines, whatever a person calls a copy of one.
const live, archived, lines = "sessions", "archived_sessions", ".jsonl"

// isUUID reports whether a text is laid out as uuids are, in lower case.
func isUUID(id string) bool { return isLaidOut(id, "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh") }

// isLaidOut reports whether each byte of a text fits the one of a layout: h a hexadecimal digit in lower case, d a
// decimal one, and another only itself.
func isLaidOut(text, layout string) bool {
	if len(text) != len(layout) {
		return false
	}
	for i := range len(text) {
		c, as := text[i], layout[i]
		fits, digit := c == as, c >= '0' && c <= '9'
		switch as {
		case 'd':
			fits = digit
		case 'h':
			fits = digit || c >= 'a' && c <= 'f'
		}
		if !fits {
			return false
		}
	}
	return true
}

// usual is the layout of most names, before their thread.
const usual = "rollout-dddd-dd-ddTdd-dd-dd-"

// threadOf returns the id of the thread that the name of a file tells, and that of the
// rollout; "" for a file that Codex did not name.
func threadOf(file string) (thread, rollout string) {
	if name, is := strings.CutSuffix(path.Base(file), lines); is && len(name) > len(usual) && isLaidOut(name[:len(usual)], usual) && isUUID(name[len(usual):]) {
		return name[len(usual):], name[len(usual):]
	}
	m := named().FindStringSubmatch(path.Base(file))
	if m == nil || !isUUID(m[1]) {
		return "", ""
	}
	return m[1], cmp.Or(m[2], m[1])
}

// threadOf returns the thread of a rollout by its name, else by its header, "" where neither tells.
func (n *names) threadOf(file string) string {
	thread, _ := threadOf(file)
	return cmp.Or(thread, n.strays[file])
}

// storedIn is a tree that lists nothing but what may be a rollout, and the folders that may have
// some: there is much else in the folder of Codex.
type storedIn struct{ tree.Tree }

// List implements tree.Tree.
func (t storedIn) List(dir string) ([]string, error) {
	list, err := t.Tree.List(dir)
	return slices.DeleteFunc(slices.Clone(list), func(name string) bool {
		return !strings.Contains(name, lines) && !number().MatchString(name) && (dir != "." || name != live && name != archived)
	}), err
}

// Spot implements chat.Format. A rollout that Codex did not name is called as its file, unless
// its header tells more.
func (f *format) Spot(file string) chat.Spot {
	if file, part, is := strings.Cut(file, "#"); is && isUUID(part) && (file == sessionIndex || database().MatchString(file)) {
		return chat.Spot{File: file, Part: part, ID: part, Named: true}
	}
	thread, _ := threadOf(file)
	name, _, _ := strings.Cut(path.Base(file), lines)
	return chat.Spot{File: file, ID: cmp.Or(thread, name)}
}

// noThread is the thread of a rollout whose header names no thread.
const noThread = "-"

// headerThreads returns the thread and the parent thread in the header of a file. thread is noThread if the header
// names none, and "" if the file is no rollout. parent is "" if no thread started it.
func (f *format) headerThreads(in engine.In, file string) (thread, parent string) {
	thread, parent, _ = strings.Cut(chat.AskHead(in, file, "thread", func(head []byte) string {
		if head = unpackedHead(head); !isRollout(head) {
			return ""
		}
		h := headerIn(head)
		return cmp.Or(idIn(h), noThread) + " " + parentIn(h.Get("source"))
	}), " ")
	return thread, parent
}

// idIn returns the thread id in a header, or "". Some headers have it only as the session's id.
func idIn(header chat.Value) string {
	for _, key := range []string{"id", "session_id"} {
		if id := header.Get(key).Text(); chat.IsPlainID(id) {
			return id
		}
	}
	return ""
}

// Spots implements chat.Format.
func (f *format) Spots(ctx context.Context, in engine.In) ([]chat.Spot, error) {
	n, err := f.listRollouts(ctx, in)
	if err != nil {
		return nil, err
	}
	var gone []chat.Spot
	if n.index.dir == f.dir { // one that is elsewhere is no part of the storage
		gone = n.withoutFiles(n.index.file, n.index.rows)
	}
	rows := maps.Clone(f.listedSessions(in))
	maps.DeleteFunc(rows, func(id string, _ row) bool { _, known := n.index.rows[id]; return known })
	return slices.Concat(n.spots, gone, n.withoutFiles(sessionIndex, rows)), nil
}

// currentNames returns the rollouts as they are: those that were listed, where no folder changed in
// which Codex would make one. A plan and its write look at every folder: they put rollouts back where they were.
func (f *format) currentNames(ctx context.Context, in engine.In) (*names, error) {
	f.mu.Lock()
	n := f.names
	f.mu.Unlock()
	if n == nil {
		return f.listRollouts(ctx, in)
	}
	for dir, was := range n.looks {
		if !in.There && !n.next[dir] {
			continue
		}
		if now, err := in.Stamp(dir); err != nil || !now.Is(was) {
			return f.listRollouts(ctx, in)
		}
	}
	return n, nil
}

// listRollouts lists the rollouts.
func (f *format) listRollouts(ctx context.Context, in engine.In) (*names, error) {
	view := tree.NewView(storedIn{in.Tree}) // which looks at a folder before it lists it
	look := in
	look.Tree = view
	strays := map[string]string{}
	list, err := chat.Walk(ctx, look, 4, func(file string) (chat.Spot, bool) {
		at := f.Spot(file)
		if !strings.Contains(path.Base(file), lines) {
			return at, false
		}
		if thread, _ := threadOf(file); thread == "" {
			strays[file], _ = f.headerThreads(in, file)
			return at, strays[file] != ""
		}
		return at, true
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b chat.Spot) int {
		return cmp.Or(cmp.Compare(path.Base(a.File), path.Base(b.File)), -cmp.Compare(a.File, b.File))
	})
	n := &names{of: map[string]int{}, threads: map[string]int{}, strays: strays, rollouts: map[string][]string{}, looks: map[string]tree.Stamp{}, next: map[string]bool{live: true, archived: true}, index: f.currentIndex(ctx, in)}
	for _, at := range list {
		n.addFile(at)
	}
	if len(list) > 0 {
		for dir := path.Dir(list[len(list)-1].File); dir != "."; dir = path.Dir(dir) {
			n.next[dir] = true
		}
	}
	for dir := range n.next {
		n.looks[dir], _ = view.Stamp(dir) // of one that cannot be looked at currentNames lists again
	}
	for _, at := range list {
		n.lookAbove(view, at.File)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names = n
	return n, nil
}

// lookAbove notes how the folders above a file look.
func (n *names) lookAbove(on tree.Tree, file string) {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if _, known := n.looks[dir]; known {
			return
		}
		n.looks[dir], _ = on.Stamp(dir)
	}
}

// addFile adds a file, in the order of names, to the session of its thread. It skips a file whose name that
// session has from another folder. It skips a packed file next to an unpacked one, because Codex is still
// writing it.
func (n *names) addFile(at chat.Spot) {
	_, id := threadOf(at.File)
	if thread, is := n.strays[at.File]; is { // a copy that a person named is a session by itself
		if thread != noThread {
			at.ID, id = thread, thread
		}
		n.rollouts[id] = append(n.rollouts[id], at.File)
		n.of[at.File] = len(n.spots)
		if _, known := n.threads[at.ID]; !known {
			n.threads[at.ID] = len(n.spots)
		}
		n.spots = append(n.spots, at)
		return
	}
	if plain, is := strings.CutSuffix(at.File, packed); is && slices.Contains(n.rollouts[id], plain) {
		return
	}
	copied := slices.ContainsFunc(n.rollouts[id], func(other string) bool { return baseName(other) == baseName(at.File) })
	n.rollouts[id] = append(n.rollouts[id], at.File)
	i, known := n.threads[at.ID]
	if known && !copied {
		n.spots[i].More = append(n.spots[i].More, at.File)
	} else {
		i = len(n.spots)
		n.spots = append(n.spots, at)
	}
	if n.of[at.File] = i; !known {
		n.threads[at.ID] = i
	}
}

// ID implements chat.Identifier: the thread, with the one before it that started it as a
// sub-agent.
func (f *format) ID(in engine.In, at chat.Spot) string {
	id, _ := threadOf(at.File)
	if id == "" {
		if id, _ = f.headerThreads(in, at.File); id == "" || id == noThread {
			return ""
		}
	}
	f.mu.Lock()
	n := f.names
	f.mu.Unlock()
	if n == nil {
		return "" // nothing was listed as yet
	}
	const mostNested = 16
	for deep, file := 0, at.File; deep < mostNested; deep++ {
		up := f.parentOf(in, n, file)
		if up == "" || strings.Contains("/"+id+"/", "/"+up+"/") {
			break
		}
		id = up + "/" + id
		i, known := n.threads[up]
		if !known {
			break
		}
		file = n.spots[i].File
	}
	return id
}

// agentSession returns the session of a thread that one started, which a fork of it has started as well.
func (f *format) agentSession(in engine.In, n *names, by chat.Spot, thread string) string {
	if i, known := n.threads[thread]; known {
		return f.ID(in, n.spots[i])
	}
	return by.ID + "/" + thread
}

// parentOf returns the thread that started the thread of a rollout, "" if no thread did. It asks the index
// first, then the rollout's header.
func (f *format) parentOf(in engine.In, n *names, file string) string {
	if parent, known := n.index.parentOf(n.threadOf(file)); known {
		return parent
	}
	if n.strays[file] != "" {
		_, parent := f.headerThreads(in, file)
		return parent
	}
	const enough = 4 << 10                                        // its source is before the instructions
	head, _ := tree.Head(f.inputFor(in, file).Tree, file, enough) // Read tells
	return parentIn(headerIn(head).Get("source"))
}

// parentIn returns the id of the thread that started a sub-agent, from the source in its header; "" if it has
// no such id.
func parentIn(source chat.Value) string {
	if id := source.Get("subagent", "thread_spawn", "parent_thread_id").Text(); isUUID(id) {
		return id
	}
	return ""
}

// rolloutsOf returns the rollouts of a session in the order of their names.
func (n *names) rolloutsOf(at chat.Spot) []string {
	if i, known := n.of[at.File]; known {
		at = n.spots[i]
	}
	return append([]string{at.File}, at.More...)
}
