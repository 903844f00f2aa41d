package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/store"
	"hindcast/store/home"
)

// homeCommand is `hindcast home`.
func (a *App) homeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "home",
		Short: "list the stores that are found, and add others",
		Long: `Home lists the stores whose sessions hindcast and hindcast sessions list: those in the
usual places and below the current directory, and those that you added by hindcast
home add. A store that cannot be read is listed with the reason.

What you add is a line in a file of yours, hindcast/stores in $XDG_CONFIG_HOME or
~/.config. You may edit it; an empty line and one that begins with # mean nothing.
It holds no credentials: the password of a database comes from PGPASSWORD or
~/.pgpass, and the keys of a bucket from the environment or the configuration of AWS.`,
		Example: `  hindcast home
  hindcast home add postgres://reader@db.example/agents
  hindcast home remove postgres://reader@db.example/agents`,
		Args:              argsBetween(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              a.runReading(func(ctx context.Context, p *printer, _ []string) error { return a.listStores(ctx, p) }),
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "add ADDRESS",
		Short: "add a store that is in no usual place",
		Long: `Add notes the address of a store, so that its sessions are listed with those of all
others: a path, a URL or KIND:ADDRESS. Nothing is opened, so a server may be down.`,
		Example:           "  hindcast home add s3://agents/sessions",
		Args:              argsBetween(1, 1),
		ValidArgsFunction: completeStore,
		RunE:              a.runAnswer(func(ctx context.Context, p *printer, args []string) error { return a.addStore(ctx, p, args[0]) }),
	}, &cobra.Command{
		Use:     "remove ADDRESS",
		Short:   "list a store no longer that was added",
		Long:    "Remove takes the address of a store out of the file of those that were added. The store\nitself stays as it is.",
		Example: "  hindcast home remove s3://agents/sessions",
		Args:    argsBetween(1, 1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			list, _ := a.Added.Addresses() // the command itself reports an error
			return list[:len(list)*max(1-len(args), 0)], cobra.ShellCompDirectiveNoFileComp
		},
		RunE: a.runAnswer(func(ctx context.Context, p *printer, args []string) error { return a.removeStore(ctx, p, args[0]) }),
	})
	return cmd
}

// homeJSON is an element of `home --json`: a store.
type homeJSON struct {
	Kind      string     `json:"kind,omitempty"`
	Address   string     `json:"address"`
	Added     bool       `json:"added,omitempty"`
	Sessions  int        `json:"sessions"`
	Size      int64      `json:"size,omitempty"`
	UpdatedAt *time.Time `json:"updatedAt"`
	Error     string     `json:"error,omitempty"`
}

// listStores lists the stores of the home, the last changed first.
func (a *App) listStores(ctx context.Context, p *printer) (failed error) {
	h, _, _, err := a.homeOf(ctx, allStores, nil)
	if err != nil {
		return err
	}
	defer h.Close() // it was only read
	sums := map[*home.Store]*homeJSON{}
	for session, err := range h.Sessions(ctx) {
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		sum := sums[session.Store]
		if sum == nil {
			sum = new(homeJSON)
			sums[session.Store] = sum
		}
		if session.Err != nil {
			sum.Error = printable.Addresses(session.Err.Error())
			continue
		}
		sum.Sessions++
		sum.Size += session.Size
		if at := session.UpdatedAt; sum.UpdatedAt == nil || at.After(*sum.UpdatedAt) {
			sum.UpdatedAt = &at
		}
	}
	list := []homeJSON{}
	for _, s := range h.Stores() {
		var sum homeJSON
		if of := sums[s]; of != nil {
			sum = *of
		}
		if sum.UpdatedAt != nil {
			sum.UpdatedAt = writableTime(*sum.UpdatedAt)
		}
		sum.Kind, sum.Address, sum.Added = s.Name, printable.Addresses(s.At), s.Added
		list = append(list, sum)
	}
	slices.SortStableFunc(list, func(a, b homeJSON) int {
		return cmp.Or(cmp.Compare(b.Error, a.Error), momentOf(b.UpdatedAt).Compare(momentOf(a.UpdatedAt)))
	})
	switch {
	case p.json:
		return errors.Join(p.writeDocument(list), failed)
	case len(list) == 0 && failed == nil:
		return noStore()
	}
	p.writeStores(list)
	return failed
}

// momentOf returns a time, the zero one for nil.
func momentOf(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}

// writeStores writes a table of stores, and below it why some cannot be read.
func (p *printer) writeStores(list []homeJSON) {
	var t table
	t.addRow("KIND", "SESSIONS", "SIZE", "CHANGED", "ADDED", "ADDRESS")
	sessions := 0
	for _, s := range list {
		size, added, changed, count := "", "", "", strconv.Itoa(s.Sessions)
		if s.UpdatedAt != nil {
			changed = formatMoment(*s.UpdatedAt)
		}
		if s.Size > 0 {
			size = string(model.AppendSize(nil, s.Size))
		}
		if s.Added {
			added = "added"
		}
		if s.Error != "" && s.Sessions == 0 {
			count = p.glyphs.Bad
		}
		sessions += s.Sessions
		t.addRow(s.Kind, count, size, changed, added, printable.String(s.Address))
	}
	t.dropEmpty()
	t.writeTable(p)
	for _, s := range list {
		if s.Error != "" {
			fmt.Fprintf(p, "%s %s\n", p.glyphs.Bad, printable.String(s.Error))
		}
	}
	fmt.Fprintf(p, "%s in %s\n", model.Count(sessions, "session"), model.Count(len(list), "store"))
}

// addedJSON is the document of `home add --json` and `home remove --json`.
type addedJSON struct {
	Address string `json:"address"`
	File    string `json:"file"`
	Added   bool   `json:"added"`
	Changed bool   `json:"changed"`
}

// addStore adds the store at an address.
func (a *App) addStore(ctx context.Context, p *printer, address string) error {
	whole, id, err := home.CheckAddress(ctx, a.Kinds, address)
	if errors.Is(err, store.ErrUnrecognised) || errors.Is(err, fs.ErrNotExist) {
		_, err = a.findStore(ctx, address) // its error names the reason
		if err == nil {
			err = &advisedError{
				fmt.Errorf("add %s: it is no store, but has one in it", address),
				"Add that: hindcast doctor " + address + " lists what is there.",
			}
		}
	}
	if errors.Is(err, home.ErrCredentials) {
		err = fmt.Errorf("add %s: %w", printable.Addresses(address), err)
	}
	if err != nil {
		return err
	}
	changed, err := a.Added.AddAddress(whole)
	if err != nil {
		return err
	}
	if p.json {
		return p.writeDocument(addedJSON{whole, a.Added.File, true, changed})
	}
	text := "added "
	if !changed {
		text = "it was added before: "
	}
	_, err = fmt.Fprintf(p, "%s%s, %s store, in %s\n", text, printable.String(whole), store.Article(id.Name), printable.String(a.Added.File))
	return err
}

// removeStore removes an address that was added.
func (a *App) removeStore(ctx context.Context, p *printer, address string) error {
	err := a.Added.RemoveAddress(address)
	if errors.Is(err, home.ErrNotAdded) {
		if whole, _, wrong := home.CheckAddress(ctx, a.Kinds, address); wrong == nil {
			address, err = whole, a.Added.RemoveAddress(whole)
		}
	}
	if errors.Is(err, home.ErrNotAdded) {
		list, _ := a.Added.Addresses() // they were read just now
		text := fmt.Sprintf("remove %s: %v", printable.Addresses(address), err)
		whole, _ := filepath.Abs(address) // else there is no near one
		if near := cmp.Or(nearestName(address, list), nearestName(whole, list)); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
		}
		return &advisedError{&wrongError{text, err}, "A store in a usual place is listed as long as it is there. What was added is in " + cmp.Or(a.Added.File, "no file") + "."}
	}
	if err != nil {
		return err
	}
	if p.json {
		return p.writeDocument(addedJSON{address, a.Added.File, false, true})
	}
	_, err = fmt.Fprintf(p, "removed %s from %s\n", printable.String(address), printable.String(a.Added.File))
	return err
}
