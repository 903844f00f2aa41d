package claudecode

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
)

// Codes of faults.
const (
	// FaultPointer: the newest last-prompt names a record that is not in the file.
	FaultPointer = "pointer-missing"
	// FaultKept: a compaction keeps messages that are not in the file.
	FaultKept = "kept-missing"
	// FaultStray: records name a parent that is not in the file.
	FaultStray = "parent-replaced"
	// FaultChain: Claude Code reads one piece of a broken chain.
	FaultChain = "chain-broken"
	// FaultWriters: two programs wrote to the session at once.
	FaultWriters = "two-writers"
	// FaultCompacted: the model no longer reads messages that the file has.
	FaultCompacted = "compacted"
	// FaultPruned: Claude Code is about to delete sessions for their age.
	FaultPruned = "pruned-soon"
)

// noteFaults notes what is wrong with the records of a session.
func (b *build) noteFaults() {
	add := func(code string, severity model.Severity, meaning, verdict string) *model.Fault {
		return b.s.Fault(code, severity, "", meaning, verdict)
	}
	if b.pointer != nil {
		if _, there := b.at[b.pointer.leaf]; !there {
			add(FaultPointer, model.Odd, fmt.Sprintf("the newest last-prompt names the record %.60q, which is not in the file", b.pointer.leaf), "Claude Code goes on from the last record")
		}
	}
	if n := len(b.strays); n > 0 {
		first := &b.file.Records[slices.Min(slices.Collect(maps.Keys(b.strays)))]
		add(FaultStray, model.Mended, fmt.Sprintf("the parent of %s is not in the file, first %.60q of line %d", model.Count(n, "record"), first.Is.parent, first.Number), "Claude Code goes on behind the newest record of the 5 seconds before")
	}
	if n := b.countLeft(model.ReasonChainBroken); n > 0 {
		add(FaultChain, model.Loses, model.Count(n, "message")+" in other pieces than the head: the chain is broken where the file has no parent of a record", "Claude Code goes on from one piece, and does not read the others").Joins = true
	}
	if n := len(b.missing); n > 0 {
		add(FaultKept, model.Loses, fmt.Sprintf("a compaction keeps %s that the file does not have: %.60q", model.Count(n, "record"), b.missing[0]), "Claude Code then keeps none at all")
	}
	if n := b.countReturns(); n > 0 {
		add(FaultWriters, model.Odd, "two programs wrote at once: the records go back to a branch that was left, "+model.Count(n, "time"), "Claude Code goes on from one branch, and does not read the other")
	}
	n, kept := 0, -1
	for at := b.s.Head; at >= 0; at = b.s.Before(at) {
		if reads := b.s.Entries[at].Context; kept >= 0 {
			n++
		} else if reads != nil {
			kept = len(reads) - 1
		}
	}
	if n > kept && kept >= 0 {
		add(FaultCompacted, model.Note, model.Count(n-kept, "message")+" on the path are before a compaction", "the model reads the summary; a fork from before it has them all")
	}
	if b.headed {
		add(FaultCompacted, model.Note, "what was before a compaction is not in the file: Claude Code's own forks begin so", "the model reads the summary")
	}
}

// countLeft counts the messages that are off the path for a reason.
func (b *build) countLeft(kind model.ReasonKind) (n int) {
	for i := range b.s.Entries {
		if why := b.s.Entries[i].Reason; why != nil && why.Kind == kind {
			n++
		}
	}
	return n
}

// countReturns counts how often the records go back to a branch that they had left. A single program never
// does that.
func (b *build) countReturns() (n int) {
	steps := 16 * len(b.nodes) // a file may turn around at each record
	last := -1
	for _, i := range b.order {
		is, before := &b.file.Records[i].Is, b.up[i]
		if !is.tree || is.side {
			continue
		}
		if before >= 0 && last >= 0 && before != last {
			at, to := b.nodes[last].entry, b.nodes[before].entry
			for ; at > to && steps > 0; at = b.s.Before(at) { // a parent comes before its child
				steps--
			}
			if at >= 0 && at != to && steps > 0 {
				n++
			}
		}
		last = i
	}
	return n
}

const (
	// keptDays is how long Claude Code keeps a session that is not written to, unless the
	// setting cleanupPeriodDays says otherwise; soonDays is how long before that doctor tells.
	keptDays, soonDays = 30, 3
	// settingsFile is beside the folder of all sessions.
	settingsFile = "settings.json"
)

// Check implements chat.Checker: Claude Code deletes sessions for their age.
func (f *format) Check(ctx context.Context, in engine.In) (list []model.Fault, err error) {
	spots, err := f.Spots(ctx, in)
	if err != nil {
		return nil, err
	}
	days, n, oldest := daysKept(f.dir), 0, ""
	limit := in.Now.Add(-time.Duration((days - soonDays) * 24 * float64(time.Hour)))
	at := limit
	for _, spot := range spots {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		look, err := in.Stamp(spot.File)
		if err != nil || look.Kind == files.Nothing || isAgent(spot.File) || !look.Modified.Before(limit) {
			continue
		}
		if n++; look.Modified.Before(at) {
			oldest, at = spot.File, look.Modified
		}
	}
	if n > 0 {
		list = append(list, model.Fault{Code: FaultPruned, Severity: model.Note, File: oldest, Meaning: fmt.Sprintf("%s not written to for %.0f days or longer, this one for the longest", model.Count(n, "session"), days-soonDays), Verdict: fmt.Sprintf("Claude Code deletes sessions that are older than %.0f days when it starts", days)})
	}
	return list, nil
}

// daysKept returns for how many days Claude Code keeps a session in a folder, as the settings beside the projects say.
func daysKept(dir string) float64 {
	if filepath.Base(dir) != projects {
		return keptDays
	}
	if days := chat.ReadSettings(filepath.Dir(dir), settingsFile).Get("cleanupPeriodDays").Number(); days > 0 && days < 1e5 {
		return days
	}
	return keptDays
}

// lifetimeOf returns how long Claude Code keeps a session, 0 for a copy of its folder, which it does not clean.
func lifetimeOf(dir string) time.Duration {
	above := filepath.Dir(dir)
	_, err := os.Stat(filepath.Join(above, settingsFile))
	if filepath.Base(dir) != projects || err != nil && filepath.Base(above) != ".claude" {
		return 0
	}
	return time.Duration(daysKept(dir) * 24 * float64(time.Hour))
}

// ReadCarried implements chat.Carrier. Records of other types that are known are bookkeeping, or what
// Claude Code says to the person.
func (f *format) ReadCarried(ctx context.Context, in engine.In, s *chat.Session) ([]chat.Carried, error) {
	if s.Spot.Part != "" { // the file is looked through for the session around it
		return nil, nil
	}
	return chat.CarriedIn(ctx, in, s.Spot.File, false, func(v chat.Value) (string, []chat.Value) {
		switch kind := v.Get("type").Text(); {
		case v.Get("isSidechain").True() && !isAgent(s.Spot.File): // it is in the session of a sub-agent
		case kind == typeUser, kind == typeAssistant:
			return kind, []chat.Value{v}
		case kind == typeAttachment && v.Get(typeAttachment, "type").Text() == queued:
			return kind, []chat.Value{v.Get(typeAttachment)}
		case types()[kind] == nil:
			return kind, []chat.Value{v}
		}
		return "", nil
	})
}
