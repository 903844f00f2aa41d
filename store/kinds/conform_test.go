package kinds_test

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/agent/serve"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/jsonl"
	"hindcast/store/sample"
	"hindcast/store/sqlite"
	"hindcast/store/storetest"
	"hindcast/store/storetest/fake"
)

// addresses are stores of each kind: those of testdata, and the demo where a kind is
// Hindcast's own.
func addresses(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, r := range realStores {
		all[r.kind] = append(all[r.kind], filepath.Join(testdata, filepath.FromSlash(r.path)))
	}
	demo := fake.New()
	if _, err := demo.Import(t.Context(), sample.Rows()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	native, err := sqlite.Create(t.Context(), filepath.Join(dir, "demo.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := native.Import(t.Context(), sample.Rows()); err != nil {
		t.Fatal(err)
	}
	if err := native.Close(); err != nil {
		t.Fatal(err)
	}
	all["sqlite"] = []string{native.Address()}
	var lines bytes.Buffer
	if _, err := jsonl.Write(&lines, store.Rows(t.Context(), demo)); err != nil {
		t.Fatal(err)
	}
	portable := filepath.Join(dir, "demo.jsonl")
	if err := os.WriteFile(portable, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	all["jsonl"] = []string{portable}
	handler, err := serve.New([]serve.Agent{{Name: "demo", Store: demo}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	all["reflection"] = []string{server.URL}
	return all
}

// Every kind of the list passes the suite of reading.
func TestKinds_read(t *testing.T) {
	stores := addresses(t)
	for _, k := range allKinds {
		if len(stores[k.Name]) == 0 {
			t.Errorf("no store of kind %s is read", k.Name)
		}
		for _, address := range stores[k.Name] {
			t.Run(k.Name+"/"+filepath.Base(address), func(t *testing.T) {
				storetest.Read(t, k, address)
			})
		}
	}
}

// Every kind that can put a session back passes the suite of restoring, and no other says
// that it could.
func TestKinds_restore(t *testing.T) {
	stores := addresses(t)
	for _, k := range allKinds {
		for i, address := range stores[k.Name] {
			if i > 0 && within(address, stores[k.Name][:i]) {
				continue // its folder was opened already
			}
			s, err := k.Open(t.Context(), address)
			if err != nil {
				t.Fatal(err)
			}
			reason := store.Reason(s, model.OpRestore)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, writes := s.(store.Writer); reason == "" && writes {
				t.Run(k.Name+"/"+filepath.Base(address), func(t *testing.T) {
					t.Parallel()
					storetest.Restore(t, k, address)
				})
			} else if reason == "" {
				t.Errorf("a %s store gives no reason why nothing can be restored", k.Name)
			}
		}
	}
}

// within reports whether a path is below one of some folders.
func within(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return strings.HasPrefix(path, f+string(filepath.Separator)) })
}
