package keep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"hindcast/model"
)

// TakenError says that another file is where one is to be given back.
type TakenError struct{ Path string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("%s is another file now, and nothing is written over it", e.Path)
}

// backPlan is the Carry of a plan that gives a session back.
type backPlan struct {
	session string
	files   []backFile // those that are missing
}

// planBack plans to give a session back: each of its files that is missing, at its place. The error is a [TakenError]
// if another file is at one of them.
func (s *goneStore) planBack(ctx context.Context, c model.Change) (plan model.Plan, err error) {
	if why := lacksOf(c.Op); why != "" {
		return plan, &model.UnsupportedError{Op: c.Op, Reason: why}
	}
	session := c.Ref.Session
	if err := s.findGone(ctx, session); err != nil {
		return plan, err
	}
	list, err := s.sessionFiles(ctx, session)
	if err != nil {
		return plan, fmt.Errorf("give back %q: %w", session, err)
	}
	carry := &backPlan{session: session}
	plan = model.Plan{Op: model.OpGiveBack, Session: session, Carry: carry, Final: true}
	for _, b := range list {
		missing, err := s.isFree(ctx, b)
		if err != nil {
			return plan, err
		}
		if !missing {
			continue
		}
		carry.files = append(carry.files, b)
		plan.Files = append(plan.Files, model.PlanFile{Path: s.shownPath(b.name), Does: model.FilePutBack, Size: b.f.size})
	}
	for h, err := range s.Headers(ctx, session) {
		if err != nil {
			return plan, err
		}
		if h.Head || plan.Target.ID == "" {
			plan.Target = h.Point()
		}
	}
	plan.Loads = "the session as it was kept: " + model.Count(len(carry.files), "file") + " with all bytes, modes and times"
	return plan, nil
}

// shownPath returns the name of a file below the address of the store, or its whole name.
func (s *goneStore) shownPath(name string) string {
	if below, is := strings.CutPrefix(name, filepath.ToSlash(s.of.at)+"/"); is {
		return below
	}
	return name
}

// isFree reports whether nothing is at the place of a file. The error is a [TakenError] if that is another file than
// the one that is kept, unless other sessions are in it too: an index of the tool goes on without the session.
func (s *goneStore) isFree(ctx context.Context, b backFile) (bool, error) {
	at := filepath.FromSlash(b.name)
	info, err := os.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if b.f.goneAt.IsZero() {
		return false, nil // it was there all the time
	}
	if !info.Mode().IsRegular() || info.Size() != b.f.size {
		return false, &TakenError{at}
	}
	data, err := os.ReadFile(at)
	if err != nil {
		return false, err
	}
	kept, err := s.a.readFile(ctx, b.f)
	if err == nil && !bytes.Equal(data, kept) {
		err = &TakenError{at}
	}
	return false, err
}

// readFile reads a kept file whole.
func (a *Archive) readFile(ctx context.Context, f *keptFile) ([]byte, error) {
	data := make([]byte, f.size)
	_, err := a.readAt(ctx, f.list, data, 0)
	return data, err
}

// applyBack carries out a plan of planBack. A file that appeared at one of the places stops it. What it had given back
// by then stays: each file is whole, and the next plan is of the rest.
func (s *goneStore) applyBack(ctx context.Context, plan model.Plan) (done model.Receipt, err error) {
	carry, is := plan.Carry.(*backPlan)
	if !is {
		return done, &model.UnsupportedError{Op: plan.Op, Reason: whyNot}
	}
	for _, b := range carry.files {
		if err := s.a.giveBack(ctx, b.name, b.f); err != nil {
			return done, fmt.Errorf("give back %q: %w", carry.session, err)
		}
	}
	return model.Receipt{Op: model.OpGiveBack, Session: carry.session, Head: plan.Target}, nil
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
