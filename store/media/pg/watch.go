package pg

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Watching says how changes of a database are noticed.
type Watching struct {
	// Channel is the channel that its writers NOTIFY; "" if they notify no channel.
	Channel string
	// Query returns other rows after each change. It is asked for again and again where there is no Channel.
	Query string
	Args  []any
	// Every is how often; 0 is each second.
	Every time.Duration
}

const (
	everyTime = time.Second
	// longestPause is that between attempts to reach a server that went away.
	longestPause = 15 * time.Second
)

// Watch returns a value for each of own, which tells of the changes that this program makes, and one for
// each of others, which w notices. The first one comes when it begins to notice, and one when the server is there
// again after it was lost. The channel is closed
// when own is, when ctx ends, and by Close. The errors are fs.ErrClosed and that of ctx.
func (s *Server) Watch(ctx context.Context, own <-chan struct{}, w Watching) (<-chan struct{}, error) {
	if s.done.Err() != nil {
		return nil, errClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.done, cancel)
	seen := make(chan struct{}, 1)
	go w.followChanges(ctx, s, seen)
	changes := make(chan struct{}, 1)
	go func() {
		defer close(changes)
		defer stop()
		defer cancel()
		for {
			select {
			case _, going := <-own:
				if !going {
					return
				}
			case <-seen:
			case <-ctx.Done():
				return
			}
			signalChannel(changes)
		}
	}()
	return changes, nil
}

// signalChannel puts a value into a channel that has room for one.
func signalChannel(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// followChanges tells of changes until ctx ends.
func (w Watching) followChanges(ctx context.Context, s *Server, seen chan struct{}) {
	every := cmp.Or(w.Every, everyTime)
	pause := every
	once := w.newPoller(s, seen)
	if w.Channel != "" {
		once = w.newListener(s, seen)
	}
	for {
		if err := once(ctx); err != nil {
			pause = min(2*pause, longestPause)
		} else {
			pause = every
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// newPoller returns a function that looks once.
func (w Watching) newPoller(s *Server, seen chan struct{}) func(context.Context) error {
	var last [][]any
	return func(ctx context.Context) error {
		var now [][]any
		err := s.Read(ctx, func(t *Tx) error {
			now = nil
			rows, err := t.Rows(ctx, w.Query, w.Args...)
			if err != nil {
				return err
			}
			for rows.Next() {
				values, err := rows.Values()
				if err != nil {
					return cmp.Or(err, rows.Close())
				}
				now = append(now, values)
			}
			return rows.Close()
		})
		if err == nil && !reflect.DeepEqual(last, now) {
			signalChannel(seen)
			last = now
		}
		return err
	}
}

// newListener returns a function that listens until the connection is lost.
func (w Watching) newListener(s *Server, seen chan struct{}) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := s.dialServer(ctx, s.config)
		if err != nil {
			return err
		}
		defer s.hangUp(c)
		if _, err := c.pg.Exec(ctx, fmt.Sprintf(`LISTEN "%s"`, strings.ReplaceAll(w.Channel, `"`, `""`))).ReadAll(); err != nil {
			return explainError(err)
		}
		for { // the first value is for what came before it listened
			signalChannel(seen)
			if err := c.pg.WaitForNotification(ctx); err != nil {
				return nil
			}
		}
	}
}
