package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/transcript"
	"hindcast/query"
	"hindcast/redact"
	"hindcast/store"
)

// runFormat writes a run as one document. A run has the session root around it.
type runFormat struct {
	name     string
	document func(r *agentRun, root string) (any, error)
}

const nameATIF, nameOTLP = "ATIF", "OTLP"

var (
	formatATIF = runFormat{nameATIF, func(r *agentRun, root string) (any, error) { return r.trajectory(root) }}
	formatOTLP = runFormat{nameOTLP, func(r *agentRun, _ string) (any, error) { return r.newTraces() }}
)

// exportRun writes the conversation in a snapshot of a session as one document in a format, to a new file or, where that
// is "", to the standard output.
func (a *App) exportRun(ctx context.Context, p *printer, s store.Store, sessions []string, how *sharing, to string, in runFormat) (err error) {
	if len(sessions) > 1 || strings.Contains(how.only, "..") {
		return usagef("export: a document in %s is one conversation: name one session, and one snapshot with --only", in.name)
	}
	session := ""
	if len(sessions) == 0 {
		session, err = latestSession(ctx, s)
	} else {
		session = sessions[0]
	}
	if err != nil {
		return err
	}
	root, err := a.readRun(ctx, s, session, cmp.Or(how.only, "head"), nil)
	if err != nil {
		return err
	}
	all := root.listAll(nil)
	redactor, err := how.newRedactor()
	if err == nil && redactor != nil {
		err = redactRuns(redactor, all)
	}
	if err != nil {
		return err
	}
	document, err := in.document(root, session)
	if err != nil {
		return err
	}
	text, err := encodeJSON(document)
	if err != nil {
		return err
	}
	done := tally{Store: to, Sessions: len(all), Snapshots: len(all)}
	if text = append(text, '\n'); to == "" {
		_, err = p.Write(text)
	} else {
		err = writeFile(to, func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
	}
	if err != nil {
		return err
	}
	if done.takeHidden(redactor); !p.json || to == "" {
		done.listHidden(a.Err)
	}
	if to == "" {
		return nil
	}
	return p.writeTally("exported", &done)
}

// agentRun is a conversation in a snapshot, and those of the sub-agents that were started on the way to it.
type agentRun struct {
	session  string
	agent    transcript.TrajectoryAgent
	state    []byte
	came     []query.Arrival
	children []startedRun
}

// startedRun is the run of a sub-agent, and the id of the snapshot that started it.
type startedRun struct {
	*agentRun
	by string
}

// listAll appends a run, and below it those of sub-agents.
func (r *agentRun) listAll(list []*agentRun) []*agentRun {
	list = append(list, r)
	for _, child := range r.children {
		list = child.listAll(list)
	}
	return list
}

// readRun reads the conversation in a snapshot, and those at the heads of the sub-agents' sessions. above are the sessions
// around it.
func (a *App) readRun(ctx context.Context, s store.Store, session, spec string, above []string) (*agentRun, error) {
	t, err := a.labelledTimeline(ctx, s, session)
	if err != nil {
		return nil, err
	}
	n, err := findVisit(t, spec)
	if err != nil {
		return nil, err
	}
	at, f := t.Header(n), s.Features()
	r := &agentRun{session: session, agent: transcript.TrajectoryAgent{Name: s.Kind(), Version: "unknown"}}
	if r.state, err = s.State(ctx, at.Ref()); err != nil {
		return nil, err
	}
	if f.Facts != nil {
		facts, err := f.Facts(ctx, at.Ref())
		if err != nil {
			return nil, err
		}
		for _, fact := range facts {
			switch fact.Label {
			case "model":
				r.agent.Model = fact.Value
			case "version":
				r.agent.Version = fact.Value
			}
		}
	}
	tape, err := jsontape.Parse(r.state)
	if err != nil {
		return nil, fmt.Errorf("export: read the state of %s: %w", t.Name(n), err)
	}
	if r.came, err = query.Open(s, t).Arrivals(ctx, t, n, conversation.Decode(tape)); err != nil {
		return nil, err
	}
	started, err := query.StartedBefore(ctx, s, t, n)
	if err != nil {
		return nil, err
	}
	above = append(slices.Clip(above), session)
	for _, of := range started {
		if slices.Contains(above, of.Session) {
			continue
		}
		child, err := a.readRun(ctx, s, of.Session, "head", above)
		if errors.Is(err, model.ErrNoSession) || errors.Is(err, model.ErrNoSnapshot) {
			continue // its file is gone
		}
		if err != nil {
			return nil, err
		}
		r.children = append(r.children, startedRun{child, of.ID})
	}
	return r, nil
}

// redactRuns hides the secrets in the states of runs.
func redactRuns(redactor *redact.Redactor, all []*agentRun) error {
	for _, r := range all {
		if err := redactor.Learn(r.state); err != nil {
			return err
		}
	}
	if err := redactor.FinishLearning(); err != nil {
		return err
	}
	for _, r := range all {
		var err error
		if r.state, err = redactor.State(r.state); err != nil {
			return err
		}
	}
	return nil
}

// silentError returns the error of a run without a message.
func (r *agentRun) silentError(format string) error {
	return &advisedError{fmt.Errorf("export: the state of %.80q has no messages, and %s has nothing else", r.session, format), "Without --" + strings.ToLower(format) + ", export writes the states."}
}

// newTraces returns the spans of a run and of the runs of its sub-agents.
func (r *agentRun) newTraces() (*transcript.Traces, error) {
	t := transcript.NewTraces(r.agent.Name)
	for _, of := range r.listAll(nil) {
		tape, err := jsontape.Parse(of.state)
		if err != nil {
			return nil, err
		}
		c := conversation.Decode(tape)
		if c.Len() != len(of.came) { // prompts were left out
			of.came = make([]query.Arrival, c.Len())
		}
		t.AddConversation(of.session, of.agent, c, func(m int) time.Time { return of.came[m].At })
	}
	if t.Len() == 0 {
		return nil, r.silentError(nameOTLP)
	}
	return t, nil
}

// trajectory returns the document of a run. root is the session of the run around all.
func (r *agentRun) trajectory(root string) (*transcript.Trajectory, error) {
	tape, err := jsontape.Parse(r.state)
	if err != nil {
		return nil, err
	}
	c := conversation.Decode(tape)
	if c.Len() != len(r.came) { // prompts were left out
		r.came = make([]query.Arrival, c.Len())
	}
	t := transcript.NewTrajectory(r.session, c, func(m int) time.Time { return r.came[m].At })
	if len(t.Steps) == 0 {
		return nil, r.silentError(nameATIF)
	}
	t.Agent = r.agent
	started := map[int]int{}
	for _, child := range r.children {
		below, err := child.trajectory(root)
		if err != nil {
			continue // it has said nothing yet
		}
		m := slices.IndexFunc(r.came, func(of query.Arrival) bool { return slices.Contains(of.IDs, child.by) })
		t.AddChild(below, strings.TrimPrefix(child.session, root+"/"), m, started[m])
		started[m]++
	}
	return t, nil
}
