package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/model/prompts"
	"hindcast/query"
	"hindcast/redact"
	"hindcast/store"
)

// sharing holds the flags about sessions that others will read.
type sharing struct {
	only            string
	hides           bool
	paths, patterns []string
	// prompts keeps the prompts of vendors, and leaves leaves them out where no secrets are hidden, too.
	prompts, leaves bool
}

func (how *sharing) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&how.only, "only", "", "the `SNAPSHOTS` of one session alone: A..B from A to B, or B all that led to it")
	cmd.Flags().BoolVar(&how.hides, "redact", false, "hide secrets: known shapes, values under keys such as password, random words")
	cmd.Flags().StringArrayVar(&how.paths, "redact-path", nil, "hide the value at a JSON `POINTER` too; the token * is each element or member")
	how.addPromptsFlag(cmd)
	cmd.Flags().StringArrayVar(&how.patterns, "redact-regex", nil, "hide what a regular `EXPRESSION` matches too")
}

func (how *sharing) addPromptsFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&how.prompts, "with-prompts", false, "keep the prompt text of an agent's vendor: system prompt, list of tools, instructions")
}

// redacts is the paragraph of help on what is hidden.
const redacts = `--redact hides secrets in texts, JSON within texts, titles and labels: keys and tokens of
known services, JWTs, private keys, authorization headers, passwords in URLs and
commands, values under keys such as password or api_key, and words that look random,
the bytes of pictures among them. What is a secret by itself (a known shape, a text
right under such a key, a random word), of 6 characters or more, is hidden wherever it
stands, also percent-encoded. The same secret becomes the same word, as [redacted jwt
3], so that differences stay. No key of a state is renamed, but one of a known shape.
Words, placeholders, schemas, hashes, ids and public keys stay; so a key that looks as
a UUID, or as a hash of 40 or 64 digits, is found only where a name beside it says so.
A snapshot whose state changes has the hash of the new state as its id. What was hidden
is listed by place and kind. Look at the list and at the result: a secret without a
shape that stands in a sentence is found only by --redact-path or --redact-regex.

The prompt text of an agent's vendor (its system prompt, list of tools, and the
instructions that it puts between messages) is left out with the secrets, and a notice of
its size stands in its place; --with-prompts keeps it. AGENTS.md and CLAUDE.md stay.

It fails closed: a state that is no JSON, and a --redact-path or --redact-regex that
fits nothing, end it, and nothing is written.`

// shared has the rows to share, and the redactor that hid secrets in them, nil where nothing is asked to be.
type shared struct {
	rows     iter.Seq2[store.Row, error]
	redactor *redact.Redactor
}

// shareRows returns rows of some sessions of a store, of all where none is named, as how says.
func (a *App) shareRows(ctx context.Context, s store.Store, sessions []string, how *sharing) (shared, error) {
	rows := func() iter.Seq2[store.Row, error] { return a.withLabels(ctx, s, query.Rows(ctx, s, sessions...)) }
	if how.only != "" {
		if len(sessions) == 0 {
			latest, err := latestSession(ctx, s)
			if err != nil {
				return shared{}, err
			}
			sessions = []string{latest}
		}
		if len(sessions) > 1 {
			return shared{}, usagef("--only names snapshots of one session, and %d are named", len(sessions))
		}
		part, err := a.findPart(ctx, s, sessions[0], how.only)
		if err != nil {
			return shared{}, err
		}
		whole := rows
		rows = func() iter.Seq2[store.Row, error] { return part.rowsOf(ctx, s, whole()) }
	}
	r, err := how.newRedactor()
	if r == nil || err != nil {
		return shared{rows(), nil}, err
	}
	hidden, err := r.Rows(ctx, s, rows)
	return shared{hidden, r}, err
}

// newRedactor returns the redactor of the flags, nil where they hide and leave out nothing.
func (how *sharing) newRedactor() (*redact.Redactor, error) {
	hides := how.hides || how.paths != nil || how.patterns != nil
	if !hides && (how.prompts || !how.leaves) {
		return nil, nil
	}
	r, err := redact.New(redact.Options{Paths: how.paths, Patterns: how.patterns, Prompts: !how.prompts, Unredacted: !hides})
	if err != nil {
		err = &usageError{err}
	}
	return r, err
}

// part are visits of a session.
type part map[visitAt]bool

// visitAt tells the visits of a session apart.
type visitAt struct {
	ref   model.Ref
	index int
}

func visitOf(h *model.Header) visitAt { return visitAt{h.Ref(), h.Index} }

// findPart returns the visits of A..B, or of the path to B.
func (a *App) findPart(ctx context.Context, s store.Store, session, spec string) (part, error) {
	t, err := a.labelledTimeline(ctx, s, session)
	if err != nil {
		return nil, err
	}
	from, to, isRange := strings.Cut(spec, "..")
	if !isRange {
		to = spec
	}
	end, err := findVisit(t, to)
	if err != nil {
		return nil, err
	}
	begin := model.NoNode
	if isRange {
		if begin, err = findVisit(t, from); err != nil {
			return nil, err
		}
	}
	visits := part{}
	for n := end; ; n = t.Parent(n) {
		if n == model.NoNode {
			if begin == model.NoNode {
				return visits, nil
			}
			return nil, &advisedError{
				fmt.Errorf("--only %.80s: %s did not lead to %s", spec, t.Name(begin), t.Name(end)),
				"Name a snapshot on the way to " + t.Name(end) + "; hindcast log STORE SESSION draws it.",
			}
		}
		h := t.Header(n)
		visits[visitOf(&h)] = true
		if n == begin {
			return visits, nil
		}
	}
}

// rowsOf returns the rows of the visits. The record of the session stands for its head, so it is
// left out.
func (v part) rowsOf(ctx context.Context, s store.Store, rows iter.Seq2[store.Row, error]) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		out := map[string]bool{} // of these the state went out
		for row, err := range rows {
			if err == nil && (row.Record != nil || !v[visitOf(&row.Header)]) {
				continue
			}
			if err == nil && row.State == nil && !out[row.Header.ID] {
				row.State, err = s.State(ctx, row.Header.Ref())
			}
			out[row.Header.ID] = true
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// takeHidden copies the findings of a redactor, which may be nil.
func (t *tally) takeHidden(r *redact.Redactor) {
	if r == nil {
		return
	}
	t.Prompts = r.LeftOut()
	if r.HidesSecrets() {
		t.Hidden, t.secrets = notNil(r.Findings()), r.CountSecrets()
	}
}

// listHidden writes what was left out, and what was hidden, without the secrets.
func (t *tally) listHidden(w io.Writer) {
	if len(t.Prompts) > 0 {
		fmt.Fprintf(w, "the vendor's prompt text is left out: %s; --with-prompts keeps it\n", prompts.DescribeLeft(t.Prompts))
	}
	list := t.Hidden
	if list == nil {
		return
	}
	if len(list) == 0 {
		fmt.Fprintln(w, "hidden: nothing; no secret was found")
		return
	}
	fmt.Fprintln(w, "hidden:")
	width := 0
	for _, f := range list {
		width = max(width, len(f.Kind))
	}
	for _, f := range list {
		path := f.Path
		if path == "" {
			path = "(the whole state)"
		}
		fmt.Fprintf(w, "  %s  %s  %s\n", padRight(f.Kind, width), printable.String(path), model.Count(f.Secrets, "secret"))
	}
}
