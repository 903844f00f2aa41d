package ledger

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"iter"
	"math"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/query"
	"hindcast/store"
)

// Account holds the usage of one session, as far as its store tells. It never changes.
type Account struct {
	// Moments are in recorded order. Moments of one branch within a quarter of an hour are one.
	Moments []Moment
	// Branches are the branches off the active path, in recorded order.
	Branches []Branch
	// Unread counts the states that could not be read.
	Unread int
	// Flags counts the flags of the line to the head, see [query.Run.Flags], and FlagTokens adds up their tokens.
	Flags      int
	FlagTokens float64
}

// Branch is a branch off the active path, with all that branches off from it.
type Branch struct {
	// Root names its first visit.
	Root string
	// Why is why it is off the path.
	Why model.ReasonKind
}

// quarter is the precision of a moment: time zones differ by it.
const quarter = 15 * time.Minute

// Moment holds the usage of a session within a quarter of an hour.
type Moment struct {
	// At is the begin of the quarter.
	At time.Time
	// Branch is the number of its branch in Branches, from 1; 0 on the active path.
	Branch int
	// Dropped says that the model no longer sees it: a compaction or a window dropped it.
	Dropped bool
	// Turns counts the turns that begin, by the rules of [model.FindTurns], Calls the tool calls, and Errors the tools that failed. Failures
	// counts the tools and the answers that failed.
	Turns, Calls, Errors, Failures int
	// Waited is how long the person waited for the agent.
	Waited time.Duration
	// Answers are the answers of models.
	Answers []Answer
}

// Answer is one answer of a model.
type Answer struct {
	conversation.Usage
	// Key is equal for the copies of one answer in several sessions; 0 where nothing tells.
	Key uint64
}

// ReadAccount reads the account of one session. It reads the session's bytes once and lets go of them. The time of the
// last change stands in for that of a visit without one. No person types to a session that another one started, nor
// waits for it.
func ReadAccount(ctx context.Context, s store.Store, of *model.SessionInfo) (*Account, error) {
	t, err := query.ReadTimeline(ctx, s, of.ID)
	if err != nil {
		return nil, err
	}
	w := writer{t: t, at: of.UpdatedAt, isAgent: of.Parent != "", branches: map[model.Node]int{}, roots: query.NewRoots(t), opens: make([]bool, t.Len())}
	turns := model.FindTurns(t)
	for i := range turns.Len() {
		w.opens[turns.Turn(i).First] = true
	}
	for stat, err := range query.Open(s, t).StatsWithRun(ctx, t, t.Head(), of.Project, nil, w.addFlags) {
		if err != nil {
			return nil, err
		}
		w.addStat(&stat)
	}
	if facts := s.Features().Facts; facts != nil && !w.answered && !w.isAgent && t.Head() != model.NoNode {
		counted, err := facts(ctx, t.Header(t.Head()).Ref())
		if err != nil {
			return nil, err
		}
		w.addCounted(counted)
	}
	return w.finish(), nil
}

// addCounted adds the counts that an agent keeps for the whole session, whose answers tell none, as one answer at its
// end. They include those of its sub-agents.
func (w *writer) addCounted(facts []model.Fact) {
	var u conversation.Usage
	for _, fact := range facts {
		for _, n := range fact.Numbers {
			switch n.Key {
			case "counted.inputTokens":
				u.Input, u.Counted = n.Value, true
			case "counted.outputTokens":
				u.Output, u.Counted = n.Value, true
			case "counted.cacheReadTokens":
				u.CacheRead = n.Value
			case "counted.cost":
				u.Cost, u.Priced = n.Value, true
			}
		}
	}
	last := len(w.Moments) - 1
	for last > 0 && w.Moments[last].Branch != 0 {
		last--
	}
	if last >= 0 && (u.Counted || u.Priced) {
		w.Moments[last].Answers = append(w.Moments[last].Answers, Answer{Usage: u})
	}
}

// writer makes an account of stats.
type writer struct {
	Account
	t *model.Timeline
	// at is the last time that is known.
	at       time.Time
	branches map[model.Node]int
	roots    query.Roots
	// opens says of each visit whether it opens a turn.
	opens []bool
	// isAgent says that another session started this one, answered that an answer tells its tokens or price.
	isAgent, answered bool
}

// addStat adds what a visit adds to its path.
func (w *writer) addStat(stat *query.Stat) {
	h := w.t.Header(stat.Visit)
	if !h.CreatedAt.IsZero() {
		w.at = h.CreatedAt
	}
	is := Moment{At: w.at.Truncate(quarter).UTC(), Calls: stat.Calls, Errors: stat.Errors, Failures: stat.Errors}
	if is.Failures == 0 && h.Marks.Has(model.MarkError) {
		is.Failures = 1
	}
	why := model.ReasonUnknown
	if !w.t.OnPath(stat.Visit) {
		root := w.roots.Of(w.t, stat.Visit)
		if is.Branch = w.branches[root]; is.Branch == 0 {
			w.Branches = append(w.Branches, Branch{w.t.Name(root), w.t.Reason(root).Kind})
			is.Branch = len(w.Branches)
			w.branches[root] = is.Branch
		}
		why = w.Branches[is.Branch-1].Why
	}
	is.Dropped = h.Marks.Has(model.MarkEvicted) || why == model.ReasonCompaction
	switch parent := w.t.Parent(stat.Visit); {
	case w.isAgent:
	case w.opens[stat.Visit]:
		is.Turns = 1
		for i := range stat.Answers { // the prompt and its answer are one visit
			is.Waited += time.Duration(stat.Answers[i].Milliseconds * float64(time.Millisecond))
		}
	case parent != model.NoNode && why != model.ReasonSidechain:
		if before := w.t.Header(parent).CreatedAt; !before.IsZero() && h.CreatedAt.After(before) {
			is.Waited = h.CreatedAt.Sub(before)
		}
	}
	for i := range stat.Answers {
		a := &stat.Answers[i]
		usage := a.Usage
		w.answered = true
		usage.Milliseconds = math.Round(a.Milliseconds)
		is.Answers = append(is.Answers, Answer{usage, answerKey(a, h.CreatedAt)})
	}
	if stat.Unread != nil {
		w.Unread++
	}
	w.addMoment(is)
}

// addFlags counts the flags of the line to the head.
func (w *writer) addFlags(run *query.Run) {
	for _, f := range run.Flags() {
		w.Flags++
		w.FlagTokens += f.Tokens
	}
}

// addMoment adds a moment, or adds it to the last one of the same branch and quarter.
func (w *writer) addMoment(is Moment) {
	last := len(w.Moments) - 1
	if last < 0 || w.Moments[last].Branch != is.Branch || w.Moments[last].Dropped != is.Dropped || !w.Moments[last].At.Equal(is.At) {
		w.Moments = append(w.Moments, is)
		return
	}
	m := &w.Moments[last]
	m.Turns, m.Calls, m.Errors, m.Failures = m.Turns+is.Turns, m.Calls+is.Calls, m.Errors+is.Errors, m.Failures+is.Failures
	m.Waited += is.Waited
	m.Answers = append(m.Answers, is.Answers...)
}

// finish returns the account.
func (w *writer) finish() *Account {
	for i := range w.Moments {
		m := &w.Moments[i]
		m.Waited = m.Waited.Round(time.Millisecond)
	}
	return &w.Account
}

// longID is the least length of an id that no other program gives to another answer.
const longID = 20

// answerKey returns the key of an answer: its id, or else its time and all its counts.
func answerKey(a *query.Answer, at time.Time) uint64 {
	hash := fnv.New64a()
	if len(a.ID) < longID && at.IsZero() {
		return 0
	}
	_, _ = hash.Write([]byte(a.ID)) // a hash takes all
	if len(a.ID) < longID {
		text := append([]byte{0}, a.Model...)
		text = binary.AppendVarint(append(text, 0), at.UnixNano())
		for _, n := range []float64{a.Input, a.Output, a.CacheRead, a.CacheWrite} {
			text = binary.AppendUvarint(text, math.Float64bits(n))
		}
		_, _ = hash.Write(text)
	}
	return max(hash.Sum64(), 1)
}

// Sum is the sum of an account, or of many.
type Sum struct {
	// Sum has no Snapshots.
	query.Sum
	// Turns, Failures and Waited add up the fields of [Moment], Flags and FlagTokens those of [Account]; only [SumOf]
	// counts flags.
	Turns, Failures, Flags int
	FlagTokens             float64
	Waited                 time.Duration
	// Branches counts the branches that were left. Left is the share of these branches, and Dropped the share
	// of the other messages that a compaction or a window dropped.
	Branches      int
	Left, Dropped query.Sum
}

// isLeft reports whether the branch was left: it is neither the conversation of a sub-agent, nor before a compaction.
func (b Branch) isLeft() bool {
	return b.Why != model.ReasonSidechain && b.Why != model.ReasonCompaction
}

// isLeft reports whether a moment is on a branch that was left.
func (a *Account) isLeft(m *Moment) bool { return m.Branch != 0 && a.Branches[m.Branch-1].isLeft() }

// addMoment adds a moment and the answers of it that were not met before. A moment is a copy where all of them were. left
// says that it is on a branch that was left.
func (s *Sum) addMoment(m *Moment, left bool, answers []*Answer, prices query.Prices) {
	if len(m.Answers) > 0 && len(answers) == 0 {
		return
	}
	is := query.Sum{Calls: m.Calls, Errors: m.Errors}
	for _, a := range answers {
		is.AddAnswer(a.Usage, prices)
	}
	s.AddSum(is)
	switch {
	case left:
		s.Left.AddSum(is)
	case m.Dropped:
		s.Dropped.AddSum(is)
	}
	s.Turns, s.Failures, s.Waited = s.Turns+m.Turns, s.Failures+m.Failures, s.Waited+m.Waited
}

// Sum adds up the account. An answer that the session has twice counts once.
func (a *Account) Sum(prices query.Prices) Sum { return SumOf(prices, a) }

// SumOf adds up accounts, such as those of a session and its sub-agents. An answer that several have counts once.
func SumOf(prices query.Prices, accounts ...*Account) (s Sum) {
	met := map[uint64]bool{}
	for _, a := range accounts {
		s.Flags, s.FlagTokens = s.Flags+a.Flags, s.FlagTokens+a.FlagTokens
		for _, b := range a.Branches {
			if b.isLeft() {
				s.Branches++
			}
		}
		for m := range a.pathFirst() {
			s.addMoment(m, a.isLeft(m), m.newAnswers(met), prices)
		}
	}
	return s
}

// pathFirst yields the moments of the active path, and then those of the branches.
func (a *Account) pathFirst() iter.Seq[*Moment] {
	return func(yield func(*Moment) bool) {
		for _, onPath := range []bool{true, false} {
			for i := range a.Moments {
				if m := &a.Moments[i]; (m.Branch == 0) == onPath && !yield(m) {
					return
				}
			}
		}
	}
}

// newAnswers returns the answers that were not met, and notes them.
func (m *Moment) newAnswers(met map[uint64]bool) (list []*Answer) {
	for i := range m.Answers {
		a := &m.Answers[i]
		if a.Key != 0 {
			if met[a.Key] {
				continue
			}
			met[a.Key] = true
		}
		list = append(list, a)
	}
	return list
}
