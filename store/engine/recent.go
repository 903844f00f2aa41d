package engine

// Recent has the values that were used last by their names, up to a weight of all together, and the last one whatever its
// weight. A zero Recent has no values. It is not safe for concurrent use.
//
// The values are of two generations. Where the young ones weigh half of the bound they become the old ones, and the
// old ones are forgotten; an old one that is used is young again.
type Recent[T any] struct {
	young, old map[string]weighed[T]
	weight     int // of the young ones
}

type weighed[T any] struct {
	is     T
	weight int
}

// Get returns the value of a name, and whether it has one. most is the bound of the weight.
func (r *Recent[T]) Get(name string, most int) (is T, ok bool) {
	one, ok := r.young[name]
	if !ok {
		if one, ok = r.old[name]; ok {
			r.Put(name, one.is, one.weight, most)
		}
	}
	return one.is, ok
}

// Put gives a name a value of a weight. most is the bound of the weight.
func (r *Recent[T]) Put(name string, is T, weight, most int) {
	r.Delete(name)
	if r.young == nil || r.weight+weight > most/2 {
		r.young, r.old, r.weight = map[string]weighed[T]{}, r.young, 0
	}
	r.young[name] = weighed[T]{is, weight}
	r.weight += weight
}

// Delete forgets the value of a name.
func (r *Recent[T]) Delete(name string) {
	r.weight -= r.young[name].weight
	delete(r.young, name)
	delete(r.old, name)
}

// Weight returns the weight of all values.
func (r *Recent[T]) Weight() (sum int) {
	for _, one := range r.old {
		sum += one.weight
	}
	return sum + r.weight
}
