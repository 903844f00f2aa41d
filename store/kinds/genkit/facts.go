package genkit

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/media/tree"
)

// describeRow returns the facts about a row besides its state, or about a step.
func (p *part) describeRow(ctx context.Context, in engine.In, of *engine.Row) (about engine.About, err error) {
	if isStep(of.ID) {
		one, turn, i, err := p.findStep(ctx, of)
		if err != nil {
			return about, err
		}
		about.Facts = turn.StepFacts(i)
		about.Gaps, err = p.stepGaps(in, one, turn)
		return about, cmp.Or(err, ctx.Err())
	}
	r, data, err := p.readRow(in, of)
	if err != nil {
		return about, err
	}
	at := place{dir: of.Place.Own.(spot).dir}
	at.pointers = tree.IsFolder(in, path.Join(at.dir, pointersFolder))
	one := &session{sid: r.ownSession(), grouping: &grouping{place: at, running: &p.opened.running}, rows: []*row{r}, now: in.Now}
	one.pointer = readPointer(in, at, one.sid)
	one.layout = one.layoutOf()
	file := one.fileOf(r.id)
	about.Facts = append(in.Writes.ForSession(of.Place.Session).Facts(file), one.rowFacts(r, artifactNames(data), p.shownName(file))...)
	h := r.newHeader(in.Now)
	if turn := endsOf(p.opened.tracedTurns(ctx, one.sid)).turnOf(&h); turn != nil {
		for _, f := range turn.Facts() {
			if !slices.ContainsFunc(about.Facts, f.Same) {
				about.Facts = append(about.Facts, f)
			}
		}
	}
	return about, ctx.Err() // it may have ended amid the traces
}

func (s *session) rowFacts(r *row, artifacts []string, file string) (facts model.Facts) {
	add, now := facts.Add, s.now
	status := r.statusAt(now)
	if status != r.status && r.status != "" {
		status += ", written as " + r.status
	}
	add("status", status)
	add("finish reason", r.finishReason)
	if r.errored {
		add("error", strings.TrimPrefix(r.errStatus+": "+r.errMessage, ": "))
	}
	if r.heartbeat.text != "" {
		text := r.heartbeat.text
		if !r.heartbeat.at.IsZero() {
			text += ", " + formatAge(now.Sub(r.heartbeat.at)) + " ago"
		}
		add("heartbeat", text)
	}
	add("resume", s.resumeByID(r, now).String())
	add("pointer", s.pointerFact(r))
	if r.updated.text != r.created.text && !r.updated.at.IsZero() {
		add("updated", r.updated.text)
	}
	if r.messages > 0 {
		facts = append(facts, model.CountFact("messages", "messageCount", r.messages))
	}
	add("artifacts", strings.Join(artifacts, ", "))
	add("layout", s.layout.String())
	add("file", file)
	return facts
}

// pointerFact describes how the session's pointer relates to a row.
func (s *session) pointerFact(r *row) string {
	switch {
	case s.layout == layoutPython || s.sid == "":
		return ""
	case s.pointer == nil:
		return "the session has none"
	case s.pointer.err != nil:
		return "cannot be read"
	case s.pointer.current == r.id:
		return "names this row"
	}
	return "names " + s.pointer.current
}

// mostArtifacts bounds the artifacts that are named.
const mostArtifacts = 50

// artifactNames returns the names of the artifacts in a row's state.
func artifactNames(data []byte) (names []string) {
	state, err := stateOf(data)
	if err != nil {
		return nil
	}
	for m, err := range jsontape.Members(state) {
		if err != nil {
			return nil
		}
		if string(m.Key) == `"artifacts"` {
			return namesOf(m.Value)
		}
	}
	return nil
}

func namesOf(list []byte) (names []string) {
	for artifact, err := range jsontape.Members(list) {
		if err != nil {
			return names
		}
		if len(names) == mostArtifacts {
			return append(names, "…")
		}
		name := "(unnamed)"
		for m, err := range jsontape.Members(artifact.Value) {
			if err == nil && string(m.Key) == `"name"` && len(m.Value) > 0 && m.Value[0] == '"' {
				name = clipText(jsontape.Unquote(m.Value))
			}
		}
		names = append(names, name)
	}
	return names
}
