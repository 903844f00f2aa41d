package snapshots

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/kinds/strands/lineage"
	"hindcast/store/media/files"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// A second reading reads nothing again but what changed.
func TestHeaders_readWhatChanged(t *testing.T) {
	dir := t.TempDir()
	copyTree(t, fixture("python-snapshot/session/message-strategy"), dir)
	s := open(t, dir)
	session := filepath.Base(dir)
	first := storetest.Headers(t, s, session)
	if got := s.files.Storage.Memo.CountReads(); got != 6 {
		t.Fatalf("%d files were read, and there are 6", got)
	}
	again := storetest.Headers(t, s, session)
	if got := s.files.Storage.Memo.CountReads(); got != 6 || !reflect.DeepEqual(first, again) {
		t.Errorf("once more %d files were read", got-6)
	}
	// A snapshot in the middle changes, the latest too, and one comes.
	kept := filepath.Join(dir, "scopes", "agent", "default", "snapshots")
	middle := filepath.Join(kept, historyDir, "snapshot_"+first[2].ID+".json")
	data, err := os.ReadFile(middle)
	if err != nil {
		t.Fatal(err)
	}
	rewrite(t, middle, bytes.Replace(data, []byte(`"q2"`), []byte(`"redacted"`), 1))
	rewrite(t, filepath.Join(kept, latestFile), data)
	rewrite(t, filepath.Join(kept, historyDir, "snapshot_01a1fba8-d443-741d-8109-474902f2392e.json"), data)
	before := s.files.Storage.Memo.CountReads()
	rows := storetest.Headers(t, s, session)
	if got := s.files.Storage.Memo.CountReads() - before; got != 3 {
		t.Errorf("%d files were read, and 3 have changed", got)
	}
	if len(rows) != 6 || rows[2].Title != "redacted" || rows[3].ParentID != rows[2].ID || !rows[5].Head || rows[5].EventText() != eventAgain {
		t.Errorf("the rows are\n%s", picture(rows))
	}
	// All are as if they were read anew.
	if fresh := storetest.Headers(t, open(t, dir), session); !reflect.DeepEqual(fresh, rows) {
		t.Errorf("what is remembered\n%sis not what is there\n%s", picture(rows), picture(fresh))
	}
}

// What is remembered of who follows whom is used for as long as the files in front are the
// same, and no longer: the rows are those of a store that is opened anew.
func TestHeaders_whatWasWalkedBefore(t *testing.T) {
	dir := t.TempDir()
	kept := snapshotsOf(dir, "py-long")
	grow(t, kept, 3*fewFiles, 20, 1000)
	s := open(t, dir)
	name := func(i int) string {
		return filepath.Join(kept, historyDir, fmt.Sprintf("snapshot_01950000-%04x-7000-8000-%012x.json", i, i))
	}
	data := mustRead(t, name(7))
	for what, change := range map[string]func(){
		"nothing":              func() {},
		"another one":          func() { rewrite(t, name(3*fewFiles), data) },
		"the last is gone":     func() { mustRemove(t, name(3*fewFiles-1)) },
		"one in the middle":    func() { rewrite(t, name(50), data) },
		"the first one":        func() { rewrite(t, name(0), data) },
		"one in front is gone": func() { mustRemove(t, name(3)) },
	} {
		change()
		for range 2 {
			if rows, fresh := storetest.Headers(t, s, "py-long"), storetest.Headers(t, open(t, dir), "py-long"); !reflect.DeepEqual(rows, fresh) {
				t.Errorf("%s: the rows are\n%snot\n%s", what, picture(rows), picture(fresh))
			}
		}
	}
}

func mustRemove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

// rewrite replaces a file as the SDK does. The new one is old enough to be
// remembered.
func rewrite(t testing.TB, file string, data []byte) {
	t.Helper()
	temporary := filepath.Join(filepath.Dir(file), ".__strands_tmp_0123456789abcdef0123456789abcdef")
	mustWrite(t, temporary, string(data))
	age(t, temporary)
	if err := os.Rename(temporary, file); err != nil {
		t.Fatal(err)
	}
}

// What was made of the files outlives the process, and reading only it gives the
// same rows.
func TestHeaders_fromTheCache(t *testing.T) {
	dir := t.TempDir()
	grow(t, snapshotsOf(dir, "py-long"), 100, 600, 120) // so much that it is worth keeping
	cache := files.NewCache(t.TempDir())
	var before []model.Header
	for i := range 2 {
		s, err := openSite(t.Context(), cache, engine.SiteOf(dir))
		if err != nil {
			t.Fatal(err)
		}
		rows := storetest.Headers(t, s, "py-long")
		got := s.files.Storage.Memo.CountReads()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		switch {
		case i == 0:
			before = rows
		case got != 0:
			t.Errorf("%d files were read again", got)
		case !reflect.DeepEqual(rows, before):
			t.Errorf("the rows are\n%s, and were\n%s", picture(rows), picture(before))
		}
	}
}

// grow writes a session of n snapshots as the SDK for Python does, with up to
// window messages each of about size bytes.
func grow(t testing.TB, kept string, n, size, window int) {
	t.Helper()
	var messages []string
	pad := strings.Repeat("x", size)
	for i := range n {
		for k, role := range []string{"user", "assistant"} {
			messages = append(messages, fmt.Sprintf(`{"role": %q, "content": [{"text": "%d %s"}], "tracking_id": "00000000-0000-4000-8000-%012d"}`, role, i, pad, 2*i+k))
		}
		removed := max(0, len(messages)-window)
		text := fmt.Sprintf(`{"scope": "agent", "schema_version": "1.0", "created_at": "2026-03-01T10:%02d:%02d.%06dZ", "data": {"messages": [%s], "state": {}, "conversation_manager_state": {"__name__": "SlidingWindowConversationManager", "removed_message_count": %d, "model_call_count": 0}, "interrupt_state": {"interrupts": {}, "context": {}, "activated": false}, "system_prompt": null, "model_state": {}}, "app_data": {}}`,
			i/60%60, i%60, i, strings.Join(messages[removed:], ", "), removed)
		name := filepath.Join(kept, historyDir, fmt.Sprintf("snapshot_01950000-%04x-7000-8000-%012x.json", i, i))
		mustWrite(t, name, text)
		age(t, name)
		if i == n-1 {
			mustWrite(t, filepath.Join(kept, latestFile), text)
			age(t, filepath.Join(kept, latestFile))
		}
	}
}

// A long session whose window slides is one line, and its notes have the size of
// one conversation.
func TestHeaders_ofALongSession(t *testing.T) {
	dir := t.TempDir()
	const n = 300
	grow(t, snapshotsOf(dir, "py-long"), n, 20, 100)
	s := open(t, dir)
	rows := storetest.Headers(t, s, "py-long")
	if len(rows) != n {
		t.Fatalf("%d rows", len(rows))
	}
	for i, h := range rows {
		if i > 0 && h.ParentID != rows[i-1].ID || h.Index != i || h.TurnIndex != i || h.Head != (i == n-1) || h.Orphaned {
			t.Fatalf("row %d is %+v", i, h)
		}
	}
	p, err := s.locate("py-long")
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, h := range rows {
		name := p.storageName("snapshot_" + h.ID + ".json")
		at, err := s.files.Storage.In().Stamp(name)
		if err != nil {
			t.Fatal(err)
		}
		note, ok := s.files.Storage.Memo.Notes.Recall(name, at.Stamp)
		if !ok {
			t.Fatalf("there is no note of %s", name)
		}
		size += len(note)
	}
	if most := n * 700; size > most {
		t.Errorf("the notes take %d bytes, more than %d", size, most)
	}
}

// A note that is damaged, of another version, or of another list is passed over.
func TestParseNote_ofSomethingElse(t *testing.T) {
	before := first([]lineage.Print{2, 4, 6}, []shape{1, 2, 3})
	m := messages{prints: []lineage.Print{4, 6, 8}, shapes: []shape{2, 3, 4}}
	read := &scanned{note: note{capture: capture{Dialect: python, Title: "t", Removed: 3}}, messages: m}
	read.joinShared(before)
	text := read.appendNote()
	taken := func(text []byte, before *scanned) (*scanned, bool) {
		s, err := parseNote(text)
		return s, err == nil && s.joinShared(before)
	}
	if got, ok := taken(text, before); !ok || !reflect.DeepEqual(got.capture, read.capture) || !slices.Equal(got.prints, m.prints) || !slices.Equal(got.shapes, m.shapes) {
		t.Fatalf("%+v, %t of %s", got, ok, text)
	}
	if !bytes.Contains(text, []byte(`"from":1,"keep":2,"own":1}`)) {
		t.Errorf("the note says %s", text)
	}
	for _, other := range []*scanned{nil, first([]lineage.Print{2, 4, 7}, []shape{1, 2, 3}), first(before.prints[:2], before.shapes[:2])} {
		if _, ok := taken(text, other); ok {
			t.Errorf("it is taken for one of another list: %+v", other)
		}
	}
	for cut := range text {
		if _, ok := taken(text[:cut], before); ok {
			t.Errorf("it is taken although only %d bytes are there", cut)
		}
	}
	for _, broken := range []string{"", "{}", "{}\n", "\n", `{"from":-1}` + "\n", `{"keep":4}` + "\n", `{"own":9223372036854775807}` + "\n"} {
		if _, ok := taken([]byte(broken), nil); ok && broken != "{}" && broken != "{}\n" {
			t.Errorf("%q is taken", broken)
		}
	}
}

// Whatever the order in which the workers are done, a context that ends ends the
// reading.
func TestHeaders_stop(t *testing.T) {
	s := open(t, fixture("python-snapshot"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range s.Headers(ctx, "every-turn") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("headers: %v", err)
		}
	}
	if _, err := s.Faults(ctx, "every-turn"); !errors.Is(err, context.Canceled) {
		t.Errorf("faults: %v", err)
	}
	for _, err := range s.Sessions(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("sessions: %v", err)
		}
	}
	for range s.Headers(t.Context(), "every-turn") {
		break
	}
}

// The suite of reading holds for sessions in which something is wrong.
func TestHazards_areReadLikeAnyStore(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	for name, h := range hazards(t) {
		h.write(t, snapshotsOf(dir, name))
	}
	storetest.Read(t, Kind(nil).Kind, dir)
}

func TestState_isWhatWasWritten(t *testing.T) {
	s, _ := hazardStore(t)
	for session, want := range map[string]string{
		"py-nan":        `"state": {"x": NaN}`,
		"py-big-number": `"state": {"x": 123456789012345678901234567890}`,
		"ts-surrogate":  `"q\ud800"`,
		"py-bom":        `{"messages": [{"role": "user"`,
		"py-not-utf8":   "q\xff",
	} {
		rows := storetest.Headers(t, s, session)
		got := state(t, s, rows[0])
		if !bytes.Contains(got, []byte(want)) || rows[0].Size != int64(len(got)) {
			t.Errorf("%s: %s", session, got)
		}
	}
	file, err := os.ReadFile(filepath.Join(snapshotsOf(fixture("python-snapshot"), "py-"), "..", "..", "..", "..", "..", "manual", "scopes", "agent", "default", "snapshots", latestFile))
	if err != nil {
		t.Fatal(err)
	}
	start := bytes.Index(file, []byte(`"data": `)) + len(`"data": `)
	end := bytes.LastIndex(file, []byte(`, "app_data"`))
	fixtures := open(t, fixture("python-snapshot"))
	if got := state(t, fixtures, storetest.Headers(t, fixtures, "manual")[1]); !bytes.Equal(got, file[start:end]) {
		t.Errorf("the state is %s", got)
	}
}

func TestFacts(t *testing.T) {
	for _, c := range []struct {
		store, session string
		row            int
		want           string
	}{
		{"python-snapshot", "every-turn", 3, `lineage=holds the first 2 of its 4 messages; latest=snapshot_latest.json holds the same; ` +
			`file=session/every-turn/scopes/agent/default/snapshots/immutable_history/snapshot_01a1fba8-d349-7102-9354-3744da21c5a8.json; written by=Python; ` +
			`scope=agent; schema version=1.0; context manager=SlidingWindowConversationManager`},
		{"python-snapshot", "manual", 1, `lineage=holds the first 2 of its 4 messages; file=session/manual/scopes/agent/default/snapshots/snapshot_latest.json; written by=Python; ` +
			`scope=agent; schema version=1.0; context manager=SlidingWindowConversationManager`},
		{"python-snapshot", "message-strategy", 4, `lineage=ends with message 2 of its 4; others were taken out since; latest=snapshot_latest.json holds the same; ` +
			`file=session/message-strategy/scopes/agent/default/snapshots/immutable_history/snapshot_01a1fba8-d435-7466-a06b-1bcd1d52568e.json; written by=Python; ` +
			`scope=agent; schema version=1.0; context manager=SlidingWindowConversationManager; taken out=6 messages`},
		{"typescript/legacy", "basic", 0, `file=basic/scopes/agent/agent/snapshots/immutable_history/snapshot_01a1fbae-220c-75ed-a5a7-ae2cf2ded9da.json; written by=TypeScript; ` +
			`scope=agent; schema version=1.0`},
	} {
		s := open(t, fixture(c.store))
		list, err := s.Facts(t.Context(), storetest.Headers(t, s, c.session)[c.row].Ref())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range list {
			got = append(got, f.Label+"="+f.Value)
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s %s #%d:\n%s\nnot\n%s", c.store, c.session, c.row, text, c.want)
		}
	}
}

// The members that the fixtures do not have.
func TestFacts_ofMembersThatAreRare(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, filepath.Join(snapshotsOf(dir, "py-s"), latestFile), `{"scope":"agent","schema_version":"1.0","created_at":"2026-01-02T03:04:05","data":{"messages":[],`+
		`"stash":{"location":"external","storage_type":"S3Storage"}},"app_data":{"label":"\u2028before","n":[1, 2]}}`)
	s := open(t, dir)
	rows := storetest.Headers(t, s, "py-s")
	list, err := s.Facts(t.Context(), rows[0].Ref())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []model.Fact{{Label: "stash", Value: "external, S3Storage"}, {Label: "app data", Value: `{"label":"\u2028before","n":[1,2]}`}} {
		if !slices.ContainsFunc(list, want.Same) {
			t.Errorf("%+v is not in %+v", want, list)
		}
	}
	if rows[0].EventText() != eventEmpty || rows[0].TurnIndex != 0 {
		t.Errorf("%+v", rows[0])
	}
}
