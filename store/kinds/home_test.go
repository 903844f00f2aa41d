package kinds_test

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hindcast/agent/serve"
	"hindcast/prices"
	"hindcast/query"
	"hindcast/query/ledger"
	"hindcast/store/home"
	"hindcast/store/media/bucket/buckettest"
	"hindcast/store/sample"
	"hindcast/store/storetest/fake"
)

// TestHome_remoteStores adds a bucket, a process and a server that is down to a home: the sessions of the first two are
// listed, searched and added up, and the third is a row with its reason.
func TestHome_remoteStores(t *testing.T) {
	bucket := buckettest.Serve(t)
	bucket.Load(t, filepath.Join("..", "..", "testdata", "strands", "python-file"), "agents/sessions")
	demo := fake.New()
	if _, err := demo.Import(t.Context(), sample.Rows()); err != nil {
		t.Fatal(err)
	}
	handler, err := serve.New([]serve.Agent{{Name: "trips", Store: demo}})
	if err != nil {
		t.Fatal(err)
	}
	process := httptest.NewServer(handler)
	defer process.Close()
	down := httptest.NewServer(handler)
	down.Close()

	added := home.Added{File: filepath.Join(t.TempDir(), "stores")}
	for _, address := range []string{"s3://b/agents/sessions", process.URL, down.URL} {
		if new, err := added.AddAddress(address); err != nil || !new {
			t.Fatalf("%s: %t, %v", address, new, err)
		}
	}
	h := home.New(allKinds.At(bucket.URL), home.Places{Added: added})
	defer h.Close()
	var sources []query.Source
	var entries []ledger.Entry
	listed, failed := map[string]int{}, []string{}
	accounts := ledger.New(nil)
	for session, err := range h.Sessions(t.Context()) {
		switch {
		case err != nil:
			t.Fatal(err)
		case session.Err != nil:
			failed = append(failed, session.Store.At+": "+session.Err.Error())
			continue
		}
		listed[session.Store.At]++
		sources = append(sources, query.Source{Store: session.Store.Opened(), SessionInfo: session.SessionInfo})
		account, err := accounts.Account(t.Context(), *session)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, ledger.Entry{Session: *session, Account: account})
	}
	if listed["s3://b/agents/sessions"] == 0 || listed[process.URL] != 2 || len(listed) != 2 {
		t.Errorf("%v are listed", listed)
	}
	if len(failed) != 1 || !strings.HasPrefix(failed[0], down.URL+": ") || !strings.Contains(failed[0], "refused") {
		t.Errorf("the server that is down: %q", failed)
	}
	found := map[string]bool{}
	for _, text := range []string{"Weather in Paris", "Lyon"} {
		for hit, err := range query.SearchHome(t.Context(), sourcesOf(sources), query.HomeSearch{Search: query.Search{Pattern: query.Literal(text, query.SmartCase)}}) {
			if err != nil {
				t.Fatal(err)
			}
			found[hit.Store.Address()] = true
		}
	}
	if len(found) != 2 {
		t.Errorf("texts are found in %v", found)
	}
	list, err := prices.Load("")
	if err != nil {
		t.Fatal(err)
	}
	bill := ledger.NewBill(ledger.ByStore, list, time.Time{}, entries)
	if len(bill.Rows) != 2 || bill.Total.Input == 0 || bill.Total.Calls == 0 {
		t.Errorf("%d stores are added up: %+v", len(bill.Rows), bill.Total)
	}
}

// sourcesOf yields sources.
func sourcesOf(list []query.Source) func(yield func(query.Source, error) bool) {
	return func(yield func(query.Source, error) bool) {
		for _, source := range list {
			if !yield(source, nil) {
				return
			}
		}
	}
}
