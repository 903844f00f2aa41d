package genkit

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// Kind describes the snapshot files of Genkit. cache keeps what rows said from
// one run of the program to the next; nil remembers in this process only.
func Kind(cache *files.Cache) engine.Kind {
	return engine.Kind{
		Kind: store.Kind{Name: kind, Framework: framework, Places: places},
		Sign: sign, Copied: true,
		OpenAt: func(ctx context.Context, at engine.Site) (store.Store, error) {
			return Options{Cache: cache}.openAt(ctx, at)
		},
	}.Derive()
}

func places(around store.Surroundings) []string {
	if around.Work == "" {
		return nil
	}
	return []string{filepath.Join(around.Work, ".genkit", "snapshots"), filepath.Join(around.Work, ".snapshots*")}
}

const framework = "Genkit"

const (
	// mostProbed and mostTried bound what recognise looks at: folders, and files
	// that it reads; triedInFolder those of one folder.
	mostProbed    = 64
	mostTried     = 24
	triedInFolder = 4
	// headSize is how much of a file it reads, in bytes: what tells a row stands before the state.
	headSize = 64 << 10
	// mostNames bounds the names of one folder that it looks at.
	mostNames = 20_000
	// prefixDepth is how deep rows may be below what is recognised: those of an
	// agent, of an organisation, of a user.
	prefixDepth = 3
)

// sign looks for a row: a JSON file that says that it is the snapshot after which it is named, and
// when that was created. It is in the folder itself; or in each of the folders in it that is not empty, so
// that a folder with a store among other things does not count; or in one of the places that a project has
// for rows.
func sign(ctx context.Context, at engine.Site) (why string, ok bool, err error) {
	if !at.IsFolder() {
		return whyNoFile(at.Path), false, nil
	}
	t, done, err := at.Tree()
	if err != nil {
		return "", false, err
	}
	defer done()
	whole := at.Whole()
	probe := probe{tree: few{t}}
	for _, b := range findBases(probe.tree, whole) {
		if probe.isStore(ctx, b.dir, 0) {
			return probe.why, true, nil
		}
		if err := ctx.Err(); err != nil {
			return "", false, err
		}
	}
	return probe.whyNot(whole), false, nil
}

// few is a tree that lists no more than the first names of each folder.
type few struct{ tree.Tree }

// List implements tree.Tree.
func (f few) List(dir string) ([]string, error) {
	names, err := f.Tree.List(dir)
	return names[:min(len(names), mostNames)], err
}

// probe looks for rows.
type probe struct {
	tree           few
	folders, tried int
	why            string // what the first row was recognised by
	pointers       string // a folder that has pointers, and maybe no row
}

// isStore reports whether there are rows in a folder, or in each subfolder that is not empty. Above the
// limits of the probe, the rest is assumed to be like the part that was read.
func (p *probe) isStore(ctx context.Context, dir string, depth int) bool {
	at, subfolders, err := listFolder(p.tree, dir)
	if p.folders++; err != nil || ctx.Err() != nil {
		return false
	}
	if at.pointers && p.pointers == "" {
		p.pointers = dir
	}
	if p.hasRow(at) {
		return true
	}
	if depth == prefixDepth {
		return false
	}
	found := false
	for _, name := range subfolders {
		below := path.Join(dir, name)
		switch {
		case p.folders >= mostProbed || p.tried >= mostTried:
			return p.why != ""
		case p.isStore(ctx, below, depth+1):
			found = true
		case !p.isEmpty(below):
			return false
		}
	}
	return found
}

func (p *probe) isEmpty(dir string) bool {
	names, err := p.tree.List(dir)
	return err == nil && len(names) == 0
}

// hasRow reports whether one of the first files of a place is a row.
func (p *probe) hasRow(at place) bool {
	if len(at.rows) == 0 || p.tried >= mostTried {
		return false
	}
	rows := slices.DeleteFunc(slices.Clone(at.rows), func(name string) bool { return files.Foreign(name) != "" })
	for _, name := range rows[:min(len(rows), triedInFolder)] {
		p.tried++
		head, err := tree.Head(p.tree, path.Join(at.dir, name), headSize)
		id := strings.TrimSuffix(name, rowSuffix)
		if r, ok := decodeRow(id, head); err == nil && ok && r.snapshotID == id && r.created.text != "" {
			if p.why == "" {
				p.why = whyRow(at, &r)
			}
			return true
		}
	}
	return false
}

// whyRow describes the evidence for a store, such as "Go layout: barista/global/….json with .pointers".
func whyRow(at place, r *row) string {
	s := session{grouping: &grouping{place: at}, rows: []*row{r}}
	text := s.layoutOf().String() + " layout: " + path.Join(at.dir, "….json")
	if at.pointers {
		text += " with " + pointersFolder
	}
	return text
}

// whyNot names the missing part if something of Genkit's is there.
func (p *probe) whyNot(whole string) string {
	switch {
	case p.pointers != "":
		return path.Join(p.pointers, pointersFolder) + " is there, but no row beside it"
	case path.Base(whole) == ".genkit" || tree.IsFolder(p.tree, ".genkit"):
		return "a Genkit project, but there is no row in .genkit/snapshots"
	}
	return ""
}

// whyNoFile says where the rows are that belong to a file of Genkit's.
func whyNoFile(file string) string {
	whole, err := filepath.Abs(file)
	if err != nil || !strings.HasSuffix(file, rowSuffix) {
		return ""
	}
	folder := filepath.Dir(whole)
	switch filepath.Base(folder) {
	case "runtimes", "servers":
		if genkit := filepath.Dir(folder); filepath.Base(genkit) == ".genkit" {
			return "a Genkit runtime file: the rows of its project are in " + filepath.Join(genkit, "snapshots")
		}
		return ""
	}
	data, err := readSmall(folder, filepath.Base(whole))
	if err != nil {
		return ""
	}
	if r, ok := decodeRow(strings.TrimSuffix(filepath.Base(whole), rowSuffix), data); ok && r.snapshotID == r.id && r.created.text != "" {
		return fmt.Sprintf("one row of a Genkit store: open its folder, %s", folder)
	}
	return ""
}

// mostSmall bounds a single file that is looked into, in bytes.
const mostSmall = 4 << 20

func readSmall(folder, name string) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if info, err := root.Lstat(name); err != nil || info.Size() > mostSmall {
		return nil, files.ErrTooLarge
	}
	return files.From(root)(name, nil)
}
