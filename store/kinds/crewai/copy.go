package crewai

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// again is a checkpoint once more: under a new id, on a branch of its own, and naming the store
// that it is in.
type again struct {
	id, branch    string
	data          []byte
	hazards, asks []string
}

// layout is that of the second in an id.
const layout = "20060102T150405"

// secondAfter returns a second behind those of others: now, where that is.
func secondAfter(now time.Time, others []time.Time) time.Time {
	at := now.UTC().Truncate(time.Second)
	for _, other := range others {
		if !other.Before(at) {
			at = other.Truncate(time.Second).Add(time.Second)
		}
	}
	return at
}

// copyOf copies the document of a checkpoint, which the copy has as its parent. location is
// where the copy lies, "" where crewAI finds no store.
func copyOf(data []byte, o *own, parent, location string, at time.Time) (c again, err error) {
	t, err := jsontape.Parse(data)
	if err != nil {
		return c, &model.UnsupportedError{Op: model.OpRestore, Reason: "the checkpoint is not JSON: " + err.Error()}
	}
	random := uuid.New()
	c.id, c.branch = at.Format(layout)+"_"+hex.EncodeToString(random[:4]), "hindcast-"+hex.EncodeToString(random[:4])
	patch := jsontape.NewPatch(t)
	patch.Put(0, "parent_id", quoteJSON(parent))
	patch.Put(0, "branch", quoteJSON(c.branch))
	if location != "" {
		for n := range locationNodes(t) {
			patch.Set(n, quoteJSON(location))
		}
	}
	c.data = patch.Bytes()
	if o.Location != "" && location != "" && filepath.Clean(o.Location) != location {
		c.hazards = append(c.hazards, fmt.Sprintf("the checkpoint names %q as its store; the copy names this one, so that a crew that is resumed writes here", o.Location))
	}
	if o.After != "" {
		c.asks = append(c.asks, fmt.Sprintf("a flow that is resumed after a method finished hands its listeners None instead of the result of %s (crewAI 1.15.30): a listener that uses its argument fails", quoteJSON(o.After)))
	}
	if len(o.Models) > 0 {
		c.hazards = append(c.hazards, "the model of "+conversation.List(o.Models, conversation.OneLine)+" is an object of the program, and a checkpoint has its name alone: set agent.llm before kickoff()")
	}
	return c, nil
}

func quoteJSON(text string) []byte { return jsontape.AppendQuoted(nil, text) }

// locationNodes returns the nodes that name the store in which crewAI keeps the checkpoint.
func locationNodes(t *jsontape.Tape) func(yield func(jsontape.Node) bool) {
	return func(yield func(jsontape.Node) bool) {
		entities := t.Find(0, "entities")
		if entities < 0 || t.Kind(entities) != jsontape.Array {
			return
		}
		for n := entities; n < t.End(entities); n++ {
			if p := t.Parent(n); p < 0 || t.Kind(p) != jsontape.Object || t.Kind(n) != jsontape.Object || t.Key(n) != "checkpoint" {
				continue
			}
			at := t.Find(n, "location")
			if at >= 0 && t.Kind(at) == jsontape.String && t.Find(n, "on_events") >= 0 && !yield(at) {
				return
			}
		}
	}
}
