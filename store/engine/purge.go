package engine

import (
	"context"

	"hindcast/model"
	"hindcast/store/media/journal"
)

// draftPurge drafts that the journal forgets contents that files of a session had and do not
// have now, those that are chosen. What files of other sessions had, or have, stays, unless
// it is to be gone because it was redacted.
func (s *Storage) draftPurge(ctx context.Context, j *journal.Journal, d *journal.Draft, session string, what model.PurgeScope, chosen func(name string, data []byte) bool) error {
	entries, err := s.Entries(ctx)
	if len(entries) == 0 {
		return err
	}
	others, now, seen := map[string]bool{}, map[string]journal.Version{}, map[journal.Version]bool{}
	for i := range entries {
		if e := &entries[i]; e.Session != session && what != model.PurgeRedacted {
			for _, c := range e.AllChanges() {
				others[c.Before.SHA256], others[c.After.SHA256] = true, true
			}
		}
	}
	for i := range entries {
		e := &entries[i]
		if e.Session != session {
			continue
		}
		for _, c := range e.AllChanges() {
			if _, looked := now[c.Path]; !looked {
				if now[c.Path], err = j.Version(c.Path); err != nil {
					return err
				}
			}
			for _, v := range []journal.Version{c.Before, c.After} {
				if v.SHA256 == "" || v.SHA256 == now[c.Path].SHA256 || others[v.SHA256] || seen[v] {
					continue
				}
				seen[v] = true
				if data, err := j.Read(v); err == nil && chosen(c.Path, data) {
					d.Forget(c.Path, v)
				}
			}
		}
	}
	return ctx.Err()
}
