package codex

import (
	"fmt"
	"path"
	"regexp"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/coding"
	"hindcast/store/folder"
)

// A fork is one rollout that has all records of the lineage up to the entry, as Codex would
// read them one part after the other. So it needs no other rollout, and is the rescue of a
// session that does.

// NewID implements coding.Forker.
func (f *format) NewID(as string) string { return coding.UUID7(as) }

// Fork implements coding.Forker.
func (f *format) Fork(c coding.Cut) (*coding.Fork, error) {
	lines, err := flatten(c)
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 || lines[0].header == nil {
		return nil, &model.UnsupportedError{Op: model.OpFork, Reason: "the rollout has no header of a session: Codex would not open the new one"}
	}
	numbered := false
	for _, l := range lines {
		numbered = numbered || l.ordinal >= 0
	}
	var data []byte
	for i, l := range lines {
		t, err := jsontape.Parse(l.raw)
		if err != nil {
			return nil, err
		}
		p := jsontape.NewPatch(t)
		if numbered {
			p.Put(0, "ordinal", fmt.Append(nil, i))
		}
		rename(p, t, c.ID, l.threads)
		if i == 0 {
			stand(p, t)
		}
		data = append(append(data, p.Bytes()...), '\n')
	}
	now := c.In.Now.Local()
	name := folder.Join(day(c.Session.Spot.File, now.Format("2006/01/02")), "rollout-"+now.Format("2006-01-02T15-04-05")+"-"+c.ID+".jsonl")
	made := &coding.Fork{
		Spot:   coding.Spot{File: name, ID: c.ID},
		Steps:  folder.Steps{{Name: name, Data: data}},
		Writes: []string{fmt.Sprintf("%s: %s of the session, under the new id; it stands by itself, without the rollouts that this one needs", name, model.Count(len(lines), "record"))},
		Calls:  calls(c.ID, "goes on from there in the new session"),
	}
	if !ends(c) {
		made.Hazards = append(made.Hazards, "the fork ends inside a turn, which Codex takes for one that was broken off")
	}
	return made, nil
}

// line is a record of the new rollout.
type line struct {
	raw     []byte
	header  *header
	ordinal int64
	// threads are the ids that the new one stands for.
	threads map[string]bool
}

// flatten returns the records of the lineage up to the entry, and those behind it that end
// its turn. The first is the header of the newest part; the other parts' are left out.
func flatten(c coding.Cut) (lines []line, err error) {
	type piece struct {
		part *part
		end  int64
	}
	at := c.To.Own.(own).part
	pieces := []piece{{at, closing(at, c.To)}}
	for p := at; p.base != nil; p = p.base {
		pieces = append(pieces, piece{p.base, p.from})
	}
	threads := map[string]bool{}
	for _, one := range pieces {
		if r, _ := rolloutOf(one.part.name); one.part.head != nil {
			threads[r.thread], threads[one.part.head.thread] = true, true
		}
	}
	var first *coding.Record[record]
	for i := range at.file.Records {
		if at.file.Records[i].Is.header != nil {
			first = &at.file.Records[i]
			break
		}
	}
	add := func(p *part, records []*coding.Record[record]) error {
		spans := make([]coding.Span, len(records))
		for i, r := range records {
			spans[i] = r.Span
		}
		raw, err := coding.Raw(c.In.Tree, p.name, spans)
		for i := range raw {
			lines = append(lines, line{raw[i], records[i].Is.header, records[i].Is.ordinal, threads})
		}
		return err
	}
	if first != nil {
		if err := add(at, []*coding.Record[record]{first}); err != nil {
			return nil, err
		}
	}
	for k := len(pieces) - 1; k >= 0; k-- {
		var records []*coding.Record[record]
		for i := range pieces[k].part.file.Records {
			if r := &pieces[k].part.file.Records[i]; r.At < pieces[k].end && r.Is.header == nil {
				records = append(records, r)
			}
		}
		if err := add(pieces[k].part, records); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// closes are the records behind an item that belong to it, or end its turn.
var closes = map[string]bool{typeUsage: true, eventTokens: true, eventEnded: true, eventTurnEnded: true, eventAborted: true}

// closing returns where in a part the records end that an entry needs.
func closing(p *part, e *coding.Entry) int64 {
	end := e.Records[0].At + 1
	for i := range p.file.Records {
		switch r := &p.file.Records[i]; {
		case r.At < end:
		case closes[r.Is.is]:
			end = r.At + 1
		default:
			return end
		}
	}
	return end
}

// ends reports whether an entry is the last of its turn, or an answer to a tool call: Codex
// goes on from there.
func ends(c coding.Cut) bool {
	if len(c.To.Said.Results) > 0 || c.To.Event == eventCompaction {
		return true
	}
	turn := c.To.Own.(own).turn
	for i := range c.Session.Entries {
		e := &c.Session.Entries[i]
		if e.Parent == c.To.ID && e.Own.(own).turn == turn {
			return false
		}
	}
	return true
}

// rename puts the new id where the record names the thread, and nowhere else: the user's
// words may have the old one.
func rename(p *jsontape.Patch, t *jsontape.Tape, id string, threads map[string]bool) {
	body := t.Find(0, "payload")
	if body < 0 {
		body = 0
	}
	if t.Kind(body) != jsontape.Object {
		return
	}
	for _, key := range []string{"id", "session_id", "thread_id"} {
		if n := t.Find(body, key); n >= 0 && t.Kind(n) == jsontape.String && threads[t.Text(n)] {
			p.Set(n, jsontape.AppendQuoted(nil, id))
		}
	}
}

// stand takes out of a header what makes the rollout depend on others.
func stand(p *jsontape.Patch, t *jsontape.Tape) {
	body := t.Find(0, "payload")
	if body < 0 || t.Kind(body) != jsontape.Object {
		return
	}
	gone := map[jsontape.Node]bool{}
	for _, key := range []string{"history_base", "forked_from_id", "forked_from_ordinal_exclusive", "subagent_history_start_ordinal"} {
		if n := t.Find(body, key); n >= 0 {
			gone[n] = true
		}
	}
	p.Remove(body, func(n jsontape.Node) bool { return gone[n] })
	if source := t.Find(body, "source"); source >= 0 && t.Kind(source) == jsontape.Object { // of a sub-agent
		p.Set(source, []byte(`"cli"`))
	}
}

var ofDay = regexp.MustCompile(`^(|.*/)\d{4}/\d\d/\d\d$`)

// day returns the folder of a new rollout: that of the day, below the one that has those of
// other days; else that of the rollout.
func day(file, today string) string {
	dir := path.Dir(file)
	if m := ofDay.FindStringSubmatch(dir); m != nil {
		return path.Join(m[1], today)
	}
	if dir == archived {
		return path.Join(live, today)
	}
	return dir
}
