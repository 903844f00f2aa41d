package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"testing"

	"hindcast/model"
	"hindcast/store/media/journal"
)

// sealRecord returns each line that begins as JSON does the checksum that it needs: what a
// journal says is fuzzed as well as how it is written.
func sealRecord(data []byte) []byte {
	var out []byte
	for line := range bytes.Lines(data) {
		if text := bytes.TrimSuffix(line, []byte("\n")); len(text) > 0 && text[0] == '{' {
			line = fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)), text)
		}
		out = append(out, line...)
	}
	return out
}

// FuzzJournal reads a journal whose file is damaged in any way: that neither panics
// nor hangs, recovering touches nothing that it does not know, and what is written
// afterwards is there and can be taken back.
func FuzzJournal(f *testing.F) {
	list := chapters(f, story())
	for _, c := range list {
		written := []byte(c.after.Tree(whole)[".hindcast/journal"][4:])
		f.Add(written)
		var open []byte
		for line := range bytes.Lines(written) {
			if _, text, ok := bytes.Cut(line, []byte(" ")); ok {
				open = append(open, text...)
			}
		}
		f.Add(open)
		f.Add(open[:bytes.LastIndexByte(open[:len(open)-1], '\n')+1]) // not finished
	}
	f.Add([]byte("\n00000000 {}\n"))
	f.Add([]byte("\n"))
	base := list[len(list)-1].after
	f.Fuzz(func(t *testing.T, data []byte) {
		m := base.Clone()
		must(t, m.Remove(".hindcast/journal"))
		must(t, m.Create(".hindcast/journal", sealRecord(data), 0o600))
		j := journal.New(m, journal.Options{})
		damaged, conflict := (*journal.DamagedError)(nil), (*journal.ConflictError)(nil)
		if _, err := j.Entries(t.Context()); errors.As(err, new(*journal.FormatError)) {
			if err := j.Recover(t.Context()); !errors.As(err, new(*journal.FormatError)) {
				t.Fatal(err)
			}
			return // of another version: it is left as it is
		} else if err != nil && !errors.As(err, &damaged) {
			t.Fatal(err)
		}
		had, open := contents(m), false
		if e, err := j.OpenEntry(t.Context()); err == nil && e != nil {
			open = e.Op == model.OpPurge
		}
		unfinished := (*journal.UnfinishedError)(nil)
		gone, kept := (*journal.PurgedError)(nil), (*journal.KeptError)(nil)
		err := j.Recover(t.Context())
		have := contents(m)
		for content := range had {
			if !have[content] && !open {
				t.Fatalf("%.40q is lost", content)
			}
		}
		if errors.As(err, &unfinished) || errors.As(err, &gone) || errors.As(err, &kept) {
			return // it asks for what never was, or was of another size
		}
		if err != nil && !errors.As(err, &conflict) {
			t.Fatal(err)
		}
		before := m.Tree(live)
		draft := j.Draft()
		draft.Put("u/new", []byte("new"))
		plan, err := draft.Plan(model.Plan{Op: model.OpRestore, Session: "u"})
		must(t, err)
		if _, err := j.Apply(t.Context(), plan, nil); err != nil {
			t.Fatal(err)
		}
		if plan, err = j.PlanUndo(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Apply(t.Context(), plan, nil); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(m.Tree(live), before) {
			t.Fatal(difference(m.Tree(live), before, before))
		}
	})
}
