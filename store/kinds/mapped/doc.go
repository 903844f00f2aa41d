// Package mapped reads snapshots out of JSON that no kind of store knows: files
// of one document, files of JSON lines, folders of either. A [Map] says where in
// a document the rows are, and where in a row its id, its parent, its state and
// its time. What comes out are rows for an import, or a store that is only read.
//
// Everything is read twice. First every row is found, checked and put in order
// without keeping a state; then the states are given, byte for byte as they are
// written, out of the places where they were found. So memory holds the headers
// and one document, and whatever is wrong is told before the first row is given.
package mapped
