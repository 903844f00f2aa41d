package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// No code decides by a sentence: what a fault, a plan or an error says in words is for
// people, and what a program goes by is data beside it.
func TestRooms_decideByNoSentence(t *testing.T) {
	looks := []string{"Contains", "HasPrefix", "HasSuffix", "Index", "CutPrefix", "CutSuffix"}
	sentences := []string{"Verdict", "verdict", "Meaning", "meaning", "Message", "Reason", "Error"}
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
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(looks, f.Sel.Name) && isName(f.X, "strings") {
				of := call.Args[0]
				if inner, ok := of.(*ast.CallExpr); ok {
					of = inner.Fun
				}
				if s, ok := of.(*ast.SelectorExpr); ok && slices.Contains(sentences, s.Sel.Name) {
					t.Errorf("%s: strings.%s looks into a sentence, %s", files.Position(call.Pos()), f.Sel.Name, s.Sel.Name)
				}
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
