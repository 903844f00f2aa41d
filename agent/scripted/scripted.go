package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"hindcast/agent"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/typed"
)

// Options say how the agent works.
type Options struct {
	// Resume goes on with the session as the store has it, instead of beginning a new one. It begins when the
	// store lacks the session, as after a run that was killed before its first step.
	Resume bool
	// Beat is the unit of all that takes time; with 0 nothing does. The whole
	// story takes about 60.
	Beat time.Duration
	// Tell is told of each step as it happens, one at a time: the turn, what
	// kind of step it is ("user", "tool", "ok", "failed", "agent" or
	// "snapshot"), and its words. It may be nil.
	Tell func(turn int, what, words string)
}

// Report is the result of a run.
type Report struct {
	Session string
	// Captured is how many snapshots the run took. Head is where the session stands
	// after it.
	Captured int
	Head     model.Point
	// Stopped says that the context ended before the story did. What was done
	// until then is in the session.
	Stopped bool
}

var (
	// ErrOver: there is nothing to go on with, the story has come to its end.
	ErrOver = errors.New("the agent is done: put its session back to an earlier snapshot first")
	// ErrStranger: the conversation is not one of this agent's.
	ErrStranger = errors.New("the last words of the conversation are not in the script")
)

// Run lets the agent work in a store until it is done or ctx ends, which is no
// error. The errors are ErrOver, ErrStranger, those of the store, and a model.ConflictError when another program put
// the session back meanwhile: then nothing of theirs was overwritten, and Resume
// goes on from there.
func Run(ctx context.Context, s store.Store, o Options) (Report, error) {
	report, err := run(ctx, s, o)
	if err != nil {
		return report, fmt.Errorf("live demo: %w", err)
	}
	return report, nil
}

func run(ctx context.Context, s store.Store, o Options) (Report, error) {
	report := Report{Session: Session}
	raw, ok := s.(typed.Scoped[json.RawMessage])
	if !ok {
		return report, fmt.Errorf("a %s store keeps no sessions of agents", s.Kind())
	}
	sessions := typed.Of[State](raw)
	var words []string
	var err error
	if o.Resume {
		words, err = resume(ctx, s, sessions)
	} else {
		words = sitting(0, 0)
	}
	if err != nil {
		return report, err
	}
	p := &player{stop: ctx, beat: o.Beat, tell: o.Tell}
	if p.tell == nil {
		p.tell = func(int, string, string) {}
	}
	released, err := agent.Define("release", p.play,
		agent.WithSessionStore[State](sessions),
		agent.WithSnapshotCallback(agent.SnapshotOnChange[State](
			model.SnapshotEventTurnEnd, model.SnapshotEventToolIterationEnd, model.SnapshotEventInvocationEnd)))
	if err != nil {
		return report, err
	}
	// What was done is captured even when ctx ends, so the agent is told to stop
	// by itself instead.
	whole := context.WithoutCancel(ctx)
	conn, err := released.StreamBidi(whole, agent.WithSessionID[State](Session))
	if err != nil {
		return report, err
	}
	for _, w := range words {
		if conn.Send(w) != nil {
			break // the agent has stopped, and Output says why
		}
	}
	err = conn.Close()
	out, outErr := conn.Output()
	report.Captured, report.Stopped = len(out.SnapshotIDs), ctx.Err() != nil
	data, getErr := sessions.Get(whole, Session)
	if data != nil && data.LastSnapshot != nil {
		report.Head = model.Point{ID: data.LastSnapshot.ID, Index: data.LastSnapshot.Index}
	}
	err = errors.Join(err, outErr, getErr)
	if conflict := (*model.ConflictError)(nil); errors.As(err, &conflict) {
		err = conflict // all else comes of it
	}
	return report, err
}

// sitting returns the user's prompts in sitting n, from a turn on.
func sitting(n, turn int) (words []string) {
	for _, t := range sittings[n][turn:] {
		words = append(words, t.user)
	}
	return words
}

// resume returns the user's next inputs in a session, the whole story if the session does not exist. A
// session that was never put back goes on with the rest of the story. Otherwise resume picks other inputs
// than earlier tries from here. "" comes first where a turn is not over, or where its answer was given but
// its end not recorded.
func resume(ctx context.Context, s store.Store, sessions model.Store[State]) (words []string, err error) {
	data, err := sessions.Get(ctx, Session)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return sitting(0, 0), nil
	}
	turn := data.State.turns()
	_, _, over := data.State.lastPrompt()
	// An answer comes after its tools, so that this is not its snapshot.
	cut := over && data.LastSnapshot != nil && data.LastSnapshot.Event == model.SnapshotEventToolIterationEnd
	if turn >= len(sittings[0]) && !cut {
		return nil, ErrOver
	}
	n, err := countTries(ctx, s)
	switch {
	case err != nil:
		return nil, err
	case cut:
		words = append(words, "")
	case n == 0 && !over:
		words, turn = append(words, ""), turn+1
	}
	return append(words, sitting(min(n, len(sittings)-1), turn)...), nil
}

// countTries returns how many ways were taken from where the session stands and left
// again; at least 1 if it was ever put back.
func countTries(ctx context.Context, s store.Store) (int, error) {
	left := map[string]int{} // orphaned snapshots by their parent
	head, orphaned := "", 0
	for h, err := range s.Headers(ctx, Session) {
		if err != nil {
			return 0, err
		}
		if h.Head {
			head = h.ID
		}
		if h.Orphaned {
			orphaned = 1
			left[h.ParentID]++
		}
	}
	return max(left[head], orphaned), nil
}

// player plays the model, the tools and the pauses.
type player struct {
	stop context.Context // ends the playing, but not what is written
	beat time.Duration
	tell func(turn int, what, words string)
}

// errStopped says that the player was told to stop.
var errStopped = errors.New("stopped")

// pause waits for some beats.
func (p *player) pause(beats int) error {
	if p.stop.Err() != nil {
		return errStopped
	}
	select {
	case <-time.After(time.Duration(beats) * p.beat):
		return nil
	case <-p.stop.Done():
		return errStopped
	}
}

// play is the agent function. An input is a prompt of the user; "" goes on with
// the last prompt, or ends the turn if that prompt was answered.
func (p *player) play(ctx context.Context, sess *agent.Session[State], in <-chan string, resp *agent.Responder[string]) (agent.Result[string], error) {
	for words := range in {
		err := p.turn(ctx, sess, words, resp)
		if errors.Is(err, errStopped) {
			return agent.Result[string]{Output: "stopped"}, nil
		}
		if err != nil {
			return agent.Result[string]{}, err
		}
	}
	return agent.Result[string]{Output: "done"}, nil
}

func (p *player) turn(ctx context.Context, sess *agent.Session[State], words string, resp *agent.Responder[string]) error {
	if words != "" {
		if err := p.pause(2); err != nil {
			return err
		}
		p.tell(sess.TurnIndex(), "user", words)
		if err := sess.ChangeState(ctx, func(s *State) error { s.say("user", Block{Text: words}); return nil }); err != nil {
			return err
		}
	} else if over, err := p.catchUp(ctx, sess, resp); over || err != nil {
		return err
	}
	for {
		state := sess.State()
		words, rounds, _ := state.lastPrompt()
		t, ok := turnOf(words)
		if !ok {
			return fmt.Errorf("%w: %.80q", ErrStranger, words)
		}
		if err := p.pause(2); err != nil {
			return err
		}
		if rounds >= len(t.rounds) {
			return p.answer(ctx, sess, t.answer(&state), resp)
		}
		if err := p.round(ctx, sess, t.rounds[rounds]); err != nil {
			return err
		}
	}
}

// catchUp captures what was done before the agent was killed, if there was no
// time to. over says that it was the end of the turn.
func (p *player) catchUp(ctx context.Context, sess *agent.Session[State], resp *agent.Responder[string]) (over bool, err error) {
	state, turn := sess.State(), sess.TurnIndex()
	if _, _, over = state.lastPrompt(); over {
		return true, p.captures(sess, turn, resp.EndTurn)
	}
	// A state without new messages is that of tools which were not done.
	n, last := len(state.Messages), sess.LastSnapshot()
	if state.Messages[n-1].results() && (last == nil || len(last.State.Messages) < n) {
		err = p.captures(sess, turn, func() error { return agent.TriggerSnapshot(ctx, model.SnapshotEventToolIterationEnd) })
	}
	return false, err
}

// answer ends a turn.
func (p *player) answer(ctx context.Context, sess *agent.Session[State], words string, resp *agent.Responder[string]) error {
	turn := sess.TurnIndex()
	p.tell(turn, "agent", words)
	if err := sess.ChangeState(ctx, func(s *State) error { s.say("assistant", Block{Text: words}); return nil }); err != nil {
		return err
	}
	resp.Send(words)
	return p.captures(sess, turn, resp.EndTurn)
}

// round runs the tools of one answer side by side. The conversation goes on when
// all of them are done.
func (p *player) round(ctx context.Context, sess *agent.Session[State], r round) error {
	turn := sess.TurnIndex()
	for _, c := range r.calls {
		p.tell(turn, "tool", c.name+" "+c.input)
	}
	results, errs := make([]Block, len(r.calls)), make([]error, len(r.calls))
	state := sess.State()
	calls := []Block{{Text: r.words}}
	var running sync.WaitGroup
	for i, c := range r.calls {
		id := fmt.Sprintf("tooluse_%d_%d", len(state.Messages), i)
		calls = append(calls, Block{ToolUse: &ToolUse{id, c.name, json.RawMessage(c.input)}})
		running.Go(func() { results[i], errs[i] = p.call(ctx, sess, id, c) })
	}
	running.Wait()
	for _, err := range slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return errors.Is(err, errStopped) }) {
		if err != nil {
			return err
		}
	}
	if errors.Join(errs...) != nil {
		return errStopped
	}
	for i, result := range results {
		what := "ok"
		if result.ToolResult.Status == "error" {
			what = "failed"
		}
		p.tell(turn, what, r.calls[i].name+": "+result.ToolResult.Content[0].Text)
	}
	err := sess.ChangeState(ctx, func(s *State) error {
		s.say("assistant", calls...)
		s.say("user", results...)
		return nil
	})
	if err != nil {
		return err
	}
	return p.captures(sess, turn, func() error { return agent.TriggerSnapshot(ctx, model.SnapshotEventToolIterationEnd) })
}

// call runs one tool. That it fails is a result.
func (p *player) call(ctx context.Context, sess *agent.Session[State], id string, c call) (Block, error) {
	if err := p.pause(c.beats); err != nil {
		return Block{}, err
	}
	status, words := "success", ""
	err := sess.ChangeState(ctx, func(s *State) error {
		var err error
		if words, err = c.run(s); err != nil {
			status, words = "error", err.Error()
		}
		return nil
	})
	return Block{ToolResult: &ToolResult{id, status, []Block{{Text: words}}}}, err
}

// captures lets an event happen and tells of the snapshot that came of it.
func (p *player) captures(sess *agent.Session[State], turn int, event func() error) error {
	before := sess.LastSnapshot()
	if err := event(); err != nil {
		return err
	}
	if last := sess.LastSnapshot(); last != nil && (before == nil || before.Index != last.Index) {
		p.tell(turn, "snapshot", fmt.Sprintf("#%d %.8s %s", last.Index, last.ID, last.Event))
	}
	return nil
}
