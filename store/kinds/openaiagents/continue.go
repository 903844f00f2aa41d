package openaiagents

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"hindcast/model"
	"hindcast/model/handover"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/rows"
)

// A conversation of another tool becomes items as the SDK takes them of a program: messages of a role and a content, which
// both of OpenAI's APIs take, and calls with their outputs. They have no ids, which the API would look for.

// start is an item of a new session.
type start struct {
	data []byte
	at   time.Time
	// is and tool are the columns message_type and tool_name of AdvancedSQLiteSession; tool is nil for no tool.
	is   string
	tool any
}

// Continue implements rows.Continuer.
func (f format) Continue(ctx context.Context, t rows.Tx, in rows.Place, c *engine.Start) (*rows.Move, error) {
	if c.As == "" {
		c.As = uuid.NewString()
	}
	if strings.ContainsRune(c.As, 0) {
		return nil, unsupportedError(model.OpContinue, "the id of a session has no null byte")
	}
	is, err := f.class(ctx, t, in)
	if err != nil {
		return nil, err
	}
	items := startItems(c.Talk)
	w := writing{session: &session{class: is}, before: &rows.Session{Place: in}, path: make([]place, len(items)), numbers: map[string]int64{}, m: &rows.Move{}}
	w.m.New = in.SessionPlace(c.As, c.As)
	if err := w.checkVacant(ctx, t, c.As); err != nil {
		return nil, err
	}
	add := func(table string, row rows.Row) error {
		has, err := t.Columns(ctx, table)
		for column := range has {
			if _, is := row[column]; !is {
				row[column] = nil
			}
		}
		w.addRow(table, row)
		return err
	}
	if err := add(in.Name(sessions), rows.Row{"session_id": c.As, "created_at": stampOf(items[0].at), "updated_at": stampOf(c.In.Now)}); err != nil {
		return nil, err
	}
	if is.branched {
		if err := w.keepRow(ctx, t, reservations, rows.Row{"session_id": c.As, "branch_id": mainBranch}); err != nil {
			return nil, err
		}
	}
	turn := int64(0)
	for i, one := range items {
		id, err := w.nextNumber(ctx, t, in.Name(messages))
		if err == nil {
			err = add(in.Name(messages), rows.Row{"id": id, "session_id": c.As, "message_data": string(one.data), "created_at": stampOf(one.at)})
		}
		if err == nil && is.branched {
			if one.is == "user" {
				turn++
			}
			row := rows.Row{
				"session_id": c.As, "message_id": id, "branch_id": mainBranch, "message_type": one.is, "sequence_number": int64(i + 1),
				"user_turn_number": turn, "branch_turn_number": turn, "tool_name": one.tool, "created_at": stampOf(c.In.Now),
			}
			if row["id"], err = w.nextNumber(ctx, t, structure); err == nil {
				err = add(structure, row)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if is.branched {
		err = w.keepRow(ctx, t, generations, rows.Row{"session_id": c.As, "generation": int64(0)})
	}
	return w.m, err
}

// checkVacant returns store.ErrSessionExists where rows have the id of a session.
func (w *writing) checkVacant(ctx context.Context, t rows.Tx, as string) error {
	for _, of := range []string{w.before.Name(sessions), w.before.Name(messages)} {
		taken, err := rows.Rows(ctx, t, of, ofSession, as)
		if err == nil && len(taken) > 0 {
			err = store.ErrSessionExists
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stampOf returns a time as the tables have it.
func stampOf(at time.Time) string { return at.UTC().Format(time.DateTime) }

// startItems returns the items of a conversation.
func startItems(talk *handover.Talk) (items []start) {
	for i := range talk.Messages {
		m := &talk.Messages[i]
		add := func(is string, tool any, item map[string]any) {
			items = append(items, start{jsontape.EncodePlain(item), m.At, is, tool})
		}
		var words []any
		said := ""
		speak := func() { // one message for texts that follow each other
			if said != "" {
				add("assistant", nil, map[string]any{"role": "assistant", "content": said})
			}
			said = ""
		}
		for _, p := range m.Parts {
			switch {
			case p.Kind == handover.Call:
				speak()
				add("function_call", p.Tool, map[string]any{"type": "function_call", "call_id": p.ID, "name": p.Tool, "arguments": string(p.Input)})
			case p.Kind == handover.Result:
				add("function_call_output", nil, map[string]any{"type": "function_call_output", "call_id": p.ID, "output": p.Text})
			case p.Kind == handover.Picture:
				words = append(words, map[string]any{"type": "input_image", "detail": "auto", "image_url": p.Picture.DataURL()})
			case m.Assistant:
				if said != "" {
					said += "\n\n"
				}
				said += p.Text
			default:
				words = append(words, map[string]any{"type": "input_text", "text": p.Text})
			}
		}
		speak()
		if len(words) > 0 {
			add("user", nil, map[string]any{"role": "user", "content": words})
		}
	}
	return items
}
