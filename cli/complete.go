package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hindcast/look"
	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/query"
	"hindcast/store"
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
	address, _, ok := a.splitStore(args)
	if !ok {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return a.sessionWords(cmd.Context(), address, word), cobra.ShellCompDirectiveNoFileComp
}

// splitStore returns the store that words name, of several the last, or else HINDCAST_STORE, and what follows
// it. Completion looks for no other store: a shell waits for it.
func (a *App) splitStore(args []string) (address string, rest []string, ok bool) {
	for len(args) > 0 && a.isStore(args[0]) {
		address, args = args[0], args[1:]
	}
	if address != "" {
		return address, args, true
	}
	address = a.Getenv(storeVariable)
	return address, args, address != ""
}

// completeSnapshot completes a store, one of its sessions and as many of the
// session's snapshots. Where no session is named, it completes snapshots of the
// session that changed last.
func (a *App) completeSnapshot(snapshots int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		address, rest, ok := a.splitStore(args)
		switch {
		case !ok && len(args) == 0:
			return nil, cobra.ShellCompDirectiveDefault
		case !ok:
			return nil, cobra.ShellCompDirectiveNoFileComp
		case len(rest) == 0:
			words, directive := a.sessionWords(cmd.Context(), address, word), cobra.ShellCompDirectiveNoFileComp
			if len(args) == 0 { // it may be a store, too
				directive = cobra.ShellCompDirectiveDefault
			}
			return words, directive
		case len(rest) < 1+snapshots:
			return a.snapshotWords(cmd.Context(), address, rest[0], word), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completePath completes a store, one of its sessions, as many of its snapshots, and a path
// in a state: of the keys of the head, as deep as was typed. A word that begins as a path is
// one of the session that changed last where none is named.
func (a *App) completePath(snapshots int) cobra.CompletionFunc {
	before := a.completeSnapshot(snapshots)
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		address, rest, ok := a.splitStore(args)
		begun := word != "" && (word[0] == '/' || word[0] == '.')
		if !ok || len(rest) > 1+snapshots || !begun && len(rest) < 1+snapshots {
			return before(cmd, args, word)
		}
		return a.pathWords(cmd.Context(), address, rest, word)
	}
}

// pathWords returns the paths in the head of a session, the first word of rest, that begin
// with a word.
func (a *App) pathWords(ctx context.Context, address string, rest []string, word string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	directive := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	s, err := a.openStore(ctx, address)
	if err != nil {
		return nil, directive
	}
	defer s.Close()
	session := ""
	if len(rest) > 0 {
		session = rest[0]
	} else if session, err = latestSession(ctx, s); err != nil {
		return nil, directive
	}
	t, err := query.ReadTimeline(ctx, s, session)
	if err != nil || t.Head() == model.NoNode {
		return nil, directive
	}
	head := t.Header(t.Head())
	state, err := s.State(ctx, head.Ref())
	if err != nil {
		return nil, directive
	}
	var words []string
	paths, more := query.CompletePath(state, word)
	for i, path := range paths[:min(len(paths), completionsMost)] {
		if !isPlain(path) {
			continue
		}
		if words = append(words, path); more[i] {
			directive |= cobra.ShellCompDirectiveNoSpace // it may go on
		}
	}
	return words, directive
}

// completeFlagSnapshot completes a flag that names a snapshot of the session that is named,
// else of the one that changed last.
func (a *App) completeFlagSnapshot(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	address, rest, ok := a.splitStore(args)
	if !ok {
		return nil, directive
	}
	session := ""
	if len(rest) > 0 {
		session = rest[0]
	} else if s, err := a.openStore(cmd.Context(), address); err == nil {
		session, err = latestSession(cmd.Context(), s)
		if err := errors.Join(err, s.Close()); err != nil {
			return nil, directive
		}
	}
	return a.snapshotWords(cmd.Context(), address, session, word), directive
}

func (a *App) sessionWords(ctx context.Context, address, word string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	s, err := a.openStore(ctx, address)
	if err != nil {
		return nil
	}
	defer s.Close()
	var words []string
	for info, err := range store.AnyOrder(ctx, s) {
		if err != nil || len(words) == completionsMost {
			break
		}
		if strings.HasPrefix(info.ID, word) && isPlain(info.ID) {
			words = append(words, fmt.Sprintf("%s\t%s, head #%d", info.ID, model.Count(info.Snapshots, "snapshot"), info.Head.Index))
		}
	}
	return words
}

// snapshotWords returns head, then the names of the snapshots, newest first, each
// with its title. The # is left out, which begins a comment in a shell, unless the
// word begins with it.
func (a *App) snapshotWords(ctx context.Context, address, session, word string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	s, err := a.openStore(ctx, address)
	if err != nil {
		return nil
	}
	defer s.Close()
	t, err := query.ReadTimeline(ctx, s, session)
	if err != nil {
		return nil
	}
	labels, err := a.Labels.Of(ctx, s, session)
	if err != nil {
		return nil
	}
	t.SetLabels(labels)
	asked, err := look.Read(a.theme, a.Getenv)
	if err != nil {
		return nil
	}
	var words []string
	if strings.HasPrefix("head", word) {
		words = append(words, "head\tfrom where the framework resumes")
	}
	for _, label := range labels {
		if strings.HasPrefix(label.Name, word) && t.FindLabel(label.Name) != model.NoNode && isPlain(label.Name) {
			words = append(words, label.Name+"\t"+t.Name(t.FindLabel(label.Name))+"  "+clipText(label.Note, maxTitle, asked.Glyphs.Ellipsis))
		}
	}
	for n := model.Node(t.Len() - 1); n >= 0 && len(words) < completionsMost; n-- {
		h, name := t.Header(n), t.Name(n)
		if !strings.HasPrefix(word, "#") {
			name = name[1:]
		}
		if strings.HasPrefix(name, word) {
			words = append(words, name+"\t"+strings.TrimSpace(clipText(h.EventText(), maxEvent, asked.Glyphs.Ellipsis)+"  "+clipText(h.Title, maxTitle, asked.Glyphs.Ellipsis)))
		}
	}
	return words
}

// isPlain reports whether a name can be given to a shell as it is: what a shell
// inserts goes to its line editor, where a control character is a key.
func isPlain(name string) bool { return printable.String(name) == name }
