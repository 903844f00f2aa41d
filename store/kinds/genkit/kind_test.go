package genkit

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/store"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
)

func TestRecognise(t *testing.T) {
	made := t.TempDir()
	row := goRow("a", "", "s", at(0), "")
	for _, file := range []string{"flat/a.json", "below/org/user/team/a.json", "deep/1/2/3/4/a.json", "project/.snapshots/global/a.json", "project/src/main.go",
		"among/snapshots/global/a.json", "among/src/main.go", "withempty/agent/global/a.json", "modules/node_modules/x/a.json", "hidden/.cache/a.json",
		"tmp/a.json.123.tmp", "wrong/b.json"} {
		write(t, filepath.Join(made, filepath.FromSlash(file)), row)
	}
	write(t, filepath.Join(made, "nothing", "package.json"), `{"name":"x"}`)
	write(t, filepath.Join(made, "pointers", ".pointers", "s.json"), `{}`)
	write(t, filepath.Join(made, "genkit", ".genkit", "runtimes", "1.json"), `{}`)
	write(t, filepath.Join(made, "undated", "a.json"), `{"snapshotId":"a"}`)
	for _, dir := range []string{"empty", "withempty/agent2"} {
		if err := os.MkdirAll(filepath.Join(made, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path, why string
		ok        bool
	}{
		{testdata + "/go-1.13.1", "Go layout: barista/global/….json with .pointers", true},
		{testdata + "/go-1.13.1/barista", "Go layout: global/….json with .pointers", true},
		{testdata + "/go-1.13.1/barista/global", "Go layout: ….json with .pointers", true},
		{testdata + "/js-1.42.0-detachbug", "JavaScript layout: global/….json with .pointers", true},
		{testdata + "/devproject-go-1.13.1", "Go layout: .genkit/snapshots/barista/global/….json with .pointers", true},
		{testdata + "/devproject-go-1.13.1/.genkit", "Go layout: snapshots/barista/global/….json with .pointers", true},
		{testdata + "/devproject-go-1.13.1/.genkit/runtimes", "", false},
		{testdata, "", false},
		{made + "/flat", "Go layout: ….json", true},
		{made + "/below", "Go layout: org/user/team/….json", true},
		{made + "/deep", "", false},
		{made + "/project", "Go layout: .snapshots/global/….json", true},
		{made + "/among", "", false},
		{made + "/withempty", "Go layout: agent/global/….json", true},
		{made + "/modules", "", false},
		{made + "/hidden", "", false},
		{made + "/tmp", "", false},
		{made + "/wrong", "", false},
		{made + "/nothing", "", false},
		{made + "/undated", "", false},
		{made + "/empty", "", false},
		{made + "/pointers", ".pointers is there, but no row beside it", false},
		{made + "/genkit", "a Genkit project, but there is no row in .genkit/snapshots", false},
		{made + "/project/src/main.go", "", false},
	} {
		why, ok, err := Kind(nil).Recognise(t.Context(), filepath.FromSlash(c.path))
		if why != c.why || ok != c.ok || err != nil {
			t.Errorf("%s is %q, %v, %v; want %q, %v", c.path, why, ok, err, c.why, c.ok)
		}
	}
	for file, part := range map[string]string{
		testdata + "/devproject-go-1.13.1/.genkit/runtimes/9022-3100-2026-11-21T01_18_35Z.json": "devproject-go-1.13.1/.genkit/snapshots",
		made + "/flat/a.json": "open its folder, " + made + "/flat",
	} {
		if why, ok, err := Kind(nil).Recognise(t.Context(), file); ok || err != nil || !strings.Contains(why, part) {
			t.Errorf("%s is %q, %v, %v", file, why, ok, err)
		}
	}
	if _, ok, err := Kind(nil).Recognise(t.Context(), filepath.Join(made, "absent")); ok || err == nil {
		t.Errorf("what is not there is %v, %v", ok, err)
	}
}

// However much is in a folder, little of it is looked at.
func TestRecognise_looksAtLittle(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		write(t, filepath.Join(dir, string(rune('a'+i%26))+strings.Repeat("x", i/26), "package.json"), `{"name":"x"}`)
	}
	on, err := tree.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer on.Close()
	p := probe{tree: few{on}}
	if p.isStore(t.Context(), ".", 0) || p.folders > 3 {
		t.Errorf("%d folders and %d files were looked at", p.folders, p.tried)
	}
}

func TestPlaces(t *testing.T) {
	k := Kind(nil).Kind
	want := []string{filepath.Join("/w", ".genkit", "snapshots"), filepath.Join("/w", ".snapshots*")}
	if got := k.Places(store.Surroundings{Work: "/w", Home: "/h"}); !slices.Equal(got, want) {
		t.Errorf("places are %q", got)
	}
	if got := k.Places(store.Surroundings{}); got != nil {
		t.Errorf("places of nowhere are %q", got)
	}
}

// A session is called the same whichever folders there are besides.
func TestSessions_areCalledAfterTheirFolders(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "global", "a.json"), goRow("a", "", "s", at(0), ""))
	s := open(t, dir)
	names := func() (ids []string) {
		for _, info := range storetest.Sessions(t, s) {
			ids = append(ids, info.ID)
		}
		slices.Sort(ids)
		return ids
	}
	if got := names(); !slices.Equal(got, []string{"s"}) {
		t.Errorf("sessions are %q", got)
	}
	write(t, filepath.Join(dir, "org-42", "user-7", "b.json"), goRow("b", "", "s", at(0), ""))
	write(t, filepath.Join(dir, "barista", "global", "c.json"), goRow("c", "", "s", at(0), ""))
	write(t, filepath.Join(dir, "d.json"), goRow("d", "", "s", at(0), ""))
	write(t, filepath.Join(dir, "e.json"), goRow("e", "", "t", at(0), ""))
	if got := names(); !slices.Equal(got, []string{"./s", "barista/s", "org-42/user-7/s", "s", "t"}) {
		t.Errorf("sessions are %q", got)
	}
	for id, row := range map[string]string{"s": "a", "./s": "d", "barista/s": "c", "org-42/user-7/s": "b", "t": "e"} {
		if list := storetest.Headers(t, s, id); len(list) != 1 || list[0].ID != row || list[0].SessionID != id {
			t.Errorf("session %s has %+v", id, list)
		}
		if got := state(t, s, storetest.Headers(t, s, id)[0].Ref()); !strings.Contains(got, "sessionId") {
			t.Errorf("its state is %s", got)
		}
	}
}

// In a project the places of its rows part the sessions.
func TestSessions_ofAProject(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".genkit", "snapshots", "barista", "global", "a.json"), goRow("a", "", "s", at(0), ""))
	write(t, filepath.Join(dir, ".snapshots", "global", "b.json"), goRow("b", "", "s", at(1), ""))
	write(t, filepath.Join(dir, ".snapshots-x", "c.json"), goRow("c", "", "s", at(2), ""))
	write(t, filepath.Join(dir, "src", "d.json"), goRow("d", "", "s", at(3), ""))
	s := open(t, dir)
	var got []string
	for _, info := range storetest.Sessions(t, s) {
		got = append(got, info.ID+" "+info.Head.ID)
		if list := storetest.Headers(t, s, info.ID); len(list) != 1 || list[0].ID != info.Head.ID {
			t.Errorf("%s has %+v", info.ID, list)
		}
	}
	if want := []string{".snapshots-x/s c", ".snapshots/s b", "barista/s a"}; !slices.Equal(got, want) {
		t.Errorf("sessions are %q, want %q", got, want)
	}
}

// Rows that name no session are put with their parents, in whatever order they
// are found and whatever circles there are.
func TestSessions_ofRowsThatNameNone(t *testing.T) {
	dir := t.TempDir()
	for id, parent := range map[string]string{
		"root": "", "z": "root", "a": "z", // a line
		"c1": "c3", "c2": "c1", "c3": "c2", "b": "c2", // a circle, and a row that leads into it
		"self": "self", "x": "gone", "y": "named",
	} {
		write(t, filepath.Join(dir, id+".json"), goRow(id, parent, "", at(0), `"state": {}, "status": "completed"`))
	}
	write(t, filepath.Join(dir, "named.json"), goRow("named", "root", "s", at(0), ""))
	s := open(t, dir)
	got := map[string]int{}
	for _, info := range storetest.Sessions(t, s) {
		got[info.ID] = info.Snapshots
		if n := len(storetest.Headers(t, s, info.ID)); n != info.Snapshots {
			t.Errorf("%s has %d headers, want %d", info.ID, n, info.Snapshots)
		}
		for _, h := range storetest.Headers(t, s, info.ID) {
			state(t, s, h.Ref())
		}
	}
	want := map[string]int{"(no session) root": 3, "(no session) c1": 4, "(no session) self": 1, "(no session) x": 1, "(no session) y": 1, "s": 1}
	if !maps.Equal(got, want) {
		t.Errorf("sessions are %v, want %v", got, want)
	}
}

// Links lead nowhere, out of the store or into it.
func TestLinks_areNotFollowed(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "secret.json"), goRow("secret", "", "s", at(0), ""))
	write(t, filepath.Join(dir, "global", "a.json"), goRow("a", "", "s", at(0), ""))
	for name, to := range map[string]string{"global/secret.json": outside + "/secret.json", "out": outside, "again": "global", "round": "."} {
		if err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, dir)
	if list := storetest.Sessions(t, s); len(list) != 1 || list[0].Snapshots != 1 {
		t.Errorf("sessions are %+v", list)
	}
	for _, id := range []string{"out/s", "again/s", "round/s", "round/again/s"} {
		for _, err := range s.Headers(t.Context(), id) {
			if err == nil {
				t.Errorf("session %s is there", id)
			}
		}
	}
	if list := storetest.Faults(t, s, ""); len(list) != 4 {
		t.Errorf("told is %+v", list)
	}
}
