package claudecode

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
)

// record holds the parts of a line that are kept.
type record struct {
	kind string
	// id names the record, and parent the one before it; both are "" of a record that says
	// something of the session. logical is, of a boundary, the last record before the compaction.
	id, parent, logical string
	source              string // the session that a fork of Claude Code's copied the record from
	at                  time.Time
	// tree says that the record has a place in the tree, speaks that it is a message, and
	// words that the message has some; side that a sub-agent wrote it.
	tree, speaks, words, side bool
	said                      chat.Said
	// event names the kind of a user message that the user did not write.
	event  string
	answer string // the id of the model's answer that it is a part of
	failed bool   // an answer that Claude Code made of an error
	// asks are the calls that start a sub-agent, and prompt what a message of one asks.
	asks   []ask
	prompt print
	// within is the sub-agent whose message a progress record holds. call is the tool call that started it.
	within, call string
	// onwards marks a summary of the messages that follow a kept one: "Summarize from here" of /rewind.
	onwards bool
	meta    chat.Meta
	// text is a title, or an error; leaf is the record that a last-prompt goes on from, or the
	// last one of the session that a summary is of.
	text, leaf string
	agent      string // the sub-agent that a result names
	bounds     *boundary
	given      *attachment // what the record gives the model beside the conversation, nil for nothing
	prompts    bool        // it has the system prompt
	// facts belong to a compaction, a request or a duration, or give the model's replacements of results by
	// the ids of their calls.
	facts model.Facts
	total *model.Counted // what Claude Code counted for the session until then
	sum   uint32         // the checksum of its text, 0 of a damaged line
}

// boundary is where a compaction begins: what it keeps stands behind the record anchor.
type boundary struct {
	anchor     string
	keeps      []string
	head, tail string // of what is kept, where keeps is empty
}

// parentIDs returns the ids of the records that one may follow, the best one first. A boundary has
// a parent where /branch wrote its session anew in the order of the conversation.
func (r *record) parentIDs() [2]string {
	if r.parent == "" {
		return [2]string{r.logical}
	}
	return [2]string{r.parent, r.logical}
}

// Types of records that are read.
const (
	typeUser, typeAssistant     = "user", "assistant"
	typeSystem, typeAttachment  = "system", "attachment"
	typeLastPrompt              = "last-prompt"
	typeCustom, typeAI, typeSum = "custom-title", "ai-title", "summary"
	typeCost, typeRequest       = "cost-state", "api-request"
	typeReplaced                = "content-replacement"
	typeProgress                = "progress"
)

// Events of messages.
const (
	eventCompaction = "compaction"
	eventContext    = chat.EventContext
	eventCommand    = chat.EventCommand
	eventAsked      = chat.EventUser // by a command
	eventQueued     = "queued"
	eventNotified   = "notified"
)

// types has a parser for each record type that Claude Code writes. Records of the types in [light] are not
// parsed as a whole. Versions of Claude Code differ only in the types that they write.
var types = sync.OnceValue(func() map[string]func(*record, chat.Value) {
	return map[string]func(*record, chat.Value){
		typeUser:       (*record).keepUser,
		typeAssistant:  (*record).keepAssistant,
		typeSystem:     (*record).keepSystem,
		typeAttachment: (*record).keepAttachment,
		typeLastPrompt: func(r *record, v chat.Value) { r.leaf = v.Get("leafUuid").Text() },
		typeCustom:     func(r *record, v chat.Value) { r.text = v.Get("customTitle").Words() },
		typeAI:         func(r *record, v chat.Value) { r.text = v.Get("aiTitle").Words() },
		typeSum:        func(r *record, v chat.Value) { r.text, r.leaf = v.Get("summary").Words(), v.Get("leafUuid").Text() },
		typeRequest:    (*record).keepRequest,
		typeCost:       (*record).keepCost,
		typeReplaced: func(r *record, v chat.Value) {
			for each := range v.Get("replacements").Each() {
				r.facts.Add(each.Get("toolUseId").Text(), each.Get("replacement").Words())
			}
		},
		typeProgress: (*record).keepProgress, "queue-operation": ignoreRecord, "mode": ignoreRecord, "file-history-snapshot": ignoreRecord, "file-history-delta": ignoreRecord,
		"api-request-shape": ignoreRecord, "api-request-blob": ignoreRecord, "api-request-resumed": ignoreRecord,
		"atis-latch": ignoreRecord, "tools-used": ignoreRecord, "attribution-snapshot": ignoreRecord,
		"continued-in": ignoreRecord, "resume-head-vouch": ignoreRecord, "derived-from": ignoreRecord, "fork-context-ref": ignoreRecord,
		"data-flow-records": ignoreRecord, "data-flow-incomplete": ignoreRecord, "frame-link": ignoreRecord, "ended-by-model": ignoreRecord,
		"tag": ignoreRecord, "relocated": ignoreRecord, "agent-name": ignoreRecord, "agent-color": ignoreRecord, "agent-setting": ignoreRecord,
		"pr-link": ignoreRecord, "artifact-comment-monitor": ignoreRecord, "artifact-autoreact-ledger": ignoreRecord, "bridge-session": ignoreRecord,
		"history-suppression": ignoreRecord, "isolation-latch": ignoreRecord, "session-owner": ignoreRecord, "dev-mods": ignoreRecord,
		"memory-mode": ignoreRecord, "worktree-state": ignoreRecord, "observer-ref": ignoreRecord, "host-row": ignoreRecord, "repl-mode": ignoreRecord,
		"hybrid-organization": ignoreRecord, "marble-origami-commit": ignoreRecord, "marble-origami-snapshot": ignoreRecord, "speculation-accept": ignoreRecord,
	}
})

// ignoreRecord keeps nothing: a record of such a type only has a place in the tree, or not even that.
func ignoreRecord(*record, chat.Value) {}

// light are the types whose records may be large and hold no message: what is kept of them
// are members, which are found without a look at the values between.
var light = sync.OnceValue(func() map[string]bool {
	return map[string]bool{
		"api-request-shape": true, "api-request-blob": true, "api-request-resumed": true,
		"file-history-snapshot": true, "file-history-delta": true, "attribution-snapshot": true,
	}
})

// decodeLine keeps what is named here of a line.
func decodeLine(l *chat.Line) (r record, err error) {
	err = r.keepLine(l)
	return r, err
}

// keepLine keeps what is named here of a line. A large one is not parsed to find that it is light.
func (r *record) keepLine(l *chat.Line) error {
	const large = 16 << 10
	if len(l.Raw) < large {
		if v, err := l.Parse(); err == nil {
			r.keepRecord(v)
			return nil
		}
	}
	if kind, err := typeOf(l.Raw); err != nil || light()[kind] {
		r.kind = kind
		return err
	}
	v, err := l.Parse()
	if err == nil {
		r.keepRecord(v)
	}
	return err
}

// keepRecord keeps what is named here of a record. Only its beginning may be known.
func (r *record) keepRecord(v chat.Value) {
	text := func(key string) string { return v.Get(key).Text() }
	if r.kind = text("type"); light()[r.kind] {
		return
	}
	r.id, r.parent, r.source, r.sum = text("uuid"), text("parentUuid"), sourceOf(v), crc32.ChecksumIEEE(v.Raw())
	r.at, r.side = v.Get("timestamp").Time(), v.Get("isSidechain").True()
	r.tree = r.id != "" && v.Get("parentUuid").There()
	r.meta = chat.Meta{Dir: text("cwd"), Branch: text("gitBranch"), Version: text("version"), Mode: text("permissionMode")}
	if keep := types()[r.kind]; keep != nil {
		keep(r, v)
	}
}

// typeOf returns the type of a record without parsing it: the keys are in no fixed order,
// but in large records the type is mostly the first. An error is a line that is no object.
func typeOf(line []byte) (kind string, err error) {
	for m, err := range jsontape.Members(line) {
		if err != nil || m.Key == nil {
			return "", cmp.Or(err, error(&jsontape.SyntaxError{Msg: "it is no JSON object"}))
		}
		if string(m.Key) == `"type"` {
			return jsontape.Unquote(m.Value), nil
		}
	}
	return "", nil
}

// sourceOf returns the session that a record was copied from, "" if it is no copy. Since 2.1.3xx only an
// answer names that session; before, each record of a branch did.
func sourceOf(v chat.Value) string {
	source := v.Get("requestSessionId").Text()
	if source == "" {
		source = v.Get("forkedFrom", "sessionId").Text()
	}
	if source == "" || source == v.Get("sessionId").Text() {
		return ""
	}
	return source
}

// keepMessage keeps the message of a record, and returns how its first text begins.
func (r *record) keepMessage(v chat.Value) (begins string) {
	m := contentOf(v)
	r.tree, r.speaks = true, true
	r.said, r.answer, r.meta.Model = m.Summarise(), m.ID, m.Model
	for _, b := range m.Blocks {
		if b.Kind == conversation.Text && !r.words {
			r.words, begins = true, chat.Words(b.Body, longestTag)
		}
	}
	return begins
}

// longestTag bounds the beginnings of texts that are injected, in bytes.
const longestTag = 40

// injected are the beginnings of messages that a command of the user's made, not the user.
var injected = []string{"<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>", "<bash-input>", "<bash-stdout>", "<bash-stderr>"}

func (r *record) keepUser(v chat.Value) {
	begins := r.keepMessage(v)
	if r.side {
		r.prompt = promptOf(v)
	}
	switch {
	case v.Get("isCompactSummary").True():
		r.event = eventCompaction
		r.onwards = v.Get("summarizeMetadata", "direction").Text() == "from"
	case v.Get("isMeta").True():
		r.event = eventContext
	case v.Get("promptSource").Text() == "system":
		r.event = eventNotified
	default:
		for _, tag := range injected {
			if strings.HasPrefix(begins, tag) {
				r.event = eventCommand
			}
		}
		if r.event == eventCommand && r.said.By == conversation.Prompt {
			r.event = eventAsked
		}
	}
	done := v.Get("toolUseResult")
	r.agent = done.Get("agentId").Text()
	if len(r.said.Results) == 1 {
		r.said.Results[0].Told = toldOf(done)
	}
}

// toldOf says how much came of a call, as Claude Code records it beside the result; "" where it does not.
func toldOf(done chat.Value) string {
	added, removed := 0, 0
	for hunk := range done.Get("structuredPatch").Each() {
		for line := range hunk.Get("lines").Each() {
			switch raw := line.Raw(); {
			case bytes.HasPrefix(raw, []byte(`"+`)):
				added++
			case bytes.HasPrefix(raw, []byte(`"-`)):
				removed++
			}
		}
	}
	file := done.Get("file")
	first, lines, all := int(file.Get("startLine").Number()), int(file.Get("numLines").Number()), int(file.Get("totalLines").Number())
	switch calls := int(done.Get("totalToolUseCount").Number()); {
	case added+removed > 0:
		return conversation.Change(added, removed)
	case first > 0 && lines > 0 && lines < all:
		return fmt.Sprintf("%d-%d", first, first+lines-1)
	case first > 0 && lines > 0:
		return model.Count(lines, "line")
	case calls > 0:
		return model.Count(calls, "call")
	}
	return ""
}

// synthetic is the model of an answer that no model gave.
const synthetic = "<synthetic>"

func (r *record) keepAssistant(v chat.Value) {
	r.keepMessage(v)
	r.asks = asksOf(v)
	if r.meta.Model == synthetic {
		r.meta.Model = ""
	}
	r.failed = v.Get("isApiErrorMessage").True()
}

// Subtypes of system records that are read.
const (
	subtypeBoundary = "compact_boundary"
	subtypeError    = "api_error"
)

func (r *record) keepSystem(v chat.Value) {
	switch v.Get("subtype").Text() {
	case subtypeBoundary:
		r.logical = v.Get("logicalParentUuid").Text()
		m := v.Get("compactMetadata")
		segment, kept := m.Get("preservedSegment"), m.Get("preservedMessages")
		r.bounds = &boundary{
			anchor: cmp.Or(kept.Get("anchorUuid").Text(), segment.Get("anchorUuid").Text()),
			head:   segment.Get("headUuid").Text(), tail: segment.Get("tailUuid").Text(),
		}
		for id := range kept.Get("uuids").Each() {
			r.bounds.keeps = append(r.bounds.keeps, id.Text())
		}
		r.facts.Add("compaction", m.Get("trigger").Text())
		for _, key := range []string{"preTokens", "postTokens"} {
			r.facts.Add(key, string(m.Get(key).Raw()))
		}
	case subtypeError:
		e := v.Get("error")
		r.text = cmp.Or(e.Get("formatted").Words(), e.Get("message").Words(), e.Words(), v.Get("content").Words(), subtypeError)
	}
}

// keepCost keeps what Claude Code counted for the whole session until then.
func (r *record) keepCost(v chat.Value) {
	for _, n := range []struct{ key, label string }{{"totalAPIDuration", "session ms of requests"}, {"totalDuration", "session ms"}} {
		r.facts.Add(n.label, string(v.Get(n.key).Raw()))
	}
	r.total = &model.Counted{Dollars: v.Get("totalCostUSD").Number()}
	for model := range v.Get("modelUsage").Each() {
		r.total.Read += model.Get("inputTokens").Number()
		r.total.FromCache += model.Get("cacheReadInputTokens").Number()
		r.total.Written += model.Get("outputTokens").Number()
	}
}

// keepRequest keeps how many messages the model was sent: those of an earlier request, and more.
func (r *record) keepRequest(v chat.Value) {
	n := int(min(max(v.Get("keep").Number(), 0), 1e9))
	for range v.Get("tail").Each() {
		n++
	}
	r.facts.Add("request", fmt.Sprintf("%s (%.40s)", model.Count(n, "message"), v.Get("querySource").Text()))
}

// called are the types of titles: the user's own counts first.
var called = []string{typeCustom, typeAI, typeSum}

// titles holds the records that give the session a title, by record type.
type titles map[string][]*record

func (t titles) addTitle(r *record) {
	if slices.Contains(called, r.kind) {
		t[r.kind] = append(t[r.kind], r)
	}
}

// bestTitle returns the session's title. A later title replaces an earlier one, and a title of another session
// does not count. has reports whether the session contains a record.
func (t titles) bestTitle(has func(id string) bool) (title string) {
	for _, kind := range called {
		for _, r := range slices.Backward(t[kind]) {
			if r.leaf == "" || has(r.leaf) {
				title = cmp.Or(title, r.text)
				break
			}
		}
	}
	return title
}

// messageOf returns the message of a record.
func messageOf(record chat.Value) (m chat.Message) {
	m = contentOf(record)
	m.Raw = [][]byte{record.Raw()}
	if said := saidIn(record); said.Get("type").Text() == typeAssistant && sourceOf(said) == "" { // else that session has counted it
		m.Usage = said.Get("message").Usage()
		if cost := said.Get("costUSD"); cost.Kind() == jsontape.Number {
			m.Usage.Cost, m.Usage.Priced = cost.Number(), true
		}
	}
	return m
}

// saidIn returns the record of a message: that inside of a progress record, else the record itself.
func saidIn(record chat.Value) chat.Value {
	for record.Get("type").Text() == typeProgress {
		record = record.Get("data", "message")
	}
	return record
}

// contentOf returns the message of a record without its raw text and its usage.
func contentOf(record chat.Value) (m chat.Message) {
	record = saidIn(record)
	v := record.Get("message")
	content := v.Get("content")
	if a := record.Get(typeAttachment); a.Get("type").Text() == queued {
		content = a.Get("prompt")
	} else if a.There() {
		m.Role, m.Blocks = chat.User, []chat.Block{contextOf(record)}
		return m
	}
	m.Role = chat.User
	if record.Get("type").Text() == typeAssistant {
		m.Role, m.ID, m.Model = chat.Assistant, v.Get("id").Text(), v.Get("model").Text()
	}
	m.AddContent(content)
	return m
}
