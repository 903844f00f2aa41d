// Package scripted is an agent without a model, for watching Hindcast follow one:
// it prepares a release of a library, in real time, with several turns, tools
// that run side by side, one that fails, and one that should never have run.
//
// What a model would say is a function of the conversation, so the agent goes on
// from any state that its session is put back to. A session that was put back
// has another person at the keyboard, who asks for something better this time.
//
// The package reads no clock but to wait.
package scripted
