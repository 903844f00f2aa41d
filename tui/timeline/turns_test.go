package timeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hindcast/keymap"
	"hindcast/model"
)

// talk returns the headers of a session with prompts. Each letter is a visit after the one before: p a prompt, m an
// answer, x a step that failed. "<3" goes on from visit 3, and what came after it is off the path.
func talk(script string) (headers []model.Header) {
	parent := int64(0)
	for _, word := range strings.Fields(script) {
		if _, err := fmt.Sscanf(word, "<%d", &parent); err == nil {
			for i := range headers[parent:] {
				headers[int(parent)+i].Orphaned = true
			}
			continue
		}
		for _, kind := range word {
			n := len(headers)
			h := model.Header{ID: fmt.Sprintf("%064x", n), SessionID: "s", Index: n, Visit: int64(n + 1), ParentVisit: parent,
				CreatedAt: time.Date(2026, time.November, 29, 12, 0, n, 0, time.UTC), Event: model.SnapshotEventNamed}
			switch kind {
			case 'p':
				h.EventName, h.Title = "user input", fmt.Sprint("words ", n)
			case 'x':
				h.EventName, h.Title, h.Marks = "after model", "$ make", model.MarkError
			default:
				h.EventName, h.Title = "after model", "an answer"
			}
			headers, parent = append(headers, h), int64(n+1)
		}
	}
	return headers
}

// The size may come after the session: the same turns are folded, once.
func TestPane_foldsEarlierTurns_beforeItsSize(t *testing.T) {
	headers := talk("pmxm <2 mm <6 pmm <6 pm pmmm")
	p := New(styles(), time.UTC)
	p.Set(Prepare(model.NewTimeline(headers)))
	p.Resize(60, 12)
	want := picture(t, pane(t, headers, 60, 12), 60, 12)
	if got := picture(t, p, 60, 12); got != want {
		t.Errorf("it is\n%s\nnot\n%s", got, want)
	}
	p.Do(keymap.UnfoldAll)
	open := p.rows.Len
	p.Resize(60, 0)
	if p.Resize(60, 12); p.rows.Len != open {
		t.Errorf("%d rows of %d show after another size", p.rows.Len, open)
	}
}

// A session longer than the pane opens with its turns folded, but for that of the head. What a fold hides is counted.
func TestPane_foldsEarlierTurns(t *testing.T) {
	script := "pmxm <2 mm <6 pmm <6 pm pmmm"
	check(t, picture(t, pane(t, talk(script), 60, 12), 60, 12), `
  ▸    0 user    words 0                   3 steps 5s ✗1 ◌1
  ├─╮   left by a restore to #5
  │ ▹  6 user    words 6                         2 steps 2s
  ▸    9 user    words 9                          1 step 1s
  ▾   11 user    words 11                        3 steps 3s
  ○   12 model   an answer                              +1s
  ○   13 model   an answer                              +1s
▌ ◉   14 model   an answer                              +1s



 turn 0 · ◉ the framework resumes here · after model
`)
	check(t, picture(t, pane(t, talk(script), 60, 30), 60, 20), `
  ▾    0 user    words 0                   3 steps 5s ✗1 ◌1
  ○    1 model   an answer                              +1s
  ├─╮   left by a restore to #1
  │ ◌  2 model ✗ $ make                                 +1s
  │ ◌  3 model   an answer                              +1s
  ○    4 model   an answer                              +3s
  ○    5 model   an answer                              +1s
  ├─╮   left by a restore to #5
  │ ▿  6 user    words 6                         2 steps 2s
  │ ◌  7 model   an answer                              +1s
  │ ◌  8 model   an answer                              +1s
  ▾    9 user    words 9                          1 step 1s
  ○   10 model   an answer                              +1s
  ▾   11 user    words 11                        3 steps 3s
  ○   12 model   an answer                              +1s
  ○   13 model   an answer                              +1s
▌ ◉   14 model   an answer                              +1s



`)
	// Calls that stand in the rows of their results take no room.
	headers, parent := talk("p"), int64(1)
	for i := range 8 {
		title := fmt.Sprint("$ make ", i)
		for _, title := range []string{title, title + "  done"} {
			at := int64(len(headers) + 1)
			headers = append(headers, model.Header{ID: fmt.Sprint("r", at), Index: int(at), Visit: at, ParentVisit: parent, ParentID: headers[len(headers)-1].ID,
				SessionID: headers[0].SessionID, Event: model.SnapshotEventNamed, EventName: "after model", Title: title})
			parent = at
		}
	}
	last := headers[0]
	last.ID, last.ParentID, last.Visit, last.ParentVisit, last.Head = "last", headers[len(headers)-1].ID, parent+1, parent, true
	p := pane(t, append(headers, last), 60, 14)
	if p.rows.Len != 10 {
		t.Errorf("%d rows:\n%s", p.rows.Len, picture(t, p, 60, 14))
	}
}
