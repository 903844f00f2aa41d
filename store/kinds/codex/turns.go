package codex

import (
	"hindcast/model"
	"hindcast/store/engine/chat"
)

// Which turn an entry is in.
//
// Events say since about 0.118 where a turn begins and ends, which Codex calls a task. Words of
// the user's that come meanwhile are in it, too:
//
//	task_started │user│thought│comment│call│result│user│answer│ task_complete
//	                                                   └ turn end
//
// An older turn goes on up to the user's next words behind an answer. What Codex itself tells the
// model before these belongs to the turn that they begin:
//
//	│context│user│thought│comment│call│result│answer│ │context│user│…
//	                                         └ turn end

// turning is where a fold stands in a turn.
type turning struct {
	// number is that of the turn of the tip, counted from 1; 0 before the first one.
	number int
	phase  phase
	// task says that a task goes on.
	task bool
	// last is the answer that ends the turn if nothing follows, or -1.
	last int
}

// phase is how far a turn is.
type phase uint8

// The phases. What comes behind a turn that is over begins the next one.
const (
	over     phase = iota
	told           // by Codex alone
	asked          // by the user
	answered       // by the model
)

// leaveTask ends the turn, unless nothing was said in it.
func (t *turning) leaveTask() {
	if t.task, t.last = false, -1; t.phase > told {
		t.phase = over
	}
}

// beginTask begins a task.
func (b *fold) beginTask(_ *part, _ *chat.Record[record], now *state) {
	if now.task && now.phase > told {
		b.noteUnended(now.tip, killed, model.MarkError)
		b.session.Entries[now.tip].Note = killed
	}
	now.answer, now.spent, now.failed = -1, chat.Span{}, ""
	now.leaveTask()
	now.task = true
}

// The texts for a turn without a recorded end: one that another turn follows, and the last one.
const (
	killed = "killed: no end is recorded"
	noEnd  = "no end is recorded: it goes on, or was killed"
)

// noteUnended tells of a turn that has no end at its last entry.
func (b *fold) noteUnended(at int, why string, mark model.Marks) {
	e := &b.session.Entries[at]
	e.Facts.Add("turn", why)
	e.Marks |= mark
}

// endTurn ends a turn, with its last answer or with its error.
func (b *fold) endTurn(p *part, r *chat.Record[record], now *state) {
	b.addFailure(p, r, now)
	b.endTask(r, now)
}

// endTask ends a task, with its last answer.
func (b *fold) endTask(r *chat.Record[record], now *state) {
	if now.last >= 0 && !r.Salvaged {
		b.session.Entries[now.last].GoesOn = false
	}
	now.leaveTask()
}

// setTurn tells in which turn the tip is, whose entry was added just now.
func (b *fold) setTurn(r *chat.Record[record], now *state) {
	e := &b.session.Entries[now.tip]
	spoken := e.Event == "" // and not by Codex itself
	asks := spoken && e.Said.Role == chat.User
	says := spoken && e.Said.Role == chat.Assistant && !r.Is.thought
	switch {
	case now.phase == over:
		now.beginTurn()
	case now.task || now.phase != answered:
	case r.Salvaged: // it follows an answer that its turn ends with
		now.beginTurn()
	case asks:
		for i := b.session.Before(now.tip); i >= 0 && b.session.Entries[i].Event != ""; i = b.session.Before(i) {
			b.session.Entries[i].Turn = now.number + 1
		}
		now.beginTurn()
	case spoken && now.last >= 0:
		b.session.Entries[now.last].GoesOn = true
	}
	e.Turn, e.GoesOn = now.number, r.Is.thought || says && now.task
	switch {
	case asks:
		now.phase = max(now.phase, asked)
	case spoken, now.task && e.Event == eventCompaction:
		now.phase = answered
	}
	switch {
	case says:
		now.last = now.tip
	case spoken, now.task:
		now.last = -1
	}
}

// beginTurn begins the next turn.
func (t *turning) beginTurn() { t.number, t.phase, t.last = t.number+1, told, -1 }

// turnBack has the next turn begin behind the tip, to which a rollback went.
func (b *fold) turnBack(now *state) {
	now.number, now.phase, now.last = 0, over, -1
	if now.tip < 0 {
		return
	}
	e := &b.session.Entries[now.tip]
	if now.number = e.Turn; e.Event == eventContext { // it was told before the very first turn
		now.phase = told
	}
}
