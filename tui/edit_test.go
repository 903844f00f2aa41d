package tui_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/kinds/claudecode"
	"hindcast/store/sample"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
	"hindcast/tui/screentest"
)

// able is a store with every capability whose plans a test writes; what it carries
// out it only notes.
type able struct {
	scripted
	plan  func(op model.Op, ref model.Ref, text string) (model.Plan, error)
	state []byte // that a session was started from
	done  []model.Plan
}

func newAble(t *testing.T) *able {
	s := &able{scripted: scripted{Store: demoStore(t)}}
	s.plan = func(op model.Op, ref model.Ref, text string) (model.Plan, error) {
		p := model.Plan{Op: op, Session: ref.Session, Target: model.Point{ID: ref.ID, Visit: ref.Visit}, Head: model.Point{ID: ref.ID}, Writes: []string{"journal: one entry"}, Loads: "what " + text + " says"}
		if op == model.OpPurge {
			p.Asks = []string{"what is forgotten cannot be brought back"}
		}
		if op == model.OpEdit {
			p.NewSession = text
		}
		return p, nil
	}
	s.apply = func(_ context.Context, p model.Plan) (model.Receipt, error) {
		s.done = append(s.done, p)
		return model.Receipt{Op: p.Op, Session: p.Session, Head: model.Point{ID: p.Head.ID, Index: 13}}, nil
	}
	return s
}

func (s *able) Lacks(model.Op) string { return "" }

func (s *able) Features() store.Features {
	f := s.scripted.Features()
	f.Lacks, f.Plan = s.Lacks, s.Plan
	return f
}

func (s *able) Plan(ctx context.Context, c model.Change) (model.Plan, error) {
	switch c.Op {
	case model.OpEdit, model.OpRepair, model.OpPurge, model.OpRun:
		s.state = bytes.Clone(c.State)
		return s.plan(c.Op, c.Ref, c.As+c.Input+string(c.Scope))
	}
	return s.scripted.Plan(ctx, c)
}

// editing opens the trip in a store, with a shell command as the editor, and the
// edits below a folder of the test's own.
func editing(t *testing.T, s store.Store, editor string) (p *screentest.Program, temp string) {
	t.Helper()
	temp = t.TempDir()
	o := options(s)
	o.Session = sample.Trip
	o.Temp = temp
	o.Getenv = environment(map[string]string{"VISUAL": editor, "EDITOR": "false"})
	return start(t, o, 100, 30), temp
}

// environment is that of a terminal, and some variables more.
func environment(more map[string]string) func(string) string {
	return func(name string) string {
		if name == "TERM" {
			return "xterm-256color"
		}
		return more[name]
	}
}

// script writes a shell script that is an editor, and returns the command for it. It begins with a
// pause: Bubble Tea's own renderer, which runs here and not in the program, does not wait until it
// has stopped, and would stop after it was started again.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "an editor.sh")
	if err := os.WriteFile(path, []byte("sleep 0.05\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "sh '" + path + "'"
}

// left returns the files below a folder.
func left(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// gone waits until there is nothing in a folder.
func gone(t *testing.T, p *screentest.Program, dir string) {
	t.Helper()
	p.WaitFor("the file of the edit to be gone", func(string) bool {
		all, err := os.ReadDir(dir)
		return err == nil && len(all) == 0
	})
}

func TestEdit_choosesWhatIsSelected(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		o := options(newAble(t))
		o.Session = sample.Trip
		p := start(t, o, w, h)
		p.Press(keymap.Timeline, keymap.ShowState, keymap.Open)
		p.Press(keymap.State, keymap.MoveDown, keymap.Edit)
		p.Golden()
	})
}

// The messages and tool results that can be edited are those at the cursor of the
// Messages tab, else those at the end.
func TestEdit_offersMessagesAndResults(t *testing.T) {
	t.Parallel()
	o := options(newAble(t))
	o.Session = sample.Trip
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.Edit)
	shows(t, p, "s  edit whole state", "m  edit message  message 21, assistant", "t  edit tool result  change_train, in message 20", "v  edit value  /status")
	p.Press(keymap.EditMenu, keymap.Back)
	p.Press(keymap.Timeline, keymap.ShowMessages, keymap.Open)
	p.Press(keymap.Messages, keymap.Top, keymap.Search)
	p.Type("book_train")
	p.Press(keymap.Input, keymap.Accept)
	p.Press(keymap.Messages, keymap.Edit)
	shows(t, p, "t  edit tool result  book_train, in message")
	p.Press(keymap.EditMenu, keymap.Back)
	p.Press(keymap.Messages, keymap.PrevMessage, keymap.PrevMessage)
	p.Press(keymap.Messages, keymap.Edit)
	p.Golden()
}

// A person changes one value in the editor, names the session, and agrees; the new
// session starts from that state, and nothing else in it has changed.
func TestEdit_valueBecomesAFork(t *testing.T) {
	t.Parallel()
	s := newAble(t)
	seen := filepath.Join(t.TempDir(), "seen")
	p, temp := editing(t, s, script(t, `{ stat -c %a "$1" "$(dirname "$1")"; cat "$1"; } > '`+seen+`'
printf '"lost"' > "$1"`))
	p.Press(keymap.Timeline, keymap.Edit)
	p.Send(screentest.Key(t, "v"))
	waitFor(t, p, "Fork from an edited #13")
	if got, err := os.ReadFile(seen); err != nil || string(got) != "600\n700\n\"booked\"\n" {
		t.Errorf("the editor saw %q, %v", got, err)
	}
	p.Golden()
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "fork trip-planner from an edited #0 as trip-planner-edit", "[ No ]", `state    status "booked" → "lost"`)
	p.Press(keymap.Confirm, keymap.Yes)
	shows(t, p, "forked from an edited #")
	if len(s.done) != 1 || s.done[0].NewSession != "trip-planner-edit" {
		t.Fatalf("carried out %+v", s.done)
	}
	before, err := s.Store.State(t.Context(), model.Ref{Session: sample.Trip, ID: idAt(t, s, 13)})
	if err != nil {
		t.Fatal(err)
	}
	if want := bytes.Replace(before, []byte(`"booked"`), []byte(`"lost"`), 1); !bytes.Equal(s.state, want) {
		t.Errorf("the state is\n%s\nnot\n%s", s.state, want)
	}
	gone(t, p, temp)
}

// What is no JSON can be edited again, as it was left.
func TestEdit_brokenJSONIsNotLost(t *testing.T) {
	t.Parallel()
	s := newAble(t)
	// The first time it breaks the text, then it adds what is missing.
	p, temp := editing(t, s, script(t, `if grep -q broken "$1"; then printf '}' >> "$1"; else printf '{"broken": 1\n' > "$1"; fi`))
	p.Press(keymap.Timeline, keymap.Edit)
	p.Send(screentest.Key(t, "v"))
	waitFor(t, p, "This edit cannot be used")
	shows(t, p, "this is not JSON: line 2, column 1", "e edit again", "D discard", "kept in  "+temp)
	p.Send(screentest.Key(t, "e"))
	waitFor(t, p, "Fork from an edited #13")
	p.Press(keymap.Input, keymap.Accept)
	p.Press(keymap.Confirm, keymap.Yes)
	if !json.Valid(s.state) || !bytes.Contains(s.state, []byte(`"status":{"broken":1}`)) {
		t.Errorf("the state is %s", s.state)
	}
	gone(t, p, temp)
}

func TestEdit_discardedLeftAndGivenUp(t *testing.T) {
	t.Parallel()
	const breaks = `printf '{' > "$1"`
	const works = `printf '"lost"' > "$1"`
	for name, c := range map[string]struct {
		editor, comes string
		scope         keymap.Scope
		press         []keymap.Action
		says          string
		kept          string
	}{
		"discarded":          {breaks, "cannot be used", keymap.Broken, []keymap.Action{keymap.Discard}, "the edit was discarded", ""},
		"left":               {breaks, "cannot be used", keymap.Broken, []keymap.Action{keymap.Back}, "the edit is kept in ", "{"},
		"without a name":     {works, "Fork from an", keymap.Input, []keymap.Action{keymap.Back}, "the edit is kept in ", `"lost"`},
		"nothing changed":    {":", "nothing was changed", keymap.Timeline, nil, "nothing was changed: the edit says the same", ""},
		"removed":            {`rm "$1"`, "nothing was changed", keymap.Timeline, nil, "the editor removed the file", ""},
		"removed, and fails": {`rm "$1"; exit 3`, "nothing was changed", keymap.Timeline, nil, "the editor removed the file", ""},
		"the editor fails":   {"exit 3", "cannot be used", keymap.Broken, []keymap.Action{keymap.Discard}, "the edit was discarded", ""},
		"the editor is none": {"/no/such/editor", "cannot be used", keymap.Broken, []keymap.Action{keymap.Discard}, "the edit was discarded", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newAble(t)
			p, temp := editing(t, s, script(t, c.editor))
			p.Press(keymap.Timeline, keymap.Edit)
			p.Send(screentest.Key(t, "v"))
			waitFor(t, p, c.comes)
			p.Press(c.scope, c.press...)
			shows(t, p, c.says)
			if c.kept == "" {
				gone(t, p, temp)
			} else if files := left(t, temp); len(files) != 1 {
				t.Errorf("files %q", files)
			} else if text, err := os.ReadFile(files[0]); err != nil || string(text) != c.kept {
				t.Errorf("the file has %q, %v", text, err)
			}
			if len(s.done) > 0 {
				t.Errorf("carried out %+v", s.done)
			}
		})
	}
}

// What the store cannot take is said with its place, and can be edited again.
func TestEdit_refusedByTheStore(t *testing.T) {
	t.Parallel()
	s := newAble(t)
	refuse := errors.New("/status cannot be edited: the log does not hold it")
	plan := s.plan
	s.plan = func(op model.Op, ref model.Ref, as string) (model.Plan, error) {
		if bytes.Contains(s.state, []byte(`"first"`)) {
			return model.Plan{}, refuse
		}
		return plan(op, ref, as)
	}
	p, _ := editing(t, s, script(t, `if grep -q first "$1"; then printf '"second"' > "$1"; else printf '"first"' > "$1"; fi`))
	p.Press(keymap.Timeline, keymap.Edit)
	p.Send(screentest.Key(t, "v"))
	waitFor(t, p, "Fork from an edited #13")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "This edit cannot be used", refuse.Error())
	p.Send(screentest.Key(t, "e"))
	waitFor(t, p, "Fork from an edited #13")
	p.Press(keymap.Input, keymap.Accept)
	p.Press(keymap.Confirm, keymap.Yes)
	shows(t, p, "forked from an edited #")
}

// A name that is taken is asked for again, and the edit goes on.
func TestEdit_nameIsTaken(t *testing.T) {
	t.Parallel()
	s := newAble(t)
	plan := s.plan
	s.plan = func(op model.Op, ref model.Ref, as string) (model.Plan, error) {
		if as == sample.Trip+"-edit" {
			return model.Plan{}, fmt.Errorf("plan: %w", store.ErrSessionExists)
		}
		return plan(op, ref, as)
	}
	p, _ := editing(t, s, script(t, `printf '"lost"' > "$1"`))
	p.Press(keymap.Timeline, keymap.Edit)
	p.Send(screentest.Key(t, "v"))
	waitFor(t, p, "Fork from an edited #13")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, store.ErrSessionExists.Error(), "Fork from an edited #13")
	p.Type("2")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "as trip-planner-edit2")
}

// What an undo takes back is asked once, in one box with the warnings.
func TestRepair_asksOnceWithAWarning(t *testing.T) {
	t.Parallel()
	s := newAble(t)
	s.plan = func(op model.Op, ref model.Ref, _ string) (model.Plan, error) {
		return model.Plan{Op: op, Session: ref.Session, Writes: []string{"one row"}, Asks: []string{"book_train would run again"}}, nil
	}
	o := options(s)
	o.Session = sample.Trip
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.Repair)
	shows(t, p, "book_train would run again", "[ No ]")
	p.Press(keymap.Confirm, keymap.Yes)
	shows(t, p, "repaired: ")
	if len(s.done) != 1 {
		t.Errorf("carried out %+v", s.done)
	}
}

// Where nothing takes a plan back, a yes is not enough: a second question lists the reasons
// to think twice, and keys that were typed ahead do not answer it either.
func TestPurge_asksOnceMore(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	const quiet = 300 * time.Millisecond
	s, clock := newAble(t), &held{}
	s.plan = func(_ model.Op, ref model.Ref, _ string) (model.Plan, error) {
		return model.Plan{Op: model.OpPurge, Session: ref.Session, Writes: []string{"one row"}, Asks: []string{"it is forgotten for good", "the session was written 3 s ago"}}, nil
	}
	o := options(s)
	o.Session = sample.Trip
	o.After = func(d time.Duration) <-chan time.Time {
		if d == quiet {
			return clock.after(d)
		}
		return fired(d)
	}
	p := start(t, o, 100, 30)
	arm := func(want string) {
		t.Helper()
		p.WaitFor("the wait for quiet", func(string) bool { return clock.waiting(quiet) > 0 })
		clock.fire(quiet)
		waitFor(t, p, want)
	}
	ask := func() {
		t.Helper()
		p.Send(screentest.Key(t, "R"))
		waitFor(t, p, "read the plan")
		arm("[ No ]")
		p.Send(screentest.Key(t, "y"))
		waitFor(t, p, "read the reasons")
	}
	ask()
	for range 3 { // typed ahead
		before := clock.waiting(quiet)
		p.Send(screentest.Key(t, "y"))
		p.WaitFor("the key to be handled", func(string) bool { return clock.waiting(quiet) > before })
	}
	shows(t, p, "Once more: purge trip-planner", "1.  it is forgotten for good", "2.  the session was written 3 s ago", "read the reasons")
	arm("[ No ]")
	p.Send(screentest.Key(t, "enter")) // No is the default
	waitFor(t, p, "nothing was changed")
	if len(s.done) > 0 {
		t.Fatalf("carried out %+v", s.done)
	}
	ask()
	arm("[ No ]")
	p.Send(screentest.Key(t, "y"))
	waitFor(t, p, "forgot what was set aside")
	if len(s.done) != 1 {
		t.Errorf("carried out %+v", s.done)
	}
}

func TestRepair_fromTheListOfSessions(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	s := newAble(t)
	p := start(t, options(s), 100, 30)
	p.Press(keymap.Picker, keymap.MoveDown, keymap.Repair)
	p.Press(keymap.Confirm, keymap.Yes)
	if len(s.done) != 1 || s.done[0].Op != model.OpRepair {
		t.Fatalf("carried out %+v", s.done)
	}
	shows(t, p, "repaired: "+s.done[0].Session)
}

func TestRepair_nothingToMend(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	s := newAble(t)
	s.plan = func(op model.Op, _ model.Ref, _ string) (model.Plan, error) {
		return model.Plan{}, &model.NothingToError{Op: op}
	}
	o := options(s)
	o.Session = sample.Trip
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.Repair)
	if got := lastLine(p); got != "nothing to repair" {
		t.Errorf("last line %q", got)
	}
}

func TestRun_asksForTheInput(t *testing.T) {
	t.Parallel()
	s := newAble(t)
	o := options(s)
	o.Session = sample.Trip
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.Run)
	shows(t, p, "Run from #13: models and tools will run")
	p.Type("and now?")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "what and now? says", "[ No ]")
	p.Press(keymap.Confirm, keymap.Yes)
	if len(s.done) != 1 || s.done[0].Op != model.OpRun {
		t.Fatalf("carried out %+v", s.done)
	}
	shows(t, p, "ran on: ")
}

// A purge is planned from the journal, and asked about twice: nothing brings back
// what it forgets.
func TestPurge_fromTheJournal(t *testing.T) {
	t.Parallel()
	s := newAble(t)
	restore(t, s.Store, model.Ref{Session: sample.Trip, ID: idAt(t, s, 5)})
	o := options(s)
	o.Session = sample.Trip
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.Journal)
	p.Press(keymap.Written, keymap.Purge)
	shows(t, p, "Forget for good what was set aside of trip-planner", "r  purge redacted")
	p.Press(keymap.PurgeMenu, keymap.PurgeAll)
	shows(t, p, "purge trip-planner", "what all says", "cannot be brought back")
	p.Press(keymap.Confirm, keymap.Yes)
	shows(t, p, "Once more: purge trip-planner")
	p.Press(keymap.Confirm, keymap.Yes)
	if len(s.done) != 1 || s.done[0].Op != model.OpPurge {
		t.Fatalf("carried out %+v", s.done)
	}
	shows(t, p, "forgot what was set aside of trip-planner")
	lacks(t, p, "u undo")
}

// The call to go on with is at hand after a write.
func TestRestore_resumeCallCanBeCopied(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	s := newAble(t)
	s.plan = func(op model.Op, ref model.Ref, _ string) (model.Plan, error) {
		return model.Plan{Op: op, Session: ref.Session, Writes: []string{"one row"}, Resume: []model.Resume{{Call: "agent(None)", Then: "the model goes on"}, {Call: "agent([])"}}}, nil
	}
	terminal := newSyncBuffer()
	o := options(s)
	o.Session, o.Output = sample.Trip, terminal
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.Yank)
	shows(t, p, "c  copy resume call  what goes on from here")
	p.Press(keymap.Menu, keymap.Back)
	p.Press(keymap.Timeline, keymap.Repair)
	shows(t, p, "then    agent(None)", "the model goes on")
	lacks(t, p, "agent([])")
	p.Press(keymap.Confirm, keymap.PlanDetails)
	shows(t, p, "resume     agent(None)", "resume     agent([])", "tab in short")
	p.Press(keymap.Confirm, keymap.Yes)
	shows(t, p, "y c copies · u undo")
	p.Press(keymap.Timeline, keymap.Yank)
	p.Press(keymap.Menu, keymap.YankCall)
	shows(t, p, "the resume call was sent")
	if got := clipboard(t, terminal.String()); !slices.Equal(got, []string{"agent(None)"}) {
		t.Errorf("copied %q", got)
	}
}

func TestEdit_storeThatCannotSaysWhy(t *testing.T) {
	t.Parallel()
	o := options(readOnly{demoStore(t)})
	o.Session = sample.Trip
	p := start(t, o, 100, 30)
	for a, want := range map[keymap.Action]string{
		keymap.Edit:   "edit and fork: a memory store cannot edit",
		keymap.Repair: "repair: a memory store cannot repair",
		keymap.Run:    "run from here: a memory store cannot run",
	} {
		p.Press(keymap.Timeline, a)
		if got := lastLine(p); got != want {
			t.Errorf("%s says %q, want %q", a, got, want)
		}
	}
}

// Of a coding agent's session a text is edited, and the new session, which the agent names, has it in its records.
func TestEdit_textOfAnAgent(t *testing.T) {
	t.Parallel()
	dir := storetest.Copy(t, filepath.Join("..", "testdata", "coding", "claude-code"))
	s, err := claudecode.Kind(nil).Kind.Open(t.Context(), filepath.Join(dir, "projects"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	o := options(s)
	o.Session, o.Temp = "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789", t.TempDir()
	o.Getenv = environment(map[string]string{"VISUAL": script(t, `sed -i 's/reply to: other cwd/another answer/' "$1"`)})
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.ShowMessages, keymap.Open)
	p.Press(keymap.Messages, keymap.Edit)
	p.Golden()
	p.Send(screentest.Key(t, "m"))
	waitFor(t, p, "from an edited #13")
	shows(t, p, "edited: /messages/7/content/0/text", "messages changed")
	p.Press(keymap.Confirm, keymap.Yes)
	waitFor(t, p, "forked from an edited #13")
	n := 0
	for _, info := range storetest.Sessions(t, s) {
		list := storetest.Headers(t, s, info.ID)
		if slices.ContainsFunc(list, func(h model.Header) bool { return h.Title == "another answer" }) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d sessions have the other text", n)
	}
	gone(t, p, o.Temp)
}
