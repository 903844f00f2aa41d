package agentframework

import (
	"encoding/base32"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine/checkpoints"
)

// stamp is how Python writes a time.
const stamp = "2006-01-02T15:04:05.000000-07:00"

// putBack returns a copy of a checkpoint that is the latest of its workflow.
func putBack(p *checkpoints.Putting) (n checkpoints.New, err error) {
	refuse := func(why string) (checkpoints.New, error) {
		return checkpoints.New{}, &model.UnsupportedError{Op: model.OpRestore, Reason: why}
	}
	of := ownOf(p.Item())
	if !isLoadable(p.Item()) {
		return refuse("Agent Framework cannot load the checkpoint, as `hindcast doctor` tells; take another")
	}
	latest := p.Now
	for i := range p.Items {
		o := ownOf(&p.Items[i])
		at, zoned := timeOf(o.Stamp)
		if at.IsZero() || !zoned {
			return refuse(fmt.Sprintf("the checkpoint %s of the workflow has a time without a zone, or none: the latest cannot be told; name the checkpoint in the call", model.ShortID(p.Items[i].ID, 8)))
		}
		if !at.Before(latest) {
			latest = at.Add(time.Microsecond)
			n.Hazards = []string{fmt.Sprintf("the checkpoint %s is dated %s, ahead of the clock here: the copy is dated just after it, and is the latest until that time has come", model.ShortID(p.Items[i].ID, 8), o.Stamp)}
		}
	}
	t, _, err := jsontape.ParseTolerant(p.Data)
	if err != nil {
		return n, err
	}
	id, patch := uuid.NewString(), jsontape.NewPatch(t)
	patch.Set(t.Find(0, "checkpoint_id"), strconv.AppendQuote(nil, id))
	patch.Set(t.Find(0, "timestamp"), strconv.AppendQuote(nil, latest.UTC().Format(stamp)))
	n.Name, n.Data = path.Join(path.Dir(p.Item().File), id+".json"), patch.Bytes()
	n.Writes = fmt.Sprintf("a new checkpoint %s: a copy of #%d, the latest of the workflow", id, p.At)
	if of.Graph != ownOf(&p.Items[p.Head]).Graph {
		n.Asks = append(n.Asks, "the workflow had another graph then: a program with the graph of now refuses the checkpoint (WorkflowCheckpointException)")
	}
	return n, nil
}

// Loads implements checkpoints.Format.
func (format) Loads(items []checkpoints.Item, head int) string {
	it := &items[head]
	switch {
	case lineOf(it) > 0:
		return fmt.Sprintf("FileHistoryProvider loads the %d messages of %s", lineOf(it), it.Session)
	case isWorkflow(it):
		return fmt.Sprintf("get_latest(workflow_name=%s) returns checkpoint %s", quoteJSON(it.Session), it.ID)
	}
	return fmt.Sprintf("FileSessionStore loads session %q", it.ID)
}

func quoteJSON(text string) string { return string(jsontape.AppendQuoted(nil, text)) }

// keyOf returns the id under which the SDK finds the file of a session, as a program writes it, and
// … where the name does not tell it. An id that is no portable name of a file, such as one with a
// capital, is in base32 behind a prefix; a long one is only its SHA-256.
func keyOf(file string) string {
	name := strings.TrimSuffix(path.Base(file), path.Ext(file))
	encoded, is := strings.CutPrefix(name, "~session-")
	if !is {
		return quoteJSON(name)
	}
	id, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(encoded))
	if err != nil {
		return "…"
	}
	return quoteJSON(string(id))
}

// Resume implements checkpoints.Format.
func (format) Resume(dir string, of *checkpoints.Item) []model.Resume {
	o := ownOf(of)
	dir = filepath.Join(dir, filepath.FromSlash(path.Dir(of.File)))
	form := ""
	if path.Ext(of.File) == packed {
		form = `, serialization_format="msgpack"`
	}
	if o.Line > 0 {
		call := fmt.Sprintf("agent.run(…, session=agent.create_session(session_id=%s))", keyOf(of.File))
		return []model.Resume{{Call: call, Then: fmt.Sprintf("with FileHistoryProvider(%s%s) the model is sent all messages of the file, then your text", quoteJSON(dir), form)}}
	}
	if !isWorkflow(of) {
		return []model.Resume{{Call: fmt.Sprintf("await FileSessionStore(%s%s).get(%s)", quoteJSON(dir), form, keyOf(of.File)), Then: "the session as it was kept"}}
	}
	storage := "FileCheckpointStorage(" + quoteJSON(dir)
	if len(o.Types) > 0 {
		storage += ", allowed_checkpoint_types=["
		for i, class := range o.Types {
			storage += strings.Repeat(", ", min(i, 1)) + quoteJSON(class)
		}
		storage += "]"
	}
	storage += ")"
	call := func(more, then string) model.Resume {
		return model.Resume{Call: fmt.Sprintf("await workflow.run(checkpoint_id=%s, checkpoint_storage=%s%s)", quoteJSON(of.ID), storage, more), Then: then}
	}
	if len(o.Requests) > 0 {
		answers := slices.Clone(o.Requests)
		for i := range answers {
			answers[i] = quoteJSON(answers[i]) + ": …"
		}
		return []model.Resume{
			call(", responses={"+strings.Join(answers, ", ")+"}", "answers what is asked, and goes on"),
			call("", "asks again"),
		}
	}
	if of.Event == model.SnapshotEventTurnEnd {
		return []model.Resume{call("", "ends at once: the run was over")}
	}
	return []model.Resume{call("", "goes on from here, on a new branch")}
}
