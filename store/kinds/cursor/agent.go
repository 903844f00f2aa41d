package cursor

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"path"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/sqlitefile"
)

// record is a line of a transcript.
type record struct {
	kind, model, why string
	said             chat.Said
	// speaks says that the line has a message.
	speaks bool
}

func decodeLine(l *chat.Line, r *record) error {
	v, err := l.Parse()
	if err == nil {
		var m chat.Message
		m, r.speaks = lineMessage(v)
		r.kind, r.said, r.model, r.why = v.Get("type").Text(), m.Summarise(), m.Model, v.Get("error").Words()
	}
	return err
}

// agentPatterns are where cursor-agent keeps sessions, and a person copies of them. One that has a database may have a
// transcript besides.
var agentPatterns = []string{chats + "/*/*/" + chatFile, "projects/*/" + transcripts + "/*.jsonl", "projects/*/" + transcripts + "/*/*.jsonl", "projects/*/" + transcripts + "/*/subagents/*.jsonl", "*.jsonl"}

// agentSpots returns the sessions of cursor-agent.
func (f *format) agentSpots(in engine.In) (list []chat.Spot) {
	known, others := map[string]int{}, 0
	for _, pattern := range agentPatterns {
		for _, file := range chat.Match(in, pattern) {
			at := agentSpot(file)
			i, has := known[at.ID]
			switch {
			case has:
				list[i].More = append(list[i].More, file)
			case path.Ext(file) != ".jsonl" || strings.Contains(file, "/") || others < mostOthers && isTranscript(in, file):
				known[at.ID], list = len(list), append(list, at)
			default:
				others++
			}
		}
	}
	return list
}

// mostOthers bounds the files of another program that are looked at in a folder of transcripts.
const mostOthers = 4

func isTranscript(in engine.In, file string) bool {
	return chat.HeadTells(in, file, "transcript", func(head []byte) bool { return signOf(file, head).Read() })
}

// agentSpot returns where a session of cursor-agent is, by the name of its file.
func agentSpot(file string) chat.Spot {
	at := chat.Spot{File: file, ID: strings.TrimSuffix(path.Base(file), path.Ext(file))}
	dir := path.Dir(file)
	switch {
	case path.Base(file) == chatFile:
		at.ID, at.More = path.Base(dir), []string{path.Join(dir, "meta.json"), file + "-wal"}
	case path.Base(dir) == "subagents":
		at.ID = path.Base(path.Dir(dir)) + "/" + at.ID
	}
	return at
}

// glanceAgent returns the list's entry of a session of cursor-agent.
func (f *format) glanceAgent(in engine.In, at chat.Spot) (g chat.Glance, err error) {
	g.Project = chat.ReadJSON(in, path.Join(path.Dir(at.File), "meta.json")).Get("cwd").Text()
	if path.Base(at.File) != chatFile {
		err = chat.EndLines(in.Tree, at.File, func([][]byte) bool { return true }, func(head, _ [][]byte) {
			var said chat.Opening
			for i := 0; i < len(head) && !said.HasPrompt(); i++ {
				m, _ := lineMessage(chat.ParseHead(head[i]))
				said.Say(m.Summarise())
			}
			g.Title = said.Title()
		})
		return g, err
	}
	s, err := f.readAgent(context.Background(), in, at)
	if err == nil {
		var said chat.Opening
		for i := range s.Entries {
			said.Say(s.Entries[i].Said)
		}
		g.Title = cmp.Or(s.Title, said.Title())
	}
	return g, err
}

// readAgent reads a session of cursor-agent: of its database, and where that has no message of its transcript.
func (f *format) readAgent(ctx context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	b := newBuild(at)
	if path.Base(at.File) != chatFile {
		return b.session, f.readTranscript(ctx, in, b, at.File)
	}
	project := chat.ReadJSON(in, path.Join(path.Dir(at.File), "meta.json")).Get("cwd").Text()
	err := f.Query(ctx, at.File, func(t *sqlitefile.Tx) error {
		b = newBuild(at)
		b.session.Project = project
		return b.readChat(ctx, t)
	})
	if isUnreadable(err) {
		b.session.Fault(chat.FaultDatabase, model.Loses, "", err.Error(), "SQLite reads what it can")
		err = nil
	}
	if err != nil {
		return nil, err
	}
	if len(b.list) == 0 {
		for _, file := range at.More {
			if strings.HasSuffix(file, ".jsonl") {
				err = f.readTranscript(ctx, in, b, file)
			}
		}
		return b.session, err
	}
	b.arrange()
	return b.session, nil
}

// readTranscript reads a transcript.
func (f *format) readTranscript(ctx context.Context, in engine.In, b *build, name string) error {
	file, err := f.lines.Read(ctx, in, name)
	if err != nil {
		return err
	}
	s, unknown, last := b.session, map[string]int{}, -1
	s.Faults = append(s.Faults, file.Faults(agent.Passes)...)
	for i := range file.Records {
		r := &file.Records[i]
		if !r.Is.speaks {
			if r.Is.kind != "turn_ended" {
				unknown[r.Is.kind]++
			}
			continue
		}
		b.meta = b.meta.With(chat.Meta{Model: r.Is.model, Dir: s.Project})
		e := chat.Entry{ID: r.Name(""), Said: r.Is.said, Meta: b.meta, File: name, Records: []chat.Span{r.Span}}
		if r.Is.kind == "error" {
			e.Event, e.Marks, e.Title = "error", model.MarkError, r.Is.why
		}
		if r.Salvaged {
			e.Reason = chat.PassedOver
			s.Add(e, last)
			continue
		}
		if last >= 0 && e.Said.Role == chat.Assistant {
			s.Entries[last].GoesOn = true
		}
		last = s.Add(e, last)
	}
	s.Head = last
	s.Faults = append(s.Faults, chat.UnknownFaults(name, unknown)...)
	return nil
}

// readChat reads the database of a session of cursor-agent. A blob is a message in JSON, or a node in the encoding of
// protocol buffers: field 1 names messages by their hashes, field 2 further nodes, and field 4 is a message.
func (b *build) readChat(ctx context.Context, t *sqlitefile.Tx) error {
	var text string
	if _, err := t.First(ctx, []any{&text}, "SELECT value FROM meta WHERE key = '0'"); err != nil {
		return err
	}
	decoded, _ := hex.DecodeString(text) // of a damaged one nothing is named
	meta, _ := chat.Parse(decoded)
	b.there = true
	b.session.Title = chat.StoredTitle(meta.Get("name").Text(), "New Agent", "New Chat")
	b.meta = b.meta.With(chat.Meta{Model: meta.Get("lastUsedModel").Text(), Mode: meta.Get("mode").Text(), Dir: b.session.Project})
	nodes := map[string][]byte{}
	lost, err := t.Salvage(ctx, func(scan func(...any) error) error {
		var row int64
		var id string
		var data []byte
		if err := scan(&row, &id, &data); err != nil {
			return err
		}
		v, is := leafOf(data)
		m, speaks := lineMessage(v)
		if !is || !speaks {
			nodes[id] = data
			return nil
		}
		b.add(chat.Entry{ID: id, Said: m.Summarise(), Meta: b.meta, Own: &origin{table: "blobs", key: id}}, row)
		return nil
	}, "rowid, ifnull(id, ''), data", "blobs")
	if err != nil {
		return err
	}
	if lost > 0 {
		b.session.Fault(chat.FaultDatabase, model.Loses, "blobs", model.Count(lost, "row")+" cannot be read", "SQLite reads what it can")
	}
	seen := map[string]bool{}
	var walk func(id string)
	walk = func(id string) {
		if seen[id] {
			return
		}
		seen[id] = true
		if b.hasMessage(id) {
			b.names = append(b.names, id)
		}
		eachField(nodes[id], func(field uint64, data []byte) {
			if (field == 1 || field == 2) && len(data) == 32 {
				walk(hex.EncodeToString(data))
			}
		})
	}
	walk(meta.Get("latestRootBlobId").Text())
	return nil
}

// leafOf returns the message in a blob, and false for one without.
func leafOf(data []byte) (v chat.Value, ok bool) {
	if v, err := chat.Parse(data); err == nil {
		return v, v.Kind() == jsontape.Object
	}
	eachField(data, func(field uint64, inner []byte) {
		if is, err := chat.Parse(inner); field == 4 && err == nil && is.Kind() == jsontape.Object {
			v, ok = is, true
		}
	})
	return v, ok
}

// eachField calls yield with each field of bytes in the encoding of protocol buffers, until the encoding is another.
func eachField(data []byte, yield func(field uint64, data []byte)) {
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			return
		}
		data = data[n:]
		size := uint64(0)
		switch tag & 7 {
		case 0:
			_, n := binary.Uvarint(data)
			size = uint64(max(n, 0))
		case 1:
			size = 8
		case 2:
			if size, n = binary.Uvarint(data); n <= 0 {
				return
			}
			data = data[n:]
		case 5:
			size = 4
		default:
			return
		}
		if size > uint64(len(data)) || tag&7 == 0 && size == 0 {
			return
		}
		if tag&7 == 2 {
			yield(tag>>3, data[:size])
		}
		data = data[size:]
	}
}

// Calls implements chat.Caller: cursor-agent takes its own sessions up at their head.
func (f *format) Calls(s *chat.Session, e *chat.Entry) []model.Resume {
	if s.Spot.Part != "" || !s.IsHead(e) || strings.Contains(s.Spot.ID, "/") || s.ForeignDir() != "" {
		return nil
	}
	return []model.Resume{{Call: s.Command(s.Project, "cursor-agent", "--resume", s.Spot.ID), Then: "goes on from here"}}
}
