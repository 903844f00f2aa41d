package genkit

import (
	"fmt"
	"iter"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// PlaceError says which place of an edited state no SDK would read.
type PlaceError struct {
	// Pointer is the place in RFC 6901, "" for the state as a whole.
	Pointer string
	// Problem says in a few words what is wrong there.
	Problem string
}

func (e *PlaceError) Error() string {
	if e.Pointer == "" {
		return "the state " + e.Problem
	}
	return fmt.Sprintf("%.200s %s", e.Pointer, e.Problem)
}

// stateMembers are the members of SessionState; roles and partMembers belong to a message. Go would drop any
// other without a word, and Python takes no state that has one.
var (
	stateMembers = map[string]bool{"artifacts": true, "custom": true, "messages": true, "sessionId": true}
	roles        = map[string]bool{"system": true, "user": true, "model": true, "tool": true}
	partMembers  = map[string]bool{"text": true, "media": true, "data": true, "toolRequest": true, "toolResponse": true, "resource": true, "custom": true, "reasoning": true}
)

// checkState looks whether a state is of the shape that every SDK reads: that of
// SessionState, Message, Part and Artifact in ai/exp and ai of Genkit Go. The error
// is a *PlaceError, or says where the text is no JSON.
func checkState(state []byte) error {
	tape, err := jsontape.Parse(state)
	if err != nil {
		return err
	}
	c := checker{tape}
	if !c.isKind(0, jsontape.Object) {
		return &PlaceError{"", "has to be an object"}
	}
	var list []error
	for m := range c.valuesIn(0) {
		switch key := tape.Key(m); {
		case tape.IsShadowed(m):
			list = append(list, c.wrongError(m, "is there twice"))
		case !stateMembers[key]:
			list = append(list, c.wrongError(m, "is no member of a state: there are custom, messages and artifacts"))
		case key == "messages":
			list = append(list, c.checkMessages(m))
		case key == "artifacts":
			list = append(list, c.checkArtifacts(m))
		case key == "sessionId" && !c.isKind(m, jsontape.String):
			list = append(list, c.wrongError(m, "has to be a string"))
		}
	}
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

type checker struct{ tape *jsontape.Tape }

func (c checker) isKind(n jsontape.Node, kind jsontape.Kind) bool { return c.tape.Kind(n) == kind }

// valuesIn returns the values in an object or a list.
func (c checker) valuesIn(n jsontape.Node) iter.Seq[jsontape.Node] {
	return func(yield func(jsontape.Node) bool) {
		for m := c.tape.First(n); m != jsontape.None && yield(m); m = c.tape.Next(m) {
		}
	}
}

func (c checker) wrongError(n jsontape.Node, problem string) error {
	return &PlaceError{c.tape.Pointer(n), problem}
}

func (c checker) checkMessages(list jsontape.Node) error {
	if !c.isKind(list, jsontape.Array) {
		return c.wrongError(list, "has to be a list of messages")
	}
	for m := range c.valuesIn(list) {
		if !c.isKind(m, jsontape.Object) {
			return c.wrongError(m, "has to be a message: an object with role and content")
		}
		role := c.tape.Find(m, "role")
		if role == jsontape.None || !c.isKind(role, jsontape.String) || !roles[c.tape.Text(role)] {
			return c.wrongError(m, `has to have a role: "system", "user", "model" or "tool"`)
		}
		if err := c.checkParts(m, "content"); err != nil {
			return err
		}
	}
	return nil
}

func (c checker) checkParts(of jsontape.Node, key string) error {
	list := c.tape.Find(of, key)
	if list == jsontape.None || !c.isKind(list, jsontape.Array) {
		return c.wrongError(of, "has to have a list of parts as its "+key)
	}
	for p := range c.valuesIn(list) {
		known := false
		if c.isKind(p, jsontape.Object) {
			for m := range c.valuesIn(p) {
				known = known || partMembers[c.tape.Key(m)]
			}
		}
		if !known {
			return c.wrongError(p, "has to be a part: an object with text, toolRequest, toolResponse, media, data, reasoning, resource or custom")
		}
	}
	return nil
}

func (c checker) checkArtifacts(list jsontape.Node) error {
	if !c.isKind(list, jsontape.Array) {
		return c.wrongError(list, "has to be a list of artifacts")
	}
	for a := range c.valuesIn(list) {
		if !c.isKind(a, jsontape.Object) {
			return c.wrongError(a, "has to be an artifact: an object with name and parts")
		}
		if err := c.checkParts(a, "parts"); err != nil {
			return err
		}
	}
	return nil
}

// setState gives the target another state, or the one that it has, and looks at its messages.
func (t *target) setState(state []byte) {
	t.parts.state = state
	if tape, err := jsontape.Parse(state); err == nil {
		t.open = conversation.Decode(tape).Position() == conversation.AfterModel
	}
}
