package tui

import (
	"runtime"
	"testing"

	"hindcast/model/jsontape/jsontest"
	"hindcast/store/storetest/skip"
)

// What a large state left behind when it was read is not kept: a screen stays open for hours.
func TestState_givesBackWhatItWasReadWith(t *testing.T) {
	skip.Counting(t)
	s := &state{data: jsontest.New(much, 1).JSON()}
	if _, _, err := s.Tape(); err != nil {
		t.Fatal(err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if kept := m.HeapIdle - m.HeapReleased; kept > much/4 {
		t.Errorf("%d bytes that nothing uses are kept", kept)
	}
}
