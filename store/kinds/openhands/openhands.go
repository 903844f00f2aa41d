// Package openhands reads the conversations of OpenHands: its software-agent-sdk, and the CLI and the server
// that use it.
//
//	~/.openhands/conversations/CONVERSATION/base_state.json
//	                                       /events/event-00000-EVENT.json, …
//	                                       /subagents/CONVERSATION/…
//
// Each event is an immutable file that names its parent. base_state.json names the event where the
// conversation goes on; going back changes only this file. The format was checked against the SDK 1.58.
//
//	openhands.go  where conversations are, and what the list shows of one
//	event.go      one event
//	tree.go       events together: entries, the head, what is wrong
//	back.go       another head, or a new conversation
package openhands

import (
	"context"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/media/watch"
)

// Kind describes the conversations of OpenHands. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) engine.Kind { return agent.Kind(cache) }

const (
	stateName  = "base_state.json"
	eventsName = "events"
	lockName   = ".eventlog.lock"
	agentsName = "subagents"
)

var agent = &chat.Agent{
	Name: "openhands", Framework: "OpenHands", IDs: "OpenHands named the event",
	Roots: []string{".", "conversations"}, Home: "openhands",
	Inner:  inner,
	Shape:  "CONVERSATION/base_state.json",
	Signs:  func(at chat.Spot, head []byte) chat.Sign { return chat.Sign{Fits: isState(at, head)} },
	Format: newFormat,
	Levels: []watch.Level{{}, {Name: eventsName}},
	Places: places,
	Moved:  chat.Moved{Variable: "OPENHANDS_CONVERSATIONS_DIR"},
	Breaks: "OpenHands does not open the conversation where the event is on the way to the head",
}

// places returns where conversations are: the CLI has a variable for the folder, and one for
// the folder above it.
func places(around store.Surroundings) []string {
	if above := around.FolderOf("OPENHANDS_PERSISTENCE_DIR"); above != "" && around.FolderOf("OPENHANDS_CONVERSATIONS_DIR") == "" {
		return []string{filepath.Join(above, "conversations")}
	}
	return chat.Places(around, "OPENHANDS_CONVERSATIONS_DIR", ".openhands/conversations")
}

// inner returns how far above a conversation the storage is.
func inner(_ string, t tree.Tree) int {
	if at, err := t.Stamp(stateName); err == nil && at.Kind != files.Nothing {
		return 1
	}
	return 0
}

// isState reports whether a file is a base_state.json: it is in a folder that is called as a
// conversation, or begins as one.
func isState(at chat.Spot, head []byte) bool {
	v := chat.ParseHead(head)
	return hex().MatchString(path.Base(path.Dir(at.File))) || v.Get("id").There() && v.Get("agent").There()
}

// format implements chat.Forker, chat.Restorer and chat.Scattered.
type format struct {
	dir string // of the storage, on the disk
	kin kin
}

func newFormat(dir string) chat.Format {
	if whole, err := filepath.Abs(dir); err == nil && dir != "" {
		dir = whole
	}
	return &format{dir: dir}
}

// hex is the name of a conversation's folder: 32 digits.
var hex = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{32}$`) })

// Spots implements chat.Format. A folder of another name is looked into.
func (f *format) Spots(ctx context.Context, in engine.In) ([]chat.Spot, error) {
	return f.conversationsIn(ctx, in, ".")
}

// conversationsIn returns the conversations in a folder. Each has its sub-agents' conversations, which are in
// a subfolder of its folder.
func (f *format) conversationsIn(ctx context.Context, in engine.In, dir string) (list []chat.Spot, err error) {
	names, err := in.List(dir)
	for _, name := range slices.Sorted(slices.Values(names)) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		at := f.Spot(tree.Join(tree.Join(dir, name), stateName))
		if !hex().MatchString(name) {
			if look, err := in.Stamp(at.File); err != nil || look.Kind != files.Regular || strings.HasPrefix(name, ".") {
				continue
			}
		}
		list = append(list, at)
		if dir == "." {
			agents, _ := f.conversationsIn(ctx, in, tree.Join(name, agentsName)) // most have none
			list = append(list, agents...)
		}
	}
	return list, err
}

// Spot implements chat.Format. That of a sub-agent is called after its conversation, too.
func (f *format) Spot(file string) chat.Spot {
	dir := path.Dir(file)
	at := chat.Spot{File: file, More: []string{tree.Join(dir, eventsName)}, ID: path.Base(dir)}
	if above := path.Dir(dir); path.Base(above) == agentsName {
		at.ID = path.Base(path.Dir(above)) + "/" + at.ID
	}
	return at
}

// eventsOf returns the folder of a conversation's events.
func eventsOf(at chat.Spot) string { return tree.Join(path.Dir(at.File), eventsName) }

// Lock implements chat.Restorer.
func (f *format) Lock(at chat.Spot) string { return tree.Join(eventsOf(at), lockName) }

// fewEvents are as many as are read for the list, and headSize is how much of a file, in bytes.
const fewEvents, headSize = 64, 48 << 10

// Small implements chat.Sizer.
func (f *format) Small(in engine.In, at chat.Spot) bool {
	names, err := in.List(eventsOf(at))
	return err == nil && len(names) <= fewEvents
}

// Rest implements chat.Scattered: it is that of the events.
func (f *format) Rest(in engine.In, at chat.Spot) (bytes int64) {
	dir := eventsOf(at)
	defer in.Hold(dir)()
	names, _ := in.List(dir) // of a conversation that has not begun there is none
	for _, e := range eventFiles(names) {
		if look, err := in.Stamp(tree.Join(dir, e.file)); err == nil {
			bytes += look.Size
		}
	}
	return bytes
}

// Glance implements chat.Format: the first words of the user are in one of the first events.
func (f *format) Glance(in engine.In, at chat.Spot) (g chat.Glance, err error) {
	data, err := tree.Head(in.Tree, at.File, headSize)
	if err != nil {
		return g, err
	}
	g.Project = chat.ParseHead(data).Get("workspace", "working_dir").Text()
	var said chat.Opening
	dir := eventsOf(at)
	names, _ := in.List(dir) // of a conversation that has not begun there is none
	for _, e := range eventFiles(names)[:min(len(names), 8)] {
		data, err := tree.Head(in.Tree, tree.Join(dir, e.file), headSize)
		if err != nil {
			continue
		}
		if v := chat.ParseHead(data); v.Get("kind").Text() == kindMessage {
			m := messageOf(v)
			said.Say(m.Summarise())
		}
		if said.HasPrompt() {
			break
		}
	}
	g.Title = said.Title()
	return g, nil
}

// ReadCarried implements chat.Carrier. It returns the events, except events of kinds that the model does not
// read.
func (f *format) ReadCarried(ctx context.Context, in engine.In, s *chat.Session) (list []chat.Carried, err error) {
	dir := eventsOf(s.Spot)
	defer in.Hold(dir)()
	names, _ := in.List(dir) // of a conversation that has not begun there is none
	var buf []byte
	for _, e := range eventFiles(names) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		file := tree.Join(dir, e.file)
		if buf, _, err = in.Read(file, buf[:0]); err != nil {
			continue // reading the session says why
		}
		v, err := chat.Parse(buf)
		if kind := v.Get("kind").Text(); err == nil && !silent[kind] {
			if c, says := chat.CarriedOf(file, "", kind, v); says {
				list = append(list, c)
			}
		}
	}
	return list, nil
}

// eventFile is the parsed name of an event's file.
type eventFile struct {
	file, id string
	index    int
}

var eventName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^event-(\d{5,9})-([0-9a-fA-F-]{8,})\.json$`) })

// eventFiles returns the files of events, in order.
func eventFiles(names []string) []eventFile {
	list := make([]eventFile, 0, len(names))
	for _, name := range names {
		if m := eventName().FindStringSubmatch(name); m != nil {
			index, _ := strconv.Atoi(m[1]) // nine digits are a number
			list = append(list, eventFile{name, m[2], index})
		}
	}
	slices.SortFunc(list, func(a, b eventFile) int {
		if a.index != b.index {
			return a.index - b.index
		}
		return strings.Compare(a.id, b.id)
	})
	return list
}
