package main

import (
	"context"
	"net/http/httptest"

	"github.com/rogpeppe/go-internal/testscript"

	"hindcast/agent/serve"
	"hindcast/store/memory"
	"hindcast/store/sample"
)

// serveStores is the script command `serve AGENT…`: until the script ends it shows
// the demo as the sessions of each agent, at $URL.
func serveStores(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: serve agent...")
	}
	server, err := demoServer(context.Background(), args...)
	ts.Check(err)
	ts.Defer(server.Close)
	ts.Setenv("URL", server.URL)
}

// demoServer shows the demo as the sessions of each agent.
func demoServer(ctx context.Context, names ...string) (*httptest.Server, error) {
	agents := make([]serve.Agent, len(names))
	for i, name := range names {
		s := memory.New()
		if _, err := s.Import(ctx, sample.Rows()); err != nil {
			return nil, err
		}
		agents[i] = serve.Agent{Name: name, Store: s}
	}
	h, err := serve.New(agents)
	if err != nil {
		return nil, err
	}
	return httptest.NewServer(h), nil
}
