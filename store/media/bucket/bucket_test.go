package bucket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/kinds/strands/messages"
	"hindcast/store/media/bucket/buckettest"
	"hindcast/store/media/disk"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

const fixtures = "../../../testdata/strands/python-file"

// server has besides what the tests of this package put there.
type server struct{ *buckettest.Server }

func serve(t testing.TB) *server { return &server{buckettest.Serve(t)} }

func atOncePause(ctx context.Context, _ int) error { return ctx.Err() }

func open1(ctx context.Context, s *server, address string) (storetest.Writer, error) {
	opened, err := Kind(Options{Endpoint: s.URL, pause: atOncePause}, engine.Finder(messages.Kind(nil))).Open(ctx, address)
	if err != nil {
		return nil, err
	}
	return storetest.AsWriter(opened), nil
}

func opening(t testing.TB, s *server, address string) storetest.Writer {
	t.Helper()
	opened, err := open1(t.Context(), s, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return opened
}

// What is read of a bucket is what is read of the same files on a disk.
func TestOpen_readsWhatADiskHas(t *testing.T) {
	s := serve(t)
	s.Load(t, fixtures, "some where")
	onDisk, err := messages.Open(t.Context(), fixtures)
	if err != nil {
		t.Fatal(err)
	}
	defer onDisk.Close()
	inBucket := opening(t, s, "s3://b/some where")
	want, got := storetest.Sessions(t, onDisk), storetest.Sessions(t, inBucket)
	if len(want) == 0 || !slices.Equal(want, got) {
		t.Fatalf("the sessions are\n%v\nand not\n%v", got, want)
	}
	for _, info := range want {
		list := storetest.Headers(t, onDisk, info.ID)
		if got := storetest.Headers(t, inBucket, info.ID); fmt.Sprint(got) != fmt.Sprint(list) {
			t.Errorf("%s: the headers are\n%v\nand not\n%v", info.ID, got, list)
		}
		for _, h := range list {
			a, failed := onDisk.State(t.Context(), h.Ref())
			b, err := inBucket.State(t.Context(), h.Ref())
			if failed != nil || err != nil || string(a) != string(b) {
				t.Errorf("%s #%d: %v, %v, or another state", info.ID, h.Index, failed, err)
			}
		}
		if want, got := storetest.Faults(t, onDisk, info.ID), storetest.Faults(t, inBucket, info.ID); fmt.Sprint(want) != fmt.Sprint(got) {
			t.Errorf("%s: the faults are\n%v\nand not\n%v", info.ID, got, want)
		}
	}
	alone := opening(t, s, "s3://b/some where/session_"+want[0].ID)
	if got := storetest.Sessions(t, alone); len(got) != 1 || got[0].ID != want[0].ID || alone.Address() != "s3://b/some where/session_"+want[0].ID {
		t.Errorf("one session alone is %v at %s", got, alone.Address())
	}
}

// Every position is put back as it is on a disk, and undone to the very keys and bytes.
func TestRestore_everyPosition(t *testing.T) {
	skip.Sequential(t)
	s := serve(t)
	s.Load(t, fixtures, "p")
	dir := storetest.Copy(t, fixtures)
	onDisk, err := messages.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer onDisk.Close()
	w := opening(t, s, "s3://b/p")
	before, restored := s.All(), 0
	for _, info := range storetest.Sessions(t, w) {
		for i, h := range storetest.Headers(t, w, info.ID) {
			if i%storetest.Sized(4, 1) != 0 {
				continue
			}
			change := model.Change{Op: model.OpRestore, Ref: h.Ref()}
			plan, err := w.Plan(t.Context(), change)
			same, failed := onDisk.Plan(t.Context(), change)
			if (err == nil) != (failed == nil) {
				t.Errorf("%s #%d: %v, and on a disk %v", info.ID, h.Index, err, failed)
			}
			if err != nil || failed != nil || plan.Idle() {
				continue
			}
			carry(t, w, plan)
			carry(t, onDisk, same)
			if now, want := bare(s.All()), filesOf(t, dir); !maps.Equal(timeless(now), timeless(want)) {
				t.Errorf("%s #%d: the objects are not what the files are", info.ID, h.Index)
			}
			for _, op := range []model.Op{model.OpUndo, model.OpRedo, model.OpUndo} {
				back(t, w, op)
				back(t, onDisk, op)
			}
			if !maps.Equal(s.All(), before) {
				t.Fatalf("%s #%d: an undo leaves other objects", info.ID, h.Index)
			}
			restored++
		}
	}
	if restored < 10 {
		t.Errorf("only %d were put back", restored)
	}
	t.Log(restored, "positions")
}

// bare returns the bytes of objects by their names below the prefix.
func bare(all map[string]string) map[string]string {
	list := map[string]string{}
	for key, text := range all {
		list[strings.TrimPrefix(key, "p/")] = text[len("application/json  "):]
	}
	return list
}

func filesOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	list := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.Name() == ".hindcast":
			return filepath.SkipDir
		case e.IsDir():
			return nil
		}
		data, err := os.ReadFile(name)
		below, failed := filepath.Rel(dir, name)
		list[filepath.ToSlash(below)] = string(data)
		return errors.Join(err, failed)
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func carry(t testing.TB, w storetest.Writer, plan model.Plan) {
	t.Helper()
	if _, err := w.Apply(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
}

func back(t testing.TB, w storetest.Writer, op model.Op) {
	t.Helper()
	plan, err := w.Plan(t.Context(), model.Change{Op: op})
	if err != nil {
		t.Fatal(err)
	}
	carry(t, w, plan)
}

// trial is a session of six messages that is put back to its fourth.
type trial struct {
	*server
	w             storetest.Writer
	before, after map[string]string
	requests      int // that carrying it out takes
}

const logPrefix = "p/session_s/agents/agent_a/"

func (s *server) session(n int) {
	const at = `"2026-01-01T00:00:00+00:00"`
	s.Put("p/session_s/session.json", `{"session_id":"s","session_type":"AGENT","created_at":`+at+`,"updated_at":`+at+`}`)
	s.Put(logPrefix+"agent.json", `{"agent_id":"a","state":{},"conversation_manager_state":{"__name__":"SlidingWindowConversationManager","removed_message_count":0},"created_at":`+at+`,"updated_at":`+at+`,"_internal_state":{}}`)
	for i := range n {
		role := []string{"user", "assistant"}[i%2]
		s.Put(fmt.Sprintf("%smessages/message_%d.json", logPrefix, i), fmt.Sprintf(`{"message":{"role":%q,"content":[{"text":"text %d"}]},"message_id":%d,"redact_message":null,"created_at":%s,"updated_at":%[4]s}`, role, i, i, at))
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for key, o := range s.Objects {
		o.Modified = o.Modified.Add(-time.Hour)
		o.Head.Set("X-Amz-Meta-Own", key)
		s.Objects[key] = o
	}
}

func (tr *trial) plan(t testing.TB) model.Plan {
	t.Helper()
	h := storetest.Headers(t, tr.w, "s")
	plan, err := tr.w.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: h[3].Ref()})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// try returns a trial whose outcome is known.
func try(t testing.TB) *trial {
	first := begin(t)
	plan := first.plan(t)
	first.server.Requests()
	carry(t, first.w, plan)
	n := len(first.server.Requests())
	tr := begin(t)
	tr.after, tr.requests = first.All(), n
	return tr
}

func begin(t testing.TB) *trial {
	s := serve(t)
	s.session(6)
	return &trial{server: s, w: opening(t, s, "s3://b/p"), before: s.All()}
}

// state says what the objects are: as before, as planned, or neither.
func (tr *trial) state(t testing.TB) string {
	t.Helper()
	switch now := tr.All(); {
	case maps.Equal(now, tr.before):
		return "before"
	case maps.Equal(timeless(now), timeless(tr.after)):
		return "after"
	}
	return "neither"
}

var moment = regexp.MustCompile(`"updated_at": ?"[^"]*"`)

// timeless returns objects without when agent.json was written.
func timeless(all map[string]string) map[string]string {
	all = maps.Clone(all)
	for key, text := range all {
		all[key] = moment.ReplaceAllString(text, "")
	}
	return all
}

// A request that the server refuses takes everything back, whichever it is.
func TestRestore_aRequestFails(t *testing.T) {
	skip.Sequential(t)
	whole := try(t)
	took := map[string]int{}
	for n := range whole.requests {
		tr := begin(t)
		tr.after = whole.after
		plan := tr.plan(t)
		tr.server.Requests()
		tr.server.Before = func(i int, _ string, w http.ResponseWriter) bool {
			if i == n {
				buckettest.Refuse(w, http.StatusForbidden, "AccessDenied")
			}
			return i == n
		}
		_, err := tr.w.Apply(t.Context(), plan)
		tr.server.Before = nil
		tr.Now = func() time.Time { return time.Now().Add(2 * leaseTime) } // a claim that could not be let go of is old
		is := tr.state(t)
		took[is]++
		switch {
		case err == nil && is != "after", err != nil && is == "neither":
			t.Errorf("request %d refused: %v, and the objects are %s", n, err, is)
		case err != nil && is == "after" && !strings.Contains(err.Error(), "write 1"):
			t.Errorf("request %d refused: %v, and it was done", n, err)
		case err != nil && !errors.Is(err, fs.ErrPermission):
			t.Errorf("request %d refused: %v", n, err)
		}
		again := opening(t, tr.server, "s3://b/p")
		if list, err := again.Journal(t.Context()); err != nil || len(list) > 0 && list[0].Broken != "" {
			t.Errorf("request %d refused: the journal says %v, %v", n, list, err)
		}
		tr.w = again
		if tr.state(t) == "before" {
			carry(t, again, tr.plan(t))
		}
		back(t, again, model.OpUndo)
		if is := tr.state(t); is != "before" {
			t.Errorf("request %d refused: undone the objects are %s", n, is)
		}
	}
	t.Log(whole.requests, "requests", took)
}

// Killed at any request, before or after the server carried it out, the next opening finds
// the session as it was or as planned, and nothing in between.
func TestRestore_killed(t *testing.T) {
	skip.Sequential(t)
	whole := try(t)
	took := map[string]int{}
	for n := range whole.requests {
		for _, done := range []bool{false, true} {
			tr := begin(t)
			tr.after = whole.after
			plan := tr.plan(t)
			tr.server.Requests()
			var dead atomic.Bool
			tr.server.Before = func(i int, _ string, w http.ResponseWriter) bool {
				if i >= n && !done || dead.Load() {
					dead.Store(true)
					conn, _, err := http.NewResponseController(w).Hijack()
					if err == nil {
						conn.Close()
					}
					return true
				}
				return false
			}
			tr.server.After = func(i int, _ string) bool {
				if i == n && done {
					dead.Store(true)
				}
				return dead.Load()
			}
			_, err := tr.w.Apply(t.Context(), plan)
			tr.server.Mu.Lock()
			tr.server.Before, tr.server.After = nil, nil
			tr.server.Mu.Unlock()
			if err == nil && tr.state(t) != "after" {
				t.Errorf("killed at request %d: no error", n)
			}
			tr.Now = func() time.Time { return time.Now().Add(2 * leaseTime) }
			again := opening(t, tr.server, "s3://b/p")
			is := tr.state(t)
			took[is]++
			list, err := again.Journal(t.Context())
			if is == "neither" || err != nil || len(list) > 0 && list[0].Broken != "" {
				t.Errorf("killed at request %d (carried out: %v): the objects are %s, the journal %v, %v", n, done, is, list, err)
			}
			if is == "after" {
				back(t, again, model.OpUndo)
				if is := tr.state(t); is != "before" {
					t.Errorf("killed at request %d: undone the objects are %s", n, is)
				}
			}
		}
	}
	t.Log(whole.requests, "requests", took)
	if took["after"] == 0 || took["before"] == 0 {
		t.Errorf("all end %v", took)
	}
}

// What an agent writes in between, before any request, is never lost: it stays where it is,
// and what was done of the plan is taken back.
func TestRestore_aWriterInBetween(t *testing.T) {
	skip.Sequential(t)
	whole := try(t)
	for _, key := range []string{logPrefix + "agent.json", logPrefix + "messages/message_4.json", logPrefix + "messages/message_6.json"} {
		refused := 0
		for n := range whole.requests {
			tr := begin(t)
			plan := tr.plan(t)
			tr.server.Requests()
			const theirs = `{"theirs": true}`
			tr.server.Before = func(i int, _ string, _ http.ResponseWriter) bool {
				if i == n {
					tr.Put(key, theirs)
				}
				return false
			}
			_, err := tr.w.Apply(t.Context(), plan)
			tr.server.Before = nil
			now := tr.All()
			if !strings.HasSuffix(now[key], theirs) {
				t.Errorf("%s written before request %d: it is %q, %v", key, n, now[key], err)
			}
			delete(now, key)
			other := maps.Clone(tr.before)
			delete(other, key)
			done := maps.Clone(whole.after)
			delete(done, key)
			switch {
			case err == nil && !maps.Equal(timeless(now), timeless(done)):
				t.Errorf("%s written before request %d: no error, and not as planned", key, n)
			case err != nil && !maps.Equal(now, other):
				t.Errorf("%s written before request %d: %v, and the rest is not as before", key, n, err)
			case err != nil && !errors.Is(err, model.ErrHeadMoved):
				t.Errorf("%s written before request %d: %v", key, n, err)
			}
			if err != nil {
				refused++
			}
		}
		t.Logf("%s: %d of %d refused", key, refused, whole.requests)
	}
}

// While one Hindcast writes, another does not.
func TestLock_oneWrites(t *testing.T) {
	s := serve(t)
	s.session(4)
	at := func() *Source {
		on, err := connectSource(t.Context(), Options{Endpoint: s.URL}, "b", "p")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { on.Close() })
		return on
	}
	first, second := at(), at()
	unlock, err := first.disk.Lock(".hindcast/lock")
	if err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	_, err = second.disk.Lock(".hindcast/lock")
	if !errors.Is(err, disk.ErrLocked) {
		t.Errorf("while another has the claim: %v", err)
	}
	for _, part := range []string{fmt.Sprintf("process %d on %q has it since ", os.Getpid(), host), "renewed ", "after a kill the claim is free in "} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the refusal says %q, and not %q", err, part)
		}
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err = second.disk.Lock(".hindcast/lock"); err != nil {
		t.Fatal(err)
	}
	s.Now = func() time.Time { return time.Now().Add(2 * leaseTime) }
	unlock, err = first.disk.Lock(".hindcast/lock")
	if err != nil {
		t.Errorf("the claim is old: %v", err)
	}
	defer unlock()
}

// A server that passes over conditions is read, and not written to.
func TestRestore_withoutConditions(t *testing.T) {
	skip.Sequential(t)
	tr := begin(t)
	tr.Lax = true
	_, err := tr.w.Apply(t.Context(), tr.plan(t))
	if !errors.Is(err, ErrUnconditional) || tr.state(t) != "before" || len(tr.Objects) != len(tr.before) {
		t.Errorf("%v, and the objects are %s", err, tr.state(t))
	}
}

// A refusal says what was asked for, and what to do.
func TestOpen_refused(t *testing.T) {
	for _, c := range []struct {
		what    string
		address string
		answer  func(w http.ResponseWriter)
		is      error
		says    []string
	}{
		{"forbidden", "s3://b/p", func(w http.ResponseWriter) { buckettest.Refuse(w, 403, "AccessDenied") }, fs.ErrPermission, []string{"s3://b/p", "AccessDenied", "s3:ListBucket"}},
		{"no bucket", "s3://b/p", func(w http.ResponseWriter) { buckettest.Refuse(w, 404, "NoSuchBucket") }, fs.ErrNotExist, []string{"s3://b/p", "no such bucket"}},
		{"another region", "s3://b/p", func(w http.ResponseWriter) {
			w.Header().Set("X-Amz-Bucket-Region", "eu-west-1")
			buckettest.Refuse(w, 301, "PermanentRedirect")
		}, ErrRegion, []string{"s3://b/p", "AWS_REGION=eu-west-1"}},
		{"busy", "s3://b/p", func(w http.ResponseWriter) { buckettest.Refuse(w, 503, "SlowDown") }, nil, []string{"s3://b/p", "try again later"}},
		{"nothing there", "s3://b/q", nil, store.ErrUnrecognised, []string{"s3://b/q", "nothing is below that prefix"}},
		{"no address", "s3://", nil, nil, []string{"s3://bucket/prefix"}},
	} {
		s := serve(t)
		s.session(2)
		if c.answer != nil {
			s.Before = func(_ int, _ string, w http.ResponseWriter) bool { c.answer(w); return true }
		}
		_, err := open1(t.Context(), s, c.address)
		if err == nil || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		for _, text := range c.says {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, without %q", c.what, err, text)
			}
		}
	}
	s := serve(t)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "")
	}
	if _, err := open1(t.Context(), s, "s3://b/p"); !errors.Is(err, ErrCredentials) || !strings.Contains(err.Error(), "s3://b/p") {
		t.Errorf("without a key: %v", err)
	}
}

// A request that does not come back is ended with the context of who opens.
func TestOpen_cancelled(t *testing.T) {
	s := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	asked, done := make(chan struct{}), make(chan struct{})
	s.Before = func(int, string, http.ResponseWriter) bool { close(asked); <-done; return true }
	go func() { <-asked; cancel() }()
	_, err := open1(ctx, s, "s3://b/p")
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(done)
}

// A server that is busy now and then is asked again.
func TestOpen_busyNowAndThen(t *testing.T) {
	s := serve(t)
	s.session(6)
	s.Before = func(i int, _ string, w http.ResponseWriter) bool {
		if i%3 == 0 {
			buckettest.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
		}
		return i%3 == 0
	}
	w := opening(t, s, "s3://b/p")
	if list := storetest.Headers(t, w, "s"); len(list) != 6 {
		t.Errorf("%d rows", len(list))
	}
}

// Who follows is told when a listing is another.
func TestWatch(t *testing.T) {
	s := serve(t)
	s.session(4)
	opened, err := Kind(Options{Endpoint: s.URL, Every: time.Millisecond}, engine.Finder(messages.Kind(nil))).Open(t.Context(), "s3://b/p")
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if n := len(storetest.Headers(t, opened, "s")); n != 4 {
		t.Fatal(n)
	}
	changes, err := opened.Features().Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.session(6)
	storetest.Next(t, changes)
	if n := len(storetest.Headers(t, opened, "s")); n != 6 {
		t.Errorf("%d rows", n)
	}
}

// Names are listed by a few requests at once, and none is missed, whatever they are.
func TestList(t *testing.T) {
	s := serve(t)
	s.session(10_000)
	for _, name := range []string{"message_5", "message_", "~", "!", "message_55.json.tmp", "message_é.json", "a b+c&d.json"} {
		s.Put(logPrefix+"messages/"+name, "{}")
	}
	s.Put("p/z/last.json", "{}")
	on, err := connectSource(t.Context(), Options{Endpoint: s.URL}, "b", "p")
	if err != nil {
		t.Fatal(err)
	}
	defer on.Close()
	l, err := on.tree.currentListing()
	if err != nil {
		t.Fatal(err)
	}
	if len(l.objects) != len(s.Objects) {
		t.Errorf("%d objects are listed of %d", len(l.objects), len(s.Objects))
	}
	for key := range s.Objects {
		if _, there := l.objects[key]; !there {
			t.Errorf("%s is missing", key)
		}
	}
	t.Logf("%d requests for %d names", on.Requests().List, len(l.objects))
	if on.Requests().List > 40 {
		t.Error("that are too many")
	}
	names, err := on.disk.Names("session_s/agents/agent_a/messages")
	if err != nil || len(names) != 10_000+7 {
		t.Errorf("%d names, %v", len(names), err)
	}
	if names, err := on.disk.Names("."); err != nil || !slices.Equal(names, []string{"session_s", "z"}) {
		t.Errorf("%v, %v", names, err)
	}
}

// What the SDK has to say stands in the error, and not on the terminal, where the screen is.
func TestOpen_writesNothingBesideItsError(t *testing.T) {
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer refuses.Close()
	s := serve(t)
	for name, value := range map[string]string{
		"AWS_EC2_METADATA_SERVICE_ENDPOINT": refuses.URL, "AWS_EC2_METADATA_DISABLED": "false",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_PROFILE": "",
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
	} {
		t.Setenv(name, value)
	}
	said, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	terminal := os.Stderr
	os.Stderr = said
	_, err = open1(t.Context(), s, "s3://bucket/sessions")
	os.Stderr = terminal
	if err == nil || !strings.Contains(err.Error(), "no credentials for S3 were found") {
		t.Errorf("it opens: %v", err)
	}
	if text, err := os.ReadFile(said.Name()); err != nil || len(text) > 0 || said.Close() != nil {
		t.Errorf("it writes %q: %v", text, err)
	}
}
