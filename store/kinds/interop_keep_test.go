package kinds_test

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/kinds"
	"hindcast/store/storetest/chattest"
	"hindcast/store/storetest/skip"
)

// resumers are the agents whose sessions are kept, by their kinds.
var resumers = []string{"claude-code", "codex", "copilot-cli", "gemini-cli", "pi", "qwen"}

// TestInterop_giveBack has each tool write sessions, which are kept, deleted and given back: each is as it was, the tool resumes it, and its
// model is sent what it was sent before. testdata/interop/kept.txt says how many sessions of each.
func TestInterop_giveBack(t *testing.T) {
	skip.Sequential(t)
	var proven keptMatrix
	t.Run("all", func(t *testing.T) {
		for _, kind := range resumers {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				giveFilesBack(t, kind)
				proven.note(kind+", files", keptCounts{1, 1, 1})
			})
		}
		for _, x := range askedAgents {
			t.Run(x.row, func(t *testing.T) {
				t.Parallel()
				proven.note(x.row, giveAskedBack(t, x.kind, x.begin, x.store))
			})
		}
		t.Run("strands", func(t *testing.T) {
			t.Parallel()
			proven.note("strands, files", giveStrandsBack(t))
		})
		for _, sdk := range keptSDKs {
			t.Run(sdk.row, func(t *testing.T) {
				t.Parallel()
				proven.note(sdk.row, sdk.giveBack(t))
			})
		}
	})
	if len(proven.rows) == len(resumers)+len(askedAgents)+1+len(keptSDKs) { // else a tool is missing
		holdTable(t, "kept.txt", proven.draw())
	}
}

// giveFilesBack keeps, deletes and gives back a session that an agent wrote, and has the agent resume it: its model is sent all that was said.
func giveFilesBack(t *testing.T, kind string) {
	t.Helper()
	a := chattest.StartAgent(t, kind)
	into := targetStore(t, kind, a.Home)
	call, session := writeSession(t, a, into)
	archive := kinds.Archive(filepath.Join(t.TempDir(), "kept.db"), nil, "")
	defer archive.Close()
	k, _ := allKinds.FindKind(kind)
	found := store.Found{Identity: store.Identity{Kind: k, At: into.Address()}}
	if _, err := archive.Keep(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	was := deleteSession(t, found.At, session)
	gone := goneStore(t, archive, found)
	plan, err := gone.Features().Plan(t.Context(), model.Change{Op: model.OpGiveBack, Ref: model.Ref{Session: session}})
	if err == nil {
		_, err = gone.Features().Apply(context.WithoutCancel(t.Context()), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, data := range was {
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, data) {
			t.Errorf("%s is not as it was: %v", path, err)
		}
	}
	live, err := k.Open(t.Context(), found.At)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	const prompt = "behind-the-gap"
	want := saidLines(append(handedOver(readTalk(t, live, session)), chattest.Said{Is: "user", Text: prompt}))
	if got := saidLines(a.Ask(t, call, prompt)); !slices.Equal(got, want) || !strings.Contains(strings.Join(got, "\n"), firstPrompt) {
		t.Errorf("the model is sent\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if t.Failed() {
		t.FailNow()
	}
}

// firstPrompt is the words that an agent was asked in a session before that is deleted.
const firstPrompt = "before-the-gap"

// writeSession has an agent go on with a conversation. It returns the call that resumes the session.
func writeSession(t *testing.T, a *chattest.Agent, into store.Store) (call, session string) {
	t.Helper()
	s := openData(t, "coding/codex")
	line := model.NewTimeline(headersOf(t, s, "01a202f5-bfd0-70d1-aab1-5dc3e55b81bb"))
	from, err := query.Handover(t.Context(), s, line, line.Head(), &model.SessionInfo{}, a.Work)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := into.Features().PlanContinue(t.Context(), from, "")
	if err == nil {
		_, err = into.Features().Apply(context.WithoutCancel(t.Context()), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	a.Ask(t, plan.Resume[0].Call, firstPrompt)
	return plan.Resume[0].Call, plan.NewSession
}

// deleteSession deletes the transcripts of a store that have the id of a session, and the files that are called so. It returns their bytes.
func deleteSession(t *testing.T, at, session string) map[string][]byte {
	t.Helper()
	was := map[string][]byte{}
	err := filepath.WalkDir(at, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() == ".hindcast" {
			return errSkip(err)
		}
		if ext := filepath.Ext(path); e.IsDir() || ext != ".json" && ext != ".jsonl" && ext != ".yaml" {
			return nil
		}
		data, err := os.ReadFile(path)
		if strings.Contains(path, session) || filepath.Ext(path) == ".jsonl" && bytes.Contains(data, []byte(session)) {
			was[path] = data
		}
		return err
	})
	if err != nil || len(was) == 0 {
		t.Fatal(was, err)
	}
	for _, path := range slices.Sorted(maps.Keys(was)) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	return was
}

// errSkip returns an error, or has the folder be passed over.
func errSkip(err error) error {
	if err == nil {
		err = filepath.SkipDir
	}
	return err
}
