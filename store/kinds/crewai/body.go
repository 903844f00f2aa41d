package crewai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// body holds the parts of a checkpoint's document that are read.
type body struct {
	Version  string    `json:"crewai_version"`
	Parent   string    `json:"parent_id"`
	Branch   string    `json:"branch"`
	Trigger  string    `json:"trigger"`
	Entities *[]entity `json:"entities"`
	Record   *struct {
		Nodes map[string]struct {
			Event event `json:"event"`
		} `json:"nodes"`
	} `json:"event_record"`
}

type event struct {
	Type string    `json:"type"`
	Time time.Time `json:"timestamp"`
	// Usage is the usage of a model, in an event of a model.
	Usage json.RawMessage `json:"usage"`
}

// entity is a crew, a flow or an agent; or a flow that executes an agent, which crewAI lists too.
type entity struct {
	Type     string `json:"entity_type"`
	Executor string `json:"executor_type"`
	Name     string `json:"name"`
	Role     string `json:"role"`
	Kickoff  string `json:"checkpoint_kickoff_event_id"`
	Tasks    []task `json:"tasks"`
	Agents   []struct {
		Role string `json:"role"`
		LLM  struct {
			Type  string `json:"llm_type"`
			Model string `json:"model"`
		} `json:"llm"`
	} `json:"agents"`
	State struct {
		ID string `json:"id"`
	} `json:"checkpoint_state"`
	Outputs []struct {
		Method string          `json:"method"`
		Output json.RawMessage `json:"output"`
	} `json:"checkpoint_method_outputs"`
	Checkpoint struct {
		Location string `json:"location"`
	} `json:"checkpoint"`
}

type task struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Output      *output `json:"output"`
}

type output struct {
	Raw      string            `json:"raw"`
	Agent    string            `json:"agent"`
	Failures []json.RawMessage `json:"tool_failures"`
}

// errNoCheckpoint: a document is JSON and no checkpoint of crewAI.
var errNoCheckpoint = errors.New("it has no entities and no event_record")

// bodyOf reads a document. Members of another type than crewAI writes are as none.
func bodyOf(data []byte) (b body, err error) {
	if !jsontape.Valid(data) {
		return b, errors.New("it is not JSON")
	}
	if err := json.Unmarshal(data, &b); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) && !errors.As(err, new(*time.ParseError)) {
		return b, err
	}
	if b.Entities == nil || b.Record == nil {
		return b, errNoCheckpoint
	}
	return b, nil
}

// findSubject returns the first entity that executes no agent: the checkpoint is about it.
func (b *body) findSubject() *entity {
	for i := range *b.Entities {
		if e := &(*b.Entities)[i]; e.Executor == "" {
			return e
		}
	}
	return &entity{Type: "crew"}
}

// runName returns the name of the run.
func (b *body) runName() string {
	e := b.findSubject()
	id := cmp.Or(e.Kickoff, e.State.ID, "run")
	return conversation.OneLine(cmp.Or(e.Name, e.Role, e.Type, "crew")) + "-" + model.ShortID(id, 8)
}

// eventPrints returns a number for each event, in order, and when the last one happened.
func (b *body) eventPrints() (list []uint64, last time.Time) {
	for id, n := range b.Record.Nodes {
		hash := fnv.New64a()
		hash.Write([]byte(id))
		if list = append(list, hash.Sum64()); n.Event.Time.After(last) {
			last = n.Event.Time
		}
	}
	slices.Sort(list)
	return list, last.UTC()
}

// countDone returns how many tasks or methods are done, and the last of them with its result.
func (b *body) countDone() (n, of int, last, came string, failed bool) {
	e := b.findSubject()
	for i := range e.Tasks {
		t := &e.Tasks[i]
		if of++; t.Output == nil {
			continue
		}
		n++
		last, came, failed = cmp.Or(t.Name, t.Description), t.Output.Raw, len(t.Output.Failures) > 0
	}
	for _, o := range e.Outputs {
		n++
		last, came = o.Method, string(jsontape.AppendCompact(nil, o.Output))
		if strings.HasPrefix(came, `"`) {
			came = jsontape.Unquote([]byte(came))
		}
	}
	return n, of, last, came, failed
}

// mostTitle bounds titles, in bytes.
const mostTitle = 200

// describeRow sets the title, the event and the marks of a checkpoint's header.
func (b *body) describeRow(h *model.Header) {
	n, of, last, came, failed := b.countDone()
	h.Event, h.EventName = model.SnapshotEventNamed, cmp.Or(strings.ReplaceAll(b.Trigger, "_", " "), "checkpoint")
	h.TurnIndex = model.TurnUnknown
	if of > 0 && n == of {
		h.Event, h.EventName = model.SnapshotEventTurnEnd, ""
	}
	if last != "" {
		h.Title = conversation.Cut(conversation.OneLine(last+": "+came), mostTitle)
	}
	if failed {
		h.Marks |= model.MarkError
	}
}

// mismatchedPlace returns the parent and the branch that the document names, where the name of its file, or its
// row, names others; else nil.
func (b *body) mismatchedPlace(parent, branch string) []string {
	if b.Parent == parent && b.Branch == branch {
		return nil
	}
	return []string{b.Parent, b.Branch}
}

// resumeCalls returns the calls that go on from the checkpoint at a location.
func (b *body) resumeCalls(location string) []model.Resume {
	var h model.Header
	b.describeRow(&h)
	return resumeCalls(b.findSubject().Type, h.Event, location)
}

// firstTask returns the first task of a run.
func (b *body) firstTask() string {
	e := b.findSubject()
	if len(e.Tasks) > 0 {
		return conversation.PromptTitle(e.Tasks[0].Description)
	}
	return conversation.OneLine(cmp.Or(e.Name, e.Role))
}

// secondOf returns the second in an id.
func secondOf(id string) time.Time {
	second, _, _ := strings.Cut(id, "_")
	at, err := time.Parse(layout, second)
	if err != nil {
		return time.Time{}
	}
	return at
}

// otherFacts returns the other facts of a checkpoint.
func (b *body) otherFacts() (facts model.Facts) {
	e := b.findSubject()
	n, of, _, _, _ := b.countDone()
	facts.Add("branch", b.Branch)
	facts.Add("of", cmp.Or(e.Type, "unknown"))
	if of > 0 {
		facts.Add("tasks done", fmt.Sprintf("%d of %d", n, of))
	}
	var methods []string
	for _, o := range e.Outputs {
		methods = append(methods, o.Method)
	}
	facts.Add("methods done", conversation.List(methods, conversation.OneLine))
	facts.Add("events", fmt.Sprint(len(b.Record.Nodes)))
	facts.Add("writes to", e.Checkpoint.Location)
	facts.Add("crewAI", b.Version)
	facts.Count(b.usedTokens())
	return facts
}

// usedTokens returns the tokens of all events. A checkpoint contains the events of the run up to it.
func (b *body) usedTokens() (c model.Counted) {
	for _, n := range b.Record.Nodes {
		t, err := jsontape.Parse(slices.Concat([]byte(`{"usage":`), n.Event.Usage, []byte("}")))
		if err != nil {
			continue // the event is not one of a model
		}
		u := conversation.UsageOf(t, 0)
		c.Read, c.FromCache, c.Written = c.Read+u.Input, c.FromCache+u.CacheRead, c.Written+u.Output
	}
	return c
}

// ownModels returns the roles of agents whose model is an object of the program: crewAI keeps
// its name alone.
func (b *body) ownModels() (roles []string) {
	for _, a := range b.findSubject().Agents {
		if a.LLM.Type == "base" {
			roles = append(roles, a.Role)
		}
	}
	return roles
}
