package remote

import (
	"context"
	"net/http"
	"time"
)

// SetLimit sets how many bytes of an answer are taken.
func (s *Store) SetLimit(n int64) { s.limit = n }

// SetPatience sets how long a whole answer may take.
func (s *Store) SetPatience(d time.Duration) { s.patience = d }

// SetInterval sets how often Watch asks.
func (s *Store) SetInterval(d time.Duration) { s.interval = d }

// OpenWith is Open by another transport.
func OpenWith(ctx context.Context, address string, by http.RoundTripper) (*Store, error) {
	at, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	client := newClient(at)
	client.Transport = by
	return connectStore(ctx, address, at, client)
}
