package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
)

// thinks adds a thought.
func (r *madeRollout) thinks(words string) {
	r.record(typeItem, fmt.Sprintf(`{"type":"reasoning","summary":[{"type":"summary_text","text":%q}],"encrypted_content":"g"}`, words))
}

// calls adds a tool call.
func (r *madeRollout) calls(id string) {
	r.record(typeItem, fmt.Sprintf(`{"type":"function_call","name":"shell","arguments":"{}","call_id":%q}`, id))
}

// answers adds the result of a tool call.
func (r *madeRollout) answers(id string) {
	r.record(typeItem, fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"ok"}`, id))
}

// starts begins a task, and ends ends it.
func (r *madeRollout) starts(turn string) {
	r.event(fmt.Sprintf(`{"type":"task_started","turn_id":%q}`, turn))
}

func (r *madeRollout) ends(turn string) {
	r.event(fmt.Sprintf(`{"type":"task_complete","turn_id":%q}`, turn))
}

// turns says which turn each snapshot is in: "#3 turn 0 after model: I will look".
func turns(t *testing.T, s store.Store, session string) (lines []string) {
	t.Helper()
	for _, h := range storetest.Headers(t, s, session) {
		lines = append(lines, fmt.Sprintf("#%d turn %d %s: %.24s", h.Index, h.TurnIndex, h.EventText(), h.Title))
	}
	return lines
}

// A turn is a task: it ends with the last item before the task is complete, and with no thought.
// What the user says meanwhile begins no turn. A task that was broken off is one, too.
func TestTurns(t *testing.T) {
	var r madeRollout
	r.header()
	r.starts("t1")
	r.says("developer", "instructions")
	r.record(typeContext, `{"cwd":"/home/demo1","model":"m"}`)
	r.says("user", "q1")
	r.thinks("hm")
	r.says("assistant", "I will look")
	r.calls("c1")
	r.answers("c1")
	r.thinks("so")
	r.says("assistant", "done")
	r.used(10, 10)
	r.ends("t1")
	r.starts("t2")
	r.says("user", "q2")
	r.says("assistant", "x")
	r.says("user", "steer")
	r.says("assistant", "y")
	r.ends("t2")
	r.starts("t3")
	r.says("user", "q3")
	r.calls("c2")
	r.answers("c2")
	r.says("user", "<turn_aborted> the user")
	r.event(`{"type":"turn_aborted","reason":"interrupted","turn_id":"t3"}`)
	r.starts("t4")
	r.says("assistant", "a summary")
	r.record(typeCompacted, `{"message":"","replacement_history":[{"type":"message","role":"user","content":"kept"}]}`)
	r.ends("t4")
	r.starts("t5")
	r.says("user", "q5")
	r.thinks("last")
	r.ends("t5")
	r.starts("t6") // and it is at work
	r.says("user", "q6")
	r.says("assistant", "so far")
	s, _ := r.store(t)
	holdLines(t, "the session", turns(t, s, made), `
#0 turn 0 context: instructions
#1 turn 0 user input: q1
#2 turn 0 after model: hm
#3 turn 0 after model: I will look
#4 turn 0 after model: shell
#5 turn 0 tool iteration: shell  ok
#6 turn 0 after model: so
#7 turn 0 turn end: done
#8 turn 1 user input: q2
#9 turn 1 after model: x
#10 turn 1 user input: steer
#11 turn 1 turn end: y
#12 turn 2 user input: q3
#13 turn 2 after model: shell
#14 turn 2 tool iteration: shell  ok
#15 turn 2 context: the user
#16 turn 3 after model: a summary
#17 turn 3 compaction: 
#18 turn 4 user input: q5
#19 turn 4 after model: last
#20 turn 5 user input: q6
#21 turn 5 after model: so far`)
	for i, h := range storetest.Headers(t, s, made) {
		if calls := i == 4 || i == 13; calls != (h.Position == model.PositionAfterModel) {
			t.Errorf("#%d has the position %q", i, h.Position)
		}
	}
	for at, inside := range map[int]bool{3: true, 7: false, 9: true, 11: false} {
		plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: storetest.Headers(t, s, made)[at].Ref()})
		if err != nil || strings.Contains(strings.Join(plan.Hazards, "\n"), "inside a turn") != inside {
			t.Errorf("#%d: the hazards are %q: %v", at, plan.Hazards, err)
		}
	}
}

// Older rollouts have no tasks: a turn ends before the user's next words, and what Codex says
// before these is in the turn of these.
func TestTurns_withoutTasks(t *testing.T) {
	var r madeRollout
	r.header()
	r.says("user", "<environment_context>one</environment_context>")
	r.says("user", "q1")
	r.thinks("hm")
	r.says("assistant", "I will look")
	r.calls("c1")
	r.answers("c1")
	r.says("assistant", "done")
	r.record(typeCompacted, `{"message":"a summary"}`)
	r.says("user", "<environment_context>two</environment_context>")
	r.says("user", "q2")
	r.calls("c2")
	r.answers("c2")
	r.says("user", "q3")
	r.says("assistant", "a comment")
	r.says("user", "<subagent_notification> it is done")
	r.says("assistant", "done")
	r.starts("t1") // a newer version goes on
	r.says("user", "q4")
	r.says("assistant", "a comment")
	r.says("assistant", "done")
	r.ends("t1")
	s, _ := r.store(t)
	holdLines(t, "the session", turns(t, s, made), `
#0 turn 0 context: one
#1 turn 0 user input: q1
#2 turn 0 after model: hm
#3 turn 0 after model: I will look
#4 turn 0 after model: shell
#5 turn 0 tool iteration: shell  ok
#6 turn 0 turn end: done
#7 turn 1 compaction: a summary
#8 turn 1 context: two
#9 turn 1 user input: q2
#10 turn 1 after model: shell
#11 turn 1 tool iteration: shell  ok
#12 turn 2 user input: q3
#13 turn 2 after model: a comment
#14 turn 2 context: it is done
#15 turn 2 turn end: done
#16 turn 3 user input: q4
#17 turn 3 after model: a comment
#18 turn 3 turn end: done`)
}

// A rollback takes back the number of the turns, too, and a fork begins a turn.
func TestTurns_back(t *testing.T) {
	dir := t.TempDir()
	var a, b madeRollout
	a.record(typeHeader, `{"id":"`+madeID(1)+`"}`)
	for k := range 2 {
		turn := fmt.Sprint("t", k)
		a.starts(turn)
		a.says("user", "q "+turn)
		a.says("assistant", "r "+turn)
		a.ends(turn)
	}
	end := a.Len()
	a.event(`{"type":"thread_rolled_back","num_turns":1}`)
	a.starts("t2")
	a.says("user", "q t2")
	b.based(madeID(2), madeID(1), 9, end)
	b.starts("t3")
	b.says("user", "q t3")
	put(t, dir, 1, madeID(1), &a)
	put(t, dir, 2, madeID(2), &b)
	s := opened(t, dir)
	for session, want := range map[string]string{madeID(1): "#4 turn 1 user input: q t2", madeID(2): "#4 turn 2 user input: q t3"} {
		holdLines(t, "the end of "+session, turns(t, s, session)[3:], "#3 turn 1 turn end: r t1\n"+want)
	}
}

// A compaction of the user's is one turn, and what comes after it another.
func TestTurns_recorded(t *testing.T) {
	holdLines(t, "the end of the fork", turns(t, opened(t, recorded), forked)[7:], `
#7 turn 1 turn end: done: ls -1
#8 turn 2 user input: in the fork
#9 turn 2 turn end: reply to: in the fork
#10 turn 3 after model: reply to: ocused on help
#11 turn 3 compaction: Another language model s
#12 turn 4 user input: after compaction
#13 turn 4 turn end: reply to: after compacti`)
}

// A session that is followed while it grows shows what it shows when it is opened now.
func TestTurns_ofAGrowingFile(t *testing.T) {
	for _, file := range []string{forkedFile, envelopeFile, "sessions/2026/11/24/rollout-2026-11-24T04-14-29-" + resumed + ".jsonl"} {
		dir := storetest.Copy(t, recorded)
		text := read(t, filepath.Join(dir, file))
		session, _ := threadOf(file)
		lines := slices.Collect(strings.Lines(text))
		write(t, filepath.Join(dir, file), lines[0])
		s := opened(t, dir)
		for n := range lines {
			write(t, filepath.Join(dir, file), strings.Join(lines[:n+1], ""))
			fresh, err := Kind(nil).Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := turns(t, s, session), turns(t, fresh, session); !slices.Equal(got, want) {
				t.Errorf("%s of %d lines is\n%s\nand opened anew\n%s", session, n+1, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if err := fresh.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Remove(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
}
