package conversation

import "sync"

// Resume is one way to go on from where a conversation stands: what to call,
// what the framework then does, and what is dangerous about it.
type Resume struct {
	Framework Framework
	// Call is the call in the framework's own language, with "…" for the person's text: `agent(None)`. It
	// is "" where no call goes on.
	Call string
	// Effect says in one sentence what the framework does.
	Effect string
	// Warning describes the risk, or is "".
	Warning string
}

// reruns is the warning for every resume that executes tools.
const reruns = "Side effects happen again: a tool that had begun before the stop is executed from its start."

// twoUsers is the warning where two user messages follow each other.
const twoUsers = "The model then gets two user messages in a row, which some providers reject."

// resumes lists how the real SDKs go on at each position, the best way first: seen by running
// strands-agents 1.52 and @strands-agents/sdk 1.19.0 on stored sessions, and read in genkit/go 1.13.1
// (ai/exp).
var resumes = sync.OnceValue(func() map[Framework]map[Position][]Resume {
	return map[Framework]map[Position][]Resume{
		StrandsPython: {
			Empty: {
				{Call: `agent("…")`, Effect: "starts the conversation with your text."},
				{Call: `agent(None)`, Effect: "fails.", Warning: "IndexError: there is no message to go on from."},
			},
			UserInput: {
				{Call: `agent(None)`, Effect: "calls the model to answer the last message again."},
				{Call: `agent("…")`, Effect: "appends your text and calls the model.", Warning: twoUsers},
			},
			AfterModel: {
				{Call: `agent(None)`, Effect: "executes the tool calls that are listed as not run, without a model call before, and goes on.", Warning: reruns},
				{Call: `agent("…")`, Effect: `answers the open tool calls with the error "Tool was interrupted.", stores that, and then takes your text. No tool is executed.`, Warning: twoUsers},
			},
			AfterTools: {
				{Call: `agent(None)`, Effect: "calls the model, which answers the tool results. No tool is executed again."},
				{Call: `agent("…")`, Effect: "appends your text and calls the model.", Warning: twoUsers},
			},
			TurnEnd: {
				{Call: `agent("…")`, Effect: "starts the next turn with your text."},
				{Call: `agent(None)`, Effect: "asks the model to continue its own last message.", Warning: "Many providers reject a conversation that ends with the assistant."},
			},
		},
		StrandsTypeScript: {
			Empty: {
				{Call: `agent.invoke("…")`, Effect: "starts the conversation with your text."},
				{Call: `agent.invoke(undefined)`, Effect: "calls the model with no message at all.", Warning: "Providers reject an empty conversation."},
			},
			UserInput: {
				{Call: `agent.invoke(undefined)`, Effect: "calls the model to answer the last message again."},
				{Call: `agent.invoke("…")`, Effect: "appends your text and calls the model.", Warning: twoUsers},
			},
			AfterModel: {
				{Effect: "No call goes on from here: agent.invoke sends the model a tool call without a result, which is invalid.", Warning: "Go back to the user's message, or move the assistant's message to interrupts.pendingToolExecution."},
			},
			AfterTools: {
				{Call: `agent.invoke(undefined)`, Effect: "calls the model, which answers the tool results. No tool is executed again."},
				{Call: `agent.invoke("…")`, Effect: "appends your text and calls the model.", Warning: twoUsers},
			},
			TurnEnd: {
				{Call: `agent.invoke("…")`, Effect: "starts the next turn with your text."},
				{Call: `agent.invoke(undefined)`, Effect: "asks the model to continue its own last message.", Warning: "Many providers reject a conversation that ends with the assistant."},
			},
		},
		Genkit: {
			Empty:      {{Call: genkitTurn, Effect: "starts the first turn with your message."}},
			UserInput:  {{Call: genkitTurn, Effect: "starts a turn from this snapshot with your message.", Warning: twoUsers}},
			AfterModel: {{Call: genkitTurn, Effect: "starts a turn from this snapshot with your message.", Warning: "The model then gets a tool request without a response."}},
			AfterTools: {{Call: genkitTurn, Effect: "starts a turn from this snapshot with your message; the model then sees the tool responses."}},
			TurnEnd:    {{Call: genkitTurn, Effect: "starts the next turn with your message, as a new branch if the snapshot has a child."}},
		},
		OpenAI: {
			Empty:      {{Effect: "There is no message yet: the first user message starts the conversation."}},
			UserInput:  {{Effect: "Sending these messages to the model gives the answer to the last one."}},
			AfterModel: {{Effect: "The tool calls have to be executed and answered before the model can go on.", Warning: reruns}},
			AfterTools: {{Effect: "Sending these messages to the model gives its answer to the tool results."}},
			TurnEnd:    {{Effect: "The next user message starts a turn."}},
		},
	}
})

// genkitTurn starts a turn from a stored snapshot.
const genkitTurn = `init {"snapshotId": "…"}, input {"message": {…}}`

// pausedResumes takes the place of the table while an interrupt state holds
// tool calls back.
var pausedResumes = sync.OnceValue(func() map[Framework][]Resume {
	return map[Framework][]Resume{
		StrandsPython: {
			{Call: `agent([{"interruptResponse": {"interruptId": "…", "response": …}}])`, Effect: "answers the interrupt and executes the tool calls that are listed as not run; finished ones keep their results.", Warning: "Any other input is a TypeError while an interrupt is pending. " + reruns},
		},
		StrandsTypeScript: {
			{Call: `agent.invoke([{interruptResponse: {interruptId: "…", response: …}}])`, Effect: "answers the interrupt and executes the tool calls that are listed as not run; finished ones keep their results.", Warning: "Any other input is a TypeError while an interrupt is pending. " + reruns},
		},
		Genkit: {
			{Call: `init {"snapshotId": "…"}, input {"resume": {"respond": […]}}`, Effect: "gives the interrupted tool requests the responses that you pass, and goes on."},
			{Call: `init {"snapshotId": "…"}, input {"resume": {"restart": […]}}`, Effect: "executes the interrupted tool requests.", Warning: reruns},
		},
	}
})

// heldResumes takes the place of pausedResumes when no person has to be asked:
// calls are held back, but no interrupt waits for an answer.
var heldResumes = sync.OnceValue(func() map[Framework][]Resume {
	return map[Framework][]Resume{
		StrandsPython:     {{Call: `agent([])`, Effect: "executes the tool calls that are held back and listed as not run; finished ones keep their results.", Warning: reruns}},
		StrandsTypeScript: {{Call: `agent.invoke(undefined)`, Effect: "executes the tool calls that are held back and listed as not run; finished ones keep their results.", Warning: reruns}},
	}
})

// Resume returns the ways to go on from here, the best one first. For messages that fit both Strands SDKs
// it returns the ways of both. For an unknown framework it returns the ways common to all, and nil without
// a list of messages.
func (c *Conversation) Resume() []Resume {
	if c.run.is {
		return c.runResume()
	}
	switch f := c.Framework(); {
	case c.list < 0 && f == NoFramework:
		return nil
	case f == Strands:
		return append(c.resumeIn(StrandsPython), c.resumeIn(StrandsTypeScript)...)
	case f == NoFramework || f == LangChain || f == Gemini:
		return c.resumeIn(OpenAI)
	default:
		return c.resumeIn(f)
	}
}

func (c *Conversation) resumeIn(f Framework) []Resume {
	ways := resumes()[f][c.Position()]
	if c.IsInterrupted() {
		paused := pausedResumes()[f]
		if len(c.pause.interrupts) == 0 && heldResumes()[f] != nil {
			paused = heldResumes()[f]
		}
		if paused != nil {
			ways = paused
		}
	}
	list := make([]Resume, len(ways))
	for i, way := range ways {
		way.Framework = c.Framework()
		if f != OpenAI {
			way.Framework = f
		}
		list[i] = way
	}
	return list
}
