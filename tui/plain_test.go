package tui_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/sample"
	"hindcast/tui"
)

// tellPlain runs the plain screen on lines, and returns the lines that it tells.
func tellPlain(t *testing.T, o tui.Options, out io.Writer, lines ...string) (string, error) {
	t.Helper()
	var all bytes.Buffer
	o.Plain, o.Theme, o.Input, o.Output = true, nil, strings.NewReader(strings.Join(lines, "\n")), &all
	if out != nil {
		o.Output = out
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := tui.Run(ctx, o)
	return all.String(), err
}

// A line of any length is one line, and those behind it are taken, the last one without its end too.
func TestPlain_longLines(t *testing.T) {
	t.Parallel()
	out, err := tellPlain(t, options(demoStore(t)), nil, "search "+strings.Repeat("x", 1<<20), "esc", "nosuchword", "alsonone")
	if err != nil || !strings.Contains(out, `"nosuchword" is no word here`) || !strings.Contains(out, `"alsonone" is no word here`) {
		t.Errorf("%v: %.2000s", err, out)
	}
}

// The end of the lines ends the screen in a field, too.
func TestPlain_endsInAField(t *testing.T) {
	t.Parallel()
	if out, err := tellPlain(t, options(demoStore(t)), nil, "search nothing-like-it"); err != nil || !strings.Contains(out, "nothing like it") {
		t.Errorf("%v: %s", err, out)
	}
}

// Lines behind a write that failed are not taken: they were written for what it would have done.
func TestPlain_endsAtAWriteThatFailed(t *testing.T) {
	t.Parallel()
	applied := 0
	s := &scripted{Store: demoStore(t)}
	bad := errors.New("the disk is full")
	s.apply = func(context.Context, model.Plan) (model.Receipt, error) {
		applied++
		return model.Receipt{}, bad
	}
	o := options(s)
	o.Session = sample.Trip
	out, err := tellPlain(t, o, nil, "step-back", "restore", "yes", "undo", "yes", "nosuch")
	if !errors.Is(err, bad) || applied != 1 || !strings.Contains(out, "the disk is full") || strings.Contains(out, "nosuch") {
		t.Errorf("%v after %d writes:\n%s", err, applied, out)
	}
	o = options(readOnly{demoStore(t)})
	o.Session = sample.Trip
	if out, err = tellPlain(t, o, nil, "step-back", "restore", "nosuch"); err != nil || !strings.Contains(out, `"nosuch" is no word here`) {
		t.Errorf("a store that cannot: %v:\n%s", err, out)
	}
}

// brokenAfter takes some bytes, and fails from then on.
type brokenAfter struct{ left int }

func (w *brokenAfter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errors.New("the pipe is closed")
	}
	return len(p), nil
}

// TestPlain_endsWhereNobodyReads closes the other end of the lines: the screen does nothing more.
func TestPlain_endsWhereNobodyReads(t *testing.T) {
	t.Parallel()
	s := &scripted{Store: demoStore(t)}
	s.apply = func(context.Context, model.Plan) (model.Receipt, error) {
		t.Error("something was written")
		return model.Receipt{}, nil
	}
	o := options(s)
	o.Session = sample.Trip
	if _, err := tellPlain(t, o, &brokenAfter{700}, "step-back", "restore", "yes"); err == nil || !strings.Contains(err.Error(), "the pipe is closed") {
		t.Errorf("%v", err)
	}
}

// The comparison, the facts about a failure and the flags are told in lines, too.
func TestPlain_comparesAndExplains(t *testing.T) {
	t.Parallel()
	out, err := tellPlain(t, options(evals(t, 3)), nil, "mark-session", "move-down", "mark-session", "compare-runs", "next-run", "move-down", "open", "why", "open", "back", "quit")
	for _, want := range []string{"2 runs part at row 3", "row 3 of 5, run 1 of 2", "row 3 of 5, run 2 of 2", "row 4 of 5, run 2 of 2",
		"Timeline of run-02", "Why a call failed up to"} {
		if !strings.Contains(out, want) {
			t.Errorf("%v: no %q:\n%s", err, want, out)
		}
	}
}

// A number chooses in every dialog with choices, among them an edit that cannot be used.
func TestPlain_choosesByNumber(t *testing.T) {
	t.Parallel()
	o := options(newAble(t))
	o.Session, o.Temp = sample.Trip, t.TempDir()
	editor := script(t, `printf '{' > "$1"`)
	o.Getenv = environment(map[string]string{"TERM": "xterm-256color", "EDITOR": editor, "VISUAL": editor})
	out, err := tellPlain(t, o, nil, "edit", "s", "7", "2", "yank", "1")
	for _, want := range []string{"This edit cannot be used", "1. e, edit again", "2. D, discard", "there is no choice 7", "the edit was discarded", "1. i, copy id"} {
		if !strings.Contains(out, want) {
			t.Errorf("%v: no %q:\n%s", err, want, out)
		}
	}
}
