package agent_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/agent"
	"hindcast/model"
	"hindcast/store/native/sqlite"
	"hindcast/store/native/typed"
	"hindcast/store/storetest/fake"
)

// conversation returns a state of about 1 MB: 2,000 messages.
func conversation() talk {
	var state talk
	for i := range 2000 {
		state.Messages = append(state.Messages, message{
			Role:    []string{"user", "assistant"}[i%2],
			Content: []part{{Text: fmt.Sprintf("%d ", i) + strings.Repeat("the quick brown fox jumps over the lazy dog; ", 10)}},
		})
	}
	return state
}

// talk is a state of the shape that agents keep.
type talk struct {
	Messages []message      `json:"messages"`
	Facts    map[string]any `json:"facts,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content []part `json:"content"`
}

type part struct {
	Text string `json:"text"`
}

// grown returns the state with one message more, another one each time.
func (t talk) grown(i int) talk {
	t.Messages = append(t.Messages[:len(t.Messages):len(t.Messages)], message{Role: "user", Content: []part{{Text: fmt.Sprintf("and message %d", i)}}})
	return t
}

// One capture of a state of 1 MB that grew by one message, against marshalling
// and hashing it once. "capture" is EndTurn after UpdateState, "turn" is both.
func BenchmarkCapture(b *testing.B) {
	state := conversation()
	b.Run("marshalAndHash", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			text, err := json.Marshal(state.grown(i))
			if err != nil {
				b.Fatal(err)
			}
			sink = sha256.Sum256(text)
			b.SetBytes(int64(len(text)))
		}
	})
	stores := map[string]func(b *testing.B) model.Store[talk]{
		"memory": func(*testing.B) model.Store[talk] { return typed.Of[talk](fake.New()) },
		"sqlite": func(b *testing.B) model.Store[talk] {
			s, err := sqlite.Create(b.Context(), filepath.Join(b.TempDir(), "store.db"))
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { s.Close() })
			return typed.Of[talk](s)
		},
	}
	for _, kind := range []string{"memory", "sqlite"} {
		b.Run("capture/"+kind, func(b *testing.B) { benchmarkCapture(b, state, stores[kind], false) })
		b.Run("turn/"+kind, func(b *testing.B) { benchmarkCapture(b, state, stores[kind], true) })
	}
}

var sink [sha256.Size]byte

func benchmarkCapture(b *testing.B, state talk, open func(*testing.B) model.Store[talk], whole bool) {
	i := 0
	for b.Loop() {
		// A memory store keeps all of them: it is another one every now and then.
		b.StopTimer()
		run(b, open(b), func(ctx context.Context, sess *agent.Session[talk], resp *agent.Responder[string]) error {
			if err := sess.UpdateState(ctx, state); err != nil {
				return err
			}
			if err := resp.EndTurn(); err != nil {
				return err
			}
			for range 32 {
				i++
				next := state.grown(i)
				if whole {
					b.StartTimer()
				}
				err := sess.UpdateState(ctx, next)
				b.StartTimer()
				if err != nil {
					return err
				}
				err = resp.EndTurn()
				b.StopTimer()
				if err != nil {
					return err
				}
			}
			return nil
		})
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(i), "ns/capture")
}

// run runs what as an agent function that captures at the end of each turn.
func run(b *testing.B, s model.Store[talk], what func(context.Context, *agent.Session[talk], *agent.Responder[string]) error) {
	a, err := agent.Define("bench", func(ctx context.Context, sess *agent.Session[talk], _ <-chan string, resp *agent.Responder[string]) (agent.Result[string], error) {
		return agent.Result[string]{}, what(ctx, sess, resp)
	}, agent.WithSessionStore(s), agent.WithSnapshotCallback(agent.SnapshotOn[talk](model.SnapshotEventTurnEnd)))
	if err != nil {
		b.Fatal(err)
	}
	conn, err := a.StreamBidi(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if _, err := conn.Output(); err != nil {
		b.Fatal(err)
	}
}
