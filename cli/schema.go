package cli

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// schemas are the JSON Schemas of the documents, one file each. A file refers to
// another by its name.
//
//go:embed schema/*.json
var schemas embed.FS

// schemaCommand is `hindcast schema`.
func (a *App) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [DOCUMENT]",
		Short: "print the JSON Schema of a document of --json",
		Long: `Schema prints the JSON Schema (draft 2020-12) of a document that --json prints.
Without DOCUMENT it lists them.`,
		Example: `  hindcast schema
  hindcast schema log`,
		Args: argsBetween(0, 1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return documentNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: a.runReading(func(_ context.Context, p *printer, args []string) error {
			if len(args) == 1 {
				return p.writeSchema(args[0])
			}
			if p.json {
				return p.writeDocument(documentNames())
			}
			return p.writeSchemas()
		}),
	}
}

// documentNames returns the names of the documents in order.
func documentNames() (names []string) {
	files, err := schemas.ReadDir("schema")
	if err != nil {
		panic(err) // they are in the program
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".json"))
	}
	return names
}

// schemaOf returns the file of a document, and what its text says.
func schemaOf(document string) (text []byte, says schemaText, err error) {
	if text, err = schemas.ReadFile(path.Join("schema", document+".json")); err == nil {
		err = json.Unmarshal(text, &says)
	}
	return text, says, err
}

// schemaText is the part of a schema that a list of documents shows.
type schemaText struct {
	Title       string
	Description string
}

// writeSchemas lists the documents.
func (p *printer) writeSchemas() error {
	var t table
	t.addRow("DOCUMENT", "OF", "")
	for _, name := range documentNames() {
		_, says, err := schemaOf(name)
		if err != nil {
			return err
		}
		t.addRow(name, says.Title, says.Description)
	}
	t.writeTable(p)
	return nil
}

// writeSchema prints one schema so that it stands alone: the schemas that it refers to
// are put below its "$defs", under their file names.
func (p *printer) writeSchema(name string) error {
	if !slices.Contains(documentNames(), name) {
		return usagef("no document is called %q; they are %s", name, strings.Join(documentNames(), ", "))
	}
	text, _, err := schemaOf(name)
	if err != nil {
		return err
	}
	defs := map[string]json.RawMessage{}
	if err := collectSchemas(text, defs); err != nil {
		return err
	}
	if len(defs) > 0 {
		below, err := json.Marshal(defs)
		if err != nil {
			return err
		}
		text = withMember(bytes.TrimSpace(text), "$defs", below)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, bytes.TrimSpace(text), "", "  "); err != nil {
		return err
	}
	fmt.Fprintf(p, "%s\n", &pretty)
	return nil
}

// collectSchemas puts the schemas that one refers to into defs, and those that they refer to.
func collectSchemas(text []byte, defs map[string]json.RawMessage) error {
	for _, name := range documentNames() {
		file := name + ".json"
		if defs[name] != nil || !bytes.Contains(text, []byte(`"$ref": "`+file+`"`)) {
			continue
		}
		of, _, err := schemaOf(name)
		if err != nil {
			return err
		}
		defs[name] = fmt.Appendf(nil, `{"$id":%q,%s`, file, bytes.TrimPrefix(of, []byte("{")))
		if err := collectSchemas(of, defs); err != nil {
			return err
		}
	}
	return nil
}
