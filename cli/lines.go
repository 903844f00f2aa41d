package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/query"
)

// A line's story: git tells the commit of each line, and query.LineTracer the step of a session that wrote it.

// lineRange is a file and the lines of it that are asked for; to is 0 for all.
type lineRange struct {
	file     string
	from, to int
}

// findLines returns the lines that an argument means: an existing regular file below a git work tree that is no store,
// maybe with :LINE or :A-B behind it.
func (a *App) findLines(ctx context.Context, word string) (r lineRange, ok bool, err error) {
	r.file = word
	info, err := os.Stat(word)
	if err != nil {
		at := strings.LastIndexByte(word, ':')
		if at < 0 {
			return r, false, nil
		}
		r.file = word[:at]
		if info, err = os.Stat(r.file); err != nil {
			return r, false, nil
		}
		first, last, both := strings.Cut(word[at+1:], "-")
		if !both {
			last = first
		}
		var wrong [2]error
		r.from, wrong[0] = strconv.Atoi(first)
		r.to, wrong[1] = strconv.Atoi(last)
		if errors.Join(wrong[:]...) != nil || r.from < 1 || r.to < r.from {
			err = usagef("blame: %.40q: give FILE:LINE or FILE:FIRST-LAST", word[at+1:])
		}
	}
	if !info.Mode().IsRegular() || !isInWorkTree(r.file) {
		return r, false, nil
	}
	if _, wrong := a.storesAt(ctx, r.file); wrong == nil {
		return r, false, nil
	}
	return r, true, err
}

// isInWorkTree reports whether a file is below a folder with a .git.
func isInWorkTree(file string) bool {
	dir, err := filepath.Abs(file)
	for err == nil {
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
	}
	return false
}

// writer is a step that wrote lines.
type writer struct {
	query.Source
	timeline *model.Timeline
	visit    model.Node
	// The call has an id, a tool and a command, and how tells it in a few words.
	id, tool, command, how string
	// words are the person's in the turn, and resume is the call that goes on with the session; "" where they are not
	// known.
	words, resume string
}

// isOrphaned reports whether the step is of a branch that was thrown away.
func (w *writer) isOrphaned() bool { return !w.timeline.OnPath(w.visit) }

// lineStory is a run of lines with the same commit and steps. There are no writers where no session wrote the lines, and
// several where the records do not tell which of them did.
type lineStory struct {
	from, to int
	commit   *gitCommit
	writers  []*writer
}

// tracedFile is the edits of a file by the steps of sessions.
type tracedFile struct {
	*blamedFile
	tracer query.LineTracer
	edits  []query.FileEdit
	by     []*writer // of edits
	copies map[string]int
}

// readEdits reads the edits of the file. A step that several sessions have, as forks do, is of one where it is on the
// path, and of the one that was left first.
func (f *tracedFile) readEdits(ctx context.Context, of *subject) error {
	search := query.FileSearch{Paths: f.names, Whole: true, Called: true, Since: never}
	for _, c := range f.commits {
		if of := f.findLogged(c); of != nil && of.after.Before(search.Since) {
			search.Since = of.after
		}
	}
	type sameCall struct {
		at         int64
		call, path string
	}
	known := map[sameCall]int{}
	failed, err := of.eachTouched(ctx, "blame", search, func(touched query.Touched) {
		created := touched.Timeline.Header(touched.Visit).CreatedAt
		for e, c := range touched.Changes() {
			at := created
			if !e.At.IsZero() {
				at = e.At
			}
			if at.IsZero() || at.Before(search.Since) {
				continue
			}
			rel, root := f.placeIn(touched.Project, c.Path)
			if !slices.Contains(search.Paths, rel) || e.Refused || e.Failed && e.Command == "" {
				continue
			}
			if _, is := f.copies[root]; !is {
				f.copies[root] = len(f.copies)
			}
			edit := f.tracer.Edit(at, f.copies[root], c)
			edit.Unwritten = copiesText(e.Command)
			by := &writer{Source: touched.Source, timeline: touched.Timeline, visit: touched.Visit, id: e.ID, tool: e.Tool, command: e.Command, how: e.How()}
			key := sameCall{at.UnixNano(), e.ID, c.Path}
			if k, is := known[key]; is && e.ID != "" {
				if by.isBetter(f.by[k]) {
					f.by[k] = by
				}
				continue
			}
			known[key] = len(f.edits)
			f.edits, f.by = append(f.edits, edit), append(f.by, by)
		}
	})
	if err != nil {
		return err
	}
	order := make([]int, len(f.edits))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return f.edits[a].At.Compare(f.edits[b].At) })
	edits, by := f.edits, f.by
	f.edits, f.by = nil, nil
	for _, i := range order {
		f.edits, f.by = append(f.edits, edits[i]), append(f.by, by[i])
	}
	return failed
}

// isBetter reports whether a session of two with the same step is the one to name.
func (w *writer) isBetter(than *writer) bool {
	if w.isOrphaned() != than.isOrphaned() {
		return than.isOrphaned()
	}
	return w.UpdatedAt.Before(than.UpdatedAt)
}

// copiers are programs that copy lines from elsewhere.
var copiers = []string{"git", "jj", "hg", "svn", "gh", "patch", "cp", "mv", "ln", "rsync", "scp", "curl", "wget", "tar", "unzip"}

// copiesText reports whether a command may run one of the copiers.
func copiesText(command string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(command, func(r rune) bool { return !isWordRune(r) }), func(word string) bool {
		return slices.Contains(copiers, word)
	})
}

// isWordRune reports whether a character may be in the name of a program.
func isWordRune(r rune) bool {
	return r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// findWriters returns for each line the steps that may have written it.
func (f *blamedFile) findWriters(ctx context.Context, of *subject) (writers [][]*writer, err error) {
	t := &tracedFile{blamedFile: f, copies: map[string]int{}}
	if err := t.readEdits(ctx, of); err != nil {
		return nil, err
	}
	writers = make([][]*writer, len(f.texts))
	if len(t.edits) == 0 {
		return writers, nil
	}
	last := f.history[len(f.history)-1]
	if err := f.eachText(ctx, t.selectCommits(), t.followLines); err != nil {
		return nil, err
	}
	for _, c := range f.commits {
		of := f.findLogged(c)
		for _, line := range c.lines {
			if of == nil || line >= last.text.Len() {
				break
			}
			list := last.text.Writers(line)
			if slices.ContainsFunc(list, func(edit int) bool { return !of.has(t.edits[edit].At) }) {
				continue // git tells another commit
			}
			for _, edit := range list {
				writers[line] = append(writers[line], t.by[edit])
			}
		}
	}
	return writers, nil
}

// selectCommits returns the commits of the file that may have edits, those behind them, and their parents.
func (f *tracedFile) selectCommits() (list []*loggedCommit) {
	traced, needed := map[*loggedCommit]bool{}, map[*loggedCommit]bool{}
	for _, c := range f.history {
		if !c.until.Before(wholeSeconds(f.edits[0].At)) || slices.ContainsFunc(c.parents, func(p *loggedCommit) bool { return traced[p] }) {
			traced[c], needed[c] = true, true
			for _, p := range c.parents {
				needed[p] = true
			}
		}
	}
	for _, c := range f.history {
		if needed[c] {
			list = append(list, c)
		}
	}
	return list
}

// followLines follows the lines of the parents of a commit into its text.
func (f *tracedFile) followLines(c *loggedCommit, text string) error {
	var parents []*query.TracedText
	for _, p := range c.parents {
		if p.text != nil {
			parents = append(parents, p.text)
		}
		if p.children--; p.children == 0 {
			p.text = nil
		}
	}
	// The steps until the author's time come first: a rebase makes later ones come before the commit, too.
	spans := [][2]int{f.spanEdits(c.after, c.authored), f.spanEdits(c.after, c.until)}
	c.text = f.tracer.Follow(parents, text, f.edits, slices.Compact(spans)...)
	return nil
}

// spanEdits returns the places of the edits after a time, until the second of another.
func (f *tracedFile) spanEdits(after, until time.Time) (span [2]int) {
	from, _ := slices.BinarySearchFunc(f.edits, after, func(e query.FileEdit, at time.Time) int { return e.At.Compare(at.Add(1)) })
	to, _ := slices.BinarySearchFunc(f.edits, until.Add(time.Second), func(e query.FileEdit, at time.Time) int { return e.At.Compare(at) })
	return [2]int{from, max(from, to)}
}

// findStories returns the runs of the lines that are asked for.
func (f *blamedFile) findStories(ctx context.Context, of *subject) (list []lineStory, err error) {
	writers, err := f.findWriters(ctx, of)
	if err != nil {
		return nil, err
	}
	sessions := map[*model.Timeline]*writingSession{}
	commits := make([]*gitCommit, len(f.texts))
	for _, c := range f.commits {
		for _, line := range c.lines {
			commits[line] = c
		}
	}
	from, to := max(f.from, 1), len(f.texts)
	if f.to > 0 {
		to = min(f.to, to)
	}
	for n := from; n <= to; n++ {
		commit, by := commits[n-1], writers[n-1]
		if last := len(list) - 1; last >= 0 && list[last].commit == commit && slices.Equal(list[last].writers, by) {
			list[last].to = n
			continue
		}
		for _, w := range by {
			if err := w.describe(ctx, sessions); err != nil {
				return nil, err
			}
		}
		list = append(list, lineStory{n, n, commit, by})
	}
	return list, nil
}

// writingSession is a session with steps that wrote lines: its turns, and the call that goes on with it, "" where it is not
// known.
type writingSession struct {
	turns  *model.Turns
	resume string
}

// describe finds the person's words, and the call that goes on with the session. sessions has the sessions that were read before.
func (w *writer) describe(ctx context.Context, sessions map[*model.Timeline]*writingSession) error {
	in := sessions[w.timeline]
	if in == nil {
		in = &writingSession{turns: model.FindTurns(w.timeline)}
		if features := w.Store.Features(); features.Resume != nil && w.timeline.Head() != model.NoNode {
			h := w.timeline.Header(w.timeline.Head())
			calls, err := features.Resume(ctx, h.Ref())
			if err != nil && ctx.Err() != nil {
				return err
			}
			if len(calls) > 0 {
				in.resume = calls[0].Call
			}
		}
		sessions[w.timeline] = in
	}
	w.resume = in.resume
	if turn, is := in.turns.TurnOf(w.visit); is {
		h := w.timeline.Header(turn.First)
		w.words = h.Title
	}
	return nil
}

// writeLines writes the story of the lines of a file.
func (r lineRange) writeLines(ctx context.Context, p *printer, of *subject, porcelain bool) error {
	f, err := blameFile(ctx, r)
	if err != nil {
		return fmt.Errorf("blame: %w", err)
	}
	if r.from > max(len(f.texts), 1) {
		return fmt.Errorf("blame: %.200q has %s", r.file, model.Count(len(f.texts), "line"))
	}
	if porcelain && len(f.history) == 1 {
		return fmt.Errorf("blame: no commit has %.200q, and git blame tells nothing of it", r.file)
	}
	list, err := f.findStories(ctx, of)
	switch {
	case err != nil:
		return err
	case p.json:
		return writeArray(p, mapElements(sequenceOf(list), f.storyDocument))
	case porcelain:
		return f.writePorcelain(ctx, of.app, p, list)
	}
	f.writeText(p, list)
	return nil
}

// writeText writes a line for each run of lines.
func (f *blamedFile) writeText(p *printer, list []lineStory) {
	spans, width := make([]string, len(list)), 0
	for i, s := range list {
		spans[i] = strconv.Itoa(s.from)
		if s.to > s.from {
			spans[i] += "-" + strconv.Itoa(s.to)
		}
		width = max(width, len(spans[i]))
	}
	for i, s := range list {
		place := appendPadded(nil, spans[i], width)
		commit := "uncommitted"
		if s.commit.isCommitted() {
			commit = s.commit.id[:8]
		}
		place = append(append(place, "  "...), commit...)
		text, colour := s.storyText(p), faint
		if len(s.writers) == 1 {
			colour = ""
		}
		fmt.Fprintf(p, "%s  %s\n", p.paint.in(yellow, string(place)), p.paint.in(colour, p.fitLine(text, len(place)+2)))
	}
}

// storyText tells who wrote the lines.
func (s *lineStory) storyText(p *printer) string {
	these := "this line"
	if s.to > s.from {
		these = "these lines"
	}
	if len(s.writers) == 0 {
		return "no session wrote " + these
	}
	if len(s.writers) == 1 {
		w := s.writers[0]
		h := w.timeline.Header(w.visit)
		parts := []string{model.ShortID(w.ID, 8), w.timeline.Name(w.visit) + " turn " + p.turn(&h), w.how, strconv.Quote(w.words)}
		if w.isOrphaned() {
			parts = append(parts, "on a branch that was thrown away: "+w.timeline.Reason(w.visit).Text(formatMoment))
		}
		parts = append(parts, w.resume)
		for k := range parts {
			parts[k] = printable.String(parts[k])
		}
		return strings.TrimRight(strings.Join(parts, "  "), " ")
	}
	text := "more than one step may have written " + these + ":"
	if slices.ContainsFunc(s.writers, func(w *writer) bool { return w.ID != s.writers[0].ID }) {
		text = "more than one session may have written " + these + ":"
	}
	for i, w := range s.writers {
		if i > 0 {
			text += ","
		}
		text += " " + printable.String(w.stepName())
	}
	return text
}

// stepName names the step.
func (w *writer) stepName() string { return model.ShortID(w.ID, 8) + " " + w.timeline.Name(w.visit) }

// storyJSON is an element of `blame FILE --json`.
type storyJSON struct {
	From        int          `json:"from"`
	To          int          `json:"to"`
	Path        string       `json:"path"`
	Commit      string       `json:"commit,omitempty"`
	Author      string       `json:"author,omitempty"`
	CommittedAt *time.Time   `json:"committedAt,omitempty"`
	Summary     string       `json:"summary,omitempty"`
	Writer      *writerJSON  `json:"writer,omitempty"`
	Candidates  []writerJSON `json:"candidates,omitempty"`
}

// writerJSON is a step that wrote lines.
type writerJSON struct {
	stepJSON
	ThrownAway string `json:"thrownAway,omitempty"`
	Store      string `json:"store"`
	Words      string `json:"words,omitempty"`
	Tool       string `json:"tool"`
	Call       string `json:"call,omitempty"`
	Command    string `json:"command,omitempty"`
	Resume     string `json:"resume,omitempty"`
}

// storyDocument returns the document of a run of lines.
func (f *blamedFile) storyDocument(s lineStory) storyJSON {
	out := storyJSON{From: s.from, To: s.to, Path: s.commit.file}
	if c := s.commit; c.isCommitted() {
		out.Commit, out.Author, out.Summary, out.CommittedAt = c.id, c.author, c.summary, writableTime(c.committed)
	}
	for _, w := range s.writers {
		one := writerJSON{
			stepJSON: stepOf(w.timeline, w.visit), Store: w.Store.Address(), Words: w.words,
			Tool: w.tool, Call: w.id, Command: w.command, Resume: w.resume,
		}
		if w.isOrphaned() {
			one.ThrownAway = w.timeline.Reason(w.visit).Text(formatMoment)
		}
		out.Candidates = append(out.Candidates, one)
	}
	if len(out.Candidates) == 1 {
		out.Writer, out.Candidates = &out.Candidates[0], nil
	}
	return out
}

// writePorcelain writes the output of git blame, with a session's facts as headers before each line that it wrote.
func (f *blamedFile) writePorcelain(ctx context.Context, a *App, p *printer, list []lineStory) error {
	args := []string{"blame", "--no-textconv", "--porcelain"}
	if f.to > 0 {
		args = append(args, "-L", fmt.Sprintf("%d,%d", f.from, min(f.to, len(f.texts))))
	}
	text, err := runGit(ctx, f.dir, append(args, "--", f.name)...)
	if err != nil {
		return fmt.Errorf("blame: %w", err)
	}
	out := a.harmlessWriter(p)
	n := max(f.from, 1)
	for line := range bytes.Lines(text) {
		if line[0] == '\t' {
			for len(list) > 1 && n > list[0].to {
				list = list[1:]
			}
			if len(list) > 0 {
				list[0].writeHeaders(out)
			}
			n++
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// writeHeaders writes the facts of the step as headers of git's porcelain, or the names of the steps that it may be.
func (s *lineStory) writeHeaders(out io.Writer) {
	var headers [][2]string
	for _, w := range s.writers {
		headers = append(headers, [2]string{"candidate", w.stepName()})
	}
	if len(s.writers) == 1 {
		w := s.writers[0]
		h := w.timeline.Header(w.visit)
		headers = [][2]string{
			{"session", w.ID}, {"snapshot", w.timeline.Name(w.visit)}, {"turn", turnText(&h, "")}, {"words", w.words},
			{"tool", w.how}, {"call", w.id}, {"resume", w.resume},
		}
		if w.isOrphaned() {
			headers = append(headers, [2]string{"thrown-away", w.timeline.Reason(w.visit).Text(formatMoment)})
		}
	}
	for _, header := range headers {
		if header[1] != "" {
			fmt.Fprintf(out, "hindcast-%s %s\n", header[0], printable.String(header[1]))
		}
	}
}
