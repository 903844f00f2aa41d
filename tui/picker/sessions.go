package picker

import (
	"strconv"
	"time"

	"hindcast/model"
	"hindcast/tui/theme"
	"hindcast/tui/when"
)

// Sessions lists the sessions of a store. A row's name is the session's id.
type Sessions = Pane[model.SessionInfo]

// NewSessions makes an empty list. now gives the time against which ages are
// shown.
func NewSessions(styles *theme.Styles, now func() time.Time) *Sessions {
	id := func(info *model.SessionInfo) string { return info.ID }
	return &Sessions{styles: styles, now: now, look: look[model.SessionInfo]{
		noun: "session", title: "session", name: id, filtered: id, columns: sessionColumns,
	}}
}

var sessionColumns = []column[model.SessionInfo]{
	{"snapshots", 9, func(_ *Sessions, info *model.SessionInfo) string { return strconv.Itoa(info.Snapshots) }},
	{"head", 9, func(_ *Sessions, info *model.SessionInfo) string { return headText(info) }},
	{"changed", 12, func(p *Sessions, info *model.SessionInfo) string { return when.Ago(p.now(), info.UpdatedAt) }},
	{"orphaned", 8, func(_ *Sessions, info *model.SessionInfo) string { return some(info.Orphaned) }},
	{"faults", 6, func(_ *Sessions, info *model.SessionInfo) string { return some(info.Faults) }},
}

func headText(info *model.SessionInfo) string {
	if info.Head == "" {
		return "none"
	}
	return "#" + strconv.Itoa(info.HeadIndex)
}

func some(n int) string {
	if n <= 0 { // none, or not counted
		return ""
	}
	return strconv.Itoa(n)
}
