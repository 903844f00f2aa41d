package messages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

// Repair.
//
// A session is mended in memory first: agent.json, the message files and
// session.json as they would be, over those that lie there. That is inspected with
// the very eyes that find the faults: only where nothing fatal is left there is a plan.
//
// session.json and agent.json are made anew, the latter with the parts that are whole.
// Results go behind their calls. Any other damage sets its message aside. The order of
// the messages stays, and so do their numbers: gaps do no harm. Everything that was
// there before is kept by the journal.

// fatal is how bad a fault is that a repair mends: it keeps the SDK from starting, makes
// it write over a message or fail at writing the next one, leaves a question without
// an answer, or has most models refuse the messages.
const fatal = model.Loses

func isFatal(f model.Fault) bool { return f.Severity >= fatal }

// mostRounds bounds how often what was mended is looked at again: agent.json decides which
// messages are loaded, and a message that goes can move its window.
const mostRounds = 4

// repair plans a repair. The errors are a model.NothingToError, and a
// model.UnsupportedError that names what cannot be repaired, and why.
func (m *mover) repair(ctx context.Context) error {
	l := m.now
	r := &mender{in: m.in, place: l.place, now: l.messageLog, files: slices.Clone(l.files), made: make(map[string][]byte)}
	r.session(&l.folders)
	if l.place.agent != "" {
		if err := r.begin(); err != nil {
			return err
		}
		if err := r.mend(ctx); err != nil {
			return err
		}
	}
	if err := r.err(); err != nil {
		return err
	}
	m.Steps, m.Was, m.Writes, m.Hazards, m.Asks = r.steps(), namesOf(l.files), r.words, r.hazards, r.asks
	if l.there {
		m.Closed = []string{l.path("messages")}
	}
	then := r.log()
	if n := len(then.files); n > 0 {
		last, err := then.message(ctx, n-1)
		if err != nil {
			return err
		}
		m.Target = model.Point{ID: idText(last.id), Index: n - 1}
	}
	return nil
}

// mender mends one session.
type mender struct {
	in    engine.In
	place place
	now   *messageLog // as it lies there, nil of an orchestrator
	// agent is the new agent.json, nil if there will be no file; wrote says that it
	// differs from the old one.
	agent []byte
	wrote bool
	// sessionFile is session.json as it will be, nil where it stays.
	sessionFile []byte
	// files are the files of the repaired log. made maps new files to their contents, and
	// aside are the removed files.
	files []messageFile
	made  map[string][]byte
	aside []string
	// folder says that the folder of messages is made.
	folder bool

	words, asks, hazards []string
	// stays are the faults that cannot be mended, each with its reason.
	stays []string
}

// err returns why there is no plan, nil where there is one.
func (m *mender) err() error {
	if len(m.stays) > 0 {
		return &model.UnsupportedError{Op: model.OpRepair, Reason: strings.Join(m.stays, "; ")}
	}
	if len(m.words) == 0 {
		return &model.NothingToError{Op: model.OpRepair}
	}
	return nil
}

// did records a repair in words.
func (m *mender) did(file, format string, args ...any) {
	m.words = append(m.words, m.place.shown(file)+": "+fmt.Sprintf(format, args...))
}

// ask says that something goes that the agent knew.
func (m *mender) ask(format string, args ...any) {
	m.asks = append(m.asks, fmt.Sprintf(format, args...))
}

// cannot records a fault that stays, and the reason.
func (m *mender) cannot(file, format string, args ...any) {
	text := m.place.shown(file) + ": " + fmt.Sprintf(format, args...)
	if !slices.Contains(m.stays, text) {
		m.stays = append(m.stays, text)
	}
}

// unreadable says why a file that cannot be read cannot be mended.
func (m *mender) unreadable(file string, err error) {
	if errors.Is(err, files.ErrSymlink) {
		m.cannot(file, "it is a symbolic link, and what that leads to may be anybody's: put the file itself in its place")
		return
	}
	m.cannot(file, "it cannot be read (%v), and so neither kept nor replaced: give yourself the right to read it, or move it away", err)
}

// session makes session.json anew where the SDK does not start on it: it has nothing
// that the name of its folder does not say.
func (m *mender) session(f *folders) {
	name := path.Join(f.session, "session.json")
	faults := f.faults.All()
	i := slices.IndexFunc(faults, func(f model.Fault) bool { return f.File == name && f.Severity >= fatal })
	if i < 0 {
		return
	}
	d := files.ReadDocument(tree.From(m.in.Tree), name, nil)
	if syntax := (*jsontape.SyntaxError)(nil); d.Err != nil && !errors.Is(d.Err, fs.ErrNotExist) && !errors.As(d.Err, &syntax) {
		m.unreadable(name, d.Err)
		return
	}
	m.sessionFile = fmt.Appendf(nil, `{"session_id": %s, "session_type": "AGENT", "created_at": %[2]q, "updated_at": %[2]q}`,
		jsontape.AppendQuoted(nil, f.sessionID(f.session)), pythonTime(m.in.Now))
	m.did(name, "made anew: %s", faults[i].Meaning)
}

// begin reads the readable part of the agent's folder.
func (m *mender) begin() error {
	l := m.now
	if !l.there {
		if l.agent.missing {
			return nil
		}
		if at, err := l.tree.Stamp(l.path("messages")); err != nil || at.Kind != files.Nothing {
			m.cannot(l.path("messages"), "the folder cannot be read: it is for its owner to open")
			return nil
		}
		m.folder = true
		m.did(l.path("messages"), "the folder is made")
	}
	d := files.ReadDocument(tree.From(l.tree), l.path("agent.json"), nil)
	syntax := (*jsontape.SyntaxError)(nil)
	switch {
	case errors.Is(d.Err, fs.ErrNotExist):
	case d.Err != nil && !errors.As(d.Err, &syntax):
		m.unreadable(l.path("agent.json"), d.Err)
	default:
		m.agent = d.Data
	}
	for _, name := range l.strays {
		if strings.HasPrefix(name, messagePrefix) && strings.HasSuffix(name, messageSuffix) {
			m.setAside(name, "its name has no number")
		}
	}
	return nil
}

// setAside takes a file out of the log.
func (m *mender) setAside(name, reason string) {
	m.files = slices.DeleteFunc(m.files, func(f messageFile) bool { return f.name == name })
	delete(m.made, name)
	m.aside = append(m.aside, name)
	m.did(m.now.path("messages", name), "set aside: %s", reason)
}

// log returns the log as it will be.
func (m *mender) log() *messageLog {
	return readLog(m.now.place, m.now.layOver(m.steps()))
}

// steps returns the steps of the repair.
func (m *mender) steps() (steps tree.Steps) {
	l := m.now
	if m.folder {
		steps = append(steps, tree.Step{Name: l.path("messages"), Version: journal.Version{Folder: true}})
	}
	// agent.json first: what it leaves out decides over what is written over.
	if m.wrote {
		steps = append(steps, tree.Step{Name: l.path("agent.json"), Data: m.agent})
	}
	for _, name := range slices.Sorted(slices.Values(m.aside)) {
		steps = append(steps, tree.Step{Name: l.dir + name, Aside: true})
	}
	for _, f := range m.files {
		if data, ok := m.made[f.name]; ok {
			steps = append(steps, tree.Step{Name: l.dir + f.name, Data: data})
		}
	}
	// Without session.json the SDK does not start.
	if m.sessionFile != nil {
		steps = append(steps, tree.Step{Name: path.Join(l.session, "session.json"), Data: m.sessionFile})
	}
	return steps
}

// mend mends until nothing is fatal.
func (m *mender) mend(ctx context.Context) error {
	for round := 0; len(m.stays) == 0; round++ {
		l, before := m.log(), len(m.words)
		in := newInspector(l)
		if err := l.walk(ctx, func(s *step) error { in.see(s); return nil }); err != nil {
			return err
		}
		faults := slices.DeleteFunc(in.faults(), func(f model.Fault) bool { return !isFatal(f) })
		if len(faults) == 0 {
			return nil
		}
		agent := slices.DeleteFunc(slices.Clone(faults), func(f model.Fault) bool { return f.File != l.path("agent.json") })
		if round == mostRounds {
			agent, l = nil, nil
		}
		if len(agent) > 0 {
			m.mendAgent(l, agent)
		} else if l != nil {
			if err := m.mendMessages(ctx, l); err != nil {
				return err
			}
		}
		if len(m.words) == before && len(m.stays) == 0 {
			for _, f := range faults {
				m.cannot(f.File, "%s (%s): nothing is known that would mend it", f.Meaning, f.Verdict)
			}
		}
	}
	return nil
}
