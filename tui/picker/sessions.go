package picker

import (
	"cmp"
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
		filtered: func(info *model.SessionInfo) string { return info.ID + " " + info.Title },
		fitted:   fittedID,
		columns:  sessionColumns,
		orders:   sessionOrders,
	}}
}

var sessionColumns = []column[model.SessionInfo]{
	{name: "snapshots", rank: 3, width: 9, text: func(_ *Sessions, info *model.SessionInfo) string { return some(info.Snapshots) }},
	{name: "off path", rank: 4, width: 8, text: func(_ *Sessions, info *model.SessionInfo) string { return some(info.Orphaned) }},
	{name: "faults", rank: 1, width: 6, style: func(t *theme.Tokens) theme.Style { return t.Error },
		text: func(_ *Sessions, info *model.SessionInfo) string {
			if info.Faults <= 0 {
				return ""
			}
			return "! " + some(info.Faults)
		}},
	{name: "size", rank: 5, width: 8, text: func(_ *Sessions, info *model.SessionInfo) string {
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
	{"last changed first", func(a, b *model.SessionInfo) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), strings.Compare(a.ID, b.ID))
	}},
	{"by name", func(a, b *model.SessionInfo) int { return strings.Compare(a.ID, b.ID) }},
	{"most snapshots first", func(a, b *model.SessionInfo) int { return cmp.Compare(b.Snapshots, a.Snapshots) }},
	{"largest first", func(a, b *model.SessionInfo) int { return cmp.Compare(b.Size, a.Size) }},
	{"most faults first", func(a, b *model.SessionInfo) int { return cmp.Compare(b.Faults, a.Faults) }},
}

// some returns a number, "" for none.
func some(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// fittedID shortens the id of a session that is too long. Ids may begin alike, so
// the end stays: of a session with several agents the agent, if it is short enough,
// and of any other a third.
func fittedID(id string, cells int, ellipsis string) string {
	if cell.Width(id) <= cells {
		return id
	}
	end := ellipsis
	if at := strings.LastIndexByte(id, '/'); at >= 0 && cell.Width(id[at:])+cell.Width(ellipsis) <= cells/2 {
		end += id[at:]
	} else {
		for i := range id {
			if cell.Width(id[i:]) <= cells/3 {
				end += id[i:]
				break
			}
		}
	}
	fits := 0
	for i := range id {
		if cell.Width(id[:i])+cell.Width(end) > cells {
			break
		}
		fits = i
	}
	return id[:fits] + end
}
