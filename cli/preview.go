package cli

import (
	"fmt"
	"iter"
	"strconv"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/store"
)

// preview is the effect of an import on one session. Its JSON is an element
// of the output of import --dry-run.
type preview struct {
	Session   string `json:"session"`
	Snapshots int    `json:"snapshots"`
	Orphaned  int    `json:"orphaned"`
	// Head is the id of the head, or ""; Faults counts the faults of
	// the lineage.
	Head   string `json:"head"`
	Faults int    `json:"faults"`
	// First are the first snapshots.
	First []headerJSON `json:"first"`

	headIndex int
	headers   []model.Header
	labels    []model.Label
}

const (
	// firstRows is how many rows of a session a preview shows.
	firstRows = 5
	// firstSessions is how many sessions it shows rows of, in text.
	firstSessions = 3
	// previewID is how much of an id it shows: a person who tries a map wants to see
	// what it takes for one, and ids may begin alike.
	previewID = 36
)

// writePreview takes the rows of an import and shows what it would bring.
func (p *printer) writePreview(rows iter.Seq2[store.Row, error], t *tally) error {
	list, err := gatherPreviews(rows)
	if err != nil {
		return err
	}
	if p.json {
		return p.writeDocument(struct {
			*tally
			DryRun  bool       `json:"dryRun"`
			Preview []*preview `json:"preview"`
		}{t, true, list})
	}
	fmt.Fprintf(p, "would import %s of %s to %s%s\n", model.Count(t.Snapshots, "snapshot"), model.Count(t.Sessions, "session"), printable.String(t.Store), t.leftOut())
	var sessions table
	sessions.addRow("SESSION", "SNAPSHOTS", "ORPHANED", "FAULTS", "HEAD")
	for _, v := range list {
		head := "none"
		if v.Head != "" {
			head = "#" + strconv.Itoa(v.headIndex) + " " + shortID(v.Head)
		}
		sessions.addRow(printable.String(v.Session), strconv.Itoa(v.Snapshots), strconv.Itoa(v.Orphaned), strconv.Itoa(v.Faults), head)
	}
	sessions.writeTable(p)
	for i, v := range list {
		if i == firstSessions {
			fmt.Fprintf(p, "and %s more\n", model.Count(len(list)-i, "session"))
			break
		}
		p.writeFirst(v)
	}
	return nil
}

// gatherPreviews gathers the rows by session, in the order in which the sessions come.
func gatherPreviews(rows iter.Seq2[store.Row, error]) ([]*preview, error) {
	list := []*preview{}
	sessions := map[string]*preview{}
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		if row.Record != nil {
			continue
		}
		h := row.Header
		v := sessions[h.SessionID]
		if v == nil {
			v = &preview{Session: h.SessionID}
			sessions[h.SessionID], list = v, append(list, v)
		}
		if h.Size == 0 {
			h.Size = int64(len(row.State))
		}
		v.headers, v.labels = append(v.headers, h), append(v.labels, row.Labels...)
	}
	for _, v := range list {
		t := model.NewTimeline(v.headers)
		t.SetLabels(v.labels)
		v.Snapshots, v.Orphaned, v.Faults = t.Snapshots(), t.Orphans(), len(t.Faults())
		if n := t.Head(); n != model.NoNode {
			v.Head, v.headIndex = t.Header(n).ID, t.Header(n).Index
		}
		for n := range model.Node(min(t.Len(), firstRows)) {
			v.First = append(v.First, headerOf(t, n))
		}
	}
	return list, nil
}

// writeFirst writes the first rows of a session as a table.
func (p *printer) writeFirst(v *preview) {
	what := "all rows"
	if len(v.First) < len(v.headers) {
		what = "the first " + model.Count(len(v.First), "row")
	}
	fmt.Fprintf(p, "\n%s of %s\n", what, printable.String(v.Session))
	var rows table
	rows.addRow("INDEX", "ID", "PARENT", "TIME", "TURN", "EVENT", "BYTES", "TITLE")
	for i := range v.First {
		h := &v.headers[i]
		parent := "none"
		if h.ParentID != "" {
			parent = clipText(h.ParentID, previewID, p.glyphs.Ellipsis)
		}
		rows.addRow("#"+strconv.Itoa(h.Index), clipText(h.ID, previewID, p.glyphs.Ellipsis), parent, formatMoment(h.CreatedAt), strconv.Itoa(h.TurnIndex),
			p.eventText(h), strconv.FormatInt(h.Size, 10), p.titleText(h))
	}
	rows.writeTable(p)
}
