package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hindcast/look"
	"hindcast/model"
	"hindcast/model/printable"
)

// A shell waits while the store is asked what could come next, so that has to
// be short; and a store that cannot be opened completes to nothing, because
// the command itself will say why.
const (
	completionTime  = 2 * time.Second
	completionsMost = 500
)

// completeStore completes the first argument: a path.
func completeStore(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// completeSessions completes a store and any number of its sessions.
func (a *App) completeSessions(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return a.sessionWords(cmd.Context(), args[0], word), cobra.ShellCompDirectiveNoFileComp
}

// completeSnapshot completes a store, one of its sessions and as many of the
// session's snapshots.
func (a *App) completeSnapshot(snapshots int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			return nil, cobra.ShellCompDirectiveDefault
		case len(args) == 1:
			return a.sessionWords(cmd.Context(), args[0], word), cobra.ShellCompDirectiveNoFileComp
		case len(args) < 2+snapshots:
			return a.snapshotWords(cmd.Context(), args[0], args[1], word), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *App) sessionWords(ctx context.Context, address, word string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	s, err := a.open(ctx, address)
	if err != nil {
		return nil
	}
	defer s.Close()
	var words []string
	for info, err := range s.Sessions(ctx) {
		if err != nil || len(words) == completionsMost {
			break
		}
		if strings.HasPrefix(info.ID, word) && plain(info.ID) {
			words = append(words, fmt.Sprintf("%s\t%s, head #%d", info.ID, count(info.Snapshots, "snapshot"), info.HeadIndex))
		}
	}
	return words
}

// snapshotWords gives head, then the snapshots, newest first: by index where
// the word begins with #, else by id.
func (a *App) snapshotWords(ctx context.Context, address, session, word string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	s, err := a.open(ctx, address)
	if err != nil {
		return nil
	}
	defer s.Close()
	t, err := timeline(ctx, s, session)
	if err != nil {
		return nil
	}
	asked, err := look.Read("", a.Getenv)
	if err != nil {
		return nil
	}
	var words []string
	if strings.HasPrefix("head", word) {
		words = append(words, "head\tfrom where the framework resumes")
	}
	seen := map[string]bool{}
	for n := model.Node(t.Len() - 1); n >= 0 && len(words) < completionsMost; n-- {
		h := t.Header(n)
		name := h.ID
		if strings.HasPrefix(word, "#") {
			name = fmt.Sprintf("#%d", h.Index)
		}
		if seen[name] || !strings.HasPrefix(name, word) || !plain(name) {
			continue
		}
		seen[name] = true
		words = append(words, fmt.Sprintf("%s\t#%d turn %s, %s %s", name, h.Index, turnText(h, asked.Glyphs.Ellipsis), clip(h.EventText(), maxEvent, asked.Glyphs.Ellipsis), clip(h.Title, maxTitle, asked.Glyphs.Ellipsis)))
	}
	return words
}

// plain reports whether a name can be given to a shell as it is: what a shell
// inserts goes to its line editor, where a control character is a key.
func plain(name string) bool { return printable.String(name) == name }
