package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
)

// Draw draws a session: one line a snapshot with its parent, why it is off the path, and how
// many messages its state has. The head has a star, and what is off the path a dash.
func Draw(t testing.TB, s store.Store, session string) string {
	t.Helper()
	var text strings.Builder
	list := Headers(t, s, session)
	for _, h := range list {
		parent := slices.IndexFunc(list, func(p model.Header) bool { return p.ID == h.ParentID })
		mark := " "
		switch {
		case h.Head:
			mark = "*"
		case h.Orphaned:
			mark = "-"
		}
		fmt.Fprintf(&text, "%s%d<%d %s %s (%d): %.40s", mark, h.Index, parent, h.ID, h.EventText(), len(Messages(t, s, h.Ref())), h.Title)
		if h.Orphaned {
			fmt.Fprintf(&text, " (%v to %s at %s)", h.Reason.Kind, h.Reason.TargetID, h.Reason.At.Format("15:04:05"))
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// Messages returns the messages of a state.
func Messages(t testing.TB, s store.Store, ref model.Ref) []map[string]any {
	t.Helper()
	text, err := s.State(t.Context(), ref)
	var state struct{ Messages []map[string]any }
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil {
		t.Fatal(err)
	}
	return state.Messages
}
