package snapshots

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
)

const testdata = "../../../../testdata/strands"

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a golden file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	storetest.Golden(t, filepath.Join(testdata, name), got, update)
}

// written are the stores that the real SDKs wrote.
var written = []string{"python-snapshot", "typescript/unified", "typescript/legacy"}

func fixture(name string) string { return filepath.Join(testdata, filepath.FromSlash(name)) }

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// sessions returns the sessions of a store by name.
func sessions(t testing.TB, s *Store) []model.SessionInfo {
	t.Helper()
	list := storetest.Sessions(t, s)
	slices.SortFunc(list, func(a, b model.SessionInfo) int { return strings.Compare(a.ID, b.ID) })
	return list
}

func state(t testing.TB, s *Store, h model.Header) []byte {
	t.Helper()
	state, err := s.State(t.Context(), h.Ref())
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// picture draws a timeline as it is drawn, with what there is to say of each
// row.
func picture(list []model.Header) string {
	timeline := model.NewTimeline(slices.Clone(list))
	var text strings.Builder
	for i := range timeline.Rows() {
		row := timeline.Row(i)
		line := string(timeline.AppendGutter(nil, i, max(2, timeline.Lanes()), model.GlyphsUnicode))
		if row.Kind == model.RowNode {
			h := timeline.FullHeader(row.Node)
			line += fmt.Sprintf("%2d  %-6s turn %d  %-15s %-12s %-18s %q", h.Index, h.ID[max(0, len(h.ID)-6):], h.TurnIndex, h.EventText(), h.Position, strings.Join(h.Marks.Words(), " "), h.Title)
			if h.Reason != nil {
				line += "  " + h.Reason.Text(nil)
			}
		}
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return text.String()
}

func pictureFaults(list []model.Fault) string {
	var text strings.Builder
	for _, f := range list {
		fmt.Fprintf(&text, "! %s  %s %s\n    %s\n    %s\n", f.Code, f.File, f.Path, f.Meaning, f.Verdict)
	}
	return text.String()
}

// locate returns the place of a session.
func (s *Store) locate(id string) (place, error) {
	at, err := s.findPlace(context.Background(), s.files.Storage.In(), id)
	if err != nil {
		return place{}, err
	}
	return at.Own.(place), nil
}

// fileOf reads the file of a snapshot.
func (s *Store) fileOf(t testing.TB, p *place, id string) ([]byte, error) {
	in := s.files.Storage.In()
	w := s.files.Storage.Writes(t.Context())
	in.Writes = w
	return p.readData(in, id)
}
