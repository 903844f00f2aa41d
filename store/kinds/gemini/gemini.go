// Package gemini reads the sessions of Gemini CLI.
//
//	~/.gemini/tmp/PROJECT/chats/session-TIME-XXXXXXXX.jsonl    XXXXXXXX begins the session's id
//	~/.gemini/tmp/PROJECT/chats/SESSION/AGENT.jsonl            a sub-agent
//	~/.gemini/tmp/PROJECT/.project_root                        the folder that the project is
//
// A file is a log of changes to a list of messages, see fold.go. Older versions wrote one document, ….json,
// which is read as well. The rules follow chatRecordingService and sessionCleanup in 0.61.0.
package gemini

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/media/watch"
)

// Kind describes the sessions of Gemini CLI. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) engine.Kind { return agent.Kind(cache) }

var moved = chat.Moved{Variable: "GEMINI_CLI_HOME", Below: ".gemini/tmp"}

var agent = &chat.Agent{
	Name: "gemini-cli", Framework: "Gemini CLI", IDs: "Gemini CLI named the message",
	Roots: []string{"tmp", "."}, Home: "gemini",
	Inner: inner,
	Shape: "chats/session-TIME-ID.jsonl with the id of a session",
	Noun:  "a session of Gemini CLI", Traces: []string{`"projectHash"`, `"type":"gemini"`, `"type": "gemini"`},
	Signs: func(at chat.Spot, head []byte) chat.Sign { return signOf(at.File, head) },
	Format: func(string) chat.Format {
		return &format{chat.Lines[record]{Decode: decodeLine, Members: []string{"id", "timestamp", "type"}}}
	},
	Levels: []watch.Level{{}, {Name: chats}, {}},
	Places: moved.Places(".gemini/tmp"),
	Moved:  moved,
	Passes: "Gemini CLI passes the line over", Lifetime: lifetimeOf,
}

// signOf identifies a file by its beginning: a log, or an older document, with messages that have content.
func signOf(file string, head []byte) chat.Sign {
	if !isLog(file, head) {
		return chat.Sign{}
	}
	v := chat.ParseHead(head)
	const misses = "a message with a content"
	list := v.Get("messages")
	if !list.There() {
		return chat.SignOf(head, misses, func(line chat.Value) (bool, chat.Body) { return true, bodyOf(line) })
	}
	s := chat.Sign{Fits: true}
	for m := range list.Each() {
		switch bodyOf(m) {
		case chat.ReadBody:
			return chat.Sign{Fits: true}
		case chat.ForeignBody:
			s.Misses = misses
		}
	}
	return s
}

// bodyOf returns the body of a message, or of another line of a log.
func bodyOf(v chat.Value) chat.Body {
	return chat.BodyOf(v, v.Get("content"), v.Get("toolCalls"), v.Get("thoughts"), v.Get("$set"), v.Get("$rewindTo"))
}

const (
	// mostGlanced is how much of the beginning of a file is read for the list.
	mostGlanced = 56 << 10
	// chats is the folder of a project that has the sessions, prefix begins their names.
	chats, prefix = "chats", "session-"
	// rootFile of a project has the path of its folder.
	rootFile = ".project_root"
)

// shortID finds the part of a name by which Gemini CLI deletes files.
var shortID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-([a-zA-Z0-9]{8})\.jsonl?$`) })

// isLog reports whether a file begins as a session: with the session's metadata, or with a message of the
// model.
func isLog(file string, head []byte) bool {
	if isDocument(file, head) {
		return namesSession(chat.ParseHead(head))
	}
	for v := range chat.FirstRecords(head) {
		if namesSession(v) || namesSession(v.Get("$set")) || v.Get("type").Text() == "gemini" && v.Get("id").There() && v.Get("content").There() {
			return true
		}
	}
	return false
}

// namesSession reports whether a record names its session, as those of Gemini CLI do.
func namesSession(v chat.Value) bool {
	return v.Get("sessionId").There() && v.Get("type").Text() == "" && (v.Get("projectHash").There() || v.Get("startTime").There() && v.Get("lastUpdated").There())
}

// inner returns how far above a folder the folders of all projects are.
func inner(dir string, t tree.Tree) int {
	switch {
	case filepath.Base(dir) == chats:
		return 2
	case filepath.Base(filepath.Dir(dir)) == chats:
		return 3
	}
	if names, err := t.List(chats); err == nil && slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, prefix) }) {
		return 1
	}
	return 0
}

// format implements chat.Forker, chat.Identifier and chat.Caller.
type format struct{ lines chat.Lines[record] }

// Spots implements chat.Format.
func (f *format) Spots(ctx context.Context, in engine.In) (list []chat.Spot, err error) {
	projects, err := in.List(".")
	if err != nil {
		return nil, err
	}
	slices.Sort(projects)
	list = f.sessionsIn(in, ".", projects)
	for _, name := range projects {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if names, err := in.List(tree.Join(name, chats)); err == nil { // no file, and none without chats
			slices.Sort(names)
			list = append(list, f.sessionsIn(in, tree.Join(name, chats), names)...)
		}
	}
	return list, nil
}

// sessionsIn returns the sessions of one folder, each with the sessions that have the same short id. It reads the
// beginning of a file that Gemini CLI did not name.
func (f *format) sessionsIn(in engine.In, dir string, names []string) (list []chat.Spot) {
	same, agents := map[string][]string{}, []chat.Spot(nil)
	for _, name := range names {
		file := tree.Join(dir, name)
		switch {
		case !isSession(name) && strings.Contains(name, ".json"):
			if beginningOf(in, file).begins {
				list = append(list, f.Spot(file))
			}
		case isSession(name):
			list = append(list, f.Spot(file))
			short := shortOf(name)
			same[short] = append(same[short], file)
		case path.Base(dir) == chats && !strings.Contains(name, "."):
			below, _ := in.List(file) // what cannot be listed has none
			slices.Sort(below)
			for _, one := range below {
				if strings.HasSuffix(one, ".jsonl") {
					agents = append(agents, f.Spot(tree.Join(file, one)))
				}
			}
		}
	}
	for i := range list {
		if all := same[shortOf(path.Base(list[i].File))]; len(all) > 1 {
			list[i].More = slices.DeleteFunc(slices.Clone(all), func(file string) bool { return file == list[i].File })
		}
	}
	return append(list, agents...)
}

// beginning is read from the beginning of a file: whether the file is a session, whether it is one document,
// and the session id in its first line.
type beginning struct {
	begins, document bool
	id               string
}

// beginningOf looks at the beginning of a file once.
func beginningOf(in engine.In, file string) beginning {
	fields := strings.Split(chat.AskHead(in, file, "beginning", func(head []byte) string {
		begins, id := isLog(file, head), chat.ParseHead(head).Get("sessionId").Text()
		if !chat.IsPlainID(id) {
			id = ""
		}
		if !begins && id == "" {
			return ""
		}
		return fmt.Sprint(begins, " ", isDocument(file, head), " ", id)
	}), " ")
	if len(fields) < 3 { // nothing tells but the name
		return beginning{document: strings.HasSuffix(file, ".json")}
	}
	return beginning{fields[0] == "true", fields[1] == "true", fields[2]}
}

func isSession(name string) bool {
	return strings.HasPrefix(name, prefix) && (strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".json"))
}

// shortOf returns the short id in a name; the name itself, which no other has, without one.
func shortOf(name string) string {
	if found := shortID().FindStringSubmatch(name); found != nil {
		return found[1]
	}
	return name
}

// Spot implements chat.Format.
func (f *format) Spot(file string) chat.Spot {
	at := chat.Spot{File: file, ID: strings.TrimSuffix(path.Base(file), path.Ext(file))}
	dir := path.Dir(file)
	of := projectOf(file)
	if of != "." {
		at.Project = path.Base(of)
	}
	if path.Base(dir) != chats && path.Join(of, chats) == path.Dir(dir) { // of a sub-agent
		at.ID = path.Base(dir) + "/" + at.ID
	}
	return at
}

// projectOf returns the folder of the project of a file, "." where its name does not tell.
func projectOf(file string) string {
	dir := path.Dir(file)
	for dir != "." && path.Base(dir) != chats {
		dir = path.Dir(dir)
	}
	return path.Dir(dir)
}

// ID implements chat.Identifier: the first line tells.
func (f *format) ID(in engine.In, at chat.Spot) string {
	if strings.Contains(at.ID, "/") {
		return at.ID
	}
	return beginningOf(in, at.File).id
}

// projectDir returns the folder that a session is about, "" where no file tells.
func projectDir(in engine.In, file string) string {
	const longest = 4 << 10
	text, err := tree.Head(in.Tree, tree.Join(projectOf(file), rootFile), longest)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Glance implements chat.Format.
func (f *format) Glance(in engine.In, at chat.Spot) (g chat.Glance, err error) {
	g.Project = projectDir(in, at.File)
	head, err := tree.Head(in.Tree, at.File, mostGlanced)
	if err != nil {
		return g, err
	}
	lines := bytes.Split(head, []byte("\n"))
	if beginningOf(in, at.File).document {
		lines = [][]byte{head}
	}
	var said chat.Opening
	for i := 0; i < len(lines) && !said.HasPrompt(); i++ {
		for _, m := range recordOf(chat.ParseHead(lines[i]), 0).messages {
			if m.event == "" || m.event == eventCommand {
				said.Say(m.said)
			}
		}
	}
	g.Title = said.Title()
	if said.HasPrompt() { // there is something to lose
		g.Faults, err = f.sharedNameFaults(context.Background(), in, at, mostShared)
	}
	return g, err
}

// isDocument reports whether a file is one document, as from before the logs, by its beginning: its
// first line is no record by itself.
func isDocument(file string, head []byte) bool {
	line, rest, more := bytes.Cut(bytes.TrimSpace(head), []byte("\n"))
	if string(bytes.TrimSpace(line)) == "{" {
		return more
	}
	whole := more && jsontape.Valid(line)
	if strings.HasSuffix(file, ".json") {
		return !whole || len(bytes.TrimSpace(rest)) == 0
	}
	return more && !whole && !strings.HasSuffix(file, ".jsonl") && namesSession(chat.ParseHead(head))
}

// loadFile reads a file.
func (f *format) loadFile(ctx context.Context, in engine.In, file string) (*chat.File[record], error) {
	if beginningOf(in, file).document {
		return f.lines.ReadWhole(in, file)
	}
	return f.lines.Read(ctx, in, file)
}

// Codes of faults.
const (
	// FaultShared: the name ends as that of another session does.
	FaultShared = "shared-short-id"
	// FaultEmpty: nothing in the list of messages is worth resuming.
	FaultEmpty = "nothing-to-resume"
	// FaultTwice: results of tools stand twice.
	FaultTwice = "results-twice"
	// FaultHeader: no line says which session it is.
	FaultHeader = "no-session-id"
	// FaultRewind: the log goes back to a message that is not there.
	FaultRewind = "unknown-rewind"
)

// Read implements chat.Format.
func (f *format) Read(ctx context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	file, err := f.loadFile(ctx, in, at.File)
	if err != nil {
		return nil, err
	}
	t := foldLog(file)
	s := &chat.Session{Spot: at, Head: t.headNode(), Title: t.meta.summary, Project: projectDir(in, at.File), Faults: file.Faults(agent.Passes), Own: file}
	s.Entries = t.buildEntries(at, s.Project)
	s.Faults = append(s.Faults, chat.UnknownFaults(at.File, t.unknown)...)
	if t.again > 0 {
		s.Fault(FaultTwice, model.Note, "", model.Count(t.again, "result")+" of tools in the log twice: with the call, and as words of the user", "Gemini CLI sends both to the model, since the session was resumed; Hindcast shows one")
	}
	for _, place := range t.astray {
		s.Fault(FaultRewind, model.Loses, place, "the line goes back to a message that is not there", "Gemini CLI goes on without any message from before")
	}
	if sub := strings.Contains(at.ID, "/"); file.Size > 0 && !t.meta.isListed() {
		s.Fault(FaultHeader, model.Loses, "", "no line has the ids of a session and of its project", deletes)
	} else if file.Size > 0 && !sub && !t.isResumable() {
		if !t.had {
			s.Fault(FaultEmpty, model.Note, "", "the session has no message of the user or of the model", deletes)
		} else {
			s.Fault(FaultEmpty, model.Loses, "", "nothing is left of the messages that the session had; they are still in the file", deletes)
		}
	}
	if !t.had {
		return s, nil // there is nothing to lose
	}
	shared, err := f.sharedNameFaults(ctx, in, at, math.MaxInt64)
	s.Faults = append(s.Faults, shared...)
	return s, err
}

// mostShared is up to which size, in bytes, a file is read for the list of another one.
const mostShared = 16 << 10

// sharedNameFaults returns the faults of a session whose name ends as those of other files do: Gemini CLI
// deletes all of these when it deletes one. Files larger than most are not looked into. The error is
// that of a context that has ended.
func (f *format) sharedNameFaults(ctx context.Context, in engine.In, at chat.Spot, most int64) (list []model.Fault, err error) {
	for _, name := range at.More {
		if look, err := in.Stamp(name); err != nil || look.Size > most {
			continue
		}
		file, err := f.loadFile(ctx, in, name)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue // it went, or is a fault of its own
		}
		fault := model.Fault{Code: FaultShared, Severity: model.Odd, File: at.File, Meaning: "the name of " + name + " ends in the same 8 characters", Verdict: "where one of the files is deleted for its age, the other goes, too"}
		if other := foldLog(file); !other.isResumable() || !other.meta.isListed() {
			fault.Severity, fault.Copy = model.Loses, "head"
			fault.Meaning += ", and nothing in that file is worth resuming"
			fault.Verdict = "the next start deletes this session; a fork at its head is a copy that stays (the key r, or hindcast fork)"
		}
		list = append(list, fault)
	}
	return list, nil
}

// deletes tells how Gemini CLI treats a file with nothing to resume.
const deletes = "does not list the session, and deletes the file at the next start"

// Messages implements chat.Format.
func (f *format) Messages(in engine.In, s *chat.Session, e *chat.Entry) (list []chat.Message, err error) {
	records, err := chat.Values(in.Tree, e.File, e.Records)
	if err != nil {
		return nil, err
	}
	var m, results chat.Message
	var raw [][]byte
	for _, v := range records { // the last one is what the message is now, the others may have tokens
		usage := m.Usage
		if m, results = messageOf(v); !m.Usage.Counted {
			m.Usage = usage
		}
		raw = append(raw, m.Raw...)
	}
	m.Raw = raw
	list = append(list, m)
	if own := e.Own.(*node); own.carries && len(results.Blocks) > 0 {
		list = append(list, results)
	}
	return list, nil
}

// Sources implements chat.Plain.
func (f *format) Sources(in engine.In, at chat.Spot) []string {
	root := tree.Join(projectOf(at.File), rootFile)
	if look, err := in.Stamp(root); err == nil && look.Kind == files.Nothing {
		return []string{at.File}
	}
	return []string{at.File, root}
}

// Adds implements chat.Plain.
func (f *format) Adds(e *chat.Entry) int {
	if e.Own.(*node).carries {
		return 2
	}
	return 1
}

// Calls implements chat.Caller.
func (f *format) Calls(s *chat.Session, e *chat.Entry) []model.Resume {
	if !s.IsHead(e) || strings.Contains(s.Spot.ID, "/") {
		return nil
	}
	return s.ResumeInProject("goes on from here", "gemini", "--resume", strings.TrimRight(s.Spot.ID, "'"))
}

// ReadCarried implements chat.Carrier. It returns the messages of each list; of messages with one id, the
// last one counts. Other lines hold the session's metadata.
func (f *format) ReadCarried(ctx context.Context, in engine.In, s *chat.Session) ([]chat.Carried, error) {
	list, err := chat.CarriedIn(ctx, in, s.Spot.File, beginningOf(in, s.Spot.File).document, func(v chat.Value) (string, []chat.Value) {
		for _, list := range []chat.Value{v.Get("messages"), v.Get("$set", "messages")} {
			if list.There() {
				return "message", slices.Collect(list.Each())
			}
		}
		if v.Get("$set").There() || v.Get("sessionId").There() {
			return "", nil
		}
		return v.Get("type").Text(), []chat.Value{v}
	})
	seen, counts := map[string]bool{}, make([]chat.Carried, 0, len(list))
	for _, c := range slices.Backward(list) {
		if c.ID == "" || !seen[c.ID] {
			counts = append(counts, c)
		}
		seen[c.ID] = true
	}
	slices.Reverse(counts)
	return counts, err
}
