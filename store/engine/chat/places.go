package chat

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"math"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

// How the list of sessions comes about.
//
// Names tell which sessions there are, and the times of their files in which order: that is
// one listing for each folder and one look at each file. Then the title is read, from the
// newest session on: from both ends of a large file, from all of a small one. What a file
// told is remembered until it changes; what lies in the middle of a large one is not known
// until the session is opened, and then remembered, too.
//
//	signSize to identify it │ firstSize …… headSize │ …… │ what is left of listSize

const (
	// listSize is how much is read of one file for the list, in bytes: what tells that it is a
	// session, its beginning, and its end.
	listSize = 64 << 10
	// headSize is how much the beginning may be, and firstSize how much of it is mostly enough.
	headSize, firstSize = 48 << 10, 16 << 10
	// smallFile is up to which size all of a file is read.
	smallFile = listSize - signSize
	// mostDeep bounds how deep Walk goes, and mostNames how many names it comes to.
	mostDeep, mostNames = 6, 1_000_000
)

// Places returns the folder where an agent keeps sessions: the one that a variable of the
// environment names, or one below the home folder, with slashes.
func Places(around store.Surroundings, variable, below string) []string {
	if dir := around.FolderOf(variable); dir != "" {
		return []string{dir}
	}
	if around.Home == "" {
		return nil
	}
	return []string{filepath.Join(around.Home, filepath.FromSlash(below))}
}

// mostSettings bounds a file of settings.
const mostSettings = 1 << 20

// ReadSettings returns the settings of an agent in a file of a folder; the zero Value where there is no such file, or what is in it is no
// JSON.
func ReadSettings(dir, name string) Value {
	in, err := tree.OpenDisk(dir)
	if err != nil {
		return Value{}
	}
	defer in.Close()                             // it was only read
	data, _ := tree.Head(in, name, mostSettings) // what is not whole is no JSON
	v, _ := Parse(data)
	return v
}

// mostAbove bounds how far StorageAbove goes.
const mostAbove = 4

// StorageAbove returns how far above a folder, with slashes, the storage is, where isInner tells the name of a folder that lies
// directly in the storage; 0 where none of the folders is one.
func StorageAbove(dir string, isInner func(name string) bool) int {
	for up := 1; up <= mostAbove; up++ {
		if isInner(path.Base(dir)) {
			return up
		}
		dir = path.Dir(dir)
	}
	return 0
}

// ConfigPlaces returns a folder below the one in which programs keep settings, by the home folder of each system, for
// each of some names with slashes.
func ConfigPlaces(around store.Surroundings, below ...string) (list []string) {
	for _, name := range below {
		for _, config := range []string{".config", "Library/Application Support", "AppData/Roaming"} {
			list = append(list, Places(around, "", config+"/"+name)...)
		}
	}
	return list
}

// ReadJSON returns the value of a small file, no value if there is no JSON.
func ReadJSON(in engine.In, file string) Value {
	text, err := tree.Head(in.Tree, file, listSize)
	if err != nil {
		return Value{}
	}
	return ParseHead(text)
}

// ReadDocument returns the value of a file of JSON. If the file is no whole JSON, torn says where it breaks off, and the value
// ends there. The error is that of reading.
func ReadDocument(in engine.In, file string) (whole Value, torn error, err error) {
	data, _, err := in.Read(file, nil)
	if err != nil {
		return whole, nil, err
	}
	if whole, torn = Parse(data); torn != nil {
		whole = ParseHead(data)
	}
	return whole, torn, nil
}

// FilePath returns the path of a URL of a file, "" for any other.
func FilePath(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	if path := strings.TrimPrefix(u.Path, "/"); len(path) > 1 && path[1] == ':' { // a drive of Windows
		return path
	}
	return u.Path
}

// Upward returns where a file of a project may be that an agent looks for from the folder of
// work on up: there, and in each folder around it below the home folder, the closest first.
func Upward(around store.Surroundings, name string) (list []string) {
	for dir := around.Work; dir != ""; {
		list = append(list, filepath.Join(dir, name))
		above := filepath.Dir(dir)
		if dir == around.Home || above == around.Home || above == dir {
			break
		}
		dir = above
	}
	return list
}

// Walk returns the spots of files below the storage, up to depth folders down. spotOf returns the spot of a
// file's session; false for a file without a session. Walk skips names that begin with a dot, and folders
// that cannot be listed.
func Walk(ctx context.Context, in engine.In, depth int, spotOf func(file string) (Spot, bool)) (list []Spot, err error) {
	seen := 0
	var walk func(dir string, depth int) error
	walk = func(dir string, depth int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		names, err := in.List(dir)
		if err != nil {
			if dir == "." {
				return err
			}
			return nil // Faults tells
		}
		names = slices.Sorted(slices.Values(names))
		for _, name := range names {
			if seen++; seen > mostNames || strings.HasPrefix(name, ".") {
				continue
			}
			file := tree.Join(dir, name)
			if at, ok := spotOf(file); ok {
				list = append(list, at)
				continue
			}
			if depth > 0 && !strings.Contains(name, ".json") {
				if at, err := in.Stamp(file); err == nil && at.Kind == files.Directory {
					if err := walk(file, depth-1); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	return list, walk(".", min(depth, mostDeep))
}

// Match returns the names below the storage that a pattern with slashes fits, in order: each step is one of path.Match,
// and "*" fits no name that begins with a dot. It passes over a folder that cannot be listed.
func Match(in engine.In, pattern string) (list []string) {
	list = []string{"."}
	for _, step := range strings.Split(pattern, "/") {
		var next []string
		for _, dir := range list {
			names, _ := in.List(dir)
			slices.Sort(names)
			for _, name := range names {
				if fits, _ := path.Match(step, name); fits && len(next) < mostNames && (name[0] != '.' || step[0] == '.') {
					next = append(next, tree.Join(dir, name))
				}
			}
		}
		list = next
	}
	return list
}

// End returns the end of a file, of at most so many bytes.
func End(t tree.Tree, file string, size int64) (end []byte, err error) {
	at, err := t.Stamp(file)
	if err != nil {
		return nil, err
	}
	f, err := t.OpenFile(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	size = min(size, at.Size)
	err = lendBytes(f, at.Size-size, int(size), func(text []byte) error {
		end = bytes.Clone(text)
		return nil
	})
	return end, err
}

// buffers are for pieces: most files are shorter than what is asked of them.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// lendBytes calls read with at most size bytes of a file, from an offset on.
func lendBytes(f io.ReaderAt, at int64, size int, read func(text []byte) error) error {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	*buf = slices.Grow((*buf)[:0], size)
	n, err := f.ReadAt((*buf)[:size], at)
	if err != nil && !errors.Is(err, io.EOF) {
		return files.Cause(err)
	}
	return read((*buf)[:n])
}

// HeadLines returns the lines at the beginning of a file, the last of them as far as it was
// read: ParseHead reads it.
func HeadLines(t tree.Tree, file string) ([][]byte, error) {
	head, err := tree.Head(t, file, headSize)
	return headLines(head), err
}

// headLines returns the lines of the beginning of a file.
func headLines(head []byte) (lines [][]byte) {
	for len(head) > 0 {
		end := bytes.IndexByte(head, '\n')
		if end < 0 {
			lines = append(lines, head)
			break
		}
		lines = append(lines, head[:end])
		head = head[end+1:]
	}
	return lines
}

// EndLines calls read with lines from both ends of a file. head has the lines at the beginning, as HeadLines
// returns them; tail has the whole lines at the end of a larger file. enough is called once, and decides how
// much of the file is the beginning. The end takes the rest of the bytes that a list may read. The lines are
// lent.
func EndLines(t tree.Tree, file string, enough func(head [][]byte) bool, read func(head, tail [][]byte)) error {
	at, err := t.Stamp(file)
	if err != nil {
		return err
	}
	f, err := t.OpenFile(file)
	if err != nil {
		return err
	}
	defer f.Close() // it was only read
	lent := buffers.Get().(*[]byte)
	defer buffers.Put(lent)
	*lent = slices.Grow((*lent)[:0], listSize)
	head, most := (*lent)[:0], int(min(at.Size, smallFile))
	sizes := []int{firstSize, headSize}
	if int64(most) == at.Size {
		sizes = []int{most}
	}
	for i, size := range sizes {
		if i > 0 && enough(headLines(head)) {
			break
		}
		n, err := f.ReadAt(head[len(head):size], int64(len(head)))
		if head = head[:len(head)+n]; err != nil && !errors.Is(err, io.EOF) {
			return files.Cause(err)
		}
	}
	left := most - len(head)
	return lendBytes(f, at.Size-int64(left), left, func(last []byte) error {
		lines := bytes.Split(last, []byte("\n"))
		read(headLines(head), lines[1:max(1, len(lines)-1)])
		return nil
	})
}

// listSpots returns where the sessions are, each of another id.
func (s *Store) listSpots(ctx context.Context, in engine.In) ([]Spot, error) {
	list, err := s.format.Spots(ctx, in)
	if err != nil {
		return nil, err
	}
	if _, ok := s.format.(Identifier); ok && slices.ContainsFunc(list, func(at Spot) bool { return !at.Named }) {
		runs := runsOf(list)
		if err := Parallel(ctx, len(runs), func(i int) {
			defer in.Hold(runs[i].dir)()
			for k := runs[i].from; k < runs[i].to; k++ {
				s.identifySpot(in, &list[k])
			}
		}); err != nil {
			return nil, err
		}
	}
	byID := makeDistinct(list)
	if s.storage.Way != "." || s.only != "" {
		if list, err = s.openedSpots(ctx, in, list); err != nil {
			return nil, err
		}
		for i := range list { // of others of the same id none may be meant
			list[i].ID = strings.ReplaceAll(list[i].ID, again, "")
		}
		byID = makeDistinct(list)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known, s.byID = list, byID
	return list, nil
}

// again is the mark of a session whose id another one has, too.
const again = "'"

// makeDistinct puts marks behind ids that other spots have, and returns where each id is.
func makeDistinct(list []Spot) (byID map[string]int) {
	byID = make(map[string]int, len(list))
	for i := range list {
		id := list[i].ID
		for n := 1; ; n++ {
			if _, taken := byID[id]; !taken {
				break
			}
			id = list[i].ID + strings.Repeat(again, n)
		}
		byID[id], list[i].ID = i, id
	}
	return byID
}

// identifySpot fills in the agent's own id of a session whose file name does not have it. It reports whether the
// file has it.
func (s *Store) identifySpot(in engine.In, at *Spot) bool {
	who, ok := s.format.(Identifier)
	if !ok || at.Named {
		return false
	}
	look, err := in.Stamp(at.File)
	if err != nil {
		return false
	}
	name := at.Name() + idNote
	id, known := in.Memo.Recall(name, look)
	if !known {
		id = []byte(who.ID(in, *at))
		in.Memo.Note(name, look, id)
	}
	if len(id) > 0 {
		at.ID = string(id)
	}
	return len(id) > 0
}

// idNote ends the name of the note that holds a session's id: no file has such a name.
const idNote = "\x00id"

// Several is a [Format] that has many sessions in one file, whose name a person may choose.
type Several interface {
	// ReadOpened returns the sessions of a file that a person opened, whatever its name; no sessions if the
	// file is not the agent's.
	ReadOpened(ctx context.Context, in engine.In, file string) ([]Spot, error)
}

// openedSpots returns the sessions in the folder or file that was opened, their sub-agents, and the sessions that
// this store has made since.
func (s *Store) openedSpots(ctx context.Context, in engine.In, list []Spot) ([]Spot, error) {
	meant := make(map[string]bool, len(list))
	for _, at := range list {
		if s.isSpotMeant(&at) {
			meant[at.ID] = true
		}
	}
	if s.only != "" && len(meant) == 0 { // it lies where the agent keeps none, or has another name
		alone, err := s.spotsInFile(ctx, in, path.Join(s.storage.Way, s.only))
		return append(alone, slices.DeleteFunc(list, func(at Spot) bool {
			_, made := s.made.Load(at.ID)
			return !made
		})...), err
	}
	return slices.DeleteFunc(list, func(at Spot) bool {
		parent, _, _ := strings.Cut(at.ID, "/")
		_, made := s.made.Load(at.ID)
		return !meant[at.ID] && !meant[parent] && !made
	}), nil
}

// isSpotMeant reports whether a file of a session was opened, or its folder.
func (s *Store) isSpotMeant(at *Spot) bool {
	return s.isMeant(at.File) || slices.ContainsFunc(at.More, s.isMeant)
}

// spotsInFile returns the sessions of a file, recognised by its beginning; no sessions if the file is not the
// agent's.
func (s *Store) spotsInFile(ctx context.Context, in engine.In, file string) (list []Spot, err error) {
	if several, ok := s.format.(Several); ok {
		return several.ReadOpened(ctx, in, file)
	}
	at := s.format.Spot(file)
	if !s.identifySpot(in, &at) && !s.signs(in, at) {
		return nil, nil
	}
	return []Spot{at}, nil
}

// signs reports whether the file of a spot begins as a session of the agent.
func (s *Store) signs(in engine.In, at Spot) bool {
	return s.agent.Signs != nil && HeadTells(in, at.File, "signs", func(head []byte) bool { return s.agent.Signs(at, head).Read() })
}

// bom is the byte order mark that some editors put before a text.
var bom = []byte("\ufeff")

// HeadTells reports whether tells is true of the beginning of a file. It asks and notes as AskHead does.
func HeadTells(in engine.In, file, as string, tells func(head []byte) bool) bool {
	return AskHead(in, file, as, func(head []byte) string {
		if tells(head) {
			return "yes"
		}
		return ""
	}) != ""
}

// AskHead returns the answer of ask about the beginning of a file, or "" if there is no such file. It notes
// the answer under a name, so that an unchanged file is read once.
func AskHead(in engine.In, file, as string, ask func(head []byte) string) string {
	look, err := in.Stamp(file)
	if err != nil || !isFile(look) {
		return ""
	}
	name := file + "\x00" + as
	if answer, known := in.Memo.Recall(name, look); known {
		return string(answer)
	}
	answer := ""
	for _, size := range []int64{signSize, longSize} {
		head, err := tree.Head(in.Tree, file, size)
		if err != nil {
			return ""
		}
		if answer = ask(bytes.TrimPrefix(head, bom)); answer != "" || int64(len(head)) < size {
			break
		}
	}
	in.Memo.Note(name, look, []byte(answer))
	return answer
}

// isMeant reports whether a file was opened, or its folder, or the folder of the same name.
func (s *Store) isMeant(file string) bool {
	opened := path.Join(s.storage.Way, s.only)
	return file == opened || strings.HasPrefix(file, opened+"/") || strings.HasPrefix(file, strings.TrimSuffix(opened, path.Ext(opened))+"/")
}

// findSpot returns the spot of the session that the port calls id. The error is
// model.ErrNoSession.
func (s *Store) findSpot(ctx context.Context, id string) (Spot, error) {
	in := s.storage.In()
	if at, known := s.knownSpot(id); known {
		if now, err := in.Stamp(at.File); err == nil && now.Kind != files.Nothing {
			return at, nil
		}
	}
	if _, err := s.listSpots(ctx, in); err != nil {
		return Spot{}, err
	}
	if at, known := s.knownSpot(id); known {
		return at, nil
	}
	if at, known := s.findNested(in, id); known {
		return at, nil
	}
	return Spot{}, model.ErrNoSession
}

// findNested returns where a session in the file of another one is, whether it is there or not.
func (s *Store) findNested(in engine.In, id string) (Spot, bool) {
	nested, ok := s.format.(Nested)
	session, name, inside := strings.Cut(id, "/")
	if !ok || !inside {
		return Spot{}, false
	}
	of, known := s.knownSpot(session)
	at, named := nested.Within(of, name)
	look, err := in.Stamp(of.File)
	at.At, at.Size = look.Modified, look.Size
	return at, known && named && err == nil
}

// knownSpot returns where a session was when the sessions were listed last.
func (s *Store) knownSpot(id string) (at Spot, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, known := s.byID[id]
	if known {
		at = s.known[i]
	}
	return at, known
}

// listed is a spot with the look of its file.
type listed struct {
	Spot
	at tree.Stamp
}

// listSessions yields the infos of the sessions, the newest change first.
func (s *Store) listSessions(ctx context.Context, in engine.In) iter.Seq2[model.SessionInfo, error] {
	return s.listParts(ctx, in, func(_ engine.In, all []Spot) [][]Spot { return [][]Spot{all} })
}

// AnyOrder is that of store.Features: the sessions in the folders that changed last come first. Other files are looked at
// behind them.
func (s *Store) AnyOrder(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		err := s.Read(ctx, func(in engine.In) error {
			for info, err := range s.listParts(ctx, in, partsByFolder) {
				if err != nil || !yield(info, nil) {
					return err
				}
			}
			return ctx.Err()
		})
		if err != nil {
			yield(model.SessionInfo{}, s.Wrap(err, "list sessions of %q", s.Address()))
		}
	}
}

// listParts yields the infos of the sessions, part by part, the newest change in each first.
func (s *Store) listParts(ctx context.Context, in engine.In, split func(engine.In, []Spot) [][]Spot) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		in.Tree = tree.NewView(in.Tree) // each file is looked at once
		spots, err := s.listSpots(ctx, in)
		defer holdFolders(in, spots)()
		parts, ahead, goesOn := split(in, spots), firstGlances, true
		for i := 0; i < len(parts) && goesOn && err == nil; i++ {
			err = s.eachInfo(ctx, in, parts[i], &ahead, func(info model.SessionInfo) bool {
				goesOn = yield(info, nil)
				return goesOn
			})
		}
		if err != nil {
			yield(model.SessionInfo{}, err)
		}
	}
}

// leastPart is how many spots the first part has at least that partsByFolder returns, and partGrowth by how much a part is
// larger than the one before it.
const leastPart, partGrowth = 64, 4

// partsByFolder splits spots: the folders that changed last come first. A folder is in one part, and a
// sub-agent in that of its session.
func partsByFolder(in engine.In, spots []Spot) (parts [][]Spot) {
	runs, changed := runsOf(spots), map[string]int64{}
	for _, r := range runs {
		at, _ := in.Stamp(r.dir) // an unreadable folder comes last
		changed[r.dir] = at.Modified.UnixNano()
	}
	slices.SortStableFunc(runs, func(a, b run) int {
		return cmp.Or(cmp.Compare(changed[b.dir], changed[a.dir]), strings.Compare(b.dir, a.dir))
	})
	var part, agents []Spot
	for i, least := 0, leastPart; i < len(runs); i++ {
		for _, at := range spots[runs[i].from:runs[i].to] {
			if strings.Contains(at.ID, "/") {
				agents = append(agents, at)
			} else {
				part = append(part, at)
			}
		}
		if last := i == len(runs)-1; last || len(part) >= least && runs[i+1].dir != runs[i].dir {
			parts, part, least = append(parts, part), nil, least*partGrowth
		}
	}
	if len(agents) == 0 {
		return parts
	}
	of := make(map[string]int, len(spots))
	for i := range parts {
		for k := range parts[i] {
			of[parts[i][k].ID] = i
		}
	}
	for _, at := range agents {
		session, _, _ := strings.Cut(at.ID, "/")
		i, known := of[session]
		if !known {
			i = len(parts) - 1
		}
		parts[i] = append(parts[i], at)
	}
	return parts
}

// The list reads ahead as many files as a small screen has rows, and then twice as many each time, up to mostGlances.
const firstGlances, mostGlances = 8, 64

// eachInfo yields the infos of spots, the newest change first. It reads ahead as many files as ahead says, which grows.
func (s *Store) eachInfo(ctx context.Context, in engine.In, spots []Spot, ahead *int, yield func(model.SessionInfo) bool) error {
	looks, err := looksAt(ctx, in, spots)
	if err != nil {
		return err
	}
	for list := byChange(spots, looks); len(list) > 0; *ahead = min(2**ahead, mostGlances) {
		part := list[:min(len(list), *ahead)]
		list = list[len(part):]
		rows := make([]told, len(part))
		one := func(i int) listed { return listed{spots[part[i].at], looks[part[i].at]} }
		err := Parallel(ctx, len(part), func(i int) { rows[i] = s.memoryOf(ctx, in, one(i)) })
		if err = cmp.Or(err, ctx.Err()); err != nil { // a session whose reading ended so is told by less
			return err
		}
		for i := range rows {
			l := one(i)
			info := s.infoOf(l, &rows[i])
			if part[i].deep == 0 && info.UpdatedAt.UnixNano() < part[i].changed {
				info.UpdatedAt = time.Unix(0, part[i].changed).UTC()
			}
			if !yield(info) {
				return nil
			}
			for child := range s.nestedInfos(in, l, &rows[i]) {
				if !yield(child) {
					return nil
				}
			}
		}
	}
	return nil
}

// nestedInfos returns the sessions that lie in the file of a listed session and have no file of their own. If that
// session was read in the meantime, its note lists all of them.
func (s *Store) nestedInfos(in engine.In, l listed, t *told) iter.Seq[model.SessionInfo] {
	return func(yield func(model.SessionInfo) bool) {
		nested, ok := s.format.(Nested)
		if !ok || l.Part != "" {
			return
		}
		if text, known := in.Memo.Recall(l.Name(), l.at); known && t.snapshots == store.Uncounted {
			if now, whole := parseNote(text); whole {
				t = &now
			}
		}
		for i := range t.within {
			child := &t.within[i]
			at, named := nested.Within(l.Spot, child.name)
			if _, known := s.knownSpot(at.ID); !named || known { // it has a file of its own
				continue
			}
			info := s.infoOf(listed{at, l.at}, child)
			if info.Size = child.rest; !yield(info) {
				return
			}
		}
	}
}

// spotsAtOnce is how many files of one folder are looked at by one worker.
const spotsAtOnce = 64

// looksAt returns the stamps of spots, the zero value for a file that is gone. It opens a folder once for
// adjacent spots.
func looksAt(ctx context.Context, in engine.In, spots []Spot) ([]tree.Stamp, error) {
	looks, runs := make([]tree.Stamp, len(spots)), runsOf(spots)
	return looks, Parallel(ctx, len(runs), func(i int) {
		defer in.Hold(runs[i].dir)()
		for k := runs[i].from; k < runs[i].to; k++ {
			looks[k], _ = spots[k].latestStamp(in)
		}
	})
}

// run is some spots of one folder that follow each other.
type run struct {
	dir      string
	from, to int
}

// runsOf returns the runs that spots are, none of more than spotsAtOnce.
func runsOf(spots []Spot) (runs []run) {
	for i := range spots {
		dir, last := path.Dir(spots[i].File), len(runs)-1
		if last >= 0 && runs[last].dir == dir && i < runs[last].from+spotsAtOnce {
			runs[last].to++
		} else {
			runs = append(runs, run{dir, i, i + 1})
		}
	}
	return runs
}

// isFile reports whether a stamp may be of a session's file: a folder or a pipe has such a name by mistake. A
// link is not followed, but a person expects the session behind it.
func isFile(at tree.Stamp) bool { return at.Kind == files.Regular || at.Kind == files.Link }

// ranked is the place of a spot in the list of sessions.
type ranked struct {
	// changed is when it, its session or another sub-agent of that changed last, in
	// nanoseconds.
	changed int64
	// group is the same of a session and its sub-agents, deep 0 of the session alone.
	group, deep, at int32
}

// byChange returns the order in which spots are listed, without those that are no files: a
// session changes with its sub-agents, and comes before them.
func byChange(spots []Spot, looks []tree.Stamp) []ranked {
	list, groups := make([]ranked, 0, len(spots)), make(map[string]int32, len(spots))
	names, newest := make([]string, 0, len(spots)), make([]int64, 0, len(spots))
	for i := range spots {
		if !isFile(looks[i]) {
			continue
		}
		parent, below, _ := strings.Cut(spots[i].ID, "/")
		group, known := groups[parent]
		if !known {
			group = int32(len(names))
			groups[parent], names, newest = group, append(names, parent), append(newest, math.MinInt64)
		}
		newest[group] = max(newest[group], looks[i].Modified.UnixNano())
		list = append(list, ranked{group: group, deep: int32(len(below)), at: int32(i)})
	}
	for i := range list {
		list[i].changed = newest[list[i].group]
	}
	slices.SortFunc(list, func(a, b ranked) int {
		if a.group != b.group {
			return cmp.Or(cmp.Compare(b.changed, a.changed), strings.Compare(names[a.group], names[b.group]))
		}
		return cmp.Or(cmp.Compare(a.deep, b.deep), cmp.Compare(a.at, b.at))
	})
	return list
}

// mostFolders bounds the folders that are held open at once.
const mostFolders = 128

// holdFolders keeps the folders with the most sessions open, so that to look at each file takes less
// of the system.
func holdFolders(in engine.In, spots []Spot) (release func()) {
	sessions := map[string]int{}
	for _, r := range runsOf(spots) {
		sessions[r.dir] += r.to - r.from
	}
	dirs := slices.SortedFunc(maps.Keys(sessions), func(a, b string) int { return sessions[b] - sessions[a] })
	var held []func()
	for _, dir := range dirs[:min(len(dirs), mostFolders)] {
		held = append(held, in.Hold(dir))
	}
	return func() {
		for _, release := range held {
			release()
		}
	}
}

// Parallel calls do for each of n, several at once, as [store.RunParallel] does.
func Parallel(ctx context.Context, n int, do func(i int)) error {
	return store.RunParallel(ctx, 2*runtime.GOMAXPROCS(0), n, do)
}

// told is the list's memory of a file.
type told struct {
	Glance
	// more are the other files of the session.
	more string
	// snapshots is store.Uncounted where the file was not read whole.
	snapshots, orphaned, faults int
	head                        model.Point
	// rest is how many bytes the files of a [Scattered] session take, and the records of one in the
	// file of another.
	rest int64
	// within are the sessions in the file, and name is that of such a one.
	within []told
	name   string
}

// memoryOf returns the list's memory of a session, and looks into a session that changed.
func (s *Store) memoryOf(ctx context.Context, in engine.In, l listed) told {
	text, ok := in.Memo.Recall(l.Name(), l.at)
	t, whole := parseNote(text)
	if more := strings.Join(l.More, "\n"); !ok || !whole || t.more != more {
		if t, ok = s.lookInto(ctx, in, l); ok {
			t.more = more
			if of, scattered := s.format.(Scattered); scattered {
				t.rest = of.Rest(in, l.Spot)
			}
			in.Memo.Note(l.Name(), l.at, t.appendNote(nil))
		}
	}
	return t
}

// infoOf returns the list's entry for a session.
func (s *Store) infoOf(l listed, t *told) model.SessionInfo {
	info := model.SessionInfo{ID: l.ID, Kind: s.agent.Name, UpdatedAt: l.at.Modified.UTC(), Size: l.at.Size, Faults: model.FaultsNotCounted}
	if at := strings.LastIndexByte(l.ID, '/'); at >= 0 {
		info.Parent = l.ID[:at]
	}
	info.Title, info.Project = t.Title, t.Project
	if info.Project == "" {
		info.Project = l.Project
	}
	info.Snapshots, info.Orphaned, info.Head, info.Faults = t.snapshots, t.orphaned, t.head, t.faults
	info.Size += t.rest
	if s.lifetime > 0 && info.Parent == "" {
		info.ExpiresAt = info.UpdatedAt.Add(s.lifetime)
	}
	return info
}

// lookInto reads what the list shows of a session.
func (s *Store) lookInto(ctx context.Context, in engine.In, l listed) (t told, ok bool) {
	s.looked.Add(1)
	defer in.Hold(path.Dir(l.File))()
	small := l.at.Size <= smallFile
	if sizer, ok := s.format.(Sizer); ok && small {
		small = sizer.Small(in, l.Spot)
	}
	if small {
		whole, part := &smallFiles{Tree: in.Tree}, in
		part.Tree = whole
		nested, ok := s.format.(Nested)
		if ok {
			of, release := tree.Beginnings(whole, smallFile) // which reads a file once
			defer release()
			part.Tree = of
		}
		log, err := s.logOf(ctx, part, l.Spot) // of thousands that are listed few are opened
		if err == nil && !whole.refused.Load() && (len(log.Rows) > 0 || isThere(in, &l.Spot) == nil) {
			t = s.toldOf(log)
			for _, inner := range log.Own.(*Session).Within {
				child := fromGlance(Glance{Title: inner.Title, Project: t.Project})
				if at, named := nested.Within(l.Spot, inner.Name); named {
					if log, err := s.logOf(ctx, part, at); err == nil {
						child = s.toldOf(log)
						child.rest = log.Own.(*Session).recordBytes()
					}
				}
				child.name = inner.Name
				t.within = append(t.within, child)
			}
			return t, true
		}
	}
	glance, err := s.format.Glance(in, l.Spot)
	t = fromGlance(glance)
	if harm := len(model.Harmful(glance.Faults)); harm > 0 {
		t.faults = harm
	}
	return t, err == nil
}

// logOf returns the log of a session that is listed.
func (s *Store) logOf(ctx context.Context, in engine.In, at Spot) (*engine.Log, error) {
	one, err := s.decodeSession(ctx, in, at)
	if err != nil {
		return nil, err
	}
	return s.files.Teller(ctx)(ctx, in, s.enginePlace(at), one.engineLog(in, s.enginePlace(at)))
}

// fromGlance returns the list's memory of a session after a glance.
func fromGlance(g Glance) told {
	t := told{Glance: g, snapshots: store.Uncounted, faults: model.FaultsNotCounted}
	for _, inner := range g.Within {
		child := fromGlance(Glance{Title: inner.Title, Project: g.Project})
		child.name = inner.Name
		t.within = append(t.within, child)
	}
	return t
}

// rememberLarge keeps what a large session that was read tells for the list, where that knows less: a
// title that was set late, and what other sessions are in its file.
func (s *Store) rememberLarge(in engine.In, look tree.Stamp, one *Session) {
	at := &one.Spot
	if at.Part != "" || look.Size <= smallFile {
		return
	}
	text, ok := in.Memo.Recall(at.Name(), look)
	was, whole := parseNote(text)
	if ok && whole && (was.snapshots != store.Uncounted || was.Title == one.Title && len(was.within) == len(one.Within)) {
		return
	}
	now := fromGlance(Glance{Title: one.Title, Project: one.Project, Within: one.Within})
	now.more = strings.Join(at.More, "\n")
	if of, scattered := s.format.(Scattered); scattered {
		now.rest = of.Rest(in, *at)
	}
	in.Memo.Note(at.Name(), look, now.appendNote(nil))
}

// smallFiles is a tree whose large files cannot be read. It notes when one was asked for.
type smallFiles struct {
	tree.Tree
	refused atomic.Bool
}

// errLarge: the list does not read the whole of such a large file.
var errLarge = errors.New("the file is large")

func (t *smallFiles) checkSize(name string) error {
	at, err := t.Tree.Stamp(name)
	if err == nil && at.Size > smallFile && at.Kind != files.Directory {
		t.refused.Store(true)
		err = errLarge
	}
	return err
}

// OpenFile implements tree.Tree. The error is errLarge of a large file.
func (t *smallFiles) OpenFile(name string) (tree.Opened, error) {
	if err := t.checkSize(name); err != nil {
		return nil, err
	}
	return t.Tree.OpenFile(name)
}

// Read implements tree.Tree, as OpenFile does.
func (t *smallFiles) Read(name string, buf []byte) ([]byte, tree.Stamp, error) {
	if err := t.checkSize(name); err != nil {
		return buf[:0], tree.Stamp{}, err
	}
	return t.Tree.Read(name, buf)
}

// toldOf returns the list's memory of a session that was read.
func (s *Store) toldOf(log *engine.Log) (t told) {
	one := log.Own.(*Session)
	var info model.SessionInfo
	info.Count(log.Rows)
	t.Title, t.Project = one.Title, one.Project
	t.snapshots, t.orphaned, t.head = info.Snapshots, info.Orphaned, info.Head
	t.faults = len(model.Harmful(s.sessionFaults(log)))
	return t
}

// appendNote appends what is remembered to a text.
func (t *told) appendNote(text []byte) []byte {
	for _, s := range []string{t.Title, t.Project, t.head.ID, t.more, t.name} {
		text = files.AppendText(text, s)
	}
	for _, n := range []int{t.snapshots, t.orphaned, t.faults, t.head.Index, int(t.rest), len(t.within)} {
		text = appendVarint(text, n)
	}
	for i := range t.within {
		text = t.within[i].appendNote(text)
	}
	return text
}

func parseNote(text []byte) (t told, ok bool) {
	r := files.ReadNote(text)
	t.readNote(&r)
	return t, len(text) > 0 && !r.IsDamaged() && r.Len() == 0
}

// readNote reads a note.
func (t *told) readNote(r *files.NoteReader) {
	for _, s := range []*string{&t.Title, &t.Project, &t.head.ID, &t.more, &t.name} {
		*s = string(r.Text())
	}
	for _, n := range []*int{&t.snapshots, &t.orphaned, &t.faults, &t.head.Index} {
		*n = int(r.Varint())
	}
	t.rest = r.Varint()
	for n := r.Varint(); n > 0 && !r.IsDamaged(); n-- {
		var child told
		child.readNote(r)
		t.within = append(t.within, child)
	}
}

// isHidden reports whether a name is Hindcast's own, or a temporary one.
func isHidden(name string) bool {
	return strings.HasPrefix(name, ".") && name != journal.Folder || strings.HasSuffix(name, ".tmp")
}
