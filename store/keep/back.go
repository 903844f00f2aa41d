package keep

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/disk"
	"hindcast/store/media/journal"
)

// TakenError says that another file is where one is to be given back.
type TakenError struct{ Path string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("%s is another file now, and nothing is written over it", e.Path)
}

// backPlan is the Carry of a plan that gives a session back.
type backPlan struct {
	session string
	// files are missing, and the journal does not reach the files beside.
	files, beside []backFile
	// made is the plan of the store that takes the session as a new one, and anew the change that it is of. The store is nil if the files
	// take their places.
	made model.Plan
	into store.Store
	anew model.Change
	over []backFile
}

// planBack plans to give a session back: each of its files that is missing, at its place. Where that does not bring the
// session back, because another file is in its way, it plans a new session.
func (s *goneStore) planBack(ctx context.Context, c model.Change) (plan model.Plan, err error) {
	if why := lacksOf(c.Op); why != "" {
		return plan, &model.UnsupportedError{Op: c.Op, Reason: why}
	}
	if c.Op == model.OpForget {
		if s.made != nil {
			return s.planRowsForget(ctx, c)
		}
		return s.planForget(ctx, c)
	}
	if c.Op == model.OpUndo || c.Op == model.OpRedo {
		live, err := s.openLive(ctx)
		if err == nil && live == nil {
			err = &model.NothingToError{Op: c.Op}
		}
		if err != nil {
			return plan, err
		}
		return live.Features().Plan(ctx, c)
	}
	session := c.Ref.Session
	if err := s.findGone(ctx, session); err != nil {
		return plan, err
	}
	if s.made != nil {
		if plan, err = s.planRowsBack(ctx, c); err != nil {
			err = fmt.Errorf("give back %q: %w", session, err)
		}
		return plan, err
	}
	list, err := s.sessionFiles(ctx, session)
	if err != nil {
		return plan, fmt.Errorf("give back %q: %w", session, err)
	}
	missing, over, taken, err := s.sortFiles(ctx, list)
	if err == nil && taken == nil {
		plan, taken, err = s.planFiles(ctx, session, missing, over)
	}
	if err == nil && taken != nil {
		plan, err = s.planNew(ctx, c, over, taken)
	}
	if err != nil {
		return model.Plan{}, fmt.Errorf("give back %q: %w", session, err)
	}
	return plan, nil
}

// sortFiles returns the files of a session that are missing, and all that are not as they were kept. taken is the place of a file that
// another file has, or nil.
func (s *goneStore) sortFiles(ctx context.Context, list []backFile) (missing, over []backFile, taken *TakenError, err error) {
	for _, b := range list {
		is, err := s.compareFile(ctx, b)
		if err != nil {
			return nil, nil, nil, err
		}
		if is == sameFile {
			continue
		}
		over = append(over, b)
		switch {
		case is == noFile:
			missing = append(missing, b)
		case !b.f.goneAt.IsZero() && taken == nil: // else it may be an index, with which the tool went on
			taken = &TakenError{filepath.FromSlash(b.name)}
		}
	}
	return missing, over, taken, nil
}

// planFiles plans to write the files that are missing. taken is a file for which the tool would not have the session then.
func (s *goneStore) planFiles(ctx context.Context, session string, missing, over []backFile) (plan model.Plan, taken *TakenError, err error) {
	carry := &backPlan{session: session, files: missing}
	plan = model.Plan{Op: model.OpGiveBack, Session: session, Carry: carry}
	if len(over) > len(missing) {
		if taken, err = s.findTaken(ctx, session, missing, over); taken != nil || err != nil {
			return plan, taken, err
		}
	}
	on, err := s.openLaid(ctx, s.allMissing(), false)
	if err != nil {
		return plan, nil, err
	}
	defer on.Close() // nothing is written
	dir, _, _ := on.Features().LabelFile(ctx, session)
	for _, b := range missing {
		plan.Files = append(plan.Files, model.PlanFile{Path: s.shownPath(b.name), Does: model.FilePutBack, Size: b.f.size})
		if !isJournaled(dir, b) {
			carry.beside = append(carry.beside, b)
		}
	}
	for h, err := range s.Headers(ctx, session) {
		if err != nil {
			return plan, nil, err
		}
		if h.Head || plan.Target.ID == "" {
			plan.Target = h.Point()
		}
	}
	if n := len(carry.beside); n > 0 {
		plan.Hazards = append(plan.Hazards, fmt.Sprintf("an undo leaves %s, such as %s", model.Count(n, "file"), s.shownPath(carry.beside[0].name)))
	}
	if plan.Final = len(missing) == len(carry.beside); !plan.Final {
		plan.Writes = append(plan.Writes, "journal: one entry")
	}
	if slices.ContainsFunc(missing, func(b backFile) bool { return b.f.redacted }) {
		plan.Hazards = append([]string{redactedHazard}, plan.Hazards...)
	}
	plan.Loads = "the session as it was kept: " + model.Count(len(missing), "file") + " with all bytes, modes and times"
	return plan, nil, ctx.Err()
}

// findTaken returns a file for which the tool does not have the session when the missing files are back, nil if it has it.
func (s *goneStore) findTaken(ctx context.Context, session string, missing, over []backFile) (*TakenError, error) {
	on, err := s.openLaid(ctx, missing, false)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil { // else there is no store with the other file
		defer on.Close() // nothing is written
		if sameHeaders(ctx, on, s.Store, session) {
			return nil, nil
		}
	}
	for _, b := range over {
		if !isMissing(b.name) {
			return &TakenError{filepath.FromSlash(b.name)}, nil
		}
	}
	return nil, nil
}

// allMissing returns the kept files of the store that are missing. With all of them a session has the name that it had.
func (s *goneStore) allMissing() (list []backFile) {
	for name, f := range s.source.files {
		if isMissing(name) {
			list = append(list, backFile{name, f})
		}
	}
	return list
}

// isJournaled reports whether the journal of a storage can have a file: it lies in the storage under a name that is UTF-8, and is no file of
// the journal.
func isJournaled(dir string, b backFile) bool {
	below, is := strings.CutPrefix(b.name, filepath.ToSlash(dir)+"/")
	return is && dir != "" && fs.ValidPath(below) && !isBelow(below, journal.Folder) && b.f.size <= disk.MaxSize
}

// planNew plans a new session of the records of the kept one, because another file is in the way: up to its head, or to the last snapshot
// before it that the kind goes on from.
func (s *goneStore) planNew(ctx context.Context, c model.Change, over []backFile, taken *TakenError) (plan model.Plan, err error) {
	session := c.Ref.Session
	refuse := func(why string) (model.Plan, error) {
		return model.Plan{}, &model.UnsupportedError{Op: c.Op, Reason: fmt.Sprintf("%v, and it cannot become a new session: %s", taken, why)}
	}
	on, err := s.openLaid(ctx, over, true)
	if err != nil {
		return plan, err
	}
	s.keepOpen(on)
	if why := store.Reason(on, model.OpFork); why != "" {
		return refuse(why)
	}
	if c.As == "" && !store.NamesForks(on) {
		c.As = session + "-kept"
	}
	change := model.Change{Op: model.OpFork, Ref: model.Ref{Session: session}, As: c.As, Gone: true}
	made, left, err := planLastFork(ctx, on, &change)
	var unsupported *model.UnsupportedError
	if errors.As(err, &unsupported) {
		return refuse(unsupported.Reason)
	}
	if err != nil {
		return plan, err
	}
	change.As = made.NewSession
	plan = made
	plan.Op, plan.Carry = model.OpGiveBack, &backPlan{session: session, made: made, into: on, anew: change, over: over}
	plan.Hazards = append([]string{fmt.Sprintf("%v: it becomes a new session, which is not byte for byte the kept one", taken)}, plan.Hazards...)
	if left > 0 {
		plan.Hazards = append(plan.Hazards, fmt.Sprintf("%s at the end stay in the archive: nothing goes on from there", model.Count(left, "snapshot")))
	}
	return plan, nil
}

// planLastFork plans a fork from the head of a session, or from the last snapshot before it that the kind goes on from, which it names in
// the change. left counts the snapshots behind that.
func planLastFork(ctx context.Context, s store.Store, c *model.Change) (plan model.Plan, left int, err error) {
	parents := map[string]string{}
	for h, err := range s.Headers(ctx, c.Ref.Session) {
		if err != nil {
			return plan, 0, err
		}
		if parents[h.ID] = h.ParentID; h.Head {
			c.Ref.ID = h.ID
		}
	}
	for ; ; left++ {
		plan, err = s.Features().Plan(ctx, *c)
		parent := parents[c.Ref.ID]
		if !errors.As(err, new(*model.UnsupportedError)) || parent == "" || left > len(parents) {
			return plan, left, err
		}
		c.Ref.ID = parent
	}
}

// keepOpen has a store be closed with this one.
func (s *goneStore) keepOpen(other store.Store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, other)
}

// shownPath returns the name of a file below the address of the store, or its whole name.
func (s *goneStore) shownPath(name string) string {
	if below, is := strings.CutPrefix(name, filepath.ToSlash(s.of.at)+"/"); is {
		return below
	}
	return name
}

// presence compares the place of a kept file with it.
type presence uint8

const (
	noFile presence = iota
	sameFile
	otherFile
)

// compareFile looks at the place of a file.
func (s *goneStore) compareFile(ctx context.Context, b backFile) (presence, error) {
	at := filepath.FromSlash(b.name)
	info, err := os.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return noFile, nil
	}
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() || info.Size() != b.f.size {
		return otherFile, nil
	}
	data, err := os.ReadFile(at)
	if err != nil {
		return 0, err
	}
	if b.f.redacted {
		if err := maskSecrets(data); err != nil {
			return 0, err
		}
	}
	kept, err := s.a.readFile(ctx, b.f)
	if err != nil || bytes.Equal(data, kept) {
		return sameFile, err
	}
	return otherFile, nil
}

// readFile reads a kept file whole.
func (a *Archive) readFile(ctx context.Context, f *keptFile) ([]byte, error) {
	data := make([]byte, f.size)
	_, err := a.readAt(ctx, f.list, data, 0)
	return data, err
}

// applyBack carries out a plan of planBack. A file that appeared at one of the places stops it.
func (s *goneStore) applyBack(ctx context.Context, plan model.Plan) (done model.Receipt, err error) {
	if forget, is := plan.Carry.(*forgetPlan); is {
		return s.applyForget(ctx, forget)
	}
	if rows, is := plan.Carry.(*rowsPlan); is {
		return s.applyRows(ctx, plan, rows)
	}
	carry, is := plan.Carry.(*backPlan)
	switch {
	case !is:
		live, err := s.openLive(ctx)
		if err != nil || live == nil {
			return done, cmp.Or(err, error(&model.UnsupportedError{Op: plan.Op, Reason: whyNot}))
		}
		return live.Features().Apply(ctx, plan)
	case carry.into != nil:
		return s.makeNew(ctx, carry)
	}
	for _, b := range carry.beside {
		if err := s.a.giveBack(ctx, b.name, b.f); err != nil {
			return done, fmt.Errorf("give back %q: %w", carry.session, err)
		}
	}
	done = model.Receipt{Op: model.OpGiveBack, Session: carry.session, Head: plan.Target}
	if len(carry.files) > len(carry.beside) {
		if done.Entry, err = s.writeFiles(ctx, carry); err != nil {
			return done, fmt.Errorf("give back %q: %w", carry.session, err)
		}
	}
	return done, nil
}

// openInFolder opens the store with kept files laid over it, in the folder dir that has its journal. It makes that folder unless it exists.
func (s *goneStore) openInFolder(ctx context.Context, session string, list []backFile, deep bool) (on store.Store, dir string, err error) {
	for made := false; ; made = true {
		if on, err = s.openLaid(ctx, list, deep); err != nil {
			return nil, "", err
		}
		if dir, _, _ = on.Features().LabelFile(ctx, session); made || isFolder(dir) {
			return on, dir, nil
		}
		if err = errors.Join(os.MkdirAll(dir, 0o700), on.Close()); err != nil {
			return nil, "", err
		}
	}
}

// makeNew makes the new session of a plan.
func (s *goneStore) makeNew(ctx context.Context, carry *backPlan) (done model.Receipt, _ error) {
	into, err := carry.into, error(nil)
	if dir, _, _ := into.Features().LabelFile(ctx, carry.session); !isFolder(dir) {
		if into, _, err = s.openInFolder(ctx, carry.session, carry.over, true); err != nil {
			return done, err
		}
		s.keepOpen(into)
		if carry.made, err = into.Features().Plan(ctx, carry.anew); err != nil {
			return done, err
		}
	}
	done, err = into.Features().Apply(ctx, carry.made)
	done.Op = model.OpGiveBack
	return done, err
}

// writeFiles writes the files of a plan in one entry of the journal of their storage, and returns its number.
func (s *goneStore) writeFiles(ctx context.Context, carry *backPlan) (entry int64, err error) {
	on, dir, err := s.openInFolder(ctx, carry.session, s.allMissing(), false)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	var list []store.GivenFile
	var journaled []backFile
	for _, b := range carry.files {
		if !isJournaled(dir, b) {
			continue
		}
		data, err := s.a.readFile(ctx, b.f)
		if err != nil {
			return 0, err
		}
		below, _ := strings.CutPrefix(b.name, filepath.ToSlash(dir)+"/")
		list, journaled = append(list, store.GivenFile{Name: below, Data: data, Mode: b.f.mode}), append(journaled, b)
	}
	plan, err := on.Features().PlanGiveBack(ctx, carry.session, list)
	if err != nil {
		return 0, err
	}
	for _, f := range plan.Files {
		if f.Does != model.FileWritten && f.Does != model.FileMade {
			return 0, &TakenError{filepath.Join(dir, filepath.FromSlash(f.Path))}
		}
	}
	done, err := on.Features().Apply(ctx, plan)
	for i := 0; i < len(journaled) && err == nil; i++ {
		modified := time.Unix(0, journaled[i].f.modified)
		err = os.Chtimes(filepath.FromSlash(journaled[i].name), modified, modified)
	}
	return done.Entry, err
}

// giveBack writes a file with the bytes, the mode and the time that it had. It never replaces one.
func (a *Archive) giveBack(ctx context.Context, name string, f *keptFile) (err error) {
	at := filepath.FromSlash(name)
	dir := filepath.Dir(at)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	made, err := os.CreateTemp(dir, ".hindcast-back-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(made.Name())) }()
	err = a.copyFile(ctx, made, f)
	if err == nil {
		err = made.Chmod(f.mode)
	}
	if err = errors.Join(err, made.Sync(), made.Close()); err != nil {
		return err
	}
	modified := time.Unix(0, f.modified)
	if err := os.Chtimes(made.Name(), modified, modified); err != nil {
		return err
	}
	if err := os.Link(made.Name(), at); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return &TakenError{path.Clean(at)}
		}
		return err
	}
	return nil
}

// copySize is how many bytes of a file are copied at once.
const copySize = 4 << 20

// copyFile writes the bytes of a kept file.
func (a *Archive) copyFile(ctx context.Context, to io.Writer, f *keptFile) error {
	buf := make([]byte, min(copySize, f.size))
	for at := int64(0); at < f.size; {
		n, err := a.readAt(ctx, f.list, buf[:min(int64(len(buf)), f.size-at)], at)
		if err != nil {
			return err
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return err
		}
		at += int64(n)
	}
	return ctx.Err()
}
