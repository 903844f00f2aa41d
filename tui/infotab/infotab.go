// Package infotab is the tab with the facts about one snapshot: its ids, where
// it stands and why, whether its id is the hash of its state, and where the
// bytes of the state go.
//
// The tab is a plain struct that draws what Prepare worked out.
package infotab

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
	"hindcast/tui/when"
)

// Facts are the facts for the tab.
type Facts struct {
	// Header is the snapshot's, with its Reason filled in where it is off the
	// path.
	Header model.Header
	// Usage is the cost of the session; nil to leave it out.
	Usage *Usage
	// Labels are the labels of the snapshot.
	Labels []model.Label
	// Kind and Address are the store's.
	Kind, Address string
	// Release is the version of the SDK that what is shown holds for, "" for any.
	Release string
	// IDs explains ids of the store that are not the hash of the state; "" when an id must be that hash.
	IDs string
	// Tape is the state; nil where it could not be read, and then Err says why.
	Tape *jsontape.Tape
	Err  error
	// New is how many bytes of the state its parent does not have; nil where
	// the store cannot tell, and NewErr says why where it should have.
	New    *int64
	NewErr error
	// Known are further facts of the store about the snapshot. KnownErr says why it could not read them.
	Known    []model.Fact
	KnownErr error
	// Faults are the faults of the session. Repair says how to mend them; "" when the store cannot mend any.
	Faults []model.Fault
	Repair string
	// Now is the time against which ages are told, Zone that in which times are
	// shown; nil for the local one.
	Now  time.Time
	Zone *time.Location
}

// Content is the tab's content for one snapshot.
type Content struct{ sheet.Lines }

// most bounds the lists of the tab, mostKnown the list of facts of the store.
const (
	most      = 24
	mostKnown = 200
)

// Prepare works out what to show, hashing the state on the way. It is heavy,
// and runs in a command. The error is that of a cancelled context.
func Prepare(ctx context.Context, f Facts) (*Content, error) {
	if f.Zone == nil {
		f.Zone = time.Local
	}
	c := &Content{}
	h := &f.Header
	c.addFaults(f.Faults, f.Repair)
	c.AddHeading("Snapshot")
	c.addLabels(f.Labels)
	c.addFact("id", h.ID)
	if h.Alias != "" {
		c.addFact("alias", h.Alias)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.addVerdict(f)
	if h.ParentID == "" {
		c.addFact("parent", "none: the first of its session")
	} else {
		c.addFact("parent", h.ParentID)
	}
	c.addFact("index", strconv.Itoa(h.Index))
	if h.TurnIndex == model.TurnUnknown {
		c.addFact("turn", "not counted yet")
	} else {
		c.addFact("turn", strconv.Itoa(h.TurnIndex))
	}
	c.addFact("event", h.EventText())
	if h.Position != "" {
		c.addFact("position", h.Position)
	}
	if h.Visit != 0 && !h.Marks.Has(model.MarkTraced) {
		c.addFact("visit", strconv.FormatInt(h.Visit, 10))
	}
	c.addStanding(h, f.Zone)
	if names := h.Marks.Words(); len(names) > 0 {
		c.Add("marks", strings.Join(names, ", "), sheet.Warn)
	}
	if h.Marks.Has(model.MarkTraced) {
		c.addFact("step", "put together from a trace: the store has no such snapshot")
	}
	c.addTimes(h.CreatedAt, f.Now, f.Zone)
	c.addFacts("From the program", h.Attributes.Facts(), nil)
	c.addFacts("From the store", f.Known, f.KnownErr)

	c.addUsage(f.Usage)

	c.AddHeading("Session")
	c.addFact("session", h.SessionID)
	c.AddPath("store", f.Kind+"  "+f.Address, f.Address)
	if f.Release != "" {
		c.addFact("sdk", f.Release)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.addSizes(f)
	return c, nil
}

func (c *Content) addFact(label, text string) { c.Add(label, text, nil) }

// addLabels lists the person's labels of the snapshot.
func (c *Content) addLabels(list []model.Label) {
	for _, label := range list {
		c.Add("label", strings.TrimSpace(label.Name+"  "+label.Note), sheet.Strong)
	}
}

// addVerdict says whether the id is the hash of the state, and in which
// serialisation.
func (c *Content) addVerdict(f Facts) {
	switch {
	case f.Err != nil:
		c.Add("hash", "not checked: the state could not be read", sheet.Warn)
	case f.Tape != nil && f.IDs != "":
		c.addFact("hash", "not of the state: "+f.IDs)
	case f.Tape != nil:
		v, style := model.Verify(f.Header.ID, f.Tape.Data()), sheet.Good
		if !v.OK() {
			style = sheet.Error
		}
		c.Add("hash", v.Text(), style)
	}
}

// addStanding says where the snapshot stands in its timeline.
func (c *Content) addStanding(h *model.Header, zone *time.Location) {
	switch {
	case h.Head:
		c.Add("path", "the head: the framework would resume here", sheet.Head)
	case h.Reason != nil:
		c.Add("path", "off the path: "+h.Reason.Text(func(t time.Time) string { return t.In(zone).Format(time.DateTime) }), sheet.Orphaned)
	case h.Orphaned:
		c.Add("path", "off the path", sheet.Orphaned)
	default:
		c.addFact("path", "on the active path")
	}
}

// addTimes tells when the snapshot was made, and how long ago that is.
func (c *Content) addTimes(t, now time.Time, zone *time.Location) {
	if t.IsZero() {
		c.addFact("created", "not recorded")
		return
	}
	pick := sheet.Pick(nil)
	if now.Before(t) {
		pick = sheet.Warn
	}
	c.Add("created", t.In(zone).Format("2006-01-02 15:04:05.000 -07:00")+"  "+when.Ago(now, t), pick)
}

// addFacts lists facts under a heading, and the error that ended them; with neither it adds nothing.
func (c *Content) addFacts(heading string, list []model.Fact, err error) {
	if len(list) == 0 && err == nil {
		return
	}
	c.AddHeading(heading)
	for i, fact := range list {
		if i == mostKnown {
			c.Add("", fmt.Sprintf("and %d more", len(list)-mostKnown), sheet.Muted)
			break
		}
		c.addFact(fact.Label, fact.Value)
	}
	if err != nil {
		c.Add("error", err.Error(), sheet.Error)
	}
}

// member is one part of the state and its share of the bytes.
type member struct {
	name string
	size int64
	kind jsontape.Kind
	n    int
}

// addSizes says where the bytes of the state go.
func (c *Content) addSizes(f Facts) {
	c.AddHeading("State")
	if f.Err != nil {
		c.Add("error", f.Err.Error(), sheet.Error)
		return
	}
	if f.Tape == nil || f.Tape.Len() == 0 {
		c.addFact("size", "nothing to show")
		return
	}
	t := f.Tape
	total := int64(len(t.Data()))
	c.addFact("size", formatBytes(total))
	switch {
	case f.NewErr != nil:
		c.Add("new in it", "not known: "+f.NewErr.Error(), sheet.Warn)
	case f.New != nil:
		c.addFact("new in it", formatBytes(*f.New)+" of "+formatBytes(total))
	}
	c.addFact("values", strconv.Itoa(t.Len()))
	var members []member
	for n := t.First(0); n >= 0; n = t.Next(n) {
		start, end := t.Span(n)
		m := member{size: int64(end - start), kind: t.Kind(n), n: t.Count(n)}
		if t.Kind(0) == jsontape.Object {
			m.name = t.Key(n)
		} else {
			m.name = "[" + strconv.Itoa(len(members)) + "]"
		}
		members = append(members, m)
	}
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(b.size, a.size) })
	for i, m := range members {
		if i == most {
			c.Add("", fmt.Sprintf("and %d smaller ones", len(members)-most), sheet.Muted)
			break
		}
		text := formatBytes(m.size) + "  " + m.name
		if m.kind == jsontape.Array || m.kind == jsontape.Object {
			text += fmt.Sprintf("  %d in it", m.n)
		}
		c.addFact(fmt.Sprintf("%d %%", (m.size*100+total/2)/total), text)
	}
}

// addFaults lists the faults, how the framework acts on them, and the repair that Hindcast offers.
func (c *Content) addFaults(faults []model.Fault, repair string) {
	if len(faults) == 0 {
		return
	}
	title := "1 fault of the session"
	if len(faults) > 1 {
		title = fmt.Sprintf("%d faults of the session", len(faults))
	}
	c.AddHeading(title)
	for i, f := range faults {
		if i == most {
			c.Add("", fmt.Sprintf("and %d more", len(faults)-most), sheet.Muted)
			break
		}
		where := f.File
		if f.Path != "" {
			where += " " + f.Path
		}
		c.Add("fault", f.Code+"  "+f.Meaning, sheet.Error)
		c.Add("in", where, nil)
		c.Add("then", f.Verdict, sheet.Warn)
	}
	if repair != "" {
		c.Add("repair", repair, sheet.Key)
	}
}

func formatBytes(n int64) string { return string(conversation.AppendSize(nil, n)) }

// Pane is the tab: a sheet to read. Make it with New.
type Pane = sheet.Tab[*Content]

// New makes an empty tab.
func New(styles *theme.Styles) *Pane { return sheet.NewTab[*Content](styles, "Info") }
