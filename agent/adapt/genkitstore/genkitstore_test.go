package genkitstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firebase/genkit/go/ai"
	aix "github.com/firebase/genkit/go/ai/exp"
	"github.com/firebase/genkit/go/core/status"
	"github.com/firebase/genkit/go/genkit"
	gx "github.com/firebase/genkit/go/genkit/exp"

	"hindcast/agent/adapt/genkitstore"
	"hindcast/agent/record/recordtest"
	"hindcast/model"
	"hindcast/store/native/sqlite"
)

type custom struct {
	Turns int `json:"turns"`
}

// A store is all that Genkit asks for.
var (
	_ aix.SessionStore[custom]           = (*genkitstore.Store[custom])(nil)
	_ aix.SnapshotMetadataReader[custom] = (*genkitstore.Store[custom])(nil)
	_ aix.SnapshotSubscriber             = (*genkitstore.Store[custom])(nil)
)

// said is printed by the program of a test: one run of the agent.
type said struct {
	Snapshot, Status, Reason, Answer string
}

// TestMain is the program of the tests: with arguments it runs the agent once and ends.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "run" {
		out, err := runAgent(context.Background(), os.Args[2], os.Args[3], os.Args[4], os.Args[5])
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(out)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runAgent says words to an agent in a session, or from a snapshot if one is given. Its model counts what it is sent,
// and fails at the word "fail".
func runAgent(ctx context.Context, file, session, snapshot, words string) (*said, error) {
	db, err := sqlite.OpenOrCreate(ctx, file)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	g := genkit.Init(ctx, genkit.WithExperimental())
	scripted := genkit.DefineModel(g, "test/scripted", &ai.ModelOptions{Supports: &ai.ModelSupports{Multiturn: true}},
		func(_ context.Context, r *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
			var sent []string
			for _, m := range r.Messages {
				sent = append(sent, m.Text())
			}
			if sent[len(sent)-1] == "fail" {
				return nil, errors.New("the model is tired")
			}
			return &ai.ModelResponse{FinishReason: ai.FinishReasonStop, Message: ai.NewModelTextMessage("was sent " + strings.Join(sent, " | "))}, nil
		})
	agent := gx.DefineAgent(g, "helper", aix.InlinePrompt{ai.WithModel(scripted)}, aix.WithSessionStore(genkitstore.New[custom](db)))
	where := aix.WithSessionID[custom](session)
	if snapshot != "" {
		where = aix.WithSnapshotID[custom](snapshot)
	}
	out, err := agent.RunText(ctx, words, where)
	if err != nil {
		return nil, err
	}
	result := &said{Snapshot: out.SnapshotID, Reason: string(out.FinishReason)}
	if out.Message != nil {
		result.Answer = out.Message.Text()
	}
	kept, err := genkitstore.New[custom](db).GetSnapshot(ctx, out.SnapshotID)
	if err != nil {
		return nil, err
	}
	result.Status = string(kept.Status)
	return result, nil
}

// say runs the agent in a process of its own.
func say(t *testing.T, file, session, snapshot, words string) said {
	t.Helper()
	text := recordtest.Rerun(t, 0, "run", file, session, snapshot, words)
	var out said
	lines := strings.Split(text, "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// Each run is a new process, whose model is sent all that the store has.
func TestStore_goesOnInANewProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "genkit.db")
	first := say(t, file, "chat", "", "one")
	say(t, file, "chat", "", "two")
	if out := say(t, file, "chat", "", "three"); out.Answer != "was sent one | was sent one | two | was sent one | was sent one | two | three" {
		t.Errorf("the third turn: %q", out.Answer)
	}
	if out := say(t, file, "chat", first.Snapshot, "other"); out.Answer != "was sent one | was sent one | other" || out.Status != "completed" {
		t.Errorf("from the first snapshot: %+v", out)
	}

	db := recordtest.OpenStore(t, file)
	var drawn []string
	var second *model.Header
	for _, h := range recordtest.ListVisits(t, db, "chat") {
		drawn = append(drawn, fmt.Sprint(h.Index, h.Orphaned, h.Head))
		if h.Index == 1 && h.Orphaned {
			second = &h
		}
		if h.Alias == "" || !strings.Contains(string(h.Attributes), `"status":"completed"`) || strings.Contains(string(h.Attributes), "snapshotId") {
			t.Errorf("#%d: %q with %s", h.Index, h.Alias, h.Attributes)
		}
	}
	if want := []string{"0 false false", "1 true false", "2 true false", "1 false true"}; !reflect.DeepEqual(drawn, want) {
		t.Errorf("the timeline is %q, and not %q", drawn, want)
	}

	// A person puts the session back to a branch that was left: the agent goes on from there.
	recordtest.Restore(t, db, second)
	if out := say(t, file, "chat", "", "again"); out.Answer != "was sent one | was sent one | two | was sent one | was sent one | two | again" {
		t.Errorf("after the restore: %q", out.Answer)
	}
}

// A turn that fails is a snapshot with its error.
func TestStore_keepsFailures(t *testing.T) {
	file := filepath.Join(t.TempDir(), "genkit.db")
	say(t, file, "chat", "", "one")
	out := say(t, file, "chat", "", "fail")
	db := recordtest.OpenStore(t, file)
	kept, err := genkitstore.New[custom](db).GetSnapshot(t.Context(), out.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if kept.Status != aix.SnapshotStatusFailed || kept.Error == nil || !strings.Contains(kept.Error.Message, "tired") {
		t.Errorf("the failed turn is kept as %+v", kept)
	}
}

func newStore(t *testing.T) *genkitstore.Store[custom] {
	t.Helper()
	return genkitstore.New[custom](recordtest.OpenStore(t, filepath.Join(t.TempDir(), "genkit.db")))
}

// put writes a snapshot as it is.
func put(t *testing.T, s *genkitstore.Store[custom], id string, snapshot aix.SessionSnapshot[custom]) *aix.SessionSnapshot[custom] {
	t.Helper()
	saved, err := s.SaveSnapshot(t.Context(), id, func(*aix.SessionSnapshot[custom]) (*aix.SessionSnapshot[custom], error) { return &snapshot, nil })
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

// A snapshot is read as it was written, and rewritten in its place.
func TestStore_holdsWhatGenkitWrites(t *testing.T) {
	s := newStore(t)
	at := time.Date(2026, 11, 30, 1, 2, 3, 456789123, time.UTC)
	beat := at.Add(time.Second)
	written := aix.SessionSnapshot[custom]{SessionID: "chat", ParentID: "of another session", Status: aix.SnapshotStatusPending, CreatedAt: at, UpdatedAt: at, HeartbeatAt: &beat}
	saved := put(t, s, "", written)
	if saved.SnapshotID == "" {
		t.Fatal("a snapshot without an id gets none")
	}
	got, err := s.GetSnapshot(t.Context(), saved.SnapshotID)
	if err != nil || !reflect.DeepEqual(got, saved) {
		t.Fatalf("read %+v, %v, written %+v", got, err, saved)
	}
	written = *got
	written.Status, written.UpdatedAt, written.HeartbeatAt, written.FinishReason = "", at.Add(time.Minute), nil, aix.AgentFinishReasonStop
	written.SessionID = "another" // a row's session never changes
	written.Error = status.Errorf(status.ErrFailedPrecondition, "<later>")
	written.State = &aix.SessionState[custom]{Custom: custom{7}, Messages: []*ai.Message{ai.NewUserTextMessage("<hello>")}, SessionID: "chat"}
	saved = put(t, s, got.SnapshotID, written)
	if saved.Status != aix.SnapshotStatusCompleted || saved.SessionID != "chat" {
		t.Errorf("saved %+v", saved)
	}
	got, err = s.GetSnapshot(t.Context(), saved.SnapshotID)
	if err != nil || got.State == nil || got.State.Custom.Turns != 7 || got.State.Messages[0].Text() != "<hello>" || !got.UpdatedAt.Equal(at.Add(time.Minute)) ||
		got.HeartbeatAt != nil || got.Error == nil || got.Error.Message != "<later>" || got.FinishReason != aix.AgentFinishReasonStop {
		t.Errorf("read %+v, %v", got, err)
	}
	bare, err := s.GetSnapshotMetadata(t.Context(), saved.SnapshotID)
	got.State = nil
	if err != nil || !reflect.DeepEqual(bare, got) {
		t.Errorf("without its state it is %+v, %v, and not %+v", bare, err, got)
	}
	if none, err := s.SaveSnapshot(t.Context(), saved.SnapshotID, func(*aix.SessionSnapshot[custom]) (*aix.SessionSnapshot[custom], error) { return nil, nil }); none != nil || err != nil {
		t.Errorf("a write that is declined gives %+v, %v", none, err)
	}
	tired := errors.New("tired")
	if _, err := s.SaveSnapshot(t.Context(), saved.SnapshotID, func(*aix.SessionSnapshot[custom]) (*aix.SessionSnapshot[custom], error) { return nil, tired }); !errors.Is(err, tired) {
		t.Errorf("a write that fails gives %v", err)
	}
}

// The latest snapshot is the one that was made last, whatever is rewritten behind it.
func TestStore_findsTheLatest(t *testing.T) {
	s := newStore(t)
	at := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for n, one := range []struct{ id, session, parent string }{{"root", "chat", ""}, {"z", "chat", "root"}, {"a", "chat", "root"}, {"y", "other", ""}} {
		made := at.Add(time.Duration(n) * time.Second)
		put(t, s, one.id, aix.SessionSnapshot[custom]{SessionID: one.session, ParentID: one.parent, CreatedAt: made, UpdatedAt: made, State: &aix.SessionState[custom]{Custom: custom{n}}})
	}
	put(t, s, "z", aix.SessionSnapshot[custom]{ParentID: "root", Status: aix.SnapshotStatusAborted, CreatedAt: at.Add(time.Second), UpdatedAt: at.Add(time.Hour)})
	latest, err := s.GetLatestSnapshot(t.Context(), "chat")
	if err != nil || latest.SnapshotID != "a" || latest.State == nil || latest.State.Custom.Turns != 2 {
		t.Errorf("the latest is %+v, %v", latest, err)
	}
	bare, err := s.GetLatestSnapshotMetadata(t.Context(), "chat")
	if err != nil || bare.SnapshotID != "a" || bare.State != nil {
		t.Errorf("the latest without its state is %+v, %v", bare, err)
	}
	if latest, err := s.GetLatestSnapshot(t.Context(), "none"); latest != nil || err != nil {
		t.Errorf("of a session that is not there: %+v, %v", latest, err)
	}
	if _, err := s.GetLatestSnapshot(t.Context(), ""); !errors.Is(err, aix.ErrSessionIDRequired) {
		t.Errorf("without a session: %v", err)
	}
	for _, id := range []string{"", "none"} {
		if got, err := s.GetSnapshot(t.Context(), id); got != nil || err != nil {
			t.Errorf("snapshot %q: %+v, %v", id, got, err)
		}
	}
	if _, err := s.SaveSnapshot(t.Context(), "b", func(*aix.SessionSnapshot[custom]) (*aix.SessionSnapshot[custom], error) {
		return &aix.SessionSnapshot[custom]{ParentID: "a"}, nil
	}); !errors.Is(err, aix.ErrSessionIDRequired) {
		t.Errorf("a snapshot without a session: %v", err)
	}
}

// Several writers at once lose nothing.
func TestStore_manyWriters(t *testing.T) {
	s := newStore(t)
	put(t, s, "count", aix.SessionSnapshot[custom]{SessionID: "chat", CreatedAt: time.Now(), State: &aix.SessionState[custom]{}})
	const writers, times = 4, 8
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range times {
				_, err := s.SaveSnapshot(t.Context(), "count", func(was *aix.SessionSnapshot[custom]) (*aix.SessionSnapshot[custom], error) {
					next := *was
					next.State = &aix.SessionState[custom]{Custom: custom{was.State.Custom.Turns + 1}}
					return &next, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got, err := s.GetSnapshot(t.Context(), "count")
	if err != nil || got.State.Custom.Turns != writers*times {
		t.Errorf("counted %+v, %v", got, err)
	}
}

// A subscriber is told each status that it sees, and no other one twice.
func TestStore_tellsTheStatus(t *testing.T) {
	s := newStore(t)
	none := s.OnSnapshotStatusChange(t.Context(), "none")
	if _, ok := <-none; ok {
		t.Error("a snapshot that is not there has a status")
	}
	put(t, s, "a", aix.SessionSnapshot[custom]{SessionID: "chat", CreatedAt: time.Now(), Status: aix.SnapshotStatusPending})
	ctx, cancel := context.WithCancel(t.Context())
	changes := s.OnSnapshotStatusChange(ctx, "a")
	if got := <-changes; got != aix.SnapshotStatusPending {
		t.Errorf("at first it is %s", got)
	}
	put(t, s, "a", aix.SessionSnapshot[custom]{CreatedAt: time.Now(), Status: aix.SnapshotStatusAborting})
	if got := <-changes; got != aix.SnapshotStatusAborting {
		t.Errorf("then it is %s", got)
	}
	cancel()
	if got, ok := <-changes; ok {
		t.Errorf("after the end it is %s", got)
	}
}
