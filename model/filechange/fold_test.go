package filechange

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/store/storetest/skip"
)

// drawText returns a text of a few lines, some of them alike, with or without an end of its last line.
func drawText(t *rapid.T, label string) string {
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "", "\tx", "end"}), 0, 30).Draw(t, label)
	text := strings.Join(lines, "\n")
	if len(lines) > 0 && rapid.Bool().Draw(t, label+" ends") {
		text += "\n"
	}
	return text
}

// editText changes a few lines of a text.
func editText(t *rapid.T, text string) string {
	lines := splitLines(text)
	for range rapid.IntRange(1, 3).Draw(t, "edits") {
		at := rapid.IntRange(0, len(lines)).Draw(t, "at")
		end := rapid.IntRange(at, min(at+3, len(lines))).Draw(t, "end")
		lines = slices.Replace(lines, at, end, rapid.SliceOfN(rapid.SampledFrom([]string{"new\n", "a\n", "\n"}), 0, 3).Draw(t, "new")...)
	}
	return strings.Join(lines, "")
}

// drawSteps returns texts of a file, each with the change that led to it as a tool would record it. A text that is nil
// is of no file.
func drawSteps(t *rapid.T) (texts []*string, changes []Change) {
	text := drawText(t, "text")
	texts = []*string{&text}
	if rapid.Bool().Draw(t, "new file") {
		texts[0] = nil
	}
	for range rapid.IntRange(1, 8).Draw(t, "steps") {
		was := texts[len(texts)-1]
		c := Change{Path: "a.txt"}
		var now *string
		switch {
		case was == nil:
			text := drawText(t, "created")
			now, c.Kind, c.Hunks = &text, Created, Compare("", text)
		case rapid.IntRange(0, 9).Draw(t, "delete") == 0:
			c.Kind, c.Hunks = Deleted, Compare(*was, "")
		default:
			text := editText(t, *was)
			now, c.Hunks = &text, Compare(*was, text)
			if rapid.Bool().Draw(t, "whole") {
				c.Before = was
			}
		}
		texts, changes = append(texts, now), append(changes, c)
	}
	return texts, changes
}

// textAfter returns the text that a change makes of another, both nil where there is no file.
func textAfter(t *rapid.T, c Change, before *string) *string {
	f := NewFold(c.Path)
	if before == nil {
		f.existed, f.exists, f.cells = absent, absent, nil
	} else {
		f.existed, f.exists = present, present
		f.setText(*before)
	}
	if f.Add(&c); f.Err() != nil {
		t.Fatalf("the folded change does not apply: %v\n%+v\n%q", f.Err(), c, *before)
	}
	if f.exists == absent {
		return nil
	}
	text, whole := f.Text()
	if !whole {
		t.Fatal("not whole")
	}
	return &text
}

func sameText(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

// Folding what was recorded, forwards or backwards, gives a change that leads from the first text to the last, or back.
func TestFold_leadsThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts, changes := drawSteps(t)
		first, last := texts[0], texts[len(texts)-1]
		there, back := NewFold("a.txt"), NewFold("a.txt")
		for _, c := range changes {
			there.Add(&c)
		}
		for _, c := range slices.Backward(changes) {
			c = c.Invert()
			back.Add(&c)
		}
		for _, way := range []struct {
			*Fold
			from, to *string
		}{{there, first, last}, {back, last, first}} {
			if way.Err() != nil {
				t.Fatalf("%v: %+v", way.Err(), changes)
			}
			c, none := way.Change()
			if sameText(way.from, way.to) {
				if !none {
					t.Fatalf("nothing is changed in the end, and the change is %+v", c)
				}
				continue
			}
			if got := textAfter(t, c, way.from); none || !sameText(got, way.to) {
				t.Fatalf("none is %v, from %v comes %v, want %v\n%+v", none, way.from, got, way.to, c)
			}
			if text, whole := way.Text(); whole && way.to != nil && text != *way.to {
				t.Fatalf("the text is %q, want %q", text, *way.to)
			}
		}
	})
}

// A patch that does not fit says so, whatever comes after it.
func TestFold_saysWhatDoesNotFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, changes := drawSteps(t)
		odd := rapid.IntRange(0, len(changes)-1).Draw(t, "odd")
		f := NewFold("a.txt")
		for i, c := range changes {
			if f.Add(&c); i == odd {
				f.Add(&Change{Path: "a.txt", Hunks: []Hunk{{Old: 1, New: 1, Lines: []string{" one", "-two", "+three"}}}})
				f.Add(&Change{Path: "a.txt", Hunks: []Hunk{{Old: 1, New: 1, Lines: []string{" four", "-five", "+six"}}}})
			}
		}
		if f.Err() == nil {
			t.Fatal("two patches that contradict each other fit")
		}
	})
}

// git apply takes the patch of a fold, and makes of the files before the files after.
func TestAppendPatch_gitTakesIt(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		skip.Missing(t, "there is no git")
	}
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		if runs++; runs > 25 { // each runs git
			return
		}
		texts, changes := drawSteps(rt)
		path := rapid.SampledFrom([]string{"a.txt", "dir/b c.txt", "ü\".txt", "dir/\x1b[2J.txt"}).Draw(rt, "path")
		f := NewFold(path)
		for _, c := range changes {
			c.Path = path
			f.Add(&c)
		}
		c, none := f.Change()
		if none || f.Err() != nil {
			return
		}
		dir, err := os.MkdirTemp("", "filechange")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		file := filepath.Join(dir, filepath.FromSlash(path))
		os.MkdirAll(filepath.Dir(file), 0o755)
		if texts[0] != nil {
			os.WriteFile(file, []byte(*texts[0]), 0o644)
		}
		patch := AppendPatch(nil, &c)
		if strings.Contains(string(patch), "\x1b") {
			rt.Fatalf("a control character is in the patch's names: %q", patch)
		}
		cmd := exec.Command("git", "apply", "-")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(string(patch))
		if out, err := cmd.CombinedOutput(); err != nil && len(c.Hunks) > 0 {
			rt.Fatalf("git: %s\n%s\nbefore: %v", out, patch, texts[0])
		}
		got, err := os.ReadFile(file)
		last := texts[len(texts)-1]
		if len(c.Hunks) == 0 {
			return
		}
		if (err == nil) != (last != nil) || last != nil && string(got) != *last {
			rt.Fatalf("git made %q of it, want %v\n%s", got, last, patch)
		}
	})
}
