package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"hindcast/model/wire"
)

// The ports in which tools look for a process: Genkit's.
const (
	firstPort = 3100
	lastPort  = 3199
)

// ErrNotLoopback: the address can be reached from other machines.
var ErrNotLoopback = errors.New("other machines can reach it and read every state")

// A ListenOption changes where Listen listens.
type ListenOption func(*listening)

type listening struct{ anywhere bool }

// AllowRemote lets Listen listen where other machines can reach it. The handler
// still answers to loopback names alone; see [AllowHost].
func AllowRemote() ListenOption { return func(l *listening) { l.anywhere = true } }

// Listen opens the port for Serve. The address is "HOST:PORT"; without HOST it
// is 127.0.0.1, and "" is the first free port of 3100 to 3199 there, where
// tools look. The error is ErrNotLoopback for an address that other machines
// can reach.
func Listen(address string, options ...ListenOption) (net.Listener, error) {
	var o listening
	for _, option := range options {
		option(&o)
	}
	if address == "" {
		return firstFree()
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("reflection: listen: %w", err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if !o.anywhere && !wire.IsLoopback(host) {
		return nil, fmt.Errorf("reflection: listen on %q: %w", address, ErrNotLoopback)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("reflection: listen on %q: %w", address, err)
	}
	// A name means what the machine's resolver says.
	if at, ok := l.Addr().(*net.TCPAddr); !o.anywhere && (!ok || !at.IP.IsLoopback()) {
		return nil, fmt.Errorf("reflection: listen on %q: it is %v: %w", address, l.Addr(), errors.Join(ErrNotLoopback, l.Close()))
	}
	return l, nil
}

func firstFree() (net.Listener, error) {
	for port := firstPort; ; port++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		switch {
		case err == nil:
			return l, nil
		case port == lastPort || !errors.Is(err, syscall.EADDRINUSE):
			return nil, fmt.Errorf("reflection: listen on a port of %d to %d: %w", firstPort, lastPort, err)
		}
	}
}

// Timeouts of the server besides those of the handler, and how long requests
// may take to end when the server does.
const (
	headerTimeout = 5 * time.Second
	idleTimeout   = time.Minute
	grace         = 2 * time.Second
	maxHeader     = 16 << 10
)

// Serve answers requests with the handler until ctx ends, and closes the
// listener. It returns nil then; any other end is an error. When it returns, no
// request is at a store any more, if the stores heed their context.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if server.Shutdown(patience) != nil {
			server.Close()
		}
	})
	err := server.Serve(l)
	if stop() {
		return fmt.Errorf("reflection: serve %v: %w", l.Addr(), errors.Join(err, server.Close()))
	}
	<-ended
	return nil
}
