package picker

import (
	"strings"
	"testing"
	"time"

	"github.com/muesli/termenv"

	"hindcast/tui/theme"
)

func openStores(w, h int) *Stores {
	p := NewStores(theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.Unicode}), func() time.Time { return noon })
	p.Resize(w, h)
	p.Set([]Store{
		{Kind: "strands", Path: "/home/me/.strands/sessions", Shown: "/home/me/.strands/sessions", Changed: noon.Add(-90 * time.Second), Sessions: 12},
		{Kind: "strands-snapshots", Path: "/home/会话/a/long/way/down/.strands", Shown: "/home/会话/a/long/way/down/.strands", Changed: noon.Add(-50 * time.Hour), Sessions: 100000},
		{Kind: "sqlite", Path: "x\x1b[2J/\u202ey\n.db", Shown: "x\x1b[2J/\u202ey\n.db", Sessions: -1},
		{Kind: "sqlite", Path: strings.Repeat("long", 40), Shown: strings.Repeat("long", 40), Sessions: 0},
	})
	return p
}

func TestStores_lookAsDrawn(t *testing.T) { looksAsDrawn(t, openStores) }

func TestStores_rowsAreExactAndClean(t *testing.T) { exactAndClean(t, openStores) }

func TestStores_filterLooksAtKindsToo(t *testing.T) {
	p := openStores(80, 10)
	p.Filter("SQLITE long")
	if got, _ := p.SelectedRow(); got.Sessions != 0 || p.Status() != "1 of 4 stores with SQLITE long" {
		t.Errorf("%q is selected, %s", got.Path, p.Status())
	}
	p.Filter("no such")
	if p.Name() != "" {
		t.Errorf("%q is selected", p.Name())
	}
}
