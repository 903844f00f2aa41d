package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/store"
)

// doctor is `hindcast doctor`.
func (a *App) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor STORE",
		Short: "list every fault found, with the framework's own verdict",
		Long: `Doctor lists every fault that it finds in a store and in its sessions, with the
verdict that the framework itself would give. It changes nothing. The exit code
is 3 when there are faults.`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: completeStore,
		RunE: a.answer(func(ctx context.Context, p *printer, args []string) error {
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			faults, err := examine(ctx, s)
			if err != nil {
				return err
			}
			if p.json {
				if err := array(p, each(faults)); err != nil {
					return err
				}
			} else {
				p.faults(faults)
			}
			if len(faults) > 0 {
				return errFaults
			}
			return nil
		}),
	}
}

// examine gathers the faults of the store and of each session. A kind that has
// no doctor of its own still has a lineage that can be looked at.
func examine(ctx context.Context, s store.Store) ([]model.Fault, error) {
	doctor, ok := s.(store.Doctor)
	if !ok {
		doctor = lineage{s}
	}
	faults, err := doctor.Faults(ctx, "")
	if err != nil {
		return nil, err
	}
	for info, err := range s.Sessions(ctx) {
		if err != nil {
			return nil, err
		}
		found, err := doctor.Faults(ctx, info.ID)
		if err != nil {
			return nil, err
		}
		faults = append(faults, found...)
	}
	return faults, nil
}

// lineage is the doctor of a store that has none.
type lineage struct{ store.Store }

func (l lineage) Faults(ctx context.Context, session string) ([]model.Fault, error) {
	if session == "" {
		return nil, nil
	}
	t, err := timeline(ctx, l, session)
	if err != nil {
		return nil, err
	}
	return t.Faults(), nil
}

func (p *printer) faults(faults []model.Fault) {
	if len(faults) == 0 {
		fmt.Fprintln(p, "no faults")
		return
	}
	for i := range faults {
		f := &faults[i]
		fmt.Fprintf(p, "%s  %s", p.paint.in(yellow, printable.String(f.Code)), printable.String(f.File))
		if f.Path != "" {
			fmt.Fprintf(p, " at %s", printable.String(f.Path))
		}
		fmt.Fprintf(p, "\n  %s\n", printable.String(f.Meaning))
		if f.Verdict != "" {
			fmt.Fprintf(p, "  the framework: %s\n", printable.String(f.Verdict))
		}
	}
}
