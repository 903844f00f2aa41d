package diff

// block is how many bytes are compared at a time where most are the same.
const block = 4 << 10

// commonPrefix returns how many bytes a and b share at the start.
func commonPrefix[T []byte | string](a, b T) int {
	n := min(len(a), len(b))
	i := 0
	for i+block <= n && string(a[i:i+block]) == string(b[i:i+block]) {
		i += block
	}
	for i+64 <= n && string(a[i:i+64]) == string(b[i:i+64]) {
		i += 64
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// commonSuffix returns how many bytes a and b share at the end.
func commonSuffix[T []byte | string](a, b T) int {
	n := min(len(a), len(b))
	a, b = a[len(a)-n:], b[len(b)-n:]
	for n >= block && string(a[n-block:n]) == string(b[n-block:n]) {
		n -= block
	}
	for n >= 64 && string(a[n-64:n]) == string(b[n-64:n]) {
		n -= 64
	}
	for n > 0 && a[n-1] == b[n-1] {
		n--
	}
	return len(a) - n
}
