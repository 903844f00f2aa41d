package strands

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/maphash"

	"hindcast/model"
	"hindcast/store/files"
)

// The ids.
//
// The id of the snapshot after message n is the SHA-256 of
//
//	{"messages":[m0,m1,…,mn]}
//
// where m0…mn are the effective messages as compact JSON: the log up to there.
// It does not depend on what agent.json says today, on what a start drops or
// repairs, nor on times and message_ids, so it is the same on every reading, and
// a session that begins as another one does shares its ids. Because the text
// of one is the beginning of the next, one running hash gives all of them: it is
// copied, ended with "]}" and read off after each message.
//
// Where nothing was taken out, repaired or added, that text is the state, and
// the id is its hash by the rule of the seed.

const (
	stateOpen  = `{"messages":[`
	stateClose = "]"
)

// idHash makes the ids one after the other.
type idHash struct {
	running hash.Hash
	n       int
}

func newIDHash() *idHash {
	h := &idHash{running: sha256.New()}
	h.running.Write([]byte(stateOpen))
	return h
}

// next takes in a message and gives the id after it.
func (h *idHash) next(body []byte) ([sha256.Size]byte, error) {
	if h.n > 0 {
		h.running.Write([]byte{','})
	}
	h.n++
	h.running.Write(body)
	ended, err := h.running.(hash.Cloner).Clone()
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	ended.Write([]byte(stateClose + "}"))
	var id [sha256.Size]byte
	ended.Sum(id[:0])
	return id, nil
}

// step is one message of a log with what was worked out about it.
type step struct {
	i      int
	msg    *message // lent, see messageLog.read
	id     [sha256.Size]byte
	header model.Header
	// fixes are what the SDK repairs when it comes to this message.
	fixes []fix
}

// Names of the events that the seed has no integer for.
const (
	eventUser    = "user input"
	eventModel   = "after model"
	eventMessage = "message"
	eventDamaged = "damaged message"
)

// walker works out the headers of a log from its messages, in order.
type walker struct {
	log       *messageLog
	ids       *idHash
	full      window // all messages so far
	live      window // those that are loaded
	completed int    // turns
	asked     []call // the tool calls that results answer
	parent    string
}

// walk reads the whole log and hands each message to visit, with its header.
func (l *messageLog) walk(ctx context.Context, visit func(*step) error) error {
	w := walker{log: l, ids: newIDHash()}
	return l.read(ctx, l.files, func(i int, m *message) error {
		s, err := w.step(i, m)
		if err != nil {
			return err
		}
		return visit(&s)
	})
}

func (w *walker) step(i int, m *message) (s step, err error) {
	l := w.log
	s = step{i: i, msg: m}
	if s.id, err = w.ids.next(m.body); err != nil {
		return s, fmt.Errorf("hash a message: %w", err)
	}
	s.fixes = w.load(i, m)
	h := &s.header
	h.ID, h.ParentID, h.SessionID = hex.EncodeToString(s.id[:]), w.parent, l.id
	h.CreatedAt, h.Index, h.TurnIndex = m.created, i, w.completed
	w.parent = h.ID
	w.event(h, m)
	h.Title = m.title(w.asked)
	h.Marks = l.marks(i, m)
	if len(s.fixes) > 0 {
		h.Marks |= model.MarkRepaired
	}
	h.Size = int64(len(stateOpen)+len(stateClose)+len("}")) + w.full.size
	if l.through(i) {
		h.Size += w.live.size - w.full.size
	}
	if i == len(l.files)-1 {
		h.Head = true
		h.Size += int64(len(l.agent.members))
	}
	if len(m.calls) > 0 {
		w.asked = append(w.asked[:0], m.calls...)
	}
	return s, nil
}

// load adds the message to the windows that it is in, the summary in its place
// before it, and gives the repairs in the one that is loaded.
func (w *walker) load(i int, m *message) (fixes []fix) {
	l := w.log
	if i < l.start {
		w.full.add(m)
	}
	if i == l.agent.pinned {
		w.live.addSummary(&l.agent)
	}
	if !l.evicted(i) {
		fixes = w.live.add(m)
	}
	if last := len(l.files) - 1; i == last && l.agent.pinned > last {
		w.live.addSummary(&l.agent)
	}
	return fixes
}

// addSummary adds the message that the conversation manager keeps in place of
// those that it took out.
func (w *window) addSummary(a *agentFile) {
	if a.summary == nil {
		return
	}
	t, err := files.Parse(a.summary)
	if err != nil {
		return // it was parsed before
	}
	m := message{name: "agent.json", body: a.summary, location: managerPath + "/summary_message"}
	m.message(t, 0)
	w.add(&m)
}

// event says what the message is in the course of a turn. A turn is over when
// the model has answered without asking for tools.
func (w *walker) event(h *model.Header, m *message) {
	h.Event = model.SnapshotEventNamed
	switch {
	case !m.whole:
		h.EventName = eventDamaged
	case m.role == "assistant" && len(m.calls) > 0:
		h.EventName, h.Position = eventModel, model.PositionAfterModel
	case m.role == "assistant":
		h.Event = model.SnapshotEventTurnEnd
		w.completed++
	case m.role == "user" && len(m.results) > 0:
		h.Event, h.Position = model.SnapshotEventToolIterationEnd, model.PositionAfterTools
	case m.role == "user":
		h.EventName = eventUser
	default:
		h.EventName = eventMessage
	}
}

func (l *messageLog) marks(i int, m *message) (marks model.Marks) {
	if l.evicted(i) {
		marks |= model.MarkEvicted
	}
	if m.redacted {
		marks |= model.MarkRedacted
	}
	if len(m.flaws) > 0 {
		marks |= model.MarkDamaged
	}
	if m.errored {
		marks |= model.MarkError
	}
	if l.agent.interrupted && i == len(l.files)-1 {
		marks |= model.MarkInterrupted
	}
	return marks
}

// index is what is kept of a log, to find its states again: for each snapshot
// its id, and for each file its name and a print of its message.
type index struct {
	session string // the id of the place
	ids     [][sha256.Size]byte
	names   []string
	prints  []uint64
}

// seed makes the prints. They are compared within the process only.
var seed = maphash.MakeSeed()

func newIndex(l *messageLog) *index {
	n := len(l.files)
	return &index{session: l.id, ids: make([][sha256.Size]byte, 0, n), names: make([]string, 0, n), prints: make([]uint64, 0, n)}
}

func (x *index) add(s *step) {
	x.ids = append(x.ids, s.id)
	x.names = append(x.names, s.msg.name)
	x.prints = append(x.prints, maphash.Bytes(seed, s.msg.body))
}

// find gives the position of a snapshot, or -1. The newest are looked at first.
func (x *index) find(id string) int {
	for i := len(x.ids) - 1; i >= 0; i-- {
		if string(hex.AppendEncode(nil, x.ids[i][:])) == id {
			return i
		}
	}
	return -1
}
