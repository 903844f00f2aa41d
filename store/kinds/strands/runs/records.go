package runs

import (
	"cmp"
	"slices"

	"hindcast/model"
	"hindcast/store/engine"
)

// Records are the versions of the record of one orchestrator, the oldest first. The last
// is the one that the SDK loads, if there is one.
type Records struct {
	Versions []Version
	// File is the name in the storage of the file that the SDK loads.
	File string
	// Written are the files whose modification times show that a run goes on.
	Written []engine.Written
	// Own holds the kind's own data.
	Own any
}

// Version is one version of a record.
type Version struct {
	// Run is nil if the record cannot be read; Err then says why. Row is shown in its
	// place, and may be nil.
	Run *Run
	Err error
	Row *model.Header
	// Data is the content of the file. File is its name in the storage.
	Data []byte
	File string
	// Loaded says that the SDK loads it.
	Loaded bool
	// Aside is the journal's record of the version, nil if the version lies in the tree.
	Aside *engine.Aside
	// Left is why it is not what the SDK loads.
	Left *model.Reason
	// Own holds the kind's own data.
	Own any
}

// LoadedVersion returns the version that the SDK loads, nil if it loads no version.
func (rs *Records) LoadedVersion() *Version {
	if n := len(rs.Versions); n > 0 && rs.Versions[n-1].Loaded {
		return &rs.Versions[n-1]
	}
	return nil
}

// newRows returns the rows of a version by itself.
func (v *Version) newRows() []model.Header {
	switch {
	case v.Run != nil:
		return v.Run.Headers()
	case v.Row != nil:
		return []model.Header{*v.Row}
	}
	return nil
}

// row is a row of the timeline of all versions.
type row struct {
	model.Header
	of *Version
	// follows is the row of the loaded record that it is, or behind which it left.
	follows *row
	// left are the rows of other versions that left behind it.
	left []*row
}

// allRows returns the rows of the loaded version, and behind the row that they follow those
// that other versions alone have. The newest of several versions tells of a row.
func (rs *Records) allRows() (list []*row) {
	start, loaded := &row{}, rs.LoadedVersion()
	start.follows = start
	known := map[string]*row{}
	var now []*row
	if loaded != nil {
		for _, h := range loaded.newRows() {
			r := &row{Header: h, of: loaded}
			r.follows = r
			known[h.ID], now = r, append(now, r)
		}
	}
	for i := range rs.Versions {
		v := &rs.Versions[i]
		if v == loaded {
			continue
		}
		shared := 0
		if loaded != nil && loaded.Run != nil && v.Run != nil {
			shared = v.Run.countShared(loaded.Run)
		}
		before := start
		for k, h := range v.newRows() {
			r := known[h.ID]
			switch {
			case k < shared:
				r = now[k]
			case r == nil:
				r = &row{follows: before.follows}
				r.follows.left = append(r.follows.left, r)
				r.ParentID = before.ID
				known[h.ID] = r
				fallthrough
			case r.of != loaded:
				h.ParentID, h.Head, h.Orphaned, h.Reason = r.ParentID, false, true, v.Left
				r.Header, r.of = h, v
			}
			before = r
		}
	}
	list = start.left
	for _, r := range now {
		list = append(append(list, r), r.left...)
	}
	return list
}

// Headers returns the rows.
func (rs *Records) Headers() []model.Header { return rs.buildLog(engine.Place{}).Rows }

// Title returns the task, "" where the record does not tell.
func (rs *Records) Title() string {
	for i := range rs.Versions {
		if v := &rs.Versions[i]; v.Aside == nil && v.Run != nil && v.Run.summary.Task != "" {
			return v.Run.summary.Task
		}
	}
	return ""
}

// Err returns why the record that the SDK loads cannot be read and has no row either.
func (rs *Records) Err() error {
	if v := rs.LoadedVersion(); v != nil && v.Run == nil && v.Row == nil {
		return v.Err
	}
	return nil
}

// buildLog returns the rows for the engine.
func (rs *Records) buildLog(at engine.Place) *engine.Log {
	log := &engine.Log{Place: at, Head: -1, Settled: true, Own: rs, Aside: map[string]*engine.Aside{}, Written: rs.Written}
	for i := range rs.Versions {
		log.Held += int64(len(rs.Versions[i].Data))
	}
	for _, r := range rs.allRows() {
		if r.of.Loaded && r.Head {
			log.Head = len(log.Rows)
		}
		if r.of.Aside != nil {
			log.Aside[r.ID] = r.of.Aside
		}
		log.Rows, log.Files = append(log.Rows, r.Header), append(log.Files, r.of.File)
	}
	return log
}

// Row returns the version that tells of a row, the newest if several do, and which of its
// executions the row is. The error is why the record cannot be read, or
// model.ErrNoSnapshot.
func (rs *Records) Row(id string) (*Version, int, error) {
	var err error
	for i := range slices.Backward(rs.Versions) {
		v := &rs.Versions[i]
		switch {
		case v.Run != nil:
			if n := v.Run.Find(id); n >= 0 {
				return v, n, nil
			}
		case v.Row == nil:
			err = v.Err
		case v.Row.ID == id:
			return nil, 0, v.Err
		}
	}
	return nil, 0, cmp.Or(err, model.ErrNoSnapshot)
}

// State returns the state of a row. It returns the errors of Row.
func (rs *Records) State(id string) ([]byte, error) {
	v, n, err := rs.Row(id)
	if err != nil {
		return nil, err
	}
	return v.Run.State(n), nil
}

// Facts returns the facts about a row. It returns the errors of Row.
func (rs *Records) Facts(id string) (model.Facts, error) {
	v, n, err := rs.Row(id)
	if err != nil {
		return nil, err
	}
	return v.Run.Facts(n), nil
}

// Gaps returns the keys that a row's record has only in its newest state. It returns the
// errors of Row.
func (rs *Records) Gaps(id string) (model.Gaps, error) {
	v, _, err := rs.Row(id)
	if err != nil {
		return model.Gaps{}, err
	}
	return v.Run.Gaps(), nil
}

// olderVersions returns the other versions of the record that is put back.
func (m *Move) olderVersions() (list []*Run) {
	for i := range m.Records.Versions {
		if v := &m.Records.Versions[i]; v != m.From && v.Run != nil {
			list = append(list, v.Run)
		}
	}
	return list
}
