package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hindcast/model"
)

// goPackage is what `go list -json` tells about a package of this module.
type goPackage struct {
	ImportPath, Doc string
	Imports, Deps   []string
	TestImports     []string
	XTestImports    []string
}

func goList(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Doc,Imports,Deps,TestImports,XTestImports", "./...").Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("go list: %s", exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	var list []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); err == io.EOF {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

const (
	module = "hindcast/"
	charm  = "github.com/charmbracelet/"
)

// in reports whether a path is one of the rooms or, for a room that ends in
// "/...", below it; "std" stands for the standard library.
func in(path string, rooms ...string) bool {
	for _, room := range rooms {
		if below, tree := strings.CutSuffix(room, "/..."); tree {
			if path == below || strings.HasPrefix(path, below+"/") {
				return true
			}
		}
		if path == room || room == "std" && !strings.Contains(strings.Split(path, "/")[0], ".") && !strings.HasPrefix(path+"/", module) {
			return true
		}
	}
	return false
}

// directions says what each room may import, its tests apart. The first row
// whose room fits decides. Whatever is not named here is not allowed, so a new
// dependency is a decision that is taken here and explained in ARCHITECTURE.md.
var directions = []struct {
	room string
	may  []string
	why  string
}{
	{"hindcast", []string{"hindcast/agent/scripted", "hindcast/cli", "hindcast/tui", "hindcast/tui/quiet", "hindcast/store", "hindcast/store/...", "hindcast/keymap", "hindcast/prices", "hindcast/query/ledger", charm + "x/term", "github.com/mattn/go-isatty"},
		"main wires the rooms together and does nothing else"},
	{"hindcast/tui/quiet", nil,
		"it must be initialised before Bubble Tea, and every import delays it"},
	{"hindcast/tui/screentest/picture", nil,
		"a picture is of cells, wherever they came from"},
	{"hindcast/tui/screentest", []string{"hindcast/keymap", "hindcast/tui/theme", "hindcast/tui/screentest/picture", charm + "...", "github.com/muesli/termenv", "pgregory.net/rapid"},
		"what tests of panes share may know no pane"},
	{"hindcast/tui/...", []string{"hindcast/tui/...", "hindcast/keymap", "hindcast/look", "hindcast/diff", "hindcast/query", "hindcast/query/ledger", "hindcast/store", "hindcast/store/home", "hindcast/store/labels", "hindcast/store/media/scratch", "hindcast/model/...", charm + "...", "github.com/muesli/termenv", "github.com/aymanbagabas/go-osc52/v2"},
		"the screen knows stores through the port only"},
	{"hindcast/cli", []string{"hindcast/look", "hindcast/mcp", "hindcast/store/home", "hindcast/store/survey", "hindcast/prices", "hindcast/diff", "hindcast/query", "hindcast/query/ledger", "hindcast/redact", "hindcast/report", "hindcast/store", "hindcast/store/labels", "hindcast/store/media/scratch", "hindcast/model/...", "github.com/spf13/cobra", "github.com/clipperhouse/displaywidth", "github.com/BurntSushi/toml"},
		"the plain face must work where no screen does"},
	{"hindcast/agent", []string{"hindcast/store", "hindcast/store/native/typed", "hindcast/model/...", "go.opentelemetry.io/otel", "go.opentelemetry.io/otel/trace", "go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/codes"},
		"what records runs in other people's programs: the port, the model, and no exporter"},
	{"hindcast/agent/record/recordtest", []string{"hindcast/model", "hindcast/store/native/sqlite"},
		"what tests programs that record does so through the store and a process, as a person would"},
	{"hindcast/keymap", []string{"github.com/BurntSushi/toml"},
		"what keys mean does not depend on what they do"},
	{"hindcast/look", []string{"hindcast/model"},
		"both faces draw by it, so it may know neither"},
	{"hindcast/prices", []string{"hindcast/model/conversation", "github.com/BurntSushi/toml"},
		"what a model costs does not depend on who asks"},
	{"hindcast/diff", []string{"hindcast/model/...", "github.com/sergi/go-diff/..."},
		"data out: no colour, no width, no store"},
	{"hindcast/query/ledger", []string{"hindcast/query", "hindcast/store", "hindcast/store/home", "hindcast/store/media/files", "hindcast/model/..."},
		"what sessions cost is added up once for both faces"},
	{"hindcast/query", []string{"hindcast/diff", "hindcast/store", "hindcast/model/...", "github.com/itchyny/gojq", "github.com/klauspost/compress/..."},
		"data out: questions are answered from the port, whatever the kind"},
	{"hindcast/report", []string{"hindcast/diff", "hindcast/query", "hindcast/redact", "hindcast/store", "hindcast/model/..."},
		"a page is written from the port, whatever the kind, and by neither face"},
	{"hindcast/mcp", []string{"hindcast/redact", "github.com/modelcontextprotocol/go-sdk/..."},
		"what agents ask becomes a command line, which cli runs for it; it knows no store"},
	{"hindcast/redact", []string{"hindcast/store", "hindcast/model/..."},
		"secrets are found in the rows of any store, whatever they are shared as"},
	{"hindcast/agent/scripted", []string{"hindcast/agent", "hindcast/store", "hindcast/store/native/typed", "hindcast/model/..."},
		"the agent of the live demo works in whatever store it is given"},
	{"hindcast/agent/record", []string{"hindcast/store/native/typed", "hindcast/model/...", "go.opentelemetry.io/otel/trace", "go.opentelemetry.io/otel/attribute"},
		"what records runs in other people's programs"},
	{"hindcast/agent/serve", []string{"hindcast/store", "hindcast/store/engine/recording", "hindcast/store/native/typed", "hindcast/model/..."},
		"whoever shows a store to a debugger need not run an agent, and any kind can be shown"},
	{"hindcast/store/storetest/fake", []string{"hindcast/store", "hindcast/store/engine/inspect", "hindcast/store/engine/recording", "hindcast/store/native/typed", "hindcast/model/..."},
		"it is written against the port, as any kind is"},
	{"hindcast/store/storetest/program", []string{"hindcast/store/storetest/skip"},
		"the program is run, and not known"},
	{"hindcast/store/storetest/skip", nil,
		"why a test is left out does not depend on what it tests"},
	{"hindcast/store/storetest", []string{"hindcast/store", "hindcast/store/storetest/skip", "hindcast/store/native/typed", "hindcast/model/...", "pgregory.net/rapid"},
		"one suite for every kind may know none of them"},
	{"hindcast/store/native/sqlite", []string{"hindcast/store", "hindcast/store/native", "hindcast/store/media/sqlitefile", "hindcast/model/..."},
		"a kind knows the port, the model and its own format"},
	{"hindcast/store/native/postgres", []string{"hindcast/store", "hindcast/store/native", "hindcast/store/media/pg", "hindcast/model/...", "github.com/jackc/pgx/v5/..."},
		"a kind knows the port, the model and its own format"},
	{"hindcast/store/native", []string{"hindcast/store", "hindcast/store/engine/inspect", "hindcast/store/engine/recording", "hindcast/store/native/typed", "hindcast/store/native/parts", "hindcast/model/...", "github.com/klauspost/compress/..."},
		"what Hindcast's own stores share is written without knowing the database that holds it"},
	{"hindcast/store/native/typed", []string{"hindcast/model/..."},
		"who writes in Go need not look at what was written"},
	{"hindcast/store/engine/planning", []string{"hindcast/model/..."},
		"what a write leads to is compared without knowing what is written"},
	{"hindcast/store/engine/rows", []string{"hindcast/store", "hindcast/store/engine/inspect", "hindcast/store/media/disk", "hindcast/store/media/files", "hindcast/store/media/journal", "hindcast/store/media/pg", "hindcast/store/engine", "hindcast/store/engine/planning", "hindcast/store/media/sqlitefile", "hindcast/model/...", "github.com/klauspost/compress/..."},
		"what kinds made of rows share is written without knowing any of them"},
	{"hindcast/store/engine/checkpoints", []string{"hindcast/store", "hindcast/store/engine", "hindcast/store/media/files", "hindcast/store/media/journal", "hindcast/store/media/watch", "hindcast/model/...", "hindcast/store/media/tree"},
		"what kinds of a file for each checkpoint share is written without knowing any of them"},
	{"hindcast/store/encoding/pickle", []string{"hindcast/model/..."},
		"what a pickle holds is read without knowing who wrote it"},
	{"hindcast/store/encoding/gitobjects", []string{"hindcast/model/filechange", "hindcast/store/media/tree"},
		"what Git's objects hold is read without knowing who wrote them"},
	{"hindcast/store/storetest/rowstest", []string{"hindcast/store", "hindcast/store/media/sqlitefile", "hindcast/store/storetest", "hindcast/model"},
		"how such kinds are tested does not depend on one"},
	{"hindcast/store/storetest/weavetest", []string{"hindcast/store", "hindcast/store/engine/rows", "hindcast/store/storetest/...", "hindcast/model"},
		"what all states of a session cost is counted in the transactions of the engine"},
	{"hindcast/store/media/sqlitefile", []string{"hindcast/store/media/watch", "modernc.org/sqlite/..."},
		"how a file is opened does not depend on what is in it"},
	{"hindcast/store/media/pg/pgtest", []string{"hindcast/store/storetest/skip", "github.com/jackc/pgx/v5/pgconn"},
		"a server of PostgreSQL runs without knowing what is in it"},
	{"hindcast/store/media/pg", []string{"github.com/jackc/pgx/v5/..."},
		"how a database is reached does not depend on what is in it"},
	{"hindcast/store/media/watch", []string{"github.com/fsnotify/fsnotify"},
		"that files changed is said without knowing what is in them"},
	{"hindcast/store/media/files", []string{"hindcast/store/media/disk", "hindcast/model/...", "golang.org/x/sys/unix"},
		"what is in a file is the business of the kinds"},
	{"hindcast/store/media/disk", []string{"golang.org/x/sys/unix", "golang.org/x/sys/windows"},
		"what is written is the business of whoever writes"},
	{"hindcast/store/media/scratch", []string{"hindcast/store/media/disk"},
		"what is being made is nobody's store yet"},
	{"hindcast/store/media/disk/disktest", []string{"hindcast/store/media/disk"},
		"a disk that fails knows nothing but disks"},
	{"hindcast/store/media/journal", []string{"hindcast/store/media/disk", "hindcast/model/...", "github.com/google/uuid"},
		"files change in the same way whatever kind of store they are of"},
	{"hindcast/store/media/tree", []string{"hindcast/store", "hindcast/store/media/disk", "hindcast/store/media/files", "hindcast/store/media/journal", "hindcast/model/..."},
		"files are read, and what a plan would make of them, without knowing what they are"},
	{"hindcast/store/engine", []string{"hindcast/store", "hindcast/store/engine/inspect", "hindcast/store/media/disk", "hindcast/store/media/files", "hindcast/store/media/journal", "hindcast/store/media/pg", "hindcast/store/media/sqlitefile", "hindcast/store/media/tree", "hindcast/store/engine/planning", "hindcast/model/..."},
		"the one store of kinds knows no kind"},
	{"hindcast/store/engine/chat", []string{"hindcast/store", "hindcast/store/engine/inspect", "hindcast/store/engine", "hindcast/store/media/files", "hindcast/store/media/journal", "hindcast/store/media/sqlitefile", "hindcast/store/media/watch", "hindcast/model/...", "github.com/google/uuid", "hindcast/store/media/tree"},
		"what the sessions of coding agents have in common is written without knowing any of them"},
	{"hindcast/store/storetest/formattest", []string{"hindcast/store", "hindcast/store/engine", "hindcast/store/engine/chat"},
		"what the formats of coding agents have in common is tested without knowing any of them"},
	{"hindcast/store/storetest/chattest", []string{"hindcast/store", "hindcast/store/storetest/skip"},
		"a tool is run without knowing how its sessions are read"},
	{"hindcast/store/home", []string{"hindcast/store", "hindcast/store/media/watch", "hindcast/store/survey", "hindcast/model/..."},
		"what a machine has is listed whatever kinds there are"},
	{"hindcast/store/keep", []string{"hindcast/redact", "hindcast/store", "hindcast/store/engine", "hindcast/store/home", "hindcast/store/media/disk", "hindcast/store/media/files", "hindcast/store/media/journal", "hindcast/store/media/pg", "hindcast/store/media/scratch", "hindcast/store/media/sqlitefile", "hindcast/store/media/tree", "hindcast/model/...", "github.com/klauspost/compress/..."},
		"files are kept whatever kind reads them"},
	{"hindcast/store/labels", []string{"hindcast/store", "hindcast/store/media/disk", "hindcast/store/media/watch", "hindcast/model/..."},
		"labels are kept beside a store of any kind"},
	{"hindcast/store/sdk", []string{"hindcast/store", "hindcast/model"},
		"what versions do is worked out without knowing any file"},
	{"hindcast/store/media/bucket/buckettest", nil,
		"a server of S3 is what its documents say, whatever asks it"},
	{"hindcast/store/media/bucket", []string{"hindcast/store", "hindcast/store/media/disk", "hindcast/store/media/files", "hindcast/store/media/tree", "hindcast/store/media/journal", "hindcast/model/...", "github.com/aws/aws-sdk-go-v2/aws/...", "github.com/aws/aws-sdk-go-v2/config", "github.com/aws/smithy-go/logging"},
		"a bucket is a tree and a disk, whatever is in it"},
	{"hindcast/store/kinds", []string{"hindcast/store", "hindcast/store/...", "hindcast/store/media/files"},
		"the one list names every kind"},
	// One kind's own packages may know each other: sameKind adds them.
	{"hindcast/store/kinds/...", []string{"hindcast/store", "hindcast/store/engine/...", "hindcast/store/encoding/...", "hindcast/store/media/disk", "hindcast/store/media/files", "hindcast/store/media/journal", "hindcast/store/media/runtimes", "hindcast/store/media/sqlitefile", "hindcast/store/media/watch", "hindcast/store/sdk", "hindcast/model/...", "github.com/BurntSushi/toml", "github.com/google/uuid", "github.com/klauspost/compress/...", "hindcast/store/media/tree"},
		"a kind knows the port, the engine, the media, the model and its own format, and no other kind"},
	{"hindcast/store/sdk/installed", []string{"hindcast/store", "hindcast/store/media/files", "hindcast/store/sdk"},
		"what a project has installed is told by its own files, whatever store is in it"},
	{"hindcast/store/media/runtimes", []string{"hindcast/model/..."},
		"what runs is asked without knowing any store"},
	{"hindcast/store/...", []string{"hindcast/store", "hindcast/model/..."},
		"a kind knows the port, the model and its own format"},
	{"hindcast/model/...", []string{"hindcast/model/..."},
		"what every room agrees on may bring nothing along"},
}

// sameKind returns the tree of packages of the kind that path belongs to, and
// nil for a path outside of store/kinds.
func sameKind(path string) []string {
	const kinds = "hindcast/store/kinds/"
	if !strings.HasPrefix(path, kinds) {
		return nil
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(path, kinds), "/")
	return []string{kinds + name + "/..."}
}

func TestRooms_importOnlyWhatTheDesignAllows(t *testing.T) {
	for _, p := range goList(t) {
		i := slices.IndexFunc(directions, func(d struct {
			room string
			may  []string
			why  string
		}) bool {
			return in(p.ImportPath, d.room)
		})
		if i < 0 {
			t.Errorf("%s is in no room of the design: name it in directions", p.ImportPath)
			continue
		}
		d := directions[i]
		for _, path := range p.Imports {
			if !in(path, slices.Concat(d.may, sameKind(p.ImportPath), []string{"std"})...) {
				t.Errorf("%s imports %s; it may not: %s", p.ImportPath, path, d.why)
			}
		}
	}
}

// furniture is what the panes of the screen share, none of which knows a pane.
// Every other package directly below tui is a pane: it draws a part of the
// screen.
var furniture = []string{
	"hindcast/tui/cell", "hindcast/tui/field", "hindcast/tui/kitty", "hindcast/tui/match", "hindcast/tui/prose", "hindcast/tui/quiet",
	"hindcast/tui/screentest", "hindcast/tui/screentest/picture", "hindcast/tui/sheet", "hindcast/tui/theme", "hindcast/tui/value", "hindcast/tui/walk", "hindcast/tui/when",
}

func TestRooms_panesDoNotKnowEachOther(t *testing.T) {
	isPane := func(path string) bool {
		return in(path, "hindcast/tui/...") && path != "hindcast/tui" && !slices.Contains(furniture, path)
	}
	for _, p := range goList(t) {
		if p.ImportPath == "hindcast/tui" || !in(p.ImportPath, "hindcast/tui/...") {
			continue
		}
		for _, path := range p.Imports {
			if isPane(path) {
				t.Errorf("%s imports %s: panes meet in the root model only, so that each can be read alone", p.ImportPath, path)
			}
		}
	}
}

// closed are the packages that may not be in what a room is built from, at
// whatever distance. Directions above look one step far; these look all the way.
var closed = []struct {
	room string
	not  []string
	why  string
}{
	{"hindcast", []string{"testing", charm + "x/exp/teatest", charm + "x/vt", "github.com/rogpeppe/go-internal/...", "github.com/creack/pty", "pgregory.net/rapid", "hindcast/store/storetest/...", "hindcast/tui/screentest"},
		"what tests are made of is not shipped"},
	{"hindcast/cli", []string{charm + "...", "hindcast/tui/...", "hindcast/keymap", "modernc.org/..."},
		"a subcommand never starts a screen, nor asks a terminal anything"},
	{"hindcast/tui", []string{"modernc.org/...", "database/sql"},
		"the screen is the same whatever kinds there are"},
	{"hindcast/agent", []string{"modernc.org/...", charm + "...", "go.opentelemetry.io/otel/sdk/..."},
		"a program that records itself is not given a database, a screen or an exporter"},
	{"hindcast/store", []string{"modernc.org/...", charm + "..."},
		"the port brings no kind along"},
}

func TestRooms_areClosedAllTheWayDown(t *testing.T) {
	list := goList(t)
	for _, c := range closed {
		i := slices.IndexFunc(list, func(p goPackage) bool { return p.ImportPath == c.room })
		if i < 0 {
			t.Errorf("there is no package %s", c.room)
			continue
		}
		for _, path := range list[i].Deps {
			if in(path, c.not...) {
				t.Errorf("%s is built from %s: %s", c.room, path, c.why)
			}
		}
	}
}

// The suite looks at what was written past the code that wrote it.
func TestRooms_onlySQLiteKnowsSQLite(t *testing.T) {
	for _, p := range goList(t) {
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if in(path, "modernc.org/...", "database/sql") && !in(p.ImportPath, "hindcast/store/native", "hindcast/store/native/postgres", "hindcast/store/native/sqlite/...", "hindcast/store/media/sqlitefile", "hindcast/store/storetest") {
				t.Errorf("%s imports %s: a driver belongs to what opens its files, tests included", p.ImportPath, path)
			}
		}
	}
}

func TestRooms_allSayWhatTheyAreFor(t *testing.T) {
	for _, p := range goList(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

// The table of dependencies in ARCHITECTURE.md names every module that a package of ours
// imports, tests included, and none besides.
func TestRooms_everyDependencyHasAReason(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var modules []string
	for _, m := range regexp.MustCompile(`(?m)^(?:require)?\s+(\S+\.\S+/\S+) v\S+`).FindAllStringSubmatch(string(mod), -1) {
		modules = append(modules, m[1])
	}
	direct := map[string]bool{}
	for _, p := range goList(t) {
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			longest := ""
			for _, m := range modules {
				if in(path, m+"/...") && len(m) > len(longest) {
					longest = m
				}
			}
			if longest != "" {
				direct[longest] = true
			}
		}
	}
	var explained []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^` ]+\\.[^` ]+/[^` ]+)` \\| \\S.*\\|$").FindAllStringSubmatch(buildingPage.text(t), -1) {
		explained = append(explained, m[1])
	}
	slices.Sort(explained)
	if want := slices.Sorted(maps.Keys(direct)); !slices.Equal(want, explained) {
		t.Errorf("the packages import\n %s\nthe table explains\n %s", strings.Join(want, "\n "), strings.Join(explained, "\n "))
	}
}

// No code decides by a sentence: what a fault, a plan or an error says in words is for
// people, and what a program goes by is data beside it.
func TestRooms_decideByNoSentence(t *testing.T) {
	looks := []string{"Contains", "HasPrefix", "HasSuffix", "Index", "CutPrefix", "CutSuffix"}
	sentences := []string{"Verdict", "verdict", "Meaning", "meaning", "Message", "Reason", "Error"}
	inspectCode(t, func(at token.Position, n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(looks, f.Sel.Name) && isName(f.X, "strings") {
			of := call.Args[0]
			if inner, ok := of.(*ast.CallExpr); ok {
				of = inner.Fun
			}
			if s, ok := of.(*ast.SelectorExpr); ok && slices.Contains(sentences, s.Sel.Name) {
				t.Errorf("%s: strings.%s looks into a sentence, %s", at, f.Sel.Name, s.Sel.Name)
			}
		}
	})
	// A line of a plan has a kind; its label is only for people.
	inspectCode(t, func(at token.Position, n ast.Node) {
		var compared []ast.Expr
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				compared = []ast.Expr{n.X, n.Y}
			}
		case *ast.SwitchStmt:
			compared = []ast.Expr{n.Tag}
		case *ast.IndexExpr:
			compared = []ast.Expr{n.Index}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && (isName(f.X, "slices") || isName(f.X, "strings") || isName(f.X, "cmp")) {
				compared = n.Args
			}
		}
		for _, x := range compared {
			if isLabel(x) {
				t.Errorf("%s: a label decides", at)
			}
		}
	})
}

// isLabel reports whether x is the label of a line of a plan.
func isLabel(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok || len(call.Args) > 0 {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && f.Sel.Name == "Label"
}

// pronouns stand for a noun that says more.
var pronouns = regexp.MustCompile(`(?i)\b(whoever|somebody|nobody|of which|that which)\b`)

// proseLater are the rooms whose prose is not held yet.
var proseLater = []string{"testdata/..."}

// longestMessage is how many characters an error may have, besides what is put into it.
const longestMessage = 100

// A pattern is made when it is used first: every command would wait for those of all packages.
func TestRooms_patternsAreMadeWhenUsed(t *testing.T) {
	inspectCode(t, func(at token.Position, n ast.Node) {
		if file, ok := n.(*ast.File); ok {
			for _, d := range file.Decls {
				decl, ok := d.(*ast.GenDecl)
				if !ok || decl.Tok != token.VAR {
					continue
				}
				for _, spec := range decl.Specs {
					for _, value := range spec.(*ast.ValueSpec).Values {
						call, ok := value.(*ast.CallExpr)
						if !ok {
							continue
						}
						if f, ok := call.Fun.(*ast.SelectorExpr); ok && isName(f.X, "regexp") {
							t.Errorf("%s: a pattern is made when the program starts: use sync.OnceValue", at.Filename)
						}
					}
				}
			}
		}
	})
}

// Comments and messages name things, and a function returns something, as in Go's own
// comments. The people of a story say what they like.
func TestRooms_prose(t *testing.T) {
	gives := regexp.MustCompile(`^\w+ gives |\b([Ii]t|and) gives `)
	said := func(at token.Position, name string, doc *ast.CommentGroup, of *ast.FuncType) {
		if of.Results != nil && gives.MatchString(doc.Text()) {
			t.Errorf("%s: %s returns what its comment says that it gives", at, name)
		}
	}
	inspectCode(t, func(at token.Position, n ast.Node) {
		if in(filepath.ToSlash(filepath.Dir(at.Filename)), proseLater...) {
			return
		}
		switch n := n.(type) {
		case *ast.File:
			for _, group := range n.Comments {
				if found := pronouns.FindString(group.Text()); found != "" {
					t.Errorf("%s: %q in a comment: %.60q", at.Filename, found, group.Text())
				}
				if strings.Contains(group.Text(), "The package may not know") {
					t.Errorf("%s: directions says what a package may know, and its comment what it is for", at.Filename)
				}
			}
		case *ast.BasicLit:
			found, told := pronouns.FindString(n.Value), in(filepath.ToSlash(filepath.Dir(at.Filename)), "agent/scripted", "store/sample")
			if n.Kind == token.STRING && found != "" && !told {
				t.Errorf("%s: %q in a message", at, found)
			}
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || len(n.Args) == 0 || !(isName(f.X, "errors") && f.Sel.Name == "New" || isName(f.X, "fmt") && f.Sel.Name == "Errorf") {
				return
			}
			if text, ok := n.Args[0].(*ast.BasicLit); ok && len([]rune(text.Value))-len(`""`) > longestMessage {
				t.Errorf("%s: a message of more than %d characters", at, longestMessage)
			}
		case *ast.FuncDecl:
			said(at, n.Name.Name, n.Doc, n.Type)
		case *ast.InterfaceType:
			for _, m := range n.Methods.List {
				if f, ok := m.Type.(*ast.FuncType); ok {
					said(at, m.Names[0].Name, m.Doc, f)
				}
			}
		}
	})
}

// The faces take the words of marks from model, which has each once.
func TestRooms_takeTheWordsOfMarksFromModel(t *testing.T) {
	words := (^model.Marks(0)).Words()
	words = slices.DeleteFunc(words, func(word string) bool { return word == "error" || word == "step" }) // they mean other things too
	inspectCode(t, func(at token.Position, n ast.Node) {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING || !in(filepath.ToSlash(filepath.Dir(at.Filename)), "cli", "tui/...", "look", "keymap", "query", "diff/...") {
			return
		}
		if text, err := strconv.Unquote(literal.Value); err == nil && slices.Contains(words, text) {
			t.Errorf("%s: the word of a mark, %q, is written again", at, text)
		}
	})
}

// No code of the screen decides by which dialog is open: a dialog carries what its
// answers do, and is told facts by the interface that all dialogs have.
func TestRooms_noTypeOfDialog(t *testing.T) {
	inspectCode(t, func(at token.Position, n ast.Node) {
		var types []ast.Expr
		switch n := n.(type) {
		case *ast.TypeAssertExpr:
			types = []ast.Expr{n.Type}
		case *ast.CaseClause:
			types = n.List
		}
		for _, is := range types {
			if star, ok := is.(*ast.StarExpr); ok {
				is = star.X
			}
			if s, ok := is.(*ast.SelectorExpr); ok && isName(s.X, "dialog") {
				t.Errorf("%s: asks whether a dialog is a %s", at, s.Sel.Name)
			}
		}
	})
}

// The port is what everyone who adds a kind or a face reads first.
func TestRooms_portIsSmall(t *testing.T) {
	var found []string
	inspectCode(t, func(at token.Position, n ast.Node) {
		if spec, ok := n.(*ast.TypeSpec); ok && filepath.Dir(at.Filename) == "store" && !strings.HasSuffix(at.Filename, "_test.go") {
			if _, ok := spec.Type.(*ast.InterfaceType); ok {
				found = append(found, spec.Name.Name)
			}
		}
	})
	if len(found) == 0 || len(found) > 12 {
		t.Errorf("store declares %d interfaces: %q", len(found), found)
	}
}

// asserted names each file that asks a value by its type what it can do, with the reason. The features of a
// store are a struct: a capability that is found by an assertion is lost when a store is wrapped.
var asserted = map[string]string{
	"agent/home.go":                               "a program gives it any model.Store",
	"store/media/bucket/client.go":                "the configuration of AWS is asked as its own SDK asks it",
	"store/media/bucket/buckettest/buckettest.go": "a benchmark sets no variables",
	"store/media/pg/errors.go":                    "an error is unwrapped",
	"query/expr.go":                               "a number of gojq's may be one of math/big",
}

func TestRooms_featuresAreAStruct(t *testing.T) {
	asks := map[string]bool{}
	inspectCode(t, func(at token.Position, n ast.Node) {
		var types []ast.Expr
		switch n := n.(type) {
		case *ast.TypeAssertExpr:
			types = []ast.Expr{n.Type}
		case *ast.CaseClause:
			types = n.List
		}
		for _, of := range types {
			_, anonymous := of.(*ast.InterfaceType)
			port, _ := of.(*ast.SelectorExpr)
			_, asserts := n.(*ast.TypeAssertExpr)
			if anonymous || asserts && port != nil && isName(port.X, "store") {
				asks[filepath.ToSlash(at.Filename)] = true
			}
		}
	})
	for file := range asks {
		if asserted[file] == "" {
			t.Errorf("%s asks a value by an interface what it can do: its Features tell", file)
		}
	}
	for file := range asserted {
		if !asks[file] {
			t.Errorf("%s asks nothing by an interface: take it off the list", file)
		}
	}
}

// skipped names each file whose tests leave themselves out for another reason than what the
// machine lacks, -short or the race detector, with the reason.
var skipped = map[string]string{
	"agent/serve/slow_test.go":          "a request that ended early was not slow",
	"diff/peers":                        "a module of its own",
	"main_test.go":                      "the size of a release, which takes minutes to compile",
	"release_test.go":                   "two releases, which take minutes to compile",
	"model/jsontape/patch_test.go":      "an input of the fuzzer that is no document",
	"store/engine/chat/lines_test.go":   "an input of the fuzzer that is no file",
	"store/kinds/remote/remote_test.go": "JSON carries no id that is not UTF-8",
	"store/native/sqlite/live_test.go":  "it plays the other program for tests of two",
	"store/storetest/read.go":           "a capability that the kind does not have",
	"store/media/watch/watch_test.go":   "the file system gave no number twice",
	"tui/difftab/difftab_test.go":       "a text of which a part is left out",
	"tui/prose/prose_test.go":           "a draw that is no text",
	"tui/value/value_test.go":           "a draw that is no JSON",
}

// A test is left out by skip.Missing, which fails in CI, by -short, by skip.Sequential, or for
// a reason in the list.
func TestRooms_skipsHaveAReason(t *testing.T) {
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch path = filepath.ToSlash(path); {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || path == "store/storetest/skip" || skipped[path] != ""):
			found[path] = true
			return filepath.SkipDir
		case filepath.Ext(path) != ".go":
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		var around []ast.Node
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				around = around[:len(around)-1]
				return true
			}
			around = append(around, n)
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !(isName(f.X, "t") || isName(f.X, "tb")) || !strings.HasPrefix(f.Sel.Name, "Skip") || slices.ContainsFunc(around, asksForShort) {
				return true
			}
			if found[path] = true; skipped[path] == "" {
				t.Errorf("%s: a test is left out for a reason that is not in the list", files.Position(n.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range skipped {
		if !found[path] {
			t.Errorf("nothing is left out in %s", path)
		}
	}
}

// A test that starts a goroutine runs beside the race detector.
func TestRooms_theRaceDetectorSeesGoroutines(t *testing.T) {
	marks := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			var marked, starts bool
			ast.Inspect(f.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					starts = true
				case *ast.SelectorExpr:
					marked = marked || isName(n.X, "skip") && n.Sel.Name == "Sequential"
					starts = starts || n.Sel.Name == "Go"
				}
				return true
			})
			if marked {
				marks++
			}
			if marked && starts {
				t.Errorf("%s: %s starts a goroutine, and is left out beside the race detector", files.Position(f.Pos()), f.Name.Name)
			}
		}
		return nil
	})
	if err != nil || marks == 0 {
		t.Errorf("%d tests are marked, %v", marks, err)
	}
}

// asksForShort reports whether a node is a branch that is taken with -short alone.
func asksForShort(n ast.Node) (short bool) {
	branch, ok := n.(*ast.IfStmt)
	if !ok {
		return false
	}
	ast.Inspect(branch.Cond, func(n ast.Node) bool {
		f, ok := n.(*ast.SelectorExpr)
		short = short || ok && isName(f.X, "testing") && f.Sel.Name == "Short"
		return true
	})
	return short
}

// inspectCode calls f for each node of the code that is no test's.
func inspectCode(t *testing.T, f func(at token.Position, n ast.Node)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "storetest"):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if n != nil {
				f(files.Position(n.Pos()), n)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func isName(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}
