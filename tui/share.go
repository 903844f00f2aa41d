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

	"hindcast/model"
	"hindcast/tui/dialog"
)

// mostOfName bounds the name of a file that is proposed, in characters.
const mostOfName = 60

// askShare asks for the file that the session is shared in.
func (m *Model) askShare() {
	var prompt *dialog.Prompt
	prompt = dialog.NewPrompt(m.styles, m.keys, "Share "+m.session+" without secrets", "new file", fileName(m.session)+".html", func(text string) tea.Cmd {
		path := strings.TrimSpace(text)
		if rest, below := strings.CutPrefix(path, "~/"); below {
			path = filepath.Join(m.o.Getenv("HOME"), rest)
		}
		switch filepath.Ext(path) {
		case ".html", ".htm", ".jsonl":
			return m.share(prompt, path)
		}
		prompt.Refuse("end its name in .html or .jsonl")
		return nil
	}, func() tea.Cmd {
		m.stop(sharing)
		return nil
	})
	m.open(prompt)
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

// share writes the session to a new file.
func (m *Model) share(prompt *dialog.Prompt, path string) tea.Cmd {
	write, s, session := m.o.Share, m.o.Store, m.session
	return m.start(sharing, "sharing "+session, func(ctx context.Context, gen uint64, _ *progress) tea.Msg {
		msg := sharedMsg{gen: gen, prompt: prompt}
		if msg.path, msg.err = filepath.Abs(path); msg.err == nil {
			msg.places, msg.hidden, msg.err = write(ctx, s, session, msg.path)
		}
		return msg
	})
}

// shared says where the session is now, and at how many places a secret was hidden.
func (m *Model) shared(msg sharedMsg) tea.Cmd {
	if !m.finish(sharing, msg.gen) {
		return nil
	}
	m.dirty = true
	switch asking := m.dialog == msg.prompt; {
	case errors.Is(msg.err, fs.ErrExist) && asking:
		msg.prompt.Refuse("it is there already; take another")
		return nil
	case msg.err != nil && asking:
		msg.prompt.Refuse(msg.err.Error())
		return nil
	case msg.err != nil:
		m.fail(msg.err)
		return nil
	case asking:
		m.open(nil)
	}
	hidden := "no secret was found"
	if msg.places > 0 {
		hidden = "secrets hidden at " + model.Count(msg.places, "place")
	}
	m.confirmed(fmt.Sprintf("shared in %s: %s", msg.path, hidden))
	m.message.brief = m.styles.Glyphs.Good + " shared in " + filepath.Base(msg.path)
	m.message.about, m.message.whole = "What was shared", msg.path+"\n\n"+msg.hidden
	return nil
}
