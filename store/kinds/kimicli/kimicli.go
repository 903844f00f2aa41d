// Package kimicli reads the sessions of kimi-cli, the command for Python that came before Kimi Code.
//
//	~/.kimi/sessions/FOLDER/ID/context.jsonl                   the messages that are sent
//	~/.kimi/sessions/FOLDER/ID/context_N.jsonl                 those that were there before the Nth of such files
//	~/.kimi/sessions/FOLDER/ID/state.json                      a title
//	~/.kimi/sessions/FOLDER/ID/wire.jsonl                      as it was shown: all that is left without the messages
//	~/.kimi/sessions/FOLDER/ID/subagents/AGENT/context.jsonl   a sub-agent
//	~/.kimi/sessions/FOLDER/ID.jsonl, ID_N.jsonl               the messages, before 0.59
//
// kimi-cli moves its messages to another file and begins anew when it reverts to a checkpoint, clears or compacts. Each file
// is a list of messages from the first on: lists that begin alike share these messages, and what the last list does not have
// was left. FOLDER is a digest of a folder that the system prompt names. The rules follow kimi_cli/soul/context.py 1.51.0, which wrote
// the sessions of the tests.
package kimicli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/request"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/media/watch"
)

// Kind describes the sessions of kimi-cli. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) engine.Kind { return agent.Kind(cache) }

const (
	contextFile, stateFile = "context.jsonl", "state.json"
	agentsDir              = "subagents"
	rolePrompt             = "_system_prompt"
	compaction             = "compaction"
)

// summaryWords begin the message that a compaction leaves.
const summaryWords = "<system>Previous context has been compacted."

var moved = chat.Moved{Variable: "KIMI_SHARE_DIR", Below: "sessions"}

var agent = &chat.Agent{
	Name: "kimi-cli", Framework: "kimi-cli", IDs: "the file and the line of the message",
	Roots: []string{"sessions", "."}, Home: "kimi",
	Inner: func(dir string, _ tree.Tree) int {
		return chat.StorageAbove(filepath.ToSlash(dir), digest().MatchString)
	},
	Shape:  "FOLDER/ID/context.jsonl with messages of kimi-cli",
	Noun:   "a session of kimi-cli",
	Traces: []string{`"` + rolePrompt + `"`, `"_checkpoint"`},
	Signs:  func(_ chat.Spot, head []byte) chat.Sign { return signOf(head) },
	Format: func(string) chat.Format {
		return &format{chat.Lines[record]{Decode: decodeLine, Members: []string{"role"}}}
	},
	Levels: []watch.Level{{}, {}, {Name: agentsDir}, {}},
	Places: moved.Places(".kimi/sessions"),
	Moved:  moved,
	Passes: "kimi-cli passes the line over",
}

// digest matches the name of the folder of a project.
var digest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:\w+_)?[0-9a-f]{32}$`) })

// signOf identifies a file by its beginning: its first line is one of kimi-cli's own, and messages follow it.
func signOf(head []byte) chat.Sign {
	first, _, _ := bytes.Cut(head, []byte("\n"))
	if isWireHead(chat.ParseHead(first)) {
		return chat.Sign{Fits: true}
	}
	if !strings.HasPrefix(chat.ParseHead(first).Get("role").Text(), "_") {
		return chat.Sign{}
	}
	return chat.SignOf(head, "content", func(v chat.Value) (bool, chat.Body) {
		switch role := v.Get("role").Text(); {
		case strings.HasPrefix(role, "_"):
			return true, chat.NoBody
		default:
			return role != "", chat.BodyOf(v, v.Get("content"))
		}
	})
}

// record holds the parts of a line that the timeline shows.
type record struct {
	entry          chat.Entry
	own            own
	prompt         bool
	child, project string
	unknown        string // the role, where it is of no message and not known
}

// own is kept with an entry.
type own struct {
	// line is the digest of the line, and summary says that a compaction wrote it.
	line    [sha256.Size]byte
	summary bool
	// kept are the lines behind a summary that stand before it, too.
	kept [][sha256.Size]byte
}

func decodeLine(line *chat.Line, r *record) error {
	v, err := line.Parse()
	if err != nil {
		return err
	}
	switch role := v.Get("role").Text(); {
	case v.Get("message", "payload").There():
		if m := wireMessage(v); m.Blocks != nil {
			r.entry = chat.Entry{At: v.Get("timestamp").Time(), Said: m.Summarise(), Records: []chat.Span{line.Span}}
			r.own.line = sha256.Sum256(line.Raw)
		}
	case v.Get("protocol_version").There():
	case role == rolePrompt:
		r.prompt, r.project = true, findProject(v)
	case role == "_checkpoint" || role == "_usage":
	case role == "" || strings.HasPrefix(role, "_"):
		r.unknown = cmp.Or(role, "line")
	default:
		m := messageOf(v)
		content := v.Get("content")
		r.entry = chat.Entry{Said: m.Summarise(), Records: []chat.Span{line.Span}}
		r.own.line = sha256.Sum256(line.Raw)
		text := content // one of a single text is that text
		for part := range content.Each() {
			text = part.Get("text")
			break
		}
		r.own.summary = m.Role == chat.User && strings.HasPrefix(text.Text(), summaryWords)
		if told, is := strings.CutPrefix(content.Text(), "agent_id: "); is && m.Role == chat.Tool {
			r.child, _, _ = strings.Cut(told, "\n")
		}
	}
	return nil
}

// findProject returns the folder that a system prompt names.
func findProject(v chat.Value) string {
	_, rest, _ := strings.Cut(v.Get("content").Text(), "current working directory is `")
	dir, _, whole := strings.Cut(rest, "`")
	if !whole {
		return ""
	}
	return dir
}

// messageOf returns the message of a line.
func messageOf(v chat.Value) chat.Message {
	if v.Get("message", "payload").There() {
		return wireMessage(v)
	}
	content := v.Get("content")
	m := chat.Message{Role: chat.RoleOf(v.Get("role").Text()), Raw: [][]byte{v.Raw()}}
	if m.Role == chat.Tool {
		m.Blocks = []chat.Block{{Kind: conversation.ToolResult, ID: v.Get("tool_call_id").Text(), Body: content.Raw()}}
		return m
	}
	if content.Text() != "" {
		m.Blocks = append(m.Blocks, chat.TextBlock(content.Raw()))
	}
	for part := range content.Each() {
		m.Blocks = append(m.Blocks, partBlock(part))
	}
	for call := range v.Get("tool_calls").Each() {
		m.Blocks = append(m.Blocks, callBlock(call))
	}
	return m
}

// partBlock returns the block of a part of a content.
func partBlock(part chat.Value) chat.Block {
	switch text, think := part.Get("text"), part.Get("think"); {
	case text.There():
		return chat.TextBlock(text.Raw())
	case think.There():
		return chat.Block{Kind: conversation.Reasoning, Body: think.Raw()}
	}
	return chat.Block{Kind: conversation.Unknown, Body: part.Raw()}
}

// callBlock returns the block of a call.
func callBlock(call chat.Value) chat.Block {
	return chat.Block{Kind: conversation.ToolCall, ID: call.Get("id").Text(), Name: call.Get("function", "name").Text(), Body: call.Get("function", "arguments").UnwrapJSON()}
}

// format implements chat.Forker, chat.Requester, chat.Scattered and chat.Carrier.
type format struct{ lines chat.Lines[record] }

// Spots implements chat.Format. A file of another name counts in the opened folder alone.
func (f *format) Spots(ctx context.Context, in engine.In) (list []chat.Spot, err error) {
	if _, err := in.List("."); err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, pattern := range []string{"*.jsonl", flatFiles, "*/*/*.jsonl", "*/*/" + agentsDir + "/*/*.jsonl"} {
		for _, file := range chat.Match(in, pattern) {
			at, counts := f.Spot(file), true
			switch pattern {
			case "*.jsonl":
			case flatFiles:
				counts = isFlat(file) && !strings.Contains(path.Base(file), "_")
			default: // by their names the messages come before what was shown
				counts = path.Base(file) == contextFile || isWire(file) && !known[at.ID]
			}
			if counts {
				known[at.ID], list = true, append(list, at)
			}
		}
	}
	return list, ctx.Err()
}

// flatFiles are the sessions and the files that their messages were moved to, in the layout before 0.59.
const flatFiles = "*/*.jsonl"

// isFlat reports whether a file lies in the folder of a project itself.
func isFlat(file string) bool { return digest().MatchString(path.Dir(file)) }

// Spot implements chat.Format. A sub-agent's id begins with that of its session.
func (f *format) Spot(file string) chat.Spot {
	at := chat.Spot{File: file, ID: strings.TrimSuffix(path.Base(file), ".jsonl")}
	dir := path.Dir(file)
	switch above := path.Dir(dir); {
	case isFlat(file):
		at.Project = dir
	case path.Base(file) != contextFile && !isWire(file) || above == ".":
	case path.Base(above) == agentsDir:
		at.ID = path.Base(path.Dir(above)) + "/" + path.Base(dir)
	default:
		if at.ID, at.Project = path.Base(dir), path.Base(above); !isWire(file) {
			at.More = []string{tree.Join(dir, stateFile)}
		}
	}
	return at
}

// rotatedFiles returns the files that the messages of a session were moved to, the oldest first.
func rotatedFiles(in engine.In, at chat.Spot) (list []string) {
	stem := strings.TrimSuffix(at.File, ".jsonl")
	if path.Base(at.File) != contextFile && !isFlat(at.File) {
		return nil
	}
	number := func(file string) int {
		n, _ := strconv.Atoi(strings.TrimSuffix(file[len(stem)+1:], ".jsonl"))
		return n
	}
	list = slices.DeleteFunc(chat.Match(in, stem+"_*.jsonl"), func(file string) bool { return number(file) == 0 })
	slices.SortFunc(list, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	return list
}

// Rest implements chat.Scattered.
func (f *format) Rest(in engine.In, at chat.Spot) (bytes int64) {
	for _, file := range rotatedFiles(in, at) {
		if stamp, err := in.Stamp(file); err == nil {
			bytes += stamp.Size
		}
	}
	return bytes
}

// titleOf returns the title in the state of a session, or "".
func titleOf(in engine.In, at chat.Spot) string {
	if len(at.More) == 0 {
		return ""
	}
	return chat.StoredTitle(chat.AskHead(in, at.More[0], "title", func(head []byte) string {
		return chat.ParseHead(head).Get("custom_title").Words()
	}))
}

// Glance implements chat.Format.
func (f *format) Glance(in engine.In, at chat.Spot) (g chat.Glance, err error) {
	lines, err := chat.HeadLines(in.Tree, at.File)
	var said chat.Opening
	for _, line := range lines {
		if v := chat.ParseHead(line); v.Get("role").Text() == rolePrompt {
			g.Project = findProject(v)
		} else if !strings.HasPrefix(v.Get("role").Text(), "_") {
			m := messageOf(v)
			said.Say(m.Summarise())
		}
	}
	g.Title = cmp.Or(titleOf(in, at), said.Title())
	return g, err
}

// systemPrompt is where the system prompt of a session is.
type systemPrompt struct {
	file string
	span chat.Span
}

// Read implements chat.Format.
func (f *format) Read(ctx context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	s := &chat.Session{Spot: at, Head: -1, Pointed: true, Title: titleOf(in, at)}
	seen, unknown := map[place]int{}, map[string]int{}
	for n, name := range append(rotatedFiles(in, at), at.File) {
		file, err := f.lines.Read(ctx, in, name)
		if err != nil {
			return nil, err
		}
		s.Faults = append(s.Faults, file.Faults(agent.Passes)...)
		addList(s, file, n+1, seen)
		for i := range file.Records {
			if of := file.Records[i].Is.unknown; of != "" {
				unknown[of]++
			}
		}
	}
	s.Faults = append(s.Faults, chat.UnknownFaults(at.File, unknown)...)
	if isWire(at.File) {
		joinAnswers(s)
		s.Fault(chat.FaultShown, model.Loses, "", contextFile+" is gone, and with it what the model was sent: this is what kimi-cli showed", "kimi-cli begins the session anew, without its messages")
	}
	return s, nil
}

// place is a line behind an entry, -1 for a first one.
type place struct {
	before int
	line   [sha256.Size]byte
}

// addList adds the entries of a list that lists before it do not have, and sets the head to its last one.
func addList(s *chat.Session, file *chat.File[record], number int, seen map[place]int) {
	last, before := s.Head, -1
	var kept [][sha256.Size]byte
	for i := range file.Records {
		r := &file.Records[i]
		if r.Is.prompt {
			s.Project, s.Own = cmp.Or(r.Is.project, s.Project), systemPrompt{file.Name, r.Span}
		}
		if r.Is.entry.Records == nil {
			continue
		}
		if len(kept) > 0 && kept[0] == r.Is.own.line {
			kept = kept[1:]
			continue
		}
		at := place{before, r.Is.own.line}
		if there, is := seen[at]; is {
			before, kept = there, s.Entries[there].Own.(*own).kept
			continue
		}
		e, mine := r.Is.entry, r.Is.own
		e.ID, e.File, e.Own, e.Meta = fmt.Sprintf("%d.%d", number, r.Number), file.Name, &mine, &chat.Meta{Dir: s.Project}
		if r.Is.child != "" {
			e.Starts(s.Spot.ID + "/" + r.Is.child)
		}
		parent := before
		if before < 0 && mine.summary && last >= 0 {
			parent = last
			behind := keptBehind(s, last, file.Records[i+1:])
			for _, k := range behind {
				mine.kept = append(mine.kept, s.Entries[k].Own.(*own).line)
			}
			e.Event, e.Context = compaction, append([]int{len(s.Entries)}, behind...)
		}
		before, kept = s.Add(e, parent), mine.kept
		seen[at] = before
	}
	s.Head = before
}

// keptBehind returns the last entries that the model reads at an entry, as many as stand at the beginning of some records,
// too.
func keptBehind(s *chat.Session, last int, records []chat.Record[record]) []int {
	var next [][sha256.Size]byte
	for i := range records {
		if records[i].Is.entry.Records != nil {
			next = append(next, records[i].Is.own.line)
		}
	}
	reads := s.Reads(last)
	for from := range reads {
		if rest := reads[from:]; len(rest) <= len(next) && slices.EqualFunc(rest, next[:len(rest)], func(e int, line [sha256.Size]byte) bool { return s.Entries[e].Own.(*own).line == line }) {
			return rest
		}
	}
	return nil
}

// Messages implements chat.Format.
func (f *format) Messages(in engine.In, _ *chat.Session, e *chat.Entry) ([]chat.Message, error) {
	return chat.MessagesIn(in, e, messageOf)
}

// Request implements chat.Requester: the file has the system prompt.
func (f *format) Request(_ context.Context, in engine.In, s *chat.Session, _ *chat.Entry) (r request.Request, err error) {
	at, is := s.Own.(systemPrompt)
	if !is {
		return r, nil
	}
	list, err := chat.Values(in.Tree, at.file, []chat.Span{at.span})
	for _, v := range list {
		r.Put("system", v.Get("content").Raw())
	}
	return r, err
}

// ReadCarried implements chat.Carrier.
func (f *format) ReadCarried(ctx context.Context, in engine.In, s *chat.Session) (all []chat.Carried, err error) {
	shown := map[string]bool{} // the sub-agents that have sessions of their own
	if isWire(s.Spot.File) {
		for _, agent := range listAgents(in, s.Spot) {
			shown[agent] = true
		}
	}
	for _, file := range append(rotatedFiles(in, s.Spot), s.Spot.File) {
		list, err := chat.CarriedIn(ctx, in, file, false, func(v chat.Value) (string, []chat.Value) {
			if of := v.Get("message", "payload"); of.There() {
				if shown[of.Get("agent_id").Text()] {
					return "", nil
				}
				return v.Get("message", "type").Text(), []chat.Value{v}
			}
			if role := v.Get("role").Text(); !strings.HasPrefix(role, "_") {
				return role, []chat.Value{v.Get("content")}
			}
			return "", nil
		})
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// NewID implements chat.Forker.
func (f *format) NewID(as string) (string, error) { return chat.UUID4(as) }

// Fork implements chat.Forker: a new folder with the list of the messages that the model reads at the entry, and a list before
// it for each compaction on the path. Each begins with the system prompt.
func (f *format) Fork(c chat.Cut) (*chat.Fork, error) {
	s := c.Session
	if len(s.Spot.More) == 0 {
		return nil, &model.UnsupportedError{Op: model.OpFork, Reason: "kimi-cli resumes no sub-agent, and no file that is not FOLDER/ID/" + contextFile}
	}
	var lists [][]int
	for _, e := range s.Path(c.To) {
		if e.Event == compaction {
			lists = append(lists, s.Reads(s.Before(s.At(e.ID))))
		}
	}
	lists = append(lists, s.Reads(s.At(c.To.ID)))
	dir := tree.Join(path.Dir(path.Dir(s.Spot.File)), c.ID)
	fork := &chat.Fork{
		Spot:  f.Spot(tree.Join(dir, contextFile)),
		Calls: []model.Resume{{Call: s.Command(s.Project, "kimi", "--session", c.ID), Then: "goes on from there in the new session, where kimi is kimi-cli's"}},
	}
	for n, list := range lists {
		name := tree.Join(dir, contextFile)
		if n < len(lists)-1 {
			name = tree.Join(dir, fmt.Sprintf("context_%d.jsonl", n+1))
		}
		lines, err := readLines(c.In, s, list)
		if err != nil {
			return nil, err
		}
		fork.Steps = append(fork.Steps, tree.Step{Name: name, Data: append(bytes.Join(lines, []byte("\n")), '\n')})
		fork.Writes = append(fork.Writes, fmt.Sprintf("%s: %s, as they are", name, model.Count(len(lines), "line")))
	}
	return fork, nil
}

// readLines returns the line with the system prompt, and those of some entries.
func readLines(in engine.In, s *chat.Session, entries []int) (lines [][]byte, err error) {
	add := func(file string, spans []chat.Span) {
		if err == nil {
			var raw [][]byte
			raw, err = chat.Raw(in.Tree, file, spans)
			lines = append(lines, raw...)
		}
	}
	if at, is := s.Own.(systemPrompt); is {
		add(at.file, []chat.Span{at.span})
	}
	for _, i := range entries {
		add(s.Entries[i].File, s.Entries[i].Records)
	}
	return lines, err
}
