// Package serve lets a debugger look into a running process: it serves
// the session stores of agents over HTTP, in the shapes of Genkit's reflection
// API (see hindcast/model/wire).
//
//	handler, err := serve.New([]serve.Agent{{Name: "chat", Store: sessions}})
//	listener, err := serve.Listen("")
//	err = serve.Serve(ctx, listener, handler)
//
// It only reads: a client can see every state, and change nothing. So
// that no other machine asks, it listens on the loopback
// interface, and it refuses what a page in a browser could send: a Host or an
// Origin that is not loopback, and a body that is not application/json.
package serve
