package wire

import (
	"encoding/json"
	"net/netip"
	"strings"
)

// The paths of the API.
const (
	ActionsPath = "/api/actions"
	RunPath     = "/api/runAction"
	HealthPath  = "/api/__health"
)

// IsLoopback reports whether a host, without a port, means this machine to every reader: "localhost", or a
// loopback address.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// ActionType is the type of all actions here, the first part of their keys.
const ActionType = "session-store"

// The actions. Those from ListSessions on are Hindcast's own; the last two are
// only there on a store that can tell what is new.
const (
	GetSnapshot   = "getSnapshot"
	ListSnapshots = "listSnapshots"
	GetSession    = "getSession"
	ListSessions  = "listSessions"
	GetCursor     = "getCursor"
	GetGrowth     = "getGrowth"
)

// Key returns the key of an action of an agent, whose name has no slash in it.
func Key(agent, action string) string {
	return "/" + ActionType + "/" + agent + "/" + action
}

// ParseKey reads the key of an action on a session store; ok is false for any
// other.
func ParseKey(key string) (agent, action string, ok bool) {
	rest, ok := strings.CutPrefix(key, "/"+ActionType+"/")
	if !ok {
		return "", "", false
	}
	agent, action, ok = strings.Cut(rest, "/")
	if !ok || agent == "" || action == "" || strings.Contains(action, "/") {
		return "", "", false
	}
	return agent, action, true
}

// Descriptor describes one action in the list of actions.
type Descriptor struct {
	Type        string `json:"type"`
	Key         string `json:"key"`
	Name        string `json:"name"`
	Description string `json:"description"`
	// InputSchema and OutputSchema are JSON Schemas.
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Metadata     json.RawMessage `json:"metadata"`
}

// Takes returns the names of the input that the schema lists; nil where it lists
// none.
func (d *Descriptor) Takes() map[string]bool {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(d.InputSchema, &schema) != nil || len(schema.Properties) == 0 {
		return nil
	}
	names := make(map[string]bool, len(schema.Properties))
	for name := range schema.Properties {
		names[name] = true
	}
	return names
}

// action defines the input and output of an action. The schemas are written from it, and inputs are held to
// it.
type action struct {
	name, description string
	takes             []string
	required          []string
	gives             string
}

var actions = []action{
	{GetSnapshot, "Gives a snapshot by its id; the session settles an id that several sessions hold.",
		[]string{"snapshotId", "sessionId", "visit", "metadataOnly"}, []string{"snapshotId"}, snapshotSchema},
	{ListSnapshots, "Lists the snapshots of a session; with metadataOnly a header for each visit, in the order of recording, without states.",
		[]string{"sessionId", "includeOrphaned", "metadataOnly"}, []string{"sessionId"}, listOf(snapshotSchema)},
	{GetSession, "Gives the record of a session: its state, its last snapshot and its turn.",
		[]string{"sessionId"}, []string{"sessionId"}, sessionSchema},
	{ListSessions, "Lists the sessions, the last changed first.",
		nil, nil, listOf(infoSchema)},
	{GetCursor, "Gives how far a session reaches just now, for getGrowth.",
		[]string{"sessionId"}, []string{"sessionId"}, cursorSchema},
	{GetGrowth, "Gives what a session became since a cursor, without states.",
		[]string{"sessionId", "visit", "rewrites"}, []string{"sessionId"}, growthSchema},
}

// inputSchemas are the schemas of everything that an action may take.
var inputSchemas = map[string]string{
	"snapshotId": `{"type":"string"}`, "sessionId": `{"type":"string"}`, "visit": `{"type":"integer"}`, "rewrites": `{"type":"integer"}`,
	"includeOrphaned": `{"type":"boolean"}`, "metadataOnly": `{"type":"boolean"}`,
}

// The schemas of action results. They leave room for members that later versions add.
const (
	snapshotSchema = `{"type":"object","required":["id","sessionId","index","turnIndex","event"],"properties":{` +
		`"id":{"type":"string"},"parentId":{"type":"string"},"sessionId":{"type":"string"},` +
		`"createdAt":{"type":"string","format":"date-time"},"state":true,"stateBase64":{"type":"string"},"index":{"type":"integer"},` +
		`"turnIndex":{"type":"integer"},"event":{"type":["integer","string"]},"orphaned":{"type":"boolean"},` +
		`"head":{"type":"boolean"},"visit":{"type":"integer"},"parentVisit":{"type":"integer"},` +
		`"reason":{"type":"object"},"size":{"type":"integer"}}}`
	sessionSchema = `{"type":"object","required":["id","state","turnIndex"],"properties":{` +
		`"id":{"type":"string"},"state":true,"stateBase64":{"type":"string"},"lastSnapshot":` + snapshotSchema + `,"turnIndex":{"type":"integer"}}}`
	infoSchema = `{"type":"object","required":["id"],"properties":{` +
		`"id":{"type":"string"},"kind":{"type":"string"},"snapshots":{"type":"integer"},"orphaned":{"type":"integer"},` +
		`"head":{"type":"string"},"headIndex":{"type":"integer"},"updatedAt":{"type":"string","format":"date-time"},` +
		`"faults":{"type":"integer"},"title":{"type":"string"},"size":{"type":"integer"}}}`
	cursorSchema = `{"type":"object","properties":{"visit":{"type":"integer"},"rewrites":{"type":"integer"}}}`
	growthSchema = `{"type":"object","required":["cursor"],"properties":{` +
		`"headers":{"type":"array","items":` + snapshotSchema + `},"rewritten":{"type":"boolean"},"cursor":` + cursorSchema + `}}`
)

func listOf(schema string) string { return `{"type":"array","items":` + schema + `}` }

// Names returns the names of all actions.
func Names() []string {
	names := make([]string, len(actions))
	for i, a := range actions {
		names[i] = a.name
	}
	return names
}

// Describe returns the descriptor of an action on the session store of an agent, which has to be listed
// above.
func Describe(agent, name string) Descriptor {
	a := findAction(name)
	return Descriptor{
		Type: ActionType, Key: Key(agent, name), Name: agent + "/" + name, Description: a.description,
		InputSchema: a.inputSchema(), OutputSchema: json.RawMessage(a.gives), Metadata: json.RawMessage("null"),
	}
}

// findAction returns the action of that name, or nil.
func findAction(name string) *action {
	for i := range actions {
		if actions[i].name == name {
			return &actions[i]
		}
	}
	return nil
}

func (a *action) inputSchema() json.RawMessage {
	properties := make(map[string]json.RawMessage, len(a.takes))
	for _, name := range a.takes {
		properties[name] = json.RawMessage(inputSchemas[name])
	}
	schema, err := json.Marshal(struct {
		Type                 string                     `json:"type"`
		AdditionalProperties bool                       `json:"additionalProperties"`
		Properties           map[string]json.RawMessage `json:"properties,omitempty"`
		Required             []string                   `json:"required,omitempty"`
	}{"object", false, properties, a.required})
	if err != nil {
		panic(err) // the schemas above are constants
	}
	return schema
}
