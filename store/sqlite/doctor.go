package sqlite

import (
	"context"
	"fmt"

	"hindcast/model"
	"hindcast/store"
)

// Codes of the faults of a whole store.
const (
	// FaultDatabase: SQLite's own check found damage.
	FaultDatabase = "damaged-database"
	// FaultCount: the counts that a session keeps are not those of its visits.
	FaultCount = "wrong-count"
	// FaultHead: the head of a session is not one of its visits.
	FaultHead = "missing-head"
)

// Faults implements store.Doctor. For the store itself it runs SQLite's check
// of the whole file.
func (s *Store) Faults(ctx context.Context, session string) (faults []model.Fault, err error) {
	if session != "" {
		return store.SessionFaults(ctx, s, session)
	}
	err = s.read(ctx, func(t *tx) error {
		faults = nil
		for _, check := range []func(context.Context, *tx) ([]model.Fault, error){databaseFaults, sessionFaults} {
			found, err := check(ctx, t)
			if err != nil {
				return err
			}
			faults = append(faults, found...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sqlite: check %q: %w", s.path, err)
	}
	return faults, nil
}

func databaseFaults(ctx context.Context, t *tx) (faults []model.Fault, err error) {
	for _, pragma := range []string{"PRAGMA integrity_check(20)", "PRAGMA foreign_key_check"} {
		found, err := pragmaFaults(ctx, t, pragma)
		if err != nil {
			return nil, err
		}
		faults = append(faults, found...)
	}
	return faults, nil
}

// pragmaFaults gives what a check of SQLite's says, in its words.
func pragmaFaults(ctx context.Context, t *tx, pragma string) (faults []model.Fault, err error) {
	rows, err := t.rows(ctx, pragma)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			return nil, err
		}
		text := fmt.Sprint(*values[0].(*any))
		if text == "ok" {
			continue
		}
		if len(columns) > 1 {
			text = "a row of " + text + " refers to one that is not there"
		}
		faults = append(faults, model.Fault{Code: FaultDatabase, Meaning: text, Verdict: "SQLite may refuse to read parts of the store"})
	}
	return faults, rows.Err()
}

func sessionFaults(ctx context.Context, t *tx) (faults []model.Fault, err error) {
	rows, err := t.rows(ctx, `SELECT s.id, s.visits, s.orphaned, count(v.visit), count(v.reason), s.head IS NULL OR count(iif(v.visit = s.head, 1, NULL)) > 0
		FROM sessions s LEFT JOIN visits v ON v.session = s.session GROUP BY s.session ORDER BY s.id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var visits, orphaned, counted, countedOrphaned int
		var headed bool
		if err := rows.Scan(&id, &visits, &orphaned, &counted, &countedOrphaned, &headed); err != nil {
			return nil, err
		}
		if visits != counted || orphaned != countedOrphaned {
			faults = append(faults, model.Fault{Code: FaultCount, File: id,
				Meaning: fmt.Sprintf("the session is said to have %d visits, %d of them orphaned; it has %d and %d", visits, orphaned, counted, countedOrphaned),
				Verdict: "the list of sessions is wrong; nothing else reads the counts"})
		}
		if !headed {
			faults = append(faults, model.Fault{Code: FaultHead, File: id, Meaning: "the session's head is not one of its visits", Verdict: "the session cannot be loaded"})
		}
	}
	return faults, rows.Err()
}
