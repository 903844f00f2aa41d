package messages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
	"hindcast/store/sdk"
)

// What the SDK redacts it writes over, so that nothing of it is left. A copy that was
// kept from before outlives that. It is found by what the SDK leaves as it was: the
// number in the name and created_at, or else the tracking_id.

// purge plans that what the journal keeps of the session is forgotten: all of it, or what
// was redacted since.
func (m *mover) purge(what model.PurgeScope) {
	m.Forget = func(name string, data []byte) bool {
		return what != model.PurgeRedacted || m.now.redactedFrom(name, data)
	}
}

// redactedFrom reports whether a content is the original of a file that the SDK redacted.
func (l *messageLog) redactedFrom(name string, data []byte) bool {
	base, isMessage := strings.CutPrefix(name, l.dir)
	i := -1
	if isMessage && l.place.agent != "" {
		i = l.position(base)
	}
	if i < 0 {
		return false
	}
	doc := l.document(i)
	return doc.Err == nil && isRedacted(doc.Tape) && isOriginal(&doc, data)
}

// keptRedacted finds what is kept of messages that the SDK redacted since.
func (l *messageLog) keptRedacted(ctx context.Context) ([]content, error) {
	var list []content
	if len(l.told.Entries()) == 0 || l.place.agent == "" {
		return nil, ctx.Err()
	}
	copies := map[string][]content{} // by name
	for _, c := range l.history().contents {
		copies[c.file.name] = append(copies[c.file.name], c)
	}
	for i, f := range l.files {
		if len(copies[f.name]) == 0 {
			continue
		}
		if now, err := l.message(ctx, i); err != nil {
			return nil, err
		} else if !now.redacted {
			continue
		}
		doc := l.document(i)
		for _, c := range copies[f.name] {
			if data, err := l.readKept(c.version); err == nil && isOriginal(&doc, data) {
				list = append(list, c)
			}
		}
	}
	return list, nil
}

// isRedacted reports whether the SDK redacted the message of a file.
func isRedacted(t *jsontape.Tape) bool {
	redacted := t.Find(0, "redact_message")
	return redacted >= 0 && t.Kind(redacted) != jsontape.Null
}

// isOriginal reports whether a content is the original of a redacted file.
func isOriginal(redacted *files.Document, data []byte) bool {
	if redacted.Err != nil {
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

// origin holds the parts of a message that the SDK keeps when it redacts it, and its
// effective text.
type origin struct {
	created   time.Time
	tracking  string
	effective []byte
}

func originOf(t *jsontape.Tape) (o origin) {
	o.created = timeOf(t, t.Find(0, "created_at"))
	effective := t.Find(0, "message")
	if isRedacted(t) {
		effective = t.Find(0, "redact_message")
	}
	if effective >= 0 {
		o.effective = t.Raw(effective)
		o.tracking = t.Text(max(0, t.Find(effective, "tracking_id")))
	}
	return o
}

// keptFaults tells what of a log is missing, what of it is kept that is to be gone, what an
// agent wrote over after it had come back, and why there is no journal.
func (s *Store) keptFaults(ctx context.Context, b *branches, in *inspector) error {
	in.gaps(b)
	broken := s.broken()
	if broken != nil {
		in.list.Add(s.journalFault(broken))
	}
	list, err := b.log.keptRedacted(ctx)
	if _, unread := s.storage.Entries(ctx); unread != nil && ctx.Err() == nil {
		if broken == nil {
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

// journalFault words the journal's fault. A store that was opened by a link has no journal.
func (s *Store) journalFault(err error) model.Fault {
	if errors.Is(err, engine.ErrLink) {
		return model.Fault{Code: FaultSymlink, File: ".", Severity: model.Note, Meaning: err.Error(), Verdict: "the SDK follows links to folders"}
	}
	return model.Fault{Code: FaultJournal, File: journal.Folder, Meaning: err.Error(), Verdict: "the SDK does not look there; what was set aside may not show"}
}

// redactedSince tells which of the messages that a restore brings back were redacted
// since in a session that was forked with them.
func (m *mover) redactedSince() (hazards []string) {
	back := map[string]string{}
	for name, v := range m.back {
		back[v.SHA256] = name
	}
	if len(back) == 0 {
		return nil
	}
	for _, entry := range m.in.Writes.All() {
		for _, change := range entry.Changes() {
			name, ok := back[change.After.SHA256]
			if !ok || change.Path == m.now.dir+name {
				continue
			}
			was, err := m.now.readKept(m.back[name])
			if err != nil {
				continue
			}
			if doc := files.ReadDocument(tree.From(m.in.Tree), change.Path, nil); doc.Err == nil && isOriginal(&doc, was) {
				hazards = append(hazards, fmt.Sprintf("%s comes back as it was before it was redacted in %s", name, change.Path))
			}
		}
	}
	slices.Sort(hazards)
	return hazards
}
