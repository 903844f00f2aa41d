package claudecode

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store/coding"
	"hindcast/store/files"
	"hindcast/store/folder"
)

// Codes of faults.
const (
	// FaultPointer: the newest last-prompt names a record that is not in the file.
	FaultPointer = "pointer-missing"
	// FaultKept: a compaction keeps messages that are not in the file.
	FaultKept = "kept-missing"
	// FaultWriters: two programs wrote to the session at once.
	FaultWriters = "two-writers"
	// FaultCompacted: the model no longer reads messages that the file has.
	FaultCompacted = "compacted"
	// FaultPruned: Claude Code is about to delete sessions for their age.
	FaultPruned = "pruned-soon"
)

// faults returns what is wrong with the records of a session.
func (b *build) faults() (list []model.Fault) {
	file := b.s.Spot.File
	list = append(list, coding.UnknownFaults(file, b.unknown)...)
	add := func(code string, severity model.Severity, meaning, verdict string) {
		list = append(list, model.Fault{Code: code, Severity: severity, File: file, Meaning: meaning, Verdict: verdict})
	}
	if b.pointer != nil {
		if _, there := b.at[b.pointer.text]; !there {
			add(FaultPointer, model.Odd, fmt.Sprintf("the newest last-prompt names the record %.60q, which is not in the file", b.pointer.text), "Claude Code goes on from the last record")
		}
	}
	if n := len(b.missing); n > 0 {
		add(FaultKept, model.Loses, fmt.Sprintf("a compaction keeps %s that the file does not have: %.60q", model.Count(n, "record"), b.missing[0]), "Claude Code keeps none of them")
	}
	if n := b.returns(); n > 0 {
		add(FaultWriters, model.Odd, "two programs wrote at once: the records go back to a branch that was left, "+model.Count(n, "time"), "Claude Code goes on from one branch, and does not read the other")
	}
	if n := b.compacted(); n > 0 {
		add(FaultCompacted, model.Note, model.Count(n, "message")+" on the path are before a compaction", "the model reads the summary; a fork from before it has them all")
	}
	return list
}

// returns counts how often the records leave a branch for one that was left before: one
// program never does that.
func (b *build) returns() (n int) {
	steps := 16 * len(b.nodes)
	left := map[int]bool{} // entries from which the records went to another branch
	last := -1
	for i := range b.file.Records {
		is, before := &b.file.Records[i].Is, b.before(i)
		if !is.tree || is.side {
			continue
		}
		if before >= 0 && last >= 0 && before != last {
			from, to, on := b.nodes[last].entry, b.nodes[before].entry, false
			for at := from; at >= 0 && !on && steps > 0; at = b.rows[at].parent {
				on = at == to
				steps--
			}
			if steps == 0 {
				return n
			}
			if !on && left[to] {
				n++
			}
			left[from] = true
		}
		last = i
	}
	return n
}

// compacted counts the messages on the path that the model no longer reads.
func (b *build) compacted() (n int) {
	for at, before := b.s.Head, 0; at >= 0; at = before {
		if before = b.rows[at].parent; b.s.Entries[at].Context == nil {
			continue
		}
		n -= len(b.s.Entries[at].Context) - 1 // those that are kept
		for at = before; at >= 0; at = b.rows[at].parent {
			n++
		}
		return n
	}
	return 0
}

const (
	// keptDays is how long Claude Code keeps a session that is not written to, unless the
	// setting cleanupPeriodDays says otherwise; soon is how long before that doctor tells.
	keptDays = 30
	soon     = 3 * 24 * time.Hour
	// mostSettings bounds the file of the settings.
	mostSettings = 1 << 20
)

// Check implements coding.Checker.
func (f *format) Check(ctx context.Context, in folder.In) (list []model.Fault, err error) {
	spots, err := f.Spots(ctx, in)
	if err != nil {
		return nil, err
	}
	days := f.keptDays()
	if days <= 0 {
		return nil, nil
	}
	limit, n, oldest, at := in.Now.Add(soon-days), 0, "", time.Time{}
	for _, spot := range spots {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if look, err := in.Stamp(spot.File); err == nil && look.Kind != files.Nothing && look.Modified.Before(limit) && !strings.Contains(spot.ID, "/") {
			if n++; oldest == "" || look.Modified.Before(at) {
				oldest, at = spot.File, look.Modified
			}
		}
	}
	if n > 0 {
		list = append(list, model.Fault{Code: FaultPruned, Severity: model.Note, File: oldest, Meaning: fmt.Sprintf("%s not written to for %.0f days or longer, this one for the longest", model.Count(n, "session"), (days-soon).Hours()/24), Verdict: fmt.Sprintf("Claude Code deletes what is older than %.0f days when it starts", days.Hours()/24)})
	}
	return list, nil
}

// keptDays returns how long Claude Code keeps a session, as the settings beside the projects
// say.
func (f *format) keptDays() time.Duration {
	const day = 24 * time.Hour
	if filepath.Base(f.dir) != projects {
		return keptDays * day
	}
	file, err := os.Open(filepath.Join(filepath.Dir(f.dir), "settings.json"))
	if err != nil {
		return keptDays * day
	}
	defer file.Close() // it was only read
	data, err := io.ReadAll(io.LimitReader(file, mostSettings))
	if err != nil {
		return keptDays * day
	}
	v, _ := coding.Parse(data)
	if n := v.Get("cleanupPeriodDays").Number(); n > 0 && n < 1e5 {
		return time.Duration(n * float64(day))
	}
	return keptDays * day
}

// Tell implements coding.Teller: which sessions of the project have the same first record. A
// fork copies records as they are; where it says who asked for an answer, that is its source.
func (f *format) Tell(ctx context.Context, in folder.In, s *coding.Session, e *coding.Entry) (facts model.Facts, err error) {
	file := s.Own.(*own).file
	source := ""
	for i := range file.Records {
		if is := &file.Records[i].Is; is.asked != "" && is.asked != is.session {
			source = is.asked
		}
	}
	facts.Add("forked from", source)
	first := f.first(in, s.Spot.File)
	if first == "" || path.Base(path.Dir(s.Spot.File)) == subagents {
		return facts, nil
	}
	dir := path.Dir(s.Spot.File)
	names, err := in.List(dir)
	if err != nil {
		return facts, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		id, is := strings.CutSuffix(name, suffix)
		if other := folder.Join(dir, name); is && uuids.MatchString(id) && id != source && other != s.Spot.File && f.first(in, other) == first {
			facts.Add("begins as", id)
		}
	}
	return facts, nil
}

// first returns the id of the first record in the tree of a file, "" where its beginning has
// none.
func (f *format) first(in folder.In, file string) string {
	return f.firsts.get(file, func() string {
		lines, _ := coding.HeadLines(in.Tree, file)
		for _, line := range lines {
			if r, err := decodeText(line); err == nil && r.tree {
				return r.id
			}
		}
		return ""
	})
}
