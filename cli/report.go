package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hindcast/look"
	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/model/prompts"
	"hindcast/prices"
	"hindcast/query"
	"hindcast/redact"
	"hindcast/report"
	"hindcast/store"
	"hindcast/store/media/scratch"
)

// reportCommand is `hindcast report`.
func (a *App) reportCommand() *cobra.Command {
	var to string
	var bare, open bool
	var how sharing
	cmd := &cobra.Command{
		Use:   "report [STORE...] [SESSION] [A B]",
		Short: "write a session as one page that opens in any browser",
		Long: `Report writes a session as one page of HTML that reads from top to bottom: a card with
what it cost, the tree with its abandoned branches and why they were left, and the whole
conversation with an anchor for each snapshot (#n37), the tokens and the price of each
answer, tools folded, pictures shown. The page needs nothing besides and asks for nothing:
send it to a colleague. It follows the dark or the light of the browser, reads on a phone
and on paper, and is whole without scripts. The browser's own search finds everything; /
searches in the page, j and k go from snapshot to snapshot, ( and ) from prompt to prompt,
{ and } from branch to branch, and o opens all folds. Texts of the session are text in it,
whatever they hold. Without SESSION it is the one that changed last.

With A and B, as diverge has them, the page shows the two lines beside each other from
where they parted, and what they have in common once. They may be of different stores.

The rows of a small session lie in its page: hindcast page.html opens them as a store that
is only read. --open shows the page, without -o out of a new folder for temporary files.

Secrets are hidden in a page, as with export --redact, unless --unredacted is given; the
prompt text of an agent's vendor is left out with either, unless --with-prompts is.

` + redacts,
		Example: `  hindcast report trips.db trip-planner -o trip.html
  hindcast report trips.db trip-planner --only 3..11.1 --unredacted -o part.html
  hindcast report 5eed0001 019d22a1 -o two.html`,
		Args: func(cmd *cobra.Command, args []string) error {
			if a.namesTwo(args) {
				return a.argsCheck(twoOf)(cmd, args)
			}
			return a.argsCheck(oneSession)(cmd, args)
		},
		ValidArgsFunction: a.completeSnapshot(2),
	}
	// save writes the page by a function that fills in a tally.
	save := func(ctx context.Context, p *printer, done tally, write func(w io.Writer, done *tally) error) error {
		to := to
		if open && to == "" {
			dir, err := os.MkdirTemp("", "hindcast-")
			if err != nil {
				return err
			}
			to = filepath.Join(dir, "report.html")
		}
		var err error
		done.Store = to
		if to == "" {
			err = write(p, &done)
		} else {
			err = writeFile(to, func(w io.Writer) error { return write(w, &done) })
		}
		if err != nil {
			return err
		}
		if !p.json {
			done.listHidden(a.Err)
		}
		if to == "" {
			return nil
		}
		if err := p.writeTally("reported", &done); err != nil || !open {
			return err
		}
		return openFile(ctx, to)
	}
	one := a.withSubject(oneSession, func(ctx context.Context, p *printer, of *subject) error {
		return save(ctx, p, tally{Sessions: 1}, func(w io.Writer, done *tally) error {
			return a.writeReport(ctx, w, of.store, of.session, &how, done)
		})
	})
	cmd.RunE = a.runAnswer(func(ctx context.Context, p *printer, args []string) error {
		how.hides, how.leaves = !bare, true
		if !a.namesTwo(args) {
			return one(ctx, p, args)
		}
		if how.only != "" || how.paths != nil {
			return usagef("report: --only and --redact-path are of one session, and A and B are two lines")
		}
		x, y, closeHomes, err := a.findTips(ctx, args)
		if err != nil {
			return err
		}
		sessions := 2
		if x.isSameSession(y.subject) {
			sessions = 1
		}
		err = save(ctx, p, tally{Sessions: sessions}, func(w io.Writer, done *tally) error { return a.writePair(ctx, w, x, y, &how, done) })
		return errors.Join(err, closeHomes())
	})
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case open:
		case asJSON(cmd) && to == "":
			return usagef("report: the page is HTML, and no JSON: with --json, name a file with -o")
		case to == "" && a.OutTerminal:
			return usagef("report: the page is HTML, which a terminal does not show: name a file with -o")
		case bare && (cmd.Flags().Changed("redact") || how.paths != nil || how.patterns != nil):
			return usagef("report: --unredacted hides nothing, and --redact, --redact-path and --redact-regex hide something")
		}
		return nil
	}
	cmd.Flags().StringVarP(&to, "output", "o", "", "write to a new `FILE` instead of the standard output")
	cmd.Flags().BoolVar(&open, "open", false, "open the page in the browser")
	cmd.Flags().BoolVar(&bare, "unredacted", false, "hide no secrets")
	how.addFlags(cmd)
	return cmd
}

// namesTwo reports whether the words of report name two lines, A and B: two words or more are no stores.
func (a *App) namesTwo(args []string) bool {
	lines := 0
	for i, word := range args {
		if !a.isStore(word) && (i > 0 || !looksLikePath(word)) {
			lines++
		}
	}
	return lines >= 2
}

// looksLikePath reports whether a word is a path by its shape, whether or not there is a file.
func looksLikePath(word string) bool {
	return strings.ContainsAny(word, `/\\`) || filepath.Ext(word) != ""
}

// writePair writes the page on two lines, and fills in done.
func (a *App) writePair(ctx context.Context, w io.Writer, x, y tip, how *sharing, done *tally) error {
	parting, err := findParting(ctx, x, y)
	if err != nil {
		return err
	}
	list, err := prices.Load(prices.Path(a.Getenv))
	if err != nil {
		return err
	}
	var pages [2]report.Session
	for i, of := range []tip{x, y} {
		name := of.nameVisit(of.node, &[]tip{y, x}[i])
		info, err := findInfo(ctx, of.store, of.session)
		if err != nil {
			return err
		}
		pages[i] = report.Session{Store: of.store, Timeline: of.Timeline, ID: of.session, Title: info.Title, Name: name, Prices: list, Currency: list.Currency,
			Facts: func(stats []query.Stat) []model.Fact { return cardFacts(&info, of.Timeline, stats, list) }}
		if i == 0 || done.Sessions > 1 {
			done.Snapshots += of.Snapshots()
		}
	}
	if pages[0].Redactor, err = how.newRedactor(); err != nil {
		return err
	}
	pages[0].Notes = func() []string {
		done.takeHidden(pages[0].Redactor)
		return shareNotes(how, done)
	}
	defer a.showProgress(&pages[0])()
	return report.WritePair(ctx, w, pages[0], pages[1], parting)
}

// showProgress has a page say on a terminal how far it is. The function takes the line away.
func (a *App) showProgress(page *report.Session) (end func()) {
	shown := progress{out: a.Err}
	if a.ErrTerminal {
		page.Progress = func(at report.Stage) { shown.showStage(at.Name, at.Unit, at.Done, at.All) }
	}
	return shown.clearLine
}

// writeReport writes the page on a session, or on what is shared of it, and fills in done. A part, and a session with
// values hidden by their paths, is put into a portable file first, which is a store as any other.
func (a *App) writeReport(ctx context.Context, w io.Writer, s store.Store, session string, how *sharing, done *tally) (err error) {
	info, err := findInfo(ctx, s, session)
	if err != nil {
		return err
	}
	page := report.Session{Store: s, ID: session, Title: info.Title}
	var redactor *redact.Redactor
	var rowsHow sharing // of the rows in the page
	switch {
	case how.only != "" || how.paths != nil:
		what, err := a.shareRows(ctx, s, []string{session}, how)
		if err != nil {
			return err
		}
		folder, err := scratch.Make("")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, folder.Remove()) }()
		path := filepath.Join(folder.Path, "shared.jsonl")
		if err := writeRows(path, what.rows, a.Encode); err != nil {
			return err
		}
		if page.Store, err = a.Kinds.Open(ctx, "jsonl:"+path); err != nil {
			return err
		}
		defer page.Store.Close()
		redactor = what.redactor
		if shared, err := findInfo(ctx, page.Store, session); err == nil {
			page.Title = shared.Title
		}
	default:
		if redactor, err = how.newRedactor(); err != nil {
			return err
		}
		page.Redactor, rowsHow = redactor, *how
	}
	if page.Timeline, err = a.labelledTimeline(ctx, page.Store, session); err != nil {
		return err
	}
	list, err := prices.Load(prices.Path(a.Getenv))
	if err != nil {
		return err
	}
	done.Snapshots = page.Timeline.Snapshots()
	page.Rows = func(w io.Writer) error {
		what, err := a.shareRows(ctx, page.Store, []string{session}, &rowsHow)
		if err == nil {
			_, err = a.Encode(w, what.rows)
		}
		return err
	}
	page.Prices, page.Currency = list, list.Currency
	page.Facts = func(stats []query.Stat) []model.Fact { return cardFacts(&info, page.Timeline, stats, list) }
	page.Notes = func() []string {
		done.takeHidden(redactor)
		return shareNotes(how, done)
	}
	defer a.showProgress(&page)()
	return report.Write(ctx, w, page)
}

// openFile opens a file in the program that the desktop has for it.
func openFile(ctx context.Context, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	program, args := look.Viewer(path)
	if out, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("report: open %s: %w: %.200s", path, err, printable.String(string(out)))
	}
	return nil
}

// findInfo returns the facts that a list of sessions has about one.
func findInfo(ctx context.Context, s store.Store, session string) (model.SessionInfo, error) {
	for info, err := range store.AnyOrder(ctx, s) {
		if err != nil {
			return info, err
		}
		if info.ID == session {
			info.Kind = cmp.Or(info.Kind, s.Kind())
			return info, nil
		}
	}
	return model.SessionInfo{ID: session, Kind: s.Kind()}, nil
}

// cardFacts returns the lines of the card of a page.
func cardFacts(info *model.SessionInfo, t *model.Timeline, stats []query.Stat, list *prices.List) []model.Fact {
	totals := query.TotalsOf(t, stats, list)
	var facts model.Facts
	facts.Add("project", info.Project)
	facts.Add("tool", info.Kind)
	var models []string
	for _, m := range totals.Models {
		if m.Model != "" && len(models) < mostModels {
			models = append(models, m.Model)
		}
	}
	facts.Add("model", strings.Join(models, ", "))
	var first, last time.Time
	for n := range model.Node(t.Len()) {
		at := t.Header(n).CreatedAt
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	if !first.IsZero() {
		when := first.UTC().Format("2006-01-02 15:04")
		if took := last.Sub(first).Round(time.Second); took > 0 {
			when += ", " + took.String()
		}
		facts.Add("when", when)
	}
	if turns := len(totals.Turns); turns > 0 {
		facts.Add("turns", strconv.Itoa(turns))
	}
	facts.Add("steps", strconv.Itoa(t.Snapshots()))
	all := &totals.Session
	if all.Calls > 0 {
		calls := strconv.Itoa(all.Calls)
		if all.Errors > 0 {
			calls += fmt.Sprintf(", %d failed", all.Errors)
		}
		facts.Add("calls", calls)
	}
	facts.Add("tokens", all.TokensText())
	facts.Add("cost", all.CostText(printable.String(list.Currency)))
	if t.Orphans() > 0 {
		left := query.Sum{}
		for i := range totals.Branches {
			left.AddSum(totals.Branches[i].Sum)
		}
		text := model.Count(t.Orphans(), "step")
		if cost := left.CostText(printable.String(list.Currency)); cost != "" {
			text += ", " + cost
		}
		facts.Add("thrown away", text)
	}
	return facts
}

// mostModels bounds the models on a card.
const mostModels = 4

// shareNew writes a session, or those of its snapshots that only names, to a new file, its
// secrets hidden, while the screen has the terminal: it writes nothing else.
func (a *App) shareNew(ctx context.Context, s store.Store, session, only, path string) (places int, hidden string, err error) {
	quiet := *a
	quiet.Err = io.Discard
	how, done := sharing{only: only, hides: true, leaves: true}, tally{}
	if filepath.Ext(path) == ".jsonl" {
		var what shared
		if what, err = quiet.shareRows(ctx, s, []string{session}, &how); err == nil {
			err = writeRows(path, what.rows, quiet.Encode)
			done.takeHidden(what.redactor)
		}
	} else {
		err = writeFile(path, func(w io.Writer) error { return quiet.writeReport(ctx, w, s, session, &how, &done) })
	}
	if err != nil {
		return 0, "", fmt.Errorf("share: %w", err)
	}
	var list strings.Builder
	done.listHidden(&list)
	return len(done.Hidden), list.String(), nil
}

// shareNotes says on the page that it is not all of the session.
func shareNotes(how *sharing, done *tally) (notes []string) {
	if how.only != "" {
		notes = append(notes, fmt.Sprintf("a part of the session: %s", how.only))
	}
	if len(done.Prompts) > 0 {
		notes = append(notes, fmt.Sprintf("the vendor's prompt text is left out: %s; hindcast report --with-prompts keeps it", prompts.DescribeLeft(done.Prompts)))
	}
	if done.Hidden != nil {
		if done.secrets == 0 {
			return append(notes, "no secret was found, and none is hidden")
		}
		return append(notes, fmt.Sprintf("%s hidden at %s: [redacted KIND N] stands for each; hindcast report --unredacted writes the page with them",
			model.Count(done.secrets, "secret"), model.Count(len(done.Hidden), "place")))
	}
	return notes
}

// writeFile writes a file that is not there yet, which its owner alone can read.
func writeFile(path string, write func(io.Writer) error) error {
	return fillBeside(path, func(draft string) error {
		f, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		err = write(f)
		return errors.Join(err, f.Sync(), f.Close())
	})
}
