package messages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/files"
	"hindcast/store/folder"
	"hindcast/store/journal"
	"hindcast/store/sdk"
)

// What the SDK redacts it writes over, so that nothing of it is left. A copy that was
// kept from before outlives that. It is found by what the SDK leaves as it was: the
// number in the name and created_at, or else the tracking_id.

func (s *Store) planPurge(ctx context.Context, view *folder.View, session string, what model.PurgeScope) (model.Plan, error) {
	p, err := s.locate(session)
	if err != nil {
		return model.Plan{}, err
	}
	entries, err := s.entries(ctx)
	if err != nil {
		return model.Plan{}, err
	}
	plan := model.Plan{Op: model.OpPurge, Session: session}
	folder := p.path()
	var redacted []keptCopy
	if p.orchestrator != "" {
		folder = path.Join(p.session, "multi_agents", p.orchestrator)
	} else {
		l, err := s.logOf(p, view)
		if err != nil {
			return model.Plan{}, err
		}
		defer l.close()
		if plan.Head, err = l.head(ctx); err != nil {
			return model.Plan{}, err
		}
		plan.Target = plan.Head
		if redacted, err = s.keptRedacted(ctx, l); err != nil {
			return model.Plan{}, err
		}
	}
	draft := s.journal.Draft()
	if what == model.PurgeRedacted {
		for _, c := range redacted {
			draft.Forget(c.path, c.version)
		}
		return draft.Plan(plan)
	}
	return s.planPurgeAll(draft, plan, entries, s.onDesk(folder))
}

// planPurgeAll forgets what is kept of the files in a folder and what is below it,
// but for what lies there just now and what is set aside of other sessions, too.
func (s *Store) planPurgeAll(draft *journal.Draft, plan model.Plan, entries []journal.Entry, folder string) (model.Plan, error) {
	elsewhere := map[string]bool{}
	for _, e := range entries {
		for _, c := range e.Named() {
			if !strings.HasPrefix(c.Path, folder+"/") {
				elsewhere[c.Before.SHA256] = true
			}
		}
	}
	lies := map[string]journal.Version{}
	for _, e := range entries {
		for _, c := range e.Named() {
			if !strings.HasPrefix(c.Path, folder+"/") || c.Does == model.FileForgotten {
				continue
			}
			now, looked := lies[c.Path]
			if !looked {
				var err error
				if now, err = s.journal.Version(c.Path); err != nil {
					return model.Plan{}, err
				}
				lies[c.Path] = now
			}
			for _, v := range []journal.Version{c.Before, c.After} {
				if v.SHA256 != "" && v.SHA256 != now.SHA256 && !elsewhere[v.SHA256] && s.keeps(v) {
					draft.Forget(c.Path, v)
				}
			}
		}
	}
	return draft.Plan(plan)
}

// keeps reports whether a content is still kept.
func (s *Store) keeps(v journal.Version) bool {
	_, err := s.journal.Read(v)
	return !errors.Is(err, fs.ErrNotExist)
}

// keptCopy is a content that is kept of a message from before it was redacted.
type keptCopy struct {
	file    messageFile
	path    string // of the journal
	version journal.Version
}

// keptRedacted finds what is kept of messages that the SDK redacted since.
func (s *Store) keptRedacted(ctx context.Context, l *messageLog) ([]keptCopy, error) {
	var list []keptCopy
	entries, err := s.entries(ctx)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	copies := map[string][]keptCopy{} // by name
	folder := s.onDesk(l.path("messages"))
	s.histories.with(entries, folder, func(p *history) {
		for v, c := range p.contents {
			if f := p.files[c.file]; int(c.as) == v {
				copies[f.name] = append(copies[f.name], keptCopy{f, path.Join(folder, f.name), c.version})
			}
		}
	})
	for i, f := range l.files {
		if len(copies[f.name]) == 0 {
			continue
		}
		redacted := false
		if err := l.read(ctx, l.files[i:i+1], l.known, func(_ int, m *message) error { redacted = m.redacted; return nil }); err != nil {
			return nil, err
		}
		if !redacted {
			continue
		}
		doc := l.document(i)
		for _, c := range copies[f.name] {
			if s.isOriginal(&doc, c) {
				list = append(list, c)
			}
		}
	}
	return list, nil
}

// isOriginal reports whether a copy is what was there before a file was redacted.
func (s *Store) isOriginal(redacted *files.Document, c keptCopy) bool {
	data, err := s.journal.Read(c.version)
	if err != nil || redacted.Err != nil {
		return false
	}
	t, err := files.Parse(data)
	if err != nil {
		return false
	}
	now, was := originOf(redacted.Tape), originOf(t)
	same := !now.created.IsZero() && now.created.Equal(was.created) || now.tracking != "" && now.tracking == was.tracking
	return same && !sameJSON(now.effective, was.effective)
}

// origin is what the SDK leaves as it was when it redacts a message, and what it does
// not.
type origin struct {
	created   time.Time
	tracking  string
	effective []byte
}

func originOf(t *jsontape.Tape) (o origin) {
	o.created = timeOf(t, t.Find(0, "created_at"))
	effective := t.Find(0, "message")
	if redacted := t.Find(0, "redact_message"); redacted >= 0 && t.Kind(redacted) != jsontape.Null {
		effective = redacted
	}
	if effective >= 0 {
		o.effective = t.Raw(effective)
		o.tracking = t.Text(max(0, t.Find(effective, "tracking_id")))
	}
	return o
}

// keptFaults tells what of a log is kept that is to be gone, what an agent wrote over
// after it had come back, and why there is no journal.
func (s *Store) keptFaults(ctx context.Context, l *messageLog, b *branches, in *inspector) error {
	if s.broken != nil {
		in.list.Add(s.journalFault(s.broken))
	}
	list, err := s.keptRedacted(ctx, l)
	if _, unread := s.entries(ctx); unread != nil && ctx.Err() == nil {
		if s.broken == nil {
			in.list.Add(s.journalFault(unread))
		}
		return nil
	}
	for _, a := range b.list {
		if a.reason.Kind == model.ReasonOverwritten {
			in.add(a.file.name, flaw{code: FaultOverwritten, meaning: "an agent with a view from before a restore or an undo wrote over the message; the one that had come back is on a branch",
				verdict: sdk.Ignores("it loads the message that lies there")}, stand{})
		}
	}
	for _, c := range list {
		in.add(c.file.name, flaw{code: FaultRedacted, meaning: "the message was redacted, and Hindcast keeps what was there before; hindcast purge forgets it", verdict: sdk.Loads("the SDK does not look there")}, stand{})
	}
	return err
}

// journalFault words what is wrong with the journal.
func (s *Store) journalFault(err error) model.Fault {
	return model.Fault{Code: FaultJournal, File: journal.Folder, Meaning: err.Error(), Verdict: "the SDK does not look there; what was set aside may not show"}
}

// redactedSince tells which of the messages that a restore brings back were redacted
// since in a session that was forked with them.
func (s *Store) redactedSince(ctx context.Context, c *course) (hazards []string, err error) {
	back := map[string]string{}
	for _, f := range c.log.files[c.common:] {
		back[c.back[f.name].SHA256] = f.name
	}
	entries, err := s.entries(ctx)
	if err != nil || len(back) == 0 {
		return nil, err
	}
	for _, e := range entries {
		for _, change := range e.Changes() {
			name, ok := back[change.After.SHA256]
			if !ok || change.Path == s.onDesk(c.now.path("messages", name)) {
				continue
			}
			data, err := s.disk.Read(change.Path)
			if err != nil {
				continue // it is gone
			}
			doc := files.Document{Data: data}
			doc.Tape, doc.Err = files.Parse(data)
			if doc.Err == nil && s.isOriginal(&doc, keptCopy{path: change.Path, version: change.After}) {
				hazards = append(hazards, fmt.Sprintf("%s comes back as it was before it was redacted in %s", name, change.Path))
			}
		}
	}
	return hazards, nil
}
