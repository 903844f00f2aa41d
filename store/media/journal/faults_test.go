package journal_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"syscall"
	"testing"

	"hindcast/store/media/disk/disktest"
	"hindcast/store/media/journal"
	"hindcast/store/storetest/skip"
)

// TestApply_killed kills every write at every call of the disk and at the moments
// within them, and its recovery at every call as well.
func TestApply_killed(t *testing.T) {
	skip.Sequential(t)
	states, nested := 0, 0
	for _, c := range chapters(t, story()) {
		finished := false
		for n := 0; !finished; n++ {
			m := c.before.Clone()
			writes := false
			finished = !killed(func() {
				_, err := c.faulty(m, func(call disktest.Call) error {
					if call.N == n {
						writes = call.Writes()
						panic(errKilled)
					}
					return nil
				})
				if err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
			})
			if !finished && !writes {
				continue // as after the call before
			}
			states++
			done, err := c.check(m.Clone())
			if err != nil || finished && !done {
				t.Fatalf("%s, killed at %d: done %v: %v", c.name, n, done, err)
			}
			if testing.Short() && n%7 != 0 {
				continue
			}
			nested += killRecovery(t, &c, m.Clone(), n)
		}
	}
	t.Logf("killed at %d places, and %d more in the recovery", states, nested)
	if states < 250 {
		t.Error("too few to be every call")
	}
}

func killRecovery(t *testing.T, c *chapter, broken *disktest.Memory, at int) (states int) {
	for n := 0; ; n++ {
		m := broken.Clone()
		writes := false
		finished := !killed(func() {
			f := &disktest.Faulty{Disk: m, Hook: func(call disktest.Call) error {
				if call.N == n {
					writes = call.Writes()
					panic(errKilled)
				}
				return nil
			}}
			if err := journal.New(f, journal.Options{}).Recover(context.Background()); err != nil {
				t.Fatal(err)
			}
		})
		if finished {
			return states
		}
		if !writes {
			continue
		}
		states++
		if _, err := c.check(m.Clone()); err != nil {
			t.Fatalf("%s, killed at %d, the recovery at %d: %v", c.name, at, n, err)
		}
	}
}

// TestApply_fails lets every call fail with every error, once and from then on.
// Unless the error says that something is unfinished, the store is as it was, at
// once and after a recovery; an apply without an error has done what was planned. Each
// failure is told.
func TestApply_fails(t *testing.T) {
	skip.Sequential(t)
	errnos := []error{syscall.EIO, syscall.ENOSPC, syscall.EROFS, syscall.EACCES, syscall.EMFILE}
	if testing.Short() {
		errnos = errnos[:1]
	}
	runs, unfinished := 0, 0
	for _, c := range chapters(t, story()) {
		for _, errno := range errnos {
			for _, forever := range []bool{false, true} {
				for n := 0; ; n++ {
					m, failed := c.before.Clone(), ""
					_, err := c.faulty(m, func(call disktest.Call) error {
						if call.N == n || forever && call.N > n {
							failed = call.Op + " " + call.Name
							return &fs.PathError{Op: call.Op, Path: call.Name, Err: errno}
						}
						return nil
					})
					if failed == "" {
						break
					}
					runs++
					where := fmt.Sprintf("%s, %v of call %d, %s, forever %v", c.name, errno, n, failed, forever)
					open := (*journal.UnfinishedError)(nil)
					switch {
					case err == nil && failed != "lstat .hindcast/journal": // Create tells whether it is there
						t.Fatalf("%s: nobody was told", where)
					case err == nil:
					case errors.As(err, &open):
						unfinished++
					case !maps.Equal(m.Tree(live), c.before.Tree(live)):
						t.Fatalf("%s: %v, but not as before:\n%s", where, err, difference(m.Tree(live), c.before.Tree(live), c.after.Tree(live)))
					}
					if err != nil && !errors.Is(err, errno) {
						t.Fatalf("%s: %v", where, err)
					}
					if err != nil && strings.HasPrefix(err.Error(), "journal: ") && !strings.Contains(err.Error(), "(") {
						t.Fatalf("%s: no words that say what to do: %v", where, err)
					}
					done, wrong := c.check(m.Clone())
					if wrong != nil || err == nil && !done || err != nil && open == nil && done {
						t.Fatalf("%s: %v: done %v: %v", where, err, done, wrong)
					}
				}
			}
		}
	}
	t.Logf("%d failures, %d of them left a write to be finished", runs, unfinished)
	if runs < 1000 {
		t.Error("too few to be every call")
	}
}

// TestRecover_fails breaks every write off, and lets every call of its recovery fail. A
// recovery without an error has ended the write; one with an error says which call failed,
// and another recovery ends the write.
func TestRecover_fails(t *testing.T) {
	skip.Sequential(t)
	every := 3
	if testing.Short() {
		every = 9
	}
	runs, unfinished := 0, 0
	for _, c := range chapters(t, story()) {
		for n := 0; ; n += every {
			broken := c.before.Clone()
			if !killed(func() {
				_, err := c.faulty(broken, func(call disktest.Call) error {
					if call.N == n {
						panic(errKilled)
					}
					return nil
				})
				must(t, err)
			}) {
				break
			}
			for k := 0; ; k++ {
				m, failed := broken.Clone(), ""
				f := &disktest.Faulty{Disk: m, Hook: func(call disktest.Call) error {
					if call.N == k {
						failed = call.Op + " " + call.Name
						return &fs.PathError{Op: call.Op, Path: call.Name, Err: syscall.EIO}
					}
					return nil
				}}
				err := journal.New(f, journal.Options{}).Recover(t.Context())
				if failed == "" {
					break
				}
				runs++
				where := fmt.Sprintf("%s, killed at %d, call %d of the recovery fails, %s: %v", c.name, n, k, failed, err)
				open, failure := journal.New(m, journal.Options{}).OpenEntry(t.Context())
				must(t, failure)
				told := (*journal.UnfinishedError)(nil)
				switch {
				case err == nil && open != nil:
					t.Fatalf("%s: write %d is open", where, open.ID)
				case err != nil && !errors.Is(err, syscall.EIO):
					t.Fatal(where)
				case errors.As(err, &told):
					unfinished++
				}
				if _, err := c.check(m); err != nil {
					t.Fatalf("%s: %v", where, err)
				}
			}
		}
	}
	if runs < 300 || unfinished < 60 {
		t.Errorf("%d failures, %d of them told of a write that is not finished", runs, unfinished)
	}
}
