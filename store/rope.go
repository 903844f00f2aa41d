package store

import "hindcast/model"

// Run is bytes that a store keeps once: those at At, as many as Len, in a numbering of the
// store's own. While the store is open the same place always holds the same bytes.
type Run struct{ At, Len int64 }

// Rope is one state as the runs that it is made of.
type Rope struct {
	// Runs are the state's bytes from the first to the last; no run is empty. Runs is nil if the store does
	// not know them: the state is then read by State.
	Runs []Run
	// State is the whole state, for a [Loom] that takes it in without runs.
	State []byte
	// Gaps are the keys that the store does not know at the snapshot.
	Gaps model.Gaps
	// Err is the error of this state alone, or nil. It is an error of State.
	Err error
}

// Text is bytes that states share. Two texts are the same where Before, Raw and Kind are.
type Text struct {
	// Before is the beginning. The rest is the result of Make for Raw, or Raw itself if Make is nil.
	Before string
	Raw    []byte
	Make   func(raw []byte) []byte
	// Kind tells the functions Make of a store apart.
	Kind byte
	// Listed says that others like it follow, also in later states: such texts lie one behind the other.
	Listed bool
}

// Loom takes in states that are made of texts. It is used by one goroutine.
type Loom struct {
	// Put takes in a text, unless it was, and returns where it is: an empty run where Make made nothing.
	Put func(Text) Run
	// Expect makes room for listed texts of that many bytes together. It may be nil, and need not be called.
	Expect func(bytes int64)
	// Take takes in the state of the snapshot with that number among those that were asked for.
	Take func(number int, state Rope)
}
