package walk

// Turned is the set of rows that the person folded or unfolded against the rule of the list.
type Turned[K comparable] map[K]struct{}

// Has reports whether a row was turned.
func (t Turned[K]) Has(row K) bool {
	_, turned := t[row]
	return turned
}

// Flip turns a row, or turns it back.
func (t Turned[K]) Flip(row K) {
	if t.Has(row) {
		delete(t, row)
		return
	}
	t[row] = struct{}{}
}
