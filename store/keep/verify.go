package keep

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"hindcast/store/home"
)

// Verify reads each block, and compares each part with its hash and each file with its tag.
func (a *Archive) Verify(ctx context.Context) (done home.Verified, err error) {
	err = a.on.readTx(ctx, func(t tx) error {
		done = home.Verified{}
		v := verifying{a: a, t: t, parts: map[int64]piece{}}
		if err := v.readParts(ctx); err != nil {
			return err
		}
		return v.compareFiles(ctx, &done)
	})
	if err != nil {
		return done, fmt.Errorf("verify %q: %w", a.Path(), err)
	}
	return done, nil
}

// verifying verifies an archive.
type verifying struct {
	a *Archive
	t tx
	// parts are the sound parts, with hash and size.
	parts  map[int64]piece
	stored int64
}

// readParts reads the blocks one after the other.
func (v *verifying) readParts(ctx context.Context) error {
	var list []int64
	if err := v.t.eachRow(ctx, func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		list = append(list, id)
		return err
	}, "SELECT block FROM blocks ORDER BY block"); err != nil {
		return err
	}
	for _, id := range list {
		raw, stored, err := v.a.readBlock(ctx, v.t, id)
		if err != nil && !errors.Is(err, ErrDamaged) {
			return err
		}
		v.stored += int64(stored)
		if err := v.t.eachRow(ctx, func(scan func(...any) error) error {
			var p piece
			var sum []byte
			if err := scan(&p.id, &sum, &p.at, &p.size); err != nil {
				return err
			}
			if p.at < 0 || p.size < 0 || p.at > len(raw)-p.size {
				return nil
			}
			if p.hash = sha256.Sum256(raw[p.at : p.at+p.size]); bytes.Equal(p.hash[:], sum) {
				v.parts[p.id] = p
			}
			return nil
		}, "SELECT part, hash, at, size FROM parts WHERE block = ?", id); err != nil {
			return err
		}
	}
	return nil
}

// compareFiles compares each file with its parts.
func (v *verifying) compareFiles(ctx context.Context, done *home.Verified) error {
	if _, err := v.t.scanRow(ctx, []any{&done.Stores}, "SELECT count(*) FROM stores"); err != nil {
		return err
	}
	done.Stored = v.stored
	err := v.t.eachRow(ctx, func(scan func(...any) error) error {
		var name string
		var r fileRow
		var newest bool
		if err := scan(&name, &r.size, &r.tag, &r.list, &r.gone, &newest); err != nil {
			return err
		}
		if newest {
			done.Files++
			done.Bytes += r.size
			if r.gone {
				done.Gone++
			}
		}
		if !v.isSound(&r) {
			done.Damaged = append(done.Damaged, shownName(name))
		}
		return nil
	}, "SELECT name, size, tag, list, gone IS NOT NULL, newest IS NOT NULL FROM files")
	slices.Sort(done.Damaged)
	done.Damaged = slices.Compact(done.Damaged)
	return err
}

// isSound reports whether all parts of a file are there and make the file.
func (v *verifying) isSound(r *fileRow) bool {
	sum, size := sha256.New(), int64(0)
	for _, id := range decodeList(r.list) {
		p, sound := v.parts[id]
		if !sound {
			return false
		}
		sum.Write(p.hash[:])
		size += int64(p.size)
	}
	return size == r.size && bytes.Equal(sum.Sum(nil), r.tag)
}

// shownName returns a kept name for people: the path of a file, or the path of a database and a session in it.
func shownName(name string) string {
	database, session, is := splitRows(name)
	switch {
	case !is:
		return name
	case session == "":
		return database + ": when it was kept"
	}
	return database + ": session " + session
}
