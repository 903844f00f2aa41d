package agent

import "sync"

// stream queues the output of an agent until a client receives it. It has no bound, so
// that an agent never waits for a client that does not listen.
type stream[Out any] struct {
	mu    sync.Mutex
	more  sync.Cond
	items []item[Out]
	ended bool
}

// item is something that was sent, or the end of a turn with its error.
type item[Out any] struct {
	value   Out
	endTurn bool
	err     error
}

func newStream[Out any]() *stream[Out] {
	s := &stream[Out]{}
	s.more.L = &s.mu
	return s
}

// putItem adds an item; after the end it adds nothing.
func (s *stream[Out]) putItem(i item[Out]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.items = append(s.items, i)
		s.more.Signal()
	}
}

// endStream says that nothing more comes.
func (s *stream[Out]) endStream() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.more.Broadcast()
}

// takeItem takes the first item, waiting for it. It returns false if the stream is empty
// and has ended.
func (s *stream[Out]) takeItem() (i item[Out], ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.items) == 0 {
		if s.ended {
			return i, false
		}
		s.more.Wait()
	}
	i, s.items[0] = s.items[0], item[Out]{}
	s.items = s.items[1:]
	return i, true
}
