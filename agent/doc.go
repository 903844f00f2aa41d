// Package agent is the recording side of Hindcast: it runs an agent function
// over a session and captures the session's state while it runs, so that the
// session can be looked at, gone back to and resumed.
//
// It follows the Genkit Go design for session snapshots, whose names it uses
// without the prefix that the package's name makes needless: DefineAgent is
// [Define], AgentResult is [Result], AgentOutput is [Output], AgentOption is
// [Option]. Snapshots, events and the store's interface are in package model.
//
// An agent function reads inputs, changes the session's state, sends what it
// has to say, and ends each turn. At the end of a turn, at the end of a tool
// iteration and when the function returns, a callback decides whether the state
// is captured:
//
//	chat, err := agent.Define("chat",
//		func(ctx context.Context, sess *agent.Session[State], in <-chan string, resp *agent.Responder[string]) (agent.Result[string], error) {
//			for words := range in {
//				…
//				sess.UpdateState(ctx, state)
//				resp.EndTurn()
//			}
//			return agent.Result[string]{Output: "done"}, nil
//		},
//		agent.WithSessionStore(typed.Of[State](db)),
//		agent.WithSnapshotCallback(agent.SnapshotAlways[State]()))
//
// # What goes wrong
//
// A turn is never lost to its recording. When a callback panics, a store fails
// or the context ends, the agent goes on with the state in memory, and the
// error comes back from [Responder.EndTurn], from the stream and from
// [Connection.Output] as an [EventError]. A snapshot is written whole or not
// at all.
//
// A session belongs to one writer at a time. Where the store can compare and
// set (typed.Committer), a second program that writes to the session, or a
// restore under a running agent, makes the next write of this one fail with a
// model.ConflictError that names the head as it is now; nothing is overwritten,
// and a new connection goes on from there.
//
// # Traces
//
// Each invocation has an OpenTelemetry span, named after the agent, and below it each turn one, named
// "turn". They go to the provider of the span in which StreamBidi is called, else to the global one;
// without a provider nothing is traced. A span carries the last snapshot that was taken in it as
// genkit:metadata:snapshotId and genkit:metadata:agent, and has an event "snapshot" for each. What is
// captured at the end of the invocation is on the invocation's span. A span of the program's own that
// is current in the context of TriggerSnapshot is marked as well.
package agent
