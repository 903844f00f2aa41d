package tui

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/dialog"
)

// mostOfName bounds the name of a file that is proposed, in characters.
const mostOfName = 60

// excerpt is the part of a session that is shared.
type excerpt struct {
	// only names the snapshots as the command line does: A..B from A to B, B all that led
	// to it, "" all of the session.
	only string
	// text describes the part in words; file is its addition to a file name.
	text, file string
}

// askWhatToShare offers the parts to share: the session, or a part between the cursor and the mark.
func (m *Model) askWhatToShare() {
	t := m.timeline.Timeline()
	at, mark := m.timeline.SelectedNode(), m.timeline.MarkedNode()
	item := func(a keymap.Action, p excerpt, off string) dialog.Item {
		return dialog.Item{Action: a, Text: p.text, Disabled: off, Do: func() tea.Cmd {
			m.askShare(p)
			return nil
		}}
	}
	branch, off := branchAt(t, at)
	marked, unmarked := partBetween(t, mark, at)
	m.openDialog(dialog.NewMenu(m.styles, m.keys, keymap.ShareMenu, "Share "+m.session+" without secrets", "choose", []dialog.Item{
		item(keymap.ShareSession, excerpt{text: "all " + model.Count(t.Snapshots(), "snapshot")}, ""),
		item(keymap.SharePath, rangeOf(t, model.NoNode, at), ""),
		item(keymap.ShareBranch, branch, off),
		item(keymap.ShareRange, marked, unmarked),
	}))
}

// rangeOf returns the part from one visit to another that it led to, or with no first one all
// that led to the last.
func rangeOf(t *model.Timeline, from, to model.Node) excerpt {
	count := 0
	for n := to; n != model.NoNode; n = t.Parent(n) {
		if !t.IsStep(n) {
			count++
		}
		if n == from {
			break
		}
	}
	last := t.Name(to)
	file := "to-" + last[1:]
	if from == model.NoNode {
		return excerpt{last, fmt.Sprintf("to %s, %s", last, model.Count(count, "snapshot")), file}
	}
	first := t.Name(from)
	return excerpt{first + ".." + last, fmt.Sprintf("%s to %s, %s", first, last, model.Count(count, "snapshot")), first[1:] + "-" + file}
}

// branchAt returns the branch that a visit is on: from the snapshot at which it left another
// line to its end. off says why that is no branch.
func branchAt(t *model.Timeline, n model.Node) (p excerpt, off string) {
	if t.OnPath(n) {
		return excerpt{}, t.Name(n) + " is on the way to the head"
	}
	tip, root := tipOf(t, n), n
	for up := t.Parent(root); up != model.NoNode && !t.OnPath(up) && t.Next(up) == root; up = t.Parent(root) {
		root = up
	}
	if fork := t.Parent(root); fork != model.NoNode {
		root = fork
	}
	return rangeOf(t, root, tip), ""
}

// partBetween returns the part between two visits of one line, in either order. off is the reason why there is no
// such part.
func partBetween(t *model.Timeline, mark, at model.Node) (p excerpt, off string) {
	switch {
	case mark == model.NoNode:
		return excerpt{}, "no snapshot is marked"
	case leadsTo(t, mark, at):
		return rangeOf(t, mark, at), ""
	case leadsTo(t, at, mark):
		return rangeOf(t, at, mark), ""
	}
	return excerpt{}, "the marked " + t.Name(mark) + " is on another line"
}

// leadsTo reports whether a visit is another one, or led to it.
func leadsTo(t *model.Timeline, from, to model.Node) bool {
	for to != model.NoNode && to != from {
		to = t.Parent(to)
	}
	return to == from
}

// askShare asks for the file that a part of the session is shared in.
func (m *Model) askShare(p excerpt) {
	heading, name := "Share "+m.session+" without secrets", fileName(m.session)
	if p.only != "" {
		heading, name = "Share "+p.text+", without secrets", name+"-"+fileName(p.file)
	}
	var prompt *dialog.Prompt
	prompt = dialog.NewPrompt(m.styles, m.keys, heading, "new file", name+".html", shareMeanings, func(text string) tea.Cmd {
		path := m.expandHome(text)
		switch filepath.Ext(path) {
		case ".html", ".htm", ".jsonl":
			return m.writeShare(prompt, p.only, path)
		}
		prompt.Refuse("end its name in .html or .jsonl")
		return nil
	}, func() tea.Cmd {
		m.stop(sharing)
		return nil
	})
	m.openDialog(prompt)
}

// expandHome returns the path that a person typed.
func (m *Model) expandHome(text string) string {
	path := strings.TrimSpace(text)
	if rest, below := strings.CutPrefix(path, "~/"); below {
		path = filepath.Join(m.o.Getenv("HOME"), rest)
	}
	return path
}

// fileName returns a name for a file that is about a session: of the session's name the
// characters that mean nothing to a file system or a shell.
func fileName(session string) string {
	plain := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, session)
	plain = strings.Trim(plain, "-.")
	if plain == "" {
		return "session"
	}
	return plain[:min(len(plain), mostOfName)]
}

// writeShare writes what only names of the session to a new file.
func (m *Model) writeShare(prompt *dialog.Prompt, only, path string) tea.Cmd {
	write, s, session := m.o.Share, m.o.Store, m.session
	return m.start(sharing, "sharing "+session, func(ctx context.Context, _ *progress) fact {
		places, hidden := 0, ""
		path, err := filepath.Abs(path)
		if err == nil {
			places, hidden, err = write(ctx, s, session, only, path)
		}
		return func() tea.Cmd {
			m.tellShare(prompt, path, places, hidden, err)
			return nil
		}
	})
}

// tellShare says in which file the session is now, and at how many places a secret was hidden; list has the secrets.
func (m *Model) tellShare(prompt *dialog.Prompt, path string, places int, list string, err error) {
	m.dirty = true
	switch asking := m.dialog == prompt; {
	case errors.Is(err, fs.ErrExist) && asking:
		prompt.Refuse("it is there already; take another")
		return
	case err != nil && asking:
		prompt.Refuse(err.Error())
		return
	case err != nil:
		m.fail(err)
		return
	case asking:
		m.openDialog(nil)
	}
	hidden := "no secret was found"
	if places > 0 {
		hidden = "secrets hidden at " + model.Count(places, "place")
	}
	m.confirm(fmt.Sprintf("shared in %s: %s", path, hidden))
	m.message.brief = []string{m.styles.Glyphs.Good + " shared in " + filepath.Base(path)}
	m.message.about, m.message.whole, m.message.link = "What was shared", path+"\n\n"+list, path
}
