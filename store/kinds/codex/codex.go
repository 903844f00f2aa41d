// Package codex reads the sessions of the Codex CLI.
//
//	~/.codex/sessions/YYYY/MM/DD/rollout-TIME-THREAD.jsonl
//	                             rollout-TIME-THREAD_SEGMENT.jsonl    after a revert
//	                             rollout-TIME-THREAD.jsonl.zst        packed, once it is old
//	        /archived_sessions/rollout-TIME-THREAD.jsonl
//	        /state_5.sqlite                                           the index of threads, unless it is elsewhere
//
// A thread is a session. Its file, a rollout, is only appended to. After a fork or a revert it may hold only
// the new records; its history_base names the place of the rest:
//
//	rollout A        │turn 1│turn 2│turn 3│
//	                               ▲ first 43901 bytes
//	rollout B, of a fork           └│turn 3'│
//
// What the model reads is folded from the records response_item and compacted. The formats were checked
// against 0.20, 0.77, 0.118, 0.169 and 0.171; the rules of a history_base follow codex-rs/thread-store.
//
//	names.go    which rollouts there are, by their names
//	threads.go  the index of threads
//	packed.go   rollouts that are packed
//	decode.go   a record
//	lineage.go  the parts that make a session
//	fold.go     parts to entries
//	turns.go    which turn an entry is in
//	fork.go     a session that stands by itself
package codex

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/media/watch"
)

// Kind describes the sessions of the Codex CLI. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) engine.Kind { return agent.Kind(cache) }

var agent = &chat.Agent{
	Name: "codex", Framework: "Codex", IDs: "Codex named the item; of older versions, its line",
	Roots:  []string{"."},
	Inner:  inner,
	Shape:  "sessions/YYYY/MM/DD/rollout-TIME-THREAD.jsonl",
	Noun:   "a Codex rollout",
	Traces: []string{`"session_meta"`, `"response_item"`, `"event_msg"`, magic},
	Signs: func(at chat.Spot, head []byte) chat.Sign {
		if at.Part != "" { // an index lists it
			return chat.Sign{Fits: true}
		}
		if thread, _ := threadOf(at.File); isPacked(head) && thread != "" {
			return chat.Sign{Fits: true}
		}
		return signOf(unpackedHead(head))
	},
	Format: func(dir string) chat.Format { return newFormat(dir) },
	Levels: []watch.Level{{Name: live}, {Depth: 3}},
	Places: func(around store.Surroundings) []string {
		return chat.Places(around, "CODEX_HOME", ".codex")
	},
	Moved:  chat.Moved{Variable: "CODEX_HOME"},
	Passes: "Codex passes the line over",
}

var dated = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|/)((archived_)?sessions|((sessions/)?\d{4}(/\d\d){0,2}))$`)
})

// inner reports how far above the folder of a day, or of sessions, the storage is.
func inner(dir string, _ tree.Tree) int {
	if way := dated().FindString(filepath.ToSlash(dir)); way != "" {
		return 1 + strings.Count(strings.TrimPrefix(way, "/"), "/")
	}
	return 0
}

// isRollout reports whether a file begins as a rollout: with a header or with records of a thread. Version
// 0.20 wrote the header without an envelope.
func isRollout(head []byte) bool {
	for v := range chat.FirstRecords(head) {
		is, body := openEnvelope(v)
		switch _, known := types()[is]; {
		case is == typeHeader && body.Kind() == jsontape.Object, is == typeState, is == typeEvent:
			return true
		case known && v.Get("payload").Kind() == jsontape.Object, isBareItem(v):
			return true
		}
	}
	return false
}

// isBareItem reports whether a record is an item as version 0.20 wrote it, without an envelope.
func isBareItem(v chat.Value) bool {
	for part := range v.Get("content").Each() {
		kind := part.Get("type").Text()
		return v.Get("type").Text() == "message" && (kind == "input_text" || kind == "output_text")
	}
	return false
}

// headerIn returns the header that is near the beginning of a rollout, or none.
func headerIn(head []byte) chat.Value {
	for v := range chat.FirstRecords(head) {
		if is, body := openEnvelope(v); is == typeHeader {
			return body
		}
	}
	return chat.Value{}
}

// signOf identifies a file by its beginning: a rollout has records of types that Codex writes.
func signOf(head []byte) chat.Sign {
	if !isRollout(head) {
		return chat.Sign{}
	}
	return chat.SignOf(head, "a response_item", func(v chat.Value) (fits bool, body chat.Body) {
		switch is, item := openEnvelope(v); {
		case is == typeItem, is == typeBetween, is == typeCompacted:
			return true, chat.BodyOf(v, item.Get("content"), item.Get("output"), item.Get("type"), item.Get("message"))
		case is == typeEvent:
			return true, chat.NoBody
		default:
			if _, known := types()[is]; known {
				return true, chat.NoBody
			}
			return true, chat.BodyOf(v)
		}
	})
}

// format implements chat.Forker.
type format struct {
	dir, elsewhere string // of the storage, and of the index where the environment says
	lines          chat.Lines[record]
	unpacker

	mu      sync.Mutex
	names   *names
	threads *threads
	// settings are the settings as they were read last.
	settings settings
	// sessions is the list of sessions when it was read last, nil before.
	sessions *sessionList
}

func newFormat(dir string) *format {
	return &format{dir: dir, elsewhere: elsewhere(dir), lines: chat.Lines[record]{Decode: decodeLine, Members: []string{"timestamp", "type", "payload"}}, unpacker: newUnpacker()}
}

// Glance implements chat.Format: the first words of the user are behind a header of some
// 20 kB.
func (f *format) Glance(in engine.In, at chat.Spot) (g chat.Glance, err error) {
	index := f.currentIndex(context.Background(), in)
	row := index.rows[threadID(at)]
	if at.Part != "" {
		row = f.rowOf(in, at, index)
		return chat.Glance{Title: row.threadTitle(), Project: row.dir}, nil
	}
	g.Title = row.threadTitle()
	t := f.inputFor(in, at.File).Tree
	var said chat.Opening
	learn := func(lines [][]byte) {
		for i := 0; i < len(lines) && (g.Title == "" && !said.HasPrompt() || g.Project == ""); i++ {
			v := chat.ParseHead(lines[i])
			switch is, body := openEnvelope(v); is {
			case typeHeader:
				g.Project = cmp.Or(g.Project, body.Get("cwd").Text())
			case typeItem:
				if m := itemOf(v); !isInjected(body) {
					said.Say(m.Summarise())
				}
			}
		}
	}
	head, err := tree.Head(t, at.File, headSize)
	learn(bytes.Split(head, []byte("\n")))
	if err == nil && g.Title == "" && !said.HasPrompt() && len(head) == headSize && !strings.HasSuffix(at.File, packed) {
		var tail []byte
		tail, err = chat.End(t, at.File, tailSize)
		learn(bytes.Split(tail, []byte("\n"))[1:])
	}
	g.Title = cmp.Or(g.Title, said.Title())
	g.Project = cmp.Or(g.Project, row.dir)
	return g, err
}

// What the list reads of a large rollout: the beginning, where the first prompt is behind the
// header and the instructions of the project, of 32 KiB by default, and the end, where a later one
// may be, if it is not.
const headSize, tailSize = 52 << 10, 4 << 10

// Calls implements chat.Caller.
func (f *format) Calls(s *chat.Session, e *chat.Entry) []model.Resume {
	if named, _ := threadOf(s.Spot.File); named != "" && s.IsHead(e) { // Codex finds it by the name
		return resumeCalls(s, threadID(s.Spot), "goes on from here")
	}
	return nil
}

// resumeCalls returns the commands that resume a thread.
func resumeCalls(s *chat.Session, thread, then string) []model.Resume {
	return []model.Resume{{Call: s.Command("", "codex", "resume", thread), Then: then}}
}

// threadID returns the id by which Codex calls a session.
func threadID(at chat.Spot) string { return path.Base(at.ID) }

// ReadCarried implements chat.Carrier: items, what events repeat of them, and records of types that
// are not known. The header and the contexts of turns have instructions, which are no messages;
// other events say how the work went on.
func (f *format) ReadCarried(ctx context.Context, in engine.In, s *chat.Session) (list []chat.Carried, err error) {
	if s.Spot.Part != "" { // its file is gone
		return nil, nil
	}
	for _, file := range append([]string{s.Spot.File}, s.Spot.More...) {
		part, err := chat.CarriedIn(ctx, f.inputFor(in, file), file, false, func(v chat.Value) (string, []chat.Value) {
			is, body := openEnvelope(v)
			if is == typeEvent {
				is += ":" + body.Get("type").Text()
			}
			_, known := types()[is]
			switch {
			case is == typeItem, is == typeBetween, is == typeCompacted, repeats[is], !known:
				return is, []chat.Value{body}
			}
			return "", nil
		})
		if err != nil {
			return nil, err
		}
		list = append(list, part...)
	}
	return list, nil
}

// repeats are the events that say the same as an item, in versions that write both; and the goal of a thread, which no item says.
var repeats = map[string]bool{eventUser: true, eventAgent: true, typeEvent + ":thread_goal_updated": true}
