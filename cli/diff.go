package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/printable"
	"hindcast/store"
)

// diffCommand is `hindcast diff`.
func (a *App) diffCommand() *cobra.Command {
	var patch, code, stat bool
	cmd := a.readingCommand(oneOrTwo, &cobra.Command{
		Use:   "diff [STORE...] [SESSION] A [B] | A..B",
		Short: "show what changed from A to B, or from its parent to A",
		Long: `Diff shows what changed: diff A from the snapshot before A to A; diff A B, or
diff A..B, from A to B, which may be on another branch. Values are compared, not
their spelling: the order of keys and white space do not count.

  +  added    -  removed    ~  replaced    >  moved within its list

Each line names the place by its JSON Pointer. Inside a text that changed,
[-this-] was taken out and {+this+} put in.

A key that the store keeps once for the whole session is known only as of now. It
is not compared: a last line names it, and --json and --patch have no change of it.`,
	}, func(ctx context.Context, p *printer, of *subject) error {
		sides, err := of.chooseSides(ctx)
		if err != nil {
			return err
		}
		result, gaps, err := sides.compareStates(ctx, of.store)
		if err != nil {
			return err
		}
		switch {
		case patch:
			err = patchTo(a.harmlessWriter(p), result)
		case p.json && stat:
			err = p.writeDocument(statOf(result))
		case p.json:
			err = writeArray(p, yieldChanges(result))
		case stat:
			p.writeStat(sides.titleLine(p.glyphs.Arrow), result)
			p.leftOut(gaps)
		default:
			p.writeDiff(sides.titleLine(p.glyphs.Arrow), result)
			p.leftOut(gaps)
		}
		if err == nil && code && !result.Equal() {
			return errDiffer
		}
		return err
	})
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if patch && stat {
			return usagef("--patch and --stat are two answers: give one of them")
		}
		return nil
	}
	cmd.Flags().BoolVar(&code, "exit-code", false, "end with exit code 1 if the states differ, 0 if they do not")
	cmd.Flags().BoolVar(&stat, "stat", false, "print how much changed below each top-level key")
	cmd.Flags().BoolVar(&patch, "patch", false, "print a JSON Patch (RFC 6902)")
	return cmd
}

// errDiffer says that two states differ, which was printed.
var errDiffer = errors.New("the states differ")

// sides are the two snapshots of a comparison; old has no header where there is
// nothing to come from.
type sides struct{ old, new side }

// side is a snapshot with its name.
type side struct {
	*model.Header
	name string
}

// chooseSides finds the snapshots that diff A, diff A B and diff A..B mean.
func (o *subject) chooseSides(ctx context.Context) (sides, error) {
	specs := o.snapshots
	t, err := o.readTimeline(ctx)
	if err != nil {
		return sides{}, err
	}
	if from, to, both := strings.Cut(specs[0], ".."); both && len(specs) == 1 {
		specs = []string{from, to}
	}
	var nodes []model.Node
	for _, spec := range specs {
		n, err := findVisit(t, spec)
		if err != nil {
			return sides{}, err
		}
		nodes = append(nodes, n)
	}
	if len(nodes) == 1 {
		nodes = []model.Node{t.Base(nodes[0]), nodes[0]}
	}
	side := func(n model.Node) side {
		h := t.Header(n)
		return side{&h, t.Name(n)}
	}
	if nodes[0] == model.NoNode {
		return sides{new: side(nodes[1])}, nil
	}
	return sides{side(nodes[0]), side(nodes[1])}, nil
}

// compareStates compares the two states, which are of one store. It leaves out the keys that the store does not know in
// one of them, and returns them as gaps.
func (s sides) compareStates(ctx context.Context, from store.Store) (*diff.Result, model.Gaps, error) {
	var two store.Apart
	var err error
	refs := []model.Ref{s.new.Ref()}
	if s.old.Header == nil {
		two.A = []byte("{}")
		two.B, err = from.State(ctx, s.new.Ref())
	} else {
		two, err = store.TakeApart(ctx, from, s.old.Ref(), s.new.Ref())
		refs = append(refs, s.old.Ref())
	}
	if err != nil {
		return nil, model.Gaps{}, err
	}
	gaps, err := store.Gaps(ctx, from, refs...)
	if err != nil {
		return nil, model.Gaps{}, err
	}
	return s.compareKnown(ctx, two, gaps)
}

// compareAcross is compareStates of states of two stores.
func (s sides) compareAcross(ctx context.Context, old, new store.Store) (*diff.Result, model.Gaps, error) {
	var two store.Apart
	var gaps model.Gaps
	for _, of := range []struct {
		store store.Store
		ref   model.Ref
		state *[]byte
	}{{old, s.old.Ref(), &two.A}, {new, s.new.Ref(), &two.B}} {
		state, err := of.store.State(ctx, of.ref)
		if err != nil {
			return nil, model.Gaps{}, err
		}
		unknown, err := store.Gaps(ctx, of.store, of.ref)
		if err != nil {
			return nil, model.Gaps{}, err
		}
		*of.state, gaps = state, gaps.With(unknown)
	}
	return s.compareKnown(ctx, two, gaps)
}

// compareKnown compares two states without the gaps, which it returns.
func (s sides) compareKnown(ctx context.Context, two store.Apart, gaps model.Gaps) (*diff.Result, model.Gaps, error) {
	result, err := compareApart(ctx, two)
	if err != nil {
		return nil, model.Gaps{}, fmt.Errorf("diff: compare the states of %s: %w", s.titleLine("and"), err)
	}
	return result.Without(gaps.Has), gaps, nil
}

// compareApart compares two states as if they were whole.
func compareApart(ctx context.Context, two store.Apart) (*diff.Result, error) {
	result, err := diff.Compare(ctx, diff.Bytes(two.A), diff.Bytes(two.B))
	if err != nil {
		return nil, err
	}
	return result.WithCommon("/"+two.Key, 0, two.Common), nil
}

// titleLine names the sides, with a word or a shape between them.
func (s sides) titleLine(between string) string {
	old := "nothing"
	if s.old.Header != nil {
		old = s.old.name + " " + printable.String(s.old.EventText())
	}
	return fmt.Sprintf("%s %s %s %s", old, between, s.new.name, printable.String(s.new.EventText()))
}

// summariseChanges counts the changes.
func summariseChanges(r *diff.Result) string {
	if r.Equal() {
		return "no change"
	}
	text := fmt.Sprintf("+%d ~%d -%d", r.Added, r.Replaced, r.Removed)
	if r.Moved > 0 {
		text += fmt.Sprintf(" >%d", r.Moved)
	}
	if r.Coarse {
		text += "  coarse: there may be a shorter way to say it"
	}
	return text
}

// changeJSON is one element of `diff --json`. Old is absent if the value was
// added, New if it was removed; From is present if it was moved.
type changeJSON struct {
	Op   string `json:"op"`
	Path string `json:"path"`
	From string `json:"from,omitempty"`
	Old  value  `json:"old,omitempty"`
	New  value  `json:"new,omitempty"`
}

func yieldChanges(r *diff.Result) iter.Seq2[changeJSON, error] {
	return func(yield func(changeJSON, error) bool) {
		for _, e := range r.Changes() {
			c := changeJSON{Op: e.Op.String(), Path: r.Path(e), Old: r.Old(e), New: r.New(e)}
			if e.Op == diff.Moved {
				c.From = r.OldPath(e)
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

func patchTo(w io.Writer, r *diff.Result) error {
	patch, err := r.Patch()
	if err != nil {
		return fmt.Errorf("diff: make a patch: %w", err)
	}
	fmt.Fprintf(w, "%s\n", patch)
	return nil
}

// writeDiff writes a line for each change, below the title.
func (p *printer) writeDiff(title string, r *diff.Result) {
	fmt.Fprintln(p, p.paint.in(bold, title+"  "+summariseChanges(r)))
	for _, e := range r.Changes() {
		path := printable.String(r.Path(e))
		if path == "" {
			path = "(the whole state)"
		}
		switch e.Op {
		case diff.Added:
			p.writeValue(green, "+ "+path+"  ", r.New(e), len(path)+4)
		case diff.Removed:
			p.writeValue(red, "- "+path+"  ", r.Old(e), len(path)+4)
		case diff.Moved:
			p.writeValue("", "> "+path+"  from "+printable.String(r.OldPath(e))+"  ", r.New(e), len(path)+4)
		case diff.Respelled:
			fmt.Fprintln(p, p.fitLine("  "+path+"  "+p.briefValue(r.Old(e), len(path)+4)+", spelled "+p.briefValue(r.New(e), len(path)+4), 0))
		default:
			fmt.Fprintln(p, p.paint.in(yellow, p.fitLine("~ "+path+"  "+p.showReplacement(r.Old(e), r.New(e), len(path)+4), 0)))
		}
	}
	if r.Duplicates {
		fmt.Fprintln(p, "a key is there twice in one object: the last one counts")
	}
}

// writeValue writes a line of a head and a JSON value, see briefValue. A value that is not cut is written in pieces.
func (p *printer) writeValue(sgr, head string, value []byte, behind int) {
	if p.width > 0 || bool(p.paint) {
		fmt.Fprintln(p, p.paint.in(sgr, p.fitLine(head+p.briefValue(value, behind), 0)))
		return
	}
	p.WriteString(head)
	for rest := jsontape.Compact(value); len(rest) > 0; {
		part := printable.Part(rest, printedAtOnce)
		p.Write(printable.Append(nil, part))
		rest = rest[len(part):]
	}
	p.WriteByte('\n')
}

// leftOut says which keys a comparison left out.
func (p *printer) leftOut(gaps model.Gaps) {
	if line := gaps.ComparisonLine(len(gaps.Keys)); line != "" {
		fmt.Fprintln(p, p.paint.in(faint, printable.String(line)))
	}
}

const (
	// aroundRunes is how much of a text a terminal shows beside what changed in it,
	// and sizeCells the room for the size of a value that is cut.
	aroundRunes = 24
	sizeCells   = 10
	// compactBytes bounds the values that are compacted before they are cut.
	compactBytes = 64 << 10
	// briefBytes is how long two texts are together at most that are shown whole.
	briefBytes = 120
)

// briefValue returns a JSON value on one line; on a terminal it is cut, with its size, to
// the room behind some bytes of the line.
func (p *printer) briefValue(value []byte, behind int) string {
	if p.width == 0 || len(value) <= compactBytes {
		value = jsontape.Compact(value)
	}
	return p.cutText(value, behind)
}

// cutText returns a text on one line, as briefValue does.
func (p *printer) cutText(text []byte, behind int) string {
	if p.width == 0 {
		return printable.String(string(text))
	}
	line, whole := headOf(text, max(p.width-behind-sizeCells, leastFit))
	if !whole {
		line += p.glyphs.Ellipsis + " " + string(conversation.AppendSize(nil, int64(len(text))))
	}
	return line
}

// showReplacement shows how one value became another: in long texts, the words that
// changed, and on a terminal only a little around them.
func (p *printer) showReplacement(old, new []byte, behind int) string {
	pair := func() string {
		half := (p.width - behind) / 2
		return p.briefValue(old, p.width-half) + " " + p.glyphs.Arrow + " " + p.briefValue(new, p.width-half)
	}
	var before, after string
	if len(old)+len(new) < briefBytes || json.Unmarshal(old, &before) != nil || json.Unmarshal(new, &after) != nil {
		return pair()
	}
	d := diff.Text(before, after, 0)
	if d.Bytes {
		return pair()
	}
	var line strings.Builder
	for i, span := range d.Spans {
		switch span.Op {
		case diff.Deleted:
			line.WriteString("[-" + p.cutText([]byte(span.Text), behind) + "-]")
		case diff.Inserted:
			line.WriteString("{+" + p.cutText([]byte(span.Text), behind) + "+}")
		default:
			line.WriteString(p.unchangedText(span.Text, i, len(d.Spans)))
		}
	}
	return line.String()
}

// unchangedText returns of a text that stayed, the i-th of n spans, what stands beside
// the spans before and after it; all of it where nothing is cut.
func (p *printer) unchangedText(text string, i, n int) string {
	runes := []rune(printable.String(text))
	if p.width == 0 || len(runes) <= 2*aroundRunes {
		return string(runes)
	}
	before, after := "", ""
	if i > 0 {
		before = string(runes[:aroundRunes])
	}
	if i < n-1 {
		after = string(runes[len(runes)-aroundRunes:])
	}
	return before + p.glyphs.Ellipsis + after
}
