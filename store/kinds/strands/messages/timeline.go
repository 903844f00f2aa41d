package messages

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/media/files"
)

// The ids.
//
// The id of the snapshot after a message is the SHA-256 of
//
//	["NUMBER",CREATED,MESSAGE]
//
// NUMBER is the number in the file's name, as it is written there, in a JSON
// string; CREATED is created_at as the file has it, null for none; MESSAGE is the
// effective message. The latter two are compact JSON, byte for byte as they were
// written but for the white space between values.
//
// So an id says which message it is and where: it does not depend on what
// agent.json says today, on what a start drops or repairs, nor on the rest of
// the log, it is the same on every reading, and one file is enough to know it. A
// session that was copied or linked from another shares the ids with it as far
// as it shares the messages; equal texts at two places have two ids.

// appendPlace appends what stands before the message in the text of an id.
// created may be None, and the tape nil then.
func appendPlace(dst []byte, number string, t *jsontape.Tape, created jsontape.Node) []byte {
	dst = append(dst, '[')
	dst = jsontape.AppendQuoted(dst, number)
	dst = append(dst, ',')
	if created < 0 {
		dst = append(dst, "null"...)
	} else {
		dst = jsontape.AppendCompact(dst, t.Raw(created))
	}
	return append(dst, ',')
}

const (
	stateOpen  = `{"messages":[`
	stateClose = "]"
)

// step is one message of a log with the facts derived about it.
type step struct {
	i      int
	msg    *message // lent, see messageLog.read
	header model.Header
	// fixes are the SDK's repairs at this message.
	fixes []fix
	// stand is the position of the message among the loaded messages.
	stand stand
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
	full      window // all messages so far
	live      window // those that are loaded
	completed int    // turns
	asked     []call // the tool calls of the message before
	parent    string
	// midway says that the walk did not begin with the first message.
	midway bool
	// wide says that branches may leave: full then has the messages that are
	// loaded, too.
	wide bool
	// summarized says that the summary was added to what is loaded.
	summarized bool
	now        step
}

func (l *messageLog) walker() *walker {
	w := &walker{log: l}
	w.full.again, w.live.again = l.body, l.body
	w.full.sdk, w.live.sdk = l.sdk(), l.sdk()
	return w
}

// branch returns a walker that goes on from here on a branch.
func (w *walker) branch() *walker {
	b := &walker{log: w.log, full: w.full, completed: w.completed, asked: slices.Clone(w.asked), parent: w.parent, midway: w.midway}
	b.full.calls = slices.Clone(w.full.calls)
	return b
}

// walk reads the whole log and hands each message to visit, with its header.
func (l *messageLog) walk(ctx context.Context, visit func(*step) error) error {
	w := l.walker()
	return l.read(ctx, l.files, l.known, func(i int, m *message) error { return visit(w.step(i, m)) })
}

// step goes on to message i. The step is lent, see messageLog.read.
func (w *walker) step(i int, m *message) *step {
	l, s := w.log, &w.now
	*s = step{i: i, msg: m}
	s.stand = stand{last: i == len(l.files)-1, role: m.role}
	s.fixes = w.load(i, m)
	h := &s.header
	h.ID, h.ParentID, h.SessionID = idText(m.id), w.parent, l.id
	h.CreatedAt, h.Index, h.TurnIndex = m.created, i, w.completed
	w.parent = h.ID
	w.event(h, m)
	h.Title = m.title(w.asked)
	h.Marks = m.marks() | l.marks(i)
	if slices.ContainsFunc(s.fixes, func(f fix) bool { return !f.kept }) {
		h.Marks |= model.MarkRepaired
	}
	h.Head = i == len(l.files)-1
	h.Size = w.size(i)
	if w.midway {
		h.TurnIndex = model.TurnUnknown
	}
	w.asked = append(w.asked[:0], m.calls...)
	return s
}

// held returns the window that the state after message i is seen through. That of an older
// one is partial in a walk that did not begin with the first message.
func (w *walker) held(i int) *window {
	if w.log.through(i) {
		return &w.live
	}
	return &w.full
}

// size returns the length of the state after message i, 0 if it is not known.
func (w *walker) size(i int) int64 {
	l, held := w.log, w.held(i)
	if held.partial {
		return 0
	}
	size := int64(len(stateOpen)+len(stateClose)+len("}")) + held.size
	if i == len(l.files)-1 {
		size += int64(len(l.agent.members))
	}
	return size
}

// load adds the message to the windows that it is in, the summary in its place
// before it, and returns the repairs in the one that is loaded.
func (w *walker) load(i int, m *message) (fixes []fix) {
	l := w.log
	if (i < l.start || w.wide) && !w.midway {
		w.full.add(m)
	}
	if i >= l.agent.pinned {
		w.summarize()
	}
	if !l.evicted(i) {
		w.now.stand.first, w.now.stand.asked = w.live.n == 0, len(w.live.calls) > 0
		fixes = w.live.add(m)
	}
	if i == len(l.files)-1 {
		w.summarize()
	}
	return fixes
}

// summarize adds the summary to what is loaded, once.
func (w *walker) summarize() {
	if !w.summarized {
		w.live.addSummary(&w.log.agent)
		w.summarized = true
	}
}

// addSummary adds the conversation manager's summary of the removed messages.
func (w *window) addSummary(a *agentFile) {
	if a.summary == nil {
		return
	}
	t, err := files.Parse(a.summary)
	if err != nil {
		return // it was parsed before
	}
	m := message{name: "agent.json", body: a.summary, size: len(a.summary), location: managerPath + "/summary_message"}
	new(decoder).message(&m, t, 0)
	w.add(&m)
}

// event derives the event of a message in a turn. A turn is over when the model has answered
// without asking for tools.
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

// marks returns the marks of message i that follow from its log.
func (l *messageLog) marks(i int) (marks model.Marks) {
	if l.evicted(i) {
		marks |= model.MarkEvicted
	}
	if l.agent.interrupted && i == len(l.files)-1 {
		marks |= model.MarkInterrupted
	}
	return marks
}

// marks returns the marks that follow from the message alone.
func (m *message) marks() (marks model.Marks) {
	if m.redacted {
		marks |= model.MarkRedacted
	}
	if len(m.flaws) > 0 {
		marks |= model.MarkDamaged
	}
	if m.errored {
		marks |= model.MarkError
	}
	return marks
}

// index is what is kept of a log, to find its states again: for each snapshot its id, the name of its
// file, and the length of its message. It may begin in the middle of the log.
type index struct {
	ids   [][sha256.Size]byte
	names []string
	sizes []int32
}

func newIndex(n int) *index {
	return &index{make([][sha256.Size]byte, 0, n), make([]string, 0, n), make([]int32, 0, n)}
}

func (x *index) add(s *step) {
	x.ids = append(x.ids, s.msg.id)
	x.names = append(x.names, s.msg.name)
	x.sizes = append(x.sizes, int32(min(s.msg.size, files.MaxSize)))
}

// has reports whether the index has a message of a log, by the name of its file.
func (x *index) has(l *messageLog, i int) bool {
	return x != nil && i < len(x.names) && x.names[i] == l.files[i].name
}

// takeOut takes the ids that the index has out of a map, and returns what is there by their positions.
func (x *index) takeOut(of map[[sha256.Size]byte][]int) map[int][]int {
	at := map[int][]int{}
	for i, id := range x.ids {
		if asked, is := of[id]; is {
			at[i] = asked
			delete(of, id)
		}
	}
	return at
}

// find returns the file of a snapshot. The newest are looked at first.
func (x *index) find(id [sha256.Size]byte) (name string, ok bool) {
	for i := len(x.ids) - 1; i >= 0; i-- {
		if x.ids[i] == id {
			return x.names[i], true
		}
	}
	return "", false
}

// idText returns an id as a header has it.
func idText(id [sha256.Size]byte) string {
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], id[:])
	return string(text[:])
}

// parseID reads an id as a header has it, in lower case. For an invalid id it returns zeros,
// which no snapshot has.
func parseID(text string) (id [sha256.Size]byte) {
	read, err := hex.DecodeString(text)
	if err != nil || len(read) != len(id) || strings.ToLower(text) != text {
		return id
	}
	copy(id[:], read)
	return id
}
