// Package results is the pane of a search: the sessions whose titles match, and below them the sessions in which
// something was said, each with its hits.
//
// Hits come in while the search goes on. What the pane keeps of them is bounded: see [MostOfSession] and [Most].
package results

import (
	"slices"
	"strconv"
	"strings"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/query"
	"hindcast/store/home"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
)

// The pane keeps MostOfSession hits of a session where others are searched too, and the search ends after Most.
const (
	MostOfSession = 20
	Most          = 1000
)

// Session is a session with the facts about it that its row shows. The texts are untrusted.
type Session struct {
	home.Session
	When, Tool, Project, Words string
}

// Name tells a session from all others.
type Name struct {
	Store *home.Store
	ID    string
}

// Name returns the name of the session.
func (s *Session) Name() Name { return Name{s.Store, s.ID} }

// Hit is a text in which the search found something. Its texts are untrusted.
type Hit struct {
	// Ref is the snapshot that has the text first; Left says that no snapshot on the path has it.
	Ref  model.Ref
	Left bool
	// Unread is the hit of a session that was not read, where Ref is zero and Left not known; else nil. It is not written.
	Unread *query.SessionHit
	// Message is the message that the text is in, or -1, and Path its place in the state.
	Message              int
	Role, Tool, Path     string
	Before, Match, After string
	// File says that the hit is a change of a file.
	File bool
	// Find is the text for which a tab is searched.
	Find string
	// settled says that Unread was located, as far as it can be.
	settled bool
}

// Progress is how far a search is.
type Progress struct {
	// Done of All sessions were searched. Unread could not be.
	Done, All, Unread int
	// Ended says that no more hits come; Cut, that there may be more than were looked for.
	Ended, Cut bool
}

// Pane lists what a search found. Make it with New. It is not safe for concurrent use.
type Pane struct {
	styles *theme.Styles
	w      int
	window cell.Window

	titles []Session
	whole  bool     // all titles show
	words  []string // in lower case, marked in titles
	groups []group
	hits   int
	said   bool // there is a text to look for
	// here names the pane of a session in which the text can be found too, or "".
	here  string
	state Progress
	// base is how far the searches before SearchOn were, and met counts the hits of each session since.
	base    Progress
	met     map[Name]int
	trouble string
	lines   []line
	widths  [3]int // of the columns before the words
}

// group is a session with its hits; more counts the others.
type group struct {
	Session
	hits []Hit
	more int
}

// line is one row: a hit of group at, or its session. Other kinds count in at.
type line struct {
	kind    kind
	at, hit int
}

type kind uint8

const (
	heading kind = iota // at counts in headings
	findHere
	title
	moreTitles
	session
	found
	moreHits
)

// The headings. A note stands where nothing was found.
const (
	headTitles = iota
	headSaid
	note
)

// New returns an empty pane.
func New(styles *theme.Styles) *Pane { return &Pane{styles: styles} }

// BeginSearch shows another search, which has found nothing yet. The titles are marked with words. said is false where no text
// is looked for. The first line offers to find the text in the pane that here names, if that is not "".
func (p *Pane) BeginSearch(words []string, said bool, here string) {
	*p = Pane{styles: p.styles, w: p.w, window: cell.Window{Height: p.window.Height}, words: words, said: said, here: here, met: map[Name]int{}}
	p.layLines()
}

// SetTitles says which sessions have titles that match.
func (p *Pane) SetTitles(titles []Session) {
	p.titles = titles
	for i := range titles {
		p.fitColumns(&titles[i])
	}
	p.layLines()
}

// SearchOn adds another search to one that has ended: of new sessions, and of changed ones. The search finds all hits of a
// changed session again, and AddHit replaces the earlier ones.
func (p *Pane) SearchOn() { p.base, p.met = p.state, map[Name]int{} }

// AddHit adds a hit of a session, behind its others. nil stands for a hit that is counted alone.
func (p *Pane) AddHit(s *Session, h *Hit) {
	i := len(p.groups) - 1
	if i < 0 || p.groups[i].Name() != s.Name() {
		if i = slices.IndexFunc(p.groups, func(g group) bool { return g.Name() == s.Name() }); i < 0 {
			i = len(p.groups)
			p.groups = append(p.groups, group{Session: *s})
			p.fitColumns(s)
		}
	}
	g, n := &p.groups[i], p.met[s.Name()]
	switch p.met[s.Name()]++; {
	case n < len(g.hits)+g.more:
		if g.Session = *s; n < len(g.hits) && h != nil {
			g.hits[n] = *h
		}
		return
	case h != nil:
		g.hits = append(g.hits, *h)
	default:
		g.more++
	}
	p.hits++
}

// UnsettledHits returns at most n unread hits in view, in sessions that have snapshots off the path. SettleHits takes their
// answers.
func (p *Pane) UnsettledHits(n int) (hits []*query.SessionHit) {
	for _, l := range p.lines[p.window.Top:min(p.window.Top+p.window.Height, len(p.lines))] {
		if l.kind != found || p.groups[l.at].Orphaned <= 0 || len(hits) == n {
			continue
		}
		if h := &p.groups[l.at].hits[l.hit]; h.Unread != nil && !h.settled {
			hits = append(hits, h.Unread)
		}
	}
	return hits
}

// SettleHits takes located hits of UnsettledHits, by the pointers that it returned. A hit whose Ref is zero stays unread.
func (p *Pane) SettleHits(located map[*query.SessionHit]query.SessionHit) {
	for i := range p.groups {
		for k := range p.groups[i].hits {
			h := &p.groups[i].hits[k]
			of, ok := located[h.Unread]
			if !ok {
				continue
			}
			if h.settled = true; of.Ref != (model.Ref{}) {
				h.Ref, h.Message, h.Left, h.Unread = of.Ref, of.Message, of.IsLeft(), nil
			}
		}
	}
}

// CountHits returns how many hits the pane has been given, each once.
func (p *Pane) CountHits() int { return p.hits }

// mostWidths are the most cells of the columns before the words: when, the tool and the project.
var mostWidths = [3]int{7, 10, 20}

// fitColumns widens the columns for a session.
func (p *Pane) fitColumns(s *Session) {
	for i, text := range []string{s.When, s.Tool, s.Project} {
		p.widths[i] = min(max(p.widths[i], cell.Width(text)), mostWidths[i])
	}
}

// ShowProgress says how far the search is, once hits were added.
func (p *Pane) ShowProgress(at Progress) {
	at.Done, at.All, at.Unread = at.Done+p.base.Done, at.All+p.base.All, at.Unread+p.base.Unread
	p.state = at
	p.layLines()
}

// ShowTrouble says in the place of hits why nothing can be searched.
func (p *Pane) ShowTrouble(trouble string) {
	p.trouble, p.state.Ended = trouble, true
	p.layLines()
}

// leastTitles is how many titles show above hits at the least.
const leastTitles = 3

// layLines lays out the lines. The cursor stays on its line, or at the top.
func (p *Pane) layLines() {
	var on line
	top := p.window.Cursor <= p.firstRow()
	if p.window.Cursor < len(p.lines) {
		on = p.lines[p.window.Cursor]
	}
	p.lines = p.lines[:0]
	if p.here != "" {
		p.lines = append(p.lines, line{findHere, 0, -1})
	}
	if n := len(p.titles); n > 0 {
		p.lines = append(p.lines, line{heading, headTitles, 0})
		shown := n
		if most := max(leastTitles, p.window.Height/3); p.said && !p.whole && n > most+1 {
			shown = most
		}
		for i := range shown {
			p.lines = append(p.lines, line{title, i, -1})
		}
		if shown < n {
			p.lines = append(p.lines, line{moreTitles, n - shown, -1})
		}
	}
	if p.said && len(p.lines)+p.hits > 0 {
		p.lines = append(p.lines, line{heading, headSaid, 0})
	}
	for i := range p.groups {
		p.lines = append(p.lines, line{session, i, -1})
		for k := range p.groups[i].hits {
			p.lines = append(p.lines, line{found, i, k})
		}
		if p.groups[i].more > 0 {
			p.lines = append(p.lines, line{moreHits, i, 0})
		}
	}
	if p.said && p.hits == 0 {
		p.lines = append(p.lines, line{heading, note, 0})
	}
	p.window.SetLen(len(p.lines))
	p.window.MoveTo(0)
	for i, l := range p.lines {
		if l == on && !top {
			p.window.MoveTo(i)
		}
	}
	p.leaveHeading(1)
}

func (p *Pane) firstRow() int {
	for i, l := range p.lines {
		if l.isSelectable() {
			return i
		}
	}
	return 0
}

// isSelectable reports whether the cursor can be on a line.
func (l line) isSelectable() bool { return l.kind != heading }

// leaveHeading moves the cursor off a line that cannot be selected: on by step, or else back.
func (p *Pane) leaveHeading(step int) {
	for _, by := range []int{step, -step} {
		for at := p.window.Cursor; at >= 0 && at < len(p.lines); at += by {
			if p.lines[at].isSelectable() {
				if by == 1 && at == p.firstRow() {
					p.window.MoveTo(0) // with the headings above it
				}
				p.window.MoveTo(at)
				return
			}
		}
	}
}

// SelectedRow returns the session under the cursor, and the hit if it is on one; nil and nil where nothing is.
func (p *Pane) SelectedRow() (*Session, *Hit) {
	if p.window.Cursor >= len(p.lines) {
		return nil, nil
	}
	switch l := p.lines[p.window.Cursor]; l.kind {
	case title:
		return &p.titles[l.at], nil
	case session, moreHits:
		return &p.groups[l.at].Session, nil
	case found:
		return &p.groups[l.at].Session, &p.groups[l.at].hits[l.hit]
	}
	return nil, nil
}

// IsHere reports whether the cursor is on the line that offers to find the text in the pane.
func (p *Pane) IsHere() bool {
	return p.window.Cursor < len(p.lines) && p.lines[p.window.Cursor].kind == findHere
}

// IsCut reports whether the cursor is on the line that counts the hits of a session that do not show.
func (p *Pane) IsCut() bool {
	return p.window.Cursor < len(p.lines) && p.lines[p.window.Cursor].kind == moreHits
}

// UnfoldTitles shows all titles if the cursor is on the line that counts the others. It reports whether it was.
func (p *Pane) UnfoldTitles() bool {
	at := p.window.Cursor
	if at >= len(p.lines) || p.lines[at].kind != moreTitles {
		return false
	}
	p.whole = true
	p.layLines()
	p.window.MoveTo(at)
	return true
}

// Resize says how many cells the pane has.
func (p *Pane) Resize(w, h int) {
	p.w = max(w, 0)
	p.window.Resize(h)
	p.layLines()
}

// Do carries out an action; it reports whether it knew it.
func (p *Pane) Do(a keymap.Action) bool {
	before := p.window.Cursor
	if !p.window.Do(a) {
		return false
	}
	step := 1
	if p.window.Cursor < before {
		step = -1
	}
	p.leaveHeading(step)
	return true
}

// Click selects what is on row y; it reports whether there is something.
func (p *Pane) Click(_, y int) bool {
	at := p.window.Top + y
	if y < 0 || at >= len(p.lines) || !p.lines[at].isSelectable() {
		return false
	}
	p.window.MoveTo(at)
	return true
}

// Wheel scrolls by n rows.
func (p *Pane) Wheel(n int) {
	p.window.Scroll(n)
	p.leaveHeading(1)
}

// CursorLine returns the line of the cursor.
func (p *Pane) CursorLine() int { return p.window.Cursor }

// Thumb returns the rows that the thumb of a scrollbar covers.
func (p *Pane) Thumb() (from, to int) { return p.window.Thumb() }

// Status counts the hits, and says how far the search is.
func (p *Pane) Status() string {
	if !p.said || p.trouble != "" {
		return model.Count(len(p.titles), "session")
	}
	s := &p.state
	text := model.Count(p.hits, "hit")
	if s.Cut {
		text = "the first " + text
	}
	if n := len(p.groups); n > 0 {
		text += " in " + model.Count(n, "session")
	}
	dot := " " + p.styles.Glyphs.Dot + " "
	switch {
	case !s.Ended && s.All == 0:
		text = "searching"
	case !s.Ended:
		text += dot + "searching " + model.Thousands(int64(s.Done)) + " of " + countSessions(s.All)
	default:
		text += dot + countSessions(s.Done) + " searched"
	}
	if s.Unread > 0 {
		text += dot + strconv.Itoa(s.Unread) + " unread"
	}
	return text
}

func countSessions(n int) string {
	if n == 1 {
		return "1 session"
	}
	return model.Thousands(int64(n)) + " sessions"
}

// CutExcerpt returns a text around the bytes from from up to to, each part in one line and of a bounded length.
func CutExcerpt(text string, from, to int) (before, match, after string) {
	const mostBefore, mostMatch, mostAfter = 160, 240, 480
	before, match, after = text[:from], text[from:to], text[to:]
	if len(before) > mostBefore {
		before = strings.ToValidUTF8(before[len(before)-mostBefore:], "")
		before = "…" + before
	}
	return oneLine(before), oneLine(cutText(match, mostMatch)), oneLine(cutText(after, mostAfter))
}

// cutText returns at most n bytes of a text.
func cutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}

// oneLine puts a single space where there is white space, at the ends too.
func oneLine(text string) string {
	var b strings.Builder
	space := false
	for _, r := range text {
		if r == ' ' || r == '\n' || r == '\t' || r == '\r' {
			space = true
			continue
		}
		if space {
			b.WriteByte(' ')
		}
		space = false
		b.WriteRune(r)
	}
	if space {
		b.WriteByte(' ')
	}
	return b.String()
}
