// Mutants changes a package in small ways and counts the changes that its tests notice. All
// changes are compiled into one test binary for each package of tests; the environment says
// which one holds.
//
//	condition    if c            is true, is false
//	comparison   a < b           a <= b, and so on
//	connective   a && b          a || b, and back
//	statement    a call, an assignment, i++ is left out
//	error        return err      return nil
//	result       return true     return false
//	loop         continue        break, and back
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	count := flag.Int("n", 60, "how many changes are tried")
	seed := flag.Uint64("seed", 20261128, "which ones")
	tests := flag.String("tests", "", "packages whose tests run, with commas; without it those of the package")
	run := flag.String("run", "", "the tests that run, as of go test")
	slowest := flag.Duration("timeout", 2*time.Minute, "how long one run may take")
	args := os.Args[1:]
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		fmt.Fprintln(os.Stderr, "usage: .ci/mutate PACKAGE [flags]")
		os.Exit(2)
	}
	flag.CommandLine.Parse(args[1:]) // it exits where it fails
	packages := []string{args[0]}
	if *tests != "" {
		packages = strings.Split(*tests, ",")
	}
	if err := try(args[0], packages, *run, *count, *seed, *slowest); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// site is a place in the sources and what is done to it.
type site struct {
	at   token.Position
	what string
}

func try(dir string, packages []string, run string, count int, seed uint64, slowest time.Duration) error {
	work, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	sites, err := rewrite(dir, work)
	if err != nil {
		return err
	}
	var binaries []binary
	for i, p := range packages {
		b := binary{dir: p, path: filepath.Join(work, fmt.Sprintf("%d.test", i))}
		build := exec.Command("go", "test", "-vet=off", "-c", "-overlay", filepath.Join(work, "overlay.json"), "-o", b.path, p)
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the tests of %s: %w\n%s", p, err, out)
		}
		binaries = append(binaries, b)
	}
	reached := map[int]bool{}
	for _, b := range binaries {
		list := filepath.Join(work, "reached")
		if out, err := b.run(run, slowest, "HINDCAST_REACHED="+list); err != nil {
			return fmt.Errorf("the tests of %s fail without a change: %w\n%s", b.dir, err, out)
		}
		data, err := os.ReadFile(list)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, word := range strings.Fields(string(data)) {
			if n, err := strconv.Atoi(word); err == nil {
				reached[n] = true
			}
		}
	}
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(sites))
	order = order[:min(count, len(order))]
	killed, missed := 0, 0
	for _, n := range order {
		s, dead := sites[n], false
		if !reached[n] {
			missed++
			fmt.Printf("never reached  %s:%d  %s\n", s.at.Filename, s.at.Line, s.what)
			continue
		}
		for _, b := range binaries {
			if _, err := b.run(run, slowest, fmt.Sprint("HINDCAST_MUTANT=", n)); err != nil {
				dead = true
				break
			}
		}
		if dead {
			killed++
		} else {
			fmt.Printf("survived       %s:%d  %s\n", s.at.Filename, s.at.Line, s.what)
		}
	}
	fmt.Printf("%s: %d of %d changes of %d were noticed, %d%%; %d were never reached\n", dir, killed, len(order), len(sites), 100*killed/max(len(order), 1), missed)
	return nil
}

// binary is the tests of a package, compiled.
type binary struct{ dir, path string }

func (b binary) run(tests string, slowest time.Duration, env string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), slowest)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.path, "-test.short", "-test.failfast", "-test.run="+tests)
	cmd.Dir, cmd.Env, cmd.WaitDelay = b.dir, append(os.Environ(), env), time.Second
	return cmd.CombinedOutput()
}

// rewrite writes the sources of a package with all changes, and overlay.json, which puts them in
// the place of the sources.
func rewrite(dir, work string) ([]site, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	m := &mutator{files: token.NewFileSet()}
	replace := map[string]string{}
	var name string
	for _, path := range names {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(m.files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		name = file.Name.Name
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				m.function(f)
			}
		}
		file.Comments = slices.DeleteFunc(file.Comments, func(c *ast.CommentGroup) bool { return c.Pos() > file.Package })
		var text bytes.Buffer
		if err := printer.Fprint(&text, m.files, file); err != nil {
			return nil, err
		}
		if err := place(replace, work, path, text.Bytes()); err != nil {
			return nil, err
		}
	}
	if name == "" {
		return nil, fmt.Errorf("no package is in %s", dir)
	}
	if err := place(replace, work, filepath.Join(dir, "zz_mutants.go"), []byte(fmt.Sprintf("package %s\n%s\nvar mutantMet [%d]atomic.Bool\n", name, runtime, len(m.sites)))); err != nil {
		return nil, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	return m.sites, os.WriteFile(filepath.Join(work, "overlay.json"), overlay, 0o600)
}

func place(replace map[string]string, work, path string, text []byte) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	to := filepath.Join(work, fmt.Sprintf("%d.go", len(replace)))
	replace[path] = to
	return os.WriteFile(to, text, 0o600)
}

// runtime declares the function mutant, which the changed sources call: it reports whether the
// change of a number holds.
const runtime = `
import (
	"os"
	"strconv"
	"sync/atomic"
)

var mutantOn = func() int {
	n, err := strconv.Atoi(os.Getenv("HINDCAST_MUTANT"))
	if err != nil {
		return -1
	}
	return n
}()

var mutantReached = os.Getenv("HINDCAST_REACHED")

func mutant(n int) bool {
	if mutantReached != "" && !mutantMet[n].Load() && mutantMet[n].CompareAndSwap(false, true) {
		if f, err := os.OpenFile(mutantReached, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666); err == nil {
			f.WriteString(strconv.Itoa(n) + "\n")
			f.Close()
		}
	}
	return n == mutantOn
}
`

// mutator puts changes into sources.
type mutator struct {
	files *token.FileSet
	sites []site
	// fails says that the function's last result is an error.
	fails bool
}

// add returns the call that tells whether a change holds.
func (m *mutator) add(at token.Pos, what string) ast.Expr {
	m.sites = append(m.sites, site{m.files.Position(at), what})
	return &ast.CallExpr{Fun: ast.NewIdent("mutant"), Args: []ast.Expr{&ast.BasicLit{Kind: token.INT, Value: strconv.Itoa(len(m.sites) - 1)}}}
}

func (m *mutator) source(n ast.Node) string {
	var b bytes.Buffer
	_ = printer.Fprint(&b, m.files, n) // to memory
	text, _, more := strings.Cut(b.String(), "\n")
	if more {
		text += " …"
	}
	return text
}

func (m *mutator) function(f *ast.FuncDecl) { m.body(f.Type, f.Body) }

// body changes the body of a function, and those of the functions in it.
func (m *mutator) body(t *ast.FuncType, body *ast.BlockStmt) {
	before := m.fails
	m.fails = false
	if t.Results != nil {
		last := t.Results.List[len(t.Results.List)-1]
		id, ok := last.Type.(*ast.Ident)
		m.fails = ok && id.Name == "error"
	}
	m.block(&body.List, 0)
	if t.Results != nil { // a loop without end may have one now
		body.List = append(body.List, &ast.ExprStmt{X: &ast.CallExpr{Fun: ast.NewIdent("panic"), Args: []ast.Expr{&ast.BasicLit{Kind: token.STRING, Value: `"no return"`}}}})
	}
	m.fails = before
}

// loops say what break and continue mean where a statement stands.
type loops int

const (
	inLoop loops = 1 << iota
	inSwitch
)

func (m *mutator) block(list *[]ast.Stmt, in loops) {
	var out []ast.Stmt
	for _, s := range *list {
		out = append(out, m.statement(s, in)...)
	}
	*list = out
}

// statement returns a statement with its changes.
func (m *mutator) statement(s ast.Stmt, in loops) []ast.Stmt {
	unless := func(what string) []ast.Stmt {
		return []ast.Stmt{&ast.IfStmt{Cond: &ast.UnaryExpr{Op: token.NOT, X: m.add(s.Pos(), what)}, Body: &ast.BlockStmt{List: []ast.Stmt{s}}}}
	}
	when := func(what string, then ast.Stmt) []ast.Stmt {
		return []ast.Stmt{&ast.IfStmt{Cond: m.add(s.Pos(), what), Body: &ast.BlockStmt{List: []ast.Stmt{then}}}, s}
	}
	switch s := s.(type) {
	case *ast.BlockStmt:
		m.block(&s.List, in)
	case *ast.IfStmt:
		if s.Init != nil {
			m.expressions(s.Init)
		}
		s.Cond = m.condition(s.Cond)
		m.block(&s.Body.List, in)
		if s.Else != nil {
			if other := m.statement(s.Else, in); len(other) == 1 {
				s.Else = other[0]
			}
		}
	case *ast.ForStmt:
		if s.Cond != nil {
			m.expressions(s.Cond)
		}
		m.block(&s.Body.List, inLoop)
	case *ast.RangeStmt:
		m.expressions(s.X)
		m.block(&s.Body.List, inLoop)
	case *ast.SwitchStmt:
		for _, c := range s.Body.List {
			clause := c.(*ast.CaseClause)
			if s.Tag == nil {
				for i := range clause.List {
					clause.List[i] = m.condition(clause.List[i])
				}
			}
			m.block(&clause.Body, in|inSwitch)
		}
	case *ast.TypeSwitchStmt:
		for _, c := range s.Body.List {
			m.block(&c.(*ast.CaseClause).Body, in|inSwitch)
		}
	case *ast.SelectStmt:
		for _, c := range s.Body.List {
			m.block(&c.(*ast.CommClause).Body, in|inSwitch)
		}
	case *ast.ExprStmt:
		m.expressions(s.X)
		if call, ok := s.X.(*ast.CallExpr); ok {
			if id, ok := call.Fun.(*ast.Ident); !ok || id.Name != "panic" {
				return unless("left out: " + m.source(s))
			}
		}
	case *ast.AssignStmt:
		for _, x := range s.Rhs {
			m.expressions(x)
		}
		if s.Tok != token.DEFINE {
			return unless("left out: " + m.source(s))
		}
	case *ast.IncDecStmt:
		return unless("left out: " + m.source(s))
	case *ast.ReturnStmt:
		for _, x := range s.Results {
			m.expressions(x)
		}
		return m.results(s, when)
	case *ast.BranchStmt:
		if s.Label == nil && in&inLoop != 0 && in&inSwitch == 0 {
			switch s.Tok {
			case token.CONTINUE:
				return when("continue is break", &ast.BranchStmt{Tok: token.BREAK})
			case token.BREAK:
				return when("break is continue", &ast.BranchStmt{Tok: token.CONTINUE})
			}
		}
	case *ast.DeferStmt:
		m.expressions(s.Call)
	case *ast.GoStmt:
		m.expressions(s.Call)
	}
	return []ast.Stmt{s}
}

// results changes what is returned: an error into none, true into false.
func (m *mutator) results(s *ast.ReturnStmt, when func(string, ast.Stmt) []ast.Stmt) []ast.Stmt {
	n := len(s.Results)
	if n == 0 {
		return []ast.Stmt{s}
	}
	other := ""
	if id, ok := s.Results[n-1].(*ast.Ident); ok {
		other = map[string]string{"true": "false", "false": "true"}[id.Name]
	}
	last := s.Results[n-1]
	if id, ok := last.(*ast.Ident); m.fails && !(ok && id.Name == "nil") {
		if _, call := last.(*ast.CallExpr); n > 1 || !call {
			other = "nil"
		}
	}
	if other == "" {
		return []ast.Stmt{s}
	}
	changed := &ast.ReturnStmt{Results: append(slices.Clone(s.Results[:n-1]), ast.NewIdent(other))}
	return when("returns "+other+": "+m.source(s.Results[n-1]), changed)
}

var opposite = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR, token.EQL: token.NEQ, token.NEQ: token.EQL,
}

// condition changes the condition of a branch: it always holds, or never. A comparison is also
// another one.
func (m *mutator) condition(c ast.Expr) ast.Expr {
	text, at := m.source(c), c.Pos() // m.expressions puts nodes without a place into c
	m.expressions(c)
	always, never := m.add(at, "always: "+text), m.add(at, "never: "+text)
	inner := ast.Expr(&ast.ParenExpr{X: c})
	if b, ok := c.(*ast.BinaryExpr); ok && (opposite[b.Op] == token.LEQ || opposite[b.Op] == token.LSS || opposite[b.Op] == token.GEQ || opposite[b.Op] == token.GTR) {
		other := *b
		other.Op = opposite[b.Op]
		inner = m.either(m.add(at, b.Op.String()+" is "+other.Op.String()+": "+text), &other, c)
	}
	return &ast.ParenExpr{X: &ast.BinaryExpr{
		X: always, Op: token.LOR,
		Y: &ast.BinaryExpr{X: &ast.UnaryExpr{Op: token.NOT, X: never}, Op: token.LAND, Y: inner},
	}}
}

// either returns an expression that is one or the other; only that one is evaluated.
func (m *mutator) either(on ast.Expr, one, other ast.Expr) ast.Expr {
	return &ast.ParenExpr{X: &ast.BinaryExpr{
		X:  &ast.BinaryExpr{X: on, Op: token.LAND, Y: &ast.ParenExpr{X: one}},
		Op: token.LOR,
		Y:  &ast.BinaryExpr{X: &ast.UnaryExpr{Op: token.NOT, X: on}, Op: token.LAND, Y: &ast.ParenExpr{X: other}},
	}}
}

// expressions changes the functions in an expression, and what connects its conditions.
func (m *mutator) expressions(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			m.body(n.Type, n.Body)
			return false
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				other := *n
				other.Op = token.LAND + token.LOR - n.Op
				plain := *n
				on := m.add(n.Pos(), n.Op.String()+" is "+other.Op.String()+": "+m.source(n))
				// The node becomes "on && other || !on && plain".
				both := m.either(on, &other, &plain).(*ast.ParenExpr).X.(*ast.BinaryExpr)
				m.expressions(plain.X)
				m.expressions(plain.Y)
				*n = *both
				return false
			}
		}
		return true
	})
}
