package cli

import (
	"cmp"
	"context"
	_ "embed" // the rules that ship
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"hindcast/model/conversation"
	"hindcast/model/printable"
	"hindcast/prices"
	"hindcast/query"
)

// shippedRules are the rules of check where none are given.
//
//go:embed check/rules.toml
var shippedRules string

// checkCommand is `hindcast check`.
func (a *App) checkCommand() *cobra.Command {
	c := &checking{}
	w := words{stores: true, session: true, most: 1}
	cmd := &cobra.Command{
		Use:   "check [STORE...] [SESSION] [SNAPSHOT]",
		Short: "hold sessions to rules: expressions of jq over their calls, turns and sums",
		Long: `Check holds the line to a snapshot of a session to rules, without SESSION the heads of
all sessions of the stores. The exit code is 3 when a rule fails.

The rules are those of --rules, else those that ship, which --print-rules prints. A file
of rules is TOML:

  [[rule]]
  name = "budget"                     # what reports call it
  says = "At most a million tokens."  # what it asks for
  level = "error"                     # or "warning", which is told and does not fail
  must = ".sum.inputTokens < 1e6"     # an expression of jq that is true of a good run
  # or never = ".calls[] | select(.failed)": each output, but null and false, is a breach

An expression sees one run, as diverge --json has them in runs, and no file, no
environment and no time; one that takes too long is an error. A breach that is one of
the calls, the turns or the flags is told with its snapshot.

--like asks for the same calls in the same order as a session has, which is one of the
stores, SESSION:SNAPSHOT, or a STORE, such as a file of hindcast export; two calls are the
same by the rule of hindcast diverge. Given alone it is the only rule.

--junit and --sarif write the results into a file, too.`,
		Example: `  hindcast check trips.db trip-planner
  hindcast check evals --rules rules.toml --junit junit.xml
  hindcast check evals --like kept.jsonl
  hindcast check --print-rules > rules.toml`,
		Args:              a.argsCheck(w),
		ValidArgsFunction: a.completeSnapshot(1),
		RunE: a.runReading(func(ctx context.Context, p *printer, args []string) error {
			if c.print {
				return c.printRules(p)
			}
			return a.withSubject(w, func(ctx context.Context, p *printer, of *subject) error { return c.checkRuns(ctx, p, of) })(ctx, p, args)
		}),
	}
	cmd.Flags().StringArrayVar(&c.files, "rules", nil, "a `FILE` of rules; may be given again")
	cmd.Flags().BoolVar(&c.print, "print-rules", false, "print the rules that ship")
	cmd.Flags().StringVar(&c.like, "like", "", "ask for the calls of a `SESSION` in their order")
	cmd.Flags().StringVar(&c.junit, "junit", "", "write the results into a `FILE` as JUnit's XML")
	cmd.Flags().StringVar(&c.sarif, "sarif", "", "write the results into a `FILE` as SARIF 2.1.0")
	return cmd
}

// checking is a call of check.
type checking struct {
	files              []string
	print              bool
	like, junit, sarif string
}

// rule is a rule of a file.
type rule struct {
	Name  string `toml:"name"`
	Says  string `toml:"says"`
	Level string `toml:"level"`
	Must  string `toml:"must"`
	Never string `toml:"never"`
	expr  *query.Expr
}

// The levels of a rule.
const (
	levelError   = "error"
	levelWarning = "warning"
)

// likeRule is the name of the rule of --like.
const likeRule = "like"

// readRules returns the rules of a text. The error names the file.
func readRules(file, text string) ([]rule, error) {
	var list struct {
		Rule []rule `toml:"rule"`
	}
	meta, err := toml.Decode(text, &list)
	if err != nil {
		return nil, fmt.Errorf("rules %s: %w", file, err)
	}
	if odd := meta.Undecoded(); len(odd) > 0 {
		return nil, fmt.Errorf("rules %s: %q is not known: a rule has name, says, level, and must or never", file, odd[0].String())
	}
	for i := range list.Rule {
		r := &list.Rule[i]
		wrong := func(format string, args ...any) error {
			return fmt.Errorf("rules %s: rule %.80q: "+format, append([]any{file, cmp.Or(r.Name, fmt.Sprint(i+1))}, args...)...)
		}
		switch r.Level = cmp.Or(r.Level, levelError); {
		case r.Name == "":
			return nil, wrong("it has no name")
		case r.Name == likeRule || slices.ContainsFunc(list.Rule[:i], func(o rule) bool { return o.Name == r.Name }):
			return nil, wrong("the name is taken")
		case r.Level != levelError && r.Level != levelWarning:
			return nil, wrong("level %.80q is neither error nor warning", r.Level)
		case (r.Must == "") == (r.Never == ""):
			return nil, wrong("it needs one of must and never")
		}
		if r.expr, err = query.ParseExpr(r.Must + r.Never); err != nil {
			return nil, wrong("%w", err)
		}
	}
	if len(list.Rule) == 0 {
		return nil, fmt.Errorf("rules %s: it has no [[rule]]", file)
	}
	return list.Rule, nil
}

// readAllRules returns the rules of the flags.
func (c *checking) readAllRules() (all []rule, err error) {
	if len(c.files) == 0 && c.like == "" {
		return readRules("of hindcast", shippedRules)
	}
	for _, file := range c.files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("check: %w", err)
		}
		list, err := readRules(file, string(text))
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			if slices.ContainsFunc(all, func(o rule) bool { return o.Name == r.Name }) {
				return nil, fmt.Errorf("rules %s: rule %.80q: the name is taken", file, r.Name)
			}
		}
		all = append(all, list...)
	}
	return all, nil
}

// printRules prints the rules that ship.
func (c *checking) printRules(p *printer) error {
	if p.json {
		list, err := readRules("of hindcast", shippedRules)
		if err != nil {
			return err
		}
		out := []ruleJSON{}
		for i := range list {
			out = append(out, list[i].newDocument())
		}
		return p.writeDocument(checkJSON{Rules: out, Runs: []checkedJSON{}})
	}
	_, err := p.WriteString(shippedRules)
	return err
}

// checkJSON is `check --json`.
type checkJSON struct {
	Rules  []ruleJSON    `json:"rules"`
	Failed int           `json:"failed"`
	Runs   []checkedJSON `json:"runs"`
}

// ruleJSON is a rule in a document.
type ruleJSON struct {
	Name  string `json:"name"`
	Says  string `json:"says,omitempty"`
	Level string `json:"level"`
	Must  string `json:"must,omitempty"`
	Never string `json:"never,omitempty"`
}

// newDocument returns the document of a rule.
func (r *rule) newDocument() ruleJSON { return ruleJSON{r.Name, r.Says, r.Level, r.Must, r.Never} }

// checkedJSON is a run that was held to the rules.
type checkedJSON struct {
	Store     string       `json:"store"`
	SessionID string       `json:"sessionId"`
	Name      string       `json:"name"`
	Breaches  []breachJSON `json:"breaches"`
}

// breachJSON is a breach of a rule. With Error the rule could not be told of the run.
type breachJSON struct {
	Rule  string `json:"rule"`
	Name  string `json:"name,omitempty"`
	Text  string `json:"text"`
	Error bool   `json:"error,omitempty"`
}

// checkRuns holds the runs that a subject means to the rules, and writes the results.
func (c *checking) checkRuns(ctx context.Context, p *printer, of *subject) error {
	rules, err := c.readAllRules()
	if err != nil {
		return err
	}
	tips, err := of.everyTipOr(ctx)
	if err != nil {
		return err
	}
	list, err := prices.Load(prices.Path(of.app.Getenv))
	if err != nil {
		return err
	}
	out := checkJSON{Rules: []ruleJSON{}, Runs: []checkedJSON{}}
	for i := range rules {
		out.Rules = append(out.Rules, rules[i].newDocument())
	}
	var kept *run
	if c.like != "" {
		if kept, err = c.readKept(ctx, of, list); err != nil {
			return err
		}
		out.Rules = append(out.Rules, ruleJSON{Name: likeRule, Says: "The calls are those of " + kept.session + ", in their order.", Level: levelError})
	}
	const atOnce = 32 // runs in memory
	for part := range slices.Chunk(tips, atOnce) {
		runs, err := readRuns(ctx, part, list)
		if err != nil {
			return fmt.Errorf("check: %w", err)
		}
		for i := range runs {
			r := &runs[i]
			checked := checkedJSON{Store: r.store.Address(), SessionID: r.session, Name: r.Name(r.node), Breaches: []breachJSON{}}
			var document []byte
			if len(rules) > 0 {
				if document, err = encodeJSON(r.newDocument()); err != nil {
					return fmt.Errorf("check: %.80q: %w", r.session, err)
				}
			}
			for k := range rules {
				breaches, err := rules[k].findBreaches(ctx, r, document)
				if err != nil {
					return fmt.Errorf("check: rule %.80q at %.80q: %w", rules[k].Name, r.session, err)
				}
				checked.Breaches = append(checked.Breaches, breaches...)
			}
			if kept != nil {
				checked.Breaches = append(checked.Breaches, kept.compareCalls(r)...)
			}
			out.Runs = append(out.Runs, checked)
		}
	}
	for i := range out.Runs {
		if out.failsOn(&out.Runs[i]) {
			out.Failed++
		}
	}
	if c.junit != "" {
		err = out.writeReport(c.junit, writeJUnit)
	}
	if c.sarif != "" {
		err = errors.Join(err, out.writeReport(c.sarif, writeSARIF))
	}
	if p.json {
		err = errors.Join(err, p.writeDocument(out))
	} else {
		p.writeChecked(&out)
	}
	if err == nil && out.Failed > 0 {
		err = errFaults
	}
	return err
}

// everyTipOr returns the visit that a subject means, else the heads of all sessions.
func (o *subject) everyTipOr(ctx context.Context) ([]tip, error) {
	if o.session == "" {
		return o.everyTip(ctx)
	}
	t, n, err := o.resolveVisit(ctx, o.firstSnapshot())
	return []tip{{o, t, n}}, err
}

// readKept reads the run of --like.
func (c *checking) readKept(ctx context.Context, of *subject, list query.Prices) (*run, error) {
	in, spec := of, "head"
	if of.app.isStore(c.like) {
		h, err := of.app.homeAt(ctx, c.like)
		if err != nil {
			return nil, err
		}
		defer func() { _ = h.Close() }() // it was only read
		in = &subject{app: of.app, home: h, address: c.like}
		session, err := latestOf(ctx, h)
		if err := in.meet(ctx, session, err); err != nil {
			return nil, err
		}
	} else {
		found, at, err := (&subject{app: of.app, home: of.home, address: of.given}).sessionIn(ctx, c.like)
		if err != nil {
			return nil, err
		}
		if found == nil {
			return nil, fmt.Errorf("check: --like %.80q is no session of %s, and no store", c.like, shownHome(of.given, of.home))
		}
		in, spec = found, at
	}
	t, n, err := in.resolveVisit(ctx, spec)
	if err != nil {
		return nil, err
	}
	runs, err := readRuns(ctx, []tip{{in, t, n}}, list)
	if err != nil {
		return nil, err
	}
	return &runs[0], nil
}

// compareCalls returns the breach of a run that has other calls than the kept one; nil if the calls are the same.
func (r *run) compareCalls(of *run) []breachJSON {
	for i := range max(len(r.Calls), len(of.Calls)) {
		breach := breachJSON{Rule: likeRule, Name: of.nameCall(i)}
		switch {
		case i >= len(of.Calls):
			breach.Text = fmt.Sprintf("it ends; call %d of %s is %s", i+1, r.session, conversation.OneLine(r.Calls[i].Text))
		case i >= len(r.Calls):
			breach.Text = fmt.Sprintf("call %d is %s; %s ends there", i+1, conversation.OneLine(of.Calls[i].Text), r.session)
		case r.Calls[i].Fingerprint != of.Calls[i].Fingerprint:
			breach.Text = fmt.Sprintf("call %d is %s; in %s it is %s", i+1, conversation.OneLine(of.Calls[i].Text), r.session, conversation.OneLine(r.Calls[i].Text))
		default:
			continue
		}
		return []breachJSON{breach}
	}
	return nil
}

// findBreaches returns the breaches of the rule by a run with its document. The error ends the check: an expression that takes
// too much.
func (r *rule) findBreaches(ctx context.Context, of *run, document []byte) ([]breachJSON, error) {
	outputs, end := r.expr.Outputs(ctx)
	defer end()
	list, err := outputs(document)
	if limit := (*query.LimitError)(nil); errors.As(err, &limit) || ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		return []breachJSON{{Rule: r.Name, Text: err.Error(), Error: true}}, nil
	}
	if r.Must != "" {
		if len(list) > 0 && list[len(list)-1] != nil && list[len(list)-1] != false {
			return nil, nil
		}
		return []breachJSON{{Rule: r.Name, Name: of.Name(of.node), Text: cmp.Or(r.Says, r.Must)}}, nil
	}
	var breaches []breachJSON
	for _, output := range list {
		if output == nil || output == false {
			continue
		}
		breach := breachJSON{Rule: r.Name}
		switch output := output.(type) {
		case string:
			breach.Text = output
		case map[string]any:
			breach.Name, _ = output["name"].(string)
			breach.Text, _ = output["text"].(string)
		}
		if breach.Text == "" {
			data, err := encodeJSON(output)
			if err != nil {
				return nil, err
			}
			breach.Text = conversation.Cut(string(data), 200)
		}
		breaches = append(breaches, breach)
	}
	return breaches, nil
}

// levelOf returns the level of a rule.
func (c *checkJSON) levelOf(name string) string {
	for i := range c.Rules {
		if c.Rules[i].Name == name {
			return c.Rules[i].Level
		}
	}
	return levelError
}

// failsOn reports whether a breach fails a run: one of an error, or of a rule that could not be told.
func (c *checkJSON) failsOn(r *checkedJSON) bool {
	return slices.ContainsFunc(r.Breaches, func(b breachJSON) bool { return b.Error || c.levelOf(b.Rule) == levelError })
}

// mostBreaches is how many breaches of one rule by a run are printed.
const mostBreaches = 5

// writeChecked writes the results for people.
func (p *printer) writeChecked(c *checkJSON) {
	for i := range c.Runs {
		r := &c.Runs[i]
		sign, sgr := p.glyphs.Good, ""
		if c.failsOn(r) {
			sign, sgr = p.glyphs.Bad, red
		}
		fmt.Fprintln(p, p.paint.in(sgr, p.fitLine(sign+" "+printable.String(r.SessionID)+" "+r.Name, 0)))
		counts := map[string]int{}
		for _, b := range r.Breaches {
			counts[b.Rule]++
			switch n := counts[b.Rule]; {
			case n > mostBreaches+1:
				continue
			case n > mostBreaches:
				fmt.Fprintf(p, "  %s  %s\n", printable.String(b.Rule), p.glyphs.Ellipsis)
				continue
			}
			line := "  " + printable.String(b.Rule)
			if level := c.levelOf(b.Rule); level != levelError {
				line += " (" + level + ")"
			}
			if b.Name != "" {
				line += "  " + printable.String(b.Name)
			}
			fmt.Fprintln(p, p.fitLine(line+"  "+printable.String(conversation.OneLine(b.Text)), 0))
		}
	}
	fmt.Fprintf(p, "%d of %d runs keep %d rules\n", len(c.Runs)-c.Failed, len(c.Runs), len(c.Rules))
}

// writeReport writes the results into a file.
func (c *checkJSON) writeReport(file string, encode func(*checkJSON) ([]byte, error)) error {
	data, err := encode(c)
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("check: write the results: %w", err)
	}
	return nil
}

// breachesOf returns the breaches of a rule by a run.
func (r *checkedJSON) breachesOf(rule string) (list []breachJSON) {
	for _, b := range r.Breaches {
		if b.Rule == rule {
			list = append(list, b)
		}
	}
	return list
}

// breachText returns the lines that tell breaches, each with its snapshot.
func breachText(list []breachJSON) string {
	var lines []string
	for _, b := range list {
		lines = append(lines, strings.TrimSpace(b.Name+" "+conversation.OneLine(b.Text)))
	}
	return strings.Join(lines, "\n")
}
