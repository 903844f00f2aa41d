package picker

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
	"hindcast/tui/when"
)

// Sessions lists the sessions of a store. A row's name is the session's id.
type Sessions = Pane[model.SessionInfo]

// NewSessions makes an empty list. now returns the time against which ages are
// shown.
func NewSessions(styles *theme.Styles, now func() time.Time) *Sessions {
	return &Sessions{styles: styles, now: now, look: look[model.SessionInfo]{
		noun: "session", title: "session", words: "begins with",
		name:     func(info *model.SessionInfo) string { return info.ID },
		said:     func(info *model.SessionInfo) string { return info.Title },
		filtered: func(info *model.SessionInfo) string { return info.ID + " " + info.Title + " " + info.Project },
		brief:    brief,
		fitted:   cell.ShortID,
		columns:  sessionColumns,
		orders:   sessionOrders,
	}}
}

var sessionColumns = []column[model.SessionInfo]{
	{name: "project", rank: 3, width: 24, text: func(_ *Sessions, info *model.SessionInfo) string { return lastOfPath(info.Project) }},
	{name: "snapshots", rank: 4, width: 9, text: func(_ *Sessions, info *model.SessionInfo) string { return countText(info.Snapshots) }},
	{name: "off path", rank: 5, width: 8, text: func(_ *Sessions, info *model.SessionInfo) string { return countText(info.Orphaned) }},
	{name: "faults", rank: 1, width: 6, style: func(t *theme.Tokens) theme.Style { return t.Error },
		text: func(_ *Sessions, info *model.SessionInfo) string {
			if info.Faults <= 0 {
				return ""
			}
			return "! " + countText(info.Faults)
		}},
	{name: "size", rank: 6, width: 8, text: func(_ *Sessions, info *model.SessionInfo) string {
		if info.Size == 0 {
			return ""
		}
		return string(model.AppendSize(nil, info.Size))
	}},
	{name: "age", rank: 2, width: 9,
		known: func(info *model.SessionInfo) bool { return !info.UpdatedAt.IsZero() },
		text: func(p *Sessions, info *model.SessionInfo) string {
			return strings.TrimSuffix(when.Ago(p.now(), info.UpdatedAt), " ago")
		}},
}

var sessionOrders = []order[model.SessionInfo]{
	{words: "last changed first", among: byProject},
	{words: "by name", less: func(a, b *model.SessionInfo) int { return strings.Compare(a.ID, b.ID) }},
	{words: "most snapshots first", less: func(a, b *model.SessionInfo) int { return cmp.Compare(b.Snapshots, a.Snapshots) }},
	{words: "largest first", less: func(a, b *model.SessionInfo) int { return cmp.Compare(b.Size, a.Size) }},
	{words: "most faults first", less: func(a, b *model.SessionInfo) int { return cmp.Compare(b.Faults, a.Faults) }},
}

func lastChanged(a, b *model.SessionInfo) int {
	return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), strings.Compare(a.ID, b.ID))
}

// byProject keeps the sessions of a project together. The project that changed last comes
// first.
func byProject(rows []model.SessionInfo) (less func(a, b *model.SessionInfo) int) {
	changed := map[string]time.Time{}
	for i := range rows {
		if info := &rows[i]; info.UpdatedAt.After(changed[info.Project]) {
			changed[info.Project] = info.UpdatedAt
		}
	}
	return func(a, b *model.SessionInfo) int {
		if a.Project == b.Project {
			return lastChanged(a, b)
		}
		return cmp.Or(changed[b.Project].Compare(changed[a.Project]), strings.Compare(a.Project, b.Project))
	}
}

// brief leaves room for the words of the sessions of a coding agent: their ids say nothing.
func brief(rows []model.SessionInfo) int {
	for i := range rows {
		if rows[i].Project != "" {
			return briefWidth
		}
	}
	return math.MaxInt
}

// lastOfPath returns the last part of the path of a project, of whatever system that is.
func lastOfPath(project string) string {
	project = strings.TrimRight(project, `/\`)
	return project[strings.LastIndexAny(project, `/\`)+1:]
}

// countText returns a number, or "".
func countText(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}
