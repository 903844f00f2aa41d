package kinds_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/chattest"
	"hindcast/store/storetest/skip"
)

// chained are the agents whose records name the one before them, and which go on from one piece where it is missing. Package
// claudecode tests the joins of recorded sessions of Claude Code, where a lost record may have been a rewind's.
var chained = []string{"claude-code", "pi", "qwen"}

// joinPieces joins a session, and returns the new one.
func joinPieces(t *testing.T, s store.Store, session string) (plan model.Plan, err error) {
	t.Helper()
	plan, err = s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: session}, Join: true})
	if err == nil {
		_, err = s.Features().Apply(context.WithoutCancel(t.Context()), plan)
	}
	return plan, err
}

// Each line of the sessions that the agents wrote is taken out, one at a time. Where the chain is in pieces then, all of them are
// listed, a fault says so, and a join has all messages but that of the line.
func TestJoin_recorded(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	for _, kind := range chained[1:] {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			joined := 0
			err := filepath.WalkDir(filepath.Join(testdata, "coding", kind), func(name string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() || !strings.HasSuffix(name, ".jsonl") || strings.Contains(name, "subagents") {
					return err
				}
				text, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				lines := bytes.SplitAfter(text, []byte("\n"))
				for k := range lines {
					joined += joinWithout(t, kind, name, lines, k)
				}
				return nil
			})
			if t.Logf("joined %d sessions", joined); err != nil || joined == 0 {
				t.Errorf("joined %d sessions, %v", joined, err)
			}
		})
	}
}

// joinWithout joins a session of lines without one of them, and returns 1, or 0 if it is in one piece.
func joinWithout(t *testing.T, kind, name string, lines [][]byte, k int) int {
	t.Helper()
	whole, torn := storeOfLines(t, kind, name, lines), storeOfLines(t, kind, name, slices.Delete(slices.Clone(lines), k, k+1))
	if whole == nil || torn == nil {
		return 0
	}
	session := storetest.Sessions(t, torn)[0].ID
	if storetest.Sessions(t, whole)[0].ID != session {
		return 0 // it was the header
	}
	before, after := storetest.Headers(t, whole, session), storetest.Headers(t, torn, session)
	broken := func(h model.Header) bool { return h.Reason != nil && h.Reason.Kind == model.ReasonChainBroken }
	compacts := func(h model.Header) bool { return h.EventName == "compaction" }
	if slices.ContainsFunc(before, broken) || !slices.ContainsFunc(after, broken) || slices.ContainsFunc(before, compacts) {
		return 0
	}
	at := fmt.Sprintf("%s without line %d", filepath.Base(name), k+1)
	if len(after) < len(before)-1 {
		t.Errorf("%s: %d of %d snapshots are listed", at, len(after), len(before))
	}
	if !slices.ContainsFunc(faultsOf(t, torn, session), func(f model.Fault) bool { return f.Joins }) {
		t.Errorf("%s: no fault says that it can be joined", at)
	}
	head := func(list []model.Header) *model.Header {
		return &list[slices.IndexFunc(list, func(h model.Header) bool { return h.Head })]
	}
	plan, err := joinPieces(t, torn, session)
	if err != nil {
		t.Errorf("%s: %v", at, err)
		return 0
	}
	news := storetest.Headers(t, torn, plan.NewSession)
	want, got := saidIn(t, stateOf(t, whole, head(before))), saidIn(t, stateOf(t, torn, head(news)))
	if !slices.Equal(want, got) && !(len(got) == len(want)-1 && isBetween(want, got)) {
		t.Errorf("%s: the join has\n%s\nof\n%s", at, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return 1
}

// storeOfLines returns a store whose one session has the lines in its file; nil without a snapshot.
func storeOfLines(t *testing.T, kind, name string, lines [][]byte) store.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), kind)
	below, err := filepath.Rel(filepath.Join(testdata, "coding", kind), name)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(filepath.Join(dir, below)), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, below), bytes.Join(lines, nil), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(allKinds, func(k store.Kind) bool { return k.Name == kind })
	s, err := allKinds[at].Open(t.Context(), dir)
	if err != nil {
		return nil
	}
	t.Cleanup(func() { _ = s.Close() })
	list := storetest.Sessions(t, s)
	if len(list) == 0 || len(storetest.Headers(t, s, list[0].ID)) == 0 {
		return nil
	}
	return s
}

// A record of a session that an agent took over is lost. The agent goes on from the last piece, and from a join with all
// messages but the lost one.
func TestInterop_join(t *testing.T) {
	skip.Sequential(t)
	for _, kind := range chained {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			a := chattest.StartAgent(t, kind)
			into := targetStore(t, kind, a.Home)
			session := takeOver(t, into, a.Work)
			whole := handedOver(readTalk(t, into, session))
			const lost = "reply to: third question"
			dropLine(t, a.Home, session, lost)
			plan, err := joinPieces(t, into, session)
			if err != nil {
				t.Fatal(err)
			}
			joined := handedOver(readTalk(t, into, plan.NewSession))
			if want := slices.DeleteFunc(slices.Clone(whole), func(s chattest.Said) bool { return s.Text == lost }); !slices.Equal(saidLines(joined), saidLines(want)) {
				t.Errorf("the join has\n%s\nof\n%s", strings.Join(saidLines(joined), "\n"), strings.Join(saidLines(whole), "\n"))
			}
			want := saidLines(append(joined, chattest.Said{Is: "user", Text: "and-then"}))
			if got := saidLines(a.Ask(t, plan.Resume[0].Call, "and-then")); !slices.Equal(got, want) {
				t.Errorf("the model is sent\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// dropLine takes the line with a text out of the file of a session below a folder.
func dropLine(t *testing.T, dir, session, text string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(filepath.Base(name), session) {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		lines := slices.DeleteFunc(bytes.SplitAfter(data, []byte("\n")), func(line []byte) bool { return bytes.Contains(line, []byte(text)) })
		return os.WriteFile(name, bytes.Join(lines, nil), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}
