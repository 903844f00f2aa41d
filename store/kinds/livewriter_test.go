package kinds_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/media/disk"
	"hindcast/store/storetest"
)

// oldStrands writes as Strands did until 1.47: every file by way of one fixed
// name, path.tmp, in as many writes as it takes, with a counter that it alone
// keeps. It looks at what is in the folder when it starts, and never again.
type oldStrands struct {
	dir  string // of the agent
	next int
	over int // how many messages it wrote over
}

// start counts on from the last message that is there.
func (w *oldStrands) start() error {
	names, err := filepath.Glob(filepath.Join(w.dir, "messages", "message_*.json"))
	w.next = 0
	for _, name := range names {
		var n int
		if _, err := fmt.Sscanf(filepath.Base(name), "message_%d.json", &n); err == nil {
			w.next = max(w.next, n+1)
		}
	}
	return err
}

func (w *oldStrands) append(text string) error {
	role := [2]string{"user", "assistant"}[w.next%2]
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000000+00:00")
	message, err := json.MarshalIndent(map[string]any{
		"message":    map[string]any{"role": role, "content": []any{map[string]string{"text": text}}},
		"message_id": w.next, "redact_message": nil, "created_at": now, "updated_at": now,
	}, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(w.dir, "messages", fmt.Sprintf("message_%d.json", w.next))
	if _, err := os.Lstat(path); err == nil {
		w.over++
	}
	err = w.replace(path, message)
	w.next++
	return err
}

// touch rewrites agent.json as it is, with another time.
func (w *oldStrands) touch() error {
	path := filepath.Join(w.dir, "agent.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	at := bytes.LastIndex(data, []byte(`"updated_at": "`)) + len(`"updated_at": "`)
	end := at + bytes.IndexByte(data[at:], '"')
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000000+00:00")
	return w.replace(path, []byte(string(data[:at])+now+string(data[end:])))
}

func (w *oldStrands) replace(path string, data []byte) error {
	f, err := os.Create(path + ".tmp")
	if err != nil {
		return err
	}
	for part := range bytes.SplitAfterSeq(data, []byte("\n")) {
		if _, err := f.Write(part); err != nil {
			return errors.Join(err, f.Close())
		}
		runtime.Gosched()
	}
	return errors.Join(f.Close(), os.Rename(path+".tmp", path))
}

// An agent goes on writing beside two people who restore, and starts anew every few
// messages: it then writes over messages that a restore brings back later. What either of them
// meets of the others is a conflict that is told; what is read is never a part of
// a file; and every message that was ever there can be reached in the end.
func TestWrites_besideALiveWriter(t *testing.T) {
	t.Parallel()
	dir := storetest.Copy(t, filepath.Join(testdata, "strands", "python-file"))
	const session = "basic"
	open := func() store.Store {
		s, err := allKinds.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	messages := 200
	if testing.Short() {
		messages = 60
	}
	var all sync.WaitGroup
	ended := make(chan struct{})
	// restored has something when somebody restored lately: now and then the agent
	// waits for its model, and that is when it works.
	restored := make(chan struct{}, 1)
	var texts []string
	w := &oldStrands{dir: filepath.Join(dir, "session_"+session, "agents", "agent_default")}
	all.Go(func() {
		defer close(ended)
		for i := range messages {
			// It starts after every second restore: the other one leaves it an old view.
			if i%10 == 0 {
				if err := w.start(); err != nil {
					t.Error(err)
					return
				}
			}
			text := fmt.Sprintf("number %d of the writer", i)
			texts = append(texts, text)
			if err := errors.Join(w.append(text), w.touch()); err != nil {
				t.Error(err)
				return
			}
			if i%5 == 4 {
				select {
				case <-restored:
				case <-time.After(time.Minute):
					t.Error("nobody could restore for a minute")
					return
				}
			}
		}
	})
	var mu sync.Mutex
	applied, conflicts := 0, 0
	for person := range 2 {
		s := open()
		all.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(person)))
			for !isClosed(ended) {
				var headers []model.Header
				for h, err := range s.Headers(t.Context(), session) {
					if err != nil {
						t.Error(err)
						return
					}
					headers = append(headers, h)
				}
				ref := headers[random.IntN(len(headers))].Ref()
				plan, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: ref})
				if err == nil {
					_, err = s.Features().Apply(t.Context(), plan)
				}
				mu.Lock()
				if err == nil {
					applied++
					select {
					case restored <- struct{}{}:
					default:
					}
				} else {
					conflicts++
				}
				mu.Unlock()
				if err != nil && !isConflict(err) {
					t.Errorf("restore to %s: %v", ref.ID, err)
				}
			}
		})
	}
	all.Go(func() {
		s := open()
		for !isClosed(ended) {
			for h, err := range s.Headers(t.Context(), session) {
				if err != nil {
					t.Error(err)
					return
				}
				state, err := s.State(t.Context(), h.Ref())
				if errors.Is(err, model.ErrNoSnapshot) {
					continue // it was of the moment before
				}
				if err != nil {
					t.Error(err)
					return
				}
				if _, _, err := jsontape.ParseTolerant(state); err != nil {
					t.Errorf("what was read is broken: %v", err)
				}
			}
		}
	})
	all.Wait()
	t.Logf("%d restores, %d told a conflict, beside %d messages, %d of them over others", applied, conflicts, messages, w.over)
	if applied == 0 || conflicts == 0 {
		t.Error("they did not meet")
	}
	s := open()
	var states strings.Builder
	for _, h := range storetest.Headers(t, s, session) {
		states.Write(stateOf(t, s, &h))
	}
	for _, text := range texts {
		if !strings.Contains(states.String(), `"`+text+`"`) {
			t.Errorf("nothing has %q", text)
		}
	}
	for _, fault := range storetest.Faults(t, s, "") {
		t.Errorf("%+v", fault)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// isConflict reports whether an error says that somebody else was there.
func isConflict(err error) bool {
	return errors.Is(err, model.ErrHeadMoved) || errors.Is(err, model.ErrNoSnapshot) || errors.Is(err, disk.ErrLocked)
}
