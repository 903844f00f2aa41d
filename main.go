// Command hindcast travels through the sessions of an agent and puts one back
// to the snapshot you pick.
//
// This file wires the rooms together and does nothing else.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"io"
	"iter"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/mattn/go-isatty"

	"hindcast/agent/scripted"
	"hindcast/cli"
	"hindcast/keymap"
	"hindcast/prices"
	"hindcast/query/ledger"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/store/kinds"
	"hindcast/store/kinds/jsonl"
	"hindcast/store/kinds/mapped"
	"hindcast/store/labels"
	"hindcast/store/media/files"
	"hindcast/store/media/scratch"
	"hindcast/store/native/sqlite"
	"hindcast/store/sample"
	"hindcast/store/sdk/installed"
	"hindcast/tui"
	"hindcast/tui/quiet"
)

func main() {
	quiet.Restore()
	if os.Getenv("GOMEMLIMIT") == "" {
		heap := []metrics.Sample{{Name: "/gc/scan/heap:bytes"}, {Name: "/gc/heap/live:bytes"}}
		runtime.AddCleanup(new([16]byte), collectOften, heap) // runs after the first collection
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the program at once
		time.Sleep(grace)
		os.Exit(1)
	})
	os.Exit(cli.Run(ctx, app(), os.Args[1:]))
}

// collectOften sets, after each collection, the limit from which memory is collected at each large
// allocation: the copies of a record of 64 MB are garbage by the time the next one is made. The limit
// leaves room above what is live, or each small allocation would collect. Where there is much to scan a
// collection costs more than it frees, and there is no limit.
func collectOften(heap []metrics.Sample) {
	const limit, mostScanned = 96 << 20, 48 << 20
	metrics.Read(heap)
	scanned, live := heap[0].Value.Uint64(), heap[1].Value.Uint64()
	most := max(limit, int64(live+live/2))
	if scanned > mostScanned {
		most = math.MaxInt64
	}
	debug.SetMemoryLimit(most)
	runtime.AddCleanup(new([16]byte), collectOften, heap) // runs after the next one
}

// grace is how long the program may take to end after a signal. What is cut off there is settled
// by the next opening, as after a kill.
const grace = 5 * time.Second

// notice has the terms of all that is linked into the program.
//
//go:embed NOTICE
var notice string

func app() *cli.App {
	return &cli.App{
		Version:      version(),
		Notice:       notice,
		Kinds:        kinds.All(keptNotes(), ownData()),
		Create:       kinds.Create,
		Decode:       jsonl.Read,
		Encode:       jsonl.Write,
		EncodeWhole:  jsonl.WriteWhole,
		DecodeMapped: decodeMapped,
		MappedKind: func(words string) (store.Kind, error) {
			m, err := mapped.ParseMap(words)
			return mapped.Kind(m), err
		},
		Labels:      labels.New(ownData()),
		Ledger:      ledger.New(keptNotes()),
		Demo:        sample.Rows,
		Live:        live,
		Sample:      showSample,
		Archive:     openArchive,
		Around:      around(),
		Added:       addedStores(),
		Installed:   inProject,
		Screen:      screen,
		In:          os.Stdin,
		Out:         os.Stdout,
		Err:         os.Stderr,
		InTerminal:  isatty.IsTerminal(os.Stdin.Fd()),
		OutTerminal: isatty.IsTerminal(os.Stdout.Fd()),
		ErrTerminal: isatty.IsTerminal(os.Stderr.Fd()),
		Pager:       cli.Pager(os.LookupEnv),
		Columns:     columns,
		Getenv:      os.Getenv,
	}
}

// columns returns the width of the terminal on the standard output, 0 if that is not
// known.
func columns() int {
	width, _, err := term.GetSize(os.Stdout.Fd())
	if err != nil {
		return 0
	}
	return width
}

// screen shows a store, with the user's own keys.
func screen(ctx context.Context, what cli.Shown) error {
	keys, err := keymap.Load(keymap.Path(os.Getenv))
	if err != nil {
		return err
	}
	options := opening(what)
	options.Keys, options.ThemeNames, options.Plain = keys, what.Theme, what.Plain
	options.Labels, options.Share = labels.New(ownData()), what.Share
	options.Ledger = ledger.New(keptNotes())
	options.Around = around()
	for _, kind := range kinds.All(keptNotes(), ownData()) {
		if kind.Continues {
			options.Continuers = append(options.Continuers, kind)
		}
	}
	costs, err := prices.Load(prices.Path(os.Getenv))
	if err != nil {
		options.Note = err.Error() // nothing has a cost then
	} else {
		options.Prices, options.Window, options.Currency, options.ListDate = costs, costs.WindowOf, costs.Currency, costs.ListDate
	}
	return tui.Run(ctx, options)
}

// opening returns the options that say what the screen opens with.
func opening(what cli.Shown) tui.Options {
	options := tui.Options{
		Store: what.Store, Home: what.Home, Session: what.Session, Note: what.Note, Wait: what.Wait, Watches: labels.New(ownData()),
	}
	if what.Without != nil {
		options.Without = func(ctx context.Context) (tui.Options, error) {
			found, err := what.Without(ctx)
			return opening(found), err
		}
	}
	if what.Demo {
		options.Watches = nil // its store goes
		options.Tour = &tui.Tour{
			Session: sample.Trip, At: sample.Cancelled,
			Text: "No store was found: a demo. Here the cart was emptied.",
		}
	}
	return options
}

// showSample returns the sample store, in a folder that goes when it is closed, open
// at the session that has branches.
func showSample(ctx context.Context) (cli.Shown, error) {
	folder, err := scratch.Make("")
	if err != nil {
		return cli.Shown{}, err
	}
	s, err := sqlite.Create(ctx, filepath.Join(folder.Path, "demo.db"))
	if err != nil {
		return cli.Shown{}, errors.Join(err, folder.Remove())
	}
	_, err = s.Import(ctx, sample.Rows())
	return cli.Shown{Store: fleeting{s, folder}, Session: sample.Trip, Demo: true}, err
}

// fleeting is a store that goes when it is closed.
type fleeting struct {
	*sqlite.Store
	folder *scratch.Folder
}

func (s fleeting) Close() error { return errors.Join(s.Store.Close(), s.folder.Remove()) }

// decodeMapped returns the rows that a map finds in any JSON.
func decodeMapped(ctx context.Context, words string, in io.Reader, paths []string, skipped func(rows int)) (iter.Seq2[store.Row, error], error) {
	m, err := mapped.ParseMap(words)
	if err != nil {
		return nil, err
	}
	return mapped.Read(ctx, mapped.From(in, paths...), m, skipped), nil
}

// live lets the agent of the live demo work in a store.
func live(ctx context.Context, s store.Store, how cli.Live) (cli.Lived, error) {
	report, err := scripted.Run(ctx, s, scripted.Options(how))
	return cli.Lived(report), err
}

// around is where the usual places are looked for.
func around() store.Surroundings {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // not known
	}
	return store.Surroundings{Home: home, Temp: os.TempDir(), Work: ".", Env: os.Getenv}
}

// openArchive returns the archive at an address, "" for the one that HINDCAST_ARCHIVE names, or else that in the user's folder for data.
func openArchive(address string) (home.Archive, error) {
	if address = cmp.Or(address, os.Getenv("HINDCAST_ARCHIVE")); address == "" {
		data := ownData()
		if data == "" {
			return nil, errors.New("there is no folder for data: set XDG_DATA_HOME or HOME, or name a file with --to")
		}
		address = filepath.Join(data, "kept.db")
	}
	return kinds.Archive(address, keptNotes(), ownData()), nil
}

// addedStores returns the file of the stores that the user added, beside the user's own keys.
func addedStores() (list home.Added) {
	if keys := keymap.Path(os.Getenv); keys != "" {
		list = home.Added{File: filepath.Join(filepath.Dir(keys), "stores"), Home: around().Home}
	}
	return list
}

// inProject finds the version of an SDK in the project around a store; the folders of the user and of the
// system are no projects.
func inProject(address, sdk string) (store.Release, bool) {
	in := around()
	return installed.Find(address, sdk, in.Home, in.Temp)
}

// keptNotes returns the cache that keeps notes on the files of stores from one run to the next. It lies in
// the user's cache folder; HINDCAST_CACHE names another folder, or says "off".
func keptNotes() *files.Cache {
	switch dir := os.Getenv("HINDCAST_CACHE"); dir {
	case "off":
		return nil
	case "":
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil // the files are read each time
		}
		return files.NewCache(filepath.Join(cache, "hindcast"))
	default:
		return files.NewCache(dir)
	}
}

// ownData returns the user's folder for data that Hindcast keeps outside stores, "" if the system has no such
// folder.
func ownData() string {
	dir := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		dir = filepath.Join(home, ".local", "share")
		if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
			dir, err = os.UserConfigDir()
		}
		if err != nil {
			return ""
		}
	}
	return filepath.Join(dir, "hindcast")
}

// released is the version of a program that .ci/release built, by -ldflags=-X; "" for any other.
var released string

// version returns the version that the program was built from.
func version() string {
	if released != "" {
		return released
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
