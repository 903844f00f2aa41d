package kinds_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/media/bucket"
	"hindcast/store/media/bucket/buckettest"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// bucketKinds returns the kinds that a bucket may have, in their order: those that are made of files, not of databases.
func bucketKinds(t *testing.T) (list store.Kinds) {
	t.Helper()
	databases := databaseKinds(t)
	for _, k := range allKinds {
		if k.Recognise != nil && k.Name != "jsonl" && !databases[k.Name] {
			list = append(list, k)
		}
	}
	return list
}

// TestBucket_readsWhatADiskHas copies each store of testdata that is made of files to a bucket:
// what is told of it there is what is told of it on the disk.
func TestBucket_readsWhatADiskHas(t *testing.T) {
	skip.Sequential(t)
	if testing.Short() {
		t.Skip("it reads one store after another")
	}
	all := addresses(t)
	for _, k := range bucketKinds(t) {
		for _, address := range all[k.Name] {
			if info, err := os.Stat(address); err == nil && !info.IsDir() && filepath.Ext(address) == ".db" {
				continue
			}
			t.Run(k.Name+" "+filepath.Base(address), func(t *testing.T) {
				dir := asInBucket(t, address)
				onDisk, err := k.Open(t.Context(), dir)
				if err != nil {
					t.Fatal(err)
				}
				defer onDisk.Close()
				s := buckettest.Serve(t)
				s.Load(t, address, "some where/"+filepath.Base(dir))
				inBucket := openBucket(t, s, "s3://b/some where/"+filepath.Base(dir))
				if got := inBucket.Kind(); got != k.Name {
					t.Fatalf("it is opened as %s", got)
				}
				if k.Name == "aider" {
					sameChats(t, inBucket, onDisk)
					return
				}
				storetest.Same(t, inBucket, onDisk)
			})
		}
	}
}

// small is what is enough of a store that is large.
var small = map[string]string{"pi": "--home-demo--"}

// TestBucket_isReadAsAnyStore runs the suite of all that every kind holds on a store of each, of
// which no request of reading asks for a change.
func TestBucket_isReadAsAnyStore(t *testing.T) {
	skip.Sequential(t)
	if testing.Short() {
		t.Skip("it reads one store after another")
	}
	all := addresses(t)
	for _, k := range bucketKinds(t) {
		t.Run(k.Name, func(t *testing.T) {
			s, address := buckettest.Serve(t), all[k.Name][0]
			s.Load(t, filepath.Join(address, small[k.Name]), path.Join("p", filepath.Base(address), small[k.Name]))
			kind := store.Kind{Name: k.Name, Open: func(ctx context.Context, address string) (store.Store, error) {
				return allKinds.At(s.URL).Open(ctx, address)
			}}
			storetest.Read(t, kind, "s3://b/p/"+filepath.Base(address))
			for _, what := range s.Requests() {
				if op, _, _ := strings.Cut(what, " "); op != "LIST" && op != "GET" && op != "HEAD" {
					t.Fatal(what)
				}
			}
		})
	}
}

// sameChats is storetest.Same for aider, whose chats name the folder that they lie in.
func sameChats(t *testing.T, got, want store.Store) {
	t.Helper()
	sessions := storetest.Sessions(t, want)
	if len(sessions) == 0 || len(storetest.Sessions(t, got)) != len(sessions) {
		t.Fatal(sessions)
	}
	for _, info := range sessions {
		list := storetest.Headers(t, want, info.ID)
		if now := storetest.Headers(t, got, info.ID); !reflect.DeepEqual(now, list) {
			t.Errorf("%s: the headers are\n%+v\nand not\n%+v", info.ID, now, list)
		}
		for i := range list {
			a, b := stateOf(t, got, &list[i]), stateOf(t, want, &list[i])
			if x := jsontape.FindMember(a, `"messages"`); len(x) == 0 || !bytes.Equal(x, jsontape.FindMember(b, `"messages"`)) {
				t.Errorf("%s #%d has other messages", info.ID, i)
			}
		}
	}
}

// asInBucket copies a store to a folder in which each file has the time that it has in the
// bucket.
func asInBucket(t *testing.T, address string) string {
	t.Helper()
	dir, newest := storetest.Copy(t, address), map[string]time.Time{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		at := info.ModTime().Add(-time.Hour).UTC().Truncate(time.Second)
		if in := filepath.Dir(name); at.After(newest[in]) {
			newest[in] = at
		}
		return os.Chtimes(name, at, at)
	})
	for in, at := range newest {
		err = errors.Join(err, os.Chtimes(in, at, at))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func openBucket(t *testing.T, s *buckettest.Server, address string) store.Store {
	t.Helper()
	opened, err := allKinds.At(s.URL).Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return opened
}

// TestBucket_isWrittenTo has a session of each kind go back to its first snapshot that it can go
// back to, or be forked there: with what is written the kind finds what was planned, and an undo
// leaves the very objects.
func TestBucket_isWrittenTo(t *testing.T) {
	skip.Sequential(t)
	all, written := addresses(t), map[string]int{}
	for _, k := range bucketKinds(t) {
		for _, address := range all[k.Name] {
			if info, err := os.Stat(address); err == nil && !info.IsDir() {
				continue
			}
			s := buckettest.Serve(t)
			s.Load(t, address, "p/"+filepath.Base(address))
			w := storetest.AsWriter(openBucket(t, s, "s3://b/p/"+filepath.Base(address)))
			for _, op := range []model.Op{model.OpRestore, model.OpFork} {
				if w.Features().Plan != nil && w.Lacks(op) == "" {
					written[k.Name+" "+string(op)] += writtenTo(t, s, w, op)
				}
			}
		}
	}
	for what, n := range written {
		if n == 0 {
			t.Errorf("%s was not tried", what)
		}
	}
	if len(written) < 17 {
		t.Errorf("only %d writes were tried", len(written))
	}
	t.Log(written)
}

// writtenTo carries out an operation on the first session that has a snapshot for it, and takes
// it back. It returns how many it carried out.
func writtenTo(t *testing.T, s *buckettest.Server, w storetest.Writer, op model.Op) int {
	t.Helper()
	for _, info := range storetest.Sessions(t, w) {
		for _, h := range storetest.Headers(t, w, info.ID) {
			change := model.Change{Op: op, Ref: h.Ref()}
			if op == model.OpFork && !store.NamesForks(w) {
				change.As = "forked"
			}
			before := s.All()
			plan, err := w.Plan(t.Context(), change)
			if err != nil || plan.Idle() {
				continue // the framework cannot go on from there
			}
			receipt, err := w.Apply(t.Context(), plan)
			if err != nil {
				t.Fatalf("%s: %v", plan.Op, err)
			}
			changed := s.All()
			if len(plan.Resume) > 0 && w.Kind() != "strands" && w.Kind() != "strands-snapshots" && !strings.HasPrefix(plan.Resume[0].Call, "aws s3 sync s3://b/p/") {
				t.Errorf("%s: the first call is %s", w.Kind(), plan.Resume[0].Call)
			}
			head := model.Header{}
			for _, h := range storetest.Headers(t, w, receipt.Session) {
				if h.Head {
					head = h
				}
			}
			if reflect.DeepEqual(changed, before) || head.Ref().ID != receipt.Head.ID {
				t.Errorf("%s of %s to #%d: the head is %s, and not %s", op, w.Kind(), h.Index, head.ID, receipt.Head.ID)
			}
			undo, err := w.Plan(t.Context(), model.Change{Op: model.OpUndo})
			if err == nil {
				_, err = w.Apply(t.Context(), undo)
			}
			if now := s.All(); err != nil || !reflect.DeepEqual(now, before) {
				t.Errorf("%s of %s: %v, or an undo leaves other objects", op, w.Kind(), err)
			}
			return 1
		}
	}
	return 0
}

// A plan names the manager that keeps the session in the bucket, with the endpoint that was
// given, and so does the one that takes a fork back.
func TestBucket_plansNameTheManager(t *testing.T) {
	skip.Sequential(t)
	s := buckettest.Serve(t)
	s.Load(t, filepath.Join(testdata, "strands", "python-file"), "some/where")
	for _, address := range []string{"s3://b/some/where", "s3://b/some/where/session_basic"} {
		w := storetest.AsWriter(openBucket(t, s, address))
		manager := func(session string) string {
			return fmt.Sprintf(`S3SessionManager(%q, bucket="b", prefix="some/where", endpoint_url=%q)`, session, s.URL)
		}
		h := storetest.Headers(t, w, "basic")[4]
		fork, err := w.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: h.Ref(), As: "other"})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(fork.Loads, manager("other")) {
			t.Errorf("%s loads %s", address, fork.Loads)
		}
		if _, err := w.Apply(t.Context(), fork); err != nil {
			t.Fatal(err)
		}
		undo, err := w.Plan(t.Context(), model.Change{Op: model.OpUndo})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(undo.Loads, manager("other")) {
			t.Errorf("%s: an undo: %s", address, undo.Loads)
		}
		if _, err := w.Apply(t.Context(), undo); err != nil {
			t.Fatal(err)
		}
	}
}

// doctor says how many requests it took, which are as many as the server was asked, and its
// commands name the server; the verdict is that of the framework whose files they are.
func TestBucket_doctorCountsRequests(t *testing.T) {
	skip.Sequential(t)
	s := buckettest.Serve(t)
	s.Load(t, filepath.Join(testdata, "strands", "python-file"), "p")
	s.Put("p/session_basic/agents/agent_default/messages/message_2.json", "{")
	code, out, errs := inProcess(t, "doctor", "--endpoint", s.URL, "s3://b/p", "basic")
	if code != 3 {
		t.Fatal(code, errs)
	}
	n := map[string]int{}
	for _, what := range s.Requests() {
		op, _, _ := strings.Cut(what, " ")
		n[op]++
	}
	want := fmt.Sprintf("its files are those of strands; this took %d requests: %d LIST, %d GET, %d HEAD", n["LIST"]+n["GET"]+n["HEAD"], n["LIST"], n["GET"], n["HEAD"])
	if n["LIST"] == 0 || n["GET"] == 0 || len(n) != 3 || !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
		t.Errorf("%s is not in\n%s; the server was asked %v", want, out, n)
	}
	if !strings.Contains(out, "Strands: refuses to start") {
		t.Errorf("the verdict is no framework's in\n%s", out)
	}
	if next := "hindcast repair s3://b/p basic --endpoint " + s.URL; !strings.Contains(strings.Join(strings.Fields(out), " "), next) {
		t.Errorf("%s is not in\n%s", next, out)
	}
}

// What a bucket has that is read from a disk alone is named, with what to do.
func TestBucket_saysWhatIsNotOpened(t *testing.T) {
	skip.Sequential(t)
	s := buckettest.Serve(t)
	s.Load(t, filepath.Join(testdata, "coding", "crush"), "db")
	s.Put("text/notes.txt", "hello")
	var tried []string
	for _, k := range bucketKinds(t) {
		tried = append(tried, k.Name)
	}
	for address, want := range map[string]string{
		"s3://b/db":             "s3://b/db/crush.db is a SQLite database: that is read from a disk alone, so copy it first",
		"s3://b/db/crush.db":    "s3://b/db/crush.db is a SQLite database: that is read from a disk alone, so copy it first",
		"s3://b/text/notes.txt": "s3://b/text/notes.txt is one object of no format",
		"s3://b/text":           "tried " + strings.Join(tried, ", "),
		"s3://b/none":           "nothing is below that prefix",
	} {
		_, err := allKinds.At(s.URL).Open(t.Context(), address)
		if !errors.Is(err, store.ErrUnrecognised) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
		if alone := (*bucket.DiskOnlyError)(nil); strings.Contains(want, " is ") && strings.Contains(want, "disk") && !errors.As(err, &alone) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
