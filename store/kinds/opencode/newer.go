package opencode

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
	"hindcast/store/media/sqlitefile"
)

// opencode 2 keeps a session in a row of session_v2, and each message in one row of session_message, in the order of seq:
//
//	user                text, files[]
//	synthetic, skill    text, which the model gets as the user's
//	system              text
//	shell               command, output, which the model gets as the user's
//	assistant           agent, model, content[], finish, cost, tokens, error
//	compaction          status, summary, recent: a completed one stands for all before it
//	idle, …-switched    which the model does not get
//
// content has {type: text or reasoning, text} and {type: tool, id, name, state: {status, input, content[], error}}. A row is
// read as the message and the parts that opencode 1 would have written. The tables of opencode 1 stay in the database, and a
// session that both have is read of opencode 2. What a revert deleted stays in the log of events, whose records are others
// than those of opencode 1 and are not read. Written from packages/schema/src/session-message.ts and to-llm-message.ts of
// opencode 2.0; npm has no 2.0 to record.

// newerTables are the tables of opencode 2, with columns.
var newerTables = map[string]string{
	"session_v2":      "id parent_id directory title time_updated",
	"session_message": "id session_id type seq time_updated data",
}

// markers are the types of rows that the model does not get.
var markers = map[string]bool{"idle": true, "agent-switched": true, "model-switched": true, "location-switched": true}

// isNewer reports whether a session has rows of opencode 2.
func isNewer(ctx context.Context, t *sqlitefile.Tx, session string) (is bool, err error) {
	if is, err = chat.HasTables(ctx, t, newerTables); err != nil || !is {
		return false, err
	}
	err = t.Row(ctx, "SELECT EXISTS (SELECT 1 FROM session_v2 WHERE id = ?1) AND EXISTS (SELECT 1 FROM session_message WHERE session_id = ?1)", session).Scan(&is)
	return is, ignoreUnreadable(err)
}

// newerRows is rowsOf for a session of opencode 2.
func newerRows(ctx context.Context, t *sqlitefile.Tx, session string, id ...string) (list []stored, lost int, err error) {
	where, args := "session_id = ?", []any{session}
	if len(id) > 0 {
		where, args = where+" AND id = ?", append(args, id[0])
	}
	lost, err = t.Salvage(ctx, func(scan func(...any) error) error {
		m := stored{newer: true}
		var kind string
		var data []byte
		err := scan(&m.id, &m.seq, &kind, &data)
		if !markers[kind] {
			m.learnNewer(session, kind, data)
			list = append(list, m)
		}
		return err
	}, "ifnull(id, ''), ifnull(CAST(seq AS INTEGER), 0), ifnull(type, ''), ifnull(data, '')", "session_message WHERE "+where+" ORDER BY seq", args...)
	return list, lost, err
}

// learnNewer reads a row of opencode 2 as a message and its parts.
func (m *stored) learnNewer(session, kind string, data []byte) {
	v, err := chat.Parse(data)
	if err != nil || v.Kind() != jsontape.Object {
		m.info = data // it is told as damaged
		return
	}
	info := map[string]any{"id": m.id, "sessionID": session, "role": "user"}
	keep := func(keys ...string) {
		for _, key := range keys {
			if one := v.Get(key); one.There() {
				info[key] = json.RawMessage(one.Raw())
			}
		}
	}
	keep("time")
	switch kind {
	case "user", "synthetic", "skill":
		m.addText(v.Get("text").Text(), kind != "user")
		for file := range v.Get("files").Each() {
			m.addFile(file)
		}
	case "system":
		info["role"] = "system"
		m.addText(v.Get("text").Text(), true)
	case "shell":
		m.addText("Shell command: "+v.Get("command").Text()+"\n\n"+v.Get("output", "output").Text(), true)
	case "assistant":
		info["role"], info["modelID"], info["providerID"] = "assistant", v.Get("model", "id").Text(), v.Get("model", "providerID").Text()
		keep("agent", "finish", "cost", "tokens")
		for one := range v.Get("content").Each() {
			if one.Get("type").Text() == typeTool {
				m.addTool(one)
			} else {
				m.addPart(one.Raw())
			}
		}
	case "compaction":
		m.addText(v.Get("summary").Text(), true)
		m.addText(v.Get("recent").Text(), true)
		m.stands = v.Get("status").Text() == statusCompleted
	default:
		m.addPart(jsontape.AppendQuoted([]byte(`{"type":`), kind), []byte(`,"record":`), v.Raw(), []byte("}"))
	}
	if why := v.Get("error"); why.Get("message").There() {
		info["error"] = map[string]any{"name": why.Get("type").Text(), "data": map[string]any{"message": why.Get("message").Text()}}
	}
	m.info, _ = json.Marshal(info) // texts and what was parsed
	if at := v.Get("time", "created").Milliseconds(); !at.IsZero() {
		m.created = at.UnixMilli()
	}
}

// addPart adds the record of a part, which is given in pieces.
func (m *stored) addPart(record ...[]byte) {
	var data []byte
	for _, piece := range record {
		data = append(data, piece...)
	}
	m.parts = append(m.parts, part{fmt.Sprintf("%s/%03d", m.id, len(m.parts)), data})
}

// addValue adds a part.
func (m *stored) addValue(one map[string]any) {
	data, _ := json.Marshal(one) // texts and what was parsed
	m.addPart(data)
}

// addText adds a text; synthetic says that the person did not type it.
func (m *stored) addText(text string, synthetic bool) {
	if text != "" {
		m.addValue(map[string]any{"type": typeText, "text": text, "synthetic": synthetic})
	}
}

// addFile adds an attachment of the user. The model gets that of a text as a text.
func (m *stored) addFile(v chat.Value) {
	name := v.Get("name").Text()
	if name == "" {
		name = v.Get("source", "uri").Text() + v.Get("uri").Text()
	}
	if data, err := base64.StdEncoding.DecodeString(v.Get("data").Text()); err == nil && unread[v.Get("mime").Text()] {
		m.addText(strings.TrimSpace("Attached file: "+name+"\n\n"+string(data)), true)
		return
	}
	m.addValue(map[string]any{"type": typeFile, "mime": v.Get("mime").Text(), "filename": name, "url": v.Get("uri").Text(), "record": json.RawMessage(v.Raw())})
}

// addTool adds the call of a tool with its result.
func (m *stored) addTool(v chat.Value) {
	from, state := v.Get("state"), map[string]any{}
	for _, key := range []string{"status", "input", "metadata"} {
		if one := from.Get(key); one.There() {
			state[key] = json.RawMessage(one.Raw())
		}
	}
	var texts []string
	for one := range from.Get("content").Each() {
		if text := one.Get("text"); text.There() {
			texts = append(texts, text.Text())
		} else {
			texts = append(texts, strings.TrimSpace(one.Get("mime").Text()+" "+one.Get("name").Text()+" "+one.Get("uri").Text()))
		}
	}
	switch output := strings.Join(texts, "\n"); from.Get("status").Text() {
	case "streaming":
		state["status"] = statusPending
	case statusError:
		state["error"] = strings.TrimSpace(from.Get("error", "message").Text() + "\n" + output)
	default:
		state["output"] = output
	}
	m.addValue(map[string]any{"type": typeTool, "tool": v.Get("name").Text(), "callID": v.Get("id").Text(), "state": state})
}
