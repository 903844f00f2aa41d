package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/model/splice"
	"hindcast/store"
	"hindcast/store/media/scratch"
)

// editCommand is `hindcast edit`.
func (a *App) editCommand() *cobra.Command {
	var how editing
	takes := func() words {
		if how.drop != "" {
			return words{session: true, most: 1}
		}
		return oneOf
	}
	cmd := a.writingCommand(takes, &cobra.Command{
		Use:   "edit [STORE...] [SESSION] SNAPSHOT [--as ID]",
		Short: "start a new session from a snapshot whose state you change",
		Long: `Edit opens the state of a snapshot in $VISUAL or $EDITOR (vi without them), or the
value at a path in it: one message, one tool result. What you save becomes
the state that a new session starts from, and the original is untouched. What you
do not change stays as it is, byte for byte.

--set gives the value on the command line instead, --file in a file (- for the
standard input). If anything fails, your edit is kept in a file that is named.

Of a session of a coding agent the text of a message, or of a tool's result, is
edited: the new session, which the agent resumes, has its records as they are but
for that text, wherever they have it.

--drop A..B leaves whole turns out of a session of a coding agent: the new session,
which the agent resumes, has the way to the head, or to SNAPSHOT, without them.`,
		Example: `  hindcast edit trips.db trip-planner '#5' --as what-if
  hindcast edit trips.db trip-planner '#5' --at /cart/total --set 99 --as cheaper
  hindcast edit sessions chat '#12' --at /messages/3/content --file other.json --as what-if
  hindcast edit ~/.codex 01a202f5 '#7' --at /messages/2/content/0/text --set '"another question"'
  hindcast edit ~/.claude/projects 7ffd5cb9 --drop 8..11`,
	}, func(ctx context.Context, p *printer, of *subject, agreed consent) error {
		op := model.OpEdit
		if how.drop != "" {
			op = model.OpFork
		}
		if err := of.checkOperation(op); err != nil {
			return err
		}
		if how.as == "" && !store.NamesForks(of.store) {
			return usagef("edit needs --as with the id of the new session")
		}
		if how.drop != "" {
			return a.dropTurns(ctx, p, of, &how, agreed)
		}
		return a.editAndFork(ctx, p, of, &how, agreed)
	})
	cmd.PreRunE = func(*cobra.Command, []string) error {
		how.given = cmd.Flags().Changed("set")
		switch {
		case how.drop != "" && (how.given || how.file != "" || how.at.Pointer() != ""):
			return usagef("--drop leaves turns out, and edits no value: give it alone")
		case how.given && how.file != "":
			return usagef("--set and --file both give the value: give one of them")
		}
		return nil
	}
	cmd.Flags().StringVar(&how.as, "as", "", "id of the new session")
	cmd.Flags().StringVar(&how.drop, "drop", "", "leave out the turns from A to B, as `A..B`")
	cmd.Flags().Var(&how.at, "at", "the `PATH` of the edited value, such as /messages/3 or .messages[3]; without it the whole state")
	cmd.Flags().StringVar(&how.set, "set", "", "the new value as `JSON`, instead of an editor")
	cmd.Flags().StringVar(&how.file, "file", "", "the `FILE` with the new value, instead of an editor; - for the standard input")
	return cmd
}

// editing holds the flags of an edit.
type editing struct {
	as, set, file, drop string
	at                  pathFlag
	given               bool // set is
}

// editAndFork takes a state through an edit into the plan of a new session.
func (a *App) editAndFork(ctx context.Context, p *printer, of *subject, how *editing, agreed consent) (err error) {
	s := of.store
	seen, n, err := of.resolveVisit(ctx, of.firstSnapshot())
	if err != nil {
		return err
	}
	h := seen.Header(n)
	ref := h.Ref()
	state, err := s.State(ctx, ref)
	if err != nil {
		return err
	}
	value, err := splice.At(state, how.at.Pointer())
	if err != nil {
		return fmt.Errorf("edit %s of %q: %w", cmp.Or(how.at.Pointer(), "the state"), ref.ID, err)
	}
	changed, draft, err := a.readEdit(ctx, state, value, how)
	defer func() { err = draft.endDraft(a.Err, err, agreed.dryRun) }()
	if err != nil {
		return err
	}
	todo, err := s.Features().Plan(ctx, model.Change{Op: model.OpEdit, Ref: ref, As: how.as, State: changed})
	if err != nil {
		return err
	}
	return a.carryOut(ctx, p, s, agreed, &planned{Plan: todo, timeline: seen, difference: compareStates(ctx, store.Apart{A: state, B: changed}, model.Gaps{}, "the state before the edit")})
}

// dropTurns forks the session to a snapshot, the head where none is named, without some turns.
func (a *App) dropTurns(ctx context.Context, p *printer, of *subject, how *editing, agreed consent) error {
	t, n, err := of.resolveVisit(ctx, of.firstSnapshot())
	if err != nil {
		return err
	}
	c := model.Change{Op: model.OpFork, Ref: t.Header(n).Ref(), As: how.as}
	first, last, ranged := strings.Cut(how.drop, "..")
	if !ranged {
		last = first
	}
	for i, spec := range []string{first, last} {
		left, err := findVisit(t, spec)
		if err != nil {
			return fmt.Errorf("--drop: %w", err)
		}
		c.Drop[i] = t.Header(left).ID
	}
	todo, err := of.store.Features().Plan(ctx, c)
	if err != nil {
		return err
	}
	return a.carryOut(ctx, p, of.store, agreed, &planned{Plan: todo, timeline: t})
}

// readEdit returns the edited state, and the draft that was edited; the draft is nil without an editor.
func (a *App) readEdit(ctx context.Context, state, value []byte, how *editing) ([]byte, *draft, error) {
	text, err := []byte(how.set), error(nil)
	switch {
	case how.given:
	case how.file == "-":
		text, err = io.ReadAll(a.In)
	case how.file != "":
		text, err = os.ReadFile(how.file)
	default:
		return a.inEditor(ctx, state, value, how.at.Pointer())
	}
	if err != nil {
		return nil, nil, fmt.Errorf("edit: %w", err)
	}
	changed, err := splice.Replace(state, how.at.Pointer(), text)
	if err != nil {
		err = fmt.Errorf("edit: %s: %w", cmp.Or(how.file, "--set"), err)
	}
	return changed, nil, err
}

// draft is the temporary file that the editor opens; nil means no file.
type draft struct {
	path string
	in   *scratch.Folder
	// edited says that there is something in it that would be lost.
	edited bool
}

// endDraft removes the draft once the edit is in the store, or if nothing was edited. Otherwise it keeps the
// draft, and returns where it is in the error, or writes it to told.
func (d *draft) endDraft(told io.Writer, err error, dry bool) error {
	switch {
	case d == nil:
		return err
	case !d.edited, err == nil && !dry:
		return errors.Join(err, d.in.Remove())
	}
	kept := filepath.Join(filepath.Dir(d.in.Path), filepath.Base(d.path))
	if failed := os.Rename(d.path, kept); failed != nil {
		return errors.Join(err, failed, d.in.Remove())
	}
	if err = errors.Join(err, d.in.Remove()); err != nil {
		return &keptError{err, kept}
	}
	fmt.Fprintln(told, keptAt(kept))
	return nil
}

// keptError is an error after which an edit is still there.
type keptError struct {
	err  error
	path string
}

func (e *keptError) Error() string { return e.err.Error() }
func (e *keptError) Unwrap() error { return e.err }

func keptAt(path string) string {
	return fmt.Sprintf("Your edit is kept: --file %s takes it again.", shellWord(path))
}

// inEditor lets a person edit a value until it is JSON.
func (a *App) inEditor(ctx context.Context, state, value []byte, at string) ([]byte, *draft, error) {
	editor, err := a.editorCommand()
	if err != nil {
		return nil, nil, err
	}
	dir, err := scratch.Make("") // for the user alone
	if err != nil {
		return nil, nil, fmt.Errorf("edit: %w", err)
	}
	d := &draft{in: dir}
	before := splice.Pretty(value)
	if d.path, err = dir.Write(strings.TrimPrefix(filepath.Base(dir.Path), ".")+".json", before); err != nil {
		return nil, d, fmt.Errorf("edit: %w", err)
	}
	for {
		ended := a.runEditor(editor, d)
		text, err := os.ReadFile(d.path)
		if errors.Is(err, fs.ErrNotExist) {
			d.edited = false
			return nil, d, errors.New("edit: the editor removed the file with the edit, so no session is made")
		}
		d.edited = err != nil || !bytes.Equal(text, before)
		if err = errors.Join(ended, err, ctx.Err()); err != nil {
			return nil, d, fmt.Errorf("edit: %w", err)
		}
		changed, err := splice.Replace(state, at, text)
		if errors.Is(err, splice.ErrUnchanged) {
			d.edited = false
			err = fmt.Errorf("edit: %w, so no session is made", err)
		}
		if wrong := (*splice.ValueError)(nil); errors.As(err, &wrong) {
			err = fmt.Errorf("edit: what you saved is not JSON: %w", err)
			if a.askAgain(ctx, err) {
				continue
			}
		}
		return changed, d, err
	}
}

// askAgain prints the error of an edit and asks whether to edit again. Yes is the
// default, so that no edit is lost by accident.
func (a *App) askAgain(ctx context.Context, wrong error) bool {
	if !a.InTerminal {
		return false
	}
	fmt.Fprintf(a.Err, "%s\n", printable.String(wrong.Error()))
	person := asked{a, bufio.NewReader(a.In)}
	text, err := person.askLine(ctx, "edit again? [Y/n] ")
	return err == nil && (text == "" || text == "y" || text == "yes")
}

// runEditor lets the person's editor change a file. An interrupt is the editor's
// own business, so it does not end with the command.
func (a *App) runEditor(editor string, d *draft) error {
	cmd := exec.Command("sh", "-c", editor+` "$@"`, editor, d.path)
	d.in.Inherit(cmd)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.In, a.Out, a.Err
	if !a.OutTerminal {
		cmd.Stdout = a.Err // Out is for the answer
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the editor ended with an error: %s: %w; $VISUAL or $EDITOR names another", editor, err)
	}
	return nil
}

// editorCommand returns the command of the person's editor.
func (a *App) editorCommand() (string, error) {
	if named := cmp.Or(a.Getenv("VISUAL"), a.Getenv("EDITOR")); named != "" {
		return named, nil
	}
	if !a.InTerminal {
		return "", errors.New("edit: the input is not a terminal; give the value with --set or --file")
	}
	return "vi", nil
}
