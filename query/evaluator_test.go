package query

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"
)

// A job is held to what it took since it began, also where a busy machine looks at it late.
func TestEvaluator_limitsAJobLookedAtLate(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e, end := newEvaluator(ctx, time.Minute)
	defer end()
	taken := make(chan struct{})
	e.watch.Reset(time.Hour)
	go func() {
		<-taken
		e.watch.Reset(time.Millisecond)
	}()
	err := e.do(10, func() error {
		held := make([]byte, 3*mostGrowth)
		close(taken)
		<-e.ctx.Done()
		runtime.KeepAlive(held)
		return nil
	})
	if limit := (*LimitError)(nil); !errors.As(err, &limit) || limit.Time != 0 {
		t.Errorf("a job that took three times what it may ended with %v", err)
	}
}
