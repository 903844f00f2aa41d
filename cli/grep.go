package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"

	"hindcast/look"
	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/query"
)

// grepCommand is `hindcast grep`.
func (a *App) grepCommand() *cobra.Command {
	asked, _ := look.Read("", a.Getenv) // a wrong word is an error when the command runs
	g := &asked.Glyphs
	var fixed, ignore, sensitive, counted, sent bool
	var since string
	var found searched
	cmd := &cobra.Command{
		Use:   "grep PATTERN [STORE...] [SESSION]",
		Short: "search the text of all snapshots of all sessions",
		Long: `Grep searches the strings, keys and numbers in all snapshots, on every branch, and
prints each text in which PATTERN is found once: at the snapshot that has it first.
Sums of tokens and keys that Hindcast adds to a transcript are left out.
Without SESSION it searches all sessions of the store, without STORE those of all
stores, newest first.

PATTERN is a regular expression in the syntax of Go (RE2), or with -F a text. ^ and $
are the ends of a text. Escapes of JSON are undone: é is found however it is written.
Letters of either case are the same unless PATTERN has a capital one. Words in it narrow
the search: project:TEXT, tool:NAME of a tool or an agent, since:TIME and role:ROLE; in
quotes, behind a backslash or with -F they are text.

  ` + g.Active + `  on the active path    ` + g.Head + `  the head    ` + g.Orphaned + `  off the active path    ` + g.Dot + `  a step of a turn

In all stores, a text of a transcript has the time at which it was said, as the
transcript need not be read for it; give STORE, SESSION or --json for its snapshot. A
text that is first off the active path says where on the path it is, if it is there at
all; --orphaned prints only those that are not. --all prints a text again at each
snapshot where it comes back: the snapshot before it does not have it. The exit code is
1 if nothing is found.

With --sent it searches what the model was sent: the system prompt, the tools and the
messages of each request, as hindcast context shows them. A text is printed once, with
the answers to the requests in which it stands: #4..#31 from the one to the other.`,
		Example: `  hindcast grep 'no room left' trips.db
  hindcast grep -F '60.50' trips.db trip-planner --role assistant
  hindcast grep 'sk-[a-zA-Z0-9]+' trips.db --orphaned
  hindcast grep 'no room left' trips.db --all
  hindcast grep webhook --sessions-with-matches
  hindcast grep 'timeout tool:Bash since:yesterday' --failed
  hindcast grep webhook --project payments --since 7d --max 20
  hindcast grep AGENTS.md projects 7ffd5cb9 --sent
  hindcast grep refund trips.db --tool book_hotel --json | jq '.[].text'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return argsBetween(1, 3)(cmd, args)
			}
			return a.argsCheck(oneOrAll)(cmd, args[1:])
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeSnapshot(0)(cmd, args[1:], word)
		},
		RunE: a.runReading(func(ctx context.Context, p *printer, args []string) error {
			switch {
			case ignore && sensitive:
				return usagef("--ignore-case and --case-sensitive: give one of them")
			case counted && found.OnlyFirst:
				return usagef("--count and --sessions-with-matches: give one of them")
			case sent && (found.Orphaned || found.All || found.Failed):
				return usagef("grep: --sent searches requests: give it without --orphaned, --all and --failed")
			case found.most < 0:
				return usagef("grep: --max %d: less than nothing", found.most)
			case since != "":
				var err error
				if found.Since, err = query.ParseSince(since, time.Now()); err != nil {
					return usagef("grep: --since %w", err)
				}
			}
			letters := query.SmartCase
			switch {
			case ignore:
				letters = query.IgnoreCase
			case sensitive:
				letters = query.MatchCase
			}
			args = a.orderWords(ctx, args)
			found.Pattern = query.Literal(args[0], letters)
			if !fixed {
				words, err := query.ParseWords(args[0], a.Kinds.ListNames(), false, time.Now())
				if err != nil {
					return &usageError{fmt.Errorf("grep: %w; -F takes PATTERN as a text", err)}
				}
				found.Narrow(&words)
				if found.Pattern, err = query.Regexp(words.Text, letters); err != nil {
					return &usageError{fmt.Errorf("grep: %w; -F takes it as a text", err)}
				}
			}
			of, err := a.findSubject(ctx, oneOrAll, args[1:])
			if err != nil {
				return err
			}
			defer of.home.Close()
			found.app, found.of = a, of
			var unlisted error
			sessions := of.sources(ctx, &unlisted)
			if of.session != "" { // it is the one, whenever it changed
				found.Project, found.Agent, found.Since = "", "", time.Time{}
			}
			found.Counts = counted && found.most == 0
			found.Exact = (len(args) > 1 || p.json) && !counted && !found.OnlyFirst
			if a.ErrTerminal {
				found.progress = &progress{out: a.Err}
			}
			hits := found.yieldHits(ctx, p, sessions)
			if sent {
				hits = found.yieldSent(ctx, p, sessions)
			}
			switch bySession := found.OnlyFirst || counted; {
			case bySession && p.json:
				err = writeArray(p, mapElements(countHits(hits), found.sessionJSON))
			case bySession:
				err = p.writeSessionCounts(countHits(hits), counted)
			case p.json:
				err = writeArray(p, mapElements(hits, found.hitJSON))
			default:
				err = p.writeGrep(hits)
			}
			failed := errors.Join(unlisted, found.failed)
			if err == nil && found.n == 0 && (found.sessions > 0 || failed == nil) {
				err = fmt.Errorf("grep: nothing fits %.80q in %s", args[0], model.Count(found.sessions, "session"))
			}
			return errors.Join(err, failed)
		}),
	}
	cmd.Flags().BoolVarP(&fixed, "fixed-strings", "F", false, "take PATTERN as a text")
	cmd.Flags().BoolVarP(&ignore, "ignore-case", "i", false, "letters of either case are the same")
	cmd.Flags().BoolVarP(&sensitive, "case-sensitive", "s", false, "a letter is only itself")
	cmd.Flags().StringVar(&found.Role, "role", "", "only texts of messages of a `ROLE`, in the framework's word")
	cmd.Flags().StringVar(&found.Tool, "tool", "", "only texts, and no keys, of the calls and results of the tool of a `NAME`")
	cmd.Flags().BoolVar(&found.Failed, "failed", false, "only texts of the results of calls that failed")
	cmd.Flags().BoolVar(&found.Orphaned, "orphaned", false, "only texts that no snapshot on the active path has")
	cmd.Flags().BoolVar(&found.All, "all", false, "print a text again wherever it comes back")
	cmd.Flags().BoolVar(&sent, "sent", false, "search the requests to the model in place of the states")
	cmd.Flags().StringVar(&found.Project, "project", "", "only sessions whose project has a `TEXT` in its path, in letters of either case")
	cmd.Flags().StringVar(&since, "since", "", "only sessions that changed since a `TIME`: yesterday, 12h, 7d, or 2026-11-01")
	cmd.Flags().IntVarP(&found.most, "max", "m", 0, "stop after `N` texts in all; 0 for no end")
	cmd.Flags().BoolVarP(&counted, "count", "c", false, "print a line for each session, with the number of texts found in it")
	cmd.Flags().BoolVarP(&found.OnlyFirst, "sessions-with-matches", "l", false, "print a line for each session in which something is found")
	return cmd
}

// searched is a search of several sessions.
type searched struct {
	app *App
	query.HomeSearch
	of *subject
	// most bounds the hits, 0 for no bound.
	most int
	// progress is nil where it is not shown.
	progress *progress
	// n counts the hits, and sessions the sessions searched. failed joins the errors of sessions
	// that could not be searched.
	n, sessions int
	failed      error
}

// foundIn is a hit in a session. Timeline is nil where the session was not read.
type foundIn struct {
	*model.Timeline
	query.SessionHit
	// sent has the requests that the text is in; nil for a text of states.
	sent *query.SentHit
}

// yieldHits yields what is found, session by session. What was written of one is shown before the
// next one is searched.
func (f *searched) yieldHits(ctx context.Context, p *printer, sessions iter.Seq2[query.Source, error]) iter.Seq2[foundIn, error] {
	return func(yield func(foundIn, error) bool) {
		var wrong error
		var unlabelled sync.Map // the errors of sessions, by these
		f.Timeline = func(ctx context.Context, in query.Source) (*model.Timeline, error) {
			t, why, err := f.app.readLabelled(ctx, in.Store, in.ID)
			if why != nil {
				unlabelled.Store(in.ID, why)
			}
			return t, err
		}
		f.Looked = func(in *query.Source) {
			if why, is := unlabelled.LoadAndDelete(in.ID); is {
				f.app.warnUnlabelled(why.(error))
			}
			f.sessions++
			wrong = errors.Join(wrong, p.Flush())
			if f.progress != nil {
				f.progress.writeLine(fmt.Sprintf("%d found in %s", f.n, model.Count(f.sessions, "session")))
			}
		}
		for hit, err := range query.SearchHome(ctx, sessions, f.HomeSearch) {
			if f.progress != nil {
				f.progress.clearLine()
			}
			if hit.Err != nil {
				f.failed = errors.Join(f.failed, fmt.Errorf("grep: session %.80q: %w", hit.ID, hit.Err))
				continue
			}
			var t *model.Timeline
			if err == nil && hit.Visit != model.NoNode {
				t, err = hit.Locate(ctx)
			}
			if err = errors.Join(err, wrong); err == nil {
				f.n += 1 + hit.More
			}
			if !yield(foundIn{t, hit, nil}, err) || err != nil || f.n == f.most {
				return
			}
		}
		if f.progress != nil {
			f.progress.clearLine()
		}
	}
}

// yieldSent yields the texts of requests that are found, session by session, as yieldHits does.
func (f *searched) yieldSent(ctx context.Context, p *printer, sessions iter.Seq2[query.Source, error]) iter.Seq2[foundIn, error] {
	return func(yield func(foundIn, error) bool) {
		if f.progress != nil {
			defer f.progress.clearLine()
		}
		for in, err := range sessions {
			if err != nil {
				yield(foundIn{}, err)
				return
			}
			if !f.Selects(&in.SessionInfo) {
				continue
			}
			t, list, err := f.searchSent(ctx, &in)
			if err != nil && ctx.Err() == nil {
				f.failed = errors.Join(f.failed, fmt.Errorf("grep: session %.80q: %w", in.ID, err))
				continue
			}
			f.sessions++
			for i := range list {
				at := &list[i]
				if err == nil {
					f.n++
				}
				hit := query.Hit{Visit: at.Ranges[0].From, Active: model.NoNode, Text: at.Text, From: at.From, To: at.To, Path: at.Path, Message: at.Message, Role: at.Role, Tool: at.Tool}
				if first := slices.IndexFunc(at.Ranges, func(r query.SentRange) bool { return r.OnPath }); first >= 0 {
					hit.Active = at.Ranges[first].From
				}
				if !yield(foundIn{t, query.SessionHit{Source: in, Hit: hit}, at}, err) || err != nil || f.n == f.most {
					return
				}
				if f.OnlyFirst {
					break
				}
			}
			if err = errors.Join(ctx.Err(), p.Flush()); err != nil {
				yield(foundIn{}, err)
				return
			}
			if f.progress != nil {
				f.progress.writeLine(fmt.Sprintf("%d found in %s", f.n, model.Count(f.sessions, "session")))
			}
		}
	}
}

// searchSent searches the requests of a session.
func (f *searched) searchSent(ctx context.Context, in *query.Source) (*model.Timeline, []query.SentHit, error) {
	t, err := f.app.labelledTimeline(ctx, in.Store, in.ID)
	if err != nil {
		return nil, nil, err
	}
	list, err := query.Open(in.Store, t).GrepSent(ctx, query.SentSearch{Pattern: f.Pattern, Role: f.Role, Tool: f.Tool})
	return t, list, err
}

// sentRangeJSON is a run of requests of `grep --sent --json`.
type sentRangeJSON struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Requests int    `json:"requests"`
	Orphaned bool   `json:"orphaned,omitempty"`
}

// rangesOf returns the runs of requests that a text is in.
func (h *foundIn) rangesOf() (list []sentRangeJSON) {
	for _, r := range h.sent.Ranges {
		list = append(list, sentRangeJSON{h.Name(r.From), h.Name(r.To), r.Requests, !r.OnPath})
	}
	return list
}

// grepJSON is an element of `grep --json`.
type grepJSON struct {
	headerJSON
	Store   string `json:"store,omitempty"`
	Text    string `json:"text"`
	From    int    `json:"from"`
	To      int    `json:"to"`
	Path    string `json:"path"`
	Key     bool   `json:"key,omitempty"`
	Message *int   `json:"message,omitempty"`
	Role    string `json:"role,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Failed  bool   `json:"failed,omitempty"`
	Active  string `json:"active,omitempty"`
	// Part and Sent tell of a text of requests.
	Part string          `json:"part,omitempty"`
	Sent []sentRangeJSON `json:"sent,omitempty"`
}

// hitJSON returns the document of a hit.
func (f *searched) hitJSON(hit foundIn) grepJSON {
	out := grepJSON{
		headerJSON: headerOf(hit.Timeline, hit.Visit), Text: hit.Text, From: hit.From, To: hit.To,
		Path: hit.Path, Key: hit.Key, Role: hit.Role, Tool: hit.Tool, Failed: hit.Failed,
	}
	if f.of.home.CountStores() > 1 {
		out.Store = hit.Store.Address()
	}
	if hit.Message >= 0 {
		out.Message = &hit.Message
	}
	if hit.Active != model.NoNode {
		out.Active = hit.Name(hit.Active)
	}
	if hit.sent != nil {
		out.Part, out.Sent = hit.sent.Part, hit.rangesOf()
	}
	return out
}

// sessionCount is a session with the number of its hits.
type sessionCount struct {
	query.Source
	hits int
}

// countHits yields each session of hits with their number, once all of them came.
func countHits(hits iter.Seq2[foundIn, error]) iter.Seq2[sessionCount, error] {
	return func(yield func(sessionCount, error) bool) {
		var of sessionCount
		for hit, err := range hits {
			if err != nil {
				yield(of, err)
				return
			}
			if of.hits > 0 && !hit.isIn(&of.Source) {
				if !yield(of, nil) {
					return
				}
				of.hits = 0
			}
			of = sessionCount{hit.Source, of.hits + 1 + hit.More}
		}
		if of.hits > 0 {
			yield(of, nil)
		}
	}
}

// isIn reports whether a hit is in a session.
func (h *foundIn) isIn(session *query.Source) bool {
	return h.ID == session.ID && h.Store == session.Store
}

// sessionCountJSON is an element of `grep --count --json` and of `grep --sessions-with-matches --json`.
type sessionCountJSON struct {
	ID        string     `json:"id"`
	Kind      string     `json:"kind"`
	Store     string     `json:"store,omitempty"`
	Title     string     `json:"title,omitempty"`
	Project   string     `json:"project,omitempty"`
	UpdatedAt *time.Time `json:"updatedAt"`
	Hits      int        `json:"hits,omitempty"`
}

// sessionJSON returns the document of a session in which something was found.
func (f *searched) sessionJSON(of sessionCount) sessionCountJSON {
	out := sessionCountJSON{ID: of.ID, Kind: of.Kind, Title: of.Title, Project: of.Project, UpdatedAt: writableTime(of.UpdatedAt)}
	if f.of.home.CountStores() > 1 {
		out.Store = of.Store.Address()
	}
	if !f.OnlyFirst {
		out.Hits = of.hits
	}
	return out
}

// writeSessionCounts writes a line for each session in which something was found.
func (p *printer) writeSessionCounts(list iter.Seq2[sessionCount, error], counted bool) error {
	for of, err := range list {
		if err != nil {
			return err
		}
		count := ""
		if counted {
			count = fmt.Sprintf("%4d  ", of.hits)
		}
		p.writeFoundSession(count, &of.Source)
	}
	return nil
}

// writeGrep writes what is found: a line for each session, and below it one for each text.
func (p *printer) writeGrep(hits iter.Seq2[foundIn, error]) error {
	var in query.Source
	first := true
	for hit, err := range hits {
		if err != nil {
			return err
		}
		if first || !hit.isIn(&in) {
			if !first {
				p.WriteByte('\n')
			}
			in, first = hit.Source, false
			p.writeFoundSession("", &in)
		}
		p.writeHit(hit)
	}
	return nil
}

// writeFoundSession writes the line of a session in which something was found: its id, tool, project, day and title,
// as far as they are known, behind a count or "".
func (p *printer) writeFoundSession(count string, in *query.Source) {
	id := p.fitName(printable.String(in.ID), max(p.width-len(count), leastFit))
	var facts []string
	for _, fact := range []string{in.Kind, path.Base(filepath.ToSlash(in.Project)), in.Title} {
		if fact != "" && fact != "." {
			facts = append(facts, printable.String(fact))
		}
	}
	if !in.UpdatedAt.IsZero() {
		facts = slices.Insert(facts, min(len(facts), 1), in.UpdatedAt.Local().Format(time.DateOnly))
	}
	line := count + p.paint.in(bold, id)
	if len(facts) > 0 {
		line += "  " + p.paint.in(faint, p.fitLine(strings.Join(facts, "  "), len(count)+displaywidth.String(id)+2))
	}
	fmt.Fprintln(p, line)
}

// writeHit writes the line of one text: the snapshot or the time, who speaks, and the text around the match.
func (p *printer) writeHit(hit foundIn) {
	line, sgr := "", faint
	if hit.sent != nil {
		line = p.sentPlace(&hit)
	} else if hit.Timeline != nil {
		line, sgr = p.hitPlace(&hit)
	} else if !hit.At.IsZero() {
		line = hit.At.Local().Format(time.DateTime)
	}
	where := cmp.Or(hit.Path, "/")
	switch {
	case hit.Message >= 0:
		where = strings.TrimSpace(fmt.Sprintf("[%d] %s %s", hit.Message, hit.Role, hit.Tool))
	case hit.sent != nil:
		where = strings.TrimSpace(hit.Role + " " + hit.Tool)
	case hit.Timeline == nil && hit.Path == "":
		where = strings.TrimSpace(hit.Role + " " + hit.Tool)
	}
	where = p.clipLine(where, maxEvent+8)
	if hit.Key {
		where += " key"
	}
	behind := displaywidth.String(line) + 2 + displaywidth.String(where) + 2
	fmt.Fprintf(p, "%s  %s  %s\n", p.paint.in(sgr, line), p.paint.in(faint, where), p.markExcerpt(hit.Text, hit.From, hit.To, behind))
}

// sentPlace returns the requests that a text is in: those of one branch behind its shape.
func (p *printer) sentPlace(hit *foundIn) string {
	var runs []string
	shown := ""
	for _, r := range hit.sent.Ranges {
		run := hit.Name(r.From)
		if r.To != r.From {
			run += ".." + hit.Name(r.To)
		}
		shape := p.glyphs.Active
		if !r.OnPath {
			shape = p.glyphs.Orphaned
		}
		if shape != shown {
			run, shown = shape+" "+run, shape
		}
		runs = append(runs, run)
	}
	return strings.Join(runs, ", ")
}

// hitPlace returns where in its timeline a hit is, and how that is painted.
func (p *printer) hitPlace(hit *foundIn) (line string, sgr string) {
	shape, sgr := p.visitShape(hit.Timeline, hit.Visit)
	h := hit.Header(hit.Visit)
	line = shape + " " + padRight(hit.Name(hit.Visit), 5) + "  turn " + p.turn(&h)
	if hit.Active == model.NoNode && !hit.OnPath(hit.Visit) {
		line += "  nowhere on the path"
	} else if hit.Active != hit.Visit {
		line += "  on the path from " + hit.Name(hit.Active)
	}
	return line, sgr
}

// beforeMatch is how many cells a terminal shows of a text before the match.
const beforeMatch = 24

// markExcerpt returns a text on one line with the match painted; on a terminal what is around the
// match, as far as there is room.
func (p *printer) markExcerpt(text string, from, to, behind int) string {
	before, match, after := text[:from], text[from:to], text[to:]
	if p.width > 0 {
		room := max(p.width-behind, leastFit)
		if runes := []rune(before[max(0, len(before)-4*beforeMatch):]); len(runes) > beforeMatch || len(before) > 4*beforeMatch {
			before = p.glyphs.Ellipsis + printable.String(string(runes[max(0, len(runes)-beforeMatch):]))
		} else {
			before = printable.String(before)
		}
		before = displaywidth.TruncateString(before, room, "")
		room -= displaywidth.String(before)
		match = displaywidth.TruncateString(printable.String(match[:min(len(match), 4*p.width)]), max(room, 1), p.glyphs.Ellipsis)
		room -= displaywidth.String(match)
		after = printable.String(after[:min(len(after), 4*p.width)])
		if room <= 1 {
			after = ""
		} else {
			after = displaywidth.TruncateString(after, room, p.glyphs.Ellipsis)
		}
		return before + p.paint.in(red, match) + after
	}
	return printable.String(before) + p.paint.in(red, printable.String(match)) + printable.String(after)
}

// orderWords returns the words of grep with PATTERN first. A person may put it behind a store, where that cannot mean
// anything else: the first word is a store, and the second is not.
func (a *App) orderWords(ctx context.Context, args []string) []string {
	if len(args) < 2 || !a.isStore(args[0]) || a.isStore(args[1]) || strings.Trim(args[0], ".") == "" {
		return args
	}
	if strings.HasPrefix(args[0], "http") && strings.Contains(args[0], "://") {
		return args // a text, as likely as a server
	}
	if _, err := a.Kinds.Identify(ctx, args[0]); err != nil {
		return args // a text that is the name of a file, too
	}
	return slices.Concat(args[1:2], args[:1], args[2:])
}
