package journal

import (
	"bytes"
	"testing"

	"hindcast/model"
)

// A record that no journal wrote counts as damaged, and one beside it that a journal could
// have written does not.
func TestDecode_hostile(t *testing.T) {
	file := versionOf([]byte("x"), 0o600)
	changes := []Change{{"s/a", model.FileSetAside, file, Version{}}}
	purges := []Change{{"s/a", model.FileForgotten, file, Version{}}}
	entry := func(op model.Op, edit func(e *Entry)) *Entry {
		e := &Entry{JournalEntry: model.JournalEntry{ID: 1, Op: op}}
		if edit != nil {
			edit(e)
		}
		return e
	}
	came := func(folder string) *Entry {
		return entry(model.OpRestore, func(e *Entry) { e.Came = []Came{{Folder: "s"}, {Folder: folder}} })
	}
	guards := func(g Guard) *Entry {
		return entry(model.OpRestore, func(e *Entry) { e.Guards = []Guard{{Path: "s/a", Version: file}, g} })
	}
	numbered := func(id int64) *Entry { return entry(model.OpRestore, func(e *Entry) { e.ID = id }) }
	for name, r := range map[string]record{
		"a restore":         {Entry: entry(model.OpRestore, nil), Changes: changes},
		"a purge":           {Entry: entry(model.OpPurge, nil), Changes: purges},
		"an undo":           {Entry: entry(model.OpUndo, nil), Of: 1},
		"a redo":            {Entry: entry(model.OpRedo, nil), Of: maxID},
		"the first number":  {Entry: numbered(0), Changes: changes},
		"the last number":   {Entry: numbered(maxID), Changes: changes},
		"names that came":   {Entry: came("s/m"), Changes: changes},
		"a guard":           {Entry: guards(Guard{Path: "s", Version: Version{Folder: true, Mode: 0o700}}), Changes: changes},
		"one that is ended": {Done: maxID},
		"one left":          {Off: 1, Why: "it was changed"},
	} {
		if _, ok := decoded(t, r); !ok {
			t.Errorf("%s is damaged", name)
		}
	}
	for name, r := range map[string]record{
		"an undo of nothing":         {Entry: entry(model.OpUndo, nil)},
		"a redo of nothing":          {Entry: entry(model.OpRedo, nil)},
		"a restore of another":       {Entry: entry(model.OpRestore, nil), Of: 1, Changes: changes},
		"a purge of another":         {Entry: entry(model.OpPurge, nil), Of: 1, Changes: purges},
		"an undo with changes":       {Entry: entry(model.OpUndo, nil), Of: 1, Changes: changes},
		"a redo with changes":        {Entry: entry(model.OpRedo, nil), Of: 1, Changes: changes},
		"a restore that forgets":     {Entry: entry(model.OpRestore, nil), Changes: purges},
		"a fork that forgets":        {Entry: entry(model.OpFork, nil), Changes: purges},
		"a purge that sets aside":    {Entry: entry(model.OpPurge, nil), Changes: changes},
		"a negative number":          {Entry: numbered(-1), Changes: changes},
		"a number too large":         {Entry: numbered(maxID + 1), Changes: changes},
		"names outside of the store": {Entry: came("../s"), Changes: changes},
		"names of the root":          {Entry: came("/s"), Changes: changes},
		"names of nothing":           {Entry: came(""), Changes: changes},
		"a guard outside":            {Entry: guards(Guard{Path: "../a", Version: file}), Changes: changes},
		"a guard with a short sum":   {Entry: guards(Guard{Path: "s/b", Version: Version{SHA256: "ab"}}), Changes: changes},
		"a guard of two kinds":       {Entry: guards(Guard{Path: "s/b", Version: Version{SHA256: file.SHA256, Folder: true}}), Changes: changes},
		"a guard with a size":        {Entry: guards(Guard{Path: "s/b", Version: Version{Size: 1}}), Changes: changes},
		"a guard with a mode":        {Entry: guards(Guard{Path: "s/b", Version: Version{SHA256: file.SHA256, Mode: 1 << 20}}), Changes: changes},
		"changes without an entry":   {Done: 1, Changes: changes},
		"sums without an entry":      {Done: 1, Sums: make([]byte, len(sum{}))},
		"an entry with a part":       {Entry: entry(model.OpRestore, nil), Part: []byte("x")},
		"half a sum":                 {Entry: entry(model.OpRestore, nil), Sums: make([]byte, len(sum{})/2)},
		"the sum of no part":         {Entry: entry(model.OpRestore, nil), Sums: make([]byte, len(sum{}))},
		"a negative end":             {Done: -1},
		"an end too large":           {Done: maxID + 1},
		"a negative way back":        {Back: -1},
		"one left below zero":        {Off: -1},
		"one taken back below zero":  {Taking: -1},
		"an undo below zero":         {Entry: entry(model.OpUndo, nil), Of: -1},
	} {
		if got, ok := decoded(t, r); ok {
			t.Errorf("%s is sound: %+v", name, got)
		}
	}
}

// decoded returns a record as it is read from a journal.
func decoded(t *testing.T, r record) (record, bool) {
	t.Helper()
	line, err := sealRecord(r)
	if err != nil {
		t.Fatal(err)
	}
	return decodeLine(bytes.Trim(line, "\n"), map[sum]*Part{}, nil)
}
