package pgtest

import (
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Wire lies between programs and a server: it delays what they say to each other, counts how often they
// wait for an answer, and breaks.
type Wire struct {
	// Address is the URL of the database behind the wire.
	Address string

	server string
	delay  time.Duration
	ways   atomic.Int64
	breaks atomic.Pointer[Break]
}

// Break says when a wire breaks.
type Break struct {
	// At reports whether a connection breaks at what the program sends.
	At func(sent []byte) bool
	// Delivered says that the server still receives that, and answers it: the program does not hear the answer.
	Delivered bool
}

// Between puts a wire before the database of a URL. The way there and back takes so long.
func Between(t testing.TB, address string, delay time.Duration) *Wire {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &Wire{server: u.Host, delay: delay}
	u.Host = l.Addr().String()
	w.Address = u.String()
	var open sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close() // it ends Accept
		open.Wait()
	})
	open.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { w.carry(client) })
		}
	})
	return w
}

// BreakNext has the wire of one connection break once.
func (w *Wire) BreakNext(b Break) { w.breaks.Store(&b) }

// Ways returns how often a program sent something after an answer, on all connections.
func (w *Wire) Ways() int { return int(w.ways.Load()) }

// carry carries what one connection says until an end closes it.
func (w *Wire) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		return
	}
	defer server.Close()
	answered := new(atomic.Bool)
	answered.Store(true)
	broken := new(atomic.Bool)
	var both sync.WaitGroup
	both.Go(func() {
		defer server.Close()
		w.pass(client, server, func(sent []byte) bool {
			if answered.Swap(false) {
				w.ways.Add(1)
			}
			b := w.breaks.Load()
			if b == nil || !b.At(sent) || !w.breaks.CompareAndSwap(b, nil) {
				return true
			}
			broken.Store(true)
			if !b.Delivered {
				_ = client.Close()
			}
			return b.Delivered
		})
	})
	both.Go(func() {
		defer client.Close()
		w.pass(server, client, func([]byte) bool {
			answered.Store(true)
			return !broken.Load()
		})
	})
	both.Wait()
}

// piece is something said, and when it arrives.
type piece struct {
	due   time.Time
	bytes []byte
}

// pass passes on what is said, as long as heard returns true.
func (w *Wire) pass(from, to net.Conn, heard func([]byte) bool) {
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		buf := make([]byte, 64<<10)
		for {
			n, err := from.Read(buf)
			if n > 0 {
				pieces <- piece{time.Now().Add(w.delay / 2), append([]byte(nil), buf[:n]...)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		if !heard(p.bytes) {
			break
		}
		if _, err := to.Write(p.bytes); err != nil {
			break
		}
	}
	_ = from.Close() // the reader ends
	for range pieces {
		continue
	}
}
