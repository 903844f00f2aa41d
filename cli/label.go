package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/labels"
)

// aLabel asks for a snapshot and a name.
var aLabel = words{session: true, least: 0, most: 2}

// labelCommand is `hindcast label`.
func (a *App) labelCommand() *cobra.Command {
	var note, remove string
	var force bool
	cmd := a.answeringCommand(aLabel, &cobra.Command{
		Use:   "label [STORE...] [SESSION] SNAPSHOT NAME | --remove NAME",
		Short: "give a snapshot a name, which stands for it from then on",
		Long: `Label gives a snapshot a name, and maybe a note. The name stands for the snapshot
wherever a command takes SNAPSHOT, is shown by log, and goes along with export.

A label lies beside the store, in what is Hindcast's own, or in your folder for data
where the store is not Hindcast's to write beside; the files of a framework stay as
they are. It stays through restores and while the session grows.

A NAME begins with a letter or a digit; in it are letters, digits, and - _ . + /
alone. One that means a snapshot already, such as 7 or head, is refused; so is one
that another snapshot of the session has, without --force.`,
		Example: `  hindcast label trips.db trip-planner 11.1 emptied --note 'here the cart went'
  hindcast diff trips.db trip-planner emptied~..emptied
  hindcast label trips.db trip-planner --remove emptied`,
	}, func(ctx context.Context, p *printer, of *subject) error {
		s, specs := of.store, of.snapshots
		switch {
		case remove != "" && (len(specs) > 0 || note != "" || force):
			return usagef("label: --remove NAME takes no SNAPSHOT, no --note and no --force")
		case remove == "" && len(specs) < 2:
			return usagef("label: SNAPSHOT and NAME are both needed; hindcast labels lists them")
		}
		t, err := of.readTimeline(ctx)
		if err != nil {
			return err
		}
		if remove != "" {
			return a.removeLabel(ctx, p, s, t, of.session, remove)
		}
		n, err := findVisit(t, specs[0])
		if err != nil {
			return err
		}
		h := t.Header(n)
		label := model.Label{Session: of.session, ID: h.ID, Visit: h.Visit, Name: specs[1], Note: note}
		if at := t.FindLabel(label.Name); at != model.NoNode && at != n && !force {
			return &advisedError{
				fmt.Errorf("label %q: %s has it already", label.Name, t.Name(at)),
				"--force moves it to " + t.Name(n) + ".",
			}
		}
		if label, err = a.Labels.Set(ctx, s, label); err != nil {
			return err
		}
		return p.writeLabel("labelled", t.Name(n), label)
	})
	cmd.ValidArgsFunction = a.completeSnapshot(1)
	cmd.Flags().StringVar(&note, "note", "", "a `TEXT` that is kept with the label")
	cmd.Flags().StringVar(&remove, "remove", "", "take the label of that `NAME` away")
	if err := cmd.RegisterFlagCompletionFunc("remove", a.completeLabels); err != nil {
		panic(err) // the flag is there
	}
	cmd.Flags().BoolVar(&force, "force", false, "take the name from the snapshot that has it")
	return cmd
}

// completeLabels completes the labels of a session, where it is named.
func (a *App) completeLabels(cmd *cobra.Command, args []string, word string) (words []string, _ cobra.ShellCompDirective) {
	address, rest, ok := a.splitStore(args)
	if !ok || len(rest) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	s, err := a.openStore(ctx, address)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer s.Close()
	list, _ := a.Labels.Of(ctx, s, rest[0]) // none completes to nothing
	for _, label := range list {
		if strings.HasPrefix(label.Name, word) && isPlain(label.Name) {
			words = append(words, label.Name)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// removeLabel removes a label of a session.
func (a *App) removeLabel(ctx context.Context, p *printer, s store.Store, t *model.Timeline, session, name string) error {
	list, err := a.Labels.Of(ctx, s, session)
	if err != nil {
		return err
	}
	err = a.Labels.Remove(ctx, s, session, name)
	if errors.Is(err, labels.ErrNoLabel) {
		var names []string
		for _, label := range list {
			names = append(names, label.Name)
		}
		if near := nearestName(name, names); near != "" {
			return &wrongError{fmt.Sprintf("%v; did you mean %q?", err, near), err}
		}
	}
	if err != nil {
		return err
	}
	for _, label := range list {
		if label.Name == name {
			return p.writeLabel("removed from", nameAt(t, t.FindLabel(name)), label)
		}
	}
	return nil
}

// labelJSON is the document of `label --json`, and an element of `labels --json`.
type labelJSON struct {
	Label     string     `json:"label"`
	Note      string     `json:"note,omitempty"`
	At        *time.Time `json:"at,omitempty"`
	SessionID string     `json:"sessionId"`
	ID        string     `json:"id"`
	Visit     int64      `json:"visit,omitempty"`
	Name      string     `json:"name,omitempty"`
}

func labelOf(label model.Label, name string) labelJSON {
	return labelJSON{label.Name, label.Note, writableTime(label.At), label.Session, label.ID, label.Visit, name}
}

// writeLabel writes the outcome of a change of a label.
func (p *printer) writeLabel(done, snapshot string, label model.Label) error {
	if p.json {
		return p.writeDocument(labelOf(label, snapshot))
	}
	fmt.Fprintf(p, "%s %s %s of %s: %s\n", done, snapshot, shortID(label.ID), printable.String(label.Session), printable.String(label.Name))
	return nil
}

// nameAt returns the name of a visit, or "".
func nameAt(t *model.Timeline, n model.Node) string {
	if n == model.NoNode {
		return ""
	}
	return t.Name(n)
}

// labelNames returns labels as a row shows them, or "".
func labelNames(list []model.Label) string {
	if len(list) == 0 {
		return ""
	}
	names := make([]string, len(list))
	for i := range list {
		names[i] = printable.String(list[i].Name)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// labelsCommand is `hindcast labels`.
func (a *App) labelsCommand() *cobra.Command {
	return a.readingCommand(oneOrAll, &cobra.Command{
		Use:   "labels [STORE...] [SESSION]",
		Short: "list the labels of snapshots",
		Long: `Labels lists the labels of a session, or without SESSION those of all sessions of
the stores. A label whose snapshot is not there now, as after the undo of an import,
is listed without one.`,
		Example: `  hindcast labels trips.db
  hindcast labels trips.db trip-planner --json | jq -r '.[].label'`,
	}, func(ctx context.Context, p *printer, of *subject) error {
		var failed error
		list := a.labelsOf(ctx, of.sources(ctx, &failed))
		if p.json {
			return errors.Join(writeArray(p, list), failed)
		}
		if err := p.writeLabels(list, &failed); err != nil {
			return err
		}
		return failed
	})
}

// labelsOf yields the labels of some sessions. A timeline is read only where there are any.
func (a *App) labelsOf(ctx context.Context, sessions iter.Seq2[query.Source, error]) iter.Seq2[labelJSON, error] {
	return func(yield func(labelJSON, error) bool) {
		for session, err := range sessions {
			var list []model.Label
			if err == nil {
				list, err = a.Labels.Of(ctx, session.Store, session.ID)
			}
			var t *model.Timeline
			if err == nil && len(list) > 0 {
				t, err = query.ReadTimeline(ctx, session.Store, session.ID)
			}
			if err != nil {
				yield(labelJSON{}, err)
				return
			}
			if t != nil {
				t.SetLabels(list)
			}
			for _, label := range list {
				if !yield(labelOf(label, nameAt(t, t.FindLabel(label.Name))), nil) {
					return
				}
			}
		}
	}
}

// writeLabels writes a table of labels. It writes nothing for no labels where failed holds why some may be missing.
func (p *printer) writeLabels(list iter.Seq2[labelJSON, error], failed *error) error {
	var t table
	t.addRow("SESSION", "SNAPSHOT", "ID", "LABEL", "SET", "NOTE")
	for l, err := range list {
		if err != nil {
			return err
		}
		at := time.Time{}
		if l.At != nil {
			at = *l.At
		}
		name := l.Name
		if name == "" {
			name = "not there"
		}
		t.addRow(printable.String(l.SessionID), name, shortID(l.ID), printable.String(l.Label), formatMoment(at), printable.String(l.Note))
	}
	if len(t.rows) == 1 {
		if *failed == nil {
			fmt.Fprintln(p, "no labels")
		}
		return nil
	}
	t.writeTable(p)
	return nil
}
