package cli

import (
	"iter"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/home"
)

// The documents of --json. Their members stay as they are: cli/schema describes
// each, and a test holds the output of every command to it. Stores write rows
// with an encoding of their own, in model.

// headerJSON is a snapshot in a document: what the timeline knows about it,
// events and marks as words.
type headerJSON struct {
	Name        string        `json:"name"`
	ID          string        `json:"id"`
	ParentID    string        `json:"parentId,omitempty"`
	SessionID   string        `json:"sessionId"`
	CreatedAt   *time.Time    `json:"createdAt,omitempty"`
	Index       int           `json:"index"`
	TurnIndex   *int          `json:"turnIndex"`
	Event       string        `json:"event"`
	Orphaned    bool          `json:"orphaned"`
	Reason      *model.Reason `json:"reason,omitempty"`
	Head        bool          `json:"head,omitempty"`
	Visit       int64         `json:"visit,omitempty"`
	ParentVisit int64         `json:"parentVisit,omitempty"`
	Position    string        `json:"position,omitempty"`
	Title       string        `json:"title,omitempty"`
	Size        int64         `json:"size,omitempty"`
	Marks       []string      `json:"marks,omitempty"`
	Labels      []model.Label `json:"labels,omitempty"`

	Alias      string           `json:"alias,omitempty"`
	Attributes model.Attributes `json:"attributes,omitempty"`
}

// headerOf returns the snapshot at a node as a document tells it.
func headerOf(t *model.Timeline, n model.Node) headerJSON {
	h := t.FullHeader(n)
	out := headerJSON{
		Name: t.Name(n), ID: h.ID, ParentID: h.ParentID, SessionID: h.SessionID, CreatedAt: writableTime(h.CreatedAt),
		Index: h.Index, Event: h.EventID(), Orphaned: h.Reason != nil, Reason: h.Reason, Head: h.Head,
		Visit: h.Visit, ParentVisit: h.ParentVisit, Position: h.Position, Title: h.Title, Size: h.Size, Marks: h.Marks.Words(), Labels: t.Labels(n),
		Alias: h.Alias, Attributes: h.Attributes,
	}
	if h.TurnIndex != model.TurnUnknown {
		out.TurnIndex = &h.TurnIndex
	}
	return out
}

// writableTime returns nil for a time that is not known, or that RFC 3339 cannot
// write, so that one strange time does not make a whole document fail.
func writableTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	for _, form := range []time.Time{t, t.UTC()} {
		if _, err := form.MarshalText(); err == nil {
			return &form
		}
	}
	return nil
}

// loggedJSON is an element of `log --json`.
type loggedJSON struct {
	headerJSON
	Unread int        `json:"unread,omitempty"`
	Flags  []flagJSON `json:"flags,omitempty"`
}

// headersJSON yields the snapshots in drawn order, from a row on. The first has how many records of
// the session are unread; flags has the flags of a snapshot with their last call.
func headersJSON(t *model.Timeline, rows rowSpan, unread int, flags map[model.Node][]flagJSON) iter.Seq2[loggedJSON, error] {
	return func(yield func(loggedJSON, error) bool) {
		for row := rows.from; row < rows.to; row++ {
			r := t.Row(row)
			if r.Kind != model.RowNode {
				continue
			}
			if !yield(loggedJSON{headerOf(t, r.Node), unread, flags[r.Node]}, nil) {
				return
			}
			unread = 0
		}
	}
}

// sessionJSON is an element of `sessions --json`.
type sessionJSON struct {
	ID        string     `json:"id"`
	Kind      string     `json:"kind"`
	Store     string     `json:"store,omitempty"`
	Title     string     `json:"title,omitempty"`
	Project   string     `json:"project,omitempty"`
	Size      int64      `json:"size,omitempty"`
	Parent    string     `json:"parent,omitempty"`
	Snapshots *int       `json:"snapshots,omitempty"`
	Orphaned  *int       `json:"orphaned,omitempty"`
	Head      string     `json:"head,omitempty"`
	HeadIndex *int       `json:"headIndex,omitempty"`
	UpdatedAt *time.Time `json:"updatedAt"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	GoneSince *time.Time `json:"goneSince,omitempty"`
	Faults    *int       `json:"faults,omitempty"`
}

// sessionOf returns the document of a session, with its store where there are several.
func (o *subject) sessionOf(info *home.Session) sessionJSON {
	out := sessionJSON{ID: info.ID, Kind: info.Kind, Title: info.Title, Project: info.Project, Size: info.Size, Parent: info.Parent, Head: info.Head.ID, UpdatedAt: writableTime(info.UpdatedAt), ExpiresAt: writableTime(info.ExpiresAt), GoneSince: writableTime(info.GoneSince)}
	if o.home.CountStores() > 1 {
		out.Store = info.Store.At
	}
	if info.Snapshots != store.Uncounted {
		out.Snapshots = &info.Snapshots
		if info.Orphaned != store.Uncounted {
			out.Orphaned = &info.Orphaned
		}
	}
	if info.Head.ID != "" {
		out.HeadIndex = &info.Head.Index
	}
	if info.Faults != model.FaultsNotCounted {
		out.Faults = &info.Faults
	}
	return out
}

// planJSON is a plan: what `restore --dry-run --json` and its like print.
type planJSON struct {
	Op          model.Op         `json:"op"`
	Session     string           `json:"session"`
	Others      []string         `json:"others,omitempty"`
	NewSession  string           `json:"newSession,omitempty"`
	Removes     bool             `json:"removes,omitempty"`
	Final       bool             `json:"final,omitempty"`
	Target      string           `json:"target"`
	TargetIndex int              `json:"targetIndex"`
	TargetName  string           `json:"targetName,omitempty"`
	NewHead     bool             `json:"newHead,omitempty"`
	Head        string           `json:"head"`
	HeadIndex   int              `json:"headIndex"`
	HeadName    string           `json:"headName,omitempty"`
	Orphans     []model.Point    `json:"orphans"`
	Reactivates []model.Point    `json:"reactivates"`
	Writes      []string         `json:"writes"`
	Files       []model.PlanFile `json:"files,omitempty"`
	Carries     []string         `json:"carries,omitempty"`
	Loads       string           `json:"loads"`
	Resume      []model.Resume   `json:"resume,omitempty"`
	Hazards     []string         `json:"hazards"`
	Asks        []string         `json:"asks,omitempty"`
	Entry       int64            `json:"entry,omitempty"`
	// SDK is the version that the plan holds for, "" for any.
	SDK string `json:"sdk,omitempty"`
}

func planOf(p *planned) planJSON {
	return planJSON{
		p.Op, p.Session, p.Others, p.NewSession, p.Removes, p.Final,
		p.Target.ID, p.Target.Index, p.Target.Name, p.NewHead, p.Head.ID, p.Head.Index, p.Head.Name,
		notNil(p.Orphans), notNil(p.Reactivates), notNil(p.Writes), p.Files, p.Carries, p.Loads, p.Resume, notNil(p.Hazards), p.Asks, p.Entry, p.assumed,
	}
}

// notNil returns a list that JSON writes as [], and never as null.
func notNil[T any](of []T) []T { return append([]T{}, of...) }

// receiptJSON is the document of a receipt.
type receiptJSON struct {
	Entry       int64    `json:"entry"`
	Op          model.Op `json:"op"`
	Session     string   `json:"session"`
	Head        string   `json:"head"`
	HeadIndex   int      `json:"headIndex"`
	Orphaned    int      `json:"orphaned"`
	Reactivated int      `json:"reactivated"`
}

func receiptOf(r *model.Receipt) receiptJSON {
	return receiptJSON{r.Entry, r.Op, r.Session, r.Head.ID, r.Head.Index, r.Orphaned, r.Reactivated}
}

// factJSON is a fact in words, in `show --json`.
type factJSON struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// sumFacts returns the numbers of facts as members of a document; a key with a dot
// is a member of a group. Numbers of one key, such as those of several model calls
// of a turn, are added up.
func sumFacts(facts []model.Fact) map[string]any {
	members := map[string]any{}
	for _, fact := range facts {
		for _, n := range fact.Numbers {
			in, key := members, n.Key
			if group, member, grouped := strings.Cut(n.Key, "."); grouped {
				if in[group] == nil {
					in[group] = map[string]any{}
				}
				in, key = in[group].(map[string]any), member
			}
			sum, _ := in[key].(float64)
			in[key] = sum + n.Value
		}
	}
	return members
}

// factsJSON returns facts in words.
func factsJSON(facts []model.Fact) []factJSON {
	list := make([]factJSON, len(facts))
	for i, fact := range facts {
		list[i] = factJSON{fact.Label, fact.Value}
	}
	return list
}
