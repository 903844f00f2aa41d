// Package remote is the kind of store that lives in another process: it
// asks a running agent for its sessions by HTTP, in the shapes of Genkit's
// reflection API (see hindcast/model/wire).
//
// What a server says is untrusted, and bounded before it is taken. It asks for nothing
// that writes, but for one thing: an agent goes on from a snapshot where the plan of a
// run is carried out.
package remote
