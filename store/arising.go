package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hindcast/model"
	"hindcast/model/handover"
)

// Arising is a store that is not there yet. An empty one answers for it, until a plan is carried out: then it is made.
type Arising struct {
	Store
	// Shown is where the store will be.
	Shown string
	// Make makes the store and opens it.
	Make func(context.Context) (Store, error)
	// Remove takes back what Make made, where the plan fails; nil in a database.
	Remove func() error
}

// NewArising returns the store that is to be at a path where nothing is, of a kind with a Make. The empty one is in a folder, which
// the caller removes when the store is closed.
func (k *Kind) NewArising(ctx context.Context, path, folder string) (*Arising, error) {
	empty, err := k.createStore(ctx, filepath.Join(folder, filepath.Base(path)))
	if err != nil {
		return nil, err
	}
	return &Arising{
		empty, path, func(ctx context.Context) (Store, error) { return k.createStore(ctx, path) }, func() error { return os.Remove(path) },
	}, nil
}

// createStore makes an empty store and opens it.
func (k *Kind) createStore(ctx context.Context, path string) (Store, error) {
	if err := k.Make(ctx, path); err != nil {
		return nil, fmt.Errorf("make %q: %w", path, err)
	}
	return k.Open(ctx, path)
}

// Address returns where the store will be.
func (s *Arising) Address() string { return s.Shown }

// Features returns the features of the empty store, except that a plan tells of the new store, and Apply first makes it.
func (s *Arising) Features() Features {
	f := s.Store.Features()
	f.Apply = s.applyPlan
	tellMade := func(plan model.Plan, err error) (model.Plan, error) {
		plan.Writes = append([]string{s.Shown + ": made, " + Article(s.Kind()) + " store"}, plan.Writes...)
		return plan, err
	}
	if convert := f.PlanConvert; convert != nil {
		f.PlanConvert = func(ctx context.Context, from Store, session, as string) (model.Plan, error) {
			return tellMade(convert(ctx, from, session, as))
		}
	}
	if goOn := f.PlanContinue; goOn != nil {
		f.PlanContinue = func(ctx context.Context, from *handover.Source, as string) (model.Plan, error) {
			return tellMade(goOn(ctx, from, as))
		}
	}
	return f
}

func (s *Arising) applyPlan(ctx context.Context, plan model.Plan) (done model.Receipt, err error) {
	made, err := s.Make(ctx)
	if err != nil {
		return done, err
	}
	defer func() {
		if err = errors.Join(err, made.Close()); err != nil && s.Remove != nil {
			err = errors.Join(err, s.Remove())
		}
	}()
	plan.Writes = plan.Writes[1:]
	return made.Features().Apply(ctx, plan)
}
