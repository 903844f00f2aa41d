package serve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/agent/serve"
	"hindcast/model"
	"hindcast/model/wire"
	"hindcast/store/native/sqlite"
	"hindcast/store/storetest/fake"
)

func TestListen_isLoopbackOnly(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", "[::]:0", "192.0.2.1:0", "agents.example:0", "127.0.0.1.example:0"} {
		if l, err := serve.Listen(address); !errors.Is(err, serve.ErrNotLoopback) {
			t.Errorf("%s: %v, %v", address, l, err)
		}
	}
	for _, address := range []string{"127.0.0.1", "127.0.0.1:nonsense", "127.0.0.1:99999"} {
		if l, err := serve.Listen(address); err == nil {
			t.Errorf("%s: %v", address, l.Addr())
		}
	}
	for _, address := range []string{":0", "127.0.0.1:0", "localhost:0", "127.0.0.2:0"} {
		l, err := serve.Listen(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if at := l.Addr().(*net.TCPAddr); !at.IP.IsLoopback() {
			t.Errorf("%s listens on %v", address, at)
		}
		l.Close()
	}
	l, err := serve.Listen("0.0.0.0:0", serve.AllowRemote())
	if err != nil {
		t.Fatal(err)
	}
	if at := l.Addr().(*net.TCPAddr); at.IP.IsLoopback() {
		t.Errorf("where other machines are allowed it listens on %v", at)
	}
	l.Close()
}

// Two processes side by side get two ports, both where tools look.
func TestListen_findsAFreePort(t *testing.T) {
	ports := map[int]bool{}
	for range 3 {
		l, err := serve.Listen("")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		at := l.Addr().(*net.TCPAddr)
		if at.Port < 3100 || at.Port > 3199 || ports[at.Port] || at.IP.String() != "127.0.0.1" {
			t.Errorf("it listens on %v", at)
		}
		ports[at.Port] = true
		if _, err := serve.Listen(at.String()); err == nil || !strings.Contains(err.Error(), at.String()) {
			t.Errorf("a port that is taken: %v", err)
		}
	}
}

// Serve ends with its context, after the requests that are running, and their
// context ends with it.
func TestServe_endsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked, ended := make(chan struct{}), make(chan struct{})
	s := stubborn{Store: story(t), state: func(ctx context.Context, _ model.Ref) ([]byte, error) {
		close(asked)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}}
	l, err := serve.Listen(":0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- serve.Serve(ctx, l, newHandler(t, s)) }()
	url := "http://" + l.Addr().String()
	w, err := http.Get(url + wire.HealthPath)
	if err != nil || w.StatusCode != 200 {
		t.Fatalf("%v, %v", w, err)
	}
	w.Body.Close()
	go func() {
		<-asked
		cancel()
	}()
	body := call(wire.GetSnapshot, `{"snapshotId":"`+id(`{"said":"b"}`)+`","sessionId":"chat","visit":2}`)
	if w, err := http.Post(url+wire.RunPath, "application/json", strings.NewReader(body)); err == nil {
		text, _ := io.ReadAll(w.Body)
		w.Body.Close()
		if !strings.Contains(string(text), context.Canceled.Error()) {
			t.Errorf("the request that was running is answered %s", text)
		}
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	select {
	case <-ended:
	default:
		t.Error("Serve returned while a request was at the store")
	}
	if _, err := http.Get(url + wire.HealthPath); err == nil {
		t.Error("it still listens")
	}
}

func TestServe_saysWhyItCannot(t *testing.T) {
	l, err := serve.Listen(":0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := serve.Serve(t.Context(), l, newHandler(t, fake.New())); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a listener that is closed: %v", err)
	}
}

// A program shows the sessions of its agent.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir, _ := os.MkdirTemp("", "hindcast-example-")
	defer os.RemoveAll(dir)
	sessions, _ := sqlite.OpenOrCreate(ctx, filepath.Join(dir, "chat.db"))
	defer sessions.Close()

	handler, _ := serve.New([]serve.Agent{{Name: "chat", Store: sessions}})
	listener, _ := serve.Listen("") // hindcast http://127.0.0.1:3100 opens it
	go serve.Serve(ctx, listener, handler)

	answer, err := http.Get("http://" + listener.Addr().String() + "/api/__health")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	fmt.Println(answer.Status)
	// Output: 200 OK
}
