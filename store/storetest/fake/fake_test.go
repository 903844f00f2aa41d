package fake_test

import (
	"testing"
	"time"

	"hindcast/store/storetest"
	"hindcast/store/storetest/fake"
)

func TestStore_conforms(t *testing.T) {
	storetest.Record(t, "memory", func(t *testing.T, now func() time.Time) storetest.Opened {
		return storetest.Opened{Store: fake.New(fake.WithClock(now))}
	})
}
