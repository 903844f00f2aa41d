package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/printable"
)

// show is `hindcast show`.
func (a *App) show() *cobra.Command {
	return &cobra.Command{
		Use:   "show STORE SESSION SNAPSHOT",
		Short: "print the header and the state of a snapshot",
		Long: `Show prints the header and the state of a snapshot. With --json it is the header
with the state as its last member, spliced in byte for byte as its writer
serialised it.`,
		Args:              argsBetween(3, 3),
		ValidArgsFunction: a.completeSnapshot(1),
		RunE: a.answer(func(ctx context.Context, p *printer, args []string) error {
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			t, err := timeline(ctx, s, args[1])
			if err != nil {
				return err
			}
			n, err := t.Resolve(args[2])
			if err != nil {
				return err
			}
			h := t.Described(n)
			state, err := s.State(ctx, h.Ref())
			if err != nil {
				return err
			}
			if p.json {
				return showJSON(a.foreign(p), &h, state)
			}
			p.show(&h, t.OnPath(n), state)
			return nil
		}),
	}
}

func showJSON(w io.Writer, h *model.Header, state []byte) error {
	if !json.Valid(state) {
		return fmt.Errorf("show: the state of %q is not JSON, so it does not fit into a JSON document; without --json it is shown as it is", h.ID)
	}
	header, err := encode(h)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\n", splice(header, "state", state))
	return nil
}

func (p *printer) show(h *model.Header, onPath bool, state []byte) {
	field := func(name, value string) { fmt.Fprintf(p, "%-9s %s\n", name, value) }
	field("id", printable.String(h.ID))
	if h.ParentID != "" {
		field("parent", printable.String(h.ParentID))
	}
	field("session", printable.String(h.SessionID))
	field("index", fmt.Sprintf("#%d, turn %d", h.Index, h.TurnIndex))
	field("event", printable.String(h.EventText()))
	if h.Position != "" {
		field("position", printable.String(h.Position))
	}
	field("created", moment(h.CreatedAt))
	switch {
	case h.Head:
		field("path", "the head")
	case onPath:
		field("path", "active")
	default:
		field("path", "orphaned: "+h.Reason.Text(moment))
	}
	if what := p.title(h); what != "" {
		field("title", what)
	}
	field("size", string(conversation.AppendSize(nil, int64(len(state)))))
	field("hash", model.Verify(h.ID, state).Text())
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, state, "", "  "); err != nil {
		fmt.Fprintf(p, "\nthe state is not JSON: %s\n", printable.String(err.Error()))
		pretty.Reset()
		pretty.Write(state)
	}
	fmt.Fprintf(p, "\n%s\n", printable.AppendText(nil, pretty.Bytes()))
}
