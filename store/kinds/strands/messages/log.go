package messages

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
	"hindcast/store/sdk"
)

// messageFile is one file of a log, known by its name alone.
type messageFile struct {
	name string
	// value is the number in the name, if it is small; else number gives it.
	value int64
	small bool
}

// fileOf returns the file of a name, if the SDK takes it for that of a message.
func fileOf(name string) (f messageFile, ok bool) {
	text, isMessage := strings.CutPrefix(name, messagePrefix)
	text, isJSON := strings.CutSuffix(text, messageSuffix)
	if !isMessage || !isJSON {
		return f, false
	}
	f.name = name
	if f.value, f.small = smallNumber(text); f.small {
		return f, true
	}
	_, ok = parseNumber(text)
	return f, ok
}

// text returns the number as it stands in the name.
func (f messageFile) text() string {
	return f.name[len(messagePrefix) : len(f.name)-len(messageSuffix)]
}

// number returns the number in the name, of any size.
func (f messageFile) number() *big.Int {
	n, _ := parseNumber(f.text())
	return n
}

// int64 returns the number if it fits.
func (f messageFile) int64() (int64, bool) {
	if f.small {
		return f.value, true
	}
	n := f.number()
	return n.Int64(), n.IsInt64()
}

// compare orders files as they are read: by number, and of one number by name.
func (f messageFile) compare(g messageFile) int {
	return cmp.Or(f.compareNumber(g), strings.Compare(f.name, g.name))
}

// compareNumber orders by number alone.
func (f messageFile) compareNumber(g messageFile) int {
	if f.small && g.small {
		return cmp.Compare(f.value, g.value)
	}
	return f.number().Cmp(g.number())
}

// messageLog is the log of one agent as it lies on disk: its files in the order
// in which the SDK reads them, and what surrounds them.
type messageLog struct {
	folders
	agent agentFile
	// behind is the agent.json of a snapshot behind the end of this log, which is a part
	// of that branch; nil for none. Its window is what this one was seen through.
	behind []byte

	files []messageFile
	// start is the first file behind the window's gap: what is loaded are the
	// files before agent.pinned and those from start on.
	start int
	// strays are the files beside those of the messages, in order.
	strays []string
	// err names the folder that cannot be read, and why.
	err error

	// dir is the folder of the messages, with a slash, and there says that it can be listed.
	// close lets go of it.
	dir   string
	there bool
	close func()
	memo  *tree.Memo
	// told are the journal's entries of the place.
	told   *engine.Told
	writes engine.Writes
	// laid says that steps are laid over the tree.
	laid bool
}

// sdk returns the versions in question.
func (l *messageLog) sdk() sdk.Span { return versions(l.running) }

// openLog lists the log of an agent as it lies, and holds its folder; close lets go of it.
func openLog(p place, in engine.In) *messageLog {
	release := p.hold(in.Tree)
	l := readLog(p, in)
	l.close = release
	return l
}

// layOver returns the log's input with steps laid over it.
func (l *messageLog) layOver(steps tree.Steps) engine.In {
	return engine.In{Tree: tree.Overlay(l.tree, steps, l.readKept), Memo: l.memo, Writes: l.writes, There: true}
}

// readKept reads a content that the journal keeps of the place.
func (l *messageLog) readKept(v journal.Version) ([]byte, error) {
	data, err := l.told.ReadVersion(v)
	return data, files.Cause(err)
}

// readLog lists the log of an agent in a tree: that of its place, or one that is over it,
// whose log is open.
func readLog(p place, in engine.In) *messageLog {
	l := &messageLog{folders: foldersOf(p, in.Tree), memo: in.Memo, told: in.Writes.ForSession(p.name()), writes: in.Writes, laid: in.There}
	defer tree.Ahead(l.tree, slices.Values([]string{path.Join(p.session, "session.json"), p.path("agent.json")}), needed)()
	l.checkSession()
	if l.err = p.err; l.err != nil {
		l.unreadable(p.unlisted)
	}
	if p.agent == "" {
		return l
	}
	l.agent = readAgent(in.Tree, p.path("agent.json"), l.running, &l.faults)
	l.written += l.agent.written
	l.leftovers(p.path())
	l.list()
	l.window()
	l.checkNames()
	l.checkWindow()
	l.checkManager()
	return l
}

// list reads the names in the folder of the messages, as list_messages of
// FileSessionManager does.
func (l *messageLog) list() {
	dir := l.path("messages")
	l.dir = dir + "/"
	names, err := l.tree.List(dir)
	if l.there = err == nil; l.there {
		l.sort(names)
		return
	}
	if !errors.Is(err, fs.ErrNotExist) {
		l.err = err
		l.unreadable(dir)
		return
	}
	if !l.agent.missing {
		l.flaw(dir, flaw{code: FaultDirectory, meaning: "there is no folder of messages", verdict: sdk.Refuses("SessionException: Messages directory missing")})
	}
}

// unreadable notes that a folder cannot be read, for the reason in l.err.
func (l *messageLog) unreadable(dir string) {
	l.err = files.Cause(l.err)
	l.flaw(dir, flaw{code: FaultDirectory, meaning: "the folder cannot be read: " + l.err.Error(), verdict: sdk.Refuses("it cannot be read")})
	l.err = fmt.Errorf("%s: %w", l.shown(dir), l.err)
}

// sort tells message files from others and puts them in order.
func (l *messageLog) sort(names []string) {
	l.files = make([]messageFile, 0, len(names))
	for _, name := range names {
		if f, ok := fileOf(name); ok {
			l.files = append(l.files, f)
		} else {
			l.strays = append(l.strays, name)
		}
	}
	slices.Sort(l.strays)
	for _, name := range l.strays {
		l.stray(name)
	}
	slices.SortFunc(l.files, messageFile.compare)
}

// stray notes a file that is no message. One that is named as a message is not
// passed over by the SDK, which reads a number from its name.
func (l *messageLog) stray(name string) {
	switch {
	case isTemporary(name):
		l.leftover(l.path("messages", name))
	case strings.HasPrefix(name, messagePrefix) && strings.HasSuffix(name, messageSuffix):
		l.flaw(l.path("messages", name), flaw{code: FaultName, meaning: "the name has no number that Python could read",
			verdict: sdk.Refuses("ValueError: invalid literal for int()")})
	default:
		f := flaw{code: FaultStray, meaning: "the file is no message", verdict: sdk.Loads("the file is ignored")}
		l.faults.Add(files.Stray(f.fault(l.path("messages", name), l.sdk(), stand{})))
	}
}

// window finds the files that are loaded: messages[offset:], of Python.
func (l *messageLog) window() {
	n := len(l.files)
	l.agent.pinned = min(l.agent.pinned, n)
	l.start = l.agent.start(n)
}

// start returns the first file behind the window's gap in a log of n.
func (a *agentFile) start(n int) int {
	pinned := min(a.pinned, n)
	start := pinned + a.removed
	if start < 0 {
		start = max(0, n+start)
	}
	return max(pinned, min(start, n))
}

// evicted reports whether the conversation manager took message i out.
func (l *messageLog) evicted(i int) bool { return i >= l.agent.pinned && i < l.start }

// through reports whether the state after message i is seen through today's
// window: so are the newest and those whose message it shows. For an older one
// the window is not known; then nothing is taken out.
func (l *messageLog) through(i int) bool { return i >= l.start || i == len(l.files)-1 }

// take is how one message file is taken in: read, or recalled.
type take func(d *decoder, f messageFile, m *message)

// whole reads a file.
func (l *messageLog) whole(d *decoder, f messageFile, m *message) {
	d.untold = true
	d.take(d.reader(l.tree, l.dir), f, m)
	m.written = d.stamp.Size
}

// known recalls what was noted of a file that is as it was then, or reads it and
// notes that. The message has no body if it was recalled.
func (l *messageLog) known(d *decoder, f messageFile, m *message) {
	name := l.dir + f.name
	if d.untold = false; !l.recalled(name, f, m) {
		if d.take(d.reader(l.tree, l.dir), f, m) {
			d.note = m.appendNote(d.note[:0])
			l.memo.Note(l.noted(name, d.stamp), d.stamp, bytes.Clone(d.note))
		}
		m.written = d.stamp.Size
	}
	m.file = name
}

// recalled recalls what was noted of a file that is as it was then.
func (l *messageLog) recalled(name string, f messageFile, m *message) bool {
	at, ok := l.stamp(name)
	if !ok {
		return false
	}
	note, ok := l.memo.Recall(l.noted(name, at), at)
	if !ok || !m.recall(f.name, note) {
		return false
	}
	m.written = at.Size
	return true
}

// stamp looks at a file of the log that may be known.
func (l *messageLog) stamp(name string) (at tree.Stamp, ok bool) {
	if !l.laid && !l.memo.Notes.Knows(l.inside(name)) {
		return at, false
	}
	at, err := l.tree.Stamp(name)
	return at, err == nil
}

// noted returns the name by which a file of the log is known: that of the one that it is to
// be a copy of, if it is.
func (l *messageLog) noted(name string, at tree.Stamp) string {
	return l.inside(cmp.Or(at.From, name))
}

// body returns the body of a message that was recalled from its note.
func (l *messageLog) body(of *message) []byte {
	var d decoder
	var m message
	d.take(d.reader(l.tree, l.dir), messageFile{name: of.name}, &m)
	return m.body
}

// batch is how many files a worker takes at once, if they are small.
const batch = 16

// maxBatchBytes ends a batch early, so that few large messages are held.
const maxBatchBytes = 1 << 20

// slot is the place of a batch that is read: by one worker, then by the one that
// takes the messages out, then by a worker again.
type slot struct {
	files    []messageFile
	messages [batch]message
	done     int // files that are in messages
	decoder  decoder
	ready    chan struct{}
}

// fill takes in as many files of the slot as there is room for.
func (s *slot) fill(in take) {
	d := &s.decoder
	if cap(d.arena) > 2*maxBatchBytes {
		d.arena = nil
	}
	d.arena, s.done = d.arena[:0], 0
	for s.done < len(s.files) && len(d.arena) < maxBatchBytes {
		in(d, s.files[s.done], &s.messages[s.done])
		s.done++
	}
	if cap(d.buf) > maxBatchBytes {
		d.buf = nil
	}
}

// read takes files in, several at once, and hands each to visit with its position
// in files, in order. The message is lent: it is used again for another one.
// Of large files no more than a few are in memory at a time. The error is that
// of visit, or that of a context that has ended.
func (l *messageLog) read(ctx context.Context, files []messageFile, in take, visit func(i int, m *message) error) error {
	defer l.ahead(files, l.unknown)()
	workers := min(max(4, runtime.GOMAXPROCS(0)), 16, (len(files)-1)/batch)
	if workers <= 1 {
		return l.readAlone(ctx, files, in, visit)
	}
	slots := make([]*slot, 2*workers)
	work := make(chan *slot, len(slots))
	var running sync.WaitGroup
	defer running.Wait()
	defer close(work)
	for range workers {
		running.Go(func() {
			for s := range work {
				s.fill(in)
				s.ready <- struct{}{}
			}
		})
	}
	given, taken := 0, 0 // files
	give := func(s *slot) {
		s.files = files[given:min(given+batch, len(files))]
		given += len(s.files)
		work <- s
	}
	for i := range slots {
		slots[i] = &slot{ready: make(chan struct{}, 1)}
		give(slots[i])
	}
	for next := 0; taken < len(files); next = (next + 1) % len(slots) {
		s := slots[next]
		<-s.ready
		for {
			if err := s.visit(ctx, taken, visit); err != nil {
				return err
			}
			taken += s.done
			if s.files = s.files[s.done:]; len(s.files) == 0 {
				break
			}
			s.fill(in)
		}
		if given < len(files) {
			give(s)
		}
	}
	return nil
}

// ahead says that files are read soon, where one has to be told: those that are needed.
func (l *messageLog) ahead(files []messageFile, needed func(name string) bool) (stop func()) {
	return tree.Ahead(l.tree, func(yield func(string) bool) {
		for _, f := range files {
			if !yield(l.dir + f.name) {
				return
			}
		}
	}, needed)
}

// unknown reports whether nothing is noted of a file.
func (l *messageLog) unknown(name string) bool {
	at, ok := l.stamp(name)
	if !ok {
		return true
	}
	_, known := l.memo.Recall(l.noted(name, at), at)
	return !known
}

// needed is for files that are read whatever is known of them.
func needed(string) bool { return true }

func (l *messageLog) readAlone(ctx context.Context, files []messageFile, in take, visit func(i int, m *message) error) error {
	s := &slot{files: files}
	for taken := 0; taken < len(files); taken += s.done {
		s.files = files[taken:min(taken+batch, len(files))]
		s.fill(in)
		if err := s.visit(ctx, taken, visit); err != nil {
			return err
		}
	}
	return nil
}

// visit hands on the messages of the slot.
func (s *slot) visit(ctx context.Context, first int, visit func(i int, m *message) error) error {
	for i := range s.done {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("read messages: %w", err)
		}
		if err := visit(first+i, &s.messages[i]); err != nil {
			return err
		}
	}
	return nil
}
