package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/query"
)

// bisectCommand is `hindcast bisect`.
func (a *App) bisectCommand() *cobra.Command {
	var within time.Duration
	var good, bad, expr string
	var sent bool
	cmd := &cobra.Command{
		Use:   "bisect [STORE...] [SESSION] --good A [--bad B] (--jq EXPR | -- COMMAND...)",
		Short: "find the first bad snapshot by testing few of them",
		Long: `Bisect finds the first bad snapshot on the line from A, which is good, to B, which
comes of A and is bad. It tests B, then the snapshot in the middle, and goes on with the
half that has the border: 15 tests for 10,000 snapshots. It prints each test, the first
bad snapshot, and what changed there.

With --jq a state is good if EXPR is true of it, as for jq -e; one at which EXPR has an
error is skipped. With -- COMMAND is run for each test, with the state on its standard
input, as git bisect run does. Its exit code says what the state is:

  0                    good
  1 to 124, 126, 127   bad
  125                  skip it: it cannot be tested
  128 and more         stop, as after a signal

With --sent EXPR and COMMAND see the request to the model at a snapshot, as hindcast
context --body prints it, in place of the state: since when does the model not see
AGENTS.md? A snapshot without a request is skipped.

COMMAND gets the environment, with HINDCAST_SESSION and the name of the snapshot in
HINDCAST_SNAPSHOT. What it prints is not shown, but for the last line of its errors.

There may be several borders: one of them is found. "Not the only one" says that a state
that was tested contradicts. hindcast find --all lists all of them.`,
		Example: `  hindcast bisect trips.db trip-planner --good 3 --bad head --jq '.cart.total < 200'
  hindcast bisect trips.db --good 3 -- jq -e '.cart.items | length < 3'
  hindcast bisect trips.db trip-planner --good 3 --bad 10 --json -- ./check.py
  hindcast bisect projects 7ffd5cb9 --good 1 --sent --jq '.messages | tostring | test("AGENTS.md")'`,
		ValidArgsFunction: a.completeSnapshot(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			var command []string
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				args, command = args[:dash], args[dash:]
			}
			if err := a.argsCheck(oneSession)(cmd, args); err != nil {
				return err
			}
			if good == "" {
				return usagef("--good is missing: it names a snapshot that is good")
			}
			if (expr == "") == (len(command) == 0) {
				return usagef("give a test: --jq EXPR, or -- COMMAND")
			}
			var x *query.Expr
			if expr != "" {
				var err error
				if x, err = query.ParseExpr(expr); err != nil {
					return &usageError{fmt.Errorf("bisect: %w", err)}
				}
			}
			return a.runAnswer(a.withSubject(oneSession, func(ctx context.Context, p *printer, of *subject) error {
				t, err := of.readTimeline(ctx)
				if err != nil {
					return err
				}
				b := bisection{subject: of, timeline: t, query: query.Open(of.store, t), sent: sent}
				if b.good, err = findVisit(t, good); err != nil {
					return err
				}
				if b.bad, err = findVisit(t, bad); err != nil {
					return err
				}
				switch {
				case x == nil:
					b.test = b.testBy(b.judgeByCommand(command))
				case sent:
					test, end := x.Within(within).Filter(ctx)
					defer end()
					b.test = b.testBy(judgeBy(test))
				default:
					b.test = b.query.TestOf(x.Within(within))
				}
				return raiseLimit("bisect", p.writeBisect(ctx, &b))
			}))(cmd, args)
		},
	}
	cmd.Flags().StringVar(&good, "good", "", "a snapshot that is good")
	cmd.Flags().StringVar(&bad, "bad", "head", "a snapshot that is bad")
	cmd.Flags().StringVar(&expr, "jq", "", "an `expression` that is true of good states")
	cmd.Flags().BoolVar(&sent, "sent", false, "test the request to the model in place of the state")
	limitFlag(cmd, &within)
	for _, flag := range []string{"good", "bad"} {
		if err := cmd.RegisterFlagCompletionFunc(flag, a.completeFlagSnapshot); err != nil {
			panic(err) // the flag is there
		}
	}
	return cmd
}

// bisection is a search between two snapshots, with its test.
type bisection struct {
	*subject
	timeline  *model.Timeline
	query     *query.Session
	good, bad model.Node
	test      query.Test
	sent      bool // the test sees requests
}

// judge judges the input of a test at a visit.
type judge func(ctx context.Context, n model.Node, input []byte) (query.Verdict, string, error)

// testBy returns the test that judges states, or requests. A visit without a request is skipped.
func (b *bisection) testBy(j judge) query.Test {
	return func(ctx context.Context, n model.Node) (query.Verdict, string, error) {
		if !b.sent {
			state, err := b.store.State(ctx, b.timeline.Header(n).Ref())
			if err != nil {
				return 0, "", err
			}
			return j(ctx, n, state)
		}
		sent, err := query.RequestAt(ctx, b.store, query.AroundOf(b.timeline, n))
		if errors.Is(err, query.ErrNoRequest) {
			return query.Skipped, "the model was sent nothing there", nil
		} else if err != nil {
			return 0, "", err
		}
		return j(ctx, n, sent.Body)
	}
}

// judgeBy returns the judge that an expression is.
func judgeBy(holds func([]byte) (bool, error)) judge {
	return func(ctx context.Context, _ model.Node, input []byte) (query.Verdict, string, error) {
		limit := (*query.LimitError)(nil)
		switch good, err := holds(input); {
		case errors.As(err, &limit) || ctx.Err() != nil:
			return 0, "", err
		case err != nil:
			return query.Skipped, err.Error(), nil
		case good:
			return query.Good, "", nil
		}
		return query.Bad, "", nil
	}
}

// mostSaid bounds the error output that is kept of a test. longestWait bounds the wait, after
// the test has ended, for other processes that hold its output open.
const (
	mostSaid    = 4 << 10
	longestWait = time.Second
)

// The exit codes of a test that mean something besides bad.
const (
	skipCode = 125
	stopCode = 128
)

// judgeByCommand returns the judge that runs a command on an input.
func (b *bisection) judgeByCommand(command []string) judge {
	return func(ctx context.Context, n model.Node, input []byte) (query.Verdict, string, error) {
		var said tail
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Stdin, cmd.Stderr, cmd.WaitDelay = bytes.NewReader(input), &said, longestWait
		cmd.Env = append(os.Environ(), "HINDCAST_SNAPSHOT="+b.timeline.Name(n))
		if !strings.Contains(b.session, "\x00") {
			cmd.Env = append(cmd.Env, "HINDCAST_SESSION="+b.session)
		}
		inGroup(cmd)
		err := cmd.Run()
		if ctx.Err() != nil {
			return 0, "", ctx.Err()
		}
		if cmd.ProcessState == nil {
			return 0, "", fmt.Errorf("run the test: %w", err)
		}
		code := cmd.ProcessState.ExitCode()
		why, line := fmt.Sprintf("exit %d", code), said.lastLine()
		if line != "" {
			line = ": " + line
		}
		why += line
		switch {
		case code == 0:
			return query.Good, "", nil
		case code == skipCode:
			return query.Skipped, why, nil
		case code > 0 && code < stopCode:
			return query.Bad, why, nil
		}
		return 0, "", &advisedError{
			fmt.Errorf("the test of %s stopped the search: %v%s", b.timeline.Name(n), cmd.ProcessState, line),
			"A test ends with 0 for a good state, 125 for one that it cannot test, and another code below 128 for a bad one.",
		}
	}
}

// tail keeps the last bytes that are written to it.
type tail []byte

func (t *tail) Write(data []byte) (int, error) {
	*t = append(*t, data[max(len(data)-mostSaid, 0):]...)
	*t = append((*t)[:0], (*t)[max(len(*t)-mostSaid, 0):]...)
	return len(data), nil
}

// lastLine returns the last line.
func (t *tail) lastLine() string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(*t), "�"))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// namedError returns an error of a bisection with the snapshots by name.
func (b *bisection) namedError(err error) error {
	good, bad := b.timeline.Name(b.good), b.timeline.Name(b.bad)
	apart := (*query.NotBehindError)(nil)
	switch {
	case errors.Is(err, query.ErrNotBad):
		return &advisedError{
			fmt.Errorf("bisect: the test says that %s is good, and --bad says that it is bad", bad),
			"A state is good if EXPR is true of it, or COMMAND ends with 0. Is the test the wrong way round?",
		}
	case errors.As(err, &apart) && b.good == b.bad:
		return usagef("bisect: --good and --bad are the same snapshot, %s", good)
	case errors.As(err, &apart) && apart.Branch == model.NoNode:
		return fmt.Errorf("bisect: %s does not come of %s: they have nothing in common", bad, good)
	case errors.As(err, &apart) && apart.Branch == b.bad:
		return &advisedError{
			fmt.Errorf("bisect: %s does not come of %s, but %s comes of it", bad, good, good),
			"--good names the earlier one. hindcast find --reverse looks for where an expression becomes false.",
		}
	case errors.As(err, &apart):
		branch := b.timeline.Name(apart.Branch)
		return &advisedError{
			fmt.Errorf("bisect: %s does not come of %s: they parted at %s", bad, good, branch),
			"Is " + branch + " good? Then give --good '" + branch + "'.",
		}
	}
	return fmt.Errorf("bisect: %w", err)
}

// testedJSON is a step of `bisect --json`, and bisectJSON the document.
type (
	testedJSON struct {
		headerJSON
		Verdict string `json:"verdict"`
		Why     string `json:"why,omitempty"`
	}
	bisectJSON struct {
		Steps    []testedJSON `json:"steps"`
		LastGood string       `json:"lastGood"`
		FirstBad string       `json:"firstBad"`
		Skipped  []string     `json:"skipped,omitempty"`
		Other    string       `json:"other,omitempty"`
		Changes  []changeJSON `json:"changes"`
	}
)

// writeBisect writes the steps of a bisection as they come, and what it found.
func (p *printer) writeBisect(ctx context.Context, b *bisection) error {
	document := bisectJSON{Steps: []testedJSON{}}
	lines := p.newVisits(b.timeline)
	var end query.Tested
	for step, err := range b.query.Bisect(ctx, b.good, b.bad, b.test) {
		if err != nil {
			return b.namedError(err)
		}
		if end = step; p.json {
			document.Steps = append(document.Steps, testedJSON{headerOf(b.timeline, step.Visit), step.Verdict.String(), step.Why})
			continue
		}
		lines.writeTest(step)
		if err := p.Flush(); err != nil { // a test may take long
			return err
		}
	}
	good, bad := b.timeline.Header(end.Good), b.timeline.Header(end.Bad)
	sides := sides{side{&good, b.timeline.Name(end.Good)}, side{&bad, b.timeline.Name(end.Bad)}}
	result, gaps, err := sides.compareStates(ctx, b.store)
	if err != nil {
		return err
	}
	if !p.json {
		p.writeBorder(b.timeline, end)
		if b.sent {
			b.snapshots = []string{sides.old.name + ".." + sides.new.name}
			c, err := b.compareRequests(ctx)
			if err == nil {
				p.writeRequestHead(c)
			}
			return err
		}
		p.writeDiff(sides.titleLine(p.glyphs.Arrow), result)
		p.leftOut(gaps)
		return nil
	}
	document.LastGood, document.FirstBad = sides.old.name, sides.new.name
	document.Skipped = visitNames(b.timeline, end.Skipped)
	if end.Other != model.NoNode {
		document.Other = b.timeline.Name(end.Other)
	}
	document.Changes = []changeJSON{}
	for c, err := range yieldChanges(result) {
		if err != nil {
			return err
		}
		document.Changes = append(document.Changes, c)
	}
	return p.writeDocument(document)
}

// writeTest writes the line of a step.
func (v *visits) writeTest(step query.Tested) {
	v.beginLine(step.Visit)
	colour := map[query.Verdict]string{query.Good: green, query.Bad: red, query.Skipped: faint}[step.Verdict]
	what := step.Verdict.String()
	if step.Left > 0 {
		what += ", " + model.Count(step.Left, "snapshot") + " left"
	}
	if step.Why != "" {
		what += "  " + printable.String(step.Why)
	}
	v.endLine(colour, what)
}

// writeBorder writes between which snapshots the border is.
func (p *printer) writeBorder(t *model.Timeline, end query.Tested) {
	if len(end.Skipped) == 0 {
		fmt.Fprintf(p, "first bad: %s\n", t.Name(end.Bad))
	} else {
		fmt.Fprintf(p, "first bad: %s, or one of the skipped snapshots: %s\n", t.Name(end.Bad), strings.Join(visitNames(t, end.Skipped), ", "))
	}
	if end.Other != model.NoNode {
		fmt.Fprintf(p, "not the only one: %s has a state that was tested, and is on the wrong side\n", t.Name(end.Other))
	}
}

func visitNames(t *model.Timeline, nodes []model.Node) (names []string) {
	for _, n := range nodes {
		names = append(names, t.Name(n))
	}
	return names
}
