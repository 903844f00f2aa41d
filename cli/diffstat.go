package cli

import (
	"fmt"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/model/printable"
)

// statJSON is `diff --stat --json`.
type statJSON struct {
	Keys []*keyStat `json:"keys"`
	tallied
}

// keyStat counts the changes below one top-level key; Key is "" where the state is no
// object.
type keyStat struct {
	Key string `json:"key"`
	tallied
	OldBytes int `json:"oldBytes"`
	NewBytes int `json:"newBytes"`
}

// tallied counts changes.
type tallied struct {
	Added   int `json:"added"`
	Changed int `json:"changed"`
	Removed int `json:"removed"`
}

func (t *tallied) countChange(op diff.Op) {
	switch op {
	case diff.Added:
		t.Added++
	case diff.Removed:
		t.Removed++
	default:
		t.Changed++
	}
}

// countsText counts as the summary of a comparison does.
func (t *tallied) countsText() string {
	return fmt.Sprintf("+%d ~%d -%d", t.Added, t.Changed, t.Removed)
}

// statOf counts the changes by the top-level key that they are below.
func statOf(r *diff.Result) statJSON {
	all := statJSON{Keys: []*keyStat{}}
	var last *diff.Entry
	for _, e := range r.Changes() {
		top := e
		for top.Parent > 0 {
			top = &r.Entries[top.Parent]
		}
		if top != last { // the changes below a key stand together
			key, _ := r.Key(top)
			all.Keys = append(all.Keys, &keyStat{Key: key, OldBytes: len(r.Old(top)), NewBytes: len(r.New(top))})
			last = top
		}
		all.Keys[len(all.Keys)-1].countChange(e.Op)
		all.countChange(e.Op)
	}
	return all
}

// writeStat writes a line for each top-level key below the title.
func (p *printer) writeStat(title string, r *diff.Result) {
	fmt.Fprintln(p, p.paint.in(bold, title+"  "+summariseChanges(r)))
	var t table
	for _, k := range statOf(r).Keys {
		name := k.Key
		if name == "" {
			name = "(the whole state)"
		}
		size := fmt.Sprintf("%s %s %s", model.AppendSize(nil, int64(k.OldBytes)), p.glyphs.Arrow, model.AppendSize(nil, int64(k.NewBytes)))
		t.addRow(" "+printable.String(name), k.countsText(), size)
	}
	t.writeTable(p)
}
