package kinds_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/bucket/buckettest"
	"hindcast/store/storetest"
)

// onDiskAlone are the kinds that a bucket has none of.
var onDiskAlone = map[string]bool{
	"sqlite": true, "langgraph": true, "adk": true, "openai-agents": true, "mastra": true, "llamaindex": true, "opencode": true, "crush": true,
	"jsonl": true, "reflection": true, "s3": true,
}

// TestBucket_readsWhatADiskHas copies each store of testdata that is made of files to a bucket:
// what is told of it there is what is told of it on the disk.
func TestBucket_readsWhatADiskHas(t *testing.T) {
	all := addresses(t)
	for _, k := range allKinds {
		for _, address := range all[k.Name] {
			if info, err := os.Stat(address); onDiskAlone[k.Name] || err == nil && !info.IsDir() && filepath.Ext(address) == ".db" {
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
