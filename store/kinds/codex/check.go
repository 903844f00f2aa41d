package codex

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store/engine"
)

// recordFaults returns the faults in the records of a rollout.
func (p *part) recordFaults() (list []model.Fault) {
	if len(p.file.Records) == 0 {
		return nil
	}
	if p.file.Records[0].Is.header == nil {
		list = append(list, model.Fault{Code: FaultHeader, Severity: model.Stops, File: p.name, Meaning: "the first record is no header of a session", Verdict: "Codex does not list the session"})
	}
	if thread, _ := threadOf(p.name); p.head != nil && p.limit == noLimit && isUUID(thread) && p.head.thread != thread {
		list = append(list, model.Fault{Code: FaultName, Severity: model.Odd, File: p.name, Meaning: fmt.Sprintf("the header names the thread %.40q, and the file name another one", p.head.thread), Verdict: "Codex finds the session by either id, and goes on under the id in the header"})
	}
	before := int64(-1)
	for i := range p.file.Records {
		r := &p.file.Records[i]
		if r.Is.ordinal < 0 {
			continue
		}
		if before >= 0 && r.Is.ordinal != before+1 {
			list = append(list, model.Fault{
				Code: FaultOrdinals, Severity: model.Loses, File: p.name, Path: fmt.Sprintf("line %d, byte %d", r.Number, r.At),
				Meaning: fmt.Sprintf("the record has the ordinal %d behind %d: records are missing, or stand twice", r.Is.ordinal, before),
				Verdict: "Codex orders the turns by their ordinals",
			})
			break
		}
		before = r.Is.ordinal
	}
	if p.base != nil && p.base.limit < noLimit {
		where, severity := p.base.name, model.Note
		if strings.HasPrefix(where, archived+"/") {
			where, severity = where+", which is archived", model.Odd
		}
		list = append(list, model.Fault{
			Code: FaultDepends, Severity: severity, File: p.name,
			Meaning: fmt.Sprintf("the first part of the session is in %s", where),
			Verdict: "Codex cannot resume the session once that file is gone; a fork by Hindcast stands by itself",
		})
	}
	return list
}

// Check implements chat.Checker: it reads the index of threads and the names of rollouts.
func (f *format) Check(ctx context.Context, in engine.In) (list []model.Fault, err error) {
	n, err := f.currentNames(ctx, in)
	if err != nil {
		return nil, err
	}
	index := f.currentIndex(ctx, in)
	if index.err != nil {
		list = append(list, model.Fault{Code: FaultIndexRead, Severity: model.Odd, File: index.file, Meaning: "the index of threads cannot be read: " + index.err.Error(), Verdict: "Hindcast takes the newest segment of a session for its head"})
	}
	there := map[string]bool{}
	for file := range n.of {
		there[baseName(file)] = true
	}
	for _, id := range slices.Sorted(maps.Keys(index.rows)) {
		if _, known := n.threads[id]; !known && index.dir == f.dir {
			continue // a session without a file says so itself
		}
		if name := baseName(index.rows[id].rollout); name != "." && !there[name] {
			list = append(list, model.Fault{
				Code: FaultIndex, Severity: model.Odd, File: index.file, Path: fmt.Sprintf("%.40q", id),
				Meaning: fmt.Sprintf("the index names the rollout %.120q, which is not there", name),
				Verdict: "Codex looks for the newest rollout of the thread",
			})
		}
	}
	return list, nil
}
