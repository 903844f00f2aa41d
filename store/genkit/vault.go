package genkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"hindcast/store/disk"
	"hindcast/store/journal"
)

// Where Hindcast's own journal of a store lives.
//
// It lies beside the rows of all agents and tenants, in the folder that is the
// storage as a whole, so that it is the same one whichever folder of the storage
// was opened:
//
//	.genkit/snapshots/.hindcast    for all that is below .genkit/snapshots
//	.snapshots…/.hindcast          for all that is below a folder of such a name
//	DIR/.hindcast                  of any other folder DIR that is opened; where
//	                               that is a "global", of the folder it lies in
//
// A project may have several of these. No SDK looks at the name: Go and
// JavaScript take the *.json of the very folder of a tenant, and Python those of
// the one folder that it has.

// vault is the journal of one storage folder, and the disk below that.
type vault struct {
	// dir is the storage folder in the file system.
	dir string
	// at is that folder in the names of the store, where it is in the opened one,
	// else "."; up is the way from it down to the opened one, "" for none.
	at, up string

	opening sync.Mutex
	disk    *disk.OS // nil until something is read or written there
	journal *journal.Journal
	options journal.Options
	// broken is why a write that was broken off could not be finished.
	broken error
}

// vaultOf gives the journal that rows below a base have.
func (s *Store) vaultOf(b base) *vault {
	s.basing.Lock()
	defer s.basing.Unlock()
	if v := s.vaults[b.dir]; v != nil {
		return v
	}
	v := newVault(s.dir, b)
	v.options = journal.Options{Ignore: isTemporary, Now: s.now}
	s.vaults[b.dir] = v
	return v
}

func newVault(opened string, b base) *vault {
	whole, err := filepath.Abs(opened)
	switch {
	case b.dir != ".":
		return &vault{dir: filepath.Join(opened, filepath.FromSlash(b.dir)), at: b.dir}
	case err != nil:
		return &vault{dir: opened, at: "."}
	}
	up := ""
	for at, n := whole, 0; n <= mostDepth; n++ {
		if isStorage(at) {
			return &vault{dir: at, at: ".", up: up}
		}
		up = path.Join(filepath.Base(at), up)
		next := filepath.Dir(at)
		if next == at {
			break
		}
		at = next
	}
	if filepath.Base(whole) == defaultPrefix {
		return &vault{dir: filepath.Dir(whole), at: ".", up: defaultPrefix}
	}
	return &vault{dir: opened, at: "."}
}

// isStorage reports whether a folder is one of those that projects keep rows in.
func isStorage(dir string) bool {
	name := filepath.Base(dir)
	return strings.HasPrefix(name, ".snapshots") || name == "snapshots" && filepath.Base(filepath.Dir(dir)) == ".genkit"
}

// inside gives the name in the vault of a name in the store.
func (v *vault) inside(name string) string {
	if v.up != "" {
		return path.Join(v.up, name)
	}
	if v.at == "." {
		return name
	}
	return strings.TrimPrefix(name, v.at+"/")
}

// outside gives the name in the store of a name in the vault. It begins with
// "../" where that is not in the opened folder.
func (v *vault) outside(name string) string {
	if v.up != "" {
		if below, ok := strings.CutPrefix(name, v.up+"/"); ok {
			return below
		}
		return strings.Repeat("../", strings.Count(v.up, "/")+1) + name
	}
	return path.Join(v.at, name)
}

// exists reports whether something was ever written.
func (v *vault) exists() bool {
	_, err := os.Lstat(filepath.Join(v.dir, journal.Folder, "journal"))
	return err == nil
}

// open gives the journal. Nothing is written.
func (v *vault) open() (*journal.Journal, error) {
	v.opening.Lock()
	defer v.opening.Unlock()
	if v.journal != nil {
		return v.journal, nil
	}
	d, err := disk.Open(v.dir)
	if err != nil {
		return nil, err
	}
	v.disk, v.journal = d, journal.New(d, v.options)
	return v.journal, nil
}

// recover finishes a write of Hindcast's own that was broken off. That somebody
// writes just now is no error.
func (v *vault) recover(ctx context.Context) {
	if !v.exists() {
		return
	}
	j, err := v.open()
	if err == nil {
		err = j.Recover(ctx)
	}
	if errors.Is(err, disk.ErrLocked) {
		err = nil
	}
	v.opening.Lock()
	defer v.opening.Unlock()
	v.broken = err
}

// trouble says why a write that was broken off could not be finished, nil if
// there is none.
func (v *vault) trouble() error {
	v.opening.Lock()
	defer v.opening.Unlock()
	return v.broken
}

// entries gives what was written there, the oldest first; nothing where there is
// no journal.
func (v *vault) entries(ctx context.Context) ([]journal.Entry, error) {
	if !v.exists() {
		return nil, nil
	}
	j, err := v.open()
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	return j.Entries(ctx)
}

func (v *vault) close() error {
	v.opening.Lock()
	defer v.opening.Unlock()
	if v.disk == nil {
		return nil
	}
	return v.disk.Close()
}

// known gives the journals of all bases, in their order.
func (s *Store) known() []*vault {
	var list []*vault
	for _, b := range s.bases() {
		list = append(list, s.vaultOf(b))
	}
	return list
}
