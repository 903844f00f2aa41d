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

// Folds says which rows of a list are open: all or none, and the other way round those that the person turned. The zero
// Folds has all rows closed.
type Folds[K comparable] struct {
	// All says that the rows are open that were not turned.
	All    bool
	turned Turned[K]
}

// IsOpen reports whether a row is open.
func (f *Folds[K]) IsOpen(row K) bool { return f.All != f.turned.Has(row) }

// TurnRow opens a row that is closed, and closes one that is open.
func (f *Folds[K]) TurnRow(row K) {
	if f.turned == nil {
		f.turned = Turned[K]{}
	}
	f.turned.Flip(row)
}

// SetAll opens or closes all rows.
func (f *Folds[K]) SetAll(open bool) {
	f.All = open
	f.ForgetTurned()
}

// ForgetTurned has no row turned.
func (f *Folds[K]) ForgetTurned() { clear(f.turned) }
