package conversation

import "sync"

// Framework is the framework whose shape the messages have, as far as they tell.
type Framework uint8

// The frameworks.
const (
	// NoFramework: there are no messages, or only such as several write.
	NoFramework Framework = iota
	// Strands: one of the two Strands SDKs.
	Strands
	StrandsPython
	StrandsTypeScript
	Genkit
	// OpenAI is the shape of OpenAI's chat completions, which many use.
	OpenAI
	// LangChain is that of LangChain's messages, which LangGraph keeps.
	LangChain
	// AgentFramework is Microsoft's.
	AgentFramework
	// Gemini is that of Gemini's contents, which ADK keeps in its events.
	Gemini
)

var frameworkNames = [...]string{"unknown", "Strands", "Strands for Python", "Strands for TypeScript", "Genkit", "OpenAI's shape", "LangChain", "Agent Framework", "Gemini's shape"}

// String returns the framework's name for people.
func (f Framework) String() string { return frameworkNames[f] }

// traits are the features in the state that only some frameworks write.
type traits uint8

const (
	traitStrands traits = 1 << iota
	traitPython
	traitTypeScript
	traitGenkit
	traitOpenAI
	traitLangChain
	traitAgentFramework
	traitGemini
)

// Framework returns the framework whose shape the conversation has.
func (c *Conversation) Framework() Framework {
	switch seen := c.traits; {
	case seen&traitGemini != 0:
		return Gemini
	case seen&traitGenkit != 0 && seen&(traitStrands|traitPython|traitTypeScript) == 0:
		return Genkit
	case seen&traitPython != 0 && seen&traitTypeScript == 0:
		return StrandsPython
	case seen&traitTypeScript != 0 && seen&traitPython == 0:
		return StrandsTypeScript
	case seen&(traitStrands|traitPython|traitTypeScript) != 0:
		return Strands
	case seen&traitLangChain != 0:
		return LangChain
	case seen&traitAgentFramework != 0:
		return AgentFramework
	case seen&traitOpenAI != 0:
		return OpenAI
	}
	return NoFramework
}

// noteState looks for the keys that frameworks write beside the messages: the snapshots of both Strands
// SDKs (snake_case and camelCase), agent.json, and Genkit's session state.
func (c *Conversation) noteState() {
	t := c.tape
	for _, n := range []Node{0, t.Lookup("data"), t.Lookup("state")} {
		for key, mark := range stateKeys() {
			if t.Find(n, key) >= 0 {
				c.traits |= mark
			}
		}
	}
}

var stateKeys = sync.OnceValue(func() map[string]traits {
	return map[string]traits{
		"schema_version":             traitPython,
		"conversation_manager_state": traitPython,
		"_internal_state":            traitPython,
		"interrupt_state":            traitPython,
		"schemaVersion":              traitTypeScript,
		"systemPrompt":               traitTypeScript,
		"modelState":                 traitTypeScript,
		"snapshotId":                 traitGenkit,
		"artifacts":                  traitGenkit,
	}
})

// ownKeys are the keys of the frameworks, not of the application: the conversation, and the data to go on
// with it.
var ownKeys = sync.OnceValue(func() map[string]bool {
	return map[string]bool{
		"messages": true, "system_prompt": true, "systemPrompt": true,
		"conversation_manager_state": true, "conversationManagerState": true,
		"interrupt_state": true, "interrupts": true, "model_state": true, "modelState": true,
		"_internal_state": true, "schema_version": true, "schemaVersion": true,
	}
})

// OfFramework reports whether a member of the state holds the messages, or is
// one in which a known framework keeps things of its own.
func (c *Conversation) OfFramework(n Node) bool {
	if n <= c.list && c.list < c.tape.End(n) {
		return true
	}
	return ownKeys()[c.tape.Key(n)]
}
