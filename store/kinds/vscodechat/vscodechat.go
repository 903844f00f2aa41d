// Package vscodechat reads the sessions of the chat of VS Code: of Copilot Chat, and of forks of VS Code that keep them
// as it does.
//
//	User/workspaceStorage/HASH/chatSessions/SESSION.jsonl     since 1.109: a log of changes of one value
//	User/workspaceStorage/HASH/chatSessions/SESSION.json      before: that value
//	User/globalStorage/emptyWindowChatSessions/SESSION.jsonl  of windows without a folder
//	User/workspaceStorage/HASH/workspace.json                 the folder of the workspace
//	User/workspaceStorage/HASH/GitHub.copilot-chat/transcripts/SESSION.jsonl
//	                                                          Copilot's own events, for hooks
//
// The value has a list of requests, and each request has its answer. Every list that the log had is a way through the
// tree, see log.go. A session whose chat is gone is read from its transcript.
//
// The log is defined by objectMutationLog.ts and chatSessionOperationLog.ts of microsoft/vscode, the answers by
// chatModel.ts and chatService.ts there, and toolCallRounds by vscode-copilot-chat. There is no way back: VS Code takes in
// no session, and writes the open ones from memory.
//
//	vscodechat.go  where sessions are, and what the list shows of one
//	log.go         a log as a tree of requests
//	request.go     a request and its answer as messages
//	transcript.go  the events of a transcript
package vscodechat

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/media/watch"
)

// Kind describes the sessions of VS Code's chat. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) engine.Kind { return agent.Kind(cache) }

const (
	workspaces, globals, sessions = "workspaceStorage", "globalStorage", "chatSessions"
	transcripts                   = "transcripts"
)

var agent = &chat.Agent{
	Name: "vscode-chat", Framework: "VS Code", IDs: "VS Code's id of the request, with the number of the answer",
	Roots: []string{".", "User"}, Home: "code",
	Inner: inner,
	Shape: "chatSessions/SESSION.jsonl or .json with a list of requests",
	Noun:  "a chat of VS Code",
	Signs: func(_ chat.Spot, head []byte) chat.Sign { return signOf(head) },
	Format: func(string) chat.Format {
		return &format{chat.Lines[record]{Decode: decodeLine}, chat.Lines[event]{Decode: decodeEvent}}
	},
	Levels: []watch.Level{{}, {}, {}, {}},
	Places: func(around store.Surroundings) []string {
		return chat.ConfigPlaces(around, "Code/User", "Code - Insiders/User", "VSCodium/User")
	},
	Lacks:  "VS Code takes in no session from outside, and writes those that are open from memory: they are only read",
	Passes: "VS Code does not open the session",
}

// signOf identifies a file by its beginning: the first state of a log, a state alone, or the start of a transcript.
func signOf(head []byte) chat.Sign {
	if isTranscript(head) {
		return chat.Sign{Fits: true}
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	whole := chat.ParseHead(line)
	if !whole.Get("v").There() {
		whole = chat.ParseHead(head)
	} else if whole.Get("kind").Number() != opInitial {
		return chat.Sign{}
	} else {
		whole = whole.Get("v")
	}
	list := whole.Get("requests")
	if list.Kind() != jsontape.Array || !whole.Get("responderUsername").There() && !whole.Get("sessionId").There() && !whole.Get("creationDate").There() {
		return chat.Sign{}
	}
	for request := range list.Each() {
		if body := chat.BodyOf(request, request.Get("message")); body == chat.ForeignBody {
			return chat.Sign{Fits: true, Misses: "message"}
		}
		break
	}
	return chat.Sign{Fits: true}
}

// inner returns how far above a folder the storage is.
func inner(dir string, _ tree.Tree) int {
	parts := strings.Split(filepath.ToSlash(dir), "/")
	for _, name := range []string{workspaces, globals} {
		if at := slices.Index(parts, name); at >= 0 {
			return len(parts) - at
		}
	}
	if parts[len(parts)-1] == sessions {
		return 1
	}
	return 0
}

// patterns are where sessions are, and transcripts behind them.
var patterns = []string{
	workspaces + "/*/" + sessions + "/*.json*", globals + "/emptyWindowChatSessions/*.json*", globals + "/transferredChatSessions/*.json*", sessions + "/*.json*",
	workspaces + "/*/GitHub.copilot-chat/" + transcripts + "/*.jsonl",
}

// format implements chat.Carrier and chat.Several.
type format struct {
	logs   chat.Lines[record]
	events chat.Lines[event]
}

// Spots implements chat.Format. VS Code reads the log of a session where there is a document besides.
func (f *format) Spots(ctx context.Context, in engine.In) (list []chat.Spot, err error) {
	if _, err := in.List("."); err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, pattern := range patterns {
		names := chat.Match(in, pattern)
		for _, file := range names {
			at := f.Spot(file)
			script := path.Base(path.Dir(file)) == transcripts
			switch path.Ext(file) {
			case ".json":
				if slices.Contains(names, file+"l") {
					continue
				}
			case ".jsonl":
			default:
				continue
			}
			if script && known[at.ID] {
				continue
			}
			known[at.ID], list = true, append(list, at)
		}
	}
	return list, ctx.Err()
}

// ReadOpened implements chat.Several.
func (f *format) ReadOpened(_ context.Context, in engine.In, file string) ([]chat.Spot, error) {
	if !chat.HeadTells(in, file, "vscode chat", func(head []byte) bool { return signOf(head).Read() }) {
		return nil, nil
	}
	return []chat.Spot{f.Spot(file)}, nil
}

// Spot implements chat.Format.
func (f *format) Spot(file string) chat.Spot {
	return chat.Spot{File: file, ID: strings.TrimSuffix(path.Base(file), path.Ext(file)), Named: true}
}

// projectOf returns the folder of the workspace of a file, "" where no file tells.
func projectOf(in engine.In, file string) string {
	hash, below, is := strings.Cut(strings.TrimPrefix(file, workspaces+"/"), "/")
	if !is || !strings.HasPrefix(file, workspaces+"/") || below == "" {
		return ""
	}
	return chat.AskHead(in, path.Join(workspaces, hash, "workspace.json"), "folder", func(head []byte) string {
		space := chat.ParseHead(head)
		if of := chat.FilePath(space.Get("workspace").Text()); of != "" {
			return path.Dir(of)
		}
		return chat.FilePath(space.Get("folder").Text())
	})
}

// layout says how a file is laid out.
type layout string

const (
	aLog      layout = "log"
	aDocument layout = "document"
	events    layout = "events"
)

// layoutOf returns the layout of a file by its beginning.
func layoutOf(in engine.In, file string) layout {
	return layout(cmp.Or(chat.AskHead(in, file, "vscode layout", func(head []byte) string {
		line, _, _ := bytes.Cut(head, []byte("\n"))
		switch {
		case isTranscript(head):
			return string(events)
		case chat.ParseHead(line).Get("kind").There():
			return string(aLog)
		}
		return string(aDocument)
	}), string(aDocument)))
}

// Glance implements chat.Format.
func (f *format) Glance(in engine.In, at chat.Spot) (g chat.Glance, err error) {
	g.Project = projectOf(in, at.File)
	var said chat.Opening
	title := ""
	see := func(list []request) {
		for i := 0; i < len(list) && !said.HasPrompt(); i++ {
			said.Say(list[i].said)
		}
	}
	look := func(v chat.Value) {
		var r record
		r.decodeValue(v, 0)
		if r.titled {
			title = r.title
		}
		if r.key == "" {
			see(r.requests)
		}
	}
	switch layoutOf(in, at.File) {
	case events:
		err = chat.EndLines(in.Tree, at.File, func([][]byte) bool { return true }, func(head, _ [][]byte) {
			for i := 0; i < len(head) && !said.HasPrompt(); i++ {
				m, _ := eventMessage(chat.ParseHead(head[i]))
				said.Say(m.Summarise())
			}
		})
	case aLog:
		err = chat.EndLines(in.Tree, at.File, func([][]byte) bool { return true }, func(head, tail [][]byte) {
			for _, line := range slices.Concat(head, tail) {
				look(chat.ParseHead(line))
			}
		})
	default:
		const begins, ends = 48 << 10, 8 << 10
		var head, end []byte
		if head, err = tree.Head(in.Tree, at.File, begins); err != nil {
			return g, err
		}
		look(chat.ParseHead(head))
		if end, err = chat.End(in.Tree, at.File, ends); err == nil && title == "" {
			if i := bytes.LastIndex(end, []byte(`"customTitle"`)); i >= 0 {
				title = chat.ParseHead(slices.Concat([]byte("{"), end[i:])).Get("customTitle").Text()
			}
		}
	}
	if g.Title = chat.StoredTitle(title); g.Title == "" {
		g.Title = said.Title()
	}
	return g, err
}

// FaultStart: a log does not begin with a state.
const FaultStart = "no-first-state"

// Read implements chat.Format.
func (f *format) Read(ctx context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	s := &chat.Session{Spot: at, Head: -1, Project: projectOf(in, at.File)}
	is := layoutOf(in, at.File)
	if is == events {
		return s, f.readEvents(ctx, in, s)
	}
	read := func() (*chat.File[record], error) { return f.logs.ReadWhole(in, at.File) }
	if is == aLog {
		read = func() (*chat.File[record], error) { return f.logs.Read(ctx, in, at.File) }
	}
	file, err := read()
	if err != nil {
		return nil, err
	}
	s.Faults = file.Faults(agent.Passes)
	t, unknown := &requestTree{at: map[place]int{}}, map[string]int{}
	for i := range file.Records {
		r := &file.Records[i].Is
		if i == 0 && r.op != opInitial {
			s.Fault(FaultStart, model.Stops, "line 1", "the log does not begin with a state that the changes behind it are of", agent.Passes)
		}
		if r.op == opUnknown {
			unknown[r.unknown]++
			continue
		}
		t.applyLine(r)
	}
	s.Faults = append(s.Faults, chat.UnknownFaults(at.File, unknown)...)
	s.Title = chat.StoredTitle(t.title)
	t.addEntries(s)
	return s, nil
}

// Messages implements chat.Format.
func (f *format) Messages(in engine.In, _ *chat.Session, e *chat.Entry) ([]chat.Message, error) {
	raw, err := chat.Raw(in.Tree, e.File, e.Records)
	if err != nil {
		return nil, err
	}
	if from, is := e.Own.(*origin); is {
		m, err := from.buildMessage(raw)
		return []chat.Message{m}, err
	}
	return eventMessages(raw)
}

// ReadCarried implements chat.Carrier. A part of an answer that is a tool's has its texts in the call and the result.
func (f *format) ReadCarried(ctx context.Context, in engine.In, s *chat.Session) ([]chat.Carried, error) {
	return chat.CarriedIn(ctx, in, s.Spot.File, layoutOf(in, s.Spot.File) == aDocument, func(v chat.Value) (kind string, list []chat.Value) {
		if is := v.Get("type").Text(); is != "" {
			if _, says := eventMessage(v); says {
				return is, []chat.Value{v.Get("data")}
			}
			return "", nil
		}
		var r record
		r.decodeValue(v, 0)
		return "request", r.carried
	})
}
