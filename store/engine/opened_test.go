package engine

import (
	"testing"

	"hindcast/store/media/tree"
)

func openTree(t testing.TB, dir string) *tree.Disk {
	t.Helper()
	d, err := tree.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}
