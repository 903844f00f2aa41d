package cli_test

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"

	"hindcast/model"
	"hindcast/query/ledger"
	"hindcast/store"
	"hindcast/store/sample"
)

// claudeCode are the sessions of Claude Code in testdata.
var claudeCode = filepath.Join("..", "testdata", "coding", "claude-code", "projects")

// On a terminal the rows fit it, days have bars, and what has no room is named.
func TestStats_fitsTheTerminal(t *testing.T) {
	for _, by := range ledger.ByWords() {
		for _, width := range []int{60, 80, 100, 200} {
			c := start(t, sample.Rows())
			c.Kinds = realKinds()
			c.OutTerminal, c.Columns = true, func() int { return width }
			code, out, said := c.run(t, "stats", claudeCode, "--by", by, "--no-pager")
			if code != 0 {
				t.Fatal(said)
			}
			for line := range strings.Lines(out) {
				if displaywidth.String(strings.TrimSuffix(line, "\n")) > width {
					t.Errorf("by %s in %d cells: %q", by, width, line)
				}
			}
			if bars := strings.Contains(out, "██████████ "); bars != (by == "day") {
				t.Errorf("by %s in %d cells bars are %v:\n%s", by, width, bars, out)
			}
			if spared := strings.Contains(out, "no room for written"); spared != (width < 140) || !strings.Contains(out, "$0.17") {
				t.Errorf("by %s in %d cells columns are left out: %v\n%s", by, width, spared, out)
			}
		}
	}
}

// broken is a store that cannot read one of its sessions.
type broken struct{ store.Store }

var errTorn = errors.New("the page is torn")

func (b broken) Headers(ctx context.Context, session string) iter.Seq2[model.Header, error] {
	if session == "packing-list" {
		return func(yield func(model.Header, error) bool) { yield(model.Header{}, errTorn) }
	}
	return b.Store.Headers(ctx, session)
}

// A session that cannot be read is named, and the others are added up; on a terminal it is shown how far that is.
func TestStats_goesOnBehindWhatCannotBeRead(t *testing.T) {
	c := start(t, sample.Rows())
	c.Kinds = store.Kinds{{Name: "mem", Open: func(context.Context, string) (store.Store, error) { return broken{c.store}, nil }}}
	c.ErrTerminal = true
	code, out, said := c.run(t, "stats", "mem:", "--by", "session")
	if code != 1 || !strings.Contains(out, "trip-planner") || !strings.Contains(said, "session \"packing-list\" of") || !strings.Contains(said, errTorn.Error()) {
		t.Errorf("exit %d, %s, %s", code, out, said)
	}
	code, out, _ = c.run(t, "stats", "mem:", "--by", "session", "--json")
	if code != 1 {
		t.Errorf("exit %d", code)
	}
	a := &answers{published(t), map[string]bool{}}
	a.conform(t, "bill", out)
	if !a.seen["bill unread[].error"] {
		t.Errorf("%s names nothing that could not be read", out)
	}
}
