package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/model/wire"
	"hindcast/store/storetest/fake"
)

// short is a timeout for those who are to run into it, long one for those who are not: a
// busy machine may leave a client waiting for its turn.
const short, long = 50 * time.Millisecond, 2 * time.Second

// impatient serves a session of one large state with timeouts. ended
// gets what became of each request when its handler returns.
func impatient(t *testing.T, state string, timeout time.Duration) (address string, ended <-chan any) {
	t.Helper()
	s := fake.New()
	id := model.SnapshotID([]byte(state))
	if err := s.SaveSnapshot(t.Context(), &model.Snapshot[json.RawMessage]{ID: id, SessionID: "s", State: json.RawMessage(state)}); err != nil {
		t.Fatal(err)
	}
	h, err := New([]Agent{{Name: "a", Store: s}})
	if err != nil {
		t.Fatal(err)
	}
	h.readTimeout, h.writeTimeout = timeout, timeout
	over := make(chan any, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			cut := recover()
			over <- cut
			if cut != nil {
				panic(cut)
			}
		}()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), over
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func post(t *testing.T, c net.Conn, body string, length int) {
	t.Helper()
	_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", wire.RunPath, length, body)
	if err != nil {
		t.Fatal(err)
	}
}

// want is a client that asks for a state of that size.
func want(t *testing.T, size int, timeout time.Duration) (client net.Conn, ended <-chan any) {
	t.Helper()
	state := `"` + strings.Repeat("x", size) + `"`
	address, ended := impatient(t, state, timeout)
	c := dial(t, address)
	body := `{"key":"/session-store/a/getSnapshot","input":{"snapshotId":"` + model.SnapshotID([]byte(state)) + `"}}`
	post(t, c, body, len(body))
	return c, ended
}

// A client that sends half a request is let go.
func TestHandler_doesNotWaitForARequestForever(t *testing.T) {
	address, ended := impatient(t, `1`, short)
	c := dial(t, address)
	post(t, c, `{"key":`, 100)
	<-ended
	if text, _ := io.ReadAll(c); !strings.HasPrefix(string(text), "HTTP/1.1 400 ") {
		t.Errorf("it is answered %.80q", text)
	}
}

// A client that asks and does not read is let go, too.
func TestHandler_doesNotWaitForAReaderForever(t *testing.T) {
	_, ended := want(t, 24<<20, short)
	if cut := <-ended; cut != http.ErrAbortHandler {
		t.Errorf("the request ended with %v, although nobody read the answer", cut)
	}
}

// One that takes its time and reads is served, over several timeouts.
func TestHandler_waitsForASlowReader(t *testing.T) {
	t.Parallel()
	const size = 24 << 20
	c, ended := want(t, size, long)
	start, buffer, total := time.Now(), make([]byte, 1<<20), 0
	tick := time.NewTicker(long / 10)
	defer tick.Stop()
	for total < size {
		n, err := c.Read(buffer)
		if total += n; err != nil {
			t.Fatalf("after %d bytes: %v", total, err)
		}
		<-tick.C
	}
	if cut := <-ended; cut != nil {
		t.Errorf("the request ended with %v", cut)
	}
	if took := time.Since(start); took < 2*long {
		t.Skipf("%v is not slow", took)
	}
}

// Once a request is received whole its action has the time that it needs, and
// so has whatever else is asked on the connection.
func TestHandler_leavesNoDeadlineBehind(t *testing.T) {
	t.Parallel()
	s := slow{fake.New()}
	h, err := New([]Agent{{Name: "a", Store: s}})
	if err != nil {
		t.Fatal(err)
	}
	h.readTimeout, h.writeTimeout = deadlines, deadlines
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.HandleFunc("/other", func(w http.ResponseWriter, r *http.Request) {
		if err := wait(r.Context()); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, strings.Repeat("x", 1<<20))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	for range 2 {
		for _, path := range []string{wire.RunPath, "/other"} {
			answer, err := server.Client().Post(server.URL+path, "application/json", strings.NewReader(`{"key":"/session-store/a/listSessions"}`))
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err != nil || answer.StatusCode != 200 || strings.Contains(string(text), "error") {
				t.Errorf("%s is answered %d %.200s, %v", path, answer.StatusCode, text, err)
			}
		}
	}
}

// deadlines are those of a request and its answer where an action takes longer than them.
const deadlines = 250 * time.Millisecond

// slow is a store that takes longer than the deadlines.
type slow struct{ *fake.Store }

func (s slow) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		if err := wait(ctx); err != nil {
			yield(model.SessionInfo{}, err)
		}
	}
}

// wait lets the deadlines pass.
func wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(2 * deadlines):
		return nil
	}
}
