package tui

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/sample"
	"hindcast/store/storetest/fake"
	"hindcast/store/storetest/skip"
	"hindcast/tui/answers"
	"hindcast/tui/dialog"
	"hindcast/tui/statetab"
	"hindcast/tui/timeline"
)

// demoModel returns a model over the demo's sessions.
func demoModel(t testing.TB) *Model {
	t.Helper()
	s := fake.New()
	if _, err := s.Import(t.Context(), sample.Rows()); err != nil {
		t.Fatal(err)
	}
	m, err := New(t.Context(), Options{Store: s, Session: sample.Trip})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestModel_panicInAnUpdateEndsTheProgram(t *testing.T) {
	m := demoModel(t)
	m.timeline = nil // a fault of the program's own
	m.place = inSession
	_, cmd := m.Update(tea.KeyMsg{Type: tea.KeyTab})
	if cmd == nil || m.crash == nil {
		t.Fatalf("crash %v", m.crash)
	}
	if _, quits := cmd().(tea.QuitMsg); !quits {
		t.Error("the program goes on")
	}
}

// A fact that comes too late changes nothing, whatever it is about.
func TestModel_dropsStaleFacts(t *testing.T) {
	m := demoModel(t)
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	m.Init()
	before := m.View()
	came := 0
	late := func() tea.Cmd {
		came++
		m.fail(errors.New("too late"))
		return m.listSessions()
	}
	var facts []tea.Msg
	for kind := range taskKinds {
		gen := m.tasks[kind].gen
		work := m.start(kind, "", func(context.Context, *progress) fact { return late })
		facts = append(facts, work(), fact(func() tea.Cmd { return m.ranLong(kind, gen) }))
		m.stop(kind)
	}
	read := m.readLabels
	m.o.Labels = noneLabelled{}
	labels := read()
	m.stop(labelling)
	answers := streamAnswers(m, asking, "", func(context.Context, *query.Session, *progress) iter.Seq2[answers.Answer, error] {
		return func(yield func(answers.Answer, error) bool) { yield(answers.Answer{}, errors.New("too late")) }
	}, func(part[answers.Answer]) tea.Cmd { return late() })
	m.stop(asking)
	facts = append(facts, labels(), answers(), fact(func() tea.Cmd { return m.labelsChanged(99) }), fact(m.turnSpinner))
	for _, f := range facts {
		if _, cmd := m.Update(f); cmd != nil {
			t.Errorf("%T leads on", f)
		}
		if m.dirty || m.View() != before {
			t.Errorf("%T changed the screen", f)
		}
	}
	if came > 0 || m.news.lent != 0 {
		t.Errorf("%d facts came too late and were taken, %d timelines are lent", came, m.news.lent)
	}
}

// noneLabelled has no labels of any session.
type noneLabelled struct{ Labels }

func (noneLabelled) Of(context.Context, store.Store, string) ([]model.Label, error) { return nil, nil }

// That no keys came for a while is a fact about the question that was open then, not
// about the one after it.
func TestModel_quietArmsItsOwnQuestion(t *testing.T) {
	m := demoModel(t)
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	agreed := 0
	ask := func() tea.Cmd {
		yes := func() tea.Cmd { agreed++; return nil }
		return m.openQuestion(dialog.NewQuestion(m.styles, m.keys, &model.Plan{Op: model.OpRestore}, dialog.Change{}, dialog.Answers{Yes: yes}))
	}
	first := ask()
	m.openDialog(nil)
	second := ask()
	m.Update(first())
	if m.answerDialog(keymap.Yes); agreed != 0 {
		t.Fatal("the quiet before the first question armed the second")
	}
	m.Update(second())
	if m.answerDialog(keymap.Yes); agreed != 1 || m.dialog != nil {
		t.Errorf("agreed %d times, or the question stays open", agreed)
	}
}

// A command copies with the options that were there when its key came: what becomes of
// the model since is not its business.
func TestModel_copiesWithoutTheModel(t *testing.T) {
	m := demoModel(t)
	var out strings.Builder
	m.o.Getenv, m.o.Output = func(string) string { return "" }, &out
	copying := m.copyText("the id", "x")
	m.o = Options{}
	m.Update(copying())
	if !strings.Contains(m.message.whole+m.message.text, "no clipboard") {
		t.Errorf("it came to %+v", m.message)
	}
}

// What is new of a session that is no longer read changes nothing either, but the
// screen goes on to keep up.
func TestModel_staleGrowthKeepsTheTurnGoing(t *testing.T) {
	m := demoModel(t)
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	m.Init()
	readAs(m, long(10))
	before := m.View()
	m.dirty = false
	late := errors.New("too late")
	for name, f := range map[string]fact{
		"the session":  func() tea.Cmd { return m.showGrowth(growth{err: late}) },
		"the sessions": func() tea.Cmd { return m.showList(0, nil, 0, late) },
	} {
		if _, cmd := m.Update(f); cmd == nil {
			t.Errorf("%s ends the turn", name)
		}
		if m.dirty || m.View() != before {
			t.Errorf("%s changed the screen", name)
		}
	}
	m.start(reading, "reading", func(context.Context, *progress) fact { return nil })
	if _, cmd := m.Update(fact(m.catchUp)); cmd != nil || m.news.held == nil {
		t.Error("a turn goes on beside the reading")
	}
	m.stop(reading)
	if _, cmd := m.Update(struct{}{}); cmd == nil || m.news.held != nil {
		t.Error("the turn stays held")
	}
}

// A search that ends while the session is read anew was one in the old timeline:
// its matches are not mistaken for those of the new one.
func TestModel_searchWhileTheSessionIsReadAnew(t *testing.T) {
	m := demoModel(t)
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	m.Init()
	readAs(m, long(100))
	m.start(growing, "", func(context.Context, *progress) fact { return nil })
	news := growth{gen: m.tasks[growing].gen, search: m.tasks[finding].gen, whole: true, content: long(120)}
	search := m.findText("#7")
	if _, cmd := grow(m, news); cmd != nil || m.news.held == nil {
		t.Fatal("the timeline grows under a search")
	}
	for _, cmd := range search().(tea.BatchMsg)[:1] {
		m.Update(cmd())
	}
	if m.timeline.Timeline().Len() != 120 {
		t.Fatal("the turn stays held")
	}
	if matches := m.timeline.Matches(); matches.Len() != 0 || m.searched == m.searchPlace() {
		t.Errorf("%d matches of the old timeline", matches.Len())
	}
}

// What was held while something else went on, and came while the cursor went
// along with the head, is not new to whoever goes elsewhere then.
func TestModel_heldGrowthIsSeen(t *testing.T) {
	m := demoModel(t)
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	m.Init()
	readAs(m, long(100))
	m.news.changes = make(chan struct{})
	m.start(growing, "", func(context.Context, *progress) fact { return nil })
	news := growth{gen: m.tasks[growing].gen, search: m.tasks[finding].gen, whole: true, content: long(120)}
	m.start(reading, "reading", func(context.Context, *progress) fact { return nil })
	grow(m, news)
	m.stop(reading)
	m.Update(struct{}{})
	if got := m.cursorStanding(); m.timeline.Timeline().Len() != 120 || got != "following" {
		t.Fatalf("with the head: %q", got)
	}
	m.Update(tea.KeyMsg{Type: tea.KeyUp})
	if got := m.cursorStanding(); got != "" {
		t.Errorf("elsewhere: %q", got)
	}
}

// A session that grows all the time is added up for a fifth of the time at the most.
func TestModel_usageRests(t *testing.T) {
	m := demoModel(t)
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	m.Init()
	readAs(m, long(10))
	began := time.Unix(1e9, 0)
	var waits []time.Duration
	m.o.After = func(d time.Duration) <-chan time.Time {
		waits = append(waits, d)
		c := make(chan time.Time, 1)
		c <- began
		return c
	}
	m.o.Now = func() time.Time { return began }
	m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{'t'}})
	if !m.tasks[addingUp].running {
		t.Fatal("nothing is added up")
	}
	m.o.Now = func() time.Time { return began.Add(100 * time.Millisecond) }
	tl := m.timeline.Timeline()
	m.stop(addingUp)
	cmd := m.showSums(tl, sumUp(tl, nil, noPrices{}), nil)
	m.usage.begun = extent{} // the session grew
	if m.addUp() != nil {
		t.Error("it is added up again at once")
	}
	var rested []tea.Msg
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, one := range msg {
			rested = append(rested, one())
		}
	default:
		rested = append(rested, msg)
	}
	if !slices.Contains(waits, 400*time.Millisecond) {
		t.Errorf("it rests for %v after 100 ms", waits)
	}
	m.Update(rested[len(rested)-1])
	if !m.tasks[addingUp].running {
		t.Error("it is not added up any more")
	}
}

func TestModel_viewIsTheLastFrameWhileNothingChanges(t *testing.T) {
	skip.Counting(t)
	m := demoModel(t)
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
	m.View()
	if n := testing.AllocsPerRun(100, func() {
		m.Update(struct{}{})
		m.View()
	}); n != 0 {
		t.Errorf("%v allocations for nothing", n)
	}
}

// states over a store that counts how often it is read.
type counting struct {
	*fake.Store
	reads map[string]int
	fail  error
}

func (c *counting) State(_ context.Context, ref model.Ref) ([]byte, error) {
	c.reads[ref.ID]++
	if c.fail != nil {
		return nil, c.fail
	}
	return make([]byte, 100), nil
}

func TestStates_keepsWithinItsBudget(t *testing.T) {
	s := &counting{Store: fake.New(), reads: map[string]int{}}
	c := newStates(s, 600) // three states, each with a tape as large
	for _, id := range []string{"a", "b", "c", "a", "d", "a", "c", "b"} {
		if _, err := c.get(t.Context(), model.Ref{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	// d pushes b out, which was asked for longest ago; b then pushes d out.
	if want := map[string]int{"a": 1, "b": 2, "c": 1, "d": 1}; !reflect.DeepEqual(s.reads, want) {
		t.Errorf("reads %v, want %v", s.reads, want)
	}
	if c.used > 600 || len(c.byRef) != 3 || c.order.Len() != 3 {
		t.Errorf("%d bytes used by %d states", c.used, len(c.byRef))
	}
	c.forgetAll()
	if c.used != 0 || c.order.Len() != 0 {
		t.Errorf("%d bytes used after forgetting", c.used)
	}
}

func TestStates_errorsAreNotKept(t *testing.T) {
	s := &counting{Store: fake.New(), reads: map[string]int{}, fail: errors.New("unreadable")}
	c := newStates(s, 600)
	if _, err := c.get(t.Context(), model.Ref{ID: "a"}); !errors.Is(err, s.fail) {
		t.Errorf("error %v", err)
	}
	s.fail = nil
	if st, err := c.get(t.Context(), model.Ref{ID: "a"}); err != nil || len(st.data) != 100 {
		t.Errorf("error %v", err)
	}
	if c.used != 200 {
		t.Errorf("%d bytes used", c.used)
	}
}

// slow is a store whose states come when the test says so.
type slow struct {
	*fake.Store
	asked, answer chan struct{}
}

func (s *slow) State(ctx context.Context, _ model.Ref) ([]byte, error) {
	s.asked <- struct{}{}
	select {
	case <-s.answer:
		return []byte("{}"), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Who waits for a state that somebody else gave up reads it himself.
func TestStates_cancellingOneDoesNotCancelTheOthers(t *testing.T) {
	s := &slow{fake.New(), make(chan struct{}), make(chan struct{})}
	c := newStates(s, 600)
	first, giveUp := context.WithCancel(t.Context())
	results := make(chan error)
	get := func(ctx context.Context) {
		_, err := c.get(ctx, model.Ref{ID: "a"})
		results <- err
	}
	go get(first)
	<-s.asked
	go get(t.Context())
	giveUp()
	if err := <-results; !errors.Is(err, context.Canceled) {
		t.Errorf("the first got %v", err)
	}
	<-s.asked
	s.answer <- struct{}{}
	if err := <-results; err != nil {
		t.Errorf("the second got %v", err)
	}
}

// BenchmarkFrame is a key and the frame that it leads to, on 200x50 cells.
func BenchmarkFrame(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := framed(b, n)
			keys := []tea.KeyMsg{{Type: tea.KeyRunes, Runes: []rune{'k'}}, {Type: tea.KeyCtrlU}, {Type: tea.KeyRunes, Runes: []rune{'j'}}}
			i, bytes := 0, 0
			for b.Loop() {
				m.Update(keys[i%len(keys)])
				bytes += len(m.View())
				i++
			}
			b.ReportMetric(float64(bytes)/float64(b.N), "bytes/frame")
		})
	}
}

// BenchmarkFrame_all is what a person can add to a screen: the scrubber, three watches, a
// label on every tenth snapshot, the column of tokens, the margin of the State tab, and all of
// it. Each key is taken by a screen with it and by one without, in turns; both show the same tab,
// and the medians are compared: what else the machine does is no cost of the screen.
func BenchmarkFrame_all(b *testing.B) {
	all := []struct {
		name string
		add  func(*Model)
	}{{"scrubber", (*Model).showScrubber}, {"watches", watchThree}, {"labels", labelSome}, {"tokens", knowTokens}, {"margin", blameAll}}
	for _, n := range []int{1_000, 100_000} {
		bench := func(name string, add func(*Model)) {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				with, without := framed(b, n), framed(b, n)
				if name == "margin" || name == "all" {
					showState(b, with)
					showState(b, without)
				}
				add(with)
				key := func(m *Model, k rune) time.Duration {
					began := time.Now()
					m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{k}})
					m.View()
					return time.Since(began)
				}
				var took, took0 []time.Duration
				for i := 0; b.Loop(); i++ {
					took = append(took, key(with, rune("kj"[i%2])))
					took0 = append(took0, key(without, rune("kj"[i%2])))
				}
				b.ReportMetric(float64(median(took))/float64(median(took0)), "×without")
			})
		}
		for _, one := range all {
			bench(one.name, one.add)
		}
		bench("all", func(m *Model) {
			for _, one := range all {
				one.add(m)
			}
		})
	}
}

// median returns the one in the middle of some times, and sorts them.
func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// showState shows the largest state of the demo, unfolded.
func showState(b *testing.B, m *Model) {
	b.Helper()
	state := tabOf(keymap.ShowState)
	m.showTab(state)
	headers, _, err := m.o.Store.(*fake.Store).Tail(b.Context(), sample.Trip, 100)
	if err != nil {
		b.Fatal(err)
	}
	t, last := m.tabs[state], headers[len(headers)-1]
	content, err := t.prepare(b.Context(), subject{subjectKey: subjectKey{ref: last.Ref()}, header: last})
	if err != nil {
		b.Fatal(err)
	}
	t.set(content)
	t.shows, t.about = m.subject().subjectKey, about{ref: m.wanted.ref, with: m.wanted.with}
	m.resizeTab(t)
	t.pane.Do(keymap.UnfoldAll)
	t.pane.Do(keymap.UnfoldAll)
}

// blameAll shows the margin, with a snapshot for each value.
func blameAll(m *Model) {
	m.toggleBlame()
	m.blame.shows, m.blame.of, m.blame.at = m.subject().subjectKey, m.timeline.Timeline(), map[string]query.Blamed{}
	p := m.tabs[tabOf(keymap.ShowState)].pane.(*statetab.Pane)
	p.Do(keymap.Top)
	for range 1000 {
		m.blame.at[p.Path()] = query.Blamed{Visit: model.Node(len(m.blame.at) % m.blame.of.Len())}
		p.Do(keymap.MoveDown)
	}
	p.Do(keymap.Top)
	m.setMargin()
	m.dirty = true
	if !strings.Contains(m.View(), "#8 ") {
		panic("the margin does not show:\n" + m.View())
	}
}

// watchThree watches three values, which are known.
func watchThree(m *Model) {
	for _, text := range []string{"/cart/total", "/plan/status", "/messages/0"} {
		w := &watch{text: text, of: m.timeline.Timeline(), values: map[model.Node]string{}}
		for n := model.Node(w.of.Len() - 1000); int(n) < w.of.Len(); n++ {
			w.values[n] = strconv.Itoa(int(n))
		}
		m.watches.list = append(m.watches.list, w)
	}
	m.showColumns()
}

// labelSome labels every tenth snapshot.
func labelSome(m *Model) {
	var list []model.Label
	t := m.timeline.Timeline()
	for n := model.Node(0); int(n) < t.Len(); n += 10 {
		list = append(list, model.Label{ID: t.Header(n).ID, Visit: t.Header(n).Visit, Name: "emptied", Note: "here the cart went"})
	}
	m.timeline.SetLabels(timeline.PlaceLabels(t, list))
}

// knowTokens shows the column of tokens, which are known.
func knowTokens(m *Model) {
	t := m.timeline.Timeline()
	stats := make([]query.Stat, t.Len())
	for n := range model.Node(t.Len()) {
		stats[n] = query.Stat{Visit: n, Answers: []query.Answer{{Usage: conversation.Usage{Counted: true, Input: 1000 * float64(n%100)}}}}
	}
	m.showTokens()
	m.usage.begun, m.usage.of, m.usage.bill = extent{t, t.Len()}, t, sumUp(t, stats, noPrices{})
}

// framed returns a model on 200x50 cells that shows a session of n snapshots, and
// beside it the largest diff of the demo.
func framed(b *testing.B, n int) *Model {
	b.Helper()
	m := demoModel(b)
	m.Init()
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
	readAs(m, long(n))
	headers, _, err := m.o.Store.(*fake.Store).Tail(b.Context(), sample.Trip, 100)
	if err != nil {
		b.Fatal(err)
	}
	first, last := headers[0], headers[len(headers)-1]
	content, err := m.tabs[0].prepare(b.Context(), subject{subjectKey: subjectKey{ref: last.Ref(), with: first.Ref()}, header: last, base: first})
	if err != nil {
		b.Fatal(err)
	}
	m.tabs[0].set(content)
	m.tabs[0].about = about{ref: m.wanted.ref, with: m.wanted.with}
	return m
}

// readAs has a model take in that the session was read.
func readAs(m *Model, content *timeline.Content) {
	m.finish(reading, m.tasks[reading].gen)
	m.Update(fact(func() tea.Cmd { return m.headersRead(content, nil) }))
}

// grow has a model take in what is new.
func grow(m *Model, news growth) (tea.Model, tea.Cmd) {
	return m.Update(fact(func() tea.Cmd { return m.showGrowth(news) }))
}

// grown returns that k snapshots have come below the head, for a model that waits for it.
func grown(m *Model, k int) growth {
	t := m.timeline.Timeline()
	last, n := t.Header(t.Head()), t.Len()
	var fresh []model.Header
	for i := range k {
		last = model.Header{
			ID: fmt.Sprintf("%064x", n+i), ParentID: last.ID, SessionID: sample.Trip, Index: last.Index + 1, TurnIndex: last.TurnIndex,
			Visit: int64(n + i + 1), ParentVisit: last.Visit, CreatedAt: time.Unix(int64(1e9+n+i), 0), Title: "Booked the 09:40 to Lyon.",
		}
		fresh = append(fresh, last)
	}
	fresh[k-1].Head = true
	m.start(growing, "", func(context.Context, *progress) fact { return nil })
	if !m.content.Takes(fresh) {
		return growth{gen: m.tasks[growing].gen, content: m.content.With(fresh)}
	}
	return growth{gen: m.tasks[growing].gen, headers: fresh}
}

// BenchmarkGrowth is ten new snapshots, the frame that shows them, and the tab's
// work that begins with them, at the head and away from it.
func BenchmarkGrowth(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		for name, key := range map[string]rune{"following": '@', "elsewhere": 'k'} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				m := framed(b, n)
				m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{key}})
				m.View()
				for b.Loop() {
					b.StopTimer()
					news := grown(m, 10)
					for news.content != nil { // made anew, by a command
						grow(m, news)
						news = grown(m, 10)
					}
					b.StartTimer()
					grow(m, news)
					m.View()
				}
			})
		}
	}
}

// Ten thousand snapshots in a thousand updates take up what their headers do.
func TestModel_growthKeepsNothingButHeaders(t *testing.T) {
	skip.Counting(t)
	m := demoModel(t)
	m.Init()
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
	readAs(m, long(20_000))
	m.View()
	heap := func() float64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return float64(s.HeapAlloc)
	}
	growth := func(updates int) {
		for range updates {
			grow(m, grown(m, 10))
			m.View()
		}
	}
	growth(10)
	before := heap()
	growth(1000)
	took := (heap() - before) / 10_000
	t.Logf("%.0f bytes for each snapshot", took)
	// A header and its place in the tree are about 260 bytes, its id 80, and there
	// is room for an eighth more.
	if took > 600 || m.timeline.Timeline().Len() != 30_100 {
		t.Errorf("%.0f bytes for each of %d snapshots", took, m.timeline.Timeline().Len())
	}
}

// BenchmarkFrame_dialog is a key and its frame while a dialog is open.
func BenchmarkFrame_dialog(b *testing.B) {
	m := framed(b, 1000)
	m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{'?'}})
	keys := []tea.KeyMsg{{Type: tea.KeyRunes, Runes: []rune{'j'}}, {Type: tea.KeyRunes, Runes: []rune{'k'}}}
	i := 0
	for b.Loop() {
		m.Update(keys[i%len(keys)])
		m.View()
		i++
	}
}

// long returns the content of a session of n snapshots with a branch every fifty.
func long(n int) *timeline.Content {
	headers := make([]model.Header, n, n+timeline.Spare(n))
	tip := 0
	for i := range headers {
		h := &headers[i]
		*h = model.Header{
			ID: fmt.Sprintf("%064x", i), SessionID: sample.Trip, Index: i, TurnIndex: i / 3,
			Visit: int64(i + 1), ParentVisit: int64(tip), Title: "Booked the 09:40 to Lyon, and a room for two nights.",
			CreatedAt: time.Unix(int64(1e9+i), 0), Event: model.SnapshotEvent(i % 3),
		}
		if i%50 == 49 && i < n-1 {
			h.Orphaned = true
		} else {
			tip = i + 1
		}
	}
	headers[n-1].Head = true
	return timeline.Prepare(model.NewTimeline(headers))
}

// Once the screen ends, its pictures are gone, and none is opened any more.
func TestAlbum_isRemoved(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no viewer
	temp, a := t.TempDir(), &album{}
	if err := a.showPicture(temp, "png", []byte("x")); err == nil || !strings.Contains(err.Error(), "start the viewer") {
		t.Errorf("error %v", err)
	}
	pictures := func() []string {
		found, err := filepath.Glob(filepath.Join(temp, "*", "*.png"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if n := len(pictures()); n != 1 {
		t.Errorf("%d pictures", n)
	}
	a.removeAll()
	if err := a.showPicture(temp, "png", nil); err == nil || len(pictures()) != 0 {
		t.Errorf("%v after the end, error %v", pictures(), err)
	}
}
