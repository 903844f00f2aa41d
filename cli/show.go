package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/printable"
	"hindcast/model/splice"
	"hindcast/store"
)

// showCommand is `hindcast show`.
func (a *App) showCommand() *cobra.Command {
	var raw, part bool
	var at pathFlag
	cmd := a.readingCommand(oneOf, &cobra.Command{
		Use:   "show [STORE...] [SESSION] SNAPSHOT",
		Short: "print the header and the state of a snapshot",
		Long: `Show prints the header and the state of a snapshot, and what else the store knows
about it. With --json it is the header with these facts as "facts" and the state
as its last member, spliced in byte for byte as its writer serialised it.

--state prints the state alone, byte for byte; --at the value at one place of it.`,
		Example: `  hindcast show trips.db trip-planner '#5'
  hindcast show trips.db trip-planner head --state | sha256sum
  hindcast show trips.db trip-planner head --at /cart | jq .total`,
	}, func(ctx context.Context, p *printer, of *subject) error {
		t, n, err := of.resolveVisit(ctx, of.firstSnapshot())
		if err != nil {
			return err
		}
		h := t.FullHeader(n)
		state, err := of.store.State(ctx, h.Ref())
		if err != nil {
			return err
		}
		if raw || part {
			return stateTo(a.harmlessWriter(p), state, raw, at.Pointer())
		}
		about := portrait{header: &h, document: headerOf(t, n), onPath: t.OnPath(n), state: state}
		if about.gaps, err = store.Gaps(ctx, of.store, h.Ref()); err != nil {
			return err
		}
		features := of.store.Features()
		if features.Facts != nil {
			about.ids = features.DerivedIDs()
			if about.facts, err = features.Facts(ctx, h.Ref()); err != nil {
				return err
			}
		}
		if features.Resume != nil {
			if about.resume, err = features.Resume(ctx, h.Ref()); err != nil {
				return err
			}
		}
		if p.json {
			return showJSON(p, &about)
		}
		p.writePortrait(&about)
		return nil
	})
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if part = cmd.Flags().Changed("at"); raw && part {
			return usagef("--state and --at are two answers: give one of them")
		}
		return nil
	}
	cmd.Flags().BoolVar(&raw, "state", false, "print the state alone, byte for byte")
	cmd.Flags().Var(&at, "at", "print the value at a `PATH` alone, such as /cart/total or .cart.total")
	return cmd
}

// stateTo writes a state byte for byte, or with a line end behind it the value at a
// place in it.
func stateTo(w io.Writer, state []byte, whole bool, at string) error {
	if whole {
		_, err := w.Write(state)
		return err
	}
	value, err := splice.At(state, at)
	if missing := (*splice.PointerError)(nil); errors.As(err, &missing) {
		return &advisedError{fmt.Errorf("show: %w in this state", err), "--state prints the whole state; a JSON Pointer is /KEY/INDEX/…"}
	}
	if err != nil {
		return fmt.Errorf("show: the state is not JSON: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", value)
	return err
}

// portrait is a snapshot with all that is known about it.
type portrait struct {
	header   *model.Header
	document headerJSON
	onPath   bool
	// ids describes the ids of the store if they are not hashes of the states.
	ids   string
	facts []model.Fact
	// resume are the calls that go on from the snapshot as things stand.
	resume []model.Resume
	state  []byte
	// gaps are the keys of the state that the store does not know at the snapshot.
	gaps model.Gaps
}

func showJSON(w io.Writer, d *portrait) error {
	if !json.Valid(d.state) {
		return fmt.Errorf("show: the state of %q is not JSON and fits into no JSON document; show it without --json", d.header.ID)
	}
	d.document.Size = int64(len(d.state))
	document, err := encodeJSON(d.document)
	if err != nil {
		return err
	}
	more := sumFacts(d.facts)
	if len(d.facts) > 0 {
		more["facts"] = factsJSON(d.facts)
	}
	if len(d.resume) > 0 {
		more["resume"] = d.resume
	}
	if len(d.gaps.Keys) > 0 {
		more["notRecorded"] = d.gaps.Keys
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		value, err := encodeJSON(more[name])
		if err != nil {
			return err
		}
		document = withMember(document, name, value)
	}
	fmt.Fprintf(w, "%s\n", withMember(document, "state", d.state))
	return nil
}

// hasKey returns a function that reports whether a state has a key at its top.
func hasKey(state []byte) func(key string) bool {
	keys := make(map[string]bool)
	for m := range jsontape.Members(state) {
		keys[jsontape.Unquote(m.Key)] = true
	}
	return func(key string) bool { return keys[key] }
}

func (p *printer) writePortrait(d *portrait) {
	h, state := d.header, d.state
	width := len("position ")
	d.facts = append(h.Attributes.Facts(), d.facts...)
	for _, f := range d.facts {
		width = max(width, displaywidth.String(printable.String(f.Label)))
	}
	field := func(name, value string) { fmt.Fprintf(p, "%s %s\n", padRight(name, width), value) }
	field("id", printable.String(h.ID))
	if h.Alias != "" {
		field("alias", printable.String(h.Alias))
	}
	if h.ParentID != "" {
		field("parent", printable.String(h.ParentID))
	}
	field("session", printable.String(h.SessionID))
	field("index", fmt.Sprintf("#%d, turn %s", h.Index, p.turn(h)))
	field("event", printable.String(h.EventText()))
	if h.Position != "" {
		field("position", printable.String(h.Position))
	}
	field("created", formatMoment(h.CreatedAt))
	switch {
	case h.Head:
		field("path", "the head")
	case d.onPath:
		field("path", "active")
	default:
		field("path", "off the path: "+h.Reason.Text(formatMoment))
	}
	if isStep(h) {
		field("step", "put together from a trace: the store has no such snapshot")
	}
	if what := p.titleText(h); what != "" {
		field("title", what)
	}
	for _, label := range d.document.Labels {
		field("label", strings.TrimRight(printable.String(label.Name)+"  "+printable.String(label.Note), " "))
	}
	field("size", string(conversation.AppendSize(nil, int64(len(state)))))
	if d.ids != "" {
		field("hash", "not of the state: "+d.ids)
	} else {
		field("hash", model.Verify(h.ID, state).Text())
	}
	for _, f := range d.facts {
		field(printable.String(f.Label), printable.String(f.Value))
	}
	for _, r := range d.resume {
		field("resume", printable.String(r.Call))
		field("", printable.String(r.Then))
	}
	if line := d.gaps.Of(hasKey(state), len(d.gaps.Keys)); line != "" {
		fmt.Fprintln(p, p.paint.in(faint, padRight("keys", width)+" "+printable.String(line)))
	}
	if jsontape.Valid(state) {
		p.WriteByte('\n')
		_ = splice.PrettyTo(&escaped{to: p}, state) // the printer keeps its error
		return
	}
	_, err := jsontape.Parse(state)
	fmt.Fprintf(p, "\nthe state is not JSON: %s\n\n%s\n", printable.String(err.Error()), printable.AppendText(nil, state))
}

// escaped writes text that is safe to print. Each part that it gets is whole lines.
type escaped struct {
	to   io.Writer
	text []byte
}

func (e *escaped) Write(lines []byte) (int, error) {
	e.text = printable.AppendText(e.text[:0], lines)
	_, err := e.to.Write(e.text)
	return len(lines), err
}
