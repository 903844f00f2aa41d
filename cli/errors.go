package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/store"
)

// usageError is a command line that cannot be carried out as it is written.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// wrongError describes an error in words of its own, and is the error that it stands
// for.
type wrongError struct {
	text string
	err  error
}

func (e *wrongError) Error() string { return e.text }
func (e *wrongError) Unwrap() error { return e.err }

// advisedError is an error that brings its own advice.
type advisedError struct {
	err  error
	todo string
}

func (e *advisedError) Error() string { return e.err.Error() }
func (e *advisedError) Unwrap() error { return e.err }

// errFaults says that the doctor found faults, or a check breaches, which it has printed.
var errFaults = errors.New("faults found")

// argsBetween asks for a number of arguments.
func argsBetween(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		return usagef("%s, but %s", cmd.UseLine(), given(args))
	}
}

// storeOrCommand checks the screen's arguments. The first of two or more words may have been meant as a
// command.
func (a *App) storeOrCommand(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return nil
	}
	if _, err := os.Lstat(args[0]); err != nil && nearestName(args[0], commandNames(cmd)) != "" {
		return unknownWord(cmd, args[0])
	}
	if len(args) > 2 && !a.isStore(args[0]) {
		return usagef("unknown command %q", args[0])
	}
	return nil
}

// unknownWord returns the error for a word that is no command, no path and none of the sessions.
func unknownWord(cmd *cobra.Command, word string, sessions ...string) error {
	near := nearestName(word, append(commandNames(cmd), sessions...))
	if near != "" {
		near = ": did you mean " + near + "?"
	}
	return usagef("%s: no such command, path or session%s", word, near)
}

// commandNames returns the names of the commands below cmd.
func commandNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

func given(args []string) string {
	if len(args) == 0 {
		return "no argument is given"
	}
	return model.Count(len(args), "argument") + " given: " + strings.Join(args, ", ")
}

// reportError writes an error and what to do about it. Errors carry ids, paths and
// values out of stores, so they are escaped, and only the first line of one
// begins as a message of ours does.
func (a *App) reportError(command string, err error) {
	first, rest, _ := strings.Cut(printable.Addresses(err.Error()), "\n")
	fmt.Fprintf(a.Err, "hindcast: %s\n", printable.String(first))
	for line := range strings.Lines(rest) {
		fmt.Fprintf(a.Err, "  | %s\n", printable.String(strings.TrimSuffix(line, "\n")))
	}
	if wrong := mistaken(nil); errors.As(err, &wrong) {
		a.pointOut(wrong.Mistake())
	}
	if todo := advice(command, err); todo != "" {
		fmt.Fprintf(a.Err, "  %s\n", printable.Addresses(todo))
	}
	if edit := (*keptError)(nil); errors.As(err, &edit) {
		fmt.Fprintf(a.Err, "  %s\n", keptAt(edit.path))
	}
}

// mistaken is an error about a text that was given, and the byte at which it goes wrong.
type mistaken interface {
	error
	Mistake() (text string, offset int)
}

// mostPointed bounds what is shown of a text on either side of its mistake, in bytes.
const mostPointed = 60

// pointOut writes the line of a text that has a mistake, with a caret below the mistake.
func (a *App) pointOut(text string, offset int) {
	offset = min(max(offset, 0), len(text))
	before, behind := text[:offset], text[offset:]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	behind, _, _ = strings.Cut(behind, "\n")
	before = strings.ToValidUTF8(before[max(len(before)-mostPointed, 0):], "")
	behind = strings.ToValidUTF8(behind[:min(len(behind), mostPointed)], "")
	before = printable.String(before)
	fmt.Fprintf(a.Err, "    %s%s\n    %s^\n", before, printable.String(behind), spaces(displaywidth.String(before)))
}

// advice returns advice about an error of a command, or "".
func advice(command string, err error) string {
	var wrong *usageError
	var nothing *model.NothingToError
	var advised *advisedError
	var several *severalError
	var unwritable *model.UnwritableError
	switch {
	case errors.As(err, &several):
		return "Name one of them: " + command + " " + printable.String(several.stores[0].At)
	case errors.As(err, &advised):
		return printable.String(advised.todo)
	case errors.As(err, &wrong):
		return command + " --help says more."
	case errors.Is(err, model.ErrNoSession):
		return "hindcast sessions STORE lists the sessions."
	case errors.Is(err, model.ErrAmbiguous):
		return "Give one of these names instead."
	case errors.Is(err, model.ErrNoSnapshot):
		return "hindcast log STORE SESSION lists the snapshots; SNAPSHOT is 7, #6.2, a label, at least 4 characters of an id, head, or head~2."
	case errors.Is(err, model.ErrHeadMoved):
		return "Nothing was written. Look at the session again, then repeat the command."
	case errors.Is(err, store.ErrSessionExists):
		return "Nothing was written. Give another name, or look at that session: hindcast log STORE SESSION."
	case errors.As(err, &nothing):
		return nothingAdvice[nothing.Op]
	case errors.Is(err, store.ErrUnrecognised):
		return "STORE is a path or KIND:ADDRESS. Name the kind if the path is right."
	case errors.Is(err, fs.ErrExist):
		return "No file is replaced: name another one, or move that one away."
	case errors.Is(err, fs.ErrNotExist):
		return "Is the path right? hindcast demo makes a store to try things on."
	case errors.As(err, &unwritable):
		return "" // it says so itself
	case errors.Is(err, fs.ErrPermission) && errors.As(err, new(syscall.Errno)): // a server says itself what to do
		return "The file system does not let you read or write this. Nothing was written."
	case errors.Is(err, context.Canceled):
		return "Interrupted. Nothing was written unless a receipt was printed."
	}
	return ""
}

var nothingAdvice = map[model.Op]string{
	model.OpUndo:   "hindcast journal STORE lists the writes.",
	model.OpRedo:   "hindcast journal STORE lists the writes. After a new write an undone one cannot be done again.",
	model.OpRepair: "hindcast doctor STORE SESSION lists the faults, and how the framework treats them.",
	model.OpPurge:  "hindcast journal STORE lists the kept contents; --all forgets all contents of a session that were set aside.",
}

// lackError says that a store cannot do an operation, and what can be done instead. words are the
// arguments of the command: STORE, SESSION and SNAPSHOT, as far as they are known.
func lackError(s store.Store, op model.Op, reason string, words ...string) error {
	given := make([]string, len(words))
	for i, text := range words {
		given[i] = shellWord(text)
	}
	if len(words) > 0 {
		given[0] = shellWord(shownAddress(words[0], s)) // without a password
	}
	todo := ""
	switch op {
	case model.OpRestore, model.OpFork:
		todo = "hindcast export " + given[0] + " | hindcast import - FILE.db copies the sessions into a store that can."
		if fork := forkFrom(s, given); fork != "" {
			todo = fork + " starts a new session from there."
		}
	case model.OpEdit:
		copied := fmt.Sprintf("hindcast convert %s %s --to sqlite:FILE.db --as %[2]s", given[0], given[1])
		fork := forkFrom(s, given)
		switch {
		case store.HoldsRecordings(s.Kind()):
			todo = copied + " makes a session that can be edited."
		case fork == "":
			todo = copied + " makes a copy that can be edited, which its own tool does not resume."
		default:
			todo = fork + " starts a new session from there, which its own tool resumes. Say there what you want otherwise."
		}
	case model.OpRepair:
		todo = "hindcast doctor " + strings.Join(given, " ") + " lists the faults, and how the framework treats them."
	case model.OpRun:
		todo = "STORE must be a process that runs, by its URL, such as http://127.0.0.1:3100, or a Genkit project in which one runs."
	case model.OpConvert:
		todo = "--to takes a native store: sqlite:FILE.db, or the URL of a database."
	}
	if s.Features().Kept && len(given) > 1 {
		todo = "hindcast give-back " + given[1] + " puts its files back, so that it goes on as any session."
	}
	return &advisedError{&model.UnsupportedError{Op: op, Reason: reason}, todo}
}

// forkFrom returns the command that forks a session, "" where the store cannot. words are STORE, SESSION and
// SNAPSHOT, as far as they are known.
func forkFrom(s store.Store, words []string) string {
	if store.Reason(s, model.OpFork) != "" {
		return ""
	}
	call := "hindcast fork " + strings.Join(words, " ")
	if !store.NamesForks(s) {
		call += " --as ID"
	}
	return call
}

// sinceThen explains a refused undo whose own advice is out of date: to repeat it would not help.
func sinceThen(err error) error {
	switch {
	case errors.Is(err, model.ErrHeadMoved):
		return &advisedError{err, "Nothing was written. What came since would be lost; hindcast restore goes back to any snapshot and keeps all of it."}
	case errors.Is(err, fs.ErrNotExist):
		return &advisedError{err, "Nothing was written. What was purged is gone for good; hindcast log STORE SESSION shows what is there."}
	}
	return err
}
