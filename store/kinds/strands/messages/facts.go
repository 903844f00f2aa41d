package messages

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/kinds/strands/runs"
	"hindcast/store/media/files"
)

// maxFact bounds the value of a fact in bytes, give or take a name.
const maxFact = 200

// about describes a row: the members beside the message in its file, the work of the conversation manager on it, and
// at the head the interrupts that the agent waits for.
func (s *Store) about(ctx context.Context, in engine.In, row *engine.Row) (about engine.About, err error) {
	if p := row.Place.Own.(place); p.orchestrator == "" {
		about.Facts, err = agentLog{s, p, in}.facts(ctx, row.ID)
		return about, err
	}
	rs, err := recordsOf(row)
	if err == nil {
		about.Facts, err = rs.Facts(row.ID)
	}
	if err == nil {
		about.Gaps, err = rs.Gaps(row.ID)
	}
	return about, err
}

func (a agentLog) facts(ctx context.Context, id string) (model.Facts, error) {
	l := openLog(a.place, a.in)
	defer l.close()
	at, err := l.find(ctx, id)
	if err != nil {
		return nil, err
	}
	var f factList
	i := at.i
	f.Add("file", l.shown(l.path("messages", at.log.files[i].name)))
	f.Add(model.FactAgent, strings.TrimPrefix(a.agent, agentPrefix))
	if at.aside >= 0 {
		f.Add("set aside", at.branches.list[at.aside].reason.Text(clock))
		l = at.log
	}
	f.file(l.document(i))
	f.context(l, i)
	if i == len(l.files)-1 {
		f.agent(&l.agent)
	}
	return f.Facts, nil
}

// document reads the file of message i.
func (l *messageLog) document(i int) files.Document {
	var d decoder
	return files.ReadDocument(d.reader(l.tree, l.dir), l.files[i].name, nil)
}

// factList gathers what there is to say about a message.
type factList struct{ model.Facts }

// file adds the facts in a message file besides the message.
func (f *factList) file(d files.Document) {
	if d.Err != nil {
		f.Add("damaged", d.Err.Error())
		return
	}
	t := d.Tape
	message := t.Find(0, "message")
	redacted := t.Find(0, "redact_message")
	if redacted >= 0 && t.Kind(redacted) != jsontape.Null {
		message = redacted
	} else {
		redacted = jsontape.None
	}
	f.Add("message id", brief(t, t.Find(0, "message_id")))
	f.Add("tracking id", brief(t, t.Find(message, "tracking_id")))
	if created := t.Find(0, "created_at"); timeOf(t, created).IsZero() {
		f.Add("created", brief(t, created)) // which the header could not tell
	}
	// The SDK takes both times from the clock, one after the other.
	if updated := t.Find(0, "updated_at"); timeOf(t, updated).Sub(timeOf(t, t.Find(0, "created_at"))).Abs() >= time.Second {
		f.Add("updated", brief(t, updated))
	}
	if redacted >= 0 {
		text := "the SDK put this message in the place of another"
		if left := t.Find(0, "message"); left >= 0 && string(jsontape.AppendCompact(nil, t.Raw(left))) != string(jsontape.AppendCompact(nil, t.Raw(redacted))) {
			text += ", which is still in the file"
		}
		f.Add("redacted", text)
	}
	f.metadata(t, t.Find(message, "metadata"))
}

// metadata adds the SDK's notes about a model's answer; see MessageMetadata in
// types/content.py.
func (f *factList) metadata(t *jsontape.Tape, n jsontape.Node) {
	metrics := t.Find(n, "metrics")
	f.Facts = append(f.Facts, slices.Concat(
		runs.Usage("tokens", "tokens", t, t.Find(n, "usage")),
		runs.Millis("model took", "latencyMs", t, t.Find(metrics, "latencyMs")),
		runs.Millis("first byte after", "timeToFirstByteMs", t, t.Find(metrics, "timeToFirstByteMs")),
	)...)
	custom := t.Find(n, "custom")
	if t.Kind(t.Find(custom, "pinned")) == jsontape.True {
		f.Add("pinned", "the conversation manager is to keep it")
	}
	if t.Kind(custom) == jsontape.Object {
		f.Add("custom", brief(t, custom))
	}
}

// context adds the effect of the conversation manager on message i.
func (f *factList) context(l *messageLog, i int) {
	a := &l.agent
	switch {
	case a.missing:
		f.Add("context", "none: there is no agent.json, and a start makes a new agent")
	case l.evicted(i) && a.summary != nil:
		f.Add("context", "taken out by "+a.managerName()+"; a summary stands in its place")
	case l.evicted(i):
		f.Add("context", "taken out by "+a.managerName())
	case i < a.pinned:
		f.Add("context", "held at the head by "+a.managerName())
	case a.summary != nil && i == l.start:
		f.Add("context", "the first message behind the summary")
	case i == l.start && i > 0:
		f.Add("context", "the first message that is loaded")
	}
}

// agent adds the facts about the whole agent in agent.json.
func (f *factList) agent(a *agentFile) {
	if a.manager != "" {
		text := a.managerName()
		if a.removed > 0 {
			text += ", " + a.removedText() + " taken out"
		}
		if a.pinned > 0 {
			text += ", " + model.Count(a.pinned, "message") + " held at the head"
		}
		if a.summary != nil {
			text += ", with a summary"
		}
		f.Add("manager", text)
	}
	for k, interrupt := range a.waiting {
		if k == mostAsked {
			f.Add("waits for", strconv.Itoa(len(a.waiting)-k)+" more")
			break
		}
		f.Add("waits for", interrupt)
	}
	if a.interrupted && len(a.held) > 0 {
		f.Add("holds back", conversation.List(a.held, func(c call) string { return nameOf(c.name, c.id) }))
	}
}

// mostAsked bounds the interrupts that are told one by one.
const mostAsked = 20

// brief returns a value in one line: a string decoded, any other value as it is written;
// "" if it is missing or null.
func brief(t *jsontape.Tape, n jsontape.Node) string {
	switch t.Kind(n) {
	case jsontape.Invalid, jsontape.Null:
		return ""
	case jsontape.String:
		text := string(t.AppendText(nil, n, maxFact+1))
		return conversation.Cut(conversation.OneLine(text), maxFact)
	}
	return conversation.Cut(string(jsontape.AppendCompact(nil, t.Raw(n))), maxFact)
}

// managerName returns the class of the conversation manager.
func (a *agentFile) managerName() string { return cmp.Or(a.manager, "the conversation manager") }

// clock writes a time in a fact.
func clock(at time.Time) string { return at.UTC().Format(time.RFC3339) }
