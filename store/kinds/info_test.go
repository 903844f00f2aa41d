package kinds_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/muesli/termenv"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/storetest/skip"
	draw "hindcast/tui/cell"
	"hindcast/tui/infotab"
	"hindcast/tui/theme"
)

// Red is for what is wrong: in Info of a real snapshot, of any kind, nothing is.
func TestInfo_ofRealStoresHasNothingRed(t *testing.T) {
	skip.Sequential(t)
	styles := theme.New(theme.Choice{Palette: theme.Dark, Profile: termenv.TrueColor, Glyphs: theme.Unicode})
	probe := draw.Begin(nil, &styles.Glyphs, 1)
	probe.Put(styles.Error, "x")
	red, _, found := bytes.Cut(probe.End(styles.Text), []byte("x"))
	if !found || len(red) == 0 {
		t.Fatal("an error has no colour")
	}
	eachReal(t, func(t *testing.T, r realStore, dir string) {
		o := openReal(t, r, dir)
		for _, info := range o.sessions {
			for _, h := range o.headers[info.ID] {
				if h.Marks.Has(model.MarkDamaged) || h.Marks.Has(model.MarkTraced) && h.Size == 0 {
					continue
				}
				tape, err := jsontape.Parse(stateOf(t, o.store, &h))
				if err != nil {
					t.Fatal(err)
				}
				facts := infotab.Facts{Header: h, Kind: r.kind, Tape: tape, Now: h.CreatedAt, Zone: time.UTC}
				if ids := o.store.Features().DerivedIDs; ids != nil {
					facts.IDs = ids()
				}
				content, err := infotab.Prepare(t.Context(), facts)
				if err != nil {
					t.Fatal(err)
				}
				pane := infotab.New(styles)
				pane.Resize(100, 100)
				pane.Set(content)
				for y := range 100 {
					if row := pane.AppendRow(nil, y); bytes.Contains(row, red) {
						t.Errorf("of %s #%d this is red: %q", info.ID, h.Index, row)
					}
				}
			}
		}
	})
}
