package claudecode

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// mostSearched bounds the bytes of the sessions in which the source of one is looked for.
const mostSearched = 256 << 20

// Tell implements chat.Teller: which sessions of the project share records with this one.
// A fork has the records of its source under their ids, all of them or, of Claude Code's own
// making, those from the last compaction on.
func (f *format) Tell(ctx context.Context, in engine.In, s *chat.Session, _ *chat.Entry) (facts model.Facts, err error) {
	records, source := s.Own.(*own).file.Records, ""
	for i := range records {
		source = cmp.Or(records[i].Is.source, source)
	}
	at := slices.IndexFunc(records, func(r chat.Record[record]) bool { return r.Is.tree })
	if at < 0 || isAgent(s.Spot.File) {
		return facts, nil
	}
	first, searched := &records[at].Is, int64(0)
	dir := path.Dir(s.Spot.File)
	names, err := in.List(dir)
	for i := 0; err == nil && i < len(names); i++ {
		id, is := strings.CutSuffix(names[i], suffix)
		other := tree.Join(dir, names[i])
		if !is || id == source || other == s.Spot.File || isAgent(other) {
			continue
		}
		_, mine := s.Own.(*own).at[f.firstID(in, other)]
		switch {
		case f.firstID(in, other) == first.id:
			facts.Add("begins as", id)
		case mine:
			facts.Add("goes on in", id)
		case first.bounds != nil && source == "" && searched < mostSearched:
			var file *chat.File[record]
			if file, err = f.lines.Read(ctx, in, other); err == nil {
				searched += file.Size
				if slices.ContainsFunc(file.Records, func(r chat.Record[record]) bool { return r.Is.id == first.id }) {
					source = id
				}
			}
		}
		err = cmp.Or(err, ctx.Err())
	}
	facts.Add("forked from", source)
	return facts, err
}

// firstID returns the id of the first record in the tree of a file. It returns "" if the head of the file has
// no such record.
func (f *format) firstID(in engine.In, file string) string {
	if id, known := f.firsts.Load(file); known {
		return id.(string)
	}
	lines, _ := chat.HeadLines(in.Tree, file) // Read tells
	for _, line := range lines {
		if r, err := decodeLine(&chat.Line{Raw: line}); err == nil && r.tree {
			f.firsts.Store(file, r.id)
			return r.id
		}
	}
	return ""
}
