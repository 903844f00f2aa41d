package dbos

import (
	"context"
	"time"

	"hindcast/model"
	"hindcast/store/engine/rows"
)

// onServer are the snapshots in PostgreSQL.
const onServer = `(SELECT s.workflow_uuid AS name, '0' AS id, 0 AS step, s.name AS function, i.inputs AS data, NULL AS failure, NULL AS child,
		CASE WHEN s.forked_from IS NULL THEN s.created_at END AS at, s.xmin AS xmin
	FROM workflow_status s LEFT JOIN workflow_input i ON i.workflow_uuid = s.workflow_uuid
	UNION ALL SELECT workflow_uuid, function_id::text, function_id, function_name, output, error, child_workflow_id, started_at_epoch_ms, xmin FROM operation_outputs) snapshots`

// served is the format of a database on a server.
type served struct{ format }

var _ rows.Lister = served{}

// List implements rows.Lister. The input of a workflow is read where it is small.
func (served) List(ctx context.Context, t rows.Tx) (list []rows.Listed, err error) {
	err = t.Each(ctx, func(scan func(...any) error) error {
		one := rows.Listed{Key: make([]string, len(kind.Key)), Info: model.SessionInfo{Snapshots: -1}}
		var begin step
		var inputs []byte
		var stamp int64
		err := scan(&one.Key[0], &one.Info.Head.ID, &stamp, &begin.name, &inputs)
		begin.value, _ = decodeValue(inputs) // the log tells of damage
		one.Info.UpdatedAt, one.Info.Title = time.UnixMilli(stamp).UTC(), begin.tellOutcome()
		list = append(list, one)
		return err
	}, `SELECT s.workflow_uuid, coalesce(o.function_id, 0)::text, coalesce(o.started_at_epoch_ms, s.created_at), coalesce(s.name, ''), CASE WHEN octet_length(i.inputs) <= 2000 THEN i.inputs END
		FROM workflow_status s LEFT JOIN workflow_input i ON i.workflow_uuid = s.workflow_uuid
		LEFT JOIN LATERAL (SELECT function_id, started_at_epoch_ms FROM operation_outputs o WHERE o.workflow_uuid = s.workflow_uuid ORDER BY function_id DESC LIMIT 1) o ON true`)
	return list, err
}
