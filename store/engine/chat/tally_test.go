package chat_test

import (
	"testing"
	"time"

	"hindcast/store/kinds/pi"
)

// A store is counted without a look into a file, and as its list has it.
func TestStore_Tally(t *testing.T) {
	s, err := pi.Kind(nil).Open(t.Context(), "../../../testdata/coding/pi")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var listed int
	var newest time.Time
	for info, err := range s.Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if listed++; info.UpdatedAt.After(newest) {
			newest = info.UpdatedAt
		}
	}
	n, changed, err := s.Features().Tally(t.Context())
	if err != nil || n != listed || n == 0 || !changed.Equal(newest) {
		t.Errorf("%d sessions, changed %v, %v; the list has %d, and %v", n, changed, err, listed, newest)
	}
}
