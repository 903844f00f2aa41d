// Package keymap defines the key bindings: every action of the screen, the keys
// that are bound to it in each scope, its help text, and why it is disabled just
// now. The user may bind any key anew; the key table of the README is generated
// from here.
package keymap

import (
	"fmt"
	"slices"
	"strings"
)

// Scope is a part of the screen in which keys have a meaning. A scope has all
// keys of its outer scope too, and may not bind them to something else.
type Scope uint8

// The scopes. Input is a text field: it has no outer scope, for letters are
// text there.
const (
	Global Scope = iota
	Browse
	Picker
	Runs
	Session
	Timeline
	Tab
	Diff
	State
	Messages
	ContextTab
	Files
	Resume
	Info
	Overlay
	Manual
	Written
	Menu
	EditMenu
	PurgeMenu
	ShareMenu
	ContinueMenu
	Broken
	Confirm
	Input
	scopes
)

// noScope is the outer scope of the outermost.
const noScope = scopes

// scopeTable gives each scope its name in the user's file, its outer scope, and
// where it is in words.
var scopeTable = [scopes]struct {
	name  string
	outer Scope
	where string
}{
	Global:       {"global", noScope, "everywhere"},
	Browse:       {"browse", Global, "everywhere but in a text field"},
	Picker:       {"picker", Browse, "sessions"},
	Runs:         {"runs", Browse, "compared runs"},
	Session:      {"session", Browse, "in a session"},
	Timeline:     {"timeline", Session, "timeline"},
	Tab:          {"tab", Session, "tabs"},
	Diff:         {"diff", Tab, "Diff tab"},
	State:        {"state", Tab, "State tab"},
	Messages:     {"messages", Tab, "Messages tab"},
	ContextTab:   {"context", Tab, "Context tab"},
	Files:        {"files", Tab, "Files tab"},
	Resume:       {"resume", Tab, "Resume tab"},
	Info:         {"info", Tab, "Info tab"},
	Overlay:      {"overlay", Browse, "help, journal, errors"},
	Manual:       {"help", Overlay, "help"},
	Written:      {"journal", Overlay, "journal"},
	Menu:         {"menu", Browse, "yank menu"},
	EditMenu:     {"edit-menu", Browse, "edit menu"},
	PurgeMenu:    {"purge-menu", Browse, "purge menu"},
	ShareMenu:    {"share-menu", Browse, "share menu"},
	ContinueMenu: {"continue-menu", Browse, "continue menu"},
	Broken:       {"broken-edit", Browse, "an edit that cannot be used"},
	Confirm:      {"confirm", Browse, "a plan to confirm"},
	Input:        {"input", noScope, "text fields"},
}

// String returns the scope's name as the user's file has it.
func (s Scope) String() string { return scopeTable[s].name }

// Where says in words where the scope is.
func (s Scope) Where() string { return scopeTable[s].where }

// line returns the scope and its outer ones, the innermost first.
func (s Scope) line() []Scope {
	var out []Scope
	for ; s != noScope; s = scopeTable[s].outer {
		out = append(out, s)
	}
	return out
}

// Map holds the meaning of keys. It is read-only once made, and so safe for concurrent
// use.
type Map struct {
	keys    [scopes]map[Action][]string
	actions [scopes]map[string]Action // with the outer scopes' keys
}

// Default returns the bindings that Hindcast comes with.
func Default() *Map {
	m := &Map{}
	for _, b := range bindings {
		m.bind(b.scope, b.action, b.keys)
	}
	if err := m.index(); err != nil {
		panic(err) // the table below is wrong; TestDefault_isValid holds it
	}
	return m
}

func (m *Map) bind(s Scope, a Action, keys []string) {
	if m.keys[s] == nil {
		m.keys[s] = map[Action][]string{}
	}
	m.keys[s][a] = keys
}

// shadows are the actions of a tab that take the key of another action while the tab has the keys.
var shadows = map[Action]Action{ShowRaw: Repair, OpenPicture: Across}

// index builds the look-up of keys, and with it checks that no key means two
// things in one scope, shadows apart.
func (m *Map) index() error {
	for s := range scopes {
		m.actions[s] = map[string]Action{}
		for _, from := range s.line() {
			for a := range actions {
				for _, k := range m.keys[from][a] {
					if before, taken := m.actions[s][k]; taken && shadows[before] == a {
						continue
					} else if taken {
						return &conflictError{s, k, before, a}
					}
					m.actions[s][k] = a
				}
			}
		}
	}
	return nil
}

// conflictError says that a key is bound twice.
type conflictError struct {
	scope         Scope
	key           string
	first, second Action
}

func (e *conflictError) Error() string {
	return fmt.Sprintf("keymap: %q is bound twice in scope %s: to %s and to %s", e.key, e.scope, e.first, e.second)
}

// Action returns the action that a key has in a scope. Keys are named as Bubble
// Tea names them: "j", "ctrl+d", "pgdown", " ".
func (m *Map) Action(s Scope, key string) (Action, bool) {
	a, ok := m.actions[s][key]
	return a, ok
}

// Keys returns the keys that lead to an action from a scope, those of the
// innermost scope that binds it; none if it is not bound there.
func (m *Map) Keys(s Scope, a Action) []string {
	for _, from := range s.line() {
		if keys, ok := m.keys[from][a]; ok {
			return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return m.actions[s][k] != a })
		}
	}
	return nil
}

// Label returns keys as people read them, joined by spaces: "^d pgdown". It returns
// "" if there are no keys.
func Label(keys []string) string {
	labels := make([]string, len(keys))
	for i, k := range keys {
		labels[i] = k
		if k == " " {
			labels[i] = "space"
		} else if c, ok := strings.CutPrefix(k, "ctrl+"); ok {
			labels[i] = "^" + c
		}
	}
	return strings.Join(labels, " ")
}

// Section is one group of a help screen.
type Section struct {
	Group string
	Lines []Line
}

// Line is one line of a help screen: an action, or several that belong together.
type Line struct {
	// Actions are the actions that the line describes; there is at least one.
	Actions []Action
	// Keys are the keys as people read them: the first one of each action, and then
	// the others.
	Keys string
	Help string
}

// together are the actions that share a line of the help.
var together = []struct {
	actions []Action
	help    string
}{
	{[]Action{MoveDown, MoveUp}, "a row down, up"},
	{[]Action{HalfDown, HalfUp}, "half a page"},
	{[]Action{PageDown, PageUp}, "a page"},
	{[]Action{Top, Bottom}, "first, last row"},
	{[]Action{StepBack, StepForward}, "a step in time"},
	{[]Action{Child, Parent}, "to child, parent"},
	{[]Action{PrevBranch, NextBranch}, "branches"},
	{[]Action{PrevPrompt, NextPrompt}, "prompts"},
	{[]Action{Faster, Slower}, "speed of playing"},
	{[]Action{NextTab, PrevTab}, "next tab"},
	{[]Action{ShowDiff, ShowState, ShowMessages, ShowContext, ShowFiles, ShowResume, ShowInfo}, "the tabs"},
	{[]Action{Fold, Unfold}, "fold, unfold"},
	{[]Action{FoldAll, UnfoldAll}, "all folds"},
	{[]Action{SplitLess, SplitMore}, "move the border"},
	{[]Action{PrevChange, NextChange}, "changes"},
	{[]Action{PrevRun, NextRun}, "runs"},
	{[]Action{PrevMessage, NextMessage}, "messages"},
	{[]Action{MoreContext, LessContext}, "context"},
	{[]Action{SearchNext, SearchPrev}, "matches"},
	{[]Action{PrevSet, NextSet}, "changes of value"},
}

// line returns the line of the help that an action begins, false where the action has
// no key, or stands on the line of another one.
func (m *Map) line(s Scope, a Action) (Line, bool) {
	if len(m.Keys(s, a)) == 0 {
		return Line{}, false
	}
	for _, t := range together {
		i := slices.Index(t.actions, a)
		if i < 0 || slices.ContainsFunc(t.actions, func(b Action) bool { return len(m.Keys(s, b)) == 0 }) {
			continue
		}
		if i > 0 {
			return Line{}, false
		}
		var first, others []string
		for _, b := range t.actions {
			keys := m.Keys(s, b)
			first, others = append(first, keys[0]), append(others, keys[1:]...)
		}
		if inRow(first) {
			first = []string{first[0] + "-" + first[len(first)-1]}
		}
		return Line{t.actions, Label(append(first, others...)), t.help}, true
	}
	return Line{[]Action{a}, Label(m.Keys(s, a)), a.Help()}, true
}

// inRow reports whether more than two keys are characters that follow each other, such as digits.
func inRow(keys []string) bool {
	for i, key := range keys {
		if len(key) != 1 || key[0] != keys[0][0]+byte(i) {
			return false
		}
	}
	return len(keys) > 2
}

// Help returns everything that keys do in a scope, by group, in the order of the
// actions. Actions without a key are left out.
func (m *Map) Help(s Scope) []Section {
	var out []Section
	for g := range groups {
		section := Section{Group: g.String()}
		for a := range actions {
			if a.group() != g {
				continue
			}
			if line, ok := m.line(s, a); ok {
				section.Lines = append(section.Lines, line)
			}
		}
		if len(section.Lines) > 0 {
			out = append(out, section)
		}
	}
	return out
}

// Markdown returns the table of all keys for the README beside it.
func (m *Map) Markdown() string {
	var b strings.Builder
	b.WriteString("| Key | Action | Where |\n|---|---|---|\n")
	for g := range groups {
		for a := range actions {
			if a.group() != g {
				continue
			}
			for _, row := range m.places(a) {
				fmt.Fprintf(&b, "| %s | %s | %s |\n", markdownKeys(row.keys), a.Help(), strings.Join(row.where, ", "))
			}
		}
	}
	return b.String()
}

// place is where an action has certain keys.
type place struct {
	keys  []string
	where []string
}

// places gathers the scopes that bind an action to the same keys.
func (m *Map) places(a Action) []place {
	var out []place
	for s := range scopes {
		keys := m.keys[s][a]
		if len(keys) == 0 {
			continue
		}
		i := slices.IndexFunc(out, func(p place) bool { return slices.Equal(p.keys, keys) })
		if i < 0 {
			out, i = append(out, place{keys: keys}), len(out)
		}
		out[i].where = append(out[i].where, s.Where())
	}
	return out
}

// markdownKeys writes keys as code; a vertical bar would end the table's cell.
func markdownKeys(keys []string) string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = "`" + strings.ReplaceAll(Label([]string{k}), "|", `\|`) + "`"
	}
	return strings.Join(out, " ")
}
