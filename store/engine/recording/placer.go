package recording

import (
	"fmt"

	"hindcast/model"
	"hindcast/store"
)

// Placer decides, for one session, which rows of an import are new and which
// numbers their visits get. A row is there already when the session had a
// visit that tells of the same event; a visit that is in the rows twice is
// matched twice, so that importing the same rows again adds nothing. A number
// is kept as long as numbers ascend, else the visit gets the next one, and the
// later rows that follow it are put right.
type Placer struct {
	have    map[visitKey][]int64
	renamed map[int64]int64
	last    int64
}

// visitKey has the fields that SameVisit compares.
type visitKey struct {
	id, parent, name   string
	index, turn, event int
	second             int64
	nanosecond         int
}

func keyOf(h *model.Header) visitKey {
	return visitKey{h.ID, h.ParentID, h.EventName, h.Index, h.TurnIndex, int(h.Event), h.CreatedAt.Unix(), h.CreatedAt.Nanosecond()}
}

// NewPlacer starts with the visits that the session has, by ascending number.
func NewPlacer(existing []model.Header) *Placer {
	p := &Placer{have: make(map[visitKey][]int64, len(existing)), renamed: map[int64]int64{}}
	for i := range existing {
		h := &existing[i]
		k := keyOf(h)
		p.have[k] = append(p.have[k], h.Visit)
		p.last = h.Visit
	}
	return p
}

// Place reports whether a row is new. For a new row it sets the header's Visit and ParentVisit to their
// numbers in the session. It converts the header's times with [Time]. It also removes the reason of a visit
// that is not orphaned. The error is ErrTime.
func (p *Placer) Place(h *model.Header) (isNew bool, err error) {
	if h.CreatedAt, err = store.Time(h.CreatedAt); err != nil {
		return false, fmt.Errorf("createdAt: %w", err)
	}
	if !h.Orphaned {
		h.Reason = nil
	}
	if h.Reason != nil {
		reason := *h.Reason
		if reason.At, err = store.Time(reason.At); err != nil {
			return false, fmt.Errorf("reason: %w", err)
		}
		h.Reason = &reason
	}
	asked, k := h.Visit, keyOf(h)
	if same := p.have[k]; len(same) > 0 {
		p.have[k] = same[1:]
		p.noteRename(asked, same[0])
		return false, nil
	}
	// A step of a trace may have any number, see model.MarkTraced, which leaves no room for later visits.
	if h.Visit <= p.last || h.Marks.Has(model.MarkTraced) {
		h.Visit = p.last + 1
	}
	p.last = h.Visit
	p.noteRename(asked, h.Visit)
	if now, ok := p.renamed[h.ParentVisit]; ok {
		h.ParentVisit = now
	}
	return true, nil
}

func (p *Placer) noteRename(asked, given int64) {
	if asked != 0 && asked != given {
		p.renamed[asked] = given
	}
}
