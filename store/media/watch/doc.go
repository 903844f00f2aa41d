// Package watch tells that files changed: what the kinds of store that live in
// files need for [hindcast/store.Features].Watch. It asks the system where that can
// tell, and looks at the files from time to time where it cannot.
//
// It writes nothing, and it opens no file: it asks for names, sizes and times.
package watch
