package codex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
)

// part is a rollout that a session has records of.
type part struct {
	name string
	file *chat.File[record]
	head *header // nil where it has none
	// base is the part that holds the history before from, nil if the rollout holds all of its history.
	base *part
	from int64
	// broken is why Codex refuses the history that the part goes on from, in its words; "" where
	// it does not.
	broken string
	// limit is before where records count: all do of the session's own parts.
	limit int64
	// marks are the states of the fold, in the order of the bytes.
	marks []mark
	// alone are the events, by their places, with a message that no item has.
	alone map[int64]bool
	// counted is the thread's previous token count, by the offset of a count that gives only totals.
	counted map[int64]total
	// began is when the part began.
	began record
}

// noLimit is the limit of the session's own parts.
const noLimit = math.MaxInt64

// lineage finds the parts of a session.
type lineage struct {
	ctx    context.Context
	format *format
	in     engine.In
	names  *names
	// mine are the rollouts of the session itself.
	mine  []string
	known map[string]*part
	// list are the parts, each behind its base.
	list   []*part
	faults []model.Fault
}

// Codes of faults. Codex's own errors describe a broken lineage in the same words.
const (
	// FaultLineage: the history of a rollout cannot be resolved.
	FaultLineage = "broken-lineage"
	// FaultOrdinals: the records of a rollout are not numbered in a row.
	FaultOrdinals = "ordinal-gap"
	// FaultHeader: the first record of a rollout is no header.
	FaultHeader = "no-header"
	// FaultName: the name of a rollout has another id than its header.
	FaultName = "other-name"
	// FaultDepends: a session has its history in a rollout that may go.
	FaultDepends = "history-elsewhere"
	// FaultPacked: not all of a packed rollout can be unpacked.
	FaultPacked = "damaged-pack"
	// FaultIndex: the index of threads names a rollout that is not there.
	FaultIndex = "index-names-missing-rollout"
	// FaultAlone: messages stand in events alone.
	FaultAlone = "messages-in-events-alone"
	// FaultIndexRead: the index of threads cannot be read.
	FaultIndexRead = "unreadable-index"
)

// resolvedPart returns the part of a rollout with its base resolved. It returns nil if the file does not exist, or
// while the part is being resolved.
func (l *lineage) resolvedPart(name string) (*part, error) {
	if p, known := l.known[name]; known {
		return p, nil
	}
	l.known[name] = nil // until its base is known: a circle ends here
	file, err := l.readRollout(name)
	if errors.Is(err, fs.ErrNotExist) {
		delete(l.known, name)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if why := l.format.damageOf(name); why != nil {
		l.faults = append(l.faults, model.Fault{
			Code: FaultPacked, Severity: model.Stops, File: name, Meaning: "the packed rollout cannot be unpacked to its end: " + why.Error(), Verdict: "Codex cannot resume the session; Hindcast shows the records that exist",
		})
	}
	p := &part{name: name, file: file}
	if slices.Contains(l.mine, name) {
		p.limit = noLimit
	}
	for i := range file.Records {
		if r := &file.Records[i].Is; r.header != nil {
			p.head, p.began = r.header, *r
			break
		}
	}
	if p.head != nil && p.head.base != nil {
		if err := l.resolveBase(p, p.head.base); err != nil {
			return nil, err
		}
	}
	l.known[name] = p
	l.list = append(l.list, p)
	return p, nil
}

func (l *lineage) readRollout(name string) (*chat.File[record], error) {
	return l.format.lines.Read(l.ctx, l.format.inputFor(l.in, name), name)
}

// resolveBase finds the part that the history of another one comes from.
func (l *lineage) resolveBase(p *part, at *position) error {
	name, err := l.findSource(p.name, at)
	if err != nil {
		return err
	}
	if name == "" {
		l.noteBroken(p, "missing source rollout")
		return nil
	}
	best, err := l.resolvedPart(name)
	if err != nil {
		return err
	}
	if best == nil {
		l.noteBroken(p, "cycle detected")
		return nil
	}
	p.base, p.from = best, at.end
	best.limit = max(best.limit, at.end)
	if best.head != nil && best.head.mode != p.head.mode {
		l.noteBroken(p, "source rollout mixes history modes")
	}
	if best.head == nil || best.head.thread != l.names.threadOf(best.name) {
		l.noteBroken(p, "source rollout filename or metadata belongs to another thread")
	}
	switch end, err := l.behindLine(best, at.end); {
	case err != nil:
		return err
	case at.end > best.file.Size:
		l.noteBroken(p, "cutoff byte offset is past the source rollout")
	case !end:
		l.noteBroken(p, "cutoff byte offset is not at a complete JSONL record")
	}
	return nil
}

// findSource returns the rollout that contains a position. This is the rollout with the position's id or, if the
// id is a thread's, the segment that has the ordinal at that offset. It returns "" if no rollout fits. The
// first segment of a thread may be gone, and the other segments hold other parts of the history.
func (l *lineage) findSource(but string, at *position) (best string, err error) {
	list := slices.Clone(l.names.rollouts[at.rollout])
	named := len(list)
	if i, known := l.names.threads[at.rollout]; known {
		list = append(list, l.names.rolloutsOf(l.names.spots[i])...)
	} else if named > 0 {
		list = append(list, l.names.rolloutsOf(chat.Spot{File: list[0]})...)
	}
	for k, name := range list {
		file, err := l.readRollout(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) || name == but:
		case err != nil:
			return "", err
		case at.isIn(file):
			return name, nil
		case best == "" && k < named:
			best = name
		}
	}
	return best, nil
}

// isIn reports whether the record before a position is the one before its ordinal.
func (at *position) isIn(file *chat.File[record]) bool {
	i, found := slices.BinarySearchFunc(file.Records, at.end, func(r chat.Record[record], end int64) int { return cmp.Compare(r.At, end) })
	if i == 0 || !found && at.end > file.Size {
		return false
	}
	before := file.Records[i-1].Is.ordinal
	return before < 0 || before == at.ordinal-1
}

// toldAlone returns the records of events whose message is in no item. Codex writes an event and its item next
// to each other, in either order. An item farther away counts only if its words are the same.
func (p *part) toldAlone() (alone map[int64]bool) {
	taken := map[int]bool{} // items that an event repeats
	list := p.file.Records
	for i := range list {
		event := &list[i].Is
		if !event.tells || list[i].At >= p.limit {
			continue
		}
		found := false
		for _, step := range []int{-1, 1} {
			near := true
			for k := i + step; k >= 0 && k < len(list) && !found; k += step {
				is := &list[k].Is
				same := is.said.Role == event.said.Role
				again := is.tells && is.is != event.is && is.said.Words == event.said.Words
				if found = step < 0 && same && again; is.tells && same && !again {
					break // it has an item of its own
				}
				if !is.isEntry() || is.injected || is.thought {
					continue
				}
				found = same && !taken[k] && len(is.said.Calls) == 0 && (near || is.said.Words == event.said.Words)
				taken[k] = taken[k] || found
				near = false
			}
		}
		if !found {
			if alone == nil {
				alone = map[int64]bool{}
			}
			alone[list[i].At] = true
		}
	}
	return alone
}

// behindLine reports whether a place in a file is behind the end of a line.
func (l *lineage) behindLine(p *part, at int64) (bool, error) {
	if at <= 0 || at > p.file.Size {
		return false, nil
	}
	raw, err := l.format.rawRecords(l.in, p.name, chat.Span{At: at - 1, Len: 1})
	return err == nil && raw[0][0] == '\n', err
}

func (l *lineage) noteBroken(p *part, why string) {
	if p.broken != "" {
		p.broken += ", "
	}
	p.broken += why
	l.faults = append(l.faults, model.Fault{
		Code: FaultLineage, Severity: model.Stops, File: p.name,
		Meaning: fmt.Sprintf("invalid paginated history lineage for %.40q: %s", l.names.threadOf(l.mine[0]), why),
		Verdict: "Codex refuses to resume the session; Hindcast shows the records that exist",
	})
}
