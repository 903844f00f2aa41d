package model

// Fault is something wrong in a store that does not stop the rest from
// opening. The JSON names are those of `hindcast doctor --json`.
type Fault struct {
	// Code is a short stable name of the kind of fault: "missing-tool-result".
	Code string `json:"fault"`
	// File is the file or row, relative to the store.
	File string `json:"file"`
	// Path is the place in it: a JSON Pointer, or "byte 812".
	Path string `json:"path,omitempty"`
	// Meaning says in a sentence what is wrong.
	Meaning string `json:"meaning"`
	// Verdict says what the framework itself does about it.
	Verdict string `json:"verdict,omitempty"`
	// Note says that it harms nothing: another program left a file, and the framework
	// passes it over.
	Note bool `json:"note,omitempty"`
}

// Harmful returns the faults of a list that are more than notes.
func Harmful(list []Fault) []Fault {
	harmful := make([]Fault, 0, len(list))
	for _, f := range list {
		if !f.Note {
			harmful = append(harmful, f)
		}
	}
	return harmful
}
