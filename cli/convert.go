package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/scratch"
)

// convertCommand is `hindcast convert`.
func (a *App) convertCommand() *cobra.Command {
	var to, as string
	cmd := a.writingCommand(oneSession.itself, &cobra.Command{
		Use:   "convert [STORE...] [SESSION] --to KIND:PATH --as ID",
		Short: "copy a session into a native store; the original is untouched",
		Long: `Convert copies a session of any kind into a native store, under a name that is free
there. The store is made if there is none: a file, or in the database of a URL.
Orphaned branches go along. Into the store of a coding agent goes the conversation
at the head, as hindcast continue hands it over. hindcast undo on the other store
takes the new session away again.`,
		Example: `  hindcast convert ~/.strands/sessions chat --to sqlite:trips.db --as chat --dry-run
  hindcast convert trips.db trip-planner --to postgres://me@host/trips --as trip-planner`,
		PreRunE: func(*cobra.Command, []string) error {
			if to == "" || as == "" {
				return usagef("convert needs --to with the other store and --as with the id of the new session")
			}
			return nil
		},
	}, func(ctx context.Context, p *printer, of *subject, agreed consent) error {
		return a.intoStore(ctx, to, agreed, func(s store.Store) error {
			if s.Features().PlanContinue != nil {
				return a.continueInto(ctx, p, s, of, "", as, agreed)
			}
			return a.takeOver(ctx, p, s, of.store, of.session, as, to, agreed)
		})
	})
	cmd.Flags().StringVar(&to, "to", "", "the store that takes the session, as `KIND:PATH` or a URL")
	cmd.Flags().StringVar(&as, "as", "", "id of the new session")
	return cmd
}

// takeOver plans and carries out the conversion of a session into a store that is
// found at an address.
func (a *App) takeOver(ctx context.Context, p *printer, to, from store.Store, session, as, address string, agreed consent) error {
	if reason := store.Reason(to, model.OpConvert); reason != "" {
		return lackError(to, model.OpConvert, reason)
	}
	todo, err := to.Features().PlanConvert(ctx, from, session, as)
	if err != nil {
		return err
	}
	return a.carryOut(ctx, p, to, agreed, &planned{Plan: todo, back: shownAddress(address, to)})
}

// arising is a store that is not there yet. An empty one answers for it, until a plan is carried out: then it is made.
type arising struct {
	store.Store
	shown string
	make  func(context.Context) (store.Store, error)
}

// Address returns where the store will be.
func (s *arising) Address() string { return s.shown }

// Features returns the features of the empty store, except that Apply first makes the store.
func (s *arising) Features() store.Features {
	f := s.Store.Features()
	f.Apply = s.applyPlan
	return f
}

func (s *arising) applyPlan(ctx context.Context, plan model.Plan) (done model.Receipt, err error) {
	made, err := s.make(ctx)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, made.Close()) }()
	return made.Features().Apply(ctx, plan)
}

// intoDatabase is into of a database without a store: it is planned with an empty one elsewhere.
func (a *App) intoDatabase(ctx context.Context, shown, address string, do func(store.Store) error) (err error) {
	dir, err := scratch.Make("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	empty, err := a.Create(ctx, filepath.Join(dir.Path, "empty.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, empty.Close()) }()
	return do(&arising{empty, shown, func(ctx context.Context) (store.Store, error) { return a.Create(ctx, address) }})
}

// intoStore lets do write into the store at an address. If there is no store, it makes a native one beside the
// path, and renames it when do has succeeded. If do wrote nothing, the new store is removed. In a database
// the store is made once the plan is agreed to.
func (a *App) intoStore(ctx context.Context, address string, agreed consent, do func(store.Store) error) (err error) {
	s, err := a.openStore(ctx, address)
	if err == nil {
		defer func() { err = errors.Join(err, s.Close()) }()
		return do(s)
	}
	if vacant, is := errors.AsType[*store.VacantError](err); is {
		return a.intoDatabase(ctx, vacant.At, address, do)
	}
	path, kind, free := a.freePath(ctx, address, err)
	if !free {
		return err
	}
	err = &advisedError{err, "--to makes a native store: sqlite:FILE.db, or the URL of a database."}
	beside := filepath.Dir(path)
	if agreed.dryRun {
		beside = ""
	}
	dir, made := scratch.Make(beside)
	if made != nil {
		return fmt.Errorf("make %q: %w", path, made)
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	fresh := filepath.Join(dir.Path, filepath.Base(path))
	s, made = a.Create(ctx, fresh)
	if made != nil {
		return made
	}
	if kind != "" && kind != s.Kind() { // another kind was asked for
		return errors.Join(err, s.Close())
	}
	if err := errors.Join(do(s), s.Close()); err != nil || agreed.dryRun {
		return err
	}
	return nameFile(fresh, path)
}
