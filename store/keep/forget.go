package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/journal"
)

// OpenKept opens all that is kept of a store.
func (a *Archive) OpenKept(ctx context.Context, f store.Found) (store.Store, error) {
	list, err := a.listStores(ctx)
	if err != nil {
		return nil, err
	}
	at, err := filepath.Abs(f.At)
	if err != nil {
		return nil, err
	}
	k, known := a.findKind(f.Name)
	for _, of := range list {
		if known && of.kind == f.Name && of.at == at {
			return a.openGone(ctx, k, of, true)
		}
	}
	return nil, fmt.Errorf("open what is kept of %s %q: %w", f.Name, f.At, fs.ErrNotExist)
}

// forgetPlan is the Carry of a plan that forgets a session: the names of its files.
type forgetPlan struct {
	session string
	names   []string
}

// planForget plans to remove a session from the archive: its own files in all versions. A file that another session is in stays, and if the
// session is in no other file the plan is refused.
func (s *goneStore) planForget(ctx context.Context, c model.Change) (plan model.Plan, err error) {
	session := c.Ref.Session
	if err := store.Find(ctx, s.Store, session); err != nil {
		return plan, err
	}
	isOwn, _, _, err := s.readFiles(ctx, session)
	if err != nil {
		return plan, err
	}
	others, err := s.hasOthers(ctx, session)
	if err != nil {
		return plan, err
	}
	rest := &kept{a: s.a, ctx: s.source.ctx, files: map[string]*keptFile{}}
	carry := &forgetPlan{session: session}
	plan = model.Plan{Op: model.OpForget, Session: session, Carry: carry}
	for _, name := range slices.Sorted(maps.Keys(s.source.files)) {
		f := s.source.files[name]
		if others && !isOwn(name) {
			rest.files[name] = f
			continue
		}
		carry.names = append(carry.names, name)
		plan.Files = append(plan.Files, model.PlanFile{Path: s.shownPath(name), Does: model.FileForgotten, Size: f.size})
	}
	lost, stays, err := s.findLost(ctx, session, rest)
	switch {
	case err != nil:
		return model.Plan{}, err
	case len(lost) > 0:
		return model.Plan{}, &model.UnsupportedError{Op: c.Op, Reason: fmt.Sprintf("its files have %s as well: %.80q would go with it", model.Count(len(lost), "other session"), lost[0])}
	case stays:
		return model.Plan{}, &model.UnsupportedError{Op: c.Op, Reason: "its kind reads all files to find any session, and does not tell which are its own"}
	}
	tellForgotten(&plan)
	return plan, nil
}

// tellForgotten says what is written by a plan that forgets files.
func tellForgotten(plan *model.Plan) {
	plan.Writes = []string{"the archive: parts of these files that no other file has, in all versions", "the files of the tool stay as they are, and are not kept again"}
	plan.Asks = []string{"what is kept of it is gone for good, and nothing takes that back"}
}

// hasOthers reports whether other sessions are kept besides one with its sub-agents.
func (s *goneStore) hasOthers(ctx context.Context, session string) (bool, error) {
	for info, err := range store.AnyOrder(ctx, s.Store) {
		if err != nil || !isPartOf(info, session) {
			return err == nil, err
		}
	}
	return false, ctx.Err()
}

// isPartOf reports whether a session is another one, or a sub-agent of it.
func isPartOf(info model.SessionInfo, session string) bool {
	return info.ID == session || info.Parent == session || strings.HasPrefix(info.ID, session+"/")
}

// findLost returns the sessions that are not in some of the kept files, besides one with its sub-agents. stays reports whether that is in
// them still.
func (s *goneStore) findLost(ctx context.Context, session string, rest *kept) (lost []string, stays bool, err error) {
	there := map[string]bool{}
	if len(rest.files) > 0 {
		rest.enterAll()
		some, err := s.kind.OpenAt(ctx, engine.Site{On: &Source{rest, s.source.at, nil}})
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, store.ErrUnrecognised) {
			return nil, false, err
		}
		if err == nil {
			defer some.Close() // it was only read
			for info, err := range store.AnyOrder(ctx, some) {
				if err != nil {
					return nil, false, err
				}
				there[info.ID] = true
			}
		}
	}
	for info, err := range store.AnyOrder(ctx, s.Store) {
		if err != nil {
			return nil, false, err
		}
		if !isPartOf(info, session) && !there[info.ID] {
			lost = append(lost, info.ID)
		}
	}
	return lost, there[session], ctx.Err()
}

// applyForget carries out a plan of planForget, and leaves nothing of it in the log of the database.
func (s *goneStore) applyForget(ctx context.Context, carry *forgetPlan) (done model.Receipt, err error) {
	err = s.a.on.writeTx(ctx, func(t tx) error { return s.a.forgetFiles(ctx, t, carry.names) })
	if err == nil {
		s.a.mu.Lock()
		s.a.blocks = nil
		s.a.mu.Unlock()
		if err = s.a.on.wipeDeleted(ctx); err != nil {
			err = fmt.Errorf("the session is forgotten, and its bytes lie in the archive until the next forget: %w", err)
		}
	}
	if err != nil {
		return done, fmt.Errorf("forget %q: %w", carry.session, err)
	}
	return model.Receipt{Op: model.OpForget, Session: carry.session}, nil
}

// forgetFiles removes files in all versions, with the copies that journals have of them, and the parts that no other file has.
func (a *Archive) forgetFiles(ctx context.Context, t tx, names []string) error {
	gone, used, own := map[int64]bool{}, map[int64]bool{}, map[string]bool{}
	for _, name := range names {
		own[name] = true
	}
	tags := map[string]bool{}
	for _, each := range []func(name, tag string){
		func(name, tag string) { tags[tag] = tags[tag] || own[name] },
		func(name, tag string) {
			if tags[tag] && !own[name] && strings.Contains(name, "/"+journal.Folder+"/") {
				own[name], names = true, append(names, name)
			}
		},
	} {
		if err := t.eachRow(ctx, func(scan func(...any) error) error {
			var name string
			var tag []byte
			err := scan(&name, &tag)
			each(name, string(tag))
			return err
		}, "SELECT name, tag FROM files"); err != nil {
			return err
		}
	}
	if err := t.eachRow(ctx, func(scan func(...any) error) error {
		var name string
		var list []byte
		err := scan(&name, &list)
		to := used
		if own[name] {
			to = gone
		}
		for _, id := range decodeList(list) {
			to[id] = true
		}
		return err
	}, "SELECT name, list FROM files"); err != nil {
		return err
	}
	for _, name := range names {
		if err := t.execLater(ctx, "DELETE FROM files WHERE name = ?", name); err != nil {
			return err
		}
		if err := t.execLater(ctx, "INSERT INTO forgotten (name) VALUES (?) ON CONFLICT DO NOTHING", name); err != nil {
			return err
		}
	}
	blocks := map[int64]bool{}
	for id := range gone {
		var in int64
		if used[id] {
			continue
		}
		if found, err := t.scanRow(ctx, []any{&in}, "SELECT block FROM parts WHERE part = ?", id); err != nil {
			return err
		} else if found {
			blocks[in] = true
		}
		if err := t.execLater(ctx, "DELETE FROM parts WHERE part = ?", id); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(blocks)) {
		if err := a.repackBlock(ctx, t, id); err != nil {
			return err
		}
	}
	return nil
}

// repackBlock writes a block anew with the parts that are left in it, or removes it.
func (a *Archive) repackBlock(ctx context.Context, t tx, id int64) error {
	var list []piece
	if err := t.eachRow(ctx, func(scan func(...any) error) error {
		var p piece
		err := scan(&p.id, &p.at, &p.size)
		list = append(list, p)
		return err
	}, "SELECT part, at, size FROM parts WHERE block = ? ORDER BY at", id); err != nil {
		return err
	}
	if len(list) == 0 {
		return t.execLater(ctx, "DELETE FROM blocks WHERE block = ?", id)
	}
	raw, _, err := a.readBlock(ctx, t, id)
	if err != nil {
		return err
	}
	var left []byte
	for _, p := range list {
		if p.at < 0 || p.size < 0 || p.at > len(raw)-p.size {
			return fmt.Errorf("%w: a part lies outside its block", ErrDamaged)
		}
		if err := t.execLater(ctx, "UPDATE parts SET at = ? WHERE part = ?", len(left), p.id); err != nil {
			return err
		}
		left = append(left, raw[p.at:p.at+p.size]...)
	}
	encoding, data, err := a.codec.encodeBlock(left)
	if err != nil {
		return err
	}
	return t.execLater(ctx, "UPDATE blocks SET size = ?, encoding = ?, data = ? WHERE block = ?", len(left), encoding, data, id)
}
