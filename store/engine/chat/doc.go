// Package chat makes a store out of the sessions that a coding agent wrote. A kind says
// how its files are read, see [Format]. The list of sessions, states, questions and forks are here
// for all of them; package engine caches, follows and plans.
//
//	coding agent                            Hindcast
//	one conversation                        session
//	a message that is complete              snapshot: the state behind that message
//	the parent that the record names        parent
//	what the agent would resume             head
//	a sub-agent's conversation              session "SESSION/AGENT"
//
// The files of a coding agent are never opened for writing: to go back means a new file, in
// which the agent's own command resumes. A session is made from records, whose bytes stay
// where they are until a state is asked for:
//
//	file  │record│record│record│…      lines.go    records with their places
//	         │      └───────┐
//	entries  e0 ◂── e1 ◂── e2           session.go  messages, who follows whom
//	                 └◂─── e3
//	state of e3  {"messages": [e0, e1, e3], "meta": {…}}      state.go
//
//	kind.go     what a kind says of itself
//	session.go  what a format reads: entries
//	lineage.go  records that follow each other, and the messages among them
//	message.go  a message in one shape for all coding agents
//	lines.go    files of one JSON object a line
//	damaged.go  what a damaged line still has
//	database.go databases of sessions
//	places.go   where sessions are, and what the list shows of one
//	log.go      a session as the engine's log
//	fork.go     a path as a new session
//	join.go     the pieces of a broken chain as a new session
//	command.go  a call that a person can copy
//	state.go    states, and the bytes that they share
//	store.go    the store
//	sign.go     whose a file is, by its bodies
//	text.go     the texts of a record
//	guard.go    texts that no message shows
package chat
