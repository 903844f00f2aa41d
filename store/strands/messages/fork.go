package messages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/files"
	"hindcast/store/folder"
)

// A fork is the session once more under another id, with the agent that was forked
// put back to the snapshot. Files that are the same in both are links: the SDK
// replaces files and never writes into one, so that what happens to one session
// leaves the other alone. Other agents and orchestrators of the session come along
// as they are, because the program that opens the fork will ask for them, too.

// planFork plans a fork. Besides those of planRestore the errors are
// store.ErrSessionExists and a model.UnsupportedError for a name that the SDK or the
// file system would not take.
func (s *Store) planFork(ctx context.Context, view *folder.View, ref model.Ref, as string) (model.Plan, error) {
	p, err := s.locate(ref.Session)
	if err == nil {
		err = s.checkName(model.OpFork, as)
	}
	if err != nil {
		return model.Plan{}, err
	}
	if p.orchestrator != "" {
		return s.planRunFork(ctx, p, ref, as)
	}
	l, err := s.logOf(p, view)
	if err != nil {
		return model.Plan{}, err
	}
	defer l.close()
	c, err := s.course(ctx, l, ref.ID, model.OpFork)
	if err != nil {
		return model.Plan{}, err
	}
	return s.planCopy(ctx, c, as)
}

// logOf opens a log in a tree where it can be read.
func (s *Store) logOf(p place, tree folder.Tree) (*messageLog, error) {
	l := s.openLog(p, tree)
	if l.err != nil {
		l.close()
		return nil, l.err
	}
	return l, nil
}

// planCopy plans a new session that ends where a course leads.
func (s *Store) planCopy(ctx context.Context, c *course, as string) (model.Plan, error) {
	if err := c.sound(ctx); err != nil {
		return model.Plan{}, err
	}
	l := c.now
	session, rest, several := strings.Cut(l.id, "/")
	c.as = as
	plan := c.plan()
	if plan.NewSession = as; several {
		plan.NewSession += "/" + rest
	}
	var err error
	if plan.Head, err = l.head(ctx); err != nil {
		return model.Plan{}, err
	}
	to := sessionPrefix + as
	var steps folder.Steps
	add := func(name string, step folder.Step) {
		step.Name = path.Join(to, within(l.session, name))
		if step.Data == nil && step.Version.None() {
			step.From = s.onDesk(name)
		}
		steps = append(steps, step)
	}
	for _, f := range c.log.files {
		add(l.dir+f.name, folder.Step{Data: c.made[f.name], Version: c.back[f.name]})
	}
	agent := folder.Step{Data: c.agent, Version: c.version}
	if c.unchanged {
		agent = folder.Step{}
	}
	add(l.path("agent.json"), agent)
	others, err := s.others(l.place)
	if err != nil {
		return model.Plan{}, err
	}
	for _, o := range others {
		for _, name := range o.files {
			add(name, folder.Step{})
		}
		plan.Hazards = append(plan.Hazards, fmt.Sprintf("%s of session %q comes along as it is now, and may know what was said after this snapshot", o.what, session))
	}
	// Until there is a session.json, the SDK does not take the folder for a session.
	data, err := s.sessionFile(l.session, as)
	if err != nil {
		return model.Plan{}, err
	}
	steps = append(steps, folder.Step{Name: path.Join(to, "session.json"), Data: data})
	return folder.Draft(s.journal, steps).Plan(plan)
}

// within returns a name below the folder of a session, without that.
func within(session, name string) string {
	if session == "." || session == "" {
		return name
	}
	return strings.TrimPrefix(name, session+"/")
}

// sessionFile returns the session.json of a session for another id.
func (s *Store) sessionFile(session, as string) ([]byte, error) {
	name := path.Join(session, "session.json")
	d := files.ReadDocument(folder.From(s.tree), name, nil)
	if d.Err != nil {
		return nil, fmt.Errorf("read %s: %w", name, d.Err)
	}
	p := jsontape.NewPatch(d.Tape)
	p.Put(0, "session_id", jsontape.AppendQuoted(nil, as))
	return p.Bytes(), nil
}

// companion is another agent of a session, or an orchestrator.
type companion struct {
	what  string
	files []string
}

// others finds what else is in the session of a place.
func (s *Store) others(p place) (list []companion, err error) {
	for _, o := range s.places(p.session) {
		switch {
		case o.err != nil:
			return nil, fmt.Errorf("%s: %w", o.unlisted, o.err)
		case o.orchestrator != "":
			name := path.Join(o.session, "multi_agents", o.orchestrator, "multi_agent.json")
			if s.isFile(name) {
				list = append(list, companion{fmt.Sprintf("orchestrator %q", strings.TrimPrefix(o.orchestrator, runPrefix)), []string{name}})
			}
		case o.agent != "" && o.agent != p.agent:
			c := companion{what: fmt.Sprintf("agent %q", strings.TrimPrefix(o.agent, agentPrefix))}
			names, err := s.tree.List(o.path("messages"))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%s: %w", o.path("messages"), err)
			}
			var l messageLog
			for _, name := range names {
				if f, ok := fileOf(name); ok && s.isFile(o.path("messages", name)) {
					l.files = append(l.files, f)
				}
			}
			l.order()
			for _, f := range l.files {
				c.files = append(c.files, o.path("messages", f.name))
			}
			if name := o.path("agent.json"); s.isFile(name) {
				c.files = append(c.files, name)
			}
			list = append(list, c)
		}
	}
	return list, nil
}

func (s *Store) isFile(name string) bool {
	at, err := s.tree.Stamp(name)
	return err == nil && at.Kind == files.Regular
}

// maxFileName is how long a name may be on the file systems that there are, in bytes.
const maxFileName = 255

// checkName refuses an id that cannot be that of a new session. The SDK's own rule
// is that it is the name of one file.
func (s *Store) checkName(op model.Op, as string) error {
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
	switch _, err := s.disk.Lstat(sessionPrefix + as); {
	case err == nil:
		return store.ErrSessionExists
	case !errors.Is(err, fs.ErrNotExist):
		return files.Cause(err)
	}
	return nil
}
