package conversation

import (
	"slices"

	"hindcast/model/jsontape"
)

// What a list of messages is called, the members that say who speaks in one, and who may.
var (
	listNames    = []string{"messages", "history", "full_conversation"}
	speakerNames = []string{"role", "author", "sender", "speaker", "from", "type"}
	speakers     = []string{"user", "human", "assistant", "ai", "model", "agent", "bot", "tool", "system"}
)

// Foreign returns a list of messages in the state whose shape is not supported. It knows the list by its
// name, or by the role of the first message. It is -1 without such a list, or if messages were read. The
// data that a program keeps for itself in a session of Genkit is not searched.
func (c *Conversation) Foreign() Node {
	found := jsontape.None
	if len(c.messages) > 0 {
		return found
	}
	t := c.tape
	searchLevels(t, t.Lookup("custom"), searchDepth+1, func(n Node) bool {
		if t.Kind(n) != jsontape.Array || t.Kind(t.First(n)) != jsontape.Object {
			return true
		}
		first := t.First(n)
		named := t.Parent(n) >= 0 && t.Kind(t.Parent(n)) == jsontape.Object && slices.Contains(listNames, t.Key(n))
		if named || slices.ContainsFunc(speakerNames, func(name string) bool {
			who := t.Find(first, name)
			return who >= 0 && slices.ContainsFunc(speakers, func(one string) bool { return isText(t, who, one) })
		}) {
			found = n
		}
		return found < 0
	})
	return found
}
