package jsontape

// notNumbers are the numbers that Python writes although JSON lacks them, and how states show them.
var notNumbers = map[string][]byte{"NaN": []byte(`{"$float":"NaN"}`), "Infinity": []byte(`{"$float":"+Inf"}`), "-Infinity": []byte(`{"$float":"-Inf"}`)}

// Standard returns a text that [ParseTolerant] reads as one that [Parse] reads: without a byte order
// mark, and with NaN as {"$float":"NaN"}. A text that is JSON comes back as it is. The error is that
// of ParseTolerant.
func Standard(data []byte) ([]byte, error) {
	if Valid(data) {
		return data, nil
	}
	tape, _, err := ParseTolerant(data)
	if err != nil {
		return nil, err
	}
	patch := NewPatch(tape)
	for n := range Node(tape.Len()) {
		if !tape.Standard(n) {
			patch.Set(n, notNumbers[string(tape.Raw(n))])
		}
	}
	return patch.Raw(0), nil
}
