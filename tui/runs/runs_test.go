package runs

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/query"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

// compare returns runs of calls: a letter each, and " " begins another turn.
func compare(tb interface{ Fatal(...any) }, words ...string) ([]Run, *query.Comparison) {
	var all []Run
	var lines []*query.Run
	for i, letters := range words {
		headers := make([]model.Header, len(letters)+1)
		run := &query.Run{Answer: "said \x1b[2J " + letters, Path: []model.Node{0}}
		turn := func(n int) {
			run.Turns = append(run.Turns, query.RunTurn{Visit: model.Node(n), Prompt: "ask\u202e", From: len(run.Calls), To: len(run.Calls)})
		}
		turn(0)
		for k := range headers {
			headers[k] = model.Header{ID: fmt.Sprint("s", k), SessionID: fmt.Sprint(i), Visit: int64(k + 1), Index: k}
			if k > 0 {
				headers[k].ParentID, headers[k].ParentVisit = headers[k-1].ID, int64(k)
			}
		}
		for k, letter := range letters {
			if letter == ' ' {
				turn(k + 1)
				continue
			}
			call := query.Call{Visit: model.Node(k + 1), ResultVisit: model.Node(k + 1), Turn: len(run.Turns) - 1, Text: "call\n" + string(letter), Fingerprint: string(letter), Failed: letter == 'f'}
			if letter == 'o' {
				call.ResultVisit = model.NoNode
			}
			run.Calls = append(run.Calls, call)
			run.Turns[len(run.Turns)-1].To = len(run.Calls)
		}
		all, lines = append(all, Run{Title: "run \x1b " + letters, Run: run, Timeline: model.NewTimeline(headers)}), append(lines, run)
	}
	c, err := query.CompareRuns(context.Background(), lines)
	if err != nil {
		tb.Fatal(err)
	}
	return all, c
}

// Whatever is done to runs of any shape, each row is as wide as the pane and clean, and the cursor is on a row.
func TestPane_anyUse(t *testing.T) {
	actions := []keymap.Action{keymap.MoveDown, keymap.MoveUp, keymap.PageDown, keymap.HalfUp, keymap.Top, keymap.Bottom,
		keymap.PrevRun, keymap.NextRun, keymap.NextChange, keymap.PrevChange}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 30).Draw(t, "runs")
		words := make([]string, n)
		for i := range words {
			words[i] = rapid.StringOfN(rapid.SampledFrom([]rune("abcfo ")), 0, 12, -1).Draw(t, "calls")
		}
		runs, c := compare(t, words...)
		p := New(screentest.Colourless(), make([]Run, n))
		size := screentest.AnySize(t, 210)
		p.Resize(size.W, size.H)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				p.Set(runs, c)
			case 1:
				size = screentest.AnySize(t, 210)
				p.Resize(size.W, size.H)
			case 2:
				p.Wheel(rapid.IntRange(-5, 5).Draw(t, "by"))
			case 3:
				p.Click(rapid.IntRange(0, size.W).Draw(t, "x"), rapid.IntRange(-1, size.H).Draw(t, "y"))
			case 4:
				i := rapid.IntRange(0, n-1).Draw(t, "run")
				if p.c == nil {
					p.AddRun(i, runs[i])
				}
			default:
				p.Do(rapid.SampledFrom(actions).Draw(t, "action"))
			}
			screentest.Exact(t, p, size.W, size.H)
			if run, at := p.Node(); run < 0 || run >= n || (at != model.NoNode) != (p.Ref() != model.Ref{}) {
				t.Fatalf("run %d of %d, visit %d, %v", run, n, at, p.Ref())
			}
			if from, to := p.Thumb(); from < 0 || to > size.H || from > to {
				t.Fatalf("the thumb goes from %d to %d of %d", from, to, size.H)
			}
			if p.first > p.run {
				t.Fatalf("column %d is the first in sight, and the cursor is on %d", p.first, p.run)
			}
		}
	})
}

func TestPane_coloursOnly(t *testing.T) {
	screentest.ColoursOnly(t, 20, func(styles *theme.Styles, w int) screentest.Rows {
		runs, c := compare(t, "aab fo", "aa fb", "aac")
		p := New(styles, make([]Run, 3))
		p.Resize(w, 20)
		p.Set(runs, c)
		return p
	})
}

// Every run can be brought in sight at the least size, and tells its visit in the row.
func TestPane_reachesEveryRun(t *testing.T) {
	words := make([]string, 20)
	for i := range words {
		words[i] = "a" + strings.Repeat("b", i%3)
	}
	runs, c := compare(t, words...)
	p := New(screentest.Colourless(), make([]Run, len(runs)))
	p.Resize(58, 14)
	if got := screentest.Draw(p, 14); !strings.Contains(got, "0 of 20 runs read …") {
		t.Errorf("%s", got)
	}
	p.Set(runs, c)
	if p.Title() != "20 runs part at row 3" || p.Status() != "row 3 of 4, run 1 of 20" {
		t.Errorf("%s; %s", p.Title(), p.Status())
	}
	p.Do(keymap.Top)
	p.Do(keymap.MoveDown)
	for i := range runs {
		if run, n := p.Node(); run != i || n != 1 {
			t.Errorf("run %d and visit %d, not %d and 1", run, n, i)
		}
		if got := screentest.Draw(p, 14); !strings.Contains(got, fmt.Sprintf("result of %d  ", i+1)) || !strings.Contains(got, "▌#1") {
			t.Errorf("run %d is not in sight:\n%s", i, got)
		}
		p.Do(keymap.NextRun)
	}
	same, one := compare(t, "ab", "ab")
	p.Set(same, one)
	if p.Title() != "2 runs, all with the same calls" {
		t.Error(p.Title())
	}
}
