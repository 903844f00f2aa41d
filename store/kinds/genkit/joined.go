package genkit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/kinds/genkit/traces"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// What the traces of a project know of its sessions, joined with the rows.
//
// A turn names the row in which it ended. Its tool iterations become headers
// before that row: parent, step 1, step 2, row. Each follows the one before by
// its visit; the row's ParentID stays what the row says.
//
// Rows have no visits, and what names one stays right when a trace appears. The
// visit of a step comes from its id alone, for the same reason.

// joined is the traces that belong to a store.
type joined struct {
	disk *tree.Disk // the folder .genkit, nil where it is on no disk
	dir  string     // its path
	// memory holds the notes on the traces.
	memory *files.Memory
	*traces.Traces
}

// tracesAbove bounds how far up from the opened folder a .genkit is looked for:
// rows of tenants are that deep in a project.
const tracesAbove = 6

// joinedTraces returns the traces that belong to the store, or nil if there are no traces yet.
func (s *Store) joinedTraces() *joined {
	s.joining.Lock()
	defer s.joining.Unlock()
	if s.traces == nil {
		if s.on != nil {
			s.traces = s.tracesOn()
		} else if s.traces = findTraces(s.dir); s.traces != nil {
			s.traces.memory = s.cache.Memory(traces.NoteKind, s.traces.dir)
		}
		if s.traces != nil {
			s.traces.Remember(s.traces.memory)
		}
	}
	return s.traces
}

// findTraces looks for .genkit/traces in a folder and upward from it.
func findTraces(dir string) *joined {
	at, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	for range tracesAbove {
		for _, genkit := range []string{filepath.Join(at, ".genkit"), at} {
			if filepath.Base(genkit) != ".genkit" {
				continue
			}
			if info, err := os.Stat(filepath.Join(genkit, "traces")); err != nil || !info.IsDir() {
				continue
			}
			if disk, err := tree.OpenDisk(genkit); err == nil {
				return &joined{disk: disk, dir: genkit, Traces: traces.New(disk, ".")}
			}
		}
		up := filepath.Dir(at)
		if up == at {
			return nil
		}
		at = up
	}
	return nil
}

// tracesOn looks for traces in a source without a disk: there the folders above are not listed.
func (s *Store) tracesOn() *joined {
	for _, genkit := range []string{".genkit", "."} {
		at, ok := s.on.At(genkit)
		if ok && path.Base(at.Name()) == ".genkit" && tree.IsFolder(at.Tree(), "traces") {
			return &joined{dir: at.Name(), memory: s.cache.MemoryOf(traces.NoteKind, at.Name()), Traces: traces.New(at.Tree(), ".")}
		}
	}
	return nil
}

// tracedTurns returns the turns of a session in the traces. Unreadable traces are left out: the rows do not need
// them.
func (s *Store) tracedTurns(ctx context.Context, sid string) []traces.Turn {
	j := s.joinedTraces()
	if j == nil || sid == "" {
		return nil
	}
	turns, err := j.Turns(ctx, sid)
	if err != nil {
		return nil
	}
	return turns
}

// ends are the turns of a session by the rows in which they may have ended.
type ends map[string][]*traces.Turn

func endsOf(turns []traces.Turn) ends {
	e := make(ends, len(turns))
	for i := range turns {
		t := &turns[i]
		if id := cmp.Or(t.Snapshot, t.Answered); id != "" {
			e[id] = append(e[id], t)
		}
	}
	return e
}

// turnOf returns the turn that ended in a row, nil if none is known. Of several, a
// trace that was taken twice, the last counts.
func (e ends) turnOf(h *model.Header) *traces.Turn {
	for _, t := range slices.Backward(e[h.ID]) {
		if t.EndedIn(h) {
			return t
		}
	}
	return nil
}

// withSteps puts the steps of turns before the rows that they ended in. Without
// a step the headers stay as they are.
func withSteps(list []model.Header, turns []traces.Turn) []model.Header {
	all := make([]model.Header, 0, len(list))
	ended, numbered := endsOf(turns), make(map[int64]bool)
	for i := range list {
		h := list[i]
		if t := ended.turnOf(&h); t != nil {
			before := t.Headers(&h)
			if len(before) > 0 && h.ParentID == h.ID {
				before[0].ParentID = "" // it is no step of its own
			}
			for k := range before {
				step := &before[k]
				step.Visit = visitOf(step.ID, numbered)
				step.ParentVisit, h.ParentVisit = h.ParentVisit, step.Visit
			}
			all = append(all, before...)
		}
		all = append(all, h)
	}
	return all
}

// visitOf returns the visit of a step, one that is not taken yet: 48 bits of its
// id's hash, which every reader of JSON takes in whole.
func visitOf(id string, taken map[int64]bool) int64 {
	sum := sha256.Sum256([]byte(id))
	visit := int64(binary.BigEndian.Uint64(sum[:])>>16) | 1<<47
	for taken[visit] {
		visit++
	}
	taken[visit] = true
	return visit
}

// addSteps returns the rows of a log with the steps of their turns.
func (p *part) addSteps(ctx context.Context, _ engine.In, log *engine.Log) []model.Header {
	return withSteps(log.Rows, p.opened.tracedTurns(ctx, log.Own.(*session).sid))
}

// stepState returns the state of a step.
func (p *part) stepState(ctx context.Context, row *engine.Row) ([]byte, error) {
	if _, _, _, err := p.findStep(ctx, row); err != nil {
		return nil, err
	}
	state, err := p.opened.joinedTraces().State(ctx, row.ID)
	if errors.Is(err, traces.ErrUnknown) {
		return nil, model.ErrNoSnapshot
	}
	return state, err
}

// findStep finds a step: its session, its turn, and its number in that.
func (p *part) findStep(ctx context.Context, of *engine.Row) (*session, *traces.Turn, int, error) {
	log, _, err := of.In()
	if log == nil {
		return nil, nil, 0, err
	}
	if of.Visit != 0 && of.Visit != visitOf(of.ID, map[int64]bool{}) {
		return nil, nil, 0, model.ErrNoSnapshot
	}
	one := sessionOf(log)
	turns := p.opened.tracedTurns(ctx, one.sid)
	for i := range turns {
		for k := range turns[i].Steps {
			if turns[i].StepID(k) != of.ID {
				continue
			}
			if slices.ContainsFunc(log.Rows, func(h model.Header) bool { return turns[i].EndedIn(&h) }) {
				return one, &turns[i], k, nil
			}
		}
	}
	return nil, nil, 0, model.ErrNoSnapshot
}

// isStep reports whether an id is that of a step. No row has one of that form,
// unless it was made to.
func isStep(id string) bool { return traces.Owns(id) }
