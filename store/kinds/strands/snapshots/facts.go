package snapshots

import (
	"context"
	"fmt"
	"strconv"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/kinds/strands/lineage"
	"hindcast/store/media/journal"
)

// describeRow describes a row besides its state: of the record of an orchestrator too what that has once. A
// snapshot of an agent is whole.
func (s *Store) describeRow(_ context.Context, _ engine.In, row *engine.Row) (engine.About, error) {
	log, _, err := row.In()
	if log == nil {
		return engine.About{}, err
	}
	return sessionIn(log).describeRow(row.ID)
}

func (h *history) describeRow(id string) (about engine.About, err error) {
	i := h.findRow(id)
	if i < 0 {
		return about, model.ErrNoSnapshot
	}
	about.Facts = append(h.neighbourFacts(i), h.items[i].fileFacts(&h.place)...)
	return about, nil
}

// neighbourFacts adds the facts about a snapshot that follow from the other snapshots.
func (h *history) neighbourFacts(i int) (l model.Facts) {
	it := &h.items[i]
	switch it.How {
	case lineage.Beginning:
		l.Add("lineage", fmt.Sprintf("holds the first %d of its %d messages", it.Shared, it.messages))
	case lineage.Overlap:
		l.Add("lineage", fmt.Sprintf("ends with message %d of its %d; others were taken out since", it.Shared, it.messages))
	case lineage.Guess:
		l.Add("lineage", "a guess: no message is in common, and nothing speaks against it")
	case lineage.Root:
		if i > 0 {
			l.Add("lineage", "none: no earlier snapshot has a conversation that this one goes on with")
		}
	}
	if i == h.same {
		l.Add("latest", latestFile+" holds the same")
	}
	return l
}

// fileFacts returns the facts in the file of a snapshot besides its data.
func (i *item) fileFacts(p *place) (l model.Facts) {
	l.Add("file", p.fileOf(i.name))
	if i.aside != nil {
		l.Add("set aside", "Hindcast has it, in "+journal.Folder)
	}
	l.Add("written by", string(i.Dialect))
	l.Add("scope", i.Scope)
	l.Add("schema version", i.Schema)
	l.Add("context manager", i.Manager)
	if i.Removed > 0 {
		l.Add("taken out", strconv.Itoa(i.Removed)+" messages")
	}
	l.Add("stash", i.Stash)
	l.Add("app data", i.AppData)
	return l
}
