package storetest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store"
)

// Grow returns the rows of a session of that many snapshots, each with a state
// of about stateSize bytes, the same every time. Once in about fifty
// snapshots the session is restored to one of the last twenty, so that two in
// a hundred snapshots are the tip of a lost branch. It is for benchmarks.
func Grow(session string, snapshots, stateSize int) iter.Seq2[store.Row, error] {
	headers, targets := growHeaders(session, snapshots)
	text := strings.Repeat("all work and no play makes Jack a dull boy. ", stateSize/44+1)[:max(stateSize-24, 0)]
	return func(yield func(store.Row, error) bool) {
		ids := make([]string, len(headers)+1) // by visit
		for i, h := range headers {
			state := make([]byte, 0, stateSize+32)
			state = strconv.AppendInt(append(state, `{"n":`...), int64(i), 10)
			state = append(append(append(state, `,"text":"`...), text...), `"}`...)
			h.ID, h.Size = model.SnapshotID(state), int64(len(state))
			h.ParentID, ids[h.Visit] = ids[h.ParentVisit], h.ID
			if h.Reason != nil {
				h.Reason = &model.Reason{Kind: h.Reason.Kind, At: h.Reason.At, TargetIndex: h.Reason.TargetIndex, TargetID: ids[targets[h.Reason]]}
			}
			if !yield(store.Row{Header: h, State: state}, nil) {
				return
			}
		}
	}
}

// growHeaders plays the session without its states, and returns the visits to
// which it was restored by reason. path holds the positions of the active
// visits.
func growHeaders(session string, snapshots int) ([]model.Header, map[*model.Reason]int64) {
	random := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	headers, targets := make([]model.Header, snapshots), map[*model.Reason]int64{}
	var path []int
	for i := range headers {
		at := start.Add(time.Duration(i) * time.Second)
		if len(path) > 1 && random.IntN(50) == 0 {
			back := 1 + random.IntN(min(20, len(path)-1))
			target := &headers[path[len(path)-1-back]]
			reason := &model.Reason{Kind: model.ReasonRestore, At: at, TargetIndex: target.Index}
			targets[reason] = target.Visit
			for _, left := range path[len(path)-back:] {
				headers[left].Orphaned, headers[left].Reason = true, reason
			}
			path = path[:len(path)-back]
		}
		h := &headers[i]
		h.SessionID, h.CreatedAt, h.Visit = session, at, int64(i+1)
		h.Index, h.TurnIndex, h.Event = len(path), len(path)/2, model.SnapshotEvent(len(path)%2)
		h.Title = fmt.Sprintf("assistant: what was said in answer %d, as long as a line is", i)
		if len(path) > 0 {
			h.ParentVisit = headers[path[len(path)-1]].Visit
		}
		path = append(path, i)
	}
	if snapshots > 0 {
		headers[snapshots-1].Head = true
	}
	return headers, targets
}
