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
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/media/watch"
)

// Kind describes the chats of aider. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) engine.Kind { return agent.Kind(cache) }

// fileName is that of a project's chats. The option --chat-history-file names another, which is
// opened by its name.
const fileName = ".aider.chat.history.md"

var agent = &chat.Agent{
	Name: "aider", Framework: "aider", IDs: "the line of the chat where the message begins",
	Files: []string{"*" + fileName},
	Shape: "a file in which a line says that an aider chat started",
	Signs: func(_ chat.Spot, head []byte) chat.Sign {
		return chat.Sign{Fits: bytes.Contains(head, []byte(started))}
	},
	Format: newFormat,
	Levels: []watch.Level{{Name: fileName}},
	Places: func(around store.Surroundings) []string {
		if file := around.FolderOf("AIDER_CHAT_HISTORY_FILE"); file != "" {
			return []string{file}
		}
		return chat.Upward(around, fileName) // aider keeps it where the repository begins
	},
	Lacks: "aider's chats have no ids to go on from: aider --restore-chat-history loads the whole file, and git takes back what was edited",
}

// format implements chat.Format. It is safe for concurrent use.
type format struct {
	dir   string
	lines chat.Lines[begin]

	mu    sync.Mutex
	known map[string]*scanned
}

// scanned are the chats of a file, and where in the list each is, by its part.
type scanned struct {
	look  tree.Stamp
	chats []section
	at    map[string]int
}

func newFormat(dir string) chat.Format {
	return &format{dir: dir, lines: chat.Lines[begin]{Decode: decodeLine, Only: beginsChat}, known: map[string]*scanned{}}
}

// begin is the line that begins a chat.
type begin struct {
	part    string // "" where it says no time
	started time.Time
}

// section is where a session is in its file.
type section struct {
	begin
	chat.Span
	line int // of its first byte, from 1
}

const started = "# aider chat started at "

// startedAt finds the time in such a line.
var startedAt = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)`) })

// beginsChat reports whether a line, without white space behind it, begins a chat. A file is read
// in pieces, and of a large one no more is kept than these lines.
func beginsChat(line []byte) bool { return bytes.HasPrefix(line, []byte(started)) }

func decodeLine(l *chat.Line, b *begin) error {
	if m := startedAt().FindSubmatch(l.Raw[len(started):]); m != nil {
		b.part = string(m[1]) + "T" + string(m[2])
		b.started, _ = time.ParseInLocation("2006-01-02T15:04:05", b.part, time.Local)
	}
	return nil
}

// scanFile returns the chats of a file. No index lists them, so scan reads the whole file once and caches the
// result. It returns the errors of chat.Lines.
func (f *format) scanFile(ctx context.Context, in engine.In, name string) (*scanned, error) {
	look, err := in.Stamp(name)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if was := f.known[name]; was != nil && was.look.Is(look) {
		return was, nil
	}
	now := &scanned{look: look, at: map[string]int{}}
	text, noted := in.Memo.Recall(name+"\x00chats", look)
	if now.chats = chatsIn(text); !noted || now.chats == nil {
		file, err := f.lines.Read(ctx, in, name)
		if err != nil {
			return nil, err
		}
		if now.chats, err = chatsOf(in, file); err != nil {
			return nil, err
		}
		in.Memo.Note(name+"\x00chats", look, noteOf(now.chats))
	}
	parts := chat.IDs{}
	for i := range now.chats {
		c := &now.chats[i]
		c.part = parts.Take(c.part)
		now.at[c.part] = i
	}
	f.known[name] = now
	return now, nil
}

// noteOf returns the note of chats, as chatsIn reads it.
func noteOf(chats []section) (text []byte) {
	for _, c := range chats {
		text = files.AppendText(text, c.part)
		for _, n := range []int64{c.started.Unix(), c.At, c.Len, int64(c.line)} {
			text = binary.AppendVarint(text, n)
		}
	}
	return text
}

// chatsIn decodes cached chats. It returns nil if the cache is damaged.
func chatsIn(text []byte) (list []section) {
	r := files.ReadNote(text)
	for r.Len() > 0 && !r.IsDamaged() {
		c := section{begin: begin{part: string(r.Text())}}
		if at := r.Varint(); at != (time.Time{}).Unix() {
			c.started = time.Unix(at, 0)
		}
		c.At, c.Len, c.line = r.Varint(), r.Varint(), int(r.Varint())
		list = append(list, c)
	}
	if r.IsDamaged() {
		return nil
	}
	return list
}

// chatsOf returns the chats of a file. What stands before the first is one too, unless it is
// blank.
func chatsOf(in engine.In, file *chat.File[begin]) (list []section, err error) {
	list = append(list, section{begin: begin{part: "0"}, line: 1})
	for i, r := range file.Records {
		last := &list[len(list)-1]
		last.Len = r.At - last.At
		list = append(list, section{begin{cmp.Or(r.Is.part, strconv.Itoa(i+1)), r.Is.started}, chat.Span{At: r.At}, r.Number})
	}
	last := &list[len(list)-1]
	last.Len = file.Size - last.At
	head, err := tree.Head(in.Tree, file.Name, min(list[0].Len, glanced))
	if len(bytes.TrimSpace(head)) == 0 && list[0].Len <= glanced {
		list = list[1:]
	}
	return list, err
}

// glanced is how much of a chat is read for the list.
const glanced = 48 << 10

// Spots implements chat.Format.
func (f *format) Spots(ctx context.Context, in engine.In) (list []chat.Spot, err error) {
	names, err := in.List(".")
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !strings.HasSuffix(name, fileName) {
			continue
		}
		chats, err := f.spotsIn(ctx, in, name)
		if err != nil {
			return nil, err
		}
		list = append(list, chats...)
	}
	return list, err
}

// spotsIn returns the chats of a file. The error is that of looking at it, or of a context that has ended.
func (f *format) spotsIn(ctx context.Context, in engine.In, name string) (list []chat.Spot, err error) {
	look, err := in.Stamp(name)
	if err != nil || ctx.Err() != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	file, err := f.scanFile(ctx, in, name)
	if err != nil {
		return nil, nil // reading it says why
	}
	for i, c := range file.chats {
		at := f.Spot(name + "#" + c.part)
		at.At, at.Size = c.started, c.Len
		if i == len(file.chats)-1 {
			at.At = look.Modified
		}
		list = append(list, at)
	}
	return list, nil
}

// ReadOpened implements chat.Several: a line near the beginning begins a chat.
func (f *format) ReadOpened(ctx context.Context, in engine.In, name string) ([]chat.Spot, error) {
	lines, err := chat.HeadLines(in.Tree, name)
	if err != nil || !slices.ContainsFunc(lines, beginsChat) {
		return nil, ctx.Err() // one that is gone has none
	}
	return f.spotsIn(ctx, in, name)
}

// Spot implements chat.Format.
func (f *format) Spot(name string) chat.Spot {
	file, part, _ := strings.Cut(name, "#")
	return chat.Spot{File: file, Part: part, ID: part, Project: f.dir}
}

// findSession returns where a session is in its file, and its first bytes, at most so many; none
// where it is not there.
func (f *format) findSession(ctx context.Context, in engine.In, at chat.Spot, most int64) (c section, text []byte, err error) {
	file, err := f.scanFile(ctx, in, at.File)
	if err != nil {
		return c, nil, err
	}
	i, known := file.at[at.Part]
	if !known {
		return c, nil, nil
	}
	c = file.chats[i]
	raw, err := chat.Bytes(in.Tree, at.File, []chat.Span{{At: c.At, Len: min(c.Len, most)}})
	if err != nil {
		return c, nil, err
	}
	return c, raw[0], nil
}

// Glance implements chat.Format.
func (f *format) Glance(in engine.In, at chat.Spot) (chat.Glance, error) {
	c, text, err := f.findSession(context.Background(), in, at, glanced)
	g := chat.Glance{Project: f.dir}
	var said chat.Opening
	for _, e := range sessionOf(at, c, text).Entries {
		if said.HasPrompt() {
			break
		}
		if e.Event == "" {
			said.Say(e.Said)
		}
	}
	g.Title = said.Title()
	return g, err
}

// Read implements chat.Format.
func (f *format) Read(ctx context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	c, text, err := f.findSession(ctx, in, at, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	return sessionOf(at, c, text), nil
}

// Messages implements chat.Format.
func (f *format) Messages(in engine.In, _ *chat.Session, e *chat.Entry) (list []chat.Message, err error) {
	raw, err := chat.Bytes(in.Tree, e.File, e.Records)
	for i := 0; err == nil && i < len(raw); i++ {
		list = append(list, messageOf(raw[i]))
	}
	return list, err
}

// Calls implements chat.Caller: aider loads all of the file.
func (f *format) Calls(s *chat.Session, e *chat.Entry) []model.Resume {
	if !s.IsHead(e) {
		return nil
	}
	words := []string{"aider", "--restore-chat-history"}
	if dir := s.ForeignDir(); dir != "" {
		words = append(words, "--chat-history-file", filepath.Join(dir, filepath.FromSlash(s.Spot.File)))
	}
	return []model.Resume{{Call: s.Command("", words...), Then: "goes on behind all chats of the file"}}
}

// voice identifies the author of a line.
type voice uint8

const (
	answer voice = iota
	user
	console
	none // a line that begins a chat
)

var roles = map[voice]chat.Role{answer: chat.Assistant, user: chat.User, console: chat.Tool}

// voiceOf returns the author of a line, and its words.
func voiceOf(line []byte) (voice, []byte) {
	switch {
	case beginsChat(bytes.TrimRight(line, " \t\r\n")):
		return none, nil
	case bytes.HasPrefix(line, []byte("> ")):
		return console, line[2:]
	case bytes.HasPrefix(line, []byte("#### ")):
		return user, line[5:]
	}
	return answer, line
}

// run is lines of one voice that follow each other: where they are in a text.
type run struct {
	voice
	from, to, line int
}

// plainLines returns the lines of a run without the marks of their author. It reads at most most bytes.
func (r *run) plainLines(text []byte, most int) (words []byte) {
	text = text[r.from:min(r.to, r.from+most)]
	words = make([]byte, 0, len(text)+1)
	for line := range bytes.Lines(text) {
		_, said := voiceOf(line)
		words = append(append(words, bytes.TrimRight(said, " \r\n")...), '\n')
	}
	return words
}

// runsOf takes a text apart. Runs without words are left out, as aider does.
func runsOf(text []byte) (list []run) {
	at, line, blank := 0, 0, true
	now := run{voice: none}
	for rest := range bytes.Lines(text) {
		is, words := voiceOf(rest)
		if now.voice == console && price().Match(rest) {
			is = console // the second of two lines that were printed at once has no mark
		}
		if is != now.voice {
			if !blank {
				list = append(list, now)
			}
			now, blank = run{voice: is, from: at, line: line}, true
		}
		blank = blank && len(bytes.TrimSpace(words)) == 0
		at, line = at+len(rest), line+1
		now.to = at
	}
	if !blank {
		list = append(list, now)
	}
	return list
}

// sessionOf makes the session of a chat from its beginning. What aider prints
// belongs to the message before it.
func sessionOf(at chat.Spot, c section, text []byte) *chat.Session {
	const titled = 4 << 10
	s, meta := &chat.Session{Spot: at, Project: at.Project}, &chat.Meta{Dir: at.Project}
	for _, r := range runsOf(text) {
		if r.voice == console && len(s.Entries) > 0 {
			last := &s.Entries[len(s.Entries)-1].Records[0]
			last.Len = c.At + int64(r.to) - last.At
			continue
		}
		words := bytes.TrimSpace(r.plainLines(text, titled))
		e := chat.Entry{
			ID: fmt.Sprintf("line-%d", c.line+r.line), File: at.File, At: c.started, Meta: meta,
			Records: []chat.Span{{At: c.At + int64(r.from), Len: int64(r.to - r.from)}},
		}
		if n := len(s.Entries); n > 0 {
			e.Parent, e.At = s.Entries[n-1].ID, time.Time{}
		}
		if r.voice == console {
			e.Event = "console"
			words, _, _ = bytes.Cut(words, []byte("\n"))
		}
		said := chat.Message{Role: roles[r.voice], Blocks: []chat.Block{chat.TextBlock(quoteText(words))}}
		e.Said = said.Summarise()
		s.Entries = append(s.Entries, e)
	}
	s.Head = len(s.Entries) - 1
	return s
}

// messageOf returns the message of an entry's text.
func messageOf(text []byte) (m chat.Message) {
	m.Raw = [][]byte{quoteText(text)}
	m.Role = chat.Tool
	for _, r := range runsOf(text) {
		words := bytes.TrimSpace(r.plainLines(text, len(text)))
		if r.voice == console {
			m.Blocks = append(m.Blocks, chat.Block{Kind: conversation.Unknown, Body: quoteText(words)})
			m.Usage = usageOf(m.Usage, words)
			continue
		}
		m.Role = roles[r.voice]
		m.Blocks = append(m.Blocks, chat.TextBlock(quoteText(words)))
	}
	return m
}

// quoteText returns a text as a JSON string.
func quoteText(text []byte) []byte {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return jsontape.AppendQuoted(nil, text)
}

// cost is the line that aider prints behind an answer. Its counts are rounded.
var cost = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^Tokens: ([\d.]+k?) sent(?:, ([\d.]+k?) cache write)?(?:, ([\d.]+k?) cache hit)?(?:, ([\d.]+k?) received)?\.(?:[ \n]Cost: \$([\d.]+) message)?`)
})

// price is the rest of that line where aider breaks it: with both cache writes and hits.
var price = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Cost: \$[\d.]+ message, \$[\d.]+ session\.\s*$`) })

// usageOf adds what the lines of a console say that answers cost.
func usageOf(u conversation.Usage, text []byte) conversation.Usage {
	for _, m := range cost().FindAllSubmatch(text, -1) {
		u.Counted = true
		u.Input += parseCount(m[1])
		u.CacheWrite += parseCount(m[2])
		u.CacheRead += parseCount(m[3])
		u.Output += parseCount(m[4])
		if len(m[5]) > 0 {
			u.Cost, u.Priced = u.Cost+parseCount(m[5]), true
		}
	}
	return u
}

// parseCount parses a number such as 516 or 2.7k. It returns 0 if text is no number.
func parseCount(text []byte) float64 {
	digits, thousands := strings.CutSuffix(string(text), "k")
	n, _ := strconv.ParseFloat(digits, 64)
	if thousands {
		n = math.Round(n * 1000)
	}
	return n
}
