package storetest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store"
)

// Grow gives the rows of a session of that many snapshots, each with a state
// of about stateSize bytes, the same every time. Once in about fifty
// snapshots the session is restored to one of the last twenty, so that two in
// a hundred snapshots are the tip of a lost branch. It is for benchmarks.
func Grow(session string, snapshots, stateSize int) iter.Seq2[store.Row, error] {
	headers := growHeaders(session, snapshots)
	padding := strings.Repeat("all work and no play makes Jack a dull boy. ", stateSize/44+1)[:max(stateSize-24, 0)]
	return func(yield func(store.Row, error) bool) {
		parents := make([]string, len(headers)+1)
		for i, h := range headers {
			state := fmt.Appendf(nil, `{"n":%d,"text":%q}`, i, padding)
			h.ID, h.Size = model.SnapshotID(state), int64(len(state))
			h.ParentID, parents[h.Visit] = parents[h.ParentVisit], h.ID
			if !yield(store.Row{Header: h, State: state}, nil) {
				return
			}
		}
	}
}

// growHeaders plays the session without its states; path holds the positions
// of the active visits.
func growHeaders(session string, snapshots int) []model.Header {
	random := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	headers := make([]model.Header, snapshots)
	var path []int
	for i := range headers {
		at := start.Add(time.Duration(i) * time.Second)
		if len(path) > 1 && random.IntN(50) == 0 {
			back := 1 + random.IntN(min(20, len(path)-1))
			target := &headers[path[len(path)-1-back]]
			reason := &model.Reason{Kind: model.ReasonRestore, At: at, TargetIndex: target.Index, TargetID: fmt.Sprintf("%064d", target.Visit)}
			for _, left := range path[len(path)-back:] {
				headers[left].Orphaned, headers[left].Reason = true, reason
			}
			path = path[:len(path)-back]
		}
		h := &headers[i]
		h.SessionID, h.CreatedAt, h.Visit = session, at, int64(i+1)
		h.Index, h.TurnIndex, h.Event = len(path), len(path)/2, model.SnapshotEvent(len(path)%2)
		if len(path) > 0 {
			h.ParentVisit = headers[path[len(path)-1]].Visit
		}
		path = append(path, i)
	}
	if snapshots > 0 {
		headers[snapshots-1].Head = true
	}
	return headers
}
