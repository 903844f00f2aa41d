package pgtest

import (
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Slow is a way to a server on which each byte takes as long as over a network.
type Slow struct {
	// Address is the URL by that way.
	Address string

	oneWay time.Duration
	server string
	turns  atomic.Int64
}

// NewSlow returns a way to the database of a URL on which there and back takes so long.
func NewSlow(t testing.TB, address string, thereAndBack time.Duration) *Slow {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Slow{oneWay: thereAndBack / 2, server: u.Host}
	u.Host = l.Addr().String()
	s.Address = u.String()
	var group sync.WaitGroup
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		group.Wait()
	})
	group.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return // it was closed
			}
			group.Go(func() { s.carry(client) })
		}
	})
	return s
}

// Turns returns how often a client waited for an answer and then went on.
func (s *Slow) Turns() int { return int(s.turns.Load()) }

// carry carries a connection until one side ends it.
func (s *Slow) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", s.server)
	if err != nil {
		return
	}
	defer server.Close()
	var answered atomic.Bool
	answered.Store(true)
	var group sync.WaitGroup
	group.Go(func() {
		s.copy(server, client, func() {
			if answered.Swap(false) {
				s.turns.Add(1)
			}
		})
		server.Close()
	})
	group.Go(func() {
		s.copy(client, server, func() { answered.Store(true) })
		client.Close()
	})
	group.Wait()
}

// copy brings what comes of one side to the other, each piece after the time of the way, in their order.
func (s *Slow) copy(to, from net.Conn, came func()) {
	type piece struct {
		data []byte
		due  time.Time
	}
	pieces := make(chan piece, 1<<12)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for p := range pieces {
			time.Sleep(time.Until(p.due))
			if _, err := to.Write(p.data); err != nil {
				return
			}
		}
	}()
	for {
		buffer := make([]byte, 1<<16)
		n, err := from.Read(buffer)
		if n > 0 {
			came()
			select {
			case pieces <- piece{buffer[:n], time.Now().Add(s.oneWay)}:
			case <-done:
			}
		}
		if err != nil {
			close(pieces)
			<-done
			return
		}
	}
}
