// Package cli is the plain face of Hindcast: one subcommand for each thing
// that can be asked of a store or done to it, answered in text for people or,
// with --json, in one JSON document for scripts.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hindcast/look"
	"hindcast/query/ledger"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/store/labels"
)

// Encoder writes rows and returns how many it wrote.
type Encoder func(w io.Writer, rows iter.Seq2[store.Row, error]) (int, error)

// App is the world that the commands run in. main fills in every field.
type App struct {
	// Version is the version that --version prints.
	Version string
	// Notice has the terms of all that is linked into the program.
	Notice string
	// Kinds are the kinds of store that can be opened.
	Kinds store.Kinds
	// Create makes an empty store of the native kind at a path where nothing is yet, or where
	// a URL leads.
	Create func(ctx context.Context, path string) (store.Store, error)
	// Decode yields the rows of a portable file. Encode writes such a file with the text that each state adds
	// to its parent's. EncodeWhole writes each state whole.
	Decode              func(r io.Reader) iter.Seq2[store.Row, error]
	Encode, EncodeWhole Encoder
	// DecodeMapped yields the rows that a map, in words, finds in files and
	// folders of any JSON; "-" is in. The error is about the map.
	DecodeMapped func(ctx context.Context, words string, in io.Reader, paths []string, skipped func(rows int)) (iter.Seq2[store.Row, error], error)
	// MappedKind returns the kind of store that a map, in words, makes of any JSON.
	MappedKind func(words string) (store.Kind, error)
	// Labels are the user's names for snapshots.
	Labels labels.Labels
	// Ledger adds up the sessions of all stores, and keeps the sums.
	Ledger *ledger.Ledger
	// Demo gives the rows of the built-in demo, Sample what the screen shows
	// where there is no store.
	Demo   func() iter.Seq2[store.Row, error]
	Sample func(ctx context.Context) (Shown, error)
	// Live lets the agent of the live demo work in a store, until it is done or
	// ctx ends. The error is a model.ConflictError when the session was put
	// back meanwhile.
	Live func(ctx context.Context, s store.Store, how Live) (Lived, error)
	// Added are the stores that the user added by hindcast home add.
	Added home.Added
	// Around is where the usual places of the kinds are, in which stores are
	// looked for when none is named.
	Around store.Surroundings
	// Installed finds the version of an SDK that the project around a store uses. It may
	// be nil: then all versions are in question, unless one is named.
	Installed func(address, sdk string) (store.Release, bool)
	// Archive returns the archive of kept files at an address, "" for that of the user. Its error says that there is no
	// place for one.
	Archive func(address string) (home.Archive, error)
	// Screen shows a store until the person leaves.
	Screen func(ctx context.Context, what Shown) error
	// In, Out and Err are the standard streams.
	In       io.Reader
	Out, Err io.Writer
	// InTerminal says that a person can answer a question on In, OutTerminal
	// that Out is shown on a terminal as it is written, and ErrTerminal that Err is.
	InTerminal, OutTerminal, ErrTerminal bool
	// Columns returns how wide the terminal on Out is, in cells; 0 if that is not
	// known. Lines are cut to it on a terminal; elsewhere nothing is cut.
	Columns func() int
	// Pager is the command that long output goes through on a terminal, or "". See the function [Pager].
	Pager string
	// Getenv reads the environment.
	Getenv func(string) string
	// theme holds the words of --theme; "" leaves the choice to the environment.
	theme string
	// endpoint holds the URL of --endpoint; "" means that none was given.
	endpoint string
	// reads says that nothing is made for a plan either.
	reads bool
}

// Shown tells the screen what to open: a store, or the sessions of all.
type Shown struct {
	Store store.Store
	// Home is the stores whose sessions are listed; the screen does not close it. With Store, it is the list to
	// which leaving Session leads.
	Home *home.Home
	// Without returns the Shown for a Home without a store. Its error ends the screen, before it is drawn if the
	// error comes within Wait.
	Without func(ctx context.Context) (Shown, error)
	Wait    time.Duration
	// Session is shown at once; "" for the list of sessions.
	Session string
	// Plain tells it line by line, for a person who cannot see it.
	Plain bool
	// Theme is how it is drawn, in the words of look.Read; "" to go by the environment.
	Theme string
	// Demo says that the store is the built-in demo, because no store was found.
	Demo bool
	// Share writes a session to a new file, its secrets hidden: a report, or where the path
	// ends in .jsonl a portable file. only names the snapshots that go, as --only does; "" for
	// all. It returns at how many places a secret was hidden, and the list of them.
	Share func(ctx context.Context, s store.Store, session, only, path string) (places int, hidden string, err error)
	// Note is one line that is worth saying about where the store came from.
	Note string
}

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitFaults = 3
)

// anySDK is the version of the SDK for which no project around the store is searched.
const anySDK = "any"

// Run runs the command line, without the program's name, and returns the exit
// code: 0 done, 1 failed, 2 wrong usage, 3 the doctor found faults or a check failed. Whatever
// went wrong has been written to a.Err.
func Run(ctx context.Context, a *App, args []string) int {
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	switch {
	case errors.Is(err, errFaults):
		return exitFaults
	case errors.Is(err, errDiffer):
		return exitFailed
	}
	a.reportError(command.CommandPath(), err)
	if wrong := (*usageError)(nil); errors.As(err, &wrong) {
		return exitUsage
	}
	return exitFailed
}

func (a *App) rootCommand() *cobra.Command {
	version, plain := false, false
	root := &cobra.Command{
		Use:   "hindcast [STORE...] [SESSION]",
		Short: "travel through the sessions of an agent, and put one back",
		Long: `Hindcast opens the session store that an agent framework wrote, shows the
session as a tree of snapshots, what changed between any two of them, and puts
the session back to the snapshot you pick.

hindcast lists the sessions of all stores in the usual places and below the current
directory, newest first, and opens a built-in demo if there is no store. hindcast STORE
opens one store, hindcast SESSION a session of any, hindcast STORE SESSION one of it.

STORE is a path, whose kind is recognised by its shape, a URL, or KIND:ADDRESS. A
directory stands for the stores below it; hindcast doctor DIR says what is
there. A command takes its first word for STORE if that is a path that is there,
a URL or KIND:ADDRESS, or if there are as many words as can be; more stores may
follow it. Else STORE is that of HINDCAST_STORE, else all that are found. A store
that is called like a command is opened as ./NAME.
SESSION is the next word if there is such a session in one of the stores: its id,
or at least 4 characters of it. Else it is the session that changed last.
SNAPSHOT is #7 or 7 (its index), #6.2 (the second of two with one index), #6:1 (a
step of its turn), a label, an id or at least 4 characters of one, head or @, or
head~2 (two snapshots before). A name that fits several snapshots is an error that
lists them.`,
		Example: `  hindcast
  hindcast ~/.strands/sessions
  hindcast trips.db trip-planner
  hindcast log trips.db trip-planner
  hindcast diff trips.db 4..5
  hindcast restore trips.db trip-planner 5 --dry-run`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		ValidArgsFunction: a.completeSnapshot(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if version {
				return a.printVersion(a.Out)
			}
			if asJSON(cmd) {
				return usagef("the screen has no --json; the commands have it: see hindcast --help")
			}
			return a.showScreen(cmd, args, plain)
		},
	}
	// A flag of its own, because cobra prints a version through a template. A template
	// calls methods by name, so the linker would keep every method of the program.
	root.Flags().BoolVarP(&version, "version", "v", false, "version for hindcast")
	root.Flags().BoolVar(&plain, "plain", false, "tell the screen line by line and take words, as for a screen reader")
	root.Args = func(cmd *cobra.Command, args []string) error {
		if version {
			return nil
		}
		return a.storeOrCommand(cmd, args)
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.PersistentFlags().Bool("json", false, "print one JSON document")
	root.PersistentFlags().Bool("no-pager", false, "print long output as it is, also on a terminal")
	root.PersistentFlags().String("sdk", "", "the SDK and version that opens the store, as strands-python@1.54, or any; by default as the project around the store has it")
	root.PersistentFlags().StringVar(&a.theme, "theme", "", "how things are drawn: a list of `WORDS`, with commas, of "+
		strings.Join(look.Words(), ", ")+"; by default as "+look.Variable+" has it")
	completeTheme := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return look.Words(), cobra.ShellCompDirectiveNoFileComp
	}
	if err := root.RegisterFlagCompletionFunc("theme", completeTheme); err != nil {
		panic(err) // the flag stands above
	}
	endpoint := root.PersistentFlags().String("endpoint", "", "the `URL` of the server of s3:// addresses; by default as the AWS SDK finds it")
	// Import has a --map of its own, for the files that it reads.
	maps := root.PersistentFlags().StringArray("map", nil, "read the store as any JSON: `KEY=PATH,...`, see hindcast help import")
	kinds := a.Kinds
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if len(*maps) > 0 {
			k, err := a.MappedKind(strings.Join(*maps, ","))
			if err != nil {
				return usagef("%w", err)
			}
			a.Kinds = store.Kinds{k}
			return nil
		}
		kinds := kinds
		if a.endpoint = *endpoint; a.endpoint != "" {
			kinds = kinds.At(a.endpoint)
		}
		sdk, err := cmd.Flags().GetString("sdk")
		name, version, named := strings.Cut(sdk, "@")
		switch {
		case err != nil:
			return err
		case named:
			a.Kinds = kinds.WithVersion(store.Release{SDK: name, Version: version})
		case sdk == anySDK:
			a.Kinds = kinds
		case sdk != "":
			return usagef("--sdk %.40q: give an SDK and its version, as strands-python@1.54, or any", sdk)
		case a.Installed != nil:
			a.Kinds = kinds.WithVersions(a.Installed)
		default:
			a.Kinds = kinds
		}
		return nil
	}
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Look", []*cobra.Command{a.sessionsCommand(), a.logCommand(), a.showCommand(), a.diffCommand(), a.filesCommand(), a.commandsCommand(), a.historyCommand(), a.blameCommand(), a.findCommand(), a.bisectCommand(), a.grepCommand(), a.divergeCommand(), a.checkCommand(), a.whyCommand(), a.statsCommand(), a.messagesCommand(), a.contextCommand(), a.checkpointCommand(), a.labelCommand(), a.labelsCommand(), a.doctorCommand()}},
		{"Go back", []*cobra.Command{a.restoreCommand(), a.forkCommand(), a.continueCommand(kinds), a.editCommand(), a.runCommand(), a.undoCommand(), a.redoCommand(), a.journalCommand(), a.repairCommand(), a.purgeCommand(), a.giveBackCommand(), a.forgetCommand()}},
		{"Move", []*cobra.Command{a.exportCommand(), a.reportCommand(), a.importCommand(), a.convertCommand(), a.keepCommand()}},
		{"Other", []*cobra.Command{a.homeCommand(), a.demoCommand(), a.licensesCommand(), a.manCommand(), a.mcpCommand(), a.schemaCommand(), a.versionCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.title
		}
		root.AddCommand(g.commands...)
	}
	root.AddCommand(agentTopics()...)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Short, c.Long = "say more about a command", "Help says more about a command, as hindcast COMMAND --help does."
		case "completion":
			c.Short = "print a script that completes words in a shell"
			c.Long = "Completion prints a script for a shell, which completes commands, flags, and the\nsessions and snapshots of a store. hindcast completion SHELL --help says where to put it."
			c.GroupID = "Other"
			for _, shell := range c.Commands() {
				shell.Short = "print the script for " + shell.Name()
			}
		}
	}
	root.SetHelpCommandGroupID("Other")
	root.SetCompletionCommandGroupID("Other")
	return root
}

// versionCommand is `hindcast version`.
func (a *App) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "print the version of the program",
		Args:              argsBetween(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.runAnswer(func(_ context.Context, p *printer, _ []string) error {
			if p.json {
				return p.writeDocument(map[string]string{"version": a.Version})
			}
			return a.printVersion(p)
		}),
	}
}

// licensesCommand is `hindcast licenses`.
func (a *App) licensesCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "licenses",
		Short:             "print the terms of all that is in the program",
		Args:              argsBetween(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.runAnswer(func(_ context.Context, p *printer, _ []string) error {
			if p.json {
				return p.writeDocument(map[string]string{"notice": a.Notice})
			}
			_, err := p.WriteString(a.Notice)
			return err
		}),
	}
}

// printVersion writes the line of --version to w.
func (a *App) printVersion(w io.Writer) error {
	_, err := fmt.Fprintf(w, "hindcast %s\n", a.Version)
	return err
}

func asJSON(cmd *cobra.Command) bool {
	on, err := cmd.Flags().GetBool("json")
	return err == nil && on
}

// printer is where a command writes its answer.
type printer struct {
	*bufio.Writer
	json   bool
	paint  paint
	glyphs look.Glyphs
	// width is the number of cells to which lines are cut, or 0.
	width int
	// links says that paths are links, which the terminal opens.
	links bool
}

// runAnswer makes the RunE of a command that writes an answer: run gets a
// printer, which is flushed behind it.
func (a *App) runAnswer(run runner) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error { return a.answerTo(a.Out, cmd, args, run) }
}

// runReading makes the RunE of a command that only reads, whose answer may be long: as
// answer does, but on a terminal through the pager.
func (a *App) runReading(run runner) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		out, wait := a.startPager(cmd)
		return errors.Join(a.answerTo(out, cmd, args, run), wait())
	}
}

// runner is a command: it writes its answer to p.
type runner = func(ctx context.Context, p *printer, args []string) error

// lineWidth returns the width to which lines are cut, or 0.
func (a *App) lineWidth() int {
	if !a.OutTerminal || a.Columns == nil {
		return 0
	}
	return a.Columns()
}

func (a *App) answerTo(out io.Writer, cmd *cobra.Command, args []string, run runner) error {
	if asJSON(cmd) {
		out = a.harmlessWriter(out)
	}
	p := &printer{bufio.NewWriterSize(out, 64<<10), asJSON(cmd), a.newPaint(), look.Unicode, a.lineWidth(), false}
	if !p.json { // a document has no shapes, so it looks at no theme
		asked, err := look.Read(a.theme, a.Getenv)
		if err != nil {
			return err
		}
		p.glyphs, p.links = asked.Glyphs, asked.Links && a.OutTerminal && out == a.Out
	}
	err := run(cmd.Context(), p, args)
	return errors.Join(err, p.Flush())
}

// harmlessWriter is where JSON is written: byte for byte, but never so that a terminal
// would obey it or hide a part of it.
func (a *App) harmlessWriter(out io.Writer) io.Writer {
	if a.OutTerminal {
		return &asciiControls{w: out}
	}
	return out
}
