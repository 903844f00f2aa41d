package crush

import (
	"testing"

	"hindcast/store/storetest"
)

const fixture = "../../../testdata/coding/crush"

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil), fixture) }

// A database whose tables are still in its log alone is crush's, and has no session.
func TestRead_tablesInTheLog(t *testing.T) {
	dir := storetest.Copy(t, "testdata/wal-only-empty")
	defer storetest.Untouched(t, dir)()
	why, ok, err := Kind(nil).Recognise(t.Context(), dir)
	if !ok || err != nil || why == "" {
		t.Errorf("recognised %v because of %q, %v", ok, why, err)
	}
	s, err := Kind(nil).Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if list, faults := storetest.Sessions(t, s), storetest.Faults(t, s, ""); len(list)+len(faults) > 0 {
		t.Errorf("it has the sessions %v and the faults %v", list, faults)
	}
}
