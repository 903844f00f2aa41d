package codex

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
)

// How a search finds messages in a rollout without reading the session
//
// An item tells by itself what it adds to states. Events are beside it: one before the output of a tool says whether the
// tool failed, and one that repeats an item adds nothing, unless no item has its text.

// Sources implements chat.Plain. A session that is packed, in segments, or goes on from the history of another has to
// be read.
func (f *format) Sources(in engine.In, at chat.Spot) []string {
	if at.Part != "" || len(at.More) > 0 || strings.HasSuffix(at.File, packed) {
		return nil
	}
	const whole = "whole"
	if whole != chat.AskHead(in, at.File, "base", func(head []byte) string {
		switch h := headerIn(head[:bytes.LastIndexByte(head, '\n')+1]); {
		case !h.There():
			return ""
		case h.Get("history_base").There():
			return "goes on"
		}
		return whole
	}) {
		return nil
	}
	return []string{at.File}
}

// Adds implements chat.Plain.
func (f *format) Adds(e *chat.Entry) int {
	if e.Event != eventCompaction {
		return 1
	}
	list := e.Own.(*part).file.Records
	i, _ := slices.BinarySearchFunc(list, e.Records[0].At, func(r chat.Record[record], at int64) int { return int(r.At - at) })
	return list[i].Is.adds
}

// Composes implements chat.LineTeller.
func (f *format) Composes() string { return "" }

// TellLine implements chat.LineTeller.
func (f *format) TellLine(_ chat.Spot, line *chat.Line, near chat.Near) (list []chat.Message, when time.Time, tells chat.Telling) {
	v, err := line.Parse()
	if err != nil {
		return nil, when, chat.Unsure
	}
	is, body := openEnvelope(v)
	when = v.Get("timestamp").Time()
	switch is {
	case typeItem, typeBetween:
		m := itemOf(v)
		if m.Role == chat.Tool && !m.Blocks[0].Failed {
			failed, known := hasFailed(body.Get("call_id").Text(), near)
			if !known {
				return nil, when, chat.Unsure
			}
			m.Blocks[0].Failed = failed
		}
		return []chat.Message{m}, when, chat.Speaks
	case typeCompacted:
		if list = compactedOf(v); len(list) > 0 {
			list[len(list)-1].Usage.Counted = true // by a line behind it
		}
		return list, when, chat.Speaks
	case typeEvent:
		if settings := body.Get("thread_settings"); settings.There() {
			is, body = typeContext, settings
			break
		}
		switch m := toldBy(body, v); {
		case len(m.Blocks) == 0:
			return endIn(v, body, when, near)
		case m.Role == chat.System: // it says what failed
			return nil, when, chat.Unsure
		case near.FindsBeside(m.Blocks[0].Body, `"`+typeItem+`"`):
			return nil, when, chat.Silent
		}
		return nil, when, chat.Later
	}
	if sets := settingsOf(is, body, line.At == 0); len(sets) > 0 {
		return []chat.Message{{Blocks: sets}}, when, chat.Sets
	}
	return nil, when, chat.Silent
}

// endIn returns the part of a message that an event adds which tells how a tool ended: the record beside its output.
func endIn(line, event chat.Value, when time.Time, near chat.Near) ([]chat.Message, time.Time, chat.Telling) {
	call := event.Get("call_id")
	switch is := event.Get("type").Text(); {
	case is == "item_completed":
		call = event.Get("item", "id")
	case types()[typeEvent+":"+is].keep == nil || !strings.HasSuffix(is, "_end"):
		return nil, when, chat.Silent
	}
	if call.Text() == "" {
		return nil, when, chat.Silent
	}
	if near.FindsBeside(call.Raw(), `_call_output"`) {
		return []chat.Message{{Role: chat.Tool, Raw: [][]byte{line.Raw()}}}, when, chat.Extends
	}
	return nil, when, chat.Later
}

// hasFailed reports whether an event before the output of a call says that the tool failed. known is false where no
// line of the call is near.
func hasFailed(call string, near chat.Near) (failed, known bool) {
	line, ok := near.Before(string(jsontape.AppendQuoted(nil, call)))
	if !ok {
		return false, false
	}
	v, err := line.Parse()
	if err != nil {
		return false, false
	}
	if is, _ := openEnvelope(v); is != typeEvent {
		return false, true
	}
	var r record // an event may have how it ended
	err = decodeLine(line, &r)
	return r.failed, err == nil && r.call == call
}

// settingPaths are where records have the settings of a session, by the names of those in states.
var settingPaths = sync.OnceValue(func() map[string]map[string][]string {
	return map[string]map[string][]string{
		typeHeader:  {"cwd": {"cwd"}, "version": {"cli_version"}, "gitBranch": {"git", "branch"}, "gitCommit": {"git", "commit_hash"}},
		typeGhost:   {"gitCommit": {"ghost_commit", "id"}},
		typeContext: {"model": {"model"}, "cwd": {"cwd"}, "mode": {"approval_policy"}},
	}
})

// settingsOf returns the settings of a record. A header that is not the first line may be that of a parent that was
// copied, and does not count.
func settingsOf(is string, v chat.Value, first bool) (list []chat.Block) {
	for name, path := range settingPaths()[is] {
		if is == typeHeader && !first {
			name = ""
		}
		if at := v.Get(path...); at.Text() != "" {
			list = append(list, chat.Block{Name: name, Body: at.Raw()})
		}
	}
	return list
}
