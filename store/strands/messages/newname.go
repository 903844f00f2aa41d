package messages

import "strings"

// NewName implements store.Namer: of a session with several agents, which is listed
// as SESSION/AGENT, the session gets the new name and the agent keeps its own.
func (*Store) NewName(session, suffix string) string {
	name, _, _ := strings.Cut(session, "/")
	return name + suffix
}
