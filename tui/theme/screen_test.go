package theme_test

import (
	"fmt"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/tui/difftab"
	"hindcast/tui/screentest"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// snapshots is a list with the cursor in it, in the colours of a timeline.
func snapshots(styles *theme.Styles) *sheet.Sheet {
	g := &styles.Glyphs
	list := screentest.Show(sheet.NewList(styles), []sheet.Paragraph{
		{Text: "Timeline", Pick: sheet.Title, Wide: true},
		{Label: g.Active + " #0", LabelPick: sheet.Active, Text: "turn end"},
		{Label: g.Orphaned + " #1", LabelPick: sheet.Orphaned, Text: "left by a restore", Pick: sheet.Warn},
		{Label: g.Head + " #1", LabelPick: sheet.Head, Text: "invocation end", Pick: sheet.Strong},
		{Label: "r", LabelPick: sheet.Key, Text: "restore"},
		{Label: "f", LabelPick: sheet.KeyOff, Text: "fork", Pick: sheet.KeyOff},
		{Label: "hash", LabelPick: sheet.Muted, Text: "as it should be", Pick: sheet.Good},
		{Label: "error", LabelPick: sheet.Muted, Text: "byte 12", Pick: sheet.Error},
	}, 40, 8)
	list.Click(2)
	return list
}

// changes is a diff with something of each kind in it, and a search.
func changes(t *testing.T, styles *theme.Styles) *difftab.Pane {
	t.Helper()
	side := func(index int, state string) difftab.Side {
		tape, err := jsontape.Parse([]byte(state))
		if err != nil {
			t.Fatal(err)
		}
		return difftab.Side{Header: model.Header{Index: index}, Name: fmt.Sprint("#", index), Conversation: conversation.Decode(tape)}
	}
	c, err := difftab.Prepare(t.Context(), difftab.Sides{
		Old: side(1, `{"cart":{"total":120.5,"gift":true},"note":"take the early train to Lyon on Friday morning","list":[1,2]}`),
		New: side(2, `{"cart":{"total":140.5,"seats":{"row":4,"name":null}},"note":"take the late train to Lyon on Sunday morning","list":[1,2]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	p := screentest.Show(difftab.New(styles), c, 60, 11)
	screentest.Do(t, p, keymap.UnfoldAll)
	found, err := difftab.Find(t.Context(), c, "train")
	if err != nil || !p.SetMatches(found) {
		t.Fatal("the search finds nothing", err)
	}
	return p
}

// A golden of every byte, so that a change of colours shows where it is
// reviewed.
func TestThemes_lookAsDrawn(t *testing.T) {
	for name, styles := range screentest.Themes() {
		t.Run(name, func(t *testing.T) {
			golden.RequireEqual(t, []byte(screentest.DrawColoured(snapshots(styles), 8)+"\n"+screentest.DrawColoured(changes(t, styles), 11)))
		})
	}
}
