package chat_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/chat"
	"hindcast/store/kinds/pi"
	"hindcast/store/media/files"
	"hindcast/store/storetest"
)

const (
	recorded = "../../../testdata/coding/pi"
	branched = "01a20301-0000-7000-8000-000000000001"
)

func open(t testing.TB, dir string, cache *files.Cache) *chat.Store {
	t.Helper()
	s, err := pi.Kind(cache).Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // it may be closed already
	return s.(*chat.Store)
}

// states are those at all snapshots of a session.
func states(t testing.TB, s store.Store, session string) (list [][]byte, refs []model.Ref) {
	t.Helper()
	for _, h := range storetest.Headers(t, s, session) {
		state, err := s.State(t.Context(), h.Ref())
		if err != nil {
			t.Fatal(err)
		}
		list, refs = append(list, state), append(refs, h.Ref())
	}
	return list, refs
}

// A text that is no longer held is made again, and is the same; so are the states on a loom.
func TestState_madeAgain(t *testing.T) {
	s := open(t, recorded, nil)
	want, refs := states(t, s, branched)
	if counted, are := chat.Held(s); counted != are || are == 0 {
		t.Errorf("%d bytes are held, and %d are counted", are, counted)
	}
	storetest.Woven(t, s, refs...)
	s = open(t, recorded, nil)
	chat.HoldAtMost(s, 1)
	got, _ := states(t, s, branched)
	if !slices.EqualFunc(got, want, bytes.Equal) {
		t.Error("the states are others where no more than one text is held")
	}
	if counted, are := chat.Held(s); counted != are || 2*are > len(want[len(want)-1]) {
		t.Errorf("%d bytes are held, and %d are counted", are, counted)
	}
}

// A plan warns of the messages of its new session however few texts are held: the storage does not have the
// files of the session from which they could be made again.
func TestPlan_ofMoreTextThanIsHeld(t *testing.T) {
	dir := t.TempDir()
	const text = `{"type":"session","version":3,"id":"01a20301-0000-7000-8000-00000000000a","cwd":"/w"}
{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"go"}}
{"type":"message","id":"b","parentId":"a","message":{"role":"toolResult","toolCallId":"none","toolName":"ls","content":[{"type":"text","text":"x"}]}}
{"type":"message","id":"c","parentId":"b","message":{"role":"assistant","content":[{"type":"text","text":"done"}]}}
`
	err := os.Mkdir(filepath.Join(dir, "--w--"), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "--w--", "t_01a20301-0000-7000-8000-00000000000a.jsonl"), []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	fork := model.Change{Op: model.OpFork, Ref: model.Ref{Session: "01a20301-0000-7000-8000-00000000000a", ID: "c"}}
	s := open(t, dir, nil)
	chat.HoldAtMost(s, 1)
	plan, err := s.Plan(t.Context(), fork)
	if err != nil || !slices.ContainsFunc(plan.Hazards, func(h string) bool { return strings.Contains(h, "the result of none has no call before it") }) {
		t.Errorf("the plan warns %q, %v", plan.Hazards, err)
	}
}

// The states on a loom of a session whose lineage runs in a circle, or whose parents come later, are its states.
func TestWeave_ofACircle(t *testing.T) {
	dir := t.TempDir()
	line := func(id, parent string) string {
		return `{"type":"message","id":"` + id + `","parentId":"` + parent + `","message":{"role":"user","content":"` + id + `"}}` + "\n"
	}
	text := `{"type":"session","version":3,"id":"s","cwd":"/w"}` + "\n" + line("a", "b") + line("b", "a") + line("c", "b") + line("d", "e") + line("e", "")
	err := os.Mkdir(filepath.Join(dir, "--w--"), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "--w--", "t_s.jsonl"), []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, nil)
	list, refs := states(t, s, "s")
	if len(list) != 5 {
		t.Fatalf("%d snapshots", len(list))
	}
	storetest.Woven(t, s, refs...)
	slices.Reverse(refs)
	storetest.Woven(t, s, refs...)
}

// Where the file has another record in the place of one, the states are those of the other.
func TestState_ofAFileThatWasReplaced(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	s := open(t, dir, nil)
	_, refs := states(t, s, branched)
	storetest.Woven(t, s, refs...)
	file := filepath.Join(dir, "--home-demo--", "2026-11-22T11-26-00-000Z_"+branched+".jsonl")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(text), "first question", "another first question", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	now, refs := states(t, s, branched)
	if !bytes.Contains(now[0], []byte("another first question")) {
		t.Errorf("the state is %.300s", now[0])
	}
	storetest.Woven(t, s, refs...)
}

// A session that goes on keeps the bytes of its states: only what is new is made.
func TestState_sharesWhatItHad(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	s := open(t, dir, nil)
	_, refs := states(t, s, branched)
	_, before := chat.Held(s)
	file, err := os.OpenFile(filepath.Join(dir, "--home-demo--", "2026-11-22T11-26-00-000Z_"+branched+".jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	const line = `{"type":"message","id":"feed0001","parentId":"1138a756","timestamp":"2026-11-22T12:00:00Z","message":{"role":"user","content":"more"}}` + "\n"
	if _, err := file.WriteString(line); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	_, now := states(t, s, branched)
	if len(now) != len(refs)+1 {
		t.Fatalf("%d snapshots, and there were %d", len(now), len(refs))
	}
	if _, after := chat.Held(s); after-before > 3*len(line) {
		t.Errorf("%d bytes are held besides for a line of %d", after-before, len(line))
	}
}

// listed are what the list shows of each session.
func listed(t testing.TB, s store.Store) map[string]model.SessionInfo {
	t.Helper()
	all := map[string]model.SessionInfo{}
	for _, info := range storetest.Sessions(t, s) {
		all[info.ID] = info
	}
	return all
}

// Of two files of one id each is a session, and is found again.
func TestSessions_ofOneID(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	name := "2026-11-22T11-26-00-000Z_" + branched + ".jsonl"
	text, err := os.ReadFile(filepath.Join(dir, "--home-demo--", name))
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "--other--"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "--other--", name), text[:bytes.LastIndexByte(text[:len(text)-1], '\n')+1], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, nil)
	all := listed(t, s)
	if len(all) != 5 || all[branched].Snapshots != 14 || all[branched+"'"].Snapshots != 13 {
		t.Errorf("they are %+v", all)
	}
	if n := len(storetest.Headers(t, open(t, dir, nil), branched+"'")); n != 13 {
		t.Errorf("the second has %d snapshots", n)
	}
}

// What the list told is remembered by another process as long as the file is the same, and
// nothing that was said in a session is in that memory but how it begins.
func TestSessions_remembered(t *testing.T) {
	dir := storetest.Copy(t, recorded)
	file := filepath.Join(dir, "--home-demo--", "2026-11-22T11-26-00-000Z_"+branched+".jsonl")
	// A memory is kept where it saves much.
	storetest.SaveTranscript(t, filepath.Join(dir, "--large--", "t_large.jsonl"), storetest.PiTranscript, "large", time.Unix(1e9, 0), 5<<20, 3000)
	caches := t.TempDir()
	first := open(t, dir, files.NewCache(caches))
	want := listed(t, first)
	if n := chat.Remembered(t.Context(), first); n > 0 {
		t.Errorf("%d sessions are held of those that were listed", n)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	told := 0
	err := filepath.WalkDir(caches, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, secret := range []string{"reply to", "ls -1", "a.txt", "call_fake", "The other branch", "Summary of", "after our append", "fake-model"} {
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("the memory has %q", secret)
			}
		}
		if bytes.Contains(data, []byte("demo session")) && bytes.Contains(data, []byte("/home/demo")) {
			told++
		}
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
		return err
	})
	if err != nil || told != 1 {
		t.Fatalf("%d files have what the list shows, %v", told, err)
	}
	again := open(t, dir, files.NewCache(caches))
	if got := listed(t, again); len(got) != len(want) || got[branched] != want[branched] {
		t.Errorf("the list is %+v, and was %+v", got, want)
	}
	if chat.Glanced(again) > 0 {
		t.Errorf("%d files were looked into", chat.Glanced(again))
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(text), "demo session", "other session", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := listed(t, again)[branched].Title; got != "other session" {
		t.Errorf("a file that changed is called %q", got)
	}
	if chat.Glanced(again) != 1 {
		t.Errorf("%d files were looked into, for one that changed", chat.Glanced(again))
	}
}

// States that follow each other are a few runs on a loom, however many messages they have, and the text of each
// message is made once, also where the loom is asked again: a session of 10,000 has 10,000 states.
func TestStore_Weave_isFewRuns(t *testing.T) {
	dir := t.TempDir()
	storetest.SaveTranscript(t, filepath.Join(dir, "--long--", "t_long.jsonl"), storetest.PiTranscript, "long", time.Unix(1e9, 0), 1<<20, 100)
	s := open(t, dir, nil)
	var refs []model.Ref
	for h, err := range s.Headers(t.Context(), "long") {
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, h.Ref())
	}
	if len(refs) < 1000 {
		t.Fatalf("%d snapshots", len(refs))
	}
	made := 0
	l := storetest.NewCloth(len(refs))
	loom := l.Loom()
	put := loom.Put
	loom.Put = func(text store.Text) store.Run {
		if of := text.Make; of != nil {
			text.Make = func(raw []byte) []byte {
				is := of(raw)
				if is != nil {
					made++
				}
				return is
			}
		}
		return put(text)
	}
	for _, part := range [][]model.Ref{refs[:1], refs[1:]} {
		if err := s.Weave(t.Context(), part, loom); err != nil {
			t.Fatal(err)
		}
		for i := range part {
			if rope := l.States[i]; rope.Err != nil || len(rope.Runs) > 4 {
				t.Fatalf("%d runs, %v", len(rope.Runs), rope.Err)
			}
		}
	}
	if made != len(refs) {
		t.Errorf("%d texts were made for %d messages", made, len(refs))
	}
}

// TestStore_asksAFormatForWhatIsWanted holds that gaps, which are looked for at each snapshot, ask a format
// for nothing, and that facts find no calls and calls no facts: both may look at the whole session.
func TestStore_asksAFormatForWhatIsWanted(t *testing.T) {
	s := open(t, recorded, nil)
	ref := storetest.Headers(t, s, branched)[0].Ref()
	told, called := chat.Count(s)
	for _, c := range []struct {
		what         string
		ask          func(context.Context, model.Ref) error
		told, called int
	}{
		{"gaps", func(ctx context.Context, ref model.Ref) error { _, err := s.Features().Gaps(ctx, ref); return err }, 0, 0},
		{"facts", func(ctx context.Context, ref model.Ref) error { _, err := s.Features().Facts(ctx, ref); return err }, 1, 0},
		{"calls", func(ctx context.Context, ref model.Ref) error { _, err := s.Features().Resume(ctx, ref); return err }, 0, 1},
	} {
		*told, *called = 0, 0
		if err := c.ask(t.Context(), ref); err != nil || *told != c.told || *called != c.called {
			t.Errorf("for %s the format is asked %d times for facts and %d times for calls, %v", c.what, *told, *called, err)
		}
	}
}
