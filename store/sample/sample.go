// Package sample is the store that Hindcast shows to a person without a store:
// two sessions of an agent that plans a trip. A minute of stepping through
// them shows the use of Hindcast.
//
// In "trip-planner" the agent books a train and a hotel (one booking fails and
// is tried again), overspends on an opera box, is put back, finds something
// cheaper, shows the cart in dollars and in euros again, cancels everything by
// mistake, is put back once more, and finishes. "packing-list" stopped at a
// checkpoint between the model's answer and its tools.
//
// The rows are the same on every run.
package sample

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"hindcast/model"
	"hindcast/store"
)

const (
	// Trip is the id of the session that has branches.
	Trip = "trip-planner"
	// Cancelled is the beginning of the id of the snapshot in which the agent emptied
	// the cart, on a branch that it was put back from.
	Cancelled = "18d2"
	// Packing is the id of the session that stopped at a checkpoint.
	Packing = "packing-list"
)

// Rows returns every visit of both sessions in the order in which they were
// recorded. The error is always nil.
func Rows() iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for _, row := range slices.Concat(tripPlanner(), packingList()) {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// state is the agent's state: its working values, and the conversation in the shape that Strands writes.
type state struct {
	Trip     trip      `json:"trip"`
	Cart     cart      `json:"cart"`
	Status   string    `json:"status"`
	Messages []message `json:"messages"`
}

type trip struct {
	From   string  `json:"from,omitempty"`
	To     string  `json:"to"`
	Dates  string  `json:"dates,omitempty"`
	Budget float64 `json:"budget"`
}

type cart struct {
	Currency string  `json:"currency"`
	Items    []item  `json:"items"`
	Total    float64 `json:"total"`
}

type item struct {
	What  string  `json:"what"`
	Price float64 `json:"price"`
}

type message struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

type text struct {
	Text string `json:"text"`
}

type toolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type toolResult struct {
	ID      string `json:"toolUseId"`
	Status  string `json:"status"`
	Content []any  `json:"content"`
}

// story records a session step by step, as an agent's runtime would.
type story struct {
	session string
	now     time.Time
	state   state
	turn    int
	tools   int
	asked   []string // ids of the tool calls that wait for a result
	rows    []store.Row
	states  []state // the state of each row, to go back to
	head    int     // number of the last row on the active path, from 1; 0 before the first
	failed  bool    // a tool failed since the last snapshot
}

// after lets time pass.
func (s *story) after(d time.Duration) { s.now = s.now.Add(d) }

func (s *story) say(role string, content ...any) {
	s.state.Messages = append(slices.Clip(s.state.Messages), message{role, content})
}

func (s *story) user(words string)      { s.say("user", text{words}) }
func (s *story) assistant(words string) { s.say("assistant", text{words}) }

// call is one tool call: its name and its input as JSON.
type call struct{ name, input string }

// calls lets the model ask for tools, all in one answer.
func (s *story) calls(words string, calls ...call) {
	content := []any{text{words}}
	s.asked = nil
	for _, c := range calls {
		s.tools++
		id := fmt.Sprintf("tooluse_%s_%02d", c.name, s.tools)
		s.asked = append(s.asked, id)
		content = append(content, map[string]any{"toolUse": toolUse{id, c.name, json.RawMessage(c.input)}})
	}
	s.say("assistant", content...)
}

// answer is one tool's result.
type answer struct {
	status  string
	content []any
}

func ok(words string, more ...any) answer {
	return answer{"success", append([]any{text{words}}, more...)}
}

func failure(words string) answer { return answer{"error", []any{text{words}}} }

// results answers the tool calls of the last answer, in their order.
func (s *story) results(answers ...answer) {
	var content []any
	for i, a := range answers {
		content = append(content, map[string]any{"toolResult": toolResult{s.asked[i], a.status, a.content}})
		s.failed = s.failed || a.status == "error"
	}
	s.say("user", content...)
}

// buy puts an item into the cart and sums the cart up.
func (s *story) buy(what string, price float64) {
	s.state.Cart.Items = append(slices.Clip(s.state.Cart.Items), item{what, price})
	s.currency("EUR", 1)
}

// currency shows the total in another currency; prices stay in euros.
func (s *story) currency(name string, rate float64) {
	var sum float64
	for _, it := range s.state.Cart.Items {
		sum += it.Price
	}
	s.state.Cart.Currency = name
	s.state.Cart.Total = math.Round(sum*rate*100) / 100
}

// snapshot captures the state. The id is the SHA-256 of the compact JSON, so
// a state that comes back has the id that it had, and its bytes are not
// repeated.
func (s *story) snapshot(event model.SnapshotEvent, position, title string) {
	data, err := json.Marshal(s.state)
	if err != nil {
		panic(err) // the values above marshal; only a typo in a tool's input can bring us here
	}
	sum := sha256.Sum256(data)
	h := model.Header{
		ID:          hex.EncodeToString(sum[:]),
		SessionID:   s.session,
		CreatedAt:   s.now,
		TurnIndex:   s.turn,
		Event:       event,
		Position:    position,
		Title:       title,
		Visit:       int64(len(s.rows) + 1),
		ParentVisit: int64(s.head),
		Size:        int64(len(data)),
	}
	if title == "" {
		made, err := store.Header(store.Snapshot(h, data))
		if err != nil {
			panic(err) // the clock of the story has no odd times
		}
		h.Title = made.Title
	}
	if s.head > 0 {
		parent := &s.rows[s.head-1].Header
		h.ParentID, h.Index = parent.ID, parent.Index+1
		parent.Head = false
	}
	h.Head = true
	if s.failed {
		h.Marks |= model.MarkError
	}
	if slices.ContainsFunc(s.rows, func(r store.Row) bool { return r.Header.ID == h.ID }) {
		data = nil
	}
	s.rows = append(s.rows, store.Row{Header: h, State: data})
	s.states = append(s.states, s.state)
	s.head = len(s.rows)
	s.failed = false
}

// toolsDone is the end of a tool iteration.
func (s *story) toolsDone() { s.snapshot(model.SnapshotEventToolIterationEnd, "after_tools", "") }

// turnEnd ends the turn. A turn that changed the state and no
// message has a title of its own.
func (s *story) turnEnd(title string) {
	s.snapshot(model.SnapshotEventTurnEnd, "", title)
	s.turn++
}

// restore goes back to the row of that number, counted from 1, which must be
// on the active path: all that came after it is left behind.
func (s *story) restore(visit int) {
	target := &s.rows[visit-1].Header
	reason := &model.Reason{Kind: model.ReasonRestore, At: s.now, TargetID: target.ID, TargetIndex: target.Index}
	for i := range s.rows {
		h := &s.rows[i].Header
		h.Head = i == visit-1
		if h.Index > target.Index && !h.Orphaned {
			h.Orphaned, h.Reason = true, reason
		}
	}
	s.head = visit
	s.state = s.states[visit-1]
	s.turn = target.TurnIndex + 1
}

// photo is a picture of one pixel, in the way in which Strands writes bytes.
var photo = map[string]any{"image": map[string]any{
	"format": "png",
	"source": map[string]any{"bytes": map[string]any{
		"__bytes_encoded__": true,
		"data":              "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=",
	}},
}}

func tripPlanner() []store.Row {
	s := &story{session: Trip, now: time.Date(2026, time.May, 4, 12, 4, 0, 0, time.UTC)}
	s.state.Trip = trip{To: "Lyon", Budget: 300}
	s.state.Cart = cart{Currency: "EUR", Items: []item{}}
	s.state.Status = "planning"

	s.user("Two nights in Lyon in May, please. I can spend 300 euros.")
	s.assistant("Lovely. Where do you start from, and on which days?")
	s.turnEnd("")

	s.user("From Paris, 9 to 11 May.")
	s.state.Trip.From, s.state.Trip.Dates = "Paris", "2026-05-09/2026-05-11"
	s.calls("Let me look for trains and rooms.",
		call{"search_trains", `{"from":"Paris","to":"Lyon","day":"2026-05-09"}`},
		call{"search_hotels", `{"city":"Lyon","nights":2,"max_price":80}`})
	s.after(2 * time.Second)
	s.results(
		ok("07:58 for 85.00 EUR; 09:40 for 60.50 EUR"),
		ok("Hotel Bellecour 55.00 EUR a night; Hotel des Terreaux 60.00 EUR a night", photo))
	s.toolsDone()
	s.after(2 * time.Second)
	s.assistant("The 09:40 costs 60.50 and Hotel Bellecour 110.00 for two nights: 170.50 in all. Shall I book?")
	s.turnEnd("")

	s.after(21 * time.Second)
	s.user("Yes, book both.")
	s.calls("Booking both.",
		call{"book_train", `{"train":"09:40","seats":1}`},
		call{"book_hotel", `{"hotel":"Hotel Bellecour","nights":2}`})
	s.after(3 * time.Second)
	s.results(ok("Seat 42, coach 7. 60.50 EUR."), failure("Hotel Bellecour: no room left for these nights."))
	s.buy("train 09:40 Paris-Lyon", 60.5)
	s.toolsDone()
	s.calls("That room is gone. Trying the other hotel.",
		call{"book_hotel", `{"hotel":"Hotel des Terreaux","nights":2}`})
	s.after(4 * time.Second)
	s.results(ok("Room 12, two nights. 120.00 EUR."))
	s.buy("Hotel des Terreaux, 2 nights", 120)
	s.toolsDone()
	s.after(2 * time.Second)
	s.assistant("Done: the 09:40, and Hotel des Terreaux instead of Bellecour. 180.50 in all.")
	s.turnEnd("")
	booked := s.head

	s.after(35 * time.Second)
	s.user("And something nice for the evening?")
	s.calls("The opera plays tonight.", call{"book_event", `{"event":"Opera de Lyon, box","seats":1}`})
	s.after(3 * time.Second)
	s.results(ok("Box 3. 240.00 EUR."))
	s.buy("Opera de Lyon, box", 240)
	s.toolsDone()
	s.after(2 * time.Second)
	s.assistant("You have a box at the opera! The trip is now 420.50.")
	s.turnEnd("")

	s.after(50 * time.Second) // 420.50 is over the budget of 300: back to the bookings
	s.restore(booked)

	s.after(12 * time.Second)
	s.user("Something for the evening, but stay under 30 euros.")
	s.calls("Looking for what is on, and at the weather.",
		call{"search_events", `{"city":"Lyon","max_price":30}`},
		call{"weather", `{"city":"Lyon","day":"2026-05-09"}`})
	s.after(2 * time.Second)
	s.results(ok("Jazz at the Hot Club 25.00 EUR; puppet theatre 14.00 EUR"), ok("18 degrees, rain from 21:00"))
	s.toolsDone()
	s.calls("Rain later, so inside: the jazz.", call{"book_event", `{"event":"Hot Club","seats":1}`})
	s.after(3 * time.Second)
	s.results(ok("One seat. 25.00 EUR."))
	s.buy("Hot Club, jazz", 25)
	s.toolsDone()
	s.after(2 * time.Second)
	s.assistant("Jazz at the Hot Club, dry and under a roof. 205.50 in all.")
	s.turnEnd("")

	// Two turns that add no message: the same state comes back under its old id.
	s.after(15 * time.Second)
	s.currency("USD", 1.08)
	s.turnEnd("cart shown in USD")
	s.after(6 * time.Second)
	s.currency("EUR", 1)
	s.turnEnd("cart shown in EUR again")
	jazz := s.head

	s.after(40 * time.Second)
	s.user("Can I take a later train?")
	s.calls("I start over with a later train.", call{"cancel_all", `{"confirm":true}`})
	s.after(2 * time.Second)
	s.results(ok("3 bookings cancelled."))
	s.state.Cart.Items = []item{}
	s.currency("EUR", 1)
	s.toolsDone()
	s.after(2 * time.Second)
	s.assistant("Everything is cancelled. Where would you like to go?")
	s.turnEnd("")

	s.after(25 * time.Second) // that was not asked for: back to the jazz
	s.restore(jazz)

	s.after(10 * time.Second)
	s.user("Keep everything, only move the train to the 10:40.")
	s.calls("Moving the train only.", call{"change_train", `{"from":"09:40","to":"10:40"}`})
	s.after(3 * time.Second)
	s.results(ok("Seat 18, coach 4. 4.50 EUR more."))
	s.state.Cart.Items = slices.Clone(s.state.Cart.Items)
	s.state.Cart.Items[0] = item{"train 10:40 Paris-Lyon", 65}
	s.currency("EUR", 1)
	s.toolsDone()
	s.after(2 * time.Second)
	s.assistant("You leave at 10:40; all else stays. 210.00 in all, 90.00 under your budget.")
	s.turnEnd("")
	s.turn-- // the end of an invocation repeats the last turn
	s.after(time.Second)
	s.state.Status = "booked"
	s.snapshot(model.SnapshotEventInvocationEnd, "", "the trip is booked")
	return s.rows
}

func packingList() []store.Row {
	s := &story{session: Packing, now: time.Date(2026, time.May, 4, 11, 30, 0, 0, time.UTC)}
	s.state.Trip = trip{To: "Lyon", Budget: 300}
	s.state.Cart = cart{Currency: "EUR", Items: []item{}}
	s.state.Status = "packing"

	s.user("What should I pack for Lyon?")
	s.calls("It depends on the weather.", call{"weather", `{"city":"Lyon","day":"2026-05-09"}`})
	s.after(2 * time.Second)
	s.results(ok("18 degrees, rain from 21:00"))
	s.toolsDone()
	s.after(2 * time.Second)
	s.assistant("A light jacket and an umbrella.")
	s.turnEnd("")
	s.after(30 * time.Second)
	s.user("I own no umbrella. Buy one, and put it on my list.")
	s.calls("Both at once.",
		call{"buy", `{"what":"umbrella","max_price":15}`},
		call{"add_to_list", `{"what":"umbrella"}`})
	s.after(2 * time.Second)
	s.snapshot(model.SnapshotEventInvocationEnd, "after_model", "stopped before buy, add_to_list")
	return s.rows
}
