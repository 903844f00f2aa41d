package request

// changes says, for the kinds whose states have the messages, what a framework lets the program change of them before a
// model is sent them. No store tells it.
var changes = map[string]string{
	"strands":           "what hooks changed",
	"strands-snapshots": "what the conversation manager took out behind the answer, and what hooks changed",
	"langgraph":         "what middleware changed",
	"deepagents":        "what middleware changed",
	"adk":               "what callbacks and plugins changed",
	"openai-agents":     "what a filter of the input changed",
	"agent-framework":   "what context providers and middleware changed",
	"crewai":            "what hooks changed",
	"genkit":            "what middleware changed",
	"mastra":            "what memory and processors changed",
	"agno":              "which other runs of the session were sent",
	"dbos":              "what the steps asked the model",
	"atif":              "what the agent changed before it asked",
	"trajectory":        "what the agent changed before it asked",
}

// NameChanges adds to Unknown what a program of a kind of store may have changed of the messages.
func (r *Request) NameChanges(kind string) {
	if is := changes[kind]; is != "" && !r.Proven {
		r.Unknown = append(r.Unknown, is)
	}
}
