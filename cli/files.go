package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hindcast/look"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/filechange"
	"hindcast/model/printable"
	"hindcast/query"
)

// filesFlags are the flags of files.
type filesFlags struct {
	path, before, output, by string
	patch                    bool
}

// filesCommand is `hindcast files`.
func (a *App) filesCommand() *cobra.Command {
	asked, _ := look.Read("", a.Getenv) // a wrong word is an error when the command runs
	g := &asked.Glyphs
	var f filesFlags
	cmd := &cobra.Command{
		Use:   "files [STORE...] [SESSION] [A | A..B]",
		Short: "show what each step did to the files",
		Long: `Files lists each change of a file that the records of a session tell of, on every
branch, in the order in which they were recorded, with the tool that made it. A names
one step; A..B is what was done after A up to B. On different branches that is the
changes of A's branch undone and those of B's done: so files TIP..head is how an
abandoned branch differs from the one that was kept.

  +  created    ~  changed    -  deleted    >  moved    ?  nothing recorded how

  ` + g.Active + `  on the active path    ` + g.Head + `  the head    ` + g.Orphaned + `  off the active path    ` + g.Dot + `  a step of a turn

A change is what the tool recorded, or what the agent's own copies of the files prove.
"inferred" stands where only the call tells of it, "not recorded" where only a name is
known. Paths are relative to the project's folder. What sub-agents did stands at the step
that started them.

--patch prints one patch of all, which git apply takes; without A..B it is what led to
the head. It names the files for which the records do not suffice, and the exit code is
then 1. --by adds the changes up by file, turn or branch.

--path lists every step of every session that touched a file, newest first: of all
stores, of a STORE or of a SESSION. PATH is the whole path, or its last names. With
--before SNAPSHOT and -o it writes the text that the file had before that step, where
the records hold it whole, into a new file outside of the session's project.`,
		Example: `  hindcast files projects 7ffd5cb9
  hindcast files projects 7ffd5cb9 '#4..head' --patch | git apply
  hindcast files projects 7ffd5cb9 --by turn
  hindcast files --path src/cart.ts
  hindcast files projects 7ffd5cb9 --before 12 --path cart.ts -o /tmp/cart.ts
  hindcast files projects --json | jq '.[] | select(.kind == "deleted").path'`,
		Args: func(cmd *cobra.Command, args []string) error { return a.argsCheck(f.argumentWords())(cmd, args) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			return a.completeSnapshot(1)(cmd, args, word)
		},
		RunE: a.runReading(func(ctx context.Context, p *printer, args []string) error {
			of, err := a.findSubject(ctx, f.argumentWords(), args)
			if err != nil {
				return err
			}
			err = f.writeAnswer(ctx, p, of)
			return errors.Join(noSessionIn(ctx, of.home, of.address, of.session, err), of.home.Close())
		}),
	}
	cmd.PreRunE = func(*cobra.Command, []string) error { return f.checkFlags() }
	cmd.Flags().BoolVar(&f.patch, "patch", false, "print one patch of all changes, which git apply takes")
	cmd.Flags().StringVar(&f.by, "by", "", "add up the changes by a `WORD`: file, turn or branch")
	cmd.Flags().StringVar(&f.path, "path", "", "only changes of the file at a `PATH`; without SESSION those of all sessions, newest first")
	cmd.Flags().StringVar(&f.before, "before", "", "write the text of the file of --path before the step of a `SNAPSHOT`")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "the new `FILE` that --before writes")
	return cmd
}

// checkFlags returns the error of flags that contradict each other.
func (f *filesFlags) checkFlags() error {
	switch {
	case f.by != "" && !slices.Contains([]string{"file", "turn", "branch"}, f.by):
		return usagef("files: --by %.40q: give file, turn or branch", f.by)
	case f.before != "" && (f.path == "" || f.output == ""):
		return usagef("files: --before writes the text of a file: give it with --path PATH and -o FILE")
	case f.output != "" && f.before == "":
		return usagef("files: -o is the file that --before writes")
	case f.patch && f.by != "", f.patch && f.path != "", f.by != "" && f.path != "":
		return usagef("files: --patch, --by and --path are several answers: give one of them")
	}
	return nil
}

// argumentWords returns the words that the command takes.
func (f *filesFlags) argumentWords() words {
	return words{stores: f.path != "" && f.before == "", session: true, most: 1}
}

// writeAnswer writes the answer to the flags.
func (f *filesFlags) writeAnswer(ctx context.Context, p *printer, of *subject) error {
	if of.session == "" {
		return f.writeAcross(ctx, p, of)
	}
	t, err := of.readTimeline(ctx)
	if err != nil {
		return err
	}
	s := &filesSession{app: of.app, printer: p, timeline: t, session: query.Open(of.store, t), subject: of}
	if s.dir = of.info.Project; s.dir == "" {
		info, err := findInfo(ctx, of.store, of.session)
		if err != nil {
			return err
		}
		s.dir = info.Project
	}
	s.from, s.to = model.NoNode, model.NoNode
	if len(of.snapshots) > 0 {
		from, to, both := strings.Cut(of.snapshots[0], "..")
		if !both {
			to = from
		}
		if s.to, err = findVisit(t, to); err == nil && both {
			s.from, err = findVisit(t, from)
		}
		if err != nil {
			return err
		}
		s.ranged = true
		if !both {
			s.from = t.Parent(s.to)
		}
	}
	switch {
	case f.before != "":
		return s.writeBefore(ctx, f)
	case f.patch:
		return s.writePatch(ctx)
	case f.by != "":
		return s.writeSums(ctx, f.by)
	}
	return s.writeSteps(ctx, f.path)
}

// filesSession is a session whose changes of files are asked for.
type filesSession struct {
	*printer
	app      *App
	subject  *subject
	timeline *model.Timeline
	session  *query.Session
	// dir is the project's folder, or "".
	dir string
	// ranged limits the steps to the ones behind from, up to the visit to.
	ranged   bool
	from, to model.Node
}

// hunkJSON is a hunk of a change.
type hunkJSON struct {
	Old   *int     `json:"old,omitempty"`
	New   *int     `json:"new,omitempty"`
	Lines []string `json:"lines"`
}

// stepJSON is the snapshot whose messages tell of something, in a document.
type stepJSON struct {
	Name      string     `json:"name"`
	ID        string     `json:"id"`
	SessionID string     `json:"sessionId"`
	CreatedAt *time.Time `json:"createdAt,omitempty"`
	TurnIndex *int       `json:"turnIndex"`
	Orphaned  bool       `json:"orphaned"`
}

// stepOf returns the snapshot at a node.
func stepOf(t *model.Timeline, n model.Node) stepJSON {
	h := headerOf(t, n)
	return stepJSON{h.Name, h.ID, h.SessionID, h.CreatedAt, h.TurnIndex, h.Orphaned}
}

// fileJSON is an element of `files --json`.
type fileJSON struct {
	stepJSON
	Store   string     `json:"store,omitempty"`
	Undone  bool       `json:"undone,omitempty"`
	Path    string     `json:"path,omitempty"`
	From    string     `json:"from,omitempty"`
	Outside bool       `json:"outside,omitempty"`
	Kind    string     `json:"kind"`
	Known   string     `json:"known"`
	Tool    string     `json:"tool"`
	Call    string     `json:"call,omitempty"`
	Agent   string     `json:"agent,omitempty"`
	Command string     `json:"command,omitempty"`
	Added   int        `json:"added"`
	Removed int        `json:"removed"`
	More    int        `json:"more,omitempty"`
	Hunks   []hunkJSON `json:"hunks,omitempty"`
}

// fileDocument returns the document of a change.
func fileDocument(t *model.Timeline, n model.Node, dir string, e *filechange.Effect, c *filechange.Change) fileJSON {
	out := fileJSON{stepJSON: stepOf(t, n), Kind: c.Kind.String(), Known: c.Known.Word(), Tool: e.Tool, Call: e.ID, Agent: e.Agent, Command: e.Command, More: c.More}
	out.Added, out.Removed = c.Count()
	if c.Path != "" {
		var inside bool
		out.Path, inside = filechange.PathIn(dir, c.Path)
		out.Outside = !inside
	}
	if c.From != "" {
		out.From, _ = filechange.PathIn(dir, c.From)
	}
	for _, h := range c.Hunks {
		one := hunkJSON{Lines: notNil(h.Lines)}
		if h.Old >= 0 {
			one.Old, one.New = &h.Old, &h.New
		}
		out.Hunks = append(out.Hunks, one)
	}
	return out
}

// yieldSteps yields the steps that are meant, and whether each is undone.
func (s *filesSession) yieldSteps(ctx context.Context) iter.Seq2[undoable, error] {
	return func(yield func(undoable, error) bool) {
		if !s.ranged {
			for step, err := range s.session.AllFiles(ctx, false) {
				if !yield(undoable{FileStep: step}, err) {
					return
				}
			}
			return
		}
		r, err := s.session.FilesBetween(ctx, s.from, s.to, false)
		if err != nil {
			yield(undoable{}, err)
			return
		}
		for _, step := range r.Back {
			if !yield(undoable{step, true}, nil) {
				return
			}
		}
		for _, step := range r.Forth {
			if !yield(undoable{step, false}, nil) {
				return
			}
		}
	}
}

// undoable is a step, which the way to a snapshot takes back or not.
type undoable struct {
	query.FileStep
	undone bool
}

// yieldChanges yields the changes of a step, those that are undone inverted.
func (u *undoable) yieldChanges() iter.Seq2[*filechange.Effect, filechange.Change] {
	return func(yield func(*filechange.Effect, filechange.Change) bool) {
		for e, c := range u.Changes() {
			of := *c
			if u.undone {
				of = c.Invert()
			}
			if !yield(e, of) {
				return
			}
		}
	}
}

// writeSteps writes each change of the steps, of one file or of all.
func (s *filesSession) writeSteps(ctx context.Context, path string) error {
	if s.json {
		return writeArray(s.printer, func(yield func(fileJSON, error) bool) {
			for step, err := range s.yieldSteps(ctx) {
				if err != nil {
					yield(fileJSON{}, err)
					return
				}
				for e, c := range step.yieldChanges() {
					if path != "" && !c.IsOf(path, s.dir) {
						continue
					}
					out := fileDocument(s.timeline, step.Visit, s.dir, e, &c)
					out.Undone = step.undone
					if !yield(out, nil) {
						return
					}
				}
			}
		})
	}
	lines := &fileLines{visits: s.newVisits(s.timeline), dir: s.dir}
	for step, err := range s.yieldSteps(ctx) {
		if err != nil {
			return err
		}
		lines.writeStep(&step, path)
	}
	if lines.sums.All() == nil {
		return s.noChanges(path)
	}
	s.WriteByte('\n')
	fmt.Fprintln(s, s.totalText(lines.sums.All()))
	return nil
}

// noChanges returns the error of a session without changes.
func (s *filesSession) noChanges(path string) error {
	if path != "" {
		return fmt.Errorf("files: no step of %.80q touched a file at %.200q", s.subject.session, path)
	}
	return &advisedError{fmt.Errorf("files: no record of %.80q tells of a changed file", s.subject.session), "hindcast commands lists the commands that it ran."}
}

// totalText adds up the sums of all files.
func (p *printer) totalText(list []query.FileSum) string {
	var all query.FileSum
	files := 0
	for i := range list {
		of := &list[i]
		if files++; of.Path == "" {
			files--
		}
		all.Added, all.Removed, all.Inferred, all.NotRecorded = all.Added+of.Added, all.Removed+of.Removed, all.Inferred+of.Inferred, all.NotRecorded+of.NotRecorded
		all.More += of.More
	}
	text := model.Count(files, "file")
	if change := conversation.Change(all.Added, all.Removed); change != "" {
		text += "  " + change
	}
	for _, n := range []struct {
		n    int
		what string
	}{{all.Inferred, filechange.Inferred.String()}, {all.NotRecorded, filechange.NotRecorded.String()}} {
		if n.n > 0 {
			text += ", " + model.Count(n.n, "change") + " " + n.what
		}
	}
	if all.More > 0 {
		text += ", " + model.Count(all.More, "more file") + " without a name"
	}
	return text
}

// fileLines writes a line for each change.
type fileLines struct {
	*visits
	dir  string
	sums query.FileSums
}

// changeSigns are the signs of the kinds, and their colours.
var changeSigns = map[filechange.Kind][2]string{
	filechange.Changed: {"~ ", yellow}, filechange.Created: {"+ ", green}, filechange.Deleted: {"- ", red}, filechange.Moved: {"> ", yellow},
}

// writeStep writes the changes of a step, of one file or of all. Files that nothing is recorded of stand in one line.
func (l *fileLines) writeStep(step *undoable, path string) {
	if step.Unread != nil {
		l.beginLine(step.Visit)
		l.endLine(faint, "? "+printable.String(step.Unread.Error()))
	}
	var unknown []string
	more := 0
	var by *filechange.Effect
	flush := func() {
		if n := len(unknown) + more; n > 0 {
			text := "? " + model.Count(n, "more file") + ": not recorded"
			if n == 1 && len(unknown) == 1 {
				text = "? " + unknown[0] + ": not recorded"
			} else if len(unknown) > 0 {
				text += "  " + strings.Join(unknown, ", ")
			}
			l.beginLine(step.Visit)
			l.endLine(faint, text+"  "+printable.String(by.How()))
		}
		unknown, more = nil, 0
	}
	for e, c := range step.yieldChanges() {
		if path != "" && !c.IsOf(path, l.dir) {
			continue
		}
		if by != e {
			flush()
		}
		by = e
		l.sums.Add(&c)
		if c.Known == filechange.NotRecorded {
			if more += c.More; c.Path != "" {
				unknown = append(unknown, l.showPath(c.Path))
			}
			continue
		}
		flush()
		l.beginLine(step.Visit)
		sign := changeSigns[c.Kind]
		l.endLine(sign[1], sign[0]+l.describeChange(&c)+"  "+printable.String(e.How()))
	}
	flush()
}

// describeChange tells the file of a change, what came of it and how it is known.
func (l *fileLines) describeChange(c *filechange.Change) string {
	text := l.showPath(c.Path)
	if c.From != "" {
		text = l.showPath(c.From) + " " + l.glyphs.Arrow + " " + text
	}
	if change := conversation.Change(c.Count()); change != "" {
		text += "  " + change
	}
	if c.Known == filechange.Inferred {
		text += "  " + c.Known.String()
	}
	return text
}

// showPath returns a path as it is shown: below the project's folder, or said to be outside of it.
func (l *fileLines) showPath(path string) string {
	rel, inside := filechange.PathIn(l.dir, path)
	if !inside && l.dir != "" {
		return printable.String(rel) + " (outside of the project)"
	}
	return printable.String(rel)
}

// fileSumJSON is an element of `files --by --json`.
type fileSumJSON struct {
	Name        string `json:"name"`
	Files       int    `json:"files"`
	Changes     int    `json:"changes"`
	Added       int    `json:"added"`
	Removed     int    `json:"removed"`
	Inferred    int    `json:"inferred,omitempty"`
	NotRecorded int    `json:"notRecorded,omitempty"`
}

// writeSums writes the sums of the changes by file, turn or branch.
func (s *filesSession) writeSums(ctx context.Context, by string) error {
	var names []string
	groups := map[string]*query.FileSums{}
	add := func(name string, c *filechange.Change) {
		if groups[name] == nil {
			names, groups[name] = append(names, name), new(query.FileSums)
		}
		groups[name].Add(c)
	}
	tips := map[model.Node]string{}
	for step, err := range s.yieldSteps(ctx) {
		if err != nil {
			return err
		}
		h := s.timeline.Header(step.Visit)
		for _, c := range step.yieldChanges() {
			switch by {
			case "turn":
				add("turn "+s.turn(&h), &c)
			case "branch":
				add(s.branchName(step.Visit, tips), &c)
			default:
				name := "without a name"
				if c.Path != "" {
					name, _ = filechange.PathIn(s.dir, c.Path)
				}
				add(name, &c)
			}
		}
	}
	if len(names) == 0 && !s.json {
		return s.noChanges("")
	}
	rows := make([]fileSumJSON, 0, len(names))
	for _, name := range names {
		row := fileSumJSON{Name: name}
		for _, of := range groups[name].All() {
			if row.Files += of.More; of.Path != "" {
				row.Files++
			}
			row.Changes, row.Added, row.Removed = row.Changes+of.Steps, row.Added+of.Added, row.Removed+of.Removed
			row.Inferred, row.NotRecorded = row.Inferred+of.Inferred, row.NotRecorded+of.NotRecorded
		}
		rows = append(rows, row)
	}
	if s.json {
		return writeArray(s.printer, sequenceOf(rows))
	}
	table := table{numbers: true}
	table.addRow("", "files", "changes", "added", "removed", filechange.Inferred.String(), filechange.NotRecorded.String())
	for _, r := range rows {
		table.addRow(printable.String(r.Name), strconv.Itoa(r.Files), strconv.Itoa(r.Changes), strconv.Itoa(r.Added), strconv.Itoa(r.Removed), strconv.Itoa(r.Inferred), strconv.Itoa(r.NotRecorded))
	}
	table.dropEmpty()
	table.writeTable(s.printer)
	return nil
}

// branchName names the branch of a visit: the active path, or the tip of the branch that was left.
func (s *filesSession) branchName(n model.Node, tips map[model.Node]string) string {
	if s.timeline.OnPath(n) {
		return "active path"
	}
	if name, known := tips[n]; known {
		return name
	}
	if len(tips) == 0 {
		for tip := model.Node(s.timeline.Len() - 1); tip >= 0; tip-- {
			for at := tip; at != model.NoNode && !s.timeline.OnPath(at) && tips[at] == ""; at = s.timeline.Parent(at) {
				tips[at] = "branch to " + s.timeline.Name(tip)
			}
		}
	}
	return tips[n]
}

// foldJSON is `files --patch --json`.
type foldJSON struct {
	Patch string       `json:"patch"`
	Files []foldedJSON `json:"files"`
}

// foldedJSON is a file of a patch. Why says why it is not in it.
type foldedJSON struct {
	Path string `json:"path"`
	From string `json:"from,omitempty"`
	Kind string `json:"kind,omitempty"`
	Why  string `json:"why,omitempty"`
}

// errPartial says that a patch does not have all files, which was printed.
var errPartial = errors.New("files: the records do not suffice for some files")

// writePatch writes one patch of all changes, and why files are not in it.
func (s *filesSession) writePatch(ctx context.Context) error {
	if s.to == model.NoNode {
		s.to = s.timeline.Head()
	}
	r, err := s.session.FilesBetween(ctx, s.from, s.to, true)
	if err != nil {
		return err
	}
	folds := r.Fold()
	out := foldJSON{Files: []foldedJSON{}}
	var patch []byte
	leave := func(path string, why string) { out.Files = append(out.Files, foldedJSON{Path: path, Why: why}) }
	for _, f := range folds.All() {
		path, inside := filechange.PathIn(s.dir, f.Path())
		c, none := f.Change()
		from, fromInside := path, true
		if c.From != "" {
			from, fromInside = filechange.PathIn(s.dir, c.From)
		}
		switch {
		case f.Err() != nil:
			leave(path, f.Err().Error())
		case none:
		case !inside || !fromInside:
			leave(cmp.Or(path, from), "it is outside of the project's folder")
		default:
			if c.Path = path; c.From != "" {
				c.From = from
			}
			patch = filechange.AppendPatch(patch, &c)
			out.Files = append(out.Files, foldedJSON{Path: path, From: c.From, Kind: c.Kind.String()})
		}
	}
	if folds.Unnamed > 0 {
		leave("", model.Count(folds.Unnamed, "more file")+" changed, and no record names them")
	}
	out.Patch = string(patch)
	if s.json {
		err = s.writeDocument(out)
	} else {
		_, err = s.app.harmlessWriter(s.printer).Write(patch)
	}
	left := map[string][]string{} // by the reason
	var reasons []string
	for _, of := range out.Files {
		if of.Why == "" {
			continue
		}
		if left[of.Why] == nil {
			reasons = append(reasons, of.Why)
		}
		left[of.Why] = append(left[of.Why], printable.String(of.Path))
	}
	for _, why := range reasons {
		if !s.json {
			fmt.Fprintf(s.app.Err, "hindcast: files: not in the patch: %s\n", strings.TrimPrefix(strings.Join(left[why], ", ")+": "+why, ": "))
		}
	}
	switch {
	case err != nil:
		return err
	case len(reasons) > 0:
		return errPartial
	case len(folds.All()) == 0 && !s.json:
		return s.noChanges("")
	}
	return nil
}

// beforeJSON is `files --before --json`.
type beforeJSON struct {
	stepJSON
	Path  string `json:"path"`
	File  string `json:"file"`
	Bytes int    `json:"bytes"`
}

// writeBefore writes the text of a file before a step into a new file.
func (s *filesSession) writeBefore(ctx context.Context, f *filesFlags) error {
	n, err := findVisit(s.timeline, f.before)
	if err != nil {
		return err
	}
	to, err := filepath.Abs(f.output)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(to)); err == nil {
		to = filepath.Join(real, filepath.Base(to))
	}
	if s.dir != "" && filepath.IsAbs(s.dir) {
		dir := s.dir
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if rel, err := filepath.Rel(dir, to); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return &advisedError{fmt.Errorf("files: %.200q is in the project's folder, %.200q", f.output, s.dir), "Nothing is written into a work tree: give a FILE outside of it."}
		}
	}
	text, file, err := s.session.TextBefore(ctx, n, f.path, s.dir)
	if err != nil {
		return fmt.Errorf("files: %.200q before %s: %w", f.path, s.timeline.Name(n), err)
	}
	err = writeFile(f.output, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("files: %.200q is there already: %w", f.output, os.ErrExist)
	}
	if err != nil {
		return err
	}
	rel, _ := filechange.PathIn(s.dir, file)
	if s.json {
		return s.writeDocument(beforeJSON{stepOf(s.timeline, n), rel, f.output, len(text)})
	}
	fmt.Fprintf(s, "%s: %s as it was before %s, %s\n", printable.String(f.output), printable.String(rel), s.timeline.Name(n), model.AppendSize(nil, int64(len(text))))
	return nil
}

// eachTouched calls take with the steps of sessions that touched files. failed has the sessions that a command cannot read.
func (s *subject) eachTouched(ctx context.Context, command string, search query.FileSearch, take func(query.Touched)) (failed, err error) {
	timeline := func(ctx context.Context, in query.Source) (*model.Timeline, error) {
		return s.app.labelledTimeline(ctx, in.Store, in.ID)
	}
	for touched, err := range query.FilesAcross(ctx, s.sources(ctx, &failed), search, timeline) {
		switch {
		case err != nil:
			return failed, err
		case touched.Err != nil:
			failed = errors.Join(failed, fmt.Errorf("%s: session %.80q: %w", command, touched.ID, touched.Err))
		default:
			take(touched)
		}
	}
	return failed, nil
}

// writeAcross writes the steps of all sessions that touched a file, the newest first.
func (f *filesFlags) writeAcross(ctx context.Context, p *printer, of *subject) error {
	var list []query.Touched
	failed, err := of.eachTouched(ctx, "files", query.FileSearch{Paths: []string{f.path}}, func(touched query.Touched) { list = append(list, touched) })
	if err != nil {
		return err
	}
	at := func(of *query.Touched) model.Header { return of.Timeline.Header(of.Visit) }
	slices.SortStableFunc(list, func(a, b query.Touched) int {
		x, y := at(&a), at(&b)
		return cmp.Or(y.CreatedAt.Compare(x.CreatedAt), cmp.Compare(y.Index, x.Index))
	})
	switch {
	case p.json:
		var out []fileJSON
		for _, touched := range list {
			for e, c := range touched.Changes() {
				one := fileDocument(touched.Timeline, touched.Visit, touched.Project, e, c)
				if of.home.CountStores() > 1 {
					one.Store = touched.Store.Address()
				}
				out = append(out, one)
			}
		}
		if err := writeArray(p, sequenceOf(out)); err != nil {
			return err
		}
	default:
		var lines *fileLines
		var in *model.Timeline
		for i := range list {
			touched := &list[i]
			if in != touched.Timeline {
				if in != nil {
					p.WriteByte('\n')
				}
				in = touched.Timeline
				p.writeFoundSession("", &touched.Source)
				lines = &fileLines{visits: p.newVisits(in), dir: touched.Project}
			}
			lines.writeStep(&undoable{FileStep: touched.FileStep}, "")
		}
	}
	if len(list) == 0 && failed == nil {
		return fmt.Errorf("files: no step of any session touched a file at %.200q", f.path)
	}
	return failed
}
