package model

// Fact is something that a store knows about one snapshot and that neither its
// header nor its state says: a status, a finish reason, the file that it is in.
type Fact struct {
	// Label is one or two of Hindcast's own words: "finish reason".
	Label string `json:"label"`
	// Value is data of the store, and untrusted.
	Value string `json:"value"`
}
