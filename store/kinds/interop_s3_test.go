package kinds_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/kinds/strands/messages"
	"hindcast/store/media/bucket"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// bucketed is the bucket of a server of moto's, in which the SDK's S3SessionManager keeps
// sessions. What Hindcast asks of it goes through a proxy.
type bucketed struct {
	*driver
	t     *testing.T
	proxy *httptest.Server
	// hook is called with the number of each request of Hindcast's, and reports whether the
	// server does not answer it.
	hook  func(n int64) bool
	asked atomic.Int64
	// later is how much later the server says that it is than it is.
	later time.Duration
}

func inBucket(t *testing.T) *bucketed {
	if testing.Short() {
		t.Skip("the real SDK is driven without -short")
	}
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"} {
		t.Setenv(name, value)
	}
	at := sdks(t)
	script, err := filepath.Abs(filepath.Join(testdata, "interop", "s3", "driver.py"))
	if err != nil {
		t.Fatal(err)
	}
	b := &bucketed{driver: startDriver(t, at, filepath.Join(at, "s3", "venv", "bin", "python"), script), t: t}
	to, err := url.Parse(b.hello.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(to)
	forward.ModifyResponse = func(r *http.Response) error {
		r.Header.Set("Date", time.Now().Add(b.later).UTC().Format(http.TimeFormat))
		return nil
	}
	b.proxy = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := b.asked.Add(1) - 1; b.hook != nil && b.hook(n) {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				conn.Close()
			}
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(b.proxy.Close)
	return b
}

func (b *bucketed) open() storetest.Writer {
	b.t.Helper()
	s, err := bucket.Kind(bucket.Options{Endpoint: b.proxy.URL}, engine.Finder(messages.Kind(nil))).Open(b.t.Context(), b.hello.Address)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { s.Close() })
	return storetest.AsWriter(s)
}

// objects returns what is in the bucket but what is Hindcast's own.
func (b *bucketed) objects() map[string]object {
	all := b.do(b.t, map[string]any{"do": "objects"}).Objects
	maps.DeleteFunc(all, func(key string, _ object) bool { return strings.Contains(key, "/.hindcast/") })
	return all
}

func (b *bucketed) putBack(all map[string]object) {
	b.do(b.t, map[string]any{"do": "put_back", "objects": all})
}

func (b *bucketed) plan(s storetest.Writer, change model.Change) model.Plan {
	b.t.Helper()
	plan, err := s.Plan(b.t.Context(), change)
	if err != nil {
		b.t.Fatal(err)
	}
	return plan
}

func (b *bucketed) write(s storetest.Writer, change model.Change) {
	b.t.Helper()
	if _, err := s.Apply(b.t.Context(), b.plan(s, change)); err != nil {
		b.t.Fatal(err)
	}
}

// shown returns the messages of a state, as Hindcast shows it.
func (b *bucketed) shown(s store.Store, h model.Header) []any {
	b.t.Helper()
	text, err := s.State(b.t.Context(), h.Ref())
	if err != nil {
		b.t.Fatal(err)
	}
	var state struct{ Messages []any }
	if err := decodeJSON(text, &state); err != nil {
		b.t.Fatal(err)
	}
	return state.Messages
}

func equal(t *testing.T, a, b any) bool {
	t.Helper()
	x, err := json.Marshal(a)
	y, failed := json.Marshal(b)
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return string(x) == string(y)
}

// toModel returns messages as the SDK sends them to a model: what it notes beside them stays.
func toModel(list []any) (bare []any) {
	for _, m := range list {
		all := m.(map[string]any)
		bare = append(bare, map[string]any{"role": all["role"], "content": all["content"]})
	}
	return bare
}

// TestInteropS3 has one process of the SDK and of its server. Where HINDCAST_KILLS is set all
// positions and all requests have their turn, else some: package bucket tries all of them on a
// server of its own.
func TestInteropS3(t *testing.T) {
	skip.Sequential(t)
	b := inBucket(t)
	all := os.Getenv("HINDCAST_KILLS") != ""
	for _, c := range []struct {
		name string
		test func(b *bucketed, all bool)
	}{{"every position", everyPosition}, {"a turn in between", aTurnInBetween}, {"broken off", brokenOff}} {
		t.Run(c.name, func(t *testing.T) {
			b.t = t
			b.putBack(map[string]object{})
			b.asked.Store(0)
			c.test(b, all)
		})
	}
}

// everyPosition puts a session that S3SessionManager keeps back to every position: an agent
// that starts holds what Hindcast shows, its model is sent that and the text, and an undo
// leaves the very keys, bytes and types.
func everyPosition(b *bucketed, all bool) {
	t, turns := b.t, 3
	if all {
		turns = 5
	}
	b.do(t, map[string]any{"do": "write", "session": "s", "turns": turns})
	original := b.objects()
	resumed := 0
	for i, h := range storetest.Headers(t, b.open(), "s") {
		s := b.open()
		want := b.shown(s, h)
		change := model.Change{Op: model.OpRestore, Ref: h.Ref()}
		plan := b.plan(s, change)
		if !plan.Idle() {
			if _, err := s.Apply(t.Context(), plan); err != nil {
				t.Fatalf("#%d: %v", i, err)
			}
			if got := b.do(t, map[string]any{"do": "start", "session": "s"}).Loaded; !equal(t, got, want) {
				t.Errorf("#%d: the SDK holds\n%v\nand not\n%v", i, got, want)
			}
			restored := b.objects()
			b.write(s, model.Change{Op: model.OpUndo})
			if !reflect.DeepEqual(b.objects(), original) {
				t.Errorf("#%d: an undo leaves other objects", i)
			}
			b.write(s, model.Change{Op: model.OpRedo})
			if !reflect.DeepEqual(b.objects(), restored) {
				t.Errorf("#%d: a redo leaves other objects", i)
			}
		}
		if h.Event.EndsTurn() {
			seen := b.do(t, map[string]any{"do": "resume", "session": "s", "text": "go on"}).Seen
			if len(seen) != 1 || len(seen[0]) != len(want)+1 || !equal(t, seen[0][:len(want)], toModel(want)) {
				t.Errorf("#%d: the model is sent\n%v\nand not\n%v", i, seen, want)
			}
			resumed++
		}
		b.putBack(original)
	}
	if resumed != turns {
		t.Errorf("%d went on", resumed)
	}
	s := b.open()
	h := storetest.Headers(t, s, "s")[3]
	want := b.shown(s, h)
	b.write(s, model.Change{Op: model.OpFork, Ref: h.Ref(), As: "other"})
	if got := b.do(t, map[string]any{"do": "start", "session": "other"}).Loaded; !equal(t, got, want) {
		t.Errorf("the SDK holds of a fork\n%v\nand not\n%v", got, want)
	}
	b.write(s, model.Change{Op: model.OpUndo})
	if !reflect.DeepEqual(b.objects(), original) {
		t.Error("a fork that is undone leaves other objects")
	}
	t.Log(b.sdk, resumed, "went on;", b.asked.Load(), "requests of Hindcast's")
}

// aTurnInBetween has the SDK run a turn between plan and write.
func aTurnInBetween(b *bucketed, _ bool) {
	t := b.t
	b.do(t, map[string]any{"do": "write", "session": "s", "turns": 2})
	s := b.open()
	plan := b.plan(s, model.Change{Op: model.OpRestore, Ref: storetest.Headers(t, s, "s")[1].Ref()})
	b.do(t, map[string]any{"do": "resume", "session": "s", "text": "go on"})
	theirs := b.objects()
	if _, err := s.Apply(t.Context(), plan); !errors.Is(err, model.ErrHeadMoved) {
		t.Error(err)
	}
	if !reflect.DeepEqual(b.objects(), theirs) {
		t.Error("what the agent wrote is not as it wrote it")
	}
}

// brokenOff kills Hindcast at a request of a restore, and has one request fail: the next opening
// finds the session as it was, or as it was to be. The server then says that it is so late that
// the claim of the one that was killed is old.
func brokenOff(b *bucketed, all bool) {
	t := b.t
	b.do(t, map[string]any{"do": "write", "session": "s", "turns": 3})
	original := b.objects()
	s := b.open()
	to := model.Change{Op: model.OpRestore, Ref: storetest.Headers(t, s, "s")[1].Ref()}
	plan := b.plan(s, to)
	b.asked.Store(0)
	if _, err := s.Apply(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	requests := b.asked.Load()
	ends := map[int]int{}
	broken := func(n int64, killed bool) {
		b.putBack(original)
		s := b.open()
		plan := b.plan(s, to)
		b.asked.Store(0)
		b.hook = func(i int64) bool { return i == n || killed && i > n }
		_, err := s.Apply(t.Context(), plan)
		b.hook = nil
		if err != nil && !killed {
			t.Errorf("request %d was not answered once: %v", n, err)
		}
		b.later = 2 * time.Minute
		defer func() { b.later = 0 }()
		again := b.open()
		list := storetest.Headers(t, again, "s")
		now := b.do(t, map[string]any{"do": "start", "session": "s"}).Loaded
		ends[len(now)]++
		for _, h := range list {
			if h.Head && !equal(t, now, b.shown(again, h)) {
				t.Errorf("request %d: the SDK holds %d messages, and Hindcast shows others", n, len(now))
			}
		}
		if len(now) == 2 {
			b.write(again, model.Change{Op: model.OpUndo})
		}
		if !reflect.DeepEqual(b.objects(), original) {
			t.Errorf("request %d of %d, killed %v: the objects are not as before; %v", n, requests, killed, err)
		}
	}
	if all {
		for n := range requests {
			broken(n, true)
			broken(n, false)
		}
	} else {
		for i := range int64(6) { // from the first to the last
			broken(i*(requests-1)/5, i%3 != 1)
		}
	}
	t.Log(requests, "requests; so many messages are left so often:", ends)
	if ends[2]+ends[8] == 0 || len(ends) > 2 {
		t.Error("the SDK holds neither what it held nor what was planned")
	}
	for n := range ends {
		if n != 2 && n != 8 {
			t.Errorf("the SDK holds %d messages", n)
		}
	}
}
