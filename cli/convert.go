package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
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
		Use:   "convert [STORE...] [SESSION] --to KIND:PATH [--as ID]",
		Short: "copy a session into a native store; the original is untouched",
		Long: `Convert copies a session of any kind into a native store, under a name that is free
there. The store is made if there is none: a file, or in the database of a URL.
Orphaned branches go along. Into the store of a coding agent goes the conversation
at the head, as hindcast continue hands it over. hindcast undo on the other store
takes the new session away again.

Into langgraph:FILE.db, a file of LangGraph's SqliteSaver that is made if there is none,
go the threads of langgraph dev: all of them, or SESSION, as they are called there or as
ID. A thread goes whole: every checkpoint, its branches, subgraphs and pending writes.`,
		Example: `  hindcast convert ~/.strands/sessions chat --to sqlite:trips.db --as chat --dry-run
  hindcast convert trips.db trip-planner --to postgres://me@host/trips --as trip-planner
  hindcast convert .langgraph_api --to langgraph:threads.db`,
		PreRunE: func(*cobra.Command, []string) error {
			if to == "" {
				return usagef("convert needs --to with the other store, and --as with the id of the new session")
			}
			return nil
		},
	}, func(ctx context.Context, p *printer, of *subject, agreed consent) error {
		return a.intoStore(ctx, to, agreed, func(s store.Store) error {
			session := of.session
			switch f := s.Features(); {
			case as == "" && !f.KeepsNames:
				return usagef("convert needs --to with the other store, and --as with the id of the new session")
			case as == "" && !of.named:
				session = ""
			case f.PlanContinue != nil && f.PlanConvert == nil:
				return a.continueInto(ctx, p, s, of, "", as, agreed)
			}
			return a.takeOver(ctx, p, s, of.store, session, as, to, agreed)
		})
	})
	cmd.Flags().StringVar(&to, "to", "", "the store that takes the session, as `KIND:PATH` or a URL")
	cmd.Flags().StringVar(&as, "as", "", "id of the new session; without --as a thread of LangGraph keeps its own")
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

// intoVacant is intoStore of an address without a store: arise returns the store that will be there, with an empty one in a folder.
func intoVacant(arise func(folder string) (*store.Arising, error), do func(store.Store) error) (err error) {
	dir, err := scratch.Make("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	s, err := arise(dir.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return do(s)
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
		return intoVacant(func(folder string) (*store.Arising, error) {
			// The address is a URL, with slashes on every system.
			empty, err := a.Create(ctx, filepath.Join(folder, path.Base(filepath.ToSlash(address))))
			if err != nil {
				return nil, err
			}
			create := func(ctx context.Context) (store.Store, error) { return a.Create(ctx, address) }
			return &store.Arising{Store: empty, Shown: vacant.At, Make: create}, nil
		}, do)
	}
	path, kind, free := a.freePath(ctx, address, err)
	if !free {
		return err
	}
	if k, ok := a.Kinds.FindKind(kind); ok && k.Make != nil && !store.HoldsRecordings(kind) {
		return intoVacant(func(folder string) (*store.Arising, error) { return k.NewArising(ctx, path, folder) }, do)
	}
	err = &advisedError{err, "--to makes a native store: sqlite:FILE.db, or the URL of a database; or langgraph:FILE.db, of SqliteSaver."}
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
