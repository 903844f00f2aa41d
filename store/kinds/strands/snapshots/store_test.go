package snapshots

import (
	"fmt"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
)

func TestStore_drawsEveryFixture(t *testing.T) {
	var text strings.Builder
	for _, name := range written {
		s := open(t, fixture(name))
		for _, info := range sessions(t, s) {
			rows, found := storetest.Headers(t, s, info.ID), storetest.Faults(t, s, info.ID)
			fmt.Fprintf(&text, "%s %s: %d snapshots, %d off the path, head #%d %s, changed %s\n%s%s\n", name, info.ID, info.Snapshots, info.Orphaned,
				info.Head.Index, info.Head.ID, info.UpdatedAt.Format("15:04:05.000000"), picture(rows), pictureFaults(found))
			if len(found) != info.Faults {
				t.Errorf("%s %s: the list says %d faults, and there are %d", name, info.ID, info.Faults, len(found))
			}
			if timeline := model.NewTimeline(rows); timeline.Orphans() != info.Orphaned || len(rows) != info.Snapshots {
				t.Errorf("%s %s: the list says %+v, and there are %d rows, %d off the path", name, info.ID, info, len(rows), timeline.Orphans())
			}
		}
	}
	golden(t, "snapshot-timelines.txt", text.String())
}
