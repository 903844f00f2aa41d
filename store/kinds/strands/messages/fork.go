package messages

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// A fork is the session once more under another id, with the agent that was forked
// put back to the snapshot. Files that are the same in both are links: the SDK
// replaces files and never writes into one, so that what happens to one session
// leaves the other alone. Other agents and orchestrators of the session come along
// as they are, because the program that opens the fork will ask for them, too.

// copy plans a new session that ends with the target.
func (m *mover) copy(as string) error {
	l := m.now
	session, _, _ := strings.Cut(l.id, "/")
	p := place{id: l.place.forked(as), session: sessionPrefix + as, root: l.root, agent: l.place.agent}
	to := p.at()
	m.New = &to
	add := func(name string, step tree.Step) {
		step.Name = path.Join(p.session, within(l.session, name))
		if step.Data == nil && step.Version.None() {
			step.From = name
		}
		m.Steps = append(m.Steps, step)
	}
	for _, f := range m.log.files[:m.i+1] {
		add(l.dir+f.name, tree.Step{Data: m.made[f.name], Version: m.back[f.name]})
	}
	agent := tree.Step{Data: m.agent, Version: m.version}
	if m.unchanged {
		agent = tree.Step{}
	}
	add(l.path("agent.json"), agent)
	others, err := l.place.others(m.in.Tree)
	if err != nil {
		return err
	}
	for _, o := range others {
		for _, name := range o.files {
			add(name, tree.Step{})
		}
		m.hazard("%s of session %q comes along as it is now, and may know what was said after this snapshot", o.what, session)
	}
	// Until there is a session.json, the SDK does not take the folder for a session.
	data, err := sessionFile(m.in.Tree, l.session, as)
	if err != nil {
		return err
	}
	m.Steps = append(m.Steps, tree.Step{Name: path.Join(p.session, "session.json"), Data: data})
	return nil
}

// within returns a name below the folder of a session, without that.
func within(session, name string) string {
	if session == "." {
		return name
	}
	return strings.TrimPrefix(name, session+"/")
}

// sessionFile returns the session.json of a session for another id.
func sessionFile(t tree.Tree, session, as string) ([]byte, error) {
	name := path.Join(session, "session.json")
	d := files.ReadDocument(tree.From(t), name, nil)
	if d.Err != nil {
		return nil, fmt.Errorf("read %s: %w", name, d.Err)
	}
	p := jsontape.NewPatch(d.Tape)
	p.Put(0, "session_id", jsontape.AppendQuoted(nil, as))
	return p.Bytes(), nil
}

// beside is another agent of a session, or an orchestrator.
type beside struct {
	what  string
	files []string
}

// others finds what else is in the session of a place.
func (p place) others(t tree.Tree) (list []beside, err error) {
	for _, o := range p.places(t, p.session) {
		switch {
		case o.err != nil:
			return nil, fmt.Errorf("%s: %w", p.shown(o.unlisted), o.err)
		case o.orchestrator != "":
			name := o.recordPath()
			if isFile(t, name) {
				list = append(list, beside{fmt.Sprintf("orchestrator %q", strings.TrimPrefix(o.orchestrator, runPrefix)), []string{name}})
			}
		case o.agent != "" && o.agent != p.agent:
			c := beside{what: fmt.Sprintf("agent %q", strings.TrimPrefix(o.agent, agentPrefix))}
			names, err := t.List(o.path("messages"))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%s: %w", o.path("messages"), err)
			}
			var messages []messageFile
			for _, name := range names {
				if f, ok := fileOf(name); ok && isFile(t, o.path("messages", name)) {
					messages = append(messages, f)
				}
			}
			slices.SortFunc(messages, messageFile.compare)
			for _, f := range messages {
				c.files = append(c.files, o.path("messages", f.name))
			}
			if name := o.path("agent.json"); isFile(t, name) {
				c.files = append(c.files, name)
			}
			list = append(list, c)
		}
	}
	return list, nil
}

func isFile(t tree.Tree, name string) bool {
	at, err := t.Stamp(name)
	return err == nil && at.Kind == files.Regular
}

// maxFileName is how long a name may be on the file systems that there are, in bytes.
const maxFileName = 255

// checkName refuses an id that cannot be that of a new session. The SDK's own rule
// is that it is the name of one file.
func checkName(t tree.Tree, op model.Op, as string) error {
	refuse := func(reason string) error { return &model.UnsupportedError{Op: op, Reason: reason} }
	switch {
	case as == "":
		return refuse("the new session needs a name")
	case as == "." || as == "..":
		return refuse("a session cannot be called " + as)
	case strings.ContainsRune(as, '/') || filepath.Base(as) != as:
		return refuse("the name of a session has no path separators")
	case !utf8.ValidString(as) || strings.ContainsFunc(as, unicode.IsControl):
		return refuse("the name of a session has no control characters")
	case len(sessionPrefix)+len(as) > maxFileName:
		return refuse(fmt.Sprintf("the name of a session takes at most %d bytes", maxFileName-len(sessionPrefix)))
	}
	switch at, err := t.Stamp(sessionPrefix + as); {
	case err != nil:
		return err
	case at.Kind != files.Nothing:
		return store.ErrSessionExists
	}
	return nil
}
