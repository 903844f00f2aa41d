package memory_test

import (
	"testing"
	"time"

	"hindcast/store/memory"
	"hindcast/store/storetest"
)

func TestStore_conforms(t *testing.T) {
	storetest.Run(t, "memory", func(t *testing.T, now func() time.Time) storetest.Opened {
		return storetest.Opened{Store: memory.New(memory.WithClock(now))}
	})
}
