package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"hindcast/agent/serve"
	"hindcast/model"
	"hindcast/model/wire"
	"hindcast/model/wire/wiretest"
	"hindcast/store"
	"hindcast/store/native/sqlite"
	"hindcast/store/storetest"
	"hindcast/store/storetest/fake"
)

// story is a store in which a session went a → b → a, was put back to b and
// went on to <c>; another session holds a as well.
func story(t testing.TB) *fake.Store {
	t.Helper()
	clock := &storetest.Clock{}
	s := fake.New(fake.WithClock(clock.Now))
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var last *model.Snapshot[json.RawMessage]
	step := func(session, state string, index int) {
		clock.Advance(time.Second)
		next := &model.Snapshot[json.RawMessage]{
			ID: id(state), SessionID: session, CreatedAt: clock.Now(), State: json.RawMessage(state), Index: index, TurnIndex: index,
		}
		if last != nil && index > 0 {
			next.ParentID = last.ID
		}
		ok(s.SaveSnapshot(t.Context(), next))
		last = next
	}
	step("chat", `{ "said": "a" }`, 0)
	step("chat", `{"said":"b"}`, 1)
	b := last
	step("chat", `{ "said": "a" }`, 2)
	ok(s.InvalidateSnapshotsAfter(t.Context(), "chat", 1))
	last = b
	step("chat", `{"said":"<c>"}`, 2)
	ok(s.Save(t.Context(), "chat", &model.Data[json.RawMessage]{ID: "chat", State: json.RawMessage(`{"said":"<c>", "more":true}`), LastSnapshot: last, TurnIndex: 3}))
	step("other", `{ "said": "a" }`, 0)
	return s
}

func id(state string) string { return model.SnapshotID([]byte(state)) }

func newHandler(t testing.TB, s serve.Store, options ...serve.Option) *serve.Handler {
	t.Helper()
	h, err := serve.New([]serve.Agent{{Name: "barista", Store: s}}, options...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// request is one that is answered, unless it is changed.
func request(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:3100"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func answer(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// call is the body of a request to run an action.
func call(action, input string) string {
	return fmt.Sprintf(`{"key":%q,"input":%s}`, wire.Key("barista", action), input)
}

// The transcript is what the API says, to be read.
func TestHandler_transcript(t *testing.T) {
	h := newHandler(t, counted{story(t)})
	h.SetEpoch(0)
	var out bytes.Buffer
	say := func(title, method, path, body string) {
		w := answer(h, request(method, path, body))
		fmt.Fprintf(&out, "##### %s\n%s %s\n", title, method, path)
		if body != "" {
			fmt.Fprintln(&out, body)
		}
		fmt.Fprintf(&out, "\n%d %s\n%s\n\n", w.Code, w.Header().Get("Content-Type"), strings.TrimSuffix(w.Body.String(), "\n"))
	}
	run := func(title, action, input string) { say(title, "POST", wire.RunPath, call(action, input)) }
	a, b := id(`{ "said": "a" }`), id(`{"said":"b"}`)
	say("health", "GET", wire.HealthPath, "")
	say("health of a runtime by its id, which is never this one", "GET", wire.HealthPath+"?id=1-2", "")
	say("actions", "GET", wire.ActionsPath, "")
	run("getSnapshot by its id", wire.GetSnapshot, `{"snapshotId":"`+b+`"}`)
	run("getSnapshot that two sessions hold", wire.GetSnapshot, `{"snapshotId":"`+a+`"}`)
	run("getSnapshot of one of them", wire.GetSnapshot, `{"snapshotId":"`+a+`","sessionId":"other"}`)
	run("getSnapshot of a visit", wire.GetSnapshot, `{"snapshotId":"`+a+`","sessionId":"chat","visit":3}`)
	run("getSnapshot of a visit that is another's", wire.GetSnapshot, `{"snapshotId":"`+a+`","sessionId":"chat","visit":2}`)
	run("getSnapshot without the state", wire.GetSnapshot, `{"snapshotId":"`+b+`","metadataOnly":true}`)
	run("getSnapshot of another session", wire.GetSnapshot, `{"snapshotId":"`+b+`","sessionId":"other"}`)
	run("getSnapshot of an unknown session", wire.GetSnapshot, `{"snapshotId":"nope","sessionId":"nope"}`)
	run("getSnapshot: unknown id", wire.GetSnapshot, `{"snapshotId":"nope"}`)
	run("getSnapshot: no id", wire.GetSnapshot, `{}`)
	run("getSnapshot: extra field", wire.GetSnapshot, `{"snapshotId":"`+b+`","includeOrphaned":true}`)
	run("listSnapshots: the active rows", wire.ListSnapshots, `{"sessionId":"chat"}`)
	run("listSnapshots: all visits, without states", wire.ListSnapshots, `{"sessionId":"chat","includeOrphaned":true,"metadataOnly":true}`)
	run("listSnapshots: the active visits, without states", wire.ListSnapshots, `{"sessionId":"chat","metadataOnly":true}`)
	run("listSnapshots of an unknown session", wire.ListSnapshots, `{"sessionId":"nope"}`)
	run("getSession", wire.GetSession, `{"sessionId":"chat"}`)
	run("getSession without a record", wire.GetSession, `{"sessionId":"other"}`)
	run("listSessions", wire.ListSessions, `{}`)
	run("getCursor", wire.GetCursor, `{"sessionId":"chat"}`)
	run("getGrowth since visit 3", wire.GetGrowth, `{"sessionId":"chat","visit":3,"rewrites":1}`)
	run("getGrowth since before a restore", wire.GetGrowth, `{"sessionId":"chat","visit":2}`)
	run("getGrowth of an unknown session", wire.GetGrowth, `{"sessionId":"nope"}`)
	run("an unknown action", "deleteSession", `{"sessionId":"chat"}`)
	say("an agent that is not there", "POST", wire.RunPath, `{"key":"/session-store/nobody/getSession","input":{"sessionId":"chat"}}`)
	say("an action of Genkit's own agents", "POST", wire.RunPath, `{"key":"/agent/barista","input":{}}`)
	say("what is no request", "POST", wire.RunPath, `{"key":`)
	golden.RequireEqual(t, out.Bytes())
}

// counted is a story in which one change was more than growth. How a store
// counts is its own business, and no part of the transcript.
type counted struct{ *fake.Store }

func (c counted) Features() store.Features {
	f := c.Store.Features()
	f.Cursor, f.Growth = c.Cursor, c.Growth
	return f
}

func (c counted) Cursor(ctx context.Context, session string) (store.Cursor, error) {
	at, err := c.Store.Cursor(ctx, session)
	return store.Cursor{Visit: at.Visit, Rewrites: 1}, err
}

func (c counted) Growth(ctx context.Context, session string, since store.Cursor) (store.Growth, error) {
	at, err := c.Store.Cursor(ctx, session)
	if err != nil {
		return store.Growth{}, err
	}
	if since.Rewrites == 1 {
		since.Rewrites = at.Rewrites
	}
	growth, err := c.Store.Growth(ctx, session, since)
	growth.Cursor.Rewrites = 1
	return growth, err
}

// keys returns the names of a JSON object.
func keys(t *testing.T, data json.RawMessage) []string {
	t.Helper()
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return slices.Sorted(maps.Keys(object))
}

// Where Genkit itself has such an action, its answers are told apart from ours
// by what is in them only: status, envelope, code, and the names in an error.
func TestHandler_answersInGenkitsShape(t *testing.T) {
	real := wiretest.Genkit()
	h := newHandler(t, story(t))
	b := id(`{"said":"b"}`)
	type envelope struct {
		Result    json.RawMessage
		Telemetry json.RawMessage
		Error     *struct {
			Code    int
			Message string
			Details json.RawMessage
		}
	}
	for _, c := range []struct{ name, action, input string }{
		{"snapshot", wire.GetSnapshot, `{"snapshotId":"` + b + `"}`},
		{"metadata-only", wire.GetSnapshot, `{"snapshotId":"` + b + `","metadataOnly":true}`},
		{"wrong-session", wire.GetSnapshot, `{"snapshotId":"` + b + `","sessionId":"nope"}`},
		{"unknown-id", wire.GetSnapshot, `{"snapshotId":"nope"}`},
		{"neither-id", wire.GetSnapshot, `{}`},
		{"extra-field", wire.GetSnapshot, `{"snapshotId":"` + b + `","includeOrphaned":true}`},
		{"seed-getSnapshot", "nope", `{}`},
	} {
		var ours, theirs envelope
		w := answer(h, request("POST", wire.RunPath, call(c.action, c.input)))
		text := []byte(real[c.name+"/answer"])
		if err := errors.Join(json.Unmarshal(w.Body.Bytes(), &ours), json.Unmarshal(text, &theirs)); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if want, _, _ := strings.Cut(real[c.name+"/header"], "\n"); want != fmt.Sprintf("HTTP/1.1 %d %s", w.Code, http.StatusText(w.Code)) {
			t.Errorf("%s: the status is %d, want %s", c.name, w.Code, want)
		}
		if got, want := keys(t, w.Body.Bytes()), keys(t, text); !slices.Equal(got, want) {
			t.Errorf("%s: the answer has %v, want %v", c.name, got, want)
		}
		if (ours.Error == nil) != (theirs.Error == nil) {
			t.Fatalf("%s: %s", c.name, w.Body)
		}
		if ours.Error == nil {
			if got, want := keys(t, ours.Telemetry), keys(t, theirs.Telemetry); !slices.Equal(got, want) {
				t.Errorf("%s: the telemetry has %v, want %v", c.name, got, want)
			}
			if got, want := slices.Contains(keys(t, ours.Result), "state"), slices.Contains(keys(t, theirs.Result), "state"); got != want {
				t.Errorf("%s: the result has a state: %v, want %v", c.name, got, want)
			}
			continue
		}
		if ours.Error.Code != theirs.Error.Code {
			t.Errorf("%s: the code is %d (%s), want %d (%s)", c.name, ours.Error.Code, ours.Error.Message, theirs.Error.Code, theirs.Error.Message)
		}
		if got := keys(t, ours.Error.Details); slices.Contains(got, "stack") || !slices.Contains(got, "traceId") {
			t.Errorf("%s: the details are %s", c.name, ours.Error.Details)
		}
	}
	for _, path := range []string{"health", "health-wrong-id"} {
		request := strings.Fields(real[path+"/request"])
		w := answer(h, httptest.NewRequest(request[0], "http://127.0.0.1:3100"+request[1], nil))
		if !strings.HasPrefix(real[path+"/header"], fmt.Sprintf("HTTP/1.1 %d ", w.Code)) || w.Body.String() != real[path+"/answer"] {
			t.Errorf("%s: %d %q", path, w.Code, w.Body)
		}
	}
}

// Nothing that a page in a browser can send on its own is answered.
func TestHandler_refusesWhatIsNotFromHere(t *testing.T) {
	h := newHandler(t, story(t))
	list := call(wire.ListSessions, `{}`)
	header := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = values }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for _, c := range []struct {
		name   string
		change func(*http.Request)
		status int
	}{
		{"as it is", func(*http.Request) {}, 200},
		{"localhost", host("localhost:3100"), 200},
		{"LOCALHOST", host("LOCALHOST"), 200},
		{"127.8.9.1", host("127.8.9.1:80"), 200},
		{"[::1]", host("[::1]:3100"), 200},
		{"[::1] without a port", host("[::1]"), 200},
		{"an origin of here", header("Origin", "http://localhost:4000"), 200},
		{"a charset", header("Content-Type", "application/json; charset=utf-8"), 200},
		{"a name that was made to point here", host("evil.example:3100"), 403},
		{"a name that begins like one of here", host("localhost.evil.example"), 403},
		{"an address that begins like one of here", host("127.0.0.1.evil.example:3100"), 403},
		{"an address of the network", host("192.168.0.7:3100"), 403},
		{"all addresses", host("0.0.0.0:3100"), 403},
		{"no host", host(""), 403},
		{"a page", header("Origin", "https://evil.example"), 403},
		{"a page in a sandbox", header("Origin", "null"), 403},
		{"a page with a name like ours", header("Origin", "http://localhost.evil.example"), 403},
		{"a page that says so twice", header("Origin", "http://localhost", "https://evil.example"), 403},
		{"an empty origin", header("Origin", ""), 403},
		{"an origin with a user", header("Origin", "http://localhost@evil.example"), 403},
		{"a form's text", header("Content-Type", "text/plain"), 415},
		{"a form", header("Content-Type", "application/x-www-form-urlencoded"), 415},
		{"a type that hides", header("Content-Type", "text/plain; application/json"), 415},
		{"no type", header("Content-Type"), 415},
	} {
		r := request("POST", wire.RunPath, list)
		c.change(r)
		w := answer(h, r)
		if w.Code != c.status || strings.Contains(w.Body.String(), "result") != (c.status == 200) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", c.name, w.Header())
		}
		if c.status == 403 {
			for _, path := range []string{wire.ActionsPath, wire.HealthPath} {
				r := request("GET", path, "")
				c.change(r)
				if w := answer(h, r); w.Code != 403 {
					t.Errorf("%s: %s: %d", c.name, path, w.Code)
				}
			}
		}
	}
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"OPTIONS", wire.RunPath, "", 405},
		{"GET", wire.RunPath, "", 405},
		{"PUT", wire.RunPath, list, 405},
		{"POST", wire.ActionsPath, list, 405},
		{"GET", "/", "", 404},
		{"GET", "/api/values?type=x", "", 404},
		{"POST", "/api/notify", "{}", 404},
		{"POST", "/api/cancelAction", "{}", 404},
		{"POST", wire.RunPath, `{"key":"` + strings.Repeat("x", 2<<20) + `"}`, 413},
	} {
		if w := answer(h, request(c.method, c.path, c.body)); w.Code != c.status {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, w.Code, c.status)
		}
	}
}

func TestAllowHost(t *testing.T) {
	h := newHandler(t, story(t), serve.AllowHost("Agents.example"))
	for _, c := range []struct {
		host, origin string
		status       int
	}{
		{"agents.example", "", 200},
		{"agents.example:443", "https://AGENTS.example", 200},
		{"localhost:3100", "", 200},
		{"other.example", "", 403},
		{"agents.example", "https://other.example", 403},
	} {
		r := request("GET", wire.ActionsPath, "")
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		if w := answer(h, r); w.Code != c.status {
			t.Errorf("%s from %q: %d, want %d", c.host, c.origin, w.Code, c.status)
		}
	}
}

func TestNew_refusesAgentsThatHaveNoKey(t *testing.T) {
	s := fake.New()
	for _, agents := range [][]serve.Agent{
		{{Name: "", Store: s}},
		{{Name: "a/b", Store: s}},
		{{Name: "a", Store: s}, {Name: "a", Store: s}},
		{{Name: "a"}},
	} {
		if _, err := serve.New(agents); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", agents[0].Name)) {
			t.Errorf("%v: %v", agents, err)
		}
	}
	if _, err := serve.New(nil); err != nil {
		t.Errorf("no agents yet: %v", err)
	}
}

// Whatever is asked, the file of a store stays as it is, and so does its
// directory.
func TestHandler_neverWrites(t *testing.T) {
	dir := t.TempDir()
	s, err := sqlite.Create(t.Context(), filepath.Join(dir, "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(t.Context(), storetest.Grow("s", 50, 100)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	if s, err = sqlite.Open(t.Context(), filepath.Join(dir, "store.db")); err != nil {
		t.Fatal(err)
	}
	h := newHandler(t, s)
	var first string
	for h := range s.Headers(t.Context(), "s") {
		first = h.ID
		break
	}
	for _, body := range []string{
		call(wire.ListSessions, `{}`), call(wire.ListSnapshots, `{"sessionId":"s"}`), call(wire.ListSnapshots, `{"sessionId":"s","metadataOnly":true}`),
		call(wire.GetSnapshot, `{"snapshotId":"`+first+`"}`), call(wire.GetSnapshot, `{"snapshotId":"`+first+`","sessionId":"new"}`),
		call(wire.GetSession, `{"sessionId":"s"}`), call(wire.GetSession, `{"sessionId":"new"}`), call("save", `{"sessionId":"new"}`),
	} {
		if w := answer(h, request("POST", wire.RunPath, body)); w.Code != 200 {
			t.Errorf("%s: %d", body, w.Code)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after := files(t, dir); !maps.Equal(before, after) {
		t.Errorf("the directory held %v and holds %v", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
}

// files returns what the files of a directory hold.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

// stubborn is a store whose parts can be replaced.
type stubborn struct {
	*fake.Store
	state    func(ctx context.Context, ref model.Ref) ([]byte, error)
	sessions func(ctx context.Context) iter.Seq2[model.SessionInfo, error]
}

func (s stubborn) State(ctx context.Context, ref model.Ref) ([]byte, error) {
	if s.state != nil {
		return s.state(ctx, ref)
	}
	return s.Store.State(ctx, ref)
}

func (s stubborn) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	if s.sessions != nil {
		return s.sessions(ctx)
	}
	return s.Store.Sessions(ctx)
}

// A client that is gone takes its request with it.
func TestHandler_contextReachesTheStore(t *testing.T) {
	asked, ended := make(chan struct{}), make(chan error, 1)
	s := stubborn{Store: story(t), sessions: func(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
		return func(yield func(model.SessionInfo, error) bool) {
			close(asked)
			<-ctx.Done()
			ended <- ctx.Err()
			yield(model.SessionInfo{}, ctx.Err())
		}
	}}
	server := httptest.NewServer(newHandler(t, s))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", server.URL+wire.RunPath, strings.NewReader(call(wire.ListSessions, `{}`)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	go func() {
		<-asked
		cancel()
	}()
	if _, err := http.DefaultClient.Do(r); !errors.Is(err, context.Canceled) {
		t.Errorf("the client ended with %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the store's context ended with %v", err)
	}
}

// An answer that fails after its beginning was sent does not end as if it were
// whole; a store that fails before that is an error in words.
func TestHandler_doesNotPassOffHalfAnAnswer(t *testing.T) {
	broken := errors.New("the disk is on fire")
	big := []byte(`"` + strings.Repeat("x", 200_000) + `"`)
	s := stubborn{Store: fake.New(), state: func(_ context.Context, ref model.Ref) ([]byte, error) {
		if ref.ID == id("1") {
			return nil, broken
		}
		return big, nil
	}, sessions: func(context.Context) iter.Seq2[model.SessionInfo, error] {
		return func(yield func(model.SessionInfo, error) bool) { yield(model.SessionInfo{}, broken) }
	}}
	for i, state := range []string{"0", "1"} {
		err := s.SaveSnapshot(t.Context(), &model.Snapshot[json.RawMessage]{ID: id(state), SessionID: "s", State: json.RawMessage(state), Index: i})
		if err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(newHandler(t, s))
	defer server.Close()
	post := func(body string) (string, error) {
		w, err := http.Post(server.URL+wire.RunPath, "application/json", strings.NewReader(body))
		if err != nil {
			return "", err
		}
		defer w.Body.Close()
		text, err := io.ReadAll(w.Body)
		return string(text), err
	}
	if text, err := post(call(wire.ListSnapshots, `{"sessionId":"s"}`)); !errors.Is(err, io.ErrUnexpectedEOF) || json.Valid([]byte(text)) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if text, err := post(call(wire.ListSessions, `{}`)); err != nil || !strings.Contains(text, `"code":13`) || !strings.Contains(text, broken.Error()) {
		t.Errorf("%s, %v", text, err)
	}
}

// A store that fails is not one that lacks the snapshot, whoever else has it.
func TestHandler_tellsAFailureFromWhatIsNotThere(t *testing.T) {
	h := newHandler(t, failing{story(t)})
	w := answer(h, request("POST", wire.RunPath, call(wire.GetSnapshot, `{"snapshotId":"`+id(`{"said":"b"}`)+`","sessionId":"other"}`)))
	if !strings.Contains(w.Body.String(), `"code":13`) || !strings.Contains(w.Body.String(), "the disk is on fire") {
		t.Errorf("it answers %s", w.Body)
	}
}

// failing is a store that cannot look into a session.
type failing struct{ *fake.Store }

func (failing) GetSnapshotIn(context.Context, string, string) (*model.Snapshot[json.RawMessage], error) {
	return nil, errors.New("the disk is on fire")
}

// A state that is not JSON could add to the answer what it likes.
func TestHandler_sendsNoStateThatIsNotJSON(t *testing.T) {
	s := forged{story(t)}
	h := newHandler(t, s)
	w := answer(h, request("POST", wire.RunPath, call(wire.GetSnapshot, `{"snapshotId":"x","sessionId":"chat"}`)))
	if !strings.Contains(w.Body.String(), `"code":13`) || strings.Contains(w.Body.String(), "forged") {
		t.Errorf("%s", w.Body)
	}
	w = answer(h, request("POST", wire.RunPath, call(wire.GetSession, `{"sessionId":"chat"}`)))
	if !strings.Contains(w.Body.String(), `"code":13`) || strings.Contains(w.Body.String(), "forged") {
		t.Errorf("%s", w.Body)
	}
}

// A store that cannot tell what is new does not offer to.
func TestHandler_offersWhatAStoreCan(t *testing.T) {
	h := newHandler(t, plain{story(t)})
	if w := answer(h, request("GET", wire.ActionsPath, "")); strings.Contains(w.Body.String(), wire.GetGrowth) || !strings.Contains(w.Body.String(), wire.ListSessions) {
		t.Errorf("it offers %s", w.Body)
	}
	for _, action := range []string{wire.GetCursor, wire.GetGrowth} {
		if w := answer(h, request("POST", wire.RunPath, call(action, `{"sessionId":"chat"}`))); !strings.Contains(w.Body.String(), "not found") {
			t.Errorf("%s is answered %s", action, w.Body)
		}
	}
}

// A cursor of another process, whose sessions are like ours, is none of here.
func TestHandler_tellsItsCursorsFromThoseOfAnother(t *testing.T) {
	ask := func(h http.Handler, action, input string) string {
		return answer(h, request("POST", wire.RunPath, call(action, input))).Body.String()
	}
	before, after := newHandler(t, story(t)), newHandler(t, story(t))
	var got struct{ Result wire.Cursor }
	if err := json.Unmarshal([]byte(ask(before, wire.GetCursor, `{"sessionId":"chat"}`)), &got); err != nil {
		t.Fatal(err)
	}
	since := fmt.Sprintf(`{"sessionId":"chat","visit":%d,"rewrites":%d}`, got.Result.Visit, got.Result.Rewrites)
	if text := ask(before, wire.GetGrowth, since); strings.Contains(text, "rewritten") || !strings.Contains(text, `"cursor"`) {
		t.Errorf("nothing is new, and it answers %s", text)
	}
	if text := ask(after, wire.GetGrowth, since); !strings.Contains(text, `"rewritten":true`) {
		t.Errorf("the process is another, and it answers %s", text)
	}
	for _, end := range []string{"9223372036854775807", "-9223372036854775808"} {
		if text := ask(before, wire.GetGrowth, `{"sessionId":"chat","visit":`+end+`,"rewrites":`+end+`}`); !strings.Contains(text, `"rewritten":true`) {
			t.Errorf("a cursor at %s: %s", end, text)
		}
	}
}

// plain is a store with what can be served, and nothing else.
type plain struct{ serve.Store }

func (plain) Features() store.Features { return store.Features{} }

// forged is a store whose states are not JSON.
type forged struct{ *fake.Store }

func (s forged) Features() store.Features {
	f := s.Store.Features()
	f.Record = s.Get
	return f
}

const notJSON = `1,"forged":true`

func (forged) GetSnapshotIn(context.Context, string, string) (*model.Snapshot[json.RawMessage], error) {
	return &model.Snapshot[json.RawMessage]{ID: "x", SessionID: "chat", State: json.RawMessage(notJSON)}, nil
}

func (forged) Get(context.Context, string) (*model.Data[json.RawMessage], error) {
	return &model.Data[json.RawMessage]{ID: "chat", State: json.RawMessage(notJSON)}, nil
}

// Whatever is sent, the answer is one JSON document with a result or an error.
func FuzzHandler(f *testing.F) {
	for _, body := range []string{
		call(wire.ListSessions, `{}`), call(wire.ListSnapshots, `{"sessionId":"chat","metadataOnly":true}`),
		call(wire.GetSnapshot, `{"snapshotId":"nope","visit":-1}`), call(wire.GetSession, `{"sessionId":"chat"}`),
		`{"key":"/session-store/barista/getSnapshot/x","context":[]}`, `{}`, ``, "\xff",
	} {
		f.Add(body)
	}
	h := newHandler(f, story(f))
	f.Fuzz(func(t *testing.T, body string) {
		w := answer(h, request("POST", wire.RunPath, body))
		if w.Code != 200 && w.Code != 413 {
			t.Fatalf("status %d", w.Code)
		}
		if w.Code == 200 {
			if got := keys(t, w.Body.Bytes()); !slices.Equal(got, []string{"error"}) && !slices.Equal(got, []string{"result", "telemetry"}) {
				t.Errorf("%q is answered by %v", body, got)
			}
		}
	})
}
