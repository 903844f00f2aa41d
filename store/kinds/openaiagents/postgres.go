package openaiagents

import (
	"context"

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

// onServer: no other class of the SDK writes to a server.
func onServer(context.Context, rows.Tx, rows.Place) (class, error) {
	return class{create: alchemyCreates, sequenced: true}, nil
}

// List implements rows.Lister. What a session began with is read where it is small.
func (served) List(ctx context.Context, t rows.Tx) (list []rows.Listed, err error) {
	err = t.Each(ctx, func(scan func(...any) error) error {
		one := rows.Listed{Key: make([]string, len(kind.Key)), Info: model.SessionInfo{Snapshots: -1}}
		var first []byte
		err := scan(&one.Key[0], &one.Info.Head.ID, &one.Info.UpdatedAt, &first)
		var h model.Header
		var said rows.Said
		if first != nil {
			said.Add(&h, first)
		}
		if h.EventName == rows.EventUser {
			one.Info.Title = h.Title
		}
		list = append(list, one)
		return err
	}, `SELECT s.session_id, e.id::text, e.created_at, CASE WHEN pg_column_size(f.message_data) <= 2000 THEN f.message_data END FROM agent_sessions s,
		LATERAL (SELECT id, created_at FROM agent_messages WHERE session_id = s.session_id ORDER BY created_at DESC, id DESC LIMIT 1) e,
		LATERAL (SELECT message_data FROM agent_messages WHERE session_id = s.session_id ORDER BY created_at, id LIMIT 1) f`)
	return list, err
}
