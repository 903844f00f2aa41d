package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hindcast/agent/serve"
	"hindcast/model"
	"hindcast/model/wire"
	"hindcast/model/wire/wiretest"
	"hindcast/store"
	"hindcast/store/kinds/remote"
	"hindcast/store/sample"
	"hindcast/store/storetest/fake"
)

// script is a server of which each path says what it is told to; it is asked
// for actions first, and has those of one agent if it is not told otherwise.
func script(t *testing.T, run http.HandlerFunc, actions ...string) string {
	t.Helper()
	list, err := json.Marshal(map[string]wire.Descriptor{})
	if err != nil {
		t.Fatal(err)
	}
	if len(actions) == 0 {
		all := map[string]wire.Descriptor{}
		for _, action := range wire.Names() {
			d := wire.Describe("chat", action)
			all[d.Key] = d
		}
		if list, err = json.Marshal(all); err != nil {
			t.Fatal(err)
		}
	} else {
		list = []byte(actions[0])
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+wire.ActionsPath, func(w http.ResponseWriter, _ *http.Request) { w.Write(list) })
	if run != nil {
		mux.HandleFunc("POST "+wire.RunPath, run)
	}
	return serveHTTP(t, mux)
}

// say returns an answer of that status, type and text.
func say(status int, kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		io.WriteString(w, text)
	}
}

// Whatever a server does instead of answering is told in words, for each thing
// that can be asked.
func TestStore_saysWhatIsWrongWithAnAnswer(t *testing.T) {
	real := wiretest.Genkit()
	for _, c := range []struct {
		name string
		run  http.HandlerFunc
		want error
		word string
	}{
		{"an error inside 200", say(200, "application/json", `{"error":{"code":13,"message":"the disk is on fire","details":{"stack":"secret"}}}`), nil, "the disk is on fire (code 13)"},
		{"an error that Genkit sends", say(200, "text/plain", real["store-fails/answer"]), nil, "contains path separators (code 13)"},
		{"an error by itself", say(400, "text/plain; charset=utf-8", real["values-without-type/answer"]), nil, "400 Bad Request: query parameter \"type\" is required (code 3)"},
		{"an error that steers a terminal", say(200, "", `{"error":{"code":2,"message":"\u001b[2J\nhindcast: all is well"}}`), nil, "^[[2J↵hindcast: all is well (code 2)"},
		{"a page", say(404, "text/html; charset=utf-8", "<html><body>Cannot POST</body></html>"), nil, `404 Not Found ("text/html"), which is no answer of a reflection API`},
		{"a page with 200", say(200, "text/html", "<html>"), nil, `("text/html") is not the JSON`},
		{"text", say(404, "text/plain; charset=utf-8", "getSnapshot: \x1b[31mnot found\n"), nil, "404 Not Found: getSnapshot: ^[[31mnot found"},
		{"text with 200", say(200, "text/plain", "it works"), nil, "is not the JSON"},
		{"nothing", say(204, "", ""), nil, "204 No Content"},
		{"nothing with 200", say(200, "application/json", ""), nil, "cut off"},
		{"another document", say(200, "application/json", `[1,2]`), nil, "object was expected"},
		{"no result", say(200, "application/json", `{"telemetry":{}}`), wire.ErrNoAnswer, ""},
		{"a result of another shape", say(200, "application/json", `{"result":"text"}`), nil, ""},
		{"a result of wrong types", say(200, "application/json", `{"result":[{"id":7}]}`), nil, ""},
		{"two answers", say(200, "application/json", `{"result":null}{"result":null}`), nil, "more after it"},
		{"an answer without an end", say(200, "application/json", `{"telemetry":{"traceId":"a","more":[`), io.ErrUnexpectedEOF, "cut off"},
		{"a connection that ends", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"telemetry":`)
		}, io.ErrUnexpectedEOF, "cut off"},
		{"no answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil, "no answer"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://evil.example/", http.StatusTemporaryRedirect)
		}, nil, "307 Temporary Redirect and names \"https://evil.example/\", which is not followed"},
		{"a refusal", say(403, "text/plain", "the host is not loopback"), nil, "403 Forbidden: the host is not loopback"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, script(t, c.run))
			for what, err := range ask(t.Context(), s, "s", "x") {
				if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.word) || strings.ContainsAny(err.Error(), "\x1b") {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

// questions are everything that can be asked; each gives the error.
func questions(ctx context.Context, s *remote.Store, session, id string) map[string]func() error {
	return map[string]func() error{
		"Sessions": func() (last error) {
			for _, last = range s.Sessions(ctx) {
			}
			return last
		},
		"Headers": func() (last error) {
			for _, last = range s.Headers(ctx, session) {
			}
			return last
		},
		"State":  func() error { _, err := s.State(ctx, model.Ref{Session: session, ID: id}); return err },
		"Get":    func() error { _, err := s.Get(ctx, session); return err },
		"Cursor": func() error { _, err := s.Cursor(ctx, session); return err },
		"Growth": func() error { _, err := s.Growth(ctx, session, store.Cursor{}); return err },
	}
}

// ask asks everything, and returns the errors.
func ask(ctx context.Context, s *remote.Store, session, id string) map[string]error {
	errs := map[string]error{}
	for what, question := range questions(ctx, s, session, id) {
		errs[what] = question()
	}
	return errs
}

// An answer that never ends is given up; what is not an answer is not read on.
func TestStore_boundsWhatItTakes(t *testing.T) {
	endless := func(start, more string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for _, err := io.WriteString(w, start); err == nil; _, err = io.WriteString(w, more) {
			}
		}
	}
	for _, c := range []struct{ name, start, more string }{
		{"State", `{"result":{"id":"x","state":"`, strings.Repeat("x", 1<<10)},
		{"Get", `{"result":{"id":"x","state":"`, strings.Repeat("x", 1<<10)},
		{"Headers", `{"result":[{"id":"x"}`, strings.Repeat(`,{"id":"x"}`, 100)},
		{"Headers", `{"result":[{"id":"x","title":"`, strings.Repeat("x", 1<<10)},
		{"Sessions", `{"result":[{"id":"x"}`, strings.Repeat(`,{"id":"x"}`, 100)},
		{"Sessions", `{"result":`, strings.Repeat(" ", 1<<10)},
		{"Sessions", `{"a":1`, strings.Repeat(`,"b":1`, 100)},
		{"Sessions", `{"error":{"code":5,"message":"`, strings.Repeat("x", 1<<10)},
		{"Sessions", `{"result":[]}`, strings.Repeat("\n", 1<<10)},
	} {
		s := open(t, script(t, endless(c.start, c.more)))
		s.SetLimit(1 << 18)
		if err := questions(t.Context(), s, "s", "x")[c.name](); !errors.Is(err, remote.ErrTooLong) {
			t.Errorf("%s of %s…: %v", c.name, c.start, err)
		}
	}
	// Exactly as long as is allowed is not too long.
	text := `{"result":[{"id":"a"}]}`
	s := open(t, script(t, say(200, "application/json", text)))
	for limit, want := range map[int64]error{int64(len(text)): nil, int64(len(text)) - 1: remote.ErrTooLong} {
		s.SetLimit(limit)
		if err := questions(t.Context(), s, "s", "a")["Sessions"](); !errors.Is(err, want) {
			t.Errorf("%d of %d bytes: %v", limit, len(text), err)
		}
	}
}

// Things that take next to nothing in an answer take more in memory, and count
// for that.
func TestStore_boundsHowManyItTakes(t *testing.T) {
	const limit = 1 << 18
	for name, around := range map[string]string{
		"Sessions": `{"result":[%s]}`,
		"Headers":  `{"result":[%s]}`,
		"Growth":   `{"result":{"headers":[%s]}}`,
	} {
		for n, want := range map[int]error{10: nil, limit / 100: remote.ErrTooLong} {
			text := fmt.Sprintf(around, strings.TrimSuffix(strings.Repeat(`{"id":"x"},`, n), ","))
			s := open(t, script(t, say(200, "application/json", text)))
			s.SetLimit(limit)
			if err := questions(t.Context(), s, "s", "x")[name](); !errors.Is(err, want) {
				t.Errorf("%s: %d in %d bytes: %v", name, n, len(text), err)
			}
		}
	}
}

// The agents are named by the server: neither do they steer a terminal, nor are
// there too many of them in an error.
func TestStore_namesFewAgents(t *testing.T) {
	list := map[string]wire.Descriptor{}
	for i := range 1000 {
		list[wire.Key(fmt.Sprintf("%03d\x1b[2J", i), wire.ListSnapshots)] = wire.Descriptor{}
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, script(t, nil, string(text)))
	for what, err := range ask(t.Context(), s, "s", "x") {
		want := model.ErrNoSession
		switch what {
		case "Get":
			continue // nobody has a record of it
		case "Sessions":
			want = remote.ErrNoList
		}
		if !errors.Is(err, want) || !strings.Contains(err.Error(), `"000\x1b[2J", "001`) || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 1000 {
			t.Errorf("%s: %d bytes, %.300q", what, len(err.Error()), err)
		}
	}
}

// A server that does not answer holds nobody longer than the context says.
func TestStore_endsWithItsContext(t *testing.T) {
	asked, over := make(chan struct{}, 8), make(chan struct{})
	defer close(over)
	s := open(t, script(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, `{"result":[`)
		http.NewResponseController(w).Flush()
		asked <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	for _, what := range []string{"Sessions", "Headers"} {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-asked
			cancel()
		}()
		if err := questions(ctx, s, "s", "x")[what](); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for what, err := range ask(ctx, s, "s", "x") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a context that has ended: %v", what, err)
		}
	}
	if _, err := remote.Open(ctx, s.Address()); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v", err)
	}
}

func TestOpen_addresses(t *testing.T) {
	original := fake.New()
	fill(t, original, sample.Rows())
	url := start(t, serve.Agent{Name: "chat", Store: original})
	_, port, err := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{url, url + "/", "http://localhost:" + port, "HTTP://LOCALHOST:" + port} {
		s, err := remote.Open(t.Context(), address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if s.Address() != address || s.Kind() != "reflection" {
			t.Errorf("%s is %s:%s", address, s.Kind(), s.Address())
		}
		s.Close()
	}
	for _, c := range []struct {
		address string
		want    error
		word    string
	}{
		{"http://agents.example:3100", remote.ErrRemote, "this machine only"},
		{"http://192.0.2.7:3100", remote.ErrRemote, "tunnel"},
		{"http://0.0.0.0:" + port, remote.ErrRemote, ""},
		{"http://127.1:" + port, remote.ErrRemote, ""},
		{"http://localhost.example:" + port, remote.ErrRemote, ""},
		{"http://localhost@192.0.2.7", nil, "nothing else"},
		{"http://user:secret@localhost:" + port, nil, "nothing else"},
		{url + "?a=b", nil, "nothing else"},
		{url + "#a", nil, "nothing else"},
		{url + "/elsewhere", nil, "404 Not Found"},
		{"http://", nil, "no host"},
		{"localhost:" + port, nil, "http://"},
		{"ftp://localhost:" + port, nil, "http://"},
		{"http://localhost:nonsense", nil, "no URL"},
		{"http://127.0.0.1:1", nil, "nothing listens there"},
		{"https://127.0.0.1:" + port, nil, "no answer"},
	} {
		s, err := remote.Open(t.Context(), c.address)
		if err == nil {
			t.Errorf("%s opens as %v", c.address, s.Address())
			continue
		}
		if c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.word) || !strings.HasPrefix(err.Error(), fmt.Sprintf("reflection: open %q: ", c.address)) {
			t.Errorf("%s: %v", c.address, err)
		}
	}
}

// https goes wherever the address says, if the certificate is good.
func TestOpen_checksCertificates(t *testing.T) {
	h, err := serve.New([]serve.Agent{{Name: "chat", Store: fake.New()}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	if _, err := remote.Open(t.Context(), server.URL); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody signed: %v", err)
	}
	s, err := remote.OpenWith(t.Context(), server.URL, server.Client().Transport)
	if err != nil {
		t.Fatal(err)
	}
	for info, err := range s.Sessions(t.Context()) {
		t.Errorf("%v, %v", info, err)
	}
}

// A Genkit runtime is recognised, and told from a server of something else.
func TestOpen_tellsARuntimeWithoutStores(t *testing.T) {
	actions := wiretest.Genkit()["actions.json"]
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+wire.ActionsPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Genkit-Version", "go/1.13.1")
		io.WriteString(w, actions)
	})
	_, err := remote.Open(t.Context(), serveHTTP(t, mux))
	var missing *remote.NoStoreError
	if !errors.As(err, &missing) || missing.Genkit != "go/1.13.1" || missing.Actions != 8 || !slices.Equal(missing.Agents, []string{"barista", "clientAgent"}) {
		t.Fatalf("%+v, %v", missing, err)
	}
	for _, word := range []string{"Genkit runtime", `"barista"`, `"clientAgent"`, "snapshot files", ".genkit/snapshots"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not say %s: %v", word, err)
		}
	}
	for _, c := range []struct {
		name, actions, word string
	}{
		{"no actions", `{}`, "0 actions, and none of them is on a session store"},
		{"others", `{"/model/a":{},"/tool/b":{"inputSchema":7}}`, "2 actions, and none"},
		{"agents alone", `{"/agent/a":{}}`, `Genkit runtime with the agents "a"; it`},
		{"an agent with a slash", `{"/session-store/a/b/getSnapshot":{}}`, "1 actions, and none"},
		{"not actions", `[1]`, "cannot unmarshal"},
		{"too many", `{"a":{"description":"` + strings.Repeat("x", 17<<20) + `"}}`, "too long"},
		{"a page", `<html>`, "is not the JSON"},
	} {
		_, err := remote.Open(t.Context(), script(t, nil, c.actions))
		if err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// Names are not believed either.
	if err := (&remote.NoStoreError{Genkit: "\x1b", Agents: slices.Repeat([]string{"\x1b[31m"}, 50)}); strings.Contains(err.Error(), "\x1b") || !strings.Contains(err.Error(), "and 40 more") {
		t.Errorf("%v", err)
	}
}

// seed is a server that has what the seed has and not a name more: it refuses
// anything else, gives no visits and no head, and answers null where the seed's
// store gives nil.
func seed(t *testing.T, original *fake.Store, describe bool) string {
	t.Helper()
	actions := map[string]json.RawMessage{}
	for action, takes := range map[string]string{
		wire.GetSnapshot:   `{"snapshotId":{},"sessionId":{}}`,
		wire.ListSnapshots: `{"sessionId":{},"includeOrphaned":{}}`,
		wire.GetSession:    `{"sessionId":{}}`,
	} {
		actions[wire.Key("chat", action)] = json.RawMessage(`{"type":"session-store"}`)
		if describe {
			actions[wire.Key("chat", action)] = json.RawMessage(`{"type":"session-store","inputSchema":{"properties":` + takes + `}}`)
		}
	}
	list, err := json.Marshal(actions)
	if err != nil {
		t.Fatal(err)
	}
	return script(t, func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			Key   string
			Input struct {
				SnapshotID      string `json:"snapshotId"`
				SessionID       string `json:"sessionId"`
				IncludeOrphaned bool   `json:"includeOrphaned"`
			}
		}
		dec := json.NewDecoder(r.Body)
		dec.DisallowUnknownFields()
		if err := dec.Decode(&call); err != nil {
			t.Errorf("the seed does not know what is asked: %v", err)
			return
		}
		_, action, _ := wire.ParseKey(call.Key)
		var result any
		switch action {
		case wire.GetSnapshot:
			result, err = original.GetSnapshotIn(r.Context(), call.Input.SessionID, call.Input.SnapshotID)
		case wire.ListSnapshots:
			result, err = original.ListSnapshots(r.Context(), call.Input.SessionID, call.Input.IncludeOrphaned)
		case wire.GetSession:
			result, err = original.Get(r.Context(), call.Input.SessionID)
		}
		if err == nil {
			err = json.NewEncoder(w).Encode(map[string]any{"result": result, "telemetry": map[string]string{"traceId": "t"}})
		}
		if err != nil {
			t.Error(err)
		}
	}, string(list))
}

// A server of the seed's three actions alone opens a session when it is named.
func TestStore_readsAServerOfTheSeed(t *testing.T) {
	original := fake.New()
	fill(t, original, sample.Rows())
	for name, describe := range map[string]bool{"with schemas": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			s := open(t, seed(t, original, describe))
			for _, err := range s.Sessions(t.Context()) {
				if !errors.Is(err, remote.ErrNoList) || !strings.Contains(err.Error(), "opens when it is named") {
					t.Errorf("the list of sessions: %v", err)
				}
			}
			if _, err := s.Watch(t.Context()); !errors.Is(err, remote.ErrNoList) {
				t.Errorf("watching: %v", err)
			}
			_, cursorErr := s.Cursor(t.Context(), sample.Trip)
			_, growthErr := s.Growth(t.Context(), sample.Trip, store.Cursor{})
			if !errors.Is(cursorErr, remote.ErrNoGrowth) || !errors.Is(growthErr, remote.ErrNoGrowth) {
				t.Errorf("what is new: %v, %v", cursorErr, growthErr)
			}
			want, err := original.ListSnapshots(t.Context(), sample.Trip, true)
			if err != nil {
				t.Fatal(err)
			}
			i, heads := 0, 0
			for h, err := range s.Headers(t.Context(), sample.Trip) {
				if err != nil {
					t.Fatal(err)
				}
				if h.ID != want[i].ID || h.Orphaned != want[i].Orphaned || h.Index != want[i].Index || h.Size != int64(len(want[i].State)) {
					t.Errorf("snapshot %d is %+v", i, h)
				}
				state, err := s.State(t.Context(), h.Ref())
				if err != nil || model.SnapshotID(state) != h.ID {
					t.Errorf("the state of #%d: %v", h.Index, err)
				}
				if h.Head {
					heads++
					if h.Orphaned || h.Index != 13 {
						t.Errorf("the head is %+v", h)
					}
				}
				i++
			}
			if i != len(want) || heads != 1 {
				t.Errorf("%d of %d snapshots, %d heads", i, len(want), heads)
			}
			for _, err := range s.Headers(t.Context(), "none") {
				if !errors.Is(err, model.ErrNoSession) {
					t.Errorf("an unknown session: %v", err)
				}
			}
			if _, err := s.State(t.Context(), model.Ref{Session: sample.Trip, ID: "none"}); !errors.Is(err, model.ErrNoSnapshot) {
				t.Errorf("an unknown snapshot: %v", err)
			}
			if data, err := s.Get(t.Context(), "none"); data != nil || err != nil {
				t.Errorf("an unknown record: %v, %v", data, err)
			}
		})
	}
}

// A server that answers with something else than was asked is not believed.
func TestStore_isNotGivenAnotherSnapshot(t *testing.T) {
	for _, c := range []struct{ result, word string }{
		{`{"id":"y","state":1}`, `answers with snapshot "y"`},
		{`{"id":"x"}`, "without a state"},
		{`null`, "no such snapshot"},
	} {
		s := open(t, script(t, say(200, "application/json", `{"result":`+c.result+`}`)))
		if state, err := s.State(t.Context(), model.Ref{Session: "s", ID: "x"}); err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: %s, %v", c.result, state, err)
		}
	}
	s := open(t, script(t, say(200, "application/json", `{"result":[{"id":"a"},{"index":1}]}`)))
	for _, err := range s.Headers(t.Context(), "s") {
		if err == nil || !strings.Contains(err.Error(), "snapshot 2 has no id") {
			t.Errorf("a snapshot without an id: %v", err)
		}
	}
}

// Watch tells of what the agent saves, of nothing else, and ends with its
// context.
func TestStore_watches(t *testing.T) {
	original := fake.New()
	h, err := serve.New([]serve.Agent{{Name: "chat", Store: original}, {Name: "other", Store: fake.New()}})
	if err != nil {
		t.Fatal(err)
	}
	var down atomic.Bool
	polled := make(chan struct{}) // when somebody waits for a list of sessions
	s := open(t, serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == wire.RunPath {
			select {
			case polled <- struct{}{}:
			default:
			}
		}
		if down.Load() {
			panic(http.ErrAbortHandler)
		}
		h.ServeHTTP(w, r)
	})))
	s.SetInterval(1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changed, err := s.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	quiet := func(when string) {
		t.Helper()
		for range 10 { // two agents: five lists of all
			<-polled
		}
		select {
		case <-changed:
			t.Errorf("%s nothing changed", when)
		default:
		}
	}
	quiet("at first")
	save := func(state string) {
		t.Helper()
		err := original.SaveSnapshot(t.Context(), &model.Snapshot[json.RawMessage]{ID: model.SnapshotID([]byte(state)), SessionID: "s", State: json.RawMessage(state)})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, state := range []string{"1", "2"} {
		save(state)
		<-changed
		quiet("after a change")
	}
	save("2")
	quiet("when the same is saved again")
	down.Store(true)
	<-changed
	quiet("while the process is away")
	down.Store(false)
	<-changed
	quiet("when it is back")
	save("3")
	<-changed
	cancel()
	for range changed { // ends when it is closed
	}
}

// canned is a transport by which every request is answered by the same text.
type canned string

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	text := string(c)
	if r.Method == http.MethodGet {
		text = `{"/session-store/chat/listSessions":null,"/session-store/chat/getSession":null,"/session-store/chat/getSnapshot":null,` +
			`"/session-store/chat/getCursor":null,"/session-store/chat/getGrowth":null,` +
			`"/session-store/chat/listSnapshots":{"inputSchema":{"properties":{"metadataOnly":{}}}}}`
	}
	return &http.Response{StatusCode: 200, Status: "200 OK", Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// Whatever a process answers, what is made of it is of the session that was
// asked for, and an error steers no terminal.
func FuzzStore(f *testing.F) {
	for name, text := range wiretest.Genkit() {
		if strings.HasSuffix(name, "/answer") {
			f.Add(text)
		}
	}
	f.Add(`{"result":[{"id":"x","sessionId":"other","index":1,"orphaned":true,"reason":{"kind":"restore","at":"2026-01-02T03:04:05+05:30"},"state":1}]}`)
	f.Add(`{"result":{"id":"x","state": 1 ,"stateBase64":"IDEg","lastSnapshot":{"id":"x","state":{}}}}`)
	f.Add(`{"result":{"headers":[{"id":"x","visit":2}],"cursor":{"visit":2,"rewrites":1}}}`)
	f.Add("{\"error\":{\"code\":5,\"message\":\"\x1b[2J\"}}")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := remote.OpenWith(t.Context(), "http://localhost", canned(text))
		if err != nil {
			t.Fatal(err)
		}
		for what, err := range ask(t.Context(), s, "s", "x") {
			if err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("%s: %q", what, err)
			}
		}
		var headers []model.Header
		for h, err := range s.Headers(t.Context(), "s") {
			if err != nil {
				break
			}
			if headers = append(headers, h); h.SessionID != "s" || h.ID == "" {
				t.Errorf("%+v", h)
			}
		}
		model.NewTimeline(headers)
		if state, err := s.State(t.Context(), model.Ref{Session: "s", ID: "x"}); err == nil && !json.Valid(state) {
			t.Errorf("the state %q", state)
		}
	})
}

// An answer that goes on for ever a byte at a time is given up, though each byte
// comes in time.
func TestStore_boundsHowLongItWaits(t *testing.T) {
	s := open(t, script(t, func(w http.ResponseWriter, r *http.Request) {
		for _, err := io.WriteString(w, `{"result":`); err == nil; _, err = io.WriteString(w, " ") {
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(time.Millisecond):
			}
		}
	}))
	s.SetPatience(50 * time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for name, ask := range questions(ctx, s, "s", "x") {
		if err := ask(); !errors.Is(err, remote.ErrTooSlow) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
