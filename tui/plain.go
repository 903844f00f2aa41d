package tui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/tui/theme"
)

// The size of the screen that is drawn for its texts: a row is told whole, and a page is not long.
const (
	plainWidth  = 118
	plainHeight = 30
)

// plainPatience is how long a line waits for work that goes on, other than a write and what leads to it.
const plainPatience = time.Second

// plainHelp lists the words that one types.
const plainHelp = `Type a word and Enter. open, back, quit. move-down, move-up, step-back, step-forward.
read tells the rows of this page with numbers; a number goes to its row, twice opens it.
diff, state, messages, context, files, resume and info read what is known of a snapshot.
search WORDS. restore, fork, undo show their plan first; then yes or no. where tells the row again.
keys lists all words that do something here; the keys of the screen work too. help tells this again.
In a field a line is its text, and esc leaves it. In a menu a number chooses.`

// teller is the face of the model for a person who cannot see the screen: it draws the model's frames for itself,
// writes what is new in them as lines, and takes lines instead of keys. No line moves a cursor.
type teller struct {
	*Model
	lines  []string // typed, and not taken yet
	since  time.Time
	err    error // of writing
	unread error // of reading
	// typed says that a person types the lines, stopped that a write failed and no further line is taken.
	typed, stopped bool
	ended          bool // no more lines come
	// next asks for a line, and asked says that one was asked for.
	next  chan struct{}
	asked bool
	// told has the last lines that were told: of the view, the row of the cursor, the message and the rows.
	told struct {
		view, row, message string
		rows               []string
	}
	// numbered are the places of the rows that were read out, by their numbers from 1.
	numbered []int
}

// lineMsg is a line that was typed, endMsg the end of them, lookMsg asks whether a line can be taken.
type (
	lineMsg string
	endMsg  struct{ err error }
	lookMsg struct{}
)

// plainTheme returns shapes without frames and lanes, and no colours.
func plainTheme() *theme.Styles {
	none, _ := theme.Choose("none,ascii", func(string) string { return "" }) // the words are known
	g := &none.Glyphs
	g.Horizontal, g.Vertical, g.Thumb = " ", " ", " "
	g.TopLeft, g.TopRight, g.BottomLeft, g.BottomRight = " ", " ", " ", " "
	g.Cursor = plainCursor
	return theme.New(none)
}

// plainCursor marks the row of the cursor in a frame: six dots, which hardly a text has, and which no one reads.
const plainCursor = "⸽"

// runPlain tells the screen line by line until the person leaves, the input ends or ctx does.
func (m *Model) runPlain(ctx context.Context) error {
	in := m.o.Input
	if in == nil {
		in = os.Stdin
	}
	m.shares.zoomed = true
	p := &teller{Model: m, typed: isTerminal(in), next: make(chan struct{}, 1)}
	program := tea.NewProgram(p, tea.WithContext(ctx), tea.WithInput(nil), tea.WithOutput(io.Discard),
		tea.WithoutRenderer(), tea.WithoutSignalHandler(), tea.WithoutCatchPanics())
	m.leave = program.Quit
	go func() {
		lines := bufio.NewReader(in)
		for range p.next { // so that none is read while an editor has the terminal
			line, err := lines.ReadString('\n')
			if err == nil || line != "" {
				program.Send(lineMsg(line))
			}
			if err != nil {
				program.Send(endMsg{err})
				return
			}
		}
	}()
	_, err := program.Run()
	switch {
	case m.crash != nil:
		return m.crash
	case m.noStore != nil:
		return m.noStore
	case p.err != nil:
		return fmt.Errorf("tui: write the lines: %w", p.err)
	case p.stopped:
		return fmt.Errorf("tui: the lines behind it were not taken: %w", m.unwritten)
	case p.unread != nil:
		return fmt.Errorf("tui: read the lines: %w", p.unread)
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("tui: run the plain screen: %w", err)
	}
	return nil
}

// Init implements tea.Model.
func (p *teller) Init() tea.Cmd {
	begin := p.Model.Init()
	p.tell(plainHelp)
	_, resized := p.Model.Update(tea.WindowSizeMsg{Width: plainWidth, Height: plainHeight})
	return tea.Batch(begin, resized)
}

// Update implements tea.Model: it takes a line once the work before it has ended, and tells the news.
func (p *teller) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmds []tea.Cmd
	before := p.unwritten
	switch msg := msg.(type) {
	case lineMsg:
		p.lines, p.asked = append(p.lines, string(msg)), false
	case endMsg:
		if !errors.Is(msg.err, io.EOF) {
			p.unread = msg.err
		}
		p.ended = true
	case lookMsg:
	default:
		_, cmd := p.Model.Update(msg)
		cmds = append(cmds, cmd)
	}
	p.tellNews()
	if p.unwritten != nil && p.unwritten != before {
		cmds = append(cmds, p.stopAtFailure())
	}
	if p.err != nil { // what the lines do would not be heard
		p.lines = nil
		return p, tea.Batch(append(cmds, p.quit())...)
	}
	for len(p.lines) > 0 && !p.isBusy() && !p.stopped {
		line := p.lines[0]
		p.lines, p.since = p.lines[1:], time.Time{}
		cmds = append(cmds, p.take(strings.TrimSpace(line)))
		_, cmd := p.Model.Update(nil) // what follows from a key
		cmds = append(cmds, cmd)
		p.tellNews()
	}
	switch {
	case len(p.lines) == 0 && p.ended && !p.isBusy(): // also in a field, where a word would be text
		cmds = append(cmds, p.quit())
	case len(p.lines) == 0 && !p.ended && !p.asked && !p.isBusy():
		p.asked = true
		p.next <- struct{}{}
	case len(p.lines) > 0 || p.ended || !p.asked:
		cmds = append(cmds, tea.Tick(plainPatience/4, func(time.Time) tea.Msg { return lookMsg{} }))
	}
	return p, tea.Batch(cmds...)
}

// stopAtFailure takes no line of a pipe behind a write that failed: they were written for what it would have done. A
// person hears of it, and types on.
func (p *teller) stopAtFailure() tea.Cmd {
	if p.typed {
		return nil
	}
	p.lines, p.stopped = nil, true
	return p.quit()
}

// isTerminal reports whether lines come from a terminal.
func isTerminal(in io.Reader) bool {
	f, is := in.(*os.File)
	return is && term.IsTerminal(f.Fd())
}

// View implements tea.Model.
func (p *teller) View() string { return "" }

// isBusy reports whether a line waits: for a plan and a write always, for other work for a while.
func (p *teller) isBusy() bool {
	for _, kind := range []taskKind{planning, editing, arming, applying} {
		if p.tasks[kind].running {
			return true
		}
	}
	if !slices.ContainsFunc(p.tasks[:], func(t task) bool { return t.running }) {
		return false
	}
	now := p.o.Now()
	if p.since.IsZero() {
		p.since = now
	}
	return now.Sub(p.since) < plainPatience
}

// take does what a line says.
func (p *teller) take(line string) tea.Cmd {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	if p.keyScope() == keymap.Input && line != "esc" {
		return p.enterText(line)
	}
	if n, err := strconv.Atoi(word); err == nil {
		return p.choose(n)
	}
	switch word {
	case "", "where":
		p.told.view = ""
		return nil
	case "read":
		p.readOut()
		return nil
	case "help", "?":
		p.tell(plainHelp)
		return nil
	case "keys":
		p.listWords()
		return nil
	}
	a, ok := p.wordAction(word)
	if !ok {
		p.tell(fmt.Sprintf("%q is no word here; keys lists them", shorten(word)))
		return nil
	}
	tab := p.current
	p.shares.zoomed = p.shares.zoomed && a != keymap.Back // else it would be what one leaves
	cmd := p.do(a)
	p.shares.zoomed = true
	p.resize(plainWidth, plainHeight)
	if p.place == inSession && p.dialog == nil && p.current != tab || a >= keymap.ShowDiff && a <= keymap.ShowInfo {
		p.focusOn(onTab)
		p.told.rows = nil
	}
	if rest != "" && p.keyScope() == keymap.Input {
		return tea.Batch(cmd, p.enterText(rest))
	}
	return cmd
}

// shorten cuts what a message repeats of a line.
func shorten(word string) string { return word[:min(len(word), 40)] }

// wordAction returns the action of a word: the name of an action, the title of a tab, or a key.
func (p *teller) wordAction(word string) (keymap.Action, bool) {
	if a := keymap.FindAction("show-" + word); a != keymap.None && p.place == inSession && p.dialog == nil {
		return a, true
	}
	if a := keymap.FindAction(word); a != keymap.None {
		return a, true
	}
	return p.actionOf(word)
}

// enterText types a text into the field that is open, in place of its own, and accepts it.
func (p *teller) enterText(text string) tea.Cmd {
	if text == "" {
		return p.do(keymap.Accept) // the text that the field began with
	}
	p.takeText(tea.KeyMsg{Type: tea.KeyCtrlU})
	typed := p.takeText(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text), Paste: true})
	return tea.Batch(typed, p.do(keymap.Accept))
}

// choose goes to the row of a number that was read out; in a menu it takes the choice.
func (p *teller) choose(n int) tea.Cmd {
	if p.dialog != nil {
		return p.chooseItem(n)
	}
	if n < 1 || n > len(p.numbered) {
		p.tell(fmt.Sprintf("there is no row %d: read tells the rows with their numbers", n))
		return nil
	}
	return p.clickAt(p.shownBox().x+2, p.numbered[n-1])
}

// chooseItem takes choice n of the dialog that is open, from 1.
func (p *teller) chooseItem(n int) tea.Cmd {
	items := p.dialog.Items()
	switch {
	case len(items) == 0:
		p.tell("there is nothing to choose by a number here")
	case n < 1 || n > len(items):
		p.tell(fmt.Sprintf("there is no choice %d", n))
	case items[n-1].Disabled != "":
		p.tell("off: " + items[n-1].Disabled)
	default:
		p.openDialog(nil)
		p.dirty = true
		return items[n-1].Do()
	}
	return nil
}

// tellChoices tells the choices of the dialog that is open, with their numbers.
func (p *teller) tellChoices() {
	for i, it := range p.dialog.Items() {
		label, text := it.Describe(p.keys, p.dialog.Scope())
		p.tell(fmt.Sprintf("%d. %s", i+1, squeeze(label+"  "+text)))
	}
}

// inTimeline reports whether the timeline is in view, and has the cursor.
func (p *teller) inTimeline() bool {
	return p.dialog == nil && p.place == inSession && p.focus == onTimeline && !p.isSearching()
}

// plainRow is a row of the frame with something in it.
type plainRow struct {
	y      int
	text   string
	cursor bool
}

// frameRows returns the rows between the header and the footer, or those of the dialog.
func (p *teller) frameRows() (rows []plainRow) {
	var lines []string
	first := 0
	if p.dialog != nil {
		_, h := p.dialog.Size()
		for y := range h {
			row := string(p.dialog.AppendRow(nil, y))
			if !p.dialog.HoldsItems(y) || strings.Contains(row, plainCursor) { // the others are told with their numbers
				lines = append(lines, row)
			}
		}
	} else {
		in := p.shownBox()
		lines, first = strings.Split(p.Model.View(), "\n"), in.y
		lines = lines[min(in.y, len(lines)):min(in.y+in.h, len(lines))]
	}
	for i, line := range lines {
		y, text := first+i, ansi.Strip(line)
		cursor := strings.Contains(text, plainCursor)
		text = squeeze(strings.ReplaceAll(text, plainCursor, " "))
		if p.inTimeline() {
			text = speakLanes(text)
		}
		if text != "" {
			rows = append(rows, plainRow{y, text, cursor})
		}
	}
	return rows
}

// shownBox returns the inside of the box that is in view.
func (p *teller) shownBox() rect {
	if p.place == inSession && !p.isSearching() && p.focus == onTab {
		return p.layout.tab.insideBorder()
	}
	return p.bodyBoxes()[0].insideBorder()
}

// lanes are the shapes of the timeline's lanes.
const lanes = `o%@-v>|+\x~ ` + "`"

// speakLanes returns a row of the timeline with words in place of its lanes.
func speakLanes(text string) string {
	rest := strings.TrimLeft(text, lanes+",")
	switch drawn := text[:len(text)-len(rest)]; {
	case strings.Contains(drawn, "@"):
		return rest + ", the head"
	case strings.Contains(drawn, "%"):
		return rest + ", off the path"
	}
	return rest
}

// squeeze returns the text of a row as it is read: a comma stands for a gap.
func squeeze(text string) string {
	var parts []string
	for part := range strings.SplitSeq(text, "  ") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// viewName names what is in view.
func (p *teller) viewName() string {
	switch {
	case p.dialog != nil:
		return fmt.Sprintf("%p", p.dialog)
	case p.isSearching():
		return "Search"
	case p.isComparing():
		return p.compared.pane.Title()
	case p.place == atList:
		return "Sessions"
	case p.place == nowhere:
		return "No store"
	case p.focus == onTab:
		return p.tabs[p.current].pane.Title() + " of " + p.standing()
	}
	return "Timeline of " + p.session
}

// standing tells where in the timeline the cursor is.
func (p *teller) standing() string {
	n := p.timeline.SelectedNode()
	if n == model.NoNode {
		return "no snapshot"
	}
	t := p.timeline.Timeline()
	text := "snapshot " + t.Name(n)
	switch {
	case n == t.Head():
		text += ", the head"
	case t.Header(n).Orphaned:
		text += ", off the path"
	}
	return text
}

// tellNews tells the news since it was called last: where one is, the row of the cursor, the message, and the
// rows of a text or a dialog.
func (p *teller) tellNews() {
	if p.layout.w == 0 || p.crash != nil {
		return
	}
	rows, view := p.frameRows(), p.viewName()
	entered := view != p.told.view
	if entered {
		p.numbered, p.told.rows, p.told.row = nil, nil, ""
		if p.told.view = view; p.dialog == nil {
			p.tell(view)
		}
	}
	at := slices.IndexFunc(rows, func(row plainRow) bool { return row.cursor })
	// In the timeline it is so before a row is read, too.
	walks := p.inTimeline() || at >= 0 && p.dialog == nil && (p.place == atList || p.focus == onTimeline)
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = row.text
	}
	row := ""
	if at >= 0 {
		row = texts[at]
		if p.isComparing() {
			row += ", " + p.compared.pane.Status() // the row has all runs
		}
	}
	if !walks {
		for i, text := range texts {
			if !slices.Contains(p.told.rows, text) && i != at {
				p.tell(text)
			}
		}
		if entered && p.dialog != nil {
			p.tellChoices()
		}
	}
	p.told.rows = texts
	if row != "" && row != p.told.row {
		p.tell(row)
	}
	p.told.row = row
	if text := p.message.text; text != p.told.message {
		p.told.message = text
		p.tell(text)
	}
}

// readOut tells the rows in view with their numbers.
func (p *teller) readOut() {
	p.numbered = nil
	if p.dialog != nil && len(p.dialog.Items()) > 0 {
		p.tellChoices()
		return
	}
	for _, row := range p.frameRows() {
		p.numbered = append(p.numbered, row.y)
		p.tell(fmt.Sprintf("%d. %s", len(p.numbered), row.text))
	}
}

// listWords tells the actions that mean something here, and why some are off.
func (p *teller) listWords() {
	for _, section := range p.keys.Help(p.keyScope()) {
		for _, line := range section.Lines {
			for _, a := range line.Actions {
				text := a.String() + ": " + a.Help()
				if why := a.WhyDisabled(p.keyContext()); why != "" {
					text += ", off: " + why
				}
				p.tell(text)
			}
		}
	}
}

// tell writes lines. The texts of a store in them were escaped when they were drawn; a message is escaped here.
func (p *teller) tell(text string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || p.err != nil {
			continue
		}
		_, p.err = fmt.Fprintln(p.o.Output, printable.String(line))
	}
}
