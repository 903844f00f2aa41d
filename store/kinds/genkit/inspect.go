package genkit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// findFaults returns the faults of a session; it reads every row whole.
func (p *part) findFaults(ctx context.Context, in engine.In, log *engine.Log) ([]model.Fault, error) {
	one := sessionOf(log)
	one.now = in.Now
	faults := one.sessionFaults()
	if err := one.stateFaults(ctx, in, faults); err != nil {
		return nil, err
	}
	p.journalFault(ctx, faults, p.files.Storage.Broken())
	return faults.All(), nil
}

// fileOf returns the name of a row's file in the storage.
func (s *session) fileOf(id string) string { return tree.Join(s.place.dir, id+rowSuffix) }

// pointerFile returns the name of the session's pointer.
func (s *session) pointerFile() string {
	return path.Join(s.place.dir, pointersFolder, s.sid+rowSuffix)
}

// sessionFaults returns the faults of a session that its rows show without their states.
func (s *session) sessionFaults() *store.FaultList {
	in := inspector{session: s, parents: make(map[string]bool, len(s.rows))}
	for _, r := range s.rows {
		if r.parentID != r.id {
			in.parents[r.parentID] = true
		}
	}
	for _, r := range s.rows {
		for _, f := range r.flaws {
			in.addRowFault(r, f.code, f.path, f.meaning)
		}
		in.inspectStatus(r)
		in.inspectParent(r)
	}
	in.inspectCircles()
	in.inspectTimes()
	in.inspectLeaves()
	in.inspectPointer()
	return &in.list
}

// inspector finds out what is wrong with a session.
type inspector struct {
	*session
	// parents are the ids that rows name as their parents, their own left out.
	parents map[string]bool
	list    store.FaultList
}

func (in *inspector) addFault(code, file, at, meaning string) {
	in.list.Add(in.judgeFault(in.layout, model.Fault{Code: code, File: file, Path: at, Meaning: meaning}))
}

func (in *inspector) addRowFault(r *row, code, at, meaning string) {
	in.addFault(code, in.fileOf(r.id), at, meaning)
}

// inspectStatus looks at how the work of a row ended, if it did.
func (in *inspector) inspectStatus(r *row) {
	if r.status == statusAborting {
		in.addRowFault(r, FaultAborting, "/status", fmt.Sprintf("the row is aborting, a status that there is since Go %s", waitsAborting.FirstVersion()))
	}
	switch {
	case r.isWorking() && r.isStale(in.now):
		in.addRowFault(r, FaultExpired, "/heartbeatAt", fmt.Sprintf("it is %s, and its worker last gave a sign of life %s ago", r.status, formatAge(in.now.Sub(r.heartbeat.at))))
	case !r.isWorking() && r.heartbeat.text != "":
		in.addRowFault(r, FaultHeartbeat, "/heartbeatAt", "the work is over, and its sign of life was left behind")
	}
	if r.status == statusAborted && !r.hasState {
		in.addRowFault(r, FaultAbortedEmpty, "/state", "it was aborted before it recorded a state")
	}
	if (in.layout != layoutGo || in.refusesFailed(r)) && (r.status == statusFailed || r.status == statusAborted) && !in.parents[r.id] {
		in.addRowFault(r, FaultFailedLeaf, "/status", "it is "+r.status+", and nothing can follow it")
	}
}

// formatAge writes a duration in few characters.
func formatAge(d time.Duration) string {
	if d >= 48*time.Hour {
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
	return d.Truncate(time.Second).String()
}

// inspectParent looks for the parent that a row names.
func (in *inspector) inspectParent(r *row) {
	p := in.byID[r.parentID]
	switch {
	case r.parentID == "", in.isAside(r.parentID):
	case r.parentID == r.id:
		in.addRowFault(r, model.FaultSelfParent, "/parentId", "it is its own parent; the real one is not recorded")
	case p != nil:
		if !p.created.at.IsZero() && r.created.at.Before(p.created.at) {
			in.addRowFault(r, model.FaultParentNewer, "/parentId", fmt.Sprintf("its parent %.12q is newer by %v", p.id, p.created.at.Sub(r.created.at)))
		}
	default:
		in.absentParent(r)
	}
}

// isAside reports whether a write set a row aside: it is a branch of the session.
func (in *inspector) isAside(id string) bool {
	if in.log == nil || in.log.Aside[id] == nil {
		return false
	}
	return in.log.Aside[id].How == engine.SetAside
}

func (in *inspector) absentParent(r *row) {
	if !in.hasFile(r.parentID) {
		in.addRowFault(r, model.FaultMissingParent, "/parentId", fmt.Sprintf("its parent %.80q is not in the store: pruned, or never written", r.parentID))
		return
	}
	if other := in.findRow(r.parentID); other != nil {
		in.addRowFault(r, model.FaultForeignParent, "/parentId", fmt.Sprintf("its parent %.80q is of session %.80q", r.parentID, other.ownSession()))
		return
	}
	in.addRowFault(r, model.FaultMissingParent, "/parentId", fmt.Sprintf("its parent %.80q cannot be read", r.parentID))
}

// inspectCircles finds lineages that run in circles of two rows or more. Each walk up
// stops where one has been before, so that every row is passed once.
func (in *inspector) inspectCircles() {
	walks := make(map[*row]int, len(in.rows))
	for i, r := range in.rows {
		at := r
		for at != nil && walks[at] == 0 && at.parentID != at.id {
			walks[at] = i + 1
			at = in.byID[at.parentID]
		}
		if at != nil && walks[at] == i+1 && at.parentID != at.id {
			in.addRowFault(at, model.FaultParentCycle, "/parentId", "its lineage runs in a circle")
		}
	}
}

// inspectTimes compares the rows as the SDKs order them.
func (in *inspector) inspectTimes() {
	for i := 1; i < len(in.rows); i++ {
		a, b := in.rows[i-1], in.rows[i]
		switch {
		case a.created.at.IsZero():
		case a.created.at.Equal(b.created.at):
			in.addRowFault(b, model.FaultEqualTime, "/createdAt", fmt.Sprintf("it has the same time as %.12q", a.id))
		case a.created.text > b.created.text:
			in.addRowFault(b, FaultTimeOrder, "/createdAt", fmt.Sprintf("it is newer than %.12q, but its time %.40q is less as a text than %.40q", a.id, b.created.text, a.created.text))
		}
	}
}

// inspectLeaves looks at the shape of the whole.
func (in *inspector) inspectLeaves() {
	roots := 0
	for _, r := range in.rows {
		// A row of Hindcast's own begins a lineage where that of its state is a circle.
		if in.made[r] || in.isAside(r.parentID) || in.byID[r.parentID] != nil && r.parentID != r.id {
			continue
		}
		if roots++; roots > 1 {
			in.addRowFault(r, model.FaultSeveralRoots, "/parentId", "another row of the session has no parent in it either")
		}
	}
	if _, scanned := in.resumedRow(); scanned.err == noLeaf {
		in.addFault(FaultNoLeaf, in.place.dir, "", "every row of the session is the parent of one")
	}
}

// inspectPointer compares what the pointer says with the rows.
func (in *inspector) inspectPointer() {
	if in.sid == "" || in.layout == layoutPython || len(in.rows) == 0 && in.session.pointer == nil {
		return // none is needed where all rows were set aside
	}
	p := in.session.pointer
	switch {
	case !validName(in.sid):
		return
	case p == nil:
		in.addSearchFault(FaultPointerMissing, "", "the session has no pointer")
		return
	case p.err != nil:
		in.addSearchFault(FaultPointerFile, files.ErrorPath(p.err), "the pointer cannot be read: "+p.err.Error())
		return
	case in.pointedRow() == nil:
		in.addSearchFault(FaultPointerDangling, "/currentSnapshotId", fmt.Sprintf("it names %.80q, %s", p.current, in.whyNotPointed(p.current)))
		return
	}
	now, scanned := in.resumedRow()
	if found := scanned.row; found != nil && now.row != found {
		in.addFault(FaultPointerDisagrees, in.pointerFile(), "/currentSnapshotId", fmt.Sprintf("it names %.80q; a search would find %.80q", p.current, found.id))
	}
}

// addSearchFault tells of a pointer that is of no use, so that an SDK searches the rows.
func (in *inspector) addSearchFault(code, at, meaning string) {
	f := in.judgeFault(in.layout, model.Fault{Code: code, File: in.pointerFile(), Path: at, Meaning: meaning})
	if in.layout == layoutJS && len(in.blocking) > 0 {
		f.Severity, f.Verdict = model.Stops, fmt.Sprintf("Genkit %s: goes through all rows of the folder, and fails at %.80q, which it cannot read", in.layout, in.blocking[0])
	}
	in.list.Add(f)
}

// whyNotPointed explains why the SDKs cannot use the row that a pointer names.
func (in *inspector) whyNotPointed(id string) string {
	switch r := in.findRow(id); {
	case r == nil && in.hasFile(id):
		return "which cannot be read"
	case r == nil:
		return "which is not there"
	case in.byID[id] == nil:
		return fmt.Sprintf("which is of session %.80q", r.ownSession())
	case r.goRefuses():
		return "which cannot be read whole"
	case !validName(id):
		return "which cannot be the id of a snapshot"
	}
	return "whose state alone names the session"
}

// stateFaults reads each row whole.
func (s *session) stateFaults(ctx context.Context, t tree.Tree, faults *store.FaultList) error {
	var buf []byte
	for _, r := range s.rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.broken {
			continue
		}
		data, _, err := t.Read(s.fileOf(r.id), buf)
		if err != nil {
			continue // it went, or cannot be read any more
		}
		buf = data
		for _, f := range documentFlaws(data) {
			faults.Add(s.judgeFault(s.layout, model.Fault{Code: f.code, File: s.fileOf(r.id), Path: f.path, Meaning: f.meaning}))
		}
	}
	return nil
}

// documentFlaws returns the flaws inside a row that its outline does not show.
func documentFlaws(data []byte) (flaws []flaw) {
	tape, err := jsontape.Parse(data)
	if err != nil {
		return []flaw{{FaultRowFile, files.ErrorPath(err), "it is not JSON: " + err.Error()}}
	}
	state := tape.Find(0, "state")
	if state == jsontape.None {
		return nil
	}
	for n := state; n < tape.End(state); n++ {
		switch {
		case tape.IsShadowed(n) && n != state:
			flaws = append(flaws, flaw{FaultDuplicateKey, clipText(tape.Pointer(n)), "the key is there twice; the last one counts"})
		case tape.Kind(n) == jsontape.Number && isBigInteger(tape.Raw(n)):
			flaws = append(flaws, flaw{FaultBigInteger, clipText(tape.Pointer(n)), fmt.Sprintf("the integer %.40s is beyond 2^53", tape.Raw(n))})
		}
		if len(flaws) > 100 {
			break
		}
	}
	return flaws
}

// maxExact is 2^53, up to which a float64 has every integer.
const maxExact = "9007199254740992"

// isBigInteger reports whether a number is an integer, written without an
// exponent, that is beyond 2^53.
func isBigInteger(number []byte) bool {
	digits := strings.TrimPrefix(string(number), "-")
	if len(digits) < len(maxExact) || strings.ContainsAny(digits, ".eE") {
		return false
	}
	return len(digits) > len(maxExact) || digits > maxExact
}

// unreadableFolder describes how the SDKs handle a folder that cannot be read.
const unreadableFolder = "Genkit: a search for a session in it is an error, and so is each row in it that is asked for by its id"

// checkFiles returns the faults of files and folders in the storage that no session lists.
func (p *part) checkFiles(ctx context.Context, in engine.In) ([]model.Fault, error) {
	var faults store.FaultList
	err := searchFolders(ctx, in, p.storageName(p.dir), func(at place) bool {
		p.placeFaults(ctx, in, at, faults.Add)
		return true
	}, func(dir string, err error) {
		f := model.Fault{Code: FaultUnreadable, File: dir, Meaning: "the folder cannot be read: " + err.Error(), Severity: model.Stops, Verdict: unreadableFolder}
		if errors.Is(err, errFarOff) {
			f.Severity, f.Meaning, f.Verdict = model.Odd, err.Error(), "Genkit: goes where it is told; Hindcast alone ends its search here"
		}
		faults.Add(f)
	})
	p.journalFault(ctx, &faults, nil) // the medium tells of a write that was broken off
	return faults.All(), err
}

// journalFault tells of a write of Hindcast's own that could not be finished, or of a journal that cannot be
// read.
func (p *part) journalFault(ctx context.Context, faults *store.FaultList, broken error) {
	if broken == nil && p.files.Storage.Broken() == nil {
		_, broken = p.files.Storage.Entries(ctx)
	}
	if broken != nil && ctx.Err() == nil {
		f := p.files.Damage
		f.File, f.Meaning = engine.JournalFile, broken.Error()
		faults.Add(f)
	}
}

// traceFaults tells of traces that could not be joined.
func (s *Store) traceFaults(ctx context.Context) []model.Fault {
	j := s.joinedTraces()
	if j == nil {
		return nil
	}
	f := model.Fault{Code: FaultTraces, File: path.Join(".genkit", "traces"), Verdict: "Genkit: sessions do not need them; the Dev UI does not show them"}
	if _, err := j.All(ctx); err != nil {
		f.Meaning = "the folder cannot be read: " + files.Cause(err).Error()
		return []model.Fault{f}
	}
	passed := j.CountSkipped()
	if passed.Torn+passed.Unread == 0 {
		return nil
	}
	f.File, f.Path = path.Join(".genkit", passed.Name), files.ErrorPath(passed.Err)
	f.Meaning = fmt.Sprintf("%d traces are not whole and %d cannot be read; the last is: %v", passed.Torn, passed.Unread, passed.Err)
	return []model.Fault{f}
}

func (p *part) placeFaults(ctx context.Context, in engine.In, at place, tell func(model.Fault)) {
	g, err := p.readPlace(ctx, in, at)
	switch {
	case ctx.Err() != nil:
		return // the search says so
	case err != nil:
		tell(model.Fault{Code: FaultUnreadable, File: at.dir, Meaning: "the folder cannot be read: " + files.Cause(err).Error(), Severity: model.Stops, Verdict: unreadableFolder})
		return
	}
	l := g.mainLayout()
	add := func(code, name, pointer, meaning string) {
		f := g.judgeFault(l, model.Fault{Code: code, File: path.Join(at.dir, name), Path: pointer, Meaning: meaning})
		if code != FaultNameMismatch { // which is a whole row
			f = files.Stray(f)
		}
		tell(f)
	}
	for _, one := range g.strays {
		switch {
		case errors.Is(one.err, files.ErrSymlink):
			add(FaultSymlink, one.name, "", "the file is "+one.err.Error())
		case errors.Is(one.err, files.ErrNotRegular):
		case one.err != nil:
			add(FaultUnreadable, one.name, "", "the file cannot be read: "+one.err.Error())
		case one.claims != "":
			add(FaultNameMismatch, one.name, "/snapshotId", fmt.Sprintf("it says that it is snapshot %.80q", one.claims))
		case len(one.flaws) > 0 && one.flaws[0].code == FaultRowFile:
			add(FaultRowFile, one.name, one.flaws[0].path, one.flaws[0].meaning)
		default:
			add(FaultStray, one.name, "", "the file is no row: it has no snapshotId")
		}
	}
	for _, name := range at.links {
		add(FaultSymlink, name, "", "it is a symbolic link")
	}
	for _, name := range at.leftovers {
		if left, err := in.Stamp(path.Join(at.dir, name)); err == nil && left.IsAbandoned() {
			add(FaultLeftover, name, "", "a writer was stopped before it was done")
		}
	}
	pointerFaults(in, g, add)
}

// pointerFaults reports pointers whose sessions do not exist.
func pointerFaults(t tree.Tree, g *grouping, add func(code, name, at, meaning string)) {
	p := g.place
	if !p.pointers {
		return
	}
	names, err := t.List(path.Join(p.dir, pointersFolder))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			add(FaultUnreadable, pointersFolder, "", "the folder cannot be read: "+files.Cause(err).Error())
		}
		return
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		sid, isPointer := strings.CutSuffix(name, rowSuffix)
		at := path.Join(pointersFolder, name)
		switch {
		case isTemporary(name):
			if left, err := t.Stamp(path.Join(p.dir, at)); err == nil && left.IsAbandoned() {
				add(FaultLeftover, at, "", "a writer was stopped before it was done")
			}
		case !isPointer:
			add(FaultStray, at, "", "the file is no pointer")
		case g.sessions[sid] == nil:
			add(FaultPointerUnknown, at, "", "no row is of this session")
		}
	}
}

// mainLayout returns the layout of most sessions of a place.
func (g *grouping) mainLayout() layout {
	var votes [len(layoutNames)]int
	best := layoutGo
	for _, one := range g.sessions {
		votes[one.layout]++
	}
	for l := range votes {
		if votes[l] > votes[best] {
			best = layout(l)
		}
	}
	return best
}
