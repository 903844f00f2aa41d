package adk

import (
	"context"
	"strings"

	"hindcast/model"
	"hindcast/store/rows"
)

// served is the format of a database on a server, which is only read.
type served struct{ in format }

var (
	_ rows.Lister = served{}
	_ rows.Doctor = served{}
)

// Served describes the sessions of DatabaseSessionService in a database on a server. data is the user's
// folder for data.
func Served(data string) *rows.Served {
	k := kind
	k.Does, k.Lacks = nil, "ADK's sessions on a server are only read as yet; the calls on the Resume tab go on from the head, and rewind to the end of an invocation"
	k.Order = []string{"timestamp", "id"}
	k.Format = served{}
	return k.Served(data)
}

// Log implements rows.Format.
func (f served) Log(ctx context.Context, t rows.Tx, of rows.Place, from string) (rows.Log, error) {
	return f.in.Log(ctx, t, of, from)
}

// State implements rows.Format.
func (f served) State(ctx context.Context, t rows.Tx, of rows.Place, id string) ([]byte, error) {
	return f.in.State(ctx, t, of, id)
}

// About implements rows.Format.
func (f served) About(ctx context.Context, t rows.Tx, of rows.Place, id string) (rows.About, error) {
	return f.in.About(ctx, t, of, id)
}

// Faults implements rows.Doctor.
func (f served) Faults(ctx context.Context, t rows.Tx, of rows.Place) ([]model.Fault, error) {
	return f.in.Faults(ctx, t, of)
}

// List implements rows.Lister. What a session began with is read where it is small.
func (served) List(ctx context.Context, t rows.Tx) (list []rows.Listed, err error) {
	err = t.Each(ctx, func(scan func(...any) error) error {
		one := rows.Listed{Key: make([]string, len(kind.Key)), Info: model.SessionInfo{Snapshots: -1}}
		head := &one.Info.Head
		var first event
		err := scan(&one.Key[0], &one.Key[1], &one.Key[2], &head.ID, &one.Info.UpdatedAt, &first.data)
		var h model.Header
		first.read()
		if first.describe(&h, &rows.Said{}); h.EventName == rows.EventUser {
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
