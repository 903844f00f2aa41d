package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hindcast/model"
)

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

// A doc comment says that a function returns something, as Go's own do.
func TestRooms_functionsReturn(t *testing.T) {
	said := func(at token.Position, name string, doc *ast.CommentGroup, of *ast.FuncType) {
		if of.Results != nil && strings.HasPrefix(doc.Text(), name+" gives ") {
			t.Errorf("%s: %s returns what its comment says that it gives", at, name)
		}
	}
	inspectCode(t, func(at token.Position, n ast.Node) {
		switch n := n.(type) {
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
