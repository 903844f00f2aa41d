package genkit

import (
	"path"
	"path/filepath"
	"strings"

	"hindcast/store/writing"
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

// vault is what one storage folder is written with.
type vault struct {
	*writing.Desk
	// at is that folder in the names of the store, where it is in the opened one,
	// else "."; up is the way from it down to the opened one, "" for none.
	at, up string
}

// vaultOf returns the journal that rows below a base have.
func (s *Store) vaultOf(b base) *vault {
	s.basing.Lock()
	defer s.basing.Unlock()
	if v := s.vaults[b.dir]; v != nil {
		return v
	}
	v := newVault(s.dir, b)
	v.Now = s.now
	s.vaults[b.dir] = v
	return v
}

func newVault(opened string, b base) *vault {
	whole, err := filepath.Abs(opened)
	switch {
	case b.dir != ".":
		return vaultAt(filepath.Join(opened, filepath.FromSlash(b.dir)), b.dir, "")
	case err != nil:
		return vaultAt(opened, ".", "")
	}
	up := ""
	for at, n := whole, 0; n <= mostDepth; n++ {
		if isStorage(at) {
			return vaultAt(at, ".", up)
		}
		up = path.Join(filepath.Base(at), up)
		next := filepath.Dir(at)
		if next == at {
			break
		}
		at = next
	}
	if filepath.Base(whole) == defaultPrefix {
		return vaultAt(filepath.Dir(whole), ".", defaultPrefix)
	}
	return vaultAt(opened, ".", "")
}

func vaultAt(dir, at, up string) *vault {
	return &vault{writing.New(dir, up, isTemporary), at, up}
}

// isStorage reports whether a folder is one of those that projects keep rows in.
func isStorage(dir string) bool {
	name := filepath.Base(dir)
	return strings.HasPrefix(name, ".snapshots") || name == "snapshots" && filepath.Base(filepath.Dir(dir)) == ".genkit"
}

// inside returns the name in the vault of a name in the store.
func (v *vault) inside(name string) string {
	if v.at == "." {
		return v.Inside(name)
	}
	return strings.TrimPrefix(name, v.at+"/")
}

// outside returns the name in the store of a name in the vault. It begins with
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

// known returns the journals of all bases, in their order.
func (s *Store) known() []*vault {
	var list []*vault
	for _, b := range s.bases() {
		list = append(list, s.vaultOf(b))
	}
	return list
}
