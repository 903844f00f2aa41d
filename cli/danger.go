package cli

import (
	"context"
	"fmt"
	"iter"
	"time"

	"hindcast/model"
	"hindcast/query"
	"hindcast/redact"
	"hindcast/store"
)

// The faults of no record: that a session goes soon, and that it has secrets.
const (
	FaultLeaves = "leaves"
	FaultSecret = "secret"
)

// leaves is how long before its tool deletes a session the doctor says so.
const leaves = 14 * 24 * time.Hour

// addEnd adds to a checkup that the tool deletes the session soon, with the command that keeps it. named is the store, as a
// word.
func (c *checkup) addEnd(named string) {
	if end := c.info.DescribeEnd(time.Now(), leaves); end != "" && c.info.GoneSince.IsZero() {
		c.faults = append(c.faults, model.Fault{Code: FaultLeaves, Severity: model.Note, Meaning: end + ", for its age"})
		c.next = append(c.next, "hindcast keep "+named)
	}
}

// addSecrets adds to a checkup where texts of the session have secrets.
func (c *checkup) addSecrets(ctx context.Context, s store.Store) error {
	r, err := redact.New(redact.Options{})
	if err != nil {
		return err
	}
	hidden, err := r.Rows(ctx, s, func() iter.Seq2[store.Row, error] { return query.Rows(ctx, s, c.of) })
	if err != nil {
		return err
	}
	for _, err := range hidden {
		if err != nil {
			return err
		}
	}
	for _, f := range r.Findings() {
		c.faults = append(c.faults, model.Fault{Code: FaultSecret, Severity: model.Note, Path: f.Path, Meaning: fmt.Sprintf("%s (%s) at %s", model.Count(f.Secrets, "secret"), f.Kind, f.Path)})
	}
	return nil
}
