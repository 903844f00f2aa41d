package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/prompts"
	"hindcast/query"
	"hindcast/redact"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/store/media/scratch"
)

// exportCommand is `hindcast export`.
func (a *App) exportCommand() *cobra.Command {
	var to string
	var whole, atif, otlp bool
	var how sharing
	cmd := &cobra.Command{
		Use:   "export [STORE...] [SESSION]...",
		Short: "write sessions as portable JSON lines",
		Long: `Export writes sessions whole, orphaned snapshots included, as portable JSON
lines: one object for each snapshot. hindcast import reads them back, and every
command takes such a file as STORE. Without SESSION it is all of them. A line has what
its snapshot adds to the state before it; for other programs --whole writes each state
whole, which takes the room of all of them. On a terminal a line shows how far it is.

--atif writes one conversation instead, in ATIF, Harbor's trajectory format 1.8: that at
the head, or with --only at a snapshot, such as one before a compaction. Results stand
with their calls, each message has the time, tokens and price that are known, and the
runs of sub-agents are in it, too. --otlp writes it as spans in OTLP's JSON, with the
attributes of OpenTelemetry's semantic conventions for generative AI, version 1.37.0: a
span for each answer of the model, with the messages since the answer before. The map
that opens such a file is in the README of the kind mapped.

` + redacts,
		Example: `  hindcast export trips.db -o trips.jsonl
  hindcast export trips.db trip-planner --only 3..11.1 --redact -o part.jsonl
  hindcast export trips.db trip-planner | hindcast import - copy.db
  hindcast export trips.db --whole | jq .state.messages
  hindcast export projects 7ffd5cb9 --atif -o trajectory.json
  hindcast export projects 7ffd5cb9 --otlp -o spans.json`,
		Args:              argsBetween(0, 1000),
		ValidArgsFunction: a.completeSessions,
		RunE: a.runAnswer(func(ctx context.Context, p *printer, args []string) error {
			if p.json && to == "" && !atif && !otlp {
				return usagef("export: the rows are JSON lines, which is not one document: with --json, name a file with -o")
			}
			s, sessions, h, err := a.findSessions(ctx, args)
			if err != nil {
				return err
			}
			defer h.Close()
			switch {
			case atif:
				return a.exportRun(ctx, p, s, sessions, &how, to, formatATIF)
			case otlp:
				return a.exportRun(ctx, p, s, sessions, &how, to, formatOTLP)
			}
			done := tally{Store: to}
			what, err := a.shareRows(ctx, s, sessions, &how)
			if err != nil {
				return err
			}
			rows := done.watchRows(what.rows)
			if a.ErrTerminal && (to != "" || !a.OutTerminal) {
				shown := progress{out: a.Err, done: &done}
				defer shown.clearLine()
				rows = shown.watchRows(rows)
			}
			encode := a.Encode
			if whole {
				encode = a.EncodeWhole
			}
			if to == "" {
				_, err = encode(a.harmlessWriter(p), rows)
			} else {
				err = writeRows(to, rows, encode)
			}
			if err != nil {
				return err
			}
			if done.takeHidden(what.redactor); !p.json {
				done.listHidden(a.Err)
			}
			if to == "" {
				return nil
			}
			return p.writeTally("exported", &done)
		}),
	}
	cmd.Flags().StringVarP(&to, "output", "o", "", "write to a new `FILE` instead of the standard output")
	cmd.Flags().BoolVar(&whole, "whole", false, "write each state whole, for other programs")
	cmd.Flags().BoolVar(&atif, "atif", false, "write one conversation in ATIF, Harbor's trajectory format")
	cmd.Flags().BoolVar(&otlp, "otlp", false, "write one conversation as spans in OTLP, OpenTelemetry's format")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if whole && atif || whole && otlp || atif && otlp {
			return usagef("--whole, --atif and --otlp are different forms: give one of them")
		}
		return nil
	}
	how.addFlags(cmd)
	return cmd
}

// findSessions returns the store of the sessions that words name, which are of one store; without a session the only
// store. The caller closes the home.
func (a *App) findSessions(ctx context.Context, args []string) (s store.Store, sessions []string, h *home.Home, err error) {
	h, address, rest, err := a.homeOf(ctx, words{session: true, most: len(args)}, args)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if len(rest) == 0 {
		s, err = onlyStore(ctx, h, address)
		return s, nil, h, err
	}
	for _, word := range rest {
		session, err := a.sessionOf(ctx, h, address, word)
		if err != nil {
			return nil, nil, h, err
		}
		of, err := session.Store.Open(ctx)
		if err != nil {
			return nil, nil, h, err
		}
		if s != nil && of != s {
			return nil, nil, h, usagef("export: %.80q is in %s, and %.80q in %s; the sessions of an export are of one store", sessions[0], s.Address(), session.ID, of.Address())
		}
		s, sessions = of, append(sessions, session.ID)
	}
	return s, sessions, h, nil
}

// writeRows writes rows to a file that is not there yet.
func writeRows(path string, rows iter.Seq2[store.Row, error], encode Encoder) error {
	err := writeFile(path, func(w io.Writer) error {
		_, err := encode(w, rows)
		return err
	})
	if file := (*fs.PathError)(nil); errors.As(err, &file) {
		err = fmt.Errorf("export: %w", err)
	}
	return err
}

// importCommand is `hindcast import`.
func (a *App) importCommand() *cobra.Command {
	var maps []string
	var dry bool
	cmd := &cobra.Command{
		Use:   "import FILE... STORE",
		Short: "read portable JSON lines, or with --map any JSON, into a native store",
		Long: `Import reads what export wrote, from a file or from the standard input (-), into
a native store, which is made if there is none. All of it goes in or nothing
does; what the store has already is left as it is. It is one entry of the journal,
which hindcast undo takes back. In an empty store it is none: that store begins
with it. On a terminal a line shows how far it is.

With --map it reads any JSON: files of one document, JSON lines, folders of
either. The map says where in a row its parts are, as KEY=PATH with commas:

  state     the state of the snapshot, any value; without it the whole row
  id        its id; without it the SHA-256 of the state
  parent    the id of the snapshot before; without it the row before
  time      a text, or a number of seconds (ms, us, ns) since 1970
  session   without it the name of the file; of a folder of files of one row
            each, the name of the folder
  index     its number; without it the position in the session
  turn, event, title, orphaned, head
  messages  append: a row is a message, and the state the messages so far
  answer    a message, or a list of some, behind that at state
  rows      all rows of a document that holds many: $.checkpoints[*]; a document
            that is an array is its rows
  where     the rows that are taken: type==message or type!=ping

A PATH is a JSONPath (a.b[0]['x, y'], from the document with $ in front), a
JSON Pointer (/a/b/0), or for session, event and title a text in quotes.
a|fromjson.b enters the JSON that a text holds, and a[?@.k==x].b the first element
of a whose k is x. Rows that are listed newest
first are turned around. --dry-run shows what a map finds and writes nothing.`,
		Example: `  hindcast import trips.jsonl trips.db
  hindcast import --map id=checkpoint_id,parent=parent_checkpoint_id,time=ts,state=channel_values,session=thread_id dump.jsonl graph.db
  hindcast import --map 'rows=$.checkpoints[*],id=id,state=values' --dry-run dump.json graph.db
  hindcast import --map 'state=$' states/ run.db
  zcat log.gz | hindcast import --map "state=/body/state,session='night run'" - run.db`,
		Args: argsBetween(2, 100_000),
		RunE: a.runAnswer(func(ctx context.Context, p *printer, args []string) error {
			from, to := args[:len(args)-1], args[len(args)-1]
			done := tally{Store: to}
			rows, err := a.incomingRows(ctx, from, maps, func(n int) { done.Skipped = n })
			if err != nil {
				return err
			}
			rows = done.watchRows(rows)
			if a.ErrTerminal {
				shown := progress{out: a.Err, done: &done}
				defer shown.clearLine()
				rows = shown.watchRows(rows)
			}
			if dry {
				return p.writePreview(rows, &done)
			}
			added, err := a.fillStore(ctx, &done.Store, rows)
			if err == nil {
				done.Labels, err = a.takeLabels(ctx, to, done.labelled)
			}
			if err != nil {
				return err
			}
			done.New = &added
			return p.writeTally("imported", &done)
		}),
	}
	cmd.Flags().StringArrayVar(&maps, "map", nil, "where in any JSON the rows are, and in a row its parts: `KEY=PATH,...`")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would be imported, and write nothing")
	return cmd
}

// incomingRows returns the rows of an import: by a map, where there is one, of any
// JSON, and else of one portable file. skipped is told how many rows the map leaves
// out.
func (a *App) incomingRows(ctx context.Context, from, maps []string, skipped func(rows int)) (iter.Seq2[store.Row, error], error) {
	if len(maps) > 0 {
		rows, err := a.DecodeMapped(ctx, strings.Join(maps, ","), a.In, from, skipped)
		if err != nil {
			return nil, usagef("import: %w", err)
		}
		return rows, nil
	}
	if len(from) > 1 {
		return nil, usagef("import: %d files, and one is read; any number of files of other JSON is read with --map", len(from))
	}
	return a.portableRows(from[0]), nil
}

// portableRows returns the rows of a portable file, or of the standard input.
func (a *App) portableRows(path string) iter.Seq2[store.Row, error] {
	if path == "-" {
		return a.Decode(a.In)
	}
	return func(yield func(store.Row, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(store.Row{}, err)
			return
		}
		defer f.Close() // it was only read
		a.Decode(f)(yield)
	}
}

// fillStore puts rows into the native store at an address and returns how many were new. It makes the store if
// there is no store. Of a URL it leaves only the parts that may be shown.
func (a *App) fillStore(ctx context.Context, address *string, rows iter.Seq2[store.Row, error]) (int, error) {
	s, err := a.openStore(ctx, *address)
	if _, vacant := errors.AsType[*store.VacantError](err); vacant {
		s, err = a.Create(ctx, *address)
	}
	if path, kind, free := a.freePath(ctx, *address, err); free {
		return a.makeStore(ctx, path, kind, rows)
	}
	if err != nil {
		return 0, err
	}
	if a.Kinds.IsURL(*address) {
		*address = s.Address()
	}
	added, err := takeRows(ctx, s, rows)
	return added, errors.Join(err, s.Close())
}

// freePath returns the path at an address, and the kind that it names, or ""; and whether
// nothing is there, so that a store can be made. err is that of opening the address.
func (a *App) freePath(ctx context.Context, address string, err error) (path, kind string, free bool) {
	path = address
	if id, named := a.Kinds.Identify(ctx, address); named == nil {
		path, kind = id.At, id.Name
	}
	_, there := os.Lstat(path)
	return path, kind, errors.Is(err, fs.ErrNotExist) && errors.Is(there, fs.ErrNotExist)
}

// makeStore makes a native store out of rows, beside its path. kind is the one that was asked for,
// "" for any.
func (a *App) makeStore(ctx context.Context, path, kind string, rows iter.Seq2[store.Row, error]) (added int, err error) {
	err = fillBeside(path, func(draft string) error {
		s, err := a.Create(ctx, draft)
		if err != nil {
			return err
		}
		if kind != "" && kind != s.Kind() {
			return errors.Join(takesNone(kind), s.Close())
		}
		added, err = takeRows(ctx, s, rows)
		return errors.Join(err, s.Close())
	})
	if err != nil {
		return 0, err
	}
	return added, nil
}

// fillBeside has a file filled in a folder of its own beside its path; then it takes its
// name. So there is never half a file at the path, and never one that replaces another.
func fillBeside(path string, fill func(draft string) error) (err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, error(&fs.PathError{Op: "write", Path: path, Err: syscall.EEXIST}))
	}
	dir, err := scratch.Make(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	draft := filepath.Join(dir.Path, filepath.Base(path))
	if err := fill(draft); err != nil {
		return err
	}
	return nameFile(draft, path)
}

// nameFile names a file, unless something has that name already. Not
// every file system can link; there, a program that takes the name in the very
// same moment is not seen.
func nameFile(draft, path string) error {
	err := os.Link(draft, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, taken := os.Lstat(path); !errors.Is(taken, fs.ErrNotExist) {
		return err
	}
	return os.Rename(draft, path)
}

func takeRows(ctx context.Context, s store.Store, rows iter.Seq2[store.Row, error]) (int, error) {
	to := s.Features()
	if to.Import == nil {
		return 0, takesNone(s.Kind())
	}
	return to.Import(ctx, rows)
}

func takesNone(kind string) error { return fmt.Errorf("import: a %s store takes no rows", kind) }

// withLabels puts the labels of snapshots into their rows. An error of reading labels ends the rows: an
// export is whole, or it fails.
func (a *App) withLabels(ctx context.Context, s store.Store, rows iter.Seq2[store.Row, error]) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		session, left := "", map[model.Ref][]model.Label(nil)
		for row, err := range rows {
			if err == nil && row.Record == nil {
				if row.Header.SessionID != session {
					session = row.Header.SessionID
					left, err = a.labelsByVisit(ctx, s, session)
				}
				at := row.Header.Ref()
				row.Labels = left[at]
				delete(left, at) // where visits have no numbers, the first of an id has them
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// labelsByVisit returns the labels of a session by the visits that have them.
func (a *App) labelsByVisit(ctx context.Context, s store.Store, session string) (map[model.Ref][]model.Label, error) {
	list, err := a.Labels.Of(ctx, s, session)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	t, err := query.ReadTimeline(ctx, s, session)
	if err != nil {
		return nil, err
	}
	t.SetLabels(list)
	at := map[model.Ref][]model.Label{}
	for n := range model.Node(t.Len()) {
		if labels := t.Labels(n); labels != nil {
			ref := t.Header(n).Ref()
			at[ref] = append(at[ref], labels...)
		}
	}
	return at, nil
}

// takeLabels sets the labels of rows that were imported, and returns how many.
func (a *App) takeLabels(ctx context.Context, path string, rows []store.Row) (int, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	s, err := a.openStore(ctx, path)
	if err != nil {
		return 0, err
	}
	set, err := a.Labels.ImportLabels(ctx, s, rows)
	if err = errors.Join(err, s.Close()); err != nil {
		return set, fmt.Errorf("import: the snapshots are in, but not all of their labels: %w", err)
	}
	return set, nil
}

// tally counts the rows that pass. Its JSON is the document of import and of export -o.
type tally struct {
	Store     string `json:"store"`
	Sessions  int    `json:"sessions"`
	Snapshots int    `json:"snapshots"`
	// New is how many of them the store did not have; only for an import.
	New *int `json:"new,omitempty"`
	// Skipped is how many rows the where of a map left out.
	Skipped int `json:"skipped,omitempty"`
	// Labels is how many labels of snapshots came along.
	Labels int `json:"labels,omitempty"`
	// Hidden lists the findings of a redaction, nil if there was no redaction.
	Hidden []redact.Finding `json:"hidden,omitzero"`
	// secrets is how many different secrets these are.
	secrets int
	// Prompts are the texts of a vendor that were left out.
	Prompts []prompts.Left `json:"prompts,omitempty"`
	// labelled are the rows that have labels, without their states.
	labelled []store.Row
}

func (t *tally) watchRows(rows iter.Seq2[store.Row, error]) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		seen := map[string]bool{}
		for row, err := range rows {
			if err == nil && row.Record == nil {
				if !row.Header.Marks.Has(model.MarkTraced) {
					t.Snapshots++
				}
				seen[row.Header.SessionID] = true
				t.Sessions = len(seen)
				if len(row.Labels) > 0 {
					t.Labels += len(row.Labels)
					t.labelled = append(t.labelled, store.Row{Header: row.Header, Labels: row.Labels})
				}
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

func (p *printer) writeTally(done string, t *tally) error {
	if p.json {
		return p.writeDocument(t)
	}
	fmt.Fprintf(p, "%s %s of %s", done, model.Count(t.Snapshots, "snapshot"), model.Count(t.Sessions, "session"))
	if t.New != nil {
		fmt.Fprintf(p, ", %d new,", *t.New)
	}
	if t.Labels > 0 {
		fmt.Fprintf(p, " with %s,", model.Count(t.Labels, "label"))
	}
	fmt.Fprintf(p, " to %s%s\n", p.linkPath(t.Store, t.Store), t.leftOut())
	return nil
}

// leftOut says how many rows were skipped, or "".
func (t *tally) leftOut() string {
	if t.Skipped == 0 {
		return ""
	}
	return "; " + model.Count(t.Skipped, "row") + " of another kind skipped"
}
