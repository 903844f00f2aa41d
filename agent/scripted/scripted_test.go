package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/typed"
	"hindcast/store/storetest/fake"
)

// played runs the agent and returns what it told.
func played(t *testing.T, s store.Store, o Options) (Report, string) {
	t.Helper()
	var told strings.Builder
	o.Tell = func(turn int, what, words string) { fmt.Fprintln(&told, turn, what, words) }
	report, err := Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return report, told.String()
}

// restore puts the session back to the active snapshot of that index.
func restore(t *testing.T, s *fake.Store, index int) {
	t.Helper()
	for _, h := range headers(t, s) {
		if h.Index != index || h.Orphaned {
			continue
		}
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: h.Ref()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no active snapshot #%d", index)
}

func headers(t *testing.T, s store.Store) (all []model.Header) {
	t.Helper()
	for h, err := range s.Headers(t.Context(), Session) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
	return all
}

// path returns the indexes of a timeline with the events' first letters, those
// that are orphaned in brackets.
func path(t *testing.T, s store.Store) string {
	t.Helper()
	var text []string
	for _, h := range headers(t, s) {
		one := fmt.Sprintf("%d%.1s", h.Index, h.EventText())
		if h.Orphaned {
			one = "(" + one + ")"
		}
		text = append(text, one)
	}
	return strings.Join(text, " ")
}

// state returns the state at the head.
func state(t *testing.T, s *fake.Store) State {
	t.Helper()
	data, err := typed.Of[State](s).Get(t.Context(), Session)
	if err != nil || data == nil {
		t.Fatal(data, err)
	}
	return data.State
}

func TestRun_tellsTheStory(t *testing.T) {
	s := fake.New()
	report, told := played(t, s, Options{})
	const want = `0 user Prepare release 1.4 of the parser. What has changed since 1.3?
0 tool list_commits {"since":"v1.3"}
0 tool list_issues {"milestone":"1.4"}
0 tool list_branches {}
0 ok list_commits: 23 commits, 3 of them for users
0 ok list_issues: 9 closed, none open
0 ok list_branches: main, release/1.3, docs, streaming
0 snapshot #0 ID tool iteration
0 agent Three things that users will notice: input may be streamed, errors name the line, and CRLF is one line end.
0 snapshot #1 ID turn end
1 user Write the changelog and run the tests.
1 tool write_changelog {"file":"CHANGELOG.draft.md"}
1 tool run_tests {"suite":"unit"}
1 tool run_tests {"suite":"integration"}
1 ok write_changelog: 3 entries
1 ok run_tests: passed
1 failed run_tests: 2 of 118 failed: the proxy did not answer
1 snapshot #2 ID tool iteration
1 tool run_tests {"suite":"integration"}
1 ok run_tests: passed
1 snapshot #3 ID tool iteration
1 agent The changelog has 3 entries, and all tests pass.
1 snapshot #4 ID turn end
2 user Tidy up what nobody needs any more.
2 tool delete_branches {"except":["main"]}
2 tool delete_files {"pattern":"*.draft.md"}
2 ok delete_branches: 3 deleted, release/1.3 among them
2 ok delete_files: 1 deleted, CHANGELOG.draft.md
2 snapshot #5 ID tool iteration
2 agent Everything is tidy: one branch, no drafts.
2 snapshot #6 ID turn end
3 user Tag the release and announce it.
3 tool tag {"name":"v1.4.0"}
3 ok tag: tagged
3 snapshot #7 ID tool iteration
3 tool announce {"to":"users"}
3 ok announce: sent to 4,021 subscribers
3 snapshot #8 ID tool iteration
3 agent Sent: v1.4.0 is out: nothing has changed.
3 snapshot #9 ID turn end
`
	all := headers(t, s)
	for _, h := range all {
		told = strings.Replace(told, h.ID[:8], "ID", 1)
	}
	if told != want {
		t.Errorf("it tells\n%s", told)
	}
	if head := all[len(all)-1]; len(all) != 10 || report != (Report{Session: Session, Captured: 10, Head: model.Point{ID: head.ID, Index: 9}}) {
		t.Errorf("the report is %+v", report)
	}
	if _, err := Run(t.Context(), s, Options{Resume: true}); !errors.Is(err, ErrOver) {
		t.Errorf("after the end: %v", err)
	}
}

// The story is the same every time, ids included, however the tools that run
// side by side are scheduled.
func TestRun_isTheSameEveryTime(t *testing.T) {
	first := fake.New()
	played(t, first, Options{})
	for range 20 {
		s := fake.New()
		played(t, s, Options{})
		if !slices.EqualFunc(headers(t, s), headers(t, first), func(a, b model.Header) bool { return a.ID == b.ID && a.TurnIndex == b.TurnIndex }) {
			t.Fatal("another story")
		}
	}
}

// In time the story takes about a minute, and ends at its first beat where it is
// told to.
func TestRun_takesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		played(t, fake.New(), Options{Beat: time.Second})
		if took := time.Since(began); took < 50*time.Second || took > 70*time.Second {
			t.Errorf("it takes %v", took)
		}
	})
}

// From wherever it is put back to, the session goes on from there by another
// way, to the end.
func TestRun_takesAnotherWay(t *testing.T) {
	for index := range 9 {
		s := fake.New()
		played(t, s, Options{})
		for way := 1; way < len(sittings); way++ {
			restore(t, s, index)
			from := state(t, s)
			report, told := played(t, s, Options{Resume: true})
			then := state(t, s)
			if len(then.Messages) <= len(from.Messages) || text(t, then.Messages[:len(from.Messages)]) != text(t, from.Messages) {
				t.Errorf("#%d, way %d: the conversation does not go on", index, way)
			}
			first := sittings[way][from.turns()].user
			if !strings.Contains(told, first) {
				t.Errorf("#%d, way %d: nobody says %q in\n%s", index, way, first, told)
			}
			if then.turns() != 4 || report.Head.Index != index+report.Captured || report.Captured == 0 {
				t.Errorf("#%d, way %d: the report is %+v after %d turns", index, way, report, then.turns())
			}
			for _, h := range headers(t, s)[10:] {
				if h.ParentID == "" {
					t.Errorf("#%d, way %d: a new root %+v", index, way, h)
				}
			}
		}
	}
}

// Put back behind the mistake, the other way ends well.
func TestRun_anotherWayMendsTheMistake(t *testing.T) {
	s := fake.New()
	played(t, s, Options{})
	if got := state(t, s).Announcement; got != "v1.4.0 is out: nothing has changed." {
		t.Errorf("at first it announces %q", got)
	}
	restore(t, s, 4)
	played(t, s, Options{Resume: true})
	then := state(t, s)
	if then.Announcement != "v1.4.0 is out: input may be streamed; errors name the line; CRLF is one line end." || len(then.Branches) != 4 {
		t.Errorf("then it announces %q, with the branches %q", then.Announcement, then.Branches)
	}
	if got := path(t, s); got != "0t 1t 2t 3t 4t (5t) (6t) (7t) (8t) (9t) 5t 6t 7t 8t 9t" {
		t.Errorf("the path is %s", got)
	}
}

// text returns a value as it is written.
func text(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// stops ends a context after so many steps.
func stops(t *testing.T, after int) (context.Context, Options) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	steps := 0
	return ctx, Options{Tell: func(int, string, string) {
		if steps++; steps == after {
			cancel()
		}
	}}
}

// Stopped at any step, everything up to there is kept, and it goes on to the
// same end.
func TestRun_stoppedAnywhereGoesOn(t *testing.T) {
	whole := fake.New()
	played(t, whole, Options{})
	end := state(t, whole)
	for after := 1; ; after++ {
		s := fake.New()
		ctx, o := stops(t, after)
		report, err := Run(ctx, s, o)
		if err != nil {
			t.Fatalf("stopped after step %d: %v", after, err)
		}
		if !report.Stopped {
			return // there are no more steps
		}
		if all := headers(t, s); len(all) == 0 || all[len(all)-1].ID != report.Head.ID || len(all) != report.Captured {
			t.Errorf("stopped after step %d: %d snapshots, %+v", after, len(all), report)
		}
		if _, err := Run(t.Context(), s, Options{Resume: true}); err != nil && !errors.Is(err, ErrOver) {
			t.Fatalf("resumed after step %d: %v", after, err)
		}
		if got := state(t, s); text(t, got) != text(t, end) {
			t.Errorf("stopped after step %d it ends with %s", after, text(t, got))
		}
	}
}

// Somebody puts the session back while the agent works: it hears of it at its
// next write, nothing is overwritten, and it can go on from there.
func TestRun_restoredUnderneath(t *testing.T) {
	for _, at := range []string{"tool delete_files", "ok delete_branches", "agent Everything", "snapshot #6", "user Tag"} {
		s := fake.New()
		done := false
		report, err := Run(t.Context(), s, Options{Tell: func(_ int, what, words string) {
			if !done && strings.HasPrefix(what+" "+words, at) {
				done = true
				restore(t, s, 1)
			}
		}})
		conflict, ok := errors.AsType[*model.ConflictError](err)
		if !ok || conflict.Head.Index != 1 || conflict.Session != Session || report.Head.Index != 1 || report.Stopped {
			t.Fatalf("%s: %v, %+v", at, err, report)
		}
		if text := err.Error(); strings.Contains(text, "\n") {
			t.Errorf("%s: the error is long: %s", at, text)
		}
		if got := state(t, s); len(got.Changelog) != 0 || got.turns() != 1 {
			t.Errorf("%s: the state is %+v", at, got)
		}
		report, told := played(t, s, Options{Resume: true})
		if !strings.HasPrefix(told, "1 user "+writeWithThanks.user) || report.Head.Index < 2 {
			t.Errorf("%s: it goes on with %s", at, told)
		}
	}
}

// dying is a store that takes some commits, and then none: all that a run leaves
// behind that was killed.
type dying struct {
	*fake.Store
	commits int
}

var errKilled = errors.New("killed")

func (d *dying) Commit(ctx context.Context, data *model.Data[json.RawMessage], at typed.Revision) (typed.Revision, error) {
	if d.commits--; d.commits < 0 {
		return 0, errKilled
	}
	return d.Store.Commit(ctx, data, at)
}

// Killed after any write, or before the first, it goes on to the same end by
// the same snapshots.
func TestRun_killedAnywhereGoesOn(t *testing.T) {
	whole := fake.New()
	played(t, whole, Options{})
	line := func(s *fake.Store) (text string) {
		for _, h := range headers(t, s) {
			text += fmt.Sprintf("%d turn %d %s %.8s\n", h.Index, h.TurnIndex, h.Event, h.ID)
		}
		return text
	}
	for commits := 0; ; commits++ {
		s := fake.New()
		if _, err := Run(t.Context(), &dying{s, commits}, Options{}); err == nil {
			return // it was done before
		} else if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		if _, err := Run(t.Context(), s, Options{Resume: true}); err != nil {
			t.Errorf("killed after %d commits, it goes on with %v", commits, err)
		}
		if got, want := line(s), line(whole); got != want {
			t.Errorf("killed after %d commits, it ends with\n%s, not\n%s", commits, got, want)
		}
	}
}

func TestRun_refuses(t *testing.T) {
	s := fake.New()
	err := typed.Of[State](s).Save(t.Context(), Session, &model.Data[State]{ID: Session, State: State{Messages: []Message{{"user", []Block{{Text: "hello"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), s, Options{Resume: true}); !errors.Is(err, ErrStranger) {
		t.Errorf("somebody else's session: %v", err)
	}
	if _, err := Run(t.Context(), struct{ store.Store }{s}, Options{}); err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("a store without sessions: %v", err)
	}
}

// Words lead to one turn, and each turn is another.
func TestScript_everythingIsSaidOnce(t *testing.T) {
	seen := map[string]int{}
	for n, sitting := range sittings {
		if len(sitting) != len(sittings[0]) {
			t.Errorf("sitting %d has %d turns", n, len(sitting))
		}
		for i, turn := range sitting {
			if at, ok := seen[turn.user]; ok && at != i {
				t.Errorf("%q is said in turn %d and in turn %d", turn.user, at, i)
			}
			seen[turn.user] = i
			for _, round := range turn.rounds {
				for _, c := range round.calls {
					if !json.Valid([]byte(c.input)) {
						t.Errorf("%s is given %s", c.name, c.input)
					}
				}
			}
		}
	}
	if len(seen) != 11 { // the other two begin alike
		t.Errorf("%d turns", len(seen))
	}
}
