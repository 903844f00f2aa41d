package adk

import (
	"context"
	"strings"

	"hindcast/model"
	"hindcast/store/engine/rows"
)

// served is the format of a database on a server.
type served struct{ format }

var (
	_ rows.Lister = served{}
	_ rows.Mover  = served{}
	_ rows.Doctor = served{}
)

// List implements rows.Lister. What a session began with is read where it is small.
func (served) List(ctx context.Context, t rows.Tx) (list []rows.Listed, err error) {
	err = t.Each(ctx, func(scan func(...any) error) error {
		one := rows.Listed{Key: make([]string, len(kind.Key)), Info: model.SessionInfo{Snapshots: -1}}
		head := &one.Info.Head
		var first event
		err := scan(&one.Key[0], &one.Key[1], &one.Key[2], &head.ID, &one.Info.UpdatedAt, &first.data)
		var h model.Header
		first.readDetails()
		if first.describeEvent(&h, &rows.Said{}); h.EventName == rows.EventUser {
			one.Info.Title = h.Title
		}
		list = append(list, one)
		return err
	}, strings.ReplaceAll(`SELECT s.app_name, s.user_id, s.id, e.id, e.timestamp, CASE WHEN pg_column_size(f.event_data) <= 2000 THEN f.event_data END FROM sessions s,
		LATERAL (SELECT id, timestamp FROM events WHERE KEY = (s.app_name, s.user_id, s.id) ORDER BY timestamp DESC, id DESC LIMIT 1) e,
		LATERAL (SELECT event_data FROM events WHERE KEY = (s.app_name, s.user_id, s.id) ORDER BY timestamp, id LIMIT 1) f`,
		"KEY", "("+strings.Join(kind.Key, ", ")+")"))
	return list, err
}
