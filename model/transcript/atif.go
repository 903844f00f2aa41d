package transcript

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// Trajectory is a run in ATIF 1.8, Harbor's Agent Trajectory Interchange Format, as the models of the package
// harbor.models.trajectories define it. Its JSON is such a document. Its texts are untrusted.
type Trajectory struct {
	Version  string          `json:"schema_version"`
	Session  string          `json:"session_id"`
	ID       string          `json:"trajectory_id"`
	Agent    TrajectoryAgent `json:"agent"`
	Steps    []*step         `json:"steps"`
	Metrics  *finalMetrics   `json:"final_metrics,omitempty"`
	Children []*Trajectory   `json:"subagent_trajectories,omitempty"`

	conversation *conversation.Conversation
	// results has the result of each call by the number of its block.
	results map[int32]*result
}

// TrajectoryAgent is the agent of a Trajectory. Name and Version must not be empty.
type TrajectoryAgent struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Model   string `json:"model_name,omitempty"`
}

type step struct {
	ID          int            `json:"step_id"`
	Time        string         `json:"timestamp,omitempty"`
	Source      string         `json:"source"`
	Model       string         `json:"model_name,omitempty"`
	Message     any            `json:"message"`
	Reasoning   string         `json:"reasoning_content,omitempty"`
	Calls       []toolCall     `json:"tool_calls,omitempty"`
	Observation *observation   `json:"observation,omitempty"`
	Metrics     *stepMetrics   `json:"metrics,omitempty"`
	Extra       map[string]any `json:"extra,omitempty"`
}

// content is the content of a message or of a result.
type content []contentPart

type contentPart struct {
	Type   string       `json:"type"`
	Text   *string      `json:"text,omitempty"`
	Source *imageSource `json:"source,omitempty"`
}

type imageSource struct {
	MediaType string `json:"media_type"`
	Path      string `json:"path"`
}

type toolCall struct {
	ID        string          `json:"tool_call_id"`
	Name      string          `json:"function_name"`
	Arguments json.RawMessage `json:"arguments"`
}

type observation struct {
	Results []*result `json:"results"`
}

type result struct {
	Call     string          `json:"source_call_id,omitempty"`
	Content  any             `json:"content"`
	Children []trajectoryRef `json:"subagent_trajectory_ref,omitempty"`
	Extra    map[string]any  `json:"extra,omitempty"`
}

type trajectoryRef struct {
	ID string `json:"trajectory_id"`
}

type stepMetrics struct {
	Read    *int64   `json:"prompt_tokens,omitempty"`
	Written *int64   `json:"completion_tokens,omitempty"`
	Cached  int64    `json:"cached_tokens,omitempty"`
	Dollars *float64 `json:"cost_usd,omitempty"`
}

type finalMetrics struct {
	Read    int64   `json:"total_prompt_tokens,omitempty"`
	Written int64   `json:"total_completion_tokens,omitempty"`
	Cached  int64   `json:"total_cached_tokens,omitempty"`
	Dollars float64 `json:"total_cost_usd,omitempty"`
	Steps   int     `json:"total_steps"`
}

// value returns what stands for the content in JSON: of a single text the string, else the list of parts.
func (c content) value() any {
	switch {
	case len(c) == 0:
		return ""
	case len(c) == 1 && c[0].Source == nil:
		return *c[0].Text
	}
	return c
}

func (c *content) addText(text string) {
	if text != "" {
		*c = append(*c, contentPart{Type: "text", Text: &text})
	}
}

func (c *content) addPictures(list []Picture) {
	for _, p := range list {
		*c = append(*c, contentPart{Type: "image", Source: &imageSource{p.MediaType(), p.DataURL()}})
	}
}

// NewTrajectory returns the run of a conversation in a session: a step for each message, and results with their
// calls. at returns the time of a message, the zero time where it is not known. ATIF has no place for hidden
// reasoning, which is left out, and none for files other than pictures, whose labels are texts.
func NewTrajectory(session string, c *conversation.Conversation, at func(m int) time.Time) *Trajectory {
	t := &Trajectory{Version: "ATIF-v1.8", Session: session, ID: session, Agent: TrajectoryAgent{Version: "unknown"}, conversation: c, results: map[int32]*result{}}
	for _, m := range Of(c) {
		usage := conversation.UsageOf(c.Tape(), c.Message(m.Index).Node)
		if len(m.Parts) == 0 && !usage.Counted {
			continue
		}
		s := t.newStep(&m)
		if time := at(m.Index); !time.IsZero() {
			s.Time = time.UTC().Format("2006-01-02T15:04:05.000Z")
		}
		if t.Steps = append(t.Steps, s); s.Source == agentSource {
			s.Model = usage.Model
			t.addUsage(s, &usage)
		}
		s.ID = len(t.Steps)
	}
	if t.Metrics != nil {
		t.Metrics.Steps = len(t.Steps)
	}
	return t
}

// sources has the source of a step by the role of its message.
var sources = map[conversation.Role]string{
	conversation.User: "user", conversation.UnknownRole: "user", conversation.Assistant: agentSource, conversation.Tool: systemSource,
	conversation.System: systemSource,
}

const agentSource, systemSource = "agent", "system"

// newStep returns the step of a message.
func (t *Trajectory) newStep(m *Message) *step {
	s := &step{Source: sources[t.conversation.Message(m.Index).Role]}
	if m.Speaker != "" {
		s.Extra = map[string]any{"role": m.Speaker}
	}
	var said content
	parts := m.Parts
	for i, b := range t.conversation.Blocks(m.Index) {
		if b.Kind == conversation.ToolResult && b.Pair >= 0 {
			continue
		}
		part := &parts[0]
		parts = parts[1:]
		switch {
		case part.Thought():
			s.Source = agentSource
			if s.Reasoning != "" && part.Text != "" {
				s.Reasoning += "\n\n"
			}
			s.Reasoning += part.Text
		case b.Kind == conversation.ToolCall:
			s.Source = agentSource
			id := s.addCall(part, t.conversation.FirstBlock(m.Index)+i)
			if b.Pair >= 0 {
				t.results[int32(t.conversation.FirstBlock(m.Index)+i)] = s.addResult(part, id)
			}
		case b.Kind == conversation.ToolResult:
			s.addResult(part, "").Extra = map[string]any{"tool_call_id": part.CallID}
		case b.Kind == conversation.CachePoint:
		default:
			said.addPart(part)
		}
	}
	if len(said) > 0 && t.conversation.Message(m.Index).Role == conversation.Tool { // beside the results that have a call
		s.addContent("", said)
		said = nil
	}
	s.Message = said.value()
	return s
}

// addPart adds a part of a message.
func (c *content) addPart(part *Part) {
	switch {
	case part.Text != "":
		c.addText(part.Text)
	case len(part.Pictures) > 0:
		c.addPictures(part.Pictures)
	case part.ShownJSON() != nil:
		c.addText(Plain(part.ShownJSON()))
	case part.Label != conversation.BlankText:
		c.addText(part.Label)
	}
}

// addCall adds a call and returns its id, which is one of its own in the step. n is the number of its block.
func (s *step) addCall(part *Part, n int) string {
	call := toolCall{ID: part.CallID, Name: part.Tool, Arguments: part.Input}
	if call.ID == "" || slices.ContainsFunc(s.Calls, func(c toolCall) bool { return c.ID == call.ID }) {
		call.ID = fmt.Sprintf("%scall_%d", call.ID, n)
	}
	switch arguments, err := jsontape.Parse(part.Input); {
	case err != nil || arguments.Kind(0) == jsontape.Null:
		call.Arguments = json.RawMessage("{}")
	case arguments.Kind(0) != jsontape.Object:
		call.Arguments = slices.Concat([]byte(`{"input":`), part.Input, []byte("}"))
	}
	s.Calls = append(s.Calls, call)
	return call.ID
}

// addResult adds the result of a call of the step, or with an empty id another result.
func (s *step) addResult(part *Part, id string) *result {
	var said content
	pictures := part.Pictures
	for i, output := range part.Output {
		if len(pictures) > 0 && pictures[0].Output == i {
			said.addPictures(pictures[:1])
			pictures = pictures[1:]
		} else {
			said.addText(Plain(output))
		}
	}
	r := s.addContent(id, said)
	if part.Status == statusWord(conversation.Failed) {
		r.Extra = map[string]any{"is_error": true}
	}
	return r
}

func (s *step) addContent(id string, said content) *result {
	r := &result{Call: id, Content: said.value()}
	if s.Observation == nil {
		s.Observation = &observation{}
	}
	s.Observation.Results = append(s.Observation.Results, r)
	return r
}

// addUsage adds the cost of an answer to its step and to the sums.
func (t *Trajectory) addUsage(s *step, u *conversation.Usage) {
	if !u.Counted && !u.Priced {
		return
	}
	if s.Metrics = new(stepMetrics); t.Metrics == nil {
		t.Metrics = new(finalMetrics)
	}
	if u.Counted {
		read, written, cached := count(u.Input), count(u.Output), count(u.CacheRead)
		s.Metrics.Read, s.Metrics.Written, s.Metrics.Cached = &read, &written, cached
		t.Metrics.Read, t.Metrics.Written, t.Metrics.Cached = t.Metrics.Read+read, t.Metrics.Written+written, t.Metrics.Cached+cached
	}
	if u.Priced {
		s.Metrics.Dollars = &u.Cost
		t.Metrics.Dollars += u.Cost
	}
}

// count returns a number of tokens as an integer.
func count(tokens float64) int64 { return int64(math.Min(tokens, 1<<53)) }

// AddChild adds the run of a sub-agent that message m started, of several the one at index i: the result of the call names it. The
// child has the given id, which no other child of t has. m is -1 where the conversation does not have the message.
func (t *Trajectory) AddChild(child *Trajectory, id string, m, i int) {
	if !slices.Contains(t.Children, child) {
		child.ID = id
		t.Children = append(t.Children, child)
	}
	if m < 0 {
		return
	}
	var calls, ofAgents []*result
	first := t.conversation.FirstBlock(m)
	for n, b := range t.conversation.Blocks(m) {
		call := int32(first + n)
		if b.Kind == conversation.ToolResult {
			call = b.Pair
		}
		r := t.results[call]
		if r == nil {
			continue
		}
		calls = append(calls, r)
		of := t.conversation.Block(int(call))
		if conversation.NewAct(t.conversation.ToolName(of), nil).Verb.StartsAgent() {
			ofAgents = append(ofAgents, r)
		}
	}
	if len(ofAgents) > 0 {
		calls = ofAgents
	}
	if len(calls) > 0 {
		r := calls[min(i, len(calls)-1)]
		r.Children = append(r.Children, trajectoryRef{id})
	}
}
