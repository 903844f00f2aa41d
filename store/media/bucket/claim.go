package bucket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"hindcast/store/media/disk"
)

// leaseTime is how long a claim holds that is not renewed: its program was killed, or has lost
// the network. It is renewed three times in that time.
const leaseTime = time.Minute

// errLost: another program took the claim over, because this one did not renew it in time.
var errLost = errors.New("the claim to write here was not renewed in time, and another Hindcast has it")

// claim is the right to write below a prefix: an object that a program puts if it does not
// exist, and deletes when it is done. Its age is told by the clock of the server.
type claim struct {
	d    *bucketDisk
	name string
	body []byte

	mu  sync.Mutex
	tag string
	err error
}

// claimed is the content of a claim, for people.
type claimed struct {
	Program string    `json:"program"`
	Host    string    `json:"host"`
	Process int       `json:"process"`
	At      time.Time `json:"at"`
}

// Lock implements disk.Disk.
func (d *bucketDisk) Lock(name string) (unlock func() error, err error) {
	host, _ := os.Hostname() // it is of use to people alone
	body, err := json.Marshal(claimed{"hindcast", host, os.Getpid(), time.Now().UTC()})
	if err != nil {
		return nil, namedError("lock", name, err)
	}
	c := &claim{d: d, name: name, body: body}
	if err := c.takeClaim(); err != nil {
		return nil, namedError("lock", name, err)
	}
	if err := d.checkConditions(c); err != nil {
		return nil, namedError("lock", name, err)
	}
	d.mu.Lock()
	d.held = c
	d.mu.Unlock()
	ctx, cancel := context.WithCancel(d.ctx())
	var renewing sync.WaitGroup
	renewing.Go(func() { c.renewClaim(ctx) })
	return func() error {
		cancel()
		renewing.Wait()
		d.mu.Lock()
		d.held, d.tail = nil, nil
		d.mu.Unlock()
		d.t.Fresh()
		return namedError("unlock", name, d.c.removeObject(d.ctx(), d.keyOf(name), c.tag))
	}, nil
}

func (c *claim) claimHeader() http.Header { return http.Header{"Content-Type": {"application/json"}} }

// takeClaim puts the claim, also in place of an abandoned claim.
func (c *claim) takeClaim() (err error) {
	d, key := c.d, c.d.keyOf(c.name)
	c.tag, err = d.c.putObject(d.ctx(), key, "", c.body, c.claimHeader())
	if !errors.Is(err, disk.ErrChanged) {
		return err
	}
	old, head, err := d.c.headObject(d.ctx(), key)
	if hasStatus(err, http.StatusNotFound) { // it was let go of just now
		c.tag, err = d.c.putObject(d.ctx(), key, "", c.body, c.claimHeader())
	} else if err == nil {
		now, failed := http.ParseTime(head.Get("Date"))
		if age := now.Sub(old.modified); failed != nil || age < d.lease {
			return c.refusalError(old.tag, max(0, age), failed == nil)
		}
		c.tag, err = d.c.putObject(d.ctx(), key, old.tag, c.body, c.claimHeader())
	}
	if errors.Is(err, disk.ErrChanged) {
		return disk.ErrLocked
	}
	return err
}

// refusalError says who holds the claim, since when, and how long to wait at most: a program that is
// alive renews it, so that a younger one holds.
func (c *claim) refusalError(tag string, age time.Duration, aged bool) error {
	d, key := c.d, c.d.keyOf(c.name)
	holder := "another Hindcast"
	var by claimed
	if body, _, err := d.c.getObject(d.ctx(), key, tag); err == nil && json.Unmarshal(body, &by) == nil && by.Host != "" {
		holder = fmt.Sprintf("process %d on %.80q has it since %s", by.Process, by.Host, by.At.UTC().Format(time.DateTime+" MST"))
	} else {
		holder += " has it"
	}
	if !aged {
		return fmt.Errorf("%w: %s: %s", disk.ErrLocked, d.c.addressOf(key), holder)
	}
	wait := max(time.Second, (d.lease - age).Round(time.Second))
	return fmt.Errorf("%w: %s: %s, renewed %s ago; after a kill the claim is free in %s", disk.ErrLocked, d.c.addressOf(key), holder, age.Round(time.Second), wait)
}

// checkConditions makes sure, once, that the server refuses what a condition excludes: it is asked
// to put the claim where there is one, and to delete it by an ETag that it has not.
func (d *bucketDisk) checkConditions(c *claim) error {
	d.mu.Lock()
	sure := d.conditional
	d.mu.Unlock()
	if sure {
		return nil
	}
	key := d.keyOf(c.name)
	const another = `"00000000000000000000000000000000"`
	_, put := d.c.putObject(d.ctx(), key, "", append([]byte(" "), c.body...), c.claimHeader())
	_, replaced := d.c.putObject(d.ctx(), key, another, append([]byte("  "), c.body...), c.claimHeader())
	removed := d.c.removeObject(d.ctx(), key, another)
	for _, err := range []error{put, replaced, removed} {
		if errors.Is(err, disk.ErrChanged) {
			continue
		}
		if err == nil || hasStatus(err, http.StatusNotImplemented) || hasStatus(err, http.StatusBadRequest) || hasStatus(err, http.StatusNotFound) {
			err = ErrUnconditional
		}
		if now, _, failed := d.c.headObject(d.ctx(), key); failed == nil {
			_ = d.c.removeObject(d.ctx(), key, now.tag) // it is left to grow old otherwise
		}
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conditional = true
	return nil
}

// renewClaim puts the claim anew until ctx ends, so that it does not grow old.
func (c *claim) renewClaim(ctx context.Context) {
	tick := time.NewTicker(c.d.lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c.mu.Lock()
		tag, err := c.d.c.putObject(c.d.ctx(), c.d.keyOf(c.name), c.tag, c.body, c.claimHeader())
		switch {
		case err == nil:
			c.tag = tag
		case errors.Is(err, disk.ErrChanged), hasStatus(err, http.StatusNotFound):
			c.err = errLost
		}
		c.mu.Unlock()
	}
}

// whyLost returns why nothing may be written under the claim any more, nil if it holds.
func (c *claim) whyLost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
