// Package aider reads the chats of aider: a file in the folder of a project, to which all of
// them are appended.
//
//	.aider.chat.history.md
//	  # aider chat started at 2026-05-10 05:21:19     a session
//	  > Aider v0.86.1                                 what aider and its tools print
//	  #### a question                                 the user
//	  an answer                                       the model
//	  > Tokens: 2.7k sent, 16 received. Cost: …
//
// There are no ids: a message is called after its line. Lines are taken as aider's own reader
// takes them, split_chat_history_markdown, which passes over lines that begin with "# "; here
// only the line that begins a session is passed over. It was checked against 0.86.
package aider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/coding"
	"hindcast/store/files"
	"hindcast/store/folder"
	"hindcast/store/watch"
)

// Kind describes the chats of aider. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) store.Kind { return agent.Kind(cache) }

// fileName is that of a project's chats; the option --chat-history-file names another.
const fileName = ".aider.chat.history.md"

var agent = &coding.Agent{
	Name: "aider", Framework: "aider", IDs: "the line of the chat where the message begins",
	Files:  []string{"*" + fileName},
	Shape:  "a file in which a line says that an aider chat started",
	Signs:  func(_ coding.Spot, head []byte) bool { return bytes.Contains(head, []byte(started)) },
	Format: func(dir string) coding.Format { return &format{dir: dir} },
	Levels: []watch.Level{{Name: fileName}},
	Places: func(around store.Surroundings) []string {
		if file := around.Named("AIDER_CHAT_HISTORY_FILE"); file != "" {
			return []string{file}
		}
		if around.Work == "" {
			return nil
		}
		return []string{filepath.Join(around.Work, fileName)}
	},
	Lacks: "aider's chats have no ids to go on from: aider --restore-chat-history loads the whole file, and git takes back what was edited",
}

// format implements coding.Format. It is safe for concurrent use.
type format struct {
	dir string

	mu    sync.Mutex
	known map[string]scanned
}

// scanned is a file with the chats that were found in it.
type scanned struct {
	at    folder.Stamp
	chats []chat
}

// chat is where a session is in its file.
type chat struct {
	part string
	coding.Span
	line    int // of its first byte, from 1
	started time.Time
}

const started = "# aider chat started at "

// begins finds the lines that begin a chat.
var begins = regexp.MustCompile(`(?m)^# aider chat started at (?:(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d))?.*$`)

// scan returns the chats of a file. The errors are those of folder.Tree.
func (f *format) scan(in folder.In, name string) ([]chat, error) {
	at, err := in.Stamp(name)
	if err == nil && at.Kind == files.Nothing {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	was, known := f.known[name]
	f.mu.Unlock()
	if known && was.at.Is(at) && was.at.Size == at.Size {
		return was.chats, nil
	}
	text, at, err := in.Read(name, nil)
	if err != nil {
		return nil, err
	}
	now := scanned{at, chatsOf(text)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = map[string]scanned{}
	}
	f.known[name] = now
	return now.chats, nil
}

// chatsOf finds the chats in a text. What stands before the first is one too, unless it is
// blank.
func chatsOf(text []byte) (list []chat) {
	taken, line, from := map[string]int{}, 1, 0
	add := func(to int, c chat) {
		if c.Len = int64(to) - c.At; c.Len > 0 && (c.part != "0" || len(bytes.TrimSpace(text[c.At:to])) > 0) {
			if taken[c.part]++; taken[c.part] > 1 {
				c.part = fmt.Sprintf("%s~%d", c.part, taken[c.part])
			}
			list = append(list, c)
		}
	}
	last := chat{part: "0", line: 1}
	for n, m := range begins.FindAllSubmatchIndex(text, -1) {
		add(m[0], last)
		line += bytes.Count(text[from:m[0]], []byte("\n"))
		from = m[0]
		last = chat{part: strconv.Itoa(n + 1), Span: coding.Span{At: int64(m[0])}, line: line}
		if m[2] >= 0 {
			last.part = string(text[m[2]:m[3]]) + "T" + string(text[m[4]:m[5]])
			last.started, _ = time.ParseInLocation("2006-01-02T15:04:05", last.part, time.Local)
		}
	}
	add(len(text), last)
	return list
}

// Spots implements coding.Format.
func (f *format) Spots(ctx context.Context, in folder.In) (list []coding.Spot, err error) {
	names, err := in.List(".")
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !strings.HasSuffix(name, fileName) {
			continue
		}
		look, err := in.Stamp(name)
		if err != nil || ctx.Err() != nil {
			return nil, errors.Join(err, ctx.Err())
		}
		chats, err := f.scan(in, name)
		if err != nil {
			continue // reading it says why
		}
		for i, c := range chats {
			at := f.Spot(name + "#" + c.part)
			at.At, at.Size = c.started, c.Len
			if i == len(chats)-1 {
				at.At = look.Modified
			}
			list = append(list, at)
		}
	}
	return list, err
}

// Spot implements coding.Format.
func (f *format) Spot(name string) coding.Spot {
	file, part, _ := strings.Cut(name, "#")
	return coding.Spot{File: file, Part: part, ID: part, Project: f.dir}
}

// find returns where a session is in its file, and its bytes; nil where it is not there.
func (f *format) find(in folder.In, at coding.Spot) (c chat, text []byte, err error) {
	chats, err := f.scan(in, at.File)
	i := slices.IndexFunc(chats, func(c chat) bool { return c.part == at.Part })
	if err != nil || i < 0 {
		return c, nil, err
	}
	raw, err := coding.Raw(in.Tree, at.File, []coding.Span{chats[i].Span})
	if err != nil {
		return c, nil, err
	}
	return chats[i], raw[0], nil
}

// Glance implements coding.Format.
func (f *format) Glance(in folder.In, at coding.Spot) (coding.Glance, error) {
	c, text, err := f.find(in, at)
	s := sessionOf(at, c, text)
	for i := range s.Entries {
		if e := &s.Entries[i]; e.Said.Role == coding.User {
			return coding.Glance{Title: e.Said.Words, Project: f.dir}, err
		}
	}
	return coding.Glance{Project: f.dir}, err
}

// Read implements coding.Format.
func (f *format) Read(_ context.Context, in folder.In, at coding.Spot) (*coding.Session, error) {
	c, text, err := f.find(in, at)
	if err != nil {
		return nil, err
	}
	s := sessionOf(at, c, text)
	s.Project = f.dir
	for i := range s.Entries {
		s.Entries[i].Meta = &coding.Meta{Dir: f.dir}
	}
	return s, nil
}

// Messages implements coding.Format.
func (f *format) Messages(in folder.In, _ *coding.Session, e *coding.Entry) (list []coding.Message, err error) {
	raw, err := coding.Raw(in.Tree, e.File, e.Records)
	for i := 0; err == nil && i < len(raw); i++ {
		list = append(list, messageOf(raw[i]))
	}
	return list, err
}

// Calls implements coding.Caller: aider loads all of the file.
func (f *format) Calls(s *coding.Session, e *coding.Entry) []model.Resume {
	if s.Head < 0 || s.Entries[s.Head].ID != e.ID {
		return nil
	}
	return []model.Resume{{Call: "aider --restore-chat-history", Then: "goes on behind all chats of the file"}}
}

// voice is whose words a line has.
type voice uint8

const (
	answer voice = iota
	user
	console
	none // a line that begins a chat
)

// voiceOf returns whose words a line has, and the words.
func voiceOf(line []byte) (voice, []byte) {
	switch {
	case bytes.HasPrefix(line, []byte(started)):
		return none, nil
	case bytes.HasPrefix(line, []byte("> ")):
		return console, line[2:]
	case bytes.HasPrefix(line, []byte("#### ")):
		return user, line[5:]
	}
	return answer, line
}

// run is lines of one voice that follow each other.
type run struct {
	voice
	coding.Span
	line int
	text []byte
}

// runsOf takes a text apart. Runs without words are left out, as aider does.
func runsOf(text []byte) (list []run) {
	var now run
	end := func() {
		if now.voice != none && len(bytes.TrimSpace(now.text)) > 0 {
			list = append(list, now)
		}
	}
	at, line := 0, 0
	for rest := range bytes.Lines(text) {
		is, words := voiceOf(rest)
		if line == 0 || is != now.voice {
			end()
			now = run{voice: is, Span: coding.Span{At: int64(at)}, line: line}
		}
		at += len(rest)
		line++
		now.Len = int64(at) - now.At
		now.text = append(append(now.text, bytes.TrimRight(words, " \r\n")...), '\n')
	}
	end()
	return list
}

// sessionOf makes the session of a chat. What aider prints belongs to the message before it.
func sessionOf(at coding.Spot, c chat, text []byte) *coding.Session {
	s := &coding.Session{Spot: at, Head: -1}
	for _, r := range runsOf(text) {
		if r.voice == console && len(s.Entries) > 0 {
			last := &s.Entries[len(s.Entries)-1].Records[0]
			last.Len = c.At + r.At + r.Len - last.At
			continue
		}
		e := coding.Entry{
			ID: fmt.Sprintf("line-%d", c.line+r.line), File: at.File,
			Records: []coding.Span{{At: c.At + r.At, Len: r.Len}},
		}
		if n := len(s.Entries); n > 0 {
			e.Parent = s.Entries[n-1].ID
		} else {
			e.At = c.started
		}
		if r.voice == console {
			first, _, _ := bytes.Cut(r.text, []byte("\n"))
			e.Event, e.Title = "console", coding.Words(quoted(first), conversation.MaxTitle)
		}
		s.Entries = append(s.Entries, e)
	}
	for i := range s.Entries {
		span := s.Entries[i].Records[0]
		m := messageOf(text[span.At-c.At : span.At-c.At+span.Len])
		s.Entries[i].Said = m.Said()
	}
	s.Head = len(s.Entries) - 1
	return s
}

// messageOf returns the message of an entry's text.
func messageOf(text []byte) (m coding.Message) {
	m.Raw = [][]byte{quoted(text)}
	m.Role = coding.Tool
	for _, r := range runsOf(text) {
		body := quoted(bytes.TrimSpace(r.text))
		switch r.voice {
		case console:
			m.Blocks = append(m.Blocks, coding.Block{Kind: conversation.Unknown, Body: body})
			m.Usage = usageOf(m.Usage, r.text)
			continue
		case user:
			m.Role = coding.User
		default:
			m.Role = coding.Assistant
		}
		m.Blocks = append(m.Blocks, coding.TextBlock(body))
	}
	return m
}

// quoted returns a text as a JSON string.
func quoted(text []byte) []byte {
	return jsontape.AppendQuoted(nil, strings.ToValidUTF8(string(text), "\uFFFD"))
}

// cost is the line that aider prints behind an answer. Its counts are rounded.
var cost = regexp.MustCompile(`(?m)^Tokens: ([\d.]+k?) sent(?:, ([\d.]+k?) cache write)?(?:, ([\d.]+k?) cache hit)?(?:, ([\d.]+k?) received)?\.(?: Cost: \$([\d.]+) message)?`)

// usageOf adds what the lines of a console say that answers cost.
func usageOf(u conversation.Usage, text []byte) conversation.Usage {
	for _, m := range cost.FindAllSubmatch(text, -1) {
		u.Counted = true
		u.Input += count(m[1])
		u.CacheWrite += count(m[2])
		u.CacheRead += count(m[3])
		u.Output += count(m[4])
		if len(m[5]) > 0 {
			u.Cost, u.Priced = u.Cost+count(m[5]), true
		}
	}
	return u
}

// count returns a number such as 516 or 2.7k; 0 for none.
func count(text []byte) float64 {
	digits, thousands := strings.CutSuffix(string(text), "k")
	n, _ := strconv.ParseFloat(digits, 64)
	if thousands {
		n = math.Round(n * 1000)
	}
	return n
}
