package runtimes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model/wire"
)

// serve answers as a runtime of Genkit Go 1.13.1 does, with the lines given.
func serve(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, body []byte)) *Runtime {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		answer(w, r, body)
	}))
	t.Cleanup(server.Close)
	r, err := New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// lines streams them, each sent off before the next.
func lines(list ...string) func(http.ResponseWriter, *http.Request, []byte) {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Content-Type", "text/plain")
		for _, line := range list {
			fmt.Fprint(w, line)
			w.(http.Flusher).Flush()
		}
	}
}

const (
	chunk  = `{"modelChunk":{"content":[{"text":"echo: "}],"index":0,"role":"model"}}` + "\n"
	ended  = `{"turnEnd":{"finishReason":"stop","snapshotId":"new"}}` + "\n"
	result = `{"result":{"finishReason":"stop","message":{"content":[{"text":"echo"}],"role":"model"},"sessionId":"s","snapshotId":"new"},"telemetry":{"traceId":"ed"}}`
)

func TestTake_asksAsGenkitIsAsked(t *testing.T) {
	r := serve(t, func(w http.ResponseWriter, r *http.Request, body []byte) {
		const want = `{"key":"/agent/barista","init":{"snapshotId":"id"},"input":{"message":{"role":"user","content":[{"text":"a \"quote\""}]}}}`
		if r.Method != "POST" || r.URL.String() != "/api/runAction?stream=true" || string(body) != want || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("it asks %s %s %s", r.Method, r.URL, body)
		}
		lines(chunk, ended, result)(w, r, body)
	})
	out, err := r.Take(t.Context(), Turn{"barista", "id", `a "quote"`})
	if err != nil || out.Snapshot != "new" || out.Session != "s" || out.FinishReason != "stop" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestTake_failures(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request, []byte)
		want   string
		is     error
	}{
		"an error with the status 200": {lines(chunk, `{"error":{"code":9,"message":"snapshot is pending","details":{"stack":""}}}`), "snapshot is pending", nil},
		"a turn that failed":           {lines(chunk, `{"result":{"finishReason":"failed","snapshotId":"new","error":{"message":"quota\u001b[2J"}}}`), `quota^[[2J`, nil},
		"a turn that was aborted":      {lines(`{"result":{"finishReason":"aborted"}}`), "ended as aborted", nil},
		"no result":                    {lines(chunk, ended), "look at the session", ErrCutOff},
		"half a result":                {lines(chunk, result[:50]), "look at the session", ErrCutOff},
		"nothing":                      {lines(), "", ErrCutOff},
		"another server":               {lines("<html>\n</html>\n"), "is not the JSON of a reflection API", nil},
		"an action that is not there": {func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			http.Error(w, "no action", http.StatusNotFound)
		}, "404 Not Found: no action", nil},
		"an error with a status of HTTP": {func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.WriteHeader(500)
			fmt.Fprint(w, `{"error":{"code":13,"message":"broken"}}`)
		}, "broken", nil},
		"a redirect": {func(w http.ResponseWriter, r *http.Request, _ []byte) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		}, "302 Found", nil},
		"a connection that breaks": {func(w http.ResponseWriter, r *http.Request, b []byte) {
			lines(chunk)(w, r, b)
			panic(http.ErrAbortHandler)
		}, "", ErrCutOff},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := serve(t, test.answer).Take(t.Context(), Turn{"a", "id", "x"})
			if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestTake_givesTheRowOfAFailedTurn, which Genkit keeps since 1.13.
func TestTake_givesTheRowOfAFailedTurn(t *testing.T) {
	out, err := serve(t, lines(`{"result":{"finishReason":"failed","snapshotId":"new","error":{"message":"quota"}}}`)).Take(t.Context(), Turn{})
	if err == nil || out.Snapshot != "new" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestTake_isBounded(t *testing.T) {
	r := serve(t, func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		long := []byte(strings.Repeat("x", 1<<20))
		for range maxLine>>20 + 2 {
			if _, err := w.Write(long); err != nil {
				return
			}
		}
	})
	if _, err := r.Take(t.Context(), Turn{}); !errors.Is(err, errLong) {
		t.Errorf("the error is %v", err)
	}
}

// TestTake_endsWithItsContext: the process sees that nobody waits any more.
func TestTake_endsWithItsContext(t *testing.T) {
	begun, gone := make(chan bool), make(chan bool)
	r := serve(t, func(w http.ResponseWriter, r *http.Request, b []byte) {
		lines(chunk)(w, r, b)
		close(begun)
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("somebody pressed a key")
	go func() {
		<-begun
		cancel(why)
	}()
	if _, err := r.Take(ctx, Turn{}); !errors.Is(err, why) {
		t.Errorf("the error is %v", err)
	}
	<-gone
}

func TestAgents(t *testing.T) {
	r := serve(t, func(w http.ResponseWriter, r *http.Request, _ []byte) {
		if r.URL.Path != wire.ActionsPath {
			t.Errorf("it asks %s", r.URL)
		}
		answer := map[string]any{}
		for _, key := range []string{"/agent/b", "/agent/a", "/agent-snapshot/a", "/model/m", "/tool.v2/x"} {
			answer[key] = map[string]any{"key": key}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	})
	got, err := r.Agents(t.Context())
	if err != nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestNew_thisMachineOnly(t *testing.T) {
	for _, address := range []string{"http://127.0.0.1:3100", "http://localhost:3100", "http://[::1]:3100"} {
		if _, err := New(address); err != nil {
			t.Error(err)
		}
	}
	for _, address := range []string{"", "http://192.0.2.1:3100", "https://127.0.0.1", "http://example.com", "http://127.0.0.1@example.com", "http://a:b@127.0.0.1", "http://127.0.0.1/?x=1", "file:///etc/passwd", "http://127.0.0.1.example.com"} {
		if _, err := New(address); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, ".genkit", "snapshots", "barista", "global")
	runtimes := filepath.Join(dir, ".genkit", "runtimes")
	for _, folder := range []string{deep, runtimes} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{
		"9022-3100-2026-11-21T01_18_35Z.json": `{"id":"9022-3100","pid":9022,"reflectionServerUrl":"http://127.0.0.1:3100","timestamp":"2026-11-21T01_18_35Z","genkitVersion":"go/1.13.1","reflectionApiSpecVersion":1}`,
		"6008-3101-1795223757651.json":        `{"id":"6008","pid":6008,"name":"x","reflectionServerUrl":"http://localhost:3101","timestamp":"2026-11-21T01:18:35Z"}`,
		"again.json":                          `{"reflectionServerUrl":"http://127.0.0.1:3100"}`,
		"remote.json":                         `{"reflectionServerUrl":"http://192.0.2.1:3100"}`,
		"broken.json":                         `{"reflectionServerUrl":`,
		"other.txt":                           `{"reflectionServerUrl":"http://127.0.0.1:3199"}`,
	} {
		if err := os.WriteFile(filepath.Join(runtimes, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(runtimes, "other.txt"), filepath.Join(runtimes, "link.json")); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{dir, deep} {
		var got []string
		for _, r := range Find(from) {
			got = append(got, r.Address())
		}
		if !slices.Equal(got, []string{"http://localhost:3101", "http://127.0.0.1:3100"}) {
			t.Errorf("from %s: %v", from, got)
		}
	}
	if got := Find(t.TempDir()); len(got) != 0 {
		t.Errorf("elsewhere there are %v", got)
	}
}

// A process that was killed leaves its file behind, and its port to the next one,
// which must not run what is meant for the other.
func TestFind_thePortIsAnothers(t *testing.T) {
	ran := false
	live := serve(t, func(w http.ResponseWriter, r *http.Request, _ []byte) {
		switch id := r.URL.Query().Get("id"); {
		case r.URL.Path == wire.HealthPath && id != "7-3100": // as Genkit Go and JavaScript answer
			http.Error(w, "Invalid runtime ID", http.StatusServiceUnavailable)
		case r.URL.Path == wire.HealthPath:
		case r.URL.Path == wire.ActionsPath:
			fmt.Fprint(w, `{"/agent/a": {}}`)
		default:
			ran = true
			fmt.Fprint(w, result)
		}
	})
	dir := t.TempDir()
	folder := filepath.Join(dir, ".genkit", "runtimes")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, id := range map[string]string{"1.json": "5-3100", "2.json": "7-3100", "3.json": "7-3100"} {
		if err := os.WriteFile(filepath.Join(folder, name), fmt.Appendf(nil, `{"id":%q,"reflectionServerUrl":%q}`, id, live.Address()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list := Find(dir)
	if len(list) != 2 {
		t.Fatalf("there are %d", len(list))
	}
	if _, err := list[0].Agents(t.Context()); !errors.Is(err, ErrAnother) {
		t.Errorf("the agents of the one that ended: %v", err)
	}
	if _, err := list[0].Take(t.Context(), Turn{"a", "id", "x"}); !errors.Is(err, ErrAnother) || ran {
		t.Errorf("it runs (%v): %v", ran, err)
	}
	if names, err := list[1].Agents(t.Context()); err != nil || len(names) != 1 {
		t.Errorf("the agents of the one that lives: %v, %v", names, err)
	}
	if _, err := list[1].Take(t.Context(), Turn{"a", "id", "x"}); err != nil || !ran {
		t.Error(err)
	}
}
