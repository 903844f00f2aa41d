package engine

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"hindcast/store"
	"hindcast/store/media/files"
	"hindcast/store/media/pg"
	"hindcast/store/media/tree"
)

// Kind describes a kind of store for the list of kinds: one Sign and one OpenAt, wherever a store lies.
type Kind struct {
	// Kind is the kind for paths and URLs. Derive makes its Recognise and Open from Sign and OpenAt.
	store.Kind
	// Sign recognises a store at a site, as Recognise does at a path.
	Sign func(ctx context.Context, at Site) (why string, ok bool, err error)
	// OpenAt opens the store at a site, and closes the source or the server with it.
	OpenAt func(ctx context.Context, at Site) (store.Store, error)
	// Copied says that the files may be in a bucket, and Served that the tables may be in a database on a server.
	Copied, Served bool
	// NoIndex says that a list of the sessions looks at no files but theirs, and at what lies in their folders.
	NoIndex bool
	// Tables describes the rows of sessions in databases; nil for a kind without databases.
	Tables *Tables
}

// Site is where a store may be: at a path of this machine, in a source such as a prefix of a bucket, or in a
// database on a server.
type Site struct {
	// Path is the path as a person named it. Info describes the file or folder there, and Err says why it is nil.
	Path string
	Info fs.FileInfo
	Err  error
	On   tree.Source
	// Tables are the tables that a name finds on the server, with their columns; tables of the schema hindcast are
	// named "hindcast.TABLE".
	Server *pg.Server
	Tables map[string]map[string]bool
}

// SiteOf returns the site at a path.
func SiteOf(path string) Site {
	info, err := os.Stat(path)
	return Site{Path: path, Info: info, Err: err}
}

// Name returns the name of a path or a source, for people.
func (s Site) Name() string {
	if s.On != nil {
		return s.On.Name()
	}
	return s.Path
}

// Whole returns the whole name of a path or a source, with slashes.
func (s Site) Whole() string {
	if s.On != nil {
		return s.On.Name()
	}
	whole, err := filepath.Abs(s.Path)
	if err != nil {
		return "" // the current folder is gone
	}
	return filepath.ToSlash(whole)
}

// IsFolder reports whether a path or a source is a folder.
func (s Site) IsFolder() bool {
	if s.On == nil {
		return s.Info != nil && s.Info.IsDir()
	}
	at, err := s.On.Tree().Stamp(".")
	return err != nil || at.Kind != files.Regular
}

// Below returns a folder in a folder, and false if it does not exist.
func (s Site) Below(way string) (Site, bool) {
	if s.On != nil {
		on, ok := s.On.At(way)
		return Site{On: on}, ok
	}
	below := s
	if below.Path = filepath.Join(s.Path, way); way != "." {
		below = SiteOf(below.Path)
	}
	return below, below.IsFolder()
}

// Around returns the folder around a file, and the file's name in it. It reports false for a file of a source without
// folders.
func (s Site) Around() (around Site, name string, ok bool) {
	whole := s.Whole()
	if s.On == nil {
		return Site{Path: filepath.FromSlash(path.Dir(whole))}, path.Base(whole), whole != ""
	}
	around.On, ok = s.On.At("..")
	return around, path.Base(whole), ok
}

// Tree returns the tree of a folder, until done is called.
func (s Site) Tree() (t tree.Tree, done func(), err error) {
	if s.On != nil {
		return s.On.Tree(), func() {}, nil
	}
	disk, err := tree.OpenDisk(s.Path)
	if err != nil {
		return nil, nil, err
	}
	return disk, func() { _ = disk.Close() }, nil // it was only looked at
}

// InFolder makes a Sign of a function that looks into the tree of a folder. It recognises no file.
func InFolder(look func(ctx context.Context, at Site, t tree.Tree) (why string, ok bool, err error)) func(context.Context, Site) (string, bool, error) {
	return func(ctx context.Context, at Site) (string, bool, error) {
		if !at.IsFolder() {
			return "", false, nil
		}
		t, done, err := at.Tree()
		if err != nil {
			return "", false, err
		}
		defer done()
		return look(ctx, at, t)
	}
}

// Derive returns the kind with Recognise and Open.
func (k Kind) Derive() Kind {
	k.Recognise = func(ctx context.Context, path string) (why string, ok bool, err error) {
		at := SiteOf(path)
		if at.Err != nil {
			return "", false, at.Err
		}
		return k.Sign(ctx, at)
	}
	k.Kind.Open = func(ctx context.Context, path string) (store.Store, error) {
		if k.Served && pg.IsURL(path) {
			return openDatabase(ctx, []Kind{k}, path)
		}
		return k.OpenAt(ctx, SiteOf(path))
	}
	return k
}

// Finder returns the function that finds the kind of a bucket, see bucket.Finder: the first that recognises it.
func Finder(kinds ...Kind) func(context.Context, tree.Source) (open func(context.Context) (store.Store, error), err error) {
	return func(ctx context.Context, on tree.Source) (func(context.Context) (store.Store, error), error) {
		var tried, missing []string
		at := Site{On: on}
		for _, k := range kinds {
			if !k.Copied {
				continue
			}
			why, ok, err := k.Sign(ctx, at)
			switch {
			case err != nil:
				return nil, err
			case ok:
				return func(ctx context.Context) (store.Store, error) { return k.OpenAt(ctx, at) }, nil
			}
			tried = append(tried, k.Name)
			if why != "" {
				missing = append(missing, "\n"+k.Name+": "+why)
			}
		}
		return nil, fmt.Errorf("%w (tried %s)%s", store.ErrUnrecognised, strings.Join(tried, ", "), strings.Join(missing, ""))
	}
}
